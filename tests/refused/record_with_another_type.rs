//! An attribute macro below the derive turns a number into a bool.
// refused with E0308
#![forbid(unsafe_code)]

#[derive(ndarray_io::Record)]
#[cfg_attr(attack, meddle::instead(#[repr(C)] pub struct Row { a: u8, b: bool }))]
#[repr(C)]
pub struct Row {
    a: u8,
    b: u8,
}

fn main() {}
