//! [`NpyFile`]: random access to parts of an array in a file.

use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bytes::{LocalFile, ReadAt, Region, Runs, SharedRegion, len_of_regular};
use crate::dtype::DType;
use crate::error::{Error, Fault, Result};
use crate::header::{Extent, Header};
use crate::io::change::{FileId, id_of, is_being_changed};
use crate::io::{self, Expected, FormatHeader};
use crate::npy_format::{NpyHeader, Version};
use crate::options::ReadOptions;
use crate::ra_format::RaHeader;
use crate::shape::Order;
use crate::transfer::{self, Source};

/// A handle to an NPY or RA file of any size, for reading parts of its array.
///
/// The format is recognized by the first bytes: [`ra_header`](NpyFile::ra_header) and [`npy_header`](NpyFile::npy_header) tell which it is. The data of an RA
/// file must not be compressed or stored as single bits.
///
/// [`open`](NpyFile::open) reads only the header. [`slice`](NpyFile::slice) reads the part that ndarray's
/// `s![]` selects, [`take`](NpyFile::take) reads individual indices of an axis,
/// [`chunks`](NpyFile::chunks) and [`rows`](NpyFile::rows) iterate over the array in pieces, and
/// [`read`](NpyFile::read) reads all of it. Memory use depends on the size of the part, not the file.
/// [`NpyFileMut`](crate::NpyFileMut) writes parts as well.
///
/// Reads are positional, so threads can share a handle, and no buffered reader is needed. The file may be
/// read while another process appends to it: [`refresh`](NpyFile::refresh) picks up new rows. With the feature
/// `mmap`, `with_map` copies scattered elements out of a map.
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
#[derive(Debug)]
pub struct NpyFile {
    pub(super) bytes: SharedRegion,
    path: Option<PathBuf>,
    /// The name of the member, if the file is a member of an archive.
    member: Option<String>,
    format_header: FormatHeader,
    data_offset: usize,
    /// Why the array cannot be refreshed, if it cannot.
    refresh_obstacle: Option<&'static str>,
    pub(super) options: ReadOptions,
    /// The map of the elements, from which scattered ones are copied.
    map: Option<ElementMap>,
}

/// A map of the elements of a file.
#[derive(Clone, Debug)]
struct ElementMap {
    elements: Arc<dyn ReadAt>,
    /// Maps them again, when there are more.
    remap: RemapFn,
}

pub(crate) type RemapFn = fn(&NpyFile) -> Result<Arc<dyn ReadAt>>;

/// Reads the header at the start of bytes.
pub(super) fn header_of(
    bytes: &SharedRegion,
    expected: Expected,
    options: &ReadOptions,
) -> Result<(FormatHeader, usize)> {
    let mut source = Source::region(bytes.get().with_known_end()?);
    match bytes.lock_file() {
        // This handles a header that another process is changing as it appends.
        Some(_) => io::read_header_of_file(&mut source, expected, options),
        None => io::read_header(&mut source, expected, options),
    }
}

