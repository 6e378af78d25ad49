//! [`ArrayFile`]: random access to parts of an array in a file.

use std::fs::File;
use std::io::Seek;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::{Array, ArrayD, ArrayRef, Dimension, IxDyn, SliceArg};

use super::select::{Axes, Selection};
use crate::array::read_into;
use crate::bytes::{LocalFile, ReadAt, Region, Runs, SharedRegion, len_of_regular};
use crate::dtype::DType;
use crate::element::{ReadableElement, inner_of};
use crate::error::{Error, ErrorKind, Help, Result};
use crate::header::Header;
use crate::io::change::{FileId, Locked, id_of};
use crate::io::{self, ArrayFormat, FromPayload, Npy, Payload, PayloadRef, Ra};
use crate::npy_format::Version;
use crate::options::ReadOptions;
use crate::shape::{Order, Shape};
use crate::transfer::{self, Source};

/// A handle to an NPY file of any size, for reading and writing parts of its array.
///
/// [`open`](ArrayFile::open) reads only the header. [`slice`](ArrayFile::slice) reads the part that ndarray's
/// `s![]` selects, [`take`](ArrayFile::take) reads individual indices of an axis,
/// [`chunks`](ArrayFile::chunks) and [`rows`](ArrayFile::rows) iterate over the array in pieces, and
/// [`read`](ArrayFile::read) reads all of it. Memory use depends on the size of the part, not the file.
/// [`write_slice`](ArrayFile::write_slice) changes parts of a file that was opened with
/// [`open_to_write`](ArrayFile::open_to_write).
///
/// Reads are positional, so threads can share a handle, and no buffered reader is needed. The file may be
/// read while another process appends to it: [`refresh`](ArrayFile::refresh) picks up new rows.
/// `NpzFile::open_member` opens a member of an archive.
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

/// A handle to an RA file of any size, for reading and writing parts of its array.
///
/// The data must not be compressed or stored as single bits.
pub type RaFile = ArrayFile<Ra>;

/// A handle to an array in a file: see [`NpyFile`] and [`RaFile`](crate::ra::RaFile).
///
/// Reads are positional, so threads can share a handle and read concurrently. Bytes after the array, such as
/// rows that another process is appending, are ignored: see [`ArrayFile::trailing_len`].
///
/// # Examples
///
/// ```
/// use ndarray::{arr2, s, Array2};
/// use ndarray_io::NpyFile;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npy(&path, &Array2::from_shape_fn((1000, 50), |(row, column)| (row * 100 + column) as u64))?;
/// let file = NpyFile::open(&path)?;
/// let part: Array2<u64> = file.slice(s![10..12, ..;25])?; // reads only the bytes of the part
/// assert_eq!(part, arr2(&[[1000, 1025], [1100, 1125]]));
/// let mut sum = 0;
/// for chunk in file.chunks::<u64, ndarray::Ix2>(0, 100)? { // 100 rows at a time
///     sum += chunk?.sum();
/// }
/// # assert_eq!(sum, 2_498_725_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ArrayFile<F: ArrayFormat> {
    pub(super) bytes: SharedRegion,
    path: Option<PathBuf>,
    /// The name of the member, if the file is a member of an archive.
    member: Option<String>,
    /// The lock for changing elements, if the file was opened with `open_to_write`.
    pub(super) locked: Option<Locked>,
    found: F::Found,
    data_offset: usize,
    /// Why the array cannot be refreshed, if it cannot.
    fixed: Option<&'static str>,
    pub(super) options: ReadOptions,
}

/// Reads the header at the start of bytes.
pub(super) fn header_of<F: ArrayFormat>(
    bytes: &SharedRegion,
    options: &ReadOptions,
) -> Result<(F::Found, usize)> {
    let mut source = Source::region(bytes.get().fixed()?);
    match bytes.lock_file() {
        // This handles a header that another process is changing as it appends.
        Some(_) => io::read_header_of_file::<F>(&mut source, options.get_limits()),
        None => io::read_header::<F>(&mut source, options.get_limits()),
    }
}

