//! Works on pieces on several threads, and takes the results in order.
//!
//! While one block is being written, others are read, gathered or encoded.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError, mpsc};
use std::thread;

use crate::error::{Error, Fault, Result};

/// Puts the next piece of work into a slot, and returns its number; `None` if there are no more pieces.
///
/// Numbers are consecutive, and begin with 0.
type Claim<'a> = dyn Fn(usize) -> Option<usize> + Sync + 'a;
/// Works on the piece in a slot, and leaves the result there.
type Make<'a> = dyn Fn(usize) -> Result<()> + Sync + 'a;
/// Uses the result in a slot.
type Take<'a> = dyn FnMut(usize) -> Result<()> + 'a;

/// The largest number of threads: more would only take memory.
pub(super) const MAX_THREADS: usize = 256;

/// The usual number of slots: each thread works on one, and one result for each waits for its turn.
fn slots(threads: usize) -> usize {
    2 * threads.max(1)
}

/// Claims and makes pieces on up to `threads` threads, and takes the results in order.
///
/// `take` runs on the calling thread, which also makes pieces when it would otherwise wait. The number of
/// slots, which is larger than that of threads, bounds memory. If the system refuses to start threads, the
/// calling thread does all the work. After an error, no more pieces are taken. The function is not generic:
/// pieces are large enough that dynamic calls cost almost nothing, and code with threads is slow to compile.
fn run_in_order(
    (threads, slots): (usize, usize),
    claim: &Claim<'_>,
    make: &Make<'_>,
    take: &mut Take<'_>,
) -> Result<()> {
    if threads < 2 {
        while claim(0).is_some() {
            make(0)?;
            take(0)?;
        }
        return Ok(());
    }
    // A thread claims a piece only once it has a slot: the lowest missing piece is then always in progress,
    // and threads cannot wait for one another forever.
    let (give_back, free) = mpsc::channel::<usize>();
    let (done, made) = mpsc::channel::<(Option<usize>, Result<usize>)>();
    let free = Mutex::new(free);
    for slot in 0..slots {
        let _ = give_back.send(slot); // the receiver exists
    }

    let work = |done: mpsc::Sender<_>| {
        let next_free = || lock(&free).recv().ok();
        while let Some(slot) = next_free() {
            let number = claim(slot);
            let result = catch_unwind(AssertUnwindSafe(|| number.map_or(Ok(()), |_| make(slot))));
            let result = result.unwrap_or_else(|panic| {
                // The consumer must not wait for a piece that never arrives.
                let _ = done.send((number, Err(panicked())));
                resume_unwind(panic)
            });
            let has_ended = result.is_err() || number.is_none();
            if done.send((number, result.map(|()| slot))).is_err() || has_ended {
                return; // the consumer has failed, or will on receiving this error
            }
        }
    };
    thread::scope(|scope| {
        let start = |_| {
            let done = done.clone();
            thread::Builder::new().spawn_scoped(scope, || work(done)).ok()
        };
        let helpers: Vec<_> = (1..threads).map_while(start).collect();
        drop(done);
        let taken = take_in_order((give_back, &free), &made, (claim, make, take));
        // A panic of a helper is passed on as it is.
        let panics: Vec<_> = helpers.into_iter().filter_map(|helper| helper.join().err()).collect();
        if let Some(panic) = panics.into_iter().next() {
            resume_unwind(panic);
        }
        taken
    })
}

