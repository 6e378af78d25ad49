//! Random access to a compressed member: each thread that reads decompresses the blocks that it needs.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::parallel::for_each_parallel;
use super::{Source, pipeline};
use crate::bytes::{LocalFile, ReadAt, ReadHints, Runs, fill_at};
use crate::codec::{BlockIndex, BlockPosition, Crc, Unpacker};
use crate::error::{Error, ErrorKind, Fault, FilePart, Result};
use crate::limits;

/// The content of a member with a block index.
///
/// Each block is verified against its checksum when it is decompressed.
pub(crate) struct PackedBlocks<'a> {
    archive: Box<dyn ReadAt + 'a>,
    /// The offset of the compressed data in the archive.
    start: u64,
    index: BlockIndex,
    make: fn() -> Result<Unpacker>,
    idle: Mutex<Vec<BlockDecoder>>,
    /// A cache of blocks that have been read in part, the most recently used at the end.
    cached: Mutex<VecDeque<(usize, Arc<Mutex<CachedBlock>>)>>,
    cache_capacity: usize,
    /// Which blocks have been verified.
    is_checked: Vec<AtomicBool>,
    /// Whether a block did not match the index.
    has_mismatch: AtomicBool,
    /// How many blocks have been decompressed, counting repetitions.
    unpack_count: AtomicU64,
    /// Decompresses the member from its beginning.
    ///
    /// Used if a block does not match the index, or if blocks are decompressed repeatedly.
    fallback: Option<Fallback<'a>>,
    /// The file with the decompressed member; `None` if that failed.
    unpacked_file: OnceLock<Option<File>>,
    unpack_lock: Mutex<()>,
}

/// A function that decompresses an entire member into a file.
type Fallback<'a> = Box<dyn Fn() -> Result<File> + Send + Sync + 'a>;

/// A decompressor, and a buffer for the compressed bytes of a block.
struct BlockDecoder {
    unpacker: Unpacker,
    packed: Vec<u8>,
}

/// The content of a block, once it has been decompressed.
#[derive(Default)]
struct CachedBlock {
    bytes: Vec<u8>,
    is_unpacked: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> PackedBlocks<'a> {
    /// Creates a reader for a member whose compressed data begins at `start`, for use by this many threads.
    pub(crate) fn new(
        archive: Box<dyn ReadAt + 'a>,
        start: u64,
        index: BlockIndex,
        make: fn() -> Result<Unpacker>,
        threads: usize,
    ) -> Self {
        let is_checked = (0..index.len()).map(|_| AtomicBool::new(false)).collect();
        Self {
            archive,
            start,
            index,
            make,
            is_checked,
            cache_capacity: threads.clamp(1, 64) + 1, // one block for each thread, and one shared by two neighbors
            idle: Mutex::default(),
            cached: Mutex::default(),
            has_mismatch: AtomicBool::new(false),
            unpack_count: AtomicU64::new(0),
            fallback: None,
            unpacked_file: OnceLock::new(),
            unpack_lock: Mutex::default(),
        }
    }

    /// Sets a function that decompresses the member from its beginning.
    ///
    /// The function is used instead of the blocks if the index is wrong.
    pub(crate) fn with_fallback(self, fallback: Fallback<'a>) -> Self {
        Self { fallback: Some(fallback), ..self }
    }

