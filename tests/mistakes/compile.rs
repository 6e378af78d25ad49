// Mistakes that the compiler refuses. Each is a function; the comment above it says what is done, and after `=>` what the message has
// to contain, so that somebody who does not know this library can mend it. `tests/ui.rs` compiles the file and looks for it in the
// messages about the lines of the function. `!` before a text: it is not there yet.

#![allow(unused)]

use ndarray::{Array1, Array2, ArrayD, ArrayView1, Ix1, Ix2};
use ndarray_io::npz::{Compression, NpzOptions};
use ndarray_io::{
    DynArray, Element, FlatArray, NpyFile, NpyMmap, NpyReader, NpyWriter, NpzFile, NpzWriter, ReadNpyExt, ReadOptions, Record,
    ViewNpyExt, WriteNpyExt, WriteOptions, read_npy, read_npz, write_npy,
};

struct NoElement(f64);

#[derive(Record)]
struct Reordered {
    x: f64,
}

#[derive(Record)]
#[repr(C)]
struct WithText {
    name: String,
}

fn main() {}

// reads elements of usize with the trait => `usize` is not a type that elements can be read as => u64 or i64 hold their values
fn m1() -> ndarray_io::Result<()> {
    let a = Array1::<usize>::read_npy(&b""[..])?;
    Ok(())
}

// reads elements of usize by path => `usize` is not a type that elements can be read as => u64 or i64 hold their values
fn m2() -> ndarray_io::Result<()> {
    let a: Array1<usize> = read_npy("x.npy")?;
    Ok(())
}

// writes elements of usize => `usize` is not a type whose elements can be written => u64 or i64 hold their values
fn m3() -> ndarray_io::Result<()> {
    write_npy("x.npy", &Array1::<usize>::zeros(3))
}

// writes elements of usize with the trait => `usize` is not a type whose elements can be written => u64 or i64
fn m4() -> ndarray_io::Result<()> {
    Array1::<usize>::zeros(3).write_npy(Vec::new())
}

// reads structs without a derive => `NoElement` is not a type that elements can be read as => derives Record
fn m5() -> ndarray_io::Result<()> {
    let a: Array1<NoElement> = read_npy("x.npy")?;
    Ok(())
}

// views structs without repr(C) => `Reordered` cannot be viewed => needs #[repr(C)]
fn m6() -> ndarray_io::Result<()> {
    let a = ArrayView1::<Reordered>::view_npy(b"")?;
    Ok(())
}

// maps structs without repr(C) => `Reordered` cannot be viewed => needs #[repr(C)]
fn m7() {
    let a = unsafe { NpyMmap::<Reordered, Ix1>::open("x.npy") };
}

// views text => `String` cannot be viewed => Chars<N>
fn m8() {
    let a = ArrayView1::<String>::view_npy(b"");
}

// views structs with text => a field of the struct cannot be viewed => Chars<N>
fn m9() {
    let a = ArrayView1::<WithText>::view_npy(b"");
}

// reads a vector => `Vec<f64>` is not an array that can be read => `FlatArray`, for
fn m10() -> ndarray_io::Result<()> {
    let a: Vec<f64> = read_npy("x.npy")?;
    Ok(())
}

// swaps the path and the array => `str` is not an array that can be written => the path comes before the array
fn m11() -> ndarray_io::Result<()> {
    write_npy(&Array1::<f64>::zeros(3), "x.npy")
}

// does not say which type is read => is not an array that can be read => say which type is read
fn m12() -> ndarray_io::Result<()> {
    let a = read_npy("x.npy")?;
    println!("{a:?}");
    Ok(())
}

// reads a view => !is not an array that can be read => !a view needs a map
fn m13() -> ndarray_io::Result<()> {
    let a: ArrayView1<f64> = read_npy("x.npy")?;
    Ok(())
}

// reads char => `char` is not a type that elements can be read as => text
fn m14() -> ndarray_io::Result<()> {
    let a: Array1<char> = read_npy("x.npy")?;
    Ok(())
}

// bounds generic code by the trait alone => `T` is not an array that can be written => consider further restricting type parameter `T`
fn m15<T: WriteNpyExt>(array: &T) -> ndarray_io::Result<()> {
    array.write_npy(Vec::new())
}

// bounds generic code of elements by nothing => `A` is not a type that elements can be read as => consider restricting type parameter `A`
fn m16<A>() -> ndarray_io::Result<Array1<A>> {
    read_npy("x.npy")
}

// maps usize => `usize` cannot be viewed => u64 or i64 hold their values
fn m17() {
    let a = unsafe { NpyMmap::<usize, Ix1>::open("x.npy") };
}

// pushes rows of another type => expected `&ArrayRef<f64, _>`
fn m18() -> ndarray_io::Result<()> {
    let mut rows = NpyWriter::<f64>::create("x.npy", &[3])?;
    rows.push(&Array1::<f32>::zeros(3))?;
    rows.finish()?;
    Ok(())
}
