//! Names that the derives introduce meet no names of the program: fields, functions, macros and modules may have
//! any, and the tokens of a struct may come through macros.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, clippy::all, clippy::pedantic, clippy::nursery)]
#![no_implicit_prelude]

/// A macro that passes all tokens of a struct on.
macro_rules! record {
    ($($tokens:tt)*) => {
        /// A record.
        #[derive(::ndarray_io::Record)]
        #[repr(C)]
        $($tokens)*
    };
}

/// A macro that passes names and types.
macro_rules! fields {
    ($name:ident { $($field:ident: $type:ty),* }) => {
        /// A record.
        #[derive(::ndarray_io::Record)]
        pub struct $name { $(#[doc = "A field."] pub $field: $type),* }
    };
}

/// A macro that passes the type of a newtype, or the variants of an enum.
macro_rules! element {
    (struct $name:ident($type:ty)) => {
        /// A newtype.
        #[derive(::ndarray_io::Element)]
        #[repr(transparent)]
        pub struct $name($type);
    };
    (enum $name:ident { $($variants:tt)* }) => {
        /// An enum.
        #[derive(::ndarray_io::Element)]
        #[repr(u8)]
        pub enum $name { $($variants)* }
    };
    ($($tokens:tt)*) => {
        /// Anything.
        #[derive(::ndarray_io::Element)]
        #[repr(transparent)]
        $($tokens)*
    };
}

/// A macro in the place of a type.
macro_rules! float {
    () => {
        f32
    };
}

record! {
    pub struct Tokens {
        /// A field.
        pub item: u8,
        /// A field with options.
        #[record(rename = "type", default)]
        pub r#type: float!(),
        /// An array.
        pub many: [[u16; 2]; 3],
    }
}
record! {
    #[record(rename_all = "camelCase")]
    pub struct Packed<const N: usize> {
        /// A field.
        pub first_item: [u8; N],
        /// A text.
        #[record(len = 4, offset = 16)]
        pub text: ::std::string::String,
    }
}
fields!(Names {
    item: u8,
    record: u16,
    records: u32,
    fields: i8,
    columns: i16,
    count: i32,
    out: i64,
    options: f32,
    into: f64,
    slots: bool,
    each: u8,
    items: u8,
    dtype: u8,
    axes: u8,
    column_0: u8,
    spec: u8,
    r#fn: u8
});
element!(struct Metres(f64));
element!(
    enum Tissue {
        #[doc = "Air."]
        Air = 3,
        #[doc = "Bone."]
        Bone,
    }
);
element!(
    pub struct Marked<Unit: ::std::marker::Send + ::std::marker::Sync + 'static> {
        inner: [float!(); 2],
        marker_0: ::std::marker::PhantomData<Unit>,
        number: ::core::marker::PhantomData<fn(Unit)>,
    }
);

/// A unit in the type, without bounds of its own.
#[derive(::ndarray_io::Record)]
#[repr(C)]
pub struct Length<Unit> {
    /// The number.
    pub value: f32,
    /// The marker.
    #[record(skip)]
    pub unit: ::std::marker::PhantomData<Unit>,
}

/// Everything with a default, a bound and a `where` clause.
#[derive(::ndarray_io::Record)]
pub struct General<T = f64, const N: usize = 3>
where
    T: ::std::marker::Copy + ::std::default::Default,
{
    /// One.
    #[record(default)]
    pub one: T,
    /// Several, of a width that is an expression.
    #[record(skip)]
    pub many: ::std::option::Option<[T; N]>,
    /// A value by a function of the name of a local variable.
    #[record(default = "fields")]
    pub made: u8,
}

const fn fields() -> u8 {
    7
}

/// Items with the names that the generated code uses, and with those that its variables have but for a prefix.
pub mod own {
    #![allow(
        dead_code,
        unused_macros,
        non_camel_case_types,
        non_upper_case_globals,
        missing_docs,
        clippy::all,
        clippy::pedantic,
        clippy::nursery
    )]
    pub struct Result;
    pub struct Option;
    pub struct Vec;
    pub struct Iterator;
    pub struct Column;
    pub struct PhantomData;
    pub struct usize;
    pub struct u8;
    pub struct bool;
    pub struct str;
    pub enum Some {}
    pub enum None {}
    pub enum Ok {}
    pub fn record() {}
    pub struct inner;
    pub struct column_0;
    pub struct marker_0;
    pub static item: ::core::primitive::u8 = 1;
    pub const records: ::core::primitive::u8 = 1;
    pub static options: () = ();
    pub const items: () = ();
    pub static dtype: () = ();
    pub const number: i16 = 3;
    pub mod std {}
    pub mod core {}
    pub mod alloc {}
    pub mod ndarray_io {}
    pub trait Extend {
        fn extend(&self) {}
        fn iter(&self) {}
        fn column(&self) {}
        fn map(&self) {}
        fn clone(&self) {}
    }
    impl<T> Extend for T {}
    macro_rules! matches {
        ($($any:tt)*) => {
            compile_error!("not this one")
        };
    }
    macro_rules! assert {
        ($($any:tt)*) => {
            compile_error!("not this one")
        };
    }
    macro_rules! panic {
        ($($any:tt)*) => {
            compile_error!("not this one")
        };
    }

    #[derive(::ndarray_io::Record)]
    #[repr(C)]
    pub struct Row {
        pub record: f32,
        pub item: f64,
        #[record(len = 3)]
        pub text: ::std::string::String,
        #[record(skip)]
        pub skipped: i32,
    }

    #[derive(::ndarray_io::Element)]
    #[repr(transparent)]
    pub struct Wrapped {
        pub value: f32,
        pub marker_0: ::std::marker::PhantomData<Row>,
    }

    #[derive(::ndarray_io::Element)]
    #[repr(i16)]
    pub enum Number {
        VARIANT_0 = -1,
        NUMBER_0,
        Some,
        None,
    }
}

fn main() {
    const fn is_element<A: ::ndarray_io::ReadableElement + ::ndarray_io::WritableElement>() {}
    const fn is_viewable<A: ::ndarray_io::ViewElement>() {}
    is_viewable::<Tokens>();
    is_element::<Packed<3>>();
    is_element::<Names>();
    is_viewable::<Metres>();
    is_viewable::<Tissue>();
    is_viewable::<Marked<u8>>();
    is_element::<Length<::std::string::String>>();
    is_element::<General>();
    is_element::<own::Row>();
    is_viewable::<own::Wrapped>();
    is_viewable::<own::Number>();
}
