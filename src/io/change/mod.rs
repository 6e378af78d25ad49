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
mod system;
mod target;

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
#[cfg(feature = "mmap")]
use std::time::Duration;

use draft::Draft;
#[cfg(feature = "dask")]
pub(crate) use draft_folder::DraftFolder;
#[cfg(any(feature = "mmap", feature = "dask"))]
pub(crate) use lock::path_refers_to;
use lock::{LentFile, Retries};
pub(crate) use lock::{
    LockPurpose, LockTimeout, Locked, OwnerProcess, is_being_changed, is_lent_to_callback, open_locked,
    with_header_lock,
};
use system::{EntryKind, Folder};
pub(crate) use system::{FileId, LockMode, id_of};
use target::Destination;

use crate::bytes;
use crate::error::{Error, Fault, Result};
use crate::options::WriteOptions;
use crate::transfer::{Sink, streams};

/// Says of an error that it is of writing, unless it is of a callback, which may have read something: there, what writes says it.
fn mark_write_errors<T>(change: impl FnOnce(&Cell<bool>) -> Result<T>) -> Result<T> {
    let is_of_callback = Cell::new(false);
    change(&is_of_callback).map_err(|error| if is_of_callback.get() { error } else { error.while_writing() })
}

/// Notes whether a callback has failed.
fn record_failure<T>(result: Result<T>, has_failed: &Cell<bool>) -> Result<T> {
    has_failed.set(result.is_err());
    result
}

/// Replaces the file at `path` with what `write` writes to an empty file.
///
/// See [`write_npy`](crate::write_npy) for the guarantees and their exceptions.
pub(crate) fn replace(
    path: &Path,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    let mut write = Some(write);
    mark_write_errors(|is_of_callback| {
        replace_file(path, options, &mut None, &mut |_, file| {
            record_failure(write.take().map_or(Ok(()), |write| write(file)), is_of_callback)
        })
    })
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
    let mut write = Some(write);
    mark_write_errors(|is_of_callback| {
        replace_file(path, options, old, &mut |old, file| match (old, write.take()) {
            (Some(old), Some(write)) => record_failure(write(old, file), is_of_callback),
            // When the file is changed in place, there is no old file next to the new one. Continuing would leave
            // the caller with an empty file.
            _ => Err(not_named_by_path()),
        })
    })
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
    write: impl FnMut(&File, &[u8]) -> Result<()>,
) -> Result<()> {
    mark_write_errors(|is_of_callback| {
        let look = |old: io::Result<&File>| record_failure(look(old), is_of_callback);
        let mut write = write;
        replace_after_inspecting_inner(path, options, look, |file, found| {
            record_failure(write(file, found), is_of_callback)
        })
    })
}

fn replace_after_inspecting_inner(
    path: &Path,
    options: &WriteOptions,
    look: impl Fn(io::Result<&File>) -> Result<Vec<u8>>,
    mut write: impl FnMut(&File, &[u8]) -> Result<()>,
) -> Result<()> {
    if options.get_create_new() {
        return create_new(path, options, |file| write(file, &[]));
    }
    if options.get_in_place() {
        // The old content is still in the file, which is locked at this point.
        return replace_file(path, options, &mut None, &mut |_, mut file| {
            if bytes::len_of_regular(file).is_none() {
                return write(file, &[]);
            }
            let found = look(Ok(file))?;
            file.rewind()?;
            write(file, &found)
        });
    }
    let mut retries = Retries::new(options.get_wait_for_lock());
    while retries.next_attempt() {
        let (folder, name) = match target::resolve_destination(path)? {
            Destination::File(folder, name) => (folder, name),
            // A descriptor: no trailing bytes can follow an array there.
            Destination::Open(file) => {
                write(&file, &[])?;
                return sync_file(&file, options);
            }
        };
        match folder.kind_of(&name)? {
            Some(EntryKind::File) => {
                let is_named = |file: &File| folder.is_name_of(&name, file);
                match lock::open_locked_by(
                    || folder.open_read_write(&name),
                    is_named,
                    LockPurpose::Change,
                    retries.time_left(),
                ) {
                    Err(error) if error.is_io() => match io::Error::from(error) {
                        error if error.kind() == io::ErrorKind::NotFound => {}
                        error => return look(Err(error)).map(drop),
                    },
                    old => {
                        let old = old?;
                        let found = look(Ok(&old))?;
                        let mut write = |_: Option<&File>, file: &File| write(file, &found);
                        return replace_in_folder((&folder, &name), options, &mut Some(old), &mut write);
                    }
                }
            }
            None => match create_new_file_in((&folder, &name), options, false, |file| write(file, &[])) {
                Err(error) if matches!(error.fault(), Fault::AlreadyExists) => {} // it exists now, so inspect it
                created => return created.map(drop),
            },
            // A pipe or a device.
            Some(EntryKind::Other) => {
                let mut write = |_: Option<&File>, file: &File| write(file, &[]);
                return replace_in_folder((&folder, &name), options, &mut None, &mut write);
            }
        }
    }
    Err(Fault::Locked.into())
}

