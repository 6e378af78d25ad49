//! Payloads into memory: one loop for each of the three ways.

use super::each::make_blocks;
use super::share::share_out;
use super::source::{Pieces, Positioned, Source};
use super::{BLOCK, aligned, os};
use crate::dtype::DType;
use crate::element::cast::{Bitwise, Part as MemoryPart, UncheckedVec};
use crate::element::{Decode, DecodeOpaque, ReadPlan};
use crate::error::{Error, ErrorKind, FileSection, LimitKind, Result};
use crate::header::Header;
use crate::limits::{self, Limits};
use crate::options::ReadOptions;

/// What one thread takes at a time of a large payload.
const PIECE: usize = 4 << 20;

/// Reads the elements of a payload, in the order of the file.
pub(crate) fn read<T: Send + Sync>(
    source: &mut Source<'_>,
    header: &Header,
    how: ReadPlan<T>,
    options: &ReadOptions,
) -> Result<Vec<T>> {
    if let ReadPlan::Opaque(decode) = how {
        return read_whole(source, header, &*decode, options);
    }
    let bytes = begin(source, header, options)?;
    match how {
        ReadPlan::Bitwise(plain) => read_plain(source, header, &plain, header.count(), bytes, options),
        ReadPlan::PerItem(decode) if source.positioned().is_some() && header.dtype().item_size() > 0 => {
            read_coded(source, header, &*decode, options)
        }
        ReadPlan::PerItem(decode) => {
            let mut items = Vec::new();
            if source.remaining().is_some() && bytes > 0 {
                reserve(&mut items, header.count())?;
            }
            let item = header.dtype().item_size().max(1);
            each_block(source, header, |block, more| {
                if items.capacity() - items.len() < more {
                    let arrived = (items.len() + more) * item;
                    let room = limits::room_for(arrived, bytes).div_ceil(item);
                    let missing = room - items.len();
                    reserve(&mut items, missing)?;
                }
                decode.decode(block, more, &mut items)
            })?;
            Ok(items)
        }
        ReadPlan::Opaque(_) => unreachable!("it was taken above"),
    }
}

/// Items that can be read anywhere, decoded by as many threads as there may be.
fn read_coded<T: Send>(
    source: &mut Source<'_>,
    header: &Header,
    decode: &dyn Decode<T>,
    options: &ReadOptions,
) -> Result<Vec<T>> {
    let Some(positioned) = source.positioned() else { unreachable!("the caller has asked") };
    let item = header.dtype().item_size();
    let pieces = source.pieces();
    let threads = || threads_for(pieces, options);
    let block = pieces.map_or(BLOCK / 4, |pieces| pieces.bytes / 4);
    let items = make_blocks(header.count(), (block / item).max(1), threads, &|numbers, made| {
        let (at, length) = (numbers.start * item, numbers.len() * item);
        // At an address that suits numbers, so that many are converted at a time.
        let mut words = Vec::new();
        let block = aligned(&mut words, length)?;
        let filled = positioned.fill_at(block, at)?;
        if filled < length {
            return Err(truncated(header, (at + filled) as u64));
        }
        decode.decode(block, numbers.len(), made).map_err(|error| error.behind(numbers.start))
    })?;
    source.advance(header.len() * item as u64);
    Ok(items)
}

/// Reads the elements of a payload into ones that are there, in the order of the file.
pub(crate) fn read_into<'i, T: Send + Sync + 'i>(
    source: &mut Source<'_>,
    header: &Header,
    how: ReadPlan<T>,
    target: Target<'i, T, impl Iterator<Item = &'i mut T> + 'i>,
    options: &ReadOptions,
) -> Result<()> {
    if let ReadPlan::Opaque(decode) = how {
        let items = read_whole(source, header, &*decode, options)?;
        target.items().zip(items).for_each(|(slot, item)| *slot = item);
        return Ok(());
    }
    let bytes = begin(source, header, options)?;
    let target = match (&how, target) {
        (ReadPlan::Bitwise(plain), Target::Contiguous(items)) => match plain.part_over(items) {
            Some(part) => return load_all(source, header, part, bytes, plain.touches(), options),
            None => Target::Contiguous(items),
        },
        (_, target) => target,
    };
    let mut slots = target.items();
    each_block(source, header, |block, count| {
        let mut items = Vec::with_capacity(count);
        match &how {
            ReadPlan::Bitwise(plain) => items = plain.make(count, |into| into.copy_from_slice(block))?,
            ReadPlan::PerItem(decode) => decode.decode(block, count, &mut items)?,
            ReadPlan::Opaque(_) => unreachable!("it was taken above"),
        }
        // The items first: asked first, the slots would lose one at the end of each block.
        items.into_iter().zip(slots.by_ref()).for_each(|(item, slot)| *slot = item);
        Ok(())
    })
}

