//! Visiting large arrays block by block, in bounded memory and on several threads.
//!
//! [`NpyFile::blocks`] and [`DynArray::blocks`] divide an array into blocks. [`Blocks`] is an iterator;
//! [`Blocks::read_ahead`] reads ahead on other threads; [`Blocks::par_map`] also works on the blocks there. Blocks of an array
//! that comes from a reader are [`StreamBlocks`]: see [`NpyReader::blocks`](crate::NpyReader::blocks).
//!
//! ```
//! use ndarray::{Array2, ArrayD};
//! use ndarray_io::{Error, NpyFile};
//!
//! # let path = tempfile::NamedTempFile::new()?.into_temp_path();
//! ndarray_io::write_npy(&path, &Array2::from_shape_fn((1000, 50), |(i, j)| (i + j) as f64))?;
//! let file = NpyFile::open(&path)?;
//! let mut largest = 0.0;
//! file.blocks::<ArrayD<f64>>().bytes(4096).par_map(
//!     |block| block.array().iter().copied().fold(0.0, f64::max), // on any thread
//!     |found| {
//!         largest = f64::max(largest, found); // on this thread, in order
//!         Ok::<(), Error>(())
//!     },
//! )?;
//! assert_eq!(largest, 1048.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block_ranges;
mod chunks;
mod display;
mod piece_buffer;
mod stream;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use block_ranges::BlockRanges;
pub use chunks::Chunks;
#[cfg(feature = "dask")]
pub(crate) use chunks::check_division;
use ndarray::SliceInfoElem;
pub use stream::StreamBlocks;

use crate::bytes::ReadHints;
use crate::dynamic::DynArray;
use crate::error::{Error, Fault, LimitKind, Result};
use crate::header::Header;
use crate::io::ReadArray;
use crate::limits::{self, Limits};
use crate::options::ReadOptions;
use crate::parts::NpyFile;
use crate::shape::{Order, Shape};
use crate::transfer;
pub use crate::transfer::map_in_order;

/// The blocks of an array: an iterator that reads them, and the start of [`read_ahead`](Blocks::read_ahead) and
/// [`par_map`](Blocks::par_map).
///
/// Each block is a box that is contiguous in the [order](Blocks::order) of the visit. An error ends the
/// iteration.
#[derive(Debug)]
pub struct Blocks<'a, T> {
    source: &'a dyn BlockSource<T>,
    header: &'a Header,
    options: ReadOptions,
    hints: ReadHints,
    part: Vec<Range<usize>>,
    order: Order,
    block_bytes: usize,
    threads: Option<usize>,
    /// What is left, once the iteration has begun.
    left: Option<(usize, BlockRanges)>,
    origin: Arc<ArrayOrigin>,
}

/// One block of an array.
#[derive(Clone, Debug)]
pub struct Block<T> {
    array: T,
    ranges: Vec<Range<usize>>,
    number: usize,
    /// The order of the elements in the block.
    order: Order,
    origin: Arc<ArrayOrigin>,
}

/// The array of a block.
#[derive(Debug)]
struct ArrayOrigin {
    shape: Shape,
    order: Order,
    path: Option<PathBuf>,
    member: Option<String>,
}

/// An array that can be read in boxes.
trait BlockSource<T>: Sync + std::fmt::Debug {
    /// Reads a box, and returns the order of its elements.
    fn read(&self, ranges: &[Range<usize>], options: &ReadOptions) -> Result<(T, Order)>;
}

impl<T: ReadArray> BlockSource<T> for NpyFile {
    fn read(&self, ranges: &[Range<usize>], options: &ReadOptions) -> Result<(T, Order)> {
        Ok((self.read_ranges(ranges, options)?, self.order()))
    }
}

impl BlockSource<Self> for DynArray {
    fn read(&self, ranges: &[Range<usize>], _: &ReadOptions) -> Result<(Self, Order)> {
        let part = self.slice(&slice_of(ranges)[..])?;
        let order = part.order();
        Ok((part, order))
    }
}

