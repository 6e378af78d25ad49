//! Proves that a part of a Zstandard frame means the same alone as in its frame.
//!
//! A decoder carries four things from block to block: the window, the table for literals, the tables for
//! sequences, and the last three offsets. A part that is decompressed alone begins without them: a match that
//! reaches beyond its start fails, and so does the use of a table that no block of the part defines. But there always
//! are three offsets: at the beginning of a frame 1, 4 and 8. So what is checked here is that the part
//! repeats no offset before it has set it. A few bytes are enough for most parts: sequences are decoded only until
//! three offsets are known. In a part that is longer than the window, no offset may be larger than the window either:
//! decoders do not check that, and what they find there depends on where they have begun.

use super::blocks::BLOCK_SIZE;
use super::blocks::BlockPosition;
use super::zstd_blocks::FRAME_HEADER;

/// Returns whether a part consists of complete blocks that repeat no offset of blocks before it.
///
/// The last part of a frame ends with the block that is marked as the last one, and no other part has such a block. The
/// first part begins with the header that all such frames have.
///
/// `len` is the length of its content.
pub(super) fn is_independent(part: &[u8], len: usize, position: BlockPosition) -> bool {
    // The first part means the same alone, because nothing precedes it: the offsets at its beginning are those of the frame.
    let (part, offsets_set, exceeds_window) = match position {
        // A single part is an ordinary frame.
        BlockPosition { is_first: true, is_last: true } => return true,
        BlockPosition { is_first: true, .. } => (part.strip_prefix(&FRAME_HEADER), [true; 3], false),
        _ => (Some(part), [false; 3], len > WINDOW),
    };
    let part_state = PartState { offsets_set, exceeds_window, tables: Default::default() };
    part.and_then(|part| check_blocks(part, position.is_last, part_state)).is_some()
}

/// The longest distance of a match, as the header of the frame declares it.
const WINDOW: usize = BLOCK_SIZE;
/// The most bytes that a compressed block has.
const MAX_BLOCK_LEN: usize = 128 << 10;

/// What is known after some blocks of a part.
struct PartState {
    /// Which of the last three offsets the part has set, the most recent one first.
    offsets_set: [bool; 3],
    /// Whether the part is longer than the window, so that all offsets have to be checked.
    exceeds_window: bool,
    /// Those of the last sequences: see `TABLE_KINDS`.
    tables: [FseTable; 3],
}

impl PartState {
    fn has_all_offsets(&self) -> bool {
        self.offsets_set == [true; 3]
    }
}