/// Takes the results in order, and makes pieces when it would otherwise wait.
///
/// `give_back` is dropped at the end, which wakes threads that wait for a slot.
fn take_in_order(
    (give_back, free): (mpsc::Sender<usize>, &Mutex<mpsc::Receiver<usize>>),
    made: &mpsc::Receiver<(Option<usize>, Result<usize>)>,
    (claim, make, take): (&Claim<'_>, &Make<'_>, &mut Take<'_>),
) -> Result<()> {
    let (mut ready, mut has_more) = (BTreeMap::new(), true);
    for number in 0.. {
        let slot = loop {
            if let Some(slot) = ready.remove(&number) {
                break slot;
            }
            let arrived = match made.try_recv() {
                Ok(arrived) => arrived,
                Err(_) => {
                    // Instead of waiting, this thread makes a piece if a slot is free.
                    let slot = if has_more { try_free_slot(free) } else { None };
                    match slot.map(|slot| (claim(slot), slot)) {
                        Some((Some(number), slot)) => (Some(number), make(slot).map(|()| slot)),
                        Some((None, slot)) => (None, Ok(slot)),
                        None => match made.recv() {
                            Ok(arrived) => arrived,
                            // All threads have ended, and none has made this piece: there are no more.
                            Err(_) if !has_more => return Ok(()),
                            Err(_) => continue, // this thread is the only one
                        },
                    }
                }
            };
            match arrived {
                (Some(number), slot) => {
                    ready.insert(number, slot?);
                }
                (None, slot) => {
                    has_more = false;
                    let _ = give_back.send(slot?); // another thread may wait for a slot
                }
            }
        };
        take(slot)?;
        let _ = give_back.send(slot); // all other threads may have finished
    }
    Ok(())
}

/// Returns a free slot, unless there is none or another thread waits for it.
fn try_free_slot(free: &Mutex<mpsc::Receiver<usize>>) -> Option<usize> {
    match free.try_lock() {
        Ok(free) => free.try_recv().ok(),
        Err(TryLockError::Poisoned(free)) => free.into_inner().try_recv().ok(),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Makes the blocks `0..count` with `make`, on up to `threads` threads, and passes them to `take` in order.
pub(super) fn make_blocks_in_order(
    count: usize,
    threads: usize,
    make: &(dyn Fn(usize, &mut Vec<u8>) -> Result<()> + Sync),
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let threads = threads.min(count).min(MAX_THREADS);
    let buffers: Vec<Mutex<(usize, Vec<u8>)>> = (0..slots(threads)).map(|_| Mutex::default()).collect();
    let claimed = AtomicUsize::new(0);
    let claim = |slot: usize| {
        let number = Some(claimed.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count)?;
        lock(&buffers[slot]).0 = number;
        Some(number)
    };
    let make = |slot: usize| {
        let (number, block) = &mut *lock(&buffers[slot]);
        make(*number, block)
    };
    run_in_order((threads, buffers.len()), &claim, &make, &mut |slot| take(&lock(&buffers[slot]).1))
}

/// Calls a function with each item on several threads, and passes the results to `take` on this thread, in
/// the order of the items.
///
/// This is [`Blocks::par_map`](crate::blocks::Blocks::par_map) for other sequences, such as pieces of a text. At most two items for each thread
/// are in progress at a time. If the system refuses to start threads, the current one does all the work.
///
/// # Errors
///
/// Those of `take`, which end the work.
///
/// # Examples
///
/// ```
/// use ndarray_io::Error;
/// use ndarray_io::blocks::map_in_order;
///
/// let mut lengths = Vec::new();
/// map_in_order(
///     ["one", "three", "four"].into_iter(),
///     2,
///     str::len,
///     |length| {
///         lengths.push(length);
///         Ok::<(), Error>(())
///     },
/// )?;
/// assert_eq!(lengths, [3, 5, 4]);
/// # Ok::<(), Error>(())
/// ```
pub fn map_in_order<I: Send, O: Send, E: From<Error>>(
    items: impl Iterator<Item = I> + Send,
    threads: usize,
    work: impl Fn(I) -> O + Sync,
    take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let max_threads = items.size_hint().1.unwrap_or(usize::MAX).clamp(1, MAX_THREADS);
    let threads = threads.clamp(1, max_threads);
    map_in_slots(items, (threads, slots(threads)), work, take)
}

/// Like [`map_in_order`], with at most `slots` items in progress, which must be more than there are threads.
pub(crate) fn map_in_slots<I: Send, O: Send, E: From<Error>>(
    items: impl Iterator<Item = I> + Send,
    (threads, slots): (usize, usize),
    work: impl Fn(I) -> O + Sync,
    mut take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let places: Vec<Mutex<(Option<I>, Option<O>)>> = (0..slots).map(|_| Mutex::new((None, None))).collect();
    // Several threads may see the end.
    let items = Mutex::new(items.fuse().enumerate());
    let claim = |slot: usize| {
        let (number, item) = lock(&items).next()?;
        lock(&places[slot]).0 = Some(item);
        Some(number)
    };
    let make = |slot: usize| {
        let mut place = lock(&places[slot]);
        place.1 = place.0.take().map(&work);
        Ok(())
    };
    let mut failure = None;
    let done = run_in_order((threads, slots), &claim, &make, &mut |slot| {
        let made = lock(&places[slot]).1.take();
        made.map_or(Ok(()), &mut take).map_err(|error| {
            failure = Some(error);
            Fault::Cancelled.into() // any error ends the work
        })
    });
    failure.map_or_else(|| done.map_err(E::from), Err)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the error for a piece that never arrived.
///
/// The panic itself continues when the threads are joined.
fn panicked() -> Error {
    std::io::Error::other("a thread of the library panicked").into()
}

#[cfg(test)]
mod tests {
    use super::{make_blocks_in_order, map_in_order};
    use crate::error::Error;

    #[test]
    fn blocks_arrive_in_order_for_any_thread_count() {
        for threads in 1..4 {
            for count in [0, 1, 2, 7, 100] {
                let mut taken = Vec::new();
                let make = |index: usize, block: &mut Vec<u8>| {
                    block.clear();
                    block.push(index as u8);
                    Ok(())
                };
                make_blocks_in_order(count, threads, &make, &mut |block| {
                    taken.extend_from_slice(block);
                    Ok(())
                })
                .unwrap();
                assert_eq!(taken, (0..count).map(|index| index as u8).collect::<Vec<_>>());
                let mut taken = Vec::new();
                map_in_order(
                    0..count,
                    threads,
                    |item| item * item,
                    |square| {
                        taken.push(square);
                        Ok::<(), Error>(())
                    },
                )
                .unwrap();
                assert_eq!(taken, (0..count).map(|item| item * item).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn error_of_producer_or_consumer_ends_the_pipeline() {
        let fail = || std::io::Error::other("full").into();
        for threads in 1..4 {
            let taken = make_blocks_in_order(100, threads, &|_, _| Ok(()), &mut |_| Err(fail()));
            assert_eq!(taken.unwrap_err().to_string(), "full");
            let make = |index, _: &mut Vec<u8>| if index == 50 { Err(fail()) } else { Ok(()) };
            let made = make_blocks_in_order(100, threads, &make, &mut |_| Ok(()));
            assert_eq!(made.unwrap_err().to_string(), "full");
            let mut taken = Vec::new();
            let made = map_in_order(
                0..,
                threads,
                |item| if item == 50 { Err(fail()) } else { Ok(item) },
                |item| {
                    taken.push(item?);
                    Ok::<(), Error>(())
                },
            );
            assert_eq!((made.unwrap_err().to_string(), taken.len()), ("full".into(), 50));
        }
    }

    #[test]
    #[cfg_attr(panic = "abort", ignore = "needs panics that unwind")]
    fn panic_in_a_pipeline_propagates_without_deadlock() {
        for threads in 1..4 {
            let make = |index, _: &mut Vec<u8>| if index == 50 { panic!("broken") } else { Ok(()) };
            assert!(
                std::panic::catch_unwind(|| make_blocks_in_order(100, threads, &make, &mut |_| Ok(())))
                    .is_err()
            );
            let mapped =
                || map_in_order(0..100, threads, |item| assert_ne!(item, 50), |()| Ok::<(), Error>(()));
            assert!(std::panic::catch_unwind(mapped).is_err());
            let take = |item| {
                assert_ne!(item, 50);
                Ok::<(), Error>(())
            };
            let taken = || map_in_order(0..100, threads, |item| item, take);
            assert!(std::panic::catch_unwind(taken).is_err());
        }
    }
}
