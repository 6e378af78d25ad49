//! An attribute macro below the derive turns the struct into a union.
// refused with E0133
#![forbid(unsafe_code)]

#[derive(ndarray_io::Record)]
#[cfg_attr(attack, meddle::instead(#[repr(C)] pub union Row { a: u8 }))]
#[repr(C)]
pub struct Row {
    a: u8,
}

fn main() {}
