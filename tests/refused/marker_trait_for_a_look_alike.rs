//! The trait that recognizes markers cannot be implemented for anything that the derive compares.
// refused with E0117
#![forbid(unsafe_code)]

pub struct PhantomData;

#[cfg(attack)]
impl ndarray_io::__private::Markers for (*const PhantomData, ()) {}

fn main() {}
