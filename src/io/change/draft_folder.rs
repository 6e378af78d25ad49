//! Folders that get their name when they are complete.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::Owner;
use super::system::{Attempt, Folder};
use super::{draft, sync_folder, target};
use crate::error::{Error, ErrorKind, Result};
use crate::options::WriteOptions;

/// A folder with a temporary name beside the name that it will get.
///
/// If it is dropped before it has got its name, it is removed with all that is in it.
#[derive(Debug)]
pub(crate) struct DraftFolder {
    parent: Folder,
    /// The handle that marks the folder as in use.
    own: Folder,
    name: OsString,
    wanted: OsString,
    is_placed: bool,
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
        for number in 0.. {
            let name = draft::name(number);
            match parent.create_folder(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let own = parent.open_within(name.as_ref())?;
            // Another process may have taken it for that of a killed one before it was marked.
            if own.try_mark()? != Attempt::Busy && own.is_own_folder(&parent, &name)? {
                return Ok(Self { parent, own, name, wanted, is_placed: false, owner: Owner::new() });
            }
        }
        unreachable!("there is always another number")
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.own.path().to_owned()
    }

    /// Gives the folder its name, which must not exist yet.
    pub(crate) fn take_place(mut self, options: &WriteOptions) -> Result<()> {
        self.parent.rename_folder(&self.name, &self.wanted).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                ErrorKind::AlreadyExists.into()
            }
            _ => Error::from(error),
        })?;
        self.is_placed = true;
        sync_folder(&self.parent, options)
    }
}

impl Drop for DraftFolder {
    fn drop(&mut self) {
        if !self.is_placed && self.owner.is_here() {
            let _ = fs::remove_dir_all(self.own.path()); // an error cannot be reported
        }
    }
}

/// Removes a draft that is not in use, because its owner no longer exists. Where folders cannot be marked, it is kept.
pub(super) fn sweep(parent: &Folder, name: &OsStr) {
    let Ok(own) = parent.open_within(name.as_ref()) else { return };
    if matches!(own.try_mark(), Ok(Attempt::Taken)) && own.is_own_folder(parent, name).unwrap_or(false) {
        let _ = fs::remove_dir_all(own.path());
    }
}
