//! Linux: open file description locks, folders by handle, unnamed files, extended attributes.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Mode as Permissions, OFlags, RenameFlags, XattrFlags};
use rustix::io::{Errno, retry_on_intr};

use super::{EntryKind, FileId, LockAttempt, LockMode, LockRegion};
use crate::bytes::retry_interrupted;

/// The lock structure with 64-bit offsets, which open file description locks require.
///
/// On 32-bit machines, glibc's default structure has 32-bit offsets.
#[cfg(target_env = "gnu")]
type Flock = libc::flock64;
#[cfg(not(target_env = "gnu"))]
type Flock = libc::flock;

/// Calls `fcntl` for an open file description lock, which is tied to the open file and not to the process.
fn fcntl_lock(file: &File, command: i32, kind: i32, region: LockRegion) -> io::Result<Flock> {
    let (start, len) = region.range();
    // SAFETY: all fields are plain integers, for which zero is valid.
    let mut lock: Flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    (lock.l_start, lock.l_len) = (start, len);
    retry_interrupted(|| {
        // SAFETY: the descriptor is open while the file is borrowed, and the structure outlives the call.
        #[cfg(target_pointer_width = "64")]
        let result = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
        // On 32-bit machines, the C library's `fcntl` would interpret the structure as the 32-bit one.
        // SAFETY: as above; this is the layout that the kernel expects.
        #[cfg(not(target_pointer_width = "64"))]
        let result = unsafe { libc::syscall(libc::SYS_fcntl64, file.as_raw_fd(), command, &raw mut lock) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
    })?;
    Ok(lock)
}

fn is_unsupported(error: &io::Error) -> bool {
    // The kernel or the file system does not support such locks (kernels before 3.15 return EINVAL).
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOLCK | libc::ENOSYS | libc::EINVAL))
}

pub(crate) fn try_lock(file: &File, region: LockRegion, mode: LockMode) -> io::Result<LockAttempt> {
    let kind = if mode == LockMode::Shared { libc::F_RDLCK } else { libc::F_WRLCK };
    match fcntl_lock(file, libc::F_OFD_SETLK, kind, region) {
        Ok(_) => Ok(LockAttempt::Acquired),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(LockAttempt::Busy)
        }
        Err(error) if is_unsupported(&error) => Ok(LockAttempt::Unsupported),
        Err(error) => Err(error),
    }
}

pub(crate) fn has_conflicting_lock(file: &File, region: LockRegion, mode: LockMode) -> bool {
    let kind = if mode == LockMode::Shared { libc::F_RDLCK } else { libc::F_WRLCK };
    fcntl_lock(file, libc::F_OFD_GETLK, kind, region)
        .is_ok_and(|lock| i32::from(lock.l_type) != libc::F_UNLCK)
}

pub(crate) fn unlock(file: &File, region: LockRegion) {
    let _ = fcntl_lock(file, libc::F_OFD_SETLK, libc::F_UNLCK, region); // closing the file releases the lock anyway
}

