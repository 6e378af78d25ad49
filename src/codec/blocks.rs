//! The block index of a compressed member: the length and checksum of each independent block.
//!
//! Archives that this library writes store the index in an extra field of the central directory. See
//! `docs/internals/block-index.md`.

use super::Crc;

/// The position of a block in its stream.
#[derive(Clone, Copy)]
pub(crate) struct BlockPosition {
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
}

/// The uncompressed size of each block that this library compresses, except the last, in bytes.
pub(crate) const BLOCK_SIZE: usize = 1 << 20;
/// The smallest size of blocks that an index may describe.
const MIN_BLOCK_SIZE: u64 = 1 << 16;
/// The maximum number of blocks in a field.
///
/// With this many blocks and the Zip64 field, the extra fields do not exceed 65,535 bytes.
const MAX_BLOCKS: usize = 8120;
/// If the blocks are larger than usual, there must be more of them than this.
///
/// Fewer would be larger than needed, and with them the buffers of a reader. A record whose name takes much of its
/// room has fewer than `MAX_BLOCKS`.
const MAX_LARGE_BLOCKS_WITHOUT_INDEX: usize = MAX_BLOCKS / 4;
const FIELD_VERSION: u8 = 1;
/// The size of the part of the field that precedes the entries of the blocks, in bytes.
const FIELD_HEAD_LEN: usize = 22;

/// The positions and checksums of the blocks of a compressed stream.
#[derive(Clone, Debug)]
pub(crate) struct BlockIndex {
    /// The uncompressed size of each block, in bytes. The last block may be shorter.
    block_size: u64,
    blocks: Vec<Block>,
    sum: Crc,
}

#[derive(Clone, Debug)]
struct Block {
    /// The offset of the block in the compressed stream.
    packed_start: u64,
    /// The length of the block in the compressed stream.
    packed_len: u64,
    sum: Crc,
}

impl Default for BlockIndex {
    fn default() -> Self {
        Self { block_size: BLOCK_SIZE as u64, blocks: Vec::new(), sum: Crc::default() }
    }
}

impl BlockIndex {
    /// Adds the next block, with its compressed length. All blocks except the last have [`BLOCK_SIZE`] bytes.
    pub(crate) fn push(&mut self, packed_len: u64, sum: Crc) {
        self.sum.append(&sum);
        let packed_start = self.packed_len();
        self.add(Block { packed_start, packed_len, sum });
        // When the index is full, merge pairs of blocks, so that the index of any member fits into the field.
        if self.blocks.len() > MAX_BLOCKS {
            self.merge_block_pairs();
        }
    }

    /// Doubles the step, by merging pairs of blocks.
    fn merge_block_pairs(&mut self) {
        self.block_size *= 2;
        for block in std::mem::take(&mut self.blocks) {
            self.add(block);
        }
    }

    /// Adds a block, or merges it into the last block if that block is shorter than the step.
    fn add(&mut self, block: Block) {
        match self.blocks.last_mut() {
            Some(last) if last.sum.len() < self.block_size => {
                last.packed_len += block.packed_len;
                last.sum.append(&block.sum);
            }
            _ => self.blocks.push(block),
        }
    }

    /// Returns the index of a member that is a single block.
    #[cfg(feature = "libdeflate")]
    pub(crate) fn of_single_block(crc: u32, size: u64, packed_len: u64) -> Self {
        let sum = Crc::of(crc, size);
        let block = Block { packed_start: 0, packed_len, sum: sum.clone() };
        // The step is at least the size, so every offset is in the first block.
        Self { block_size: size.max(1).next_power_of_two(), blocks: vec![block], sum }
    }

    /// Returns the checksum and length of the entire content.
    pub(crate) fn sum(&self) -> &Crc {
        &self.sum
    }

