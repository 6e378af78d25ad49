//! [`DynArray`]: an array whose element type is known only at run time.

mod append;
mod check;
mod columns;
mod convert;
mod data;
mod field;
mod foreign;
mod numbers;
#[cfg(feature = "object")]
pub mod object;
mod order;
mod show;
mod typed;

#[cfg(feature = "object")]
use std::sync::Arc;

#[cfg(feature = "object")]
use object::Object;

use std::borrow::Cow;

use ndarray::{Array, ArrayView, ArrayViewMut, Dimension, ShapeBuilder};

use data::AlignedBytes;
pub use foreign::DynView;
#[cfg(feature = "npz")]
pub(crate) use foreign::fill;

use crate::array::{ReadNpyExt, ReadRaExt, Sealed, SinkRef, WriteArray, WriteNpyExt, WriteRaExt};
use crate::array::{dimension, prepare_view};
use crate::dtype::{Casting, DType};
use crate::elements::cast::{self, Bitwise};
use crate::elements::{
    ReadPlan, ReadableElement, ViewElement, ViewMutElement, WritableElement, inner_axes_of, mismatch,
    read_plan_for,
};
use crate::error::{Error, Fault, Result, Returned};
use crate::header::Header;
use crate::io::{NpyReader, Payload, ReadArray};
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::{Order, Shape};
use crate::transfer;

/// An array whose element type is known only at run time.
///
/// It consists of the dtype, the order, the shape, and the bytes of the elements as they are in the file. The
/// functions that read and write typed arrays also read and write a `DynArray`, with any dtype. Writing it
/// back produces the same bytes, with the header as `numpy.save` spells it.
///
/// It has none of the methods of `ndarray`'s arrays, and cannot be passed where an `Array` is expected: its type is chosen first. [`view`](Self::view)
/// borrows the elements as a typed array, [`into_array`](Self::into_array) (or `try_into`) takes them, and [`cast`](Self::cast) converts them
/// to another type, as `let a: Array2<f64> = array.cast(Casting::SameKind)?`.
///
/// Python objects are read only if [`ReadOptions::allow_objects`] is set. Writing pickles them again, so the
/// bytes may differ.
///
/// ```
/// use ndarray::{arr2, Array2, Ix2};
/// use ndarray_io::{Casting, DynArray, ReadNpyExt, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr2(&[[1i16, 2], [3, 4]]).write_npy(&mut file)?;
///
/// let array = DynArray::read_npy(&file[..])?;
/// assert_eq!(array.dtype().to_string(), "'<i2'");
/// assert_eq!(array.view::<i16, Ix2>()?[[1, 0]], 3);
/// let floats: Array2<f64> = array.cast(Casting::Safe)?;
/// assert_eq!(floats.sum(), 10.0);
///
/// let mut again = Vec::new();
/// array.write_npy(&mut again)?;
/// assert_eq!(again, file);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DynArray {
    header: Header,
    data: AlignedBytes,
    /// The elements, if they are objects; `data` is empty then.
    #[cfg(feature = "object")]
    objects: Option<Arc<Vec<Object>>>,
    /// What Python would do to load the file of which the objects are, unless that is plain data.
    #[cfg(feature = "object")]
    load_effects: Option<Arc<object::LoadEffects>>,
}

/// Arrays are equal if their shapes, orders, dtypes and bytes are equal.
///
/// Bytes are compared, not values: a NaN equals itself, and arrays in different orders or byte orders are not
/// equal. Objects are compared as objects.
impl PartialEq for DynArray {
    fn eq(&self, other: &Self) -> bool {
        #[cfg(feature = "object")]
        if let (Some(one), Some(two)) = (&self.objects, &other.objects) {
            return self.header == other.header && object::items_equal(one, two);
        }
        self.header == other.header && self.data == other.data
    }
}

impl Eq for DynArray {}

