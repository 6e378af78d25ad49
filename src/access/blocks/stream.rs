//! Visiting an array that comes from a reader, in the order in which it comes.

use std::io::Read;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array, Axis, Dimension, RemoveAxis};

use super::block_ranges::BlockRanges;
use super::chunks::{check_division, check_empty_piece_count, check_rank, slowest_axis};
use super::piece_buffer::PieceBuffer;
use super::{ArrayOrigin, Block, check_empty_item_count, item_size};
use crate::array::FlatArray;
use crate::elements::{ReadableElement, inner_axes_of, read_plan_for};
use crate::error::{Error, Fault, Result};
use crate::header::Header;
use crate::io::{NpyReader, PartReader, ReadArray};
use crate::parts::Axes;
use crate::shape::{AxisIndex, Shape};

/// An iterator over the blocks of an array that comes from a reader, returned by [`NpyReader::blocks`].
///
/// Each block is a box that is contiguous in the order of the array. An error ends the iteration.
pub struct StreamBlocks<'r, R, T> {
    block_reader: BlockReader<'r, R>,
    block_bytes: usize,
    /// What is left, once the iteration has begun.
    remaining_ranges: Option<BlockRanges>,
    of: PhantomData<fn() -> T>,
}

/// The parts of an array that comes from a reader.
struct BlockReader<'r, R> {
    part_reader: PartReader<'r, R>,
    /// How many innermost axes belong to each element.
    inner_ndim: usize,
    next_number: usize,
    origin: Arc<ArrayOrigin>,
}

impl<R: Read> NpyReader<R> {
    /// Visits the array in blocks, as arrays of type `T`: `ArrayD<f64>`, `Array2<f64>`, [`FlatArray`](crate::FlatArray),
    /// [`DynArray`](crate::DynArray).
    ///
    /// Memory is bounded by the size of a block. Blocks are read when the iterator advances, and a small one as soon as its bytes
    /// have come, which matters for pipes. If the iterator is dropped early, [`skip`](NpyReader::skip) and
    /// [`next_array`](NpyReader::next_array) skip the rest.
    ///
    /// # Errors
    ///
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if some of the array has already been read.
    /// - [`Objects`](crate::error::ErrorKind::Objects) and [`NeedsCopy`](crate::error::ErrorKind::NeedsCopy) if the array can be read only as a whole.
    /// - [`Unsupported`](crate::error::ErrorKind::Unsupported) if the elements of an RA file cannot be read.
    /// - [`Truncated`](crate::error::ErrorKind::Truncated) if the reader is known to be too short.
    ///
    /// A mismatch of the element type is reported with the first block, as is [`BadOption`](crate::error::ErrorKind::BadOption) for elements
    /// `[T; N]` of an array in Fortran order, whose parts are not contiguous. The [`Limits`](crate::Limits) apply to each block.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, ArrayD};
    /// use ndarray_io::{NpyReader, WriteNpyExt};
    ///
    /// let mut stream = Vec::new();
    /// Array2::<f32>::ones((100, 30)).write_npy(&mut stream)?;
    /// let mut sum = 0.0;
    /// for block in NpyReader::new(&stream[..])?.blocks::<ArrayD<f32>>()?.bytes(1000) {
    ///     sum += block?.array().sum();
    /// }
    /// assert_eq!(sum, 3000.0);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn blocks<T: ReadArray>(&mut self) -> Result<StreamBlocks<'_, R, T>> {
        let block_reader = BlockReader::new(self.part_reader()?, T::inner_ndim());
        Ok(StreamBlocks { block_reader, block_bytes: 1 << 20, remaining_ranges: None, of: PhantomData })
    }

    /// Returns an iterator over the elements, in the order of the array.
    ///
    /// An array in Fortran order has its elements in that order. Memory, and what happens if the iterator is dropped early, are as
    /// for [`blocks`](NpyReader::blocks).
    ///
    /// # Errors
    ///
    /// - Those of [`blocks`](NpyReader::blocks), but at once.
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have another type or other axes.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if there are more than 1,048,576 elements without bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr2;
    /// use ndarray_io::{NpyReader, WriteNpyExt};
    ///
    /// let mut stream = Vec::new();
    /// arr2(&[[1, 2], [3, 4]]).write_npy(&mut stream)?;
    /// let elements = NpyReader::new(&stream[..])?.elements::<i32>()?.collect::<ndarray_io::Result<Vec<_>>>()?;
    /// assert_eq!(elements, [1, 2, 3, 4]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn elements<A: ReadableElement>(&mut self) -> Result<impl Iterator<Item = Result<A>>> {
        Elements::new(self)
    }

    /// Returns an iterator over pieces of `length` indices along the slowest-varying axis, which is the first, or the last in
    /// Fortran order.
    ///
    /// The last piece may be shorter. Memory, and what happens if the iterator is dropped early, are as for
    /// [`blocks`](NpyReader::blocks).
    ///
    /// # Errors
    ///
    /// - Those of [`blocks`](NpyReader::blocks), but at once.
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have another type.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if there are more than 1,048,576 pieces without bytes.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if `axis` is not the slowest one: [`NpyFile`](crate::NpyFile) divides an array along any
    ///   axis. Also if `length` is 0.
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the array does not have the axis.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the number of axes does not match.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, Ix2};
    /// use ndarray_io::{NpyReader, WriteNpyExt};
    ///
    /// let mut stream = Vec::new();
    /// Array2::<f32>::ones((10, 3)).write_npy(&mut stream)?;
    /// let mut reader = NpyReader::new(&stream[..])?;
    /// let lengths = reader.chunks::<f32, Ix2>(0, 4)?.map(|chunk| Ok(chunk?.nrows()));
    /// assert_eq!(lengths.collect::<ndarray_io::Result<Vec<_>>>()?, [4, 4, 2]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn chunks<A: ReadableElement, D: Dimension>(
        &mut self,
        axis: impl AxisIndex,
        length: usize,
    ) -> Result<impl Iterator<Item = Result<Array<A, D>>>> {
        StreamChunks::new(self, Some(axis.number()), length)
    }

    /// Returns an iterator over the rows of the array, along the slowest-varying axis.
    ///
    /// The rows do not include that axis. Memory, and what happens if the iterator is dropped early, are as for
    /// [`blocks`](NpyReader::blocks).
    ///
    /// # Errors
    ///
    /// - Those of [`blocks`](NpyReader::blocks), but at once.
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have another type.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if there are more than 1,048,576 rows without bytes.
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the array has no axes.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the number of axes does not match.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Ix2, arr1, arr2};
    /// use ndarray_io::{NpyReader, WriteNpyExt};
    ///
    /// let mut stream = Vec::new();
    /// arr2(&[[1, 2], [3, 4]]).write_npy(&mut stream)?;
    /// let mut reader = NpyReader::new(&stream[..])?;
    /// let mut rows = reader.rows::<i32, Ix2>()?;
    /// assert_eq!(rows.next().transpose()?, Some(arr1(&[1, 2])));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn rows<A, D>(&mut self) -> Result<impl Iterator<Item = Result<Array<A, D::Smaller>>>>
    where
        A: ReadableElement,
        D: RemoveAxis,
    {
        let chunks = StreamChunks::<R, A, D>::new(self, None, 1)?;
        let axis = Axis(chunks.axis);
        Ok(chunks.map(move |row| Ok(row?.index_axis_move(axis, 0))))
    }
}

