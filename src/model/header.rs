//! The part of a header that all formats share: the dtype, order and shape of the payload.

mod inner;

pub(crate) use inner::GroupedHeader;

use crate::dtype::{DType, Narrow};
use crate::error::{Error, Fault, LimitKind, Remedy, Result};
use crate::limits::{self, Limits};
pub use crate::shape::{AxisIndex, Order, Shape};

/// The dtype, memory order and shape of an array, as declared by the header of any format.
///
/// Once a header has been parsed, all code depends only on this type, not on the format.
///
/// ```
/// use ndarray_io::header::Order;
/// use ndarray_io::npy;
///
/// let file = b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }          \n";
/// let ndarray_io::header::Parsed::Done(parsed, used) = npy::parse(file)? else { panic!("the header is complete") };
/// assert_eq!(parsed.header.shape(), [3, 4]);
/// assert_eq!(parsed.header.order(), Order::C);
/// assert_eq!(parsed.header.payload_len(), Some(96));
/// assert_eq!(used, file.len());
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Header {
    dtype: DType,
    order: Order,
    shape: Shape,
    len: u64,
    payload: PayloadKind,
    /// Whether the axes of elements that are arrays come first: the format lists axes from the fastest to the slowest.
    innermost_first: bool,
}

/// Headers are equal if they describe the same array; their formats are not compared.
impl PartialEq for Header {
    fn eq(&self, other: &Self) -> bool {
        (&self.dtype, self.order, &self.shape) == (&other.dtype, other.order, &other.shape)
    }
}

impl Eq for Header {}

/// How the elements are stored after the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PayloadKind {
    /// Items of fixed size, and their total size in bytes.
    Items(u64),
    /// A single unit of undeclared size (a pickle).
    Whole,
}

impl Header {
    /// Creates a header, and checks that the size of the array does not overflow.
    ///
    /// An array that is too large for this machine's memory is not an error: it can still be read in parts.
    ///
    /// # Errors
    ///
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the shape has more than 64 axes.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if the number of elements or their size in bytes exceeds `i64::MAX` (see
    ///   [`Shape::len`]).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::dtype::{Kind, Scalar};
    /// use ndarray_io::header::{Header, Order, Shape};
    /// use ndarray_io::{ByteOrder, DType};
    ///
    /// let float = DType::from(Scalar::new(Kind::Float, 8, ByteOrder::Little).unwrap());
    /// assert!(Header::new(float.clone(), Order::C, Shape::from([3, 4])).is_ok());
    /// assert!(Header::new(float, Order::C, Shape::from([usize::MAX])).unwrap_err().is_format());
    /// ```
    pub fn new(dtype: DType, order: Order, shape: Shape) -> Result<Self> {
        limits::check(LimitKind::Dimensions, shape.ndim() as u64, Limits::DIMENSIONS as u64)?;
        let sizes = shape.len().zip(shape.byte_len(dtype.item_size()));
        let Some((len, bytes)) = sizes else {
            return Err(
                Fault::Overflow { what: format!("an array of shape {shape} and dtype {dtype}") }.into()
            );
        };
        let payload = if dtype.has_object() { PayloadKind::Whole } else { PayloadKind::Items(bytes) };
        Ok(Self { dtype, order, shape, len, payload, innermost_first: false })
    }

    /// Fails if items of 0 bytes are more than what is made of them may be: they need memory and time, and the file has no bytes for them.
    pub(crate) fn check_empty_items(&self) -> Result<()> {
        if self.dtype.item_size() > 0 {
            return Ok(());
        }
        // In a subarray, each of its elements is made.
        let within = match &self.dtype {
            DType::Subarray(subarray) => subarray.shape_ref().len().unwrap_or(u64::MAX),
            _ => 1,
        };
        limits::check(LimitKind::EmptyItems, self.len().saturating_mul(within), Limits::EMPTY_ITEMS as u64)
    }

    /// Returns the header with numbers of this type for all raw bytes of that size.
    pub(crate) fn with_raw_bytes_as(&self, narrow: Narrow) -> Result<Self> {
        self.with(self.dtype.with_raw_bytes_as(narrow), self.shape.clone())
    }

    /// Returns the header of another array of the same file.
    pub(crate) fn with(&self, dtype: DType, shape: Shape) -> Result<Self> {
        Ok(Self { innermost_first: self.innermost_first, ..Self::new(dtype, self.order, shape)? })
    }

    /// Returns the header of another array of the same file, of elements of the same dtype.
    pub(crate) fn with_shape(&self, shape: Shape) -> Result<Self> {
        self.with(self.dtype.clone(), shape)
    }

    /// Returns the header of a format that lists axes from the fastest to the slowest, or of any (false).
    pub(crate) fn with_innermost_first(self, innermost_first: bool) -> Self {
        Self { innermost_first: innermost_first && self.order == Order::Fortran, ..self }
    }

    pub(crate) fn is_innermost_first(&self) -> bool {
        self.innermost_first
    }

    /// Returns the dtype of the elements as stored in the file.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// Returns the memory order of the elements.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.shape.dims()
    }

