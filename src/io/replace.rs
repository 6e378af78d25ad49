//! Files that are replaced whole or not at all: written beside their place, and renamed into it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind, Result};
use crate::options::WriteOptions;

/// Makes the file at `path` what `write` writes into an empty file. It is written beside its place and renamed into it;
/// see [`write_npy`](crate::write_npy) for the exceptions.
pub(crate) fn replace(
    path: &Path,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    let target = follow_links(path)?;
    let old = match fs::metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let is_special = old.as_ref().is_some_and(|old| !old.is_file());
    if is_special || options.is_in_place() {
        return overwrite(&target, options, is_special, write);
    }
    if let Some(old) = &old {
        check_links(old)?;
        // Renaming needs no leave to write the file itself; but who took that leave away meant it.
        OpenOptions::new().write(true).open(&target)?;
    }
    let draft = Draft::beside(&target, old.is_some())?;
    if let Some(old) = &old {
        keep_owner(&draft.file, old)?;
        draft.file.set_permissions(old.permissions())?;
    }
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

/// Writes over what is there. What is no regular file (a pipe, a terminal) cannot be cut or synced.
fn overwrite(
    target: &Path,
    options: &WriteOptions,
    is_special: bool,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    let file = OpenOptions::new().write(true).create(!is_special).truncate(!is_special).open(target)?;
    write(&file)?;
    if options.syncs() && !is_special {
        file.sync_all()?;
    }
    Ok(())
}

/// Where a path leads in the end, be it to a file that is not there yet.
fn follow_links(path: &Path) -> Result<PathBuf> {
    const MOST: usize = 40; // as Linux has it
    let mut target = path.to_owned();
    for _ in 0..MOST {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(target), // no link, or nothing there: whoever opens it will see
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links lead on from one another")
        .into())
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

/// A new file beside the place that it is for. If it is dropped before it has taken that place, it is removed.
struct Draft {
    file: File,
    path: PathBuf,
    is_placed: bool,
}

impl Draft {
    fn beside(target: &Path, is_there: bool) -> Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let name = target
            .file_name()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
        loop {
            let mut own = std::ffi::OsString::from(".");
            own.push(name);
            own.push(format!(".{}-{}.tmp", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
            let path = target.with_file_name(own);
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
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
        self.sync(options)?;
        match fs::rename(&self.path, target) {
            Ok(()) => self.is_placed = true,
            // Windows does not replace a file that somebody has mapped.
            Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(cannot("it is mapped or open elsewhere".into()));
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
                let taken = OpenOptions::new().write(true).create_new(true).open(target);
                match taken {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        Err(ErrorKind::AlreadyExists.into())
                    }
                    Err(error) => Err(error.into()),
                    Ok(_) => self.rename(target, options),
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
