//! Writing parts of files by position, from several threads and processes.

use std::ops::Deref;
use std::path::Path;

use ndarray::{ArrayRef, ArrayViewD, Axis, Dimension, IxDyn, SliceArg};

use super::NpyFile;
use super::select::Selection;
use crate::bytes::Region;
use crate::elements::WritableElement;
use crate::error::{Error, Result};
use crate::header::Header;
use crate::io::change::{self, LockPurpose, Locked};
use crate::io::{self, Expected};
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::Order;
use crate::transfer::tiles::{
    Axis as TileAxis, GapLock, SideLayout, TileConversion, TileMove, TilePlan, WriteAccess, move_all,
};
use crate::transfer::{self, Items, Sink};

/// The approximate number of bytes of a part that are encoded at a time.
const BLOCK_LEN: usize = 4 << 20;

/// An [`NpyFile`] whose parts can also be written.
///
/// Threads may share it, and processes may write parts of one file that do not overlap. Nothing can be appended to the file, and it cannot
/// be replaced, while it is open.
///
/// ```
/// use ndarray::{Array2, arr1, arr2, s};
/// use ndarray_io::NpyFileMut;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("shared.npy");
/// ndarray_io::write_npy(&path, &Array2::<f32>::zeros((2, 3)))?;
/// let file = NpyFileMut::open(&path)?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| file.write_slice(s![0, ..], &arr1(&[1.0f32, 2.0, 3.0])));
///     scope.spawn(|| file.write_slice(s![1, ..;-1], &arr1(&[4.0f32, 5.0, 6.0])));
/// });
/// assert_eq!(file.read::<Array2<f32>>()?, arr2(&[[1.0, 2.0, 3.0], [6.0, 5.0, 4.0]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpyFileMut {
    file: NpyFile,
    locked: Locked,
    /// Who may write gaps between elements, if all other writers are excluded.
    gap_lock: Option<GapLock>,
}

impl Deref for NpyFileMut {
    type Target = NpyFile;

    fn deref(&self) -> &NpyFile {
        &self.file
    }
}

