//! The one place that changes files: everything that writes to a path goes through it, the program included.
//!
//! - [`replace`] puts a complete new file in the place of an old one, or of none. [`replace_locked`] does the same for who
//!   has read the old file under a lock. [`create_new`] makes a file that must not exist.
//! - [`open_in_place`] and [`open_locked`] open a file that is changed where it is.
//! - `lock` says who may change a file at the same time as whom, `draft` owns the files that have no place yet, `target` where
//!   a path leads and what belongs to a file, `system` the calls.
//!
//! `docs/changes.md` says what a reader, a crash, a loss of power and a second writer see. A test fails if another module
//! renames, links, truncates, locks or syncs a file.

mod draft;
mod lock;
mod system;
mod target;

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
#[cfg(feature = "mmap")]
use std::time::Duration;

use draft::Draft;
#[cfg(feature = "mmap")]
pub(crate) use lock::leads_to;
pub(crate) use lock::{Locked, Purpose, is_being_changed, open_locked, with_header_lock};
use system::Folder;
pub(crate) use system::{FileId, Mode, id_of};
use target::Place;

use crate::error::{Error, ErrorKind, Result};
use crate::options::WriteOptions;
use crate::transfer::{Sink, os};

/// Makes the file at `path` what `write` writes into an empty file. See [`write_npy`](crate::write_npy) for what that means
/// and for the exceptions.
pub(crate) fn replace(
    path: &Path,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    let mut write = Some(write);
    place(path, options, None, &mut |_, file| write.take().map_or(Ok(()), |write| write(file)))
}

/// The same for a caller who has had the old file locked since before it was read. `write` gets it and the new one. Handles of the old
/// one that `write` owns are closed when it returns: some systems do not put another file in the place of one that is open.
pub(crate) fn replace_locked(
    path: &Path,
    old: Locked,
    options: &WriteOptions,
    write: impl FnOnce(&File, &File) -> Result<()>,
) -> Result<()> {
    let mut write = Some(write);
    place(path, options, Some(old), &mut |old, file| match (old, write.take()) {
        (Some(old), Some(write)) => write(old, file),
        // In place there is no old file beside the new one: whoever asks for that must not end with an empty file.
        _ => Err(not_itself()),
    })
}

/// The same for a caller who wants to know what is in the old file: `look` reads it under the lock that is held until the new one
/// is in place, or says what it means that it cannot be opened. `write` gets what it has found, nothing if there is no old file;
/// it is called again if another process makes a file meanwhile.
pub(crate) fn replace_after_look(
    path: &Path,
    options: &WriteOptions,
    look: impl Fn(io::Result<&File>) -> Result<Vec<u8>>,
    mut write: impl FnMut(&File, &[u8]) -> Result<()>,
) -> Result<()> {
    /// How often another process may make or remove the file in between.
    const MOST: usize = 100;
    if options.get_in_place() {
        // The old content is still in the file, which is locked by now.
        return place(path, options, None, &mut |_, mut file| {
            if os::len_of_regular(file).is_none() {
                return write(file, &[]);
            }
            let found = look(Ok(file))?;
            file.rewind()?;
            write(file, &found)
        });
    }
    for _ in 0..MOST {
        let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
        match target::follow_links(path)? {
            Place::File(_) if is_file => {
                match open_locked(path, Purpose::Change, options.get_wait_for_lock()) {
                    Err(error) if error.is_io() => match io::Error::from(error) {
                        error if error.kind() == io::ErrorKind::NotFound => {}
                        error => return look(Err(error)).map(drop),
                    },
                    old => {
                        let old = old?;
                        let found = look(Ok(&old))?;
                        return place(path, options, Some(old), &mut |_, file| write(file, &found));
                    }
                }
            }
            Place::File(_) if fs::symlink_metadata(path).is_err() => {
                match create_new(path, options, |file| write(file, &[])) {
                    Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists) => {} // now there is one to look at
                    created => return created,
                }
            }
            // A pipe, a descriptor, a link without a target: nothing follows an array there.
            _ => return place(path, options, None, &mut |_, file| write(file, &[])),
        }
    }
    Err(ErrorKind::Locked.into())
}

/// Writes a new file; gets the old one if that is locked.
type WriteNew<'a> = &'a mut dyn FnMut(Option<&File>, &File) -> Result<()>;

