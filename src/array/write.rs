//! Writing arrays to writers.

use std::io::Write;

use ndarray::{ArrayBase, ArrayRef, ArrayView, Data, Dimension};

use super::private::Sealed;
use super::shape_of;
use crate::dtype::DType;
use crate::elements::cast::StridedBytes;
use crate::elements::{ByteTransform, WritableElement, WritePlan};
use crate::error::{Fault, Result};
use crate::header::Header;
use crate::io::{self, change, order_of};
use crate::options::{Verb, WriteOptions};
use crate::shape::Order;
use crate::transfer::{self, Items, Sink};

/// Writes arrays as NPY files.
///
/// The trait is implemented for all arrays and views, with any strides, for vectors, slices and
/// [`FlatArray`](crate::FlatArray)s, for their views, and for [`DynArray`](crate::DynArray) and [`DynView`](crate::DynView). The bytes are identical to those that `numpy.save` writes.
///
/// ```
/// use std::fs::File;
/// use ndarray::arr2;
/// use ndarray_io::WriteNpyExt;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// arr2(&[[1.0, 2.0], [3.0, 4.0]]).write_npy(File::create(&path)?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// To write to a path, prefer [`write_npy`](crate::write_npy), which replaces the file atomically.
pub trait WriteNpyExt: WriteArray {
    /// Writes the array and flushes the writer.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if writing fails.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) or
    ///   [`BadOption`](crate::error::ErrorKind::BadOption) if the format or the options cannot
    ///   represent the elements.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) or [`Limit`](crate::error::ErrorKind::Limit) if a text or
    ///   the header is too large, or inner arrays add up to more than 64 axes.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the options are incompatible with the call or the
    ///   elements.
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    ///
    /// After an error, the writer may have received part of the file.
    fn write_npy<W: Write>(&self, writer: W) -> Result<()> {
        WriteOptions::new().write_to(writer, self)
    }
}

impl WriteOptions {
    /// Writes an NPY array to a writer. See [`WriteNpyExt::write_npy`].
    ///
    /// # Errors
    ///
    /// Those of [`WriteNpyExt::write_npy`], and
    /// [`BadOption`](crate::error::ErrorKind::BadOption) for options that only files have, and for [`sync`](Self::sync) of a writer that is not a
    /// file.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::{ByteOrder, WriteOptions};
    ///
    /// let mut file = Vec::new();
    /// WriteOptions::new().byte_order(ByteOrder::Big).write_to(&mut file, &arr1(&[1u16]))?;
    /// assert!(file.ends_with(&[0, 1]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn write_to<T: WriteArray + ?Sized>(&self, mut writer: impl Write, array: &T) -> Result<()> {
        self.check_for(Verb::WriteTo)?;
        write_and_sync(&array, &mut writer, self, &mut io::format_npy_header)
    }
}

/// An array that can be written in any format.
///
/// The trait is implemented for every array and view of [`WritableElement`](crate::WritableElement)s, for vectors, slices and
/// [`FlatArray`](crate::FlatArray)s of them, for [`DynArray`](crate::DynArray) and [`DynView`](crate::DynView), and for references to these. It is dyn-compatible, so that one list can hold arrays of several types:
///
/// ```
/// use ndarray::{arr1, arr2};
/// use ndarray_io::WriteArray;
///
/// let (a, b) = (arr1(&[1.0, 2.0]), arr2(&[[true]]));
/// let arrays: [(&str, &dyn WriteArray); 2] = [("a", &a), ("b", &b)];
/// # assert_eq!(arrays.len(), 2);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array that can be written",
    label = "not an array of elements that a file can have",
    note = "arrays and views of ndarray 0.17, vectors and slices can be written, `DynArray`, and `FlatView`, for other libraries and \
            other versions of ndarray; usize and isize are not in files: u64 or i64 hold their values; a struct derives Record; the path comes before the array, as in `numpy.save`"
)]
pub trait WriteArray: Sealed {
    /// Returns the approximate size of the array in a file, in bytes.
    #[doc(hidden)]
    fn byte_len(&self) -> usize;

    /// Returns the size of the elements in a file, in bytes, if it is known before they are written.
    fn payload_len(&self, options: &WriteOptions) -> Option<u64>;

    /// Returns whether storing the array twice writes the same bytes.
    #[doc(hidden)]
    fn is_repeatable(&self) -> bool {
        true
    }

    /// Writes the header, as encoded by `format`, and the elements.
    #[doc(hidden)]
    fn store(&self, sink: SinkRef<'_>, options: &WriteOptions, format: &mut HeaderEncoder<'_>) -> Result<()>;
}

