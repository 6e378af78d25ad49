//! Maps Rust types to dtypes, one file per kind, and selects how elements are read and written.
//!
//! Each array has one of four plans, which is selected once: *bitwise* (the bytes in the file are the bytes
//! in memory), *converted* (the bytes in memory are made from those in the file; only for reading), *per item* (items of fixed size,
//! decoded one by one), *opaque* (the payload is one unit).
//! `transfer` has one loop for each. Only `cast` reinterprets bytes as elements.

mod array;
#[cfg(feature = "half-2")]
mod bfloat16;
mod boolean;
mod bytes;
pub(crate) mod cast;
mod complex;
mod convert;
mod decimal;
mod fixed;
mod from_into;
mod longdouble;
#[cfg(feature = "narrow")]
pub(crate) mod narrow;
mod number;
pub(crate) mod record;
mod swap;
mod text;
mod time;
mod transform;
mod void;
mod wrapped;

pub use bytes::Bytes;
pub(crate) use bytes::without_trailing_nuls;
pub(crate) use cast::ElementBuf;
#[cfg(feature = "object")]
pub(crate) use cast::append;
#[doc(hidden)]
pub use cast::{Enumeration, Markers, Newtype};
pub(crate) use convert::ItemConversion;
pub(crate) use convert::{
    DTypeConversion, NarrowValue, dtype_conversion, narrow_value, resolve_target_dtype,
};
#[cfg(feature = "object")]
pub(crate) use convert::{format_complex, format_f64, format_number, shortest_half};
pub(crate) use convert::{half_as_printed, half_to_single};
pub(crate) use decimal::format_long_double;
#[doc(hidden)]
pub use from_into::{converted, dtype_into, read_plan_from, write_plan_into};
pub use longdouble::LongDouble;
pub use text::Chars;
pub(crate) use time::iso_datetime;
pub use time::{Datetime64, Timedelta64, units};
pub(crate) use transform::swap_between;
pub use void::Void;
pub(crate) use void::hex;
#[doc(hidden)]
pub use wrapped::*;

use crate::dtype::{DType, Kind, TimeStep};
use crate::error::{CopyReason, Error, Fault, Remedy, Result};
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};
use bytemuck::Pod;
use cast::{Bitwise, BitwiseOut};
pub(crate) use swap::swap_unit_of;
pub(crate) use transform::ByteTransform;

/// A type that elements can be read as.
///
/// It is implemented for:
///
/// - `bool`, the integers from 8 to 64 bits, `f32`, `f64` and [`LongDouble`];
/// - [`Complex`](num_complex::Complex) of `f32`, `f64` and `LongDouble`;
/// - `String`, `Vec<u8>`, [`Bytes`], [`Chars`] and [`Void`];
/// - [`Datetime64`] and [`Timedelta64`];
/// - with the feature `narrow`, the numbers of `ml_dtypes`;
/// - with the feature `half-2`, `half::f16`, `half::bf16` and complex numbers of both;
/// - with the feature `object`, `Object`, and `Option<String>`, which is only read: texts of which some are missing, as
///   NumPy's `StringDType` has them;
/// - structs that derive [`Record`](macro@crate::Record), and types that derive `Element`;
/// - arrays `[T; N]` of these, except that reading `[Object; N]` fails. Such an array is the innermost
///   axis of the array in the file: an `Array1<[f32; 3]>` is stored with the shape (n, 3).
///
/// The methods are not part of the public API.
///
/// ```
/// use ndarray::ArrayD;
/// use ndarray_io::{ReadNpyExt, ReadableElement};
///
/// /// Reads an array of any type that the caller chooses.
/// fn load<A: ReadableElement>(bytes: &[u8]) -> ndarray_io::Result<ArrayD<A>> {
///     ArrayD::read_npy(bytes)
/// }
/// # assert!(load::<f32>(b"").is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that elements can be read as",
    label = "not an element of an array file",
    note = "numbers of up to 64 bits, bool, Complex, text, times and `[T; N]` of these are; usize and isize are not, since their size \
            depends on the machine: u64 or i64 hold their values; f16 needs the feature `half-2`, Option<String> `object`; a struct \
            derives Record or, around one element, Element; so does an enum; one that derives Element through another type needs `from` or `try_from`"
)]
pub trait ReadableElement: Sized + Send + Sync {
    /// Appends the element's own axes, which are the innermost axes of an array in a file.
    #[doc(hidden)]
    fn inner_axes(_axes: &mut Vec<usize>) {}