    /// Returns the length of the member's content in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.index.sum().len()
    }

    pub(crate) fn block_size(&self) -> u64 {
        self.index.block_size()
    }

    /// Returns whether a block did not match the index.
    pub(crate) fn has_mismatch(&self) -> bool {
        self.has_mismatch.load(Ordering::Relaxed)
    }

    /// Verifies the blocks that have not been read.
    pub(crate) fn check_unread_blocks(&self, threads: usize) -> Result<()> {
        let rest = (0..self.index.len()).filter(|&index| !self.is_checked[index].load(Ordering::Relaxed));
        let rest: Vec<usize> = rest.collect();
        let threads = self.archive.hints().threads(|| threads).min(rest.len());
        let check = |bytes: &mut Vec<u8>, index: usize| {
            self.resize_for_block(index, bytes)?;
            self.unpack(index, bytes)
        };
        for_each_parallel(rest.into_iter(), threads, &Vec::new, &check, &mut || Ok(()))
    }

    /// Compares each block, decompressed on its own, with the content as it comes from the stream's beginning.
    ///
    /// A block that does not match the index, or is not independent, is skipped: readers find that out, and ignore
    /// the index (see [`PackedBlocks::has_mismatch`]). An error is returned for one that matches, and differs nevertheless.
    pub(crate) fn compare(&self, stream: &mut Source<'_>, threads: usize) -> Result<()> {
        let make = |index: usize, bytes: &mut Vec<u8>| {
            self.resize_for_block(index, bytes)?;
            match self.unpack(index, bytes) {
                Err(_) if self.has_mismatch() => {
                    bytes.clear();
                    Ok(())
                }
                done => done,
            }
        };
        let (mut index, mut wanted) = (0, Vec::new());
        pipeline::make_blocks_in_order(self.index.len(), threads, &make, &mut |bytes| {
            self.resize_for_block(index, &mut wanted)?;
            let came = stream.fill(&mut wanted)?;
            // What is missing at the end is the stream's fault, of which the caller finds out.
            let differs = wanted[..came].iter().zip(bytes).position(|(wanted, byte)| wanted != byte);
            if let Some(at) = differs.filter(|_| !bytes.is_empty()) {
                let reason = format!(
                    "block {index} of the member, decompressed by the index of its blocks, differs at its byte {at} from what \
                     other programs read"
                );
                return Err(Fault::Malformed { part: FilePart::Archive, reason, offset: None }.into());
            }
            index += 1;
            Ok(())
        })
    }

    /// Returns the range of the content that is in a block.
    fn range(&self, index: usize) -> Range<u64> {
        let start = index as u64 * self.block_size();
        start..start + self.index.block_sum(index).len()
    }

    /// Resizes a buffer to exactly the length of a block.
    fn resize_for_block(&self, index: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let Range { start, end } = self.range(index);
        let len = usize::try_from(end - start).unwrap_or(usize::MAX);
        limits::resize(bytes, len)
    }

    /// Copies the content of a block from an offset on, as far as `into` has space, and caches the block.
    fn copy_part(&self, index: usize, from: usize, into: &mut [u8]) -> Result<usize> {
        let block = self.cached(index);
        let mut block = lock(&block);
        if !block.is_unpacked {
            self.resize_for_block(index, &mut block.bytes)?;
            self.unpack(index, &mut block.bytes)?;
            block.is_unpacked = true;
        }
        let part = &block.bytes[from..];
        let count = part.len().min(into.len());
        into[..count].copy_from_slice(&part[..count]);
        Ok(count)
    }

    /// Returns a block from the cache, adding an empty one if necessary.
    ///
    /// The first thread that locks a new block decompresses it, while others wait for the lock.
    fn cached(&self, index: usize) -> Arc<Mutex<CachedBlock>> {
        // The lock of the cache is not held while a block is decompressed.
        let mut cached = lock(&self.cached);
        let place = cached.iter().position(|(number, _)| *number == index);
        let block = match place.and_then(|place| cached.remove(place)) {
            Some((_, block)) => block,
            None if cached.len() < self.cache_capacity => Arc::default(),
            // Reuses the memory of the oldest block, unless a thread is reading from it.
            None => match cached.pop_front().and_then(|(_, oldest)| Arc::into_inner(oldest)) {
                Some(oldest) => {
                    let oldest = oldest.into_inner().unwrap_or_else(PoisonError::into_inner);
                    Arc::new(Mutex::new(CachedBlock { is_unpacked: false, ..oldest }))
                }
                None => Arc::default(),
            },
        };
        cached.push_back((index, Arc::clone(&block)));
        block
    }

    /// Decompresses a block into `into`, which has exactly its length, and verifies its checksum.
    fn unpack(&self, index: usize, into: &mut [u8]) -> Result<()> {
        self.unpack_count.fetch_add(1, Ordering::Relaxed);
        let idle = lock(&self.idle).pop();
        let mut decoder = match idle {
            Some(decoder) => decoder,
            None => BlockDecoder { unpacker: (self.make)()?, packed: Vec::new() },
        };
        let Range { start, end } = self.index.packed_range(index);
        let bytes = packed(&*self.archive, self.start + start..self.start + end, &mut decoder.packed)?;
        let position = BlockPosition { is_first: index == 0, is_last: index + 1 == self.index.len() };
        let mut is_right = decoder.unpacker.unpack_block(bytes, position, into);
        if is_right {
            let mut sum = Crc::default();
            sum.add(into);
            is_right = sum.get() == self.index.block_sum(index).get();
        }
        lock(&self.idle).push(decoder);
        if !is_right {
            self.has_mismatch.store(true, Ordering::Relaxed);
            let reason = format!("block {index} of the member does not match the index of its blocks");
            return Err(Fault::Malformed { part: FilePart::Archive, reason, offset: None }.into());
        }
        self.is_checked[index].store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Decompresses the member from its beginning, once.
    ///
    /// Returns `otherwise` as the error if that is impossible or has failed before.
    fn unpack_to_file(&self, otherwise: Error) -> Result<()> {
        // Threads that wait here find the result of the first thread.
        let _one = lock(&self.unpack_lock);
        match (self.unpacked_file.get(), &self.fallback) {
            (Some(Some(_)), _) => Ok(()),
            (None, Some(fallback)) => {
                let (file, result) = match fallback() {
                    Ok(file) => (Some(file), Ok(())),
                    // What failed without a fault of the content can be repeated.
                    Err(error) if !error.is_format() => return Err(error),
                    Err(error) => (None, Err(error)),
                };
                let _ = self.unpacked_file.set(file);
                result
            }
            _ => Err(otherwise),
        }
    }
}

