//! Like `newtype_with_another_alignment`, for slices of strings that are written.
// refused with E0080
#![forbid(unsafe_code)]

#[derive(ndarray_io::Element)]
#[cfg_attr(attack, meddle::instead(#[repr(align(64))] pub struct Wrapper(String);))]
#[repr(transparent)]
pub struct Wrapper(String);

fn main() {
    let _ = ndarray_io::write_npy("a.npy", &ndarray::Array1::from(vec![Wrapper(String::new())]));
}
