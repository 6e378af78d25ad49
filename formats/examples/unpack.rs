//! Writes the arrays of a file of another format as NPY files into a folder.
//!
//! `cargo run -p ndarray-io-formats --write_all_tensors-features --example unpack -- model.safetensors folder`

use std::error::Error;
use std::path::{Path, PathBuf};

use ndarray_io::{DynArray, write_npy};
use ndarray_io_formats::Tensors;
use ndarray_io_formats::gguf::Gguf;
use ndarray_io_formats::safetensors::SafeTensors;
use ndarray_io_formats::sparse::Sparse;
use ndarray_io_formats::torch::Torch;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(path), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("name a file and a folder".into());
    };
    std::fs::create_dir_all(&folder)?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("safetensors" | "json") => write_all_tensors(SafeTensors::open(&path)?.tensors(), &folder),
        Some("gguf") => write_all_tensors(Gguf::open(&path)?.tensors(), &folder),
        Some("pt" | "pth" | "bin") => {
            let file = Torch::open(&path)?;
            for tensor in file.tensors() {
                write_array(tensor.name(), &file.read(tensor.name())?, &folder)?;
            }
            Ok(())
        }
        _ => {
            let matrix = Sparse::read(&path)?;
            println!(
                "{} {:?} {} of {}",
                matrix.format(),
                matrix.shape(),
                matrix.stored(),
                matrix.data().dtype()
            );
            Ok(matrix.write_dense(folder.join("dense.npy"), &Default::default())?)
        }
    }
}

fn write_all_tensors(tensors: &Tensors, folder: &Path) -> Result<(), Box<dyn Error>> {
    tensors.names().try_for_each(|name| write_array(name, &tensors.read(name)?, folder))
}

fn write_array(name: &str, array: &DynArray, folder: &Path) -> Result<(), Box<dyn Error>> {
    println!("{name:?} {:?} {}", array.shape(), array.dtype());
    // A name from a file is not a path.
    let name: String =
        name.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    Ok(write_npy(folder.join(format!("_{name}.npy")), array)?)
}
