//! Python strings.

use std::fmt;

use crate::dtype::write_quoted;

/// A Python `str`.
///
/// Unlike Rust, Python allows lone surrogates in strings, but few strings contain any.
///
/// ```
/// use ndarray_io::object::{Object, View};
///
/// let object = Object::from("λ");
/// let View::Str(text) = object.view() else { panic!("a text") };
/// assert_eq!(text.as_str(), Some("λ"));
/// assert_eq!(text.code_points().collect::<Vec<u32>>(), [0x3BB]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text<'a>(Repr<'a>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Repr<'a> {
    Str(&'a str),
    /// A string with at least one surrogate.
    Codes(&'a [u32]),
}

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self(Repr::Str(text))
    }

    pub(super) fn of_codes(codes: &'a [u32]) -> Self {
        Self(Repr::Codes(codes))
    }

    /// Encodes the text as Latin-1; `None` if it contains other characters.
    pub(super) fn to_latin1(self) -> Option<Vec<u8>> {
        self.code_points().map(|code| u8::try_from(code).ok()).collect()
    }

    /// Returns the text, or `None` if it contains lone surrogates.
    pub fn as_str(self) -> Option<&'a str> {
        match self.0 {
            Repr::Str(text) => Some(text),
            Repr::Codes(_) => None,
        }
    }

    /// Iterates over the code points.
    pub fn code_points(self) -> impl Iterator<Item = u32> + Clone + 'a {
        let (text, codes) = match self.0 {
            Repr::Str(text) => (text, &[][..]),
            Repr::Codes(codes) => ("", codes),
        };
        text.chars().map(u32::from).chain(codes.iter().copied())
    }
}

/// Decodes UTF-8 that may contain surrogates, like Python's `surrogatepass`; `None` if malformed.
pub(super) fn decode_code_points(mut bytes: &[u8]) -> Option<Vec<u32>> {
    let mut codes = Vec::new();
    loop {
        let chunk = bytes.utf8_chunks().next();
        let valid = chunk.map_or("", |chunk| chunk.valid());
        codes.extend(valid.chars().map(u32::from));
        match &bytes[valid.len()..] {
            [] => return Some(codes),
            // Surrogates, U+D800 to U+DFFF, as UTF-8 would encode them if it allowed them.
            [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF, rest @ ..] => {
                codes.push(0xD000 | u32::from(second & 0x3F) << 6 | u32::from(third & 0x3F));
                bytes = rest;
            }
            _ => return None,
        }
    }
}

/// Formats like Python's `repr`, with quotes and escapes.
impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(self.code_points(), f)
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
