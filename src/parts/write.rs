//! Parts of files that are written, by position: for threads and processes that have parts of their own.

use std::path::Path;

use ndarray::{ArrayRef, ArrayViewD, Axis, Dimension, IxDyn, SliceArg};

use super::ArrayFile;
use super::select::Selection;
use crate::element::WritableElement;
use crate::error::{Error, ErrorKind, Help, Result};
use crate::header::Header;
use crate::io::change::{self, Purpose};
use crate::io::{self, ArrayFormat};
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::Order;
use crate::transfer::tiles::{Axis as Way, Move, Plan, Side, Work, Writes, move_all};
use crate::transfer::{self, Anywhere, Items, Sink};

/// About how many bytes of a part are made at a time.
const BLOCK: usize = 4 << 20;

impl<F: ArrayFormat> ArrayFile<F> {
    /// Opens a file of which parts are going to be written with [`ArrayFile::write_slice`].
    ///
    /// As long as it is open, others may write other parts of it in the same way or through maps, and whatever would change the
    /// file as a whole (an append, a replacement) fails with [`ErrorKind::Locked`]. A file is made for this by
    /// [`write_zeroed_npy`](crate::write_zeroed_npy).
    ///
    /// # Errors
    ///
    /// [`Locked`](crate::error::ErrorKind::Locked) while another writer has the file; [`BadOption`](crate::error::ErrorKind::BadOption)
    /// if the path is not a regular file; [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the
    /// [format](crate::Error::is_format) if the file is malformed or truncated; [`Objects`](crate::error::ErrorKind::Objects) of Python
    /// objects and [`Packed`](crate::error::ErrorKind::Packed) of packed RA files, which cannot be read in parts;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits). (Whether all elements are there is looked at
    /// when they are read.)
    pub fn open_to_write<P: AsRef<Path>>(path: P) -> Result<Self> {
        let path = path.as_ref();
        let open = || {
            let locked = change::open_locked(path, Purpose::Map, std::time::Duration::ZERO)?;
            let file = Self::shared(locked.shared(), &ReadOptions::new())?;
            file.check_complete()?;
            Ok(file.locked_by(locked, path))
        };
        open().map_err(|error: Error| error.at_path(path))
    }

