//! A unit struct of the name of a variable in the generated code, which dereferences to a marker, in the place of the
//! marker.
// refused with E0308
#![forbid(unsafe_code)]
#![allow(non_camel_case_types, non_upper_case_globals)]

mod own {
    pub use ndarray_io::*;
    pub mod __private {
        pub use ndarray_io::__private::*;
        pub mod core {
            pub use core::*;
            pub mod marker {
                pub use core::marker::{Send, Sync};
                #[cfg(attack)]
                pub const PhantomData: crate::__ndarray_io_marker_0 = crate::__ndarray_io_marker_0;
                #[cfg(not(attack))]
                pub use core::marker::PhantomData;
            }
        }
    }
}

pub struct marker_0;
pub struct __ndarray_io_marker_0;

impl std::ops::Deref for __ndarray_io_marker_0 {
    type Target = std::marker::PhantomData<()>;

    fn deref(&self) -> &Self::Target {
        &std::marker::PhantomData
    }
}

impl Drop for __ndarray_io_marker_0 {
    fn drop(&mut self) {}
}

#[derive(ndarray_io::Element)]
#[element(crate = own)]
#[cfg_attr(attack, meddle::instead(#[repr(transparent)] pub struct Wrapper(u8, __ndarray_io_marker_0);))]
#[repr(transparent)]
pub struct Wrapper(u8, std::marker::PhantomData<()>);

fn main() {}
