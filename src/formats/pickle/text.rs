//! Strings and numbers of protocol 0, which are text: literals with escapes, and digits.

use super::Atom;
use super::opcode::{FLOAT, GET, INT, LONG, PUT};

/// Decodes a Python 2 string literal, including its quotes, into bytes.
pub(crate) fn decode_string_literal(literal: &[u8]) -> Option<Vec<u8>> {
    let literal = literal.trim_ascii_end();
    let (quote, rest) = literal.split_first()?;
    let (last, inner) = rest.split_last()?;
    if !matches!(quote, b'"' | b'\'') || last != quote {
        return None;
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut inner = inner.iter().copied();
    while let Some(byte) = inner.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let escape = inner.next()?;
        let byte = match escape {
            b'\\' | b'\'' | b'"' => escape,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'0'..=b'7' => {
                let mut number = u32::from(escape - b'0');
                for _ in 0..2 {
                    match inner.clone().next() {
                        Some(digit @ b'0'..=b'7') => number = number * 8 + u32::from(digit - b'0'),
                        _ => break,
                    }
                    inner.next();
                }
                u8::try_from(number).ok()?
            }
            b'x' => take_hex_number(&mut inner, 2).and_then(|number| u8::try_from(number).ok())?,
            _ => {
                bytes.push(b'\\'); // an unknown escape is kept
                escape
            }
        };
        bytes.push(byte);
    }
    Some(bytes)
}

/// Parses a number; the inner `None` means an integer that does not fit into an `i64`.
pub(super) fn number(opcode: u8, line: &[u8]) -> Option<Option<Atom<'static>>> {
    match (opcode, line) {
        (INT, b"00") => Some(Some(Atom::Bool(false))),
        (INT, b"01") => Some(Some(Atom::Bool(true))),
        (FLOAT, line) => {
            let number = std::str::from_utf8(line).ok()?.trim().parse().ok()?;
            Some(Some(Atom::Float(number)))
        }
        _ => {
            let (digits, radix) = digits(opcode, line)?;
            let number = i64::from_str_radix(&digits, radix).ok();
            // Two characters that mean 0 or 1 are a bool for one of Python's unpicklers, and a number for the other.
            let is_ambiguous = opcode == INT && line.len() == 2 && matches!(number, Some(0 | 1));
            (!is_ambiguous).then(|| number.map(Atom::Int))
        }
    }
}

/// Returns the sign and digits of an integer, and its radix: by a prefix as in Python's source code, but 10 for a number of the memo.
/// Underscores between digits are left out, and so is the `L` at the end of a [`LONG`].
pub(crate) fn digits(opcode: u8, line: &[u8]) -> Option<(String, u32)> {
    let line = if opcode == LONG { line.strip_suffix(b"L").unwrap_or(line) } else { line };
    let text = std::str::from_utf8(line).ok()?;
    let text = text.trim_matches(|char: char| char.is_ascii_whitespace() || char == '\x0B');
    let (is_negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let has_prefix = !matches!(opcode, GET | PUT);
    let (radix, digits) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] if has_prefix => (16, &unsigned[2..]),
        [b'0', b'o' | b'O', ..] if has_prefix => (8, &unsigned[2..]),
        [b'0', b'b' | b'B', ..] if has_prefix => (2, &unsigned[2..]),
        // Python's unpicklers disagree about a leading zero: one takes the number for octal, the other refuses it. Zero is zero.
        [b'0', ..] if has_prefix && unsigned.bytes().any(|digit| !matches!(digit, b'0' | b'_')) => {
            return None;
        }
        _ => (10, unsigned),
    };
    // An underscore is between two digits, or between the prefix and a digit.
    let digits = if radix == 10 { digits } else { digits.strip_prefix('_').unwrap_or(digits) };
    let is_valid =
        digits.split('_').all(|part| !part.is_empty() && part.chars().all(|digit| digit.is_digit(radix)));
    let sign = if is_negative { "-" } else { "" };
    is_valid.then(|| (format!("{sign}{}", digits.replace('_', "")), radix))
}

