//! Locks, which determine which operations may change a file concurrently.
//!
//! | operation | lock | duration |
//! |---|---|---|
//! | an append, an update, a conversion of a file onto itself, a write in place | `Change`, exclusive | while open |
//! | a mutable map or slab | `Map`, shared | while open |
//! | a replacement of a file that has not been read | `Replace`, exclusive, if `Map` is free | its rename |
//! | an update of a header | `Header`, exclusive | one write |
//! | a reader whose first read of a header did not match the file | `Header`, shared | one read |
//!
//! After locking a file, a caller checks that the path still refers to this file, which may have been
//! replaced before the lock was taken. Locks are advisory; on a file system without locks, work continues
//! without them.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::system::{self, LockAttempt, LockMode, LockRegion};
use crate::bytes::{self, retry_interrupted};
use crate::error::{Fault, Result};

/// The maximum wait for a critical section, which takes microseconds unless its process is suspended.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// The purpose of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockPurpose {
    /// To change the entire file, exclusively.
    Change,
    /// To change elements through a map.
    #[cfg_attr(not(feature = "mmap"), allow(dead_code))]
    Map,
}

/// An open file that is locked until this value is dropped.
///
/// The system releases a lock when the last handle of the open file is closed. A child process that another
/// thread has just started also has such a handle, until it executes its program. Therefore, `drop` releases
/// the lock explicitly.
#[derive(Debug)]
pub(crate) struct Locked {
    file: Arc<File>,
    region: LockRegion,
    owner: OwnerProcess,
}

/// The files that are lent to callbacks while they are written.
///
/// Writers on other files lock them. These are locked already, or are drafts: where there is one lock for each open file,
/// taking and giving up another one would give up the first.
static LENT_FILES: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// A file that is lent to a callback, until this value is dropped.
pub(super) struct LentFile(usize);

impl LentFile {
    pub(super) fn new(file: &File) -> Self {
        LENT_FILES.lock().unwrap_or_else(PoisonError::into_inner).push(handle_of(file));
        Self(handle_of(file))
    }
}

impl Drop for LentFile {
    fn drop(&mut self) {
        let mut lent = LENT_FILES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = lent.iter().rposition(|handle| *handle == self.0) {
            lent.swap_remove(at);
        }
    }
}

/// Returns whether a file was lent to a callback by this library.
pub(crate) fn is_lent_to_callback(file: &File) -> bool {
    LENT_FILES.lock().unwrap_or_else(PoisonError::into_inner).contains(&handle_of(file))
}

fn handle_of(file: &File) -> usize {
    #[cfg(unix)]
    return std::os::fd::AsRawFd::as_raw_fd(file) as usize;
    #[cfg(windows)]
    return std::os::windows::io::AsRawHandle::as_raw_handle(file) as usize;
    #[cfg(not(any(unix, windows)))]
    return std::ptr::from_ref(file) as usize; // there are no locks
}

/// The process that has made a value.
///
/// A process that is forked has a copy of the value, and must neither give up the lock nor write what is buffered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnerProcess(u32);

impl OwnerProcess {
    pub(crate) fn new() -> Self {
        Self(if cfg!(unix) { std::process::id() } else { 0 }) // elsewhere, nothing is forked
    }

    pub(crate) fn is_current_process(self) -> bool {
        self.0 == Self::new().0
    }
}

impl Locked {
    /// Locks an open file.
    ///
    /// The call waits for a replacement in progress, which takes microseconds, and at most `wait` for other
    /// locks.
    pub(crate) fn new(file: File, purpose: LockPurpose, wait: Duration) -> Result<Self> {
        lock(&file, purpose, wait)?;
        let region = match purpose {
            LockPurpose::Change => LockRegion::Change,
            LockPurpose::Map => LockRegion::Map,
        };
        Ok(Self { file: Arc::new(file), region, owner: OwnerProcess::new() })
    }

    /// Returns a new file that was locked with [`lock_new`].
    pub(super) fn of_locked_new_file(file: File) -> Self {
        Self { file: Arc::new(file), region: LockRegion::Change, owner: OwnerProcess::new() }
    }

