//! Copies of strided arrays within memory: between rows and columns, pixels and planes, in steps, and of many short axes.
//!
//! Run with `cargo bench -p ndarray-io-benches --bench strides`.
//! An argument after `--` selects the races whose name contains it.
//!
//! "assign" is ndarray's copy of the elements, "memcpy" one of as many contiguous bytes; all on one thread, into memory that is reused.

use std::hint::black_box;
use std::time::Duration;

use ndarray::{Array2, Array3, ArrayD, ArrayViewD, IxDyn, s};
use ndarray_io::header::Order;
use ndarray_io::{ReadOptions, WritableElement, WriteNpyExt, WriteOptions};
use ndarray_io_benches::{Race, print_head, timed};

const ROUNDS: usize = 15;

fn main() {
    print_head(None);
    elements::<u8>("u8", |number| number as u8);
    elements::<i16>("i16", |number| number as i16);
    elements::<f32>("f32", |number| number as f32);
    elements::<f64>("f64", |number| number as f64);
}

/// Returns the mean time of work that is repeated.
fn repeated(mut work: impl FnMut()) -> Duration {
    const TIMES: u32 = 20;
    timed(|| (0..TIMES).for_each(|_| work())) / TIMES
}

fn elements<A: WritableElement + ndarray_io::ReadableElement + Copy>(name: &str, make: fn(usize) -> A) {
    let matrix = Array2::from_shape_fn((1000, 1200), |(row, column)| make(row * 7 + column));
    let cube = Array3::from_shape_fn((60, 70, 80), |(first, second, third)| make(first + second + third));
    let pixels = Array3::from_shape_fn((400, 400, 3), |(row, column, colour)| make(row + column + colour));
    let planes = Array3::from_shape_fn((3, 400, 400), |(colour, row, column)| make(row + column + colour));
    let short = ArrayD::from_shape_fn(IxDyn(&[2; 18]), |index| make(index[17]));
    for (what, view) in [
        ("transposed", matrix.t().into_dyn()),
        ("every other column", matrix.slice(s![.., ..;2]).into_dyn()),
        ("transposed, every third", matrix.slice(s![.., ..;3]).reversed_axes().into_dyn()),
        ("cube [1, 0, 2]", cube.view().permuted_axes([1, 0, 2]).into_dyn()),
        ("cube [1, 2, 0]", cube.view().permuted_axes([1, 2, 0]).into_dyn()),
        ("cube [0, 2, 1]", cube.view().permuted_axes([0, 2, 1]).into_dyn()),
        ("pixels to planes", pixels.view().permuted_axes([2, 0, 1]).into_dyn()),
        ("planes to pixels", planes.view().permuted_axes([1, 2, 0]).into_dyn()),
        ("part of an image", pixels.slice(s![10..390, 10..390, ..]).into_dyn()),
        ("18 axes of 2, reversed", short.view().reversed_axes()),
    ] {
        write(&format!("write {name}, {what}"), &view, make(0));
    }
    let mut file = Vec::new();
    matrix.write_npy(&mut file).unwrap();
    let one = ReadOptions::new().threads(1);
    for (what, shape, is_turned) in
        [("every other column", (1000, 2400), false), ("transposed", (1200, 1000), true)]
    {
        let mut own = Array2::from_elem(shape, make(0));
        let mut other = own.clone();
        Race::new(format!("read {name} into {what}"))
            .runner("ndarray-io", || {
                repeated(|| {
                    let into =
                        if is_turned { own.view_mut().reversed_axes() } else { own.slice_mut(s![.., ..;2]) };
                    one.read_into(&file[..], &mut { into }).unwrap();
                })
            })
            .runner("assign", || {
                repeated(|| {
                    let into = if is_turned {
                        other.view_mut().reversed_axes()
                    } else {
                        other.slice_mut(s![.., ..;2])
                    };
                    { into }.assign(&matrix);
                })
            })
            .run(ROUNDS);
    }
}

fn write<A: WritableElement + Copy>(what: &str, view: &ArrayViewD<'_, A>, any: A) {
    let one = WriteOptions::new().threads(1).order(Order::C);
    let mut file = Vec::new();
    let mut copy = ArrayD::from_elem(view.raw_dim(), any);
    let (from, mut to) = (vec![1u8; view.len() * size_of::<A>()], vec![0u8; view.len() * size_of::<A>()]);
    Race::new(what)
        .runner("ndarray-io", || {
            repeated(|| {
                file.clear();
                one.write_to(&mut file, view).unwrap();
            })
        })
        .runner("assign", || repeated(|| copy.assign(view)))
        .runner("memcpy", || repeated(|| to.copy_from_slice(black_box(&from))))
        .run(ROUNDS);
}
