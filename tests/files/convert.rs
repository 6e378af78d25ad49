//! Conversions, compared with NumPy's own files of the same content and with the array in memory.

use std::fs;
use std::ops::ControlFlow;

use ndarray::{Array1, Array2, Array3, ArrayD, Axis, arr1};
use ndarray_io::convert::{Conversion, concatenate_npy, convert_npy};
use ndarray_io::dtype::{Kind, Scalar};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::{ByteOrder, Casting, DType, DynArray, NpyFile, WriteOptions, read_npy, write_npy};

use crate::support::in_c_order;
use crate::support::manifest::{self, assert_equals_numpys, sha256};

/// Converting NumPy's files to the other order and back gives the same bytes.
#[test]
fn order_conversion_round_trips_numpys_files() {
    let folder = crate::support::temp::folder().unwrap();
    let (there, back) = (folder.path().join("there.npy"), folder.path().join("back.npy"));
    let mut seen = 0;
    for case in manifest::npy_cases(&manifest::testdata()) {
        if case.line["written"] != true
            || case.arrays[0].json["sha256"].is_null()
            || case.arrays[0].json["version"][0] != 1
        {
            continue;
        }
        let file = NpyFile::open(&case.path).unwrap();
        let (own, other) =
            if file.order() == Order::C { (Order::C, Order::Fortran) } else { (Order::Fortran, Order::C) };
        // Budgets of one and of a few elements; larger ones for the few large files.
        let memories = if case.bytes.len() < 10_000 { [1, 300] } else { [4 << 10, 1 << 20] };
        for memory in memories {
            convert_npy(&case.path, &there, Conversion::new().order(other).memory(memory)).unwrap();
            let turned = NpyFile::open(&there).unwrap();
            assert_eq!((turned.order(), turned.shape()), (other, file.shape()), "{}", case.id);
            let found: DynArray = read_npy(&there).unwrap();
            let elements = in_c_order(
                found.bytes(),
                found.dtype().item_size(),
                found.shape(),
                found.order() == Order::Fortran,
            );
            assert_eq!(sha256(&elements), case.arrays[0].json["sha256"].as_str().unwrap(), "{}", case.id);
            convert_npy(&there, &back, Conversion::new().order(own).memory(memory)).unwrap();
            assert_eq!(fs::read(&back).unwrap(), case.bytes, "{}", case.id);
        }
        seen += 1;
    }
    assert!(seen > 150, "{seen}");
}

#[test]
fn dtypes_and_byte_orders_are_converted() {
    let folder = crate::support::temp::folder().unwrap();
    let (from, to) = (folder.path().join("from.npy"), folder.path().join("to.npy"));
    let array = Array3::from_shape_fn((6, 5, 4), |(a, b, c)| (a * 100 + b * 10 + c) as i32 - 300);
    write_npy(&from, &array).unwrap();
    let float = DType::from(Scalar::new(Kind::Float, 4, ByteOrder::Big).unwrap());
    let conversion = Conversion::new().dtype(float, Casting::SameKind).order(Order::Fortran).memory(100);
    convert_npy(&from, &to, conversion).unwrap();
    assert_equals_numpys(&fs::read(&to).unwrap(), "cube-f4-big-fortran");
    let byte = DType::from(Scalar::new(Kind::Uint, 1, ByteOrder::Big).unwrap());
    let error = convert_npy(&from, &to, Conversion::new().dtype(byte, Casting::Safe)).unwrap_err();
    assert!(error.is_mismatch(), "{error}");
    assert_eq!(read_npy::<_, Array3<f32>>(&to).unwrap()[[0, 0, 0]], -300.0, "the old file is as it was");
    // A file is converted onto itself.
    convert_npy(&to, &to, Conversion::new().byte_order(ByteOrder::Little).order(Order::C)).unwrap();
    assert_equals_numpys(&fs::read(&to).unwrap(), "cube-f4-little-c");
}

#[test]
fn concatenated_files_equal_numpys() {
    let folder = crate::support::temp::folder().unwrap();
    let whole = Array3::from_shape_fn((7, 6, 5), |(a, b, c)| (a * 100 + b * 10 + c) as u16);
    let (all, names) =
        (folder.path().join("all.npy"), ["a.npy", "b.npy", "c.npy"].map(|name| folder.path().join(name)));
    for (order, name) in [(Order::C, "joined-c"), (Order::Fortran, "joined-fortran")] {
        let options = WriteOptions::new().order(order).byte_order(ByteOrder::Little);
        for axis in 0..3 {
            let cuts = [0, 2, 2, whole.len_of(Axis(axis))];
            for (number, path) in names.iter().enumerate() {
                let part = whole.slice_axis(Axis(axis), (cuts[number]..cuts[number + 1]).into());
                options.write_npy(path, &part).unwrap();
            }
            for memory in [1, 500, 1 << 20] {
                concatenate_npy(&names, &all, axis, Conversion::new().memory(memory)).unwrap();
                assert_equals_numpys(&fs::read(&all).unwrap(), name);
            }
        }
    }
    write_npy(&names[1], &arr1(&[1u16])).unwrap();
    let error = concatenate_npy(&names, &all, 0, Conversion::new()).unwrap_err();
    assert!(error.message().starts_with("expected shape") && error.path() == Some(&names[1]), "{error}");
    write_npy(&names[0], &arr1(&[1u8])).unwrap();
    let error = concatenate_npy(&names[..2], &all, 0, Conversion::new()).unwrap_err();
    assert!(error.is_mismatch() && error.help().is_some_and(|help| help.id() == "one-dtype"), "{error}");
    assert!(concatenate_npy(&names[..2], &all, 1, Conversion::new()).unwrap_err().is_usage());
    assert!(concatenate_npy::<&str, _>(&[], &all, 0, Conversion::new()).unwrap_err().is_usage());
}

