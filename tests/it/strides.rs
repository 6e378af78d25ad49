//! Arrays of any strides are written as NumPy writes the same views.

use ndarray::{Array3, ArrayD, ArrayView3, ArrayViewD, Axis, Dimension, ShapeBuilder, s};
use ndarray_io::dtype::ByteOrder;
use ndarray_io::{ReadNpyIntoExt, WriteNpyExt, WriteOptions};

use crate::support::manifest;

/// Returns one of the views of `testdata/make.py`.
fn view<'a>(name: &str, base: &'a Array3<i32>, fortran: &'a Array3<i32>) -> ArrayViewD<'a, i32> {
    let view: ArrayView3<'a, i32> = base.view();
    match name {
        "transposed" => view.reversed_axes().into_dyn(),
        "axes_102" => view.permuted_axes([1, 0, 2]).into_dyn(),
        "axes_201" => view.permuted_axes([2, 0, 1]).into_dyn(),
        "axes_021" => view.permuted_axes([0, 2, 1]).into_dyn(),
        "every_second" => base.slice(s![.., .., ..;2]).into_dyn(),
        "reversed" => base.slice(s![..;-1, ..;-1, ..;-1]).into_dyn(),
        "reversed_last" => base.slice(s![.., .., ..;-1]).into_dyn(),
        "middle" => base.slice(s![1.., 1..3, 1..4]).into_dyn(),
        "one_column" => base.slice(s![.., .., 2]).into_dyn(),
        "one_row" => base.slice(s![1, 2, ..]).into_dyn(),
        "first_axis" => base.slice(s![.., 1, 1]).into_dyn(),
        "broadcast_first" => {
            // SAFETY: the strides repeat the first plane, whose elements are contiguous.
            unsafe { ArrayViewD::from_shape_ptr(vec![2, 4, 5].strides(vec![0, 5, 1]), base.as_ptr()) }
        }
        "broadcast_last" => {
            let column = base.slice(s![0, 0, .., ndarray::NewAxis]);
            // SAFETY: the strides repeat each element along the second axis.
            unsafe { ArrayViewD::from_shape_ptr(vec![5, 3].strides(vec![1, 0]), column.as_ptr()) }
        }
        "empty" => base.slice(s![.., 2..2, ..;2]).into_dyn(),
        "transposed_step" => view.reversed_axes().slice_move(s![..;2, ..;-1, 1..]).into_dyn(),
        "inserted" => base.slice(s![.., ndarray::NewAxis, .., 1]).into_dyn(),
        "fortran" => fortran.view().into_dyn(),
        "fortran_step" => fortran.slice(s![..;2, .., ..]).into_dyn(),
        // SAFETY: six windows of four elements are within the first nine elements.
        "windows" => unsafe { ArrayViewD::from_shape_ptr(vec![6, 4].strides(vec![1, 1]), base.as_ptr()) },
        other => panic!("the test does not know the view '{other}'"),
    }
}

#[test]
fn views_are_written_as_numpy_writes_them() {
    let folder = manifest::testdata();
    let base: Array3<i32> = ndarray_io::read_npy(folder.join("views-base.npy")).unwrap();
    let mut fortran = Array3::zeros(base.raw_dim().f());
    fortran.assign(&base);
    let mut seen = 0;
    for case in manifest::cases(&folder) {
        let Some(name) = case.line["view"].as_str() else { continue };
        let view = view(name, &base, &fortran);
        let mut written = Vec::new();
        view.write_npy_with(&mut written, &WriteOptions::new().byte_order(ByteOrder::Little)).unwrap();
        assert_eq!(written.escape_ascii().to_string(), case.bytes.escape_ascii().to_string(), "{name}");
        // The bytes can be read into an array of the view's strides, unless elements overlap.
        if !name.starts_with("broadcast") && name != "windows" {
            let mut target = view.to_owned();
            target.fill(-1);
            target.read_npy_into(&case.bytes[..]).unwrap();
            assert_eq!(target, view, "{name}");
        }
        seen += 1;
    }
    assert_eq!(seen, 19);
}

/// The views are large enough for several blocks, several threads and all remainders of tiles.
#[test]
fn large_views_are_gathered_in_order() {
    fn check<A>(make: impl Fn(usize) -> A)
    where
        A: ndarray_io::WritableElement + Copy + Into<f64>,
    {
        let base = Array3::from_shape_fn((37, 70, 83), |(a, b, c)| make(a * 31 + b * 7 + c));
        let views: [ArrayViewD<'_, A>; 8] = [
            base.view().permuted_axes([2, 0, 1]).into_dyn(),
            base.view().permuted_axes([2, 1, 0]).slice_move(s![.., ..;-1, ..]).into_dyn(),
            base.view().permuted_axes([1, 0, 2]).into_dyn(),
            base.view().permuted_axes([0, 2, 1]).into_dyn(),
            base.slice(s![.., .., ..;2]).into_dyn(),
            base.slice(s![..;-1, .., ..;-3]).into_dyn(),
            base.view().permuted_axes([1, 2, 0]).slice_move(s![..;5, ..;-1, 3..]).into_dyn(),
            base.slice(s![1, .., ..]).reversed_axes().insert_axis(Axis(1)).into_dyn(),
        ];
        for (number, view) in views.iter().enumerate() {
            for threads in [1, 2, 3] {
                for order in [ndarray_io::header::Order::C, ndarray_io::header::Order::Fortran] {
                    let options = WriteOptions::new().threads(threads).order(order);
                    let mut written = Vec::new();
                    view.write_npy_with(&mut written, &options).unwrap();
                    let logical = if order == ndarray_io::header::Order::C {
                        view.view()
                    } else {
                        view.view().reversed_axes()
                    };
                    let start = written.len() - view.len() * size_of::<A>();
                    let items = written[start..].chunks_exact(size_of::<A>());
                    let wrong = items.zip(logical.iter()).position(|(bytes, item)| {
                        // SAFETY: an A consists of plain numbers, and these bytes were written from one.
                        let read = unsafe { bytes.as_ptr().cast::<A>().read_unaligned() };
                        read.into() != (*item).into()
                    });
                    assert_eq!(wrong, None, "view {number}, {threads} threads, {order:?}");
                }
            }
        }
    }
    check(|number| number as f64);
    check(|number| number as f32);
    check(|number| number as i16);
    check(|number| number as u8);
}

#[test]
fn strange_shapes_are_gathered() {
    for (shape, step) in [(vec![1, 1], 1), (vec![0, 5], 1), (vec![2_000_000], 3), (vec![500_000, 2, 2], -1)] {
        let array = ArrayD::from_shape_fn(shape, |index| index.as_array_view().sum() as u32);
        let mut view = array.view();
        view.slice_axis_inplace(Axis(0), ndarray::Slice::new(0, None, step));
        let view = view.reversed_axes();
        let mut written = Vec::new();
        view.write_npy_with(&mut written, &WriteOptions::new().order(ndarray_io::header::Order::C)).unwrap();
        let expected: Vec<u8> = view.iter().flat_map(|item| item.to_ne_bytes()).collect();
        assert!(written[written.len() - expected.len()..] == expected);
    }
}
