//! Going on with a file that is there.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::super::change::{self, Purpose};
use super::super::payload;
use super::header::{grouped_for, growing_axis, grown, options_for, rewrite};
use super::{End, NpyWriter};
use crate::element::WritableElement;
use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;
use crate::npy_format::{self as npy, NpyHeader};
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::{Order, Shape};
use crate::transfer::{self, Source};

/// What becomes of bytes behind an array to which something is appended: rows that were written before a crash, and not
/// counted any more.
///
/// ```
/// use ndarray_io::file::UncommittedRows;
/// assert_eq!(UncommittedRows::default(), UncommittedRows::Refuse);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UncommittedRows {
    /// They are an error, which says how many they are.
    #[default]
    Refuse,
    /// The whole rows among them become rows of the array; the rest is removed.
    Recover,
    /// They are removed.
    Discard,
}

impl<A: WritableElement> NpyWriter<A, File> {
    /// Opens a file, NumPy's or ours, and goes on where it ends: along the first axis, or in Fortran order along the last.
    ///
    /// The file is locked until the writer is dropped: whatever else of this library would change it fails with
    /// [`ErrorKind::Locked`]. The lock is advisory, and no reader is stopped. Nothing is changed before rows are pushed, but what `surplus` says. If the header has no room for a greater length, as that of files
    /// made before NumPy 1.23 or so, it is an error that names [`grow_header`].
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`Locked`](crate::error::ErrorKind::Locked) while another writer has the file;
    /// [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if its elements are of another type;
    /// [`NoRoom`](crate::error::ErrorKind::NoRoom) if its header cannot take a larger length;
    /// [`UncommittedRows`](crate::error::ErrorKind::UncommittedRows) if an interrupted append has left rows;
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the array has no axes or Python objects, or the path is not a regular file.
    pub fn append<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::append_with(path, UncommittedRows::Refuse, &WriteOptions::new())
    }

    /// The same with options: of them, `sync` and `threads` have an effect, since the file says the rest.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`Locked`](crate::error::ErrorKind::Locked) while another writer has the file;
    /// [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if its elements are of another type;
    /// [`NoRoom`](crate::error::ErrorKind::NoRoom) if its header cannot take a larger length;
    /// [`TornHeader`](crate::error::ErrorKind::TornHeader) if it cannot safely with `sync`;
    /// [`UncommittedRows`](crate::error::ErrorKind::UncommittedRows) if an interrupted append has left rows, which are to be refused;
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the array has no axes or Python objects, or the path is not a regular file.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, Array1};
    /// use ndarray_io::file::UncommittedRows;
    /// use ndarray_io::{NpyWriter, WriteOptions};
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &arr1(&[1u8, 2]))?;
    /// // A process appends, and dies before it has finished.
    /// std::io::Write::write_all(&mut std::fs::OpenOptions::new().append(true).open(&path)?, &[3, 4])?;
    /// assert!(NpyWriter::<u8, _>::append(&path).is_err());
    /// NpyWriter::<u8, _>::append_with(&path, UncommittedRows::Recover, &WriteOptions::new())?.finish()?;
    /// assert_eq!(ndarray_io::read_npy::<_, Array1<u8>>(&path)?, arr1(&[1, 2, 3, 4]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append_with<P: AsRef<Path>>(
        path: P,
        surplus: UncommittedRows,
        options: &WriteOptions,
    ) -> Result<Self> {
        let path = path.as_ref();
        let open = || {
            let file = change::open_locked(path, Purpose::Change, options.get_wait_for_lock())?;
            let (file, locked) = file.split()?;
            let mut writer = Self::go_on(file, surplus, options)?;
            (writer.path, writer.locked) = (Some(path.to_owned()), locked);
            if surplus == UncommittedRows::Recover {
                writer.checkpoint()?; // so that a later error does not lose them again
            }
            Ok(writer)
        };
        open().map_err(|error: Error| error.at_path(path))
    }

    /// Writes a file that grows by rows of this shape. An old file of the name is overwritten where it is, because rows that
    /// are to be read before the writer is finished have to be in the file; it is locked until the writer is dropped.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`Locked`](crate::error::ErrorKind::Locked) while another writer has
    /// the file; [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the header does not fit the version;
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if text has no width or the elements are Python objects.
    pub fn create<P: AsRef<Path>>(path: P, row: &[usize]) -> Result<Self> {
        Self::create_with(path, row, &WriteOptions::new())
    }

    /// The same with options, as [`NpyWriter::new_with`] has them.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`Locked`](crate::error::ErrorKind::Locked) while another writer has
    /// the file; [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the header does not fit the version;
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if text has no width or the elements are Python objects.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::{NpyWriter, WriteOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("log.npy");
    /// let mut log = NpyWriter::create_with(&path, &[2], &WriteOptions::new().sync(true))?;
    /// log.push(&arr1(&[1.0, 2.0]))?;
    /// log.checkpoint()?; // this row survives a loss of power
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_with<P: AsRef<Path>>(path: P, row: &[usize], options: &WriteOptions) -> Result<Self> {
        let path = path.as_ref();
        let create = || {
            // What is wrong with the type or the options is found out before there is a file.
            NpyWriter::<A, _>::new_with(std::io::Cursor::new(Vec::new()), row, &options.clone().sync(false))?;
            let (file, locked) = change::open_in_place(path, options)?.split()?;
            let mut writer = Self::new_with(file, row, options)?;
            (writer.path, writer.locked) = (Some(path.to_owned()), locked);
            change::sync_folder_of(path, options)?;
            Ok(writer)
        };
        create().map_err(|error: Error| error.at_path(path))
    }

    /// Gives up the rows since the last checkpoint: the file is what it was then. For a writer that an error has stopped, as
    /// on a full disk.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadOption`](crate::error::ErrorKind::BadOption) if the shape was
    /// given in the beginning; [`ArrayChanged`](crate::error::ErrorKind::ArrayChanged) if a checkpoint has found that something else
    /// has changed the file.
    #[expect(clippy::missing_panics_doc, reason = "what is expected holds by construction")]
    pub fn roll_back(mut self) -> Result<File> {
        let End::Open { start, head, .. } = self.end else {
            let reason = "an array whose shape was given has no checkpoints".into();
            return Err(self.at_path(ErrorKind::BadOption { reason }.into()));
        };
        if self.is_foreign {
            let reason = "the file has changed since its last checkpoint".into();
            return Err(self.at_path(ErrorKind::ArrayChanged { reason }.into()));
        }
        self.collected.clear();
        self.is_broken = true;
        let cut = || -> Result<()> {
            let (elements, empty_rows) = self.counted;
            let text = self.header_of(elements, empty_rows)?;
            let end = start + head as u64 + elements * self.dtype.item_size() as u64;
            let mut file = &*self.writer;
            // The header first: it must not count what has been cut off.
            rewrite(&mut file, start, &text)?;
            change::sync_writer(&mut file, &self.options)?;
            change::set_len(file, end)?;
            file.seek(SeekFrom::Start(end))?;
            change::sync_writer(&mut file, &self.options)
        };
        cut().map_err(|error| self.at_path(error))?;
        Ok(self.writer.0.take().expect("the writer is there until it is given back"))
    }

    fn go_on(mut file: File, surplus: UncommittedRows, options: &WriteOptions) -> Result<Self> {
        let (found, head, have) = look(&file)?;
        let header = grouped_for::<A>(&found.header, None, false)?;
        let dtype = header.dtype();
        options_for::<A>(dtype, options)?;
        let row = match (header.order(), header.shape()) {
            (_, []) => {
                let reason = "an array without axes does not grow".into();
                return Err(ErrorKind::BadOption { reason }.into());
            }
            (Order::C, [_, row @ ..]) | (Order::Fortran, [row @ .., _]) => Shape::from(row),
        };
        let is_in_one_sector =
            check_room(&mut file, (&header, found.version), head, &row, options.get_sync())?;

        let need = header.payload_len().unwrap_or_default();
        let row_bytes = row.byte_len(dtype.item_size()).unwrap_or(0);
        let more = have - need;
        let rows = more.checked_div(row_bytes).unwrap_or(0);
        let kept = match surplus {
            _ if more == 0 => 0,
            UncommittedRows::Refuse => return Err(ErrorKind::UncommittedRows { bytes: more, rows }.into()),
            UncommittedRows::Recover => rows,
            UncommittedRows::Discard => 0,
        };
        let end = head as u64 + need + kept * row_bytes;
        if more > 0 {
            change::set_len(&file, end)?;
        }
        file.seek(SeekFrom::Start(end))?;
        let rows =
            growing_axis(header.order(), header.the_shape()) + usize::try_from(kept).unwrap_or(usize::MAX);
        let header = Header::new(dtype.clone(), header.order(), grown(&row, header.order(), rows))?;
        let end = End::Open { start: 0, head, is_in_one_sector, rewrite: rewrite::<File> };
        Ok(Self::of(file, header, row, found.version, end, options))
    }
}

