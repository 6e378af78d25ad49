//! Operating system features beyond reading and writing: huge pages, disk space, positioned reads.
//!
//! These features require a `File`, so this module also detects one in a generic reader or writer. Everything
//! here is either advice or has a fallback for systems that lack a call.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, BufWriter};

#[cfg(target_os = "linux")]
use rustix::io::Errno;

/// Returns the file of a reader or writer that is a `File`, a `&File` or a `&mut File`.
pub(crate) fn as_file<R>(stream: &mut R) -> Option<&File> {
    let id = typeid::of::<R>();
    let pointer = std::ptr::from_mut(stream);
    if id == typeid::of::<File>() {
        // SAFETY: R is File: a type without lifetimes has a unique id.
        Some(unsafe { &*pointer.cast::<File>() })
    } else if id == typeid::of::<&File>() {
        // SAFETY: R is a reference to a File, of any lifetime. It lives at least as long as the borrow of the
        // stream, to which the result is bound.
        Some(unsafe { *pointer.cast::<&File>() })
    } else if id == typeid::of::<&mut File>() {
        // SAFETY: as above; the mutable borrow of the stream ensures that nothing else uses the File.
        Some(unsafe { &**pointer.cast::<&mut File>() })
    } else {
        None
    }
}

/// Returns the file of a writer, which may be a [`BufWriter`] on a file.
pub(crate) fn as_any_file<W>(stream: &mut W) -> Option<&File> {
    let id = typeid::of::<W>();
    let pointer = std::ptr::from_mut(stream);
    if id == typeid::of::<BufWriter<File>>() {
        // SAFETY: W is BufWriter<File>, a type without lifetimes.
        Some(unsafe { &*pointer.cast::<BufWriter<File>>() }.get_ref())
    } else if id == typeid::of::<&mut BufWriter<File>>() {
        // SAFETY: W is a mutable reference, of any lifetime; the stream is borrowed for as long as the
        // result.
        Some(unsafe { &**pointer.cast::<&mut BufWriter<File>>() }.get_ref())
    } else if id == typeid::of::<BufWriter<&File>>() {
        // SAFETY: W contains a reference that lives at least as long as the borrow of the stream.
        Some(unsafe { &*pointer.cast::<BufWriter<&File>>() }.get_ref())
    } else {
        as_file(stream)
    }
}

/// Returns whether a reader is a slice of bytes.
pub(super) fn is_slice<R>() -> bool {
    let id = typeid::of::<R>();
    id == typeid::of::<&[u8]>() || id == typeid::of::<&mut &[u8]>()
}

/// Returns a reader's bytes, if the reader is a slice of bytes.
pub(super) fn as_slice<R>(stream: &mut R) -> Option<SliceReader<'_>> {
    let id = typeid::of::<R>();
    let pointer = std::ptr::from_mut(stream);
    if id == typeid::of::<&[u8]>() {
        // SAFETY: R is a slice, whose lifetime is at least as long as the borrow of the stream. Shortening
        // the lifetime is sound, because a SliceReader only ever shortens the slice.
        Some(SliceReader(unsafe { &mut *pointer.cast::<&[u8]>() }))
    } else if id == typeid::of::<&mut &[u8]>() {
        // SAFETY: as above; the stream is borrowed mutably, and so is the slice that it refers to.
        Some(SliceReader(unsafe { &mut **pointer.cast::<&mut &[u8]>() }))
    } else {
        None
    }
}

/// A slice that is read by shortening it.
pub(crate) struct SliceReader<'a>(&'a mut &'a [u8]);

impl<'a> SliceReader<'a> {
    /// Returns the remaining bytes.
    pub(super) fn get(&self) -> &'a [u8] {
        self.0
    }

    /// Skips up to `bytes` bytes.
    pub(super) fn advance(&mut self, bytes: usize) {
        *self.0 = &self.0[bytes.min(self.0.len())..];
    }
}

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

/// Whether several threads can read one file at the same time, each at its own offset.
pub(super) const READS_ANYWHERE: bool = cfg!(any(unix, windows));

/// Requests huge pages for memory that has not been accessed yet.
///
/// They make the first access several times cheaper.
pub(crate) fn advise_huge_pages((start, length): (*const u8, usize)) {
    /// Below this size, the cost of partially used huge pages outweighs the gain.
    const WORTHWHILE: usize = 4 << 20;
    if length < WORTHWHILE {
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
pub(crate) fn fill_with_room(file: &File, at: u64, length: u64) -> io::Result<bool> {
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

/// Whether [`read_at`] moves the file's own position, so that callers have to restore it.
pub(super) const READING_MOVES: bool = cfg!(not(unix));

/// Reads at an offset. On Unix this does not move the file's own position.
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

/// Reads cached data at an offset without waiting for the disk; `None` if that is impossible.
pub(super) fn read_at_once(file: &File, into: &mut [u8], at: u64) -> io::Result<Option<usize>> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use rustix::io::{ReadWriteFlags, preadv2};
        // Errors recur in the regular read.
        Ok(preadv2(file, &mut [io::IoSliceMut::new(into)], at, ReadWriteFlags::NOWAIT).ok())
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    {
        let _ = (file, into, at);
        Ok(None)
    }
}

/// Announces that a range of a file will be read, so that the system can start loading it.
pub(super) fn will_need(file: &File, at: u64, length: u64) {
    #[cfg(target_os = "linux")]
    {
        // The call is only advice, so its failure can be ignored.
        let _ =
            rustix::fs::fadvise(file, at, std::num::NonZeroU64::new(length), rustix::fs::Advice::WillNeed);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, at, length);
}

/// Returns the length of a regular file; `None` for pipes, terminals and devices.
pub(crate) fn len_of_regular(file: &File) -> Option<u64> {
    #[cfg(windows)]
    {
        use std::os::windows::io::AsRawHandle;

        use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_DISK, GetFileType};
        // SAFETY: the handle is open.
        if unsafe { GetFileType(file.as_raw_handle()) } != FILE_TYPE_DISK {
            return None; // metadata does not always distinguish devices
        }
    }
    file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
}

/// Returns whether all writes to a file go to its end, regardless of its position.
pub(crate) fn only_appends(file: &File) -> bool {
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
pub(crate) fn position(mut file: &File) -> Option<(u64, bool)> {
    use std::io::Seek;
    let length = len_of_regular(file)?;
    if only_appends(file) {
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
