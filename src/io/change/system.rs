//! What a change asks of the operating system: locks on ranges of bytes, files without names, and folders that are
//! addressed by a handle.
//!
//! Linux has all of it. Elsewhere the standard library's calls are used, and what they cannot do is said at each
//! function; the callers go on without.
#![allow(unsafe_code)]

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

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

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CString;
    use std::os::fd::{AsRawFd, FromRawFd, RawFd};
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    /// The structure whose places have 64 bits: these locks know no other, and the plain one of glibc has 32 on machines of 32 bits.
    #[cfg(target_env = "gnu")]
    type Flock = libc::flock64;
    #[cfg(not(target_env = "gnu"))]
    type Flock = libc::flock;

    /// A lock of the open file, which goes with its last handle and not with the process.
    fn lock_call(file: &File, command: i32, kind: i32, region: Region) -> io::Result<Flock> {
        let (start, len) = region.range();
        // SAFETY: the structure is nothing but numbers, for which zero is valid.
        let mut lock: Flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        (lock.l_start, lock.l_len) = (start, len);
        loop {
            // SAFETY: the descriptor is open as long as the file is borrowed, and the structure lives until the call returns.
            #[cfg(target_pointer_width = "64")]
            let result = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
            // The C library's function would take the structure for the one of 32 bits.
            // SAFETY: as above; the kernel's structure is this one.
            #[cfg(not(target_pointer_width = "64"))]
            let result =
                unsafe { libc::syscall(libc::SYS_fcntl64, file.as_raw_fd(), command, &raw mut lock) };
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
        // A kernel or a file system without such locks (EINVAL is what kernels before 3.15 say).
        matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOLCK | libc::ENOSYS | libc::EINVAL))
    }

    pub(crate) fn try_lock(file: &File, region: Region, mode: Mode) -> io::Result<Attempt> {
        let kind = if mode == Mode::Shared { libc::F_RDLCK } else { libc::F_WRLCK };
        match lock_call(file, libc::F_OFD_SETLK, kind, region) {
            Ok(_) => Ok(Attempt::Taken),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
                Ok(Attempt::Busy)
            }
            Err(error) if is_unsupported(&error) => Ok(Attempt::Unsupported),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn is_locked(file: &File, region: Region, mode: Mode) -> bool {
        let kind = if mode == Mode::Shared { libc::F_RDLCK } else { libc::F_WRLCK };
        lock_call(file, libc::F_OFD_GETLK, kind, region)
            .is_ok_and(|lock| i32::from(lock.l_type) != libc::F_UNLCK)
    }

    pub(crate) fn unlock(file: &File, region: Region) {
        let _ = lock_call(file, libc::F_OFD_SETLK, libc::F_UNLCK, region); // it goes with the file at the latest
    }

    fn name_of(name: &OsStr) -> io::Result<CString> {
        Ok(CString::new(name.as_bytes())?)
    }

    fn checked(result: i32) -> io::Result<i32> {
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
    }

    /// A folder by its handle, so that names in it are as short as they can be, and are in the same folder even if that
    /// is renamed.
    pub(crate) struct Folder {
        handle: File,
        pub(super) path: PathBuf,
    }

    impl Folder {
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            use std::os::unix::fs::OpenOptionsExt;
            let open =
                |flags: i32| OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | flags).open(path);
            // Permission to list a folder is not needed to write a file in it.
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
                // SAFETY: the handle is open, and the name ends in a NUL.
                let opened =
                    checked(unsafe { libc::openat(self.fd(), name.as_ptr(), flags | libc::O_CLOEXEC, mode) });
                match opened {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // SAFETY: the descriptor is new and nobody else's.
                    opened => return opened.map(|fd| unsafe { File::from_raw_fd(fd) }),
                }
            }
        }

        /// Opens a file for reading and writing that must not be a link, and never waits.
        pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
            self.open_at(name, libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0)
        }

        /// The same for a file that may not be read.
        pub(crate) fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
            self.open_at(name, libc::O_WRONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0)
        }

        pub(crate) fn create_new(&self, name: &OsStr, is_private: bool) -> io::Result<File> {
            let mode = if is_private { 0o600 } else { 0o666 };
            self.open_at(name, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, mode)
        }

        /// A file without a name, which is gone when it is closed, and which can be given a name: that is found out now.
        pub(crate) fn create_unnamed(&self, is_private: bool) -> io::Result<File> {
            use std::os::unix::fs::MetadataExt;
            let mode = if is_private { 0o600 } else { 0o666 };
            let file = self.open_at(OsStr::new("."), libc::O_TMPFILE | libc::O_RDWR, mode)?;
            let (found, own) = (std::fs::metadata(proc_path(&file))?, file.metadata()?);
            match (found.dev(), found.ino()) == (own.dev(), own.ino()) {
                true => Ok(file),
                false => Err(io::ErrorKind::Unsupported.into()),
            }
        }

        /// Gives a file without a name one that must be free.
        pub(crate) fn link(&self, file: &File, name: &OsStr) -> io::Result<()> {
            let (from, name) = (name_of(proc_path(file).as_os_str())?, name_of(name)?);
            // SAFETY: the handle is open, and both names end in a NUL.
            let linked = unsafe {
                libc::linkat(libc::AT_FDCWD, from.as_ptr(), self.fd(), name.as_ptr(), libc::AT_SYMLINK_FOLLOW)
            };
            checked(linked).map(drop)
        }

        pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            let (from, to) = (name_of(from)?, name_of(to)?);
            // SAFETY: the handle is open, and both names end in a NUL.
            checked(unsafe { libc::renameat(self.fd(), from.as_ptr(), self.fd(), to.as_ptr()) }).map(drop)
        }

        /// Renames to a name that must be free.
        pub(crate) fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            let (c_from, c_to) = (name_of(from)?, name_of(to)?);
            // By its number, because not every C library has a function for it.
            // SAFETY: the handle is open, and both names end in a NUL.
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
                    error if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => {
                        super::link_and_unlink(&self.path.join(from), &self.path.join(to))
                    }
                    error => Err(error),
                },
            }
        }

        pub(crate) fn unlink(&self, name: &OsStr) -> io::Result<()> {
            let name = name_of(name)?;
            // SAFETY: the handle is open, and the name ends in a NUL.
            checked(unsafe { libc::unlinkat(self.fd(), name.as_ptr(), 0) }).map(drop)
        }

        /// Whether the name is that of the open file.
        pub(crate) fn names(&self, name: &OsStr, file: &File) -> io::Result<bool> {
            use std::os::unix::fs::MetadataExt;
            let name = name_of(name)?;
            // SAFETY: the structure is nothing but numbers, for which zero is valid.
            let mut found: libc::stat = unsafe { std::mem::zeroed() };
            // SAFETY: the handle is open, the name ends in a NUL, and the structure lives until the call returns.
            let result = checked(unsafe {
                libc::fstatat(self.fd(), name.as_ptr(), &raw mut found, libc::AT_SYMLINK_NOFOLLOW)
            });
            match result {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
                Ok(_) => {
                    let own = file.metadata()?;
                    #[allow(clippy::useless_conversion)] // the types differ between machines
                    Ok((u64::from(found.st_dev), u64::from(found.st_ino)) == (own.dev(), own.ino()))
                }
            }
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
}

