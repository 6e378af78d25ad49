use std::io::{BufRead, BufReader};

use ndarray_io::NpyWriter;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut lines =
        BufReader::new(std::fs::File::open("prices.csv")?).lines();
    let columns = lines.next().ok_or("no head")??.split(',').count();

    let mut rows = NpyWriter::<f64, _>::create("prices.npy", &[columns])?;
    for line in lines {
        let line = line?;
        let row = line.split(',').map(str::parse);
        rows.extend(row.collect::<Result<Vec<f64>, _>>()?)?;
    }
    rows.finish()?;
    Ok(())
}
