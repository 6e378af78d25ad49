//! Programs that try to reach undefined behavior through the library, and programs that walk its unsafe blocks.
//!
//! `.ci/sound` runs them under Miri, ThreadSanitizer and AddressSanitizer, which would notice; `docs/safety.md`
//! says which test belongs to which block. What must not even compile is in `tests/refused`.
#![cfg(test)]

// Miri is too slow for these, and cannot map files.
#[cfg(not(miri))]
mod damaged;
#[cfg(not(miri))]
mod depth;
mod derives;
mod elements;
mod lies;
#[cfg(all(not(miri), unix))]
mod maps;
mod threads;
mod views;

/// Returns an NPY file with this header.
fn npy(descr: &str, is_fortran: bool, shape: &str, payload: &[u8]) -> Vec<u8> {
    let order = if is_fortran { "True" } else { "False" };
    let text = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}");
    let text = format!("{text:<width$}\n", width = (10 + text.len()).next_multiple_of(64) + 64 - 11);
    [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), payload].concat()
}

/// Bytes with the alignment of any element, as those of a map.
struct Aligned(Vec<u128>, usize);

impl Aligned {
    fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0; bytes.len().div_ceil(16)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self(words, bytes.len())
    }

    fn get(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[..self.1]
    }

    fn get_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.0)[..self.1]
    }
}

/// The spelling of a type code with this machine's byte order, or with the other one.
fn with_byte_order(code: &str, is_native: bool) -> String {
    let order = if cfg!(target_endian = "little") == is_native { '<' } else { '>' };
    code.replace('=', &order.to_string())
}
