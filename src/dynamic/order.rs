//! Slicing, concatenating and reordering a [`DynArray`], without knowing its element type.

#[cfg(feature = "object")]
use ndarray::ShapeBuilder;
use ndarray::{ArrayViewD, Axis, IxDyn, SliceArg, SliceInfoElem};

use super::{AlignedBytes, DynArray};
use crate::dtype::DType;
use crate::elements::cast::StridedBytes;
use crate::elements::raw_units;
use crate::error::Result;
use crate::header::Header;
use crate::options::WriteOptions;
use crate::parts::{NpyFile, Selection};
use crate::shape::Order;
use crate::transfer::{self, Sink};

/// The slice of an entire axis.
pub(super) const FULL_AXIS: SliceInfoElem = SliceInfoElem::Slice { start: 0, end: None, step: 1 };

impl NpyFile {
    /// Reads part of the array as a [`DynArray`].
    ///
    /// This is the untyped counterpart of [`slice`](Self::slice).
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if an index is out of bounds.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the slice has a different number of axes.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels.
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
            Selection::of(self.header().shape_ref(), &slice).map_err(|error| self.at_path(error))?;
        let array: DynArray = self.select(&selection)?;
        // `select` reads in ascending order and keeps all axes. Axes are reversed, dropped and added in
        // memory.
        let residual = selection.residual_slice();
        if residual.iter().all(|part| *part == FULL_AXIS) { Ok(array) } else { array.slice(&residual[..]) }
    }
}

impl DynArray {
    /// Copies part of the array, in C order.
    ///
    /// The slice works as in ndarray's `slice`, except that an index that is out of bounds is an error, not a
    /// panic.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if an index is out of bounds.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the slice has a different number of axes.
    /// - [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if the copy cannot be allocated.
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
        let mut elements = Selection::of(self.header.shape_ref(), &slice)?.elements().to_vec();
        #[cfg(feature = "object")]
        if let Some(objects) = self.object_items() {
            let shape = self.shape().set_f(self.order() == Order::Fortran);
            // There is exactly one object for each element.
            let view = ArrayViewD::from_shape(shape, objects).expect("an object for each element");
            let part = view.slice(&elements[..]);
            let header = Header::new(self.dtype().clone(), Order::C, part.shape().into())?;
            return Ok(self.with_objects(header, std::sync::Arc::new(part.iter().cloned().collect())));
        }
        elements.push(FULL_AXIS);
        let part = view_as_bytes(self).slice_move(&elements[..]);
        let header = Header::new(self.dtype().clone(), Order::C, part.shape()[..part.ndim() - 1].into())?;
        let mut data = AlignedBytes::new(&header)?;
        let mut into = data.bytes_mut();
        self.write_selected_elements(&elements, &mut Sink::of(&mut into), Order::C, &WriteOptions::new())?;
        Ok(Self::of_data(header, data))
    }

    /// Concatenates arrays along an axis.
    ///
    /// The arrays must have the same dtype and, except along `axis`, the same shape.
    pub(crate) fn join(parts: &[Self], axis: usize) -> Result<Self> {
        let views: Vec<ArrayViewD<'_, u8>> = parts.iter().map(view_as_bytes).collect();
        // The caller has checked the shapes. The bytes of an element form an additional, innermost axis.
        let joined = ndarray::concatenate(Axis(axis), &views).expect("the shapes fit");
        let mut dims = joined.shape().to_vec();
        dims.pop();
        let header = Header::new(parts[0].dtype().clone(), Order::C, dims.into())?;
        DynArray::from_header_and_bytes(
            header,
            &joined.as_standard_layout().iter().copied().collect::<Vec<u8>>(),
        )
    }

    /// Writes the elements in the given order, without a header.
    pub(crate) fn write_elements(
        &self,
        sink: &mut Sink<'_>,
        order: Order,
        options: &WriteOptions,
    ) -> Result<()> {
        // With fewer than two axes, both orders are the same.
        if order == self.order() || self.shape().len() < 2 {
            return sink.write(self.bytes());
        }
        self.write_selected_elements(&vec![FULL_AXIS; self.shape().len() + 1], sink, order, options)
    }

    /// Writes part of the elements; the last one of `elements` selects the words of an element.
    fn write_selected_elements(
        &self,
        elements: &[SliceInfoElem],
        sink: &mut Sink<'_>,
        order: Order,
        options: &WriteOptions,
    ) -> Result<()> {
        let part = view_as_bytes(self).slice_move(elements);
        let items = StridedBytes::of_items(&part, order == Order::Fortran);
        write_items(&items, sink, options)
    }
}

/// Writes elements as they are, without a header.
pub(super) fn write_items(
    items: &StridedBytes<'_>,
    sink: &mut Sink<'_>,
    options: &WriteOptions,
) -> Result<()> {
    // Only the length and the dtype of the header are used.
    let byte = raw_units::<1>();
    let header = Header::new(DType::of::<u8>()?, Order::C, [items.byte_len()].into())?;
    transfer::write_strided(sink, Vec::new(), &header, items, byte.transform(), options)
}

/// Views an array as bytes; the bytes of an element form an additional, last axis.
fn view_as_bytes(array: &DynArray) -> ArrayViewD<'_, u8> {
    let mut dims = array.shape().to_vec();
    if array.order() == Order::Fortran {
        dims.reverse();
    }
    let ndim = dims.len();
    dims.push(array.dtype().item_size());
    // A DynArray has exactly the bytes of its shape.
    let view = ArrayViewD::from_shape(dims, array.bytes()).expect("exactly the bytes of the shape");
    match array.order() {
        Order::C => view,
        Order::Fortran => view.permuted_axes((0..ndim).rev().chain([ndim]).collect::<Vec<_>>()),
    }
}