#[test]
fn conversion_reports_progress_and_can_be_cancelled() {
    let folder = crate::support::temp::folder().unwrap();
    let (from, to) = (folder.path().join("from.npy"), folder.path().join("to.npy"));
    write_npy(&from, &Array2::<f64>::zeros((100, 10))).unwrap();
    let mut reports = Vec::new();
    // On one thread, since progress on other threads is reported together with that of the calling thread.
    let conversion =
        Conversion::new().write_options(WriteOptions::new().threads(1)).memory(3000).progress(|done, all| {
            reports.push((done, all));
            ControlFlow::Continue(())
        });
    convert_npy(&from, &to, conversion).unwrap();
    assert_eq!(reports.last(), Some(&(8000, 8000)));
    assert!(reports.len() > 5 && reports.is_sorted(), "{reports:?}");
    fs::remove_file(&to).unwrap();
    let conversion = Conversion::new()
        .memory(3000)
        .progress(|done, _| if done > 4000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
    let error = convert_npy(&from, &to, conversion).unwrap_err();
    assert!(error.kind() == ErrorKind::Cancelled && error.is_cancelled(), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn scalars_and_empty_arrays_are_converted() {
    let folder = crate::support::temp::folder().unwrap();
    let (from, to) = (folder.path().join("from.npy"), folder.path().join("to.npy"));
    for shape in [vec![], vec![0], vec![3, 0, 2], vec![1, 1]] {
        let array = ArrayD::<f32>::zeros(shape);
        write_npy(&from, &array).unwrap();
        convert_npy(&from, &to, Conversion::new().byte_order(ByteOrder::Big)).unwrap();
        let name = array.shape().iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        assert_equals_numpys(&fs::read(&to).unwrap(), &format!("zeros-{name}"));
    }
    let words = Array1::from(vec!["a".to_owned(), "bc".into()]);
    write_npy(&from, &words).unwrap();
    convert_npy(&from, &to, Conversion::new().byte_order(ByteOrder::Big)).unwrap();
    assert_equals_numpys(&fs::read(&to).unwrap(), "words-big");
}

/// The results are those of `astype` in NumPy 2.4, except that texts are never truncated.
#[test]
fn texts_convert_as_in_numpy_without_truncation() {
    let folder = crate::support::temp::folder().unwrap();
    let (from, to) = (folder.path().join("from.npy"), folder.path().join("to.npy"));
    let text = |width: usize, order| DType::from(Scalar::new(Kind::Text, 4 * width, order).unwrap());
    let string = |width| DType::from(Scalar::new(Kind::Bytes, width, ByteOrder::Little).unwrap());
    let convert = |dtype: DType, casting| {
        convert_npy(&from, &to, Conversion::new().dtype(dtype, casting))?;
        Ok::<_, ndarray_io::Error>(read_npy::<_, DynArray>(&to)?.bytes().escape_ascii().to_string())
    };
    write_npy(&from, &arr1(&["ab".to_owned(), "cde".to_owned()])).unwrap();
    let wider = r"a\x00\x00\x00b\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00c\x00\x00\x00d\x00\x00\x00e\x00\x00\x00\x00\x00\x00\x00";
    assert_eq!(convert(text(4, ByteOrder::Little), Casting::Safe).unwrap(), wider);
    let big = r"\x00\x00\x00a\x00\x00\x00b\x00\x00\x00\x00\x00\x00\x00c\x00\x00\x00d\x00\x00\x00e";
    assert_eq!(convert(text(3, ByteOrder::Big), Casting::Safe).unwrap(), big);
    assert_eq!(convert(string(4), Casting::Unsafe).unwrap(), r"ab\x00\x00cde\x00");
    assert!(convert(string(4), Casting::SameKind).unwrap_err().is_mismatch());
    assert!(convert(text(2, ByteOrder::Little), Casting::Safe).unwrap_err().is_mismatch());
    let error = convert(text(2, ByteOrder::Little), Casting::SameKind).unwrap_err();
    assert!(error.message().starts_with("text of length"), "{error}");

    write_npy(&from, &arr1(&[b"ab".to_vec(), b"cde".to_vec()])).unwrap();
    assert_eq!(convert(text(4, ByteOrder::Little), Casting::Safe).unwrap(), wider);
    write_npy(&from, &arr1(&["cd\u{e9}".to_owned()])).unwrap();
    let error = convert(string(9), Casting::Unsafe).unwrap_err();
    assert!(error.is_mismatch() && error.to_string().contains("ASCII"), "{error}");
}