    /// Whether the plan for reading is always [`ReadPlan::Bitwise`] or [`ReadPlan::Converted`], and the elements have no axes.
    ///
    /// The other ways are then not compiled for the type.
    #[doc(hidden)]
    const IS_READ_AS_BYTES: bool = false;

    /// Returns the plan for reading elements of this dtype, or an error if they cannot be read as this type.
    #[doc(hidden)]
    fn read_plan(dtype: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>>;
}

/// Returns the axes of an element, which are the innermost axes of an array in a file.
pub(crate) fn inner_axes_of<A: ReadableElement>() -> Vec<usize> {
    let mut inner = Vec::new();
    A::inner_axes(&mut inner);
    inner
}

/// A type whose elements can be written.
///
/// It is implemented for the same types as [`ReadableElement`], except `Option<String>`, and types that derive `Element` without
/// `into`.
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
    note = "numbers of up to 64 bits, bool, Complex, text, times and `[T; N]` of these are; usize and isize are not, since their size \
            depends on the machine: u64 or i64 hold their values; f16 needs the feature `half-2`; a struct \
            derives Record or, around one element, Element; so does an enum; one that derives Element through another type needs `into`"
)]
pub trait WritableElement: Sized + Send + Sync {
    /// Returns the dtype to write these elements as.
    ///
    /// It may depend on their values, as the width of text does.
    #[doc(hidden)]
    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType>;

    /// The size and alignment of an element in a file.
    #[doc(hidden)]
    const FILE_LAYOUT: record::FileLayout = record::FileLayout::of::<Self>();

    /// Whether the plan for writing is always [`WritePlan::Bitwise`], and the dtype does not depend on values.
    ///
    /// The other ways are then not compiled for the type.
    #[doc(hidden)]
    const IS_ALWAYS_BITWISE: bool = false;

    /// Returns the plan for writing elements as this dtype, which must come from [`Self::dtype_for`].
    #[doc(hidden)]
    fn write_plan(dtype: &DType) -> WritePlan<Self>;
}

/// A type that a file's bytes can be viewed as, without copying them.
///
/// It is implemented for the same types as [`ReadableElement`], except `String`, `Option<String>`, `Vec<u8>`, `Object`, and types that
/// are read through another one. A
/// struct that derives [`Record`](macro@crate::Record) implements it if the struct has `#[repr(C)]` or
/// `#[repr(C, packed)]` and its fields can be viewed.
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
    label = "has another layout in memory than in a file",
    note = "String and Vec<u8> can be read, and Chars<N> and Bytes<N> also viewed; a struct that derives Record needs \
            #[repr(C)] or #[repr(C, packed)]; usize and isize are not in files: u64 or i64 hold their values; a map is NpyMmap<f32, Ix2>, \
            of the type of one element and the dimension"
)]
pub trait ViewElement: ReadableElement {}

/// A type that a file's bytes can be viewed as and changed in place.
///
/// It is implemented for the same types as [`ViewElement`]. Viewing a derived struct with padding mutably is a
/// compile error: changing it in place would write uninitialized bytes into the file. For a type that implements
/// the trait by hand, it fails with [`NeedsCopy`](crate::error::ErrorKind::NeedsCopy): the trait is safe to implement, since padding is
/// known from how the elements are read.
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
pub trait ViewMutElement: ViewElement {
    /// Fails to compile if the type has padding.
    #[doc(hidden)]
    const IS_FULL: () = ();
}

/// One of the four ways to read elements.
#[doc(hidden)]
pub enum ReadPlan<T> {
    /// The bytes in the file are the bytes in memory, after swapping or checking where needed.
    Bitwise(Bitwise<T>),
    /// The bytes in memory are made from those in the file, and then swapped or checked where needed.
    Converted(Bitwise<T>, ItemConversion),
    /// The elements are items of fixed size, decoded one by one.
    PerItem(Box<dyn ItemDecoder<T>>),
    /// The payload is one unit.
    Opaque(Box<dyn OpaqueDecoder<T>>),
}

