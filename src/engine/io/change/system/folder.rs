//! Folders identified by path, for systems where they are not addressed by handle.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{EntryKind, FileId};

/// A folder, identified by its path.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned() })
    }

    /// Opens a folder whose path begins in this one, unless it is absolute.
    pub(crate) fn open_within(&self, path: &Path) -> io::Result<Self> {
        Self::open(&self.path.join(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where a link leads; an error if this is not the name of a link.
    pub(crate) fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        std::fs::read_link(self.path.join(name))
    }

    /// Returns what has this name, if anything, without following a link.
    pub(crate) fn kind_of(&self, name: &OsStr) -> io::Result<Option<EntryKind>> {
        match std::fs::symlink_metadata(self.path.join(name)) {
            Ok(found) if found.is_file() => Ok(Some(EntryKind::File)),
            Ok(_) => Ok(Some(EntryKind::Other)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        if cfg!(unix) { File::open(&self.path)?.sync_all() } else { Ok(()) }
    }

    pub(crate) fn open_read_write(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.path.join(name))
    }

    pub(crate) fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.path.join(name))
    }

    /// Opens a pipe or a device for writing.
    pub(crate) fn open_stream(&self, name: &OsStr) -> io::Result<File> {
        self.open_to_write(name)
    }

    pub(crate) fn open_or_create(&self, name: &OsStr) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).open(self.path.join(name))
    }

    pub(crate) fn create_new(&self, name: &OsStr, is_private: bool) -> io::Result<File> {
        #[cfg(windows)]
        if is_private {
            return super::windows::create_for_setting_access_list(&self.path.join(name));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        if is_private {
            // Only the owner has access from the start, because the file that is being replaced may be
            // private.
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let _ = is_private;
        options.open(self.path.join(name))
    }

    pub(crate) fn create_unnamed(&self, _: bool) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn link(&self, _: &File, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    #[cfg(not(windows))]
    pub(crate) fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        super::link_and_unlink(&self.path.join(from), &self.path.join(to))
    }

    #[cfg(windows)]
    pub(crate) fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        super::windows::rename_to_new(&self.path.join(from), &self.path.join(to))
    }

    pub(crate) fn unlink(&self, name: &OsStr) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    /// Returns the identity of the file with this name, without following a link.
    #[cfg(unix)]
    pub(crate) fn id_at(&self, name: &OsStr) -> io::Result<Option<FileId>> {
        Ok(Some(FileId::from(&std::fs::symlink_metadata(self.path.join(name))?)))
    }

    /// Returns the identity of the file with this name, which has to be opened for that purpose.
    #[cfg(not(unix))]
    pub(crate) fn id_at(&self, name: &OsStr) -> io::Result<Option<FileId>> {
        super::id_at(&self.path.join(name))
    }

    /// Creates a folder, whose name must not exist.
    pub(crate) fn create_folder(&self, name: &OsStr) -> io::Result<()> {
        std::fs::create_dir(self.path.join(name))
    }

    /// Renames a folder to a name that must not exist.
    pub(crate) fn rename_folder(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match self.kind_of(to)? {
            None => self.rename(from, to),
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    pub(crate) fn is_in(&self, _: &Self, _: &OsStr) -> io::Result<bool> {
        Ok(true)
    }

    /// Removes the files in this folder.
    pub(crate) fn clear(&self) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.path)? {
            std::fs::remove_file(entry?.path())?;
        }
        Ok(())
    }

    /// Removes an empty folder in this one.
    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        std::fs::remove_dir(self.path.join(name))
    }

    pub(crate) fn is_owned_regular_file(file: &File) -> io::Result<bool> {
        Ok(file.metadata()?.is_file())
    }
}
