//! The RA format: two pure functions, [`parse`] and [`format()`], from bytes to a [`Header`] and back.
//!
//! An RA ("raw array") file has six 64-bit numbers (magic, flags, element type, element size, data size,
//! number of axes), then the lengths of the axes, the fastest-varying first, then the data. Writers
//! disagree about the byte order of the header, the meaning of element type 5 and the meaning of the flags;
//! this module resolves the differences.

mod kind;
mod query;

pub use query::query;

use crate::bytes::AsChunks;
use crate::dtype::{ByteOrder, DType, Kind, Scalar};
use crate::error::{Error, Fault, FilePart, FileSection, LimitKind, Result};
use crate::header::{Header, Parsed};
use crate::limits::{self, Limits};
use crate::shape::{Order, Shape};

pub(crate) const MAGIC: &[u8; 8] = b"rawarray";
/// The shortest header, in bytes: the magic and five numbers.
const MIN_HEADER_LEN: usize = 48;

/// Flag: the data is in big-endian byte order.
pub(crate) const BIG_ENDIAN_FLAG: u64 = 1;
/// Flag: the data is compressed, by one of the methods in [`Packing`].
pub(crate) const PACKED_FLAG: u64 = 2;
/// Flag: the data is single bits.
const BITS_FLAG: u64 = 4;

/// The contents of an RA header.
///
/// ```
/// use ndarray_io::header::Parsed;
/// use ndarray_io::ra::parse;
///
/// let mut file = b"rawarray".to_vec();
/// for number in [0u64, 3, 8, 96, 2, 3, 4] { // flags, float, its size, data size, axes, their lengths
///     file.extend(number.to_le_bytes());
/// }
/// let Parsed::Done(parsed, 64) = parse(&file)? else { panic!("the header is complete") };
/// assert_eq!(parsed.header.shape(), [3, 4]);
/// assert_eq!(parsed.header.dtype().to_string(), "'<f8'");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RaHeader {
    /// The dtype, order and shape of the decompressed payload. The first axis varies fastest.
    pub header: Header,
    /// The flags. If the header is big-endian, [`parse`] also sets the big-endian flag.
    pub flags: u64,
    /// The number of the element type.
    ///
    /// 0 is a composite, 1 a signed integer, 2 an unsigned integer, 3 a float, 4 a complex number. 5 is a
    /// bool of one byte, a `bfloat16` of two bytes, or single bits.
    pub eltype: u64,
    /// The size of one element, in bytes.
    pub elbyte: u64,
    /// The size of the data, in bytes. For compressed data, this is the compressed or the decompressed size,
    /// depending on the compression.
    pub size: u64,
}

/// The ways in which the data can be compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Not compressed.
    None,
    /// One bit per element, in words of 64 bits.
    Bits,
    /// One LZ4 block.
    Lz4,
    /// Can only be determined from the data, of which there are as many bytes as of the elements: an LZ4 block, bools of
    /// one byte, or not compressed.
    SameSize,
    /// Can only be determined from the data: an LZ4 block, or integers of variable length, which extend to the end of
    /// the file.
    Ambiguous,
}

impl RaHeader {
    pub(crate) fn is_big_endian(&self) -> bool {
        self.flags & BIG_ENDIAN_FLAG != 0
    }

    /// Returns the size of the decompressed elements, in bytes.
    pub(crate) fn unpacked_size(&self) -> u64 {
        self.header.payload_len().unwrap_or_default()
    }

    /// Returns how the data is compressed, as far as the header determines it.
    pub(crate) fn packing(&self) -> Packing {
        if self.is_bits() {
            Packing::Bits
        } else if self.flags & PACKED_FLAG == 0 {
            Packing::None
        } else if self.size == self.unpacked_size() {
            // For variable-length integers, `size` is the decompressed size. An LZ4 block may have the same
            // size by chance.
            if self.may_have_varints() { Packing::Ambiguous } else { Packing::SameSize }
        } else {
            Packing::Lz4
        }
    }