impl<T> ReadPlan<T> {
    /// Returns the token, and what converts, if the elements are read as bytes.
    pub(crate) fn of_bytes(&self) -> Option<(&Bitwise<T>, Option<&ItemConversion>)> {
        match self {
            Self::Bitwise(token) => Some((token, None)),
            Self::Converted(token, conversion) => Some((token, Some(conversion))),
            Self::PerItem(_) | Self::Opaque(_) => None,
        }
    }
}

/// One of the three ways to write elements.
#[doc(hidden)]
pub enum WritePlan<T> {
    /// The bytes in memory are the bytes in the file, after swapping where needed.
    Bitwise(BitwiseOut<T>),
    /// The elements are items of fixed size, encoded one by one.
    PerItem(Box<dyn ItemEncoder<T>>),
    /// The payload is one unit.
    Opaque(Box<dyn OpaqueEncoder<T>>),
}

/// Decodes items a block at a time, so that the dynamic call is made once per block.
#[doc(hidden)]
pub trait ItemDecoder<T>: Send + Sync {
    /// Decodes `count` elements from `items` into the next places of `out`.
    ///
    /// It may modify `items`. An error contains the index of the element within the block.
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, T>) -> Result<()>;

    /// Returns about how many nanoseconds an element takes, which decides how many threads decode.
    fn nanos_per_element(&self) -> u64 {
        10
    }
}

/// Decodes a payload that is one unit.
#[doc(hidden)]
pub trait OpaqueDecoder<T>: Send + Sync {
    /// Decodes the elements, in the order of the file, and returns them with the number of bytes consumed.
    ///
    /// There are exactly as many elements as the header declares. `payload` is everything that remains of the
    /// source.
    fn decode(&self, payload: &[u8], header: &Header, options: &ReadOptions) -> Result<(Vec<T>, usize)>;

    /// Returns a copy of elements that have already been decoded, if they are of this type.
    fn downcast_items(&self, _items: &dyn std::any::Any) -> Option<Vec<T>> {
        None
    }

    /// Reads the payload from a stream that may continue after it, if the payload marks its own end.
    ///
    /// `more` appends at most the given number of bytes, fewer if the stream ends first, and returns how many
    /// it appended. Returns `None` if the payload does not mark its end.
    fn read_self_delimited(
        &self,
        _more: &mut dyn FnMut(&mut Vec<u8>, u64) -> Result<u64>,
    ) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

/// Encodes items, one by one.
#[doc(hidden)]
pub trait ItemEncoder<T>: Send + Sync {
    /// Encodes an item into `into`, which has the size of one item.
    fn encode(&self, item: &T, into: &mut [u8]) -> Result<()>;