/// Elements that are there already, in the order of the file.
pub(crate) enum Target<'i, T, I> {
    /// They lie one after another.
    Contiguous(&'i mut [T]),
    /// They lie somewhere, and this yields them.
    Strided(I),
}

impl<'i, T, I: Iterator<Item = &'i mut T> + 'i> Target<'i, T, I> {
    fn items(self) -> Box<dyn Iterator<Item = &'i mut T> + 'i> {
        match self {
            Self::Contiguous(items) => Box::new(items.iter_mut()),
            Self::Strided(items) => Box::new(items),
        }
    }
}

/// The length of the payload that is about to be read, which is checked, and whose bytes are counted from here on.
fn begin(source: &mut Source<'_>, header: &Header, options: &ReadOptions) -> Result<usize> {
    let (_, in_memory) = header.in_memory()?;
    let bytes = check_length(source, header, options)?;
    source.tell(options.the_progress(), bytes);
    Ok(in_memory)
}

/// The length of the payload, checked against the limit and, where it is known, against the source.
pub(crate) fn check_length(source: &Source<'_>, header: &Header, options: &ReadOptions) -> Result<u64> {
    let bytes = header.payload_len().unwrap_or_default();
    options.get_limits().check_payload(bytes)?;
    match source.remaining() {
        Some(have) if have < bytes => Err(truncated(header, have)),
        _ => Ok(bytes),
    }
}

/// The error for a payload that ends after `have` bytes.
pub(crate) fn truncated(header: &Header, have: u64) -> Error {
    let part = FileSection::Payload { shape: header.the_shape().clone(), dtype: header.dtype().clone() };
    ErrorKind::Truncated { part, need: header.payload_len().unwrap_or_default(), have }.into()
}

/// The bytes of a payload as they are. Of one that says itself where it ends, all that is left.
pub(crate) fn read_bytes(source: &mut Source<'_>, header: &Header, options: &ReadOptions) -> Result<Vec<u8>> {
    match header.payload_len() {
        None => read_rest(source, options),
        Some(_) => {
            let bytes = begin(source, header, options)?;
            read_plain(source, header, &crate::element::raw_bytes(), bytes, bytes, options)
        }
    }
}

/// The bytes of a payload of items, in words that suit every element; those of the last that are left over are 0.
pub(crate) fn read_aligned(
    source: &mut Source<'_>,
    header: &Header,
    options: &ReadOptions,
) -> Result<Vec<u128>> {
    let bytes = begin(source, header, options)?;
    let words = bytes.div_ceil(size_of::<u128>());
    read_plain(source, header, &crate::element::raw_words(), words, bytes, options)
}

/// Reads `len` items out of `bytes` bytes, which may be a few less than the last item takes: at once if the source is long
/// enough for sure, else with growing room.
fn read_plain<T: Send>(
    source: &mut Source<'_>,
    header: &Header,
    plain: &Bitwise<T>,
    len: usize,
    bytes: usize,
    options: &ReadOptions,
) -> Result<Vec<T>> {
    let is_there = source.remaining().is_some() || bytes == 0;
    let mut room = UncheckedVec::new(plain, if is_there { len } else { 0 })?;
    if is_there {
        let part = room.all().limited(bytes);
        os::advise_huge_pages(part.memory());
        load_all(source, header, part, bytes, plain.touches(), options)?;
        return Ok(room.finish());
    }
    let item = size_of::<T>().max(1);
    let mut arrived = 0;
    while arrived < bytes {
        let more = limits::room_for(arrived, bytes).div_ceil(item).min(len);
        let part = room.grow(more)?.limited(bytes);
        os::advise_huge_pages(part.memory());
        load_stream(source, header, part, plain.touches())?;
        arrived = more * item;
    }
    Ok(room.finish())
}

