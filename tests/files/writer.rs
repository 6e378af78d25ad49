//! Arrays that are written in pieces or appended to: the files equal those of `np.save`.

use std::fs::{self, File, OpenOptions};
use std::io::{Cursor, Seek, SeekFrom, Write};

use ndarray::{Array1, Array2, ArrayD, Axis, Ix2, ShapeBuilder, arr0, arr1, arr2, s};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::options::Uncommitted;
use ndarray_io::{
    ByteOrder, DType, DynArray, DynView, FlatArray, NpyReader, NpyWriter, ReadNpyExt, WritableElement,
    WriteOptions, read_npy, write_npy,
};

use crate::support::manifest::{self, assert_equals_numpys, with_type};
use crate::support::native_descr;

/// NumPy's arrays in `testdata`, written again in pieces, give the same files.
#[test]
fn files_written_in_pieces_equal_numpys() {
    fn rewrite_in_pieces<A>(case: &manifest::Case) -> bool
    where
        A: WritableElement + ndarray_io::ReadableElement + Clone,
    {
        let array = ArrayD::<A>::read_npy(&case.bytes[..]).unwrap();
        let reader = NpyReader::new(&case.bytes[..]).unwrap();
        let order = reader.order();
        let byte_order =
            reader.dtype().as_scalar().and_then(|scalar| scalar.byte_order()).unwrap_or(ByteOrder::NATIVE);
        let options = WriteOptions::new().order(order).byte_order(byte_order);
        let is_fortran = order == Order::Fortran;

        let flat = FlatArray::<A>::read_npy(&case.bytes[..]).unwrap();
        assert_eq!((flat.order(), flat.shape()), (order, array.shape()));
        let mut whole = Vec::new();
        WriteOptions::new().byte_order(byte_order).write_to(&mut whole, &flat).unwrap();
        assert_eq!(whole.escape_ascii().to_string(), case.bytes.escape_ascii().to_string(), "{}", case.id);
        let mut whole = Vec::new();
        let shape = array.raw_dim().set_f(is_fortran);
        let mut writer = options.writer_of_shape::<A, _>(&mut whole, shape).unwrap();
        let items: Vec<A> =
            if is_fortran { array.t().iter().cloned().collect() } else { array.iter().cloned().collect() };
        writer.extend(items.clone()).unwrap();
        writer.finish().unwrap();
        assert_eq!(whole.escape_ascii().to_string(), case.bytes.escape_ascii().to_string(), "{}", case.id);
        if array.ndim() == 0 {
            return true;
        }

        let axis = if is_fortran { Axis(array.ndim() - 1) } else { Axis(0) };
        let mut row = array.shape().to_vec();
        row.remove(axis.index());
        for split in [0, 1, array.len_of(axis) / 2, array.len_of(axis)] {
            let split = split.min(array.len_of(axis));
            let (head, tail) = array.view().split_at(axis, split);
            let mut writer = options.writer::<A, _>(Cursor::new(Vec::new()), &row).unwrap();
            writer.push(&head).unwrap();
            writer.commit().unwrap();
            tail.axis_iter(axis).for_each(|row| writer.push(&row).unwrap());
            let grown = writer.finish().unwrap().into_inner();
            assert_eq!(
                grown.escape_ascii().to_string(),
                case.bytes.escape_ascii().to_string(),
                "{}",
                case.id
            );

            // The tail is appended to a file with the head.
            let file = crate::support::ClosedTempFile::new();
            let mut writer = options.writer::<A, _>(File::create(file.path()).unwrap(), &row).unwrap();
            writer.push(&head).unwrap();
            writer.finish().unwrap();
            let appender = NpyWriter::<A, _>::append(file.path()).unwrap();
            appender.push_and_finish(&tail).unwrap();
            assert_eq!(fs::read(file.path()).unwrap(), case.bytes, "{}", case.id);
        }
        true
    }
    let (mut seen, mut kinds) = (0, std::collections::BTreeSet::new());
    for case in manifest::npy_cases(&manifest::testdata()) {
        if case.line["written"] != true
            || case.expected_class != "ok"
            || case.arrays[0].json["version"][0] != 1
        {
            continue;
        }
        let reader = NpyReader::new(&case.bytes[..]).unwrap();
        let shape = reader.shape();
        // Arrays with more than eight axes or with items of no bytes are skipped.
        let is_large = shape.len() > 8 || reader.dtype().item_size() == 0;
        if is_large {
            continue;
        }
        let dtype = reader.dtype().clone();
        if with_type!(dtype, rewrite_in_pieces(&case)).unwrap_or(false) {
            seen += 1;
            kinds.insert(dtype.as_scalar().unwrap().kind().letter());
        }
    }
    assert!(seen > 100, "{seen}");
    assert_eq!(String::from_iter(kinds), "MSUVbcfimu");
}

