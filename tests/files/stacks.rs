//! Stacks of NPY files: those written by Dask (`testdata/stacks`), and growing ones. `.ci/check_scaling.py`
//! checks that Dask reads ours.

use std::fs;
use std::path::{Path, PathBuf};

use ndarray::{Array2, ArrayD, Axis, Ix2, ShapeBuilder, SliceInfoElem, arr1, arr2, s};
use ndarray_io::convert::Conversion;
use ndarray_io::dask::{NpyStack, NpyStackWriter, convert_npy_to_stack, convert_stack_to_npy};
use ndarray_io::error::ErrorKind;
use ndarray_io::object::{Object, Pickle};
use ndarray_io::options::Uncommitted;
use ndarray_io::{ByteOrder, DynArray, NpyFile, ReadOptions, WriteOptions, read_npy, write_npy};

use crate::support::random::Random;
use crate::support::temp;

/// Dask's stacks by name, with the axis and the lengths of the parts that the script gives each.
const DASK_STACKS: &[(&str, usize, &[usize])] = &[
    ("axis0", 0, &[3, 3, 3, 1]),
    ("axis1", 1, &[3, 3, 1]),
    ("negative_axis", 1, &[6]), // rechunked to one part by Dask
    ("big", 0, &[2, 2, 1]),
    ("text", 0, &[1, 3]),
    ("records", 0, &[1, 1]),
    ("dates", 0, &[2, 2, 1]),
    ("zero", 0, &[2, 0, 4]),
    ("empty", 0, &[0]),
    ("long", 1, &[4, 4, 3]),
];

fn dask_stack(name: &str) -> (PathBuf, DynArray) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/stacks");
    (folder.join(name), read_npy(folder.join(format!("{name}.npy"))).unwrap())
}

/// Returns a copy of a stack, for changes.
fn copied_stack(name: &str) -> (tempfile::TempDir, DynArray) {
    let (from, whole) = dask_stack(name);
    let folder = temp::folder().unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    (folder, whole)
}

fn equal(one: &DynArray, other: &DynArray) -> bool {
    (one.shape(), one.dtype(), one.bytes()) == (other.shape(), other.dtype(), other.bytes())
}

/// Returns a random slice of an array.
fn random_slice(random: &mut Random, shape: &[usize]) -> Vec<SliceInfoElem> {
    let part = |length: &usize| {
        let start = random.below(*length + 1) as isize;
        let end = start + random.below((*length as isize - start) as usize + 1) as isize;
        match random.below(4) {
            0 if *length > 0 => SliceInfoElem::Index(random.below(*length) as isize),
            1 => SliceInfoElem::Slice { start, end: Some(end), step: -1 - random.below(3) as isize },
            _ => SliceInfoElem::Slice { start, end: Some(end), step: 1 + random.below(3) as isize },
        }
    };
    shape.iter().map(part).collect()
}

#[test]
fn dask_stacks_equal_their_whole_arrays() {
    let mut random = Random::new(1);
    for (name, axis, lengths) in DASK_STACKS {
        let (folder, whole) = dask_stack(name);
        let stack = NpyStack::open(&folder).unwrap();
        assert_eq!(
            (stack.shape(), stack.axis(), stack.lengths()),
            (whole.shape(), *axis, *lengths),
            "{name}"
        );
        assert!(equal(&stack.read().unwrap(), &whole), "{name}");
        for _ in 0..100 {
            let slice = random_slice(&mut random, whole.shape());
            let (found, wanted) =
                (stack.as_file().slice_any(&slice[..]).unwrap(), whole.slice(&slice[..]).unwrap());
            assert!(equal(&found, &wanted), "{name} {slice:?}");
        }
    }
}

