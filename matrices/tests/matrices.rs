//! Each crate's matrices beside arrays of `ndarray`, whose files NumPy has been compared with.

#![allow(missing_docs, unused_imports, dead_code)] // some of it is for some features

use std::path::{Path, PathBuf};

use ndarray::{Array2, arr2};
use ndarray_io::header::Order;
use ndarray_io::{FlatArray, FlatView};

/// Arrays of 0 to 5 in both orders, as files.
fn write_files_in_both_orders(folder: &Path) -> [PathBuf; 2] {
    [Order::C, Order::Fortran].map(|order| {
        let items =
            if order == Order::C { vec![0., 1., 2., 3., 4., 5.] } else { vec![0., 3., 1., 4., 2., 5.] };
        let path = folder.join(format!("{order:?}.npy"));
        ndarray_io::write_npy(&path, &FlatArray::new(items, vec![2, 3], order).unwrap()).unwrap();
        path
    })
}

const WANTED: [[f64; 3]; 2] = [[0., 1., 2.], [3., 4., 5.]];

#[cfg(feature = "nalgebra-0_35")]
#[test]
fn nalgebra_matrices_round_trip_in_both_orders() {
    use ndarray_io_matrices::nalgebra as ours;

    let folder = tempfile::tempdir().unwrap();
    for path in write_files_in_both_orders(folder.path()) {
        let matrix = ours::read_npy::<f64, _>(&path).unwrap();
        assert_eq!(matrix, nalgebra::DMatrix::from_fn(2, 3, |row, column| WANTED[row][column]));
        let array: FlatArray<f64> = ndarray_io::read_npy(&path).unwrap();
        let memory = array.items().as_ptr();
        assert_eq!(ours::view(&array.view()).unwrap(), matrix);
        if array.order() == Order::Fortran {
            assert_eq!(ours::to_matrix(array).unwrap().as_ptr(), memory, "nothing is copied");
        }
        let out = folder.path().join("out.npy");
        ours::write_npy(&out, &matrix).unwrap();
        assert_eq!(ndarray_io::read_npy::<_, Array2<f64>>(&out).unwrap(), arr2(&WANTED));
        assert!(String::from_utf8_lossy(&std::fs::read(&out).unwrap()).contains("'fortran_order': True"));
    }
    let three = FlatView::new(&[1u8; 8], &[2, 2, 2], Order::C).unwrap();
    assert!(ours::view(&three).unwrap_err().is_mismatch());
    for shape in [[0, 3], [3, 0], [0, 0]] {
        for order in [Order::C, Order::Fortran] {
            let none = FlatView::<u8>::new(&[], &shape, order).unwrap();
            assert_eq!(ours::view(&none).unwrap().shape(), (shape[0], shape[1]));
            let none = FlatArray::<u8>::new(Vec::new(), shape.to_vec(), order).unwrap();
            assert_eq!(ours::to_matrix(none).unwrap().shape(), (shape[0], shape[1]));
        }
    }
    let vector = ours::to_vector(FlatArray::new(vec![1, 2], vec![2], Order::C).unwrap()).unwrap();
    assert_eq!(ours::vector_view_of(&vector).unwrap().items(), [1, 2]);
}

#[cfg(feature = "faer-0_24")]
#[test]
fn faer_matrices_round_trip_in_both_orders() {
    use ndarray_io_matrices::faer as ours;

    let folder = tempfile::tempdir().unwrap();
    for path in write_files_in_both_orders(folder.path()) {
        let matrix = ours::read_npy::<f64, _>(&path).unwrap();
        assert_eq!(matrix, faer::Mat::from_fn(2, 3, |row, column| WANTED[row][column]));
        let out = folder.path().join("out.npy");
        for (matrix, wanted) in [
            (matrix.as_ref(), arr2(&WANTED)),
            (matrix.transpose(), arr2(&WANTED).reversed_axes()),
            (matrix.as_ref().reverse_rows(), arr2(&[WANTED[1], WANTED[0]])),
            (matrix.as_ref().subcols(1, 2), arr2(&[[1., 2.], [4., 5.]])),
            (matrix.as_ref().subcols(1, 0), Array2::zeros((2, 0))),
        ] {
            ours::write_npy(&out, matrix).unwrap();
            assert_eq!(ndarray_io::read_npy::<_, Array2<f64>>(&out).unwrap(), wanted);
        }
    }
    let none = FlatView::<u8>::new(&[], &[0, 3], Order::C).unwrap();
    assert_eq!(ours::view(&none).unwrap().ncols(), 3);
    let one = FlatView::new(&[1u8; 2], &[2], Order::C).unwrap();
    assert!(ours::view(&one).unwrap_err().is_mismatch());
}

