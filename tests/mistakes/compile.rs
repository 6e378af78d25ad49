// Mistakes that the compiler refuses. Each is a function; the comment above it says what is done, and after `=>` what the message has
// to contain, so that somebody who does not know this library can mend it. `tests/ui.rs` compiles the file and looks for it in the
// messages about the lines of the function. `!` before a text: it is not there yet.

#![allow(unused)]

use ndarray::{Array1, Array2, ArrayD, ArrayView1, Ix1, Ix2};
use ndarray_io::{Compression, DynArray, Element, FlatArray, NpyFile, NpyMmap, NpyReader, NpyWriter, NpzFile, NpzWriter, ReadNpyExt, ReadOptions, Record, ViewNpyExt, WriteNpyExt, WriteOptions, read_npy, read_npz, write_npy};

struct NoElement(f64);

#[derive(Record)]
struct WithoutReprC {
    x: f64,
}

#[derive(Record)]
#[repr(C)]
struct WithText {
    name: String,
}

fn main() {}

// reads elements of usize with the trait => usize>` is not an array that can be read => u64 or i64 hold their values
fn read_usize_by_trait() -> ndarray_io::Result<()> {
    let a = Array1::<usize>::read_npy(&b""[..])?;
    Ok(())
}

// reads elements of usize by path => `usize` is not a type that elements can be read as => u64 or i64 hold their values
fn read_usize_by_path() -> ndarray_io::Result<()> {
    let a: Array1<usize> = read_npy("x.npy")?;
    Ok(())
}

// writes elements of usize => `usize` is not a type whose elements can be written => u64 or i64 hold their values
fn write_usize_by_path() -> ndarray_io::Result<()> {
    write_npy("x.npy", &Array1::<usize>::zeros(3))
}

// writes elements of usize with the trait => usize>` is not an array that can be written => u64 or i64
fn write_usize_by_trait() -> ndarray_io::Result<()> {
    Array1::<usize>::zeros(3).write_npy(Vec::new())
}

// reads structs without a derive => `NoElement` is not a type that elements can be read as => derives Record
fn read_structs_without_derive() -> ndarray_io::Result<()> {
    let a: Array1<NoElement> = read_npy("x.npy")?;
    Ok(())
}

// views structs without repr(C) => `WithoutReprC: ViewElement`
fn view_structs_without_repr_c() -> ndarray_io::Result<()> {
    let a = ArrayView1::<WithoutReprC>::view_npy(b"")?;
    Ok(())
}

// maps structs without repr(C) => `WithoutReprC` cannot be viewed => needs #[repr(C)]
fn map_structs_without_repr_c() {
    let a = unsafe { NpyMmap::<WithoutReprC, Ix1>::open("x.npy") };
}

// views text => `String: ViewElement`
fn view_text() {
    let a = ArrayView1::<String>::view_npy(b"");
}

// views structs with text => `WithText: ViewElement`
fn view_structs_with_text() {
    let a = ArrayView1::<WithText>::view_npy(b"");
}

// reads a vector => `Vec<f64>` is not an array that can be read => `FlatArray`, for
fn read_vector() -> ndarray_io::Result<()> {
    let a: Vec<f64> = read_npy("x.npy")?;
    Ok(())
}

// swaps the path and the array => `str` is not an array that can be written => the path comes before the array
fn write_with_swapped_arguments() -> ndarray_io::Result<()> {
    write_npy(&Array1::<f64>::zeros(3), "x.npy")
}

// does not say which type is read => is not an array that can be read => say which type is read
fn read_unspecified_type() -> ndarray_io::Result<()> {
    let a = read_npy("x.npy")?;
    println!("{a:?}");
    Ok(())
}

// reads a view => !is not an array that can be read => !a view needs a map
fn read_view() -> ndarray_io::Result<()> {
    let a: ArrayView1<f64> = read_npy("x.npy")?;
    Ok(())
}

// reads char => `char` is not a type that elements can be read as => text
fn read_char() -> ndarray_io::Result<()> {
    let a: Array1<char> = read_npy("x.npy")?;
    Ok(())
}

// writes structs without a derive with the trait => NoElement>` is not an array that can be written => a struct derives Record
fn write_structs_without_derive(array: Array1<NoElement>) -> ndarray_io::Result<()> {
    array.write_npy(Vec::new())
}

// bounds generic code of elements by nothing => `A` is not a type that elements can be read as => consider restricting type parameter `A`
fn read_unbounded_elements<A>() -> ndarray_io::Result<Array1<A>> {
    read_npy("x.npy")
}

// maps usize => `usize` cannot be viewed => u64 or i64 hold their values
fn map_usize() {
    let a = unsafe { NpyMmap::<usize, Ix1>::open("x.npy") };
}

// pushes an array whose type is known at run time => `DynArray` is not rows of `f64` => from `append_dyn`, takes `DynArray
fn push_dyn_array_to_typed_rows(rows: &DynArray) -> ndarray_io::Result<()> {
    let mut log = NpyWriter::<f64>::create("x.npy", &[3])?;
    log.push(rows)
}

// pushes rows of another type => expected `f64`, found `f32`
fn push_rows_of_other_type() -> ndarray_io::Result<()> {
    let mut rows = NpyWriter::<f64>::create("x.npy", &[3])?;
    rows.push(&Array1::<f32>::zeros(3))?;
    rows.finish()?;
    Ok(())
}
