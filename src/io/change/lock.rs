//! Who may change a file at the same time as whom.
//!
//! | who | holds | as long as |
//! |---|---|---|
//! | an appender, an update, a conversion of a file onto itself, a writer in place | `Change`, exclusive | it is open |
//! | a mutable map or slab | `Map`, shared | it is open |
//! | a replacement of a file that nobody has read | `Replace`, exclusive, while no one holds `Map` | its renaming |
//! | a reader | nothing | |
//!
//! Whoever has locked a file checks that the path still leads to it: the file may have been replaced before the lock was
//! taken. The locks are advisory, and where a file system has none, work goes on without.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::system::{self, Attempt, Mode, Region};
use crate::error::{ErrorKind, Result};
use crate::transfer::os;

/// How long a call waits for another one's section that takes microseconds, unless the other process is stopped in it.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a file is locked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To change it as a whole, with nobody else.
    Change,
    /// To change some of its elements through a map.
    #[cfg_attr(not(feature = "mmap"), allow(dead_code))]
    Map,
}

/// An open file that is locked until this is dropped.
///
/// A lock goes with the last handle of the open file, but a process that another thread has just started has one, too, until it
/// executes its program. So the lock is given back by a call of its own.
#[derive(Debug)]
pub(crate) struct Locked {
    file: Arc<File>,
    region: Region,
}

impl Locked {
    /// Locks an open file. Another one's replacement is waited for, since it takes no time; anything else only for `wait`.
    pub(crate) fn new(file: File, purpose: Purpose, wait: Duration) -> Result<Self> {
        lock(&file, purpose, wait)?;
        let region = match purpose {
            Purpose::Change => Region::Change,
            Purpose::Map => Region::Map,
        };
        Ok(Self { file: Arc::new(file), region })
    }

    /// The file with its lock, to be shared with who uses it.
    pub(crate) fn shared(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Another handle of the same open file, which the lock does not depend on, and the lock. A system that has only one handle for
    /// each open file (WASI) has no locks either: there it is the file itself.
    pub(crate) fn split(self) -> io::Result<(File, Option<Self>)> {
        loop {
            match self.file.try_clone() {
                Ok(handle) => return Ok((handle, Some(self))),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    let file = Arc::clone(&self.file);
                    drop(self);
                    return Arc::into_inner(file).map(|file| (file, None)).ok_or(error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Leaves the lock to a map that was made of the same open file.
    pub(super) fn leave_to_map(mut self) {
        self.region = Region::Replace;
    }
}

impl std::ops::Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        system::unlock(&self.file, self.region);
    }
}

/// Tries something until it succeeds or the time is over, in steps that grow from 50 µs to 10 ms.
fn until<T>(longest: Duration, mut attempt: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
    let mut pause = Duration::from_micros(50);
    let start = Instant::now();
    loop {
        if let Some(done) = attempt()? {
            return Ok(Some(done));
        }
        let left = longest.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        thread::sleep(pause.min(left));
        pause = (2 * pause).min(Duration::from_millis(10));
    }
}

fn lock(file: &File, purpose: Purpose, wait: Duration) -> Result<()> {
    let (region, mode) = match purpose {
        Purpose::Change => (Region::Change, Mode::Exclusive),
        Purpose::Map => (Region::Map, Mode::Shared),
    };
    // The map of a file that this writer has just made in place: Linux turns its lock into the shared one, Windows would wait for it.
    if cfg!(windows) && purpose == Purpose::Map {
        system::unlock(file, Region::Change);
    }
    let start = Instant::now();
    let in_the_way = || system::is_locked(file, Region::Map, mode);
    let taken = until(wait.max(PATIENCE), || match system::try_lock(file, region, mode)? {
        Attempt::Taken | Attempt::Unsupported => Ok(Some(())),
        Attempt::Busy if in_the_way() && start.elapsed() >= wait => Err(ErrorKind::Locked.into()),
        Attempt::Busy => Ok(None),
    })?;
    taken.ok_or(ErrorKind::Locked)?;
    if purpose == Purpose::Map {
        // A replacement that has found no map before this lock was taken is let through; the path is looked at after it.
        let is_free = || Ok((!system::is_locked(file, Region::Replace, Mode::Exclusive)).then_some(()));
        until(PATIENCE, is_free)?.ok_or(ErrorKind::Locked)?;
    }
    Ok(())
}

/// An error if a lock could not be had now and is not waited for: so nothing is written in vain.
pub(super) fn refuse_early(file: &File, wait: Duration) -> Result<()> {
    match wait.is_zero() && system::is_locked(file, Region::Map, Mode::Exclusive) {
        true => Err(ErrorKind::Locked.into()),
        false => Ok(()),
    }
}

/// The lock of a file in whose place another is put.
pub(super) struct Replacing<'a>(&'a File);

impl Drop for Replacing<'_> {
    fn drop(&mut self) {
        system::unlock(self.0, Region::Replace);
    }
}

/// Locks a file for the moment in which another takes its place.
pub(super) fn lock_for_replacing(file: &File, wait: Duration) -> Result<Replacing<'_>> {
    let start = Instant::now();
    let in_the_way = || system::is_locked(file, Region::Map, Mode::Exclusive);
    let taken = until(wait.max(PATIENCE), || {
        let attempt = system::try_lock(file, Region::Replace, Mode::Exclusive)?;
        match attempt {
            Attempt::Unsupported => return Ok(Some(())),
            Attempt::Taken if !in_the_way() => return Ok(Some(())),
            Attempt::Taken => system::unlock(file, Region::Replace), // a map came first
            Attempt::Busy if !in_the_way() => return Ok(None),       // another replacement
            Attempt::Busy => {}
        }
        if start.elapsed() >= wait { Err(ErrorKind::Locked.into()) } else { Ok(None) }
    })?;
    taken.ok_or(ErrorKind::Locked)?;
    Ok(Replacing(file))
}

