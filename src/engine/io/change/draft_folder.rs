//! Folders that get their name when they are complete.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::OwnerProcess;
use super::system::{self, Folder, LockAttempt, LockMode, LockRegion};
use super::{draft, sync_folder, target};
use crate::error::{Error, Fault, Result};
use crate::options::WriteOptions;

/// A file in each draft, whose lock marks the folder as in use. (The lock of a folder would be seen by one machine only.)
const MARKER: &str = ".ndarray-io.draft";

/// A folder with a temporary name beside the name that it will get. There are only files in it.
///
/// If it is dropped before it has got its name, it is removed with all that is in it.
#[derive(Debug)]
pub(crate) struct DraftFolder {
    parent: Folder,
    folder: Folder,
    marker: Option<File>,
    name: OsString,
    final_name: OsString,
    owner: OwnerProcess,
}

impl DraftFolder {
    /// Creates a folder for a path that must not exist.
    pub(crate) fn create_beside(path: &Path) -> Result<Self> {
        let (parent, final_name) = target::open_parent_folder(path, Folder::open)?;
        if parent.kind_of(&final_name)?.is_some() {
            return Err(Fault::AlreadyExists.into());
        }
        draft::remove_stale_drafts(&parent);
        let create = |name: &OsStr| parent.create_folder(name);
        let made: io::Result<_> = draft::with_free_name(create, |_, name| {
            let marked = open_and_mark(&parent, &name).inspect_err(|_| {
                let _ = parent.remove_folder(&name);
            })?;
            Ok(marked.map(|(folder, marker)| (folder, marker, name)))
        });
        let (folder, marker, name) = made?;
        Ok(Self { parent, folder, marker: Some(marker), name, final_name, owner: OwnerProcess::new() })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Gives the folder its name, which must not exist yet.
    pub(crate) fn persist_new(mut self, options: &WriteOptions) -> Result<()> {
        if cfg!(windows) {
            // A folder with an open file in it cannot be renamed there.
            drop(self.marker.take());
            self.folder.unlink(MARKER.as_ref())?;
        }
        self.parent.rename_folder(&self.name, &self.final_name).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => Fault::AlreadyExists.into(),
            _ => Error::from(error),
        })?;
        let placed = match self.marker.take() {
            // Of a process that is killed here, the stack keeps the marker, which is never read.
            Some(_) if cfg!(target_os = "linux") => self.folder.unlink(MARKER.as_ref()),
            Some(_) => self
                .parent
                .open_within(self.final_name.as_ref())
                .and_then(|folder| folder.unlink(MARKER.as_ref())),
            None => Ok(()),
        };
        self.name.clear(); // there is nothing to remove any more
        placed?;
        sync_folder(&self.parent, options)
    }
}

impl Drop for DraftFolder {
    fn drop(&mut self) {
        if !self.name.is_empty() && self.owner.is_current_process() {
            drop(self.marker.take());
            remove(&self.parent, &self.folder, &self.name);
        }
    }
}

/// Opens a folder that has just been made, and marks it as in use.
///
/// Returns `None` if another process has taken it for that of a killed one in the meantime.
fn open_and_mark(parent: &Folder, name: &OsStr) -> io::Result<Option<(Folder, File)>> {
    let marked = || -> io::Result<_> {
        let folder = parent.open_within(name.as_ref())?;
        let marker = folder.create_new(MARKER.as_ref(), false)?;
        let is_ours = system::try_lock(&marker, LockRegion::Draft, LockMode::Exclusive)? != LockAttempt::Busy;
        let is_marked =
            is_ours && folder.is_name_of(MARKER.as_ref(), &marker)? && folder.is_in(parent, name)?;
        Ok(is_marked.then_some((folder, marker)))
    };
    match marked() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        marked => marked,
    }
}

/// Removes a draft that is not in use, because its owner no longer exists.
pub(super) fn remove_if_stale(parent: &Folder, name: &OsStr) {
    let Ok(folder) = parent.open_within(name.as_ref()) else { return };
    match folder.open_read_write(MARKER.as_ref()) {
        Ok(marker) => {
            let is_free = matches!(
                system::try_lock(&marker, LockRegion::Draft, LockMode::Exclusive),
                Ok(LockAttempt::Acquired)
            );
            if is_free && Folder::is_owned_regular_file(&marker).unwrap_or(false) {
                remove(parent, &folder, name);
            }
        }
        // Its owner was killed before it could mark the folder, or is about to.
        Err(error) if error.kind() == io::ErrorKind::NotFound => drop(parent.remove_folder(name)),
        Err(_) => {}
    }
}

/// Removes a draft, if it still has its name; errors cannot be reported.
fn remove(parent: &Folder, folder: &Folder, name: &OsStr) {
    if folder.is_in(parent, name).unwrap_or(false) && folder.clear().is_ok() {
        let _ = parent.remove_folder(name);
    }
}