    pub(crate) fn shape_ref(&self) -> &Shape {
        &self.shape
    }

    /// Returns the number of elements.
    #[expect(clippy::len_without_is_empty, reason = "a header is not a collection")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns the number of elements of an array that is in memory or known to fit there.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.len).unwrap_or(usize::MAX)
    }

    /// Returns the number of elements and of bytes, or an error if this machine cannot address them.
    pub(crate) fn len_and_bytes_in_memory(&self) -> Result<(usize, usize)> {
        match self.shape.fits_memory(self.dtype.item_size()) {
            true => {
                Ok((self.count(), usize::try_from(self.payload_len().unwrap_or(0)).unwrap_or(usize::MAX)))
            }
            false => {
                let what = format!("an array of shape {} and dtype {}", self.shape, self.dtype);
                Err(Fault::Overflow { what }.into())
            }
        }
    }

    /// Returns the size of one row in bytes, or 0 if there are no axes or the size is not declared.
    ///
    /// A row is one index of the axis that varies slowest.
    pub(crate) fn row_bytes(&self) -> u64 {
        let slowest = match self.order {
            Order::C => 0,
            Order::Fortran => self.shape.ndim().saturating_sub(1),
        };
        let mut row = self.shape.dims().to_vec();
        if row.is_empty() || self.payload_len().is_none() {
            return 0;
        }
        row.remove(slowest);
        Shape::from(row).byte_len(self.dtype.item_size()).unwrap_or(0)
    }

    /// Returns the size of the elements in bytes; `None` for Python objects, whose size is not declared.
    pub fn payload_len(&self) -> Option<u64> {
        match self.payload {
            PayloadKind::Items(bytes) => Some(bytes),
            PayloadKind::Whole => None,
        }
    }

    /// Returns the size of the elements in bytes, or an error for Python objects, whose pickle cannot be read in parts.
    pub(crate) fn declared_payload_len(&self) -> Result<u64> {
        self.payload_len().ok_or_else(|| {
            Error::from(Fault::Objects { found: self.dtype.clone() }).with_help(Remedy::ReadPickle)
        })
    }
}

/// How many bytes a file has for its array, as far as the header says how many are needed.
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::bytes::InMemory;
/// use ndarray_io::header::Extent;
/// use ndarray_io::{NpyFile, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr1(&[1.0, 2.0]).write_npy(&mut file)?;
/// let extent = |bytes: &[u8]| NpyFile::from_source(InMemory(bytes.to_vec()))?.extent();
/// assert_eq!(extent(&file)?, Extent::Whole);
/// assert_eq!(extent(&file[..file.len() - 3])?, Extent::Short { missing: 3 });
/// assert_eq!(extent(&[&file[..], b"a note"].concat())?, Extent::Long { more: 6 });
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Extent {
    /// The file ends where its array ends.
    Whole,
    /// The file ends before its array does.
    Short {
        /// The number of bytes that are missing.
        missing: u64,
    },
    /// Bytes follow the array: rows that are being appended, further arrays, or notes.
    Long {
        /// The number of bytes after the array.
        more: u64,
    },
}

impl Extent {
    pub(crate) fn of(have: u64, need: u64) -> Self {
        match (have.checked_sub(need), need.saturating_sub(have)) {
            (Some(0), _) => Self::Whole,
            (Some(more), _) => Self::Long { more },
            (None, missing) => Self::Short { missing },
        }
    }

    /// Returns the number of bytes after the array; `None` if the file is too short.
    pub fn trailing(self) -> Option<u64> {
        match self {
            Self::Whole => Some(0),
            Self::Long { more } => Some(more),
            Self::Short { .. } => None,
        }
    }

    /// Returns the number of bytes that are missing.
    pub fn missing(self) -> u64 {
        match self {
            Self::Short { missing } => missing,
            Self::Whole | Self::Long { .. } => 0,
        }
    }
}

/// The result of parsing the start of a file.
///
/// ```
/// use ndarray_io::header::Parsed;
/// use ndarray_io::npy;
/// assert_eq!(npy::parse(b"\x93NUM")?, Parsed::NeedMore(10));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parsed<H> {
    /// The header is incomplete: call again with at least this many bytes from the start of the file.
    NeedMore(usize),
    /// The header, and its length in bytes. The payload follows directly.
    Done(H, usize),
}

impl<H> Parsed<H> {
    pub(crate) fn try_map<T>(self, change: impl FnOnce(H) -> Result<T>) -> Result<Parsed<T>> {
        match self {
            Self::NeedMore(need) => Ok(Parsed::NeedMore(need)),
            Self::Done(found, used) => Ok(Parsed::Done(change(found)?, used)),
        }
    }
}
