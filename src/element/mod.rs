//! Which Rust type holds which dtype, one file a kind, and the gate between them.
//!
//! The gate asks the type once for each array, and the answer is one of three ways to move its elements: *bitwise* (the
//! bytes are the memory), *per item* (items of fixed size, decoded one by one), *opaque* (the payload is one unit).
//! `transfer` has one loop for each. `cast` alone turns bytes into elements.

mod array;
mod boolean;
mod bytes;
pub(crate) mod cast;
mod complex;
mod convert;
mod fixed;
mod longdouble;
mod number;
pub(crate) mod record;
mod swap;
mod text;
mod time;
mod transform;
mod void;
mod wrapped;

pub use bytes::Bytes;
pub(crate) use bytes::trimmed;
#[doc(hidden)]
pub use cast::{Enumeration, Newtype};
pub(crate) use convert::{Change, change};
#[cfg(feature = "object")]
pub(crate) use convert::{spelled_complex, spelled_double};
pub use longdouble::LongDouble;
pub use text::Chars;
pub use time::{Datetime64, Timedelta64, units};
pub(crate) use transform::swap_between;
pub use void::Void;
#[doc(hidden)]
pub use wrapped::*;

use crate::dtype::{DType, Kind};
use crate::error::{Error, ErrorKind, Help, Result};
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};
use cast::{Bitwise, BitwiseOut};

/// A type that elements can be read as.
///
/// It is implemented for `bool`, the integers from 8 to 64 bits, `f32`, `f64`, [`LongDouble`],
/// [`Complex`](num_complex::Complex) of these, `String`, `Vec<u8>`, [`Bytes`], [`Chars`], [`Void`], [`Datetime64`],
/// [`Timedelta64`], with the feature `half-2` for `half::f16` and `half::bf16`, for structs that derive
/// [`Record`](macro@crate::Record), and for arrays `[T; N]` of any of these: they are the innermost axis of the array in the
/// file, so that an `Array1<[f32; 3]>` has the shape (n, 3) there. The methods are the library's own.
///
/// ```
/// use ndarray::ArrayD;
/// use ndarray_io::{ReadNpyExt, ReadableElement};
///
/// /// Reads an array of whatever type the caller wants.
/// fn load<A: ReadableElement>(bytes: &[u8]) -> ndarray_io::Result<ArrayD<A>> {
///     ArrayD::read_npy(bytes)
/// }
/// # assert!(load::<f32>(b"").is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that elements can be read as",
    label = "not an element of an array file",
    note = "numbers of a fixed size, bool, Complex, text, times and arrays of these are; usize and char are not; a struct \
            derives Record or, around one element, Element; so does an enum"
)]
pub trait ReadableElement: Sized + Send + Sync {
    /// Adds the axes that an element has of its own, which are the innermost of an array in a file.
    #[doc(hidden)]
    fn inner_axes(_axes: &mut Vec<usize>) {}

    /// How elements of this dtype are read, or why not.
    #[doc(hidden)]
    fn accept(dtype: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>>;
}

/// A type whose elements can be written.
///
/// It is implemented for the same types as [`ReadableElement`].
///
/// ```
/// use ndarray::ArrayView1;
/// use ndarray_io::{WritableElement, WriteNpyExt};
///
/// fn save<A: WritableElement>(row: ArrayView1<'_, A>) -> ndarray_io::Result<Vec<u8>> {
///     let mut file = Vec::new();
///     row.write_npy(&mut file)?;
///     Ok(file)
/// }
/// # assert!(save(ndarray::aview1(&[1u8])).is_ok());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type whose elements can be written",
    label = "not an element of an array file",
    note = "numbers of a fixed size, bool, Complex, text, times and arrays of these are; usize and char are not; a struct \
            derives Record or, around one element, Element; so does an enum"
)]
pub trait WritableElement: Sized + Send + Sync {
    /// The dtype to write these elements as. It may depend on their values (the width of text).
    #[doc(hidden)]
    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType>;

    /// What an element takes in a file.
    #[doc(hidden)]
    const FILE_LAYOUT: record::FileLayout = record::FileLayout::of::<Self>();

