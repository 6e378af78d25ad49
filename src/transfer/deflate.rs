//! A writer that deflates on all cores: blocks of the stream are made at the same time, each with the end of the one
//! before it as its window, and written in their order. Together they are one stream that any program inflates.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use super::{Sink, pipeline};
use crate::codec::{Deflater, WINDOW};
use crate::error::Result;

/// How much one thread takes at a time.
const BLOCK: usize = 256 << 10;
/// How much is collected, for each thread, of what comes in small pieces.
const COLLECTED: usize = 4 * BLOCK;

/// What deflating needs and can be used again.
pub(crate) struct Deflaters {
    level: u32,
    threads: usize,
    idle: Mutex<Vec<Deflater>>,
}

impl Deflaters {
    pub(crate) fn new(level: u32, threads: usize) -> Self {
        Self { level, threads, idle: Mutex::default() }
    }

    pub(crate) fn is_for(&self, level: u32, threads: usize) -> bool {
        (self.level, self.threads) == (level, threads)
    }

    pub(crate) fn level(&self) -> u32 {
        self.level
    }

    fn block(&self, window: &[u8], bytes: &[u8], is_last: bool, out: &mut Vec<u8>) -> Result<()> {
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = lock().pop();
        let mut deflater = idle.unwrap_or_else(|| Deflater::new(self.level));
        out.clear();
        deflater.block(window, bytes, is_last, out)?;
        lock().push(deflater);
        Ok(())
    }
}

/// Deflates what is written to it. Only what `finish` has ended is a whole stream.
pub(crate) struct Deflate<'a, 's> {
    sink: &'a mut Sink<'s>,
    deflaters: &'a Deflaters,
    /// The end of what has been deflated, and behind it what has not.
    pending: Vec<u8>,
    window: usize,
    packed: u64,
}

impl<'a, 's> Deflate<'a, 's> {
    pub(crate) fn new(sink: &'a mut Sink<'s>, deflaters: &'a Deflaters) -> Self {
        Self { sink, deflaters, pending: Vec::new(), window: 0, packed: 0 }
    }

    /// Deflates what is left and ends the stream; says how long it is.
    pub(crate) fn finish(mut self) -> Result<u64> {
        let pending = std::mem::take(&mut self.pending);
        self.deflate(&pending, self.window, true)?;
        Ok(self.packed)
    }

    /// Deflates bytes of which the first are only the window for the others.
    fn deflate(&mut self, bytes: &[u8], window: usize, is_last: bool) -> Result<()> {
        let blocks = (bytes.len() - window).div_ceil(BLOCK).max(usize::from(is_last));
        let make = |index: usize, out: &mut Vec<u8>| {
            let start = window + index * BLOCK;
            let end = (start + BLOCK).min(bytes.len());
            let is_last = is_last && index + 1 == blocks;
            self.deflaters.block(
                &bytes[start.saturating_sub(WINDOW)..start],
                &bytes[start..end],
                is_last,
                out,
            )
        };
        pipeline::ordered(blocks, self.deflaters.threads, &make, &mut |block| {
            self.packed += block.len() as u64;
            self.sink.write(block)
        })
    }

    /// Deflates the whole blocks of what has been collected but the last, which `finish` has to mark, and keeps the window
    /// for what follows. So the blocks of a stream are the same however it came.
    fn deflate_pending(&mut self) -> Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        let whole = self.window + whole_blocks(pending.len() - self.window);
        self.deflate(&pending[..whole], self.window, false)?;
        let kept = whole.saturating_sub(WINDOW);
        pending.drain(..kept);
        self.window = whole - kept;
        self.pending = pending;
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let most = COLLECTED * self.deflaters.threads;
        if bytes.len() < most {
            self.pending.extend_from_slice(bytes);
            if self.pending.len() - self.window >= most {
                self.deflate_pending()?;
            }
            return Ok(());
        }
        // Much at once is deflated where it lies: but for its beginning, which fills up the block that is pending, and
        // goes far enough for a window.
        let begun = (self.pending.len() - self.window) % BLOCK;
        let filling = if BLOCK - begun >= WINDOW { BLOCK - begun } else { 2 * BLOCK - begun };
        let (first, rest) = bytes.split_at(filling);
        self.pending.extend_from_slice(first);
        let pending = std::mem::take(&mut self.pending);
        self.deflate(&pending, self.window, false)?;
        let whole = filling + whole_blocks(rest.len());
        self.deflate(&bytes[filling - WINDOW..whole], WINDOW, false)?;
        self.pending = bytes[whole - WINDOW..].to_vec();
        self.window = WINDOW;
        Ok(())
    }
}

/// How many bytes are in whole blocks that are not the last.
fn whole_blocks(bytes: usize) -> usize {
    bytes.saturating_sub(1) / BLOCK * BLOCK
}

impl Write for Deflate<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // the member is not at its end
    }
}
