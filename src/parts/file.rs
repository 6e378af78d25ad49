//! [`ArrayFile`]: a file of which parts are read.

use std::fs::File;
use std::io::Seek;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::{Array, ArrayD, ArrayRef, Dimension, IxDyn, SliceArg};

use super::Chunks;
use super::select::{Axes, Selection};
use crate::array::read_into;
use crate::dtype::DType;
use crate::element::ReadableElement;
use crate::error::{Error, ErrorKind, Help, Result};
use crate::header::Header;
use crate::io::change::{FileId, Locked, id_of};
use crate::io::{self, ArrayFormat, FromPayload, Npy, Payload, PayloadRef, Ra};
use crate::npy_format::Version;
use crate::options::ReadOptions;
use crate::shape::{Order, Shape};
use crate::transfer::{self, Anywhere, ByteRuns, Source};

/// An NPY file of any size, of which parts are read and written.
///
/// [`open`](ArrayFile::open) reads the header. Then [`slice`](ArrayFile::slice) reads a part as ndarray's `s![]` names it,
/// [`take`](ArrayFile::take) some indices of an axis, [`chunks`](ArrayFile::chunks) and [`rows`](ArrayFile::rows) go through the array
/// in pieces, and [`read`](ArrayFile::read) reads all of it. Only the bytes of the part are read, and memory is bounded by the part. Of a
/// file that was opened with [`open_to_write`](ArrayFile::open_to_write), [`write_slice`](ArrayFile::write_slice) changes parts.
///
/// It reads by position, so that it can be shared between threads, and needs no buffer around the file. Several readers may read a file that
/// another process appends to: [`refresh`](ArrayFile::refresh) looks for new rows. A member of an archive is opened with
/// `NpzFile::open_member`.
///
/// # Examples
///
/// ```
/// use ndarray::{Array, Ix2, arr2, s};
/// use ndarray_io::NpyFile;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npy(&path, &Array::from_shape_fn((1000, 3), |(i, j)| (10 * i + j) as u32))?;
///
/// let file = NpyFile::open(&path)?;
/// assert_eq!(file.shape(), [1000, 3]);
/// assert_eq!(file.slice::<u32, _>(s![998.., ..;2])?, arr2(&[[9980, 9982], [9990, 9992]]));
/// let mut largest = 0;
/// for chunk in file.chunks::<u32, Ix2>(0, 100)? {
///     largest = chunk?.iter().copied().fold(largest, u32::max);
/// }
/// assert_eq!(largest, 9992);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NpyFile = ArrayFile<Npy>;

/// An RA file of any size, of which parts are read. Its data must not be packed.
pub type RaFile = ArrayFile<Ra>;

/// A file of any size, of which parts are read ([`NpyFile`] and [`RaFile`](crate::ra::RaFile) are its names): by position, so that as many threads as like can read at once.
///
/// ```
/// use ndarray::{arr2, s, Array2};
/// use ndarray_io::NpyFile;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npy(&path, &Array2::from_shape_fn((1000, 50), |(row, column)| (row * 100 + column) as u64))?;
/// let file = NpyFile::open(&path)?;
/// let part: Array2<u64> = file.slice(s![10..12, ..;25])?; // only what it needs is read
/// assert_eq!(part, arr2(&[[1000, 1025], [1100, 1125]]));
/// let mut sum = 0;
/// for chunk in file.chunks::<u64, ndarray::Ix2>(0, 100)? { // a hundred rows at a time
///     sum += chunk?.sum();
/// }
/// # assert_eq!(sum, 2_498_725_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What follows the array, such as rows that somebody is appending, is not looked at: see [`ArrayFile::trailing_len`].
#[derive(Debug)]
pub struct ArrayFile<F: ArrayFormat> {
    pub(super) bytes: FileBytes,
    path: Option<PathBuf>,
    /// The name, of a member of an archive.
    member: Option<String>,
    /// Holds the lock of who changes some elements, if the file was opened for that.
    pub(super) locked: Option<Locked>,
    found: F::Found,
    data_offset: usize,
    pub(super) options: ReadOptions,
}