/// Implements writing for pointers to arrays.
macro_rules! written_through {
    ($($(#[$doc:meta])* $pointer:ty;)*) => {$(
        impl<T: Sealed + ?Sized> Sealed for $pointer {}

        $(#[$doc])*
        impl<T: WriteArray + ?Sized> WriteArray for $pointer {
            fn byte_len(&self) -> usize {
                (**self).byte_len()
            }

            fn payload_len(&self, options: &WriteOptions) -> Option<u64> {
                (**self).payload_len(options)
            }

            fn is_repeatable(&self) -> bool {
                (**self).is_repeatable()
            }

            fn store(&self, sink: SinkRef<'_>, options: &WriteOptions, format: &mut HeaderEncoder<'_>) -> Result<()> {
                (**self).store(sink, options, format)
            }
        }
    )*};
}

written_through! {
    /// A reference to an array, as iterators over maps return them.
    &T;
    /// An array in a box, as lists of arrays of several types have it.
    Box<T>;
}

/// A format's encoding of a header.
#[doc(hidden)]
pub struct HeaderEncoder<'a>(&'a mut dyn FnMut(&Header, &WriteOptions) -> Result<Vec<u8>>);

impl<'a> HeaderEncoder<'a> {
    pub(super) fn new(make: &'a mut dyn FnMut(&Header, &WriteOptions) -> Result<Vec<u8>>) -> Self {
        Self(make)
    }

    /// Encodes a header.
    pub(crate) fn encode(&mut self, header: &Header, options: &WriteOptions) -> Result<Vec<u8>> {
        self.0(header, options)
    }
}

/// A sink in public signatures: a type that users can neither name nor create.
#[doc(hidden)]
pub struct SinkRef<'a>(Sink<'a>);

impl<'a> SinkRef<'a> {
    pub(super) fn new(sink: Sink<'a>) -> Self {
        Self(sink)
    }

    pub(crate) fn into_inner(self) -> Sink<'a> {
        self.0
    }
}

/// Writes an array as an NPY file, and flushes the sink.
pub(crate) fn store_npy(array: &dyn WriteArray, sink: Sink<'_>, options: &WriteOptions) -> Result<()> {
    array.store(SinkRef(sink), options, &mut HeaderEncoder(&mut io::format_npy_header))
}

/// Writes what `head` makes of an array's header, and the elements; then syncs the writer, if the options request it.
fn write_and_sync<W: Write>(
    array: &dyn WriteArray,
    writer: &mut W,
    options: &WriteOptions,
    head: &mut dyn FnMut(&Header, &WriteOptions) -> Result<Vec<u8>>,
) -> Result<()> {
    // Checked first, so that a writer that cannot be synced receives nothing.
    change::check_can_sync(writer, options)?;
    array.store(SinkRef(Sink::of(writer)), options, &mut HeaderEncoder(head))?;
    change::sync_writer(writer, options)
}

/// Writes an array in a format of the caller: what `head` makes of its header, and then the elements.
///
/// The header has the dtype, the order and the shape that the elements have when they are written with these options. With
/// [`byte_order`](WriteOptions::byte_order) and [`order`](WriteOptions::order), the caller chooses them.
///
/// # Errors
///
/// - Those of `head`.
/// - Those of [`WriteNpyExt::write_npy`].
///
/// # Examples
///
/// ```
/// use ndarray::arr2;
/// use ndarray_io::WriteOptions;
/// use ndarray_io::file::write_headed;
///
/// let mut file = Vec::new();
/// let array = arr2(&[[1u8, 2], [3, 4]]);
/// write_headed(&array, &mut file, &WriteOptions::new(), &mut |header| {
///     let [rows, columns] = header.shape() else { panic!("two axes") };
///     Ok(format!("P5 {columns} {rows} 255\n").into_bytes()) // a picture in the format PGM
/// })?;
/// assert_eq!(file, b"P5 2 2 255\n\x01\x02\x03\x04");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn write_headed<T: WriteArray + ?Sized, W: Write>(
    array: &T,
    mut writer: W,
    options: &WriteOptions,
    head: &mut dyn FnMut(&Header) -> Result<Vec<u8>>,
) -> Result<()> {
    options.check_for(Verb::WriteHeaded)?;
    write_and_sync(&array, &mut writer, options, &mut |header, _| head(header))
}

/// Returns the header that an array has when it is written with these options: the dtype, the order and the shape.
///
/// # Errors
///
/// Those of [`WriteNpyExt::write_npy`], if the format or the options cannot represent the elements.
///
/// # Examples
///
/// ```
/// use ndarray::arr2;
/// use ndarray_io::file::header_of;
/// use ndarray_io::{ByteOrder, WriteOptions};
///
/// let header = header_of(&arr2(&[[1i16, 2]]), &WriteOptions::new().byte_order(ByteOrder::Big))?;
/// assert_eq!((header.dtype().to_string().as_str(), header.shape()), ("'>i2'", &[1, 2][..]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn header_of<T: WriteArray + ?Sized>(array: &T, options: &WriteOptions) -> Result<Header> {
    header_of_any(&array, options)
}

