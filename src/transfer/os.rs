//! What the operating system offers beyond reading and writing: huge pages, room on the disk, reads at a position. And
//! the recognition of a `File` behind a generic reader or writer, without which none of it could be used there.
//!
//! All of it is advice or has a fallback: on a system that lacks a call, the work is done without.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, BufWriter};

/// The file that a reader or writer is, if it is one: a `File`, a `&File` or a `&mut File`.
pub(crate) fn as_file<R>(stream: &mut R) -> Option<&File> {
    let id = typeid::of::<R>();
    let pointer = std::ptr::from_mut(stream);
    if id == typeid::of::<File>() {
        // SAFETY: R is File: a type without lifetimes has an id of its own.
        Some(unsafe { &*pointer.cast::<File>() })
    } else if id == typeid::of::<&File>() {
        // SAFETY: R is a reference to a File, of whatever lifetime. It lives at least as long as the borrow of the
        // stream, to which the result is bound.
        Some(unsafe { *pointer.cast::<&File>() })
    } else if id == typeid::of::<&mut File>() {
        // SAFETY: as before; the mutable borrow of the stream makes sure that nobody else uses the File meanwhile.
        Some(unsafe { &**pointer.cast::<&mut File>() })
    } else {
        None
    }
}

/// The file that a writer is or has in a buffer of the standard library.
pub(crate) fn as_any_file<W>(stream: &mut W) -> Option<&File> {
    let id = typeid::of::<W>();
    let pointer = std::ptr::from_mut(stream);
    if id == typeid::of::<BufWriter<File>>() {
        // SAFETY: W is that type, which has no lifetimes.
        Some(unsafe { &*pointer.cast::<BufWriter<File>>() }.get_ref())
    } else if id == typeid::of::<&mut BufWriter<File>>() {
        // SAFETY: W is a mutable reference, of whatever lifetime; it is borrowed for as long as the result.
        Some(unsafe { &**pointer.cast::<&mut BufWriter<File>>() }.get_ref())
    } else if id == typeid::of::<BufWriter<&File>>() {
        // SAFETY: W has a reference in it, which lives at least as long as the borrow of the stream.
        Some(unsafe { &*pointer.cast::<BufWriter<&File>>() }.get_ref())
    } else {
        as_file(stream)
    }
}

/// Whether a reader is a slice of bytes.
pub(super) fn is_slice<R>() -> bool {
    let id = typeid::of::<R>();
    id == typeid::of::<&[u8]>() || id == typeid::of::<&mut &[u8]>()
}

/// The slice of bytes that a reader is, if it is one.
pub(super) fn as_slice<R>(stream: &mut R) -> Option<SliceReader<'_>> {
    let id = typeid::of::<R>();
    let pointer = std::ptr::from_mut(stream);
    if id == typeid::of::<&[u8]>() {
        // SAFETY: R is a slice, of a lifetime that is at least as long as the borrow of the stream. That the result
        // claims it to be shorter is sound, because a SliceReader never puts another slice in its place.
        Some(SliceReader(unsafe { &mut *pointer.cast::<&[u8]>() }))
    } else if id == typeid::of::<&mut &[u8]>() {
        // SAFETY: as before; the stream is borrowed mutably, and with it the slice that it leads to.
        Some(SliceReader(unsafe { &mut **pointer.cast::<&mut &[u8]>() }))
    } else {
        None
    }
}

/// A slice that is read by making it shorter.
pub(crate) struct SliceReader<'a>(&'a mut &'a [u8]);

impl<'a> SliceReader<'a> {
    /// What is left.
    pub(super) fn get(&self) -> &'a [u8] {
        self.0
    }

    /// Passes over bytes, at most over all.
    pub(super) fn advance(&mut self, bytes: usize) {
        *self.0 = &self.0[bytes.min(self.0.len())..];
    }
}

/// Another handle for an open descriptor, which shares its position: what `/dev/stdout` means.
#[cfg(unix)]
pub(crate) fn duplicate(descriptor: std::os::fd::RawFd) -> io::Result<File> {
    use std::os::fd::BorrowedFd;
    if descriptor < 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    // SAFETY: the number is no invented resource: it is only handed to the system to be duplicated, which refuses one
    // that is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    Ok(borrowed.try_clone_to_owned()?.into())
}

/// Whether several threads can read one file at once, each at a position of its own.
pub(super) const READS_ANYWHERE: bool = cfg!(any(unix, windows));

/// Asks for huge pages behind memory that has not been touched yet: they make the first touch several times cheaper.
pub(crate) fn advise_huge_pages((start, length): (*const u8, usize)) {
    /// Below this the pages that do not fill a huge one outweigh the gain.
    const WORTHWHILE: usize = 4 << 20;
    if length < WORTHWHILE {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 64 << 10; // the largest that a kernel has, so that the range suits every one
        let first = start.addr().next_multiple_of(PAGE);
        let length = (start.addr() + length - first) / PAGE * PAGE;
        // SAFETY: the range lies within memory that the caller owns, and the advice changes none of its contents. If
        // the system does not know the advice, it says so and nothing is lost.
        unsafe { libc::madvise(std::ptr::without_provenance_mut(first), length, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = start;
}

/// Reserves room on the disk, so that a full disk shows at once and a large write finds its blocks laid out.
pub(super) fn preallocate(file: &File, at: u64, length: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let (Ok(at), Ok(length)) = (libc::off_t::try_from(at), libc::off_t::try_from(length)) else {
            return Ok(());
        };
        if let Err(error) = allocate(file, libc::FALLOC_FL_KEEP_SIZE, at, length) {
            // Everything else (a pipe, a file system that cannot) shows when it is written, or never.
            if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
                return Err(error);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, at, length);
    Ok(())
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, mode: i32, at: libc::off_t, length: libc::off_t) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    loop {
        // SAFETY: the descriptor is open as long as the file is borrowed, and the call touches no memory.
        match unsafe { libc::fallocate(file.as_raw_fd(), mode, at, length) } {
            0 => return Ok(()),
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

/// Gives bytes of a file, which are zeros, their room on the disk; `false` if the system or the disk's file system does not
/// do that.
pub(crate) fn fill_with_room(file: &File, at: u64, length: u64) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        let (Ok(at), Ok(length)) = (libc::off_t::try_from(at), libc::off_t::try_from(length)) else {
            return Ok(false);
        };
        if length == 0 {
            return Ok(true);
        }
        match allocate(file, 0, at, length) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
            Err(error) => Err(error),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, at, length);
        Ok(false)
    }
}

/// Whether [`read_at`] moves the file's own position: who needs that puts it back.
pub(super) const READING_MOVES: bool = cfg!(not(unix));

/// Reads at a position. On Unix this leaves the file's own where it is.
pub(super) fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, into, at);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, into, at);
    #[cfg(not(any(unix, windows)))]
    {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = file;
        file.seek(SeekFrom::Start(at))?;
        file.read(into)
    }
}