    /// Encodes all items into `into`, which has exactly `size` bytes for each.
    fn encode_all(&self, items: &[T], size: usize, into: &mut [u8]) -> Result<()> {
        // `chunks_exact_mut` panics for a size of 0.
        let mut slots = into.chunks_exact_mut(size.max(1));
        items.iter().zip(slots.by_ref()).try_for_each(|(item, slot)| self.encode(item, slot))
    }
}

/// Encodes elements as a payload that is one unit.
#[doc(hidden)]
pub trait OpaqueEncoder<T>: Send + Sync {
    /// Returns the payload for these elements, which `items` yields in the order of the file.
    fn encode(
        &self,
        items: &mut dyn Iterator<Item = &T>,
        header: &Header,
        options: &WriteOptions,
    ) -> Result<Vec<u8>>;
}

/// Returns the plan for reading bytes as words of this size without interpreting them.
pub(crate) fn raw_words<W: Pod>() -> Bitwise<W> {
    Bitwise::pod(1, false)
}

impl DType {
    /// Returns the dtype that elements of a type are written as.
    ///
    /// For text, whose width depends on the values, this is the narrowest dtype, with a width of 1.
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
    /// - [`Malformed`](crate::error::ErrorKind::Malformed): a record, or an array `[T; N]`, would take 2³¹ bytes or more.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption): a field of a record, or the `T` of an array, is a Python object; or a text in a record has no
    ///   width (`#[record(len = …)]`).
    pub fn of<T: WritableElement>() -> Result<Self> {
        T::dtype_for(&mut std::iter::empty(), &WriteOptions::new())
    }
}

/// Returns the plan for reading elements of this dtype.
///
/// Any crate can implement the trait, and return the plan for another dtype. If elements and items differ in size, or items are
/// not those that are converted, the counts of the header are not those of the elements, so such a plan is refused.
///
/// # Errors
///
/// Those of the element type, and [`NeedsCopy`](crate::error::ErrorKind::NeedsCopy) for such a plan.
pub(crate) fn read_plan_for<A: ReadableElement>(dtype: &DType, options: &ReadOptions) -> Result<ReadPlan<A>> {
    let plan = A::read_plan(dtype, options)?;
    let (item, own) = (dtype.item_size(), size_of::<A>());
    let is_of_these = match &plan {
        ReadPlan::Bitwise(_) => own == item,
        ReadPlan::Converted(_, conversion) => (conversion.item_size(), conversion.made_size()) == (item, own),
        ReadPlan::PerItem(_) | ReadPlan::Opaque(_) => true,
    };
    match is_of_these {
        true => Ok(plan),
        false => Err(Fault::NeedsCopy(CopyReason::Layout { found: dtype.clone() }).into()),
    }
}

/// Returns the token for viewing elements of this dtype in place, or an error if they must be copied.
pub(crate) fn view_token<A: ViewElement>(dtype: &DType, options: &ReadOptions) -> Result<Bitwise<A>> {
    match read_plan_for(dtype, options).map_err(Error::without_conversion_help)? {
        ReadPlan::Bitwise(bitwise) if !bitwise.needs_swap() => Ok(bitwise),
        ReadPlan::Bitwise(_) => Err(Fault::NeedsCopy(CopyReason::ByteOrder { found: dtype.clone() }).into()),
        ReadPlan::Converted(..) | ReadPlan::PerItem(_) | ReadPlan::Opaque(_) => {
            Err(Fault::NeedsCopy(CopyReason::Layout { found: dtype.clone() }).into())
        }
    }
}

/// Returns the name of the Rust type that corresponds to a dtype, for messages.
#[deny(clippy::wildcard_enum_match_arm)]
fn rust_type(dtype: &DType) -> Option<String> {
    if let DType::Subarray(subarray) = dtype {
        let base = rust_type(subarray.base()).filter(|base| !base.contains([' ', ',']))?;
        return Some(subarray.shape().iter().rev().fold(base, |base, dim| format!("[{base}; {dim}]")));
    }
    let scalar = dtype.as_scalar()?;
    let size = scalar.size();
    Some(match scalar.kind() {
        Kind::Bytes => format!("Bytes<{size}>, Vec<u8> or String"),
        Kind::Text => format!("String or Chars<{}>", size / 4),
        Kind::Void => format!("Void<{size}>"),
        Kind::Datetime(step) => format!("Datetime64<{}>", unit_type(step)),
        Kind::Timedelta(step) => format!("Timedelta64<{}>", unit_type(step)),
        kind @ (Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Complex | Kind::Narrow(_)) => {
            let known = number::RUST_TYPES.iter().chain(complex::RUST_TYPES).chain(boolean::RUST_TYPES);
            known.copied().find(|known| (known.0, known.1) == (kind, size))?.2.to_owned()
        }
    })
}

/// Returns the type of the module `units` that corresponds to a step.
fn unit_type(step: TimeStep) -> String {
    match step.count {
        1 => format!("units::{:?}", step.unit),
        count => format!("units::Times<{count}, units::{:?}>", step.unit),
    }
}

/// Returns the error for a dtype that cannot be read as the wanted type, with help on what can read it.
///
/// `can_convert` says whether a casting option would help.
pub(crate) fn mismatch(found: &DType, wanted: DType, can_convert: bool) -> Error {
    if found.has_object() {
        return Fault::Objects { found: found.clone() }.into();
    }
    let help = match (found, rust_type(found)) {
        (DType::Subarray(_), Some(rust_type)) => Remedy::ReadAs { rust_type, can_convert: false },
        (_, Some(rust_type)) => Remedy::ReadAs { rust_type, can_convert },
        (DType::Record(_), _) => Remedy::ReadRecords,
        _ => Remedy::ReadDynamic,
    };
    Error::from(Fault::DTypeMismatch { found: found.clone(), wanted }).with_help(help)
}

/// Returns the plan for writing units of `SIZE` bytes without interpreting them.
pub(crate) fn raw_units<const SIZE: usize>() -> BitwiseOut<[u8; SIZE]> {
    BitwiseOut::<u8>::new(1, false).repeated()
}
