use ndarray::{Array2, Axis, s};
use ndarray_io::NpyFile;

fn main() -> ndarray_io::Result<()> {
    let samples = NpyFile::open("samples.npy")?;
    let batch: Array2<f32> = samples.take(0, &[812, 3, 3, 99])?;
    println!("{:?}: {}", batch.shape(), batch.sum_axis(Axis(1)));

    let corner: Array2<f32> = samples.slice(s![..4, ..;2])?;
    println!("{corner}");
    Ok(())
}
