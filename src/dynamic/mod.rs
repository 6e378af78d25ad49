//! [`DynArray`]: an array whose type is known only when the program runs.

mod check;
mod columns;
mod convert;
mod dates;
mod field;
mod numbers;
#[cfg(feature = "object")]
pub mod object;
mod order;
mod show;

#[cfg(feature = "object")]
use std::sync::Arc;

#[cfg(feature = "object")]
use object::Object;

use ndarray::{Array, ArrayView, ArrayViewMut, Dimension, ShapeBuilder};

#[cfg(feature = "object")]
use crate::array::dimension;
use crate::array::viewable_as;
use crate::array::{Format, ReadNpyExt, ReadRaExt, Sealed, SinkRef, WriteArray, WriteNpyExt, WriteRaExt};
use crate::dtype::{Casting, DType};
#[cfg(feature = "object")]
use crate::element::ReadPlan;
use crate::element::cast::{self, Bitwise};
use crate::element::{ReadableElement, ViewElement, ViewMutElement, WritableElement, mismatch, raw_words};
use crate::error::{ErrorKind, Result, Returned};
use crate::header::Header;
use crate::io::{FromPayload, NpyReader, PayloadRef};
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::{Order, Shape};
use crate::transfer;

/// An array whose type is known only when the program runs: dtype, order, shape, and the bytes as the file had them.
///
/// It is read and written by the same functions as every other array, of every dtype, and written back it gives the same
/// bytes. (Python objects only if [`ReadOptions::allow_objects`] says so; they are written in a form of our own.) What it holds is viewed, taken or converted as the array of a type.
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
    data: Data,
    /// The elements, if they are objects; there are no bytes then.
    #[cfg(feature = "object")]
    objects: Option<Arc<Vec<Object>>>,
}

/// Two arrays are equal if shape, order, dtype and all bytes are; objects, if they are.
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

/// Bytes at an address that suits every element.
#[derive(Clone, PartialEq, Eq)]
struct Data {
    words: Vec<u128>,
    len: usize,
}

impl Data {
    fn new(len: usize) -> Result<Self> {
        let zeros = |bytes: &mut [u8]| transfer::os::advise_huge_pages((bytes.as_ptr(), bytes.len()));
        let words = raw_words().make(len.div_ceil(size_of::<u128>()), zeros)?;
        Ok(Self { words, len })
    }

    #[cfg(feature = "object")]
    fn empty() -> Self {
        Self { words: Vec::new(), len: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.len)
    }
}

