use ndarray::{Array1, Array2};
use ndarray_io::{NpzFile, write_npz};

fn main() -> ndarray_io::Result<()> {
    let model = NpzFile::open("model.npz")?;
    println!("{:?}", model.names()?);

    let weights: Array2<f64> = model.read("weights")?;
    let bias: Array1<f64> = model.read("bias")?;
    let input = Array1::from_iter([1.0, -1.0]);
    let output = weights.dot(&input) + bias;

    write_npz("result.npz", &[("input", &input), ("output", &output)])
}
