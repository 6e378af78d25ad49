//! Swaps byte order in place. Callers pass one block at a time, while the block is in the cache.

use crate::bytes::AsChunks;
use crate::dtype::{Kind, Scalar};

/// Returns the size of the unit that is reversed.
///
/// This is the size of the element, except for complex numbers (half of the element) and text (one code
/// point).
#[deny(clippy::wildcard_enum_match_arm)] // a new kind has to be considered
pub(crate) fn swap_unit_of(scalar: &Scalar) -> usize {
    match scalar.kind() {
        Kind::Complex => scalar.size() / 2,
        Kind::Text => 4,
        Kind::Int | Kind::Uint | Kind::Float | Kind::Datetime(_) | Kind::Timedelta(_) => scalar.size(),
        // These have no byte order, so nothing asks for it.
        Kind::Bool | Kind::Bytes | Kind::Void | Kind::Narrow(_) => scalar.size(),
    }
}

/// Reverses the bytes of each unit. Units of one byte stay as they are.
pub(crate) fn swap_units(bytes: &mut [u8], unit: usize) {
    // One loop per size: with a constant size, the compiler vectorizes the loop.
    match unit {
        2 => for_each_unit::<2>(bytes, |unit| u16::from_ne_bytes(unit).swap_bytes().to_ne_bytes()),
        4 => for_each_unit::<4>(bytes, |unit| u32::from_ne_bytes(unit).swap_bytes().to_ne_bytes()),
        8 => for_each_unit::<8>(bytes, |unit| u64::from_ne_bytes(unit).swap_bytes().to_ne_bytes()),
        12 => for_each_unit::<12>(bytes, reversed),
        16 => for_each_unit::<16>(bytes, |unit| u128::from_ne_bytes(unit).swap_bytes().to_ne_bytes()),
        _ => {}
    }
}

/// Reverses the bytes of one unit in each record.
pub(crate) fn swap_column(bytes: &mut [u8], record: usize, offset: usize, unit: usize) {
    match unit {
        2 => {
            in_each_record(bytes, record, offset, |unit| u16::from_ne_bytes(unit).swap_bytes().to_ne_bytes())
        }
        4 => {
            in_each_record(bytes, record, offset, |unit| u32::from_ne_bytes(unit).swap_bytes().to_ne_bytes())
        }
        8 => {
            in_each_record(bytes, record, offset, |unit| u64::from_ne_bytes(unit).swap_bytes().to_ne_bytes())
        }
        12 => in_each_record(bytes, record, offset, reversed::<12>),
        16 => {
            in_each_record(bytes, record, offset, |unit| u128::from_ne_bytes(unit).swap_bytes().to_ne_bytes())
        }
        _ => {}
    }
}

fn reversed<const N: usize>(mut unit: [u8; N]) -> [u8; N] {
    unit.reverse();
    unit
}

fn for_each_unit<const N: usize>(bytes: &mut [u8], swap: impl Fn([u8; N]) -> [u8; N]) {
    let units = bytes.chunks_of_mut::<N>();
    for unit in units {
        *unit = swap(*unit);
    }
}

fn in_each_record<const N: usize>(
    bytes: &mut [u8],
    record: usize,
    offset: usize,
    swap: impl Fn([u8; N]) -> [u8; N],
) {
    for record in bytes.chunks_exact_mut(record) {
        if let Some(unit) = record[offset..].first_chunk_mut() {
            *unit = swap(*unit);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn column_swap_leaves_other_bytes_unchanged() {
        for unit in [2, 4, 8, 12, 16] {
            let mut bytes: Vec<u8> = (0..60).collect();
            let mut expected = bytes.clone();
            super::swap_column(&mut bytes, 20, 3, unit);
            expected.chunks_exact_mut(20).for_each(|record| record[3..3 + unit].reverse());
            assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn bytes_of_each_unit_are_reversed() {
        for unit in [1, 2, 4, 8, 12, 16] {
            let mut bytes: Vec<u8> = (0..48).collect();
            super::swap_units(&mut bytes, unit);
            let expected: Vec<u8> =
                (0..48).map(|at| (at / unit * unit + (unit - 1 - at % unit)) as u8).collect();
            assert_eq!(bytes, expected);
        }
    }
}
