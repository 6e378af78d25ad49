//! Short texts of objects, as Python shows them.

use crate::dynamic::object::{Global, Items, ObjectRef, View};

pub(super) fn dotted_name(global: Global<'_>) -> String {
    format!("{}.{}", shortened(global.module()), shortened(global.name()))
}

/// Returns the beginning of a text.
pub(super) fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 200;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Formats an object as Python shows it, but only the beginning of what is long, in time that does not depend on its length.
pub(super) fn preview(object: ObjectRef<'_>) -> String {
    let mut text = String::new();
    put_preview(object, &mut text, 3);
    shortened(&text)
}

/// Appends the preview of an object, with the parts of parts to a depth.
fn put_preview(object: ObjectRef<'_>, text: &mut String, depth: usize) {
    const MAX_ITEMS: usize = 8;
    let has_parts = object.items().is_some() || matches!(object.view(), View::Dict(_) | View::Call(_));
    if depth == 0 && has_parts {
        return text.push('…');
    }
    let list = |text: &mut String, ends: [&str; 2], items: Items<'_>| {
        text.push_str(ends[0]);
        for (number, item) in items.iter().take(MAX_ITEMS).enumerate() {
            text.push_str(if number > 0 { ", " } else { "" });
            put_preview(item, text, depth - 1);
        }
        text.push_str(if items.len() > MAX_ITEMS { ", …" } else { "" });
        text.push_str(ends[1]);
    };
    match object.view() {
        View::Str(string) => match string.as_str() {
            Some(string) => text.push_str(&format!("'{}'", shortened(string).escape_debug())),
            None => text.push_str("'…'"),
        },
        View::Bytes(bytes) | View::ByteArray(bytes) => {
            text.push_str(&format!("b'{}'", bytes[..bytes.len().min(100)].escape_ascii()));
        }
        View::List(items) => list(text, ["[", "]"], items),
        View::Tuple(items) if items.len() == 1 => list(text, ["(", ",)"], items),
        View::Tuple(items) => list(text, ["(", ")"], items),
        View::Set(items) | View::FrozenSet(items) => list(text, ["{", "}"], items),
        View::Dict(dict) => {
            text.push('{');
            for (number, (key, value)) in dict.iter().take(MAX_ITEMS).enumerate() {
                text.push_str(if number > 0 { ", " } else { "" });
                put_preview(key, text, depth - 1);
                text.push_str(": ");
                put_preview(value, text, depth - 1);
            }
            text.push_str(if dict.len() > MAX_ITEMS { ", …}" } else { "}" });
        }
        View::Global(global) => text.push_str(&dotted_name(global)),
        View::Call(call) => {
            put_preview(call.callable(), text, depth - 1);
            match call.args().items() {
                Some(items) => list(text, ["(", ")"], items),
                None => text.push_str("(…)"),
            }
            for (what, part) in [(" by name ", call.kwargs()), (" with state ", call.state())] {
                if let Some(part) = part {
                    text.push_str(what);
                    put_preview(part, text, depth - 1);
                }
            }
        }
        View::Persistent(id) => {
            text.push_str("<persistent ");
            put_preview(id, text, depth.saturating_sub(1));
            text.push('>');
        }
        View::Int(number) => match i128::try_from(&number) {
            Ok(number) => text.push_str(&number.to_string()),
            Err(_) => text.push_str("<a large int>"),
        },
        View::Array(_) => text.push_str("<an array>"),
        View::Scalar(_) => text.push_str("<a NumPy scalar>"),
        View::Decimal(digits) => text.push_str(&format!("Decimal('{}')", shortened(digits))),
        // These are of limited length.
        _ => text.push_str(&object.to_string()),
    }
}