/// The header of a file, how long it is, and how many bytes follow it: at least those that it promises.
fn look(mut file: &File) -> Result<(NpyHeader, usize, u64)> {
    let options = ReadOptions::new();
    let mut source = Source::of(&mut file);
    let (found, head) = payload::read_header::<crate::io::Npy>(&mut source, options.get_limits())?;
    if found.header.payload_len().is_none() {
        let reason = "Python objects are one pickle, to which nothing can be appended".into();
        return Err(ErrorKind::BadOption { reason }.into());
    }
    transfer::check_length(&source, &found.header, &options)?;
    drop(source);
    let have = file.metadata()?.len().saturating_sub(head as u64);
    match found.header.payload_len() {
        Some(need) if have < need => Err(transfer::truncated(&found.header, have)),
        _ => Ok((found, head, have)),
    }
}

/// An error if the header has no room for every length that there may be, or if a loss of power could tear the new one and
/// the file is to be safe from that. Says whether its shape is kept within a sector.
fn check_room(
    file: &mut File,
    (header, version): (&Header, npy::Version),
    head: usize,
    row: &Shape,
    is_synced: bool,
) -> Result<bool> {
    let mut old = vec![0; head];
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut old)?;
    let (order, rows) = (header.order(), growing_axis(header.order(), header.the_shape()));
    let of = |rows, is_in_one_sector| {
        let header = Header::new(header.dtype().clone(), order, grown(row, order, rows))?;
        Ok::<_, Error>(npy::format_in_place(&header, version, head, is_in_one_sector))
    };
    let is_in_one_sector = of(rows, true)?.is_some_and(|text| text == old);
    let now = of(rows, is_in_one_sector)?.ok_or(ErrorKind::NoRoom { header: head as u64 })?;
    let digits = |rows: usize| rows.checked_ilog10().unwrap_or(0) as usize + 1;
    if trailing_spaces(&now) + digits(rows) < 20 {
        return Err(ErrorKind::NoRoom { header: head as u64 }.into());
    }
    // Another length of as many digits, and one more: what there may be in the end cannot be asked for, since no array of
    // that length fits into memory.
    let differs = |at: &usize| old[*at] != now[*at];
    let mut changed =
        (0..head).filter(differs).chain(digits_at(&now)..head - trailing_spaces(&now) + 20 - digits(rows));
    let first = changed.next().unwrap_or(0) / npy::SECTOR;
    match is_synced && changed.any(|at| at / npy::SECTOR != first) {
        true => Err(ErrorKind::TornHeader { header: head as u64 }.into()),
        false => Ok(is_in_one_sector),
    }
}

