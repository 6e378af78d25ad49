//! Python's texts.

use std::fmt;
use std::sync::Arc;

use smol_str::SmolStr;

/// A Python `str`. It is text, nearly always; but Python allows lone surrogates in it, which Rust does not.
///
/// ```
/// use ndarray_io::PyStr;
///
/// let text = PyStr::from("λ");
/// assert_eq!(text.as_str(), Some("λ"));
/// assert_eq!(text.code_points(), [0x3BB]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyStr(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Text(SmolStr),
    /// With a surrogate somewhere.
    CodePoints(Arc<[u32]>),
}

impl PyStr {
    /// Of UTF-8 in which surrogates may stand, as Python's "surrogatepass" has it; `None` if it is none.
    pub(super) fn from_utf8(mut bytes: &[u8]) -> Option<Self> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Some(text.into());
        }
        let mut codes = Vec::new();
        loop {
            let chunk = bytes.utf8_chunks().next();
            let valid = chunk.map_or("", |chunk| chunk.valid());
            codes.extend(valid.chars().map(u32::from));
            match &bytes[valid.len()..] {
                [] => return Some(Self(Repr::CodePoints(codes.into()))),
                [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF, rest @ ..] => {
                    codes.push(0xD000 | u32::from(second & 0x3F) << 6 | u32::from(third & 0x3F));
                    bytes = rest;
                }
                _ => return None,
            }
        }
    }

    /// The text; `None` if there are lone surrogates in it.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Text(text) => Some(text),
            Repr::CodePoints(_) => None,
        }
    }

    /// The numbers of its characters.
    pub fn code_points(&self) -> Vec<u32> {
        self.codes().collect()
    }

    fn codes(&self) -> impl Iterator<Item = u32> {
        let (text, codes) = match &self.0 {
            Repr::Text(text) => (text.as_str(), &[][..]),
            Repr::CodePoints(codes) => ("", &codes[..]),
        };
        text.chars().map(u32::from).chain(codes.iter().copied())
    }
}

impl From<&str> for PyStr {
    fn from(text: &str) -> Self {
        Self(Repr::Text(text.into()))
    }
}

impl From<String> for PyStr {
    fn from(text: String) -> Self {
        Self(Repr::Text(text.into()))
    }
}

/// As Python's `repr`, with its quotes and escapes.
impl fmt::Display for PyStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        let has = |char: char| self.codes().any(|code| code == u32::from(char));
        let quote = if has('\'') && !has('"') { '"' } else { '\'' };
        f.write_char(quote)?;
        for code in self.codes() {
            match char::from_u32(code) {
                Some(char) if char == quote || char == '\\' => write!(f, "\\{char}")?,
                Some('\n') => f.write_str("\\n")?,
                Some('\r') => f.write_str("\\r")?,
                Some('\t') => f.write_str("\\t")?,
                Some(char) if is_shown(char) => f.write_char(char)?,
                _ if code <= 0xFF => write!(f, "\\x{code:02x}")?,
                _ if code <= 0xFFFF => write!(f, "\\u{code:04x}")?,
                _ => write!(f, "\\U{code:08x}")?,
            }
        }
        f.write_char(quote)
    }
}

/// Whether a character is shown as it is: so is what Rust shows so, but for what a terminal would not show.
fn is_shown(char: char) -> bool {
    char == ' ' || char == '\'' || char == '"' || char.escape_debug().len() == 1 && !char.is_whitespace()
}

impl fmt::Debug for PyStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
