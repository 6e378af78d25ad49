//! [`Chunks`]: iterates over an array in pieces along an axis, optionally reading ahead on another thread.

use std::marker::PhantomData;
use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, PoisonError};

use ndarray::{Array, ArrayView, Axis, Dimension, RemoveAxis, Slice};

use super::block_ranges::BlockRanges;
use super::piece_buffer::PieceBuffer;
use crate::elements::ReadableElement;
use crate::error::{Error, ErrorKind, Fault, LimitKind, Result, WantedShape};
use crate::header::Header;
use crate::limits::{self, Limits};
use crate::parts::{Axes, NpyFile};
use crate::shape::{AxisIndex, Order, Shape};
use crate::transfer;

/// An iterator over the pieces of an array along an axis, returned by [`NpyFile::chunks`].
///
/// Each piece becomes a new array when the iterator advances. [`Chunks::for_each_view`] reuses one array
/// instead, and [`Chunks::read_ahead`] reads the next pieces on another thread. Small pieces along the slowest axis are
/// read many at a time. An error ends the iteration.
pub struct Chunks<'a, A, D> {
    file: &'a NpyFile,
    axis: usize,
    /// The length of a piece.
    length: usize,
    block_ranges: BlockRanges,
    /// How many pieces are read at a time.
    pieces_per_read: usize,
    piece_buffer: Option<PieceBuffer<A, D>>,
    pieces: PhantomData<fn() -> Array<A, D>>,
}

impl<A, D> std::fmt::Debug for Chunks<'_, A, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, axis, length, .. } = self;
        f.debug_struct("Chunks").field("file", file).field("axis", axis).field("length", length).finish()
    }
}

impl NpyFile {
    /// Returns an iterator over pieces of `length` indices along an axis.
    ///
    /// Pieces are read when the iterator advances, small ones along the slowest axis up to 256 KiB at a time, so
    /// memory use does not depend on the size of the file.
    /// The last piece may be shorter. Reading is fastest along the slowest-varying axis, which is the first,
    /// or the last in Fortran order.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the axis does not exist, [`BadOption`](crate::error::ErrorKind::BadOption) if `length` is 0.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the number of axes does not match.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if there are more than 1,048,576 pieces without bytes.
    ///
    /// A mismatch of the element type is reported with the first piece.
    pub fn chunks<A: ReadableElement, D: Dimension>(
        &self,
        axis: impl AxisIndex,
        length: usize,
    ) -> Result<Chunks<'_, A, D>> {
        Chunks::new(self, axis.number(), length).map_err(|error| self.at_path(error))
    }

    /// Returns an iterator over the rows of the array, along the slowest-varying axis.
    ///
    /// The rows do not include that axis. Short rows are read many at a time.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the array has no axes.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the number of axes does not match.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if there are more than 1,048,576 rows without bytes.
    ///
    /// A mismatch of the element type is reported with the first row.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array1, Array2, Ix2};
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::<f32>::ones((100, 3)))?;
    /// let file = NpyFile::open(&path)?;
    /// let rows: Vec<Array1<f32>> = file.rows::<f32, Ix2>()?.collect::<Result<_, _>>()?;
    /// assert_eq!(rows.len(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows<A, D>(&self) -> Result<impl Iterator<Item = Result<Array<A, D::Smaller>>>>
    where
        A: ReadableElement,
        D: RemoveAxis,
    {
        let shape = self.axes::<A>().map_err(|error| self.at_path(error))?.shape;
        let axis = slowest_axis(self.order(), &shape);
        let chunks = self.chunks::<A, D>(axis, 1)?;
        Ok(chunks.map(move |row| Ok(row?.index_axis_move(Axis(axis), 0))))
    }
}

/// Fails unless an array can be divided into pieces of this length along this axis.
pub(crate) fn check_division(shape: &Shape, axis: usize, length: usize) -> Result<()> {
    if axis >= shape.ndim() {
        return Err(Fault::NoSuchAxis { axis, shape: shape.clone() }.into());
    }
    if length == 0 {
        let reason = "an array cannot be divided into pieces of length 0".into();
        return Err(Fault::BadOption { reason }.into());
    }
    Ok(())
}

/// Fails if an array has more pieces without bytes than can be visited.
pub(super) fn check_empty_piece_count(
    header: &Header,
    shape: &Shape,
    axis: usize,
    length: usize,
) -> Result<()> {
    match header.payload_len() {
        Some(0) => {
            let pieces = shape.dims()[axis].div_ceil(length.max(1)) as u64;
            limits::check(LimitKind::EmptyItems, pieces, Limits::EMPTY_ITEMS as u64)
        }
        _ => Ok(()),
    }
}