    /// Returns the open file, so that its users can share it.
    pub(crate) fn shared_file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Returns a second handle of the open file, and the lock, which does not depend on this handle.
    ///
    /// On WASI a file cannot have a second handle, and there are no locks: the file itself is returned.
    pub(crate) fn into_handle_and_lock(self) -> io::Result<(File, Option<Self>)> {
        match retry_interrupted(|| self.file.try_clone()) {
            Ok(handle) => Ok((handle, Some(self))),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let file = Arc::clone(&self.file);
                drop(self);
                Arc::into_inner(file).map(|file| (file, None)).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Leaves the lock to a map of the same open file: dropping this value then does not release it.
    pub(super) fn leave_to_map(mut self) {
        self.region = LockRegion::Replace;
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
        if self.owner.is_current_process() {
            system::unlock(&self.file, self.region);
        }
    }
}

/// Tries of an operation that fails if another process replaces the file at the same time.
///
/// If many processes replace a file repeatedly, no number of tries is enough: they end with the time that the caller
/// waits, but not before some have been made.
pub(super) struct Retries {
    start: Instant,
    wait: Duration,
    count: usize,
}

impl Retries {
    pub(super) fn new(wait: Duration) -> Self {
        Self { start: Instant::now(), wait, count: 0 }
    }

    /// Returns whether there is another try.
    pub(super) fn next_attempt(&mut self) -> bool {
        const MIN_ATTEMPTS: usize = 100;
        self.count += 1;
        if self.count > MIN_ATTEMPTS {
            thread::sleep(Duration::from_millis(1).min(self.time_left()));
        }
        self.count <= MIN_ATTEMPTS || !self.time_left().is_zero()
    }

    /// Returns how much longer the caller waits.
    pub(super) fn time_left(&self) -> Duration {
        self.wait.saturating_sub(self.start.elapsed())
    }
}

/// Retries `attempt` until it succeeds or `longest` has elapsed.
///
/// The pause between attempts doubles from 50 µs up to 10 ms.
fn retry_for<T>(longest: Duration, mut attempt: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
    // Most locks are held for microseconds, so the first pause is short; the cap keeps long waits cheap.
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

/// Locks a file that no other process can have opened yet.
pub(super) fn lock_new(file: &File) -> io::Result<()> {
    system::try_lock(file, LockRegion::Change, LockMode::Exclusive).map(drop)
}

/// Returns the error for a path that names no regular file.
pub(super) fn not_regular() -> crate::error::Error {
    let reason = "it is not a regular file: only regular files can be changed in place".into();
    Fault::NotRegularFile { reason }.into()
}

fn lock(file: &File, purpose: LockPurpose, wait: Duration) -> Result<()> {
    let (region, mode) = match purpose {
        LockPurpose::Change => (LockRegion::Change, LockMode::Exclusive),
        LockPurpose::Map => (LockRegion::Map, LockMode::Shared),
    };
    // If the file was just created in place, it is still locked exclusively. Linux converts this lock to a
    // shared one; on Windows, the old lock would prevent the new one.
    if cfg!(windows) && purpose == LockPurpose::Map {
        system::unlock(file, LockRegion::Change);
    }
    let start = Instant::now();
    // Only locks on `Map` are held for long. If there is none, `Busy` means that a replacement is in
    // progress.
    let is_map_locked = || system::has_conflicting_lock(file, LockRegion::Map, mode);
    let acquired = retry_for(wait.max(LOCK_TIMEOUT), || match system::try_lock(file, region, mode)? {
        LockAttempt::Acquired | LockAttempt::Unsupported => Ok(Some(())),
        LockAttempt::Busy if is_map_locked() && start.elapsed() >= wait => Err(Fault::Locked.into()),
        LockAttempt::Busy => Ok(None),
    })?;
    acquired.ok_or(Fault::Locked)?;
    if purpose == LockPurpose::Map {
        // A replacement that checked for maps before this lock was taken is allowed to complete; the caller
        // then checks the path.
        let is_free = || {
            Ok((!system::has_conflicting_lock(file, LockRegion::Replace, LockMode::Exclusive)).then_some(()))
        };
        retry_for(LOCK_TIMEOUT, is_free)?.ok_or(Fault::Locked)?;
    }
    Ok(())
}

/// Returns an error, before anything is written, if a lock is not free and the caller does not wait for it.
pub(super) fn refuse_if_locked(file: &File, wait: Duration) -> Result<()> {
    match wait.is_zero() && system::has_conflicting_lock(file, LockRegion::Map, LockMode::Exclusive) {
        true => Err(Fault::Locked.into()),
        false => Ok(()),
    }
}

/// The lock on a file that is being replaced.
pub(super) struct ReplacementLock<'a>(&'a File);

impl Drop for ReplacementLock<'_> {
    fn drop(&mut self) {
        system::unlock(self.0, LockRegion::Replace);
    }
}

/// Locks a file while it is replaced.
pub(super) fn lock_for_replacing(file: &File, wait: Duration) -> Result<ReplacementLock<'_>> {
    let start = Instant::now();
    let is_map_locked = || system::has_conflicting_lock(file, LockRegion::Map, LockMode::Exclusive);
    // A replacement locks `Replace` and then checks `Map`; a map locks `Map` and then checks `Replace`. So at
    // least one of the two sees the other.
    let acquired = retry_for(wait.max(LOCK_TIMEOUT), || {
        let attempt = system::try_lock(file, LockRegion::Replace, LockMode::Exclusive)?;
        match attempt {
            LockAttempt::Unsupported => return Ok(Some(())),
            LockAttempt::Acquired if !is_map_locked() => return Ok(Some(())),
            LockAttempt::Acquired => system::unlock(file, LockRegion::Replace), // a map locked the file first
            LockAttempt::Busy if !is_map_locked() => return Ok(None),           // another replacement
            LockAttempt::Busy => {}
        }
        if start.elapsed() >= wait { Err(Fault::Locked.into()) } else { Ok(None) }
    })?;
    acquired.ok_or(Fault::Locked)?;
    Ok(ReplacementLock(file))
}