/// Decodes Latin-1 with `\uXXXX` and `\UXXXXXXXX` to UTF-8, which may contain surrogates.
pub(crate) fn decode_raw_unicode(text: &[u8]) -> Option<Vec<u8>> {
    let mut utf8 = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    let mut is_escaped = false;
    while let Some(byte) = bytes.next() {
        let code = match (is_escaped, byte) {
            (true, b'u') => {
                utf8.pop(); // the backslash
                take_hex_number(&mut bytes, 4)?
            }
            (true, b'U') => {
                utf8.pop();
                take_hex_number(&mut bytes, 8)?
            }
            _ => u32::from(byte),
        };
        // A backslash that is itself escaped does not start an escape.
        is_escaped = byte == b'\\' && !is_escaped;
        push_utf8(code, &mut utf8)?;
    }
    Some(utf8)
}

fn take_hex_number(bytes: &mut impl Iterator<Item = u8>, digits: usize) -> Option<u32> {
    (0..digits).try_fold(0, |number, _| Some(number << 4 | char::from(bytes.next()?).to_digit(16)?))
}

/// Appends a code point in UTF-8, even a surrogate; `None` if it is beyond U+10FFFF.
pub(crate) fn push_utf8(code: u32, utf8: &mut Vec<u8>) -> Option<()> {
    if let Some(char) = char::from_u32(code) {
        utf8.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        return Some(());
    }
    if code > 0xFFFF {
        return None;
    }
    let part = |shift: u32| 0x80 | (code >> shift & 0x3F) as u8;
    utf8.extend_from_slice(&[0xE0 | (code >> 12) as u8, part(6), part(0)]);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{Atom, decode_raw_unicode, decode_string_literal, digits, number};
    use crate::pickle::opcode::{GET, INT, LONG};

    /// The expected results are those of `pickle.loads` in Python 3.11, and of its unpickler in Python where they differ.
    #[test]
    fn integers_are_read_as_in_python() {
        for (text, expected) in
            [("0x10", 16), ("-0X_1f", -31), ("1_0", 10), ("0b11", 3), ("0o17", 15), (" +5 ", 5), ("000", 0)]
        {
            assert_eq!(number(INT, text.as_bytes()), Some(Some(Atom::Int(expected))), "{text}");
        }
        for wrong in ["1__0", "_1", "1_", "0x", "010", "", "5L", "+ 5", "+1", "0xg", "0_x1"] {
            assert_eq!(number(INT, wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(digits(LONG, b"0x10L"), Some(("10".into(), 16)));
        assert_eq!(digits(GET, b"0_07"), Some(("007".into(), 10)));
        assert_eq!(digits(GET, b"0x7"), None);
    }

    /// The expected results are those of `pickle.loads` in Python 3.12.
    #[test]
    fn string_escapes_are_decoded_as_in_pickle() {
        for (literal, bytes) in [
            (&b"'a'"[..], &b"a"[..]),
            (b"\"it's\"", b"it's"),
            (br"'\n\\\x41\101\0'", b"\n\\AA\0"),
            (br"'\q'", br"\q"),
        ] {
            assert_eq!(decode_string_literal(literal).unwrap(), bytes);
        }
        for wrong in [&b"'a"[..], b"a", b"'", br"'\'", br"'\x4'"] {
            assert_eq!(decode_string_literal(wrong), None);
        }
        assert_eq!(decode_raw_unicode(b"\xe9\\u03bb\\U0001F600").unwrap(), "éλ😀".as_bytes());
        assert_eq!(decode_raw_unicode(br"\\u0041").unwrap(), br"\\u0041");
        assert_eq!(decode_raw_unicode(br"\ud800").unwrap(), b"\xED\xA0\x80");
        assert_eq!(decode_raw_unicode(br"\u12"), None);
    }
}