fn check_blocks(mut part: &[u8], ends_frame: bool, mut part_state: PartState) -> Option<()> {
    let mut is_last = false;
    while !part.is_empty() && !is_last {
        let (head, rest) = part.split_first_chunk::<3>()?;
        let head = u32::from_le_bytes([head[0], head[1], head[2], 0]);
        is_last = head & 1 == 1;
        let kind = head >> 1 & 3;
        let len = match kind {
            RAW | COMPRESSED => Some((head >> 3) as usize).filter(|len| *len <= MAX_BLOCK_LEN)?,
            RLE => 1,
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(len)?;
        if kind == COMPRESSED && (part_state.exceeds_window || !part_state.has_all_offsets()) {
            check_block(content, &mut part_state)?;
        }
        part = rest;
    }
    (part.is_empty() && is_last == ends_frame).then_some(())
}

// The types of blocks; those of literals and of tables have the same numbers.
const RAW: u32 = 0;
const RLE: u32 = 1;
const COMPRESSED: u32 = 2;

/// Follows a compressed block, and returns `None` if it uses what is not known.
fn check_block(block: &[u8], part_state: &mut PartState) -> Option<()> {
    let (count, rest) = match *after_literals(block)? {
        [0] => return Some(()),
        [low @ 1..128, ref rest @ ..] => (usize::from(low), rest),
        [high @ 128..=254, low, ref rest @ ..] => ((usize::from(high) - 128) << 8 | usize::from(low), rest),
        [255, low, high, ref rest @ ..] => (usize::from(u16::from_le_bytes([low, high])) + 0x7F00, rest),
        _ => return None,
    };
    let (modes, mut rest) = rest.split_first()?;
    for (table, (shift, kind)) in part_state.tables.iter_mut().zip([6, 4, 2].into_iter().zip(&TABLE_KINDS)) {
        (*table, rest) = match u32::from(*modes) >> shift & 3 {
            RAW => (FseTable::of(kind.default_counts, kind.default_log)?, rest),
            RLE => (FseTable::of_single_symbol(*rest.first()?), &rest[1..]),
            COMPRESSED => FseTable::read(rest, kind)?,
            _ => continue, // that of the last sequences
        };
    }
    check_sequences(rest, count, part_state)
}

/// Passes the literals of a block, and returns what follows.
fn after_literals(block: &[u8]) -> Option<&[u8]> {
    let head = word(block, 0);
    let (kind, form) = ((head & 3) as u32, head >> 2 & 3);
    let (head_len, len) = match (kind, form) {
        (RAW | RLE, 0 | 2) => (1, head >> 3 & 0x1F),
        (RAW | RLE, 1) => (2, head >> 4 & 0xFFF),
        (RAW | RLE, _) => (3, head >> 4 & 0xF_FFFF),
        (_, 0 | 1) => (3, head >> 14 & 0x3FF),
        (_, 2) => (4, head >> 18 & 0x3FFF),
        _ => (5, head >> 22 & 0x3_FFFF),
    };
    block.get(head_len + if kind == RLE { 1 } else { len as usize }..)
}

/// Follows the sequences of a block until all offsets are known.
///
/// Returns `None` if an offset is repeated that is not known, or is too large.
fn check_sequences(stream: &[u8], count: usize, part_state: &mut PartState) -> Option<()> {
    let [lengths, offsets, matches] = &part_state.tables;
    // The offsets with these symbols are all smaller than the window.
    let is_short =
        !part_state.exceeds_window || offsets.states.iter().all(|state| state.symbol < WINDOW.ilog2() as u8);
    if is_short && part_state.has_all_offsets() {
        return Some(());
    }
    let part_state = &mut part_state.offsets_set;
    let mut bits = BackwardBitReader::of(stream)?;
    let mut first = |table: &FseTable| table.at(bits.take(table.log)? as usize);
    let (mut length, mut offset, mut matched) = (first(lengths)?, first(offsets)?, first(matches)?);
    for left in (0..count).rev() {
        match (1u64 << (offset.symbol & 31)) + bits.take(offset.symbol)? {
            value @ 1..=3 => {
                // After no literals, the numbers count from the second offset, and the last one is for an offset that
                // is one less than the first.
                let place = value as usize - usize::from(length.symbol != 0);
                if !part_state[place % 3] {
                    return None;
                }
                part_state[..=place.min(2)].rotate_right(1);
            }
            value if !is_short && value - 3 > WINDOW as u64 => return None,
            _ => part_state.rotate_right(1),
        }
        part_state[0] = true;
        if is_short && *part_state == [true; 3] {
            return Some(());
        }
        bits.take(TABLE_KINDS[2].extra_bits_of(matched.symbol)?)?;
        bits.take(TABLE_KINDS[0].extra_bits_of(length.symbol)?)?;
        if left > 0 {
            // In this order: that of the format.
            length = lengths.at(length.next(&mut bits)?)?;
            matched = matches.at(matched.next(&mut bits)?)?;
            offset = offsets.at(offset.next(&mut bits)?)?;
        }
    }
    Some(())
}

/// A table that turns states into symbols (RFC 8878, section 4.1).
#[derive(Default)]
struct FseTable {
    log: u8,
    states: Vec<FseState>,
}

#[derive(Clone, Copy, Default)]
struct FseState {
    symbol: u8,
    /// How many bits of the next state are read, and what is added to them.
    bits: u8,
    base: u16,
}

impl FseState {
    fn next(self, bits: &mut BackwardBitReader<'_>) -> Option<usize> {
        Some(usize::from(self.base) + bits.take(self.bits)? as usize)
    }
}

impl FseTable {
    fn at(&self, state: usize) -> Option<FseState> {
        self.states.get(state).copied()
    }

    fn of_single_symbol(symbol: u8) -> Self {
        Self { log: 0, states: vec![FseState { symbol, bits: 0, base: 0 }] }
    }

    /// Builds the table from the number of states of each symbol; −1 is for one state, at the end.
    fn of(counts: &[i16], log: u8) -> Option<Self> {
        let size = 1usize << log;
        let mut states = vec![FseState::default(); size];
        let mut end = size;
        for (symbol, _) in counts.iter().enumerate().filter(|(_, count)| **count == -1) {
            end = end.checked_sub(1)?;
            states[end].symbol = symbol as u8;
        }
        let mut at = 0;
        for (symbol, count) in counts.iter().enumerate() {
            for _ in 0..(*count).max(0) {
                states[at].symbol = symbol as u8;
                // The step has no factor in common with the size, so this ends unless all states are taken.
                loop {
                    at = (at + (size >> 1) + (size >> 3) + 3) % size;
                    if at < end || end == 0 {
                        break;
                    }
                }
            }
        }
        let mut next: Vec<u16> = counts.iter().map(|count| count.unsigned_abs()).collect();
        for state in &mut states {
            let next = next.get_mut(usize::from(state.symbol))?;
            state.bits = log - next.checked_ilog2()? as u8;
            state.base = (*next << state.bits) - size as u16;
            *next += 1;
        }
        Some(Self { log, states })
    }

    /// Reads a table that is written down, and returns what follows it.
    fn read<'b>(from: &'b [u8], kind: &TableKind) -> Option<(Self, &'b [u8])> {
        let mut bits = ForwardBitReader { bytes: from, bit_position: 0 };
        let log = bits.take(4)? as u8 + 5;
        if log > kind.max_log {
            return None;
        }
        let (mut left, mut counts) = (1i16 << log, Vec::new());
        while left > 0 {
            // As many bits as the highest value needs, of which some of the lower values need one less.
            let most = left as u16 + 1;
            let width = most.ilog2() as u8;
            let spare = (2u16 << width) - 1 - most;
            let mut value = bits.take(width)?;
            if value >= spare {
                value |= bits.take(1)? << width;
                if value >> width == 1 {
                    value -= spare;
                }
            }
            let count = value as i16 - 1;
            left -= count.abs();
            counts.push(count);
            let mut zeros = if count == 0 { 3 } else { 0 };
            while zeros == 3 {
                zeros = bits.take(2)?;
                counts.resize(counts.len() + usize::from(zeros), 0);
                if counts.len() > kind.code_count {
                    return None;
                }
            }
        }
        if counts.len() > kind.code_count {
            return None;
        }
        // No count is more than is left, so together they are all states.
        Some((Self::of(&counts, log)?, from.get(bits.bit_position.div_ceil(8)..)?))
    }
}

