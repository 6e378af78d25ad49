//! Parts of files, compared with the same parts of the array and with NumPy's own views in `testdata`.

use std::fs::File;
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array, Array1, Array2, Array3, ArrayD, Axis, Ix2, Ix3, IxDyn, SliceArg, arr1, s};
use ndarray_io::NpyFileMut;
use ndarray_io::bytes::{ReadAt, ReadHints};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::{Extent, Order};
use ndarray_io::{
    ByteOrder, Casting, DynArray, NpyFile, NpyReader, ReadOptions, WriteNpyExt, WriteOptions, read_npy,
    write_npy,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::support::manifest;

fn cube() -> Array3<u16> {
    Array3::from_shape_fn((7, 9, 11), |(a, b, c)| (a * 1000 + b * 100 + c) as u16)
}

fn write_temp_file<A: ndarray_io::WritableElement, D: ndarray::Dimension>(
    array: &Array<A, D>,
    options: &WriteOptions,
) -> tempfile::TempPath {
    let path = crate::support::temp::file().unwrap().into_temp_path();
    options.write_npy(&path, array).unwrap();
    path
}

fn options_of_each_layout() -> [WriteOptions; 4] {
    let of = |order, bytes| WriteOptions::new().order(order).byte_order(bytes);
    [
        of(Order::C, ByteOrder::Little),
        of(Order::C, ByteOrder::Big),
        of(Order::Fortran, ByteOrder::Little),
        of(Order::Fortran, ByteOrder::Big),
    ]
}

/// A slice of a file equals that of the array, by each way to read it.
fn check_slice<I, D>(slice: I)
where
    I: SliceArg<Ix3, OutDim = D> + SliceArg<IxDyn, OutDim = D> + Clone,
    D: ndarray::Dimension,
{
    let expected = cube().slice_move(slice.clone());
    for options in options_of_each_layout() {
        let path = write_temp_file(&cube(), &options);
        let file = NpyFile::open(&path).unwrap();
        assert_eq!(file.slice::<u16, _>(slice.clone()).unwrap(), expected);
        let mut into = Array::<u16, D>::zeros(expected.raw_dim());
        file.slice_into(slice.clone(), &mut into).unwrap();
        assert_eq!(into, expected);
        let mut bytes = Vec::new();
        options.write_to(&mut bytes, &cube()).unwrap();
        let mut reader = NpyReader::new(Cursor::new(bytes)).unwrap();
        assert_eq!(reader.slice::<u16, _>(slice.clone()).unwrap(), expected);
        assert_eq!(reader.read::<Array3<u16>>().unwrap(), cube());
    }
}

#[test]
fn file_slices_equal_ndarray_slices() {
    check_slice(s![.., .., ..]);
    check_slice(s![2..5, 1..;3, ..;-2]);
    check_slice(s![3, .., -1]);
    check_slice(s![..;-1, 4..4, ..]);
    check_slice(s![-3.., ..-2;4, 10]);
    check_slice(s![.., ndarray::NewAxis, 2, ..;5]);
    check_slice(s![6, 8, 10]);
    check_slice(s![1..6;-2, 3..9;-4, 2..3;-1]);
    check_slice(s![.., .., 0..8]);
}

#[test]
fn random_file_slices_equal_ndarray_slices() {
    let axis = |length: isize| (0..=length, 0..=length, prop_oneof![-4..0isize, 1..5isize]);
    let files: Vec<_> =
        options_of_each_layout().iter().map(|options| write_temp_file(&cube(), options)).collect();
    let files: Vec<_> = files.iter().map(|path| NpyFile::open(path).unwrap()).collect();
    TestRunner::default()
        .run(&(axis(7), axis(9), axis(11)), |(a, b, c)| {
            let range = |(one, other, step): (isize, isize, isize)| ndarray::Slice {
                start: one.min(other),
                end: Some(one.max(other)),
                step,
            };
            let slice = s![range(a), range(b), range(c)];
            for file in &files {
                prop_assert_eq!(file.slice::<u16, _>(slice).unwrap(), cube().slice_move(slice));
            }
            Ok(())
        })
        .unwrap();
}

/// A file in memory that counts the calls, and is read like a local file.
#[derive(Debug)]
struct CountingSource {
    bytes: Vec<u8>,
    calls: Arc<AtomicUsize>,
}

impl ReadAt for CountingSource {
    fn read_at(&self, into: &mut [u8], offset: u64) -> ndarray_io::Result<usize> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.bytes.read_at(into, offset)
    }

    fn size(&self) -> ndarray_io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn hints(&self) -> ReadHints {
        ReadHints { batches: false, ..ReadHints::default() }
    }
}

