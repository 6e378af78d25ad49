use ndarray::Array1;
use ndarray_io::read_npy;

fn main() -> ndarray_io::Result<()> {
    let means: Array1<f32> = read_npy("means.npy")?;
    println!("{}", means.sum());
    Ok(())
}
