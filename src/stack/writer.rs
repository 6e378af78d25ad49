//! [`NpyStackWriter`]: parts that are added to a stack.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::info::Info;
use super::{Folder, info_bytes, info_of_parts, info_path, parts, read_info, shapes_in};
use crate::array::{WriteNpyExt, store_npy};
use crate::dtype::{ByteOrder, DType, Kind};
use crate::error::{Error, ErrorKind, Help, Result};
use crate::header::{Header, Order};
use crate::io::change::{self, Locked, Purpose};
use crate::io::{self, Npy};
use crate::npy_format as npy;
use crate::options::{ReadOptions, WriteOptions};
use crate::transfer::{Source, os};

/// Adds parts to a stack, a new one or an existing one.
///
/// Parts count when [`commit`](Self::commit) or [`finish`](Self::finish) has been called. Until then readers see the stack as it was,
/// and a writer that is dropped or killed leaves files that nobody counts; the next writer replaces them.
///
/// While a writer has uncommitted parts, another one gets [`Locked`](ErrorKind::Locked). Between a commit and the next part, another
/// writer may take over; the first one's next part is then [`ArrayChanged`](ErrorKind::ArrayChanged), and nothing of either is lost.
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
/// writer.commit()?; // readers see it from now on
/// writer.push(&arr1(&[4]))?;
/// writer.finish()?;
/// assert_eq!(NpyStack::open(&folder)?.read::<Array1<i32>>()?, arr1(&[1, 2, 3, 4]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpyStackWriter {
    folder: PathBuf,
    info: Info,
    /// How many parts `info` counts on the disk, and its bytes there.
    committed: usize,
    on_disk: Vec<u8>,
    locked: Option<Locked>,
    /// The folder was not there before.
    has_made_folder: bool,
    /// A commit has failed.
    is_broken: bool,
    options: WriteOptions,
}

