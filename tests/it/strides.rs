//! Arrays of any strides are written as NumPy writes the same views.

use ndarray::{Array3, ArrayD, ArrayView3, ArrayViewD, Axis, Dimension, ShapeBuilder, s};
use ndarray_io::ReadOptions;
use ndarray_io::{ByteOrder, DynView, ReadNpyExt, WriteNpyExt, WriteOptions};

use crate::support::manifest;

/// Returns one of the views of `testdata/make.py`.
fn make_py_view<'a>(name: &str, base: &'a Array3<i32>, fortran: &'a Array3<i32>) -> ArrayViewD<'a, i32> {
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
fn written_views_equal_numpys() {
    let folder = manifest::testdata();
    let base: Array3<i32> = ndarray_io::read_npy(folder.join("views-base.npy")).unwrap();
    let mut fortran = Array3::zeros(base.raw_dim().f());
    fortran.assign(&base);
    let mut seen = 0;
    for case in manifest::npy_cases(&folder) {
        let Some(name) = case.line["view"].as_str() else { continue };
        let view = make_py_view(name, &base, &fortran);
        let mut written = Vec::new();
        WriteOptions::new().byte_order(ByteOrder::Little).write_to(&mut written, &view).unwrap();
        assert_eq!(written.escape_ascii().to_string(), case.bytes.escape_ascii().to_string(), "{name}");
        // The bytes can be read into an array of the view's strides, unless elements overlap.
        if !name.starts_with("broadcast") && name != "windows" {
            let mut target = view.to_owned();
            target.fill(-1);
            ReadOptions::new().read_into(&case.bytes[..], &mut target).unwrap();
            assert_eq!(target, view, "{name}");
        }
        seen += 1;
    }
    assert_eq!(seen, 19);
}

/// The views are large enough for several blocks, several threads and all remainders of tiles.
#[test]
fn large_views_are_gathered_in_order() {
    fn check_gathered<A>(make: impl Fn(usize) -> A)
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
            for threads in [1, 3] {
                for order in [ndarray_io::header::Order::C, ndarray_io::header::Order::Fortran] {
                    let options = WriteOptions::new().threads(threads).order(order);
                    let mut written = Vec::new();
                    options.write_to(&mut written, &view).unwrap();
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
    check_gathered(|number| number as f64);
    check_gathered(|number| number as f32);
    check_gathered(|number| number as i16);
    check_gathered(|number| number as u8);
}

#[test]
fn empty_and_long_views_are_gathered() {
    for (shape, step) in [(vec![1, 1], 1), (vec![0, 5], 1), (vec![2_000_000], 3), (vec![500_000, 2, 2], -1)] {
        let array = ArrayD::from_shape_fn(shape, |index| index.as_array_view().sum() as u32);
        let mut view = array.view();
        view.slice_axis_inplace(Axis(0), ndarray::Slice::new(0, None, step));
        let view = view.reversed_axes();
        let mut written = Vec::new();
        WriteOptions::new().order(ndarray_io::header::Order::C).write_to(&mut written, &view).unwrap();
        let expected: Vec<u8> = view.iter().flat_map(|item| item.to_ne_bytes()).collect();
        assert!(written[written.len() - expected.len()..] == expected);
    }
}

/// The same views as bytes of a dtype that is known at run time only, in memory of someone else.
#[test]
fn written_dyn_views_equal_numpys() {
    let folder = manifest::testdata();
    let base: Array3<i32> = ndarray_io::read_npy(folder.join("views-base.npy")).unwrap();
    let mut fortran = Array3::zeros(base.raw_dim().f());
    fortran.assign(&base);
    let mut seen = 0;
    for case in manifest::npy_cases(&folder) {
        let Some(name) = case.line["view"].as_str() else { continue };
        let view = make_py_view(name, &base, &fortran);
        let owner = if name.starts_with("fortran") { &fortran } else { &base };
        let memory = owner.as_slice_memory_order().unwrap();
        // As bytes, all of them, at each alignment; and as the numbers' own units.
        for before in [0, 1, 2, 4] {
            let mut bytes = vec![7; before];
            bytes.extend(memory.iter().flat_map(|item| item.to_le_bytes()));
            let first = match view.is_empty() {
                true => 0, // `ndarray` moves the pointer of an empty view
                false => (view.as_ptr().addr() - memory.as_ptr().addr()) + before,
            };
            let strides: Vec<isize> = view.strides().iter().map(|stride| stride * 4).collect();
            let view = DynView::new(&bytes, first, "<i4".parse().unwrap(), view.shape(), &strides).unwrap();
            let mut written = Vec::new();
            view.write_npy(&mut written).unwrap();
            assert_eq!(written.escape_ascii().to_string(), case.bytes.escape_ascii().to_string(), "{name}");
            assert_eq!(view.to_array().unwrap(), ndarray_io::DynArray::read_npy(&case.bytes[..]).unwrap());
            // In the other byte order, it is what the typed view is.
            let big = WriteOptions::new().byte_order(ByteOrder::Big);
            let mut wanted = Vec::new();
            big.write_to(&mut wanted, &self::make_py_view(name, &base, &fortran)).unwrap();
            written.clear();
            big.write_to(&mut written, &view).unwrap();
            assert_eq!(written, wanted, "{name}");
        }
        seen += 1;
    }
    assert!(seen > 15);
}

/// Strides need not be multiples of the elements, and records have any size.
#[test]
fn dyn_views_of_any_stride_and_item_size_are_gathered() {
    let memory: Vec<u8> = (0..=255).collect();
    for dtype in ["|u1", "<u2", "<u4", "<f8", "<c16", "|V3", "|S5", "<U3"] {
        let dtype: ndarray_io::DType = dtype.parse().unwrap();
        let item = dtype.item_size();
        for (first, shape, strides) in [
            (7usize, [3usize, 4], [17isize, 5]),
            (200, [5, 3], [-19, 16]),
            (250 - item, [2, 5], [-3, -16]),
            (9, [4, 2], [0, 1]),
        ] {
            let view = DynView::new(&memory, first, dtype.clone(), shape, &strides).unwrap();
            let mut wanted = Vec::new();
            for (one, two) in (0..shape[0]).flat_map(|one| (0..shape[1]).map(move |two| (one, two))) {
                let at = first as isize + one as isize * strides[0] + two as isize * strides[1];
                wanted.extend_from_slice(&memory[at as usize..][..item]);
            }
            assert_eq!(view.to_array().unwrap().bytes(), wanted, "{dtype} {strides:?}");
            let mut file = Vec::new();
            view.write_npy(&mut file).unwrap();
            assert!(file.ends_with(&wanted), "{dtype} {strides:?}");
        }
    }
}

/// Lengths and strides that lie are found before anything is read through them.
#[test]
fn elements_outside_the_memory_are_refused() {
    let memory = [0; 64];
    let new = |first, shape: &[usize], strides: &[isize]| {
        DynView::new(&memory, first, "<f8".parse().unwrap(), shape, strides)
            .map(|view| view.to_array().unwrap())
    };
    assert_eq!(new(0, &[8], &[8]).unwrap().shape(), [8]);
    assert_eq!(new(56, &[8], &[-8]).unwrap().shape(), [8]);
    assert_eq!(new(56, &[1], &[isize::MAX]).unwrap().shape(), [1]);
    assert_eq!(new(99, &[0, 3], &[isize::MIN, 8]).unwrap().shape(), [0, 3]);
    for (first, shape, strides) in [
        (1usize, vec![8usize], vec![8isize]),
        (0, vec![9], vec![8]),
        (0, vec![2], vec![-8]),
        (57, vec![1], vec![8]),
        (usize::MAX, vec![1], vec![8]),
        (0, vec![2, 2], vec![isize::MAX, isize::MAX]),
        (0, vec![2, 2], vec![isize::MAX, isize::MIN]),
        (0, vec![1 << (usize::BITS - 24)], vec![1 << (usize::BITS - 24)]),
    ] {
        let error = new(first, &shape, &strides).unwrap_err();
        assert!(error.message().contains("length 64"), "{shape:?}: {error}");
    }
    assert!(new(0, &[2], &[8, 8]).unwrap_err().message().starts_with("expected an array of"));
    let objects = DynView::new(&memory, 0, "|O".parse().unwrap(), [1], &[8]);
    assert!(objects.unwrap_err().message().starts_with("the array contains Python objects"));
}

/// Also of a view that is written as it is, progress is told; and the parts of an element stay together.
#[test]
fn dyn_view_writes_can_be_cancelled() {
    let memory = vec![1; 1 << 20];
    let view = DynView::new(&memory, 0, "|u1".parse().unwrap(), [1 << 20], &[1]).unwrap();
    let options = WriteOptions::new().progress(|_, _| std::ops::ControlFlow::Break(()));
    assert!(options.write_to(&mut std::io::sink(), &view).unwrap_err().is_cancelled());
    let array = view.to_array().unwrap();
    let options = options.order(ndarray_io::header::Order::Fortran);
    assert!(options.write_to(&mut std::io::sink(), &array).unwrap_err().is_cancelled());
    let dtype: ndarray_io::DType = "('<i2', (2, 3))".parse().unwrap();
    let view = DynView::new(&memory[..72], 0, dtype, [3, 2], &[12, 36]).unwrap();
    view.write_npy(&mut Vec::new()).unwrap();
    assert!(format!("{view:?}").len() < 500);
}
