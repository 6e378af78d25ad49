//! [`NpyStackWriter`]: adds parts to a stack.

use std::fs::{self, File};
use std::io::{ErrorKind as IoErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::info::Info;
use super::{INFO, here, info_bytes, info_of_parts, parts, read_info, shapes_in};
use crate::array::{WriteNpyExt, store_npy};
use crate::bytes::{LocalFile, Region, len_of_regular};
use crate::dtype::{ByteOrder, DType, Kind};
use crate::error::{Error, ErrorKind, Help, Result};
use crate::header::{Header, Order};
use crate::io::change::{self, Locked, Purpose};
use crate::io::{self, Npy};
use crate::npy_format as npy;
use crate::options::{ReadOptions, WriteOptions};
use crate::transfer::Source;

/// A writer that adds parts to a new or an existing stack.
///
/// Parts become visible with [`commit`](Self::commit) or [`finish`](Self::finish). Until then, readers see
/// the stack as it was. A writer that is dropped or killed may leave files that do not belong to the stack;
/// the next writer replaces them.
///
/// A writer holds the lock of the stack from opening until it first commits parts, and from each later part
/// until the next commit; other writers fail with [`Locked`](ErrorKind::Locked) in that time. Between a
/// commit and the next part, another writer may take over. The next part of the first writer then fails with
/// [`ArrayChanged`](ErrorKind::ArrayChanged), and no committed part is lost.
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::stack::{NpyStack, NpyStackWriter};
///
/// # let temporary = tempfile::tempdir()?;
/// # let folder = temporary.path().join("log");
/// NpyStackWriter::create(&folder, &"<i4".parse()?, &[], 0)?.finish()?;
///
/// let mut writer = NpyStackWriter::append(&folder)?;
/// writer.push(&arr1(&[1, 2, 3]))?;
/// writer.commit()?; // now visible to readers
/// writer.push(&arr1(&[4]))?;
/// writer.finish()?;
/// assert_eq!(NpyStack::open(&folder)?.read::<Array1<i32>>()?, arr1(&[1, 2, 3, 4]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpyStackWriter {
    folder: PathBuf,
    info: Info,
    /// The number of parts in the `info` on the disk.
    committed: usize,
    /// The bytes of the `info` on the disk.
    on_disk: Vec<u8>,
    /// The locked `info`: from opening, or the first part after a commit, until the next commit.
    locked: Option<Locked>,
    /// Whether this writer has created the folder.
    has_made_folder: bool,
    /// Whether a commit has failed.
    is_broken: bool,
    options: WriteOptions,
}