/// Opens an existing file for reading and writing, and locks it. The path leads to it then, whoever was at it before.
pub(crate) fn open_locked(path: &Path, purpose: Purpose, wait: Duration) -> Result<Locked> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    open_locked_with(path, purpose, wait, &mut options)
}

pub(super) fn open_locked_with(
    path: &Path,
    purpose: Purpose,
    wait: Duration,
    options: &mut OpenOptions,
) -> Result<Locked> {
    /// How often a file may be replaced between its opening and its locking.
    const MOST: usize = 100;
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NONBLOCK); // a pipe must not make it wait
    for _ in 0..MOST {
        let file = options.open(path)?;
        if os::len_of_regular(&file).is_none() {
            let reason = "it is not a regular file, and only such a file can be changed in place".into();
            return Err(ErrorKind::BadOption { reason }.into());
        }
        let file = Locked::new(file, purpose, wait)?;
        if leads_to(path, &file)? {
            return Ok(file);
        }
    }
    Err(ErrorKind::Locked.into())
}

/// Whether a path leads to an open file, links followed.
pub(crate) fn leads_to(path: &Path, file: &File) -> io::Result<bool> {
    system::is_same(system::id_at(path), file)
}

/// Whether an appender or an update has the file.
pub(crate) fn is_being_changed(file: &File) -> bool {
    system::is_locked(file, Region::Map, Mode::Shared)
}

/// Does something with the header of a file while nobody else writes it (`Shared`) or reads it again (`Exclusive`). Who has
/// waited for too long goes on without the lock: a writer must not depend on its readers.
pub(crate) fn with_header_lock<T>(file: &File, mode: Mode, work: impl FnOnce() -> T) -> T {
    let attempt = || Ok((system::try_lock(file, Region::Header, mode)? != Attempt::Busy).then_some(()));
    let is_taken = matches!(until(PATIENCE, attempt), Ok(Some(())));
    let done = work();
    if is_taken {
        system::unlock(file, Region::Header);
    }
    done
}