/// Where the bytes of an array and its header are.
#[derive(Debug)]
pub(crate) enum FileBytes {
    /// In all of a file.
    File(Arc<File>),
    /// In these bytes of a file.
    Range(Arc<File>, Range<u64>),
    /// In the blocks of a compressed member.
    #[cfg(feature = "npz")]
    Blocks(Box<transfer::PackedBlocks<'static>>),
    /// In these bytes of something else: several files, or an object in a store.
    #[cfg(feature = "object")]
    Other(Arc<dyn transfer::ReadAt>, Range<u64>),
}

impl FileBytes {
    /// The file, if it is one and not a part of it.
    pub(super) fn file(&self) -> Option<&Arc<File>> {
        match self {
            Self::File(file) => Some(file),
            _ => None,
        }
    }

    /// The bytes from a place on.
    fn anywhere(&self, at: u64) -> Anywhere<'_> {
        match self {
            Self::File(file) => Anywhere::File(file, at),
            Self::Range(file, range) => Anywhere::File(file, range.start + at),
            #[cfg(feature = "npz")]
            Self::Blocks(blocks) => Anywhere::Blocks(blocks, at),
            #[cfg(feature = "object")]
            Self::Other(bytes, range) => Anywhere::Other(&**bytes, range.start + at),
        }
    }

    /// How many there are, by now.
    fn len(&self) -> Result<u64> {
        Ok(match self {
            Self::File(file) => file.metadata()?.len(),
            Self::Range(file, range) => range.end.min(file.metadata()?.len()).saturating_sub(range.start),
            #[cfg(feature = "npz")]
            Self::Blocks(blocks) => blocks.len(),
            #[cfg(feature = "object")]
            Self::Other(_, range) => range.end - range.start,
        })
    }

    /// Reads the header at the beginning.
    pub(crate) fn read_header<F: ArrayFormat>(&self, options: &ReadOptions) -> Result<(F::Found, usize)> {
        let mut source = match self {
            Self::File(file) => {
                let mut file = &**file;
                file.rewind()?;
                return io::read_header_of_file::<F>(&mut Source::of(&mut file), options.get_limits());
            }
            Self::Range(file, range) => Source::part_of_file(file, range.clone()),
            #[cfg(feature = "npz")]
            Self::Blocks(blocks) => Source::of_blocks(blocks),
            #[cfg(feature = "object")]
            Self::Other(bytes, range) => Source::part_of(&**bytes, range.clone()),
        };
        io::read_header::<F>(&mut source, options.get_limits())
    }
}

