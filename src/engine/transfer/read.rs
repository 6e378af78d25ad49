//! Reads payloads into memory, with one loop for each read plan.

use ndarray::ArrayViewMutD;

use super::append::read_rest;
use super::convert_items::{convert_items, convert_stream};
use super::items::{PositionedItems, for_each_block, read_by_decoder};
use super::lengths::checked_len_and_reporter;
use super::opaque::read_opaque;
use super::parallel::{for_each_parallel, piece_len};
use super::read_strided::read_strided;
use super::source::{Positioned, Source};
use super::{BLOCK_LEN, Effort, os, truncated};
use crate::elements::cast::{Bitwise, Loading, MemoryPart, UncheckedVec, append as append_items};
use crate::elements::{ItemConversion, ReadPlan, ReadableElement};
use crate::error::Result;
use crate::header::Header;
use crate::limits;
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
    let mut items = UncheckedVec::new(bitwise);
    load_elements(source, header, items.loading(), Load::of(bitwise, conversion), options)?;
    Ok(items.finish())
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

/// Reads the bytes of a payload without decoding them.
///
/// For an opaque payload, these are all the bytes that remain in the source.
pub(crate) fn read_bytes(source: &mut Source<'_>, header: &Header, options: &ReadOptions) -> Result<Vec<u8>> {
    match header.payload_len() {
        None => read_rest(source, options),
        Some(_) => read_words(source, header, &crate::elements::raw_words::<u8>(), options),
    }
}

/// Reads the bytes of a payload into words.
///
/// Padding in the last word is 0.
pub(crate) fn read_words<W>(
    source: &mut Source<'_>,
    header: &Header,
    raw: &Bitwise<W>,
    options: &ReadOptions,
) -> Result<Vec<W>> {
    let mut words = UncheckedVec::new(raw);
    load_elements(source, header, words.loading(), Load::of(raw, None), options)?;
    Ok(words.finish())
}

/// Loads all elements of a payload.
///
/// All memory is allocated in advance if the source is known to be long enough; otherwise it grows as data
/// arrives.
fn load_elements(
    source: &mut Source<'_>,
    header: &Header,
    mut memory: Loading<'_>,
    load: Load<'_>,
    options: &ReadOptions,
) -> Result<()> {
    let (bytes, reporter) = checked_len_and_reporter(source, header, options)?;
    let (len, bytes) = match (load, memory.item_size()) {
        (Load::Converted(_), item) => (header.count(), header.count().saturating_mul(item)),
        (Load::Bytes { .. }, 0) => (header.count(), 0),
        // Of words, the last one may be incomplete.
        (Load::Bytes { .. }, item) => (bytes.div_ceil(item), bytes),
    };
    if source.remaining().is_some() || bytes == 0 {
        let needs_cleared = load.needs_cleared_memory(source);
        let part = memory.start(len, needs_cleared)?.with_zeros_from(bytes);
        os::advise_huge_pages(part.memory());
        return load_all(source, header, part, load, &reporter, options);
    }
    let item = memory.item_size().max(1);
    let mut arrived = 0;
    while arrived < bytes {
        let more = limits::capacity_for(arrived, bytes).div_ceil(item).min(len);
        let part = memory.grow(more)?.with_zeros_from(bytes);
        os::advise_huge_pages(part.memory());
        load_stream(source, header, part, load, &reporter)?;
        arrived = more * item;
    }
    Ok(())
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
    let block = hints.block_bytes();
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
    if is_small && !hints.is_remote() && hints.boundary_bytes().is_none() {
        // Deciding how to divide it would take as long as reading it.
        load_part(From::Position(positioned), header, part, max_len, reporter)?;
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
                (false, threads) => piece_len(bytes, threads).next_multiple_of(4 << 10).min(PIECE_LEN),
            };
            (piece, piece, max_len)
        }
    };
    let parts = part.split(first, piece);
    let threads = threads.min(parts.len());
    if threads > 1 {
        let load = |_: &mut (), part| load_part(From::Position(positioned), header, part, max_len, reporter);
        for_each_parallel(parts.into_iter(), threads, &|| (), &load, &mut || Ok(()))?;
    } else {
        for part in parts {
            load_part(From::Position(positioned), header, part, max_len, reporter)?;
        }
    }
    source.advance(bytes as u64);
    Ok(())
}

fn load_stream(
    source: &mut Source<'_>,
    header: &Header,
    part: MemoryPart<'_>,
    load: Load<'_>,
    reporter: &ProgressReporter,
) -> Result<()> {
    let needs_transform = match load {
        Load::Bytes { needs_transform } => needs_transform,
        Load::Converted(conversion) => return convert_stream(source, header, part, conversion, reporter),
    };
    let max_len =
        if needs_transform || reporter.is_enabled() || !part.is_cleared() { BLOCK_LEN } else { usize::MAX };
    load_part(From::Stream(source), header, part, max_len, reporter)
}

/// Where a part of memory is loaded from.
enum From<'s, 'a> {
    /// Its position in the payload.
    Position(Positioned<'s>),
    /// What comes next.
    Stream(&'s mut Source<'a>),
}

/// Loads a part of memory, about `max_len` bytes at a time.
fn load_part(
    mut from: From<'_, '_>,
    header: &Header,
    mut part: MemoryPart<'_>,
    max_len: usize,
    reporter: &ProgressReporter,
) -> Result<()> {
    while !part.is_done() {
        let at = part.position();
        let mut block = part.next_block(max_len);
        let filled = match &mut from {
            From::Position(source) => source.fill_read_buf(block.buf(), usize::MAX, at)?,
            From::Stream(source) => source.fill_read_buf(block.buf(), usize::MAX)?,
        };
        if block.buf().left() > 0 {
            return Err(truncated(header, (at + filled) as u64));
        }
        reporter.add(filled)?;
        block.commit()?;
    }
    Ok(())
}
