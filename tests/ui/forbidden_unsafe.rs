//! The derive works where unsafe code is forbidden, and in a module that shadows common names.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]
#![no_implicit_prelude]

mod own {
    #![allow(dead_code, non_camel_case_types)]
    pub struct Result;
    pub struct Option;
    pub struct Vec;
    pub struct Iterator;
    pub struct u8x;
    pub mod std {}
    pub mod core {}
    pub mod ndarray_io {}

    #[derive(::ndarray_io::Record)]
    #[repr(C)]
    pub struct Names {
        fields: [f32; 2],
        columns: bool,
        records: u8,
        record: u8,
        count: i64,
        out: f64,
        options: u32,
        slots: u16,
        into: u16,
        column_0: u64,
        r#type: i8,
        größe: f32,
    }
}

mod moved {
    pub mod inner {
        pub use ::ndarray_io as library;
    }

    #[derive(inner::library::Record)]
    #[record(crate = inner::library)]
    pub struct Elsewhere {
        #[record(len = 4)]
        _name: ::std::string::String,
    }
}

/// A newtype.
#[derive(::ndarray_io::Element)]
#[repr(transparent)]
pub struct Metres(f64);

/// An enum.
#[derive(::ndarray_io::Element)]
#[repr(u8)]
pub enum Tissue {
    /// A variant.
    Air,
}

fn main() {
    fn is_element<A: ::ndarray_io::ReadableElement + ::ndarray_io::WritableElement>() {}
    fn is_viewable<A: ::ndarray_io::ViewElement>() {}
    is_element::<own::Names>();
    is_viewable::<own::Names>();
    is_element::<moved::Elsewhere>();
}
