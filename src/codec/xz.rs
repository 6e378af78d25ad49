//! Determines the dictionary sizes of an XZ stream, on which the memory use of its decoder depends.
#![allow(clippy::incompatible_msrv, reason = "the features that it belongs to need a newer compiler")]

use crate::error::Result;

/// Returns the largest dictionary size of a stream's blocks, in bytes, without decompressing it.
///
/// `fill` fills a buffer from an offset, and returns fewer bytes only at the end. For a malformed stream, the
/// result covers only the blocks before the error, which the decoder will report.
///
/// The blocks are visited chunk by chunk, as a decoder does. The index at the end of the stream is not
/// trusted.
pub(crate) fn largest_dictionary(fill: &mut dyn FnMut(u64, &mut [u8]) -> Result<usize>) -> Result<u64> {
    let mut scanner = BlockScanner { fill, window: Vec::new(), window_start: 0, at: 0 };
    let mut largest = 0;
    scanner.scan_blocks(&mut largest)?;
    Ok(largest)
}

/// The size of a read, which can contain several small chunks. Skipping a larger chunk costs one read.
const WINDOW: usize = 4096;
/// The length of a block's checksum in bytes, indexed by the type of the checksum.
const CHECKSUM_LENS: [u64; 16] = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];
const LZMA2_FILTER_ID: u64 = 0x21;

struct BlockScanner<'a> {
    fill: &'a mut dyn FnMut(u64, &mut [u8]) -> Result<usize>,
    window: Vec<u8>,
    /// The offset of the window in the stream.
    window_start: u64,
    at: u64,
}

impl BlockScanner<'_> {
    /// Returns the next `count` bytes, or `None` if the stream ends first.
    fn take(&mut self, count: usize) -> Result<Option<&[u8]>> {
        let have = |scanner: &Self| {
            let from = usize::try_from(scanner.at.checked_sub(scanner.window_start)?).ok()?;
            let end = from.checked_add(count)?;
            (end <= scanner.window.len()).then_some(from..end)
        };
        if have(self).is_none() {
            self.window.resize(WINDOW.max(count), 0);
            let filled = (self.fill)(self.at, &mut self.window)?;
            self.window.truncate(filled);
            self.window_start = self.at;
        }
        let Some(range) = have(self) else { return Ok(None) };
        self.at += count as u64;
        Ok(Some(&self.window[range]))
    }

    fn byte(&mut self) -> Result<Option<u8>> {
        Ok(self.take(1)?.map(|bytes| bytes[0]))
    }

    /// Visits all blocks. Returns `None` where the stream ends or is malformed.
    fn scan_blocks(&mut self, largest: &mut u64) -> Result<Option<()>> {
        let Some(head) = self.take(12)? else { return Ok(None) };
        let check = CHECKSUM_LENS[usize::from(head[7] & 15)];
        loop {
            let Some(size @ 1..) = self.byte()? else { return Ok(None) }; // 0 starts the index: no more blocks
            let Some(head) = self.take(usize::from(size) * 4 + 3)? else { return Ok(None) };
            let Some(dictionary) = dictionary(head) else { return Ok(None) };
            *largest = dictionary.max(*largest);
            let start = self.at;
            if self.skip_chunks()?.is_none() {
                return Ok(None);
            }
            // Blocks are padded to a multiple of four bytes. The checksum follows.
            self.at = start + (self.at - start).next_multiple_of(4) + check;
        }
    }

    fn skip_chunks(&mut self) -> Result<Option<()>> {
        loop {
            let length = |bytes: &[u8]| u64::from(u16::from_be_bytes([bytes[0], bytes[1]])) + 1;
            let packed = match self.byte()? {
                Some(0) => return Ok(Some(())),
                Some(1 | 2) => self.take(2)?.map(length),
                Some(control @ 0x80..) => {
                    let properties = u64::from(control >= 0xC0);
                    self.take(4)?.map(|bytes| length(&bytes[2..]) + properties)
                }
                _ => None,
            };
            let Some(packed) = packed else { return Ok(None) };
            self.at = self.at.saturating_add(packed);
        }
    }
}

