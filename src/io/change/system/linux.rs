//! Linux: open file description locks, folders by handle, unnamed files, extended attributes.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Attempt, FileId, Mode, Region, link_and_unlink};

/// The lock structure with 64-bit offsets, which open file description locks require.
///
/// On 32-bit machines, glibc's default structure has 32-bit offsets.
#[cfg(target_env = "gnu")]
type Flock = libc::flock64;
#[cfg(not(target_env = "gnu"))]
type Flock = libc::flock;

/// Calls `fcntl` for an open file description lock, which is tied to the open file and not to the process.
fn lock_call(file: &File, command: i32, kind: i32, region: Region) -> io::Result<Flock> {
    let (start, len) = region.range();
    // SAFETY: all fields are plain integers, for which zero is valid.
    let mut lock: Flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    (lock.l_start, lock.l_len) = (start, len);
    loop {
        // SAFETY: the descriptor is open while the file is borrowed, and the structure outlives the call.
        #[cfg(target_pointer_width = "64")]
        let result = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
        // On 32-bit machines, the C library's `fcntl` would interpret the structure as the 32-bit one.
        // SAFETY: as above; this is the layout that the kernel expects.
        #[cfg(not(target_pointer_width = "64"))]
        let result = unsafe { libc::syscall(libc::SYS_fcntl64, file.as_raw_fd(), command, &raw mut lock) };
        match result {
            -1 => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
            _ => return Ok(lock),
        }
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    // The kernel or the file system does not support such locks (kernels before 3.15 return EINVAL).
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOLCK | libc::ENOSYS | libc::EINVAL))
}

pub(crate) fn try_lock(file: &File, region: Region, mode: Mode) -> io::Result<Attempt> {
    let kind = if mode == Mode::Shared { libc::F_RDLCK } else { libc::F_WRLCK };
    match lock_call(file, libc::F_OFD_SETLK, kind, region) {
        Ok(_) => Ok(Attempt::Taken),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(Attempt::Busy),
        Err(error) if is_unsupported(&error) => Ok(Attempt::Unsupported),
        Err(error) => Err(error),
    }
}

pub(crate) fn is_locked(file: &File, region: Region, mode: Mode) -> bool {
    let kind = if mode == Mode::Shared { libc::F_RDLCK } else { libc::F_WRLCK };
    lock_call(file, libc::F_OFD_GETLK, kind, region).is_ok_and(|lock| i32::from(lock.l_type) != libc::F_UNLCK)
}

pub(crate) fn unlock(file: &File, region: Region) {
    let _ = lock_call(file, libc::F_OFD_SETLK, libc::F_UNLCK, region); // closing the file releases the lock anyway
}

fn name_of(name: &OsStr) -> io::Result<CString> {
    Ok(CString::new(name.as_bytes())?)
}

fn checked(result: i32) -> io::Result<i32> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A folder, identified by its handle.
///
/// Names are relative to the handle. So they are short, and refer to the same folder even after it is
/// renamed.
pub(crate) struct Folder {
    handle: File,
    path: PathBuf,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let open =
            |flags: i32| OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | flags).open(path);
        // Writing a file in a folder does not require permission to list the folder.
        let handle = match open(0) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open(libc::O_PATH)?,
            opened => opened?,
        };
        Ok(Self { handle, path: path.to_owned() })
    }

    fn fd(&self) -> RawFd {
        self.handle.as_raw_fd()
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn open_at(&self, name: &OsStr, flags: i32, mode: libc::mode_t) -> io::Result<File> {
        let name = name_of(name)?;
        loop {
            // SAFETY: the handle is open, and the name is NUL-terminated.
            let opened =
                checked(unsafe { libc::openat(self.fd(), name.as_ptr(), flags | libc::O_CLOEXEC, mode) });
            match opened {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // SAFETY: the descriptor is new and has no other owner.
                opened => return opened.map(|fd| unsafe { File::from_raw_fd(fd) }),
            }
        }
    }

    /// Opens a file, which must not be a link, for reading and writing; never blocks.
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        self.open_at(name, libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0)
    }

    /// Opens a file for writing only, and otherwise like [`open_file`](Self::open_file).
    pub(crate) fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
        self.open_at(name, libc::O_WRONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0)
    }

    pub(crate) fn create_new(&self, name: &OsStr, is_private: bool) -> io::Result<File> {
        let mode = if is_private { 0o600 } else { 0o666 };
        self.open_at(name, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, mode)
    }

    /// Creates an unnamed file, which disappears when it is closed, and checks that it can be linked later.
    ///
    /// Linking requires `/proc`, which may not be mounted.
    pub(crate) fn create_unnamed(&self, is_private: bool) -> io::Result<File> {
        let mode = if is_private { 0o600 } else { 0o666 };
        let file = self.open_at(OsStr::new("."), libc::O_TMPFILE | libc::O_RDWR, mode)?;
        match super::id_at(&proc_path(&file))? == super::id_of(&file)? {
            true => Ok(file),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Links an unnamed file to a name that must not exist.
    pub(crate) fn link(&self, file: &File, name: &OsStr) -> io::Result<()> {
        let (from, name) = (name_of(proc_path(file).as_os_str())?, name_of(name)?);
        // AT_SYMLINK_FOLLOW is needed because the name in `/proc` is a link to the file.
        // SAFETY: the handle is open, and both names are NUL-terminated.
        let linked = unsafe {
            libc::linkat(libc::AT_FDCWD, from.as_ptr(), self.fd(), name.as_ptr(), libc::AT_SYMLINK_FOLLOW)
        };
        checked(linked).map(drop)
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to) = (name_of(from)?, name_of(to)?);
        // SAFETY: the handle is open, and both names are NUL-terminated.
        checked(unsafe { libc::renameat(self.fd(), from.as_ptr(), self.fd(), to.as_ptr()) }).map(drop)
    }

    /// Renames to a name that must not exist.
    pub(crate) fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (c_from, c_to) = (name_of(from)?, name_of(to)?);
        // A raw system call, because not every C library has a function for it.
        // SAFETY: the handle is open, and both names are NUL-terminated.
        let renamed = unsafe {
            libc::syscall(
                libc::SYS_renameat2,
                self.fd(),
                c_from.as_ptr(),
                self.fd(),
                c_to.as_ptr(),
                libc::RENAME_NOREPLACE,
            )
        };
        match renamed {
            0 => Ok(()),
            _ => match io::Error::last_os_error() {
                // EINVAL: the file system does not support RENAME_NOREPLACE. ENOSYS: the kernel does not have
                // the call.
                error if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => {
                    link_and_unlink(&self.path.join(from), &self.path.join(to))
                }
                error => Err(error),
            },
        }
    }

    pub(crate) fn unlink(&self, name: &OsStr) -> io::Result<()> {
        let name = name_of(name)?;
        // SAFETY: the handle is open, and the name is NUL-terminated.
        checked(unsafe { libc::unlinkat(self.fd(), name.as_ptr(), 0) }).map(drop)
    }

    /// Returns the identity of the file with this name, without following a link.
    pub(super) fn id_at(&self, name: &OsStr) -> io::Result<Option<FileId>> {
        let name = name_of(name)?;
        // SAFETY: all fields are plain integers, for which zero is valid.
        let mut found: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the handle is open, the name is NUL-terminated, and the structure outlives the call.
        checked(unsafe {
            libc::fstatat(self.fd(), name.as_ptr(), &raw mut found, libc::AT_SYMLINK_NOFOLLOW)
        })?;
        #[allow(clippy::useless_conversion)] // the types differ between machines
        Ok(Some(FileId { volume: u64::from(found.st_dev), number: u64::from(found.st_ino) }))
    }

    pub(crate) fn is_own(file: &File) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt;
        let metadata = file.metadata()?;
        // SAFETY: the call only returns a number.
        Ok(metadata.is_file() && metadata.uid() == unsafe { libc::geteuid() })
    }
}

