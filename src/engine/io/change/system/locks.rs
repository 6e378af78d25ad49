//! Locks for systems that can only lock an entire file.
//!
//! A single lock represents all regions except `Header`.

use std::fs::File;
use std::io;

use super::{LockAttempt, LockMode, LockRegion};

#[cfg(all(
    unix,
    not(any(target_os = "solaris", target_os = "espidf", target_os = "horizon", target_os = "vita"))
))]
mod flock {
    use std::fs::File;
    use std::io;

    use rustix::fs::FlockOperation;

    use super::LockMode;

    pub(super) fn try_lock(file: &File, mode: LockMode) -> io::Result<()> {
        let operation = match mode {
            LockMode::Shared => FlockOperation::NonBlockingLockShared,
            LockMode::Exclusive => FlockOperation::NonBlockingLockExclusive,
        };
        Ok(rustix::fs::flock(file, operation)?)
    }

    pub(super) fn unlock(file: &File) -> io::Result<()> {
        Ok(rustix::fs::flock(file, FlockOperation::Unlock)?)
    }
}

/// There are no such locks here.
#[cfg(not(all(
    unix,
    not(any(target_os = "solaris", target_os = "espidf", target_os = "horizon", target_os = "vita"))
)))]
mod flock {
    use std::fs::File;
    use std::io;

    use super::LockMode;

    pub(super) fn try_lock(_: &File, _: LockMode) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn unlock(_: &File) -> io::Result<()> {
        Ok(())
    }
}

/// Tries to lock the file, except for `Header`, which is not supported.
pub(crate) fn try_lock(file: &File, region: LockRegion, mode: LockMode) -> io::Result<LockAttempt> {
    if region == LockRegion::Header {
        return Ok(LockAttempt::Unsupported);
    }
    match flock::try_lock(file, mode) {
        Ok(()) => Ok(LockAttempt::Acquired),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(LockAttempt::Busy),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(LockAttempt::Unsupported),
        Err(error) => Err(error),
    }
}

/// Returns `false`: these systems cannot test a lock without taking it.
pub(crate) fn has_conflicting_lock(_: &File, _: LockRegion, _: LockMode) -> bool {
    false
}

pub(crate) fn unlock(file: &File, region: LockRegion) {
    // A map may share this lock, which must then be kept. A replacement's lock ends when its file is closed.
    if !matches!(region, LockRegion::Header | LockRegion::Replace) {
        let _ = flock::unlock(file);
    }
}
