use ndarray::Array1;
use ndarray_io::{Limits, ReadOptions};

/// What a server makes of an upload: points, or a status of HTTP and a reason.
fn receive(upload: &[u8]) -> Result<Array1<[f32; 2]>, (u16, String)> {
    let limits = Limits::new().payload(1_000_000); // of the elements in the file
    let options = ReadOptions::new().limits(limits);
    let mut rest = upload;
    let points = options.read_from::<Array1<_>>(&mut rest);
    let points = points.map_err(|error| {
        let status = match () {
            () if error.is_limit() => 413,
            () if error.is_format() || error.is_mismatch() => 400,
            () => 500,
        };
        (status, error.to_string())
    })?;
    if !rest.is_empty() {
        return Err((400, "there are bytes after the array".into()));
    }
    Ok(points)
}

fn main() -> std::io::Result<()> {
    for path in [
        "good.npy",
        "wide.npy",
        "large.npy",
        "short.npy",
        "page.html",
    ] {
        match receive(&std::fs::read(path)?) {
            Ok(points) => println!("{path}: {} points", points.len()),
            Err((status, reason)) => println!("{path}: {status}, {reason}"),
        }
    }
    Ok(())
}
