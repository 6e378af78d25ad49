//! All changes to files: everything that writes to a path, including `ndio`, uses this module.
//!
//! - [`replace`] writes a complete new file, which then replaces an existing one, if any. [`replace_locked`]
//!   does the same for a caller who has read the old file under a lock. [`create_new`] creates a file that
//!   must not exist yet; [`DraftFolder`] does it for a folder.
//! - [`open_in_place`] and [`open_locked`] open a file that is changed in place.
//! - `lock` contains the locking rules, `draft` the temporary files, `target` the resolution of paths and a
//!   file's metadata, `system` the system calls.
//!
//! `docs/concurrency.md` describes what readers, crashes, power failures and concurrent writers see. A test fails
//! if another module renames, links, truncates, locks or syncs a file.

mod draft;
#[cfg_attr(not(feature = "dask"), expect(dead_code, reason = "only stacks are folders"))]
mod draft_folder;
mod lock;
mod new_file;
mod system;
mod target;

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
#[cfg(feature = "mmap")]
use std::time::Duration;

use draft::Draft;
#[cfg(feature = "dask")]
pub(crate) use draft_folder::DraftFolder;
use lock::Retries;
#[cfg(any(feature = "mmap", feature = "dask"))]
pub(crate) use lock::path_refers_to;
pub(crate) use lock::{
    LockPurpose, LockTimeout, Locked, OwnerProcess, is_being_changed, is_lent_to_callback, lock_header,
    open_locked,
};
pub(crate) use new_file::NewFile;
use new_file::open_or_create;
use system::{EntryKind, Folder};
pub(crate) use system::{FileId, LockMode, id_of};
use target::Destination;

use crate::bytes;
use crate::error::{Error, Fault, Result};
use crate::options::WriteOptions;
use crate::transfer::{Sink, streams};

/// Replaces the file at `path` with what `write` writes to an empty file.
///
/// See [`write_npy`](crate::write_npy) for the guarantees and their exceptions.
pub(crate) fn replace(
    path: &Path,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    let new = NewFile::begin(path, options)?;
    let written = write(new.file());
    new.end(written)
}

/// Replaces a file that the caller has locked since before reading it.
///
/// `write` receives the old and the new file. Any handles of the old file that `write` owns are closed when
/// it returns, because some systems do not replace a file that is open.
pub(crate) fn replace_locked(
    path: &Path,
    old: Locked,
    options: &WriteOptions,
    write: impl FnOnce(&File, &File) -> Result<()>,
) -> Result<()> {
    replace_keeping_lock_on_error(path, &mut Some(old), options, write)
}

/// Like [`replace_locked`]; after an error, the old file is still locked, unless it has been replaced.
pub(crate) fn replace_keeping_lock_on_error(
    path: &Path,
    old: &mut Option<Locked>,
    options: &WriteOptions,
    write: impl FnOnce(&File, &File) -> Result<()>,
) -> Result<()> {
    let new = NewFile::begin_locked(path, options, old)?;
    let written =
        new.old().map_or_else(|| Err(not_named_by_path().while_writing()), |old| write(old, new.file()));
    new.end(written)
}

/// Replaces a file after inspecting the old one.
///
/// `look` reads the old file under a lock that is held until the new file is in place; if the old file cannot
/// be opened, `look` receives the error. `write` receives the result of `look`, or an empty slice if there is
/// no old file. `write` is called again if another process creates the file in between.
pub(crate) fn replace_after_inspecting(
    path: &Path,
    options: &WriteOptions,
    look: impl Fn(io::Result<&File>) -> Result<Vec<u8>>,
    mut write: impl FnMut(&File, &[u8]) -> Result<()>,
) -> Result<()> {
    if options.create_new {
        return create_new(path, options, |file| write(file, &[]));
    }
    if options.in_place {
        // The old content is still in the file, which is locked at this point.
        let new = NewFile::begin(path, options)?;
        let written = inspect_in_place(new.file(), &look).and_then(|found| write(new.file(), &found));
        return new.end(written);
    }
    let mut retries = Retries::new(options.wait_for_lock);
    while retries.next_attempt() {
        let mut old = None;
        let (folder, name) = match target::resolve_destination(path).map_err(Error::while_writing)? {
            Destination::File(folder, name) => (folder, name),
            // A descriptor: no trailing bytes can follow an array there.
            Destination::Open(file) => {
                let written = write(&file, &[]);
                return NewFile::of_stream(file, options).end(written);
            }
        };
        let kind = folder.kind_of(&name).map_err(|error| Error::from(error).while_writing())?;
        let (new, found) = match kind {
            Some(EntryKind::File) => {
                let is_named = |file: &File| folder.is_name_of(&name, file);
                let open = || folder.open_read_write(&name);
                match lock::open_locked_by(open, is_named, LockPurpose::Change, retries.time_left()) {
                    Err(error) if error.is_io() => match io::Error::from(error) {
                        error if error.kind() == io::ErrorKind::NotFound => continue,
                        error => return look(Err(error)).map(drop),
                    },
                    opened => {
                        let locked = old.insert(opened.map_err(Error::while_writing)?);
                        let found = look(Ok(locked))?;
                        (NewFile::begin_in(folder, name, options, Some(&mut old)), found)
                    }
                }
            }
            None => (NewFile::begin_only_new_in(folder, name, options), Vec::new()),
            // A pipe or a device.
            Some(EntryKind::Other) => (NewFile::begin_in(folder, name, options, None), Vec::new()),
        };
        let ended = new.map_err(Error::while_writing).and_then(|new| {
            let written = write(new.file(), &found);
            new.end(written)
        });
        match ended {
            // It exists now, so inspect it.
            Err(error) if kind.is_none() && matches!(error.fault(), Fault::AlreadyExists) => {}
            ended => return ended,
        }
    }
    Err(Error::from(Fault::Locked).while_writing())
}