impl<'r, R: Read> BlockReader<'r, R> {
    fn new(part_reader: PartReader<'r, R>, inner_ndim: usize) -> Self {
        let header = part_reader.header();
        let shape = header.outer_shape(inner_ndim);
        let origin = Arc::new(ArrayOrigin { shape, order: header.order(), path: None, member: None });
        Self { part_reader, inner_ndim, next_number: 0, origin }
    }

    fn shape(&self) -> &Shape {
        &self.origin.shape
    }

    /// Returns the whole array as a range along each axis.
    fn full_ranges(&self) -> Vec<Range<usize>> {
        self.shape().dims().iter().map(|length| 0..*length).collect()
    }

    /// Returns the header of a part, which must be what comes next.
    fn header_of_next(&self, ranges: &[Range<usize>]) -> Result<Header> {
        let header = self.part_reader.header();
        let (part, runs) = Axes::of(header, self.inner_ndim)?.within(ranges).locate(header)?;
        let mut runs = runs.iter();
        let is_next = match (runs.next(), runs.next()) {
            (None, _) => true,
            (Some(run), None) => run.start == self.part_reader.position(),
            _ => false,
        };
        if !is_next {
            return Err(not_contiguous());
        }
        Ok(part)
    }

    /// Reads the block of the next ranges; without any left, or after an error, this was the last one.
    fn read_next<T: ReadArray>(&mut self, block_ranges: &mut BlockRanges) -> Option<Result<Block<T>>> {
        let Some(ranges) = block_ranges.next() else {
            self.part_reader.finish();
            return None;
        };
        let block = self.read(ranges);
        if block.is_err() {
            block_ranges.stop(); // an error ends the iteration
        }
        Some(block)
    }

    fn read<T: ReadArray>(&mut self, ranges: Vec<Range<usize>>) -> Result<Block<T>> {
        let read = self.header_of_next(&ranges).and_then(|part| self.part_reader.read(&part));
        let (number, order, origin) = (self.next_number, self.origin.order, Arc::clone(&self.origin));
        let block = Block { array: (), ranges, number, order, origin };
        self.next_number += 1;
        match read {
            Ok(array) => Ok(block.with_array(array)),
            Err(error) => Err(block.located(error)),
        }
    }
}

