//! Paths to fields of a record, by name or number.

use std::fmt;

/// Selects a field of a record, or a nested field.
///
/// ```
/// use ndarray_io::DynArray;
///
/// # let text = "{'descr': [('at', [('x', '|u1'), ('y', '|u1')])], 'fortran_order': False, 'shape': (2,), }";
/// # let file = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &[1, 2, 3, 4]].concat();
/// # use ndarray_io::ReadNpyExt;
/// let points = DynArray::read_npy(&file[..])?; // of dtype [('at', [('x', '|u1'), ('y', '|u1')])]
/// assert_eq!(points.field("at.y")?.bytes(), [2, 4]);
/// assert_eq!(points.field(["at", "y"])?.bytes(), [2, 4]); // for names that contain a dot
/// assert_eq!(points.field(0)?.field(1)?.bytes(), [2, 4]);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldPath<'a> {
    /// The index of a field.
    Index(usize),
    /// The name or title of a field, or the names or titles of nested fields, separated by dots.
    ///
    /// A field with exactly this name takes precedence over a nested one. A text that matches several nested
    /// fields, which is possible because names may contain dots, is an error.
    Text(&'a str),
    /// The names or titles of nested fields, from the outermost to the innermost.
    Names(Vec<&'a str>),
}

impl From<usize> for FieldPath<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl<'a> From<&'a str> for FieldPath<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for FieldPath<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&[&'a str]> for FieldPath<'a> {
    fn from(names: &[&'a str]) -> Self {
        Self::Names(names.to_vec())
    }
}

impl<'a, const N: usize> From<[&'a str; N]> for FieldPath<'a> {
    fn from(names: [&'a str; N]) -> Self {
        Self::Names(names.to_vec())
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Text(text) => f.write_str(text),
            Self::Names(names) => f.write_str(&names.join(".")),
        }
    }
}
