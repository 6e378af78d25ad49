//! LEB128: variable-length integers with seven bits per byte, least significant first.
//!
//! Signed integers are mapped to unsigned ones ("zigzag"), as in RA files written by the format's Julia
//! implementation.

/// Decodes exactly the integers that fill `into`, `size` bytes each, which are at most 16.
///
/// The integers are stored in big-endian order if `is_big` is set, otherwise in little-endian order.
/// Returns `false` if `packed` is malformed, too short or too long, or if a number does not fit.
pub(crate) fn unpack(packed: &[u8], size: usize, is_signed: bool, is_big: bool, into: &mut [u8]) -> bool {
    let mut rest = packed;
    for slot in into.chunks_exact_mut(size) {
        let Some(mut number) = next(&mut rest, 8 * size as u32) else { return false };
        if is_signed {
            number = number >> 1 ^ (number & 1).wrapping_neg();
        }
        let bytes = number.to_le_bytes();
        slot.copy_from_slice(&bytes[..size]);
        if is_big {
            slot.reverse();
        }
    }
    rest.is_empty()
}

/// Decodes the next integer. Returns `None` if it has more than `bits` bits.
fn next(rest: &mut &[u8], bits: u32) -> Option<u128> {
    let mut number = 0u128;
    for shift in (0..bits).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        let part = u128::from(byte & 0x7F);
        if shift + 7 > bits && part >> (bits - shift) != 0 {
            return None; // more bits than the type has
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::unpack;

    /// Examples from Wikipedia (LEB128) and from the Protocol Buffers documentation (zigzag).
    #[test]
    fn leb128_examples_decode_and_malformed_codes_are_refused() {
        let mut one = [0; 4];
        assert!(unpack(&[0xE5, 0x8E, 0x26], 4, false, false, &mut one));
        assert_eq!(u32::from_le_bytes(one), 624_485);
        for (packed, number) in [(0u8, 0i32), (1, -1), (2, 1), (3, -2)] {
            assert!(unpack(&[packed], 4, true, true, &mut one));
            assert_eq!(i32::from_be_bytes(one), number);
        }
        assert!(unpack(&[0xFE, 0xFF, 0xFF, 0xFF, 0x0F], 4, true, false, &mut one));
        assert_eq!(i32::from_le_bytes(one), i32::MAX);
        assert!(unpack(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F], 4, true, false, &mut one));
        assert_eq!(i32::from_le_bytes(one), i32::MIN);
        assert!(!unpack(&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F], 4, true, false, &mut one), "33 bits");
        assert!(!unpack(&[0x80], 4, true, false, &mut one), "cut");
        assert!(!unpack(&[0, 0], 4, true, false, &mut one), "too many");
        let mut large = [0; 8];
        assert!(unpack(
            &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1],
            8,
            false,
            false,
            &mut large
        ));
        assert_eq!(u64::from_le_bytes(large), u64::MAX);
        let mut largest = [0; 16];
        let packed = [&[0xFF; 18][..], &[3]].concat();
        assert!(unpack(&packed, 16, true, false, &mut largest));
        assert_eq!(i128::from_le_bytes(largest), i128::MIN);
    }
}
