//! The block index of a compressed member: the length and checksum of each independent block.
//!
//! Archives that this library writes store the index in an extra field of the central directory. See
//! `docs/block-index.md`.

use super::Crc;

/// The uncompressed size of each block except the last, in bytes.
pub(crate) const STEP: usize = 1 << 20;
/// The maximum number of blocks in a field.
///
/// With this many blocks and the Zip64 field, the extra fields do not exceed 65,535 bytes.
const MOST: usize = 8120;
const VERSION: u8 = 1;
/// The size of the part of the field that precedes the entries of the blocks, in bytes.
const HEAD: usize = 22;

/// The positions and checksums of the blocks of a compressed stream.
#[derive(Clone, Debug)]
pub(crate) struct BlockIndex {
    /// The uncompressed size of each block, in bytes. The last block may be shorter.
    step: u64,
    blocks: Vec<Block>,
    sum: Crc,
}

#[derive(Clone, Debug)]
struct Block {
    /// The offset of the block in the compressed stream.
    at: u64,
    /// The length of the block in the compressed stream.
    packed: u64,
    sum: Crc,
}

impl Default for BlockIndex {
    fn default() -> Self {
        Self { step: STEP as u64, blocks: Vec::new(), sum: Crc::default() }
    }
}

impl BlockIndex {
    /// Adds the next block, with its compressed length. All blocks except the last have [`STEP`] bytes.
    pub(crate) fn push(&mut self, packed: u64, sum: Crc) {
        self.sum.append(&sum);
        let at = self.packed();
        self.add(Block { at, packed, sum });
        // When the index is full, merge pairs of blocks, so that the index of any member fits into the field.
        if self.blocks.len() > MOST {
            self.widen();
        }
    }

    /// Doubles the step, by merging pairs of blocks.
    fn widen(&mut self) {
        self.step *= 2;
        for block in std::mem::take(&mut self.blocks) {
            self.add(block);
        }
    }

    /// Adds a block, or merges it into the last block if that block is shorter than the step.
    fn add(&mut self, block: Block) {
        match self.blocks.last_mut() {
            Some(last) if last.sum.len() < self.step => {
                last.packed += block.packed;
                last.sum.append(&block.sum);
            }
            _ => self.blocks.push(block),
        }
    }

    /// Returns the index of a member that is a single block.
    #[cfg(feature = "libdeflate")]
    pub(crate) fn of_one(crc: u32, size: u64, packed: u64) -> Self {
        let sum = Crc::of(crc, size);
        let block = Block { at: 0, packed, sum: sum.clone() };
        // The step is at least the size, so every offset is in the first block.
        Self { step: size.max(1).next_power_of_two(), blocks: vec![block], sum }
    }

    /// Returns the checksum and length of the entire content.
    pub(crate) fn sum(&self) -> &Crc {
        &self.sum
    }