/// Returns a range of the archive's bytes, using `scratch` as a buffer if necessary.
fn packed<'r>(archive: &'r dyn ReadAt, range: Range<u64>, scratch: &'r mut Vec<u8>) -> Result<&'r [u8]> {
    if let Some(bytes) = archive.bytes() {
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        return bytes.get(place(range.start)..place(range.end)).ok_or_else(truncated_archive);
    }
    let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    limits::resize(scratch, len)?;
    match fill_at(archive, scratch, range.start)? {
        filled if filled < len => Err(truncated_archive()),
        _ => Ok(scratch),
    }
}

/// Returns the error for an archive that is shorter than its records say.
pub(crate) fn truncated_archive() -> Error {
    Fault::Malformed {
        part: FilePart::Archive,
        reason: "it has been truncated since it was opened".into(),
        offset: None,
    }
    .into()
}

impl ReadAt for PackedBlocks<'_> {
    /// Reads until `into` is full or the member ends, and returns how many bytes were read.
    fn read_at(&self, into: &mut [u8], from: u64) -> Result<usize> {
        let have = usize::try_from(self.len().saturating_sub(from)).unwrap_or(usize::MAX);
        let wanted = into.len().min(have);
        let mut filled = 0;
        while filled < wanted {
            if let Some(Some(unpacked_file)) = self.unpacked_file.get() {
                let rest = &mut into[filled..wanted];
                return Ok(filled + fill_at(&LocalFile(unpacked_file), rest, from + filled as u64)?);
            }
            let at = from + filled as u64;
            let index = (at / self.block_size()) as usize;
            let Range { start, end } = self.range(index);
            let rest = &mut into[filled..wanted];
            // An entire block is decompressed directly to its destination.
            let done = if start == at && rest.len() as u64 >= end - start {
                let part = &mut rest[..(end - start) as usize];
                self.unpack(index, part).map(|()| part.len())
            } else {
                self.copy_part(index, (at - start) as usize, rest)
            };
            match done {
                Ok(0) => return Err(truncated_archive()), // blocks are never empty
                Ok(count) => filled += count,
                Err(error) if self.has_mismatch() => self.unpack_to_file(error)?,
                Err(error) => return Err(error),
            }
            // If blocks are decompressed more than three times on average, a decompressed file is faster.
            if self.unpack_count.load(Ordering::Relaxed) > 3 * self.index.len() as u64 + 8
                && self.fallback.is_some()
            {
                let _ = self.unpack_to_file(truncated_archive());
            }
        }
        Ok(filled)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.len())
    }

    /// Asks the archive for the blocks that have these bytes.
    fn check(&self, runs: &Runs) -> Result<()> {
        if self.archive.bytes().is_some() || self.archive.file().is_some() {
            return Ok(());
        }
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut last = None;
        for run in runs.iter() {
            let blocks = (run.start / self.block_size()) as usize..self.index.len();
            for index in blocks.take_while(|index| *index as u64 * self.block_size() < run.end) {
                if last.replace(index) == Some(index) {
                    continue;
                }
                let Range { start, end } = self.index.packed_range(index);
                let (start, end) = (self.start + start, self.start + end);
                match ranges.last_mut() {
                    Some(before) if before.end == start => before.end = end,
                    _ => ranges.push(start..end),
                }
            }
        }
        let mut all = Vec::new();
        for range in ranges {
            let Err(error) = self.archive.check(&Runs::of_range(range)) else { continue };
            match error.kind() {
                ErrorKind::NotLoaded => all.extend_from_slice(error.missing_ranges()),
                _ => return Err(error),
            }
        }
        if all.is_empty() { Ok(()) } else { Err(Error::not_loaded(all)) }
    }

    /// As those of the archive, but a block is decompressed as a whole.
    fn hints(&self) -> ReadHints {
        ReadHints { boundary: Some(self.block_size()), batches: false, ..self.archive.hints() }
    }
}

