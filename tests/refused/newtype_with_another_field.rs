//! An attribute macro below the derive adds a field.
// refused with E0063
#![forbid(unsafe_code)]

#[derive(ndarray_io::Element)]
#[cfg_attr(attack, meddle::instead(pub struct Wrapper(u64, ());))]
#[repr(transparent)]
pub struct Wrapper(u64);

fn main() {}
