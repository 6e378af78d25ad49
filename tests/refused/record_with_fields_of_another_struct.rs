//! An attribute macro below the derive moves a field to where `Deref` finds it.
// refused with E0026
#![forbid(unsafe_code)]

pub struct Other {
    pub b: u8,
}
static OTHER: Other = Other { b: 3 };

#[derive(ndarray_io::Record)]
#[cfg_attr(attack, meddle::instead(#[repr(C)] pub struct Row { a: u8 }))]
#[repr(C)]
pub struct Row {
    a: u8,
    b: u8,
}

impl std::ops::Deref for Row {
    type Target = Other;

    fn deref(&self) -> &Other {
        &OTHER
    }
}

fn main() {
    let _ = OTHER.b;
}
