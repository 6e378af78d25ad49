//! Locks where the system has one for the whole file only, which stands for the regions that matter most.

use std::fs::File;
use std::io;

use super::{Attempt, Mode, Region};

/// Headers have no lock.
pub(crate) fn try_lock(file: &File, region: Region, mode: Mode) -> io::Result<Attempt> {
    use std::fs::TryLockError;
    if region == Region::Header {
        return Ok(Attempt::Unsupported);
    }
    let locked = match mode {
        Mode::Shared => file.try_lock_shared(),
        Mode::Exclusive => file.try_lock(),
    };
    match locked {
        Ok(()) => Ok(Attempt::Taken),
        Err(TryLockError::WouldBlock) => Ok(Attempt::Busy),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            Ok(Attempt::Unsupported)
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Nothing tells without taking the lock.
pub(crate) fn is_locked(_: &File, _: Region, _: Mode) -> bool {
    false
}

pub(crate) fn unlock(file: &File, region: Region) {
    // The one lock is also that of a map, which stays; a replacement's goes with its file.
    if !matches!(region, Region::Header | Region::Replace) {
        let _ = file.unlock();
    }
}
