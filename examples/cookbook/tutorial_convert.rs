use ndarray::Array1;
use ndarray_io::{Casting, ReadOptions};

fn main() -> ndarray_io::Result<()> {
    let options = ReadOptions::new().casting(Casting::SameKind);
    let means: Array1<f32> = options.read_npy("means.npy")?;
    println!("{}", means.len());
    Ok(())
}
