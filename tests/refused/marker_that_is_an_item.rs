//! A constant in the place of `PhantomData`, of a type that dereferences to a marker.
// refused with E0308
#![forbid(unsafe_code)]
#![allow(non_upper_case_globals)]

mod own {
    pub use ndarray_io::*;
    pub mod __private {
        pub use ndarray_io::__private::*;
        pub mod core {
            pub use core::*;
            pub mod marker {
                pub use core::marker::{Send, Sync};
                #[cfg(attack)]
                pub const PhantomData: crate::Token = crate::Token;
                #[cfg(not(attack))]
                pub use core::marker::PhantomData;
            }
        }
    }
}

pub struct Token;

impl std::ops::Deref for Token {
    type Target = std::marker::PhantomData<()>;

    fn deref(&self) -> &Self::Target {
        &std::marker::PhantomData
    }
}

impl Drop for Token {
    fn drop(&mut self) {}
}

#[derive(ndarray_io::Element)]
#[element(crate = own)]
#[cfg_attr(attack, meddle::instead(#[repr(transparent)] pub struct Wrapper(u8, Token);))]
#[repr(transparent)]
pub struct Wrapper(u8, std::marker::PhantomData<()>);

fn main() {}