/// Opens an existing file for reading and writing, and locks it.
///
/// When the call returns, the path refers to the locked file.
pub(crate) fn open_locked(path: &Path, purpose: LockPurpose, wait: Duration) -> Result<Locked> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK); // opening a pipe must not block
    open_locked_by(|| options.open(path), |file| path_refers_to(path, file), purpose, wait)
}

/// Opens a file with `open`, and locks it. `is_named` says whether the file still has its name.
pub(super) fn open_locked_by(
    open: impl Fn() -> io::Result<File>,
    is_named: impl Fn(&File) -> io::Result<bool>,
    purpose: LockPurpose,
    wait: Duration,
) -> Result<Locked> {
    let mut retries = Retries::new(wait);
    while retries.next_attempt() {
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => return Err(not_regular()),
            opened => opened?,
        };
        if bytes::len_of_regular(&file).is_none() {
            return Err(not_regular());
        }
        // The path is checked after locking; the reverse would miss a replacement in between.
        let file = Locked::new(file, purpose, retries.time_left())?;
        if is_named(&file)? {
            return Ok(file);
        }
    }
    Err(Fault::Locked.into())
}

/// Returns whether a path refers to an open file, following links.
pub(crate) fn path_refers_to(path: &Path, file: &File) -> io::Result<bool> {
    system::is_id_of(system::id_at(path), file)
}

/// Returns whether an append or an update is in progress.
pub(crate) fn is_being_changed(file: &File) -> bool {
    system::has_conflicting_lock(file, LockRegion::Map, LockMode::Shared)
}

/// How long a process waits for the lock of a header.
///
/// Once it has waited in vain, it only tries, until it has had the lock again: a reader that is suspended while it holds the
/// lock costs a writer one wait, and not one for each change of the header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockTimeout(Duration);

impl Default for LockTimeout {
    fn default() -> Self {
        Self(LOCK_TIMEOUT)
    }
}

/// The lock of a file's header, until it is dropped.
pub(crate) struct HeaderLock<'f>(Option<&'f File>);

/// Locks a file's header: `Shared` to read it again, `Exclusive` to write it.
///
/// If the lock does not become free in time, the caller goes on without it: a writer must not depend on its readers.
pub(crate) fn lock_header<'f>(
    file: &'f File,
    mode: LockMode,
    lock_timeout: &mut LockTimeout,
) -> HeaderLock<'f> {
    let attempt =
        || Ok((system::try_lock(file, LockRegion::Header, mode)? != LockAttempt::Busy).then_some(()));
    let is_taken = matches!(retry_for(lock_timeout.0, attempt), Ok(Some(())));
    lock_timeout.0 = if is_taken { LOCK_TIMEOUT } else { Duration::ZERO };
    HeaderLock(is_taken.then_some(file))
}

impl Drop for HeaderLock<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            system::unlock(file, LockRegion::Header);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// However often a file is replaced, tries end with the time that the caller waits.
    #[test]
    fn retries_stop_after_the_wait_time() {
        let hour = Duration::from_secs(3600);
        // The clock is moved on by moving the start back.
        let count = |passed, wait| {
            let mut retries = Retries::new(wait);
            retries.start -= passed;
            (0..150).filter(|_| retries.next_attempt()).count()
        };
        assert_eq!([count(Duration::ZERO, Duration::ZERO), count(hour, hour)], [100, 100]);
        let mut retries = Retries::new(hour);
        assert_eq!((0..150).filter(|_| retries.next_attempt()).count(), 150);
        retries.start -= hour;
        assert!(!retries.next_attempt());
    }

    /// A reader that is suspended while it holds the lock of a header costs a writer one wait.
    #[test]
    fn blocked_header_lock_is_waited_for_once() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        let (reader, writer, mut lock_timeout) = (open(), open(), LockTimeout::default());
        assert_eq!(
            system::try_lock(&reader, LockRegion::Header, LockMode::Shared).unwrap(),
            LockAttempt::Acquired
        );
        drop(lock_header(&writer, LockMode::Exclusive, &mut lock_timeout));
        assert_eq!(lock_timeout.0, Duration::ZERO);
        drop(lock_header(&writer, LockMode::Exclusive, &mut lock_timeout));
        assert_eq!(lock_timeout.0, Duration::ZERO);
        system::unlock(&reader, LockRegion::Header);
        drop(lock_header(&writer, LockMode::Exclusive, &mut lock_timeout));
        assert_eq!(lock_timeout.0, LOCK_TIMEOUT);
    }
}
