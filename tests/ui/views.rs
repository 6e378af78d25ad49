use ndarray::ArrayView1;
use ndarray_io::{Record, ViewNpyExt};

#[derive(Record)]
#[repr(C)]
struct Text {
    #[record(len = 8)]
    name: String,
}

#[derive(Record)]
struct Unordered {
    x: f32,
}

fn main() {
    let _ = ArrayView1::<Text>::view_npy(&[]);
    let _ = ArrayView1::<Unordered>::view_npy(&[]);
}
