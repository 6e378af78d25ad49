//! Locks for systems that can only lock an entire file.
//!
//! A single lock represents all regions except `Header`.

use std::fs::File;
use std::io;

use super::{Attempt, LockRegion, Mode};

/// Tries to lock the file, except for `Header`, which is not supported.
pub(crate) fn try_lock(file: &File, region: LockRegion, mode: Mode) -> io::Result<Attempt> {
    use std::fs::TryLockError;
    if region == LockRegion::Header {
        return Ok(Attempt::Unsupported);
    }
    let locked = match mode {
        Mode::Shared => file.try_lock_shared(),
        Mode::Exclusive => file.try_lock(),
    };
    match locked {
        Ok(()) => Ok(Attempt::Acquired),
        Err(TryLockError::WouldBlock) => Ok(Attempt::Busy),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            Ok(Attempt::Unsupported)
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns `false`: these systems cannot test a lock without taking it.
pub(crate) fn is_locked(_: &File, _: LockRegion, _: Mode) -> bool {
    false
}

pub(crate) fn unlock(file: &File, region: LockRegion) {
    // A map may share this lock, which must then be kept. A replacement's lock ends when its file is closed.
    if !matches!(region, LockRegion::Header | LockRegion::Replace) {
        let _ = file.unlock();
    }
}