/// Compiled once, and not for each type of array. `write` is called once.
fn place(path: &Path, options: &WriteOptions, mut locked: Option<Locked>, write: WriteNew<'_>) -> Result<()> {
    let target = match target::follow_links(path)? {
        Place::File(target) => target,
        Place::Open(_) if locked.is_some() => return Err(not_itself()),
        Place::Open(file) => {
            write(None, &file)?;
            return sync_file(&file, options);
        }
    };
    let old = match fs::metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        if locked.is_some() {
            return Err(not_itself());
        }
        // A pipe, a terminal: it cannot be truncated or replaced.
        let file = OpenOptions::new().write(true).open(&target)?;
        write(None, &file)?;
        return sync_file(&file, options);
    }
    if options.get_in_place() {
        return overwrite(&target, options, old.is_none(), write);
    }
    let (folder, name) = draft::split(&target)?;
    let mut old = if old.is_some() { open_old(&folder, &name)? } else { None };
    if let (Some(old), None) = (&old, &locked) {
        lock::refuse_early(old, options.get_wait_for_lock())?; // before much is written
    }
    let mut draft = Draft::new(&folder, old.is_some()).map_err(|error| match (&old, error.kind()) {
        (Some(_), io::ErrorKind::PermissionDenied) => {
            cannot("the folder that it is in cannot be written".into())
        }
        _ => Error::from(error),
    })?;
    let mut put = || -> Result<()> {
        /// How often another process may make, replace or remove the file in between.
        const MOST: usize = 100;
        if let Some(old) = &old {
            target::inherit(old, &draft.file)?;
        }
        write(locked.as_deref(), &draft.file)?;
        if options.get_sync() {
            draft.sync()?;
        }
        for _ in 0..MOST {
            let Some(file) = &old else {
                match draft.take_place(&folder, &name, options.get_sync()) {
                    Ok(()) => return Ok(()),
                    // Another process has just made it.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        old = open_old(&folder, &name)?;
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                }
            };
            // The lock is held for the renaming alone: what takes longer comes before it.
            draft.prepare(&folder, options.get_sync())?;
            let lock = match &locked {
                None => Some(lock::lock_for_replacing(file, options.get_wait_for_lock())?),
                Some(_) => None,
            };
            if folder.names(&name, locked.as_deref().unwrap_or(file))? {
                target::inherit(file, &draft.file)?; // it may have been changed since
                match draft.replace(&folder, &name) {
                    Err(error) if cfg!(windows) && is_refused(&error) => {}
                    replaced => return replaced.map_err(refused),
                }
                // Some file systems of Windows put no file in the place of one that is open: the handles go first, and with them
                // the lock. Which file it was is looked up once more.
                let id = system::id_of(file)?;
                drop(lock);
                (old, locked) = (None, None);
                return match system::id_at(&target) {
                    Ok(found) if found == id => draft.replace(&folder, &name).map_err(refused),
                    Ok(_) => Err(ErrorKind::Locked.into()), // another process has just replaced it
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        draft.take_place(&folder, &name, options.get_sync()).map_err(refused)
                    }
                    Err(error) => Err(refused(error)),
                };
            }
            if locked.is_some() {
                break; // another process has replaced what was read, without a lock
            }
            drop(lock);
            old = open_old(&folder, &name)?;
        }
        Err(ErrorKind::Locked.into())
    };
    put().inspect_err(|_| draft.discard(&folder))?;
    drop((old, locked)); // and with them the lock: syncing the folder takes long
    sync_folder(&folder, options)
}

/// What has been read to make its own successor must have a name that the successor can take.
fn not_itself() -> Error {
    let reason =
        "a file that is read to be replaced needs a path of its own, and not that of a descriptor".into();
    ErrorKind::BadOption { reason }.into()
}

/// The old file, to be locked. Renaming needs no permission to write the file itself; but who took that permission away meant
/// it. Links have been followed: one that has come since is an error.
fn open_old(folder: &Folder, name: &OsStr) -> Result<Option<File>> {
    match folder.open_file(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // A file that may be written and not read is locked and compared all the same.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok(Some(folder.open_to_write(name)?))
        }
        opened => Ok(Some(opened?)),
    }
}

/// Makes a file that must not exist yet. It appears when it is complete.
pub(crate) fn create_new(
    path: &Path,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let (folder, name) = draft::split(path)?;
    let mut draft = Draft::new(&folder, false)?;
    let put = || -> Result<()> {
        write(&draft.file)?;
        if options.get_sync() {
            draft.sync()?;
        }
        draft.take_place(&folder, &name, options.get_sync()).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists.into(),
            _ => Error::from(error),
        })
    };
    put().inspect_err(|_| draft.discard(&folder))?;
    sync_folder(&folder, options)
}

/// The folder for what is gone in the end. (WASI has none of its own; `/tmp` is what programs there are given, if anything.)
pub(crate) fn temporary_folder() -> PathBuf {
    if cfg!(target_os = "wasi") { "/tmp".into() } else { std::env::temp_dir() }
}

/// A file for what is in between, which is gone when it is closed.
pub(crate) fn unnamed(folder: &Path) -> io::Result<File> {
    let (folder, _) = draft::split(&folder.join("unnamed"))?;
    let draft = Draft::new(&folder, true)?;
    draft.discard(&folder); // its name, if it had to have one
    Ok(draft.file)
}

/// Writes over an old file, and truncates it only after what has been written: a call that fails before it writes changes
/// nothing. The file is opened for reading, too, since it may be mapped.
fn overwrite(target: &Path, options: &WriteOptions, is_new: bool, write: WriteNew<'_>) -> Result<()> {
    let file = open_in_place(target, options)?;
    if let Err(error) = write(None, &file) {
        if is_new && os::len_of_regular(&file) == Some(0) {
            let _ = fs::remove_file(target);
        }
        return Err(error);
    }
    let end = (&*file).stream_position()?;
    file.set_len(end)?;
    sync_file(&file, options)?;
    if is_new {
        sync_folder_of(target, options)?;
    }
    file.leave_to_map();
    Ok(())
}

