//! What types that are read and written through others need.

use ndarray_io::Element;

#[derive(Element)]
#[element(from = "f32", try_from = "f64")]
struct Two(f32);

#[derive(Element)]
#[element(form = "f32")]
struct Unknown(f32);

#[derive(Element)]
#[element(from = "f32 f64")]
struct NoType(f32);

#[derive(Element)]
#[element(from = "usize")]
struct NoElement(f32);

#[derive(Element)]
#[element(from = "f32")]
struct NoFrom(f32);

#[derive(Element)]
#[element(into = "f32")]
struct NoClone(f32);

impl From<NoClone> for f32 {
    fn from(own: NoClone) -> Self {
        own.0
    }
}

fn main() {}