/// Writes a new file. The first argument is the old file, if the caller has locked it.
type WriteNewFn<'a> = &'a mut dyn FnMut(Option<&File>, &File) -> Result<()>;

/// Replaces a file, calling `write` once. The lock is given up when the file has been replaced.
///
/// `write` is a trait object so that this function is compiled once, and not for each type of array.
fn replace_file(
    path: &Path,
    options: &WriteOptions,
    locked: &mut Option<Locked>,
    write: WriteNewFn<'_>,
) -> Result<()> {
    if options.get_create_new() {
        return match locked {
            Some(_) => Err(Fault::AlreadyExists.into()),
            None => create_new(path, options, |file| write(None, file)),
        };
    }
    match target::resolve_destination(path)? {
        Destination::File(folder, name) => replace_in_folder((&folder, &name), options, locked, write),
        Destination::Open(_) if locked.is_some() => Err(not_named_by_path()),
        Destination::Open(file) => {
            write(None, &file)?;
            sync_file(&file, options)
        }
    }
}

/// Replaces the file with this name in a folder.
fn replace_in_folder(
    (folder, name): (&Folder, &OsStr),
    options: &WriteOptions,
    locked: &mut Option<Locked>,
    write: WriteNewFn<'_>,
) -> Result<()> {
    let kind = folder.kind_of(name)?;
    if kind == Some(EntryKind::Other) {
        if locked.is_some() {
            return Err(not_named_by_path());
        }
        // A pipe or a terminal cannot be truncated or replaced.
        let file = folder.open_stream(name)?;
        write(None, &file)?;
        return sync_file(&file, options);
    }
    if options.get_in_place() {
        return overwrite((folder, name), options, kind.is_none(), write);
    }
    let mut old = if kind.is_some() { open_old(folder, name)? } else { None };
    if let (Some(old), None) = (&old, &*locked) {
        lock::refuse_if_locked(old, options.get_wait_for_lock())?; // before anything is written
    }
    let mut draft = Draft::new(folder, old.is_some()).map_err(|error| match (&old, error.kind()) {
        (Some(_), io::ErrorKind::PermissionDenied) => cannot_replace("its folder cannot be written".into()),
        _ => Error::from(error),
    })?;
    put_draft((folder, name), options, locked, (&mut draft, &mut old), write)
        .inspect_err(|_| draft.discard(folder))?;
    (*locked, _) = (None, old); // releases the lock: syncing the folder is slow
    sync_folder(folder, options)
}

