//! A struct with text of no declared width is read and not written.

use ndarray_io::{ReadNpyExt, Record, WriteNpyExt};

#[derive(Record, Clone)]
struct Text {
    name: String,
}

#[derive(Record, Clone)]
struct Outer {
    texts: [Text; 2],
}

fn main() {
    let outer = ndarray::Array1::<Outer>::read_npy(std::io::empty()).unwrap();
    outer.write_npy(std::io::sink()).unwrap();
    let texts = outer[0].texts.clone();
    ndarray_io::write_npy("texts.npy", &ndarray::arr1(&texts)).unwrap();
}
