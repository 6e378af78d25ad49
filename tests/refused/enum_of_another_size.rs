//! An attribute macro below the derive changes the representation.
// refused with E0080
#![forbid(unsafe_code)]

#[derive(ndarray_io::Element)]
#[cfg_attr(attack, meddle::instead(#[repr(u16)] pub enum Number { Two = 2 }))]
#[repr(u8)]
pub enum Number {
    Two = 2,
}

fn main() {
    let _ = ndarray_io::read_npy::<_, ndarray::Array1<Number>>("a.npy");
}