#[cfg(feature = "faer-0_24")]
#[test]
fn faer_sparse_matrices_convert_in_both_layouts() {
    use faer::sparse::{SparseColMat, SymbolicSparseColMat};
    use ndarray_io::DynArray;
    use ndarray_io_formats::sparse::{Layout, Sparse};
    use ndarray_io_matrices::faer as ours;

    let numbers = |numbers: &[i32]| DynArray::new(&ndarray::arr1(numbers)).unwrap();
    // The element (1, 2) is there twice.
    let coords = vec![numbers(&[1, 0, 1, 0]), numbers(&[2, 1, 2, 0])];
    let data = DynArray::new(&ndarray::arr1(&[1.5, 2.5, 3.5, 4.5])).unwrap();
    let matrix = Sparse::new(Layout::Coo { coords }, [2, 3], data).unwrap();
    let wanted = [[4.5, 2.5, 0.], [0., 0., 5.]];
    let columns = ours::to_sparse_columns::<f64>(&matrix).unwrap();
    let rows = ours::to_sparse_rows::<f64>(&matrix).unwrap();
    let dense = faer::Mat::from_fn(2, 3, |row, column| wanted[row][column]);
    assert_eq!((columns.to_dense(), rows.to_dense()), (dense.clone(), dense));
    assert!(ours::to_sparse_rows::<f32>(&matrix).unwrap_err().is_mismatch());

    let [rows, columns] = [
        ours::from_sparse_rows(rows.as_ref()).unwrap(),
        ours::from_sparse_columns(columns.as_ref()).unwrap(),
    ];
    assert_eq!((rows.format(), columns.format()), ("csr", "csc"));
    for matrix in [rows, columns] {
        assert_eq!(matrix.to_dense::<f64, ndarray::Ix2>().unwrap(), arr2(&wanted));
    }

    // Columns with room for two elements each, of which one, none and two are used.
    let places = SymbolicSparseColMat::new_checked(
        2,
        3,
        vec![0, 2, 4, 6],
        Some(vec![1, 0, 2]),
        vec![1, 0, 0, 0, 0, 1],
    );
    let roomy = SparseColMat::new(places, vec![1., 9., 9., 9., 2., 3.]);
    let matrix = ours::from_sparse_columns(roomy.as_ref()).unwrap();
    assert_eq!(matrix.to_dense::<f64, ndarray::Ix2>().unwrap(), arr2(&[[0., 0., 2.], [1., 0., 3.]]));
}