/// Returns the dictionary size from a block header, without its length byte.
fn dictionary(mut head: &[u8]) -> Option<u64> {
    let flags = *head.split_off_first()?;
    for bit in [0x40, 0x80] {
        if flags & bit != 0 {
            read_varint(&mut head)?; // the compressed or uncompressed size
        }
    }
    let mut largest = None;
    for _ in 0..=flags & 3 {
        let (filter, length) = (read_varint(&mut head)?, usize::try_from(read_varint(&mut head)?).ok()?);
        let properties = head.split_off(..length)?;
        if filter == LZMA2_FILTER_ID {
            let bits = properties.first()? & 0x3F;
            largest = Some(match bits {
                // The encoding of the XZ specification: two bits of mantissa, then an exponent. 40 means
                // 4 GiB - 1.
                0..40 => u64::from(2 | bits & 1) << (bits / 2 + 11),
                _ => u64::from(u32::MAX),
            });
        }
    }
    largest
}

/// Decodes a variable-length integer: seven bits per byte, least significant first.
fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    // The XZ format allows at most nine bytes, that is, 63 bits.
    for group in 0..9 {
        let byte = *bytes.split_off_first()?;
        number |= u64::from(byte & 0x7F) << (7 * group);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::largest_dictionary;

    /// Returns a block with chunks of these sizes, and the dictionary size code `bits`.
    fn block(bits: u8, chunks: &[usize]) -> Vec<u8> {
        let mut block = vec![2, 0, 0x21, 1, bits, 0, 0, 0, 0, 0, 0, 0];
        let start = block.len();
        for (index, &length) in chunks.iter().enumerate() {
            let length_less_1 = ((length - 1) as u16).to_be_bytes();
            match index % 3 {
                0 => block.extend([1, length_less_1[0], length_less_1[1]]),
                1 => block.extend([0x80, 0xFF, 0xFF, length_less_1[0], length_less_1[1]]),
                _ => block.extend([0xE0, 0xFF, 0xFF, length_less_1[0], length_less_1[1], 0x5D]),
            }
            block.resize(block.len() + length, 0xFF);
        }
        block.push(0);
        block.resize(start + (block.len() - start).next_multiple_of(4), 0);
        block.extend([0; 8]); // a 64-bit checksum
        block
    }

    fn largest_dict_of(blocks: &[Vec<u8>]) -> u64 {
        let mut stream = b"\xFD7zXZ\0\0\x04\0\0\0\0".to_vec();
        stream.extend(blocks.concat());
        stream.extend([0, 0, 0, 0]);
        let mut fill = |at: u64, into: &mut [u8]| {
            let rest = stream.get(at as usize..).unwrap_or_default();
            let count = rest.len().min(into.len());
            into[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        };
        largest_dictionary(&mut fill).unwrap()
    }

    /// The values of the table in the XZ specification: 0 is 4 KiB, 1 is 6 KiB, 39 is 3 GiB, 40 is 4 GiB - 1.
    #[test]
    fn largest_dictionary_of_all_blocks_is_found() {
        for (bits, bytes) in [(0, 4096), (1, 6144), (2, 8192), (39, 3 << 30), (40, (4 << 30) - 1)] {
            assert_eq!(largest_dict_of(&[block(bits, &[])]), bytes);
            let (one, two) = (block(0, &[10, 65536, 3000]), block(bits, &[7]));
            assert_eq!(largest_dict_of(&[one.clone(), two, one]), bytes);
        }
        assert_eq!(largest_dict_of(&[]), 0);
        let cut = block(5, &[100]);
        assert_eq!(largest_dict_of(&[cut[..40].to_vec()]), 24 << 10); // the largest before the truncation
    }
}
