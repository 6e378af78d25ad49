//! The NPY format: two pure functions, [`parse`] and [`format()`], from bytes to a [`Header`] and back.
//!
//! They do no I/O. A stream, a slice, a mapping and a member of an archive all drive the same `parse`, and so can
//! whatever you have that this library does not know. The text of a header goes through the direct path if it is what
//! a known writer writes, and else through the tokenizer in `scan`, which makes it safe for `py_literal` (feature `py_literal`).
//! What is wrong with a header, the general path alone says.

mod alias;
#[cfg(feature = "py_literal")]
mod descr;
#[cfg(feature = "py_literal")]
mod dict;
mod direct;
#[cfg(feature = "py_literal")]
mod fault;
mod fields;
#[cfg(feature = "py_literal")]
mod number;
#[cfg(feature = "py_literal")]
mod scan;
#[cfg(feature = "py_literal")]
mod string;
#[cfg(feature = "py_literal")]
mod value;
mod write;

#[cfg(feature = "py_literal")]
use std::borrow::Cow;
use std::fmt;

pub use write::format;
pub(crate) use write::{SECTOR, format_growing, format_in_place};

use crate::dtype::DType;
use crate::error::{Error, ErrorKind, FileSection, Result};
use crate::header::Header;
use crate::limits::Limits;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The version of the format.
///
/// ```
/// use ndarray_io::npy::Version;
/// assert!(Version::V1 < Version::V3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// 1.0: headers up to 65,535 bytes, in Latin-1.
    V1,
    /// 2.0: headers up to 4 GiB, in Latin-1.
    V2,
    /// 3.0: headers up to 4 GiB, in UTF-8.
    V3,
}

impl Version {
    /// The two numbers of the version, between which [`Display`](fmt::Display) puts a dot.
    ///
    /// ```
    /// assert_eq!(ndarray_io::npy::Version::V2.numbers(), (2, 0));
    /// assert_eq!(ndarray_io::npy::Version::V2.to_string(), "2.0");
    /// ```
    pub fn numbers(self) -> (u8, u8) {
        match self {
            Self::V1 => (1, 0),
            Self::V2 => (2, 0),
            Self::V3 => (3, 0),
        }
    }

    fn from_numbers(major: u8, minor: u8) -> Result<Self> {
        match (major, minor) {
            (1, 0) => Ok(Self::V1),
            (2, 0) => Ok(Self::V2),
            (3, 0) => Ok(Self::V3),
            _ => Err(ErrorKind::BadVersion { major, minor }.into()),
        }
    }

    /// The longest text that the version's field for it can state.
    fn longest_header(self) -> usize {
        if self == Self::V1 { u16::MAX.into() } else { u32::MAX as usize }
    }

    /// How many bytes stand before the text of the header.
    fn preamble_len(self) -> usize {
        if self == Self::V1 { SHORTEST } else { 12 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.numbers();
        write!(f, "{major}.{minor}")
    }
}

/// What every file has at least: the magic, a version and a length.
const SHORTEST: usize = 10;

/// What an NPY header says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NpyHeader {
    /// What the payload is.
    pub header: Header,
    /// The version of the format.
    pub version: Version,
    /// The text of `descr`, exactly as it stands in the header.
    pub descr: String,
}

/// What [`parse`] found.
pub type Parsed = crate::header::Parsed<NpyHeader>;

/// Reads a header from the first bytes of a file, with the default [`Limits`].
///
/// # Errors
///
/// An error of the [format](crate::Error::is_format) if the bytes are not a header; [`Limit`](crate::error::ErrorKind::Limit) beyond
/// the limits. (Too few bytes are not an error.)
///
/// # Examples
///
/// ```
/// use ndarray_io::npy::{parse, Parsed};
///
/// let file = b"\x93NUMPY\x01\x00\x46\x00{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }            \n";
/// assert_eq!(parse(&file[..8])?, Parsed::NeedMore(10));
/// assert_eq!(parse(&file[..10])?, Parsed::NeedMore(80));
/// let Parsed::Done(parsed, 80) = parse(file)? else { panic!() };
/// assert_eq!(parsed.descr, "'<i4'");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn parse(bytes: &[u8]) -> Result<Parsed> {
    parse_with(bytes, &Limits::default())
}

/// Reads a header from the first bytes of a file, with limits of your own. See [`parse`].
///
/// # Errors
///
/// An error of the [format](crate::Error::is_format) if the bytes are not a header; [`Limit`](crate::error::ErrorKind::Limit) beyond
/// the limits. (Too few bytes are not an error.)
pub fn parse_with(bytes: &[u8], limits: &Limits) -> Result<Parsed> {
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if !MAGIC.starts_with(magic) {
        return Err(ErrorKind::BadMagic { format: "NPY", found: magic.to_vec() }.into());
    }
    let [_, _, _, _, _, _, major, minor, ..] = *bytes else {
        return Ok(Parsed::NeedMore(SHORTEST));
    };
    let version = Version::from_numbers(major, minor)?;
    let start = version.preamble_len();
    let length = match (version, bytes) {
        (Version::V1, &[_, _, _, _, _, _, _, _, a, b, ..]) => u64::from(u16::from_le_bytes([a, b])),
        (_, &[_, _, _, _, _, _, _, _, a, b, c, d, ..]) => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => return Ok(Parsed::NeedMore(start)),
    };
    limits.check_header(length)?;
    let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
    let Some(end) = end else {
        return Err(ErrorKind::Overflow { what: format!("a header of {length} bytes") }.into());
    };
    match bytes.get(start..end) {
        None => Ok(Parsed::NeedMore(end)),
        Some(text) => Ok(Parsed::Done(parse_text(text, version, start)?, end)),
    }
}