/// Parts may be in any order and byte order, the same for all or mixed.
#[test]
fn parts_of_mixed_orders_equal_whole_array() {
    let mut random = Random::new(2);
    for (name, axis, lengths) in DASK_STACKS {
        if lengths.len() < 2 {
            continue;
        }
        for mixture in 0..16 {
            let (folder, whole) = copied_stack(name);
            for number in 0..lengths.len() {
                let path = folder.path().join(format!("{number}.npy"));
                let part: DynArray = read_npy(&path).unwrap();
                let bits = if mixture < 4 { mixture } else { random.below(4) };
                let order = if bits & 1 == 0 {
                    ndarray_io::header::Order::C
                } else {
                    ndarray_io::header::Order::Fortran
                };
                let bytes = if bits & 2 == 0 { ByteOrder::Little } else { ByteOrder::Big };
                WriteOptions::new().order(order).byte_order(bytes).write_npy(&path, &part).unwrap();
            }
            let stack = NpyStack::open(folder.path()).unwrap();
            let dtype = stack.dtype().clone();
            let wanted = whole.cast_to(&dtype, ndarray_io::Casting::Safe).unwrap();
            let all = |rank: usize| vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; rank];
            let in_c = |array: DynArray| array.slice(&all(whole.ndim())[..]).unwrap();
            assert!(equal(&in_c(stack.read().unwrap()), &wanted), "{name} {mixture} along {axis}");
            for _ in 0..30 {
                let slice = random_slice(&mut random, whole.shape());
                let found = stack.as_file().slice_any(&slice[..]).unwrap();
                let found = found.slice(&all(found.ndim())[..]).unwrap();
                assert!(equal(&found, &wanted.slice(&slice[..]).unwrap()), "{name} {mixture} {slice:?}");
            }
        }
    }
}

#[test]
fn chunks_may_cross_part_boundaries() {
    let (folder, whole) = dask_stack("axis1");
    let whole = whole.into_array::<f64, Ix2>().unwrap();
    let stack = NpyStack::open(folder).unwrap();
    for axis in 0..2 {
        for length in 1..9 {
            let chunks = stack.chunks::<f64, Ix2>(axis, length).unwrap().map(Result::unwrap);
            assert!(chunks.eq(whole.axis_chunks_iter(Axis(axis), length).map(|chunk| chunk.to_owned())));
        }
    }
    assert_eq!(stack.part(2).unwrap().read::<Array2<f64>>().unwrap(), whole.slice(s![.., 6..]));
    assert!(stack.part(3).unwrap_err().is_usage());
}

/// `info` is parsed as data, and the only global name in it is `numpy.dtype`, as in Dask's.
#[test]
fn info_contains_only_numpy_dtype_as_global() {
    for (name, axis, _) in DASK_STACKS {
        let (folder, whole) = dask_stack(name);
        let new = temp::folder().unwrap();
        let (path, made) = (new.path().join("whole.npy"), new.path().join("made"));
        write_npy(&path, &whole).unwrap();
        convert_npy_to_stack(&path, &made, *axis, 2, Conversion::new()).unwrap();
        for folder in [&folder, &made] {
            let pickle = Pickle::read(fs::File::open(folder.join("info")).unwrap()).unwrap();
            let names: Vec<String> = pickle.globals().map(|global| global.to_string()).collect();
            assert_eq!(names, ["numpy.dtype"], "{name}");
            let info = pickle.object();
            assert_eq!(info.get("dtype").unwrap().as_dtype().unwrap(), *whole.dtype());
        }
        assert!(equal(&NpyStack::open(&made).unwrap().read().unwrap(), &whole), "{name}");
        let back = new.path().join("back.npy");
        convert_stack_to_npy(&folder, &back, Conversion::new()).unwrap();
        assert_eq!(fs::read(back).unwrap(), fs::read(folder.with_extension("npy")).unwrap(), "{name}");
    }
}

#[test]
fn stack_without_info_is_read_from_its_parts() {
    let (folder, whole) = copied_stack("axis1");
    let info = folder.path().join("info");
    assert!(NpyStack::open_along(folder.path(), 0, &ReadOptions::new()).unwrap_err().is_usage());
    fs::remove_file(&info).unwrap();
    let error = NpyStack::open(folder.path()).unwrap_err(); // the parts do not fit along axis 0
    assert!(error.message().starts_with("expected shape"), "{error}");
    let stack = NpyStack::open_along(folder.path(), 1, &ReadOptions::new()).unwrap();
    assert!(equal(&stack.read().unwrap(), &whole));

    drop(stack); // some systems cannot remove an open file
    fs::remove_file(folder.path().join("1.npy")).unwrap();
    let error = NpyStack::open_along(folder.path(), 1, &ReadOptions::new()).unwrap_err();
    assert!(error.to_string().contains("1.npy is missing, although 2.npy exists"), "{error}");
    let nothing = temp::folder().unwrap();
    assert!(NpyStack::open(nothing.path()).unwrap_err().is_io());
    assert!(NpyStack::open(nothing.path().join("nowhere")).unwrap_err().is_io());
}