impl NpyStackWriter {
    /// Makes a new stack: a folder, which is created if necessary, of parts of this dtype. `others` are the lengths of the axes besides
    /// `axis`, along which the parts are concatenated.
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](ErrorKind::AlreadyExists) if the folder has an `info` or parts already; [`BadOption`](ErrorKind::BadOption)
    /// of Python objects, or if there is no such axis; [`Io`](ErrorKind::Io) if the system fails.
    pub fn create<P: AsRef<Path>>(folder: P, dtype: &DType, others: &[usize], axis: usize) -> Result<Self> {
        Self::create_with(folder, dtype, others, axis, &WriteOptions::new())
    }

    /// Makes a new stack, with options for the parts and `info`.
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
                true => "the parts of a stack cannot have Python objects".into(),
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
            if let Some(number) = parts::numbers(folder)?.first() {
                let path = folder.join(parts::name(*number));
                return Err(Error::from(ErrorKind::AlreadyExists).at_path(&path));
            }
            write_new_info(folder, &info, options)?;
            if has_made_folder {
                change::sync_folder_of(folder, options).map_err(|error| error.at_path(folder))?;
            }
            Ok(())
        };
        if let Err(error) = make() {
            if has_made_folder {
                let _ = fs::remove_dir(folder); // it is empty, unless another process has put something into it
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

    /// Opens an existing stack and continues after its last part. A stack without `info` gets one first, along axis 0.
    ///
    /// # Errors
    ///
    /// [`Locked`](ErrorKind::Locked) while another writer has the stack; otherwise as for [`NpyStack::open`](super::NpyStack::open).
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
        let here = Folder::Here(folder.to_owned());
        if read_info(&here, &read)?.is_none() {
            match write_new_info(folder, &info_of_parts(&here, 0, &read)?, options) {
                // Another process has just written it.
                Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists) => {}
                written => written?,
            }
        }
        let path = info_path(folder);
        let open = || {
            let locked = change::open_locked(&path, Purpose::Change, options.get_wait_for_lock())?;
            let on_disk = info_bytes(&locked, &read)?;
            let info = Info::parse(&on_disk, &read, &shapes_in(&here, &read))?;
            let committed = info.lengths.len();
            let (folder, options) = (folder.to_owned(), options.clone());
            let (locked, has_made_folder) = (Some(locked), false);
            Ok(Self { folder, info, committed, on_disk, locked, has_made_folder, is_broken: false, options })
        };
        open().map_err(|error: Error| error.at_path(&path))
    }

    /// The lengths of the parts so far, uncommitted ones included.
    pub fn lengths(&self) -> &[usize] {
        &self.info.lengths
    }

    /// Writes an array as the next part. It keeps its order in memory, as `numpy.save` does; its dtype has to be that of the stack, in
    /// whose byte order it is written.
    ///
    /// # Errors
    ///
    /// [`ShapeMismatch`](ErrorKind::ShapeMismatch) or [`DTypeMismatch`](ErrorKind::DTypeMismatch) if the array does not fit the stack;
    /// [`TextTooLong`](ErrorKind::TextTooLong) if a text does not; [`Locked`](ErrorKind::Locked) or
    /// [`ArrayChanged`](ErrorKind::ArrayChanged) if another writer has taken over since the last commit; [`Io`](ErrorKind::Io) if the
    /// system fails.
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

    /// Writes the next part by a function that gets its path and returns its length.
    pub(super) fn push_with(&mut self, write: impl FnOnce(&Path) -> Result<usize>) -> Result<()> {
        self.lock()?;
        let length = write(&self.folder.join(parts::name(self.info.lengths.len())))?;
        self.info.push(length).map_err(|error| error.at_path(&self.folder))
    }

    /// The options of a part that has the stack's byte order and width of text.
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

    /// Makes all parts so far count: readers see them from now on.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if the system fails; a [conflict](Error::is_conflict) if `info` cannot be replaced.
    pub fn commit(&mut self) -> Result<()> {
        if self.committed == self.info.lengths.len() {
            return Ok(());
        }
        self.lock()?;
        let Some(locked) = self.locked.take() else { unreachable!("it has just been locked") };
        let (path, bytes) = (info_path(&self.folder), self.info.to_bytes()?);
        // `info` is never overwritten in place: it would be locked twice, and partly written for readers.
        let options = self.options.clone().in_place(false);
        let put = change::replace_locked(&path, locked, &options, |_, mut file| Ok(file.write_all(&bytes)?));
        // The lock has gone with it: by the next try another writer might have put parts in the place of these.
        self.is_broken = put.is_err();
        put.map_err(|error| error.at_path(&path))?;
        (self.committed, self.on_disk) = (self.info.lengths.len(), bytes);
        Ok(())
    }

    /// Commits all parts. A stack without a part gets one of length 0, since Dask does not open stacks without parts.
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

    /// Removes a new stack of which nothing has been committed.
    pub(super) fn discard(mut self) {
        self.is_broken = false;
        if self.committed > 0 || self.lock().is_err() {
            return;
        }
        // What cannot be removed stays, and counts for nobody. `info` is last, since it says so.
        for number in 0..self.info.lengths.len() {
            let _ = fs::remove_file(self.folder.join(parts::name(number)));
        }
        let _ = fs::remove_file(info_path(&self.folder));
        drop(self.locked.take()); // some systems remove the name of a file when it is closed
        if self.has_made_folder {
            let _ = fs::remove_dir(&self.folder);
        }
    }

    /// Locks `info`, if it is not locked since before, and checks that it is what this writer has read or written last.
    fn lock(&mut self) -> Result<()> {
        if self.is_broken {
            let reason = "an earlier commit has failed: the writer has to be opened again".into();
            return Err(Error::from(ErrorKind::BadOption { reason }).at_path(&self.folder));
        }
        if self.locked.is_some() {
            return Ok(());
        }
        let path = info_path(&self.folder);
        let lock = || {
            let locked = change::open_locked(&path, Purpose::Change, self.options.get_wait_for_lock())?;
            if info_bytes(&locked, &ReadOptions::new())? != self.on_disk {
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
    let path = info_path(folder);
    let bytes = info.to_bytes()?;
    change::create_new(&path, options, |mut file| Ok(file.write_all(&bytes)?))
        .map_err(|error| error.at_path(&path))
}

/// The length along the axis of a part that has just been written, if it fits the others.
fn fitting_length(mut file: &File, dtype: &DType, shape: &[usize], axis: usize) -> Result<usize> {
    let len = os::len_of_regular(file).unwrap_or(0);
    let limits = ReadOptions::new();
    // Where reading at a place moves the file's own position, it goes back to the end: what is overwritten in place is cut off there.
    let end = file.stream_position()?;
    let (found, _) = io::read_header::<Npy>(&mut Source::part_of_file(file, 0..len), limits.get_limits())?;
    file.seek(SeekFrom::Start(end))?;
    let header = found.header;
    let length = header.shape().get(axis).copied().unwrap_or(0);
    let mut wanted = shape.to_vec();
    wanted[axis] = length;
    if header.shape() != wanted {
        let (found, wanted) = (header.the_shape().clone(), wanted.into());
        return Err(ErrorKind::ShapeMismatch { found, wanted }.into());
    }
    if header.dtype() != dtype {
        let (found, wanted) = (header.dtype().clone(), dtype.clone());
        return Err(Error::from(ErrorKind::DTypeMismatch { found, wanted }).with_help(Help::FileDType));
    }
    Ok(length)
}