/// Writes the content into the draft, and gives it the name of the old file, which is `None` if there is none.
fn put_draft(
    (folder, name): (&Folder, &OsStr),
    options: &WriteOptions,
    locked: &mut Option<Locked>,
    (draft, old): (&mut Draft, &mut Option<File>),
    write: WriteNewFn<'_>,
) -> Result<()> {
    // Before `write`: if metadata would be lost, the call fails before any content is written.
    if let Some(old) = &*old {
        target::copy_metadata_or_refuse(old, &draft.file)?;
    }
    lend(&draft.file, |file| write(locked.as_deref(), file))?;
    // Synced before the file gets its name: after a loss of power, the name must not refer to partial
    // content.
    if options.get_sync() {
        draft.sync()?;
    }
    let mut retries = Retries::new(options.get_wait_for_lock());
    while retries.next_attempt() {
        let Some(file) = &*old else {
            match draft.persist_new(folder, name, options.get_sync()) {
                Ok(()) => return Ok(()),
                // Another process has just created it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    *old = open_old(folder, name)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
        };
        // The lock is held only for the rename; slower steps come before it.
        draft.ensure_named(folder, options.get_sync())?;
        let lock = match &*locked {
            None => Some(lock::lock_for_replacing(file, retries.time_left())?),
            Some(_) => None,
        };
        if folder.is_name_of(name, locked.as_deref().unwrap_or(file))? {
            target::copy_metadata_or_refuse(file, &draft.file)?; // the metadata may have changed
            match draft.replace_target(folder, name) {
                Err(error) if cfg!(windows) && is_rename_refused(&error) => {}
                replaced => return replaced.map_err(explain_rename_error),
            }
            // Some Windows file systems do not replace a file that is open. The handles are closed first,
            // which releases the lock, so the identity of the file at the path is checked once more.
            let id = system::id_of(file)?;
            drop(lock);
            (*old, *locked) = (None, None);
            return replace_closed((folder, name), id, options, draft);
        }
        if locked.is_some() {
            break; // another process replaced the input without a lock
        }
        drop(lock);
        *old = open_old(folder, name)?;
    }
    Err(Fault::Locked.into())
}

/// Gives the draft the name of a file that is no longer open here, if it is still that file.
fn replace_closed(
    (folder, name): (&Folder, &OsStr),
    old: Option<system::FileId>,
    options: &WriteOptions,
    draft: &mut Draft,
) -> Result<()> {
    match folder.id_at(name) {
        Ok(found) if found == old => draft.replace_target(folder, name).map_err(explain_rename_error),
        Ok(_) => Err(Fault::Locked.into()), // another process has just replaced it
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            draft.persist_new(folder, name, options.get_sync()).map_err(explain_rename_error)
        }
        Err(error) => Err(explain_rename_error(error)),
    }
}

/// Passes a file to a callback, which may make a writer on it.
fn lend<T>(file: &File, write: impl FnOnce(&File) -> T) -> T {
    let _lent = LentFile::new(file);
    write(file)
}

/// Returns the error for a file that is read and then replaced, but is not named by a path.
fn not_named_by_path() -> Error {
    let reason =
        "a file that is read before it is replaced must be named by its path, not by a descriptor".into();
    Fault::NotRegularFile { reason }.into()
}

/// Opens the old file so that it can be locked.
///
/// A rename needs no write permission for the file itself, but a read-only file is assumed to be protected on
/// purpose, so the file is opened for writing. Links have already been resolved. On Linux, a link that was
/// created since then is an error; other systems follow it.
fn open_old(folder: &Folder, name: &OsStr) -> Result<Option<File>> {
    match folder.open_read_write(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // A file with write but no read permission is locked and compared in the same way.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok(Some(folder.open_to_write(name)?))
        }
        opened => Ok(Some(opened?)),
    }
}

/// Creates a file that must not exist yet and that appears only when it is complete.
pub(crate) fn create_new(
    path: &Path,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    mark_write_errors(|is_of_callback| {
        create_new_file(path, options, false, |file| record_failure(write(file), is_of_callback)).map(drop)
    })
}

