//! From a header to bytes: what NumPy writes, to the byte.

use super::{MAGIC, Version};
use crate::error::{ErrorKind, Result};
use crate::header::Header;
use crate::shape::Order;

/// NumPy aligns the payload to this.
const ALIGN: usize = 64;
/// The room that NumPy leaves for the growing axis: as many digits as a 64-bit length can have, and one more.
const GROWTH_DIGITS: usize = 21;

/// The header as bytes, equal to what NumPy writes for it: in the lowest version that can hold it, or in the one asked
/// for.
///
/// ```
/// use ndarray_io::{npy, ByteOrder, Header, Kind, Order, Scalar, Shape, Version};
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
    let text = text(header);
    let is_latin1 = text.chars().all(|char| u32::from(char) <= 0xFF);
    let utf8_fits = |version| is_latin1 || version == Version::V3;
    let fits = |version| utf8_fits(version) && length_bytes(version, padded_len(&text, version)).is_some();
    let needed = [Version::V1, Version::V2, Version::V3].into_iter().find(|&version| fits(version));
    let Some(needed) = needed else {
        return Err(ErrorKind::Overflow { what: format!("a header of {} bytes", text.len()) }.into());
    };
    let version = version.unwrap_or(needed);
    if !fits(version) {
        return Err(ErrorKind::VersionTooLow { wanted: version.numbers(), needed: needed.numbers() }.into());
    }

    let padded = padded_len(&text, version);
    let end = version.preamble_len() + padded;
    let mut bytes = Vec::with_capacity(end);
    let (major, minor) = version.numbers();
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[major, minor]);
    bytes.extend_from_slice(&length_bytes(version, padded).unwrap_or_default());
    push_encoded(&mut bytes, &text, version);
    bytes.resize(end - 1, b' ');
    bytes.push(b'\n');
    Ok(bytes)
}

fn text(header: &Header) -> String {
    let (order, growing) = match header.order() {
        Order::C => ("False", header.shape().dims().first()),
        Order::Fortran => ("True", header.shape().dims().last()),
    };
    let dtype = header.dtype();
    let mut text = format!("{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {}, }}", header.shape());
    if let Some(growing) = growing {
        let digits = growing.to_string().len();
        text.extend(std::iter::repeat_n(' ', GROWTH_DIGITS - digits)); // usize has at most 20 digits
    }
    text
}

/// The length of the text with its padding, so that the payload is aligned. There is at least one space, as in NumPy.
fn padded_len(text: &str, version: Version) -> usize {
    let length = if version == Version::V3 { text.len() } else { text.chars().count() };
    let unpadded = version.preamble_len() + length + 1;
    length + 1 + (ALIGN - unpadded % ALIGN)
}

/// The length as the version stores it; `None` if it does not fit.
fn length_bytes(version: Version, length: usize) -> Option<Vec<u8>> {
    match version {
        Version::V1 => Some(u16::try_from(length).ok()?.to_le_bytes().to_vec()),
        Version::V2 | Version::V3 => Some(u32::try_from(length).ok()?.to_le_bytes().to_vec()),
    }
}

fn push_encoded(bytes: &mut Vec<u8>, text: &str, version: Version) {
    if version == Version::V3 || text.is_ascii() {
        bytes.extend_from_slice(text.as_bytes());
    } else {
        // Only text in Latin-1 comes here: other text does not fit this version.
        bytes.extend(text.chars().map(|char| u32::from(char) as u8));
    }
}
