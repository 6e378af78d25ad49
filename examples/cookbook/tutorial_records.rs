use ndarray::Array1;
use ndarray_io::{Record, read_npy, write_npy};

#[derive(Record, Clone)]
struct Star {
    #[record(len = 16)]
    name: String,
    position: [f64; 3],
    #[record(rename = "mag")]
    magnitude: f32,
}

fn main() -> ndarray_io::Result<()> {
    let stars: Array1<Star> = read_npy("stars.npy")?;
    let bright: Array1<Star> = stars
        .iter()
        .filter(|star| star.magnitude < 1.0)
        .cloned()
        .collect();
    for star in &bright {
        println!("{} at {:?}", star.name, star.position);
    }
    write_npy("bright.npy", &bright)
}
