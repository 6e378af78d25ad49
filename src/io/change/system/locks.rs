//! Locks for systems that can only lock an entire file.
//!
//! A single lock represents all regions except `Header`.

use std::fs::File;
use std::io;

use super::{LockAttempt, LockMode, LockRegion};

/// Tries to lock the file, except for `Header`, which is not supported.
pub(crate) fn try_lock(file: &File, region: LockRegion, mode: LockMode) -> io::Result<LockAttempt> {
    use std::fs::TryLockError;
    if region == LockRegion::Header {
        return Ok(LockAttempt::Unsupported);
    }
    let locked = match mode {
        LockMode::Shared => file.try_lock_shared(),
        LockMode::Exclusive => file.try_lock(),
    };
    match locked {
        Ok(()) => Ok(LockAttempt::Acquired),
        Err(TryLockError::WouldBlock) => Ok(LockAttempt::Busy),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            Ok(LockAttempt::Unsupported)
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns `false`: these systems cannot test a lock without taking it.
pub(crate) fn has_conflicting_lock(_: &File, _: LockRegion, _: LockMode) -> bool {
    false
}

pub(crate) fn unlock(file: &File, region: LockRegion) {
    // A map may share this lock, which must then be kept. A replacement's lock ends when its file is closed.
    if !matches!(region, LockRegion::Header | LockRegion::Replace) {
        let _ = file.unlock();
    }
}
