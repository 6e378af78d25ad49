//! Folders that get their name when they are complete.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::Owner;
use super::system::{self, Attempt, Folder, Mode, Region};
use super::{draft, sync_folder, target};
use crate::error::{Error, ErrorKind, Result};
use crate::options::WriteOptions;

/// A file in each draft, whose lock marks the folder as in use. (The lock of a folder would be seen by one machine only.)
const MARKER: &str = ".ndarray-io.draft";

/// A folder with a temporary name beside the name that it will get. There are only files in it.
///
/// If it is dropped before it has got its name, it is removed with all that is in it.
#[derive(Debug)]
pub(crate) struct DraftFolder {
    parent: Folder,
    own: Folder,
    marker: Option<File>,
    name: OsString,
    wanted: OsString,
    owner: Owner,
}

impl DraftFolder {
    /// Creates a folder for a path that must not exist.
    pub(crate) fn beside(path: &Path) -> Result<Self> {
        let (parent, wanted) = target::split(path, Folder::open)?;
        if parent.kind_of(&wanted)?.is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        draft::sweep_all(&parent);
        let create = |name: &OsStr| parent.create_folder(name);
        let made: io::Result<_> = draft::with_free_name(create, |_, name| {
            let marked = mark(&parent, &name).inspect_err(|_| {
                let _ = parent.remove_folder(&name);
            })?;
            Ok(marked.map(|(own, marker)| (own, marker, name)))
        });
        let (own, marker, name) = made?;
        Ok(Self { parent, own, marker: Some(marker), name, wanted, owner: Owner::new() })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.own.path().to_owned()
    }

    /// Gives the folder its name, which must not exist yet.
    pub(crate) fn take_place(mut self, options: &WriteOptions) -> Result<()> {
        if cfg!(windows) {
            // A folder with an open file in it cannot be renamed there.
            drop(self.marker.take());
            self.own.unlink(MARKER.as_ref())?;
        }
        self.parent.rename_folder(&self.name, &self.wanted).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                ErrorKind::AlreadyExists.into()
            }
            _ => Error::from(error),
        })?;
        let placed = match self.marker.take() {
            // Of a process that is killed here, the stack keeps the marker, which is never read.
            Some(_) if cfg!(target_os = "linux") => self.own.unlink(MARKER.as_ref()),
            Some(_) => {
                self.parent.open_within(self.wanted.as_ref()).and_then(|own| own.unlink(MARKER.as_ref()))
            }
            None => Ok(()),
        };
        self.name.clear(); // there is nothing to remove any more
        placed?;
        sync_folder(&self.parent, options)
    }
}

impl Drop for DraftFolder {
    fn drop(&mut self) {
        if !self.name.is_empty() && self.owner.is_here() {
            drop(self.marker.take());
            remove(&self.parent, &self.own, &self.name);
        }
    }
}

/// Opens a folder that has just been made, and marks it as in use.
///
/// Returns `None` if another process has taken it for that of a killed one in the meantime.
fn mark(parent: &Folder, name: &OsStr) -> io::Result<Option<(Folder, File)>> {
    let marked = || -> io::Result<_> {
        let own = parent.open_within(name.as_ref())?;
        let marker = own.create_new(MARKER.as_ref(), false)?;
        let is_ours = system::try_lock(&marker, Region::Draft, Mode::Exclusive)? != Attempt::Busy;
        let is_marked = is_ours && own.names(MARKER.as_ref(), &marker)? && own.is_in(parent, name)?;
        Ok(is_marked.then_some((own, marker)))
    };
    match marked() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        marked => marked,
    }
}

/// Removes a draft that is not in use, because its owner no longer exists.
pub(super) fn sweep(parent: &Folder, name: &OsStr) {
    let Ok(own) = parent.open_within(name.as_ref()) else { return };
    match own.open_file(MARKER.as_ref()) {
        Ok(marker) => {
            let is_free =
                matches!(system::try_lock(&marker, Region::Draft, Mode::Exclusive), Ok(Attempt::Taken));
            if is_free && Folder::is_own(&marker).unwrap_or(false) {
                remove(parent, &own, name);
            }
        }
        // Its owner was killed before it could mark the folder, or is about to.
        Err(error) if error.kind() == io::ErrorKind::NotFound => drop(parent.remove_folder(name)),
        Err(_) => {}
    }
}

/// Removes a draft, if it still has its name; errors cannot be reported.
fn remove(parent: &Folder, own: &Folder, name: &OsStr) {
    if own.is_in(parent, name).unwrap_or(false) && own.clear().is_ok() {
        let _ = parent.remove_folder(name);
    }
}