/// The dtype of a name, as NumPy understands it.
pub(crate) fn named(name: &str) -> Option<crate::dtype::DType> {
    alias::dtype(name).ok()
}

/// As NumPy spells a dtype: a name as `f8`, `>i2`, `int32`, `M8[ns]`, or what a header says, as `[('x', '<f4'), ('y', '|u1', (3,))]`.
///
/// ```
/// use ndarray_io::DType;
///
/// let dtype: DType = ">i2".parse()?;
/// assert_eq!(dtype.to_string(), "'>i2'");
/// let record: DType = "[('x', '<f4'), ('n', '|u1')]".parse()?;
/// assert_eq!(record.item_size(), 5);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
impl std::str::FromStr for DType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        if let Some(dtype) = named(text) {
            return Ok(dtype);
        }
        // A header's own rules say what it is, and what is wrong with it.
        let header = format!("{{'descr': {text}, 'fortran_order': False, 'shape': (), }}\n");
        let is_literal = text.starts_with(['\'', '"', '[', '(', '{']);
        let reason = "it is no name of a type, and nothing that a header says".to_owned();
        match is_literal {
            // Not a text that goes on with keys of its own.
            true => match parse_text(header.as_bytes(), Version::V3, 0)? {
                found if found.descr == text => Ok(found.header.dtype().clone()),
                _ => Err(ErrorKind::UnsupportedDType { descr: text.to_owned(), reason }.into()),
            },
            false => Err(ErrorKind::UnsupportedDType { descr: text.to_owned(), reason }.into()),
        }
    }
}

/// The error for a source that ends where [`parse`] still needs `need` bytes.
pub(crate) fn truncated(have: usize, need: usize) -> Error {
    let part = if have < SHORTEST { FileSection::Preamble } else { FileSection::Header };
    ErrorKind::Truncated { part, need: need as u64, have: have as u64 }.into()
}

/// Reads the text of a header that begins `start` bytes behind the beginning of the array.
fn parse_text(text: &[u8], version: Version, start: usize) -> Result<NpyHeader> {
    match direct::parse(text, version) {
        Some(direct) => direct.into_header(version),
        None => parse_general(text, version, start),
    }
}

#[cfg(feature = "py_literal")]
fn parse_general(text: &[u8], version: Version, start: usize) -> Result<NpyHeader> {
    let text = decode(text, version, start)?;
    dict::parse(&text, version).map_err(|fault| fault.into_error(&text, version, start))
}

#[cfg(not(feature = "py_literal"))]
fn parse_general(_: &[u8], _: Version, start: usize) -> Result<NpyHeader> {
    let reason = "it is malformed, or spelled as no known writer spells it".into();
    let error = Error::from(ErrorKind::BadHeader { reason, offset: Some(start as u64) });
    Err(error.with_help(crate::error::Help::Feature { name: "py_literal" }))
}

#[cfg(feature = "py_literal")]
fn decode(text: &[u8], version: Version, start: usize) -> Result<Cow<'_, str>> {
    match std::str::from_utf8(text) {
        Ok(text) if version == Version::V3 || text.is_ascii() => Ok(Cow::Borrowed(text)),
        Err(error) if version == Version::V3 => Err(ErrorKind::BadHeader {
            reason: "a header of version 3.0 is UTF-8, and this byte is not".into(),
            offset: Some((start + error.valid_up_to()) as u64),
        }
        .into()),
        _ => Ok(Cow::Owned(text.iter().copied().map(char::from).collect())),
    }
}

/// Both paths on one text: what the direct one accepts, the general one understands in the same way. Returns whether it accepts it.
#[cfg(all(any(test, fuzzing), feature = "py_literal"))]
fn compare_paths(text: &[u8], version: Version) -> bool {
    let Some(direct) = direct::parse(text, version) else { return false };
    let general = parse_general(text, version, 10);
    match direct.into_header(version) {
        Ok(header) => assert_eq!(header, general.unwrap()),
        Err(error) => assert_eq!(error.to_string(), general.unwrap_err().to_string()),
    }
    true
}

/// The same for the fuzz target.
#[cfg(all(fuzzing, feature = "py_literal"))]
#[doc(hidden)]
pub fn compare_header_paths(text: &[u8], version: u8) {
    let version = [Version::V1, Version::V2, Version::V3][usize::from(version % 3)];
    if !compare_paths(text, version) {
        let _ = parse_general(text, version, 10);
    }
}

#[cfg(all(test, feature = "py_literal"))]
mod tests;
