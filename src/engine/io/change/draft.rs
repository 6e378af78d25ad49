//! Temporary files that replace or create a file.
//!
//! They are unnamed where possible, so that a killed process leaves no file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek};

use super::draft_folder;
use super::system::{self, Folder, LockAttempt, LockMode, LockRegion};

/// The number of draft names that each change checks for stale drafts, to bound the cost.
const SWEPT_NAME_COUNT: usize = 8;

/// Makes something under the first temporary name that is free, unless `keep` refuses it for the next one.
pub(super) fn with_free_name<M, T, E: From<io::Error>>(
    make: impl Fn(&OsStr) -> io::Result<M>,
    mut keep: impl FnMut(M, OsString) -> Result<Option<T>, E>,
) -> Result<T, E> {
    for number in 0.. {
        let name = draft_name(number);
        match make(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                if let Some(kept) = keep(made?, name)? {
                    return Ok(kept);
                }
            }
        }
    }
    unreachable!("there is always another number")
}

/// Removes what killed processes have left in a folder.
pub(super) fn remove_stale_drafts(folder: &Folder) {
    (0..SWEPT_NAME_COUNT).for_each(|number| remove_if_stale(folder, &draft_name(number)));
}

/// A temporary file that is going to replace or create a file in a folder.
///
/// An unnamed draft disappears when it is closed. A named one must be removed with [`Draft::discard`] on
/// failure.
pub(super) struct Draft {
    pub(super) file: File,
    /// Its file name, if it has one.
    name: Option<OsString>,
    is_private: bool,
}

impl Draft {
    /// Creates a draft.
    ///
    /// With `is_private`, no other user can open it before it has the permissions of the old file.
    pub(super) fn new(folder: &Folder, is_private: bool) -> io::Result<Self> {
        remove_stale_drafts(folder);
        match folder.create_unnamed(is_private) {
            Ok(file) => {
                // Locked before the file can get a name: the lock marks a draft as in use, so that `remove_if_stale`
                // does not remove it.
                system::try_lock(&file, LockRegion::Draft, LockMode::Exclusive)?;
                Ok(Self { file, name: None, is_private })
            }
            // The file system has no unnamed files, or cannot link them later. Any other error will occur
            // again when a named file is created.
            Err(_) => Self::create_named(folder, is_private),
        }
    }

    fn create_named(folder: &Folder, is_private: bool) -> io::Result<Self> {
        let create = |name: &OsStr| folder.create_new(name, is_private);
        with_free_name(create, |file, name| {
            let attempt = system::try_lock(&file, LockRegion::Draft, LockMode::Exclusive)?;
            // Another process may have removed the file between its creation and its locking.
            let is_ours = attempt != LockAttempt::Busy && folder.is_name_of(&name, &file)?;
            Ok(is_ours.then_some(Self { file, name: Some(name), is_private }))
        })
    }

    /// Gives the draft a temporary name in its folder, or copies it to a named file if it cannot be linked.
    fn give_temporary_name(&mut self, folder: &Folder) -> io::Result<OsString> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let linked: io::Result<_> =
            with_free_name(|name| folder.link(&self.file, name), |(), name| Ok(Some(name)));
        match linked {
            Ok(name) => {
                self.name = Some(name.clone());
                Ok(name)
            }
            Err(_) => self.copy_to_named(folder),
        }
    }

    fn copy_to_named(&mut self, folder: &Folder) -> io::Result<OsString> {
        let named = Self::create_named(folder, self.is_private)?;
        let name = named.name.clone().unwrap_or_default();
        self.file.rewind()?;
        let moved = io::copy(&mut &self.file, &mut &named.file).map(drop);
        let moved = moved.and_then(|()| super::target::copy_draft_metadata(&self.file, &named.file));
        if let Err(error) = moved {
            named.discard(folder);
            return Err(error);
        }
        *self = named;
        Ok(name)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives the draft a temporary name, from which it can be renamed.
    ///
    /// This is done before the old file is locked, because it may have to copy and sync the content.
    pub(super) fn ensure_named(&mut self, folder: &Folder, syncs: bool) -> io::Result<()> {
        if self.name.is_none() {
            self.give_temporary_name(folder)?;
            if syncs {
                self.sync()?; // the content may have been copied
            }
        }
        Ok(())
    }

    /// Renames the draft over an existing file.
    pub(super) fn replace_target(&mut self, folder: &Folder, target: &OsStr) -> io::Result<()> {
        let name = self.give_temporary_name(folder)?;
        self.check_still_has_name(folder, &name)?;
        folder.rename(&name, target)?;
        self.name = Some(target.to_owned());
        Ok(())
    }

    /// Returns an error if another process has taken this draft for that of a killed one, which can happen where locks do
    /// not reach all machines.
    fn check_still_has_name(&self, folder: &Folder, name: &OsStr) -> io::Result<()> {
        match folder.is_name_of(name, &self.file)? {
            true => Ok(()),
            false => {
                Err(io::Error::new(io::ErrorKind::NotFound, "another process has removed the temporary file"))
            }
        }
    }

    /// Gives the draft its final name, which must not exist yet.
    pub(super) fn persist_new(&mut self, folder: &Folder, target: &OsStr, syncs: bool) -> io::Result<()> {
        if self.name.is_none() {
            match folder.link(&self.file, target) {
                Ok(()) => {
                    self.name = Some(target.to_owned());
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => {}
            }
        }
        let name = self.give_temporary_name(folder)?;
        if syncs {
            self.sync()?;
        }
        self.check_still_has_name(folder, &name)?;
        match folder.rename_to_new(&name, target) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // On a file system without links, an empty file reserves the name and is then replaced.
            Err(_) => {
                let reserved = folder.create_new(target, false)?;
                // Locked, so that no other process appends to it; and if it was replaced before, it is not ours any more.
                system::try_lock(&reserved, LockRegion::Change, LockMode::Exclusive)?;
                if !folder.is_name_of(target, &reserved)? {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                if cfg!(windows) {
                    drop(reserved); // a file that is open may not be replaced
                }
                folder.rename(&name, target).inspect_err(|_| {
                    let _ = folder.unlink(target); // the empty file that reserved the name
                })?;
            }
        }
        self.name = Some(target.to_owned());
        Ok(())
    }

    /// Removes the temporary name of a draft that has not received its final name.
    pub(super) fn discard(&self, folder: &Folder) {
        if let Some(name) = &self.name {
            let _ = folder.unlink(name); // an error cannot be reported
        }
    }
}

/// Returns the name of draft `number`, which may be a file or a folder.
///
/// Names are short, so that they fit wherever the target's name does. They are numbered, so that a later
/// change finds stale drafts.
pub(super) fn draft_name(number: usize) -> OsString {
    format!(".ndarray-io-{number}.draft").into()
}

/// Removes a draft whose lock is free, because its owner no longer exists.
///
/// Without lock support, drafts are kept.
fn remove_if_stale(folder: &Folder, name: &OsStr) {
    let file = match folder.open_read_write(name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            return draft_folder::remove_if_stale(folder, name);
        }
        Err(_) => return,
    };
    // The name may have been reused between opening and locking, so it is compared with the open file.
    if Folder::is_owned_regular_file(&file).unwrap_or(false)
        && matches!(
            system::try_lock(&file, LockRegion::Draft, LockMode::Exclusive),
            Ok(LockAttempt::Acquired)
        )
        && folder.is_name_of(name, &file).unwrap_or(false)
    {
        let _ = folder.unlink(name);
    }
}