impl DynArray {
    /// Creates an array with a copy of the elements.
    ///
    /// An array that is contiguous only in Fortran order keeps that order; all others are stored in C order.
    ///
    /// The elements are encoded as an NPY file in memory and decoded from it. At the peak, memory contains
    /// them three times.
    ///
    /// # Errors
    ///
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if NumPy does not have the dtype, or if a text does not fit the field
    ///   of a struct.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if a text is longer than NumPy allows.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if a struct or inner array contains Python objects.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::DynArray;
    ///
    /// let array = DynArray::new(&arr1(&[1.5, 2.5]))?;
    /// assert_eq!(array.shape(), [2]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn new<A: WritableElement, D: Dimension>(array: &ndarray::ArrayRef<A, D>) -> Result<Self> {
        Self::new_with(array, &WriteOptions::new())
    }

    fn new_with<A: WritableElement, D: Dimension>(
        array: &ndarray::ArrayRef<A, D>,
        options: &WriteOptions,
    ) -> Result<Self> {
        let mut file = Vec::new();
        options.write_to(&mut file, &array)?;
        NpyReader::new(&file[..])?.read()
    }

    /// Creates an array with a copy of the bytes, which are encoded as in a file.
    ///
    /// ```
    /// use ndarray::{Array2, arr2};
    /// use ndarray_io::header::Order;
    /// use ndarray_io::DynArray;
    ///
    /// let array = DynArray::from_bytes(">i2".parse()?, [2, 1], Order::C, &[0, 1, 0, 2])?;
    /// let numbers: Array2<i16> = array.into_array()?;
    /// assert_eq!(numbers, arr2(&[[1], [2]]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the number of bytes does not match the dtype
    ///   and shape, or the dtype has Python objects.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if there are more than 64 axes.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if the number of elements or bytes overflows.
    /// - [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if the copy cannot be allocated.
    pub fn from_bytes(dtype: DType, shape: impl Into<Shape>, order: Order, bytes: &[u8]) -> Result<Self> {
        let header = Header::new(dtype, order, shape.into())?;
        if header.payload_len() != Some(bytes.len() as u64) {
            let (shape, dtype) = (header.shape_ref(), header.dtype());
            let reason =
                format!("{} bytes do not fit an array of shape {shape} and dtype {dtype}", bytes.len());
            return Err(Fault::BadOption { reason }.into());
        }
        Self::from_header_and_bytes(header, bytes)
    }

    /// Creates an array from a header and a copy of the bytes, whose number must match the header.
    pub(crate) fn from_header_and_bytes(header: Header, bytes: &[u8]) -> Result<Self> {
        let mut data = AlignedBytes::new(&header)?;
        data.bytes_mut().copy_from_slice(bytes);
        Ok(Self::of_data(header, data))
    }

    fn of_data(header: Header, data: AlignedBytes) -> Self {
        Self {
            // In memory, the axes of elements that are arrays are the last ones, whichever file they are from.
            header: header.with_innermost_first(false),
            data,
            #[cfg(feature = "object")]
            objects: None,
            #[cfg(feature = "object")]
            load_effects: None,
        }
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> &DType {
        self.header.dtype()
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.header.shape()
    }

    /// Returns the order in which the elements are stored.
    pub fn order(&self) -> Order {
        self.header.order()
    }

    /// Returns the number of axes.
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.header.count()
    }

    /// Returns whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of the elements, as in the file.
    ///
    /// The slice is empty if the elements are Python objects.
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::DynArray;
    /// assert_eq!(DynArray::new(&arr1(&[1u8, 2]))?.bytes(), [1, 2]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn bytes(&self) -> &[u8] {
        self.data.bytes()
    }

    /// Returns a typed view of the elements, without copying them.
    ///
    /// If values of the type can be invalid, as for `bool`, every element is checked.
    ///
    /// # Errors
    ///
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have a different type, are in the other byte
    ///   order or have a different layout in memory, or if the number of axes differs.
    /// - A [format error](crate::Error::is_format) if an element is invalid.
    pub fn view<A: ViewElement, D: Dimension>(&self) -> Result<ArrayView<'_, A, D>> {
        view_of(&self.header, self.data.bytes()).map_err(Error::with_help_of_read_array)
    }

    /// Returns a mutable typed view of the elements.
    ///
    /// This is the mutable counterpart of [`DynArray::view`].
    ///
    /// # Errors
    ///
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have a different type, are in the other byte
    ///   order or have a different layout in memory, or if the number of axes differs.
    /// - A [format error](crate::Error::is_format) if an element is invalid.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::{arr1, Ix1};
    /// # use ndarray_io::DynArray;
    /// let mut array = DynArray::new(&arr1(&[1.5, 2.5]))?;
    /// array.view_mut::<f64, Ix1>()?[0] = 0.0;
    /// assert_eq!(array.view::<f64, Ix1>()?, arr1(&[0.0, 2.5]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn view_mut<A: ViewMutElement, D: Dimension>(&mut self) -> Result<ArrayViewMut<'_, A, D>> {
        view_mut_of(&self.header, self.data.bytes_mut()).map_err(Error::with_help_of_read_array)
    }

    /// Converts the array to an array of a known type.
    ///
    /// Nothing is copied if the elements in memory are those of the type: integers, floats, complex numbers, bools,
    /// times, `Chars` and `Bytes` of the same width, `Void`, newtypes and enums. The byte order of plain numbers,
    /// times and text is changed in place. `String`, `Vec<u8>`, `LongDouble`, records, arrays `[T; N]`, and enums in
    /// the other byte order are copied, so memory temporarily contains them twice.
    ///
    /// # Errors
    ///
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have a different type, or the number of axes
    ///   differs.
    /// - A [format error](crate::Error::is_format) if an element is invalid.
    ///
    /// The error contains the array: see [`Returned::into_inner`].
    pub fn into_array<A: ReadableElement, D: Dimension>(self) -> Result<Array<A, D>, Returned<Self>> {
        // Otherwise, the elements are copied, which also finds what is wrong.
        self.into_array_without_copy().or_else(|array: Self| {
            array.to_array_with(&ReadOptions::new()).map_err(|error| Returned::new(array, error))
        })
    }

    /// Returns the memory of the elements as a typed array; `self` if that is impossible.
    #[expect(clippy::result_large_err, reason = "the array goes on to be copied")]
    fn into_array_without_copy<A: ReadableElement, D: Dimension>(mut self) -> Result<Array<A, D>, Self> {
        let plan = read_plan_for::<A>(self.dtype(), &ReadOptions::new());
        match (plan, dimension::<D>(self.header.shape_ref())) {
            (Ok(ReadPlan::Bitwise(bitwise)), Ok(dim)) if inner_axes_of::<A>().is_empty() => {
                match self.data.into_elements(&bitwise) {
                    Ok(items) => {
                        let shape = dim.set_f(self.header.order() == Order::Fortran);
                        // There is exactly one element for each of the shape.
                        Ok(Array::from_shape_vec(shape, items).expect("an element for each of the shape"))
                    }
                    Err(data) => {
                        self.data = data;
                        Err(self)
                    }
                }
            }
            _ => Err(self),
        }
    }

    /// Returns the elements in the order of the file if they are Python objects, and `None` otherwise.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::object::Object;
    /// use ndarray_io::{DynArray, ReadNpyExt, ReadOptions, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// arr1(&[Object::from("a"), Object::none()]).write_npy(&mut file)?;
    /// let array = ReadOptions::new().allow_objects(true).read_from::<DynArray>(&file[..])?;
    /// assert_eq!(array.objects().unwrap()[0].as_str(), Some("a"));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[cfg(feature = "object")]
    pub fn objects(&self) -> Option<&[Object]> {
        self.object_items()
    }

    #[cfg(feature = "object")]
    fn object_items(&self) -> Option<&[Object]> {
        self.objects.as_ref().map(|objects| &objects[..])
    }

    #[cfg(feature = "object")]
    fn of_objects(header: Header, objects: Arc<Vec<Object>>) -> Self {
        Self { header, data: AlignedBytes::empty(), objects: Some(objects), load_effects: None }
    }

    /// Makes an array with objects of this one.
    #[cfg(feature = "object")]
    fn with_objects(&self, header: Header, objects: Arc<Vec<Object>>) -> Self {
        Self { load_effects: self.load_effects.clone(), ..Self::of_objects(header, objects) }
    }

    #[cfg(feature = "object")]
    fn read_objects(payload: crate::io::Payload<'_, '_>) -> Result<Self> {
        let crate::io::Payload { source, header, options } = payload;
        let (how, load_effects) = object::read_plan_with_load_effects(header.dtype(), options)?;
        let objects = transfer::read(source, header, how, options)?;
        Ok(Self {
            load_effects: load_effects.get().cloned(),
            ..Self::of_objects(header.clone(), Arc::new(objects))
        })
    }

    /// Returns the header as the options have it: they may say which numbers raw bytes are.
    fn header_with_raw_bytes_option(&self, options: &ReadOptions) -> Result<Cow<'_, Header>> {
        Ok(match options.raw_bytes_type {
            Some(narrow) => Cow::Owned(self.header.with_raw_bytes_as(narrow)?),
            None => Cow::Borrowed(&self.header),
        })
    }

    /// Converts the elements to those of a Rust type, in new memory.
    fn to_array_with<A: ReadableElement, D: Dimension>(&self, options: &ReadOptions) -> Result<Array<A, D>> {
        self.read_elements(options).map_err(Error::with_help_of_read_array)
    }

    /// Says which element an error is about, and what can be done with an array that has been read.
    fn element_error(&self, error: Error) -> Error {
        self.header.add_axis_indices(error, 0).with_help_of_read_array()
    }

    fn read_elements<A: ReadableElement, D: Dimension>(&self, options: &ReadOptions) -> Result<Array<A, D>> {
        #[cfg(feature = "object")]
        if let Some(objects) = &self.objects {
            // Objects can only be converted to types that represent Python objects.
            let items = match A::read_plan(self.dtype(), options)? {
                ReadPlan::Opaque(decode) => decode.downcast_items(&**objects),
                _ => None,
            };
            if let Some(items) = items {
                let dim: D = dimension(self.header.shape_ref())?;
                let shape = dim.set_f(self.order() == Order::Fortran);
                // There is exactly one object for each element.
                return Ok(Array::from_shape_vec(shape, items).expect("an object for each element"));
            }
            return Err(mismatch(self.dtype(), DType::Object, false));
        }
        let mut bytes = self.data.bytes();
        let mut source = transfer::Source::of(&mut bytes);
        let header = self.header_with_raw_bytes_option(options)?;
        Array::from_payload(Payload { source: &mut source, header: &header, options })
            .map_err(|error| self.header.add_axis_indices(error, inner_axes_of::<A>().len()))
    }
}