    /// Returns the total compressed length.
    pub(crate) fn packed_len(&self) -> u64 {
        self.blocks.last().map_or(0, |last| last.packed_start + last.packed_len)
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the range of a block in the compressed stream.
    pub(crate) fn packed_range(&self, index: usize) -> std::ops::Range<u64> {
        let block = &self.blocks[index];
        block.packed_start..block.packed_start + block.packed_len
    }

    /// Returns the uncompressed length of a block, and its checksum.
    pub(crate) fn block_sum(&self, index: usize) -> &Crc {
        &self.blocks[index].sum
    }

    pub(crate) fn block_size(&self) -> u64 {
        self.block_size
    }

    /// Encodes the extra field, which may have `room` bytes.
    ///
    /// Returns `None` for fewer than two blocks, if a compressed block is 4 GiB or longer, or if there is no room.
    pub(crate) fn to_field(&self, room: usize) -> Option<Vec<u8>> {
        let max_blocks = Some(room.checked_sub(FIELD_HEAD_LEN)? / 8).filter(|max_blocks| *max_blocks >= 2)?;
        if self.blocks.len() > max_blocks {
            let mut wider = self.clone();
            wider.merge_block_pairs();
            return wider.to_field(room);
        }
        if self.blocks.len() <= max_blocks_without_index(self.block_size) {
            return None;
        }
        let mut field = vec![FIELD_VERSION, self.block_size.ilog2() as u8];
        field.extend(self.sum.get().to_le_bytes());
        field.extend(self.sum.len().to_le_bytes());
        field.extend(self.packed_len().to_le_bytes());
        for block in &self.blocks {
            field.extend(u32::try_from(block.packed_len).ok()?.to_le_bytes());
            field.extend(block.sum.get().to_le_bytes());
        }
        Some(field)
    }

    /// Decodes an extra field, which must match the member's checksum and both its lengths.
    ///
    /// `ratio` is the highest possible compression ratio. Blocks that would exceed it are rejected, so that
    /// the memory for a block is at most proportional to the size of the archive.
    pub(crate) fn of_field(field: &[u8], of: &ContentInfo, ratio: u64) -> Result<Self, NoIndex> {
        let (head, entries) = field.split_at_checked(FIELD_HEAD_LEN).ok_or(NoIndex::Ignored)?;
        if head[0] != FIELD_VERSION {
            return Err(NoIndex::Ignored);
        }
        let mut described = of.crc.to_le_bytes().to_vec();
        described.extend(of.size.to_le_bytes());
        described.extend(of.packed.to_le_bytes());
        if head[2..] != described {
            return Err(NoIndex::Stale);
        }
        Self::of_entries(entries, head[1], of, ratio).ok_or(NoIndex::Ignored)
    }

    fn of_entries(mut entries: &[u8], log: u8, of: &ContentInfo, ratio: u64) -> Option<Self> {
        let block_size = 1u64.checked_shl(log.into()).filter(|block_size| *block_size >= MIN_BLOCK_SIZE)?;
        let count = of.size.div_ceil(block_size);
        let fits_memory = isize::try_from(block_size).is_ok();
        if count <= max_blocks_without_index(block_size) as u64
            || !fits_memory
            || entries.len() as u64 != count * 8
        {
            return None;
        }
        let mut index = Self { block_size, ..Self::default() };
        let mut at = 0;
        while let Some((block, more)) = entries.split_first_chunk::<8>() {
            let [packed, crc] =
                [0, 4].map(|from| u32::from_le_bytes([0, 1, 2, 3].map(|byte| block[from + byte])));
            let sum = Crc::of(crc, (of.size - index.sum.len()).min(block_size));
            if sum.len() > u64::from(packed).saturating_mul(ratio) {
                return None;
            }
            index.sum.append(&sum);
            index.blocks.push(Block { packed_start: at, packed_len: packed.into(), sum });
            at += u64::from(packed);
            entries = more;
        }
        // The combined checksum of the blocks must be that of the member.
        (index.sum.get() == of.crc && at == of.packed).then_some(index)
    }
}

/// Returns the number of blocks of a size that are too few for an index.
fn max_blocks_without_index(block_size: u64) -> usize {
    match block_size > BLOCK_SIZE as u64 {
        true => MAX_LARGE_BLOCKS_WITHOUT_INDEX,
        false => 1, // a single block has to be decompressed from the beginning anyway
    }
}

/// What the directory says of the content that an index describes.
#[derive(Clone, Copy)]
pub(crate) struct ContentInfo {
    pub(crate) crc: u32,
    pub(crate) size: u64,
    pub(crate) packed: u64,
}

/// Why a member has no index that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoIndex {
    Absent,
    /// The index describes other content: another program has replaced the content and kept the field.
    Stale,
    /// The index is of an unknown version, is not allowed here, or contradicts itself.
    Ignored,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of(bytes: &[u8]) -> Crc {
        let mut sum = Crc::default();
        sum.add(bytes);
        sum
    }