impl<F: ArrayFormat> ArrayFile<F> {
    /// Opens a file by its path and reads its header.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`Objects`](crate::error::ErrorKind::Objects) of Python objects and
    /// [`Packed`](crate::error::ErrorKind::Packed) of packed RA files, which cannot be read in parts;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits). (Whether all elements are there is looked at
    /// when they are read.)
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::open_with(path, &ReadOptions::new())
    }

    /// The same with options for all that is read.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`Objects`](crate::error::ErrorKind::Objects) of Python objects and
    /// [`Packed`](crate::error::ErrorKind::Packed) of packed RA files, which cannot be read in parts;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits). (Whether all elements are there is looked at
    /// when they are read.)
    pub fn open_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let open = || Self::new_with(File::open(path)?, options);
        Ok(Self { path: Some(path.to_owned()), ..open().map_err(|error: Error| error.at_path(path))? })
    }

    /// The array that a file has from its beginning.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`Objects`](crate::error::ErrorKind::Objects) of Python objects and
    /// [`Packed`](crate::error::ErrorKind::Packed) of packed RA files, which cannot be read in parts;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits). (Whether all elements are there is looked at
    /// when they are read.)
    pub fn new(file: File) -> Result<Self> {
        Self::new_with(file, &ReadOptions::new())
    }

    /// The same with options for all that is read.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`Objects`](crate::error::ErrorKind::Objects) of Python objects and
    /// [`Packed`](crate::error::ErrorKind::Packed) of packed RA files, which cannot be read in parts;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits). (Whether all elements are there is looked at
    /// when they are read.)
    pub fn new_with(file: File, options: &ReadOptions) -> Result<Self> {
        Self::shared(Arc::new(file), options)
    }

    /// The same of a file that another one has as well.
    pub(super) fn shared(shared: Arc<File>, options: &ReadOptions) -> Result<Self> {
        let bytes = FileBytes::File(shared);
        let found = bytes.read_header::<F>(options)?;
        Self::of(bytes, found, options)
    }

    pub(crate) fn of(
        bytes: FileBytes,
        (found, data_offset): (F::Found, usize),
        options: &ReadOptions,
    ) -> Result<Self> {
        F::check_plain(&found, options)?;
        let header = F::header(&found);
        if header.payload_len().is_none() {
            let error = Error::from(ErrorKind::Objects { found: header.dtype().clone() });
            return Err(error.with_help(Help::ReadPickle)); // they are one pickle, of which no part can be read
        }
        let options = F::gate(&found, options).into_owned();
        Ok(Self { bytes, path: None, member: None, locked: None, found, data_offset, options })
    }

    pub(crate) fn header(&self) -> &Header {
        F::header(&self.found)
    }

    /// The bytes of the array, wherever they are.
    pub(crate) fn anywhere(&self) -> Anywhere<'_> {
        self.bytes.anywhere(self.data_offset as u64)
    }

    /// An error if the file is shorter than its array.
    pub(crate) fn check_complete(&self) -> Result<()> {
        let header = self.header();
        let whole = ByteRuns::of_bytes(
            0,
            vec![(header.count(), header.dtype().item_size() as u64)],
            header.dtype().item_size(),
        );
        match whole.len() == header.payload_len().unwrap_or_default() {
            true => self.check_runs(&whole),
            false => self.check_length(header.payload_len().unwrap_or_default()), // more than this machine can address
        }
    }

    /// The same file with the lock of who writes parts of it.
    pub(super) fn locked_by(self, locked: Locked, path: &Path) -> Self {
        Self { locked: Some(locked), path: Some(path.to_owned()), ..self }
    }

    /// How many bytes there are, header included.
    fn file_len(&self) -> Result<u64> {
        self.bytes.len().map_err(|error| self.at_path(error))
    }

    /// An error if some of these bytes of the array do not exist.
    fn check_runs(&self, runs: &ByteRuns) -> Result<()> {
        #[cfg(feature = "object")]
        if let FileBytes::Other(bytes, _) = &self.bytes {
            bytes.check(runs).map_err(|error| self.at_path(error))?;
        }
        self.check_length(runs.end())
    }

    fn check_length(&self, need: u64) -> Result<()> {
        let have = self.file_len()?;
        if have < (self.data_offset as u64).saturating_add(need) {
            let have = have.saturating_sub(self.data_offset as u64);
            return Err(self.at_path(transfer::truncated(self.header(), have)));
        }
        Ok(())
    }

    /// Reads the header again: another process may have appended rows, which [`ArrayFile::shape`] has from then on. Says
    /// whether the shape is another. The dtype and the order have to be the same.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits);
    /// [`ArrayChanged`](crate::error::ErrorKind::ArrayChanged) if the file holds another array by now.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, Array1};
    /// use ndarray_io::{NpyFile, NpyWriter};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("log.npy");
    /// let mut writer = NpyWriter::create(&path, &[])?;
    /// let mut file = NpyFile::open(&path)?;
    /// writer.push(&arr1(&[1, 2]))?;
    /// writer.checkpoint()?;
    /// assert!(file.refresh()?);
    /// assert_eq!(file.read::<Array1<i32>>()?, arr1(&[1, 2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refresh(&mut self) -> Result<bool> {
        #[cfg(feature = "object")]
        if let FileBytes::Other(..) = &self.bytes {
            let reason =
                "only files are refreshed: stacks by themselves, and what is in a store is opened again"
                    .into();
            return Err(self.at_path(ErrorKind::BadOption { reason }.into()));
        }
        let found = self.bytes.read_header::<F>(&self.options);
        let (found, data_offset) = found.map_err(|error| self.at_path(error))?;
        let (old, new) = (self.header(), F::header(&found));
        if (old.dtype(), old.order()) != (new.dtype(), new.order()) || self.data_offset != data_offset {
            let reason = "the file holds another array than when it was opened".into();
            return Err(self.at_path(ErrorKind::ArrayChanged { reason }.into()));
        }
        let is_other = old.shape() != new.shape();
        self.found = found;
        Ok(is_other)
    }

    /// What the elements are.
    pub fn dtype(&self) -> &DType {
        self.header().dtype()
    }

    /// How the elements follow one another.
    pub fn order(&self) -> Order {
        self.header().order()
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.header().shape()
    }

    /// Where the elements begin, in bytes.
    pub fn data_offset(&self) -> u64 {
        self.data_offset as u64
    }

    /// How many bytes follow the array. `None` if the file is shorter than its array.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails.
    pub fn trailing_len(&self) -> Result<Option<u64>> {
        let array = self.data_offset as u64 + self.header().payload_len().unwrap_or_default();
        Ok(self.file_len()?.checked_sub(array))
    }

    pub(crate) fn id(&self) -> Result<Option<FileId>> {
        match &self.bytes {
            FileBytes::File(file) | FileBytes::Range(file, _) => Ok(id_of(file)?),
            #[cfg(any(feature = "npz", feature = "object"))]
            _ => Ok(None),
        }
    }

    /// Reads all of it.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn read<T: FromPayload>(&self) -> Result<T> {
        let header = self.header();
        let whole = ByteRuns::new(
            0,
            vec![(header.in_memory().map_err(|error| self.at_path(error))?.0, 1)],
            header.dtype().item_size(),
        );
        self.with_picked(header, &whole, T::from_payload)
    }

    /// Reads a part, as ndarray's `slice` takes it of an array.
    ///
    /// Only the bytes that it needs are read, where they are close together with what lies between them. Indices that the
    /// array has not are an error.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the slice asks for indices that the array does not have;
    /// [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the slice has another number of axes;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits);
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback.
    pub fn slice<A, I>(&self, slice: I) -> Result<Array<A, I::OutDim>>
    where
        A: ReadableElement,
        I: SliceArg<IxDyn>,
    {
        let selection = self.selection::<A>(&slice).map_err(|error| self.at_path(error))?;
        let array: ArrayD<A> = self.select(&selection)?;
        arranged(&selection, array).map_err(|error| self.at_path(error))
    }

    /// Reads a part into an array that is there, of whatever strides, which has the shape of the slice.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the slice asks for indices that the array does not have;
    /// [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the slice has another number of axes;
    /// [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the array has another shape than the part;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits);
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback.
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
            let mut target = selection.target(array.view_mut().into_dyn())?;
            let (header, picked) = selection.locate(self.header())?;
            self.with_picked(&header, &picked, |PayloadRef(payload)| read_into(&mut target, payload))
        };
        read().map_err(|error| self.at_path(error))
    }

    /// Reads some indices along an axis, in the order in which they are given, as `numpy.take` does: rows at random for a training
    /// loop, for example. An index may come more than once; one that the array has not is an error.
    ///
    /// They are read in the order of the file and where they are close together by one call; what is not in memory is asked of the
    /// disk at once.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the array does not have the axis or the indices;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits);
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback.
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
    pub fn take<T: FromPayload>(&self, axis: usize, indices: &[usize]) -> Result<T> {
        let locate = || Selection::listed(self.header(), self.axis_of::<T>(axis)?, indices);
        let (header, picked) = locate().map_err(|error| self.at_path(error))?;
        self.with_picked(&header, &picked, T::from_payload)
    }

    /// Reads those indices along an axis whose place in the mask is `true`, as NumPy's boolean indexing does. The mask has a place
    /// for each index.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the array does not have the axis or the indices, or the mask another
    /// length; [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if
    /// the file is malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
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
    pub fn take_where<T: FromPayload>(&self, axis: usize, mask: &[bool]) -> Result<T> {
        let in_file = self.axis_of::<T>(axis).map_err(|error| self.at_path(error))?;
        if self.shape().get(in_file).is_some_and(|length| *length != mask.len()) {
            let reason = format!(
                "a mask of {} for axis {axis} of an array of shape {}",
                mask.len(),
                self.header().the_shape()
            );
            return Err(self.at_path(ErrorKind::BadOption { reason }.into()));
        }
        let indices: Vec<usize> = (0..mask.len()).filter(|index| mask[*index]).collect();
        self.take(axis, &indices)
    }

    /// Goes through the array in pieces of so many indices along an axis, each read when it is asked for: memory does not
    /// depend on the size of the file. The last piece may be shorter.
    ///
    /// Pieces along the axis that varies slowest (the first, in Fortran order the last) are read fastest.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the array has no such axis, or pieces would have no length;
    /// [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the number of axes is another. (Elements of another type are an error
    /// of the first piece.)
    pub fn chunks<A: ReadableElement, D: Dimension>(
        &self,
        axis: usize,
        length: usize,
    ) -> Result<Chunks<'_, A, D, F>> {
        Chunks::new(self, axis, length).map_err(|error| self.at_path(error))
    }

    /// Goes through the array row by row: along the axis that varies slowest, which the rows do not have.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the array has no axes;
    /// [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the number of axes is another. (Elements of another type are an error
    /// of the first row.)
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
        A: ReadableElement + Clone,
        D: ndarray::RemoveAxis,
    {
        /// How many bytes of rows are read at a time.
        const AT_A_TIME: u64 = 1 << 20;
        let shape = Axes::of::<A>(self.header(), &self.options).map_err(|error| self.at_path(error))?.shape;
        let axis = slowest(self.order(), &shape);
        let rows = shape.dims().get(axis).copied().unwrap_or(0);
        let bytes = self.header().payload_len().unwrap_or_default() / rows.max(1) as u64;
        let chunks = self.chunks::<A, D>(axis, (AT_A_TIME / bytes.max(1)).max(1) as usize)?;
        Ok(chunks.flat_map(move |chunk| {
            let (rows, error) = match chunk {
                Ok(chunk) => {
                    let rows = chunk.axis_iter(ndarray::Axis(axis)).map(|row| Ok(row.to_owned()));
                    (rows.collect::<Vec<_>>(), None)
                }
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            rows.into_iter().chain(error)
        }))
    }

    /// Which of the file's axes is this one of an array: elements that are arrays have some of their own.
    fn axis_of<T: FromPayload>(&self, axis: usize) -> Result<usize> {
        let (shape, inner) = (self.header().the_shape(), T::inner_ndim());
        if axis >= shape.ndim().saturating_sub(inner) {
            let reason = format!("an array of shape {shape} has no axis {axis}");
            return Err(ErrorKind::BadOption { reason }.into());
        }
        Ok(if self.options.is_innermost_first() { axis + inner } else { axis })
    }

    fn selection<A: ReadableElement>(&self, slice: &impl SliceArg<IxDyn>) -> Result<Selection> {
        Axes::of::<A>(self.header(), &self.options)?.selection(slice)
    }

    pub(crate) fn select<T: FromPayload>(&self, selection: &Selection) -> Result<T> {
        let (header, picked) = selection.locate(self.header()).map_err(|error| self.at_path(error))?;
        self.with_picked(&header, &picked, T::from_payload)
    }

    /// Calls with the bytes that are picked, and the header of the array that they are.
    fn with_picked<T>(
        &self,
        header: &Header,
        picked: &ByteRuns,
        read: impl FnOnce(PayloadRef<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        // What the file does not have is not made room for.
        self.check_runs(picked)?;
        let mut source = Source::picked(self.anywhere(), picked);
        let payload = Payload { source: &mut source, header, options: &self.options };
        read(PayloadRef(payload)).map_err(|error| self.at_path(error))
    }

    /// The same array with the name of what it is in, for errors.
    #[cfg(feature = "object")]
    pub(crate) fn called(self, path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }

    pub(crate) fn at_path(&self, error: Error) -> Error {
        let error = match &self.member {
            Some(name) => error.at_member(name),
            None => error,
        };
        match &self.path {
            Some(path) => error.at_path(path),
            None => error,
        }
    }
}

impl NpyFile {
    /// The array in some bytes, which are a member of an archive.
    #[cfg(feature = "npz")]
    pub(crate) fn member(
        path: Option<&Path>,
        name: &str,
        bytes: FileBytes,
        options: &ReadOptions,
    ) -> Result<Self> {
        let found = bytes.read_header::<Npy>(options);
        let made = found.and_then(|found| Self::of(bytes, found, options));
        let made = made.map_err(|error| error.at_member(name))?;
        Ok(Self { path: path.map(Path::to_owned), member: Some(name.to_owned()), ..made })
    }

    /// The version of the format.
    pub fn version(&self) -> Version {
        self.found.version
    }
}

/// The axis that varies slowest.
fn slowest(order: Order, shape: &Shape) -> usize {
    match order {
        Order::C => 0,
        Order::Fortran => shape.ndim().saturating_sub(1),
    }
}

pub(super) fn arranged<A, D: Dimension>(selection: &Selection, array: ArrayD<A>) -> Result<Array<A, D>> {
    let arranged = selection.arrange(array);
    let found = Shape::from(arranged.shape());
    arranged.into_dimensionality().map_err(|_| {
        // The slice's type says how many axes come out of it; a dynamic one fits any.
        ErrorKind::RankMismatch { found, wanted: D::NDIM.unwrap_or_default() }.into()
    })
}
