use ndarray_io::NpyWriter;

/// Rows of 0 0, 1 1, 2 2 and so on, until the process is killed.
fn main() -> ndarray_io::Result<()> {
    let mut log = NpyWriter::create("log.npy", &[2])?;
    let mut count = 0.0;
    loop {
        log.push(&[count, count])?;
        log.commit()?;
        count += 1.0;
    }
}