/// A folder, identified by its handle.
///
/// Names are relative to the handle. So they are short, and refer to the same folder even after it is
/// renamed.
#[derive(Debug)]
pub(crate) struct Folder {
    handle: File,
    path: PathBuf,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::open_from(fs::CWD, path, path.to_owned())
    }

    /// Opens a folder whose path begins in this one, unless it is absolute.
    pub(crate) fn open_within(&self, path: &Path) -> io::Result<Self> {
        Self::open_from(self.handle.as_fd(), path, self.path.join(path))
    }

    fn open_from(start: BorrowedFd<'_>, path: &Path, known_as: PathBuf) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let open = |flags: OFlags| {
            let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | flags;
            retry_on_intr(|| fs::openat(start, path, flags, Permissions::empty()))
        };
        // Writing a file in a folder does not require permission to list the folder.
        let handle = match open(OFlags::RDONLY) {
            Err(Errno::ACCESS) => open(OFlags::PATH)?,
            opened => opened?,
        };
        Ok(Self { handle: handle.into(), path: known_as })
    }

    /// Returns the path by which the folder was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where a link leads; an error if this is not the name of a link.
    pub(crate) fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let link = fs::readlinkat(&self.handle, name, Vec::new())?;
        Ok(OsString::from_vec(link.into_bytes()).into())
    }

    /// Returns what has this name, if anything, without following a link.
    pub(crate) fn kind_of(&self, name: &OsStr) -> io::Result<Option<EntryKind>> {
        match fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if fs::FileType::from_raw_mode(found.st_mode).is_file() => Ok(Some(EntryKind::File)),
            Ok(_) => Ok(Some(EntryKind::Other)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn open_at(&self, name: &OsStr, flags: OFlags, mode: Permissions) -> io::Result<File> {
        Ok(retry_on_intr(|| fs::openat(&self.handle, name, flags | OFlags::CLOEXEC, mode))?.into())
    }

    /// Opens a file, which must not be a link, for reading and writing; never blocks.
    pub(crate) fn open_read_write(&self, name: &OsStr) -> io::Result<File> {
        self.open_at(name, OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK, Permissions::empty())
    }

    /// Opens a file for writing only, and otherwise like [`open_read_write`](Self::open_read_write).
    pub(crate) fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
        self.open_at(name, OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK, Permissions::empty())
    }

    /// Opens a pipe or a device, which must not be a link, for writing; waits for the reader of a pipe.
    pub(crate) fn open_stream(&self, name: &OsStr) -> io::Result<File> {
        self.open_at(name, OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NOCTTY, Permissions::empty())
    }

    /// Opens a file, which must not be a link, or creates it; never blocks.
    pub(crate) fn open_or_create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        self.open_at(name, flags, mode_of_new(false))
    }

    pub(crate) fn create_new(&self, name: &OsStr, is_private: bool) -> io::Result<File> {
        self.open_at(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode_of_new(is_private))
    }

    /// Creates an unnamed file, which disappears when it is closed, and checks that it can be linked later.
    ///
    /// Linking requires `/proc`, which may not be mounted.
    pub(crate) fn create_unnamed(&self, is_private: bool) -> io::Result<File> {
        let file = self.open_at(OsStr::new("."), OFlags::TMPFILE | OFlags::RDWR, mode_of_new(is_private))?;
        match super::id_at(&proc_path(&file))? == super::id_of(&file)? {
            true => Ok(file),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Links an unnamed file to a name that must not exist.
    pub(crate) fn link(&self, file: &File, name: &OsStr) -> io::Result<()> {
        // The name in `/proc` is a link to the file, which is followed.
        Ok(fs::linkat(fs::CWD, proc_path(file), &self.handle, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(fs::renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Renames to a name that must not exist.
    pub(crate) fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match fs::renameat_with(&self.handle, from, &self.handle, to, RenameFlags::NOREPLACE) {
            // INVAL: the file system does not support NOREPLACE. NOSYS: the kernel does not have the call.
            // A link never replaces a file. A process that is killed between the two calls leaves both names.
            Err(Errno::INVAL | Errno::NOSYS) => {
                fs::linkat(&self.handle, from, &self.handle, to, AtFlags::empty())?;
                let _ = self.unlink(from); // the file already has its new name
                Ok(())
            }
            renamed => Ok(renamed?),
        }
    }

    pub(crate) fn unlink(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Returns the identity of the file with this name, without following a link.
    pub(crate) fn id_at(&self, name: &OsStr) -> io::Result<Option<FileId>> {
        let found = fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        #[allow(clippy::useless_conversion)] // the types differ between machines
        Ok(Some(FileId { volume: u64::from(found.st_dev), number: u64::from(found.st_ino) }))
    }

    /// Creates a folder, whose name must not exist.
    pub(crate) fn create_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::mkdirat(&self.handle, name, Permissions::from_raw_mode(0o777))?)
    }

    /// Renames a folder to a name that must not exist.
    pub(crate) fn rename_folder(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match fs::renameat_with(&self.handle, from, &self.handle, to, RenameFlags::NOREPLACE) {
            // As for files. Without the flag, a folder replaces only an empty one.
            Err(Errno::INVAL | Errno::NOSYS) if self.kind_of(to)?.is_none() => self.rename(from, to),
            Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
            renamed => Ok(renamed?),
        }
    }

    /// Returns whether this folder still has this name in another one.
    pub(crate) fn is_in(&self, parent: &Self, name: &OsStr) -> io::Result<bool> {
        parent.is_name_of(name, &self.handle)
    }

    /// Removes the files in this folder.
    pub(crate) fn clear(&self) -> io::Result<()> {
        for entry in fs::Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                self.unlink(name)?;
            }
        }
        Ok(())
    }

    /// Removes an empty folder in this one.
    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR)?)
    }

    pub(crate) fn is_owned_regular_file(file: &File) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt;
        let metadata = file.metadata()?;
        Ok(metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw())
    }
}