impl NpyStackWriter {
    /// Creates a stack in a folder, for parts of the given dtype.
    ///
    /// The folder is created if it does not exist; its parent folder must exist. `others` is the shape of the
    /// parts without the axis `axis`, along which the parts are concatenated.
    ///
    /// # Errors
    ///
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists) if the folder already has an `info` or parts;
    /// - [`BadOption`](ErrorKind::BadOption) if the dtype contains Python objects, or there is no such axis;
    /// - [`Overflow`](ErrorKind::Overflow) or [`Limit`](ErrorKind::Limit) if the shape is too large;
    /// - [`Io`](ErrorKind::Io) if the system fails.
    pub fn create<P: AsRef<Path>>(folder: P, dtype: &DType, others: &[usize], axis: usize) -> Result<Self> {
        Self::create_with(folder, dtype, others, axis, &WriteOptions::new())
    }

    /// Creates a stack in a folder, with options for the parts and `info`.
    ///
    /// # Errors
    ///
    /// As for [`NpyStackWriter::create`].
    pub fn create_with<P: AsRef<Path>>(
        folder: P,
        dtype: &DType,
        others: &[usize],
        axis: usize,
        options: &WriteOptions,
    ) -> Result<Self> {
        let folder = folder.as_ref();
        if dtype.has_object() || axis > others.len() {
            let reason = match dtype.has_object() {
                true => "stacks of Python objects are not supported".into(),
                false => format!("parts of {} axes have no axis {axis}", others.len() + 1),
            };
            return Err(Error::from(ErrorKind::BadOption { reason }).at_path(folder));
        }
        let mut shape = others.to_vec();
        shape.insert(axis, 0);
        let info =
            Info::new(dtype.clone(), shape, axis, Vec::new()).map_err(|error| error.at_path(folder))?;
        let on_disk = info.to_bytes()?;
        let has_made_folder = match fs::create_dir(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
            made => made.map(|()| true).map_err(|error| Error::from(error).at_path(folder))?,
        };
        let make = || {
            // Parts without an `info` are also a stack, which must not be overwritten.
            if let Some(number) = parts::numbers(&*here(folder))?.first() {
                let path = folder.join(parts::name(*number));
                return Err(Error::from(ErrorKind::AlreadyExists).at_path(&path));
            }
            write_new_info(folder, &info, options)?;
            // The entry of a new folder in its parent must be as durable as its content.
            if has_made_folder {
                change::sync_folder_of(folder, options).map_err(|error| error.at_path(folder))?;
            }
            Ok(())
        };
        if let Err(error) = make() {
            if has_made_folder {
                let _ = fs::remove_dir(folder); // fails if another process has added a file
            }
            return Err(error);
        }
        let (folder, options) = (folder.to_owned(), options.clone());
        let mut writer = Self {
            folder,
            info,
            committed: 0,
            on_disk,
            locked: None,
            has_made_folder,
            is_broken: false,
            options,
        };
        writer.lock()?;
        Ok(writer)
    }

    /// Opens an existing stack, to continue after its last part.
    ///
    /// If the stack has no `info`, one is written first, with the parts concatenated along axis 0.
    ///
    /// # Errors
    ///
    /// [`Locked`](ErrorKind::Locked) while another writer holds the lock of the stack; otherwise as for
    /// [`NpyStack::open`](super::NpyStack::open).
    pub fn append<P: AsRef<Path>>(folder: P) -> Result<Self> {
        Self::append_with(folder, &WriteOptions::new())
    }

    /// Opens an existing stack, with options for the new parts and `info`.
    ///
    /// # Errors
    ///
    /// As for [`NpyStackWriter::append`].
    pub fn append_with<P: AsRef<Path>>(folder: P, options: &WriteOptions) -> Result<Self> {
        let (folder, read) = (folder.as_ref(), ReadOptions::new());
        let place = here(folder);
        if read_info(&*place, &read)?.is_none() {
            match write_new_info(folder, &info_of_parts(&*place, 0, &read)?, options) {
                // Another process has written `info` in the meantime.
                Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists) => {}
                written => written?,
            }
        }
        let path = folder.join(INFO);
        // Locked before it is read, so that no other writer can change it in between.
        let open = || {
            let locked = change::open_locked(&path, Purpose::Change, options.get_wait_for_lock())?;
            let on_disk = info_bytes(&LocalFile(&*locked), &read)?;
            let info = Info::parse(&on_disk, &read, &shapes_in(&*place, &read))?;
            let committed = info.lengths.len();
            let (folder, options) = (folder.to_owned(), options.clone());
            let (locked, has_made_folder) = (Some(locked), false);
            Ok(Self { folder, info, committed, on_disk, locked, has_made_folder, is_broken: false, options })
        };
        open().map_err(|error: Error| error.at_path(&path))
    }

    /// Returns the lengths of the parts along the axis, including uncommitted ones.
    pub fn lengths(&self) -> &[usize] {
        &self.info.lengths
    }

    /// Writes an array as the next part, which becomes visible with the next commit.
    ///
    /// The part has the array's order in memory, as with `numpy.save`, and the byte order of the stack. Its
    /// dtype must be that of the stack.
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](ErrorKind::ShapeMismatch) or [`DTypeMismatch`](ErrorKind::DTypeMismatch) if the
    ///   array does not match the stack;
    /// - [`TextTooLong`](ErrorKind::TextTooLong) if a text exceeds the width of the stack's dtype;
    /// - [`Overflow`](ErrorKind::Overflow) if the stack becomes too large;
    /// - [`Locked`](ErrorKind::Locked) or [`ArrayChanged`](ErrorKind::ArrayChanged) if another writer has
    ///   taken over since the last commit;
    /// - [`VersionTooLow`](ErrorKind::VersionTooLow) if the header does not fit the requested version;
    /// - [`Cancelled`](ErrorKind::Cancelled) if the progress callback cancels the operation;
    /// - [`BadOption`](ErrorKind::BadOption) if an earlier commit has failed;
    /// - [`Io`](ErrorKind::Io) if the system fails.
    pub fn push<T: WriteNpyExt + ?Sized>(&mut self, array: &T) -> Result<()> {
        let options = self.options_for_parts();
        let (dtype, shape, axis) = (self.info.dtype.clone(), self.info.shape.clone(), self.info.axis);
        self.push_with(|path| {
            let mut length = 0;
            change::replace(path, &options, |file| {
                store_npy(array, file, &options)?;
                length = fitting_length(file, &dtype, &shape, axis)?;
                Ok(())
            })
            .map_err(|error| error.at_path(path))?;
            Ok(length)
        })
    }

    /// Writes the next part with a function that takes its path and returns its length.
    pub(super) fn push_with(&mut self, write: impl FnOnce(&Path) -> Result<usize>) -> Result<()> {
        // Locked before the part is written: the part could otherwise overwrite another writer's part.
        self.lock()?;
        let length = write(&self.folder.join(parts::name(self.info.lengths.len())))?;
        self.info.push(length).map_err(|error| error.at_path(&self.folder))
    }

    /// Returns the options for parts, with the byte order and text width of the stack.
    fn options_for_parts(&self) -> WriteOptions {
        let dtype = &self.info.dtype;
        let orders = [ByteOrder::NATIVE, ByteOrder::Little, ByteOrder::Big];
        let order = orders.into_iter().find(|order| dtype.with_byte_order(*order) == *dtype);
        let options = self.options.clone().byte_order(order.unwrap_or(ByteOrder::NATIVE));
        match dtype.as_scalar().map(|scalar| (scalar.kind(), scalar.size())) {
            Some((Kind::Text, size)) => options.text_width(size / 4),
            Some((Kind::Bytes, size)) => options.text_width(size),
            _ => options,
        }
    }

    /// Makes all parts written so far visible to readers, by replacing `info`.
    ///
    /// Without uncommitted parts, this does nothing. Each commit reads, compares and writes the whole `info`, which has a few
    /// bytes for each part, and Dask reads no other form. This is unnoticeable below some thousand parts; beyond that,
    /// commit several parts at once. If `info` cannot be replaced, the writer becomes
    /// unusable.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if the system fails; a [conflict](Error::is_conflict) if `info` cannot be
    /// replaced; [`BadOption`](ErrorKind::BadOption) if an earlier commit has failed.
    pub fn commit(&mut self) -> Result<()> {
        if self.committed == self.info.lengths.len() {
            return Ok(());
        }
        self.lock()?;
        let Some(locked) = self.locked.take() else { unreachable!("it has just been locked") };
        let (path, bytes) = (self.folder.join(INFO), self.info.to_bytes()?);
        // Never in place: `info` would be locked twice, and readers could see it partially written.
        let options = self.options.clone().in_place(false);
        let put = change::replace_locked(&path, locked, &options, |_, mut file| Ok(file.write_all(&bytes)?));
        // The lock has been released: another writer might replace these parts before a second attempt.
        self.is_broken = put.is_err();
        put.map_err(|error| error.at_path(&path))?;
        (self.committed, self.on_disk) = (self.info.lengths.len(), bytes);
        Ok(())
    }

    /// Commits all parts.
    ///
    /// If the stack has no parts, one of length 0 is added, since Dask does not open stacks without parts.
    ///
    /// # Errors
    ///
    /// As for [`NpyStackWriter::commit`].
    pub fn finish(mut self) -> Result<()> {
        self.end()
    }

    pub(super) fn end(&mut self) -> Result<()> {
        if self.info.lengths.is_empty() {
            let header = Header::new(self.info.dtype.clone(), Order::C, self.info.shape.as_slice().into())?;
            let (head, options) = (npy::format(&header, self.options.get_version())?, self.options.clone());
            self.push_with(|path| {
                change::replace(path, &options, |mut file| Ok(file.write_all(&head)?))
                    .map_err(|error| error.at_path(path))?;
                Ok(0)
            })?;
        }
        self.commit()
    }

    /// Removes a new stack, unless something has been committed.
    pub(super) fn discard(mut self) {
        self.is_broken = false;
        if self.committed > 0 || self.lock().is_err() {
            return;
        }
        // `info` does not include these parts. It is removed last, and only if all parts are gone: without it, those that
        // are left would form a stack.
        let mut are_gone = true;
        // The part after the last one may exist: it has its name before its folder is synced, which may fail.
        for number in 0..=self.info.lengths.len() {
            let removed = fs::remove_file(self.folder.join(parts::name(number)));
            are_gone &= !removed.is_err_and(|error| error.kind() != IoErrorKind::NotFound);
        }
        if are_gone {
            let _ = fs::remove_file(self.folder.join(INFO));
        }
        drop(self.locked.take()); // some systems remove a file's name only when it is closed
        if self.has_made_folder {
            let _ = fs::remove_dir(&self.folder);
        }
    }

    /// Locks `info`, unless it is already locked, and checks that no other writer has changed it.
    fn lock(&mut self) -> Result<()> {
        if self.is_broken {
            let reason = "an earlier commit has failed".into();
            return Err(Error::from(ErrorKind::BadOption { reason }).at_path(&self.folder));
        }
        if self.locked.is_some() {
            return Ok(());
        }
        let path = self.folder.join(INFO);
        let lock = || {
            let locked = change::open_locked(&path, Purpose::Change, self.options.get_wait_for_lock())?;
            if info_bytes(&LocalFile(&*locked), &ReadOptions::new())? != self.on_disk {
                let reason = "another writer has added parts since this one's last commit".into();
                return Err(ErrorKind::ArrayChanged { reason }.into());
            }
            Ok(locked)
        };
        self.locked = Some(lock().map_err(|error: Error| error.at_path(&path))?);
        Ok(())
    }
}

