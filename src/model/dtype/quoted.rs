//! [`Quoted`]: text as Python's `repr` shows it.

use std::fmt::{self, Write};

/// Formats a string as Python's `repr` does.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(self.0.chars().map(u32::from), f)
    }
}

/// Writes code points, which may be surrogates, as Python's `repr` shows them.
pub(crate) fn write_quoted(codes: impl Iterator<Item = u32> + Clone, f: &mut dyn Write) -> fmt::Result {
    let has = |char: char| codes.clone().any(|code| code == u32::from(char));
    // As in `repr`, double quotes are used only if they save escaping.
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    f.write_char(quote)?;
    for code in codes {
        match char::from_u32(code) {
            Some(char) if char == quote || char == '\\' => write!(f, "\\{char}")?,
            Some('\n') => f.write_str("\\n")?,
            Some('\r') => f.write_str("\\r")?,
            Some('\t') => f.write_str("\\t")?,
            Some(char) if is_printable(char) => f.write_char(char)?,
            _ if code <= 0xFF => write!(f, "\\x{code:02x}")?,
            _ if code <= 0xFFFF => write!(f, "\\u{code:04x}")?,
            _ => write!(f, "\\U{code:08x}")?,
        }
    }
    f.write_char(quote)
}

/// Returns what Python's `str.isprintable` returns.
///
/// The standard library's table for `Debug` is based on the same Unicode categories. Only `str::escape_debug`
/// gives access to that table. It escapes combining marks only at the start, so a letter precedes the
/// character.
fn is_printable(char: char) -> bool {
    if char.is_ascii() {
        return !char.is_ascii_control();
    }
    let mut text = [b'a'; 5];
    let len = 1 + char.encode_utf8(&mut text[1..]).len();
    // Neither is ever false: a letter and the encoding of a character are text.
    std::str::from_utf8(&text[..len]).is_ok_and(|text| !text.escape_debug().any(|escaped| escaped == '\\'))
}

#[cfg(test)]
mod tests {
    use super::Quoted;

    #[test]
    fn strings_are_quoted_as_python_does() {
        // The output of repr() in Python 3.11.
        let cases = [
            ("a b", "'a b'"),
            ("it's", "\"it's\""),
            ("say \"a\"", "'say \"a\"'"),
            ("'\"", "'\\'\"'"),
            ("\\", "'\\\\'"),
            ("new\nline\ttab\0nul\u{1b}", "'new\\nline\\ttab\\x00nul\\x1b'"),
            ("\u{7f}\u{80}\u{a0}\u{ad}", "'\\x7f\\x80\\xa0\\xad'"),
            ("\u{2028}", "'\\u2028'"),
            ("\u{e000}\u{10ffff}", "'\\ue000\\U0010ffff'"),
            ("e\u{301}", "'e\u{301}'"),
            ("é数😀", "'é数😀'"),
        ];
        for (text, expected) in cases {
            assert_eq!(Quoted(text).to_string(), expected);
        }
    }
}