impl<F: ArrayFormat> ArrayFile<F> {
    /// Opens a file and reads its header.
    ///
    /// A truncated payload is detected only when it is read.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the header is malformed or truncated.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects, which cannot be
    ///   read in parts.
    /// - [`Packed`](crate::error::ErrorKind::Packed) if the data of an RA file is compressed or stored as
    ///   single bits, since such data cannot be read in parts.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::open_with(path, &ReadOptions::new())
    }

    /// Opens a file and reads its header, with options.
    ///
    /// The options also apply to all later reads. A truncated payload is detected only when it is read.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the header is malformed or truncated.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects, which cannot be
    ///   read in parts.
    /// - [`Packed`](crate::error::ErrorKind::Packed) if the data of an RA file is compressed or stored as
    ///   single bits, since such data cannot be read in parts.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    pub fn open_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let open = || Self::new_with(File::open(path)?, options);
        Ok(Self { path: Some(path.to_owned()), ..open().map_err(|error: Error| error.at_path(path))? })
    }

    /// Reads the header at the start of an open file, regardless of the file's position.
    ///
    /// A truncated payload is detected only when it is read.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the header is malformed or truncated.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects, which cannot be
    ///   read in parts.
    /// - [`Packed`](crate::error::ErrorKind::Packed) if the data of an RA file is compressed or stored as
    ///   single bits, since such data cannot be read in parts.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    pub fn new(file: File) -> Result<Self> {
        Self::new_with(file, &ReadOptions::new())
    }

    /// Reads the header at the start of an open file, with options.
    ///
    /// The options also apply to all later reads. A truncated payload is detected only when it is read.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the header is malformed or truncated.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects, which cannot be
    ///   read in parts.
    /// - [`Packed`](crate::error::ErrorKind::Packed) if the data of an RA file is compressed or stored as
    ///   single bits, since such data cannot be read in parts.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    pub fn new_with(file: File, options: &ReadOptions) -> Result<Self> {
        Self::shared(Arc::new(file), options)
    }

    /// Like [`ArrayFile::new_with`], for a shared file handle.
    pub(super) fn shared(file: Arc<File>, options: &ReadOptions) -> Result<Self> {
        if len_of_regular(&file).is_none() {
            (&*file).rewind()?; // the error for a pipe, which has no positions
        }
        Self::open_in(SharedRegion::of(Arc::new(LocalFile(file))), options)
    }

    /// Reads the header at the start of a [source](ReadAt) of bytes.
    ///
    /// A truncated payload is detected only when it is read.
    ///
    /// # Errors
    ///
    /// - Those of the source.
    /// - A [format error](crate::Error::is_format) if the header is malformed or truncated.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects, which cannot be
    ///   read in parts.
    /// - [`Packed`](crate::error::ErrorKind::Packed) if the data of an RA file is compressed or stored as
    ///   single bits, since such data cannot be read in parts.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, arr2, s};
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::{NpyFile, WriteNpyExt};
    ///
    /// let mut bytes = Vec::new();
    /// arr2(&[[1, 2, 3], [4, 5, 6]]).write_npy(&mut bytes)?;
    /// let file = NpyFile::from_source(InMemory(bytes))?;
    /// assert_eq!(file.slice::<i32, _>(s![.., 2])?, arr1(&[3, 6]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn from_source<S: ReadAt + 'static>(source: S) -> Result<Self> {
        Self::from_source_with(source, &ReadOptions::new())
    }

    /// Reads the header at the start of a [source](ReadAt) of bytes, with options.
    ///
    /// The options also apply to all later reads.
    ///
    /// # Errors
    ///
    /// Those of [`from_source`](ArrayFile::from_source).
    pub fn from_source_with<S: ReadAt + 'static>(source: S, options: &ReadOptions) -> Result<Self> {
        Self::open_in(SharedRegion::of(Arc::new(source)), options)
    }

    /// Reads the header at the start of bytes.
    pub(crate) fn open_in(bytes: SharedRegion, options: &ReadOptions) -> Result<Self> {
        let found = header_of::<F>(&bytes, options)?;
        Self::of(bytes, found, options)
    }

    pub(crate) fn of(
        bytes: SharedRegion,
        (found, data_offset): (F::Found, usize),
        options: &ReadOptions,
    ) -> Result<Self> {
        F::check_plain(&found, options)?;
        let header = F::header(&found);
        if header.payload_len().is_none() {
            let error = Error::from(ErrorKind::Objects { found: header.dtype().clone() });
            return Err(error.with_help(Help::ReadPickle)); // the pickle of all objects cannot be read in parts
        }
        let options = F::gate(&found, options).into_owned();
        Ok(Self { bytes, path: None, member: None, locked: None, found, data_offset, fixed: None, options })
    }

    pub(crate) fn header(&self) -> &Header {
        F::header(&self.found)
    }

    /// Returns the bytes of the array's elements.
    pub(crate) fn payload(&self) -> Region<'_> {
        self.bytes.get().after(self.data_offset as u64)
    }

    /// Returns shared access to the bytes of the array's elements.
    #[cfg(feature = "refs")]
    pub(crate) fn shared_payload(&self) -> SharedRegion {
        self.bytes.after(self.data_offset as u64)
    }

    /// Returns an error if the file is shorter than its array.
    pub(crate) fn check_complete(&self) -> Result<()> {
        let header = self.header();
        let whole = Runs::of_bytes(
            0,
            vec![(header.count(), header.dtype().item_size() as u64)],
            header.dtype().item_size(),
        );
        match whole.byte_len() == header.payload_len().unwrap_or_default() {
            true => self.check_runs(&whole),
            false => self.check_length(header.payload_len().unwrap_or_default()), // larger than the address space of this machine
        }
    }

    /// Attaches the lock for writing parts, and the path to report in errors.
    pub(super) fn locked_by(self, locked: Locked, path: &Path) -> Self {
        Self { locked: Some(locked), path: Some(path.to_owned()), ..self }
    }

    /// Returns the current length in bytes, including the header.
    fn file_len(&self) -> Result<u64> {
        self.bytes.get().len().map_err(|error| self.at_path(error))
    }

    /// Returns an error if any of these byte ranges of the array are missing.
    fn check_runs(&self, runs: &Runs) -> Result<()> {
        // The length first: a header may declare more runs than could be visited.
        self.check_length(runs.end())?;
        self.payload().check(runs).map_err(|error| self.at_path(error))
    }

    fn check_length(&self, need: u64) -> Result<()> {
        let have = self.file_len()?;
        if have < (self.data_offset as u64).saturating_add(need) {
            let have = have.saturating_sub(self.data_offset as u64);
            return Err(self.at_path(transfer::truncated(self.header(), have)));
        }
        Ok(())
    }

    /// Reads the header again and returns whether the shape has changed.
    ///
    /// If another process has appended rows, [`ArrayFile::shape`] then includes them. The dtype, the order
    /// and the offset of the elements must not have changed.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the header is malformed or truncated.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    /// - [`ArrayChanged`](crate::error::ErrorKind::ArrayChanged) if the file now contains a different array.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the array is a stack or an object in a store.
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
        if let Some(reason) = self.fixed {
            return Err(self.at_path(ErrorKind::BadOption { reason: reason.into() }.into()));
        }
        let found = header_of::<F>(&self.bytes, &self.options);
        let (found, data_offset) = found.map_err(|error| self.at_path(error))?;
        let (old, new) = (self.header(), F::header(&found));
        // A different offset means that the file has been rewritten, even with the same dtype.
        if (old.dtype(), old.order()) != (new.dtype(), new.order()) || self.data_offset != data_offset {
            let reason = "the file contains a different array than when it was opened".into();
            return Err(self.at_path(ErrorKind::ArrayChanged { reason }.into()));
        }
        let is_other = old.shape() != new.shape();
        self.found = found;
        Ok(is_other)
    }

    /// Returns the path of the file, or that of [`with_path`](ArrayFile::with_path).
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the type of the elements.
    pub fn dtype(&self) -> &DType {
        self.header().dtype()
    }

    /// Returns the order in which the elements are stored.
    pub fn order(&self) -> Order {
        self.header().order()
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.header().shape()
    }

    /// Returns the offset of the elements from the start of the header, in bytes.
    pub fn data_offset(&self) -> u64 {
        self.data_offset as u64
    }

    /// Returns the number of bytes after the array, or `None` if the file is shorter than its array.
    ///
    /// Each call queries the current length of the file.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    pub fn trailing_len(&self) -> Result<Option<u64>> {
        let array = self.data_offset as u64 + self.header().payload_len().unwrap_or_default();
        Ok(self.file_len()?.checked_sub(array))
    }

    pub(crate) fn id(&self) -> Result<Option<FileId>> {
        let region = self.bytes.get();
        match region.file().map(|(file, _)| file).or(region.lock_file()) {
            Some(file) => Ok(id_of(file)?),
            None => Ok(None),
        }
    }

    /// Reads the entire array.
    ///
    /// Bytes after the array are ignored.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    pub fn read<T: FromPayload>(&self) -> Result<T> {
        let header = self.header();
        let whole = Runs::new(
            0,
            vec![(header.in_memory().map_err(|error| self.at_path(error))?.0, 1)],
            header.dtype().item_size(),
        );
        self.with_picked(header, &whole, (T::inner_ndim(), &self.options), T::from_payload)
    }

    /// Reads the part of the array that ndarray's `slice` would select.
    ///
    /// Byte ranges that are close together are read with one call, including the bytes between them. No other
    /// bytes outside the part are read.
    ///
    /// # Errors
    ///
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the slice is out of bounds or has a step of 0.
    /// - [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the slice has a different number of axes.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
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
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the slice is out of bounds or has a step of 0.
    /// - [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the slice has a different number of axes.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the array and the slice have different
    ///   shapes.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
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
            let inner = (inner_of::<A>().len(), &self.options);
            self.with_picked(&header, &picked, inner, |PayloadRef(payload)| read_into(&mut target, payload))
        };
        read().map_err(|error| self.at_path(error))
    }

    /// Reads the given indices along an axis, in the given order, as `numpy.take` does.
    ///
    /// A typical use is to read random rows in a training loop. An index may occur more than once.
    ///
    /// The bytes are read in file order, and ranges that are close together are read with one call. Data that
    /// the operating system has not cached is requested from the disk all at once.
    ///
    /// # Errors
    ///
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the axis does not exist or an index is out of
    ///   bounds.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
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
        self.with_picked(&header, &picked, (T::inner_ndim(), &self.options), T::from_payload)
    }

    /// Reads the indices along an axis where the mask is `true`, as NumPy's boolean indexing does.
    ///
    /// The mask must have the length of the axis.
    ///
    /// # Errors
    ///
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the axis does not exist or the mask has a
    ///   different length.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
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
                "the mask has length {} for axis {axis} of an array of shape {}",
                mask.len(),
                self.header().shape_ref()
            );
            return Err(self.at_path(ErrorKind::BadOption { reason }.into()));
        }
        let indices: Vec<usize> = (0..mask.len()).filter(|index| mask[*index]).collect();
        self.take(axis, &indices)
    }

    /// Reads a box, given by a range of indices along each axis of the array, which must be within bounds.
    pub(crate) fn read_ranges<T: FromPayload>(
        &self,
        ranges: &[Range<usize>],
        options: &ReadOptions,
    ) -> Result<T> {
        let locate =
            || Axes::of(self.header(), T::inner_ndim(), options)?.within(ranges).locate(self.header());
        let (header, picked) = locate().map_err(|error| self.at_path(error))?;
        self.with_picked(&header, &picked, (T::inner_ndim(), options), T::from_payload)
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
        Axes::of(self.header(), inner_of::<A>().len(), &self.options)
    }

    /// Returns the path and the member that errors report.
    pub(crate) fn place(&self) -> (Option<PathBuf>, Option<String>) {
        (self.path.clone(), self.member.clone())
    }

    pub(crate) fn the_options(&self) -> &ReadOptions {
        &self.options
    }

    /// Returns the axis of the file that corresponds to an axis of the array.
    ///
    /// If the elements are arrays, their axes come first in RA files.
    fn axis_of<T: FromPayload>(&self, axis: usize) -> Result<usize> {
        let (shape, inner) = (self.header().shape_ref(), T::inner_ndim());
        if axis >= shape.ndim().saturating_sub(inner) {
            let reason = format!("an array of shape {shape} has no axis {axis}");
            return Err(ErrorKind::BadOption { reason }.into());
        }
        Ok(if self.options.is_innermost_first() { axis + inner } else { axis })
    }

    fn selection<A: ReadableElement>(&self, slice: &impl SliceArg<IxDyn>) -> Result<Selection> {
        self.axes::<A>()?.selection(slice)
    }

    pub(crate) fn select<T: FromPayload>(&self, selection: &Selection) -> Result<T> {
        let (header, picked) = selection.locate(self.header()).map_err(|error| self.at_path(error))?;
        self.with_picked(&header, &picked, (T::inner_ndim(), &self.options), T::from_payload)
    }

    /// Passes the selected bytes to `read`, as a payload with the given header.
    ///
    /// `inner` is the number of axes of each element. Errors name elements by their place in the file.
    fn with_picked<T>(
        &self,
        header: &Header,
        picked: &Runs,
        (inner, options): (usize, &ReadOptions),
        read: impl FnOnce(PayloadRef<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        // Check before memory is allocated: the header may declare more than the file contains.
        self.check_runs(picked)?;
        let mut source = Source::runs(self.payload(), picked);
        let payload = Payload { source: &mut source, header, options };
        read(PayloadRef(payload)).map_err(|error| {
            let is_first = options.is_innermost_first();
            self.at_path(self.header().name_selected(error, header, picked, (inner, is_first)))
        })
    }

    /// Sets the path that errors report, for an array that was not opened by path.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::{NpyFile, WriteNpyExt};
    ///
    /// # let mut bytes = Vec::new();
    /// # ndarray::arr1(&[1, 2]).write_npy(&mut bytes)?;
    /// let file = NpyFile::from_source(InMemory(bytes))?.with_path("cache:scan");
    /// let error = file.slice::<i32, _>(ndarray::s![7]).unwrap_err();
    /// assert!(error.to_string().starts_with("cache:scan: "));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[must_use]
    pub fn with_path<P: Into<PathBuf>>(self, path: P) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// Sets why the array cannot be refreshed.
    #[cfg_attr(not(feature = "object"), allow(dead_code))]
    pub(crate) fn fixed(self, reason: &'static str) -> Self {
        Self { fixed: Some(reason), ..self }
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
    /// Opens an archive member whose content is `bytes`.
    #[cfg(feature = "npz")]
    pub(crate) fn member(
        path: Option<&Path>,
        name: &str,
        bytes: SharedRegion,
        options: &ReadOptions,
    ) -> Result<Self> {
        let made = Self::open_in(bytes, options).map_err(|error| error.at_member(name))?;
        Ok(Self { path: path.map(Path::to_owned), member: Some(name.to_owned()), ..made })
    }

    /// Returns the version of the format.
    pub fn version(&self) -> Version {
        self.found.version
    }
}

pub(super) fn arranged<A, D: Dimension>(selection: &Selection, array: ArrayD<A>) -> Result<Array<A, D>> {
    let arranged = selection.arrange(array);
    let found = Shape::from(arranged.shape());
    arranged.into_dimensionality().map_err(|_| {
        // The type of the slice determines the number of axes. If it is dynamic, any number is accepted.
        ErrorKind::RankMismatch { found, wanted: D::NDIM.unwrap_or_default() }.into()
    })
}