/// Fails unless arrays of this type can have these axes.
pub(super) fn check_rank<D: Dimension>(shape: &Shape) -> Result<()> {
    match D::NDIM.filter(|wanted| *wanted != shape.ndim()) {
        Some(wanted) => {
            Err(Fault::ShapeMismatch { found: shape.clone(), wanted: WantedShape::Axes(wanted) }.into())
        }
        None => Ok(()),
    }
}

impl<'a, A: ReadableElement, D: Dimension> Chunks<'a, A, D> {
    fn new(file: &'a NpyFile, axis: usize, length: usize) -> Result<Self> {
        let Axes { shape, .. } = &file.axes::<A>()?;
        check_rank::<D>(shape)?;
        check_division(shape, axis, length)?;
        check_empty_piece_count(file.header(), shape, axis, length)?;
        // If another axis has length 0, there are pieces all the same.
        let all = shape.dims().iter().map(|length| 0..*length).collect();
        let block_ranges = BlockRanges::along_axis(all, axis, length);
        let pieces_per_read = if axis == slowest_axis(file.order(), shape) {
            Self::pieces_per_read(file, shape, axis, length)
        } else {
            1
        };
        Ok(Self {
            file,
            axis,
            length,
            block_ranges,
            pieces_per_read,
            piece_buffer: None,
            pieces: PhantomData,
        })
    }

    /// Returns how many pieces to read at a time.
    fn pieces_per_read(file: &NpyFile, shape: &Shape, axis: usize, length: usize) -> usize {
        /// The number of bytes to read at a time: a call costs little in comparison, and they fit into the cache.
        const BYTES_PER_READ: u64 = 256 << 10;
        let indices = shape.dims().get(axis).copied().unwrap_or(0).max(1) as u64;
        let in_file = file.header().payload_len().unwrap_or(0) / indices;
        let in_memory = (shape.len().unwrap_or(0) / indices).saturating_mul(size_of::<A>() as u64);
        let piece = in_file.max(in_memory).saturating_mul(length as u64);
        // Elements without bytes take memory all the same.
        usize::try_from(BYTES_PER_READ.checked_div(piece).unwrap_or(1)).unwrap_or(1).max(1)
    }

    /// Reads pieces, reusing `array` if it has their length along the axis.
    fn read(&self, ranges: &[Range<usize>], array: Option<Array<A, D>>) -> Result<Array<A, D>> {
        match array.filter(|array| array.len_of(Axis(self.axis)) == ranges[self.axis].len()) {
            Some(mut array) => self.file.read_ranges_into(ranges, &mut array).map(|()| array),
            None => self.file.read_ranges(ranges, self.file.get_options()),
        }
    }

