use ndarray_io::Record;

#[derive(Record)]
struct Pointer {
    length: usize,
}

#[derive(Record)]
struct Text {
    name: String,
}

#[derive(Record)]
struct Number {
    #[record(len = 4)]
    x: f32,
}

#[derive(Record)]
struct Inner {
    x: f32,
    #[record(len = 4)]
    name: String,
}

#[derive(Record)]
struct Outer {
    #[record(len = 4)]
    inner: [Inner; 2],
}

fn main() {}
