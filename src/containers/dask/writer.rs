//! [`NpyStackWriter`]: adds parts to a stack.

use std::fs::{self, File};
use std::io::{ErrorKind as IoErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::info::Info;
use super::{
    INFO_FILE, infer_info, local_folder, malformed_stack, part_shape_reader, parts, read_info,
    read_info_bytes,
};
use crate::array::{WriteArray, store_npy};
use crate::bytes::{LocalFile, Region, len_of_regular};
use crate::dtype::{ByteOrder, DType, Kind};
use crate::error::{Error, Fault, Remedy, Result, WantedShape};
use crate::header::{AxisIndex, Header, Order};
use crate::io;
use crate::io::change::{self, DraftFolder, LockPurpose, Locked};
use crate::npy_format as npy;
use crate::options::{ReadOptions, Uncommitted, Verb, WriteOptions};
use crate::transfer::{Sink, Source};

/// A writer that adds parts to a new or an existing stack.
///
/// Parts become visible with [`commit`](Self::commit) or [`finish`](Self::finish). Until then, readers see
/// the stack as it was. A writer that is dropped or killed may leave parts that are not committed; when the next one opens
/// the stack, it says what happens to them: [`Uncommitted`].
///
/// A writer holds the lock of the stack from opening until it first commits parts, and from each later part
/// until the next commit; other writers fail with [`Locked`](crate::error::ErrorKind::Locked) in that time. Between a
/// commit and the next part, another writer may take over. The next part of the first writer then fails with
/// [`Changed`](crate::error::ErrorKind::Changed), and no committed part is lost.
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::dask::{NpyStack, NpyStackWriter};
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
    /// The folder of the stack.
    folder: PathBuf,
    /// Where the parts are until the stack is complete, if it gets its name only then.
    draft: Option<DraftFolder>,
    info: Info,
    /// The number of parts in the `info` on the disk.
    committed: usize,
    /// The bytes of the `info` on the disk.
    committed_info: Vec<u8>,
    /// The locked `info`: from opening, or the first part after a commit, until the next commit.
    locked: Option<Locked>,
    /// Whether the folder was synced after the last commit, if that was asked for.
    is_synced: bool,
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
    /// - [`AlreadyExists`](crate::error::ErrorKind::AlreadyExists) if the folder already has an `info` or parts;
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the dtype contains Python objects;
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if there are not as many axes;
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) or [`Limit`](crate::error::ErrorKind::Limit) if the shape is too large;
    /// - [`Io`](crate::error::ErrorKind::Io) if the system fails.
    pub fn create<P: AsRef<Path>>(
        folder: P,
        dtype: &DType,
        others: &[usize],
        axis: impl AxisIndex,
    ) -> Result<Self> {
        WriteOptions::new().create_stack(folder, dtype, others, axis)
    }

    /// Creates a stack. With `publish_at_end`, it gets its name when it is complete, unless its folder exists.
    pub(super) fn make(
        folder: &Path,
        dtype: &DType,
        (others, axis): (&[usize], usize),
        publish_at_end: bool,
        options: &WriteOptions,
    ) -> Result<Self> {
        if dtype.has_object() || axis > others.len() {
            let reason = || "stacks of Python objects are not supported".to_owned();
            let kind = match dtype.has_object() {
                true => Fault::BadOption { reason: reason() },
                false => Fault::NoSuchAxis { axis, shape: vec![0; others.len() + 1].into() },
            };
            return Err(Error::from(kind).at_path(folder));
        }
        let mut shape = others.to_vec();
        shape.insert(axis, 0);
        let info =
            Info::new(dtype.clone(), shape, axis, Vec::new()).map_err(|error| error.at_path(folder))?;
        let (committed_info, folder, options) =
            (info.to_bytes()?, folder.to_owned(), options.clone().create_new(false));
        let (draft, locked, committed, is_synced) = (None, None, 0, true);
        let mut writer = Self { folder, draft, info, committed, committed_info, locked, is_synced, options };
        writer.create_locked_info(publish_at_end)?;
        Ok(writer)
    }

    /// Writes an `info` that counts no parts, and locks it.
    fn create_locked_info(&mut self, publish_at_end: bool) -> Result<()> {
        let info = self.folder.join(INFO_FILE);
        if self.folder.exists() {
            // Parts without an `info` are also a stack, which must not be overwritten.
            if let Some(number) = parts::numbers(&*local_folder(&self.folder))?.first() {
                let path = self.folder.join(parts::name(*number));
                return Err(Error::from(Fault::AlreadyExists).at_path(&path));
            }
            let write = |mut file: &File| Ok(file.write_all(&self.committed_info)?);
            let locked = change::create_new_locked(&info, &self.options, write);
            self.locked = Some(locked.map_err(|error| error.at_path(&info))?);
            return Ok(());
        }
        // The folder appears with its `info`.
        let draft = DraftFolder::create_beside(&self.folder).map_err(|error| error.at_path(&self.folder))?;
        write_new_info(&draft.path(), &self.committed_info, &self.options)
            .map_err(|error| error.at_path(&info))?;
        self.draft = Some(draft);
        if cfg!(windows) && !publish_at_end {
            // A folder with an open file in it cannot be renamed there.
            return self.persist_new().and_then(|()| self.lock_unchanged());
        }
        self.lock_unchanged()?;
        if publish_at_end { Ok(()) } else { self.persist_new() }
    }

    /// Gives the folder its name, if it does not have it yet.
    fn persist_new(&mut self) -> Result<()> {
        match self.draft.take() {
            Some(draft) => draft.persist_new(&self.options).map_err(|error| error.at_path(&self.folder)),
            None => Ok(()),
        }
    }

    /// Opens an existing stack, to continue after its last part.
    ///
    /// If the stack has no `info`, one is written first, with the parts concatenated along axis 0.
    ///
    /// # Errors
    ///
    /// - [`Locked`](crate::error::ErrorKind::Locked) while another writer holds the lock of the stack;
    /// - [`Uncommitted`](crate::error::ErrorKind::Uncommitted) if an interrupted append has left parts that `info` does not count;
    /// - otherwise as for [`NpyStack::open`](super::NpyStack::open).
    pub fn append<P: AsRef<Path>>(folder: P) -> Result<Self> {
        WriteOptions::new().append_stack(folder)
    }

    /// Decides about the parts that `info` does not count. No other writer is at work: the stack is locked.
    fn resolve_uncommitted(&mut self) -> Result<()> {
        let (place, read) = (local_folder(&self.folder), ReadOptions::new());
        let mut numbers = parts::numbers(&*place)?;
        numbers.retain(|number| *number >= self.committed);
        match self.options.uncommitted {
            _ if numbers.is_empty() => Ok(()),
            Uncommitted::Refuse => {
                let parts = numbers.len() as u64;
                Err(Error::from(Fault::Uncommitted { bytes: 0, rows: 0, parts }).at_path(&self.folder))
            }
            // The last one first, so that what is left after an error has no gap.
            Uncommitted::Discard => numbers.into_iter().rev().try_for_each(|number| {
                let path = self.folder.join(parts::name(number));
                fs::remove_file(&path).map_err(|error| Error::from(error).at_path(&path))
            }),
            Uncommitted::Recover => {
                for number in numbers {
                    let next = self.info.lengths.len();
                    if number != next {
                        let (missing, found) = (parts::name(next), parts::name(number));
                        let reason = format!("{missing} is missing, although {found} exists");
                        return Err(malformed_stack(reason).at_path(&self.folder));
                    }
                    let part = parts::open_unchecked(&*place, number, &read)?;
                    let length = part.shape().get(self.info.axis).copied().unwrap_or(0);
                    self.info.push(length).map_err(|error| error.at_path(&self.folder))?;
                    parts::open(&*place, &self.info, number, &read)?; // compares it with the stack
                    if self.options.sync {
                        let path = self.folder.join(parts::name(number));
                        let synced = File::options()
                            .write(true)
                            .open(&path)
                            .and_then(|file| change::sync_written_parts(&file));
                        synced.map_err(|error| Error::from(error).at_path(&path))?;
                    }
                }
                // Their names, too, before `info` counts them.
                change::sync_folder_of(&self.folder.join(INFO_FILE), &self.options)
                    .map_err(|error| error.at_path(&self.folder))?;
                self.commit()
            }
        }
    }

    /// Returns where the parts are now.
    fn current_folder(&self) -> PathBuf {
        self.draft.as_ref().map_or_else(|| self.folder.clone(), DraftFolder::path)
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
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) or [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if the
    ///   array does not match the stack;
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if a text exceeds the width of the stack's dtype;
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if the stack becomes too large;
    /// - [`Locked`](crate::error::ErrorKind::Locked) or [`Changed`](crate::error::ErrorKind::Changed) if another writer has
    ///   taken over since the last commit;
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the header does not fit the requested version;
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation;
    /// - [`Io`](crate::error::ErrorKind::Io) if the system fails.
    pub fn push<T: WriteArray + ?Sized>(&mut self, array: &T) -> Result<()> {
        self.push_any(&array)
    }

    // Not generic over the array, as what replaces an NPY file is not.
    fn push_any(&mut self, array: &dyn WriteArray) -> Result<()> {
        let options = self.options_for_parts();
        let (dtype, shape, axis) = (self.info.dtype.clone(), self.info.shape.clone(), self.info.axis);
        self.push_with(|path| {
            let mut length = 0;
            change::replace(path, &options, |mut file| {
                store_npy(array, Sink::of(&mut file), &options)?;
                length = checked_part_length(file, &dtype, &shape, axis)?;
                Ok(())
            })?;
            Ok(length)
        })
    }

    /// Writes the next part with a function that takes its path and returns its length.
    pub(super) fn push_with(&mut self, write: impl FnOnce(&Path) -> Result<usize>) -> Result<()> {
        // Locked before the part is written: the part could otherwise overwrite another writer's part.
        self.lock_unchanged()?;
        let name = parts::name(self.info.lengths.len());
        let path = self.current_folder().join(&name);
        let written = write(&path).and_then(|length| self.info.push(length));
        written.map_err(|error| {
            // It may have its name already, and would be a part that is not counted.
            let _ = fs::remove_file(&path);
            error.at_path(&self.folder.join(name))
        })
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
    /// commit several parts at once. A commit that has failed can be repeated: until it succeeds, the stack
    /// remains locked.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; a [conflict](Error::is_conflict) if `info` cannot be
    /// replaced.
    pub fn commit(&mut self) -> Result<()> {
        let (info, place) = (self.folder.join(INFO_FILE), self.current_folder().join(INFO_FILE));
        if self.committed == self.info.lengths.len() {
            if !self.is_synced {
                change::sync_folder_of(&place, &self.options).map_err(|error| error.at_path(&info))?;
                self.is_synced = true;
            }
            return Ok(());
        }
        self.lock_unchanged()?;
        let bytes = self.info.to_bytes()?;
        // Never in place: `info` would be locked twice, and readers could see it partially written.
        let options = self.options.clone().in_place(false);
        let replaced =
            change::replace_keeping_lock_on_error(&place, &mut self.locked, &options, |_, mut file| {
                Ok(file.write_all(&bytes)?)
            });
        let is_in_place = || fs::read(&place).is_ok_and(|found| found == bytes);
        if replaced.is_ok() || self.locked.is_none() && is_in_place() {
            // If there is an error, then that of syncing the folder, which the next commit repeats.
            (self.committed, self.committed_info, self.is_synced) =
                (self.info.lengths.len(), bytes, replaced.is_ok());
        } else if self
            .locked
            .as_ref()
            .is_none_or(|locked| !change::path_refers_to(&place, locked).unwrap_or(true))
        {
            // The lock has been given up, or another program has replaced `info`, which locking it again tells.
            self.locked = None;
            let _ = self.lock_unchanged();
        }
        replaced.map_err(|error| error.at_path(&info))
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
            let (head, options) = (npy::format(&header, self.options.version)?, self.options.clone());
            self.push_with(|path| {
                change::replace(path, &options, |mut file| Ok(file.write_all(&head)?))?;
                Ok(0)
            })?;
        }
        self.commit()?;
        self.persist_new()
    }

    /// Removes a new stack, unless something has been committed.
    pub(super) fn discard_new_stack(mut self) {
        if self.draft.is_some() {
            drop(self.locked.take()); // some systems remove a file's name only when it is closed
            return; // the draft is removed when it is dropped
        }
        if self.committed > 0 || self.lock_unchanged().is_err() {
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
            let _ = fs::remove_file(self.folder.join(INFO_FILE));
        }
    }

    /// Locks `info`, unless it is already locked, and checks that no other writer has changed it.
    fn lock_unchanged(&mut self) -> Result<()> {
        if self.locked.is_some() {
            return Ok(());
        }
        let path = self.current_folder().join(INFO_FILE);
        let lock = || {
            let locked = change::open_locked(&path, LockPurpose::Change, self.options.wait_for_lock)?;
            let found = read_info_bytes(&LocalFile(&*locked), &ReadOptions::new())?;
            if found != self.committed_info {
                let reason = "another writer has added parts since this one's last commit".into();
                return Err(Fault::ArrayChanged { reason }.into());
            }
            // A part that `info` does not count: another writer was killed, or does not lock the stack.
            let next = parts::name(self.info.lengths.len());
            if self.committed == self.info.lengths.len() && path.with_file_name(&next).exists() {
                let reason = format!("another writer has left {next}, which the info does not count");
                return Err(Fault::ArrayChanged { reason }.into());
            }
            Ok(locked)
        };
        let locked = lock().map_err(|error: Error| error.at_path(&self.folder.join(INFO_FILE)))?;
        self.locked = Some(locked);
        Ok(())
    }
}

