//! Reads and writes of elements of every kind: each way from bytes to elements and back.

use std::fmt::Debug;
use std::io::{self, Cursor, Read};

use ndarray::{Array1, Array2, Array3, ArrayD, ArrayView2, Axis, ShapeBuilder, Slice, arr1, s};
use ndarray_io::element::Chars;
use ndarray_io::header::Order;
use ndarray_io::{
    ByteOrder, Casting, DynArray, Element, NpyReader, NpyWriter, ReadNpyExt, ReadOptions, ReadableElement,
    Record, WritableElement, WriteNpyExt, WriteOptions,
};
use num_complex::Complex;

#[derive(Element, Clone, Copy, Debug, PartialEq)]
#[repr(u16)]
enum Quantity {
    One = 1,
    Many = 500,
}

#[derive(Element, Clone, Debug, PartialEq)]
#[repr(transparent)]
struct Label(String);

#[derive(Element, Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Pair([f32; 2]);

/// The layout in the file is that in memory, with padding.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct BulkRecord {
    flag: bool,
    quantity: Quantity,
    pair: Pair,
    #[record(flatten)]
    inner: Inner,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Inner {
    count: i64,
    many: [[u8; 2]; 4],
}

/// The layout in the file differs from that in memory, so it is read field by field.
#[derive(Record, Clone, Debug, PartialEq)]
struct ColumnsRecord {
    #[record(len = 5)]
    label: Label,
    inner: Inner,
    flags: [bool; 3],
    #[record(len = 2)]
    names: [String; 2],
    #[record(skip, default = "skipped")]
    skipped: Vec<u8>,
}

fn skipped() -> Vec<u8> {
    vec![1, 2, 3]
}

/// A reader of which nothing is known, and which gives a few bytes at a time.
struct ShortReader<'a>(&'a [u8]);

impl Read for ShortReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(7);
        self.0.read(&mut into[..most])
    }
}

/// Writes an array from every memory layout, and reads it in every way.
fn check_round_trips<A>(items: &[A])
where
    A: ReadableElement + WritableElement + Clone + PartialEq + Debug + 'static,
{
    let (rows, columns) = (if cfg!(miri) { 2 } else { 4 }, 3);
    let array = Array2::from_shape_fn((rows, columns), |(row, column)| {
        items[(row * columns + column) % items.len()].clone()
    });
    let fortran = {
        let mut fortran =
            Array2::from_shape_fn((rows, columns).f(), |(row, column)| array[[row, column]].clone());
        fortran.invert_axis(Axis(0));
        fortran.invert_axis(Axis(0));
        fortran
    };
    let wide =
        Array2::from_shape_fn((2 * rows, 2 * columns), |(row, column)| array[[row / 2, column / 2]].clone());
    let mut reversed = array.clone();
    reversed.invert_axis(Axis(0));
    let mut back = reversed.view();
    back.invert_axis(Axis(0));
    let views: [ArrayView2<'_, A>; 4] = [array.view(), fortran.view(), wide.slice(s![..;2, ..;2]), back];
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let options = WriteOptions::new().byte_order(order);
        for (index, view) in views.iter().enumerate() {
            let mut file = Vec::new();
            options.write_to(&mut file, &view).unwrap();
            // Miri says whether each byte is initialized.
            assert!(file.iter().map(|byte| usize::from(*byte)).sum::<usize>() > 0);
            assert_eq!(Array2::<A>::read_npy(&file[..]).unwrap(), array);
            // Miri takes a quarter of a second for each read: one file of each type is enough.
            if cfg!(miri) && (index > 0 || order == ByteOrder::NATIVE) {
                continue;
            }
            assert_eq!(Array2::<A>::read_npy(Cursor::new(&file)).unwrap(), array);
            assert_eq!(ArrayD::<A>::read_npy(ShortReader(&file)).unwrap(), array.clone().into_dyn());
            let mut target = wide.clone();
            ReadOptions::new().read_into(&file[..], &mut target.slice_mut(s![1..=rows, ..columns])).unwrap();
            assert_eq!(target.slice(s![1..=rows, ..columns]), array);
            let mut target = fortran.clone();
            ReadOptions::new().read_into(&file[..], &mut target).unwrap();
            assert_eq!(target, array);
            let dynamic = DynArray::read_npy(&file[..]).unwrap();
            assert_eq!(dynamic.into_array::<A, ndarray::Ix2>().unwrap(), array);
            for cut in [file.len() - 1, file.len() / 2].into_iter().take(if cfg!(miri) { 1 } else { 2 }) {
                assert!(Array2::<A>::read_npy(&file[..cut]).is_err());
                assert!(Array2::<A>::read_npy(ShortReader(&file[..cut])).is_err());
            }
        }
    }
    // Types whose width depends on the values cannot be written in parts.
    if let Ok(mut writer) = NpyWriter::<A, _>::new(Cursor::new(Vec::new()), &[columns]) {
        for part in array.axis_chunks_iter(Axis(0), 3) {
            writer.push(&part).unwrap();
        }
        let file = writer.finish().unwrap().into_inner();
        assert_eq!(NpyReader::new(ShortReader(&file)).unwrap().read::<Array2<A>>().unwrap(), array);
    }
}