/// Writes an `info` with the given content.
fn write_info(folder: &Path, chunks: Object, dtype: Object, axis: i64) {
    let info = Object::dict([("chunks", chunks), ("dtype", dtype), ("axis", axis.into())]).unwrap();
    fs::write(folder.join("info"), Pickle::write(&info, &WriteOptions::new()).unwrap()).unwrap();
}

fn chunk_tuples(of: &[&[u64]]) -> Object {
    Object::tuple(of.iter().map(|axis| Object::tuple(axis.iter().copied())))
}

#[test]
fn info_that_contradicts_parts_is_an_error() {
    let double = || Object::dtype(&"<f8".parse().unwrap()).unwrap();
    let (folder, _) = copied_stack("zero"); // (6, 2) in parts of 2, 0 and 4
    let folder = folder.path();
    let open = || NpyStack::open(folder);
    // More and longer parts than exist, larger than any memory: nothing is allocated for them.
    for all in [vec![2, 0, 4, 1 << (usize::BITS - 24)], vec![2, 0, 4, 1, 1 << (usize::BITS - 7)]] {
        write_info(folder, chunk_tuples(&[&all, &[2]]), double(), 0);
        let stack = open().unwrap();
        assert_eq!(stack.slice::<f64, _>(s![1..3, 1]).unwrap(), arr1(&[-2.5, 0.5]));
        let error = stack.read::<ArrayD<f64>>().unwrap_err();
        assert!(error.is_io() && error.path().unwrap().ends_with("3.npy"), "{error}");
    }
    if cfg!(target_pointer_width = "64") {
        write_info(folder, chunk_tuples(&[&[2, 0, 4, u64::MAX / 2], &[2]]), double(), 0);
        assert!(open().unwrap_err().message().ends_with("is too large"));
    }
    // Lengths that differ from those of the parts.
    write_info(folder, chunk_tuples(&[&[2, 0, 5], &[2]]), double(), 0);
    let error = open().unwrap().read::<ArrayD<f64>>().unwrap_err();
    assert!(error.message().starts_with("expected shape"), "{error}");
    assert!(error.path().unwrap().ends_with("2.npy"));
    write_info(folder, chunk_tuples(&[&[2, 0, 4], &[3]]), double(), 0);
    assert!(open().unwrap_err().message().starts_with("expected shape"));
    // Another dtype is an error; another byte order is not.
    write_info(folder, chunk_tuples(&[&[2, 0, 4], &[2]]), Object::dtype(&"<f4".parse().unwrap()).unwrap(), 0);
    assert_eq!(open().unwrap_err().kind(), ErrorKind::DTypeMismatch);
    write_info(folder, chunk_tuples(&[&[2, 0, 4], &[2]]), Object::dtype(&">f8".parse().unwrap()).unwrap(), 0);
    assert_eq!(open().unwrap().read::<Array2<f64>>().unwrap()[[5, 1]], 9.5);
    // An `info` that does not describe a stack.
    let bad = [
        (chunk_tuples(&[&[2, 0, 4], &[1, 1]]), double(), 0),
        (chunk_tuples(&[&[2, 0, 4], &[2]]), double(), 2),
        (chunk_tuples(&[&[2, 0, 4], &[2]]), double(), -3),
        (chunk_tuples(&[]), double(), 0),
        (Object::tuple([1u64]), double(), 0),
        (Object::tuple([Object::tuple([-1i64])]), double(), 0),
        (chunk_tuples(&[&[2, 0, 4], &[2]]), Object::from("f8"), 0),
        (chunk_tuples(&[&[2, 0, 4], &[2]]), Object::call("posix", "system", ["true"]), 0),
    ];
    for (chunks, dtype, axis) in bad {
        write_info(folder, chunks, dtype, axis);
        let error = open().unwrap_err();
        assert!(error.message().starts_with("malformed stack") && error.is_format(), "{error}");
        assert!(error.path().unwrap().ends_with("info"));
    }
    write_info(folder, chunk_tuples(&[&[2, 0, 4], &[2]]), Object::dtype(&"O".parse().unwrap()).unwrap(), 0);
    assert!(open().unwrap_err().message().starts_with("the array contains Python objects"));
    for bytes in [&b""[..], b"no pickle", b"\x80\x04N."] {
        fs::write(folder.join("info"), bytes).unwrap();
        assert!(open().unwrap_err().is_format());
    }
    fs::remove_file(folder.join("info")).unwrap();
    fs::OpenOptions::new().write(true).open(folder.join("2.npy")).unwrap().set_len(150).unwrap();
    let error = open().unwrap().read::<ArrayD<f64>>().unwrap_err();
    assert!(error.kind() == ErrorKind::Truncated && error.path().unwrap().ends_with("2.npy"), "{error}");
}