fn write_new_info(folder: &Path, info: &[u8], options: &WriteOptions) -> Result<()> {
    change::create_new(&folder.join(INFO_FILE), options, |mut file| Ok(file.write_all(info)?))
}

/// Returns the length along the axis of a part that has just been written, if it matches the stack.
fn checked_part_length(mut file: &File, dtype: &DType, shape: &[usize], axis: usize) -> Result<usize> {
    let len = len_of_regular(file).unwrap_or(0);
    // Positioned reads may move the file's position, so it is restored: a file that is overwritten in place
    // is truncated at its position.
    let end = file.stream_position()?;
    let (found, _) =
        io::read_npy_header(&mut Source::region(Region::of_file(file).part(0..len)), &ReadOptions::new())?;
    file.seek(SeekFrom::Start(end))?;
    let header = found.header;
    let length = header.shape().get(axis).copied().unwrap_or(0);
    let mut wanted = shape.to_vec();
    wanted[axis] = length;
    if header.shape() != wanted {
        let (found, wanted) = (header.shape_ref().clone(), wanted.into());
        return Err(Fault::ShapeMismatch { found, wanted: WantedShape::Exactly(wanted) }.into());
    }
    if header.dtype() != dtype {
        let (found, wanted) = (header.dtype().clone(), dtype.clone());
        return Err(Error::from(Fault::DTypeMismatch { found, wanted }).with_help(Remedy::FileDType));
    }
    Ok(length)
}