/// NumPy's arrays of any dtype, written row by row without knowing it, give the same files.
#[test]
fn files_of_rows_of_any_dtype_equal_numpys() {
    let (mut seen, mut records) = (0, 0);
    for case in manifest::npy_cases(&manifest::testdata()) {
        if case.line["written"] != true
            || case.expected_class != "ok"
            || case.arrays[0].json["version"][0] != 1
        {
            continue;
        }
        let Ok(array) = DynArray::read_npy(&case.bytes[..]) else { continue }; // of objects
        let (shape, item) = (array.shape().to_vec(), array.dtype().item_size());
        let [rows, row @ ..] = &shape[..] else { continue };
        if array.order() == Order::Fortran || item == 0 || row.contains(&0) {
            continue;
        }
        let row_bytes: usize = row.iter().product::<usize>() * item;
        let mut strides = vec![item as isize; shape.len()];
        for axis in (0..shape.len() - 1).rev() {
            strides[axis] = strides[axis + 1] * shape[axis + 1] as isize;
        }
        // One row after another; one, and the others; all at once: each file meets one of these.
        let split = [0, 1.min(*rows), *rows][seen % 3];
        let file = crate::support::ClosedTempFile::new();
        let part = |from: usize, to: usize| {
            let dims = [&[to - from], row].concat();
            let bytes = &array.bytes()[from * row_bytes..to * row_bytes];
            DynView::new(bytes, 0, array.dtype().clone(), dims, &strides).unwrap()
        };
        let open = || {
            let (surplus, options) = (Uncommitted::Refuse, WriteOptions::new());
            options
                .clone()
                .uncommitted(surplus)
                .append_or_create_dyn(file.path(), array.dtype(), row)
                .unwrap()
        };
        // An array of the dtype, in the file's own order and in the other one.
        for order in [Order::C, Order::Fortran] {
            fs::remove_file(file.path()).unwrap();
            let mut writer = open();
            writer.push(&*array.in_order(order).unwrap()).unwrap();
            writer.finish().unwrap();
            assert_eq!(fs::read(file.path()).unwrap(), case.bytes, "{}", case.id);
        }
        fs::remove_file(file.path()).unwrap();
        let mut writer = open();
        writer.push(&part(0, split)).unwrap();
        writer.finish().unwrap();
        let mut writer = open();
        for at in split..*rows {
            writer.push(&part(at, at + 1)).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(fs::read(file.path()).unwrap(), case.bytes, "{}", case.id);
        seen += 1;
        records += usize::from(matches!(array.dtype(), DType::Record(_)));
    }
    assert!(seen > 100 && records > 3, "{seen} {records}");
}

#[test]
fn rows_are_what_can_be_written() {
    let file = crate::support::ClosedTempFile::new();
    let mut writer = NpyWriter::create(file.path(), &[2]).unwrap();
    writer.push(&[1_i16, 2]).unwrap();
    writer.push(&vec![3, 4]).unwrap();
    writer.push(&[5, 6][..]).unwrap();
    writer.push(&&arr1(&[7, 8])).unwrap();
    let rows = FlatArray::new(vec![9, 11, 10, 12], vec![2, 2], Order::Fortran).unwrap();
    writer.push(&rows).unwrap();
    writer.push(&rows.view()).unwrap();
    assert_eq!(writer.push(&[1]).unwrap_err().kind(), ErrorKind::ShapeMismatch);
    writer.finish().unwrap();
    let mut writer = WriteOptions::new().append_dyn(file.path()).unwrap();
    let rows = DynArray::new(&arr2(&[[13_i16, 15], [14, 16]]).reversed_axes()).unwrap();
    assert_eq!(rows.order(), Order::Fortran);
    writer.push(&rows).unwrap();
    writer.push(&DynArray::new(&arr1(&[17_i16, 18])).unwrap()).unwrap();
    let other = DynArray::new(&arr1(&[1_i32, 2])).unwrap();
    assert_eq!(writer.push(&other).unwrap_err().kind(), ErrorKind::DTypeMismatch);
    let bools = DynArray::new(&arr1(&[true, false])).unwrap();
    assert_eq!(writer.push(&bools).unwrap_err().path(), Some(file.path()));
    writer.finish().unwrap();
    let rows = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18];
    assert_eq!(read_npy::<_, Array2<i16>>(file.path()).unwrap().into_raw_vec_and_offset().0, rows);
}

