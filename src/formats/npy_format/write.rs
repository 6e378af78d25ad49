//! Writes headers as bytes that equal NumPy's.

use std::fmt::Write;

use super::{MAGIC, Version};
use crate::dtype::DType;
use crate::error::{Error, Fault, Remedy, Result};
use crate::header::Header;
use crate::shape::Order;

/// The payload starts at a multiple of this number of bytes, as in files that NumPy writes.
const ALIGN: usize = 64;
/// The width, in digits, that NumPy reserves for the growing axis: a 64-bit length has up to 20, plus one.
const GROWTH_DIGITS: usize = 21;
/// The number of bytes that a disk writes atomically. Larger physical sectors are multiples of it.
pub(crate) const SECTOR_SIZE: usize = 512;
/// Spare capacity after the header, so that the header and a small payload can be written in one call.
const SPARE_CAPACITY: usize = 128;

/// Formats a header as the bytes that NumPy writes for it.
///
/// Without a `version`, uses the lowest one that can hold the header. The result includes the magic and the
/// padding; its length is a multiple of 64.
///
/// # Errors
///
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the header does not fit the version, or if the elements are subarrays and the
///   order is Fortran's.
/// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if NumPy does not support the dtype.
/// - [`Malformed`](crate::error::ErrorKind::Malformed) if no version can hold the header.
/// - [`Limit`](crate::error::ErrorKind::Limit) if the array has more than 64 axes, including those of a
///   subarray.
///
/// # Examples
///
/// ```
/// use ndarray_io::dtype::{Kind, Scalar};
/// use ndarray_io::header::{Header, Order, Shape};
/// use ndarray_io::npy::Version;
/// use ndarray_io::{ByteOrder, npy};
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
    format_with_placement(header, version, |text, _| text)
}

/// Formats the header of an array that grows, with its shape within one disk sector.
///
/// If the power fails while the header is rewritten with a new length, the length is then never partially
/// written. Headers of more than about 450 bytes need spaces for this that NumPy does not write.
pub(crate) fn format_growing(header: &Header, version: Option<Version>) -> Result<Vec<u8>> {
    format_with_placement(header, version, move_shape_into_one_sector)
}

fn format_with_placement(
    header: &Header,
    version: Option<Version>,
    place: fn(String, Version) -> String,
) -> Result<Vec<u8>> {
    if header.dtype().is_foreign_to_numpy() {
        let reason = DType::FOREIGN_REASON.into();
        let dtype = header.dtype().clone();
        let error = Error::from(Fault::NotRepresentable { format: "NPY", dtype, reason });
        return Err(error.with_help(Remedy::WriteAs { rust_type: "Complex<f32>" }));
    }
    if matches!(header.dtype(), DType::Subarray(_)) && header.order() == Order::Fortran {
        let reason = "elements that are arrays are written in C order only: in Fortran order their parts would not be contiguous";
        return Err(Fault::BadOption { reason: reason.into() }.into());
    }
    let text = header_text(&*header.ungroup_inner_axes()?);
    let is_latin1 = text.is_ascii() || text.chars().all(|char| u32::from(char) <= 0xFF);
    let fits = |version| {
        let has_letters = is_latin1 || version == Version::V3;
        has_letters && padded_len(encoded_len(&text, version), version) <= version.max_text_len()
    };
    let needed = [Version::V1, Version::V2, Version::V3].into_iter().find(|&version| fits(version));
    let Some(needed) = needed else {
        return Err(Fault::Overflow { what: format!("a header of {} bytes", text.len()) }.into());
    };
    let version = version.unwrap_or(needed);
    if !fits(version) {
        return Err(Fault::VersionTooLow { wanted: version.numbers(), needed: needed.numbers() }.into());
    }

    // The spaces that `place` inserts can push the header past the limit that was checked above.
    let text = place(text, version);
    let padded = padded_len(encoded_len(&text, version), version);
    if padded > version.max_text_len() {
        return Err(Fault::VersionTooLow { wanted: version.numbers(), needed: Version::V2.numbers() }.into());
    }
    Ok(add_preamble_and_padding(&text, version, version.preamble_len() + padded))
}

