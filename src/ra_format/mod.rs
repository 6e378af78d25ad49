//! The RA format ("raw array"): two pure functions, [`parse`] and [`format()`], from bytes to a [`Header`] and back.
//!
//! Six numbers of 64 bits (a magic one, flags, the type, the size of an element, the size of the data, the number of axes),
//! the lengths of the axes, the first of which varies fastest, and the data. What the programs that write such files disagree
//! about is told apart here: the byte order of the header, the two meanings of type 5, and what the flags may mean.

mod kind;
mod query;

pub use query::query;

use crate::dtype::{ByteOrder, DType, Kind, Scalar};
use crate::error::{Error, ErrorKind, FileSection, LimitKind, Result};
use crate::header::Header;
use crate::limits::{self, Limits};
use crate::shape::{Order, Shape};

pub(crate) const MAGIC: &[u8; 8] = b"rawarray";
/// What every file has at least: the magic and five numbers.
const FIXED: usize = 48;

/// The data are in big-endian byte order.
pub(crate) const BIG_ENDIAN: u64 = 1;
/// The data are packed, in one of the ways of [`Packing`].
pub(crate) const PACKED: u64 = 2;
/// The data are bits.
const BITS: u64 = 4;

/// What an RA header says.
///
/// ```
/// use ndarray_io::ra::{parse, Parsed};
///
/// let mut file = b"rawarray".to_vec();
/// for number in [0u64, 3, 8, 96, 2, 3, 4] { // flags, a float, of 8 bytes, 96 in all, two axes, of 3 and 4
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
    /// What the payload is, once it is unpacked. The order is Fortran's.
    pub header: Header,
    /// The flags, as the header has them.
    pub flags: u64,
    /// The number of the type: 0 a composite, 1 a signed integer, 2 an unsigned one, 3 a float, 4 a complex number; 5 a bool of
    /// one byte, a `bfloat16` of two, or single bits.
    pub eltype: u64,
    /// The bytes of one element.
    pub elbyte: u64,
    /// The bytes of the data. Of packed data it depends on the packing whether that is before or after.
    pub size: u64,
}

/// What [`parse`] found.
pub type Parsed = crate::header::Parsed<RaHeader>;

/// How the data may be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Not at all.
    None,
    /// As eight elements a byte, in words of 64 bits.
    Bits,
    /// One block of LZ4.
    Lz4,
    /// What the data have to tell themselves: a block of LZ4, numbers of variable length, or nothing of that.
    Unclear,
}

impl RaHeader {
    pub(crate) fn is_big_endian(&self) -> bool {
        self.flags & BIG_ENDIAN != 0
    }

    /// How many bytes the elements take that are not packed.
    pub(crate) fn unpacked(&self) -> u64 {
        self.header.payload_len().unwrap_or_default()
    }

    /// How the data are packed, as far as the header can tell.
    pub(crate) fn packing(&self) -> Packing {
        if self.is_bits() {
            Packing::Bits
        } else if self.flags & PACKED == 0 {
            Packing::None
        } else if self.size == self.unpacked() {
            Packing::Unclear
        } else {
            Packing::Lz4
        }
    }

    fn is_bits(&self) -> bool {
        self.flags & BITS != 0 && self.eltype == 5 && self.elbyte == 8
    }

    /// The flags that have no meaning here.
    pub(crate) fn unknown_flags(&self) -> u64 {
        let known = BIG_ENDIAN | PACKED | if self.is_bits() { BITS } else { 0 };
        self.flags & !known
    }

