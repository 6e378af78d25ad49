//! Files on their way to a place: without a name if that is possible, so that a process that is killed leaves nothing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;

use super::system::{self, Attempt, Folder, Mode, Region};

/// So many names of drafts are looked at by every change in a folder: what a killed process has left is removed.
const SWEPT: usize = 8;

/// A new file for a place in a folder. If it is dropped before it has taken that place, it is gone.
pub(super) struct Draft {
    pub(super) file: File,
    /// Its name, if it has one.
    name: Option<OsString>,
    is_private: bool,
}

impl Draft {
    /// If there is an old file, which may be private, nobody else can open the new one before it has its permissions.
    pub(super) fn new(folder: &Folder, is_private: bool) -> io::Result<Self> {
        (0..SWEPT).for_each(|number| sweep(folder, &name(number)));
        match folder.create_unnamed(is_private) {
            Ok(file) => {
                system::try_lock(&file, Region::Draft, Mode::Exclusive)?;
                Ok(Self { file, name: None, is_private })
            }
            // The file system has no such files, or they could not be given a name. (Whatever else is wrong, a file with a
            // name will show it.)
            Err(_) => Self::named(folder, is_private),
        }
    }

    fn named(folder: &Folder, is_private: bool) -> io::Result<Self> {
        for number in 0.. {
            let name = name(number);
            let file = match folder.create_new(&name, is_private) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            };
            let attempt = system::try_lock(&file, Region::Draft, Mode::Exclusive)?;
            // Who sweeps may have been faster between the two calls.
            if attempt != Attempt::Busy && folder.names(&name, &file)? {
                return Ok(Self { file, name: Some(name), is_private });
            }
        }
        unreachable!("there is always another number")
    }

    /// Gives the draft a name of its own beside its place. If the system refuses, its content moves to a file that has one.
    fn give_name(&mut self, folder: &Folder) -> io::Result<OsString> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        for number in 0.. {
            let name = name(number);
            match folder.link(&self.file, &name) {
                Ok(()) => {
                    self.name = Some(name.clone());
                    return Ok(name);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(_) => break,
            }
        }
        self.copy_to_named(folder)
    }

    fn copy_to_named(&mut self, folder: &Folder) -> io::Result<OsString> {
        let named = Self::named(folder, self.is_private)?;
        let name = named.name.clone().unwrap_or_default();
        self.file.rewind()?;
        let moved = io::copy(&mut &self.file, &mut &named.file).map(drop);
        let moved = moved.and_then(|()| super::target::keep_all(&self.file, &named.file));
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

    /// Gives the draft a name of its own, under which it can take the place of a file.
    pub(super) fn prepare(&mut self, folder: &Folder, syncs: bool) -> io::Result<()> {
        if self.name.is_none() {
            self.give_name(folder)?;
            if syncs {
                self.sync()?; // its content may have moved
            }
        }
        Ok(())
    }

    /// Puts the draft in the place of a file.
    pub(super) fn replace(&mut self, folder: &Folder, target: &OsStr) -> io::Result<()> {
        let name = self.give_name(folder)?;
        folder.rename(&name, target)?;
        self.name = Some(target.to_owned());
        Ok(())
    }

    /// Puts the draft in a place that must be free.
    pub(super) fn take_place(&mut self, folder: &Folder, target: &OsStr, syncs: bool) -> io::Result<()> {
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
        let name = self.give_name(folder)?;
        if syncs {
            self.sync()?;
        }
        match folder.rename_to_new(&name, target) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // A file system without links: the place is taken first, so that nobody else can.
            Err(_) => {
                folder.create_new(target, false)?;
                folder.rename(&name, target).inspect_err(|_| {
                    let _ = folder.unlink(target); // the empty file that held the place
                })?;
            }
        }
        self.name = Some(target.to_owned());
        Ok(())
    }

    /// Removes the name of a draft that has not taken its place.
    pub(super) fn discard(&self, folder: &Folder) {
        if let Some(name) = &self.name {
            let _ = folder.unlink(name); // there is nobody left to tell
        }
    }
}

/// The names that drafts have. They are short, so that they fit wherever the target's does, and of a number, so that who
/// comes next finds what has been left.
fn name(number: usize) -> OsString {
    format!(".ndarray-io-{number}.draft").into()
}

/// Removes a draft whose owner is gone, as its lock tells. Where there are no locks, nobody knows, and it stays.
fn sweep(folder: &Folder, name: &OsStr) {
    let Ok(file) = folder.open_file(name) else { return };
    if Folder::is_own(&file).unwrap_or(false)
        && matches!(system::try_lock(&file, Region::Draft, Mode::Exclusive), Ok(Attempt::Taken))
        && folder.names(name, &file).unwrap_or(false)
    {
        let _ = folder.unlink(name);
    }
}

/// The folder of a path, and the name in it.
pub(super) fn split(path: &Path) -> io::Result<(Folder, OsString)> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((Folder::open(folder)?, name.to_owned()))
}
