use ndarray_io::Record;

#[derive(Record)]
struct Unknown {
    #[record(name = "x")]
    x: f32,
}

#[derive(Record)]
#[record(packed)]
struct UnknownOfStruct {
    x: f32,
}

#[derive(Record)]
struct Twice {
    #[record(rename = "a", rename = "b")]
    x: f32,
}

#[derive(Record)]
struct SameName {
    x: f32,
    #[record(rename = "x")]
    y: f32,
}

#[derive(Record)]
struct SameTitle {
    x: f32,
    #[record(title = "x")]
    y: f32,
}

#[derive(Record)]
struct NoName {
    #[record(rename = "")]
    x: f32,
}

fn main() {}
