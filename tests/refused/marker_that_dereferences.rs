//! A field that looks like a marker, but is a type without values: `Deref` coerces it to a marker.
// refused with E0277 E0308
#![forbid(unsafe_code)]

#[cfg(attack)]
mod token {
    pub enum PhantomData {}

    impl std::ops::Deref for PhantomData {
        type Target = std::marker::PhantomData<()>;

        fn deref(&self) -> &Self::Target {
            match *self {}
        }
    }
}
#[cfg(not(attack))]
mod token {
    pub type PhantomData = std::marker::PhantomData<()>;
}

#[derive(ndarray_io::Element)]
#[repr(transparent)]
pub struct Wrapper(u8, token::PhantomData);

fn main() {
    let _ = ndarray_io::read_npy::<_, ndarray::Array1<Wrapper>>("a.npy").map(|array| array.into_iter().map(|item| item.1));
}
