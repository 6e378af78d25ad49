use ndarray::Array2;
use ndarray_io::{NpzFile, read_npy, write_npy};

fn main() -> ndarray_io::Result<()> {
    let image: Array2<f64> = read_npy("image.npy")?;
    let model = NpzFile::open("model.npz")?;
    let weights: Array2<f64> = model.read("weights")?;
    write_npy("scores.npy", &image.dot(&weights))
}