/// What distinguishes the three kinds of tables.
struct TableKind {
    max_log: u8,
    /// The number of codes.
    code_count: usize,
    /// How many bits follow the last codes. None follow the codes before them.
    extra_bits: &'static [u8],
    /// The table that is not written down.
    default_counts: &'static [i16],
    default_log: u8,
}

impl TableKind {
    fn extra_bits_of(&self, code: u8) -> Option<u8> {
        let first = self.code_count - self.extra_bits.len();
        match usize::from(code) {
            code if code < first => Some(0),
            code => self.extra_bits.get(code - first).copied(),
        }
    }
}

/// Lengths of literals, offsets, and lengths of matches.
#[rustfmt::skip]
const TABLE_KINDS: [TableKind; 3] = [
    TableKind {
        max_log: 9,
        code_count: 36,
        extra_bits: &[1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
        default_counts: &[
            4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
            -1, -1, -1, -1,
        ],
        default_log: 6,
    },
    TableKind {
        max_log: 8,
        code_count: 32,
        extra_bits: &[], // as many as the number of the code
        default_counts: &[1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1],
        default_log: 5,
    },
    TableKind {
        max_log: 9,
        code_count: 53,
        extra_bits: &[1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
        default_counts: &[
            1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
            1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
        ],
        default_log: 6,
    },
];

/// Reads bits from the beginning, the lowest bit of each byte first.
struct ForwardBitReader<'b> {
    bytes: &'b [u8],
    bit_position: usize,
}

impl ForwardBitReader<'_> {
    fn take(&mut self, count: u8) -> Option<u16> {
        let value = word(self.bytes, self.bit_position / 8) >> (self.bit_position % 8) & ((1 << count) - 1);
        self.bit_position += usize::from(count);
        (self.bit_position <= 8 * self.bytes.len()).then_some(value as u16)
    }
}

