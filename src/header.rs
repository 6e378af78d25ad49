//! What every format's first bytes come to: dtype, order and shape of what follows.

mod inner;

pub(crate) use inner::Grouped;

use crate::dtype::DType;
use crate::error::{ErrorKind, LimitKind, Result};
use crate::limits::{self, Limits};
pub use crate::shape::{Order, Shape};

/// What an array's payload is. Every format yields one of these, and everything behind a format knows only this.
///
/// ```
/// use ndarray_io::header::Order;
/// use ndarray_io::npy;
///
/// let file = b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }          \n";
/// let npy::Parsed::Done(parsed, used) = npy::parse(file)? else { panic!("the header is complete") };
/// assert_eq!(parsed.header.shape(), [3, 4]);
/// assert_eq!(parsed.header.order(), Order::C);
/// assert_eq!(parsed.header.payload_len(), Some(96));
/// assert_eq!(used, file.len());
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    dtype: DType,
    order: Order,
    shape: Shape,
    len: u64,
    payload: Payload,
}

/// How the elements lie behind the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Payload {
    /// Items of fixed size, so many bytes in all.
    Items(u64),
    /// One unit that says itself where it ends (a pickle).
    Whole,
}

impl Header {
    /// An error if the shape has too many axes, or more elements or bytes than a file can have. (More than this machine can address can
    /// still be read in parts.)
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::error::ErrorKind::Limit) of more than 64 axes; [`Overflow`](crate::error::ErrorKind::Overflow) if the elements
    /// or their bytes are more than this machine can address.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::dtype::{ByteOrder, Kind, Scalar};
    /// use ndarray_io::header::{Header, Order, Shape};
    /// use ndarray_io::DType;
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
                ErrorKind::Overflow { what: format!("an array of shape {shape} and dtype {dtype}") }.into()
            );
        };
        let payload = if dtype.has_object() { Payload::Whole } else { Payload::Items(bytes) };
        Ok(Self { dtype, order, shape, len, payload })
    }

    /// The type of the elements, as the file has them.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// How the elements follow one another.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.shape.dims()
    }

    pub(crate) fn the_shape(&self) -> &Shape {
        &self.shape
    }

    /// How many elements there are.
    #[expect(clippy::len_without_is_empty, reason = "a header is no collection")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// How many elements there are, of an array that is in memory or has been found to fit there.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.len).unwrap_or(usize::MAX)
    }

    /// How many elements and bytes there are: an error if they are more than this machine can address.
    pub(crate) fn in_memory(&self) -> Result<(usize, usize)> {
        match self.shape.fits_memory(self.dtype.item_size()) {
            true => {
                Ok((self.count(), usize::try_from(self.payload_len().unwrap_or(0)).unwrap_or(usize::MAX)))
            }
            false => {
                let what = format!(
                    "an array of shape {} and dtype {} in this machine's memory",
                    self.shape, self.dtype
                );
                Err(ErrorKind::Overflow { what }.into())
            }
        }
    }

    /// How many bytes one index of the slowest axis takes; 0 if there is none, or it is not known.
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

    /// How many bytes the elements take; `None` if the payload is one unit that says itself where it ends (objects).
    pub fn payload_len(&self) -> Option<u64> {
        match self.payload {
            Payload::Items(bytes) => Some(bytes),
            Payload::Whole => None,
        }
    }
}

/// What a format's `parse` found.
///
/// ```
/// use ndarray_io::npy::{self, Parsed};
/// assert_eq!(npy::parse(b"\x93NUM")?, Parsed::NeedMore(10));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parsed<H> {
    /// The header is longer: call again with at least so many bytes, counted from the beginning.
    NeedMore(usize),
    /// The header, and how many bytes it took. The payload begins right behind them.
    Done(H, usize),
}