/// Runs that are close together are read by one call, over all axes.
#[test]
fn nearby_runs_are_read_in_few_calls() {
    let array = Array3::from_shape_fn((40_000, 5, 3), |(a, b, c)| (a * 15 + b * 3 + c) as u8);
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let file = NpyFile::from_source(CountingSource { bytes, calls: Arc::clone(&calls) }).unwrap();
    let used = |work: &dyn Fn()| {
        let before = calls.load(Ordering::Relaxed);
        work();
        calls.load(Ordering::Relaxed) - before
    };
    macro_rules! compare {
        ($most:literal, $($part:tt)*) => {
            let calls = used(&|| {
                let part = file.slice::<u8, _>(s![$($part)*]).unwrap();
                assert_eq!(part, array.slice(s![$($part)*]));
            });
            assert!(calls <= $most, "{calls} calls for {}", stringify!($($part)*));
        };
    }
    // 600,000 bytes: five times the extent that a call reads at most, and what threads divide.
    compare!(24, .., .., ..;2);
    compare!(24, .., ..;2, ..);
    compare!(24, .., 1..;2, ..;2);
    compare!(24, ..;3, 2, ..;-2);
    compare!(24, 7..;5, .., 1);
    // Gaps that are larger than a few pages are not read.
    compare!(40, ..;1000, .., ..;2);
}

/// Indices in any order that are nearly everywhere in the file are found by reading it once.
#[test]
fn taking_many_indices_makes_few_calls() {
    let array = Array2::from_shape_fn((200_000, 2), |(a, b)| (a * 2 + b) as u32);
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).unwrap();
    let length = bytes.len();
    let calls = Arc::new(AtomicUsize::new(0));
    let open = |options: &ReadOptions| {
        let source = CountingSource { bytes: bytes.clone(), calls: Arc::clone(&calls) };
        options.open_source(source).unwrap()
    };
    // The last number is a prime without a common factor with the length, so each index is another one.
    for (count, step) in [(200_000, 7_919), (20_000, 104_729), (2_000, 104_729), (300, 104_729)] {
        let indices: Vec<usize> = (0..count).map(|number: usize| number * step % 200_000).collect();
        for options in [ReadOptions::new().threads(1), ReadOptions::new().threads(3)] {
            let wanted = array.select(Axis(0), &indices);
            let file = open(&options);
            let before = calls.load(Ordering::Relaxed);
            assert_eq!(file.take::<Array2<u32>>(0, &indices).unwrap(), wanted);
            let calls = calls.load(Ordering::Relaxed) - before;
            // So few that they are farther apart than is read between two: a call for each.
            let most = if count == 300 { count } else { 3 * (length / (128 << 10) + 2) };
            assert!(calls <= most, "{calls} calls for {count} indices");
            // As another type, decoded.
            let wide = open(&options.casting(Casting::Safe));
            assert_eq!(wide.take::<Array2<f64>>(0, &indices).unwrap(), wanted.mapv(f64::from));
        }
        let columns = [1, 0, 1];
        let file = open(&ReadOptions::new());
        assert_eq!(file.take::<Array2<u32>>(1, &columns).unwrap(), array.select(Axis(1), &columns));
    }
}

#[test]
fn slices_out_of_bounds_are_errors() {
    let path = write_temp_file(&cube(), &WriteOptions::new());
    let file = NpyFile::open(&path).unwrap();
    for error in [
        file.slice::<u16, _>(s![7, .., ..]).unwrap_err(),
        file.slice::<u16, _>(s![..8, .., ..]).unwrap_err(),
        file.slice::<u16, _>(s![.., -10.., ..]).unwrap_err(),
        file.slice::<u16, _>(s![.., .., -12]).unwrap_err(),
    ] {
        assert!(error.is_usage() && error.path().is_some(), "{error}");
    }
    assert_eq!(
        file.slice::<u16, _>(s![.., ..]).unwrap_err().message(),
        "the array of shape (7, 9, 11) has 3 axes, the slice is of 2 axes"
    );
    assert!(file.slice::<u8, _>(s![.., .., ..]).unwrap_err().is_mismatch());
    let mut wrong = Array2::<u16>::zeros((9, 10));
    let error = file.slice_into(s![0, .., ..], &mut wrong).unwrap_err();
    assert!(error.message().starts_with("expected shape"), "{error}");
    assert!(file.chunks::<u16, Ix3>(3, 1).unwrap_err().is_usage());
    assert!(file.chunks::<u16, Ix3>(0, 0).unwrap_err().is_usage());
    assert!(file.chunks::<u16, Ix2>(0, 1).unwrap_err().is_mismatch());
    let object = NpyFile::open(manifest::testdata().join("dtype-object.npy")).unwrap_err();
    assert!(object.is_mismatch(), "{object}");
}

