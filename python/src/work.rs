//! Work without the interpreter: others can run meanwhile, and Ctrl-C ends it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ndarray_io::Result;
use pyo3::prelude::*;

use crate::error::raise;

/// Work on fewer bytes is not worth a thread: it ends before anyone could press a key.
const SMALL: u64 = 16 << 20;

/// How often the waiting thread looks for signals.
const STEP: Duration = Duration::from_millis(20);

/// Tells work to stop. The default one never does.
#[derive(Clone, Default)]
pub(crate) struct Cancel(Option<Arc<AtomicBool>>);

impl Cancel {
    pub(crate) fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Returns a callback for progress that stops the work; `None` for work that is too small to be stopped.
    pub(crate) fn callback(&self) -> Option<impl Fn(u64, u64) -> ControlFlow<()> + Send + Sync + 'static> {
        let flag = self.0.clone()?;
        Some(move |_, _| match flag.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }
}

/// Does work on about this many bytes.
///
/// Large work is done on another thread, while this one waits and looks for signals: a signal cancels the work. It has ended when this
/// function returns, so memory that was lent to it is not used any more.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    bytes: u64,
    work: impl FnOnce(&Cancel) -> Result<T> + Send,
) -> PyResult<T> {
    if bytes < SMALL {
        return py.detach(|| work(&Cancel::default())).map_err(|error| raise(py, &error));
    }
    let cancel = Cancel::new();
    run_until(py, &cancel, || work(&cancel))
}

/// Does work on another thread, while this one waits and looks for signals: see [`run`]. The work knows `cancel`.
pub(crate) fn run_until<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver); // only this thread uses it
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let result = work();
            let _ = sender.send(()); // the receiver is there until the thread has ended
            result
        });
        let mut interrupted = None;
        // A worker that panics drops the sender, which ends the wait as well.
        while let Err(mpsc::RecvTimeoutError::Timeout) = wait(py, &receiver) {
            if interrupted.is_none()
                && let Err(error) = py.check_signals()
            {
                cancel.0.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
                interrupted = Some(error);
            }
        }
        match (interrupted, py.detach(|| worker.join())) {
            (Some(error), _) => Err(error),
            (None, Ok(result)) => Ok(result),
            (None, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })?;
    done.map_err(|error| raise(py, &error))
}

fn wait(
    py: Python<'_>,
    receiver: &Mutex<mpsc::Receiver<()>>,
) -> std::result::Result<(), mpsc::RecvTimeoutError> {
    py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(STEP))
}
