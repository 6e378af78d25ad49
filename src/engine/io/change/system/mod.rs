//! Operating system calls for changing files: byte-range locks, unnamed files, and folders by handle.
//!
//! Linux supports all of them. On other systems, the standard library and Windows calls are used. Each
//! function documents what is not possible there; callers then continue without it.

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
pub(crate) use linux::{Folder, copy_attributes, has_conflicting_lock, try_lock, unlock};
#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) use locks::{has_conflicting_lock, try_lock, unlock};
#[cfg(target_os = "wasi")]
pub(crate) use wasi::{hard_link_count, id_of};
#[cfg(windows)]
pub(crate) use windows::{
    copy_attributes, hard_link_count, has_conflicting_lock, id_at, id_of, open_device, try_lock, unlock,
};

/// The byte ranges on which locks are taken.
///
/// They are far after any data: on Windows, a lock blocks reads and writes of the locked bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockRegion {
    /// Locked shared by mutable maps, and exclusively, as part of `Change`, to change the entire file.
    Map,
    /// Locked exclusively while another file replaces this one.
    Replace,
    /// `Map` and `Replace` together.
    Change,
    /// Locked exclusively while a header is written, and shared while it is read again.
    Header,
    /// Locked exclusively while the owner of a draft is running.
    Draft,
}

impl LockRegion {
    /// Returns the first byte and the number of bytes.
    #[cfg_attr(not(any(target_os = "linux", windows)), allow(dead_code))]
    fn range(self) -> (i64, i64) {
        // File offsets are signed 64-bit numbers, so these are among the last bytes that a lock can cover.
        const FIRST_LOCK_BYTE: i64 = i64::MAX - 63;
        match self {
            Self::Map => (FIRST_LOCK_BYTE, 1),
            Self::Replace => (FIRST_LOCK_BYTE + 1, 1),
            Self::Change => (FIRST_LOCK_BYTE, 2),
            Self::Header => (FIRST_LOCK_BYTE + 2, 1),
            Self::Draft => (FIRST_LOCK_BYTE + 3, 1),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockMode {
    Shared,
    Exclusive,
}

/// What has a name in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A regular file.
    File,
    /// A folder, a link, a pipe or a device.
    Other,
}

/// The result of an attempt to lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockAttempt {
    Acquired,
    /// Another open file holds a conflicting lock.
    Busy,
    /// The file system does not support locks.
    Unsupported,
}

/// The identity of a file: its volume or device, and its number there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileId {
    volume: u64,
    number: u64,
}

impl PartialEq for FileId {
    fn eq(&self, other: &Self) -> bool {
        // Wine returns volume 0 for an open file that has been renamed.
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

/// Returns the identity of an open file.
///
/// It is `None` where the system does not identify files: all files are then considered the same.
#[cfg(unix)]
pub(crate) fn id_of(file: &File) -> io::Result<Option<FileId>> {
    Ok(Some(FileId::from(&file.metadata()?)))
}

#[cfg(not(any(unix, windows, target_os = "wasi")))]
pub(crate) fn id_of(_: &File) -> io::Result<Option<FileId>> {
    Ok(None)
}

/// Returns the identity of the file at a path, following links.
#[cfg(unix)]
pub(crate) fn id_at(path: &Path) -> io::Result<Option<FileId>> {
    Ok(Some(FileId::from(&std::fs::metadata(path)?)))
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn id_at(path: &Path) -> io::Result<Option<FileId>> {
    id_of(&File::open(path)?)
}

/// Returns whether the identity found at a path is that of the open file; `false` if the path does not exist.
pub(crate) fn is_id_of(found: io::Result<Option<FileId>>, file: &File) -> io::Result<bool> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => Ok(found? == id_of(file)?),
    }
}

impl Folder {
    /// Returns whether the name refers to the open file.
    pub(crate) fn is_name_of(&self, name: &OsStr, file: &File) -> io::Result<bool> {
        is_id_of(self.id_at(name), file)
    }
}

/// Returns the number of hard links of a file, where the system provides it.
#[cfg(unix)]
pub(crate) fn hard_link_count(_: &File, metadata: &std::fs::Metadata) -> io::Result<u64> {
    Ok(std::os::unix::fs::MetadataExt::nlink(metadata))
}

#[cfg(not(any(unix, windows, target_os = "wasi")))]
pub(crate) fn hard_link_count(_: &File, _: &std::fs::Metadata) -> io::Result<u64> {
    Ok(1)
}

/// Copies metadata other than owner and permissions.
///
/// On these systems, files are assumed to have no such metadata.
#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) fn copy_attributes(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}

/// Renames to a name that must not exist, on systems without a system call for this.
///
/// Unlike a rename, a link never replaces a file. A process that is killed between the two calls leaves both
/// names.
#[cfg(not(any(target_os = "linux", windows)))]
fn link_and_unlink(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::hard_link(from, to)?;
    let _ = std::fs::remove_file(from); // the file already has its new name
    Ok(())
}