    /// How elements are written as this dtype, which is one that [`Self::dtype_for`] gave.
    #[doc(hidden)]
    fn emit(dtype: &DType) -> WritePlan<Self>;
}

/// A type that a file's bytes can be viewed as, without copying them.
///
/// It is implemented for the same types as [`ReadableElement`], but for `String` and `Vec<u8>`; and of structs that derive
/// [`Record`](macro@crate::Record), for those with `#[repr(C)]` or `#[repr(C, packed)]` whose fields can be viewed.
///
/// ```
/// use ndarray::ArrayView1;
/// use ndarray_io::{ViewElement, ViewNpyExt};
///
/// fn first<A: ViewElement + Copy>(bytes: &[u8]) -> ndarray_io::Result<Option<A>> {
///     Ok(ArrayView1::<A>::view_npy(bytes)?.first().copied())
/// }
/// # assert!(first::<u8>(b"").is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be viewed in a file's bytes",
    label = "lies in memory otherwise than in a file",
    note = "String and Vec<u8> can be read, and Chars<N> and Bytes<N> also viewed; a struct that derives Record needs \
            #[repr(C)] or #[repr(C, packed)]"
)]
pub trait ViewElement: ReadableElement {}

/// A type that a file's bytes can be viewed as for changing them in place.
///
/// It is implemented for the same types as [`ViewElement`]. A struct with padding is a compile error where it is viewed
/// mutably: changing it in place would write bytes into the file that nobody has set.
///
/// ```
/// use ndarray::ArrayViewMut1;
/// use ndarray_io::{ViewMutElement, ViewMutNpyExt};
///
/// fn clear<A: ViewMutElement + Default>(bytes: &mut [u8]) -> ndarray_io::Result<()> {
///     ArrayViewMut1::<A>::view_mut_npy(bytes)?.map_inplace(|item| *item = A::default());
///     Ok(())
/// }
/// # assert!(clear::<u8>(&mut []).is_err());
/// ```
///
/// # Safety
///
/// A value of the type has no padding: each of its bytes is initialised.
#[allow(unsafe_code)]
pub unsafe trait ViewMutElement: ViewElement {
    /// Compiles if the type has no padding.
    #[doc(hidden)]
    const IS_FULL: () = ();
}

/// The three ways to read.
#[doc(hidden)]
pub enum ReadPlan<T> {
    /// The bytes are the memory, perhaps swapped, perhaps to be checked.
    Bitwise(Bitwise<T>),
    /// Items of fixed size, decoded one by one.
    PerItem(Box<dyn Decode<T>>),
    /// The payload is one unit.
    Opaque(Box<dyn DecodeOpaque<T>>),
}

/// The three ways to write.
#[doc(hidden)]
pub enum WritePlan<T> {
    /// The memory is the bytes, perhaps to be swapped.
    Bitwise(BitwiseOut<T>),
    /// Items of fixed size, encoded one by one.
    PerItem(Box<dyn Encode<T>>),
    /// The payload is one unit.
    Opaque(Box<dyn EncodeOpaque<T>>),
}

/// Decodes whole blocks of items, so that the call is paid once a block.
#[doc(hidden)]
pub trait Decode<T>: Send + Sync {
    /// Appends the `count` elements that `items` hold, whose bytes may be changed on the way. An error names the element,
    /// counted from the block's first.
    fn decode(&self, items: &mut [u8], count: usize, out: &mut Vec<T>) -> Result<()>;
}

/// Decodes a payload that is one unit.
#[doc(hidden)]
pub trait DecodeOpaque<T>: Send + Sync {
    /// The elements in the order of the file, just as many as the header has, and how many bytes they took. The payload is
    /// all that is left of the source.
    fn decode(&self, payload: &[u8], header: &Header, options: &ReadOptions) -> Result<(Vec<T>, usize)>;

    /// The elements of an array that has read its payload already, if it is of this type.
    fn taken(&self, _items: &dyn std::any::Any) -> Option<Vec<T>> {
        None
    }

