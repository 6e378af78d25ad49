//! Archives: `cargo run --release --example npz [FILE.npz …]`.
//!
//! With files, prints their contents. Without files, writes, reads, updates and maps an archive of its own.

#![allow(unsafe_code)] // mapping is unsafe: the example is the only user of its file

use std::path::Path;

use ndarray::{Array1, Array2, Ix2, arr1};
use ndarray_io::npz::NpzMmap;
use ndarray_io::{Compression, DynArray, NpzFile, NpzUpdate, WriteOptions, read_npz, write_npz};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    for path in &paths {
        describe(Path::new(path))?;
    }
    if !paths.is_empty() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.npz");

    // Write and read in one line each. An existing file is replaced atomically.
    let (weights, labels) = (Array2::<f32>::zeros((100, 50)), arr1(&["cat".to_owned(), "dog".to_owned()]));
    write_npz(&path, &[("weights", &weights), ("labels", &labels)])?;
    let arrays = read_npz(&path)?;
    println!("labels: {}", arrays["labels"]);

    // Read members as typed arrays. The archive can be shared across threads.
    let npz = NpzFile::open(&path)?;
    let weights: Array2<f32> = npz.read("weights")?;
    println!("weights: {:?}, {}", weights.shape(), npz.peek("weights")?.header.dtype());

    // Map stored members, without copying them.
    // SAFETY: no process changes the file while it is mapped.
    let map = unsafe { NpzMmap::open(&path)? };
    println!("mapped: {}", map.view::<f32, Ix2>("weights")?[[99, 49]]);

    // Add, replace and remove members. The others are copied unchanged.
    let trained = Array2::<f32>::ones((100, 50));
    NpzUpdate::open(&path)?.replace("weights", &trained)?.add("epoch", &arr1(&[1u32]))?.finish()?;
    println!("updated: {:?}", NpzFile::open(&path)?.names()?);
    println!("the map still has {}", map.view::<f32, Ix2>("weights")?[[99, 49]]);

    // Write to any writer, compressed on all cores.
    let options = WriteOptions::new().compression(Compression::DEFLATE);
    let mut npz = options.npz_writer(Vec::new())?;
    npz.add("numbers", &Array1::from_iter(0..1_000_000u32))?;
    println!("4,000,000 bytes deflated to {}", npz.finish()?.len());
    describe(&path)
}

fn describe(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let npz = NpzFile::open(path)?;
    println!("{}: {} members", path.display(), npz.len());
    for member in npz.members() {
        print!("  {:16} {:>9} bytes in {:>9}", member.file_name(), member.size(), member.compressed_size());
        match npz.read::<DynArray>(member.file_name()) {
            Ok(array) => println!("  {} {:?}", array.dtype(), array.shape()),
            Err(error) => println!("  {error}"),
        }
    }
    Ok(())
}