impl std::fmt::Debug for PackedBlocks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} blocks of {} bytes", self.index.len(), self.block_size())
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use super::PackedBlocks;
    use crate::bytes::InMemory;
    use crate::codec::{BLOCK_SIZE, BlockIndex, Crc, Unpacker};
    use crate::transfer::{Source, unpack::UnpackReader};

    /// Compresses a block as a frame of its own, and returns the frame without its header and the mark of its end.
    fn zstd_frame_body(content: &[u8], is_last: bool) -> Vec<u8> {
        let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
        compressor.include_contentsize(false).unwrap();
        compressor.window_log(BLOCK_SIZE.ilog2()).unwrap();
        let mut part = compressor.compress(content).unwrap().split_off(6);
        let mut at = 0;
        loop {
            let head = u32::from_le_bytes([part[at], part[at + 1], part[at + 2], 0]);
            let (is_end, kind, len) = (head & 1 == 1, head >> 1 & 3, (head >> 3) as usize);
            if is_end {
                part[at] ^= u8::from(!is_last);
                return part;
            }
            at += 3 + if kind == 1 { 1 } else { len };
        }
    }

    /// Such frames are not independent within one stream: one begins with a run, which is a match at the offset 1. It
    /// need not say so, because a frame begins with that offset; in the stream, the last offset is another one.
    #[test]
    fn zstd_blocks_that_depend_on_earlier_ones_are_detected() {
        let content = |has_run: bool| -> Vec<u8> {
            let byte = |at: usize| match at {
                64..2000 if has_run => b'x',
                0..64 => (at * 37) as u8,
                _ => (at % 7 * 31) as u8,
            };
            (0..BLOCK_SIZE).map(byte).collect()
        };
        for (runs, has_mismatch) in
            [([false, true, false], true), ([true, false, true], true), ([true, false, false], false)]
        {
            let contents = runs.map(content);
            let mut stream = vec![0x28, 0xB5, 0x2F, 0xFD, 0, 80]; // a window of 1 MiB
            let mut index = BlockIndex::default();
            for (number, content) in contents.iter().enumerate() {
                let before = if number == 0 { 0 } else { stream.len() };
                stream.extend(zstd_frame_body(content, number == 2));
                let mut sum = Crc::default();
                sum.add(content);
                index.push((stream.len() - before) as u64, sum);
            }
            for threads in [1, 3] {
                let make = Unpacker::zstd;
                let blocks = PackedBlocks::new(Box::new(InMemory(&stream)), 0, index.clone(), make, threads);
                let mut packed = &stream[..];
                let mut unpack = UnpackReader::new(Source::of(&mut packed), Unpacker::zstd().unwrap());
                blocks.compare(&mut Source::of(&mut unpack), threads).unwrap();
                assert_eq!(blocks.has_mismatch(), has_mismatch, "{runs:?}");
            }
        }
    }
}