impl DynArray {
    /// The array with these elements, which keeps their order where it is contiguous.
    ///
    /// # Errors
    ///
    /// [`Objects`](crate::error::ErrorKind::Objects) of Python objects, which [`DynArray`] reads with an option only;
    /// [`Overflow`](crate::error::ErrorKind::Overflow) if text is longer than NumPy allows.
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
        array.write_npy_with(&mut file, options)?;
        NpyReader::new(&file[..])?.read()
    }

    /// The array with these bytes, which are a copy of what a file would have.
    ///
    /// ```
    /// use ndarray::{Array2, arr2};
    /// use ndarray_io::DynArray;
    /// use ndarray_io::header::Order;
    ///
    /// let array = DynArray::from_bytes(">i2".parse()?, [2, 1], Order::C, &[0, 1, 0, 2])?;
    /// let numbers: Array2<i16> = array.into_array()?;
    /// assert_eq!(numbers, arr2(&[[1], [2]]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the number of bytes is not that of the elements, or these are Python
    /// objects; [`Limit`](crate::error::ErrorKind::Limit) or [`Overflow`](crate::error::ErrorKind::Overflow) if the shape is too large.
    pub fn from_bytes(dtype: DType, shape: impl Into<Shape>, order: Order, bytes: &[u8]) -> Result<Self> {
        let header = Header::new(dtype, order, shape.into())?;
        if header.payload_len() != Some(bytes.len() as u64) {
            let (shape, dtype) = (header.the_shape(), header.dtype());
            let reason = format!("{} bytes are no array of shape {shape} and dtype {dtype}", bytes.len());
            return Err(ErrorKind::BadOption { reason }.into());
        }
        Self::of_bytes(header, bytes)
    }

    /// The array with this header and just its bytes.
    pub(crate) fn of_bytes(header: Header, bytes: &[u8]) -> Result<Self> {
        let mut data = Data::new(bytes.len())?;
        data.bytes_mut().copy_from_slice(bytes);
        Ok(Self::of_data(header, data))
    }

    fn of_data(header: Header, data: Data) -> Self {
        Self {
            header,
            data,
            #[cfg(feature = "object")]
            objects: None,
        }
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// What the elements are.
    pub fn dtype(&self) -> &DType {
        self.header.dtype()
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.header.shape()
    }

    /// How the elements follow one another.
    pub fn order(&self) -> Order {
        self.header.order()
    }

    /// How many axes there are.
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.header.count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of the elements, as the file had them.
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::DynArray;
    /// assert_eq!(DynArray::new(&arr1(&[1u8, 2]))?.bytes(), [1, 2]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    /// Of Python objects there are none.
    pub fn bytes(&self) -> &[u8] {
        self.data.bytes()
    }

    /// The elements as an array, without copying them. An error if they are of another type, or in the other byte order.
    ///
    /// # Errors
    ///
    /// A [mismatch](crate::Error::is_mismatch) if the elements are of another type, in the other byte order or not laid out as in
    /// memory, or if the number of axes is another; an error of the [format](crate::Error::is_format) if an element is not valid.
    #[expect(clippy::missing_panics_doc, reason = "what is expected holds by construction")]
    pub fn view<A: ViewElement, D: Dimension>(&self) -> Result<ArrayView<'_, A, D>> {
        let (shape, plain) = self.viewable::<A, D>()?;
        let items = cast::view(&plain, self.data.bytes(), shape.size())?;
        // A header has checked ndarray's rule for shapes, and there are just its items.
        Ok(ArrayView::from_shape(shape, items).expect("a checked shape with just its items"))
    }

    /// The elements as an array, for changing them. An error as for [`DynArray::view`].
    ///
    /// # Errors
    ///
    /// A [mismatch](crate::Error::is_mismatch) if the elements are of another type, in the other byte order or not laid out as in
    /// memory, or if the number of axes is another; an error of the [format](crate::Error::is_format) if an element is not valid.
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
    #[expect(clippy::missing_panics_doc, reason = "what is expected holds by construction")]
    pub fn view_mut<A: ViewMutElement, D: Dimension>(&mut self) -> Result<ArrayViewMut<'_, A, D>> {
        let (shape, plain) = self.viewable::<A, D>()?;
        let items = cast::view_mut(&plain, self.data.bytes_mut(), shape.size())?;
        // As above.
        Ok(ArrayViewMut::from_shape(shape, items).expect("a checked shape with just its items"))
    }

    /// The shape to view the array with, if it can be viewed as this type.
    fn viewable<A: ViewElement, D: Dimension>(&self) -> Result<(ndarray::Shape<D>, Bitwise<A>)> {
        let (elements, dim, plain) = viewable_as::<A, D>(&self.header, &ReadOptions::new())?;
        Ok((dim.set_f(elements.order() == Order::Fortran), plain))
    }

    /// The elements as an array of its own.
    ///
    /// # Errors
    ///
    /// They are of another type, or the array has another number of axes: the error gives the array back.
    pub fn into_array<A: ReadableElement, D: Dimension>(self) -> Result<Array<A, D>, Returned<Self>> {
        self.to_array_with(&ReadOptions::new()).map_err(|error| Returned::new(self, error))
    }

    /// The elements, if they are Python objects, in the order of the file.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::object::Object;
    /// use ndarray_io::{DynArray, ReadNpyExt, ReadOptions, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// arr1(&[Object::from("a"), Object::none()]).write_npy(&mut file)?;
    /// let array = DynArray::read_npy_with(&file[..], &ReadOptions::new().allow_objects(true))?;
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
        Self { header, data: Data::empty(), objects: Some(objects) }
    }

    #[cfg(feature = "object")]
    fn read_objects(payload: crate::io::Payload<'_, '_>) -> Result<Self> {
        let crate::io::Payload { source, header, options } = payload;
        let how = Object::accept(header.dtype(), options)?;
        let objects = transfer::read(source, header, how, options)?;
        Ok(Self::of_objects(header.clone(), Arc::new(objects)))
    }

    fn to_array_with<A: ReadableElement, D: Dimension>(&self, options: &ReadOptions) -> Result<Array<A, D>> {
        #[cfg(feature = "object")]
        if let Some(objects) = &self.objects {
            // Whoever asks for objects gets them; the others an error.
            if let ReadPlan::Opaque(decode) = A::accept(self.dtype(), options)?
                && let Some(items) = decode.taken(&**objects)
            {
                let dim: D = dimension(self.header.the_shape())?;
                let shape = dim.set_f(self.order() == Order::Fortran);
                // There are just the objects of the shape.
                return Ok(Array::from_shape_vec(shape, items).expect("an object for each element"));
            }
            return Err(mismatch(self.dtype(), DType::Object, false));
        }
        let mut bytes = self.data.bytes();
        Array::from_payload(PayloadRef::new(&mut transfer::Source::of(&mut bytes), &self.header, options))
    }
}