fn write_new_info(folder: &Path, info: &Info, options: &WriteOptions) -> Result<()> {
    let path = folder.join(INFO);
    let bytes = info.to_bytes()?;
    change::create_new(&path, options, |mut file| Ok(file.write_all(&bytes)?))
        .map_err(|error| error.at_path(&path))
}

/// Returns the length along the axis of a part that has just been written, if it matches the stack.
fn fitting_length(mut file: &File, dtype: &DType, shape: &[usize], axis: usize) -> Result<usize> {
    let len = len_of_regular(file).unwrap_or(0);
    let limits = ReadOptions::new();
    // Positioned reads may move the file's position, so it is restored: a file that is overwritten in place
    // is truncated at its position.
    let end = file.stream_position()?;
    let (found, _) =
        io::read_header::<Npy>(&mut Source::region(Region::of_file(file).part(0..len)), limits.get_limits())?;
    file.seek(SeekFrom::Start(end))?;
    let header = found.header;
    let length = header.shape().get(axis).copied().unwrap_or(0);
    let mut wanted = shape.to_vec();
    wanted[axis] = length;
    if header.shape() != wanted {
        let (found, wanted) = (header.shape_ref().clone(), wanted.into());
        return Err(ErrorKind::ShapeMismatch { found, wanted }.into());
    }
    if header.dtype() != dtype {
        let (found, wanted) = (header.dtype().clone(), dtype.clone());
        return Err(Error::from(ErrorKind::DTypeMismatch { found, wanted }).with_help(Help::FileDType));
    }
    Ok(length)
}
