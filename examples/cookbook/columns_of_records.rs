use ndarray::Array1;
use ndarray_io::{Casting, DynArray, read_npy, write_npy};

fn main() -> ndarray_io::Result<()> {
    let points: DynArray = read_npy("points.npy")?;
    println!("{}", points.dtype());
    let x: Array1<f64> = points.field("pos.x")?.cast(Casting::Safe)?;
    let y: Array1<f64> = points.field("pos.y")?.cast(Casting::Safe)?;
    let distances = (&x * &x + &y * &y).mapv(f64::sqrt);
    write_npy("distances.npy", &distances)
}
