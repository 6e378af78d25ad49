use std::io::{BufReader, BufWriter, Write};
use std::process::{Command, Stdio};

use ndarray::Ix2;
use ndarray_io::NpyReader;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Any reader: a pipe, a socket, a decompressor.
    let mut child = Command::new("gzip")
        .args(["-dc", "measured.npy.gz"])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut reader =
        NpyReader::new(BufReader::new(child.stdout.take().unwrap()))?;

    let mut csv = BufWriter::new(std::fs::File::create("measured.csv")?);
    for row in reader.rows::<f64, Ix2>()? {
        let texts: Vec<String> = row?.iter().map(f64::to_string).collect();
        writeln!(csv, "{}", texts.join(","))?;
    }
    csv.flush()?;

    // Nothing may follow; and only now gzip has checked all of it.
    if reader.next_array()? {
        return Err("there is a second array".into());
    }
    drop(reader);
    match child.wait()?.success() {
        true => Ok(()),
        false => Err("the stream is damaged".into()),
    }
}