    #[test]
    fn mismatched_or_damaged_index_field_is_rejected() {
        let content: Vec<u8> = (0..3 * BLOCK_SIZE + 5).map(|index| (index % 251) as u8).collect();
        let mut index = BlockIndex::default();
        for block in content.chunks(BLOCK_SIZE) {
            index.push((block.len() as u64).div_ceil(7), sum_of(block));
        }
        let (crc, size, packed) = (crc32fast::hash(&content), content.len() as u64, index.packed_len());
        assert_eq!(index.sum().get(), crc);
        let field = index.to_field(1000).unwrap();
        assert_eq!(field.len(), FIELD_HEAD_LEN + 4 * 8);
        let described = ContentInfo { crc, size, packed };
        let found = BlockIndex::of_field(&field, &described, 8).unwrap();
        assert_eq!((found.len(), found.block_size()), (4, BLOCK_SIZE as u64));
        assert_eq!(found.packed_range(3), 3 * (BLOCK_SIZE as u64).div_ceil(7)..packed);
        assert_eq!(found.block_sum(3).len(), 5);

        let read =
            |field: &[u8], described: ContentInfo| BlockIndex::of_field(field, &described, 8).map(|_| ());
        assert_eq!(read(&field, ContentInfo { crc: crc ^ 1, ..described }), Err(NoIndex::Stale));
        assert_eq!(read(&field, ContentInfo { size: size + 1, ..described }), Err(NoIndex::Stale));
        assert_eq!(read(&field, ContentInfo { packed: packed - 1, ..described }), Err(NoIndex::Stale));
        // The compression ratio would be higher than any.
        assert_eq!(BlockIndex::of_field(&field, &described, 6).map(|_| ()), Err(NoIndex::Ignored));
        for length in 0..field.len() {
            assert_eq!(read(&field[..length], described), Err(NoIndex::Ignored));
        }
        for at in 0..field.len() {
            let mut other = field.clone();
            other[at] ^= 1;
            let wanted = if (2..FIELD_HEAD_LEN).contains(&at) { NoIndex::Stale } else { NoIndex::Ignored };
            assert_eq!(read(&other, described), Err(wanted), "byte {at}");
        }
    }

    #[test]
    fn block_size_grows_until_the_index_field_fits() {
        let mut index = BlockIndex::default();
        let block = Crc::of(0x1234_5678, BLOCK_SIZE as u64);
        let count = 5 * MAX_BLOCKS as u64 + 1;
        (0..count).for_each(|_| index.push(1000, block.clone()));
        assert_eq!(index.block_size(), 8 * BLOCK_SIZE as u64);
        assert_eq!(index.len() as u64, count.div_ceil(8));
        let size = count * BLOCK_SIZE as u64;
        assert_eq!((index.sum().len(), index.packed_len()), (size, count * 1000));
        let field = index.to_field(usize::from(u16::MAX)).unwrap();
        assert!(field.len() + 4 + 28 <= usize::from(u16::MAX), "{}", field.len());
        let described = ContentInfo { crc: index.sum().get(), size, packed: index.packed_len() };
        let found = BlockIndex::of_field(&field, &described, 1100).unwrap();
        assert_eq!(found.block_sum(found.len() - 1).len(), BLOCK_SIZE as u64);
        assert_eq!(found.packed_range(1), 8000..16_000);

        // Less room makes fewer blocks, but not so few that they are larger than a reader accepts.
        let field = index.to_field(field.len() - 1).unwrap();
        assert_eq!(
            BlockIndex::of_field(&field, &described, 1100).unwrap().block_size(),
            16 * BLOCK_SIZE as u64
        );
        assert!(index.to_field(FIELD_HEAD_LEN + 8 * MAX_LARGE_BLOCKS_WITHOUT_INDEX).is_none());
        let mut longer = index.clone();
        (0..2).for_each(|_| longer.merge_block_pairs());
        let mut field = field[..FIELD_HEAD_LEN].to_vec();
        field[1] += 1;
        field.extend(longer.blocks.iter().flat_map(|block| {
            [(block.packed_len as u32).to_le_bytes(), block.sum.get().to_le_bytes()].concat()
        }));
        let found = BlockIndex::of_field(&field, &described, 1100).map(|_| ());
        assert_eq!(found, Err(NoIndex::Ignored));
    }
}
