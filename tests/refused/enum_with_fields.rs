//! An attribute macro below the derive adds a variant with a field.
// refused with E0605
#![forbid(unsafe_code)]

#[derive(ndarray_io::Element)]
#[cfg_attr(attack, meddle::instead(#[repr(u16)] pub enum Number { Two = 2, Other(bool) = 3 }))]
#[repr(u16)]
pub enum Number {
    Two = 2,
}

fn main() {
    let _ = ndarray_io::read_npy::<_, ndarray::Array1<Number>>("a.npy");
}