#[test]
fn numbers_round_trip() {
    check_round_trips(&[1.5f64, -0.0, f64::MAX]);
    check_round_trips(&[[1u32, 2], [3, 4]]);
    if !cfg!(miri) {
        check_round_trips(&[1u8, 2, 3]);
        check_round_trips(&[-1i16, 300]);
        check_round_trips(&[1.0f32, 2.0]);
        check_round_trips(&[Complex::new(1.0, 2.0), Complex::new(-1.0, 0.5)]);
    }
}

#[test]
fn checked_elements_round_trip() {
    check_round_trips(&[Quantity::Many, Quantity::One, Quantity::One]);
    if !cfg!(miri) {
        check_round_trips(&[true, false]);
        check_round_trips(&[[Quantity::Many], [Quantity::One]]);
        check_round_trips(&[Pair([1.0, 2.0]), Pair([3.0, -1.0])]);
    }
}

/// Invalid bytes must not be seen in the array, not even after the error.
#[test]
fn invalid_bytes_never_reach_an_existing_array() {
    let mut file = Vec::new();
    arr1(&[1u8, 0, 1, 2, 0]).write_npy(&mut file).unwrap();
    let at = file.windows(4).position(|part| part == b"'|u1").expect("a dtype");
    file[at + 2] = b'b';
    let mut target = Array1::from_elem(5, false);
    assert_eq!(ReadOptions::new().read_into(&file[..], &mut target).unwrap_err().element(), Some(3));
    // What the file has as 0, or as no bool, is as it was.
    assert_eq!((target[1], target[3], target[4]), (false, false, false));
    // Not contiguous, so that elements are moved from a block.
    let mut table = Array2::from_elem((5, 3), false);
    let error = ReadOptions::new().read_into(&file[..], &mut table.column_mut(1)).unwrap_err();
    assert_eq!(error.element(), Some(3));
    assert!(table.iter().all(|item| !item));
    let mut numbers = Vec::new();
    arr1(&[1u16, 7]).write_npy(&mut numbers).unwrap();
    let mut target = arr1(&[Quantity::Many, Quantity::Many]);
    assert_eq!(ReadOptions::new().read_into(&numbers[..], &mut target).unwrap_err().element(), Some(1));
    assert!(target.iter().all(|item| [Quantity::One, Quantity::Many].contains(item)));
}

