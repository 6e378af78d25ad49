//! What the operating system offers beyond reading and writing: huge pages, room on the disk, reads at a position. And
//! the recognition of a `File` behind a generic reader or writer, without which none of it could be used there.
//!
//! All of it is advice or has a fallback: on a system that lacks a call, the work is done without.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

/// The file that a reader or writer is, if it is one: a `File`, a `&File` or a `&mut File`.
pub(super) fn as_file<R>(stream: &mut R) -> Option<&File> {
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

/// Asks for huge pages behind memory that has not been touched yet: they make the first touch several times cheaper.
pub(super) fn advise_huge_pages((start, length): (*const u8, usize)) {
    /// Below this the pages that do not fill a huge one outweigh the gain.
    const WORTHWHILE: usize = 4 << 20;
    if length < WORTHWHILE {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
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
        use std::os::fd::AsRawFd;
        let (Ok(at), Ok(length)) = (libc::off_t::try_from(at), libc::off_t::try_from(length)) else {
            return Ok(());
        };
        // SAFETY: the descriptor is open as long as the file is borrowed, and the call touches no memory.
        let result = unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, at, length) };
        if result != 0 {
            let error = io::Error::last_os_error();
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

/// Reads at a position, which leaves the file's own where it is (on Windows it does not; nobody relies on it).
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
