//! Work for all cores on one piece after another, of which the results come in their order.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::Failure;

/// Takes pieces from `next`, gives them to threads that `work` on them, and what comes out, in the order of the pieces, to `take`. Few
/// pieces are on their way at a time.
pub(crate) fn in_turn<S, I: Send, O: Send>(
    state: &mut S,
    mut next: impl FnMut(&mut S) -> Result<Option<I>, Failure>,
    work: impl Fn(I) -> O + Sync,
    mut take: impl FnMut(&mut S, O) -> Result<(), Failure>,
) -> Result<(), Failure> {
    /// One that a thread works on, and one that waits for it.
    const EACH: usize = 2;
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        let lanes: Vec<(SyncSender<I>, Receiver<O>)> = (0..threads)
            .map(|_| {
                let (give, given) = sync_channel(EACH);
                let (done, results) = sync_channel(EACH);
                let work = &work;
                // Both ends when nobody is there to give or take any more.
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
                // A thread that is gone has panicked, which the scope tells.
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