/// Reads bits from the end, where the highest bit that is set marks the end.
struct BackwardBitReader<'b> {
    bytes: &'b [u8],
    /// How many bits are left.
    bits_left: usize,
}

impl<'b> BackwardBitReader<'b> {
    fn of(bytes: &'b [u8]) -> Option<Self> {
        let mark = bytes.last()?.checked_ilog2()? as usize;
        Some(Self { bytes, bits_left: 8 * (bytes.len() - 1) + mark })
    }

    /// Returns the next bits, at most 32.
    fn take(&mut self, count: u8) -> Option<u64> {
        self.bits_left = self.bits_left.checked_sub(count.into())?;
        Some(word(self.bytes, self.bits_left / 8) >> (self.bits_left % 8) & ((1 << count.min(32)) - 1))
    }
}

/// Returns eight bytes, of which those beyond the end are zero.
fn word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::is_independent;
    use crate::codec::BlockPosition;
    use crate::codec::zstd_blocks::{EMPTY_LAST_BLOCK, FRAME_HEADER, ZstdPacker};

    const FIRST_PART: BlockPosition = BlockPosition { is_first: true, is_last: false };
    const MIDDLE_PART: BlockPosition = BlockPosition { is_first: false, is_last: false };

    /// Contents that compress in different ways: matches at one distance, at many, runs, text, noise.
    fn contents() -> Vec<Vec<u8>> {
        let len = 400_000;
        let mut state = 1u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 16
        };
        let floats =
            |of: &dyn Fn(usize) -> f32| (0..len / 4).flat_map(|index| of(index).to_le_bytes()).collect();
        vec![
            vec![7; len],
            (0..len).map(|_| random() as u8).collect(),
            (0..len).map(|_| random() as u8 % 4).collect(),
            (0..len / 4).flat_map(|index| (index as u32).to_le_bytes()).collect(),
            floats(&|index| (index as f32).sqrt()),
            floats(&|index| (index % 100) as f32 / 8.0),
            (0..len).map(|index| b"a name and a number, "[(index + index / 1000) % 21]).collect(),
        ]
    }

    #[test]
    fn written_blocks_are_proven_independent() {
        for level in [-5, 1, 2, 3, 5, 8, 12, 16, 19, 22] {
            let mut packer = ZstdPacker::new(level);
            for content in contents() {
                for position in [FIRST_PART, MIDDLE_PART, BlockPosition { is_first: false, is_last: true }] {
                    let mut part = Vec::new();
                    packer.pack_block(&content, position, &mut part).unwrap();
                    assert!(is_independent(&part, content.len(), position), "level {level}");
                    for other in [1, 2, part.len() - 1] {
                        assert!(
                            !is_independent(&part[..part.len() - other], content.len(), position),
                            "{other} bytes less"
                        );
                    }
                    let other = BlockPosition { is_last: !position.is_last, ..position };
                    assert!(position.is_first || !is_independent(&part, content.len(), other));
                }
            }
        }
    }

    /// Within a part of two MiB, a match may reach further back than the window. Alone, the decoder has the content; in the
    /// frame, it need not.
    #[test]
    fn match_beyond_the_window_is_refused() {
        let noise = &contents()[1];
        let mut content = Vec::new();
        (0..3).for_each(|at| content.extend(noise.iter().map(|byte| byte.wrapping_mul(2 * at + 1))));
        content.extend_from_slice(&noise[..100_000]); // 1,200,000 bytes after the same
        let last = BlockPosition { is_first: false, is_last: true };
        for (window, passes) in [(20, true), (21, false)] {
            let mut packer = zstd::bulk::Compressor::new(3).unwrap();
            packer.include_contentsize(false).unwrap();
            packer.window_log(window).unwrap();
            let part = packer.compress(&content).unwrap().split_off(FRAME_HEADER.len());
            assert_eq!(part.len() < content.len(), !passes); // only the longer window finds the match
            assert_eq!(is_independent(&part, content.len(), last), passes, "a window of 2^{window}");
            // A shorter part is within the window of any match that its decoder accepts.
            assert!(is_independent(&part, 1 << 20, last));
        }
    }

    /// The blocks of an ordinary frame, after its header.
    fn blocks(content: &[u8], level: i32) -> Vec<Vec<u8>> {
        let mut packer = zstd::bulk::Compressor::new(level).unwrap();
        packer.include_contentsize(false).unwrap();
        let frame = packer.compress(content).unwrap();
        let mut rest = &frame[FRAME_HEADER.len()..];
        let mut blocks = Vec::new();
        while let Some(head) = rest.first_chunk::<3>() {
            let head = u32::from_le_bytes([head[0], head[1], head[2], 0]);
            let (block, after) = rest.split_at(3 + if head >> 1 & 3 == 1 { 1 } else { (head >> 3) as usize });
            blocks.push(block.to_vec());
            rest = after;
        }
        blocks
    }

    fn decode(parts: &[&[u8]]) -> Option<Vec<u8>> {
        zstd::decode_all(&[&FRAME_HEADER[..], &parts.concat()].concat()[..]).ok()
    }

    /// What passes means the same after other blocks, if it can be decompressed alone: the end of an ordinary frame, and
    /// what becomes of it if some of its bytes are changed.
    /// Returns a copy of which up to three bits are flipped, every third time only near the beginning.
    fn damaged(sound: &[u8], round: usize, random: &mut u64) -> Vec<u8> {
        let mut part = sound.to_vec();
        for _ in 0..round % 4 {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (*random >> 40) as usize % part.len();
            part[if round % 3 == 0 { at % 30 % sound.len() } else { at }] ^= 1 << (*random >> 33 & 7);
        }
        part
    }

    #[test]
    fn independent_blocks_decode_alike_after_other_blocks() {
        let last = BlockPosition { is_first: false, is_last: true };
        let before: Vec<Vec<u8>> =
            contents().iter().map(|content| blocks(&content[..3000], 9)[0].clone()).collect();
        let before: Vec<_> = before
            .into_iter()
            .map(|mut block| {
                block[0] &= 0xFE; // no longer the last one
                block
            })
            .collect();
        let rounds = std::env::var("NDARRAY_IO_LONG").map_or(300, |_| 20_000);
        let (mut same, mut refused, mut random) = (0, 0, 1u64);
        for (number, content) in contents().iter().enumerate() {
            for level in [1, 3, 9, 19] {
                for part in [blocks(&content[..2000], level), blocks(content, level)] {
                    let sound = part.last().unwrap();
                    if sound.len() > 5000 {
                        continue;
                    }
                    for round in 0..rounds {
                        let part = damaged(sound, round, &mut random);
                        let Some(alone) = decode(&[&part]) else { continue };
                        if !is_independent(&part, alone.len(), last) {
                            refused += 1;
                            continue;
                        }
                        same += 1;
                        for before in &before {
                            let all = decode(&[before, &part]);
                            let made = decode(&[before, &EMPTY_LAST_BLOCK]).unwrap().len();
                            assert!(
                                all.is_some_and(|all| all[made..] == alone),
                                "{number}, {level}, {round}"
                            );
                        }
                    }
                }
            }
        }
        assert!(same > 1000 && refused > 1000, "{same} pass, {refused} do not");
    }
}