/// Returns the slice that selects these ranges.
fn slice_of(ranges: &[Range<usize>]) -> Vec<SliceInfoElem> {
    let of = |range: &Range<usize>| {
        let (start, end) = (range.start as isize, Some(range.end as isize));
        SliceInfoElem::Slice { start, end, step: 1 }
    };
    ranges.iter().map(of).collect()
}

/// Returns the size in a file of an element of an array with these axes; such an element may be an array.
fn item_size(header: &Header, shape: &Shape) -> usize {
    let parts = header.len() / shape.len().unwrap_or(1).max(1);
    header.dtype().item_size().saturating_mul(usize::try_from(parts).unwrap_or(usize::MAX))
}

/// Returns an error if this many elements have no bytes and cannot be visited.
fn check_empty_item_count(item: usize, len: u64) -> Result<()> {
    match item {
        0 => limits::check(LimitKind::EmptyItems, len, Limits::EMPTY_ITEMS as u64),
        _ => Ok(()),
    }
}

impl NpyFile {
    /// Visits the array in blocks, as arrays of type `T`: `ArrayD<f64>`, `Array2<f64>`, [`DynArray`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::Array2;
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::<f32>::ones((100, 30)))?;
    /// let mut sum = 0.0;
    /// for block in NpyFile::open(&path)?.blocks::<Array2<f32>>().bytes(1000) {
    ///     sum += block?.array().sum();
    /// }
    /// assert_eq!(sum, 3000.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocks<T: ReadArray>(&self) -> Blocks<'_, T> {
        let (path, member) = self.error_location();
        let (options, hints) = (self.get_options().clone(), self.payload().hints());
        Blocks::new(self, self.header(), T::inner_ndim(), (options, hints), (path, member))
    }
}

impl DynArray {
    /// Visits the array in blocks, as a file: see [`NpyFile::blocks`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr2;
    /// use ndarray_io::DynArray;
    ///
    /// let array = DynArray::new(&arr2(&[[1, 2], [3, 4]]))?;
    /// let blocks: Vec<_> = array.blocks().bytes(8).collect::<Result<_, _>>()?;
    /// assert_eq!(blocks[1].ranges(), [1..2, 0..2]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn blocks(&self) -> Blocks<'_, Self> {
        Blocks::new(self, self.header(), 0, Default::default(), (None, None))
    }
}

impl<'a, T> Blocks<'a, T> {
    /// `inner` is the number of axes of each element, and `path` and `member` are what errors report.
    fn new(
        source: &'a dyn BlockSource<T>,
        header: &'a Header,
        inner: usize,
        (options, hints): (ReadOptions, ReadHints),
        (path, member): (Option<PathBuf>, Option<String>),
    ) -> Self {
        let (shape, order) = (header.outer_shape(inner), header.order());
        let part = shape.dims().iter().map(|length| 0..*length).collect();
        let origin = Arc::new(ArrayOrigin { shape, order, path, member });
        let block_bytes = 1 << 20;
        Self { source, header, options, hints, part, order, block_bytes, threads: None, left: None, origin }
    }

