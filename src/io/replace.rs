//! Files that are replaced whole or not at all: written beside their place, and renamed into it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind, Result};
use crate::options::WriteOptions;
use crate::transfer::os;

/// Makes the file at `path` what `write` writes into an empty file. It is written beside its place and renamed into it;
/// see [`write_npy`](crate::write_npy) for the exceptions.
pub(crate) fn replace(
    path: &Path,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    let target = match follow_links(path)? {
        Place::File(target) => target,
        Place::Open(file) => return write(&file),
    };
    let old = match fs::metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        // A pipe, a terminal: it cannot be cut, synced or replaced.
        return write(&OpenOptions::new().write(true).open(&target)?);
    }
    if options.is_in_place() {
        return overwrite(&target, options, old.is_none(), write);
    }
    if let Some(old) = &old {
        check_links(old)?;
        // Renaming needs no leave to write the file itself; but who took that leave away meant it.
        let old_file = OpenOptions::new().write(true).open(&target)?;
        let draft = Draft::beside(&target, true)?;
        keep_owner(&draft.file, old)?;
        os::copy_attributes(&old_file, &draft.file).map_err(|error| {
            cannot(format!("its extended attributes (an access list, a label) would be lost: {error}"))
        })?;
        keep_permissions(&draft.file, old)?;
        write(&draft.file)?;
        return draft.rename(&target, options);
    }
    let draft = Draft::beside(&target, false)?;
    write(&draft.file)?;
    draft.rename(&target, options)
}

/// Makes a file that must not be there yet. It appears when it is complete.
pub(crate) fn create_new(
    path: &Path,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let draft = Draft::beside(path, false)?;
    write(&draft.file)?;
    draft.link(path, options)
}

/// Writes over what is there, and cuts it only behind what has been written: a call that fails before it writes
/// changes nothing. The file is opened for reading, too, since it may be mapped.
fn overwrite(
    target: &Path,
    options: &WriteOptions,
    is_new: bool,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(target)?;
    write(&file)?;
    let end = file.stream_position()?;
    file.set_len(end)?;
    if options.syncs() {
        file.sync_all()?;
        if is_new {
            sync_folder(target, options)?;
        }
    }
    Ok(())
}

/// Where a path leads in the end.
enum Place {
    /// A file by its name, be it one that is not there yet.
    File(PathBuf),
    /// What a descriptor of this process has open, as `/dev/stdout` and `/dev/fd/5` name it. It is written as the
    /// descriptor would be, at its position.
    Open(File),
}

fn follow_links(path: &Path) -> Result<Place> {
    const MOST: usize = 40; // as Linux has it
    let mut target = path.to_owned();
    for _ in 0..MOST {
        if let Some(file) = open_descriptor(&target)? {
            return Ok(Place::Open(file));
        }
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(Place::File(target)), // no link, or nothing there: whoever opens it will see
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links lead on from one another")
        .into())
}

/// The file behind the name of a descriptor. Its link, if it is one, leads to no name that could be opened (`pipe:[7]`),
/// or to one that another file may have by now.
#[cfg(unix)]
fn open_descriptor(path: &Path) -> Result<Option<File>> {
    let own = std::process::id();
    let folders =
        ["/dev/fd".into(), "/proc/self/fd".into(), format!("/proc/{own}/fd"), "/proc/thread-self/fd".into()];
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let is_descriptor = folders.iter().any(|known| folder == Path::new(known));
    match name.to_str().and_then(|name| name.parse().ok()) {
        Some(descriptor) if is_descriptor => Ok(Some(os::duplicate(descriptor)?)),
        _ => Ok(None),
    }
}

#[cfg(not(unix))]
fn open_descriptor(_: &Path) -> Result<Option<File>> {
    Ok(None)
}

fn cannot(reason: String) -> Error {
    ErrorKind::CannotReplace { reason }.into()
}

#[cfg(unix)]
fn check_links(old: &Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    match old.nlink() {
        0 | 1 => Ok(()),
        links => Err(cannot(format!("it has {links} hard links, and the others would keep the old content"))),
    }
}

#[cfg(not(unix))]
fn check_links(_: &Metadata) -> Result<()> {
    Ok(())
}

/// Gives the new file the owner of the old one, or fails if that is not allowed.
#[cfg(unix)]
fn keep_owner(new: &File, old: &Metadata) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let own = new.metadata()?;
    if (own.uid(), own.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(new, Some(old.uid()), Some(old.gid())).map_err(|_| {
        cannot(format!("it belongs to user {} and group {}, which would be lost", old.uid(), old.gid()))
    })
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> Result<()> {
    Ok(())
}

fn keep_permissions(new: &File, old: &Metadata) -> Result<()> {
    if new.metadata()?.permissions() == old.permissions() {
        return Ok(());
    }
    new.set_permissions(old.permissions())
        .map_err(|error| cannot(format!("its permissions would be lost: {error}")))
}

/// A new file beside the place that it is for. If it is dropped before it has taken that place, it is removed.
struct Draft {
    file: File,
    path: PathBuf,
    is_placed: bool,
}

impl Draft {
    /// If there is an old file, which may be private, nobody else can open the new one before it has its permissions.
    fn beside(target: &Path, is_there: bool) -> Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        if target.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file").into());
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        if is_there {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = target.with_file_name(format!(".ndarray-io.{}-{number}.tmp", std::process::id()));
            match options.open(&path) {
                Ok(file) => return Ok(Self { file, path, is_placed: false }),
                // Left behind by a process of the same number that died.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if is_there && error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(cannot("the folder that it is in cannot be written".into()));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn rename(mut self, target: &Path, options: &WriteOptions) -> Result<()> {
        use io::ErrorKind::{CrossesDevices, PermissionDenied, ResourceBusy};
        self.sync(options)?;
        match fs::rename(&self.path, target) {
            Ok(()) => self.is_placed = true,
            // The target is a mount of its own, or (on Windows) somebody has it mapped.
            Err(error) if matches!(error.kind(), ResourceBusy | CrossesDevices | PermissionDenied) => {
                return Err(cannot(format!("the system does not let another one take its place: {error}")));
            }
            Err(error) => return Err(error.into()),
        }
        sync_folder(target, options)
    }

    /// Takes a place that must be free: a link, unlike a renaming, never replaces anything.
    fn link(self, target: &Path, options: &WriteOptions) -> Result<()> {
        self.sync(options)?;
        match fs::hard_link(&self.path, target) {
            Ok(()) => sync_folder(target, options), // the other name goes with the draft
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(ErrorKind::AlreadyExists.into())
            }
            Err(_) => {
                // A file system without links. The place is taken first, so that nobody else can.
                match OpenOptions::new().write(true).create_new(true).open(target) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        Err(ErrorKind::AlreadyExists.into())
                    }
                    Err(error) => Err(error.into()),
                    Ok(_) => self.rename(target, options).inspect_err(|_| {
                        let _ = fs::remove_file(target); // the empty file that held the place
                    }),
                }
            }
        }
    }

    fn sync(&self, options: &WriteOptions) -> Result<()> {
        if options.syncs() {
            self.file.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_placed {
            let _ = fs::remove_file(&self.path); // there is nobody left to tell
        }
    }
}

/// Makes a new name survive a loss of power, where a folder can be synced.
fn sync_folder(target: &Path, options: &WriteOptions) -> Result<()> {
    if options.syncs() && cfg!(unix) {
        let folder =
            target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
