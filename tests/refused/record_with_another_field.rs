//! An attribute macro below the derive adds a field, which reading would leave uninitialized.
// refused with the text pattern requires `..` due to inaccessible fields
#![forbid(unsafe_code)]

#[derive(ndarray_io::Record)]
#[cfg_attr(attack, meddle::instead(#[repr(C)] pub struct Row { a: u8, c: bool, b: u8 }))]
#[repr(C)]
pub struct Row {
    a: u8,
    b: u8,
}

fn main() {}