impl<R, T> std::fmt::Debug for StreamBlocks<'_, R, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamBlocks")
            .field("block_bytes", &self.block_bytes)
            .field("remaining_ranges", &self.remaining_ranges)
            .finish_non_exhaustive()
    }
}

impl<R, T> StreamBlocks<'_, R, T> {
    /// Sets the approximate size of a block in the stream, in bytes; by default, 1 MiB.
    ///
    /// A block has at least one element.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.block_bytes = bytes;
        self
    }
}

impl<R: Read, T: ReadArray> Iterator for StreamBlocks<'_, R, T> {
    type Item = Result<Block<T>>;

    /// Reads the next block. Returns `None` after the last block or after an error.
    fn next(&mut self) -> Option<Self::Item> {
        let (header, shape) = (self.block_reader.part_reader.header(), self.block_reader.shape());
        let all = self.block_reader.full_ranges();
        if self.remaining_ranges.is_none() {
            let block_ranges = BlockRanges::new(
                all.clone(),
                header.order(),
                self.block_bytes / item_size(header, shape).max(1),
            );
            let block_ranges = self.remaining_ranges.insert(block_ranges);
            // An array without elements has no block that would tell of a mismatch.
            let checked = match header.payload_len() {
                Some(0) if header.len() == 0 => self.block_reader.part_reader.read::<T>(header).map(drop),
                _ => check_empty_item_count(header.dtype().item_size(), header.len()),
            };
            if let Err(error) = checked {
                block_ranges.stop();
                return Some(Err(error));
            }
        }
        self.block_reader.read_next(self.remaining_ranges.as_mut()?)
    }
}

/// An iterator over the pieces of an array that comes from a reader.
struct StreamChunks<'r, R, A, D> {
    block_reader: BlockReader<'r, R>,
    axis: usize,
    length: usize,
    block_ranges: BlockRanges,
    /// Pieces whose bytes had come together.
    piece_buffer: Option<PieceBuffer<A, D>>,
}

impl<'r, R: Read, A: ReadableElement, D: Dimension> StreamChunks<'r, R, A, D> {
    /// Divides the array along its slowest axis, which `axis` must be if it is given.
    fn new(reader: &'r mut NpyReader<R>, axis: Option<usize>, length: usize) -> Result<Self> {
        let block_reader = BlockReader::new(reader.part_reader()?, inner_axes_of::<A>().len());
        let slowest = slowest_axis(block_reader.origin.order, block_reader.shape());
        let axis = axis.unwrap_or(slowest);
        check_rank::<D>(block_reader.shape())?;
        check_division(block_reader.shape(), axis, length)?;
        if axis != slowest {
            let reason = format!(
                "a reader is divided along its slowest axis, {slowest}, not along axis {axis}: NpyFile divides along any axis"
            );
            return Err(Fault::BadOption { reason }.into());
        }
        checked_item_size_and_count::<A>(&block_reader.part_reader, D::NDIM)?;
        check_empty_piece_count(block_reader.part_reader.header(), block_reader.shape(), axis, length)?;
        let block_ranges = BlockRanges::along_axis(block_reader.full_ranges(), axis, length);
        Ok(Self { block_reader, axis, length, block_ranges, piece_buffer: None })
    }

    /// Reads several pieces if their bytes have come already, and none of them is at fault.
    fn read_several_pieces(&mut self) -> Option<Result<Array<A, D>>> {
        let part_reader = &self.block_reader.part_reader;
        let rows = self.block_reader.shape().dims()[self.axis].max(1) as u64;
        let piece = (part_reader.header().payload_len()? / rows).saturating_mul(self.length as u64);
        let count = (part_reader.buffered_len() as u64).checked_div(piece).filter(|count| *count > 1)?;
        let mut block_ranges = self.block_ranges.clone();
        let part = self.block_reader.header_of_next(&block_ranges.next_merged(count as usize)?).ok()?;
        let pieces = match self.block_reader.part_reader.read_buffered(&part)? {
            Ok(pieces) => pieces,
            Err(error) => return Some(Err(error)),
        };
        self.block_ranges = block_ranges;
        self.piece_buffer = PieceBuffer::of(pieces, self.axis, self.block_reader.origin.order);
        // `new` has checked that the elements of an array are contiguous, so pieces follow one another.
        let piece_buffer = self.piece_buffer.as_mut().expect("pieces in the order of the file");
        piece_buffer.next(self.length).map(Ok)
    }
}

