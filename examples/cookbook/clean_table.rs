use ndarray::{Array1, Array2, Axis};
use ndarray_io::{read_npy, write_npy};

fn main() -> ndarray_io::Result<()> {
    let mut table: Array2<f64> = read_npy("measured.npy")?;
    let mean = table.mean_axis(Axis(0)).unwrap();
    let deviation: Array1<f64> = table.std_axis(Axis(0), 0.0);
    table -= &mean;
    table /= &deviation;
    write_npy("normalized.npy", &table)
}