fn header_of_any(array: &dyn WriteArray, options: &WriteOptions) -> Result<Header> {
    let mut found = None;
    // An error after the header keeps the elements from being written.
    let mut make = |header: &Header, _: &WriteOptions| {
        found = Some(header.clone());
        Err(Fault::Cancelled.into())
    };
    let stored = array.store(SinkRef(Sink::of(&mut std::io::sink())), options, &mut HeaderEncoder(&mut make));
    match (found, stored) {
        (Some(header), _) => Ok(header),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => unreachable!("the header is encoded before the elements"),
    }
}

/// Writes the header and elements that are bytes, in this order of their axes; `transform` puts the bytes into the order of the file.
///
/// Not generic, so that it is compiled once.
fn store_bytes(
    sink: &mut Sink<'_>,
    header: &Header,
    (items, order): (StridedBytes<'_>, Order),
    transform: &ByteTransform,
    options: &WriteOptions,
    format: &mut HeaderEncoder<'_>,
) -> Result<()> {
    let items = if order == Order::Fortran { items.reversed() } else { items };
    let head = format.encode(header, options)?;
    transfer::write_strided(sink, head, header, &items, transform, options)
}

fn payload_len_of(dtype: DType, shape: &[usize]) -> Option<u64> {
    Header::new(dtype, Order::C, shape.into()).ok()?.payload_len()
}

fn dtype_for<A: WritableElement, D: Dimension>(
    view: &ArrayView<'_, A, D>,
    options: &WriteOptions,
) -> Result<DType> {
    match const { A::IS_ALWAYS_BITWISE } {
        true => A::dtype_for(&mut std::iter::empty(), options),
        false => A::dtype_for(&mut view.iter(), options),
    }
}

impl<S: Data, D: Dimension> WriteNpyExt for ArrayBase<S, D> where Self: WriteArray {}
impl<A, D: Dimension> WriteNpyExt for ArrayRef<A, D> where Self: WriteArray {}

impl<A: WritableElement, S: Data<Elem = A>, D: Dimension> WriteArray for ArrayBase<S, D> {
    fn byte_len(&self) -> usize {
        ArrayRef::byte_len(self)
    }

    fn payload_len(&self, options: &WriteOptions) -> Option<u64> {
        ArrayRef::payload_len(self, options)
    }

    fn store(&self, sink: SinkRef<'_>, options: &WriteOptions, format: &mut HeaderEncoder<'_>) -> Result<()> {
        ArrayRef::store(self, sink, options, format)
    }
}

impl<A: WritableElement, D: Dimension> WriteArray for ArrayRef<A, D> {
    fn byte_len(&self) -> usize {
        self.len().saturating_mul(size_of::<A>())
    }

    fn payload_len(&self, options: &WriteOptions) -> Option<u64> {
        let dtype = dtype_for(&self.view(), options).ok()?;
        payload_len_of(dtype, self.shape())
    }

    fn store(
        &self,
        SinkRef(mut sink): SinkRef<'_>,
        options: &WriteOptions,
        format: &mut HeaderEncoder<'_>,
    ) -> Result<()> {
        const { A::FILE_LAYOUT.assert_writable() };
        let is_array = const { A::FILE_LAYOUT.is_array() }; // the parts of an element are contiguous only in C order
        let order = options.get_order().unwrap_or_else(|| if is_array { Order::C } else { order_of(self) });
        if const { A::IS_ALWAYS_BITWISE && transfer::has_usual_size::<A>() } {
            let dtype = A::dtype_for(&mut std::iter::empty(), options)?;
            let header = Header::new(dtype, order, self.shape().into())?;
            return match A::write_plan(header.dtype()) {
                WritePlan::Bitwise(out) => {
                    let items = (out.strided(self), order);
                    store_bytes(&mut sink, &header, items, out.transform(), options, format)
                }
                _ => unreachable!("its plan is bitwise"),
            };
        }
        // Fortran order is C order with the axes reversed.
        let view = if order == Order::Fortran { self.t() } else { self.view() };
        // For text, this iterates over all elements to find the longest one.
        let dtype = dtype_for(&view, options)?;
        let header = Header::new(dtype, order, shape_of(&self.raw_dim()))?;
        let write_plan = A::write_plan(header.dtype());
        let head = format.encode(&header, options)?;
        let items = match view.to_slice() {
            Some(items) => Items::Contiguous(items),
            None => Items::Strided(view.into_dyn()),
        };
        transfer::write(&mut sink, head, &header, items, &write_plan, options)
    }
}