#[test]
fn chunks_and_rows_join_to_whole_array() {
    for options in options_of_each_layout() {
        let path = write_temp_file(&cube(), &options);
        let file = NpyFile::open(&path).unwrap();
        for axis in 0..3 {
            for length in [1, 2, 5, 100, usize::MAX] {
                let chunks: Vec<Array3<u16>> =
                    file.chunks(axis, length).unwrap().collect::<Result<_, _>>().unwrap();
                let views: Vec<_> = chunks.iter().map(|chunk| chunk.view()).collect();
                assert_eq!(ndarray::concatenate(ndarray::Axis(axis), &views).unwrap(), cube());
                let mut ahead = Vec::new();
                let each = |chunk: ndarray::ArrayView3<'_, u16>| {
                    ahead.push(chunk.to_owned());
                    ControlFlow::Continue(())
                };
                file.chunks::<u16, Ix3>(axis, length).unwrap().read_ahead(each).unwrap();
                assert_eq!(ahead, chunks);
                let mut views = Vec::new();
                let each = |chunk: ndarray::ArrayView3<'_, u16>| {
                    views.push(chunk.to_owned());
                    ControlFlow::Continue(())
                };
                file.chunks::<u16, Ix3>(axis, length).unwrap().for_each_view(each).unwrap();
                assert_eq!(views, chunks);
            }
        }
        let slowest = if file.order() == Order::C { 0 } else { 2 };
        let rows: Vec<Array2<u16>> = file.rows::<u16, Ix3>().unwrap().collect::<Result<_, _>>().unwrap();
        let views: Vec<_> = rows.iter().map(|row| row.view()).collect();
        assert_eq!(ndarray::stack(ndarray::Axis(slowest), &views).unwrap(), cube());
        let mut seen = 0;
        let first = |_: ndarray::ArrayView3<'_, u16>| {
            seen += 1;
            ControlFlow::Break(())
        };
        file.chunks(0, 1).unwrap().read_ahead(first).unwrap();
        assert_eq!(seen, 1);
        assert_eq!(file.read::<Array3<u16>>().unwrap(), cube());
        assert_eq!(file.extent().unwrap(), Extent::Whole);
    }
}

/// Small pieces are read many at a time; which of them are visited does not show it.
#[test]
fn small_chunks_before_an_error_are_visited() {
    let is_true = |index: usize| index.is_multiple_of(3);
    let path = write_temp_file(&Array1::from_shape_fn(1000, is_true), &WriteOptions::new());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[128 + 777] = 2;
    std::fs::write(&path, bytes).unwrap();
    let file = NpyFile::open(&path).unwrap();
    let chunks = || file.chunks::<bool, ndarray::Ix1>(0, 5).unwrap();
    // 155 pieces of five precede element 777; the first piece is taken from the iterator in any case.
    let wanted: Vec<bool> = (0..775).map(is_true).collect();
    for way in 0..3 {
        let mut iterator = chunks();
        assert_eq!(iterator.size_hint(), (1, Some(200)));
        let mut seen = iterator.next().unwrap().unwrap().into_raw_vec_and_offset().0;
        assert_eq!(iterator.size_hint(), (1, Some(199)));
        let mut each = |chunk: ndarray::ArrayView1<'_, bool>| {
            assert!(chunk.len() == 5 && chunk.is_standard_layout());
            seen.extend(chunk);
            ControlFlow::Continue(())
        };
        let error = match way {
            0 => iterator.find_map(|chunk| chunk.map(|chunk| each(chunk.view())).err()).unwrap(),
            1 => iterator.for_each_view(&mut each).unwrap_err(),
            _ => iterator.read_ahead(&mut each).unwrap_err(),
        };
        assert_eq!(error.element(), Some(777));
        assert_eq!(seen, wanted);
    }
    // Cancelling is not repeated, although the callback would let the second read pass.
    for way in 0..3 {
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let cancel_once = move |_, _| match calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let options = ndarray_io::ReadOptions::new().progress(cancel_once);
        let file = options.open(&path).unwrap();
        let mut chunks = file.chunks::<bool, ndarray::Ix1>(0, 5).unwrap();
        let none = |_: ndarray::ArrayView1<'_, bool>| panic!("nothing has been read");
        let error = match way {
            0 => chunks.next().unwrap().unwrap_err(),
            1 => chunks.for_each_view(none).unwrap_err(),
            _ => chunks.read_ahead(none).unwrap_err(),
        };
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    }
    let mut ended = chunks();
    assert_eq!((ended.by_ref().filter(Result::is_ok).count(), ended.next().is_none()), (155, true));
}

