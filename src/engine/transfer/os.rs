//! Operating system features beyond reading: huge pages, disk space, positioned writes.
//!
//! Everything here is either advice or has a fallback for systems that lack a call. Positioned reads are in
//! [`bytes`](crate::bytes), and what changes whole files in `io::change`.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

#[cfg(target_os = "linux")]
use rustix::io::Errno;

/// Duplicates an open descriptor, as opening `/dev/stdout` does; the duplicate shares the position of the
/// original.
#[cfg(unix)]
pub(crate) fn duplicate(descriptor: std::os::fd::RawFd) -> io::Result<File> {
    use std::os::fd::BorrowedFd;
    if descriptor < 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    // SAFETY: the descriptor is only passed to the system for duplication, which fails if it is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    Ok(borrowed.try_clone_to_owned()?.into())
}

/// Requests huge pages for memory that has not been accessed yet.
///
/// They make the first access several times cheaper.
pub(crate) fn advise_huge_pages((start, length): (*const u8, usize)) {
    /// Below this size, the cost of partially used huge pages outweighs the gain.
    const MIN_ADVISED_LEN: usize = 4 << 20;
    if length < MIN_ADVISED_LEN {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 64 << 10; // the largest base page size of any kernel
        let first = start.addr().next_multiple_of(PAGE);
        let length = (start.addr() + length - first) / PAGE * PAGE;
        // SAFETY: the range is within memory that the caller owns, and the advice does not change its
        // contents. A system that does not know the advice returns an error, which is ignored.
        unsafe { libc::madvise(std::ptr::without_provenance_mut(first), length, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = start;
}

/// Reserves disk space, so that a full disk fails early and large writes are stored contiguously.
pub(super) fn preallocate(file: &File, at: u64, length: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        // Reserves space only: the length of the file changes when data is written.
        let allocated = allocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, at, length);
        // Other errors (a pipe, an unsupported file system) are irrelevant, or recur on writing.
        if let Err(error @ (Errno::NOSPC | Errno::DQUOT)) = allocated {
            return Err(error.into());
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, at, length);
    Ok(())
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, flags: rustix::fs::FallocateFlags, at: u64, length: u64) -> Result<(), Errno> {
    rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, flags, at, length))
}

/// Allocates disk space for a range of a file that consists of zeros.
///
/// Returns `false` if the operating system or file system does not support it.
pub(crate) fn allocate_zeros(file: &File, at: u64, length: u64) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        if length == 0 {
            return Ok(true);
        }
        match allocate(file, rustix::fs::FallocateFlags::empty(), at, length) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, at, length);
        Ok(false)
    }
}

/// Returns whether all writes to a file go to its end, regardless of its position.
pub(crate) fn is_append_only(file: &File) -> bool {
    #[cfg(unix)]
    {
        rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(rustix::fs::OFlags::APPEND))
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
        false // WASI reports the host's flags, and Node's differ
    }
}

/// Returns where the next write to a regular file goes, and whether earlier bytes can be overwritten.
///
/// Earlier bytes cannot be overwritten if all writes go to the end of the file.
#[cfg(feature = "npz")]
pub(crate) fn write_position(mut file: &File) -> Option<(u64, bool)> {
    use std::io::Seek;
    let length = crate::bytes::len_of_regular(file)?;
    if is_append_only(file) {
        return Some((length, false));
    }
    Some((file.stream_position().ok()?, cfg!(any(unix, windows)))) // unknown on other systems
}

/// Writes all bytes at an offset, without moving the file's own position.
pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, at);
    #[cfg(windows)]
    {
        use std::io::{Seek, SeekFrom};
        // The call moves the file's own position, which is restored below for the next sequential write.
        let old_position = { file }.stream_position()?;
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
        { file }.seek(SeekFrom::Start(old_position))?;
        written
    }
    #[cfg(not(any(unix, windows)))]
    {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = file;
        let old_position = file.stream_position()?;
        file.seek(SeekFrom::Start(at))?;
        let written = file.write_all(bytes);
        file.seek(SeekFrom::Start(old_position))?;
        written
    }
}