fn proc_path(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Removes an access list that the new file inherited from its folder, if the old file has none.
fn remove_inherited_list(from: &File, to: &File) -> io::Result<()> {
    const LIST: &CStr = c"system.posix_acl_access";
    let has = |file| Ok::<_, io::Error>(attribute_names(file)?.iter().any(|name| name.as_c_str() == LIST));
    if has(to)? && !has(from)? {
        let to = to.as_raw_fd();
        // SAFETY: the descriptor is open, and the name is NUL-terminated.
        if unsafe { libc::fremovexattr(to, LIST.as_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Copies extended attributes: access lists, security labels and user attributes.
pub(crate) fn copy_attributes(from: &File, to: &File) -> io::Result<()> {
    remove_inherited_list(from, to)?;
    for name in attribute_names(from)? {
        let value = attribute(from, &name)?;
        // A label is often already set, and setting it may need a privilege.
        if attribute(to, &name).is_ok_and(|own| own == value) {
            continue;
        }
        let (to, value) = (to.as_raw_fd(), value.as_slice());
        // SAFETY: the descriptor is open, the name is NUL-terminated, and the length is that of the value.
        let result = unsafe { libc::fsetxattr(to, name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn attribute_names(file: &File) -> io::Result<Vec<CString>> {
    let file = file.as_raw_fd();
    let list = filled(|buffer, length| {
        // SAFETY: the descriptor is open, and the buffer has the given length.
        unsafe { libc::flistxattr(file, buffer.cast(), length) }
    });
    match list {
        Ok(list) => {
            let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            names.map(|name| CString::new(name).map_err(io::Error::from)).collect()
        }
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn attribute(file: &File, name: &CStr) -> io::Result<Vec<u8>> {
    let file = file.as_raw_fd();
    filled(|buffer, length| {
        // SAFETY: the descriptor is open, the name is NUL-terminated, and the buffer has the given length.
        unsafe { libc::fgetxattr(file, name.as_ptr(), buffer.cast(), length) }
    })
}

/// Calls `call` twice: once for the size of the buffer, and once to fill it.
fn filled(call: impl Fn(*mut u8, usize) -> isize) -> io::Result<Vec<u8>> {
    let length = |result: isize| usize::try_from(result).map_err(|_| io::Error::last_os_error());
    let mut buffer = vec![0; length(call(std::ptr::null_mut(), 0))?];
    if !buffer.is_empty() {
        let filled = length(call(buffer.as_mut_ptr(), buffer.len()))?;
        buffer.truncate(filled);
    }
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_copied() {
        let (from, to) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let set = |name: &std::ffi::CStr, value: &[u8]| {
            let file = std::os::fd::AsRawFd::as_raw_fd(&from);
            // SAFETY: the descriptor is open, the name is NUL-terminated, and the length is that of the
            // value.
            unsafe { libc::fsetxattr(file, name.as_ptr(), value.as_ptr().cast(), value.len(), 0) }
        };
        copy_attributes(&from, &to).unwrap();
        if set(c"user.note", b"kept") != 0 {
            return; // a file system without extended attributes
        }
        set(c"user.empty", b"");
        copy_attributes(&from, &to).unwrap();
        assert_eq!(attribute(&to, c"user.note").unwrap(), b"kept");
        assert_eq!(attribute(&to, c"user.empty").unwrap(), b"");
        assert!(attribute(&to, c"user.other").is_err());
    }
}
