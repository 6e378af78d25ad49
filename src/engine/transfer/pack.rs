//! A writer that compresses on several threads, in independent blocks.
//!
//! The blocks can be decompressed in parallel and individually. Concatenated, the blocks are a standard
//! stream. Its bytes do not depend on the number of threads or on how the content is divided into writes.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use super::{Sink, pipeline};
use crate::codec::{BLOCK_SIZE, BlockIndex, BlockPosition, Crc, PackMethod, Packer};
use crate::error::Result;

/// The number of blocks that are buffered per thread when the content is written in small pieces.
const BUFFERED_BLOCKS_PER_THREAD: usize = 2;
/// The maximum number of threads, which also bounds the buffer.
const MAX_THREADS: usize = 64;

/// Reusable compressors for one compression method.
#[derive(Debug)]
pub(crate) struct PackerPool {
    packing: PackMethod,
    idle: Mutex<Vec<Packer>>,
}

impl PackerPool {
    pub(crate) fn new(packing: PackMethod) -> Self {
        Self { packing, idle: Mutex::default() }
    }

    pub(crate) fn packing(&self) -> PackMethod {
        self.packing
    }

    /// Compresses a block and appends its checksum.
    fn pack_with_crc(&self, bytes: &[u8], position: BlockPosition, out: &mut Vec<u8>) -> Result<()> {
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = lock().pop();
        let mut packer = idle.unwrap_or_else(|| Packer::new(self.packing));
        out.clear();
        packer.pack_block(bytes, position, out)?;
        lock().push(packer);
        let mut sum = Crc::default();
        sum.add(bytes);
        out.extend(sum.get().to_le_bytes());
        Ok(())
    }
}

/// Compresses everything written to it.
///
/// The stream is complete only after `finish`.
pub(crate) struct PackWriter<'a, 's> {
    sink: &'a mut Sink<'s>,
    packers: &'a PackerPool,
    threads: usize,
    /// Content that has not been compressed yet.
    pending: Vec<u8>,
    index: BlockIndex,
}

impl<'a, 's> PackWriter<'a, 's> {
    pub(crate) fn new(sink: &'a mut Sink<'s>, packers: &'a PackerPool, threads: usize) -> Self {
        let threads = threads.clamp(1, MAX_THREADS);
        Self { sink, packers, threads, pending: Vec::new(), index: BlockIndex::default() }
    }

    /// Compresses the remaining content, ends the stream, and returns the index of its blocks.
    pub(crate) fn finish(mut self) -> Result<BlockIndex> {
        let pending = std::mem::take(&mut self.pending);
        self.pack(&pending, true)?;
        Ok(self.index)
    }

    fn pack(&mut self, bytes: &[u8], is_last: bool) -> Result<()> {
        let blocks = bytes.len().div_ceil(BLOCK_SIZE).max(usize::from(is_last));
        let content = |index: usize| &bytes[index * BLOCK_SIZE..((index + 1) * BLOCK_SIZE).min(bytes.len())];
        let (packers, is_first) = (self.packers, self.index.len() == 0);
        let make = |index: usize, out: &mut Vec<u8>| {
            let position =
                BlockPosition { is_first: is_first && index == 0, is_last: is_last && index + 1 == blocks };
            packers.pack_with_crc(content(index), position, out)
        };
        let mut done = 0;
        pipeline::make_blocks_in_order(blocks, self.threads, &make, &mut |made| {
            let (packed, crc) = made.split_last_chunk().expect("a checksum follows each block");
            let sum = Crc::of(u32::from_le_bytes(*crc), content(done).len() as u64);
            self.index.push(packed.len() as u64, sum);
            done += 1;
            self.sink.write(packed)
        })
    }

    /// Compresses complete blocks, but holds back the last one, which only `finish` can mark as the last.
    fn push(&mut self, mut bytes: &[u8]) -> Result<()> {
        let max_pending = BUFFERED_BLOCKS_PER_THREAD * BLOCK_SIZE * self.threads;
        if self.pending.len() + bytes.len() > max_pending && !self.pending.is_empty() {
            // Fills up the last block, so that block boundaries do not depend on how the content is written.
            let missing =
                (self.pending.len().next_multiple_of(BLOCK_SIZE) - self.pending.len()).min(bytes.len());
            let (first, rest) = bytes.split_at(missing);
            self.pending.extend_from_slice(first);
            bytes = rest;
            if !bytes.is_empty() {
                let pending = std::mem::take(&mut self.pending);
                self.pack(&pending, false)?;
                self.pending = pending;
                self.pending.clear();
            }
        }
        // Large writes are compressed without a copy. The last block is held back.
        if bytes.len() > max_pending {
            let whole = (bytes.len() - 1) / BLOCK_SIZE * BLOCK_SIZE;
            self.pack(&bytes[..whole], false)?;
            bytes = &bytes[whole..];
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }
}

impl Write for PackWriter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // the last block can only be written by `finish`
    }
}