impl Sealed for DynArray {}

impl ReadNpyExt for DynArray {}

impl ReadRaExt for DynArray {}

impl FromPayload for DynArray {
    fn from_payload(payload: PayloadRef<'_, '_>) -> Result<Self> {
        let payload = payload.into_inner();
        if payload.header.payload_len().is_none() {
            #[cfg(feature = "object")]
            if payload.options.get_allow_objects() {
                return Self::read_objects(payload);
            }
            let found = payload.header.dtype();
            return Err(mismatch(found, found.clone(), false));
        }
        let (_, len) = payload.header.in_memory()?;
        let words = transfer::read_aligned(payload.source, payload.header, payload.options)?;
        Ok(Self::of_data(payload.header.clone(), Data { words, len }))
    }
}

impl WriteNpyExt for DynArray {}

impl WriteRaExt for DynArray {}

impl WriteArray for DynArray {
    fn byte_len(&self) -> usize {
        self.data.len
    }

    fn payload_len(&self, _: &WriteOptions) -> Option<u64> {
        self.header.payload_len()
    }

    /// The byte order stays as it is.
    fn store(&self, sink: SinkRef<'_>, options: &WriteOptions, format: &mut Format<'_>) -> Result<()> {
        let other = options.chosen_byte_order().map(|order| self.dtype().with_byte_order(order));
        if let Some(other) = other.filter(|other| other != self.dtype() && !other.has_object()) {
            return self.cast_to(&other, Casting::Safe)?.store(sink, options, format);
        }
        let mut sink = sink.into_inner();
        #[cfg(feature = "object")]
        if let Some(objects) = &self.objects {
            let order = options.get_order().unwrap_or(self.order());
            let header = Header::new(self.dtype().clone(), order, self.header.the_shape().clone())?;
            let items = object::rearranged(objects, &self.header, order);
            let payload = object::encode(&mut items.iter(), &header, options)?;
            return transfer::write_bytes(&mut sink, format.make(&header, options)?, &payload, options);
        }
        match options.get_order() {
            // Of one axis at most, both orders are the same.
            Some(order) if order != self.order() => {
                let header = Header::new(self.dtype().clone(), order, self.header.the_shape().clone())?;
                sink.write(&format.make(&header, options)?)?;
                self.put(&mut sink, order, options)?;
                sink.write_last(&[])
            }
            _ => transfer::write_bytes(
                &mut sink,
                format.make(&self.header, options)?,
                self.data.bytes(),
                options,
            ),
        }
    }
}
