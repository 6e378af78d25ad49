use ndarray_io::Record;

#[derive(Record)]
struct Overlapping {
    x: f64,
    #[record(offset = 4)]
    y: f64,
}

#[derive(Record)]
#[record(size = 10)]
struct Small {
    x: f64,
    y: f64,
}

fn main() {}
