use ndarray::{Array2, arr1};
use ndarray_io::{NpyWriter, read_npy};

fn main() -> ndarray_io::Result<()> {
    let mut log = NpyWriter::append_or_create("log.npy", &[2])?;
    for step in 0..3 {
        let time = f64::from(step);
        log.push(&arr1(&[time, time.sqrt()]))?;
        log.checkpoint()?; // other programs see the row from here on
        let seen: Array2<f64> = read_npy("log.npy")?;
        println!("{} rows", seen.nrows());
    }
    log.finish()?;
    Ok(())
}