/// Inspects a file that is overwritten, and goes back to its beginning; a pipe has nothing to inspect.
fn inspect_in_place(
    mut file: &File,
    look: &impl Fn(io::Result<&File>) -> Result<Vec<u8>>,
) -> Result<Vec<u8>> {
    if bytes::len_of_regular(file).is_none() {
        return Ok(Vec::new());
    }
    let found = look(Ok(file))?;
    file.rewind().map_err(|error| Error::from(error).while_writing())?;
    Ok(found)
}

/// Returns the error for a file that is read and then replaced, but is not named by a path.
fn not_named_by_path() -> Error {
    let reason =
        "a file that is read before it is replaced must be named by its path, not by a descriptor".into();
    Fault::NotRegularFile { reason }.into()
}

/// Creates a file that must not exist yet and that appears only when it is complete.
pub(crate) fn create_new(
    path: &Path,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    let new = NewFile::begin_only_new(path, options).map_err(Error::while_writing)?;
    let written = write(new.file());
    new.end(written)
}

/// Creates a file that must not exist yet, and that is locked when it appears with what `write` has written.
pub(crate) fn create_new_locked(
    path: &Path,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<Locked> {
    let new = NewFile::begin_only_new(path, options).map_err(Error::while_writing)?;
    let written = write(new.file());
    new.end_locked(written)
}

/// Returns the folder for temporary files.
///
/// WASI does not define one; programs there usually have access to `/tmp`, if to any folder.
pub(crate) fn temporary_folder() -> PathBuf {
    if cfg!(target_os = "wasi") { "/tmp".into() } else { std::env::temp_dir() }
}

/// Creates a temporary file that disappears when it is closed.
pub(crate) fn create_unnamed_file(folder: &Path) -> io::Result<File> {
    let folder = Folder::open(folder)?;
    let draft = Draft::new(&folder, true)?;
    draft.discard(&folder); // removes its name, if it has one
    Ok(draft.file)
}

/// Opens or creates a file to be written in place, and locks it, keeping existing content.
pub(crate) fn open_in_place(path: &Path, options: &WriteOptions) -> Result<Locked> {
    match target::resolve_destination(path)? {
        Destination::File(folder, name) => open_or_create(&folder, &name, options),
        Destination::Open(file) => match bytes::len_of_regular(&file) {
            Some(_) => Locked::new(file, LockPurpose::Change, options.wait_for_lock),
            None => Err(lock::not_regular()),
        },
    }
}

/// Returns the file at `path`, locked against other changes, if it is one of the inputs.
///
/// With `in_place`, this is an error, because the output would overwrite its own input.
pub(crate) fn lock_if_input<P: AsRef<Path>>(
    path: &Path,
    inputs: &[P],
    options: &WriteOptions,
) -> Result<Option<Locked>> {
    let is_input = |id: &Option<FileId>| {
        let is_same = |input: &Path| match (id, system::id_at(input)) {
            (Some(id), Ok(Some(input))) => *id == input,
            (_, Err(_)) => false,
            // Where files have no identity, their canonical paths are compared.
            _ => fs::canonicalize(path).ok() == fs::canonicalize(input).ok(),
        };
        inputs.iter().any(|input| is_same(input.as_ref()))
    };
    lock_if(path, is_input, options)
}

/// Like [`lock_if_input`], for inputs that are open.
pub(crate) fn lock_if_open_input(
    path: &Path,
    inputs: &[Option<FileId>],
    options: &WriteOptions,
) -> Result<Option<Locked>> {
    lock_if(path, |id| id.is_some() && inputs.contains(id), options)
}

fn lock_if(
    path: &Path,
    is_input: impl Fn(&Option<FileId>) -> bool,
    options: &WriteOptions,
) -> Result<Option<Locked>> {
    // Either the file does not exist, or opening it will report the error.
    let Ok(target) = fs::metadata(path) else { return Ok(None) };
    let is_one = target.is_file() && is_input(&system::id_at(path)?);
    match (is_one, options.in_place) {
        (false, _) => Ok(None),
        (true, true) => {
            let reason = "the output is one of the inputs, and would be overwritten before it is read";
            Err(Fault::BadOption { reason: reason.into() }.into())
        }
        (true, false) => {
            let locked = open_locked(path, LockPurpose::Change, options.wait_for_lock)?;
            // It may have been replaced in the meantime, and then it is not an input.
            Ok(is_input(&system::id_of(&locked)?).then_some(locked))
        }
    }
}

/// Syncs a regular file if the options request it; does nothing for a pipe.
fn sync_file(file: &File, options: &WriteOptions) -> Result<()> {
    if options.sync && bytes::len_of_regular(file).is_some() {
        file.sync_all()?;
    }
    Ok(())
}

/// Syncs a folder, so that a new name survives a loss of power, if the options request it.
fn sync_folder(folder: &Folder, options: &WriteOptions) -> Result<()> {
    if !options.sync {
        return Ok(());
    }
    folder.sync().map_err(|error| {
        let text = format!("the new file is in place, but its folder could not be synced: {error}");
        io::Error::new(error.kind(), text).into()
    })
}

/// Syncs the folder in which a file was created, if the options request it.
pub(crate) fn sync_folder_of(path: &Path, options: &WriteOptions) -> Result<()> {
    if !options.sync {
        return Ok(());
    }
    match target::resolve_destination(path)? {
        Destination::File(folder, _) => sync_folder(&folder, options),
        Destination::Open(_) => Ok(()),
    }
}

/// Returns an error if `sync` is set for a writer that cannot be synced.
///
/// A `File` or a `BufWriter<File>` can be synced.
pub(crate) fn check_can_sync<W>(writer: &mut W, options: &WriteOptions) -> Result<()> {
    if options.sync && streams::as_file_or_buffered(writer).is_none() {
        let reason = "only a file can be synced: this writer is neither a File nor a BufWriter<File>".into();
        return Err(Fault::BadOption { reason }.into());
    }
    Ok(())
}

/// Flushes and syncs a writer that passed [`check_can_sync`], if the options request it.
///
/// The content and the length are synced, but not the timestamps.
pub(crate) fn sync_writer<W: Write>(writer: &mut W, options: &WriteOptions) -> Result<()> {
    if !options.sync {
        return Ok(());
    }
    Sink::of(writer).flush()?;
    match streams::as_file_or_buffered(writer) {
        Some(file) if bytes::len_of_regular(file).is_some() => {
            file.sync_data().map_err(|error| Error::from(error).while_writing())
        }
        Some(_) => Ok(()),
        None => check_can_sync(writer, options),
    }
}

/// Syncs a file after parts of it have been written.
pub(crate) fn sync_written_parts(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// Sets the length of an open file.
pub(crate) fn set_len(file: &File, len: u64) -> io::Result<()> {
    file.set_len(len)
}

/// No waiting, for locks that another process may hold for hours.
#[cfg(feature = "mmap")]
pub(crate) const NO_WAIT: Duration = Duration::ZERO;

fn cannot_replace(reason: String) -> Error {
    Fault::CannotReplace { reason }.into()
}

/// Converts the error of a rename: the target may be a mount point or, on Windows, open or mapped elsewhere.
fn explain_rename_error(error: io::Error) -> Error {
    match is_rename_refused(&error) {
        true => cannot_replace(format!("the system does not allow it to be replaced: {error}")),
        false => error.into(),
    }
}

fn is_rename_refused(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ResourceBusy};
    const SHARING_VIOLATION: i32 = 32;
    let is_open = cfg!(windows) && error.raw_os_error() == Some(SHARING_VIOLATION);
    is_open || matches!(error.kind(), ResourceBusy | CrossesDevices | PermissionDenied)
}
