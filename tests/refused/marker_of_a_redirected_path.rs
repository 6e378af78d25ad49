//! A look-alike of `PhantomData` in a module that `crate` names.
// refused with E0277
#![forbid(unsafe_code)]

mod library {
    pub use ndarray_io::*;
    pub mod __private {
        pub use ndarray_io::__private::*;
        #[cfg(attack)]
        pub mod core {
            pub use core::*;
            pub mod marker {
                pub use core::marker::{Send, Sync};
                pub struct PhantomData;
            }
        }
    }
}
#[cfg(attack)]
use library::__private::core::marker::PhantomData;
#[cfg(not(attack))]
type PhantomData = std::marker::PhantomData<()>;

#[derive(library::Element)]
#[element(crate = library)]
#[repr(transparent)]
pub struct Wrapper(u8, PhantomData);

fn main() {}