/// NumPy's files, of any dtype and shape, read the same by path as from memory; text and scalars can be
/// sliced.
#[test]
fn numpys_files_read_equally_by_path_and_from_memory() {
    let mut seen = 0;
    for case in manifest::npy_cases(&manifest::testdata()) {
        if case.expected_class != "ok" || case.arrays.len() != 1 || case.arrays[0].json["sha256"].is_null() {
            continue;
        }
        if !cfg!(feature = "py_literal") && case.id.starts_with("hand-") {
            continue; // written by no known writer
        }
        let file = NpyFile::open(&case.path).unwrap();
        let whole: ndarray_io::DynArray = file.read().unwrap();
        let expected: ndarray_io::DynArray = NpyReader::new(&case.bytes[..]).unwrap().read().unwrap();
        assert_eq!(whole, expected, "{}", case.id);
        seen += 1;
    }
    assert!(seen > if cfg!(feature = "py_literal") { 200 } else { 180 });
    let words = Array2::from_shape_fn((5, 3), |(row, column)| format!("{row}{column}"));
    let path = write_temp_file(&words, &WriteOptions::new());
    let part: Array1<String> = NpyFile::open(&path).unwrap().slice(s![1..4, 2]).unwrap();
    assert_eq!(part, arr1(&["12", "22", "32"]).mapv(str::to_owned));
    let scalar = write_temp_file(&ndarray::arr0(5u8), &WriteOptions::new());
    let all: &[ndarray::SliceInfoElem] = &[];
    let part: ArrayD<u8> = NpyFile::open(&scalar).unwrap().slice::<u8, _>(all).unwrap();
    assert_eq!(part.into_raw_vec_and_offset().0, [5]);
}

/// A file that is truncated while it is open is an error where data is missing.
#[test]
fn file_truncated_while_open_is_an_error() {
    let path = write_temp_file(&cube(), &WriteOptions::new());
    let file = NpyFile::open(&path).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(128 + 2 * 11 * 9 * 3).unwrap();
    assert_eq!(file.slice::<u16, _>(s![..3, .., ..]).unwrap(), cube().slice_move(s![..3, .., ..]));
    for error in [
        file.slice::<u16, _>(s![..4, .., ..]).unwrap_err(),
        file.slice::<u16, _>(s![.., .., 3]).unwrap_err(),
        file.rows::<u16, Ix3>().unwrap().find_map(Result::err).unwrap(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
    }
    assert!(matches!(file.extent().unwrap(), Extent::Short { .. }));
    assert!(read_npy::<_, Array3<u16>>(&path).is_err());
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "needs threads")]
fn threads_read_slices_of_one_file_concurrently() {
    let array = Array2::from_shape_fn((3000, 500), |(row, column)| (row * 500 + column) as f64);
    let path = write_temp_file(&array, &WriteOptions::new().order(Order::Fortran));
    let file = &NpyFile::open(&path).unwrap();
    std::thread::scope(|scope| {
        for start in 0..8 {
            let array = &array;
            scope.spawn(move || {
                let part: Array2<f64> = file.slice(s![start..;8, ..]).unwrap();
                assert_eq!(part, array.slice(s![start..;8, ..]));
            });
        }
    });
}