    /// Writes a part: the elements that the slice takes become those of the array, which has the shape of the slice and the
    /// file's type. The file has to have been opened with [`ArrayFile::open_to_write`].
    ///
    /// Several threads may write at once, and so may several processes: elements that nobody else writes at the same time are as
    /// they were written. What is read of a part while it is written may be partly old.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the slice asks for indices that the array does not have;
    /// [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the slice has another number of axes;
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the file was opened for reading;
    /// [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch), [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) or
    /// [`TextTooLong`](crate::error::ErrorKind::TextTooLong) if the elements are not those of the part;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, arr2, s, Array2};
    /// use ndarray_io::NpyFile;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("shared.npy");
    /// ndarray_io::write_npy(&path, &Array2::<f32>::zeros((2, 3)))?;
    /// let file = NpyFile::open_to_write(&path)?;
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| file.write_slice(s![0, ..], &arr1(&[1.0f32, 2.0, 3.0])));
    ///     scope.spawn(|| file.write_slice(s![1, ..;-1], &arr1(&[4.0f32, 5.0, 6.0])));
    /// });
    /// assert_eq!(file.read::<Array2<f32>>()?, arr2(&[[1.0, 2.0, 3.0], [6.0, 5.0, 4.0]]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_slice<A, I>(&self, slice: I, array: &ArrayRef<A, I::OutDim>) -> Result<()>
    where
        A: WritableElement,
        I: SliceArg<IxDyn>,
    {
        self.put(&slice, array).map_err(|error| self.at_path(error))
    }

    /// Waits until all that was written is on the disk.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails.
    pub fn sync(&self) -> Result<()> {
        match self.bytes.file() {
            Some(file) => change::sync_parts(file).map_err(|error| self.at_path(error.into())),
            None => Ok(()), // nothing has been written to it
        }
    }

    fn put<A: WritableElement, D: Dimension>(
        &self,
        slice: &impl SliceArg<IxDyn>,
        array: &ArrayRef<A, D>,
    ) -> Result<()> {
        if self.locked.is_none() {
            let reason = "the file was opened for reading".into();
            return Err(Error::from(ErrorKind::BadOption { reason }).with_help(Help::OpenToWrite));
        }
        let header = &*io::grouped_for::<A>(self.header(), None, self.options.is_innermost_first())?;
        let options = io::options_for::<A>(header.dtype(), &WriteOptions::new())?;
        let selection = Selection::of(header.the_shape(), slice)?;
        let view = selection.target(array.view().into_dyn())?;
        let (start, places) = selection.places(header);
        if view.is_empty() || header.dtype().item_size() == 0 {
            return Ok(());
        }
        self.put_pieces(header, view, start, &places, &options)
    }

    /// A part that is large is made piece by piece: it is halved along the axis that varies slowest in the file, as often as needed.
    fn put_pieces<A: WritableElement>(
        &self,
        header: &Header,
        view: ArrayViewD<'_, A>,
        start: u64,
        places: &[(usize, u64)],
        options: &WriteOptions,
    ) -> Result<()> {
        let bytes = view.len().saturating_mul(header.dtype().item_size());
        let is_long = |axis: &usize| view.len_of(Axis(*axis)) > 1;
        let slowest = match header.order() {
            Order::C => (0..view.ndim()).find(is_long),
            Order::Fortran => (0..view.ndim()).rev().find(is_long),
        };
        let Some(axis) = slowest.filter(|_| bytes > BLOCK) else {
            return self.put_piece(header, &view, start, places, options);
        };
        let half = view.len_of(Axis(axis)) / 2;
        let (one, two) = view.split_at(Axis(axis), half);
        self.put_pieces(header, one, start, places, options)?;
        self.put_pieces(header, two, start + half as u64 * places[axis].1, places, options)
    }

    fn put_piece<A: WritableElement>(
        &self,
        header: &Header,
        piece: &ArrayViewD<'_, A>,
        start: u64,
        places: &[(usize, u64)],
        options: &WriteOptions,
    ) -> Result<()> {
        let (dtype, order) = (header.dtype(), header.order());
        let item = dtype.item_size();
        // What lies together in the file lies together in the block.
        let is_fortran = order == Order::Fortran;
        let turned = if is_fortran { piece.t() } else { piece.view() };
        let header = Header::new(dtype.clone(), Order::C, [piece.len()].into())?;
        let mut bytes = Vec::new();
        if A::FILE_LAYOUT.varies() {
            A::dtype_for(&mut piece.iter(), options)?; // an error if a text is too long
        }
        let items = match turned.to_slice() {
            Some(items) => Items::Contiguous(items),
            None => Items::Strided(turned.view()),
        };
        transfer::write_more(
            &mut Sink::of(&mut bytes),
            Vec::new(),
            &header,
            items,
            &A::emit(dtype),
            options,
        )?;
        let mut from = item as u64;
        let mut axes: Vec<Way> = places.iter().map(|(_, to)| Way { len: 0, from: 0, to: *to }).collect();
        let fastest_first: Vec<usize> =
            if is_fortran { (0..axes.len()).collect() } else { (0..axes.len()).rev().collect() };
        for axis in fastest_first {
            let len = piece.len_of(Axis(axis));
            axes[axis] = Way { len, from, ..axes[axis] };
            from = from.saturating_mul(len as u64);
        }
        let (source, target) = (Side { start: 0, item }, Side { start, item });
        let plan = Plan::new(axes, source, target, 2 * BLOCK, Writes::Anywhere);
        let (source, named) = (Anywhere::Bytes(&bytes), |error| error);
        let work = Move { source, plan, work: Work::Nothing, header: &header, named: &named };
        let Anywhere::File(file, array) = self.anywhere() else { unreachable!("a file is a file") };
        move_all(&work, (file, array), 1, &mut |_| Ok(()))
    }
}