    /// Sets the order of the visit; by default, that of the file, which is the fastest.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Sets the approximate size of a block in the file, in bytes; by default, 1 MiB.
    ///
    /// A block has at least one element.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.block_bytes = bytes;
        self
    }

    /// Sets the number of threads of [`for_each`](Self::for_each) and [`map`](Self::map); by default, that of
    /// the file's options. If a block is not larger than the [block](ReadHints::block) of the source, it is at least
    /// the smallest and at most the largest [concurrency](ReadHints::concurrency) that the source asks for.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Visits only a part of the array, given by a range of indices along each axis.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if there are more or fewer ranges than axes, or if a range is out
    /// of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr2;
    /// use ndarray_io::DynArray;
    ///
    /// let array = DynArray::new(&arr2(&[[1, 2], [3, 4]]))?;
    /// let column = array.blocks().within(&[0..2, 1..2])?.next().unwrap()?;
    /// assert_eq!(column.array().to_string(), "[[2],\n [4]]");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn within(mut self, part: &[Range<usize>]) -> Result<Self> {
        let shape = &self.origin.shape;
        let fits =
            |(range, length): (&Range<usize>, &usize)| range.start <= range.end && range.end <= *length;
        if part.len() != shape.ndim() || !part.iter().zip(shape.dims()).all(fits) {
            let reason = format!("the ranges {part:?} are not within an array of shape {shape}");
            return Err(Fault::BadOption { reason }.into());
        }
        self.part = part.to_vec();
        Ok(self)
    }

    /// Returns the size in the file of all elements that are visited, in bytes.
    pub fn byte_len(&self) -> u64 {
        let lengths = self.part.iter().map(Range::len).collect::<Vec<_>>();
        let item = self.item_size();
        Shape::from(lengths).byte_len(item).unwrap_or(u64::MAX)
    }

    /// Returns the size in the file of an element of the visit, which may be an array.
    fn item_size(&self) -> usize {
        item_size(self.header, &self.origin.shape)
    }

    /// Begins the iteration: returns the number of the first block, and what is left.
    fn initial_state(&self) -> Result<(usize, BlockRanges)> {
        let len = self.part.iter().fold(1u64, |len, range| len.saturating_mul(range.len() as u64));
        check_empty_item_count(self.header.dtype().item_size(), len)?;
        Ok((0, self.block_ranges()))
    }

    fn block_ranges(&self) -> BlockRanges {
        BlockRanges::new(self.part.clone(), self.order, self.block_bytes / self.item_size().max(1))
    }

    fn read_block(
        &self,
        (number, ranges): (usize, Vec<Range<usize>>),
        options: &ReadOptions,
    ) -> Result<Block<T>> {
        let (array, order) = self.source.read(&ranges, options)?;
        Ok(Block { array, ranges, number, order, origin: Arc::clone(&self.origin) })
    }

    /// Calls a function with each block, in order, while other threads read the next ones.
    ///
    /// At most two blocks for each thread are in memory. If the system refuses to start threads, the blocks
    /// are read on the current one. An error that `call` returns ends the visit.
    ///
    /// # Errors
    ///
    /// Those of [`NpyFile::read`] and of `call`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array1, Array2};
    /// use ndarray_io::{Error, NpyFile};
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array1::from_iter(0..1000i32))?;
    /// let mut all = Vec::new();
    /// NpyFile::open(&path)?.blocks::<Array1<i32>>().bytes(256).read_ahead(|block| {
    ///     all.extend(block.into_array());
    ///     Ok::<(), Error>(())
    /// })?;
    /// assert_eq!(all, (0..1000).collect::<Vec<_>>());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_ahead<E>(self, call: impl FnMut(Block<T>) -> Result<(), E>) -> Result<(), E>
    where
        T: Send,
        E: From<Error>,
    {
        self.par_map(|block| block, call)
    }

    /// Calls a function with each block on several threads, and passes the results to `take` on this thread, in
    /// the order of the blocks.
    ///
    /// At most two blocks or results for each thread are in memory. If the system refuses to start threads,
    /// the current one does all the work. The first error in the order of the blocks ends the visit.
    ///
    /// # Errors
    ///
    /// Those of [`NpyFile::read`] and of `take`.
    pub fn par_map<O, E>(
        self,
        work: impl Fn(Block<T>) -> O + Sync,
        mut take: impl FnMut(O) -> Result<(), E>,
    ) -> Result<(), E>
    where
        O: Send,
        E: From<Error>,
    {
        // An iteration that has begun is continued.
        let (first, block_ranges) = self.left.clone().map_or_else(|| self.initial_state(), Ok)?;
        let own = self.options.clone();
        let usual = || match (block_ranges.boxes_left(), self.hints) {
            (0 | 1, _) => 1,
            // Blocks that are one request each: as many as the source is best asked for at a time.
            (_, hints) if hints.block_bytes().is_none_or(|block| self.block_bytes <= block) => {
                hints.threads(|| own.get_threads())
            }
            _ => own.get_threads(),
        };
        let threads = self.threads.unwrap_or_else(usual);
        let threads = threads.clamp(1, block_ranges.boxes_left().max(1));
        // Threads are used across blocks or within one, but not both.
        let options = if threads > 1 { own.threads(1) } else { own };
        let read = |numbered_ranges| self.read_block(numbered_ranges, &options).map(&work);
        transfer::map_in_order((first..).zip(block_ranges), threads, read, |made| take(made?))
    }
}