#[test]
fn uncommitted_parts_are_ignored_by_readers() {
    let folder = temp::folder().unwrap();
    let folder = folder.path().join("new");
    let row = |number: u32| Array2::from_elem((1, 2), number);
    let mut writer = NpyStackWriter::create(&folder, &"<u4".parse().unwrap(), &[2], 0).unwrap();
    let mut reader = NpyStack::open(&folder).unwrap();
    assert_eq!((reader.shape(), reader.lengths()), (&[0, 2][..], &[][..]));
    writer.push(&row(1)).unwrap();
    writer.push(&row(2)).unwrap();
    assert!(!reader.refresh().unwrap());
    writer.commit().unwrap();
    assert!(reader.refresh().unwrap());
    assert_eq!(reader.read::<Array2<u32>>().unwrap(), arr2(&[[1, 1], [2, 2]]));
    // Readers ignore an uncommitted part, and the next writer says what happens to it.
    writer.push(&row(7)).unwrap();
    drop(writer);
    assert!(folder.join("2.npy").exists() && !reader.refresh().unwrap());
    let error = NpyStackWriter::append(&folder).unwrap_err();
    assert!(error.message().starts_with("found 1 part that the info does not count"), "{error}");
    assert!(error.is_conflict() && folder.join("2.npy").exists());
    let discard = Uncommitted::Discard;
    let mut writer = WriteOptions::new().uncommitted(discard).append_stack(&folder).unwrap();
    assert!(!folder.join("2.npy").exists());
    assert_eq!(writer.lengths(), [1, 1]);
    writer.push(&row(3)).unwrap();
    writer.finish().unwrap();
    assert!(reader.refresh().unwrap());
    assert_eq!(reader.slice::<u32, _>(s![.., 0]).unwrap(), arr1(&[1, 2, 3]));
    assert!(!reader.refresh().unwrap());
    // A reader notices if another stack has taken its place.
    fs::remove_file(folder.join("info")).unwrap();
    fs::remove_file(folder.join("0.npy")).unwrap();
    write_npy(folder.join("0.npy"), &Array2::<u32>::zeros((5, 2))).unwrap();
    assert_eq!(reader.refresh().unwrap_err().kind(), ErrorKind::Changed);
    let error = NpyStackWriter::create(&folder, &"<u4".parse().unwrap(), &[2], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
}

#[test]
fn interrupted_parts_are_recovered_if_they_fit() {
    let (folder, whole) = copied_stack("dates");
    let folder = folder.path();
    let (part, two) = (whole.slice(s![..2]).unwrap(), whole.slice(s![2..3]).unwrap());
    let mut writer = NpyStackWriter::append(folder).unwrap();
    writer.push(&part).unwrap();
    writer.push(&two).unwrap();
    drop(writer);
    let recover =
        |options: &WriteOptions| options.clone().uncommitted(Uncommitted::Recover).append_stack(folder);
    let writer = recover(&WriteOptions::new().sync(true)).unwrap();
    assert_eq!(writer.lengths(), [2, 2, 1, 2, 1]);
    drop(writer);
    let stack = NpyStack::open(folder).unwrap();
    assert_eq!(stack.lengths(), [2, 2, 1, 2, 1], "they are committed at once");
    assert!(equal(&stack.read::<DynArray>().unwrap().slice(s![5..7]).unwrap(), &part));

    // What does not fit, or has a gap before it, is neither added nor removed.
    let (next, later) = (folder.join("5.npy"), folder.join("6.npy"));
    write_npy(&next, &arr1(&[1.5f32])).unwrap();
    assert_eq!(recover(&WriteOptions::new()).unwrap_err().kind(), ErrorKind::DTypeMismatch);
    fs::write(&next, "cut").unwrap();
    let error = recover(&WriteOptions::new()).unwrap_err();
    assert!(error.is_format() && error.path() == Some(&next), "{error}");
    fs::rename(&next, &later).unwrap();
    let error = recover(&WriteOptions::new()).unwrap_err();
    assert!(
        error.message().starts_with("malformed stack") && error.to_string().contains("5.npy is missing"),
        "{error}"
    );
    assert!(later.exists() && NpyStack::open(folder).unwrap().lengths().len() == 5);
}

/// A writer that has committed lets others in. What one of them leaves is not overwritten by the first one's next part.
#[test]
fn parts_left_by_another_writer_are_not_overwritten() {
    let (folder, whole) = copied_stack("dates");
    let folder = folder.path();
    let (part, other_part) = (whole.slice(s![..2]).unwrap(), whole.slice(s![2..4]).unwrap());
    let mut one = NpyStackWriter::append(folder).unwrap();
    one.push(&part).unwrap();
    one.commit().unwrap();
    let mut other = NpyStackWriter::append(folder).unwrap();
    other.push(&other_part).unwrap();
    drop(other);
    let error = one.push(&part).unwrap_err();
    assert!(error.kind() == ErrorKind::Changed && error.to_string().contains("4.npy"), "{error}");
    let recover = Uncommitted::Recover;
    WriteOptions::new().uncommitted(recover).append_stack(folder).unwrap().finish().unwrap();
    let all: DynArray = NpyStack::open(folder).unwrap().read().unwrap();
    assert!(equal(&all.slice(s![7..9]).unwrap(), &other_part));
}

#[test]
#[cfg(unix)]
fn failed_commit_can_be_repeated() {
    let (folder, whole) = copied_stack("dates");
    let folder = folder.path();
    let part = whole.slice(s![..2]).unwrap();
    let mut writer = NpyStackWriter::append(folder).unwrap();
    writer.push(&part).unwrap();
    // A file with two names is not replaced.
    fs::hard_link(folder.join("info"), folder.join("same")).unwrap();
    let error = writer.commit().unwrap_err();
    assert!(error.message().starts_with("the file cannot be replaced atomically"), "{error}");
    assert_eq!(NpyStackWriter::append(folder).unwrap_err().kind(), ErrorKind::Locked);
    writer.push(&part).unwrap();
    assert!(writer.commit().is_err());
    fs::remove_file(folder.join("same")).unwrap();
    writer.commit().unwrap();
    assert_eq!(NpyStack::open(folder).unwrap().lengths(), [2, 2, 1, 2, 2]);
    writer.push(&part).unwrap();
    writer.finish().unwrap();
    assert_eq!(NpyStack::open(folder).unwrap().lengths(), [2, 2, 1, 2, 2, 2]);
}

#[test]
fn new_stack_appears_when_complete() {
    let folder = temp::folder().unwrap();
    let (from, to) = (folder.path().join("a.npy"), folder.path().join("a"));
    write_npy(&from, &Array2::<f64>::ones((1000, 20))).unwrap();
    let mut calls = 0;
    let conversion = Conversion::new().progress(|_, _| {
        calls += 1;
        assert!(!to.exists());
        std::ops::ControlFlow::Continue(())
    });
    convert_npy_to_stack(&from, &to, 0, 300, conversion).unwrap();
    assert!(calls > 1);
    assert_eq!(NpyStack::open(&to).unwrap().lengths(), [300, 300, 300, 100]);
    // The folder of a killed conversion, which is no longer in use, is removed by the next change beside it.
    let draft = folder.path().join(".ndarray-io-0.draft");
    fs::create_dir(&draft).unwrap();
    fs::write(draft.join("0.npy"), "a part").unwrap();
    write_npy(&from, &arr1(&[1.0])).unwrap();
    assert!(draft.exists(), "it may be in use on a machine whose locks are not seen here");
    fs::write(draft.join(".ndarray-io.draft"), "").unwrap();
    write_npy(&from, &arr1(&[1.0])).unwrap();
    assert_eq!(draft.exists(), cfg!(windows) || cfg!(target_os = "wasi"));
    // Of two that make the same stack, the second finds it.
    let dtype: ndarray_io::DType = "<f8".parse().unwrap();
    let error = NpyStackWriter::create(&to, &dtype, &[20], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
}

#[test]
#[cfg_attr(target_os = "wasi", ignore = "WASI has no locks")]
fn concurrent_stack_writers_do_not_overwrite_parts() {
    let (folder, whole) = copied_stack("dates");
    let folder = folder.path();
    let part = whole.slice(s![..2]).unwrap();
    let mut one = NpyStackWriter::append(folder).unwrap();
    assert_eq!(NpyStackWriter::append(folder).unwrap_err().kind(), ErrorKind::Locked);
    one.push(&part).unwrap();
    one.commit().unwrap();
    let mut other = NpyStackWriter::append(folder).unwrap();
    assert_eq!(one.push(&part).unwrap_err().kind(), ErrorKind::Locked);
    other.push(&part).unwrap();
    other.finish().unwrap();
    assert_eq!(one.push(&part).unwrap_err().kind(), ErrorKind::Changed);
    assert_eq!(NpyStack::open(folder).unwrap().lengths(), [2, 2, 1, 2, 2]);
}

#[test]
fn parts_of_wrong_shape_or_dtype_are_refused() {
    let (folder, _) = copied_stack("axis1");
    let before = fs::read_dir(folder.path()).unwrap().count();
    let mut writer = NpyStackWriter::append(folder.path()).unwrap();
    let error = writer.push(&Array2::<f64>::zeros((9, 2))).unwrap_err();
    assert!(error.message().starts_with("expected shape"), "{error}");
    assert!(writer.push(&arr1(&[1.0])).unwrap_err().is_mismatch());
    let error = writer.push(&Array2::<f32>::zeros((10, 2))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DTypeMismatch, "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before);
    writer.push(&Array2::<f64>::ones((10, 2).f())).unwrap();
    writer.finish().unwrap();
    assert_eq!(
        NpyStack::open(folder.path()).unwrap().slice::<f64, _>(s![3, 6..]).unwrap().to_vec()[1..],
        [1.0, 1.0]
    );

    // New parts get the stack's byte order and text width.
    let (folder, whole) = copied_stack("big");
    let mut writer = NpyStackWriter::append(folder.path()).unwrap();
    writer.push(&whole.cast_to(&"<i4".parse().unwrap(), ndarray_io::Casting::Safe).unwrap()).unwrap();
    writer.push(&Array2::<i32>::zeros((1, 4))).unwrap();
    writer.finish().unwrap();
    for number in [3, 4] {
        let part = NpyFile::open(folder.path().join(format!("{number}.npy"))).unwrap();
        assert_eq!(part.dtype().to_string(), "'>i4'");
    }
    let (folder, _) = copied_stack("text");
    let mut writer = NpyStackWriter::append(folder.path()).unwrap();
    writer.push(&arr2(&[["a".to_owned(), "b".to_owned()]])).unwrap();
    assert!(writer.push(&arr2(&[["long text".to_owned(), "b".to_owned()]])).is_err());
    writer.finish().unwrap();
    assert_eq!(NpyStack::open(folder.path()).unwrap().shape(), [5, 2]);
    let dtype = "<f8".parse().unwrap();
    assert!(NpyStackWriter::create(folder.path().join("x"), &dtype, &[2], 2).unwrap_err().is_usage());
    assert!(
        NpyStackWriter::create(folder.path().join("x"), &"O".parse().unwrap(), &[2], 0)
            .unwrap_err()
            .is_usage()
    );
}

#[test]
fn stack_conversion_reports_progress_and_can_be_cancelled() {
    let folder = temp::folder().unwrap();
    let (path, made) = (folder.path().join("a.npy"), folder.path().join("made"));
    write_npy(&path, &Array2::<u16>::from_elem((10, 4), 258)).unwrap();
    let mut reports = Vec::new();
    let progress = |done, all| {
        reports.push((done, all));
        std::ops::ControlFlow::Continue(())
    };
    let conversion = Conversion::new().byte_order(ByteOrder::Big).progress(progress);
    convert_npy_to_stack(&path, &made, 0, 3, conversion).unwrap();
    assert_eq!(reports.last(), Some(&(80, 80)));
    assert!(reports.is_sorted(), "{reports:?}");
    assert_eq!(NpyStack::open(&made).unwrap().dtype().to_string(), "'>u2'");

    let again = convert_npy_to_stack(&path, &made, 0, 3, Conversion::new()).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::AlreadyExists, "{again}");
    let other = folder.path().join("other");
    let mut calls = 0;
    let cancel = |_, _| {
        calls += 1;
        if calls > 2 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    };
    let error = convert_npy_to_stack(&path, &other, 0, 3, Conversion::new().progress(cancel)).unwrap_err();
    assert!(error.kind() == ErrorKind::Cancelled && !other.exists(), "{error}");

    // The output must not be a part, or be within the stack.
    let error = convert_stack_to_npy(&made, made.join("0.npy"), Conversion::new()).unwrap_err();
    assert!(error.is_usage(), "{error}");
    let error = convert_stack_to_npy(&made, made.join("new.npy"), Conversion::new()).unwrap_err();
    assert!(error.is_usage(), "{error}");
    for (axis, length) in [(2, 1), (0, 0)] {
        assert!(convert_npy_to_stack(&path, &other, axis, length, Conversion::new()).unwrap_err().is_usage());
    }
}

/// Only parts that are read are opened, even if the axis is not the slowest one.
#[test]
fn missing_parts_fail_only_reads_that_need_them() {
    for name in ["axis1", "long", "axis0"] {
        let (folder, whole) = copied_stack(name);
        let stack = NpyStack::open(folder.path()).unwrap();
        let (axis, last) = (stack.axis(), stack.lengths().len() - 1);
        fs::remove_file(folder.path().join(format!("{last}.npy"))).unwrap();
        let mut slice = vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; whole.ndim()];
        slice[axis] = SliceInfoElem::Slice { start: 1, end: Some(4), step: 1 };
        let found = stack.as_file().slice_any(&slice[..]).unwrap();
        assert!(equal(&found, &whole.slice(&slice[..]).unwrap()), "{name}");
        let error = stack.read::<DynArray>().unwrap_err();
        assert!(error.is_io() && error.path().unwrap().ends_with(format!("{last}.npy")), "{error}");
        assert!(stack.into_file().refresh().unwrap_err().is_usage());
    }
}

/// A long tuple that is referred to a million times is not expanded.
#[test]
fn info_repeating_a_shared_tuple_is_a_limit_error() {
    let folder = temp::folder().unwrap();
    let mut pickle = b"\x80\x02}(X\x06\0\0\0chunks(".to_vec();
    pickle.push(b'(');
    pickle.extend([b'K', 1].repeat(1_000_000));
    pickle.extend(b"tq\x00");
    pickle.extend([b'h', 0].repeat(1_000_000));
    pickle.extend(b"tX\x05\0\0\0dtypecnumpy\ndtype\nX\x02\0\0\0f8\x85RX\x04\0\0\0axisK\0u.");
    fs::write(folder.path().join("info"), pickle).unwrap();
    let error = NpyStack::open(folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

/// Dask writes `nan` for lengths that it does not know, as after a mask.
#[test]
fn unknown_lengths_are_taken_from_parts() {
    let (folder, whole) = copied_stack("zero");
    let chunks = [Object::tuple([f64::NAN; 3]), Object::tuple([2])];
    write_info(folder.path(), Object::tuple(chunks), Object::dtype(whole.dtype()).unwrap(), 0);
    let stack = NpyStack::open(folder.path()).unwrap();
    assert_eq!(stack.lengths(), [2, 0, 4]);
    assert!(equal(&stack.read().unwrap(), &whole));
    let mut writer = NpyStackWriter::append(folder.path()).unwrap();
    writer.push(&Array2::<f64>::zeros((1, 2))).unwrap();
    writer.finish().unwrap();
    assert_eq!(NpyStack::open(folder.path()).unwrap().lengths(), [2, 0, 4, 1]);
}

#[test]
fn write_options_apply_to_stack_parts() {
    let folder = temp::folder().unwrap();
    let made = folder.path().join("made");
    let options = WriteOptions::new().in_place(true).version(ndarray_io::npy::Version::V2);
    let records: ndarray_io::DType = "[('a', '>i4'), ('b', '>f8')]".parse().unwrap();
    let mut writer = options.create_stack(&made, &records, &[], 0).unwrap();
    let (_, whole) = dask_stack("records");
    let native =
        whole.cast_to(&records.with_byte_order(ByteOrder::Little), ndarray_io::Casting::Safe).unwrap();
    writer.push(&native).unwrap();
    writer.finish().unwrap(); // `info` is replaced, even with `in_place`
    let part = NpyFile::open(made.join("0.npy")).unwrap();
    assert_eq!((part.dtype(), part.npy_header().unwrap().version), (&records, ndarray_io::npy::Version::V2));
    assert_eq!(NpyStack::open(&made).unwrap().shape(), [2]);
}

/// If a part of a cancelled conversion cannot be removed, `info` stays: without it, the part would form a stack.
#[test]
fn cancelled_stack_with_unremovable_part_keeps_info() {
    let folder = temp::folder().unwrap();
    let (path, parts) = (folder.path().join("a.npy"), folder.path().join("parts"));
    fs::create_dir(&parts).unwrap(); // otherwise, the parts would be in a folder of their own until all are there
    write_npy(&path, &ndarray::arr1(&[1u8, 2, 3, 4])).unwrap();
    let replaced = |_, _| {
        let first = parts.join("0.npy");
        if first.is_file() {
            fs::remove_file(&first).unwrap();
            fs::create_dir(&first).unwrap();
        }
        if first.is_dir() { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    };
    let error = convert_npy_to_stack(&path, &parts, 0, 2, Conversion::new().progress(replaced)).unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    assert!(parts.join("info").is_file());
}

/// Files say that numbers of `ml_dtypes` are raw bytes; which they are is an option for stacks, too.
#[cfg(feature = "narrow")]
#[test]
fn raw_bytes_option_reads_stack_as_narrow_numbers() {
    use ndarray_io::Casting;
    use ndarray_io::dtype::Narrow;
    use ndarray_io::narrow::Float8E5M2;
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("stack");
    let numbers = arr1(&[1.0, -2.5, 3.0]).mapv(Float8E5M2::from_f32);
    let mut writer = NpyStackWriter::create(&path, &"float8_e5m2".parse().unwrap(), &[], 0).unwrap();
    writer.push(&numbers).unwrap();
    writer.push(&DynArray::new(&numbers).unwrap()).unwrap();
    writer.commit().unwrap();
    let stack = NpyStack::open(&path).unwrap();
    assert_eq!(stack.dtype().to_string(), "'|V1'");
    let options = ReadOptions::new().raw_bytes_are(Narrow::Float8E5M2);
    let stack = options.open_stack(&path).unwrap();
    assert_eq!(stack.dtype().to_string(), "'float8_e5m2'");
    let read = stack.as_file().slice_any(s![2..5]).unwrap();
    assert_eq!(read.cast::<f32, ndarray::Ix1>(Casting::Safe).unwrap(), arr1(&[3.0, 1.0, -2.5]));
    // As NumPy writes them, without `info`.
    let text = "{'descr': '<f1', 'fortran_order': False, 'shape': (2,), }";
    let file =
        [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes(), &[0x3C, 0xC1]];
    fs::remove_file(path.join("info")).unwrap();
    fs::write(path.join("2.npy"), file.concat()).unwrap();
    let stack = options.open_stack(&path).unwrap();
    let read: ndarray::Array1<Float8E5M2> = stack.as_file().slice(s![3..]).unwrap();
    assert_eq!(read.mapv(f32::from), arr1(&[1.0, -2.5, 3.0, 1.0, -2.5]));
}
