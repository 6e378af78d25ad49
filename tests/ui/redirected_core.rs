//! Derived code uses the real `offset_of!`, even if a crate redefines `::core`.
extern crate self as core;

pub mod mem {
    #[macro_export]
    macro_rules! offset_of {
        ($($any:tt)*) => {
            0
        };
    }
}

#[derive(ndarray_io::Record)]
#[repr(C)]
pub struct Row {
    a: u64,
    b: u64,
}

fn main() {}