/// Loads memory that is one piece, from whatever source.
fn load_all(
    source: &mut Source<'_>,
    header: &Header,
    part: MemoryPart<'_>,
    bytes: usize,
    touches: bool,
    options: &ReadOptions,
) -> Result<()> {
    let touches = touches || source.is_seen();
    match source.positioned() {
        Some(positioned) => {
            let most = if source.is_scattered() { PIECE / 16 } else { PIECE };
            let piece = if bytes < 2 * most { usize::MAX } else { most };
            // What is unpacked in blocks comes in blocks that are in the cache anyway.
            let (first, piece, most) = match source.seams() {
                Some((first, step)) => (first, step, usize::MAX),
                None => (piece, piece, if touches { BLOCK } else { usize::MAX }),
            };
            load_parts((positioned, source.pieces()), header, part.split(first, piece), most, options)?;
            source.advance(bytes as u64);
            Ok(())
        }
        None => load_stream(source, header, part, touches),
    }
}

fn load_stream(
    source: &mut Source<'_>,
    header: &Header,
    mut part: MemoryPart<'_>,
    touches: bool,
) -> Result<()> {
    let most = if touches || source.is_seen() { BLOCK } else { usize::MAX };
    load_part(&mut part, header, most, |block, _| source.fill(block))
}

/// Loads one part, about `most` bytes at a time; `fill` gets each block and where in the payload it belongs, and says how many bytes came.
fn load_part(
    part: &mut MemoryPart<'_>,
    header: &Header,
    most: usize,
    mut fill: impl FnMut(&mut [u8], usize) -> Result<usize>,
) -> Result<()> {
    while !part.is_done() {
        let at = part.at();
        part.load(most, |block| match fill(block, at)? {
            filled if filled < block.len() => Err(truncated(header, (at + filled) as u64)),
            _ => Ok(()),
        })?;
    }
    Ok(())
}

/// Loads parts from a source that can be read anywhere, on as many threads as there may be.
fn load_parts(
    (source, pieces): (Positioned<'_>, Option<Pieces>),
    header: &Header,
    parts: Vec<MemoryPart<'_>>,
    most: usize,
    options: &ReadOptions,
) -> Result<()> {
    // Asking how many threads there may be takes longer than reading a small array.
    let threads = if parts.len() > 1 { threads_for(pieces, options) } else { 1 };
    let load = |_: &mut (), mut part: MemoryPart<'_>| {
        load_part(&mut part, header, most, |block, at| source.fill_at(block, at))
    };
    let threads = threads.min(parts.len());
    share_out(parts.into_iter(), threads, &|| (), &load, &mut || Ok(()))
}

/// How many threads read what is best read in these pieces.
fn threads_for(pieces: Option<Pieces>, options: &ReadOptions) -> usize {
    match pieces {
        Some(pieces) => pieces.threads,
        None if os::READS_ANYWHERE => options.get_threads(),
        None => 1,
    }
}

/// Reads a payload of items block by block, in memory of one block; `take` gets each with the number of its items.
fn each_block(
    source: &mut Source<'_>,
    header: &Header,
    mut take: impl FnMut(&mut [u8], usize) -> Result<()>,
) -> Result<()> {
    let item = header.dtype().item_size();
    if item == 0 {
        // Those within an element that is an array itself take memory as well.
        let within = match header.dtype() {
            DType::Subarray(subarray) => subarray.the_shape().len().unwrap_or(u64::MAX),
            _ => 1,
        };
        let items = header.len().saturating_mul(within);
        limits::check(LimitKind::EmptyItems, items, Limits::EMPTY_ITEMS as u64)?;
        return take(&mut [], header.count());
    }
    let (_, bytes) = header.in_memory()?;
    let per_block = (source.block() / item).max(1);
    let mut block = Vec::new();
    let mut done = 0;
    while done < bytes {
        let length = (per_block * item).min(bytes - done);
        load_block(source, header, &mut block, length, done)?;
        take(&mut block, length / item).map_err(|error| error.behind(done / item))?;
        done += length;
    }
    Ok(())
}

