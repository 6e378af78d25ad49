//! Objects: `cargo run --example objects --features object [FILE.npy]`.
//!
//! An array of Python objects is a program that `np.load` executes. This library reads it as data: the
//! example opens an array with an item that would run a command, and prints the command.

use std::path::PathBuf;

use ndarray::{Array1, ArrayD};
use ndarray_io::object::{Object, View};
use ndarray_io::{ReadNpyExt, WriteNpyExt, read_npy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sample = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/objects/commands.npy");
    let path = std::env::args_os().nth(1).map_or(sample, PathBuf::from);
    let array: ArrayD<Object> = read_npy(&path)?;
    for (number, item) in array.iter().enumerate() {
        match item.view() {
            View::Call(call) => println!("{number}: Python would call {:?}, by {item}", call.callable()),
            _ => println!("{number}: {item}"),
        }
    }

    // Write your own objects and read them back.
    let rows = [("name", Object::from("scan")), ("size", 3.into()), ("tags", vec!["a", "b"].into())];
    let mut file = Vec::new();
    Array1::from_elem(1, rows.into_iter().collect::<Object>()).write_npy(&mut file)?;
    let back = Array1::<Object>::read_npy(&file[..])?;
    let size: i64 = back[0].get("size").ok_or("no size")?.try_into()?;
    println!("{} has the size {size}", back[0]);
    Ok(())
}
