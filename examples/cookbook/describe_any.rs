use ndarray_io::{Casting, DynArray, read_npy};

fn main() -> ndarray_io::Result<()> {
    for path in ["measured.npy", "names.npy", "points.npy"] {
        let array: DynArray = read_npy(path)?;
        print!("{path}: {}, shape {:?}", array.dtype(), array.shape());
        match array.cast::<f64, ndarray::IxDyn>(Casting::SameKind) {
            Ok(numbers) => println!(", sum {}", numbers.sum()),
            Err(error) if error.is_mismatch() => println!(", no numbers"),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