/// Opens a file to be written where it is, or a new one, and locks it. Its content is as it was.
pub(crate) fn open_in_place(path: &Path, options: &WriteOptions) -> Result<Locked> {
    let mut open = OpenOptions::new();
    open.read(true).write(true).create(true).truncate(false);
    lock::open_locked_with(path, Purpose::Change, options.get_wait_for_lock(), &mut open)
}

/// The file at `path`, locked against all other changes, if it is one of those that are going to be read to make its successor.
/// With `in_place` there is no successor, so that this is an error.
pub(crate) fn lock_if_input<P: AsRef<Path>>(
    path: &Path,
    inputs: &[P],
    options: &WriteOptions,
) -> Result<Option<Locked>> {
    // No file yet, or one that will tell.
    let Ok(target) = fs::metadata(path) else { return Ok(None) };
    let is_input = target.is_file() && {
        let id = system::id_at(path)?;
        let is_same = |input: &Path| match (&id, system::id_at(input)) {
            (Some(id), Ok(Some(input))) => *id == input,
            (_, Err(_)) => false,
            // Where no file can be told from another, the names have to do.
            _ => fs::canonicalize(path).ok() == fs::canonicalize(input).ok(),
        };
        inputs.iter().any(|input| is_same(input.as_ref()))
    };
    match (is_input, options.get_in_place()) {
        (false, _) => Ok(None),
        (true, true) => {
            let reason =
                "the output is one of the inputs, which would be overwritten before they have been read";
            Err(ErrorKind::BadOption { reason: reason.into() }.into())
        }
        (true, false) => open_locked(path, Purpose::Change, options.get_wait_for_lock()).map(Some),
    }
}

/// Syncs what was written to, if that is asked for and means anything: a pipe has nothing to sync.
fn sync_file(file: &File, options: &WriteOptions) -> Result<()> {
    if options.get_sync() && os::len_of_regular(file).is_some() {
        file.sync_all()?;
    }
    Ok(())
}

/// Makes a new name survive a loss of power, where a folder can be synced.
fn sync_folder(folder: &Folder, options: &WriteOptions) -> Result<()> {
    if !options.get_sync() {
        return Ok(());
    }
    folder.sync().map_err(|error| {
        let text = format!("the new file is in place, but its folder could not be synced: {error}");
        io::Error::new(error.kind(), text).into()
    })
}

/// Syncs the folder of a file that was created in it.
pub(crate) fn sync_folder_of(path: &Path, options: &WriteOptions) -> Result<()> {
    if !options.get_sync() {
        return Ok(());
    }
    match target::follow_links(path)? {
        Place::File(target) => sync_folder(&draft::split(&target)?.0, options),
        Place::Open(_) => Ok(()),
    }
}

/// What `sync` can do for a writer: a `File`, or one in a `BufWriter`, is synced; of anything else nobody knows.
pub(crate) fn check_syncs<W>(writer: &mut W, options: &WriteOptions) -> Result<()> {
    if options.get_sync() && os::as_any_file(writer).is_none() {
        let reason = "only a file can be synced: this writer is neither a File nor a BufWriter<File>".into();
        return Err(ErrorKind::BadOption { reason }.into());
    }
    Ok(())
}

/// Flushes and syncs a writer that [`check_syncs`] has let pass: its content and length, but not its times.
pub(crate) fn sync_writer<W: Write>(writer: &mut W, options: &WriteOptions) -> Result<()> {
    if !options.get_sync() {
        return Ok(());
    }
    Sink::of(writer).flush()?;
    match os::as_any_file(writer) {
        Some(file) if os::len_of_regular(file).is_some() => Ok(file.sync_data()?),
        Some(_) => Ok(()),
        None => check_syncs(writer, options),
    }
}

/// Syncs what was written to parts of a file.
pub(crate) fn sync_parts(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// Makes an open file this long.
pub(crate) fn set_len(file: &File, len: u64) -> io::Result<()> {
    file.set_len(len)
}

/// How long a lock is waited for that another process may hold for hours.
#[cfg(feature = "mmap")]
pub(crate) const AT_ONCE: Duration = Duration::ZERO;

fn cannot(reason: String) -> Error {
    ErrorKind::CannotReplace { reason }.into()
}

/// The target is a mount of its own, or (on Windows) somebody has it open or mapped.
fn refused(error: io::Error) -> Error {
    match is_refused(&error) {
        true => cannot(format!("the system does not let another one take its place: {error}")),
        false => error.into(),
    }
}

fn is_refused(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ResourceBusy};
    const SHARING_VIOLATION: i32 = 32;
    let is_open = cfg!(windows) && error.raw_os_error() == Some(SHARING_VIOLATION);
    is_open || matches!(error.kind(), ResourceBusy | CrossesDevices | PermissionDenied)
}