impl<T> Iterator for Blocks<'_, T> {
    type Item = Result<Block<T>>;

    /// Reads the next block, on several threads if it is large. Returns `None` after the last block or after
    /// an error.
    fn next(&mut self) -> Option<Self::Item> {
        let initial_state = self.left.take().map_or_else(|| self.initial_state(), Ok);
        let (number, block_ranges) = match initial_state {
            Ok(left) => self.left.insert(left),
            Err(error) => {
                let (_, block_ranges) = self.left.insert((0, self.block_ranges()));
                block_ranges.stop();
                return Some(Err(error));
            }
        };
        let numbered_ranges = (*number, block_ranges.next()?);
        *number += 1;
        let block = self.read_block(numbered_ranges, &self.options);
        if let (Err(_), Some((_, block_ranges))) = (&block, &mut self.left) {
            block_ranges.stop(); // an error ends the iteration
        }
        Some(block)
    }
}

impl<T> Block<T> {
    /// Returns the elements of the block, with all axes of the array.
    pub fn array(&self) -> &T {
        &self.array
    }

    /// Returns the elements of the block.
    pub fn into_array(self) -> T {
        self.array
    }

    /// Returns the block without its elements, and the elements.
    pub fn take_array(self) -> (Block<()>, T) {
        let Self { array, ranges, number, order, origin } = self;
        (Block { array: (), ranges, number, order, origin }, array)
    }

    fn with_array<O>(self, array: O) -> Block<O> {
        let Self { ranges, number, order, origin, .. } = self;
        Block { array, ranges, number, order, origin }
    }

    /// Returns the indices of the array that are in the block, as a range along each axis.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Returns the slice that selects the same part of an array of the same shape.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::DynArray;
    ///
    /// let one = DynArray::new(&arr1(&[1, 2, 3, 4]))?;
    /// let two = DynArray::new(&arr1(&[1, 2, 0, 4]))?;
    /// let differ = |block: &ndarray_io::blocks::Block<DynArray>| {
    ///     two.slice(&block.slice()[..]).is_ok_and(|other| other != *block.array())
    /// };
    /// let blocks: Vec<_> = one.blocks().bytes(8).collect::<Result<_, _>>()?;
    /// assert_eq!(blocks.iter().map(differ).collect::<Vec<_>>(), [false, true]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn slice(&self) -> Vec<SliceInfoElem> {
        slice_of(&self.ranges)
    }

    /// Returns how many blocks precede this one.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Adds the place of the block to an error: the file, and the element of the array instead of that of the
    /// block.
    ///
    /// Errors of reading the block have them already.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::Ix1;
    /// use ndarray_io::header::Order;
    /// use ndarray_io::{Casting, DynArray};
    ///
    /// let bools = DynArray::from_bytes("|b1".parse()?, [5], Order::C, &[0, 1, 0, 1, 7])?;
    /// for block in bools.blocks().bytes(2) {
    ///     let block = block?;
    ///     if let Err(error) = block.array().cast::<u8, Ix1>(Casting::Safe) {
    ///         assert_eq!(error.element(), Some(0));
    ///         assert_eq!(block.located(error).element(), Some(4));
    ///     }
    /// }
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn located(&self, error: Error) -> Error {
        let ArrayOrigin { shape, order, path, member } = &*self.origin;
        let lengths = Shape::from(self.ranges.iter().map(Range::len).collect::<Vec<_>>());
        let in_file = |element: usize| {
            let mut index = lengths.index_of(element as u64, self.order);
            index.iter_mut().zip(&self.ranges).for_each(|(index, range)| *index += range.start);
            shape.linear_index(&index, *order) as usize
        };
        let error = error.map_element(in_file).with_axis_indices(shape, *order);
        let error = member.iter().fold(error, |error, name| error.at_member(name));
        path.iter().fold(error, Error::at_path)
    }
}
