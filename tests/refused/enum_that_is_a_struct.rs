//! An attribute macro below the derive turns the enum into a struct with constants of the same names.
// refused with E0308 E0605
#![forbid(unsafe_code)]

#[derive(ndarray_io::Element)]
#[cfg_attr(attack, meddle::instead(pub struct Number(bool); impl Number { #[allow(non_upper_case_globals)] const Two: u8 = 2; }))]
#[repr(u8)]
pub enum Number {
    Two = 2,
}

fn main() {}
