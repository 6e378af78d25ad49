//! Reads payloads into memory, with one loop for each read plan.

use std::ops::Range;

use ndarray::ArrayViewMutD;

use super::convert_items::{convert_items, convert_stream};
use super::each::make_in_blocks;
use super::parallel::for_each_parallel;
use super::scatter::read_strided;
use super::source::{Positioned, Source};
use super::{BLOCK_LEN, Effort, os, truncated};
use crate::bytes::{self, ReadBuf, ReadHints};
use crate::dtype::DType;
use crate::element::cast::{Bitwise, MemoryPart, UncheckedVec, append as append_items};
use crate::element::{ItemConversion, ItemDecoder, OpaqueDecoder, ReadPlan, ReadableElement};
use crate::error::{ErrorKind, LimitKind, Result};
use crate::header::Header;
use crate::limits::{self, Limits};
use crate::options::ReadOptions;
use crate::progress::ProgressReporter;

/// How much of a large payload one thread reads at a time.
const PIECE_LEN: usize = 4 << 20;
/// How much of scattered bytes in any order one thread reads before it tells of its progress: each time may read all that
/// is between them.
const LISTED_PIECE_LEN: usize = 256 << 20;

/// Reads the elements of a payload, in the order of the file.
pub(crate) fn read<T: ReadableElement>(
    source: &mut Source<'_>,
    header: &Header,
    plan: ReadPlan<T>,
    options: &ReadOptions,
) -> Result<Vec<T>> {
    let (bitwise, conversion) = match plan.of_bytes() {
        Some(of_bytes) => of_bytes,
        None if const { T::IS_READ_AS_BYTES } => unreachable!("its plan says so"),
        None => return read_by_decoder(source, header, plan, options),
    };
    let (mut bytes, reporter) = checked_len_and_reporter(source, header, options)?;
    if conversion.is_some() {
        check_empty_items(header)?;
        bytes = header.count().saturating_mul(size_of::<T>());
    }
    read_bitwise(source, header, (bitwise, conversion), (header.count(), bytes), &reporter, options)
}