impl NpyFile {
    /// Opens a file and reads its header: [`ReadOptions::open`] without options.
    ///
    /// # Errors
    ///
    /// Those of [`ReadOptions::open`].
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        ReadOptions::new().open(path)
    }

    /// Reads the header at the start of a [source](ReadAt) of bytes: [`ReadOptions::open_source`] without options.
    ///
    /// # Errors
    ///
    /// Those of [`ReadOptions::open_source`].
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
        ReadOptions::new().open_source(source)
    }

    /// Opens a file that must be of this format.
    pub(crate) fn open_expecting(path: &Path, expected: Expected, options: &ReadOptions) -> Result<Self> {
        let open = || Self::of_shared_file(Arc::new(File::open(path)?), expected, options);
        Ok(open().map_err(|error: Error| error.at_path(path))?.with_path(path))
    }

    /// Reads the header at the start of a shared file handle.
    pub(super) fn of_shared_file(file: Arc<File>, expected: Expected, options: &ReadOptions) -> Result<Self> {
        options.refuse_trailing_check()?;
        if len_of_regular(&file).is_none() {
            (&*file).rewind()?; // the error for a pipe, which has no positions
        }
        Self::open_region(SharedRegion::of(Arc::new(LocalFile(file))), expected, options)
    }

    /// Reads the header at the start of bytes.
    pub(crate) fn open_region(
        bytes: SharedRegion,
        expected: Expected,
        options: &ReadOptions,
    ) -> Result<Self> {
        let found = header_of(&bytes, expected, options)?;
        Self::of(bytes, found, options)
    }

    pub(crate) fn of(
        bytes: SharedRegion,
        (found, data_offset): (FormatHeader, usize),
        options: &ReadOptions,
    ) -> Result<Self> {
        found.check_uncompressed(options)?;
        found.header().declared_payload_len()?;
        let options = found.dispatch_options(options).into_owned();
        Ok(Self {
            bytes,
            path: None,
            member: None,
            format_header: found,
            data_offset,
            refresh_obstacle: None,
            options,
            map: None,
        })
    }

    pub(crate) fn header(&self) -> &Header {
        self.format_header.header()
    }

    pub(crate) fn format_header(&self) -> &FormatHeader {
        &self.format_header
    }

    /// Returns the bytes of the array's elements.
    pub(crate) fn payload(&self) -> Region<'_> {
        self.bytes.get().after(self.data_offset as u64)
    }

    /// Returns the bytes of the array's elements for reading these of them.
    pub(super) fn payload_for(&self, selected: &Runs) -> Region<'_> {
        /// Longer runs are read by one call each, which takes no longer than copying them.
        const LONG_RUN_LEN: usize = 16 << 10;
        let map = self.map.as_ref().map(|map| Region::of(&*map.elements));
        let is_in =
            |map: &Region<'_>| map.bytes().is_some_and(|elements| selected.end() <= elements.len() as u64);
        let is_scattered = !selected.is_single_run() && selected.run_len() < LONG_RUN_LEN;
        map.filter(|map| is_scattered && is_in(map)).unwrap_or_else(|| self.payload())
    }

    /// Sets the map from which scattered elements are copied.
    pub(crate) fn set_map(&mut self, elements: Arc<dyn ReadAt>, remap: RemapFn) {
        self.map = Some(ElementMap { elements, remap });
    }

    /// Returns an error if the file is shorter than its array, or its source lacks some of the elements.
    ///
    /// This is the error that reading all of it would give. Bytes after the array are none: see
    /// [`extent`](Self::extent).
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`Truncated`](crate::error::ErrorKind::Truncated) if elements are missing.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::{NpyFile, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// arr1(&[1u8, 2, 3]).write_npy(&mut file)?;
    /// file.pop();
    /// let error = NpyFile::from_source(InMemory(file))?.check_complete().unwrap_err();
    /// assert_eq!(error.to_string(), "truncated: the header declares 3 elements of '|u1' (3 bytes), 2 bytes remain");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn check_complete(&self) -> Result<()> {
        let header = self.header();
        let whole = Runs::with_byte_strides(
            0,
            vec![(header.count(), header.dtype().item_size() as u64)],
            header.dtype().item_size(),
        );
        match whole.byte_len() == header.payload_len().unwrap_or_default() {
            true => self.check_runs(&whole),
            false => self.check_length(header.payload_len().unwrap_or_default()), // larger than the address space of this machine
        }
    }

    /// Returns an error if bytes follow the array, unless they are rows that another process is appending.
    ///
    /// A file that is open may have them, and its elements can be read. This is the check that
    /// [`read_npy`](crate::read_npy) makes, for code that reads all of an array in parts. An RA file may have such bytes, for which this is
    /// an error, too.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`Trailing`](crate::error::ErrorKind::Trailing) if bytes follow the array.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::{NpyFile, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// arr1(&[1u8, 2, 3]).write_npy(&mut file)?;
    /// file.extend([4, 5]);
    /// let error = NpyFile::from_source(InMemory(file))?.check_end().unwrap_err();
    /// assert_eq!(error.to_string(), "found 2 bytes (2 complete rows) after the array");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn check_end(&self) -> Result<()> {
        let of = |stored: Option<u64>, start: u64| -> Result<u64> {
            Ok(self.file_len()?.saturating_sub(start.saturating_add(stored.unwrap_or(u64::MAX))))
        };
        let surplus = of(self.format_header.stored_len(), self.data_offset())?;
        if surplus == 0 {
            return Ok(());
        }
        if let Some(file) = self.bytes.lock_file() {
            // Between the two checks, one append may finish or another may start.
            for _ in 0..3 {
                if is_being_changed(file) {
                    return Ok(());
                }
                let (found, start) = header_of(&self.bytes, self.format_header.expected(), &self.options)
                    .map_err(|error| self.at_path(error))?;
                if of(found.stored_len(), start as u64)? == 0 {
                    return Ok(());
                }
            }
        }
        let rows = surplus.checked_div(self.header().row_bytes()).unwrap_or(0);
        Err(self.at_path(Fault::Trailing { bytes: surplus, at_least: false, rows }.into()))
    }

    /// Returns the current length in bytes, including the header.
    fn file_len(&self) -> Result<u64> {
        self.bytes.get().len().map_err(|error| self.at_path(error))
    }

    /// Returns an error if any of these byte ranges of the array are missing.
    pub(super) fn check_runs(&self, runs: &Runs) -> Result<()> {
        // The length first: a header may declare more runs than could be visited.
        self.check_length(runs.end())?;
        self.payload().check(runs).map_err(|error| self.at_path(error))
    }

    pub(crate) fn check_length(&self, need: u64) -> Result<()> {
        let have = self.file_len()?;
        if have < (self.data_offset as u64).saturating_add(need) {
            let have = have.saturating_sub(self.data_offset as u64);
            return Err(self.at_path(transfer::truncated(self.header(), have)));
        }
        Ok(())
    }

    /// Reads the header again and returns whether the shape has changed.
    ///
    /// If another process has appended rows, [`NpyFile::shape`] then includes them. The dtype, the order
    /// and the offset of the elements must not have changed. A handle of `with_map` maps the elements again.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Changed`](crate::error::ErrorKind::Changed) if the file now contains a different array.
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
    /// writer.push(&[1, 2])?;
    /// writer.commit()?;
    /// assert!(file.refresh()?);
    /// assert_eq!(file.read::<Array1<i32>>()?, arr1(&[1, 2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refresh(&mut self) -> Result<bool> {
        if let Some(reason) = self.refresh_obstacle {
            return Err(self.at_path(Fault::BadOption { reason: reason.into() }.into()));
        }
        let found = header_of(&self.bytes, self.format_header.expected(), &self.options);
        let (found, data_offset) = found.map_err(|error| self.at_path(error))?;
        let (old, new) = (self.header(), found.header());
        // A different offset means that the file has been rewritten, even with the same dtype.
        if (old.dtype(), old.order()) != (new.dtype(), new.order()) || self.data_offset != data_offset {
            let reason = "the file contains a different array than when it was opened".into();
            return Err(self.at_path(Fault::ArrayChanged { reason }.into()));
        }
        let is_other = old.shape() != new.shape();
        let old = std::mem::replace(&mut self.format_header, found);
        if let Some(remap) = self.map.as_ref().filter(|_| is_other).map(|map| map.remap) {
            match remap(self) {
                Ok(elements) => self.set_map(elements, remap),
                Err(error) => {
                    self.format_header = old; // so that the next call tries again
                    return Err(self.at_path(error));
                }
            }
        }
        Ok(is_other)
    }

    /// Returns the path of the file, or that of [`with_path`](NpyFile::with_path).
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

    /// Returns the offset of the elements in the source of bytes: for a member, in its archive.
    ///
    /// ```
    /// use ndarray_io::{NpzFile, NpzWriter};
    /// # let file = tempfile::NamedTempFile::new().unwrap();
    /// let mut npz = NpzWriter::new(file.reopen()?);
    /// npz.add("a", &ndarray::arr1(&[1u8, 2, 3]))?;
    /// npz.finish()?;
    /// let member = NpzFile::open(file.path())?.open_member("a")?;
    /// let at = member.offset_in_source() as usize;
    /// assert_eq!(std::fs::read(file.path())?[at..at + 3], [1, 2, 3]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn offset_in_source(&self) -> u64 {
        self.payload().start()
    }

    /// Returns whether the file is whole, and otherwise how many bytes are missing or follow.
    ///
    /// Each call queries the current length of the file.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    pub fn extent(&self) -> Result<Extent> {
        let array = self.header().payload_len().unwrap_or_default();
        Ok(Extent::of(self.file_len()?, array.saturating_add(self.data_offset as u64)))
    }

    pub(crate) fn id(&self) -> Result<Option<FileId>> {
        let region = self.bytes.get();
        match region.file().map(|(file, _)| file).or(region.lock_file()) {
            Some(file) => Ok(id_of(file)?),
            None => Ok(None),
        }
    }

    /// Returns the path and the member that errors report.
    pub(crate) fn error_location(&self) -> (Option<PathBuf>, Option<String>) {
        (self.path.clone(), self.member.clone())
    }

    pub(crate) fn get_options(&self) -> &ReadOptions {
        &self.options
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

    /// Sets the name that errors report beside the path, for one of several arrays in a file.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::{NpyFile, WriteNpyExt};
    ///
    /// let mut bytes = Vec::new();
    /// arr1(&[1, 2]).write_npy(&mut bytes)?;
    /// bytes.pop();
    /// let array = NpyFile::from_source(InMemory(bytes))?.with_member("weights");
    /// assert_eq!(array.check_complete().unwrap_err().member(), Some("weights"));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[must_use]
    pub fn with_member<N: Into<String>>(self, name: N) -> Self {
        Self { member: Some(name.into()), ..self }
    }

    /// Returns another handle to the same array, for reads with other options: threads, limits, or progress, which can cancel one read
    /// and leave the others alone.
    ///
    /// The header is not read again, so options about its meaning (such as [`ReadOptions::raw_bytes_are`]) stay as they are. The new handle only reads.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use ndarray::Array1;
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::{NpyFile, ReadOptions, WriteNpyExt};
    ///
    /// let mut bytes = Vec::new();
    /// Array1::<u8>::zeros(100).write_npy(&mut bytes)?;
    /// let file = NpyFile::from_source(InMemory(bytes))?;
    /// let cancelled = file.with_options(&ReadOptions::new().progress(|_, _| ControlFlow::Break(())));
    /// assert!(cancelled.read::<Array1<u8>>().unwrap_err().is_cancelled());
    /// assert_eq!(file.read::<Array1<u8>>()?.len(), 100);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[must_use]
    pub fn with_options(&self, options: &ReadOptions) -> Self {
        Self {
            bytes: self.bytes.clone(),
            path: self.path.clone(),
            member: self.member.clone(),
            format_header: self.format_header.clone(),
            data_offset: self.data_offset,
            refresh_obstacle: self.refresh_obstacle,
            options: self.format_header.dispatch_options(options).into_owned(),
            map: self.map.clone(),
        }
    }

    /// Sets why the array cannot be refreshed.
    pub(crate) fn without_refresh(self, reason: &'static str) -> Self {
        Self { refresh_obstacle: Some(reason), ..self }
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

    /// Opens an archive member whose content is `bytes`.
    #[cfg(feature = "npz")]
    pub(crate) fn of_member(
        path: Option<&Path>,
        name: &str,
        bytes: SharedRegion,
        options: &ReadOptions,
    ) -> Result<Self> {
        let made = Self::open_region(bytes, Expected::NPY, options).map_err(|error| error.at_member(name))?;
        Ok(Self { path: path.map(Path::to_owned), member: Some(name.to_owned()), ..made })
    }

    /// Opens the array of these elements, at the beginning of bytes.
    pub(crate) fn of_elements(bytes: SharedRegion, header: Header, options: &ReadOptions) -> Result<Self> {
        options.refuse_trailing_check()?;
        header.check_empty_items()?;
        let descr = header.dtype().to_string();
        let header = header.with_innermost_first(false); // the elements alone are of no format
        let found = NpyHeader { header, version: Version::V1, descr };
        let file = Self::of(bytes, (FormatHeader::Npy(found), 0), options)?;
        Ok(file.without_refresh("the array has no header that could have changed"))
    }

    /// Returns the header of an NPY file, with the version of the format.
    pub fn npy_header(&self) -> Option<&NpyHeader> {
        self.format_header.npy()
    }

    /// Returns the header of an RA file.
    pub fn ra_header(&self) -> Option<&RaHeader> {
        self.format_header.ra()
    }
}

impl ReadOptions {
    /// Opens an NPY or RA file and reads its header. The format is recognized by its first bytes.
    ///
    /// The options also apply to all later reads. A truncated payload is detected only when it is read. Archives: [`open_npz`](Self::open_npz).
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects, which cannot be
    ///   read in parts.
    /// - [`NeedsCopy`](crate::error::ErrorKind::NeedsCopy) if the data of an RA file is compressed or stored as
    ///   single bits, since such data cannot be read in parts.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr2, s};
    /// use ndarray_io::{Casting, ReadOptions};
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// # ndarray_io::write_npy(&path, &arr2(&[[1u8, 2], [3, 4]]))?;
    /// let file = ReadOptions::new().casting(Casting::Safe).threads(1).open(&path)?;
    /// assert_eq!(file.slice::<f64, _>(s![1.., ..])?, arr2(&[[3.0, 4.0]]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open<P: AsRef<Path>>(&self, path: P) -> Result<NpyFile> {
        NpyFile::open_expecting(path.as_ref(), Expected::Any, self)
    }

    /// Reads the header at the start of an open file, regardless of the file's position. See [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_file(&self, file: File) -> Result<NpyFile> {
        NpyFile::of_shared_file(Arc::new(file), Expected::Any, self)
    }

    /// Reads the header at the start of a [source](ReadAt) of bytes: see [`open`](Self::open) and [`NpyFile::from_source`].
    ///
    /// # Errors
    ///
    /// Those of the source and of [`open`](Self::open).
    pub fn open_source<S: ReadAt + 'static>(&self, source: S) -> Result<NpyFile> {
        self.refuse_trailing_check()?;
        NpyFile::open_region(SharedRegion::of(Arc::new(source)), Expected::Any, self)
    }

    /// Opens the array of these elements in a [source](ReadAt) of bytes, which has no header of NPY: the array in a file of another format.
    ///
    /// The elements are at `offset`, as the header describes them. All that works for files works, but not [`refresh`](NpyFile::refresh): parts, blocks, memory of the caller.
    ///
    /// # Errors
    ///
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if they end beyond any file.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the options ask for an error about what follows the array.
    ///
    /// That elements are missing is an error when they are read, or of [`check_complete`](NpyFile::check_complete).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, s};
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::header::{Header, Order};
    /// use ndarray_io::ReadOptions;
    ///
    /// let picture = b"P5 2 2 255\n\x01\x02\x03\x04";
    /// let header = Header::new("|u1".parse()?, Order::C, [2, 2].into())?;
    /// let file = ReadOptions::new().open_elements(InMemory(picture.to_vec()), 11, header)?;
    /// assert_eq!(file.slice::<u8, _>(s![.., 1])?, arr1(&[2, 4]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn open_elements<S: ReadAt + 'static>(
        &self,
        source: S,
        offset: u64,
        header: Header,
    ) -> Result<NpyFile> {
        let Some(end) = offset.checked_add(header.declared_payload_len()?) else {
            return Err(Fault::Overflow { what: "the offset of the elements".into() }.into());
        };
        let source: Arc<dyn ReadAt> = Arc::new(source);
        NpyFile::of_elements(SharedRegion::part(&source, offset..end), header, self)
    }
}
