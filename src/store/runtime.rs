//! The threads that requests run on: the library's own, with or without a runtime of the caller's.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{Either, select};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;

use crate::error::{ErrorKind, Result};

/// A runtime of the library's own: waiting on the caller's would be an error within its tasks, and a program without Tokio has none.
pub(super) fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    made(&RUNTIME, || {
        Builder::new_multi_thread().worker_threads(2).thread_name("ndarray-io").enable_all().build()
    })
}

/// Another one for work that waits: requests need threads as well, to look up names, and would wait for them forever.
pub(super) fn waiting() -> Result<&'static Runtime> {
    /// More of them wait for one another.
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

/// Waits for a future, on this thread or, within a task of another runtime, on one that may wait.
pub(super) fn wait<T: Send>(future: impl Future<Output = Result<T>> + Send) -> Result<T> {
    let runtime = runtime()?;
    if Handle::try_current().is_err() {
        return runtime.block_on(future);
    }
    std::thread::scope(|scope| {
        let waiting = std::thread::Builder::new().spawn_scoped(scope, || runtime.block_on(future))?;
        waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Ends requests from outside.
#[derive(Debug, Default)]
pub(super) struct Stop {
    is_set: AtomicBool,
    told: Notify,
}

impl Stop {
    pub(super) fn set(&self) {
        self.is_set.store(true, Ordering::Relaxed);
        self.told.notify_waiters();
    }

    /// What a future yields, unless this is set before.
    pub(super) async fn or<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
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
