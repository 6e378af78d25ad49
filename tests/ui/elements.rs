//! Each mistake in a `derive(Element)` is reported once, at the right place.

use ndarray_io::{Element, Record, ViewNpyExt};

#[derive(Element)]
struct Opaque(f64);

#[derive(Element)]
#[repr(transparent)]
struct Two(f64, f32);

#[derive(Element)]
#[repr(transparent)]
struct Size(usize);

#[derive(Element)]
enum Free {
    One,
}

#[derive(Element)]
#[repr(usize)]
enum Wide {
    One,
}

#[derive(Element)]
#[repr(u8)]
enum Full {
    One(u8),
}

#[derive(Element)]
#[repr(u8)]
enum None {}

#[derive(Element)]
union Both {
    one: u8,
}

#[derive(Element)]
#[element(rename = "x")]
#[repr(u8)]
enum Renamed {
    One,
}

#[derive(Element)]
#[repr(transparent)]
struct Name(String);

#[derive(Element)]
#[repr(u8, align(4))]
enum Aligned {
    One,
}

mod named {
    pub type PhantomData = std::num::NonZeroU32;
}

#[derive(Element)]
#[repr(transparent)]
struct NoMarker([u8; 0], named::PhantomData);

#[derive(Record)]
struct Newtype(f64);

fn view(bytes: &[u8]) {
    let _ = ndarray::ArrayView1::<Name>::view_npy(bytes);
}

fn main() {}