/// Formats a header in exactly `len` bytes, to replace an existing one.
///
/// Keeps the shape in one sector if `is_in_one_sector`. Returns `None` if the header does not fit.
pub(crate) fn format_in_place(
    header: &Header,
    version: Version,
    len: usize,
    is_in_one_sector: bool,
) -> Option<Vec<u8>> {
    let mut text = header_text(&*header.ungroup_inner_axes().ok()?);
    if is_in_one_sector {
        text = move_shape_into_one_sector(text, version);
    }
    let text = text.trim_end(); // without the growth padding: `add_preamble_and_padding` pads to `len` anyway
    let is_latin1 = text.chars().all(|char| u32::from(char) <= 0xFF);
    let length = encoded_len(text, version);
    let fits = version.preamble_len() + length < len && (is_latin1 || version == Version::V3);
    fits.then(|| add_preamble_and_padding(text, version, len))
}

/// Returns the length of a text in bytes, in the encoding of a version.
fn encoded_len(text: &str, version: Version) -> usize {
    match version {
        Version::V3 => text.len(),
        _ if text.is_ascii() => text.len(),
        _ => text.chars().count(),
    }
}

/// Inserts spaces before the shape if the shape, with its space to grow, would cross a sector boundary.
///
/// A shape longer than a sector crosses a boundary in any case, and is not moved.
fn move_shape_into_one_sector(mut text: String, version: Version) -> String {
    let shape = text.rfind("'shape'").unwrap_or(0); // the last key, followed only by numbers
    let start = version.preamble_len() + encoded_len(&text[..shape], version);
    let end = start + text.len() - shape;
    if start / SECTOR_SIZE != (end - 1) / SECTOR_SIZE && end - start <= SECTOR_SIZE {
        text.insert_str(shape, &" ".repeat(SECTOR_SIZE - start % SECTOR_SIZE));
    }
    text
}

/// Adds the preamble to a text and pads it with spaces to a total length of `end` bytes.
fn add_preamble_and_padding(text: &str, version: Version, end: usize) -> Vec<u8> {
    let padded = end - version.preamble_len();
    let mut bytes = Vec::with_capacity(end + SPARE_CAPACITY);
    let (major, minor) = version.numbers();
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[major, minor]);
    // The callers have checked that the length fits the field.
    bytes.extend_from_slice(&(padded as u32).to_le_bytes()[..version.preamble_len() - bytes.len()]);
    if text.is_ascii() || version == Version::V3 {
        bytes.extend_from_slice(text.as_bytes());
    } else {
        // Latin-1: the callers have checked that every character fits one byte.
        bytes.extend(text.chars().map(|char| u32::from(char) as u8));
    }
    bytes.resize(end - 1, b' ');
    bytes.push(b'\n');
    bytes
}

fn header_text(header: &Header) -> String {
    let (order, growing) = match header.order() {
        Order::C => ("False", header.shape().first()),
        Order::Fortran => ("True", header.shape().last()),
    };
    let (dtype, shape) = (header.dtype().stored(), header.shape_ref());
    let mut text = String::with_capacity(128);
    // Writing into a string never fails.
    let _ = write!(text, "{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}");
    if let Some(growing) = growing {
        let digits = growing.checked_ilog10().unwrap_or(0) as usize + 1;
        text.extend(std::iter::repeat_n(' ', GROWTH_DIGITS - digits)); // a usize has at most 20 digits
    }
    text
}

/// Returns the length of a text with its padding and its line end. The padding has at least one space.
fn padded_len(length: usize, version: Version) -> usize {
    // As in NumPy, a header that is already aligned still gets 64 bytes of padding.
    let unpadded = version.preamble_len() + length + 1;
    length + 1 + (ALIGN - unpadded % ALIGN)
}
