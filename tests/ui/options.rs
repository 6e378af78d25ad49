use ndarray_io::Record;

#[derive(Record)]
struct Skipped {
    #[record(skip, rename = "y")]
    x: f32,
}

#[derive(Record)]
struct Flat {
    #[record(flatten, rename = "y")]
    x: Skipped,
}

#[derive(Record)]
#[record(rename_all = "Title Case")]
struct Case {
    x: f32,
}

#[derive(Record)]
struct Alias {
    x: f32,
    #[record(alias = "x")]
    y: f32,
}

struct NoDefault;

#[derive(Record)]
struct Unmade {
    x: f32,
    #[record(skip)]
    y: NoDefault,
}

#[derive(Record)]
struct Place {
    x: f32,
}

#[derive(Record)]
struct Twice {
    x: f64,
    #[record(flatten)]
    place: Place,
}

#[derive(Record)]
struct NotARecord {
    #[record(flatten)]
    x: f64,
}

#[derive(Record)]
struct Over {
    a: u64,
    #[record(flatten, offset = 4)]
    place: Place,
}

#[derive(Record)]
struct Titled {
    #[record(title = "x")]
    y: u8,
}

#[derive(Record)]
struct TwiceByTitle {
    x: f64,
    #[record(flatten)]
    titled: Titled,
}

#[derive(Record)]
#[record(rename_all = "PascalCase")]
struct NoName {
    __: u8,
}

fn main() {}
