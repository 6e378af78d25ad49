//! Bit arrays in 64-bit words, least significant bit first.

use crate::bytes::AsChunks;

/// Unpacks one bit per byte of `into`, as 0 or 1.
///
/// `words` are big-endian if `is_big` is set, otherwise little-endian. They must have at least as many bits
/// as `into` has bytes.
pub(crate) fn unpack(words: &[u8], is_big: bool, into: &mut [u8]) {
    for (word, bits) in words.chunks_of::<8>().iter().zip(into.chunks_mut(64)) {
        let word = if is_big { u64::from_be_bytes(*word) } else { u64::from_le_bytes(*word) };
        for (index, bit) in bits.iter_mut().enumerate() {
            *bit = (word >> index & 1) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn least_significant_bit_is_unpacked_first() {
        let mut bits = [9; 10];
        super::unpack(&[0b0000_0101, 0b10, 0, 0, 0, 0, 0, 0], false, &mut bits);
        assert_eq!(bits, [1, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
        super::unpack(&[0, 0, 0, 0, 0, 0, 0b10, 0b0000_0101], true, &mut bits);
        assert_eq!(bits, [1, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
    }
}
