//! The type of a field is a macro that becomes another type each time.
// refused with E0308
#![forbid(unsafe_code)]

#[derive(ndarray_io::Record)]
#[repr(C)]
pub struct Row {
    #[cfg(attack)]
    a: meddle::turn!(u8 bool i8),
    b: u8,
}

fn main() {}