    /// Returns whether RawArray.jl writes the elements with variable length: integers of up to 128 bits.
    pub(crate) fn may_have_varints(&self) -> bool {
        matches!(self.eltype, 1 | 2) && self.elbyte <= 16
    }

    fn is_bits(&self) -> bool {
        self.flags & BITS_FLAG != 0 && self.eltype == 5 && self.elbyte == 8
    }

    /// Returns the flags that this library does not support.
    pub(crate) fn unknown_flags(&self) -> u64 {
        let known = BIG_ENDIAN_FLAG | PACKED_FLAG | if self.is_bits() { BITS_FLAG } else { 0 };
        self.flags & !known
    }

    /// Returns the header with composites of one byte as bools.
    pub(crate) fn with_bools(mut self) -> Result<Self> {
        if (self.eltype, self.elbyte) == (0, 1) {
            self.header = self.header.with(bool_dtype(), self.header.shape_ref().clone())?;
        }
        Ok(self)
    }

    /// Creates the header of an uncompressed array.
    pub(crate) fn of(header: &Header, eltype_5: bool) -> Result<Self> {
        let header = &*header.ungroup_inner_axes()?;
        let (eltype, is_big_endian) = kind::eltype_of(header.dtype(), eltype_5)?;
        let bytes = header.payload_len().unwrap_or_default();
        let mut dims = header.shape().to_vec();
        if header.order() == Order::C {
            // The bytes stay the same: in RA, the axis that varies fastest comes first.
            dims.reverse();
        }
        Ok(Self {
            header: Header::new(header.dtype().clone(), Order::Fortran, dims.into())?
                .with_innermost_first(true),
            flags: if is_big_endian { BIG_ENDIAN_FLAG } else { 0 },
            eltype,
            elbyte: header.dtype().item_size() as u64,
            size: bytes,
        })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let dims = self.header.shape();
        let numbers = [self.flags, self.eltype, self.elbyte, self.size, dims.len() as u64];
        let mut bytes = MAGIC.to_vec();
        bytes
            .extend(numbers.into_iter().chain(dims.iter().map(|dim| *dim as u64)).flat_map(u64::to_le_bytes));
        bytes
    }
}

/// Returns whether a file that begins with these bytes is an RA file, in either byte order. Of fewer than 8 bytes, it is one if the magic
/// begins with them.
pub(crate) fn has_magic(bytes: &[u8]) -> bool {
    let first = &bytes[..bytes.len().min(MAGIC.len())];
    !first.is_empty() && (MAGIC.starts_with(first) || first.iter().eq(MAGIC.iter().rev().take(first.len())))
}

/// Formats a header as bytes, for uncompressed elements.
///
/// The axes of an array in C order are reversed, so that its elements can be written unchanged.
///
/// # Errors
///
/// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if RA has no type for the elements, as for
///   text, times and objects; for bools, because not every program reads element type 5; and for records
///   whose fields have different byte orders.
/// - [`Limit`](crate::error::ErrorKind::Limit) if the array has more than 64 axes, including those of a
///   subarray.
///
/// # Examples
///
/// ```
/// use ndarray_io::dtype::{Kind, Scalar};
/// use ndarray_io::header::{Header, Order, Shape};
/// use ndarray_io::{ByteOrder, ra};
///
/// let float = Scalar::new(Kind::Float, 8, ByteOrder::Little).unwrap();
/// let header = Header::new(float.into(), Order::Fortran, Shape::from([3]))?;
/// assert!(ra::format(&header)?.starts_with(b"rawarray\0\0\0\0\0\0\0\0\x03"));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn format(header: &Header) -> Result<Vec<u8>> {
    Ok(RaHeader::of(header, false)?.to_bytes())
}