impl Sealed for DynArray {}

impl ReadNpyExt for DynArray {}

impl ReadRaExt for DynArray {}

impl ReadArray for DynArray {
    fn from_payload(payload: Payload<'_, '_>) -> Result<Self> {
        // Only a payload of objects, which is a pickle, has no known length.
        if payload.header.payload_len().is_none() {
            #[cfg(feature = "object")]
            if payload.options.allow_objects {
                return Self::read_objects(payload);
            }
            let found = payload.header.dtype();
            return Err(mismatch(found, found.clone(), false));
        }
        Ok(Self::of_data(payload.header.clone(), AlignedBytes::read(payload)?))
    }
}

impl WriteNpyExt for DynArray {}

impl WriteRaExt for DynArray {}

impl WriteArray for DynArray {
    fn byte_len(&self) -> usize {
        self.data.len()
    }

    fn header(&self, options: &WriteOptions) -> Result<Header> {
        written_header(&self.header, options)
    }

    fn store(&self, sink: SinkRef<'_>, head: Vec<u8>, header: &Header, options: &WriteOptions) -> Result<()> {
        if header.dtype() != self.dtype() {
            // Writes a converted copy, so memory temporarily contains the elements twice.
            return self.cast_to(header.dtype(), Casting::Safe)?.store(sink, head, header, options);
        }
        let mut sink = sink.into_inner();
        #[cfg(feature = "object")]
        if let Some(objects) = &self.objects {
            let items = object::rearranged(objects, &self.header, header.order());
            let payload = object::encode(&mut items.iter(), header, options)?;
            return transfer::write_bytes(&mut sink, head, &payload, options);
        }
        // With fewer than two axes, both orders are the same.
        if header.order() == self.order() || self.shape().len() < 2 {
            return transfer::write_bytes(&mut sink, head, self.data.bytes(), options);
        }
        sink.write(&head)?;
        self.write_elements(&mut sink, header.order(), options)?;
        sink.flush()
    }
}

