//! Windows: byte-range locks, the identity of files, access lists and alternate streams.
#![allow(unsafe_code)]

use std::ffi::{OsString, c_void};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{Component, Path, Prefix};
use std::ptr::null;
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    ERROR_HANDLE_EOF, ERROR_INVALID_FUNCTION, ERROR_INVALID_LEVEL, ERROR_INVALID_PARAMETER, ERROR_IO_PENDING,
    ERROR_LOCK_VIOLATION, ERROR_NOT_SUPPORTED, GENERIC_READ, GENERIC_WRITE,
};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GetKernelObjectSecurity, SE_DACL_AUTO_INHERIT_REQ, SE_DACL_AUTO_INHERITED,
    SetKernelObjectSecurity,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_FLAG_BACKUP_SEMANTICS, FileStreamInfo, GetFileInformationByHandle,
    GetFileInformationByHandleEx, GetFinalPathNameByHandleW, LOCKFILE_EXCLUSIVE_LOCK,
    LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, MoveFileExW, UnlockFileEx, WRITE_DAC,
};
use windows_sys::Win32::System::IO::{GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Threading::CreateEventW;

use super::{FileId, LockAttempt, LockMode, LockRegion};
use crate::bytes;

/// Returns the last error if a call returned 0.
fn last_error_if_zero(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn has_code(error: &io::Error, code: u32) -> bool {
    error.raw_os_error() == Some(code as i32)
}

/// Returns whether the file system does not support the operation.
fn is_unsupported(error: &io::Error) -> bool {
    has_code(error, ERROR_INVALID_FUNCTION) || has_code(error, ERROR_NOT_SUPPORTED)
}

fn overlapped(region: LockRegion) -> (OVERLAPPED, u32) {
    let (start, len) = region.range();
    let mut overlapped = OVERLAPPED::default();
    (overlapped.Anonymous.Anonymous.Offset, overlapped.Anonymous.Anonymous.OffsetHigh) =
        (start as u32, (start >> 32) as u32);
    (overlapped, len as u32)
}

pub(crate) fn try_lock(file: &File, region: LockRegion, mode: LockMode) -> io::Result<LockAttempt> {
    let exclusive = if mode == LockMode::Exclusive { LOCKFILE_EXCLUSIVE_LOCK } else { 0 };
    let (mut overlapped, len) = overlapped(region);
    // A user's file may have been opened for overlapped I/O: then the call returns before the system has written
    // to the structure, and the event says when it has, as in the standard library.
    // SAFETY: the function takes no pointer to memory.
    let event = unsafe { CreateEventW(null(), 0, 0, null()) };
    if event.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the event is a new handle without another owner.
    let event = unsafe { OwnedHandle::from_raw_handle(event) };
    // With the lowest bit set, no packet that refers to the structure is queued to a completion port of the file.
    overlapped.hEvent = event.as_raw_handle().map_addr(|handle| handle | 1);
    // SAFETY: the handle is open while the file is borrowed, and the structure outlives the call and, if the call
    // has not finished, the wait below.
    let locked = last_error_if_zero(unsafe {
        LockFileEx(
            file.as_raw_handle(),
            LOCKFILE_FAIL_IMMEDIATELY | exclusive,
            0,
            len,
            0,
            &raw mut overlapped,
        )
    });
    let locked = match locked {
        Err(error) if has_code(&error, ERROR_IO_PENDING) => {
            let mut unused = 0;
            // SAFETY: as above; the call waits until the system has finished with the structure.
            last_error_if_zero(unsafe {
                GetOverlappedResult(file.as_raw_handle(), &raw const overlapped, &raw mut unused, 1)
            })
        }
        locked => locked,
    };
    match locked {
        Ok(()) => Ok(LockAttempt::Acquired),
        Err(error) if has_code(&error, ERROR_LOCK_VIOLATION) => Ok(LockAttempt::Busy),
        Err(error) if is_unsupported(&error) => Ok(LockAttempt::Unsupported),
        Err(error) => Err(error),
    }
}

/// Returns whether a lock is held, by briefly taking it.
///
/// The system has no other way to test a lock. Another process that tests the lock may itself hold it
/// briefly, so the attempt is repeated.
pub(crate) fn has_conflicting_lock(file: &File, region: LockRegion, mode: LockMode) -> bool {
    const TRIES: usize = 5;
    for _ in 0..TRIES {
        // A test by another process takes microseconds; a lock that is busy at all five attempts is held for
        // longer.
        match try_lock(file, region, mode) {
            Ok(LockAttempt::Busy) => std::thread::sleep(Duration::from_micros(200)),
            Ok(LockAttempt::Acquired) => {
                unlock(file, region);
                return false;
            }
            _ => return false,
        }
    }
    true
}

pub(crate) fn unlock(file: &File, region: LockRegion) {
    let (mut overlapped, len) = overlapped(region);
    // SAFETY: the handle is open while the file is borrowed, and the structure outlives the call: the system releases
    // a lock before it returns. An error is ignored, since closing the file releases the lock.
    let _ = unsafe { UnlockFileEx(file.as_raw_handle(), 0, len, 0, &raw mut overlapped) };
}

fn information(file: &File) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
    let mut information = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open while the file is borrowed, and the structure outlives the call.
    last_error_if_zero(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut information) })?;
    Ok(information)
}

