use ndarray::Array2;
use ndarray_io::{read_npy, write_npy};

fn main() -> ndarray_io::Result<()> {
    let table: Array2<f64> = read_npy("columns.npy")?;
    println!("{:?}, {}", table.strides(), table[[0, 1]]);
    println!("{:?}", table.as_slice());

    let by_rows = table.as_standard_layout();
    println!("{:?}", by_rows.as_slice());

    write_npy("columns_again.npy", &table)?;
    write_npy("rows.npy", &by_rows)
}
