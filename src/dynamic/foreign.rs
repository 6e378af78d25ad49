//! Arrays of any dtype in memory of others: reading into it, and [`DynView`], which writes from it.

use std::io::Read;

use ndarray::{ArrayView, Dimension, IxDyn, SliceArg, SliceInfoElem};

use super::check::check_items;
use super::order::{FULL_AXIS, write_items};
use super::{DynArray, view_of};
use crate::array::{Sealed, SinkRef, WriteArray, WriteNpyExt, WriteRaExt};
use crate::bytes::Runs;
use crate::dtype::{ByteOrder, Casting, DType};
use crate::elements::cast::StridedBytes;
use crate::elements::{DTypeConversion, ReadPlan, ViewElement, dtype_conversion, raw_words};
use crate::error::{Fault, Result, WantedShape};
use crate::header::Header;
use crate::io::{NpyReader, Payload};
use crate::options::WriteOptions;
use crate::parts::{NpyFile, Selection};
use crate::shape::{Order, Shape};
use crate::transfer::{self, Sink, Target};

/// An array of any dtype in memory of someone else, with any strides: what another language or library lends to be written.
///
/// ```
/// use ndarray_io::{DynView, WriteNpyExt};
///
/// // Two columns of three numbers of 16 bits each, of which every other one is written, from the last to the first.
/// let memory = [1u8, 0, 9, 9, 2, 0, 9, 9, 3, 0, 9, 9];
/// let view = DynView::new(&memory, 8, "<i2".parse()?, [3], &[-4])?;
/// let mut file = Vec::new();
/// view.write_npy(&mut file)?;
/// assert!(file.ends_with(&[3, 0, 2, 0, 1, 0]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
///
/// It is written as NumPy would write such an array: in Fortran order if only that is contiguous, and in the byte order of its
/// dtype unless the options choose another one.
#[derive(Clone)]
pub struct DynView<'a> {
    /// From the first byte of the lowest element to the last of the highest one.
    bytes: &'a [u8],
    header: Header,
    /// The distance in bytes from an element to the next one along each axis; 0 for axes of one element.
    strides: Vec<isize>,
}

impl<'a> DynView<'a> {
    /// Creates a view of elements in `bytes`, of which the first one begins at the offset `first`, and `strides` are the distances
    /// in bytes between the elements along each axis.
    ///
    /// Strides may be negative, 0, or no multiples of the elements' size. The elements may overlap, and have any alignment.
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if there is not one stride for each axis.
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if an element is not within the bytes.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the dtype has Python objects, whose elements are pointers.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if there are more than 64 axes.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if the array is larger than this machine can address.
    pub fn new(
        bytes: &'a [u8],
        first: usize,
        dtype: DType,
        shape: impl Into<Shape>,
        strides: &[isize],
    ) -> Result<Self> {
        let header = Header::new(dtype, Order::C, shape.into())?;
        let dims = header.shape();
        if strides.len() != dims.len() {
            return Err(Fault::ShapeMismatch {
                found: dims.into(),
                wanted: WantedShape::Axes(strides.len()),
            }
            .into());
        }
        header.declared_payload_len()?;
        header.len_and_bytes_in_memory()?;
        let strides: Vec<isize> =
            dims.iter().zip(strides).map(|(length, stride)| if *length > 1 { *stride } else { 0 }).collect();
        if header.len() == 0 || header.dtype().item_size() == 0 {
            let strides = vec![0; strides.len()];
            return Ok(Self { bytes: &[], header: with_order_of_strides(header, &strides)?, strides });
        }
        // In 128 bits, the product of two numbers of 64 does not overflow, nor does the sum of 64 of them below 2¹²⁰.
        let (mut low, mut high) = (first as i128, first as i128);
        for (length, stride) in dims.iter().zip(&strides) {
            let far = (*length as i128 - 1).saturating_mul(*stride as i128);
            let end = if far < 0 { &mut low } else { &mut high };
            *end = end.saturating_add(far);
        }
        let end = high.saturating_add(header.dtype().item_size() as i128);
        let within = usize::try_from(low).ok().zip(usize::try_from(end).ok());
        let Some(bytes) = within.and_then(|(low, end)| bytes.get(low..end)) else {
            let index = if low < 0 { low } else { end.saturating_sub(1) };
            return Err(Fault::OutOfBounds { index, length: bytes.len() as u64, axis: None }.into());
        };
        Ok(Self { bytes, header: with_order_of_strides(header, &strides)?, strides })
    }

    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> &DType {
        self.header.dtype()
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.header.shape()
    }

