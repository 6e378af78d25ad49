//! The NPY format: two pure functions, [`parse`] and [`format()`], from bytes to a [`Header`] and back.
//!
//! They do no I/O: streams, slices, mappings and archive members all use the same `parse`, and so can sources
//! that this library does not support. The direct path reads the headers of known writers. All other headers
//! go through the tokenizer in `scan`, which makes the text safe for `py_literal` (feature `py_literal`).
//! Only the general path reports what is wrong with the text of a header.

mod alias;
#[cfg(feature = "py_literal")]
mod descr;
#[cfg(feature = "py_literal")]
mod dict;
mod direct;
mod escape;
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
pub(crate) use write::{SECTOR_SIZE, format_growing, format_in_place};

use crate::dtype::DType;
use crate::error::{Error, Fault, FilePart, FileSection, Result};
use crate::header::{Header, Parsed};
use crate::limits::Limits;

pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// A version of the NPY format.
///
/// ```
/// use ndarray_io::npy::Version;
/// assert!(Version::V1 < Version::V3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1"))]
#[non_exhaustive]
pub enum Version {
    /// 1.0: headers up to 65,535 bytes, in Latin-1.
    #[cfg_attr(feature = "serde-1", serde(rename = "1.0"))]
    V1,
    /// 2.0: headers up to 4 GiB, in Latin-1.
    #[cfg_attr(feature = "serde-1", serde(rename = "2.0"))]
    V2,
    /// 3.0: headers up to 4 GiB, in UTF-8.
    #[cfg_attr(feature = "serde-1", serde(rename = "3.0"))]
    V3,
}

impl Version {
    /// Returns the major and minor number of the version; [`Display`](fmt::Display) joins them with a dot.
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
            _ => {
                let reason = format!("{major}.{minor}, expected 1.0, 2.0 or 3.0");
                Err(Fault::Unsupported { part: FilePart::Version, reason }.into())
            }
        }
    }

    /// Returns the longest text, in bytes, whose length fits the version's length field.
    fn max_text_len(self) -> usize {
        if self == Self::V1 { u16::MAX.into() } else { u32::MAX as usize }
    }

    /// Returns the number of bytes before the text of the header.
    fn preamble_len(self) -> usize {
        // 6 bytes of magic, 2 of version, then the length: 2 bytes in version 1.0, 4 in later versions.
        if self == Self::V1 { MIN_PREAMBLE_LEN } else { 12 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.numbers();
        write!(f, "{major}.{minor}")
    }
}

/// The shortest preamble, in bytes: the magic, a version and a 2-byte length.
pub(crate) const MIN_PREAMBLE_LEN: usize = 10;

/// The contents of an NPY header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NpyHeader {
    /// The dtype, order and shape of the payload.
    pub header: Header,
    /// The version of the format.
    pub version: Version,
    /// The text of `descr`, exactly as it is spelled in the header.
    pub descr: String,
}

/// Parses a header from the first bytes of a file, with the default [`Limits`].
///
/// Too few bytes are not an error: the result is then [`NeedMore`](crate::header::Parsed::NeedMore). The
/// length is checked against the limits first; the text is parsed when all of it has arrived.
///
/// # Errors
///
/// - A [format error](crate::Error::is_format) if the bytes are not a header:
///   [`BadMagic`](crate::error::ErrorKind::BadMagic), [`Malformed`](crate::error::ErrorKind::Malformed) or
///   [`Unsupported`](crate::error::ErrorKind::Unsupported) (a version or a dtype).
/// - [`Limit`](crate::error::ErrorKind::Limit) if the header exceeds the limits.
///
/// # Examples
///
/// ```
/// use ndarray_io::header::Parsed;
/// use ndarray_io::npy::parse;
///
/// let file = b"\x93NUMPY\x01\x00\x46\x00{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }            \n";
/// assert_eq!(parse(&file[..8])?, Parsed::NeedMore(10));
/// assert_eq!(parse(&file[..10])?, Parsed::NeedMore(80));
/// let Parsed::Done(parsed, 80) = parse(file)? else { panic!() };
/// assert_eq!(parsed.descr, "'<i4'");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn parse(bytes: &[u8]) -> Result<Parsed<NpyHeader>> {
    parse_with(bytes, &Limits::default())
}

