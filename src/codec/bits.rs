//! Arrays of bits in words of 64, the least significant bit first.

/// Unpacks as many bits as `into` has room for, each as a byte 0 or 1. `words` are little-endian unless said otherwise, and
/// there are enough of them.
pub(crate) fn unpack(words: &[u8], is_big: bool, into: &mut [u8]) {
    for (word, bits) in words.as_chunks::<8>().0.iter().zip(into.chunks_mut(64)) {
        let word = if is_big { u64::from_be_bytes(*word) } else { u64::from_le_bytes(*word) };
        for (index, bit) in bits.iter_mut().enumerate() {
            *bit = (word >> index & 1) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_least_significant_bit_comes_first() {
        let mut bits = [9; 10];
        super::unpack(&[0b0000_0101, 0b10, 0, 0, 0, 0, 0, 0], false, &mut bits);
        assert_eq!(bits, [1, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
        super::unpack(&[0, 0, 0, 0, 0, 0, 0b10, 0b0000_0101], true, &mut bits);
        assert_eq!(bits, [1, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
    }
}
