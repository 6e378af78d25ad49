//! What a change asks of the operating system: locks on ranges of bytes, files without names, and folders that are
//! addressed by a handle.
//!
//! Linux has all of it. Elsewhere the calls of the standard library and of Windows are used, and what they cannot do is said at
//! each function; the callers go on without.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
#[cfg(not(windows))]
use std::path::Path;

#[cfg(not(target_os = "linux"))]
mod folder;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(any(target_os = "linux", windows)))]
mod locks;
#[cfg(target_os = "wasi")]
mod wasi;
#[cfg(windows)]
mod windows;

#[cfg(not(target_os = "linux"))]
pub(crate) use folder::Folder;
#[cfg(target_os = "linux")]
pub(crate) use linux::{Folder, copy_attributes, is_locked, try_lock, unlock};
#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) use locks::{is_locked, try_lock, unlock};
#[cfg(target_os = "wasi")]
pub(crate) use wasi::{id_of, links_of};
#[cfg(windows)]
pub(crate) use windows::{copy_attributes, device, id_at, id_of, is_locked, links_of, try_lock, unlock};

/// The bytes that locks are taken on. They are far after any data, so that no lock keeps anybody from reading or writing the
/// data themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    /// Shared by mutable maps; exclusive, as a part of `Change`, for what changes the whole file.
    Map,
    /// Exclusive for a moment, while another file takes the place of this one.
    Replace,
    /// `Map` and `Replace` at once.
    Change,
    /// Exclusive while a header is written, shared while it is read again.
    Header,
    /// Exclusive as long as the owner of a draft lives.
    Draft,
}

impl Region {
    /// The first byte and the number of bytes.
    #[cfg_attr(not(any(target_os = "linux", windows)), allow(dead_code))]
    fn range(self) -> (i64, i64) {
        const FIRST: i64 = i64::MAX - 63;
        match self {
            Self::Map => (FIRST, 1),
            Self::Replace => (FIRST + 1, 1),
            Self::Change => (FIRST, 2),
            Self::Header => (FIRST + 2, 1),
            Self::Draft => (FIRST + 3, 1),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

/// What became of an attempt to lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    Taken,
    /// Another open file has a lock that is in the way.
    Busy,
    /// The file system has no locks.
    Unsupported,
}

/// What tells one file from another: the volume or device, and a number on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileId {
    volume: u64,
    number: u64,
}

impl PartialEq for FileId {
    fn eq(&self, other: &Self) -> bool {
        // Wine does not know the volume of an open file that has been renamed, and says 0.
        let is_unknown = cfg!(windows) && (self.volume == 0 || other.volume == 0);
        self.number == other.number && (self.volume == other.volume || is_unknown)
    }
}

#[cfg(unix)]
impl From<&std::fs::Metadata> for FileId {
    fn from(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { volume: metadata.dev(), number: metadata.ino() }
    }
}

/// Which file this is. `None` where the system does not tell: then all are taken to be the same.
#[cfg(unix)]
pub(crate) fn id_of(file: &File) -> io::Result<Option<FileId>> {
    Ok(Some(FileId::from(&file.metadata()?)))
}

#[cfg(not(any(unix, windows, target_os = "wasi")))]
pub(crate) fn id_of(_: &File) -> io::Result<Option<FileId>> {
    Ok(None)
}

/// The same of what is at a path, links followed.
#[cfg(unix)]
pub(crate) fn id_at(path: &Path) -> io::Result<Option<FileId>> {
    Ok(Some(FileId::from(&std::fs::metadata(path)?)))
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn id_at(path: &Path) -> io::Result<Option<FileId>> {
    id_of(&File::open(path)?)
}

/// Whether what was found at a path is the open file: not if there is nothing.
pub(crate) fn is_same(found: io::Result<Option<FileId>>, file: &File) -> io::Result<bool> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => Ok(found? == id_of(file)?),
    }
}

impl Folder {
    /// Whether the name is that of the open file.
    pub(crate) fn names(&self, name: &OsStr, file: &File) -> io::Result<bool> {
        is_same(self.id_at(name), file)
    }
}

/// How many names a file has, where the system tells.
#[cfg(unix)]
pub(crate) fn links_of(file: &File) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink())
}

#[cfg(not(any(unix, windows, target_os = "wasi")))]
pub(crate) fn links_of(_: &File) -> io::Result<u64> {
    Ok(1)
}

/// Gives one file what belongs to another besides its content, owner and permissions. Here files are taken to have nothing.
#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) fn copy_attributes(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}

/// Renames to a name that must be free, where no call does it: a link, unlike a renaming, never replaces anything. A process
/// that dies between the two calls leaves both names.
#[cfg(not(windows))]
fn link_and_unlink(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::hard_link(from, to)?;
    let _ = std::fs::remove_file(from); // the file has its place
    Ok(())
}