/// Returns the identity of an open file.
pub(crate) fn id_of(file: &File) -> io::Result<Option<FileId>> {
    let found = information(file)?;
    let number = u64::from(found.nFileIndexHigh) << 32 | u64::from(found.nFileIndexLow);
    Ok(Some(FileId { volume: found.dwVolumeSerialNumber.into(), number }))
}

/// Returns the number of hard links of a file.
pub(crate) fn hard_link_count(file: &File, _: &std::fs::Metadata) -> io::Result<u64> {
    Ok(information(file)?.nNumberOfLinks.into())
}

/// Renames to a name that must not exist, which is what MoveFileExW without flags does.
pub(super) fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    // The paths are made absolute, because a path longer than MAX_PATH must be absolute.
    let wide = |path: &Path| -> io::Result<Vec<u16>> {
        Ok(std::path::absolute(path)?.as_os_str().encode_wide().chain([0]).collect())
    };
    let (from, to) = (wide(from)?, wide(to)?);
    // SAFETY: both names are NUL-terminated and outlive the call.
    last_error_if_zero(unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), 0) })
}

/// Opens the device that a path names, if any, for writing.
///
/// Devices cannot be replaced. The path may be just `NUL`.
pub(crate) fn open_device(path: &Path) -> io::Result<Option<File>> {
    let full = std::path::absolute(path)?;
    let mut parts = full.components();
    let Some(Component::Prefix(prefix)) = parts.next() else { return Ok(None) };
    let Prefix::DeviceNS(device) = prefix.kind() else { return Ok(None) };
    // A file may also be named through its drive: `\\.\C:\a.npy`.
    if device.as_encoded_bytes().ends_with(b":") && parts.any(|part| matches!(part, Component::Normal(_))) {
        return Ok(None);
    }
    let file = OpenOptions::new().write(true).open(&full)?;
    Ok(bytes::len_of_regular(&file).is_none().then_some(file))
}

/// Creates a file with the right to set its access list, or without this right where it is denied.
pub(super) fn create_for_setting_access_list(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    match options.clone().access_mode(GENERIC_READ | GENERIC_WRITE | WRITE_DAC).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => options.open(path),
        created => created,
    }
}

/// Returns the identity of the file or folder at a path.
///
/// This does not require permission to read the file or folder.
pub(crate) fn id_at(path: &Path) -> io::Result<Option<FileId>> {
    id_of(&OpenOptions::new().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)?)
}

