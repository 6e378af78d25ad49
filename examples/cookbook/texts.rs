use ndarray::Array1;
use ndarray_io::{read_npy, write_npy};

fn main() -> ndarray_io::Result<()> {
    let names: Array1<String> = read_npy("names.npy")?;
    let mut sorted = names.to_vec();
    sorted.sort_by_key(|name| name.to_lowercase());
    write_npy("sorted.npy", &sorted)
}