/// Creates a file that must not exist yet, and that is locked when it appears with what `write` has written.
pub(crate) fn create_new_locked(
    path: &Path,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<Locked> {
    mark_write_errors(|is_of_callback| {
        create_new_file(path, options, true, |file| record_failure(write(file), is_of_callback))
            .map(Locked::of_locked_new_file)
    })
}

/// Creates a file that must not exist yet and returns it.
fn create_new_file(
    path: &Path,
    options: &WriteOptions,
    with_lock: bool,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<File> {
    let (folder, name) = target::open_parent_folder(path, Folder::open)?;
    create_new_file_in((&folder, &name), options, with_lock, write)
}

fn create_new_file_in(
    (folder, name): (&Folder, &OsStr),
    options: &WriteOptions,
    with_lock: bool,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<File> {
    if folder.kind_of(name)?.is_some() {
        return Err(Fault::AlreadyExists.into());
    }
    let mut draft = Draft::new(folder, false)?;
    let put = || -> Result<()> {
        lend(&draft.file, write)?;
        if options.get_sync() {
            // Synced before the file gets its name, as in `replace_file`.
            draft.sync()?;
        }
        if with_lock {
            // The lock is on the open file, which giving it a name may have to copy.
            draft.ensure_named(folder, options.get_sync())?;
            lock::lock_new(&draft.file)?;
        }
        draft.persist_new(folder, name, options.get_sync()).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Fault::AlreadyExists.into(),
            _ => Error::from(error),
        })
    };
    put().inspect_err(|_| draft.discard(folder))?;
    sync_folder(folder, options)?;
    Ok(draft.file)
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

/// Overwrites a file in place, and then truncates it after the new content.
///
/// A call that fails before it writes anything leaves the file unchanged. The file is also opened for
/// reading, because it may be mapped later.
fn overwrite(
    (folder, name): (&Folder, &OsStr),
    options: &WriteOptions,
    is_new: bool,
    write: WriteNewFn<'_>,
) -> Result<()> {
    let file = open_or_create(folder, name, options)?;
    if let Err(error) = lend(&file, |file| write(None, file)) {
        // A file that this call created is removed if it is still empty.
        if is_new && bytes::len_of_regular(&file) == Some(0) {
            let _ = folder.unlink(name);
        }
        return Err(error);
    }
    let end = (&*file).stream_position()?;
    file.set_len(end)?;
    sync_file(&file, options)?;
    if is_new {
        sync_folder(folder, options)?;
    }
    file.leave_to_map();
    Ok(())
}

/// Opens or creates a file to be written in place, and locks it, keeping existing content.
pub(crate) fn open_in_place(path: &Path, options: &WriteOptions) -> Result<Locked> {
    match target::resolve_destination(path)? {
        Destination::File(folder, name) => open_or_create(&folder, &name, options),
        Destination::Open(file) => match bytes::len_of_regular(&file) {
            Some(_) => Locked::new(file, LockPurpose::Change, options.get_wait_for_lock()),
            None => Err(lock::not_regular()),
        },
    }
}

fn open_or_create(folder: &Folder, name: &OsStr, options: &WriteOptions) -> Result<Locked> {
    let (open, wait) = (|| folder.open_or_create(name), options.get_wait_for_lock());
    lock::open_locked_by(open, |file| folder.is_name_of(name, file), LockPurpose::Change, wait)
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
    match (is_one, options.get_in_place()) {
        (false, _) => Ok(None),
        (true, true) => {
            let reason = "the output is one of the inputs, and would be overwritten before it is read";
            Err(Fault::BadOption { reason: reason.into() }.into())
        }
        (true, false) => {
            let locked = open_locked(path, LockPurpose::Change, options.get_wait_for_lock())?;
            // It may have been replaced in the meantime, and then it is not an input.
            Ok(is_input(&system::id_of(&locked)?).then_some(locked))
        }
    }
}

/// Syncs a regular file if the options request it; does nothing for a pipe.
fn sync_file(file: &File, options: &WriteOptions) -> Result<()> {
    if options.get_sync() && bytes::len_of_regular(file).is_some() {
        file.sync_all()?;
    }
    Ok(())
}

/// Syncs a folder, so that a new name survives a loss of power, if the options request it.
fn sync_folder(folder: &Folder, options: &WriteOptions) -> Result<()> {
    if !options.get_sync() {
        return Ok(());
    }
    folder.sync().map_err(|error| {
        let text = format!("the new file is in place, but its folder could not be synced: {error}");
        io::Error::new(error.kind(), text).into()
    })
}

/// Syncs the folder in which a file was created, if the options request it.
pub(crate) fn sync_folder_of(path: &Path, options: &WriteOptions) -> Result<()> {
    if !options.get_sync() {
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
    if options.get_sync() && streams::as_file_or_buffered(writer).is_none() {
        let reason = "only a file can be synced: this writer is neither a File nor a BufWriter<File>".into();
        return Err(Fault::BadOption { reason }.into());
    }
    Ok(())
}

/// Flushes and syncs a writer that passed [`check_can_sync`], if the options request it.
///
/// The content and the length are synced, but not the timestamps.
pub(crate) fn sync_writer<W: Write>(writer: &mut W, options: &WriteOptions) -> Result<()> {
    if !options.get_sync() {
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
