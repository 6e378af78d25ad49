//! [`LocalFile`]: positioned reads of files.
#![allow(unsafe_code)]

use std::borrow::Borrow;
use std::fmt::{self, Debug};
use std::fs::File;
use std::io;

use super::{ReadAt, ReadHints, coalesce, fill_at};
use crate::error::Result;

/// A file as a source of bytes.
///
/// Reads neither use nor, on Unix, move the file's own position. The file may be owned, borrowed or shared:
/// `LocalFile(file)`, `LocalFile(&file)` and `LocalFile(Arc::new(file))` are sources.
///
/// # Examples
///
/// ```
/// use ndarray_io::bytes::{LocalFile, ReadAt};
///
/// # let path = tempfile::NamedTempFile::new()?;
/// std::fs::write(&path, b"0123456789")?;
/// let file = std::fs::File::open(&path)?;
/// let mut part = [0; 3];
/// LocalFile(&file).read_at(&mut part, 5)?;
/// assert_eq!(&part, b"567");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct LocalFile<F = File>(pub F);

impl<F: Borrow<File>> Debug for LocalFile<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.borrow().fmt(f)
    }
}

/// Whether several threads can read one file at the same time, each at its own offset.
pub(crate) const HAS_CONCURRENT_READS: bool = cfg!(any(unix, windows));

/// Whether positioned reads move the file's own position, so that callers have to restore it.
pub(crate) const READS_MOVE_POSITION: bool = cfg!(not(unix));

impl<F: Borrow<File> + Send + Sync> ReadAt for LocalFile<F> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        if i64::try_from(offset).is_err() {
            return Ok(0); // no file is that long
        }
        Ok(read_at(self.0.borrow(), into, offset)?)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.0.borrow().metadata()?.len())
    }

    /// On Linux, reads what the system has in memory while it loads the rest.
    ///
    /// All data that is not in the page cache is requested in advance, so that the disk can schedule many
    /// requests.
    fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<usize> {
        let (file, hints) = (self.0.borrow(), self.hints());
        let mut scratch = Vec::new();
        let mut missing = Vec::new();
        let mut before = 0;
        for group in coalesce::groups(parts, hints.gap, hints.span_bytes()) {
            let first_part = before;
            before += group.len();
            if !coalesce::read_group(group, &mut scratch, &|into, at| Ok(try_read_cached(file, into, at)))? {
                let (first, span) = coalesce::extent(group);
                advise_will_need(file, first, span);
                missing.push((first_part, group));
            }
        }
        // Second pass: read the rest, which the system is already loading.
        let read = |into: &mut [u8], at: u64| fill_at(&LocalFile(file), into, at).map(Some);
        for (first_part, group) in missing {
            if !coalesce::read_group(group, &mut scratch, &read)? {
                return Ok(first_part); // the file has been truncated
            }
        }
        Ok(before)
    }

    fn file(&self) -> Option<(&File, u64)> {
        Some((self.0.borrow(), 0))
    }

    fn lock_file(&self) -> Option<&File> {
        Some(self.0.borrow())
    }

    fn hints(&self) -> ReadHints {
        let hints = ReadHints { batches: false, ..ReadHints::default() };
        if HAS_CONCURRENT_READS { hints } else { ReadHints { concurrency: (1, 1), ..hints } }
    }
}

/// Reads at an offset.
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
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
fn try_read_cached(file: &File, into: &mut [u8], at: u64) -> Option<usize> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use rustix::io::{ReadWriteFlags, preadv2};
        // Errors recur in the regular read.
        preadv2(file, &mut [io::IoSliceMut::new(into)], at, ReadWriteFlags::NOWAIT).ok()
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    {
        let _ = (file, into, at);
        None
    }
}

/// Announces that a range of a file will be read, so that the system can start loading it.
fn advise_will_need(file: &File, at: u64, length: u64) {
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