    /// Returns the total compressed length.
    pub(crate) fn packed(&self) -> u64 {
        self.blocks.last().map_or(0, |last| last.at + last.packed)
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the range of a block in the compressed stream.
    pub(crate) fn packed_range(&self, index: usize) -> std::ops::Range<u64> {
        let block = &self.blocks[index];
        block.at..block.at + block.packed
    }

    /// Returns the uncompressed length of a block, and its checksum.
    pub(crate) fn content(&self, index: usize) -> &Crc {
        &self.blocks[index].sum
    }

    pub(crate) fn step(&self) -> u64 {
        self.step
    }

    /// Encodes the extra field.
    ///
    /// Returns `None` for fewer than two blocks, or if a compressed block is 4 GiB or longer.
    pub(crate) fn to_field(&self) -> Option<Vec<u8>> {
        if self.blocks.len() < 2 {
            // A single block has to be decompressed from the beginning anyway.
            return None;
        }
        let mut field = vec![VERSION, self.step.ilog2() as u8];
        field.extend(self.sum.get().to_le_bytes());
        field.extend(self.sum.len().to_le_bytes());
        field.extend(self.packed().to_le_bytes());
        for block in &self.blocks {
            field.extend(u32::try_from(block.packed).ok()?.to_le_bytes());
            field.extend(block.sum.get().to_le_bytes());
        }
        Some(field)
    }

    /// Decodes an extra field. Returns `None` unless it matches the member's checksum and both its lengths.
    ///
    /// The index is stale if another program has replaced the member's content but kept its extra fields.
    ///
    /// `ratio` is the highest possible compression ratio. Blocks that would exceed it are rejected, so that
    /// the memory for a block is at most proportional to the size of the archive.
    pub(crate) fn of_field(field: &[u8], crc: u32, size: u64, packed: u64, ratio: u64) -> Option<Self> {
        let (head, mut rest) = field.split_at_checked(HEAD)?;
        let mut stated = vec![VERSION, *head.get(1)?];
        stated.extend(crc.to_le_bytes());
        stated.extend(size.to_le_bytes());
        stated.extend(packed.to_le_bytes());
        let step = 1u64.checked_shl(head[1].into()).filter(|step| *step >= STEP as u64)?;
        let count = size.div_ceil(step);
        // Only the smallest sufficient step is accepted: a larger one would need larger buffers.
        let is_least = step == STEP as u64 || size.div_ceil(step / 2) > MOST as u64;
        let fits_memory = isize::try_from(step).is_ok();
        if head != stated || count < 2 || !is_least || !fits_memory || rest.len() as u64 != count * 8 {
            return None;
        }
        let mut index = Self { step, ..Self::default() };
        let mut at = 0;
        while let Some((block, more)) = rest.split_first_chunk::<8>() {
            let [packed, crc] =
                [0, 4].map(|from| u32::from_le_bytes([0, 1, 2, 3].map(|byte| block[from + byte])));
            let sum = Crc::of(crc, (size - index.sum.len()).min(step));
            if sum.len() > u64::from(packed).saturating_mul(ratio) {
                return None;
            }
            index.sum.append(&sum);
            index.blocks.push(Block { at, packed: packed.into(), sum });
            at += u64::from(packed);
            rest = more;
        }
        // The combined checksum of the blocks must be that of the member.
        (index.sum.get() == crc && at == packed).then_some(index)
    }
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
    fn a_field_is_only_that_of_its_member() {
        let content: Vec<u8> = (0..3 * STEP + 5).map(|index| (index % 251) as u8).collect();
        let mut index = BlockIndex::default();
        for block in content.chunks(STEP) {
            index.push((block.len() as u64).div_ceil(7), sum_of(block));
        }
        let (crc, size, packed) = (crc32fast::hash(&content), content.len() as u64, index.packed());
        assert_eq!(index.sum().get(), crc);
        let field = index.to_field().unwrap();
        assert_eq!(field.len(), HEAD + 4 * 8);
        let found = BlockIndex::of_field(&field, crc, size, packed, 8).unwrap();
        assert_eq!((found.len(), found.step()), (4, STEP as u64));
        assert_eq!(found.packed_range(3), 3 * (STEP as u64).div_ceil(7)..packed);
        assert_eq!(found.content(3).len(), 5);

        let is_refused =
            |field: &[u8], crc, size, packed| BlockIndex::of_field(field, crc, size, packed, 8).is_none();
        assert!(is_refused(&field, crc ^ 1, size, packed));
        assert!(is_refused(&field, crc, size + 1, packed));
        assert!(is_refused(&field, crc, size, packed - 1));
        assert!(BlockIndex::of_field(&field, crc, size, packed, 6).is_none()); // exceeds the compression ratio
        for length in 0..field.len() {
            assert!(is_refused(&field[..length], crc, size, packed));
        }
        for at in 0..field.len() {
            let mut other = field.clone();
            other[at] ^= 1;
            assert!(is_refused(&other, crc, size, packed), "byte {at}");
        }
    }

    #[test]
    fn the_step_grows_so_that_the_field_fits() {
        let mut index = BlockIndex::default();
        let block = Crc::of(0x1234_5678, STEP as u64);
        let count = 5 * MOST as u64 + 1;
        (0..count).for_each(|_| index.push(1000, block.clone()));
        assert_eq!(index.step(), 8 * STEP as u64);
        assert_eq!(index.len() as u64, count.div_ceil(8));
        let size = count * STEP as u64;
        assert_eq!((index.sum().len(), index.packed()), (size, count * 1000));
        let field = index.to_field().unwrap();
        assert!(field.len() + 4 + 28 <= usize::from(u16::MAX), "{}", field.len());
        let found = BlockIndex::of_field(&field, index.sum().get(), size, index.packed(), 1100).unwrap();
        assert_eq!(found.content(found.len() - 1).len(), STEP as u64);
        assert_eq!(found.packed_range(1), 8000..16_000);

        // A step that is larger than needed is rejected.
        let mut longer = index.clone();
        longer.widen();
        let field = longer.to_field().unwrap();
        assert!(BlockIndex::of_field(&field, index.sum().get(), size, index.packed(), 1100).is_none());
    }
}