impl<R: Read, A: ReadableElement, D: Dimension> Iterator for StreamChunks<'_, R, A, D> {
    type Item = Result<Array<A, D>>;

    fn next(&mut self) -> Option<Self::Item> {
        let piece_buffer = self.piece_buffer.as_mut().and_then(|piece_buffer| piece_buffer.next(self.length));
        if let Some(piece) = piece_buffer.map(Ok).or_else(|| self.read_several_pieces()) {
            if piece.is_err() {
                self.block_ranges.stop();
            }
            return Some(piece);
        }
        self.block_reader.read_next(&mut self.block_ranges).map(|piece| piece.map(Block::into_array))
    }
}

/// An iterator over the elements of an array that comes from a reader.
struct Elements<'r, R, A> {
    part_reader: PartReader<'r, R>,
    shape: Shape,
    /// The axes of each element, and the size of all its parts in bytes.
    inner: (Vec<usize>, usize),
    /// How many elements there are, and how many are left, not counting `items`.
    total: u64,
    unread: u64,
    /// Elements that have come together.
    items: std::vec::IntoIter<A>,
}

impl<'r, R: Read, A: ReadableElement> Elements<'r, R, A> {
    fn new(reader: &'r mut NpyReader<R>) -> Result<Self> {
        let inner = inner_axes_of::<A>();
        let BlockReader { part_reader, origin, .. } = BlockReader::new(reader.part_reader()?, inner.len());
        let (item, all) = checked_item_size_and_count::<A>(&part_reader, None)?;
        check_empty_item_count(item, all)?;
        let shape = origin.shape.clone();
        Ok(Self {
            part_reader,
            shape,
            inner: (inner, item),
            total: all,
            unread: all,
            items: Vec::new().into_iter(),
        })
    }

    /// Returns the header of the next elements.
    fn header_of_next(&self, count: usize) -> Result<Header> {
        let header = self.part_reader.header();
        let mut dims = vec![count];
        match header.is_innermost_first() {
            true => dims.splice(0..0, self.inner.0.iter().rev().copied()).for_each(drop),
            false => dims.extend(&self.inner.0),
        }
        header.with_shape(dims.into())
    }

    /// Reads the elements that have come already, if none of them is at fault; otherwise the next one.
    fn read(&mut self) -> Result<Vec<A>> {
        let come = self.part_reader.buffered_len().checked_div(self.inner.1).unwrap_or(0);
        let come = come.min(usize::try_from(self.unread).unwrap_or(usize::MAX));
        if come > 1 {
            let header = self.header_of_next(come)?;
            if let Some(read) = self.part_reader.read_buffered::<FlatArray<A>>(&header) {
                return Ok(read?.into_parts().0);
            }
        }
        Ok(self.part_reader.read::<FlatArray<A>>(&self.header_of_next(1)?)?.into_parts().0)
    }
}

impl<R: Read, A: ReadableElement> Iterator for Elements<'_, R, A> {
    type Item = Result<A>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(item) = self.items.next() {
            return Some(Ok(item));
        }
        if self.unread == 0 {
            self.part_reader.finish();
            return None;
        }
        let before = self.total - self.unread;
        match self.read() {
            Ok(items) => {
                self.unread -= items.len() as u64;
                self.items = items.into_iter();
                self.items.next().map(Ok)
            }
            Err(error) => {
                self.unread = 0; // an error ends the iteration
                let error = error.offset_element(usize::try_from(before).unwrap_or(usize::MAX));
                Some(Err(error.with_axis_indices(&self.shape, self.part_reader.header().order())))
            }
        }
    }

    /// Goes through what has come in a loop of its own.
    fn fold<B, C: FnMut(B, Self::Item) -> B>(mut self, first: B, mut call: C) -> B {
        let mut made = first;
        loop {
            made = std::mem::take(&mut self.items).fold(made, |made, item| call(made, Ok(item)));
            match self.next() {
                Some(next) => made = call(made, next),
                None => return made,
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.unread).ok().and_then(|left| left.checked_add(self.items.len()));
        (self.items.len(), left) // an error ends the iteration early
    }
}

/// Fails unless the elements of an array can be read as this type one by one.
///
/// Returns the size of an element in the file, and how many there are.
fn checked_item_size_and_count<A: ReadableElement>(
    part_reader: &PartReader<'_, impl Read>,
    ndim: Option<usize>,
) -> Result<(usize, u64)> {
    let (header, options) = (part_reader.header(), part_reader.options());
    let grouped = header.group_inner_axes(&inner_axes_of::<A>(), ndim)?;
    if grouped.is_scattered {
        return Err(not_contiguous());
    }
    read_plan_for::<A>(grouped.header.dtype(), options)?;
    Ok((grouped.header.dtype().item_size(), grouped.header.len()))
}

/// Returns the error for elements whose parts are not contiguous.
fn not_contiguous() -> Error {
    let reason =
        "elements that are arrays are not contiguous in Fortran order: read the array whole, or with NpyFile";
    Fault::BadOption { reason: reason.into() }.into()
}
