//! The library's own runtimes, for requests and for blocking work.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::future::{Either, select};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinHandle};

use ndarray_io::Result;
use ndarray_io::error::ErrorKind;

/// Returns the library's runtime for requests.
///
/// Blocking on the caller's runtime would panic within its tasks, and a program without Tokio has no runtime.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    static RUNTIMES: Mutex<Vec<ProcessRuntime>> = Mutex::new(Vec::new());
    process_runtime(&RUNTIMES, || {
        Builder::new_multi_thread().worker_threads(2).thread_name("ndarray-io").enable_all().build()
    })
}

/// Returns a second runtime, for work that blocks.
///
/// It is separate because requests need blocking threads too, for DNS lookups: if work that waits for
/// requests occupied all of these threads, neither would finish.
pub(crate) fn blocking_runtime() -> Result<&'static Runtime> {
    /// The limit for concurrent blocking calls; further calls are queued.
    const MAX_THREADS: usize = 512;
    static RUNTIMES: Mutex<Vec<ProcessRuntime>> = Mutex::new(Vec::new());
    process_runtime(&RUNTIMES, || {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).max_blocking_threads(MAX_THREADS).thread_name("ndarray-io-wait").build()
    })
}

/// Returns a third runtime, for work that waits for nothing, with a thread for each processor.
pub(crate) fn decoding_runtime() -> Result<&'static Runtime> {
    static RUNTIMES: Mutex<Vec<ProcessRuntime>> = Mutex::new(Vec::new());
    process_runtime(&RUNTIMES, || {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).max_blocking_threads(threads).thread_name("ndarray-io-read").build()
    })
}

/// A runtime and the process that has made it.
type ProcessRuntime = (u32, &'static Runtime);

/// Returns the runtime of this process: a process that was forked has none of the threads of its parent, and makes its own.
fn process_runtime(
    runtimes: &Mutex<Vec<ProcessRuntime>>,
    make: impl FnOnce() -> std::io::Result<Runtime>,
) -> Result<&'static Runtime> {
    let mut runtimes = runtimes.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((_, runtime)) = runtimes.iter().find(|(maker, _)| *maker == process) {
        return Ok(runtime);
    }
    // For the rest of the process, as its threads are.
    let runtime = Box::leak(Box::new(make()?));
    runtimes.push((process, runtime));
    Ok(runtime)
}

/// Runs a future on the library's runtime, whichever executor waits for it. Dropping the future that is returned cancels it.
pub(crate) async fn on_runtime<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    task_result(AbortOnDrop(runtime()?.spawn(future)).await)
}

/// A task that ends when nothing waits for it any more.
pub(crate) struct AbortOnDrop<T>(pub(crate) JoinHandle<T>);

impl<T> Future for AbortOnDrop<T> {
    type Output = std::result::Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns the result of a task, or resumes its panic.
pub(crate) fn task_result<T>(result: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    match result {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(std::io::Error::other(error.to_string()).into()),
        },
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
pub(crate) struct CancelSignal {
    is_set: AtomicBool,
    notify: Notify,
}

impl CancelSignal {
    pub(crate) fn set(&self) {
        self.is_set.store(true, Ordering::Relaxed);
        self.notify.notify_waiters();
    }

    /// Returns the output of a future, or `Cancelled` if the signal is set before the future completes.
    pub(crate) async fn run_until_set<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        // Registered before the flag is checked, so that a `set` in between is not lost.
        let notify = std::pin::pin!(self.notify.notified());
        if self.is_set.load(Ordering::Relaxed) {
            return Err(ErrorKind::Cancelled.into());
        }
        match select(notify, std::pin::pin!(future)).await {
            Either::Left(_) => Err(ErrorKind::Cancelled.into()),
            Either::Right((output, _)) => output,
        }
    }
}