/// Fills `block` with the next bytes. An item may be large, and the source lie: so room grows with what arrives.
fn load_block(
    source: &mut Source<'_>,
    header: &Header,
    block: &mut Vec<u8>,
    length: usize,
    done: usize,
) -> Result<()> {
    block.truncate(length);
    let mut filled = 0;
    while filled < length {
        let room = limits::room_for(filled, length).max(block.len());
        reserve(block, room - block.len())?;
        block.resize(room, 0);
        let came = source.fill(&mut block[filled..])?;
        filled += came;
        if filled < block.len() {
            return Err(truncated(header, (done + filled) as u64));
        }
    }
    Ok(())
}

fn read_whole<T>(
    source: &mut Source<'_>,
    header: &Header,
    decode: &dyn DecodeOpaque<T>,
    options: &ReadOptions,
) -> Result<Vec<T>> {
    // A source that can be read anywhere is left right behind the elements, wherever they say that they end.
    let positioned = source.positioned();
    let payload = match &positioned {
        Some(positioned) => {
            let remaining = source.remaining().unwrap_or_default();
            options.get_limits().check_payload(remaining)?;
            let total = usize::try_from(remaining).unwrap_or(usize::MAX);
            let is_far = source.pieces().is_some();
            let mut payload = Vec::new();
            while payload.len() < total {
                let arrived = payload.len();
                // Of what is far away only a server says how long it is: memory grows with what comes.
                let room = if is_far { limits::room_for(arrived, total) } else { total };
                reserve(&mut payload, room - arrived)?;
                os::advise_huge_pages((payload.as_ptr(), payload.capacity()));
                payload.resize(room, 0);
                let filled = positioned.fill_at(&mut payload[arrived..], arrived)?;
                payload.truncate(arrived + filled);
                if payload.len() < room {
                    break;
                }
            }
            payload
        }
        None => {
            let one = decode.read_one(&mut |payload, count| read_more(source, payload, count, options))?;
            one.map_or_else(|| read_rest(source, options), Ok)?
        }
    };
    let (items, used) = decode.decode(&payload, header, options)?;
    let surplus = (payload.len() - used) as u64;
    match positioned {
        Some(_) => source.advance(used as u64),
        None if surplus > 0 && !options.get_allow_trailing() => {
            return Err(ErrorKind::Trailing { bytes: surplus, at_least: false, rows: 0 }.into());
        }
        None => {}
    }
    Ok(items)
}

/// Appends so many bytes, or those that are left, within the limit for payloads; and says how many.
fn read_more(
    source: &mut Source<'_>,
    payload: &mut Vec<u8>,
    count: u64,
    options: &ReadOptions,
) -> Result<u64> {
    let start = payload.len();
    options.get_limits().check_payload((start as u64).saturating_add(count))?;
    let total = usize::try_from(count).unwrap_or(usize::MAX).saturating_add(start);
    while payload.len() < total {
        let arrived = payload.len();
        let room = limits::room_for(arrived, total);
        payload.try_reserve(room - arrived).map_err(|_| ErrorKind::OutOfMemory { bytes: room as u64 })?;
        payload.resize(room, 0);
        let came = source.fill(&mut payload[arrived..])?;
        payload.truncate(arrived + came);
        if payload.len() < room {
            break;
        }
    }
    Ok((payload.len() - start) as u64)
}

/// All that is left of a source, within the limit for payloads.
pub(crate) fn read_rest(source: &mut Source<'_>, options: &ReadOptions) -> Result<Vec<u8>> {
    let mut payload = Vec::new();
    if let Some(remaining) = source.remaining() {
        options.get_limits().check_payload(remaining)?;
        source.tell(options.the_progress(), remaining);
    }
    loop {
        let arrived = payload.len();
        let known = source.remaining().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let more = known.unwrap_or(BLOCK.max(arrived));
        reserve(&mut payload, more)?;
        payload.resize(arrived + more, 0);
        let came = source.fill(&mut payload[arrived..])?;
        payload.truncate(arrived + came);
        options.get_limits().check_payload(payload.len() as u64)?;
        if came < more || known.is_some() {
            return Ok(payload);
        }
    }
}

fn reserve<T>(items: &mut Vec<T>, more: usize) -> Result<()> {
    let bytes = more.saturating_mul(size_of::<T>());
    items.try_reserve_exact(more).map_err(|_| ErrorKind::OutOfMemory { bytes: bytes as u64 }.into())
}