/// Parses a header from the first bytes of a file, with custom limits. See [`parse`].
///
/// # Errors
///
/// Those of [`parse`]. The length of the header is checked against `limits`; the limits on nesting and on the
/// number of axes are fixed.
pub fn parse_with(bytes: &[u8], limits: &Limits) -> Result<Parsed<NpyHeader>> {
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if !MAGIC.starts_with(magic) {
        return Err(Fault::bad_magic("NPY", bytes));
    }
    let [_, _, _, _, _, _, major, minor, ..] = *bytes else {
        return Ok(Parsed::NeedMore(MIN_PREAMBLE_LEN));
    };
    let version = Version::from_numbers(major, minor)?;
    let start = version.preamble_len();
    let length = match (version, bytes) {
        (Version::V1, &[_, _, _, _, _, _, _, _, a, b, ..]) => u64::from(u16::from_le_bytes([a, b])),
        (_, &[_, _, _, _, _, _, _, _, a, b, c, d, ..]) => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => return Ok(Parsed::NeedMore(start)),
    };
    // Checked before more bytes are requested, so that callers do not buffer a header beyond the limit.
    limits.check_header(length)?;
    let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
    let Some(end) = end else {
        return Err(Fault::Overflow { what: format!("a header of {length} bytes") }.into());
    };
    match bytes.get(start..end) {
        None => Ok(Parsed::NeedMore(end)),
        Some(text) => Ok(Parsed::Done(parse_text(text, version, start)?, end)),
    }
}

/// Returns the dtype that a name means in NumPy.
pub(crate) fn dtype_from_code(name: &str) -> Option<crate::dtype::DType> {
    alias::dtype(name).ok()
}

/// Parses a dtype as NumPy spells it.
///
/// The text is a name, such as `f8`, `>i2`, `int32` or `M8[ns]`, or the `descr` of a header, such as
/// `[('x', '<f4'), ('y', '|u1', (3,))]`. Surrounding whitespace is ignored.
///
/// # Errors
///
/// [`Unsupported`](crate::error::ErrorKind::Unsupported) if the text is not the name of a dtype. If
/// it is a literal, also the errors of [`parse`] for a malformed `descr`.
///
/// # Examples
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
        if let Some(dtype) = dtype_from_code(text) {
            return Ok(dtype);
        }
        // Parsed as the `descr` of a header, so that the same rules and error messages apply.
        let header = format!("{{'descr': {text}, 'fortran_order': False, 'shape': (), }}\n");
        let is_literal = text.starts_with(['\'', '"', '[', '(', '{']);
        let reason =
            "it is neither a name, such as f8, int32 or <U10, nor a descr, such as [('x', '<f8')]".to_owned();
        match is_literal {
            true => match parse_text(header.as_bytes(), Version::V3, 0)? {
                // Without this guard, a text with further keys after the dtype would pass for a dtype.
                found if found.descr == text => Ok(found.header.dtype().clone()),
                _ => Err(Fault::unsupported_dtype(text, &reason).into()),
            },
            false => Err(Fault::unsupported_dtype(text, &reason).into()),
        }
    }
}

/// Returns the error for a source that ends after `have` bytes, where [`parse`] needs `need`.
pub(crate) fn truncated(have: usize, need: usize) -> Error {
    let part = if have < MIN_PREAMBLE_LEN { FileSection::Preamble } else { FileSection::Header };
    Fault::Truncated { part, need: need as u64, have: have as u64 }.into()
}

/// Parses the text of a header that begins `start` bytes after the beginning of the array.
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
    let reason = "it is malformed, or in a form that no known writer uses".into();
    let error = Error::from(Fault::Malformed { part: FilePart::Header, reason, offset: Some(start as u64) });
    Err(error.with_help(crate::error::Remedy::Feature { name: "py_literal" }))
}

#[cfg(feature = "py_literal")]
fn decode(text: &[u8], version: Version, start: usize) -> Result<Cow<'_, str>> {
    match std::str::from_utf8(text) {
        Ok(text) if version == Version::V3 || text.is_ascii() => Ok(Cow::Borrowed(text)),
        Err(error) if version == Version::V3 => Err(Fault::Malformed {
            part: FilePart::Header,
            reason: "invalid UTF-8 in a header of version 3.0".into(),
            offset: Some((start + error.valid_up_to()) as u64),
        }
        .into()),
        _ => Ok(Cow::Owned(text.iter().copied().map(char::from).collect())),
    }
}

/// Asserts that both paths agree on a text that the direct path accepts; returns whether it does.
#[cfg(all(any(test, fuzzing), feature = "py_literal"))]
fn assert_agreement_if_direct(text: &[u8], version: Version) -> bool {
    let Some(direct) = direct::parse(text, version) else { return false };
    let general = parse_general(text, version, 10);
    match direct.into_header(version) {
        Ok(header) => assert_eq!(header, general.unwrap()),
        Err(error) => assert_eq!(error.to_string(), general.unwrap_err().to_string()),
    }
    true
}

/// Compares both paths on one text, for the fuzz target.
#[cfg(all(fuzzing, feature = "py_literal"))]
#[doc(hidden)]
pub fn compare_header_paths(text: &[u8], version: u8) {
    let version = [Version::V1, Version::V2, Version::V3][usize::from(version % 3)];
    if !assert_agreement_if_direct(text, version) {
        let _ = parse_general(text, version, 10);
    }
}

#[cfg(all(test, feature = "py_literal"))]
mod tests;
