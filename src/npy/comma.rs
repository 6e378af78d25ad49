//! Records written as a string: `f4,(2,3)i2`, whose fields are named `f0`, `f1` and so on.

use super::alias;
use crate::dtype::{DType, Record, Subarray};
use crate::shape::Shape;

pub(super) fn dtype(code: &str) -> Result<DType, String> {
    let mut items = split(code);
    if items.len() == 1 {
        return item(items[0]);
    }
    if items.last().is_some_and(|last| last.trim().is_empty()) {
        items.pop();
    }
    let mut record = Record::default();
    for (index, code) in items.into_iter().enumerate() {
        record
            .push(format!("f{index}"), None, item(code)?)
            .ok_or("the record is larger than NumPy allows")?;
    }
    Ok(record.into())
}

/// Splits at the commas that stand in no parentheses.
fn split(code: &str) -> Vec<&str> {
    let mut depth = 0usize;
    code.split(|char| {
        match char {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        char == ',' && depth == 0
    })
    .collect()
}

/// One item: an order, a shape, an order and a type, all but the type optional.
fn item(text: &str) -> Result<DType, String> {
    let text = text.trim();
    let unordered = text.trim_start_matches(['<', '>', '=', '|']);
    let order = &text[..text.len() - unordered.len()];
    let (shape, code) = match unordered.as_bytes() {
        [b'(', ..] => {
            let (dims, code) = unordered[1..].split_once(')').ok_or("a parenthesis is not closed")?;
            let dims = dims.strip_suffix(',').unwrap_or(dims);
            let dims: Result<Vec<usize>, _> = dims.split(',').map(|length| length.trim().parse()).collect();
            (Some(Shape::from(dims.map_err(|_| "a shape holds something that is no number")?)), code)
        }
        [b'0'..=b'9', ..] => {
            let digits = unordered.bytes().take_while(u8::is_ascii_digit).count();
            let length = unordered[..digits].parse::<usize>().map_err(|_| "a repetition is too large")?;
            (Some(Shape::from([length])), &unordered[digits..])
        }
        _ => return scalar(text),
    };
    let base = scalar(&format!("{order}{code}"))?;
    match shape {
        None => Ok(base),
        Some(shape) => Subarray::new(base, shape)
            .map(DType::from)
            .ok_or_else(|| "a subarray is larger than NumPy allows".into()),
    }
}

/// A type without commas or shapes of its own, so that nothing recurs.
fn scalar(code: &str) -> Result<DType, String> {
    let unordered = code.trim_start_matches(['<', '>', '=', '|']);
    if unordered.contains(',') || unordered.starts_with(|char: char| char == '(' || char.is_ascii_digit()) {
        return Err("it is no list of types".into());
    }
    alias::dtype(code)
}
