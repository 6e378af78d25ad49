//! From a header to bytes: what NumPy writes, to the byte.

use std::fmt::Write;

use super::{MAGIC, Version};
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Help, Result};
use crate::header::Header;
use crate::shape::Order;

/// NumPy aligns the payload to this.
const ALIGN: usize = 64;
/// The room that NumPy leaves for the growing axis: as many digits as a 64-bit length can have, and one more.
const GROWTH_DIGITS: usize = 21;
/// What a disk writes whole or not at all.
pub(crate) const SECTOR: usize = 512;
/// Room for a small payload behind the header, so that both can be written in one go.
const SPARE: usize = 128;

/// The header as bytes, equal to what NumPy writes for it: in the lowest version that can hold it, or in the one asked
/// for.
///
/// # Errors
///
/// [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the header does not fit the version;
/// [`NotExpressible`](crate::error::ErrorKind::NotExpressible) of a dtype that NumPy does not have.
///
/// # Examples
///
/// ```
/// use ndarray_io::dtype::{ByteOrder, Kind, Scalar};
/// use ndarray_io::header::{Header, Order, Shape};
/// use ndarray_io::npy::Version;
/// use ndarray_io::npy;
///
/// let float = Scalar::new(Kind::Float, 8, ByteOrder::Little).unwrap();
/// let header = Header::new(float.into(), Order::C, Shape::from([3]))?;
/// let bytes = npy::format(&header, None)?;
/// assert!(bytes.starts_with(b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"));
/// assert_eq!(bytes.len() % 64, 0);
/// assert_eq!(npy::format(&header, Some(Version::V3))?[6], 3);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn format(header: &Header, version: Option<Version>) -> Result<Vec<u8>> {
    format_text(header, version, |text, _| text)
}

/// The same for an array that grows: its shape does not cross a sector, so that a header that is written again is never torn
/// within its length. That takes spaces that NumPy does not write, in headers of more than 450 bytes or so.
pub(crate) fn format_growing(header: &Header, version: Option<Version>) -> Result<Vec<u8>> {
    format_text(header, version, in_one_sector)
}

fn format_text(
    header: &Header,
    version: Option<Version>,
    place: fn(String, Version) -> String,
) -> Result<Vec<u8>> {
    if header.dtype().is_foreign_to_numpy() {
        let reason = "NumPy has no complex numbers of 2 × 16 bits".into();
        let dtype = header.dtype().clone();
        let error = Error::from(ErrorKind::NotExpressible { format: "NPY", dtype, reason });
        return Err(error.with_help(Help::WriteAs { rust_type: "Complex<f32>" }));
    }
    if matches!(header.dtype(), DType::Subarray(_)) && header.order() == Order::Fortran {
        let reason = "elements that are arrays themselves are written in C order only: in Fortran order their parts would be apart";
        return Err(ErrorKind::BadOption { reason: reason.into() }.into());
    }
    let text = text(&*header.ungrouped()?);
    let is_latin1 = text.is_ascii() || text.chars().all(|char| u32::from(char) <= 0xFF);
    let fits = |version| {
        let has_letters = is_latin1 || version == Version::V3;
        has_letters && padded_len(encoded_len(&text, version), version) <= version.longest_header()
    };
    let needed = [Version::V1, Version::V2, Version::V3].into_iter().find(|&version| fits(version));
    let Some(needed) = needed else {
        return Err(ErrorKind::Overflow { what: format!("a header of {} bytes", text.len()) }.into());
    };
    let version = version.unwrap_or(needed);
    if !fits(version) {
        return Err(ErrorKind::VersionTooLow { wanted: version.numbers(), needed: needed.numbers() }.into());
    }

    let text = place(text, version);
    let padded = padded_len(encoded_len(&text, version), version);
    if padded > version.longest_header() {
        return Err(
            ErrorKind::VersionTooLow { wanted: version.numbers(), needed: Version::V2.numbers() }.into()
        );
    }
    Ok(framed(&text, version, version.preamble_len() + padded))
}

/// The header in just so many bytes, those of one that is there, with or without its shape in one sector; `None` if it does
/// not fit.
pub(crate) fn format_in_place(
    header: &Header,
    version: Version,
    len: usize,
    is_in_one_sector: bool,
) -> Option<Vec<u8>> {
    let mut text = text(&*header.ungrouped().ok()?);
    if is_in_one_sector {
        text = in_one_sector(text, version);
    }
    let text = text.trim_end(); // without the room to grow: what is left of the old header is room
    let is_latin1 = text.chars().all(|char| u32::from(char) <= 0xFF);
    let length = encoded_len(text, version);
    let fits = version.preamble_len() + length < len && (is_latin1 || version == Version::V3);
    fits.then(|| framed(text, version, len))
}

/// How many bytes a text has in a version.
fn encoded_len(text: &str, version: Version) -> usize {
    match version {
        Version::V3 => text.len(),
        _ if text.is_ascii() => text.len(),
        _ => text.chars().count(),
    }
}

/// The text with spaces in front of its shape, if the shape, with its room to grow, would cross a sector without them. (Of more
/// than a sector, it crosses one in any case.)
fn in_one_sector(mut text: String, version: Version) -> String {
    let shape = text.rfind("'shape'").unwrap_or(0); // the last thing in it, and nothing but numbers follows
    let start = version.preamble_len() + encoded_len(&text[..shape], version);
    let end = start + text.len() - shape;
    if start / SECTOR != (end - 1) / SECTOR && end - start <= SECTOR {
        text.insert_str(shape, &" ".repeat(SECTOR - start % SECTOR));
    }
    text
}

/// A text with what stands before it, filled up to the length of the whole.
fn framed(text: &str, version: Version, end: usize) -> Vec<u8> {
    let padded = end - version.preamble_len();
    let mut bytes = Vec::with_capacity(end + SPARE);
    let (major, minor) = version.numbers();
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[major, minor]);
    // The length has been found to fit.
    bytes.extend_from_slice(&(padded as u32).to_le_bytes()[..version.preamble_len() - bytes.len()]);
    if text.is_ascii() || version == Version::V3 {
        bytes.extend_from_slice(text.as_bytes());
    } else {
        bytes.extend(text.chars().map(|char| u32::from(char) as u8));
    }
    bytes.resize(end - 1, b' ');
    bytes.push(b'\n');
    bytes
}

fn text(header: &Header) -> String {
    let (order, growing) = match header.order() {
        Order::C => ("False", header.shape().first()),
        Order::Fortran => ("True", header.shape().last()),
    };
    let (dtype, shape) = (header.dtype(), header.the_shape());
    let mut text = String::with_capacity(128);
    // Writing into a string never fails.
    let _ = write!(text, "{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}");
    if let Some(growing) = growing {
        let digits = growing.checked_ilog10().unwrap_or(0) as usize + 1;
        text.extend(std::iter::repeat_n(' ', GROWTH_DIGITS - digits)); // a usize has at most 20 digits
    }
    text
}

/// The length with the padding that aligns the payload, of which there is at least one space, and the line end.
fn padded_len(length: usize, version: Version) -> usize {
    let unpadded = version.preamble_len() + length + 1;
    length + 1 + (ALIGN - unpadded % ALIGN)
}