#[test]
fn rows_of_another_dtype_or_shape_are_refused() {
    let file = crate::support::ClosedTempFile::new();
    let columns = arr2(&[[1_i16, 2], [3, 4]]).reversed_axes(); // in Fortran order
    WriteOptions::new().byte_order(ByteOrder::Little).write_npy(file.path(), &columns).unwrap();
    let options = WriteOptions::new();
    let mut writer = options.append_dyn(file.path()).unwrap();
    let view = |code: &str, shape: &[usize]| {
        DynView::new(&[5, 0, 6, 0], 0, code.parse().unwrap(), shape.to_vec(), &[2][..shape.len()]).unwrap()
    };
    let error = writer.push(&view(">i2", &[2])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DTypeMismatch, "{error}");
    assert_eq!(error.path(), Some(file.path()));
    assert_eq!(writer.push(&view("<i2", &[1])).unwrap_err().kind(), ErrorKind::ShapeMismatch);
    writer.push(&view("<i2", &[2])).unwrap(); // a column: the last axis grows
    writer.finish().unwrap();
    assert_eq!(read_npy::<_, Array2<i16>>(file.path()).unwrap(), arr2(&[[1, 3, 5], [2, 4, 6]]));
    let wrong = options.append_or_create_dyn(file.path(), &"<i4".parse().unwrap(), &[2]);
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::DTypeMismatch);
    let objects = options.append_or_create_dyn("not made.npy", &DType::Object, &[2]);
    assert_eq!(objects.unwrap_err().kind(), ErrorKind::BadOption);
}

#[test]
fn too_few_or_too_many_elements_are_errors() {
    let mut file = Vec::new();
    let mut writer = NpyWriter::with_shape(&mut file, (2, 3)).unwrap();
    writer.extend([1.0, 2.0, 3.0, 4.0]).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(error.message().starts_with("expected 6 elements, found 4") && error.is_usage(), "{error}");
    let mut writer = NpyWriter::with_shape(Vec::new(), (2, 3)).unwrap();
    writer.push(&arr2(&[[1, 2, 3], [4, 5, 6]])).unwrap();
    let error = writer.push(&arr1(&[7, 8, 9])).unwrap_err();
    assert!(error.message().starts_with("expected 6 elements, found 9"), "{error}");
    assert_eq!(
        Array2::<i32>::read_npy(&writer.finish().unwrap()[..]).unwrap(),
        arr2(&[[1, 2, 3], [4, 5, 6]])
    );

    // After an incomplete row, the complete ones count.
    let file = crate::support::ClosedTempFile::new();
    let mut writer = NpyWriter::new(File::create(file.path()).unwrap(), &[2]).unwrap();
    writer.extend([1u8, 2, 3]).unwrap();
    assert!(writer.push(&arr1(&[4, 5])).unwrap_err().is_usage());
    assert!(writer.finish().unwrap_err().message().starts_with("expected 4 elements, found 3"));
    let reader = NpyReader::new(File::open(file.path()).unwrap()).unwrap();
    assert_eq!(reader.shape(), [1, 2]);

    let mut writer = NpyWriter::<u8, _>::new(Cursor::new(Vec::new()), &[2, 3]).unwrap();
    for wrong in [vec![3, 2], vec![2], vec![3, 2, 1], vec![1, 1, 2, 3]] {
        let error = writer.push(&ArrayD::zeros(wrong)).unwrap_err();
        assert!(error.message().starts_with("expected rows of shape"), "{error}");
    }
    writer.push(&ArrayD::zeros(vec![4, 2, 3])).unwrap();
    writer.push(&Array2::zeros((2, 3))).unwrap();
    assert_eq!(writer.len(), 30);
}

