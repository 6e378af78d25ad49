use ndarray_io::Record;

#[derive(Record)]
enum Kind {
    One,
    Two,
}

#[derive(Record)]
union Either {
    one: u32,
    other: f32,
}

#[derive(Record)]
struct Pair(f32, f32);

#[derive(Record)]
struct Nothing;

#[derive(Record)]
struct Borrowed<'a> {
    name: &'a str,
}

fn main() {}
