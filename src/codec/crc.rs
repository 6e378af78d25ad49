//! CRC-32 of bytes that arrive in order, and of pieces that arrive in any order.

use std::sync::{Mutex, PoisonError};

use crc32fast::Hasher;

use crate::error::Result;

/// The CRC-32 and length of a sequence of bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crc {
    hasher: Hasher,
    len: u64,
}

impl Crc {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.len += bytes.len() as u64;
    }

    /// Creates a sum from the known checksum and length of bytes that are not available.
    pub(crate) fn of(crc: u32, len: u64) -> Self {
        Self { hasher: Hasher::new_with_initial_len(crc, len), len }
    }

    /// Appends the bytes of another sum, without reading them.
    pub(crate) fn append(&mut self, next: &Self) {
        self.hasher.combine(&next.hasher);
        self.len += next.len;
    }

    pub(crate) fn get(&self) -> u32 {
        self.hasher.clone().finalize()
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }
}

/// Passes the bytes of a range, in order, to the callback.
type ReadMissing<'a> = dyn FnMut(std::ops::Range<u64>, &mut dyn FnMut(&[u8])) -> Result<()> + 'a;

/// The CRC-32 of bytes that arrive in pieces, in any order and from several threads.
#[derive(Default)]
pub(crate) struct UnorderedCrc(Mutex<Vec<(u64, Crc)>>);

impl UnorderedCrc {
    /// Adds bytes at an offset.
    pub(crate) fn add(&self, at: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Extend the piece that ends here, which this thread usually added. Release the lock while hashing,
        // so that threads can hash in parallel.
        let mut pieces = lock();
        let own = pieces.iter().position(|(start, sum)| start + sum.len() == at);
        let (start, mut sum) = own.map_or_else(|| (at, Crc::default()), |index| pieces.swap_remove(index));
        drop(pieces);
        sum.add(bytes);
        lock().push((start, sum));
    }

    /// Returns the checksum of the first `len` bytes.
    ///
    /// For each range that was not added, `missing` is invoked with the range and a callback, to which it
    /// must pass all of the range's bytes in order.
    pub(crate) fn finish(self, len: u64, missing: &mut ReadMissing<'_>) -> Result<u32> {
        let mut pieces = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        pieces.sort_by_key(|(start, _)| *start);
        let mut all = Crc::default();
        for (start, sum) in pieces {
            let end = start + sum.len();
            if start < all.len() || end > len {
                continue; // overlaps: missing bytes are read again below
            }
            if start > all.len() {
                missing(all.len()..start, &mut |bytes| all.add(bytes))?;
            }
            all.append(&sum);
        }
        if all.len() < len {
            missing(all.len()..len, &mut |bytes| all.add(bytes))?;
        }
        Ok(all.get())
    }
}

#[cfg(test)]
mod tests {
    use super::UnorderedCrc;

    #[test]
    fn pieces_in_any_order_have_the_checksum_of_the_whole() {
        let bytes: Vec<u8> = (0..10_000u32).map(|number| (number * 7) as u8).collect();
        for pieces in [
            vec![0..10_000, 0..0],
            vec![5_000..10_000, 0..5_000],
            vec![7_000..8_000, 1_000..2_000, 2_000..3_000, 2_500..2_600],
            vec![],
        ] {
            let sum = UnorderedCrc::default();
            pieces.into_iter().for_each(|piece| sum.add(piece.start as u64, &bytes[piece]));
            let missing = |range: std::ops::Range<u64>, add: &mut dyn FnMut(&[u8])| {
                add(&bytes[range.start as usize..range.end as usize]);
                Ok(())
            };
            assert_eq!(sum.finish(10_000, &mut { missing }).unwrap(), crc32fast::hash(&bytes));
        }
        // Computed with Python's zlib.crc32(b'123456789').
        let sum = UnorderedCrc::default();
        sum.add(0, b"123456789");
        assert_eq!(sum.finish(9, &mut |_, _| Ok(())).unwrap(), 0xCBF4_3926);
    }
}
