//! Appending to an existing file.

use std::fs::File;
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use super::super::change::{self, LockPurpose};
use super::super::format::parse_npy;
use super::super::read;
use super::NpyWriter;
use super::header::{
    dtype_for, group_inner_axes_for, growing_axis_len, options_for, rewrite_header, shape_of_rows,
};
use super::rows::{ArrayLength, RowWriter};
use crate::bytes::Region;
use crate::dtype::DType;
use crate::elements::WritableElement;
use crate::error::{Error, Fault, Result, WantedShape};
use crate::header::{Header, Parsed};
use crate::npy_format::{self as npy, NpyHeader};
use crate::options::{ReadOptions, Uncommitted, Verb, WriteOptions};
use crate::shape::{Order, Shape};
use crate::transfer::{self, Source};

/// Returns the header of a file with axes as a writer sees them; an error if it cannot write such elements.
pub(crate) type WritableHeader = fn(&Header, &WriteOptions) -> Result<Header>;

fn writable_header<A: WritableElement>(header: &Header, options: &WriteOptions) -> Result<Header> {
    let header = group_inner_axes_for::<A>(header, None)?;
    options_for::<A>(header.dtype(), options)?;
    Ok(header.into_owned())
}

impl<A: WritableElement> NpyWriter<A, File> {
    /// Opens an existing NPY file to append rows to its array.
    ///
    /// The first axis grows, or the last in Fortran order. The file may have been written by NumPy. It is
    /// locked until the writer is dropped: until then, other changes through this library fail with
    /// [`Locked`](crate::error::ErrorKind::Locked). The lock is advisory and does not stop readers. The file is not changed until
    /// rows are written or the writer is finished. If the header has no space for a greater length, as in files written by NumPy before
    /// about version 1.23, use [`WriteOptions::grow_header`].
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Locked`](crate::error::ErrorKind::Locked) if another writer has locked the file.
    /// - [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if the elements have a different dtype.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if `A` is an array type and the file's inner axes are different, in number or length.
    /// - [`CannotChange`](crate::error::ErrorKind::CannotChange) if the header has no space for a greater length.
    /// - [`Uncommitted`](crate::error::ErrorKind::Uncommitted) if an interrupted append has left uncommitted rows.
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the array has no axes.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if it contains Python objects, or the path is not that of a regular file.
    pub fn append<P: AsRef<Path>>(path: P) -> Result<Self> {
        WriteOptions::new().append(path)
    }

    /// Creates or overwrites an NPY file whose array grows by rows of the given shape.
    ///
    /// An existing file is overwritten in place, because readers must see the rows before the writer is
    /// finished. The file is locked until the writer is dropped.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`Locked`](crate::error::ErrorKind::Locked) if another writer has locked the file.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the header does not fit the format version, or if text has no width, or the
    ///   elements are Python objects, or if the path is not that of a regular file.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if NumPy has no dtype for the elements.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the array would have more than 64 axes.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if the size of a row overflows.
    pub fn create<P: AsRef<Path>>(path: P, row: &[usize]) -> Result<Self> {
        WriteOptions::new().create(path, row)
    }

    /// Opens an NPY file to append rows of the given shape, or creates it if there is none.
    ///
    /// Several processes can do so at once: one creates the file, and no row is lost.
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the rows of an existing file have another shape.
    /// - [`AlreadyExists`](crate::error::ErrorKind::AlreadyExists) if the path is a symbolic link that leads nowhere.
    /// - Those of [`NpyWriter::append`] and [`NpyWriter::create`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr2, Array2};
    /// use ndarray_io::NpyWriter;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("log.npy");
    /// for day in [1.0, 2.0] {
    ///     NpyWriter::append_or_create(&path, &[2])?.push_and_finish(&[day, 0.5])?;
    /// }
    /// assert_eq!(ndarray_io::read_npy::<_, Array2<f64>>(&path)?, arr2(&[[1.0, 0.5], [2.0, 0.5]]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append_or_create<P: AsRef<Path>>(path: P, row: &[usize]) -> Result<Self> {
        WriteOptions::new().append_or_create(path, row)
    }
}

impl<A> NpyWriter<A, File> {
    /// Removes the rows written since the last commit and returns the file.
    ///
    /// Use it after an error, such as a full disk, has stopped the writer.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the array was created with a fixed shape.
    /// - [`Changed`](crate::error::ErrorKind::Changed) if a commit has found that another process changed the file.
    pub fn roll_back(self) -> Result<File> {
        self.row_writer.roll_back()
    }
}

impl RowWriter<File> {
    fn roll_back(mut self) -> Result<File> {
        let ArrayLength::Growing { start, head, .. } = self.length else {
            let reason = "an array of fixed shape has no commits".into();
            return Err(self.at_path(Fault::BadOption { reason }.into()));
        };
        if self.has_external_change {
            let reason = "the file has changed since its last commit".into();
            return Err(self.at_path(Fault::ArrayChanged { reason }.into()));
        }
        self.buffer.clear();
        // So that dropping the writer does not write anything.
        self.is_broken = true;
        let mut lock_timeout = self.lock_timeout;
        let mut truncate = || -> Result<()> {
            let (elements, empty_rows) = self.committed_counts;
            let text = self.header_bytes_counting(elements, empty_rows)?;
            let end = start + head as u64 + elements * self.dtype.item_size() as u64;
            let mut file = &*self.writer;
            // The header is written first, because it must never count rows that have been removed.
            rewrite_header(&mut file, start, &text, &mut lock_timeout)?;
            change::sync_writer(&mut file, &self.options)?;
            change::set_len(file, end)?;
            file.seek(SeekFrom::Start(end))?;
            change::sync_writer(&mut file, &self.options)
        };
        truncate().map_err(|error| self.at_path(error))?;
        Ok(self.writer.0.take().expect("the writer is present until it is returned"))
    }

    /// Opens a file to append rows, which must have this shape, if it is given.
    pub(crate) fn open_to_append(
        path: &Path,
        row: Option<&[usize]>,
        options: &WriteOptions,
        writable_header: WritableHeader,
    ) -> Result<Self> {
        let open = || {
            let file = change::open_locked(path, LockPurpose::Change, options.wait_for_lock)?;
            let (file, locked) = file.into_handle_and_lock()?;
            let mut writer = Self::open_for_append(file, row, options, writable_header)?;
            (writer.path, writer.locked) = (Some(path.to_owned()), locked);
            if row.is_some() {
                // The process that has created the file may have been killed before its name was synced.
                change::sync_folder_of(path, options)?;
            }
            if options.uncommitted == Uncommitted::Recover {
                writer.commit()?; // so that a later error does not lose the recovered rows
            }
            Ok(writer)
        };
        open().map_err(|error: Error| error.at_path(path))
    }

    /// Creates a file of rows of a dtype.
    pub(crate) fn create_for_rows(
        path: &Path,
        row: &[usize],
        dtype: &DType,
        options: &WriteOptions,
        writable_header: WritableHeader,
    ) -> Result<Self> {
        let create = || {
            // In memory first: an invalid type or option must not create or truncate the file.
            let unsynced = options.clone().sync(false);
            let empty =
                RowWriter::new_without_locking(Cursor::new(Vec::new()), row, dtype.clone(), &unsynced)?;
            let (mut writer, locked) = if options.create_new {
                let head = empty.finish()?.into_inner();
                let file = change::create_new_locked(path, options, |mut file| Ok(file.write_all(&head)?))?;
                let (file, locked) = file.into_handle_and_lock()?;
                (Self::open_for_append(file, None, options, writable_header)?, locked)
            } else {
                let (file, locked) = change::open_in_place(path, options)?.into_handle_and_lock()?;
                let writer = Self::new_without_locking(file, row, dtype.clone(), options)?;
                change::sync_folder_of(path, options)?;
                (writer, locked)
            };
            (writer.path, writer.locked) = (Some(path.to_owned()), locked);
            Ok(writer)
        };
        create().map_err(|error: Error| error.at_path(path))
    }

    /// Appends to a file, or creates it with a dtype, which is asked for only then.
    pub(crate) fn open_to_append_or_create(
        path: &Path,
        (row, dtype): (&[usize], &dyn Fn() -> Result<DType>),
        options: &WriteOptions,
        writable_header: WritableHeader,
    ) -> Result<Self> {
        /// The maximum number of retries if another process creates or removes the file in between.
        const MAX_ATTEMPTS: usize = 100;
        let mut retries = 0..MAX_ATTEMPTS;
        loop {
            match Self::open_to_append(path, Some(row), options, writable_header) {
                Err(error) if error.is_not_found() => {}
                opened => return opened,
            }
            let dtype = dtype().map_err(|error| error.at_path(path))?;
            let new = options.clone().create_new(true);
            match Self::create_for_rows(path, row, &dtype, &new, writable_header) {
                Err(error) if matches!(error.fault(), Fault::AlreadyExists) && retries.next().is_some() => {}
                created => return created,
            }
        }
    }

    fn open_for_append(
        mut file: File,
        wanted: Option<&[usize]>,
        options: &WriteOptions,
        writable_header: WritableHeader,
    ) -> Result<Self> {
        let (found, head, have) = read_header_and_tail_len(&file)?;
        let header = writable_header(&found.header, options)?;
        let dtype = header.dtype();
        let row = match (header.order(), header.shape()) {
            (_, []) => {
                return Err(Fault::NoSuchAxis { axis: 0, shape: header.shape_ref().clone() }.into());
            }
            (Order::C, [_, row @ ..]) | (Order::Fortran, [row @ .., _]) => Shape::from(row),
        };
        if let Some(wanted) = wanted.filter(|wanted| *wanted != row.dims()) {
            return Err(Fault::ShapeMismatch { found: wanted.into(), wanted: WantedShape::Rows(row) }.into());
        }
        let is_in_one_sector =
            check_header_room_and_sector((&header, found.version), &head, &row, options.sync)?;
        let head = head.len();

        let need = header.payload_len().unwrap_or_default();
        let row_bytes = row.byte_len(dtype.item_size()).unwrap_or(0);
        let more = have - need;
        if more > 0 {
            let after = head as u64 + need;
            read::check_no_array_follows(more, false, |head| Region::of_file(&file).fill_at(head, after))?;
        }
        let rows = more.checked_div(row_bytes).unwrap_or(0);
        let kept = match options.uncommitted {
            _ if more == 0 => 0,
            Uncommitted::Refuse => {
                return Err(Fault::Uncommitted { bytes: more, rows, parts: 0 }.into());
            }
            Uncommitted::Recover => rows,
            Uncommitted::Discard => 0,
        };
        // `kept` rows become part of the array. The file is truncated after them, because new rows must
        // follow directly.
        let end = head as u64 + need + kept * row_bytes;
        if more > 0 {
            change::set_len(&file, end)?;
        }
        file.seek(SeekFrom::Start(end))?;
        let rows = growing_axis_len(header.order(), header.shape_ref())
            + usize::try_from(kept).unwrap_or(usize::MAX);
        let header = Header::new(dtype.clone(), header.order(), shape_of_rows(&row, header.order(), rows))?;
        let length =
            ArrayLength::Growing { start: 0, head, is_in_one_sector, rewrite_header: rewrite_header::<File> };
        Ok(Self::of(file, header, row, found.version, length, options))
    }
}

/// Returns a file's header, the header's length, and the number of bytes after the header.
///
/// It is an error if there are fewer bytes than the header declares.
fn read_header_and_tail_len(file: &File) -> Result<(NpyHeader, Vec<u8>, u64)> {
    /// Nearly always enough for the header, so one read suffices.
    const FIRST_READ_LEN: usize = 1024;
    let (options, region) = (ReadOptions::new(), Region::of_file(file));
    let length = region.len()?;
    // No longer than the file, so that its end need not be found by another read.
    let mut head = vec![0; usize::try_from(length).unwrap_or(FIRST_READ_LEN).min(FIRST_READ_LEN)];
    let filled = region.fill_at(&mut head, 0)?;
    let (found, used) = match parse_npy(&head[..filled], &options)? {
        Parsed::Done(found, used) => (found, used),
        Parsed::NeedMore(_) => {
            let mut source = Source::region(region.with_known_end()?);
            let (found, used) = read::read_npy_header(&mut source, &options)?;
            head.resize(used, 0);
            region.fill_at(&mut head, 0)?;
            (found, used)
        }
    };
    head.truncate(used);
    let Some(need) = found.header.payload_len() else {
        let reason = "Python objects are stored as one pickle, which cannot be appended to".into();
        return Err(Fault::BadOption { reason }.into());
    };
    options.get_limits().check_payload(need)?;
    match length.saturating_sub(used as u64) {
        have if have < need => Err(transfer::truncated(&found.header, have)),
        have => Ok((found, head, have)),
    }
}

/// Checks that a header has enough space for any length of the array.
///
/// With `is_synced`, also checks that a loss of power during an update cannot corrupt the header. Returns
/// whether the shape is kept within one disk sector.
fn check_header_room_and_sector(
    (header, version): (&Header, npy::Version),
    old: &[u8],
    row: &Shape,
    is_synced: bool,
) -> Result<bool> {
    let head = old.len();
    let (order, rows) = (header.order(), growing_axis_len(header.order(), header.shape_ref()));
    let of = |rows, is_in_one_sector| {
        let header = Header::new(header.dtype().clone(), order, shape_of_rows(row, order, rows))?;
        Ok::<_, Error>(npy::format_in_place(&header, version, head, is_in_one_sector))
    };
    let is_in_one_sector = of(rows, true)?.is_some_and(|text| text == old);
    let now = of(rows, is_in_one_sector)?
        .ok_or(Fault::HeaderCannotGrow { header: head as u64, crosses_sector: false })?;
    // 20 digits are enough for any 64-bit length.
    let digits = |rows: usize| rows.checked_ilog10().unwrap_or(0) as usize + 1;
    if trailing_spaces(&now) + digits(rows) < 20 {
        return Err(Fault::HeaderCannotGrow { header: head as u64, crosses_sector: false }.into());
    }
    // The bytes that a later update may change: those that differ now, and all bytes from the shape on, with
    // space for 20 digits. The largest length cannot be formatted directly, because no array of that length
    // fits into memory.
    let differs = |at: &usize| old[*at] != now[*at];
    let mut changed =
        (0..head).filter(differs).chain(shape_offset(&now)..head - trailing_spaces(&now) + 20 - digits(rows));
    let first = changed.next().unwrap_or(0) / npy::SECTOR_SIZE;
    match is_synced && changed.any(|at| at / npy::SECTOR_SIZE != first) {
        true => Err(Fault::HeaderCannotGrow { crosses_sector: true, header: head as u64 }.into()),
        false => Ok(is_in_one_sector),
    }
}

/// Returns the number of padding spaces at the end of a header.
fn trailing_spaces(head: &[u8]) -> usize {
    head.iter().rev().skip(1).take_while(|byte| **byte == b' ').count()
}

/// Returns the position of the shape in a header written by this library.
fn shape_offset(head: &[u8]) -> usize {
    head.iter().rposition(|byte| *byte == b'(').unwrap_or(0)
}

impl WriteOptions {
    /// Opens an existing NPY file to append rows to its array. See [`NpyWriter::append`].
    ///
    /// # Errors
    ///
    /// Those of [`NpyWriter::append`], and [`BadOption`](crate::error::ErrorKind::BadOption) for options about new files.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::options::Uncommitted;
    /// use ndarray_io::{WriteOptions, write_npy};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("log.npy");
    /// write_npy(&path, &arr1(&[1.0, 2.0]))?;
    /// let mut log = WriteOptions::new().uncommitted(Uncommitted::Recover).append::<f64>(&path)?;
    /// log.push(&[3.0])?;
    /// log.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append<A: WritableElement>(&self, path: impl AsRef<Path>) -> Result<NpyWriter<A, File>> {
        self.check_at_path(Verb::Append, path.as_ref())?;
        RowWriter::open_to_append(path.as_ref(), None, self, writable_header::<A>).map(NpyWriter::of_rows)
    }

    /// Creates a file for an array that grows by rows. See [`NpyWriter::create`].
    ///
    /// # Errors
    ///
    /// Those of [`NpyWriter::create`], and [`BadOption`](crate::error::ErrorKind::BadOption) for other options; with [`create_new`](Self::create_new),
    /// [`AlreadyExists`](crate::error::ErrorKind::AlreadyExists) if the path exists.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::WriteOptions;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("log.npy");
    /// let new = WriteOptions::new().create_new(true); // the file appears with its header, which counts no rows, and locked
    /// new.create::<f64>(&path, &[2])?.finish()?;
    /// assert!(new.create::<f64>(&path, &[2]).unwrap_err().is_conflict());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create<A: WritableElement>(
        &self,
        path: impl AsRef<Path>,
        row: &[usize],
    ) -> Result<NpyWriter<A, File>> {
        let path = path.as_ref();
        self.check_at_path(Verb::Create, path)?;
        let dtype = dtype_for::<A>(self).map_err(|error| error.at_path(path))?;
        RowWriter::create_for_rows(path, row, &dtype, self, writable_header::<A>).map(NpyWriter::of_rows)
    }

    /// Appends rows to a file, or creates it. See [`NpyWriter::append_or_create`]. The version, the order and the dtype are those of the file, if
    /// there is one.
    ///
    /// # Errors
    ///
    /// Those of [`NpyWriter::append_or_create`], and [`BadOption`](crate::error::ErrorKind::BadOption) for other options.
    pub fn append_or_create<A: WritableElement>(
        &self,
        path: impl AsRef<Path>,
        row: &[usize],
    ) -> Result<NpyWriter<A, File>> {
        let path = path.as_ref();
        self.check_at_path(Verb::AppendOrCreate, path)?;
        let dtype = || dtype_for::<A>(self);
        RowWriter::open_to_append_or_create(path, (row, &dtype), self, writable_header::<A>)
            .map(NpyWriter::of_rows)
    }

    /// Rewrites an NPY file so that its header has space for a greater length, as current NumPy headers have.
    ///
    /// Use it for files that [`append`](Self::append) refuses with [`CannotChange`](crate::error::ErrorKind::CannotChange). The elements are copied unchanged,
    /// which takes time and disk space in proportion to the file. The file is replaced atomically.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [conflict](crate::Error::is_conflict) if the file is locked or cannot be replaced.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the array contains Python objects, and for other options than
    ///   [`sync`](Self::sync), or if the path is not that of a regular file.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// use ndarray_io::WriteOptions;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// # ndarray_io::write_npy(&path, &arr1(&[1u8, 2]))?;
    /// WriteOptions::new().grow_header(&path)?;
    /// # assert_eq!(ndarray_io::read_npy::<_, ndarray::Array1<u8>>(&path)?, arr1(&[1, 2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn grow_header(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let rewrite_header = || {
            self.check_for(Verb::GrowHeader)?;
            // The file is locked before it is read, so that no row appended in between is lost.
            let old = change::open_locked(path, LockPurpose::Change, self.wait_for_lock)?;
            let (found, head, have) = read_header_and_tail_len(&old)?;
            change::replace_locked(path, old, self, |mut old, mut file| {
                file.write_all(&npy::format_growing(&found.header, None)?)?;
                old.seek(SeekFrom::Start(head.len() as u64))?;
                match std::io::copy(&mut old, &mut file)? {
                    copied if copied < have => Err(transfer::truncated(&found.header, copied)),
                    _ => Ok(()),
                }
            })
        };
        rewrite_header().map_err(|error: Error| error.at_path(path))
    }
}