    /// Copies the elements, in the order in which they would be written.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if the copy cannot be allocated.
    pub fn to_array(&self) -> Result<DynArray> {
        let mut bytes = Vec::new();
        crate::limits::reserve(&mut bytes, self.byte_len())?;
        self.write_elements(&mut Sink::of(&mut bytes), self.header.order(), &WriteOptions::new().threads(1))?;
        DynArray::from_header_and_bytes(self.header.clone(), &bytes)
    }

    /// Writes the elements, without a header.
    pub(super) fn write_elements(
        &self,
        sink: &mut Sink<'_>,
        order: Order,
        options: &WriteOptions,
    ) -> Result<()> {
        let item = self.dtype().item_size();
        if self.header.len() == 0 || item == 0 {
            return Ok(());
        }
        let axes = self.shape().iter().copied().zip(self.strides.iter().copied());
        // The bytes begin with the lowest element.
        let start = axes.clone().filter(|(_, stride)| *stride < 0);
        let start = start.map(|(len, stride)| (len - 1) * stride.unsigned_abs()).sum();
        let items = match order {
            Order::C => StridedBytes::of_slice(self.bytes, start, axes, item),
            Order::Fortran => StridedBytes::of_slice(self.bytes, start, axes.rev(), item),
        };
        write_items(&items, sink, options)
    }
}

/// Returns the header in the order in which NumPy saves an array: Fortran if it is contiguous only in Fortran order.
fn with_order_of_strides(header: Header, strides: &[isize]) -> Result<Header> {
    let is = |order| are_contiguous(&header, strides, order);
    // The parts of an element are contiguous in C order only.
    let has_no_subarray = !matches!(header.dtype(), DType::Subarray(_));
    let order =
        if has_no_subarray && is(Order::Fortran) && !is(Order::C) { Order::Fortran } else { Order::C };
    Header::new(header.dtype().clone(), order, header.shape_ref().clone())
}

fn are_contiguous(header: &Header, strides: &[isize], order: Order) -> bool {
    let item = header.dtype().item_size() as u64;
    let wanted = header.shape_ref().strides(order).into_iter().map(|stride| stride.saturating_mul(item));
    let is = |((length, stride), wanted): ((&usize, &isize), u64)| {
        *length <= 1 || u64::try_from(*stride).is_ok_and(|stride| stride == wanted)
    };
    header.len() == 0 || header.shape().iter().zip(strides).zip(wanted).all(is)
}

impl std::fmt::Debug for DynView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bytes: _, header, strides } = self;
        f.debug_struct("DynView").field("header", header).field("strides", strides).finish_non_exhaustive()
    }
}

impl Sealed for DynView<'_> {}
impl WriteNpyExt for DynView<'_> {}
impl WriteRaExt for DynView<'_> {}

impl WriteArray for DynView<'_> {
    fn byte_len(&self) -> usize {
        usize::try_from(self.header.payload_len().unwrap_or_default()).unwrap_or(usize::MAX)
    }

    fn header(&self, options: &WriteOptions) -> Result<Header> {
        super::written_header(&self.header, options)
    }

    fn store(&self, sink: SinkRef<'_>, head: Vec<u8>, header: &Header, options: &WriteOptions) -> Result<()> {
        if header.dtype() != self.dtype() {
            return self.to_array()?.store(sink, head, header, options); // which converts a copy
        }
        let order = header.order();
        let mut sink = sink.into_inner();
        if self.header.len() > 0 && are_contiguous(&self.header, &self.strides, order) {
            return transfer::write_bytes(&mut sink, head, self.bytes, options);
        }
        sink.write(&head)?;
        self.write_elements(&mut sink, order, options)?;
        sink.write_and_flush(&[])
    }
}

impl Header {
    /// Views the elements that the header describes, without copying them.
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if there are more or fewer bytes than the elements have.
    /// - Those of [`ViewNpyExt::view_npy`](crate::ViewNpyExt::view_npy), if the elements cannot be viewed as this type.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{ArrayView2, arr2};
    /// use ndarray_io::header::{Header, Order};
    ///
    /// let header = Header::new("|u1".parse()?, Order::Fortran, [2, 2].into())?;
    /// let view: ArrayView2<u8> = header.view(&[1, 2, 3, 4])?;
    /// assert_eq!(view, arr2(&[[1, 3], [2, 4]]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn view<'a, A: ViewElement, D: Dimension>(&self, bytes: &'a [u8]) -> Result<ArrayView<'a, A, D>> {
        check_len(self, bytes)?;
        view_of(self, bytes)
    }
}

fn check_len(header: &Header, into: &[u8]) -> Result<()> {
    let len = usize::try_from(header.declared_payload_len()?).unwrap_or(usize::MAX);
    if len != into.len() {
        let (found, wanted) = (Shape::from([into.len()]), Shape::from([len]));
        return Err(Fault::ShapeMismatch { found, wanted: WantedShape::Exactly(wanted) }.into());
    }
    Ok(())
}