#[test]
fn take_equals_ndarray_select() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    let array = Array3::from_shape_fn((70, 11, 90), |(a, b, c)| (a * 10_000 + b * 100 + c) as u32);
    let mut state = 1u64;
    let mut below = |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % end
    };
    for order in [Order::C, Order::Fortran] {
        WriteOptions::new().order(order).byte_order(ByteOrder::Big).write_npy(&path, &array).unwrap();
        let file = NpyFile::open(&path).unwrap();
        for axis in 0..3 {
            for count in [0, 1, 2, 50, 2000] {
                let indices: Vec<usize> = (0..count).map(|_| below(array.len_of(Axis(axis)))).collect();
                let taken: Array3<u32> = file.take(axis, &indices).unwrap();
                assert!(taken == array.select(Axis(axis), &indices), "{order:?} {axis} {count}");
                let any: DynArray = file.take(axis, &indices).unwrap();
                assert!(any.cast::<u32, ndarray::Ix3>(ndarray_io::Casting::Safe).unwrap() == taken);
            }
            let mask: Vec<bool> = (0..array.len_of(Axis(axis))).map(|index| index % 3 != 1).collect();
            let indices: Vec<usize> = (0..mask.len()).filter(|index| mask[*index]).collect();
            let masked: Array3<u32> = file.take_where(axis, &mask).unwrap();
            assert!(masked == array.select(Axis(axis), &indices));
            assert!(file.take_where::<Array3<u32>>(axis, &[true]).unwrap_err().is_usage());
            assert!(file.take::<Array3<u32>>(axis, &[90]).unwrap_err().is_usage());
        }
        assert!(file.take::<Array3<u32>>(3, &[]).unwrap_err().is_usage());
    }
    // A truncated file is an error; an array without elements is not.
    write_npy(&path, &array).unwrap();
    let file = NpyFile::open(&path).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(1000).unwrap();
    assert!(file.take::<Array3<u32>>(0, &[69]).unwrap_err().is_format());
    drop(file);
    let empty = ndarray::Array3::<u8>::zeros((0, 3, 2));
    write_npy(&path, &empty).unwrap();
    let none: Array3<u8> = NpyFile::open(&path).unwrap().take(1, &[2, 2]).unwrap();
    assert_eq!(none.dim(), (0, 2, 2));
}

#[test]
#[cfg_attr(target_os = "wasi", ignore = "needs locks")]
fn write_slice_equals_ndarray_assign() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    let fresh = |len: usize, from: u16| {
        Array1::from_iter((0..len as u16).map(move |number| number.wrapping_add(from)))
    };
    for (order, byte_order) in
        [(Order::C, ByteOrder::Little), (Order::Fortran, ByteOrder::Big), (Order::C, ByteOrder::Big)]
    {
        let mut wanted = cube();
        let options = &WriteOptions::new().order(order).byte_order(byte_order);
        options.write_npy(&path, &wanted).unwrap();
        // The first slices are written by the exclusive owner of the file.
        let mut file = NpyFileMut::open_exclusive(&path).unwrap();
        macro_rules! assign_each {
            ($($slice:expr),* $(,)?) => {$({
                let slice = $slice;
                let mut part = wanted.slice_mut(slice);
                let new = fresh(part.len(), 7 * part.len() as u16).into_shape_with_order(part.raw_dim()).unwrap();
                part.assign(&new);
                file.write_slice(slice, &new).unwrap();
                let found: Array3<u16> = NpyFile::open(&path).unwrap().read().unwrap();
                assert_eq!(found, wanted);
            })*};
        }
        assign_each!(
            s![..;-1, 4..6, ..;-2],
            s![.., .., ..;2],
            s![..;2, .., 3..;4],
            s![.., ..;3, ..],
            s![2, 3, 4],
            s![.., .., 10],
            s![0..0, .., ..],
        );
        assert_eq!(NpyFileMut::open(&path).unwrap_err().kind(), ErrorKind::Locked);
        assert_eq!(write_npy(&path, &arr1(&[1])).unwrap_err().kind(), ErrorKind::Locked);
        drop(file);
        file = NpyFileMut::open(&path).unwrap();
        assert_eq!(NpyFileMut::open_exclusive(&path).unwrap_err().kind(), ErrorKind::Locked);
        assign_each!(
            s![.., .., ..],
            s![3, .., ..],
            s![.., 2, ..],
            s![.., .., 10],
            s![1..5;2, .., ..;3],
            s![..;-1, 4..6, ..;-2],
            s![2, 3, 4],
            s![0..0, .., ..],
            s![.., ndarray::NewAxis, 1, ..],
        );
        // The array that is written may have any strides.
        let turned = Array2::from_shape_fn((11, 9), |(a, b)| (a * 31 + b) as u16);
        file.write_slice(s![6, .., ..], &turned.t()).unwrap();
        wanted.slice_mut(s![6, .., ..]).assign(&turned.t());
        assert_eq!(file.read::<Array3<u16>>().unwrap(), wanted);

        let row = Array2::<u16>::zeros((9, 11));
        assert!(file.write_slice(s![7, .., ..], &row).unwrap_err().is_usage());
        assert!(file.write_slice(s![.., 0, ..], &row).unwrap_err().message().starts_with("expected shape"));
        assert!(file.write_slice(s![0, .., ..], &row.mapv(f32::from)).unwrap_err().is_mismatch());
        assert!(matches!(
            ndarray_io::NpyWriter::<u16, _>::append(&path).unwrap_err().kind(),
            ErrorKind::Locked
        ));
        NpyFileMut::open(&path).unwrap().write_slice(s![0, .., ..], &row).unwrap(); // another process may write another part
        file.sync().unwrap();
    }
}