    /// The payload out of a stream that may go on behind it, if it says itself where it ends. `more` appends so many bytes, or those
    /// that are left, and says how many.
    fn read_one(&self, _more: &mut dyn FnMut(&mut Vec<u8>, u64) -> Result<u64>) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

/// Encodes items, one by one.
#[doc(hidden)]
pub trait Encode<T>: Send + Sync {
    /// Fills `into`, which has the size of one item.
    fn encode(&self, item: &T, into: &mut [u8]) -> Result<()>;

    /// Fills `into`, which has room for just these items, each of so many bytes.
    fn encode_all(&self, items: &[T], size: usize, into: &mut [u8]) -> Result<()> {
        let mut slots = into.chunks_exact_mut(size.max(1));
        items.iter().zip(slots.by_ref()).try_for_each(|(item, slot)| self.encode(item, slot))
    }
}

/// Encodes a payload as one unit.
#[doc(hidden)]
pub trait EncodeOpaque<T>: Send + Sync {
    /// The payload of these elements, which come in the order of the file.
    fn encode(
        &self,
        items: &mut dyn Iterator<Item = &T>,
        header: &Header,
        options: &WriteOptions,
    ) -> Result<Vec<u8>>;
}

/// The way to read bytes as bytes, whatever they mean.
pub(crate) fn raw_bytes() -> Bitwise<u8> {
    Bitwise::pod(1, false)
}

/// The way to read bytes as words, whatever they mean.
pub(crate) fn raw_words() -> Bitwise<u128> {
    Bitwise::pod(1, false)
}

impl DType {
    /// The dtype that elements of a type are written as; texts, whose length depends on the elements, as the shortest.
    ///
    /// ```
    /// use ndarray_io::DType;
    ///
    /// assert_eq!(DType::of::<f32>()?, "<f4".parse()?);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A struct that no record can be.
    pub fn of<T: WritableElement>() -> Result<Self> {
        T::dtype_for(&mut std::iter::empty(), &WriteOptions::new())
    }
}

/// The gate for views: an error if elements of this dtype are not those of the type as they lie.
pub(crate) fn viewable<A: ViewElement>(dtype: &DType, options: &ReadOptions) -> Result<Bitwise<A>> {
    match A::accept(dtype, options)? {
        ReadPlan::Bitwise(plain) if !plain.swaps() => Ok(plain),
        ReadPlan::Bitwise(_) => Err(ErrorKind::ForeignByteOrder { found: dtype.clone() }.into()),
        ReadPlan::PerItem(_) | ReadPlan::Opaque(_) => {
            Err(ErrorKind::NotViewable { found: dtype.clone() }.into())
        }
    }
}

/// The Rust type of this library for a dtype, if there is one.
fn rust_type(dtype: &DType) -> Option<String> {
    let scalar = dtype.as_scalar()?;
    let size = scalar.size();
    Some(match scalar.kind() {
        Kind::Bytes => format!("Bytes<{size}>, Vec<u8> or String"),
        Kind::Text => format!("String or Chars<{}>", size / 4),
        Kind::Void => format!("Void<{size}>"),
        Kind::Datetime(step) => format!("Datetime64 with the unit [{step}]"),
        Kind::Timedelta(step) => format!("Timedelta64 with the unit [{step}]"),
        kind => {
            let known = number::TYPES.iter().chain(complex::TYPES).chain(boolean::TYPES);
            known.copied().find(|known| (known.0, known.1) == (kind, size))?.2.to_owned()
        }
    })
}

/// The error for a dtype that a type does not hold, with what to call instead; `can_convert` says whether an option would
/// help.
pub(crate) fn mismatch(found: &DType, wanted: DType, can_convert: bool) -> Error {
    if found.has_object() {
        return ErrorKind::Objects { found: found.clone() }.into();
    }
    let help = match (found, rust_type(found)) {
        (_, Some(rust_type)) => Help::ReadAs { rust_type, can_convert },
        (DType::Record(_), _) => Help::ReadRecords,
        _ => Help::ReadDynamic,
    };
    Error::from(ErrorKind::DTypeMismatch { found: found.clone(), wanted }).with_help(help)
}

/// The way to write units of so many bytes, whatever they mean.
pub(crate) fn raw_units<const SIZE: usize>() -> BitwiseOut<[u8; SIZE]> {
    BitwiseOut::<u8>::new(1, false).repeated()
}