/// Reads the elements of a payload into memory of exactly their size, checks them, and puts them into a byte order.
pub(crate) fn fill(
    Payload { source, header, options }: Payload<'_, '_>,
    into: &mut [u8],
    order: Option<ByteOrder>,
) -> Result<()> {
    check_len(header, into)?;
    let target = Target::Contiguous(into);
    transfer::read_into(source, header, ReadPlan::Bitwise(raw_words::<u8>()), target, options)?;
    if !options.allow_invalid_elements {
        check_items(header.dtype(), into)?;
    }
    if let Some(order) = order {
        let wanted = header.dtype().with_byte_order(order);
        let rules = options.rules_with_casting(Casting::Safe);
        if let DTypeConversion::Swap(swap) = dtype_conversion(header.dtype(), &wanted, rules)? {
            swap(into);
        }
    }
    Ok(())
}

impl<R: Read> NpyReader<R> {
    /// Reads the elements into memory of the caller, of any dtype without Python objects.
    ///
    /// The memory must have exactly the size of the elements, [`payload_len`](NpyReader::payload_len). They are in the
    /// [order](NpyReader::order) of the array; with a byte order, their bytes are in that order, and otherwise as in the file.
    /// Bools and text are checked, as [`DynArray::check`] does, unless [the options](crate::ReadOptions::allow_invalid_elements) say
    /// otherwise. After an error, the content of the memory is unspecified.
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the memory has another size.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects.
    /// - Those of [`read`](NpyReader::read).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::{ByteOrder, NpyReader, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// [1u16, 2].write_npy(&mut file)?;
    /// let mut memory = [0; 4];
    /// NpyReader::new(&file[..])?.read_into_bytes(&mut memory, Some(ByteOrder::Big))?;
    /// assert_eq!(memory, [0, 1, 0, 2]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn read_into_bytes(&mut self, into: &mut [u8], byte_order: Option<ByteOrder>) -> Result<()> {
        self.read_payload(0, |payload| fill(payload, into, byte_order))
    }
}

impl NpyFile {
    /// Reads all elements into memory of the caller: see [`NpyReader::read_into_bytes`].
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the memory has another size.
    /// - Those of [`read`](NpyFile::read).
    pub fn read_into_bytes(&self, into: &mut [u8], byte_order: Option<ByteOrder>) -> Result<()> {
        let all = vec![FULL_AXIS; self.shape().len()];
        self.slice_into_bytes(&all[..], into, byte_order)
    }

    /// Reads the elements of a slice into memory of the caller: see [`NpyReader::read_into_bytes`].
    ///
    /// They are in the [order](NpyFile::order) of the array, without the axes that the slice drops.
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the memory has another size than the elements of the slice.
    /// - Those of [`slice`](NpyFile::slice).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr2, s};
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &arr2(&[[1u8, 2, 3], [4, 5, 6]]))?;
    /// let mut memory = [0; 2];
    /// NpyFile::open(&path)?.slice_into_bytes(s![.., 1], &mut memory, None)?;
    /// assert_eq!(memory, [2, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice_into_bytes<I: SliceArg<IxDyn>>(
        &self,
        slice: I,
        into: &mut [u8],
        byte_order: Option<ByteOrder>,
    ) -> Result<()> {
        let read = |into: &mut [u8], header: &Header, selected: &Runs| {
            self.with_selected(header, selected, (0, self.get_options()), |payload| {
                fill(payload, into, byte_order)
            })
        };
        let at_path = |error| self.at_path(error);
        let selection = Selection::of(self.header().shape_ref(), &slice).map_err(at_path)?;
        let (header, selected) = selection.locate(self.header()).map_err(at_path)?;
        let residual = selection.residual_slice();
        if !residual.iter().any(is_reversed) {
            return read(into, &header, &selected);
        }
        // Elements are read in ascending order, and axes reversed in memory.
        check_len(&header, into).map_err(at_path)?;
        let mut bytes = Vec::new();
        crate::limits::resize(&mut bytes, into.len()).map_err(at_path)?;
        read(&mut bytes, &header, &selected)?;
        let part = DynArray::from_header_and_bytes(header, &bytes).and_then(|part| part.slice(&residual[..]));
        part.and_then(|part| {
            part.write_elements(&mut Sink::of(&mut &mut *into), self.order(), &WriteOptions::new())
        })
        .map_err(at_path)
    }
}

/// Returns whether a slice reverses an axis.
fn is_reversed(element: &SliceInfoElem) -> bool {
    matches!(element, SliceInfoElem::Slice { step: ..0, .. })
}
