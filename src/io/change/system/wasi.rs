//! WASI: the identity of files.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::FileId;

/// Returns the host's metadata of an open file; the standard library has no stable function for it.
fn stat(file: &File) -> io::Result<libc::stat> {
    // SAFETY: all fields are plain integers, for which zero is valid.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open while the file is borrowed, and the structure outlives the call.
    match unsafe { libc::fstat(file.as_raw_fd(), &raw mut found) } {
        0 => Ok(found),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(crate) fn id_of(file: &File) -> io::Result<Option<FileId>> {
    let found = stat(file)?;
    Ok(Some(FileId { volume: found.st_dev, number: found.st_ino }))
}

pub(crate) fn links_of(file: &File) -> io::Result<u64> {
    Ok(stat(file)?.st_nlink)
}
