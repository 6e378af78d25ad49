use ndarray::{Array1, Array3, Axis};
use ndarray_io::{read_npy, write_npy};

fn main() -> ndarray_io::Result<()> {
    let images: Array3<u8> = read_npy("images.npy")?;
    println!("{} images", images.len_of(Axis(0)));

    let means: Array1<f64> = images
        .outer_iter()
        .map(|image| image.mapv(f64::from).mean().unwrap())
        .collect();
    write_npy("means.npy", &means)
}