/// Reads at a position what the system has in memory, without waiting for a disk: `None` if it does not tell.
pub(super) fn read_at_once(file: &File, into: &mut [u8], at: u64) -> io::Result<Option<usize>> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use std::os::fd::AsRawFd;
        let Ok(at) = libc::off_t::try_from(at) else { return Ok(None) };
        let part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        // SAFETY: the descriptor is open as long as the file is borrowed, and the vector is that of a slice which is borrowed
        // mutably until the call returns.
        let count = unsafe { libc::preadv2(file.as_raw_fd(), &raw const part, 1, at, libc::RWF_NOWAIT) };
        Ok(usize::try_from(count).ok()) // whatever is wrong shows when it is read in the usual way
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    {
        let _ = (file, into, at);
        Ok(None)
    }
}

/// Says that some bytes of a file are going to be read.
pub(super) fn will_need(file: &File, at: u64, length: u64) {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        if let (Ok(at), Ok(length)) = (libc::off_t::try_from(at), libc::off_t::try_from(length)) {
            // SAFETY: the descriptor is open as long as the file is borrowed, and the call touches no memory. It is advice,
            // whose failure means nothing.
            unsafe { libc::posix_fadvise(file.as_raw_fd(), at, length, libc::POSIX_FADV_WILLNEED) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, at, length);
}

/// The length of a regular file, whose bytes have places; `None` for pipes, terminals and devices.
pub(crate) fn len_of_regular(file: &File) -> Option<u64> {
    #[cfg(windows)]
    {
        use std::os::windows::io::AsRawHandle;

        use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_DISK, GetFileType};
        // SAFETY: the handle is open.
        if unsafe { GetFileType(file.as_raw_handle()) } != FILE_TYPE_DISK {
            return None; // of which the metadata do not always tell
        }
    }
    file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
}

/// Whether all that is written to a file goes to its end, wherever it should go.
pub(crate) fn only_appends(file: &File) -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::AsRawFd;
        // SAFETY: the descriptor is open as long as the file is borrowed, and the call touches no memory.
        let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
        flags >= 0 && flags & libc::O_APPEND != 0
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsRawHandle;

        use windows_sys::Wdk::Storage::FileSystem::{
            FILE_ACCESS_INFORMATION, FileAccessInformation, NtQueryInformationFile,
        };
        use windows_sys::Win32::Storage::FileSystem::{FILE_APPEND_DATA, FILE_WRITE_DATA};
        use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;
        let (mut status, mut access) = (IO_STATUS_BLOCK::default(), FILE_ACCESS_INFORMATION::default());
        let length = size_of_val(&access) as u32;
        // SAFETY: the handle is open, and both structures live until the call returns.
        let result = unsafe {
            NtQueryInformationFile(
                file.as_raw_handle(),
                &raw mut status,
                (&raw mut access).cast(),
                length,
                FileAccessInformation,
            )
        };
        let (rights, both) = (access.AccessFlags, FILE_APPEND_DATA | FILE_WRITE_DATA);
        result >= 0 && rights & both == FILE_APPEND_DATA
    }
    #[cfg(not(any(unix, windows)))]
    {
        let _ = file;
        false // WASI's call says what its host's does, and Node's means something else
    }
}

/// Where the next byte goes that is written to a regular file, and whether bytes in it can be patched: not if all that is
/// written goes to its end.
#[cfg(feature = "npz")]
pub(crate) fn position(mut file: &File) -> Option<(u64, bool)> {
    use std::io::Seek;
    let length = len_of_regular(file)?;
    if only_appends(file) {
        return Some((length, false));
    }
    Some((file.stream_position().ok()?, cfg!(any(unix, windows)))) // elsewhere nobody says
}

/// Writes all of the bytes at a position, which leaves the file's own where it is.
pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, at);
    #[cfg(windows)]
    {
        use std::io::{Seek, SeekFrom};
        // The call moves the file's own position, at which the next bytes belong.
        let own = { file }.stream_position()?;
        let mut done = 0;
        let mut write = || {
            while done < bytes.len() {
                match std::os::windows::fs::FileExt::seek_write(file, &bytes[done..], at + done as u64) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(count) => done += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        };
        let written = write();
        { file }.seek(SeekFrom::Start(own))?;
        written
    }
    #[cfg(not(any(unix, windows)))]
    {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = file;
        let own = file.stream_position()?;
        file.seek(SeekFrom::Start(at))?;
        let written = file.write_all(bytes);
        file.seek(SeekFrom::Start(own))?;
        written
    }
}
