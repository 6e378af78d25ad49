use ndarray::Array1;
use ndarray_io::npy::read_npy_with;
use ndarray_io::{Casting, ReadOptions};

fn main() -> ndarray_io::Result<()> {
    let options = ReadOptions::new().casting(Casting::SameKind);
    let means: Array1<f32> = read_npy_with("means.npy", &options)?;
    println!("{}", means.len());
    Ok(())
}