impl NpyFileMut {
    /// Opens a file for writing parts of its array with [`NpyFileMut::write_slice`].
    ///
    /// While the file is open, other processes may write other parts in the same way or through maps.
    /// Attempts to append to the file or to replace it fail with [`Locked`](crate::error::ErrorKind::Locked).
    /// [`write_zeroed_npy`](crate::write_zeroed_npy) creates a file that can be filled in this way.
    ///
    /// Each run of adjacent elements costs a system call here, because the elements in between may be changed by others.
    /// For parts of many short runs, such as every second column, [`NpyFileMut::open_exclusive`] is faster.
    ///
    /// # Errors
    ///
    /// - [`Locked`](crate::error::ErrorKind::Locked) if another writer has locked the file.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the path does not refer to a regular file.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [format error](crate::Error::is_format) if the file is malformed or shorter than its array.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects, which cannot be
    ///   written in parts.
    /// - [`NeedsCopy`](crate::error::ErrorKind::NeedsCopy) if the data of an RA file is compressed or stored as
    ///   single bits, since such data cannot be written in parts.
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::open_for(path.as_ref(), LockPurpose::Map)
    }

    /// Opens a file for writing parts of its array, and excludes all other writers.
    ///
    /// While the file is open, any other attempt to write to it, to map it mutably or to replace it fails with
    /// [`Locked`](crate::error::ErrorKind::Locked). Programs that do not use this library, such as NumPy, are not excluded: they must not
    /// change the file in the meantime.
    ///
    /// [`NpyFileMut::write_slice`] then writes many short runs by one system call, together with the elements in
    /// between, which it has read before. Threads may share the handle.
    ///
    /// # Errors
    ///
    /// The errors of [`NpyFileMut::open`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, arr2, s};
    /// use ndarray_io::NpyFileMut;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pixels.npy");
    /// ndarray_io::write_npy(&path, &Array2::<u8>::zeros((2, 3)))?;
    /// let file = NpyFileMut::open_exclusive(&path)?;
    /// file.write_slice(s![.., ..;2], &arr2(&[[1u8, 2], [3, 4]]))?;
    /// assert_eq!(file.read::<Array2<u8>>()?, arr2(&[[1, 0, 2], [3, 0, 4]]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_exclusive<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::open_for(path.as_ref(), LockPurpose::Change)
    }

    fn open_for(path: &Path, purpose: LockPurpose) -> Result<Self> {
        let open = || {
            // Lock before reading the header, so that no other writer changes it in between. Do not wait: a
            // writer may hold its lock for hours.
            let locked = change::open_locked(path, purpose, std::time::Duration::ZERO)?;
            let file = NpyFile::of_shared_file(locked.shared_file(), Expected::Any, &ReadOptions::new())?;
            // `write_slice` would extend a truncated file.
            file.check_complete()?;
            let gap_lock = (purpose == LockPurpose::Change).then(GapLock::default);
            Ok(Self { file: file.with_path(path), locked, gap_lock })
        };
        open().map_err(|error: Error| error.at_path(path))
    }

    /// Writes an array to a part of the file.
    ///
    /// The array must have the shape of the slice and the element type of the file. It is encoded in blocks
    /// of about 4 MiB.
    ///
    /// Threads and processes may write concurrently if their parts do not overlap. Reading a part while it is
    /// being written may return a mixture of old and new elements. The system writes the data to disk later;
    /// [`NpyFileMut::sync`] waits for that.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the slice is out of bounds.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the slice has a step of 0.
    /// - [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) or
    ///   [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the elements cannot be stored with the
    ///   dtype of the file.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the slice has a different number of axes, or if the array and the
    ///   slice have different shapes.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    pub fn write_slice<A, I>(&self, slice: I, array: &ArrayRef<A, I::OutDim>) -> Result<()>
    where
        A: WritableElement,
        I: SliceArg<IxDyn>,
    {
        self.write_selection(&slice, array).map_err(|error| self.at_path(error.while_writing()))
    }

    /// Waits until all written parts are on the disk.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    pub fn sync(&self) -> Result<()> {
        change::sync_written_parts(&self.locked.shared_file())
            .map_err(|error| self.at_path(Error::from(error).while_writing()))
    }

    fn write_selection<A: WritableElement, D: Dimension>(
        &self,
        slice: &impl SliceArg<IxDyn>,
        array: &ArrayRef<A, D>,
    ) -> Result<()> {
        let header = &*io::group_inner_axes_for::<A>(self.header(), None)?;
        let options = io::options_for::<A>(header.dtype(), &WriteOptions::new())?;
        let selection = Selection::of(header.shape_ref(), slice)?;
        let view = selection.view_with_file_axes(array.view().into_dyn(), true)?;
        let (start, file_axes) = selection.byte_layout(header);
        if view.is_empty() || header.dtype().item_size() == 0 {
            return Ok(());
        }
        self.write_pieces(header, view, start, &file_axes, &options)
    }

    /// Writes a part in pieces, halving it along the slowest-varying axis until each piece fits in a block.
    ///
    /// Each piece is encoded before it is written, so the size of a piece bounds memory use.
    fn write_pieces<A: WritableElement>(
        &self,
        header: &Header,
        view: ArrayViewD<'_, A>,
        start: u64,
        file_axes: &[(usize, u64)],
        options: &WriteOptions,
    ) -> Result<()> {
        let bytes = view.len().saturating_mul(header.dtype().item_size());
        let is_long = |axis: &usize| view.len_of(Axis(*axis)) > 1;
        let slowest = match header.order() {
            Order::C => (0..view.ndim()).find(is_long),
            Order::Fortran => (0..view.ndim()).rev().find(is_long),
        };
        let Some(axis) = slowest.filter(|_| bytes > BLOCK_LEN) else {
            return self.write_piece(header, &view, start, file_axes, options);
        };
        let half = view.len_of(Axis(axis)) / 2;
        let (one, two) = view.split_at(Axis(axis), half);
        self.write_pieces(header, one, start, file_axes, options)?;
        self.write_pieces(header, two, start + half as u64 * file_axes[axis].1, file_axes, options)
    }

    fn write_piece<A: WritableElement>(
        &self,
        header: &Header,
        piece: &ArrayViewD<'_, A>,
        start: u64,
        file_axes: &[(usize, u64)],
        options: &WriteOptions,
    ) -> Result<()> {
        let (dtype, order) = (header.dtype(), header.order());
        let item = dtype.item_size();
        // Elements that are adjacent in the file must be adjacent in the encoded block.
        let is_fortran = order == Order::Fortran;
        let transposed = if is_fortran { piece.t() } else { piece.view() };
        let header = Header::new(dtype.clone(), Order::C, [piece.len()].into())?;
        let mut bytes = Vec::new();
        if const { A::FILE_LAYOUT.may_not_fit() } {
            A::dtype_for(&mut piece.iter(), options)?; // returns an error if a text element is too long
        }
        let items = match transposed.to_slice() {
            Some(items) => Items::Contiguous(items),
            None => Items::Strided(transposed.view()),
        };
        transfer::write_unflushed(
            &mut Sink::of(&mut bytes),
            Vec::new(),
            &header,
            items,
            &A::write_plan(dtype),
            options,
        )?;
        // The strides of the encoded block, which is contiguous and in the order of the file.
        let mut from = item as u64;
        let mut axes: Vec<TileAxis> = file_axes
            .iter()
            .map(|(_, to)| TileAxis { len: 0, source_stride: 0, target_stride: *to })
            .collect();
        let fastest_first: Vec<usize> =
            if is_fortran { (0..axes.len()).collect() } else { (0..axes.len()).rev().collect() };
        for axis in fastest_first {
            let len = piece.len_of(Axis(axis));
            axes[axis] = TileAxis { len, source_stride: from, ..axes[axis] };
            from = from.saturating_mul(len as u64);
        }
        let (source, target) =
            (SideLayout { start: 0, item_size: item }, SideLayout { start, item_size: item });
        // The memory budget covers a tile on both sides, so it is twice the block size.
        let plan = TilePlan::new(axes, source, target, 2 * BLOCK_LEN, WriteAccess::RandomAccess);
        let (source, name_error) = (Region::of_memory(&bytes), |error| error);
        let gap_lock = self.gap_lock.as_ref();
        let tile_move = TileMove {
            source,
            plan,
            conversion: TileConversion::Nothing,
            header: &header,
            name_error: &name_error,
            gap_lock,
        };
        // What is locked is a file.
        self.payload().file().map_or(Ok(()), |place| move_all(&tile_move, place, 1, &mut |_| Ok(())))
    }
}