#[test]
fn text_needs_a_width_and_is_not_truncated() {
    assert!(NpyWriter::<String, _>::new(Cursor::new(Vec::new()), &[]).unwrap_err().is_usage());
    let file = crate::support::ClosedTempFile::new();
    let names = arr1(&["Ada".to_owned(), "Grace".into()]);
    let little = WriteOptions::new().byte_order(ByteOrder::Little);
    little.write_npy(file.path(), &names).unwrap();
    let mut writer = NpyWriter::<String, _>::append(file.path()).unwrap();
    writer.extend(["Émile".to_owned()]).unwrap();
    let error = writer.extend(["a".to_owned(), "Katherine".to_owned()]).unwrap_err();
    assert!(error.message().starts_with("text of length 9 exceeds the width of 5"), "{error}");
    assert_eq!(error.element(), Some(4));
    writer.finish().unwrap();
    assert_equals_numpys(&fs::read(file.path()).unwrap(), "names");
}

#[test]
fn append_requires_element_type_of_file() {
    let file = crate::support::ClosedTempFile::new();
    write_npy(file.path(), &arr2(&[[1i16, 2]])).unwrap();
    assert!(NpyWriter::<i32, _>::append(file.path()).unwrap_err().is_mismatch());
    WriteOptions::new().byte_order(ByteOrder::Big).write_npy(file.path(), &arr2(&[[1i16, 2]])).unwrap();
    NpyWriter::append(file.path()).unwrap().push_and_finish(&arr1(&[3i16, 4])).unwrap();
    assert_equals_numpys(&fs::read(file.path()).unwrap(), "big-appended");
    write_npy(file.path(), &arr0(1i16)).unwrap();
    assert!(NpyWriter::<i16, _>::append(file.path()).unwrap_err().is_usage());
    let error = NpyWriter::<i16, _>::append("no/such/file.npy").unwrap_err();
    assert!(error.is_io() && error.path().is_some());
    let object = manifest::testdata().join("dtype-object.npy");
    assert!(NpyWriter::<i16, _>::append(object).is_err());
    fs::write(file.path(), b"\x93NUMPY").unwrap();
    assert!(NpyWriter::<i16, _>::append(file.path()).unwrap_err().is_format());
}

#[test]
#[cfg_attr(target_arch = "x86", ignore = "needs a C in which an f64 has an alignment of 8")]
fn pushed_records_equal_numpys() {
    #[cfg(feature = "derive")]
    {
        #[derive(ndarray_io::Record, Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        struct Event {
            kind: u8,
            time: f64,
        }
        let events = Array1::from_shape_fn(1000, |index| Event { kind: index as u8, time: index as f64 });
        let file = crate::support::ClosedTempFile::new();
        let little = WriteOptions::new().byte_order(ByteOrder::Little);
        let mut writer = little.writer(File::create(file.path()).unwrap(), &[]).unwrap();
        writer.push(&events.slice(s![..10])).unwrap();
        writer.extend(events.iter().skip(10).copied()).unwrap();
        writer.finish().unwrap();
        assert_equals_numpys(&fs::read(file.path()).unwrap(), "events");
    }
}

/// A file of two arrays, as two calls of `np.save` make it, has no rows to recover or to discard.
#[test]
fn second_array_is_neither_recovered_as_rows_nor_discarded() {
    let first = fs::read(manifest::testdata().join("number-lf8.npy")).unwrap();
    let second = fs::read(manifest::testdata().join("number-lf4.npy")).unwrap();
    let (file, both) = (crate::support::ClosedTempFile::new(), [first, second].concat());
    for surplus in [Uncommitted::Refuse, Uncommitted::Recover, Uncommitted::Discard] {
        fs::write(file.path(), &both).unwrap();
        let options = WriteOptions::new();
        let error = options.clone().uncommitted(surplus).append::<f64>(file.path()).unwrap_err();
        assert_eq!(error.help().unwrap().id(), "array-follows", "{error}");
        let error = options.clone().uncommitted(surplus).append_or_create::<f64>(file.path(), &[]);
        assert_eq!(error.unwrap_err().help().unwrap().id(), "array-follows");
        assert_eq!(fs::read(file.path()).unwrap(), both);
    }
}