#[cfg(feature = "candle-0_11")]
#[test]
fn candle_tensors_round_trip_in_both_orders() {
    use candle_core::{DType, Device, Tensor};
    use ndarray_io_matrices::candle as ours;

    let folder = tempfile::tempdir().unwrap();
    for path in write_files_in_both_orders(folder.path()) {
        let tensor = ours::read_npy(&path).unwrap();
        assert_eq!(
            (tensor.dtype(), tensor.to_vec2::<f64>().unwrap()),
            (DType::F64, WANTED.map(Vec::from).to_vec())
        );
        let out = folder.path().join("out.npy");
        ours::write_npy(&out, &tensor.t().unwrap()).unwrap();
        assert_eq!(ndarray_io::read_npy::<_, Array2<f64>>(&out).unwrap(), arr2(&WANTED).reversed_axes());
    }
    let out = folder.path().join("out.npy");
    let whole = Tensor::new(&[[0u8, 1, 2], [3, 4, 5]], &Device::Cpu).unwrap();
    for dtype in [
        DType::U8,
        DType::U32,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ] {
        let tensor = whole.to_dtype(dtype).unwrap();
        ours::write_npy(&out, &tensor).unwrap();
        let again = ours::read_npy(&out).unwrap();
        assert_eq!(again.dtype(), dtype);
        let numbers = again.to_dtype(DType::F64).unwrap().to_vec2::<f64>().unwrap();
        assert_eq!(numbers, WANTED.map(Vec::from).to_vec(), "{dtype:?}");
    }
    // What candle has written itself, through its own writer of NPY files.
    whole.to_dtype(DType::F32).unwrap().write_npy(&out).unwrap();
    assert_eq!(ours::read_npy(&out).unwrap().to_vec2::<f32>().unwrap()[1], [3., 4., 5.]);
    ndarray_io::write_npy(&out, &ndarray::arr1(&[1u64])).unwrap();
    assert!(ours::read_npy(&out).unwrap_err().to_string().contains("candle cannot represent"));
    ndarray_io::write_npy(&out, &ndarray::arr0(1.5)).unwrap();
    assert_eq!(ours::read_npy(&out).unwrap().to_scalar::<f64>().unwrap(), 1.5);
}

#[cfg(feature = "sprs-0_11")]
#[test]
fn sprs_matrices_round_trip_in_both_layouts() {
    use ndarray_io::DynArray;
    use ndarray_io_formats::sparse::{Layout, Sparse};
    use ndarray_io_matrices::sprs as ours;

    let numbers = |numbers: &[i32]| DynArray::new(&ndarray::arr1(numbers)).unwrap();
    let coords = vec![numbers(&[1, 0, 1]), numbers(&[2, 0, 2])];
    let data = DynArray::new(&ndarray::arr1(&[1.5, 2.5, 3.5])).unwrap();
    let matrix = Sparse::new(Layout::Coo { coords }, [2, 3], data).unwrap();
    let made = ours::to_sprs::<f64>(&matrix).unwrap();
    assert_eq!((made.rows(), made.cols(), made.nnz(), made.get(1, 2)), (2, 3, 2, Some(&5.0)));
    assert!(ours::to_sprs::<f32>(&matrix).unwrap_err().is_mismatch());
    for made in [made.clone(), made.to_csc()] {
        let again = ours::from_sprs(&made).unwrap();
        assert_eq!(again.format(), if made.is_csr() { "csr" } else { "csc" });
        let wanted = arr2(&[[2.5, 0., 0.], [0., 0., 5.]]);
        assert_eq!(again.to_dense::<f64, ndarray::Ix2>().unwrap(), wanted);
    }
    // A part of a matrix, whose pointers do not begin with 0.
    let rows = made.slice_outer(1..2).to_owned();
    let again = ours::from_sprs(&rows).unwrap();
    assert_eq!(again.to_dense::<f64, ndarray::Ix2>().unwrap(), arr2(&[[0., 0., 5.]]));
}