fn mode_of_new(is_private: bool) -> Permissions {
    Permissions::from_raw_mode(if is_private { 0o600 } else { 0o666 })
}

fn proc_path(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Removes an access list that the new file inherited from its folder, if the old file has none.
fn remove_inherited_access_list(from: &File, to: &File) -> io::Result<()> {
    const ACL: &CStr = c"system.posix_acl_access";
    let has = |file| Ok::<_, io::Error>(attribute_names(file)?.iter().any(|name| name.as_c_str() == ACL));
    if has(to)? && !has(from)? {
        fs::fremovexattr(to, ACL)?;
    }
    Ok(())
}

/// Copies extended attributes: access lists, security labels and user attributes.
pub(crate) fn copy_attributes(from: &File, to: &File) -> io::Result<()> {
    remove_inherited_access_list(from, to)?;
    for name in attribute_names(from)? {
        let value = attribute(from, &name)?;
        // A label is often already set, and setting it may need a privilege.
        if attribute(to, &name).is_ok_and(|own| own == value) {
            continue;
        }
        fs::fsetxattr(to, &name, &value, XattrFlags::empty())?;
    }
    Ok(())
}

fn attribute_names(file: &File) -> io::Result<Vec<CString>> {
    match fill_growing_buffer(|buffer| fs::flistxattr(file, buffer)) {
        Ok(list) => {
            let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            names.map(|name| CString::new(name).map_err(io::Error::from)).collect()
        }
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn attribute(file: &File, name: &CStr) -> io::Result<Vec<u8>> {
    Ok(fill_growing_buffer(|buffer| fs::fgetxattr(file, name, buffer))?)
}

/// Calls `call` with a buffer that is grown if the result does not fit.
///
/// rustix returns the size for an empty buffer only up to 1.1.5, and the size may change between two calls.
fn fill_growing_buffer(call: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    const MAX_ATTRIBUTE_SIZE: usize = 64 << 10; // the kernel's limit for a value and for the list of names
    let mut buffer = vec![0; 256];
    loop {
        match call(&mut buffer) {
            Err(Errno::RANGE) if buffer.len() < MAX_ATTRIBUTE_SIZE => buffer.resize(MAX_ATTRIBUTE_SIZE, 0),
            filled => {
                buffer.truncate(filled?);
                return Ok(buffer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs a file system with extended attributes"]
    fn extended_attributes_are_copied() {
        let (from, to) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let set = |name: &CStr, value: &[u8]| fs::fsetxattr(&from, name, value, XattrFlags::empty());
        copy_attributes(&from, &to).unwrap();
        set(c"user.note", b"kept").unwrap();
        set(c"user.empty", b"").unwrap();
        copy_attributes(&from, &to).unwrap();
        assert_eq!(attribute(&to, c"user.note").unwrap(), b"kept");
        assert_eq!(attribute(&to, c"user.empty").unwrap(), b"");
        assert!(attribute(&to, c"user.other").is_err());
    }
}
