//! An attribute macro below the derive changes the layout, but no type.
// refused with E0080
#![forbid(unsafe_code)]

#[derive(ndarray_io::Element)]
#[cfg_attr(attack, meddle::instead(#[repr(align(16))] pub struct Wrapper(u64);))]
#[repr(transparent)]
pub struct Wrapper(u64);

fn main() {
    let _ = ndarray_io::read_npy::<_, ndarray::Array1<Wrapper>>("a.npy");
}
