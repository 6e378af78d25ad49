//! Divides work among threads, which take the next part whenever they are free.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::pipeline::MAX_THREADS;
use crate::error::{Error, Result};

/// Returns the length of a part: all of `total` for one thread, and otherwise a quarter of a thread's share, so that faster threads can
/// take over from slower ones.
pub(super) fn piece_len(total: usize, threads: usize) -> usize {
    match threads {
        0 | 1 => total,
        threads => total.div_ceil(threads.saturating_mul(4)),
    }
}

/// Calls `work` with each part, on up to `threads` threads including the calling thread.
///
/// Each thread takes the next remaining part, and has its own `state`. If the system refuses to start
/// threads, the calling thread does all the work. `after` is called on the calling thread each time that
/// thread has finished a part.
///
/// After an error, no further parts are taken. All parts before the failed one have already been taken, and
/// are finished. So the first error in the order of the parts is returned.
pub(super) fn for_each_parallel<P: Send, S>(
    parts: impl Iterator<Item = P> + Send,
    threads: usize,
    state: &(dyn Fn() -> S + Sync),
    work: &(dyn Fn(&mut S, P) -> Result<()> + Sync),
    after: &mut After<'_>,
) -> Result<()> {
    // Parts are taken in order: when one fails, all parts before it have already been taken.
    let queue = Mutex::new(parts.enumerate());
    let has_failed = AtomicBool::new(false);
    let next = || match has_failed.load(Ordering::Relaxed) {
        true => None,
        false => queue.lock().unwrap_or_else(PoisonError::into_inner).next(),
    };
    let run = |after: &mut After<'_>| {
        let mut state = state();
        while let Some((number, part)) = next() {
            work(&mut state, part).and_then(|()| after()).map_err(|error| {
                has_failed.store(true, Ordering::Relaxed);
                (number, error)
            })?;
        }
        Ok(())
    };
    run_on_threads(threads, &run, after)
}

/// What is called on the calling thread after each part.
type After<'a> = dyn FnMut() -> Result<()> + 'a;

/// The work of one thread; an error has the number of its part.
type Run<'a> = dyn Fn(&mut After<'_>) -> Result<(), (usize, Error)> + Sync + 'a;

/// Calls `run` on each thread; of the errors, the one with the lowest number is returned.
///
/// It is not generic, because code that starts threads is long: each type of elements would compile it again.
fn run_on_threads(threads: usize, run: &Run<'_>, after: &mut After<'_>) -> Result<()> {
    if threads < 2 {
        return run(after).map_err(|(_, error)| error);
    }
    let results: Vec<_> = thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, || run(&mut || Ok(()))).ok();
        let helpers: Vec<_> = (1..threads.min(MAX_THREADS)).map_while(spawn).collect();
        let own = run(after);
        let join = |helper: thread::ScopedJoinHandle<'_, _>| {
            helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        helpers.into_iter().map(join).chain([own]).collect()
    });
    match results.into_iter().filter_map(Result::err).min_by_key(|(number, _)| *number) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::for_each_parallel;
    use crate::error::{Error, Fault};

    #[test]
    fn parts_are_done_once_and_the_first_error_is_returned() {
        for threads in [1, 2, 5] {
            let done: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
            let mut own = 0;
            let count = |own_done: &mut usize| {
                *own_done += 1;
                Ok(())
            };
            let work = |_: &mut (), part: usize| {
                done[part].fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            for_each_parallel(0..1000, threads, &|| (), &work, &mut || count(&mut own)).unwrap();
            assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
            assert!(own <= 1000 && (threads > 1 || own == 1000));

            let fail = |_: &mut (), part: usize| match part {
                400.. => Err(Error::from(Fault::BadOption { reason: part.to_string() })),
                _ => Ok(()),
            };
            let error = for_each_parallel(0..1000, threads, &|| (), &fail, &mut || Ok(())).unwrap_err();
            assert_eq!(error.to_string(), "400");
        }
    }

    #[test]
    #[cfg_attr(panic = "abort", ignore = "needs panics that unwind")]
    fn panic_of_a_worker_propagates() {
        for threads in [1, 3] {
            let work = |_: &mut (), part: usize| if part == 50 { panic!("broken") } else { Ok(()) };
            let shared = || for_each_parallel(0..100, threads, &|| (), &work, &mut || Ok(()));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(shared)).is_err());
        }
    }
}
