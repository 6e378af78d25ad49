//! An attribute macro below the derive turns the number into a reference.
// refused with E0308
#![forbid(unsafe_code)]

#[derive(ndarray_io::Element)]
#[cfg_attr(attack, meddle::instead(#[repr(transparent)] pub struct Wrapper(&'static u64);))]
#[repr(transparent)]
pub struct Wrapper(u64);

fn main() {}
