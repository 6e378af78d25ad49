//! Arrays larger than memory: `cargo run --release --example large_arrays [FOLDER]`.
//!
//! These are the use cases for which NumPy's format was proposed: exchanging files with users of NumPy,
//! records for users without Python, intermediate data that is written as it is computed, and an array that
//! several processes fill. If a folder is given, the files are kept there, for use in NumPy.

#![allow(unsafe_code)] // mapping is unsafe: the example is the only user of its file

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use ndarray::{Array1, Array2, Ix2, s};
use ndarray_io::convert::{Conversion, convert_npy};
use ndarray_io::header::Order;
use ndarray_io::{NpyFile, NpyMmapMut, NpyWriter, Record, WriteOptions, write_npy};

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Particle {
    id: u32,
    position: [f32; 3],
    momentum: Momentum,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Momentum {
    x: f64,
    y: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [fill, path, number] = &arguments[..]
        && fill == "fill"
    {
        return fill_slab(Path::new(path), number.parse()?);
    }
    let temporary = tempfile::tempdir()?;
    let folder = arguments.first().map_or(temporary.path(), |folder| Path::new(folder));
    std::fs::create_dir_all(folder)?;

    // For users of NumPy: the file is all they need.
    let simple = Array2::from_shape_fn((3, 4), |(row, column)| (row * 10 + column) as u32);
    write_npy(folder.join("simple.npy"), &simple)?;

    // For users without Python: nested records, whose names and types are in the file.
    let particle =
        |id| Particle { id, position: [id as f32; 3], momentum: Momentum { x: 0.5, y: -f64::from(id) } };
    let particles = folder.join("particles.npy");
    write_npy(&particles, &Array1::from_iter((0..5).map(particle)))?;
    println!("records of {}", NpyFile::open(&particles)?.dtype());

    // Intermediate data: write rows as they are computed, update the header at commits, and append later.
    let log = folder.join("log.npy");
    let mut writer = NpyWriter::create(&log, &[3])?;
    for step in 0..1000 {
        writer.push(&[f64::from(step), f64::from(step).sin(), f64::from(step).cos()])?;
        if step % 100 == 0 {
            writer.commit()?;
        }
    }
    writer.finish()?;
    NpyWriter::append(&log)?.push_and_finish(&[1000.0, 0.0, 1.0])?;

    // Read parts of the file, and then all of it piece by piece.
    let file = NpyFile::open(&log)?;
    println!("every hundredth sine: {:.2}", file.slice::<f64, _>(s![..;100, 1])?);
    let mut largest = f64::MIN;
    file.chunks::<f64, Ix2>(0, 64)?.read_ahead(|chunk| {
        largest = chunk.column(2).fold(largest, |largest, item| largest.max(*item));
        ControlFlow::Continue(())
    })?;
    println!("the largest cosine of {:?} is {largest}", file.shape());
    convert_npy(&log, folder.join("columns.npy"), Conversion::new().order(Order::Fortran).memory(4096))?;

    // One array that several processes fill: this program starts itself, each time for other rows.
    let shared = folder.join("shared.npy");
    let options = WriteOptions::new().preallocate(true);
    options.write_zeroed_npy::<f32, _>(&std::fs::File::create(&shared)?, (400, 100))?;
    let mut children = Vec::new();
    for number in 0..4 {
        let program = std::env::current_exe()?;
        children.push(Command::new(program).arg("fill").arg(&shared).arg(number.to_string()).spawn()?);
    }
    for mut child in children {
        assert!(child.wait()?.success());
    }
    println!("filled together: {:?}", NpyFile::open(&shared)?.slice::<f32, _>(s![..;100, 0])?);
    Ok(())
}

fn fill_slab(path: &Path, number: usize) -> Result<(), Box<dyn std::error::Error>> {
    // SAFETY: each process has its own rows, and no process truncates the file.
    let mut slab = unsafe { NpyMmapMut::<f32, Ix2>::open_slab(path, number * 100..(number + 1) * 100)? };
    slab.view_mut().fill(number as f32);
    slab.sync()?;
    Ok(())
}
