//! What `.ci/frames` runs in a debugger, to count the functions between a user and a system call.

use std::fs::File;
use std::path::Path;

use ndarray::Array2;
use ndarray_io::{NpzFile, NpzWriter, ReadNpyExt, read_npy, write_npy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, folder] = &arguments[..] else { panic!("frames WHAT FOLDER") };
    let (npy, npz) = (Path::new(folder).join("a.npy"), Path::new(folder).join("a.npz"));
    // More than a small member that is compressed, less than what several threads read.
    let array = Array2::from_shape_fn((300, 300), |(row, column)| ((row * column) as f64).sqrt());
    match &**what {
        "write_npy" => write_npy(&npy, &array)?,
        "pack" => {
            let mut archive = NpzWriter::new_compressed(File::create(&npz)?);
            archive.add("a", &array)?;
            archive.finish()?;
        }
        "read_npy" => assert_eq!(read_npy::<_, Array2<f64>>(&npy)?, array),
        "read_npy_file" => assert_eq!(Array2::<f64>::read_npy(File::open(&npy)?)?, array),
        "member" => assert_eq!(NpzFile::open(&npz)?.read::<Array2<f64>>("a")?, array),
        other => panic!("{other} is not known"),
    }
    Ok(())
}
