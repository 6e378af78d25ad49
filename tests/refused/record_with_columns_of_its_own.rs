//! A redirected library replaces what collects the fields, which would leave them out.
// refused with E0053
#![forbid(unsafe_code)]

mod own {
    pub use ndarray_io::*;

    pub mod __private {
        pub use ndarray_io::__private::*;

        #[cfg(attack)]
        pub struct FieldsRead<'a, R>(core::marker::PhantomData<&'a fn(R)>);

        #[cfg(attack)]
        impl<R> FieldsRead<'_, R> {
            pub fn column<F>(&mut self, _: fn(*const R) -> *const F) -> ndarray_io::Result<()> {
                Ok(())
            }
        }
    }
}

#[derive(ndarray_io::Record)]
#[record(crate = own)]
#[repr(C)]
pub struct Row {
    a: u8,
    b: bool,
}

fn main() {}