/// Rows may begin with the bytes that every array begins with.
#[test]
fn rows_that_begin_as_an_array_does_are_recovered() {
    let first = fs::read(manifest::testdata().join("number-_u1.npy")).unwrap();
    let file = crate::support::ClosedTempFile::new();
    for rows in [b"\x93NUMPY".to_vec(), b"\x93NUMPY\x01\x00\x04\x00abcdefg".to_vec()] {
        fs::write(file.path(), [&first[..], &rows].concat()).unwrap();
        let before = WriteOptions::new().append::<u8>(file.path());
        let error = before.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Uncommitted
                && error.message().contains(&format!("({} complete rows)", rows.len()))
        );
        WriteOptions::new()
            .uncommitted(Uncommitted::Recover)
            .append::<u8>(file.path())
            .and_then(NpyWriter::finish)
            .unwrap();
        let read = Array1::<u8>::read_npy(fs::File::open(file.path()).unwrap()).unwrap();
        assert_eq!(read.as_slice().unwrap()[read.len() - rows.len()..], rows);
        assert_eq!(fs::metadata(file.path()).unwrap().len(), (first.len() + rows.len()) as u64);
    }
}

/// After an interrupted append, the header has the old length, and any bytes after the array are ignored.
#[test]
fn interrupted_append_leaves_old_array_readable() {
    let file = crate::support::ClosedTempFile::new();
    let old = arr2(&[[1u16, 2], [3, 4]]);
    write_npy(file.path(), &old).unwrap();
    let before = fs::read(file.path()).unwrap();
    for surplus in 0..9usize {
        fs::write(file.path(), &before).unwrap();
        let mut end = OpenOptions::new().append(true).open(file.path()).unwrap();
        end.write_all(&[9; 9][..surplus]).unwrap();
        let read: DynArray = NpyReader::new(File::open(file.path()).unwrap()).unwrap().read().unwrap();
        assert_eq!(read.view::<u16, Ix2>().unwrap(), old);
        if surplus == 0 {
            continue;
        }
        let error = NpyWriter::<u16, _>::append(file.path()).unwrap_err();
        let (bytes, rows) = (surplus as u64, surplus as u64 / 4);
        assert!(
            error.kind() == ErrorKind::Uncommitted
                && error.message().starts_with(&format!("found {bytes} byte"))
                && error.message().contains(&format!("({rows} complete row")) == (rows > 0),
            "{error}"
        );
        assert_eq!(
            fs::metadata(file.path()).unwrap().len(),
            before.len() as u64 + bytes,
            "nothing is changed"
        );
        let options = WriteOptions::new().sync(true);
        options
            .clone()
            .uncommitted(Uncommitted::Recover)
            .append::<u16>(file.path())
            .unwrap()
            .finish()
            .unwrap();
        let recovered: Array2<u16> = read_npy(file.path()).unwrap();
        assert_eq!(recovered.nrows() as u64, 2 + rows);
        fs::write(file.path(), &before).unwrap();
        end.seek(SeekFrom::End(0)).unwrap();
        end.write_all(&[9; 9][..surplus]).unwrap();
        options
            .clone()
            .uncommitted(Uncommitted::Discard)
            .append::<u16>(file.path())
            .unwrap()
            .finish()
            .unwrap();
        assert_eq!(fs::read(file.path()).unwrap(), before);
    }
}

