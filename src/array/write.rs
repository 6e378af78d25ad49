//! Writing arrays to writers.

use std::io::Write;

use ndarray::{ArrayBase, ArrayRef, Data, Dimension};

use super::private::Sealed;
use super::shape_of;
use crate::elements::{WritableElement, WritePlan};
use crate::error::Result;
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
        // Checked first, so that a writer that cannot be synced receives nothing.
        change::check_can_sync(&mut writer, self)?;
        store_npy(&array, Sink::of(&mut writer), self)?;
        change::sync_writer(&mut writer, self)
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
    fn payload_len(&self, options: &WriteOptions) -> Option<u64> {
        self.header(options).ok()?.payload_len()
    }

    /// Returns the header that the array has when it is written with these options.
    #[doc(hidden)]
    fn header(&self, options: &WriteOptions) -> Result<Header>;

    /// Writes `head`, which encodes the header, and the elements as this header describes them, and flushes the sink.
    #[doc(hidden)]
    fn store(&self, sink: SinkRef<'_>, head: Vec<u8>, header: &Header, options: &WriteOptions) -> Result<()>;
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

            fn header(&self, options: &WriteOptions) -> Result<Header> {
                (**self).header(options)
            }

            fn store(&self, sink: SinkRef<'_>, head: Vec<u8>, header: &Header, options: &WriteOptions) -> Result<()> {
                (**self).store(sink, head, header, options)
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
    let header = array.header(options)?;
    let head = io::format_npy_header(&header, options)?;
    array.store(SinkRef(sink), head, &header, options)
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
    change::check_can_sync(&mut writer, options)?;
    let header = array.header(options)?;
    array.store(SinkRef(Sink::of(&mut writer)), head(&header)?, &header, options)?;
    change::sync_writer(&mut writer, options)
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
    array.header(options)
}

impl<S: Data, D: Dimension> WriteNpyExt for ArrayBase<S, D> where Self: WriteArray {}
impl<A, D: Dimension> WriteNpyExt for ArrayRef<A, D> where Self: WriteArray {}

impl<A: WritableElement, S: Data<Elem = A>, D: Dimension> WriteArray for ArrayBase<S, D> {
    fn byte_len(&self) -> usize {
        ArrayRef::byte_len(self)
    }

    fn header(&self, options: &WriteOptions) -> Result<Header> {
        ArrayRef::header(self, options)
    }

    fn store(&self, sink: SinkRef<'_>, head: Vec<u8>, header: &Header, options: &WriteOptions) -> Result<()> {
        ArrayRef::store(self, sink, head, header, options)
    }
}

impl<A: WritableElement, D: Dimension> WriteArray for ArrayRef<A, D> {
    fn byte_len(&self) -> usize {
        self.len().saturating_mul(size_of::<A>())
    }

    fn header(&self, options: &WriteOptions) -> Result<Header> {
        const { A::FILE_LAYOUT.assert_writable() };
        let is_array = const { A::FILE_LAYOUT.is_array() }; // the parts of an element are contiguous only in C order
        let order = options.order.unwrap_or_else(|| if is_array { Order::C } else { order_of(self) });
        let dtype = match (const { A::IS_ALWAYS_BITWISE }, order) {
            (true, _) => A::dtype_for(&mut std::iter::empty(), options),
            // For text, this iterates over all elements to find the longest one.
            (false, Order::C) => A::dtype_for(&mut self.iter(), options),
            (false, Order::Fortran) => A::dtype_for(&mut self.t().iter(), options),
        };
        Header::new(dtype?, order, shape_of(&self.raw_dim()))
    }

    fn store(
        &self,
        SinkRef(mut sink): SinkRef<'_>,
        head: Vec<u8>,
        header: &Header,
        options: &WriteOptions,
    ) -> Result<()> {
        // Fortran order is C order with the axes reversed.
        let is_fortran = header.order() == Order::Fortran;
        let write_plan = A::write_plan(header.dtype());
        if let WritePlan::Bitwise(out) = &write_plan {
            let items = out.strided(self, is_fortran);
            transfer::write_strided(&mut sink, head, header, &items, out.transform(), options)?;
            return sink.flush();
        }
        if const { A::IS_ALWAYS_BITWISE } {
            unreachable!("its plan is bitwise");
        }
        let view = if is_fortran { self.t() } else { self.view() };
        let items = match view.to_slice() {
            Some(items) => Items::Contiguous(items),
            None => Items::Strided(view.into_dyn()),
        };
        transfer::write(&mut sink, head, header, items, &write_plan, options)
    }
}
