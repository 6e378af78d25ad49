//! Blocks made on several threads and taken in their order: one thread writes while others gather or encode.

use std::sync::mpsc::{self, Receiver};
use std::thread;

use crate::error::Result;

/// Makes the blocks `0..count` with `make`, on up to so many threads, and hands them to `take` in their order. Memory is
/// bounded: a thread has at most three blocks under way. Where the system gives no thread, the caller makes the block.
pub(super) fn ordered(
    count: usize,
    threads: usize,
    make: impl Fn(usize, &mut Vec<u8>) -> Result<()> + Sync,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let makers = if threads > 1 { threads.min(count) } else { 0 };
    thread::scope(|scope| {
        let make = &make;
        let spawn = |first: usize| {
            let (done, blocks) = mpsc::sync_channel(1);
            let (give_back, used) = mpsc::channel::<Vec<u8>>();
            let work = move || {
                for index in (first..count).step_by(makers) {
                    let mut block = used.try_recv().unwrap_or_default();
                    let made = make(index, &mut block).map(|()| block);
                    if done.send(made).is_err() {
                        return; // the taker has failed and wants no more
                    }
                }
            };
            thread::Builder::new().spawn_scoped(scope, work).ok()?;
            Some((blocks, give_back))
        };
        let makers: Vec<_> = if count > 1 { (0..makers).map(spawn).collect() } else { Vec::new() };

        let mut own = Vec::new();
        for index in 0..count {
            match makers.get(index % makers.len().max(1)) {
                Some(Some((blocks, give_back))) => {
                    let block = receive(blocks)?;
                    take(&block)?;
                    let _ = give_back.send(block); // the maker may have made its last
                }
                _ => {
                    make(index, &mut own)?;
                    take(&own)?;
                }
            }
        }
        Ok(())
    })
}

fn receive(blocks: &Receiver<Result<Vec<u8>>>) -> Result<Vec<u8>> {
    // A maker goes without having sent all of its blocks only when it panics; the scope then panics in turn.
    blocks.recv().unwrap_or_else(|_| Err(std::io::Error::other("a thread of the library panicked").into()))
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
                ordered(count, threads, make, |block| {
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
            let taken = ordered(100, threads, |_, _| Ok(()), |_| Err(fail()));
            assert_eq!(taken.unwrap_err().to_string(), "full");
            let made =
                ordered(100, threads, |index, _| if index == 50 { Err(fail()) } else { Ok(()) }, |_| Ok(()));
            assert_eq!(made.unwrap_err().to_string(), "full");
        }
    }
}
