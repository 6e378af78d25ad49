//! A field that looks like a marker, but has a destructor: reading would create it from nothing.
// refused with E0277 E0308
#![forbid(unsafe_code)]

#[cfg(attack)]
mod token {
    pub struct PhantomData(());

    impl Drop for PhantomData {
        fn drop(&mut self) {}
    }
}
#[cfg(not(attack))]
use std::marker as token;

#[derive(ndarray_io::Element)]
#[repr(transparent)]
pub struct Wrapper<T: Send + Sync + 'static>(u8, #[cfg(attack)] token::PhantomData, std::marker::PhantomData<T>, #[cfg(not(attack))] token::PhantomData<()>);

fn main() {}
