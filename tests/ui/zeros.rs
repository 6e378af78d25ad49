//! Creating a file of zeros is refused for an enum without a variant 0.

use ndarray_io::{Element, Record};

#[derive(Element)]
#[repr(u8)]
enum Grade {
    One = 1,
}

#[derive(Record)]
struct Graded {
    grades: [Grade; 2],
}

fn main() {
    let file = std::fs::File::open("grades.npy").unwrap();
    ndarray_io::write_zeroed_npy::<Grade, _>(&file, 3).unwrap();
    ndarray_io::write_zeroed_npy::<Graded, _>(&file, 3).unwrap();
}