#[test]
#[cfg_attr(target_os = "wasi", ignore = "needs locks")]
fn second_appender_is_refused() {
    let file = crate::support::ClosedTempFile::new();
    write_npy(file.path(), &arr1(&[1u8])).unwrap();
    let mut first = NpyWriter::<u8, _>::append(file.path()).unwrap();
    let error = NpyWriter::<u8, _>::append(file.path()).unwrap_err();
    assert!(error.kind() == ErrorKind::Locked && error.is_conflict(), "{error}");
    // A reader is not blocked, and sees the committed rows.
    first.extend([2, 3]).unwrap();
    assert_eq!(read_npy::<_, Array1<u8>>(file.path()).unwrap(), arr1(&[1]));
    first.commit().unwrap();
    assert_eq!(read_npy::<_, Array1<u8>>(file.path()).unwrap(), arr1(&[1, 2, 3]));
    first.extend([4]).unwrap();
    first.finish().unwrap();
    NpyWriter::append(file.path()).unwrap().push_and_finish(&arr1(&[5u8])).unwrap();
    assert_eq!(read_npy::<_, Array1<u8>>(file.path()).unwrap(), arr1(&[1, 2, 3, 4, 5]));
}

#[test]
fn header_without_padding_cannot_grow() {
    // As NumPy 1.13 wrote it: aligned to 16 bytes, without space for a longer shape.
    let text = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
    let padded = format!("{text}{}\n", " ".repeat(15 - (10 + text.len()) % 16));
    let file = crate::support::ClosedTempFile::new();
    let old =
        [b"\x93NUMPY\x01\x00", &(padded.len() as u16).to_le_bytes()[..], padded.as_bytes(), &[1, 2]].concat();
    fs::write(file.path(), old).unwrap();
    let error = NpyWriter::<u8, _>::append(file.path()).unwrap_err();
    assert!(
        error.kind() == ErrorKind::CannotChange
            && error.help().is_some_and(|help| help.id() == "grow-header"),
        "{error}"
    );
    WriteOptions::new().grow_header(file.path()).unwrap();
    NpyWriter::append(file.path()).unwrap().push_and_finish(&arr1(&[3u8])).unwrap();
    assert_equals_numpys(&fs::read(file.path()).unwrap(), "small-appended");
}

/// A seekable writer that fails after some calls.
struct FailingWriter {
    inner: Cursor<Vec<u8>>,
    writes_left: usize,
}

impl Write for FailingWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.writes_left = self.writes_left.checked_sub(1).ok_or_else(|| std::io::Error::other("broken"))?;
        self.inner.write(&bytes[..bytes.len().min(1000)])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for FailingWriter {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.inner.seek(to)
    }
}

/// After any failed write, the file reads as the rows of some commit.
#[test]
fn failed_write_leaves_a_commit() {
    let rows = Array2::from_shape_fn((3, 500), |(row, column)| (row * 1000 + column) as u32);
    let mut outcomes = std::collections::BTreeSet::new();
    for calls in 1..20 {
        let mut target = FailingWriter { inner: Cursor::new(Vec::new()), writes_left: calls };
        let write = |target: &mut FailingWriter| -> ndarray_io::Result<()> {
            let mut writer = NpyWriter::new(target, &[500])?;
            for row in rows.rows() {
                writer.push(&row)?;
                writer.commit()?;
            }
            writer.finish().map(drop)
        };
        let result = write(&mut target);
        let left = target.inner.into_inner();
        let mut reader = NpyReader::new(&left[..]).unwrap();
        let read: Array2<u32> = reader.read().unwrap();
        assert_eq!(read, rows.slice(s![..read.nrows(), ..]), "{calls}");
        assert_eq!(result.is_ok(), calls >= 11, "{calls}");
        outcomes.insert(read.nrows());
    }
    assert_eq!(outcomes.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    let mut failing =
        NpyWriter::new(FailingWriter { inner: Cursor::new(Vec::new()), writes_left: 1 }, &[]).unwrap();
    assert!(failing.push(&Array1::<f64>::zeros(200_000)).is_err());
    assert!(failing.extend([1.0]).unwrap_err().is_usage());
    assert!(failing.commit().unwrap_err().is_usage());
}

/// A record whose header, as NumPy writes it, has the first digit of the length in the last byte of a sector.
#[cfg(feature = "derive")]
#[derive(Clone, Copy, ndarray_io::Record)]
struct LongNameRecord {
    #[record(
        rename = "a name of four hundred and forty-two letters, most of which are xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    )]
    number: u64,
}

#[cfg(feature = "derive")]
#[test]
fn synced_append_refuses_length_across_sectors() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    let synced = WriteOptions::new().sync(true);
    let append = |options: &WriteOptions| options.append::<LongNameRecord>(&path);
    write_npy(&path, &arr1(&[LongNameRecord { number: 1 }])).unwrap();
    let place = |bytes: &[u8]| bytes.windows(10).position(|part| part == b"'shape': (").unwrap();
    assert_eq!(place(&fs::read(&path).unwrap()) + 10, 511, "NumPy's place for the digit");

    let Err(error) = append(&synced) else { panic!("it could be torn") };
    assert!(
        error.message().starts_with("the length in the header of 576 bytes crosses a sector boundary"),
        "{error}"
    );
    append(&WriteOptions::new()).unwrap().push_and_finish(&arr1(&[LongNameRecord { number: 2 }])).unwrap();

    WriteOptions::new().grow_header(&path).unwrap();
    assert_eq!(place(&fs::read(&path).unwrap()), 512);
    append(&synced).unwrap().push_and_finish(&arr1(&[LongNameRecord { number: 3 }])).unwrap();
    assert_eq!(place(&fs::read(&path).unwrap()), 512);
    let numbers: Array1<LongNameRecord> = read_npy(&path).unwrap();
    assert_eq!(numbers.map(|long| long.number), arr1(&[1, 2, 3]));
}

