//! The library's own runtimes, for requests and for blocking work.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{Either, select};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;

use ndarray_io::error::{ErrorKind, Result};

/// Returns the library's runtime for requests.
///
/// Blocking on the caller's runtime would panic within its tasks, and a program without Tokio has no runtime.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    made(&RUNTIME, || {
        Builder::new_multi_thread().worker_threads(2).thread_name("ndarray-io").enable_all().build()
    })
}

/// Returns a second runtime, for work that blocks.
///
/// It is separate because requests need blocking threads too, for DNS lookups: if work that waits for
/// requests occupied all of these threads, neither would finish.
pub(crate) fn waiting() -> Result<&'static Runtime> {
    /// The limit for concurrent blocking calls; further calls are queued.
    const THREADS: usize = 64;
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    made(&RUNTIME, || {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).max_blocking_threads(THREADS).thread_name("ndarray-io-wait").build()
    })
}

fn made(
    place: &'static OnceLock<std::io::Result<Runtime>>,
    make: impl FnOnce() -> std::io::Result<Runtime>,
) -> Result<&'static Runtime> {
    match place.get_or_init(make) {
        Ok(runtime) => Ok(runtime),
        Err(error) => Err(std::io::Error::new(error.kind(), error.to_string()).into()),
    }
}

/// Runs a future to completion: on this thread or, within a task of another runtime, on a new thread.
pub(crate) fn wait<T: Send>(future: impl Future<Output = Result<T>> + Send) -> Result<T> {
    let runtime = runtime()?;
    if Handle::try_current().is_err() {
        return runtime.block_on(future);
    }
    // Tokio panics if a thread that drives a runtime blocks on another runtime.
    std::thread::scope(|scope| {
        let waiting = std::thread::Builder::new().spawn_scoped(scope, || runtime.block_on(future))?;
        waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A signal that cancels requests from another thread.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    is_set: AtomicBool,
    told: Notify,
}

impl Stop {
    pub(crate) fn set(&self) {
        self.is_set.store(true, Ordering::Relaxed);
        self.told.notify_waiters();
    }

    /// Returns the output of a future, or `Cancelled` if the signal is set before the future completes.
    pub(crate) async fn or<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        // Registered before the flag is checked, so that a `set` in between is not lost.
        let told = std::pin::pin!(self.told.notified());
        if self.is_set.load(Ordering::Relaxed) {
            return Err(ErrorKind::Cancelled.into());
        }
        match select(told, std::pin::pin!(future)).await {
            Either::Left(_) => Err(ErrorKind::Cancelled.into()),
            Either::Right((output, _)) => output,
        }
    }
}
