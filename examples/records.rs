//! Structs as elements: `cargo run --release --example records`.
//!
//! A star catalog, written as a NumPy record array and read in several ways: completely, by columns, and
//! viewed without copying.

use ndarray::{Array1, ArrayView1, Ix1};
use ndarray_io::element::Chars;
use ndarray_io::{
    DynArray, NpyReader, ReadNpyExt, ReadOptions, Record, ViewNpyExt, WriteNpyExt, read_npy, write_npy,
};

/// In the file, the fields are in this order without padding:
/// `[('name', '<U12'), ('position', '<f8', (3,)), ('mag', '<f4')]`.
#[derive(Record, Clone, Debug, PartialEq)]
struct Star {
    #[record(len = 12)]
    name: String,
    position: [f64; 3],
    #[record(rename = "mag")]
    magnitude: f32,
}

/// The same record with the same layout in memory as in the file, so that it can be viewed without copying.
#[derive(Record, Clone, Copy)]
#[repr(C, packed)]
struct StarBytes {
    name: Chars<12>,
    position: [f64; 3],
    mag: f32,
}

/// A struct with only the field that is needed.
#[derive(Record)]
struct Magnitude {
    mag: f32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let star = |name: &str, position, magnitude| Star { name: name.to_owned(), position, magnitude };
    let stars = Array1::from(vec![
        star("Vega", [1.9, -6.9, 4.8], 0.03),
        star("Arcturus", [-8.8, -6.0, 3.6], -0.05),
        star("Sirius", [-0.5, 2.5, -0.8], -1.46),
    ]);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("stars.npy");
    write_npy(&path, &stars)?;
    println!("{}", NpyReader::new(std::fs::File::open(&path)?)?.dtype());

    // Read complete records.
    let read: Array1<Star> = read_npy(&path)?;
    assert_eq!(read, stars);
    let brightest = read.iter().min_by(|one, other| one.magnitude.total_cmp(&other.magnitude));
    println!("the brightest is {brightest:?}");

    // Read only some of the fields.
    let options = ReadOptions::new().ignore_extra_fields(true);
    let magnitudes = options.read_from::<Array1<Magnitude>>(std::fs::File::open(&path)?)?;
    println!("{} magnitudes, the first {}", magnitudes.len(), magnitudes[0].mag);

    // View records without copying. (This also works for mapped files: `NpyMmap::<StarBytes, Ix1>`.)
    let mut bytes = Vec::new();
    stars.write_npy(&mut bytes)?;
    let view = ArrayView1::<StarBytes>::view_npy(&bytes)?;
    println!("viewed: {:?} at {:?}, {}", { view[2].name }, { view[2].position }, { view[2].mag });

    // Read a column of any record, without a struct.
    let dynamic: DynArray = read_npy(&path)?;
    println!("magnitudes: {}", dynamic.field("mag")?);
    println!("their sum: {}", dynamic.field("mag")?.into_array::<f32, Ix1>()?.sum());

    // Errors name what does not match.
    let error = Array1::<Magnitude>::read_npy(std::fs::File::open(&path)?).err();
    println!("without the option: {}", error.map(|error| error.to_string()).unwrap_or_default());
    Ok(())
}
