//! [`ReadAhead`]: parts of an object that are fetched before they are asked for.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes as Chunk;
use ndarray_io::Result;
use tokio::task::JoinHandle;

use crate::limits::MemoryPermit;
use crate::runtime::{AbortOnDrop, task_result};

/// The size of a request: a few of them are requested at a time.
const PART_SIZE: u64 = 4 << 20;
/// How far before the last read a part is kept, for another thread that reads the same sequence.
const KEPT_BEHIND_LEN: u64 = 2 * PART_SIZE;

/// The parts that are in progress or have come, and how the object has been read until now.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Where the last read ended.
    last_read_end: u64,
    /// How much the reads have read of which each began where the one before had ended, and their number.
    sequential_bytes: u64,
    sequential_reads: u64,
    parts: VecDeque<Part>,
    /// The process that has begun the parts.
    process_id: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Part {
    range: Range<u64>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Pending(JoinHandle<Result<ReceivedPart>>),
    Ready(ReceivedPart),
}

/// A part that has come, and what it takes of the limits.
#[derive(Debug)]
pub(crate) struct ReceivedPart {
    range: Range<u64>,
    chunks: Vec<Chunk>,
    _kept: MemoryPermit,
}

impl ReceivedPart {
    pub(crate) fn new(range: Range<u64>, chunks: Vec<Chunk>, kept: MemoryPermit) -> Self {
        Self { range, chunks, _kept: kept }
    }

    /// Copies bytes from an offset, and returns their number.
    pub(crate) fn copy(&self, at: u64, into: &mut [u8]) -> usize {
        let (mut before, mut done) = (usize::try_from(at - self.range.start).unwrap_or(usize::MAX), 0);
        for chunk in &self.chunks {
            let passed = chunk.len().min(before);
            before -= passed;
            let part = &chunk[passed..][..(chunk.len() - passed).min(into.len() - done)];
            into[done..done + part.len()].copy_from_slice(part);
            done += part.len();
        }
        done
    }
}

impl Part {
    /// Waits for the content.
    pub(crate) async fn content(self) -> Result<ReceivedPart> {
        match self.content {
            Content::Pending(task) => task_result(AbortOnDrop(task).await),
            Content::Ready(received) => Ok(received),
        }
    }

    /// What is no longer needed is no longer fetched.
    fn stop(self) {
        if let Content::Pending(task) = self.content {
            task.abort();
        }
    }
}

impl ReadAhead {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out the part that has the byte at an offset, if there is one.
    pub(crate) fn take(&self, at: u64) -> Option<Part> {
        let mut state = self.state();
        let place = state.parts.iter().position(|part| part.range.contains(&at))?;
        state.parts.remove(place)
    }

    /// Puts a part back that has been read up to an offset, unless that is its end.
    pub(crate) fn put_back(&self, part: ReceivedPart, end: u64) {
        if end < part.range.end {
            let range = part.range.clone();
            self.state().parts.push_front(Part { range, content: Content::Ready(part) });
        }
    }

    /// Takes note of a read, and has fetched what will be read next, at most `max_bytes` bytes, if reads have been sequential and `fetch` allows it.
    pub(crate) fn record_read_and_prefetch(
        &self,
        range: Range<u64>,
        size: u64,
        max_bytes: u64,
        mut fetch: impl FnMut(&Range<u64>) -> Result<Option<JoinHandle<Result<ReceivedPart>>>>,
    ) -> Result<()> {
        let mut state = self.state();
        state.process_id = Some(std::process::id());
        let is_next = range.start == state.last_read_end;
        state.last_read_end = range.end;
        if !is_next {
            // Another thread may be further on in the same sequence; what is far away is not needed.
            let is_near = |part: &Part| {
                part.range.end + KEPT_BEHIND_LEN >= range.start && part.range.start <= range.end + max_bytes
            };
            let (kept, others) = std::mem::take(&mut state.parts).into_iter().partition(is_near);
            state.parts = kept;
            VecDeque::into_iter(others).for_each(Part::stop);
            (state.sequential_bytes, state.sequential_reads) = (0, 0);
            return Ok(());
        }
        state.sequential_bytes += range.end - range.start;
        state.sequential_reads += 1;
        // A read that continues the one before may be the last one; two of them are a sequence.
        if state.sequential_reads < 2 {
            return Ok(());
        }
        let wanted = (4 * state.sequential_bytes).max(PART_SIZE).min(max_bytes);
        let mut next = state.parts.iter().map(|part| part.range.end).max().unwrap_or(0).max(range.end);
        while next < size && next - range.end < wanted {
            let part = next..size.min(next + PART_SIZE.min(max_bytes));
            let Some(task) = fetch(&part)? else { break };
            next = part.end;
            state.parts.push_back(Part { range: part, content: Content::Pending(task) });
        }
        // Parts that were passed over.
        while let Some(place) =
            state.parts.iter().position(|part| part.range.end + KEPT_BEHIND_LEN < range.start)
        {
            if let Some(part) = state.parts.remove(place) {
                part.stop();
            }
        }
        Ok(())
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        let mut state = self.state();
        match state.process_id == Some(std::process::id()) {
            true => state.parts.drain(..).for_each(Part::stop),
            // They belong to the process that has begun them.
            false => std::mem::forget(std::mem::take(&mut state.parts)),
        }
    }
}