#[test]
fn arrays_of_any_strides_are_read_into() {
    fn check_read_into<A>(item: impl Fn(usize) -> A)
    where
        A: ReadableElement + WritableElement + Clone + PartialEq + std::fmt::Debug + Default,
    {
        let shape = if cfg!(miri) { (3, 4, 5) } else { (20, 33, 70) };
        let array = Array3::from_shape_fn(shape, |(a, b, c)| item(a * 10_000 + b * 100 + c));
        for order in [Order::C, Order::Fortran] {
            let mut file = Vec::new();
            WriteOptions::new().order(order).write_to(&mut file, &array).unwrap();
            for axes in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1], [2, 0, 1]] {
                // Memory of which the array has every second element, in other orders and directions.
                let lens = axes.map(|axis| 2 * array.shape()[axis]);
                let mut memory = Array3::from_elem(lens, A::default());
                let mut part = memory.slice_mut(s![..;-2, ..;2, ..;2]);
                let mut back = [0; 3];
                axes.iter().enumerate().for_each(|(at, axis)| back[*axis] = at);
                part = part.permuted_axes(back);
                ReadOptions::new().read_into(&file[..], &mut part).unwrap();
                assert_eq!(part, array);
                assert!(memory.slice(s![.., 1..;2, ..]).iter().all(|item| *item == A::default()));
                let mut whole = Array3::from_elem(axes.map(|axis| array.shape()[axis]), A::default());
                let mut whole = whole.view_mut().permuted_axes(back);
                ReadOptions::new().read_into(std::io::Cursor::new(&file[..]), &mut whole).unwrap();
                assert_eq!(whole, array);
                ReadOptions::new().read_into(&file[..], &mut whole).unwrap();
                assert_eq!(whole, array);
            }
        }
    }
    check_read_into(|number| number as f64);
    check_read_into(|number| number as u16);
    if !cfg!(miri) {
        check_read_into(|number| number as u8);
        check_read_into(|number| number as f32);
        check_read_into(|number: usize| number.is_multiple_of(3));
        check_read_into(|number| Complex::new(number as f64, -1.0));
        check_read_into(|number: usize| number.to_string());
    }
}

/// The elements are moved by offsets in memory, in both directions.
#[test]
fn arrays_of_many_short_axes_round_trip() {
    const AXIS_COUNT: usize = 7;
    let count = 1 << AXIS_COUNT;
    let numbers: Vec<u32> = (0..count).collect();
    let array = ArrayD::from_shape_vec(vec![2; AXIS_COUNT], numbers).unwrap();
    // The elements from both ends towards the middle, in memory that has others in between.
    let mut memory = ArrayD::from_elem(vec![4; AXIS_COUNT], u32::MAX);
    let mut strided = memory.slice_each_axis_mut(|axis| match axis.axis.index() % 2 {
        0 => Slice::new(0, None, -2),
        _ => Slice::new(1, None, 2),
    });
    strided.swap_axes(0, AXIS_COUNT - 1);
    strided.swap_axes(2, 5);
    let mut file = Vec::new();
    array.write_npy(&mut file).unwrap();
    ReadOptions::new().read_into(&file[..], &mut strided).unwrap();
    assert_eq!(strided, array);
    let mut again = Vec::new();
    strided.write_npy(&mut again).unwrap();
    assert!(again == file);
    assert_eq!(memory.iter().filter(|item| **item != u32::MAX).count(), count as usize);
}