/// Numbers of `ml_dtypes` extend files of raw bytes, and those that say which numbers they are, if they are the same.
#[cfg(feature = "narrow")]
#[test]
fn narrow_numbers_extend_files_of_the_same_type() {
    use ndarray_io::narrow::{Float8E4M3Fn, Float8E5M2};
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    let codes = |path: &std::path::Path| std::fs::read(path).unwrap()[128..].to_vec();
    let of =
        |numbers: &[f32]| numbers.iter().map(|number| Float8E5M2::from_f32(*number)).collect::<Array1<_>>();
    ndarray_io::write_npy(&path, &of(&[1.0])).unwrap();
    let mut writer = NpyWriter::<Float8E5M2, _>::append(&path).unwrap();
    writer.push(&of(&[-2.5])).unwrap();
    writer.finish().unwrap();
    assert_eq!(codes(&path), [0x3C, 0xC1]);
    // With the dtype as `numpy.save` writes it.
    let bytes = std::fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&bytes[10..128]).replace("'|V1'", "'<f1'");
    std::fs::write(&path, [&bytes[..10], text.as_bytes(), &bytes[128..]].concat()).unwrap();
    let error = NpyWriter::<Float8E4M3Fn, std::fs::File>::append(&path).unwrap_err();
    assert!(error.is_mismatch(), "{error}");
    let mut writer = NpyWriter::<Float8E5M2, _>::append(&path).unwrap();
    writer.push(&of(&[3.0])).unwrap();
    writer.finish().unwrap();
    let file = ndarray_io::NpyFileMut::open(&path).unwrap();
    file.write_slice(s![..1], &of(&[0.0])).unwrap();
    drop(file);
    assert_eq!(codes(&path), [0, 0xC1, 0x42]);
    // A header that is written says what NumPy reads.
    assert!(std::fs::read(&path).unwrap()[10..].starts_with(b"{'descr': '|V1'"));
}

/// NumPy counts the rows of `np.zeros((3, 0))` as well.
#[test]
fn rows_without_elements_are_counted_with_and_without_a_declared_shape() {
    let mut file = Vec::new();
    let mut declared = NpyWriter::<f64, _>::with_shape(&mut file, (3, 0)).unwrap();
    assert_eq!(declared.rows(), 0);
    declared.push(&Array1::zeros(0)).unwrap();
    assert_eq!(declared.rows(), 1);
    declared.push(&Array2::zeros((2, 0))).unwrap();
    assert_eq!(declared.rows(), 3);
    declared.finish().unwrap();

    let mut growing = NpyWriter::<f64, _>::new(Cursor::new(Vec::new()), &[0]).unwrap();
    growing.push(&Array2::zeros((3, 0))).unwrap();
    assert_eq!(growing.rows(), 3);
    let growing = growing.finish().unwrap().into_inner();
    for file in [file, growing] {
        let text = String::from_utf8_lossy(&file);
        let wanted = native_descr("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0), }");
        assert!(text.contains(&wanted), "{text}");
    }
}
