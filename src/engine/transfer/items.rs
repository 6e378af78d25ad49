//! Reads items that are decoded: block by block, or, of a source with random access, on several threads.

use std::ops::Range;

use super::each::make_in_blocks;
use super::lengths::checked_len_and_reporter;
use super::opaque::read_opaque;
use super::source::{Positioned, Source};
use super::{BLOCK_LEN, Effort, truncated};
use crate::bytes::{self, ReadHints};
use crate::elements::cast::append as append_items;
use crate::elements::{ItemDecoder, ReadPlan};
use crate::error::Result;
use crate::header::Header;
use crate::limits;
use crate::options::ReadOptions;
use crate::progress::ProgressReporter;

/// Reads elements that are decoded.
pub(super) fn read_by_decoder<T: Send + Sync>(
    source: &mut Source<'_>,
    header: &Header,
    plan: ReadPlan<T>,
    options: &ReadOptions,
) -> Result<Vec<T>> {
    if let ReadPlan::Opaque(decode) = plan {
        return read_opaque(source, header, &*decode, options);
    }
    let (bytes, reporter) = checked_len_and_reporter(source, header, options)?;
    match plan {
        ReadPlan::PerItem(decode) if source.positioned().is_some() && header.dtype().item_size() > 0 => {
            read_per_item(source, header, &*decode, &reporter, options)
        }
        ReadPlan::PerItem(decode) => {
            let mut items = Vec::new();
            // A stream may be shorter than its header claims: memory for the entire payload is allocated in
            // advance only if the length is known.
            if source.remaining().is_some() && bytes > 0 {
                limits::reserve(&mut items, header.count())?;
            }
            let item = header.dtype().item_size().max(1);
            for_each_block(source, header, &reporter, &mut |block, more| {
                if items.capacity() - items.len() < more {
                    let arrived = (items.len() + more) * item;
                    let capacity = limits::capacity_for(arrived, bytes).div_ceil(item);
                    let missing = capacity - items.len();
                    limits::reserve(&mut items, missing)?;
                }
                append_items(&mut items, more, &mut |places| decode.decode(block, more, places))
            })?;
            Ok(items)
        }
        ReadPlan::Bitwise(_) | ReadPlan::Converted(..) | ReadPlan::Opaque(_) => {
            unreachable!("they were taken above")
        }
    }
}

/// Reads and decodes items of a source with random access, on several threads.
fn read_per_item<T: Send>(
    source: &mut Source<'_>,
    header: &Header,
    decode: &dyn ItemDecoder<T>,
    reporter: &ProgressReporter,
    options: &ReadOptions,
) -> Result<Vec<T>> {
    let Some(positioned) = source.positioned() else { unreachable!("the caller has asked") };
    let items = PositionedItems { source: positioned, header, reporter };
    let (threads, block) = items.threads_and_block(decode.nanos_per_element(), options);
    let made = make_in_blocks(header.count(), block, threads, &|numbers, words, made| {
        items.with_block(&numbers, words, &mut |block| {
            let ItemBlock::Owned(items) = block else { return Ok(false) };
            let decoded = decode.decode(items, numbers.len(), made);
            decoded.map(|()| true).map_err(|error| error.offset_element(numbers.start))
        })
    })?;
    source.advance(header.len() * header.dtype().item_size() as u64);
    Ok(made)
}

/// The items of a source with random access.
pub(super) struct PositionedItems<'a> {
    pub(super) source: Positioned<'a>,
    pub(super) header: &'a Header,
    pub(super) reporter: &'a ProgressReporter,
}

/// A block of items to be decoded.
pub(super) enum ItemBlock<'a> {
    /// Items that must not be changed.
    Shared(&'a [u8]),
    Owned(&'a mut [u8]),
}

/// Decodes a block; returns `false` if its items have to be copied first.
type DecodeBlock<'a> = dyn FnMut(ItemBlock<'_>) -> Result<bool> + 'a;

impl PositionedItems<'_> {
    /// Returns how many threads decode the items, and how many items each takes at a time.
    pub(super) fn threads_and_block(&self, nanos_per_element: u64, options: &ReadOptions) -> (usize, usize) {
        let item = self.header.dtype().item_size();
        let hints = self.source.hints();
        let cost = nanos_per_element.saturating_add(item as u64 / 16);
        let threads = Effort::each(self.header.len(), cost).threads_on(&hints, || options.get_threads());
        let block = match self.source.is_listed_and_local() && self.source.bytes().is_none() {
            true => self.source.round_to_runs(16 << 20),
            false => hints.block_bytes().map_or(BLOCK_LEN, |block| block.max(BLOCK_LEN)) / 4,
        };
        (threads, (block / item).max(1))
    }

    /// Calls `decode` with the items of these numbers.
    pub(super) fn with_block(
        &self,
        numbers: &Range<usize>,
        words: &mut Vec<u128>,
        decode: &mut DecodeBlock<'_>,
    ) -> Result<()> {
        let item = self.header.dtype().item_size();
        let (at, length) = (numbers.start * item, numbers.len() * item);
        if let Some(items) = self.source.bytes().and_then(|memory| memory.get(at..at + length)) {
            if decode(ItemBlock::Shared(items))? {
                return self.reporter.add(length);
            }
        }
        let mut buf = bytes::scratch(words, length)?;
        let filled = self.source.fill_read_buf(&mut buf, usize::MAX, at)?;
        if filled < length {
            return Err(truncated(self.header, (at + filled) as u64));
        }
        let block = buf.into_filled();
        self.reporter.add(filled)?;
        decode(ItemBlock::Owned(block)).map(drop)
    }
}

/// Reads a payload of items block by block, reusing one buffer.
///
/// `take` is called with each block and its number of items.
pub(super) fn for_each_block(
    source: &mut Source<'_>,
    header: &Header,
    reporter: &ProgressReporter,
    take: &mut dyn FnMut(&mut [u8], usize) -> Result<()>,
) -> Result<()> {
    let item = header.dtype().item_size();
    if item == 0 {
        return take(&mut [], header.count());
    }
    let (_, bytes) = header.len_and_bytes_in_memory()?;
    // A source of which many reads at once are best divides such a read itself.
    let hints = source.positioned().map(|positioned| positioned.hints()).filter(ReadHints::is_remote);
    let at_once = hints.and_then(|hints| hints.block_bytes()?.checked_mul(hints.thread_range().0));
    let per_block = (at_once.unwrap_or(0).max(BLOCK_LEN) / item).max(1);
    let mut block = Vec::new();
    let mut done = 0;
    while done < bytes {
        let length = (per_block * item).min(bytes - done);
        load_block(source, header, &mut block, length, done)?;
        reporter.add(length)?;
        take(&mut block, length / item).map_err(|error| error.offset_element(done / item))?;
        done += length;
    }
    Ok(())
}

/// Fills `block` with the next bytes.
///
/// The buffer grows as data arrives, since an item may be large, and the source may be shorter than claimed.
pub(super) fn load_block(
    source: &mut Source<'_>,
    header: &Header,
    block: &mut Vec<u8>,
    length: usize,
    done: usize,
) -> Result<()> {
    block.truncate(length);
    let mut filled = 0;
    while filled < length {
        let capacity = limits::capacity_for(filled, length).max(block.len());
        limits::resize(block, capacity)?;
        let came = source.fill(&mut block[filled..])?;
        filled += came;
        if filled < block.len() {
            return Err(truncated(header, (done + filled) as u64));
        }
    }
    Ok(())
}
