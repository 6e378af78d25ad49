//! Adds a part to a stack of NPY files that Dask can read.
//!
//! Run with `cargo run --example stack --features dask -- FOLDER`. A new folder becomes a stack of days.
//! Each day has a number of hours, with the values of three sensors.

use ndarray::Array2;
use ndarray_io::dask::{NpyStack, NpyStackWriter};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let temporary = std::env::temp_dir().join(format!("ndarray-io-stack-{}", std::process::id()));
    let argument = std::env::args_os().nth(1);
    let folder = argument.as_ref().map_or(temporary, std::path::PathBuf::from);

    let mut writer = match folder.join("info").exists() {
        true => NpyStackWriter::append(&folder)?,
        // Parts of shape (hours, 3), concatenated along axis 0.
        false => NpyStackWriter::create(&folder, &"<f8".parse()?, &[3], 0)?,
    };
    let day = writer.lengths().len();
    let hours = 24 - day;
    writer
        .push(&Array2::from_shape_fn((hours, 3), |(hour, sensor)| (100 * day + 10 * sensor + hour) as f64))?;
    writer.finish()?; // commits the part

    let stack = NpyStack::open(&folder)?;
    println!("{} days, {} hours, lengths {:?}", day + 1, stack.shape()[0], stack.lengths());
    if argument.is_none() {
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(())
}
