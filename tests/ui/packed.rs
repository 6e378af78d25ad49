use ndarray_io::Record;

#[derive(Record)]
struct Inner {
    x: f32,
}

#[derive(Record)]
#[repr(C, packed)]
struct Outer {
    flag: u8,
    inner: Inner,
}

fn main() {}
