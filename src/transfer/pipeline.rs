//! Makes blocks on several threads and consumes them in order.
//!
//! While one block is being written, others are gathered or encoded.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError, mpsc};
use std::thread;

use crate::error::{Error, Result};

/// Makes the blocks `0..count` with `make`, on up to `threads` threads, and passes them to `take` in order.
///
/// `take` runs on the calling thread, which also makes blocks when it would otherwise wait. At most two
/// blocks per thread are in memory. If the system refuses to start threads, the calling thread does all the
/// work. The function is not generic: blocks are large enough that two dynamic calls cost almost nothing, and
/// code with threads is slow to compile.
pub(super) fn ordered(
    count: usize,
    threads: usize,
    make: &(dyn Fn(usize, &mut Vec<u8>) -> Result<()> + Sync),
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let makers = threads.min(count).saturating_sub(1);
    if makers == 0 {
        let mut block = Vec::new();
        return (0..count).try_for_each(|index| make(index, &mut block).and_then(|()| take(&block)));
    }
    // A thread claims a block only once it has a buffer: the lowest missing block is then always in progress,
    // and threads cannot wait for one another forever.
    let (give_back, free) = mpsc::channel::<Vec<u8>>();
    let (done, made) = mpsc::channel::<(usize, Result<Vec<u8>>)>();
    let (free, claimed) = (Mutex::new(free), AtomicUsize::new(0));
    let claim = || Some(claimed.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < count);
    (0..2 * threads).for_each(|_| drop(give_back.send(Vec::new())));

    let work = |done: mpsc::Sender<_>| {
        let next_free = || free.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
        while let Some((mut block, index)) = next_free().and_then(|block| Some((block, claim()?))) {
            let result = catch_unwind(AssertUnwindSafe(|| make(index, &mut block))).unwrap_or_else(|panic| {
                // The consumer must not wait for a block that never arrives.
                let _ = done.send((index, Err(panicked())));
                resume_unwind(panic)
            });
            let has_failed = result.is_err();
            if done.send((index, result.map(|()| block))).is_err() || has_failed {
                return; // the consumer has failed, or will on receiving this error
            }
        }
    };
    thread::scope(|scope| {
        let give_back = give_back; // dropped at the end, which wakes threads that wait for a buffer
        for _ in 0..makers {
            let done = done.clone();
            if thread::Builder::new().spawn_scoped(scope, || work(done)).is_err() {
                break;
            }
        }
        drop(done);
        let mut ready = BTreeMap::new();
        for index in 0..count {
            let block = loop {
                if let Some(block) = ready.remove(&index) {
                    break block;
                }
                if let Ok((index, block)) = made.try_recv() {
                    ready.insert(index, block?);
                    continue;
                }
                // Instead of waiting, this thread makes a block if a buffer is free.
                let free = match free.try_lock() {
                    Ok(free) => free.try_recv().ok(),
                    Err(TryLockError::Poisoned(free)) => free.into_inner().try_recv().ok(),
                    Err(TryLockError::WouldBlock) => None,
                };
                if let Some((mut block, index)) = free.and_then(|block| Some((block, claim()?))) {
                    make(index, &mut block)?;
                    ready.insert(index, block);
                    continue;
                }
                let (index, block) = made.recv().map_err(|_| panicked())?;
                ready.insert(index, block?);
            };
            take(&block)?;
            let _ = give_back.send(block); // all other threads may have finished
        }
        Ok(())
    })
}

/// Returns the error for a block that never arrived.
///
/// The panic itself continues when the threads are joined.
fn panicked() -> Error {
    std::io::Error::other("a thread of the library panicked").into()
}

#[cfg(test)]
mod tests {
    use super::ordered;

    #[test]
    fn blocks_come_in_order_whatever_the_threads() {
        for threads in 1..4 {
            for count in [0, 1, 2, 7, 100] {
                let mut taken = Vec::new();
                let make = |index: usize, block: &mut Vec<u8>| {
                    block.clear();
                    block.push(index as u8);
                    Ok(())
                };
                ordered(count, threads, &make, &mut |block| {
                    taken.extend_from_slice(block);
                    Ok(())
                })
                .unwrap();
                assert_eq!(taken, (0..count).map(|index| index as u8).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn an_error_of_either_side_ends_it() {
        let fail = || std::io::Error::other("full").into();
        for threads in 1..4 {
            let taken = ordered(100, threads, &|_, _| Ok(()), &mut |_| Err(fail()));
            assert_eq!(taken.unwrap_err().to_string(), "full");
            let make = |index, _: &mut Vec<u8>| if index == 50 { Err(fail()) } else { Ok(()) };
            let made = ordered(100, threads, &make, &mut |_| Ok(()));
            assert_eq!(made.unwrap_err().to_string(), "full");
        }
    }

    #[test]
    #[cfg_attr(panic = "abort", ignore = "needs panics that unwind")]
    fn a_panic_is_passed_on_and_nobody_waits_for_ever() {
        for threads in 1..4 {
            let make = |index, _: &mut Vec<u8>| if index == 50 { panic!("broken") } else { Ok(()) };
            assert!(std::panic::catch_unwind(|| ordered(100, threads, &make, &mut |_| Ok(()))).is_err());
        }
    }
}