/// Reads elements that are decoded.
fn read_by_decoder<T: Send + Sync>(
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
            false => hints.get_block().map_or(BLOCK_LEN, |block| block.max(BLOCK_LEN)) / 4,
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

/// Reads the elements of a payload into existing elements, in the order of the file.
pub(crate) fn read_into<'i, T: ReadableElement + 'i>(
    source: &mut Source<'_>,
    header: &Header,
    plan: ReadPlan<T>,
    target: Target<'i, T>,
    options: &ReadOptions,
) -> Result<()> {
    match plan {
        ReadPlan::Opaque(_) if const { T::IS_READ_AS_BYTES } => unreachable!("its plan says so"),
        ReadPlan::Opaque(decode) => {
            let items = read_opaque(source, header, &*decode, options)?;
            target.items().zip(items).for_each(|(slot, item)| *slot = item);
            return Ok(());
        }
        _ => {}
    }
    let (_, reporter) = checked_len_and_reporter(source, header, options)?;
    if matches!(plan, ReadPlan::Converted(..)) {
        check_empty_items(header)?;
    }
    let target = match (plan.of_bytes(), target) {
        (Some((bitwise, conversion)), Target::Contiguous(items)) => match bitwise.as_part(items) {
            Some(part) => {
                let load = Load::of(bitwise, conversion);
                return load_all(source, header, part, load, &reporter, options);
            }
            None => Target::Contiguous(items),
        },
        (Some((bitwise, None)), Target::Strided(mut view)) => {
            if read_strided(source, header, bitwise, &mut view, (&reporter, options))? {
                return Ok(());
            }
            Target::Strided(view)
        }
        (_, target) => target,
    };
    let mut slots = target.items();
    for_each_block(source, header, &reporter, &mut |block, count| {
        let mut items = Vec::new();
        match &plan {
            ReadPlan::Bitwise(bitwise) => {
                items = bitwise.make(count, &mut |buf| {
                    buf.copy(block);
                    Ok(())
                })?;
            }
            ReadPlan::Converted(bitwise, conversion) => {
                items = bitwise.make(count, &mut |made| conversion.convert(block, count, made))?;
            }
            _ if const { T::IS_READ_AS_BYTES } => unreachable!("its plan says so"),
            ReadPlan::PerItem(decode) => {
                append_items(&mut items, count, &mut |places| decode.decode(block, count, places))?;
            }
            ReadPlan::Opaque(_) => unreachable!("it was taken above"),
        }
        // Items first: if `zip` advanced `slots` first, it would lose a slot at the end of each block.
        items.into_iter().zip(slots.by_ref()).for_each(|(item, slot)| *slot = item);
        Ok(())
    })
}

/// Existing elements to read into.
pub(crate) enum Target<'i, T> {
    /// Elements that are contiguous in memory, in the order of the file.
    Contiguous(&'i mut [T]),
    /// Elements that are not, with axes in the order of the file.
    Strided(ArrayViewMutD<'i, T>),
}

impl<'i, T> Target<'i, T> {
    fn items(self) -> Box<dyn Iterator<Item = &'i mut T> + 'i> {
        match self {
            Self::Contiguous(items) => Box::new(items.iter_mut()),
            Self::Strided(view) => Box::new(view.into_iter()),
        }
    }
}

/// Checks the length of the payload, and returns the length in memory and what reports the progress.
fn checked_len_and_reporter(
    source: &Source<'_>,
    header: &Header,
    options: &ReadOptions,
) -> Result<(usize, ProgressReporter)> {
    let (_, in_memory) = header.len_and_bytes_in_memory()?;
    let bytes = check_length(source, header, options)?;
    Ok((in_memory, ProgressReporter::new(options.get_progress(), bytes)))
}

/// Returns the length of the payload, checked against the limit and the source.
///
/// A source whose length is unknown is not checked.
pub(crate) fn check_length(source: &Source<'_>, header: &Header, options: &ReadOptions) -> Result<u64> {
    let bytes = header.payload_len().unwrap_or_default();
    options.get_limits().check_payload(bytes)?;
    match source.remaining() {
        Some(have) if have < bytes => Err(truncated(header, have)),
        _ => Ok(bytes),
    }
}

/// Reads the bytes of a payload without decoding them.
///
/// For an opaque payload, these are all the bytes that remain in the source.
pub(crate) fn read_bytes(source: &mut Source<'_>, header: &Header, options: &ReadOptions) -> Result<Vec<u8>> {
    match header.payload_len() {
        None => read_rest(source, options),
        Some(_) => read_words(source, header, &crate::element::raw_words::<u8>(), options),
    }
}

/// Reads the bytes of a payload into words.
///
/// Padding in the last word is 0.
pub(crate) fn read_words<W: Send>(
    source: &mut Source<'_>,
    header: &Header,
    raw: &Bitwise<W>,
    options: &ReadOptions,
) -> Result<Vec<W>> {
    let (bytes, reporter) = checked_len_and_reporter(source, header, options)?;
    let words = bytes.div_ceil(size_of::<W>());
    read_bitwise(source, header, (raw, None), (words, bytes), &reporter, options)
}

/// Reads `len` elements of `bytes` bytes in memory, of which the last may be incomplete, or converts them.
///
/// All memory is allocated in advance if the source is known to be long enough; otherwise it grows as data
/// arrives.
fn read_bitwise<T: Send>(
    source: &mut Source<'_>,
    header: &Header,
    (bitwise, conversion): (&Bitwise<T>, Option<&ItemConversion>),
    (len, bytes): (usize, usize),
    reporter: &ProgressReporter,
    options: &ReadOptions,
) -> Result<Vec<T>> {
    let load = Load::of(bitwise, conversion);
    let is_len_known = source.remaining().is_some() || bytes == 0;
    let needs_cleared = load.needs_cleared_memory(source);
    let mut unchecked = UncheckedVec::new(bitwise, if is_len_known { len } else { 0 }, needs_cleared)?;
    if is_len_known {
        let part = unchecked.start_loading().with_zeros_from(bytes);
        os::advise_huge_pages(part.memory());
        load_all(source, header, part, load, reporter, options)?;
    } else {
        let sizes = (len, bytes, size_of::<T>());
        let grow = &mut |len, load: &mut LoadPart<'_>| load(unchecked.grow(len)?);
        load_growing(source, header, grow, sizes, load, reporter)?;
    }
    Ok(unchecked.finish())
}

/// How memory is loaded.
#[derive(Clone, Copy)]
enum Load<'a> {
    /// The bytes are those of the source. With a transform, they should stay in the cache.
    Bytes {
        needs_transform: bool,
    },
    Converted(&'a ItemConversion),
}

impl<'a> Load<'a> {
    fn of<T>(bitwise: &Bitwise<T>, conversion: Option<&'a ItemConversion>) -> Self {
        match conversion {
            Some(conversion) => Self::Converted(conversion),
            None => Self::Bytes { needs_transform: bitwise.needs_transform() },
        }
    }

    fn needs_cleared_memory(self, source: &mut Source<'_>) -> bool {
        match self {
            Self::Bytes { .. } => {
                source.positioned().is_none_or(|positioned| positioned.needs_cleared_memory())
            }
            Self::Converted(_) => false,
        }
    }
}

/// Loads a part of memory.
type LoadPart<'a> = dyn FnMut(MemoryPart<'_>) -> Result<()> + 'a;

/// Loads `bytes` bytes of a stream into memory for `len` items, which grows as they arrive: `grow` makes room for a number of items
/// in all, and passes the new part on.
fn load_growing(
    source: &mut Source<'_>,
    header: &Header,
    grow: &mut dyn FnMut(usize, &mut LoadPart<'_>) -> Result<()>,
    (len, bytes, item): (usize, usize, usize),
    load: Load<'_>,
    reporter: &ProgressReporter,
) -> Result<()> {
    let item = item.max(1);
    let mut arrived = 0;
    while arrived < bytes {
        let more = limits::capacity_for(arrived, bytes).div_ceil(item).min(len);
        grow(more, &mut |part| {
            let part = part.with_zeros_from(bytes);
            os::advise_huge_pages(part.memory());
            load_stream(source, header, part, load, reporter)
        })?;
        arrived = more * item;
    }
    Ok(())
}

/// Loads contiguous memory from any source.
fn load_all(
    source: &mut Source<'_>,
    header: &Header,
    part: MemoryPart<'_>,
    load: Load<'_>,
    reporter: &ProgressReporter,
    options: &ReadOptions,
) -> Result<()> {
    let Some(positioned) = source.positioned() else {
        return load_stream(source, header, part, load, reporter);
    };
    let needs_transform = match load {
        Load::Bytes { needs_transform } => needs_transform,
        Load::Converted(_) if header.dtype().item_size() == 0 => {
            return load_stream(source, header, part, load, reporter);
        }
        Load::Converted(conversion) => {
            let items = PositionedItems { source: positioned, header, reporter };
            convert_items(&items, part, conversion, options)?;
            source.advance(header.len() * header.dtype().item_size() as u64);
            return Ok(());
        }
    };
    let (_, bytes) = part.memory();
    let hints = positioned.hints();
    let block = hints.get_block();
    // Memory that has to be cleared is cleared in the cache.
    let is_cleared = part.is_cleared() || !positioned.needs_cleared_memory();
    let max_len = match block {
        Some(block) => block,
        None if positioned.is_listed_and_local() && !reporter.is_enabled() => {
            positioned.round_to_runs(usize::MAX)
        }
        None if positioned.is_listed_and_local() => positioned.round_to_runs(LISTED_PIECE_LEN),
        None if needs_transform || reporter.is_enabled() || !is_cleared => BLOCK_LEN,
        None => usize::MAX,
    };
    let is_small = bytes <= BLOCK_LEN && positioned.is_contiguous();
    if is_small && !hints.is_remote() && hints.get_boundary().is_none() {
        // Deciding how to divide it would take as long as reading it.
        load_parts(positioned, header, vec![part], max_len, reporter, 1)?;
        source.advance(bytes as u64);
        return Ok(());
    }
    let boundaries = positioned.boundaries();
    let effort = match boundaries {
        Some(_) => Effort::each(bytes as u64, 1), // decompressing
        None => Effort::moving(bytes as u64).and(positioned.run_lookup_effort()),
    };
    let threads = effort.threads_on(&hints, || options.get_threads());
    // With boundaries, each piece is one block of the source.
    let (first, piece, max_len) = match boundaries {
        Some((first, step)) => (first, step, block.unwrap_or(usize::MAX)),
        None => {
            let piece = match (hints.is_remote(), threads) {
                (true, _) => block.unwrap_or(PIECE_LEN),
                (false, 0 | 1) => usize::MAX,
                // Each piece may read what is between its bytes.
                (false, threads) if positioned.is_listed_and_local() => {
                    positioned.round_to_runs(bytes / threads)
                }
                // Four pieces for each thread, so that faster threads can take over from slower ones.
                (false, threads) => (bytes / threads / 4).next_multiple_of(4 << 10).min(PIECE_LEN),
            };
            (piece, piece, max_len)
        }
    };
    load_parts(positioned, header, part.split(first, piece), max_len, reporter, threads)?;
    source.advance(bytes as u64);
    Ok(())
}

fn load_stream(
    source: &mut Source<'_>,
    header: &Header,
    mut part: MemoryPart<'_>,
    load: Load<'_>,
    reporter: &ProgressReporter,
) -> Result<()> {
    let needs_transform = match load {
        Load::Bytes { needs_transform } => needs_transform,
        Load::Converted(conversion) => return convert_stream(source, header, part, conversion, reporter),
    };
    let max_len =
        if needs_transform || reporter.is_enabled() || !part.is_cleared() { BLOCK_LEN } else { usize::MAX };
    load_part(&mut part, header, max_len, reporter, |buf, _| source.fill_read_buf(buf, usize::MAX))
}

/// Loads a part of memory, about `max_len` bytes at a time.
///
/// `fill` is called with the memory of each block and its offset in the payload, and returns how many bytes it has
/// read.
fn load_part(
    part: &mut MemoryPart<'_>,
    header: &Header,
    max_len: usize,
    reporter: &ProgressReporter,
    mut fill: impl FnMut(&mut ReadBuf<'_>, usize) -> Result<usize>,
) -> Result<()> {
    while !part.is_done() {
        let at = part.position();
        part.load(max_len, &mut |buf| match fill(buf, at)? {
            filled if buf.left() > 0 => Err(truncated(header, (at + filled) as u64)),
            filled => reporter.add(filled),
        })?;
    }
    Ok(())
}

/// Loads parts from a source with random access, on several threads.
fn load_parts(
    source: Positioned<'_>,
    header: &Header,
    parts: Vec<MemoryPart<'_>>,
    max_len: usize,
    reporter: &ProgressReporter,
    threads: usize,
) -> Result<()> {
    let load = |_: &mut (), mut part: MemoryPart<'_>| {
        load_part(&mut part, header, max_len, reporter, |buf, at| source.fill_read_buf(buf, usize::MAX, at))
    };
    let threads = threads.min(parts.len());
    for_each_parallel(parts.into_iter(), threads, &|| (), &load, &mut || Ok(()))
}

/// Reads a payload of items block by block, reusing one buffer.
///
/// `take` is called with each block and its number of items.
fn for_each_block(
    source: &mut Source<'_>,
    header: &Header,
    reporter: &ProgressReporter,
    take: &mut dyn FnMut(&mut [u8], usize) -> Result<()>,
) -> Result<()> {
    let item = header.dtype().item_size();
    if item == 0 {
        check_empty_items(header)?;
        return take(&mut [], header.count());
    }
    let (_, bytes) = header.len_and_bytes_in_memory()?;
    // A source of which many reads at once are best divides such a read itself.
    let hints = source.positioned().map(|positioned| positioned.hints()).filter(ReadHints::is_remote);
    let at_once = hints.and_then(|hints| hints.get_block()?.checked_mul(hints.get_concurrency().0));
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

/// Fails if items of 0 bytes are more than what is made of them may be.
fn check_empty_items(header: &Header) -> Result<()> {
    if header.dtype().item_size() > 0 {
        return Ok(());
    }
    // Items of 0 bytes need memory once they are decoded; in a subarray, each of its elements does.
    let within = match header.dtype() {
        DType::Subarray(subarray) => subarray.shape_ref().len().unwrap_or(u64::MAX),
        _ => 1,
    };
    let items = header.len().saturating_mul(within);
    limits::check(LimitKind::EmptyItems, items, Limits::EMPTY_ITEMS as u64)
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

fn read_opaque<T>(
    source: &mut Source<'_>,
    header: &Header,
    decode: &dyn OpaqueDecoder<T>,
    options: &ReadOptions,
) -> Result<Vec<T>> {
    let (payload, is_stream) =
        read_opaque_payload(source, options, &|more| decode.read_self_delimited(more))?;
    let (items, used) = decode.decode(&payload, header, options)?;
    let surplus = (payload.len() - used) as u64;
    if !is_stream {
        source.advance(used as u64);
    } else if surplus > 0 && !options.allows_trailing() {
        return Err(ErrorKind::Trailing { bytes: surplus, at_least: false, rows: 0 }.into());
    }
    Ok(items)
}

/// Appends at most the given number of bytes of a stream, and returns how many it appended.
type AppendMore<'a> = dyn FnMut(&mut Vec<u8>, u64) -> Result<u64> + 'a;

/// Reads an opaque payload, and returns whether the source is a stream, which cannot go back to the payload's end.
fn read_opaque_payload(
    source: &mut Source<'_>,
    options: &ReadOptions,
    read_self_delimited: &dyn Fn(&mut AppendMore<'_>) -> Result<Option<Vec<u8>>>,
) -> Result<(Vec<u8>, bool)> {
    // The end of the elements is known only after decoding, and only random access can return to it.
    let Some(mut lookahead) = source.lookahead() else {
        // A stream cannot be rewound: the decoder reads exactly one payload if it can find its end.
        let one = read_self_delimited(&mut |payload, count| read_more(source, payload, count, options))?;
        let payload = one.map_or_else(|| read_rest(source, options), Ok)?;
        return Ok((payload, true));
    };
    let remaining = lookahead.remaining().unwrap_or_default();
    options.get_limits().check_payload(remaining)?;
    let total = usize::try_from(remaining).unwrap_or(usize::MAX);
    let mut payload = Vec::new();
    append(&mut lookahead, &mut payload, total, &ProgressReporter::default())?;
    Ok((payload, false))
}

/// Appends up to `count` bytes, within the payload limit, and returns how many were read.
fn read_more(
    source: &mut Source<'_>,
    payload: &mut Vec<u8>,
    count: u64,
    options: &ReadOptions,
) -> Result<u64> {
    options.get_limits().check_payload((payload.len() as u64).saturating_add(count))?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    Ok(append(source, payload, count, &ProgressReporter::default())? as u64)
}

/// Appends up to `count` bytes of a source, and returns how many were read.
///
/// Memory is allocated in advance only if the source certainly has the bytes. A server, or another source, may claim any
/// length, and a stream may end: then memory grows as bytes arrive.
pub(crate) fn append(
    source: &mut Source<'_>,
    into: &mut Vec<u8>,
    count: usize,
    reporter: &ProgressReporter,
) -> Result<usize> {
    let has_trusted_len = source.positioned().is_some_and(|positioned| positioned.has_trusted_len());
    let start = into.len();
    let total = start.saturating_add(count);
    while into.len() < total {
        let arrived = into.len();
        let capacity = if has_trusted_len { total } else { limits::capacity_for(arrived, total) };
        let more = capacity - arrived;
        // A caller that appends little by little needs space in proportion.
        let reserved = if has_trusted_len { into.try_reserve_exact(more) } else { into.try_reserve(more) };
        reserved.map_err(|_| ErrorKind::OutOfMemory { bytes: capacity as u64 })?;
        os::advise_huge_pages((into.as_ptr(), into.capacity()));
        let came = bytes::append(into, more, |buf| source.fill_read_buf(buf, usize::MAX).map(drop))?;
        reporter.add(came)?;
        if came < more {
            break;
        }
    }
    Ok(into.len() - start)
}

/// Reads all that remains of a source, within the payload limit.
pub(crate) fn read_rest(source: &mut Source<'_>, options: &ReadOptions) -> Result<Vec<u8>> {
    let mut payload = Vec::new();
    let mut reporter = ProgressReporter::default();
    if let Some(remaining) = source.remaining() {
        options.get_limits().check_payload(remaining)?;
        reporter = ProgressReporter::new(options.get_progress(), remaining);
    }
    loop {
        let known = source.remaining().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        // Doubles the buffer if the length is unknown.
        let more = known.unwrap_or(BLOCK_LEN.max(payload.len()));
        let came = append(source, &mut payload, more, &reporter)?;
        // Checked in each step, since a stream of unknown length may be endless.
        options.get_limits().check_payload(payload.len() as u64)?;
        if came < more || known.is_some() {
            return Ok(payload);
        }
    }
}
