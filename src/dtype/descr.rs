//! Implements `Display` for dtypes, as the Python literals that NumPy writes to a header.

use std::fmt;

use super::{ByteOrder, DType, Field, Kind, Record, Scalar, TimeStep, TimeUnit, Title};

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(scalar) => write!(f, "'{scalar}'"),
            Self::Subarray(subarray) => write!(f, "({}, {})", subarray.base(), subarray.shape_ref()),
            Self::Record(record) => record.fmt(f),
            Self::Object => f.write_str("'|O'"),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Kind::Narrow(narrow) = self.kind() {
            return f.write_str(narrow.name());
        }
        let order = match self.byte_order() {
            None => '|',
            Some(ByteOrder::Little) => '<',
            Some(ByteOrder::Big) => '>',
        };
        let size = if self.kind() == Kind::Text { self.size() / 4 } else { self.size() };
        write!(f, "{order}{}{size}", self.kind().letter())?;
        match self.kind() {
            Kind::Datetime(step) | Kind::Timedelta(step) if step.unit != TimeUnit::Generic => {
                write!(f, "[{step}]")
            }
            _ => Ok(()),
        }
    }
}

/// Formats the step as NumPy does between the brackets: `25s`.
impl fmt::Display for TimeStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => f.write_str(self.unit.symbol()),
            count => write!(f, "{count}{}", self.unit.symbol()),
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        let mut end = 0;
        for (index, field) in self.fields().iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            // NumPy spells padding as a void field with an empty name.
            if field.offset() > end {
                write!(f, "('', '|V{}'), ", field.offset() - end)?;
            }
            field.fmt(f)?;
            end = field.offset() + field.dtype().item_size();
        }
        if self.size() > end {
            let comma = if self.fields().is_empty() { "" } else { ", " };
            write!(f, "{comma}('', '|V{}')", self.size() - end)?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.title() {
            None => write!(f, "({}", Quoted(self.name()))?,
            Some(Title::Text(title)) => write!(f, "(({}, {})", Quoted(title), Quoted(self.name()))?,
            Some(Title::Int(title)) => write!(f, "(({title}, {})", Quoted(self.name()))?,
        }
        match self.dtype() {
            DType::Subarray(subarray) => write!(f, ", {}, {})", subarray.base(), subarray.shape_ref()),
            dtype => write!(f, ", {dtype})"),
        }
    }
}

/// Formats a string as Python's `repr` does.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        // As in `repr`, double quotes are used only if they save escaping.
        let quote = if self.0.contains('\'') && !self.0.contains('"') { '"' } else { '\'' };
        f.write_char(quote)?;
        for char in self.0.chars() {
            match char {
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                _ if char == quote => write!(f, "\\{char}")?,
                _ if is_printable(char) => f.write_char(char)?,
                _ => match u32::from(char) {
                    code @ 0..=0xFF => write!(f, "\\x{code:02x}")?,
                    code @ 0..=0xFFFF => write!(f, "\\u{code:04x}")?,
                    code => write!(f, "\\U{code:08x}")?,
                },
            }
        }
        f.write_char(quote)
    }
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
    let mut text = String::from("a");
    text.push(char);
    !text.escape_debug().any(|escaped| escaped == '\\')
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
