//! Reading an array, or parts of it, from a file.

use std::ops::Range;

use ndarray::{Array, ArrayD, ArrayRef, Dimension, IxDyn, SliceArg};

use super::NpyFile;
use super::select::{Axes, Selection};
use crate::array::read_into;
use crate::bytes::Runs;
use crate::elements::{ReadableElement, inner_axes_of};
use crate::error::{Fault, Result, WantedShape};
use crate::header::Header;
use crate::io::{Payload, ReadArray};
use crate::options::ReadOptions;
use crate::shape::{AxisIndex, Shape};
use crate::transfer::{BufferedExtent, Source};

impl NpyFile {
    /// Reads the entire array.
    ///
    /// Bytes after the array are ignored.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    pub fn read<T: ReadArray>(&self) -> Result<T> {
        let header = self.header();
        let whole = Runs::new(
            0,
            vec![(header.len_and_bytes_in_memory().map_err(|error| self.at_path(error))?.0, 1)],
            header.dtype().item_size(),
        );
        self.with_selected(header, &whole, (T::inner_ndim(), &self.options), T::from_payload)
    }

    /// Reads the part of the array that ndarray's `slice` would select.
    ///
    /// Byte ranges that are close together are read with one call, including the bytes between them. No other
    /// bytes outside the part are read. After `with_map`, short ranges are copied from the map.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the slice is out of bounds, [`BadOption`](crate::error::ErrorKind::BadOption) if it
    ///   has a step of 0.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the slice has a different number of axes.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    pub fn slice<A, I>(&self, slice: I) -> Result<Array<A, I::OutDim>>
    where
        A: ReadableElement,
        I: SliceArg<IxDyn>,
    {
        let selection = self.selection::<A>(&slice).map_err(|error| self.at_path(error))?;
        let array: ArrayD<A> = self.select(&selection)?;
        arranged(&selection, array).map_err(|error| self.at_path(error))
    }

    /// Reads a part into an existing array, which must have the shape of the slice.
    ///
    /// The array may have any strides.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the slice is out of bounds, [`BadOption`](crate::error::ErrorKind::BadOption) if it
    ///   has a step of 0.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the slice has a different number of axes, or if the array and the
    ///   slice have different shapes.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, s, Array1, Array2};
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::from_shape_fn((3, 4), |(row, column)| (row * 10 + column) as u64))?;
    /// let mut column = Array1::<u64>::zeros(3);
    /// NpyFile::open(&path)?.slice_into(s![.., 2], &mut column)?;
    /// assert_eq!(column, arr1(&[2, 12, 22]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice_into<A, I>(&self, slice: I, array: &mut ArrayRef<A, I::OutDim>) -> Result<()>
    where
        A: ReadableElement,
        I: SliceArg<IxDyn>,
    {
        let selection = self.selection::<A>(&slice).map_err(|error| self.at_path(error))?;
        self.select_into(&selection, array)
    }

    pub(super) fn select_into<A: ReadableElement, D: Dimension>(
        &self,
        selection: &Selection,
        array: &mut ArrayRef<A, D>,
    ) -> Result<()> {
        let mut read = || {
            let mut target = selection.view_with_file_axes(array.view_mut().into_dyn(), false)?;
            let (header, selected) = selection.locate(self.header())?;
            let inner = (inner_axes_of::<A>().len(), &self.options);
            self.with_selected(&header, &selected, inner, |payload| read_into(&mut target, payload))
        };
        read().map_err(|error| self.at_path(error))
    }

    /// Reads the given indices along an axis, in the given order, as `numpy.take` does.
    ///
    /// A typical use is to read random rows in a training loop. An index may occur more than once.
    ///
    /// The bytes are read in file order, and ranges that are close together are read with one call. If the indices are
    /// nearly everywhere, all bytes from the first to the last are read: short ranges from memory that is at most twice as
    /// large as the result, other ones window by window, on each thread, which sorts them (eight bytes for each of up to 16
    /// million). Locating the elements takes eight bytes for each index.
    /// Data that the operating system has not cached is requested from the disk all at once. After `with_map`, short ranges are
    /// copied from the map, in the given order.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the axis does not exist or an index is out of bounds.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr2, Array2};
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::from_shape_fn((1000, 3), |(row, column)| (row * 10 + column) as u64))?;
    /// let batch: Array2<u64> = NpyFile::open(&path)?.take(0, &[700, 2, 700])?;
    /// assert_eq!(batch, arr2(&[[7000, 7001, 7002], [20, 21, 22], [7000, 7001, 7002]]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take<T: ReadArray>(&self, axis: impl AxisIndex, indices: &[usize]) -> Result<T> {
        let axis = axis.number();
        let locate = || Selection::locate_indices(self.header(), self.file_axis::<T>(axis)?, indices);
        let (header, selected) = locate().map_err(|error| self.at_path(error))?;
        self.with_selected(&header, &selected, (T::inner_ndim(), &self.options), T::from_payload)
    }

    /// Returns the bytes that [`read`](NpyFile::read) needs, without reading them.
    ///
    /// The offsets are those of the file or [source](crate::bytes::ReadAt); of an archive, those of its bytes. If
    /// a member is compressed, they are those of its content.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if the array is larger than the address space.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, s};
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::<f64>::zeros((100, 10)))?;
    /// let file = NpyFile::open(&path)?;
    /// assert_eq!(file.runs_of_all()?.iter().collect::<Vec<_>>(), vec![128..8128]);
    /// let columns = file.runs_of_slice::<f64, _>(s![98.., ..2])?;
    /// assert_eq!(columns.iter().collect::<Vec<_>>(), [7968..7984, 8048..8064]);
    /// assert_eq!(file.runs_of_take::<Array2<f64>>(0, &[5, 1])?.byte_len(), 160);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn runs_of_all(&self) -> Result<Runs> {
        let header = self.header();
        let count = header.len_and_bytes_in_memory().map_err(|error| self.at_path(error))?.0;
        Ok(self.runs_in_source(&Runs::new(0, vec![(count, 1)], header.dtype().item_size())))
    }

    /// Returns the bytes that [`slice`](NpyFile::slice) needs, without reading them: see
    /// [`runs_of_all`](NpyFile::runs_of_all).
    ///
    /// # Errors
    ///
    /// As for [`slice`](NpyFile::slice), as far as they do not depend on the bytes.
    pub fn runs_of_slice<A, I>(&self, slice: I) -> Result<Runs>
    where
        A: ReadableElement,
        I: SliceArg<IxDyn>,
    {
        let locate = || self.selection::<A>(&slice)?.locate(self.header());
        let (_, selected) = locate().map_err(|error| self.at_path(error))?;
        Ok(self.runs_in_source(&selected))
    }

    /// Returns the bytes that [`take`](NpyFile::take) needs, without reading them: see
    /// [`runs_of_all`](NpyFile::runs_of_all).
    ///
    /// # Errors
    ///
    /// As for [`take`](NpyFile::take), as far as they do not depend on the bytes.
    pub fn runs_of_take<T: ReadArray>(&self, axis: impl AxisIndex, indices: &[usize]) -> Result<Runs> {
        let axis = axis.number();
        let locate = || Selection::locate_indices(self.header(), self.file_axis::<T>(axis)?, indices);
        let (_, selected) = locate().map_err(|error| self.at_path(error))?;
        Ok(self.runs_in_source(&selected))
    }

    /// Returns runs of the elements as runs of the source.
    fn runs_in_source(&self, selected: &Runs) -> Runs {
        selected.offset_by(self.payload().start())
    }

    /// Reads the indices along an axis where the mask is `true`, as NumPy's boolean indexing does.
    ///
    /// The mask must have the length of the axis.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the axis does not exist, [`BadOption`](crate::error::ErrorKind::BadOption) if the mask has a
    ///   different length.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, Array1};
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &arr1(&[10, 20, 30]))?;
    /// let part: Array1<i32> = NpyFile::open(&path)?.take_where(0, &[true, false, true])?;
    /// assert_eq!(part, arr1(&[10, 30]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_where<T: ReadArray>(&self, axis: impl AxisIndex, mask: &[bool]) -> Result<T> {
        let axis = axis.number();
        let in_file = self.file_axis::<T>(axis).map_err(|error| self.at_path(error))?;
        if self.shape().get(in_file).is_some_and(|length| *length != mask.len()) {
            let reason = format!(
                "the mask has length {} for axis {axis} of an array of shape {}",
                mask.len(),
                self.header().shape_ref()
            );
            return Err(self.at_path(Fault::BadOption { reason }.into()));
        }
        let indices: Vec<usize> = (0..mask.len()).filter(|index| mask[*index]).collect();
        self.take(axis, &indices)
    }

    /// Reads a box, given by a range of indices along each axis of the array, which must be within bounds.
    pub(crate) fn read_ranges<T: ReadArray>(
        &self,
        ranges: &[Range<usize>],
        options: &ReadOptions,
    ) -> Result<T> {
        let locate = || Axes::of(self.header(), T::inner_ndim())?.within(ranges).locate(self.header());
        let (header, selected) = locate().map_err(|error| self.at_path(error))?;
        self.with_selected(&header, &selected, (T::inner_ndim(), options), T::from_payload)
    }

    /// Like `read_ranges`, into an existing array.
    pub(crate) fn read_ranges_into<A: ReadableElement, D: Dimension>(
        &self,
        ranges: &[Range<usize>],
        array: &mut ArrayRef<A, D>,
    ) -> Result<()> {
        let axes = self.axes::<A>().map_err(|error| self.at_path(error))?;
        self.select_into(&axes.within(ranges), array)
    }

    /// Returns the axes of the array, if its elements have the type `A`.
    pub(crate) fn axes<A: ReadableElement>(&self) -> Result<Axes> {
        Axes::of(self.header(), inner_axes_of::<A>().len())
    }

    /// Returns the axis of the file that corresponds to an axis of the array.
    ///
    /// If the elements are arrays, their axes come first in RA files.
    fn file_axis<T: ReadArray>(&self, axis: usize) -> Result<usize> {
        let inner = T::inner_ndim();
        let shape = self.header().outer_shape(inner);
        if axis >= shape.ndim() {
            return Err(Fault::NoSuchAxis { axis, shape }.into());
        }
        Ok(if self.header().is_innermost_first() { axis + inner } else { axis })
    }

    fn selection<A: ReadableElement>(&self, slice: &impl SliceArg<IxDyn>) -> Result<Selection> {
        self.axes::<A>()?.selection(slice)
    }

    pub(crate) fn select<T: ReadArray>(&self, selection: &Selection) -> Result<T> {
        let (header, selected) = selection.locate(self.header()).map_err(|error| self.at_path(error))?;
        self.with_selected(&header, &selected, (T::inner_ndim(), &self.options), T::from_payload)
    }

    /// Passes the selected bytes to `read`, as a payload with the given header.
    ///
    /// `inner` is the number of axes of each element. Errors name elements by their place in the file.
    pub(crate) fn with_selected<T>(
        &self,
        header: &Header,
        selected: &Runs,
        (inner, options): (usize, &ReadOptions),
        read: impl FnOnce(Payload<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        // Check before memory is allocated: the header may declare more than the file contains.
        self.check_runs(selected)?;
        let payload = self.payload_for(selected);
        let extent = BufferedExtent::read(payload, selected, options);
        let (bytes, runs) = extent.as_ref().map_or((payload, selected), BufferedExtent::get);
        let mut source = Source::runs(bytes, runs);
        read(Payload { source: &mut source, header, options }).map_err(|error| {
            self.at_path(self.header().name_selected_element(error, header, selected, inner))
        })
    }
}

pub(crate) fn arranged<A, D: Dimension>(selection: &Selection, array: ArrayD<A>) -> Result<Array<A, D>> {
    let arranged = selection.arrange(array);
    let found = Shape::from(arranged.shape());
    arranged.into_dimensionality().map_err(|_| {
        // The type of the slice determines the number of axes. If it is dynamic, any number is accepted.
        Fault::ShapeMismatch { found, wanted: WantedShape::Axes(D::NDIM.unwrap_or_default()) }.into()
    })
}
