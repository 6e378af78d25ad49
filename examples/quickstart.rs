//! Common tasks, one after another: `cargo run --release --example quickstart [FILE.npy]`.
//!
//! With a file, describes it. Without one, writes, reads, views and maps an array of its own.

#![allow(unsafe_code)] // mapping is unsafe: the example is the only user of its file

use std::fs::File;
use std::path::Path;

use ndarray::{Array2, ArrayD, Ix2, s};
use ndarray_io::header::Shape;
use ndarray_io::{Casting, NpyReader, ReadNpyExt, ReadOptions, WriteNpyExt, read_npy, write_npy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(path) = std::env::args_os().nth(1) {
        return describe(Path::new(&path));
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("waves.npy");

    // Write what `numpy.save` would write, and read it back.
    let waves = Array2::from_shape_fn((1000, 512), |(row, column)| ((row * column) as f64 / 1e3).sin());
    write_npy(&path, &waves)?;
    let read: Array2<f64> = read_npy(&path)?;
    assert_eq!(read, waves);
    println!("wrote and read {} elements; their sum is {:.3}", read.len(), read.sum());

    // Use any reader and writer, and arrays with any strides.
    waves.slice(s![..;-1, ..;2]).write_npy(File::create(&path)?)?;
    let halved = Array2::<f64>::read_npy(File::open(&path)?)?;
    println!("every second column, from the last row: {:?}", halved.shape());

    // Numbers of another type are converted only on request.
    let singles: ArrayD<f32> = ReadOptions::new().casting(Casting::SameKind).read_npy(&path)?;
    let error = read_npy::<_, Array2<f32>>(&path).unwrap_err();
    println!("as f32, converted: {:?}; not converted: {error}", singles.shape());

    // Mapping takes the same time for files of any size.
    // SAFETY: no other process uses the file.
    let mut map = unsafe { ndarray_io::NpyMmapMut::<f64, Ix2>::open(&path)? };
    map.view_mut().row_mut(0).fill(0.0);
    println!("the first row of the mapped file is cleared: {}", map.view().row(0).sum());
    describe(&path)
}

/// Describes a file without reading its elements.
fn describe(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let reader = NpyReader::new(File::open(path)?)?;
    println!(
        "{}: version {:?}, dtype {}, shape {}, {:?} order, elements from byte {}",
        path.file_name().unwrap_or_default().to_string_lossy(),
        reader.npy_header().map(|header| header.version),
        reader.dtype(),
        Shape::from(reader.shape()),
        reader.order(),
        reader.data_offset(),
    );
    Ok(())
}
