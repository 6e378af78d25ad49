//! Work without the interpreter, so that other threads of Python run at the same time.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use ndarray_io::Result;
use pyo3::prelude::*;

use crate::error::to_py_err;

/// Work on fewer bytes is not worth a thread: it ends before anyone could press a key.
const MIN_BYTES_FOR_THREAD: u64 = 16 << 20;

/// How often the waiting thread looks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);

/// Tells work to stop. The default one never does.
#[derive(Clone, Default)]
pub(crate) struct CancelToken(Option<Arc<AtomicBool>>);

impl CancelToken {
    /// Returns a callback for progress that stops the work; `None` for work that is too small to be stopped.
    pub(crate) fn callback(&self) -> Option<impl Fn(u64, u64) -> ControlFlow<()> + Send + Sync + 'static> {
        let flag = self.0.clone()?;
        Some(move |_, _| match flag.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }
}

/// Cancels work when it is dropped: also if the waiting thread panics, which would otherwise wait for all of it.
struct CancelOnDrop<'a>(&'a AtomicBool);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does work in this thread. File objects of Python are used in it, as SQLite's must be, and a signal ends their methods.
pub(crate) fn run_in_this_thread<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    py.detach(work).map_err(|error| to_py_err(py, &error))
}

/// Does work on about this many bytes.
///
/// Large work is done on another thread, while this one waits and looks for signals: a signal cancels the work where it reports progress. It
/// has ended when this function returns, so memory that was lent to it is not used any more.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    bytes: u64,
    work: impl FnOnce(&CancelToken) -> Result<T> + Send,
) -> PyResult<T> {
    if bytes < MIN_BYTES_FOR_THREAD {
        return run_in_this_thread(py, || work(&CancelToken::default()));
    }
    let flag = Arc::new(AtomicBool::new(false));
    let cancel = CancelToken(Some(Arc::clone(&flag)));
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver); // only this thread uses it
    // The work is taken by the thread, or by this one if there is none to be had.
    let work = Mutex::new(Some((work, sender)));
    let run_work = || {
        let taken = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.map(|(work, sender)| {
            let result = work(&cancel);
            let _ = sender.send(()); // the receiver is there until the thread has ended
            result
        })
    };
    let done = std::thread::scope(|scope| {
        let Ok(worker) = std::thread::Builder::new().spawn_scoped(scope, run_work) else {
            return Ok(py.detach(run_work));
        };
        let cancelled = CancelOnDrop(&flag);
        let mut interrupted = None;
        // A worker that panics drops the sender, which ends the wait as well.
        while let Err(mpsc::RecvTimeoutError::Timeout) = wait_for_signal_interval(py, &receiver) {
            if let Err(error) = py.check_signals() {
                flag.store(true, Ordering::Relaxed);
                interrupted.get_or_insert(error);
            }
        }
        let result = py.detach(|| worker.join());
        drop(cancelled);
        match (interrupted, result) {
            (Some(error), _) => Err(error),
            (None, Ok(result)) => Ok(result),
            (None, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })?;
    match done {
        Some(done) => done.map_err(|error| to_py_err(py, &error)),
        None => Err(pyo3::exceptions::PyRuntimeError::new_err("the work was taken twice")),
    }
}

fn wait_for_signal_interval(
    py: Python<'_>,
    receiver: &Mutex<mpsc::Receiver<()>>,
) -> std::result::Result<(), mpsc::RecvTimeoutError> {
    py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNAL_INTERVAL))
}
