use ndarray::{Array2, arr1};
use ndarray_io::file::UncommittedRows;
use ndarray_io::{NpyWriter, WriteOptions, read_npy};

fn main() -> ndarray_io::Result<()> {
    let options = WriteOptions::new();
    let after_a_crash = UncommittedRows::Recover;
    let mut log = NpyWriter::append_or_create_with(
        "log.npy",
        &[2],
        after_a_crash,
        &options,
    )?;
    let first = log.rows();
    for step in first..first + 3 {
        let time = step as f64;
        log.push(&arr1(&[time, time.sqrt()]))?;
        log.checkpoint()?; // other programs see the row from here on
        let seen: Array2<f64> = read_npy("log.npy")?;
        println!("{} rows", seen.nrows());
    }
    log.finish()?;
    Ok(())
}
