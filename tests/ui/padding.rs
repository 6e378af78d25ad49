use ndarray::ArrayViewMut1;
use ndarray_io::{Record, ViewMutNpyExt};

#[derive(Record)]
#[repr(C)]
struct Padded {
    flag: u8,
    value: f64,
}

#[derive(Record)]
#[repr(C)]
struct Within {
    padded: [Padded; 2],
}

fn main() {
    let mut bytes = Vec::new();
    let _ = ArrayViewMut1::<Padded>::view_mut_npy(&mut bytes);
    let _ = ArrayViewMut1::<Within>::view_mut_npy(&mut bytes);
}
