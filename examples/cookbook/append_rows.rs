use ndarray::Array2;
use ndarray_io::options::Uncommitted;
use ndarray_io::{WriteOptions, read_npy};

fn main() -> ndarray_io::Result<()> {
    // After a crash, the rows that it has left belong to the array.
    let options = WriteOptions::new().uncommitted(Uncommitted::Recover);
    let mut log = options.append_or_create("log.npy", &[2])?;
    let first = log.rows();
    for step in first..first + 3 {
        let time = step as f64;
        log.push(&[time, time.sqrt()])?;
        log.commit()?; // other programs see the row from here on
        let seen: Array2<f64> = read_npy("log.npy")?;
        println!("{} rows", seen.nrows());
    }
    log.finish()?;
    Ok(())
}