#[cfg(feature = "arrow-60")]
#[test]
fn arrow_arrays_convert_for_each_dtype() {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Float32Type;
    use arrow_array::{
        Array, ArrayRef, BooleanArray, Float16Array, Float32Array, Float64Array, Int8Array, Int16Array,
        Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
    };
    use half::f16;
    use ndarray_io::DynArray;
    use ndarray_io_matrices::arrow as ours;

    let array = FlatArray::new(vec![1i64, 2, 3], vec![3], Order::C).unwrap();
    let memory = array.items().as_ptr();
    let made: Int64Array = ours::to_primitive(array).unwrap();
    assert_eq!((made.values().as_ptr(), made.value(2)), (memory, 3), "nothing is copied");
    assert_eq!(ours::view_of(&made).unwrap().items().as_ptr(), memory, "nothing is copied");
    // A slice of a buffer begins within it.
    let part = made.slice(1, 2);
    assert_eq!(ours::from_arrow(&part).unwrap().view::<i64, ndarray::Ix1>().unwrap(), ndarray::arr1(&[2, 3]));
    let nulls = Int64Array::from(vec![Some(1), None]);
    assert!(ours::from_arrow(&nulls).unwrap_err().to_string().contains("1 of 2 values are null"));
    assert!(ours::view_of(&nulls).is_err());

    let (halves, letters) = ([1.5, -2.0].map(f16::from_f32), ['é', '\0', '\0', 'a', 'b', 'c']);
    let cases: [(&str, Vec<u8>, ArrayRef); 13] = [
        ("i1", [1i8, -2].map(i8::to_ne_bytes).concat(), Arc::new(Int8Array::from(vec![1, -2]))),
        ("i2", [1i16, -2].map(i16::to_ne_bytes).concat(), Arc::new(Int16Array::from(vec![1, -2]))),
        ("i4", [1i32, -2].map(i32::to_ne_bytes).concat(), Arc::new(Int32Array::from(vec![1, -2]))),
        ("i8", [1i64, -2].map(i64::to_ne_bytes).concat(), Arc::new(Int64Array::from(vec![1, -2]))),
        ("u1", [1u8, u8::MAX].map(u8::to_ne_bytes).concat(), Arc::new(UInt8Array::from(vec![1, u8::MAX]))),
        (
            "u2",
            [1u16, u16::MAX].map(u16::to_ne_bytes).concat(),
            Arc::new(UInt16Array::from(vec![1, u16::MAX])),
        ),
        (
            "u4",
            [1u32, u32::MAX].map(u32::to_ne_bytes).concat(),
            Arc::new(UInt32Array::from(vec![1, u32::MAX])),
        ),
        (
            "u8",
            [1u64, u64::MAX].map(u64::to_ne_bytes).concat(),
            Arc::new(UInt64Array::from(vec![1, u64::MAX])),
        ),
        ("f2", halves.map(f16::to_ne_bytes).concat(), Arc::new(Float16Array::from(halves.to_vec()))),
        ("f4", [1.5f32, -2.0].map(f32::to_ne_bytes).concat(), Arc::new(Float32Array::from(vec![1.5, -2.0]))),
        ("f8", [1.5f64, -2.0].map(f64::to_ne_bytes).concat(), Arc::new(Float64Array::from(vec![1.5, -2.0]))),
        ("b1", vec![1, 0], Arc::new(BooleanArray::from(vec![true, false]))),
        (
            "U3",
            letters.map(|letter| u32::from(letter).to_ne_bytes()).concat(),
            Arc::new(StringArray::from(vec!["é", "abc"])),
        ),
    ];
    let array_of = |order: char, name: &str, bytes: &[u8]| {
        DynArray::from_bytes(format!("{order}{name}").parse().unwrap(), [2], Order::C, bytes).unwrap()
    };
    for (name, bytes, wanted) in cases {
        let array = array_of(if cfg!(target_endian = "little") { '<' } else { '>' }, name, &bytes);
        assert_eq!(*ours::to_arrow(&array).unwrap(), *wanted, "{name}");
        assert_eq!(ours::from_arrow(&wanted).unwrap(), array, "{name}");
    }
    for (order, bytes) in [('<', [1.5, -2.0].map(f32::to_le_bytes)), ('>', [1.5, -2.0].map(f32::to_be_bytes))]
    {
        let made = ours::to_arrow(&array_of(order, "f4", &bytes.concat())).unwrap();
        assert_eq!(made.as_primitive::<Float32Type>().values()[..], [1.5, -2.0], "{order}");
    }
    for descr in ["<c8", "<M8[s]", "|V3", "|S2"] {
        assert!(!ours::has_dtype(&descr.parse().unwrap()), "{descr}");
    }
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(UInt8Array::from(vec![7, 8]))),
        ("flag", Arc::new(BooleanArray::from(vec![true, false]))),
        ("text.with dots", Arc::new(StringArray::from(vec!["é", ""]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let records = ours::from_batch(&batch).unwrap();
    assert_eq!(records.to_string(), "[(7, true, \"é\"), (8, false, \"\")]");
    assert_eq!(ours::to_batch(&records).unwrap(), batch);
    let bad = RecordBatch::try_from_iter([("n", Arc::new(nulls) as ArrayRef)]).unwrap();
    assert!(ours::from_batch(&bad).unwrap_err().to_string().contains("field 'n'"));
}