#[cfg(target_os = "linux")]
pub(crate) use linux::*;

#[cfg(not(target_os = "linux"))]
mod other {
    use super::*;

    /// Elsewhere on Unix there is one lock for the whole file, which stands for the regions that matter most; there is none
    /// for headers.
    #[cfg(not(windows))]
    pub(crate) fn try_lock(file: &File, region: Region, mode: Mode) -> io::Result<Attempt> {
        use std::fs::TryLockError;
        if region == Region::Header {
            return Ok(Attempt::Unsupported);
        }
        let locked = match mode {
            Mode::Shared => file.try_lock_shared(),
            Mode::Exclusive => file.try_lock(),
        };
        match locked {
            Ok(()) => Ok(Attempt::Taken),
            Err(TryLockError::WouldBlock) => Ok(Attempt::Busy),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Attempt::Unsupported)
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Nothing tells without taking the lock.
    #[cfg(not(windows))]
    pub(crate) fn is_locked(_: &File, _: Region, _: Mode) -> bool {
        false
    }

    #[cfg(not(windows))]
    pub(crate) fn unlock(file: &File, region: Region) {
        // The one lock is also that of a map, which stays; a replacement's goes with its file.
        if !matches!(region, Region::Header | Region::Replace) {
            let _ = file.unlock();
        }
    }

    #[cfg(windows)]
    mod windows {
        use std::ffi::c_void;
        use std::os::windows::io::AsRawHandle;

        use super::*;

        #[repr(C)]
        struct Overlapped {
            internal: [usize; 2],
            offset: u32,
            offset_high: u32,
            event: *mut c_void,
        }

        #[link(name = "kernel32")]
        unsafe extern "system" {
            fn LockFileEx(
                file: *mut c_void,
                flags: u32,
                reserved: u32,
                low: u32,
                high: u32,
                overlapped: *mut Overlapped,
            ) -> i32;
            fn UnlockFileEx(
                file: *mut c_void,
                reserved: u32,
                low: u32,
                high: u32,
                overlapped: *mut Overlapped,
            ) -> i32;
        }

        fn place(region: Region) -> (Overlapped, u32) {
            let (start, len) = region.range();
            let (offset, offset_high) = (start as u32, (start >> 32) as u32);
            let place = Overlapped { internal: [0; 2], offset, offset_high, event: std::ptr::null_mut() };
            (place, len as u32)
        }

        pub(crate) fn try_lock(file: &File, region: Region, mode: Mode) -> io::Result<Attempt> {
            const FAIL_IMMEDIATELY: u32 = 1;
            const EXCLUSIVE: u32 = 2;
            const LOCK_VIOLATION: i32 = 33;
            const INVALID_FUNCTION: i32 = 1;
            const NOT_SUPPORTED: i32 = 50;
            let flags = FAIL_IMMEDIATELY | if mode == Mode::Exclusive { EXCLUSIVE } else { 0 };
            let (mut place, len) = place(region);
            // SAFETY: the handle is open as long as the file is borrowed, and the structure lives until the call returns: the
            // file was not opened for overlapped use, so that nothing goes on after it.
            let locked = unsafe { LockFileEx(file.as_raw_handle(), flags, 0, len, 0, &raw mut place) };
            match locked {
                0 => match io::Error::last_os_error() {
                    error if error.raw_os_error() == Some(LOCK_VIOLATION) => Ok(Attempt::Busy),
                    error if matches!(error.raw_os_error(), Some(INVALID_FUNCTION | NOT_SUPPORTED)) => {
                        Ok(Attempt::Unsupported)
                    }
                    error => Err(error),
                },
                _ => Ok(Attempt::Taken),
            }
        }

        /// The system tells only who tries: the lock is taken for a moment.
        pub(crate) fn is_locked(file: &File, region: Region, mode: Mode) -> bool {
            match try_lock(file, region, mode) {
                Ok(Attempt::Busy) => true,
                Ok(Attempt::Taken) => {
                    unlock(file, region);
                    false
                }
                _ => false,
            }
        }

        pub(crate) fn unlock(file: &File, region: Region) {
            let (mut place, len) = place(region);
            // SAFETY: as for LockFileEx. It goes with the file at the latest.
            let _ = unsafe { UnlockFileEx(file.as_raw_handle(), 0, len, 0, &raw mut place) };
        }

        #[repr(C)]
        #[derive(Default)]
        struct Information {
            attributes: u32,
            times: [u32; 6],
            volume: u32,
            size: [u32; 2],
            links: u32,
            index: [u32; 2],
        }

        #[link(name = "kernel32")]
        unsafe extern "system" {
            fn GetFileInformationByHandle(file: *mut c_void, information: *mut Information) -> i32;
        }

        fn information(file: &File) -> io::Result<Information> {
            let mut information = Information::default();
            // SAFETY: the handle is open as long as the file is borrowed, and the structure, which has the system's layout, lives
            // until the call returns.
            match unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut information) } {
                0 => Err(io::Error::last_os_error()),
                _ => Ok(information),
            }
        }

