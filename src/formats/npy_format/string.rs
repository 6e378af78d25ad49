//! Rewrites Python's string literals with single quotes and few escapes.

use super::escape::resolve_escape;

/// What is wrong, and at which offset from the beginning of the literal.
type LiteralFault = (String, usize);

/// Returns whether a text begins with a string or bytes literal.
pub(super) fn starts_with_string_literal(text: &str) -> bool {
    split_prefix(text).is_some()
}

/// Splits the letters before the quote from the rest.
fn split_prefix(text: &str) -> Option<(&str, &str)> {
    let length = text.bytes().take(3).take_while(|byte| b"rRbBuU".contains(byte)).count();
    let (prefix, rest) = text.split_at(length);
    let is_prefix = matches!(prefix.to_ascii_lowercase().as_str(), "" | "r" | "u" | "b" | "br" | "rb");
    (is_prefix && rest.starts_with(['\'', '"'])).then_some((prefix, rest))
}

/// Appends the literal at the beginning of `text` to `out`, in normal form; returns its length in `text`.
pub(super) fn normalize(text: &str, out: &mut String) -> Result<usize, LiteralFault> {
    let (prefix, rest) = split_prefix(text).ok_or_else(|| ("expected a string".to_owned(), 0))?;
    let is_raw = prefix.contains(['r', 'R']);
    let is_bytes = prefix.contains(['b', 'B']);
    let quote = if rest.starts_with("'''") || rest.starts_with("\"\"\"") { &rest[..3] } else { &rest[..1] };
    out.push_str(if is_bytes { "b'" } else { "'" });
    let mut at = prefix.len() + quote.len();
    loop {
        let rest = &text[at..];
        if rest.starts_with(quote) {
            out.push('\'');
            return Ok(at + quote.len());
        }
        let mut chars = rest.chars();
        match chars.next() {
            None => return Err(("unclosed string".into(), 0)),
            Some('\n' | '\r') if quote.len() == 1 => {
                return Err(("unclosed string at the end of the line".into(), at));
            }
            Some('\r') => {
                push_escaped(out, '\n'); // Python normalizes every line end to \n
                at += if rest.starts_with("\r\n") { 2 } else { 1 };
            }
            Some('\\') if is_raw => {
                push_escaped(out, '\\');
                at += 1;
                // In a raw string, an escaped quote does not end the string, and the backslash stays.
                if let Some(next @ ('\\' | '\'' | '"')) = chars.next() {
                    push_escaped(out, next);
                    at += 1;
                }
            }
            Some('\\') => {
                let mut push = |char| push_escaped(out, char);
                at += resolve_escape(chars.as_str(), is_bytes, &mut push).map_err(|reason| (reason, at))?;
            }
            Some(char) if is_bytes && !char.is_ascii() => {
                return Err(("non-ASCII character in a bytes literal".into(), at));
            }
            Some(char) => {
                push_escaped(out, char);
                at += char.len_utf8();
            }
        }
    }
}

/// Appends one character to a string in normal form.
fn push_escaped(out: &mut String, char: char) {
    match char {
        '\'' | '\\' => {
            out.push('\\');
            out.push(char);
        }
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        _ => out.push(char),
    }
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn string_literals_parse_as_in_python() {
        // (literal, result of ast.literal_eval in Python 3.11)
        let cases = [
            (r"'a'", "a"),
            (r#""it's""#, "it's"),
            (r"r'\x41\''", r"\x41\'"),
            (r"u'\u03bb\U0001F600'", "λ😀"),
            (r"'\x41\101\7\t\q'", "AA\x07\t\\q"),
            ("'''a\r\nb'c'''", "a\nb'c"),
            ("'a\\\nb'", "ab"),
            (r"'\400'", "Ā"),
        ];
        for (literal, expected) in cases {
            let mut normal = String::new();
            let used = normalize(literal, &mut normal).unwrap();
            assert_eq!(used, literal.len());
            let value: py_literal::Value = normal.parse().unwrap();
            assert_eq!(value.as_string().unwrap(), expected, "{literal}");
        }
    }

    #[test]
    fn unsupported_string_literals_are_refused() {
        for literal in ["'a", "'a\nb'", r"'\xg1'", r"'\u12'", r"'\U00110000'", r"'\ud800'", "'''a''"] {
            assert!(normalize(literal, &mut String::new()).is_err(), "{literal}");
        }
    }
}