    /// Calls a function with each piece of an array of several, or reads each by itself if some of them are at fault:
    /// those before it are visited. Returns the array, and `None` once the callback has ended the visit.
    fn visit_pieces(
        &self,
        ranges: &[Range<usize>],
        pieces: Result<Array<A, D>>,
        call: &mut impl FnMut(ArrayView<'_, A, D>) -> ControlFlow<()>,
    ) -> Result<Option<Array<A, D>>> {
        let (axis, count) = (Axis(self.axis), ranges[self.axis].len());
        let pieces = match pieces {
            Err(error) if count > self.length && is_piece_error(&error) => {
                let mut last = None;
                for ranges in BlockRanges::along_axis(ranges.to_vec(), self.axis, self.length) {
                    let piece = self.read(&ranges, last.take())?;
                    if call(piece.view()).is_break() {
                        return Ok(None);
                    }
                    last = Some(piece);
                }
                return Ok(last);
            }
            pieces => pieces?,
        };
        let piece = |from: usize| Slice::from(from..count.min(from + self.length));
        let goes_on = match count <= self.length {
            true => call(pieces.view()).is_continue(),
            false => (0..count)
                .step_by(self.length)
                .all(|from| call(pieces.slice_axis(axis, piece(from))).is_continue()),
        };
        Ok(goes_on.then_some(pieces))
    }

    /// Returns the next of the pieces that have been read together.
    fn next_buffered(&mut self) -> Option<Array<A, D>> {
        self.piece_buffer.as_mut()?.next(self.length)
    }

    /// Calls a function with the rest of the pieces that have been read together.
    fn visit_buffered(
        &mut self,
        call: &mut impl FnMut(ArrayView<'_, A, D>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while let Some(piece) = self.next_buffered() {
            call(piece.view())?;
        }
        ControlFlow::Continue(())
    }

    /// Reads several pieces at once, if that is possible; otherwise, they are read one by one from here on.
    fn read_several_pieces(&mut self) -> Result<()> {
        let before = self.block_ranges.clone();
        let Some(ranges) = self.block_ranges.next_merged(self.pieces_per_read) else { return Ok(()) };
        let read = match self.read(&ranges, None) {
            Err(error) if !is_piece_error(&error) => return Err(error),
            read => read.ok(),
        };
        self.piece_buffer = read.and_then(|pieces| PieceBuffer::of(pieces, self.axis, self.file.order()));
        if self.piece_buffer.is_none() {
            (self.block_ranges, self.pieces_per_read) = (before, 1);
        }
        Ok(())
    }

    /// Invokes the callback with a view of each piece, until it returns `ControlFlow::Break`.
    ///
    /// Pieces of equal length are read into the same array, so this is faster than the iterator.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, Ix2};
    /// use ndarray_io::NpyFile;
    /// use std::ops::{ControlFlow, Range};
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::<f32>::ones((100, 3)))?;
    /// let mut sum = 0.0;
    /// NpyFile::open(&path)?.chunks::<f32, Ix2>(0, 10)?.for_each_view(|chunk| {
    ///     sum += chunk.sum();
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(sum, 300.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each_view(
        mut self,
        mut call: impl FnMut(ArrayView<'_, A, D>) -> ControlFlow<()>,
    ) -> Result<()> {
        if self.visit_buffered(&mut call).is_break() {
            return Ok(());
        }
        let mut used = None;
        while let Some(ranges) = self.block_ranges.next_merged(self.pieces_per_read) {
            let pieces = self.read(&ranges, used.take());
            match self.visit_pieces(&ranges, pieces, &mut call)? {
                Some(pieces) => used = Some(pieces),
                None => break,
            }
        }
        Ok(())
    }

    /// Invokes the callback with each piece while another thread reads the next ones.
    ///
    /// At most three pieces are in memory; of small ones, three times 256 KiB. If no thread can be started, the pieces
    /// are read on the current thread.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    pub fn read_ahead(mut self, mut call: impl FnMut(ArrayView<'_, A, D>) -> ControlFlow<()>) -> Result<()> {
        /// Why the work ends early.
        enum EarlyEnd {
            Broken,
            Failed(Error),
        }
        impl From<Error> for EarlyEnd {
            fn from(error: Error) -> Self {
                Self::Failed(error)
            }
        }
        // Arrays that the callback has seen are read into again.
        let used = Mutex::new(Vec::new());
        let lock = || used.lock().unwrap_or_else(PoisonError::into_inner);
        if self.visit_buffered(&mut call).is_break() {
            return Ok(());
        }
        let read = |ranges: Vec<Range<usize>>| {
            let array = lock().pop();
            let pieces = self.read(&ranges, array);
            (ranges, pieces)
        };
        let mut block_ranges = self.block_ranges.clone();
        let groups = std::iter::from_fn(|| block_ranges.next_merged(self.pieces_per_read));
        let done = transfer::map_in_slots(groups, (2, 3), read, |(ranges, pieces)| {
            let pieces = self.visit_pieces(&ranges, pieces, &mut call)?.ok_or(EarlyEnd::Broken)?;
            lock().push(pieces);
            Ok(())
        });
        match done {
            Err(EarlyEnd::Failed(error)) => Err(error),
            Ok(()) | Err(EarlyEnd::Broken) => Ok(()),
        }
    }
}

impl<A: ReadableElement, D: Dimension> Iterator for Chunks<'_, A, D> {
    type Item = Result<Array<A, D>>;

    /// Returns the next piece, and `None` after the last piece or after an error.
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(piece) = self.next_buffered() {
            return Some(Ok(piece));
        }
        self.piece_buffer = None;
        if self.pieces_per_read > 1 {
            if let Err(error) = self.read_several_pieces() {
                self.block_ranges.stop();
                return Some(Err(error));
            }
            if let Some(piece) = self.next_buffered() {
                return Some(Ok(piece));
            }
        }
        let ranges = self.block_ranges.next()?;
        let piece = self.read(&ranges, None);
        if piece.is_err() {
            self.block_ranges.stop(); // an error ends the iteration
        }
        Some(piece)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let piece_buffer = self
            .piece_buffer
            .as_ref()
            .map_or(0, |piece_buffer| piece_buffer.indices_left().div_ceil(self.length));
        let left = self.block_ranges.boxes_left().saturating_add(piece_buffer);
        // The lower bound is not `left`, because an error ends the iteration early.
        (usize::from(left > 0), Some(left))
    }
}

/// Returns whether an error is of some of the pieces that were read together, rather than of reading.
pub(super) fn is_piece_error(error: &Error) -> bool {
    error.is_format() || matches!(error.kind(), ErrorKind::Limit | ErrorKind::OutOfMemory)
}

/// Returns the axis that varies slowest.
pub(super) fn slowest_axis(order: Order, shape: &Shape) -> usize {
    match order {
        Order::C => 0,
        Order::Fortran => shape.ndim().saturating_sub(1),
    }
}
