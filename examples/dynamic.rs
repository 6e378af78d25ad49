//! Arrays whose type is known only at run time: `cargo run --release --example dynamic [FILE.npy …]`.
//!
//! Prints the content of each file. Without a file, prints an array of records that it makes itself.

use ndarray::arr1;
use ndarray_io::dtype::Kind;
use ndarray_io::{DynArray, WriteNpyExt, read_npy, with_numbers};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    if paths.is_empty() {
        return show(&records()?);
    }
    for path in paths {
        println!("{}", path.to_string_lossy());
        show(&read_npy(&path)?)?;
    }
    Ok(())
}

fn show(array: &DynArray) -> Result<(), Box<dyn std::error::Error>> {
    println!("dtype {}, shape {:?}, {:?} order", array.dtype(), array.shape(), array.order());
    println!("{array}");
    if let ndarray_io::DType::Record(record) = array.dtype() {
        for field in record.fields() {
            println!("field '{}': {}", field.name(), array.field(field.name())?);
        }
    }
    let is_number =
        array.dtype().as_scalar().is_some_and(|scalar| matches!(scalar.kind(), Kind::Int | Kind::Float));
    if is_number {
        let sum = with_numbers!(array, |view| view.iter().map(|item| *item as f64).sum::<f64>())?;
        println!("the sum is {sum}");
    }
    // Writing the array back produces the same file.
    array.write_npy(std::io::sink())?;
    Ok(())
}

/// Makes an array of two records of columns, whose names a program could have read from a file.
fn records() -> ndarray_io::Result<DynArray> {
    let names = DynArray::new(&arr1(&["one".to_owned(), "two".to_owned()]))?;
    let x = DynArray::new(&arr1(&[[1f32, 2.0], [0.5, -3.25]]))?;
    DynArray::from_columns([("name", &names), ("x", &x)])
}