#[test]
fn consecutive_arrays_are_read_through_references() {
    let mut file = Vec::new();
    arr1(&[1u32, 2, 3]).write_npy(&mut file).unwrap();
    let mut both = [&file[..], &file[..]].concat();
    let mut slice = &both[..];
    for _ in 0..2 {
        assert_eq!(NpyReader::new(&mut slice).unwrap().read::<Array1<u32>>().unwrap(), arr1(&[1, 2, 3]));
    }
    assert!(slice.is_empty());
    both.clear();
    #[cfg(not(miri))] // which has no reads at an offset of the kind that the library makes
    {
        use std::io::{BufWriter, Seek, SeekFrom};
        let path = std::env::temp_dir().join(format!("ndarray-io-sound-{}-streams", std::process::id()));
        let mut file =
            std::fs::File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        arr1(&[1u32, 2]).write_npy(&file).unwrap();
        arr1(&[3u32, 4]).write_npy(&mut file).unwrap();
        arr1(&[5u32, 6]).write_npy(BufWriter::new(&mut &file)).unwrap();
        let mut buffered = BufWriter::new(file);
        arr1(&[7u32, 8]).write_npy(&mut buffered).unwrap();
        let mut file = buffered.into_inner().unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let next = |found: Array1<u32>| found.to_vec();
        assert_eq!(next(NpyReader::new(&file).unwrap().read().unwrap()), [1, 2]);
        assert_eq!(next(NpyReader::new(&mut file).unwrap().read().unwrap()), [3, 4]);
        assert_eq!(next(NpyReader::new(&mut &file).unwrap().read().unwrap()), [5, 6]);
        assert_eq!(next(NpyReader::new(file).unwrap().read().unwrap()), [7, 8]);
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn text_elements_round_trip() {
    check_round_trips(&[Label("é😀".to_owned()), Label(String::new())]);
    if !cfg!(miri) {
        check_round_trips(&["a".to_owned(), "longer text".to_owned(), String::new()]);
        check_round_trips(&[vec![1u8, 2], vec![], vec![255; 5]]);
        check_round_trips(&[["a".to_owned(), "b".to_owned()]]);
    }
}

#[test]
fn records_round_trip_in_bulk_and_by_columns() {
    let bulk = |quantity, count| BulkRecord {
        flag: quantity == Quantity::One,
        quantity,
        pair: Pair([count as f32, 0.5]),
        inner: Inner { count, many: [[1, 2], [3, 4], [5, 6], [7, count as u8]] },
    };
    let rows = [bulk(Quantity::One, 1), bulk(Quantity::Many, -7)];
    check_round_trips(&rows);
    let columns = |label: &str, row: &BulkRecord| ColumnsRecord {
        label: Label(label.to_owned()),
        inner: row.inner,
        flags: [row.flag, true, false],
        names: ["x".to_owned(), label[..1].to_owned()],
        skipped: skipped(),
    };
    check_round_trips(&[columns("one", &rows[0]), columns("other", &rows[1])]);
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
struct FieldsOfAllSizes {
    one: u8,
    two: u16,
    four: i32,
    eight: f64,
    sixteen: Complex<f64>,
    three: [u8; 3],
    text: Chars<2>,
    flag: bool,
}

/// The same fields, in another order.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Reordered {
    flag: bool,
    sixteen: Complex<f64>,
    three: [u8; 3],
    eight: f64,
    one: u8,
    text: Chars<2>,
    four: i32,
    two: u16,
}

#[test]
fn fields_of_all_sizes_are_reordered() {
    let sizes = |index: usize| FieldsOfAllSizes {
        one: index as u8,
        two: 0x0102 + index as u16,
        four: -0x0102_0304 - index as i32,
        eight: index as f64 + 0.25,
        sixteen: Complex::new(index as f64, -1.5),
        three: [1, 2, index as u8],
        text: Chars::new("é😀").unwrap(),
        flag: index.is_multiple_of(3),
    };
    let rows: Vec<FieldsOfAllSizes> = (0..if cfg!(miri) { 40 } else { 3_000 }).map(sizes).collect();
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut file = Vec::new();
        let options = WriteOptions::new().byte_order(order);
        options.write_to(&mut file, &Array1::from(rows.clone())).unwrap();
        let read = Array1::<Reordered>::read_npy(&file[..]).unwrap();
        for (read, row) in read.iter().zip(&rows) {
            assert_eq!((read.one, read.two, read.four, read.eight), (row.one, row.two, row.four, row.eight));
            assert_eq!((read.sixteen, read.three), (row.sixteen, row.three));
            assert_eq!((read.text, read.flag), (row.text, row.flag));
        }
    }
}

#[test]
fn casting_reads_of_many_blocks_give_cast_values() {
    let mut file = Vec::new();
    let many = if cfg!(miri) { 500 } else { 100_000 };
    Array1::from_iter((0..many).map(|number| (number % 200) as u8)).write_npy(&mut file).unwrap();
    let options = ReadOptions::new().casting(Casting::Safe);
    let read = options.read_from::<Array1<f32>>(&file[..]).unwrap();
    assert!(read.iter().enumerate().all(|(index, item)| *item == (index % 200) as f32));
    let read = options.read_from::<Array1<Complex<f64>>>(&file[..]).unwrap();
    assert_eq!(read[201], Complex::new(1.0, 0.0));
}

#[test]
fn objects_round_trip_and_truncated_ones_are_errors() {
    use ndarray_io::object::Object;
    let mut file = Vec::new();
    let items = [Object::from("text"), Object::from(7), Object::list([Object::from(1.5), Object::none()])];
    arr1(&items).write_npy(&mut file).unwrap();
    let read = Array1::<Object>::read_npy(&file[..]).unwrap();
    assert!(read.iter().zip(&items).all(|(one, other)| one == other));
    assert!(Array1::<Object>::read_npy(&file[..file.len() - 1]).is_err());
}