/// What is between the elements is written by other threads at the same time.
#[test]
#[cfg_attr(target_os = "wasi", ignore = "needs threads and locks")]
fn concurrent_writes_of_interleaved_columns_lose_nothing() {
    const ROWS: usize = 20_000;
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    write_npy(&path, &Array2::<u16>::zeros((ROWS, 6))).unwrap();
    let file = NpyFileMut::open_exclusive(&path).unwrap();
    std::thread::scope(|scope| {
        for column in 0..4 {
            let file = &file;
            scope.spawn(move || {
                let part = Array1::from_iter((0..ROWS).map(|row| (row + column) as u16));
                file.write_slice(s![.., column], &part).unwrap();
            });
        }
        // Rows of the last two columns, one call each: runs that are written without what is between them.
        scope.spawn(|| {
            for row in 0..ROWS {
                file.write_slice(s![row, 4..], &arr1(&[row as u16, 7])).unwrap();
            }
        });
    });
    let expected = Array2::from_shape_fn((ROWS, 6), |(row, column)| match column {
        0..4 => (row + column) as u16,
        4 => row as u16,
        _ => 7,
    });
    assert_eq!(file.read::<Array2<u16>>().unwrap(), expected);
    // A file that another program truncates is not extended by zeros.
    File::options().write(true).open(&path).unwrap().set_len(1000).unwrap();
    let error = file.write_slice(s![.., 1], &Array1::<u16>::zeros(ROWS)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 1000);
}

/// A header may declare an array that ends beyond the largest file offset.
#[test]
fn data_beyond_largest_file_offset_is_an_error() {
    let path = crate::support::manifest::testdata().join("bad-shape-2_59.bin");
    let is_expected = |error: &ndarray_io::Error| match error.kind() {
        ErrorKind::Truncated => usize::BITS == 64,
        // An axis longer than `usize`.
        ErrorKind::Malformed => usize::BITS == 32 && error.message().ends_with("is too large"),
        _ => false,
    };
    let last = s![(1 << 29) - 1..1 << 29];
    for error in [
        NpyReader::new(File::open(&path).unwrap()).and_then(|mut reader| reader.slice::<f32, _>(last)).err(),
        NpyFile::open(&path).and_then(|file| file.slice::<f32, _>(last)).err(),
        read_npy::<_, Array1<f32>>(&path).err(),
    ] {
        let error = error.unwrap();
        assert!(is_expected(&error), "{error}");
    }
    let error = NpyReader::new(File::open(&path).unwrap())
        .and_then(|mut reader| reader.slice::<f32, _>(s![-1..]))
        .unwrap_err();
    assert!(is_expected(&error), "{error}");
}

/// Files that are larger than a 32-bit address space can be read in parts on 32-bit machines.
#[test]
fn slices_of_3_gib_file_are_read() {
    let path = crate::support::temp::file().unwrap().into_temp_path();
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 1073741824), }";
    let head = [b"\x93NUMPY\x01\x00v\x00", format!("{header:<117}\n").as_bytes()].concat();
    let mut file = File::create(&path).unwrap();
    file.write_all(&head).unwrap();
    file.set_len(128 + (3 << 30)).unwrap(); // takes no space on file systems with sparse files
    file.seek(SeekFrom::Start(128 + (3 << 30) - 2)).unwrap();
    file.write_all(&[7, 9]).unwrap();
    drop(file);
    let file = NpyFile::open(&path).unwrap();
    assert_eq!(file.shape(), [3, 1 << 30]);
    let end = file.slice::<u8, _>(s![1.., (1 << 30) - 3..]).unwrap();
    assert_eq!(end, ndarray::arr2(&[[0, 0, 0], [0, 7, 9]]));
    let mut reader = NpyReader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.slice::<u8, _>(s![2, -1]).unwrap(), ndarray::arr0(9));
    if usize::BITS == 32 {
        let error = read_npy::<_, Array2<u8>>(&path).unwrap_err();
        assert!(error.message().ends_with("is too large"), "{error}");
    }
}