/// Parses a header from the first bytes of a file. See [`RaHeader`].
///
/// Both byte orders of the header are accepted. Too few bytes are not an error: the result is then
/// [`NeedMore`](crate::header::Parsed::NeedMore). Unknown flags are not an error here.
///
/// # Errors
///
/// - A [format error](crate::Error::is_format) if the bytes are not a header:
///   [`BadMagic`](crate::error::ErrorKind::BadMagic); [`Malformed`](crate::error::ErrorKind::Malformed), as for
///   an unknown element type, an element that is too large, or a data size that contradicts the shape.
/// - [`Limit`](crate::error::ErrorKind::Limit) if there are more than 64 axes.
pub fn parse(bytes: &[u8]) -> Result<Parsed<RaHeader>> {
    let mut magic = *MAGIC;
    // The magic is also a number, so its bytes are reversed in a big-endian header.
    let is_swapped = bytes.first() == MAGIC.last();
    if is_swapped {
        magic.reverse();
    }
    let first = &bytes[..bytes.len().min(MAGIC.len())];
    if !magic.starts_with(first) {
        return Err(Fault::bad_magic("RA", bytes));
    }
    let numbers = bytes.chunks_of::<8>();
    let read =
        |bytes: &[u8; 8]| if is_swapped { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) };
    let number = |index: usize| numbers.get(index).map(read);
    let (Some(flags), Some(eltype), Some(elbyte), Some(size), Some(ndims)) =
        (number(1), number(2), number(3), number(4), number(5))
    else {
        return Ok(Parsed::NeedMore(MIN_HEADER_LEN));
    };
    // Checked first, so that the size below cannot overflow and callers do not buffer an endless header.
    limits::check(LimitKind::Dimensions, ndims, Limits::DIMENSIONS as u64)?;
    let end = MIN_HEADER_LEN + 8 * ndims as usize; // at most 64 axes, checked above
    if bytes.len() < end {
        return Ok(Parsed::NeedMore(end));
    }
    let dim = |bytes| {
        let dim = read(bytes);
        usize::try_from(dim)
            .map_err(|_| Error::from(Fault::Overflow { what: format!("an axis of length {dim}") }))
    };
    let dims = numbers[MIN_HEADER_LEN / 8..end / 8].iter().map(dim).collect::<Result<Vec<usize>>>()?;
    // A big-endian header comes from a big-endian machine: its data is big-endian even if no flag says so.
    let flags = if is_swapped { flags | BIG_ENDIAN_FLAG } else { flags };
    let order = if flags & BIG_ENDIAN_FLAG != 0 { ByteOrder::Big } else { ByteOrder::Little };
    let is_bits = flags & BITS_FLAG != 0 && eltype == 5 && elbyte == 8;
    let dtype = if is_bits { bool_dtype() } else { kind::dtype(eltype, elbyte, order)? };
    // With fewer than two axes the orders are the same.
    let axes = if dims.len() < 2 { Order::C } else { Order::Fortran };
    let header = Header::new(dtype, axes, Shape::from(dims))?.with_innermost_first(true);
    let found = RaHeader { header, flags, eltype, elbyte, size };
    // The header states the size directly and through the shape. Both must agree, except for compressed data.
    let expected = match found.packing() {
        Packing::None => Some(found.unpacked_size()),
        Packing::Bits => Some(found.unpacked_size().div_ceil(64) * 8),
        Packing::Lz4 | Packing::SameSize | Packing::Ambiguous => None,
    };
    match expected {
        Some(expected) if expected != size => {
            let shape = found.header.shape_ref();
            let reason = format!(
                "it declares {size} bytes of data, but elements of {elbyte} bytes in shape {shape} take {expected}"
            );
            Err(Fault::Malformed { part: FilePart::Header, reason, offset: Some(32) }.into())
        }
        _ => Ok(Parsed::Done(found, end)),
    }
}

fn bool_dtype() -> DType {
    Scalar::new(Kind::Bool, 1, ByteOrder::NATIVE).expect("a bool has one byte").into() // see Kind::allows
}

/// Returns the error for a source that ends after `have` bytes, where [`parse`] needs `need`.
pub(crate) fn truncated(have: usize, need: usize) -> Error {
    let part = if have < MIN_HEADER_LEN { FileSection::Preamble } else { FileSection::Header };
    Fault::Truncated { part, need: need as u64, have: have as u64 }.into()
}
