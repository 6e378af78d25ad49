//! A reference to a box coerces to a reference to its content.
// refused with E0308
#![forbid(unsafe_code)]

#[derive(ndarray_io::Element)]
#[cfg_attr(attack, meddle::instead(#[repr(transparent)] pub struct Wrapper(Box<u64>);))]
#[repr(transparent)]
pub struct Wrapper(u64);

fn main() {}