/// Returns the header with which elements are written; the byte order and the order stay unless the options choose another.
fn written_header(header: &Header, options: &WriteOptions) -> Result<Header> {
    let dtype = match options.byte_order.map(|order| header.dtype().with_byte_order(order)) {
        Some(other) if !other.has_object() => other,
        _ => header.dtype().clone(),
    };
    Header::new(dtype, options.order.unwrap_or(header.order()), header.shape_ref().clone())
}

/// Views the elements that a header describes, of which these are the bytes.
fn view_of<'a, A: ViewElement, D: Dimension>(
    header: &Header,
    bytes: &'a [u8],
) -> Result<ArrayView<'a, A, D>> {
    let (shape, bitwise) = view_shape_and_token::<A, D>(header)?;
    let items = cast::view(&bitwise, bytes, shape.size());
    let items = items.map_err(|error| header.add_axis_indices(error, inner_axes_of::<A>().len()))?;
    // The header satisfies ndarray's limits for shapes, and `items` has exactly its number of elements.
    Ok(ArrayView::from_shape(shape, items).expect("a checked shape with exactly its number of items"))
}

/// Like [`view_of`], for changing the elements.
fn view_mut_of<'a, A: ViewMutElement, D: Dimension>(
    header: &Header,
    bytes: &'a mut [u8],
) -> Result<ArrayViewMut<'a, A, D>> {
    let (shape, bitwise) = view_shape_and_token::<A, D>(header)?;
    bitwise.check_no_padding(header.dtype())?;
    let items = cast::view_mut(&bitwise, bytes, shape.size());
    let items = items.map_err(|error| header.add_axis_indices(error, inner_axes_of::<A>().len()))?;
    // As in `view_of`.
    Ok(ArrayViewMut::from_shape(shape, items).expect("a checked shape with exactly its number of items"))
}

/// Returns the shape for a view of this type, or an error if such a view is impossible.
fn view_shape_and_token<A: ViewElement, D: Dimension>(
    header: &Header,
) -> Result<(ndarray::Shape<D>, Bitwise<A>)> {
    let (elements, dim, bitwise) = prepare_view::<A, D>(header, &ReadOptions::new())?;
    Ok((dim.set_f(elements.order() == Order::Fortran), bitwise))
}
