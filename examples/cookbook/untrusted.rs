use ndarray::ArrayD;
use ndarray_io::{Limits, ReadNpyExt, ReadOptions};

/// What a server makes of an upload: an array of at most a megabyte, or a reason.
fn receive(upload: &[u8]) -> Result<ArrayD<f32>, String> {
    let limits = Limits::new().payload(1_000_000);
    let options = ReadOptions::new().limits(limits);
    ArrayD::<f32>::read_npy_with(upload, &options).map_err(|error| {
        match error.help() {
            Some(help) => format!("{error} ({help})"),
            None => error.to_string(),
        }
    })
}

fn main() -> std::io::Result<()> {
    for path in ["good.npy", "large.npy", "short.npy", "page.html"] {
        match receive(&std::fs::read(path)?) {
            Ok(array) => println!("{path}: {:?}", array.shape()),
            Err(reason) => println!("{path}: {reason}"),
        }
    }
    Ok(())
}
