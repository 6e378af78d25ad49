//! Elements in another order, and several arrays as one: what a [`DynArray`] does without knowing their type.

#[cfg(feature = "object")]
use ndarray::ShapeBuilder;
use ndarray::{ArrayViewD, Axis, IxDyn, SliceArg, SliceInfoElem};

use super::{Data, DynArray};
use crate::element::WritableElement;
use crate::error::Result;
use crate::header::Header;
use crate::io::ArrayFormat;
use crate::options::WriteOptions;
use crate::parts::{ArrayFile, Selection};
use crate::shape::Order;
use crate::transfer::{self, Items, Sink};

impl<F: ArrayFormat> ArrayFile<F> {
    /// Reads a part as an array of whatever type, as [`slice`](Self::slice) reads one of a type that is known.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the slice asks for indices that the array does not have;
    /// [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the slice has another number of axes;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits);
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr2, s};
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &arr2(&[[1u8, 2, 3], [4, 5, 6]]))?;
    /// let part = NpyFile::open(&path)?.slice_any(s![1, ..;-1])?;
    /// assert_eq!(part.bytes(), [6, 5, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice_any<I: SliceArg<IxDyn>>(&self, slice: I) -> Result<DynArray> {
        let selection =
            Selection::of(self.header().the_shape(), &slice).map_err(|error| self.at_path(error))?;
        let array: DynArray = self.select(&selection)?;
        let behind = selection.behind();
        let all = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
        if behind.iter().all(|part| *part == all) { Ok(array) } else { array.slice(&behind[..]) }
    }
}

impl DynArray {
    /// A part, as ndarray's `slice` takes it of an array, copied. Indices that the array has not are an error.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the slice asks for indices that the array does not have;
    /// [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if it has another number of axes.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr2, s};
    /// use ndarray_io::DynArray;
    ///
    /// let array = DynArray::new(&arr2(&[[1u8, 2, 3], [4, 5, 6]]))?;
    /// assert_eq!(array.slice(s![.., 1])?.bytes(), [2, 5]);
    /// assert!(array.slice(s![.., 3]).unwrap_err().is_usage());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[cfg_attr(
        feature = "object",
        expect(clippy::missing_panics_doc, reason = "what is expected holds by construction")
    )]
    pub fn slice<I: SliceArg<IxDyn>>(&self, slice: I) -> Result<Self> {
        let mut elements = Selection::of(self.header.the_shape(), &slice)?.elements().to_vec();
        #[cfg(feature = "object")]
        if let Some(objects) = self.object_items() {
            let shape = self.shape().set_f(self.order() == Order::Fortran);
            // There are just the objects of the shape.
            let view = ArrayViewD::from_shape(shape, objects).expect("an object for each element");
            let part = view.slice(&elements[..]);
            let header = Header::new(self.dtype().clone(), Order::C, part.shape().into())?;
            return Ok(Self::of_objects(header, std::sync::Arc::new(part.iter().cloned().collect())));
        }
        elements.push(SliceInfoElem::Slice { start: 0, end: None, step: 1 });
        let (bytes, item) = (self.bytes(), self.dtype().item_size());
        match item {
            2 => self.part::<u16>(bytemuck::cast_slice(bytes), 1, &elements),
            4 => self.part::<u32>(bytemuck::cast_slice(bytes), 1, &elements),
            8 => self.part::<u64>(bytemuck::cast_slice(bytes), 1, &elements),
            _ => self.part::<u8>(bytes, item, &elements),
        }
    }

    fn part<W: WritableElement>(&self, words: &[W], each: usize, elements: &[SliceInfoElem]) -> Result<Self> {
        let view = words_of(self, words, each);
        let part = view.slice(elements);
        let (_, dims) = part.shape().split_last().expect("the words of an element are an axis");
        let header = Header::new(self.dtype().clone(), Order::C, dims.into())?;
        let mut data = Data::new(header.in_memory()?.1)?;
        let mut into = data.bytes_mut();
        gathered(&mut Sink::of(&mut into), part, Order::C, &WriteOptions::new())?;
        Ok(Self::of_data(header, data))
    }

    /// Several arrays as one, along an axis.
    pub(crate) fn join(parts: &[Self], axis: usize) -> Result<Self> {
        let views: Vec<ArrayViewD<'_, u8>> = parts.iter().map(bytes_of).collect();
        // Their shapes have been compared; the elements' own bytes are an axis behind all others.
        let joined = ndarray::concatenate(Axis(axis), &views).expect("the shapes fit");
        let mut dims = joined.shape().to_vec();
        dims.pop();
        let header = Header::new(parts[0].dtype().clone(), Order::C, dims.into())?;
        DynArray::of_bytes(header, &joined.as_standard_layout().iter().copied().collect::<Vec<u8>>())
    }

    /// Writes the elements in an order, without a header.
    pub(crate) fn put(&self, sink: &mut Sink<'_>, order: Order, options: &WriteOptions) -> Result<()> {
        if order == self.order() || self.shape().len() < 2 {
            return sink.write(self.bytes());
        }
        let (bytes, item) = (self.bytes(), self.dtype().item_size());
        match item {
            0 => Ok(()),
            2 => gathered::<u16>(sink, words_of(self, bytemuck::cast_slice(bytes), 1), order, options),
            4 => gathered::<u32>(sink, words_of(self, bytemuck::cast_slice(bytes), 1), order, options),
            8 => gathered::<u64>(sink, words_of(self, bytemuck::cast_slice(bytes), 1), order, options),
            _ => gathered::<u8>(sink, bytes_of(self), order, options),
        }
    }
}

/// An array's elements as bytes, which are an axis of their own behind the others.
fn bytes_of(array: &DynArray) -> ArrayViewD<'_, u8> {
    words_of(array, array.bytes(), array.dtype().item_size())
}

/// An array's elements as words, so many to each: an axis of their own behind the others.
fn words_of<'a, W>(array: &DynArray, words: &'a [W], each: usize) -> ArrayViewD<'a, W> {
    let mut dims = array.shape().to_vec();
    let ndim = dims.len();
    if array.order() == Order::Fortran {
        dims.reverse();
    }
    dims.push(each);
    // A DynArray has just the bytes of its shape.
    let view = ArrayViewD::from_shape(dims, words).expect("just the words of the shape");
    match array.order() {
        Order::C => view,
        Order::Fortran => view.permuted_axes((0..ndim).rev().chain([ndim]).collect::<Vec<_>>()),
    }
}

fn gathered<W: WritableElement>(
    sink: &mut Sink<'_>,
    mut view: ArrayViewD<'_, W>,
    order: Order,
    options: &WriteOptions,
) -> Result<()> {
    let ndim = view.ndim() - 1;
    if order == Order::Fortran {
        view = view.permuted_axes((0..ndim).rev().chain([ndim]).collect::<Vec<_>>());
    }
    let dtype = W::dtype_for(&mut std::iter::empty(), &WriteOptions::new())?;
    let header = Header::new(dtype, Order::C, [view.len()].into())?;
    let emit = W::emit(header.dtype());
    transfer::write_more(sink, Vec::new(), &header, Items::Strided(view), &emit, options)
}