impl WriteOptions {
    /// Creates a stack in a folder, with options for the parts and `info`. See [`NpyStackWriter::create`].
    ///
    /// # Errors
    ///
    /// As for [`NpyStackWriter::create`], and [`BadOption`](crate::error::ErrorKind::BadOption) for other options.
    pub fn create_stack(
        &self,
        folder: impl AsRef<Path>,
        dtype: &DType,
        others: &[usize],
        axis: impl AxisIndex,
    ) -> Result<NpyStackWriter> {
        self.check_at_path(Verb::CreateStack, folder.as_ref())?;
        NpyStackWriter::make(folder.as_ref(), dtype, (others, axis.number()), false, self)
    }

    /// Opens an existing stack, with options for the new parts and `info`.
    ///
    /// [`uncommitted`](Self::uncommitted) determines what happens to the parts that an interrupted append has left, immediately.
    ///
    /// # Errors
    ///
    /// - [`Locked`](crate::error::ErrorKind::Locked) while another writer holds the lock of the stack;
    /// - [`Uncommitted`](crate::error::ErrorKind::Uncommitted) if there are parts that `info` does not count, and the option is
    ///   [`Uncommitted::Refuse`];
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch), [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch),
    ///   [`Malformed`](crate::error::ErrorKind::Malformed) or another error of the [format](Error::is_format) if such a part cannot be
    ///   recovered;
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) for options about new stacks;
    /// - otherwise as for [`NpyStack::open`](super::NpyStack::open).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::WriteOptions;
    /// use ndarray_io::dask::NpyStackWriter;
    /// use ndarray_io::options::Uncommitted;
    ///
    /// # let temporary = tempfile::tempdir()?;
    /// # let folder = temporary.path().join("log");
    /// let mut writer = NpyStackWriter::create(&folder, &"<i4".parse()?, &[], 0)?;
    /// writer.push(&arr1(&[1, 2, 3]))?;
    /// drop(writer); // the part is not committed
    /// assert!(NpyStackWriter::append(&folder).is_err());
    /// let writer = WriteOptions::new().uncommitted(Uncommitted::Recover).append_stack(&folder)?;
    /// assert_eq!(writer.lengths(), [3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append_stack(&self, folder: impl AsRef<Path>) -> Result<NpyStackWriter> {
        let (folder, read) = (folder.as_ref(), ReadOptions::new());
        self.check_at_path(Verb::AppendStack, folder)?;
        let place = local_folder(folder);
        if read_info(&*place, &read)?.is_none() {
            match write_new_info(folder, &infer_info(&*place, 0, &read)?.to_bytes()?, self) {
                // Another process has written `info` in the meantime.
                Err(error) if matches!(error.fault(), Fault::AlreadyExists) => {}
                written => written.map_err(|error| error.at_path(&folder.join(INFO_FILE)))?,
            }
        }
        let path = folder.join(INFO_FILE);
        // Locked before it is read, so that no other writer can change it in between.
        let open = || {
            let locked = change::open_locked(&path, LockPurpose::Change, self.wait_for_lock)?;
            let committed_info = read_info_bytes(&LocalFile(&*locked), &read)?;
            let info = Info::parse(&committed_info, &read, &part_shape_reader(&*place, &read))?;
            let (folder, committed, locked) = (folder.to_owned(), info.lengths.len(), Some(locked));
            Ok(NpyStackWriter {
                folder,
                draft: None,
                info,
                committed,
                committed_info,
                locked,
                is_synced: true,
                options: self.clone(),
            })
        };
        let mut writer = open().map_err(|error: Error| error.at_path(&path))?;
        writer.resolve_uncommitted()?;
        Ok(writer)
    }
}