/// How much of a header is filling.
fn trailing_spaces(head: &[u8]) -> usize {
    head.iter().rev().skip(1).take_while(|byte| **byte == b' ').count()
}

/// Where the shape is in a header of ours.
fn digits_at(head: &[u8]) -> usize {
    head.iter().rposition(|byte| *byte == b'(').unwrap_or(0)
}

/// Rewrites a file so that its header has room for a greater length, as NumPy's have now: for files that
/// [`NpyWriter::append`] refuses. The elements are copied as they are, and the file is replaced whole or not at all.
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is malformed
/// or truncated; a [conflict](crate::Error::is_conflict) if the existing file is locked or cannot be replaced;
/// [`BadOption`](crate::error::ErrorKind::BadOption) of Python objects.
///
/// # Examples
///
/// ```
/// # use ndarray::arr1;
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// # ndarray_io::write_npy(&path, &arr1(&[1u8, 2]))?;
/// ndarray_io::file::grow_header(&path)?;
/// # assert_eq!(ndarray_io::read_npy::<_, ndarray::Array1<u8>>(&path)?, arr1(&[1, 2]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn grow_header<P: AsRef<Path>>(path: P) -> Result<()> {
    grow_header_with(path, &WriteOptions::new())
}

/// The same with options: of them, `sync` and `wait_for_lock` have an effect.
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is malformed
/// or truncated; a [conflict](crate::Error::is_conflict) if the existing file is locked or cannot be replaced;
/// [`BadOption`](crate::error::ErrorKind::BadOption) of Python objects.
///
/// # Examples
///
/// ```
/// use ndarray_io::file::grow_header_with;
/// use ndarray_io::WriteOptions;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// # ndarray_io::write_npy(&path, &ndarray::arr1(&[1u8, 2]))?;
/// grow_header_with(&path, &WriteOptions::new().sync(true))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn grow_header_with<P: AsRef<Path>>(path: P, options: &WriteOptions) -> Result<()> {
    let path = path.as_ref();
    let options = WriteOptions::new().sync(options.get_sync()).wait_for_lock(options.get_wait_for_lock());
    let rewrite = || {
        let old = change::open_locked(path, Purpose::Change, options.get_wait_for_lock())?;
        let (found, head, have) = look(&old)?;
        change::replace_locked(path, old, &options, |mut old, mut file| {
            file.write_all(&npy::format_growing(&found.header, None)?)?;
            old.seek(SeekFrom::Start(head as u64))?;
            match std::io::copy(&mut old, &mut file)? {
                copied if copied < have => Err(transfer::truncated(&found.header, copied)),
                _ => Ok(()),
            }
        })
    };
    rewrite().map_err(|error: Error| error.at_path(path))
}