    /// The header of an array that is not packed.
    pub(crate) fn of(header: &Header, eltype_5: bool) -> Result<Self> {
        let header = &*header.ungrouped()?;
        let (eltype, is_big_endian) = kind::of(header.dtype(), eltype_5)?;
        let bytes = header.payload_len().unwrap_or_default();
        let mut dims = header.shape().to_vec();
        if header.order() == Order::C {
            // The same bytes: the axis that varies fastest comes first.
            dims.reverse();
        }
        Ok(Self {
            header: Header::new(header.dtype().clone(), Order::Fortran, dims.into())?,
            flags: if is_big_endian { BIG_ENDIAN } else { 0 },
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

/// The header as bytes, for elements that follow it as they are. An array in C order gets its axes reversed, which are the
/// same bytes. An error if RA has no type for the elements.
///
/// # Errors
///
/// [`NotExpressible`](crate::error::ErrorKind::NotExpressible) of a dtype that RA does not have.
///
/// # Examples
///
/// ```
/// use ndarray_io::dtype::{ByteOrder, Kind, Scalar};
/// use ndarray_io::header::{Header, Order, Shape};
/// use ndarray_io::ra;
///
/// let float = Scalar::new(Kind::Float, 8, ByteOrder::Little).unwrap();
/// let header = Header::new(float.into(), Order::Fortran, Shape::from([3]))?;
/// assert!(ra::format(&header)?.starts_with(b"rawarray\0\0\0\0\0\0\0\0\x03"));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn format(header: &Header) -> Result<Vec<u8>> {
    Ok(RaHeader::of(header, false)?.to_bytes())
}

/// Reads a header from the first bytes of a file. See [`RaHeader`].
///
/// # Errors
///
/// An error of the [format](crate::Error::is_format) if the bytes are not a header; [`Limit`](crate::error::ErrorKind::Limit) of more
/// than 64 axes. (Too few bytes are not an error.)
pub fn parse(bytes: &[u8]) -> Result<Parsed> {
    let mut magic = *MAGIC;
    let is_swapped = bytes.first() == MAGIC.last();
    if is_swapped {
        magic.reverse();
    }
    let first = &bytes[..bytes.len().min(MAGIC.len())];
    if !magic.starts_with(first) {
        return Err(ErrorKind::BadMagic { format: "RA", found: first.to_vec() }.into());
    }
    let (numbers, _) = bytes.as_chunks::<8>();
    let read =
        |bytes: &[u8; 8]| if is_swapped { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) };
    let number = |index: usize| numbers.get(index).map(read);
    let (Some(flags), Some(eltype), Some(elbyte), Some(size), Some(ndims)) =
        (number(1), number(2), number(3), number(4), number(5))
    else {
        return Ok(Parsed::NeedMore(FIXED));
    };
    limits::check(LimitKind::Dimensions, ndims, Limits::DIMENSIONS as u64)?;
    let end = FIXED + 8 * ndims as usize; // 64 at most
    if bytes.len() < end {
        return Ok(Parsed::NeedMore(end));
    }
    let dim = |bytes| {
        let dim = read(bytes);
        usize::try_from(dim)
            .map_err(|_| Error::from(ErrorKind::Overflow { what: format!("an axis of length {dim}") }))
    };
    let dims = numbers[FIXED / 8..end / 8].iter().map(dim).collect::<Result<Vec<usize>>>()?;
    // A header in big-endian numbers comes from a machine that is, and so do its data, be they marked so or not.
    let flags = if is_swapped { flags | BIG_ENDIAN } else { flags };
    let order = if flags & BIG_ENDIAN != 0 { ByteOrder::Big } else { ByteOrder::Little };
    let is_bits = flags & BITS != 0 && eltype == 5 && elbyte == 8;
    let dtype = if is_bits { bool_dtype() } else { kind::dtype(eltype, elbyte, order)? };
    // Of one axis there is but one order.
    let axes = if dims.len() < 2 { Order::C } else { Order::Fortran };
    let header = Header::new(dtype, axes, Shape::from(dims))?;
    let found = RaHeader { header, flags, eltype, elbyte, size };
    let expected = match found.packing() {
        Packing::None => Some(found.unpacked()),
        Packing::Bits => Some(found.unpacked().div_ceil(64) * 8),
        Packing::Lz4 | Packing::Unclear => None,
    };
    match expected {
        Some(expected) if expected != size => {
            let shape = found.header.the_shape();
            let reason = format!(
                "it promises {size} bytes, but elements of {elbyte} bytes in the shape {shape} take {expected}"
            );
            Err(ErrorKind::BadHeader { reason, offset: Some(32) }.into())
        }
        _ => Ok(Parsed::Done(found, end)),
    }
}

fn bool_dtype() -> DType {
    Scalar::new(Kind::Bool, 1, ByteOrder::NATIVE).expect("a bool has one byte").into() // see Kind::allows
}

/// The error for a source that ends where [`parse`] still needs `need` bytes.
pub(crate) fn truncated(have: usize, need: usize) -> Error {
    let part = if have < FIXED { FileSection::Preamble } else { FileSection::Header };
    ErrorKind::Truncated { part, need: need as u64, have: have as u64 }.into()
}