        /// What tells one file from another.
        pub(crate) fn id_of(file: &File) -> io::Result<Option<FileId>> {
            let found = information(file)?;
            let number = u64::from(found.index[0]) << 32 | u64::from(found.index[1]);
            Ok(Some(FileId { volume: found.volume.into(), number }))
        }

        /// Renames to a name that must be free: the system's own call does that, unless it is asked for more.
        pub(crate) fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
            use std::os::windows::ffi::OsStrExt;
            #[link(name = "kernel32")]
            unsafe extern "system" {
                fn MoveFileExW(from: *const u16, to: *const u16, flags: u32) -> i32;
            }
            // Which makes long paths ones that the system takes.
            let wide = |path: &Path| -> io::Result<Vec<u16>> {
                Ok(std::path::absolute(path)?.as_os_str().encode_wide().chain([0]).collect())
            };
            let (from, to) = (wide(from)?, wide(to)?);
            // SAFETY: both names end in a NUL and live until the call returns.
            match unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), 0) } {
                0 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            }
        }

        /// How many names a file has.
        pub(crate) fn links_of(file: &File) -> io::Result<u64> {
            Ok(information(file)?.links.into())
        }
    }

    #[cfg(windows)]
    pub(crate) use windows::{id_of, is_locked, links_of, try_lock, unlock};

    /// A folder by its path.
    pub(crate) struct Folder {
        pub(super) path: PathBuf,
    }

    impl Folder {
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self { path: path.to_owned() })
        }

        pub(crate) fn sync(&self) -> io::Result<()> {
            if cfg!(unix) { File::open(&self.path)?.sync_all() } else { Ok(()) }
        }

        pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
            OpenOptions::new().read(true).write(true).open(self.path.join(name))
        }

        pub(crate) fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
            OpenOptions::new().write(true).open(self.path.join(name))
        }

        pub(crate) fn create_new(&self, name: &OsStr, is_private: bool) -> io::Result<File> {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true);
            #[cfg(unix)]
            if is_private {
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
            windows::rename_to_new(&self.path.join(from), &self.path.join(to))
        }

        pub(crate) fn unlink(&self, name: &OsStr) -> io::Result<()> {
            std::fs::remove_file(self.path.join(name))
        }

        #[cfg(unix)]
        pub(crate) fn names(&self, name: &OsStr, file: &File) -> io::Result<bool> {
            use std::os::unix::fs::MetadataExt;
            match std::fs::symlink_metadata(self.path.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
                Ok(found) => {
                    let own = file.metadata()?;
                    Ok((found.dev(), found.ino()) == (own.dev(), own.ino()))
                }
            }
        }

        /// The system tells of open files only which they are.
        #[cfg(not(unix))]
        pub(crate) fn names(&self, name: &OsStr, file: &File) -> io::Result<bool> {
            match File::open(self.path.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
                Ok(found) => Ok(id_of(&found)? == id_of(file)?),
            }
        }

        pub(crate) fn is_own(file: &File) -> io::Result<bool> {
            Ok(file.metadata()?.is_file())
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use other::*;

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

/// Which file this is. `None` where the system does not tell: then all are taken to be the same.
#[cfg(unix)]
pub(crate) fn id_of(file: &File) -> io::Result<Option<FileId>> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata()?;
    Ok(Some(FileId { volume: metadata.dev(), number: metadata.ino() }))
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn id_of(_: &File) -> io::Result<Option<FileId>> {
    Ok(None)
}

/// The same of what is at a path, links followed.
#[cfg(unix)]
pub(crate) fn id_at(path: &Path) -> io::Result<Option<FileId>> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path)?;
    Ok(Some(FileId { volume: metadata.dev(), number: metadata.ino() }))
}

#[cfg(not(unix))]
pub(crate) fn id_at(path: &Path) -> io::Result<Option<FileId>> {
    id_of(&File::open(path)?)
}

/// How many names a file has, where the system tells.
#[cfg(unix)]
pub(crate) fn links_of(file: &File) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink())
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn links_of(_: &File) -> io::Result<u64> {
    Ok(1)
}

/// Renames to a name that must be free, where no call does it: a link, unlike a renaming, never replaces anything. A process
/// that dies between the two calls leaves both names.
#[cfg(not(windows))]
fn link_and_unlink(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::hard_link(from, to)?;
    let _ = std::fs::remove_file(from); // the file has its place
    Ok(())
}
