//! Parallel work on a sequence of pieces, with the results in the order of the pieces.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::Failure;

/// Distributes the pieces from `next` to threads that run `work`. Passes the results to `take`, in the order
/// of the pieces.
///
/// At most two pieces per thread are in progress at a time, which bounds the memory.
pub(crate) fn in_turn<S, I: Send, O: Send>(
    state: &mut S,
    mut next: impl FnMut(&mut S) -> Result<Option<I>, Failure>,
    work: impl Fn(I) -> O + Sync,
    mut take: impl FnMut(&mut S, O) -> Result<(), Failure>,
) -> Result<(), Failure> {
    /// One piece in progress and one in the queue, so that the thread does not wait for the next one.
    const EACH: usize = 2;
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        let lanes: Vec<(SyncSender<I>, Receiver<O>)> = (0..threads)
            .map(|_| {
                let (give, given) = sync_channel(EACH);
                let (done, results) = sync_channel(EACH);
                let work = &work;
                // The thread ends when either channel is closed.
                scope.spawn(move || given.into_iter().try_for_each(|piece| done.send(work(piece))));
                (give, results)
            })
            .collect();
        let (mut sent, mut taken, mut has_ended) = (0, 0, false);
        loop {
            while !has_ended && sent - taken < EACH * threads {
                let Some(piece) = next(state)? else {
                    has_ended = true;
                    break;
                };
                // A thread whose channel is closed has panicked; the scope propagates the panic.
                if lanes[sent % threads].0.send(piece).is_err() {
                    return Ok(());
                }
                sent += 1;
            }
            if taken == sent {
                return Ok(());
            }
            let Ok(result) = lanes[taken % threads].1.recv() else { return Ok(()) };
            taken += 1;
            take(state, result)?;
        }
    })
}
