//! Progress callbacks, which can cancel an operation.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Fault, Result};

/// A caller's progress callback.
#[derive(Clone)]
pub(crate) struct ProgressCallback(Arc<Callback>);

/// Receives the number of bytes done and the total.
type Callback = dyn Fn(u64, u64) -> ControlFlow<()> + Send + Sync;

impl ProgressCallback {
    pub(crate) fn new(call: impl Fn(u64, u64) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }

    /// Tells how many bytes are done of how many; fails if the answer is to cancel.
    pub(crate) fn report(&self, done: u64, all: u64) -> Result<()> {
        check_cancelled((self.0)(done, all))
    }

    /// Returns a callback for a part of what this one is told of, of which this many bytes precede the part.
    pub(crate) fn of_part(&self, before: u64, all: u64) -> Self {
        let original = self.clone();
        Self::new(move |done, _| (original.0)(before + done, all))
    }

    /// Returns a callback that tells this one of the most bytes that were done, so that it can cancel at any time.
    #[cfg(feature = "npz")]
    pub(crate) fn monotonic(&self) -> Self {
        let (original, highest) = (self.clone(), Mutex::new(0));
        Self::new(move |done, all| {
            let mut highest = highest.lock().unwrap_or_else(PoisonError::into_inner);
            *highest = done.max(*highest);
            (original.0)(*highest, all)
        })
    }
}

impl fmt::Debug for ProgressCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// Reports the progress of one transfer, if the caller wants to know.
#[derive(Debug, Default)]
pub(crate) struct ProgressReporter(Option<ProgressCounter>);

impl ProgressReporter {
    /// Reports progress towards a total of `all` bytes.
    pub(crate) fn new(progress: Option<&ProgressCallback>, all: u64) -> Self {
        Self(progress.map(|progress| ProgressCounter::new(progress.clone(), all)))
    }

    /// Returns whether anyone is told.
    pub(crate) fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Adds to the bytes done.
    pub(crate) fn add(&self, bytes: usize) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |counter| counter.add(bytes))
    }
}

/// The progress of one transfer, shared by all its threads.
#[derive(Debug)]
struct ProgressCounter {
    progress: ProgressCallback,
    done: Mutex<u64>,
    all: u64,
}

impl ProgressCounter {
    fn new(progress: ProgressCallback, all: u64) -> Self {
        Self { progress, done: Mutex::new(0), all }
    }

    /// Adds to the bytes done and invokes the callback.
    ///
    /// The lock is held during the call. So only one thread at a time invokes the callback, and the numbers
    /// never decrease.
    fn add(&self, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += bytes as u64;
        check_cancelled((self.progress.0)(*done, self.all))
    }
}

/// Returns an error if the callback's answer cancels the operation.
pub(crate) fn check_cancelled(answer: ControlFlow<()>) -> Result<()> {
    match answer {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Fault::Cancelled.into()),
    }
}