/// Copies the access list and the alternate streams of a file.
pub(crate) fn copy_attributes(from: &File, to: &File) -> io::Result<()> {
    let mut list = access_list(from)?;
    if !list.is_empty() && list != access_list(to)? {
        // Entries that were inherited from the folder should stay inherited, which has to be requested
        // explicitly.
        let control = u64::from(SE_DACL_AUTO_INHERITED) << 16; // the control flags are the second 16-bit field
        if list[0] & control != 0 {
            list[0] |= u64::from(SE_DACL_AUTO_INHERIT_REQ) << 16;
        }
        // SAFETY: the handle is open, and the list was created by the system.
        last_error_if_zero(unsafe {
            SetKernelObjectSecurity(
                to.as_raw_handle(),
                DACL_SECURITY_INFORMATION,
                list.as_ptr() as *mut c_void,
            )
        })?;
    }
    for stream in alternate_stream_names(from)? {
        let at = |file| -> io::Result<OsString> {
            let mut path = path_of(file)?;
            path.push(&stream);
            Ok(path)
        };
        io::copy(
            &mut File::open(at(from)?)?,
            &mut OpenOptions::new().write(true).create(true).truncate(true).open(at(to)?)?,
        )?;
    }
    Ok(())
}

/// Returns the access list of a file; empty if the file system has none.
///
/// The list is stored in 64-bit words, because the system requires alignment.
fn access_list(file: &File) -> io::Result<Vec<u64>> {
    let mut list = Vec::new();
    let mut length = 0;
    loop {
        // SAFETY: the handle is open, and the buffer has the given length.
        let got = last_error_if_zero(unsafe {
            GetKernelObjectSecurity(
                file.as_raw_handle(),
                DACL_SECURITY_INFORMATION,
                list.as_mut_ptr() as *mut c_void,
                size_of_val(&*list) as u32,
                &raw mut length,
            )
        });
        match got {
            Ok(()) => return Ok(list),
            Err(error) if is_unsupported(&error) => return Ok(Vec::new()),
            // The first call returns the required length.
            Err(_) if length as usize > size_of_val(&*list) => list.resize((length as usize).div_ceil(8), 0),
            Err(error) => return Err(error),
        }
    }
}

/// Returns the names of a file's alternate streams.
fn alternate_stream_names(file: &File) -> io::Result<Vec<OsString>> {
    /// The offset of the name within an entry: after two 32-bit lengths and two 64-bit sizes.
    const NAME_OFFSET: usize = 24;
    // The buffer consists of 64-bit words, because the system requires alignment.
    let mut entries = vec![0_u64; 8 << 10];
    let length = size_of_val(&*entries) as u32;
    // SAFETY: the handle is open, and the buffer has the given length.
    let got = last_error_if_zero(unsafe {
        GetFileInformationByHandleEx(
            file.as_raw_handle(),
            FileStreamInfo,
            entries.as_mut_ptr().cast(),
            length,
        )
    });
    match got {
        // FAT and other file systems return ERROR_INVALID_PARAMETER or ERROR_INVALID_LEVEL for queries that
        // they do not support.
        Err(error)
            if is_unsupported(&error)
                || [ERROR_HANDLE_EOF, ERROR_INVALID_PARAMETER, ERROR_INVALID_LEVEL]
                    .iter()
                    .any(|code| has_code(&error, *code)) =>
        {
            return Ok(Vec::new());
        }
        got => got?,
    }
    let bytes: &[u8] = bytemuck::cast_slice(&entries);
    let number = |at: usize| {
        bytes
            .get(at..at + 4)
            .map_or(0, |bytes| u32::from_le_bytes(bytes.try_into().unwrap_or_default()) as usize)
    };
    let (mut at, mut names) = (0, Vec::new());
    loop {
        let name = bytes.get(at + NAME_OFFSET..at + NAME_OFFSET + number(at + 4)).unwrap_or_default();
        let name: Vec<u16> =
            name.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
        let name = OsString::from_wide(&name);
        if name != "::$DATA" && !name.is_empty() {
            names.push(name);
        }
        match number(at) {
            0 => return Ok(names),
            step => at += step,
        }
    }
}

/// Returns a path of an open file.
fn path_of(file: &File) -> io::Result<OsString> {
    // 32,767 characters is the longest path on Windows.
    let mut path = vec![0_u16; 1 << 15];
    // SAFETY: the handle is open, and the buffer has the given length.
    let length =
        unsafe { GetFinalPathNameByHandleW(file.as_raw_handle(), path.as_mut_ptr(), path.len() as u32, 0) };
    match path.get(..length as usize) {
        Some(path) if !path.is_empty() => Ok(OsString::from_wide(path)),
        _ => Err(io::Error::last_os_error()),
    }
}
