//! Elements that are arrays, newtypes or enums: each way to read and write, compared with arrays of plain
//! numbers.

use std::io::Cursor;
use std::ops::ControlFlow;

use ndarray::{
    Array, Array1, Array2, Array3, ArrayD, ArrayView1, ArrayViewMut1, Ix1, Ix2, ShapeBuilder, arr1, arr2, s,
};
use ndarray_io::NpyFileMut;
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::ra::{ReadRaExt, WriteRaExt};
use ndarray_io::{
    Casting, DynArray, Element, NpyFile, NpyMmap, NpyReader, NpyWriter, ReadNpyExt, ReadOptions, Record,
    ViewMutNpyExt, ViewNpyExt, WriteNpyExt, WriteOptions,
};

/// NumPy's files of (2, 3) numbers in Fortran order, in both byte orders.
const FORTRAN_FILES: [&[u8]; 2] =
    [include_bytes!("../../testdata/fortran-li2.npy"), include_bytes!("../../testdata/fortran-bi2.npy")];
const ROWS: [[i16; 3]; 2] = [[0, 1, 2], [-1, -32768, 32767]]; // from `testdata/manifest.jsonl`

fn numbered_array(shape: (usize, usize, usize)) -> Array3<i32> {
    Array3::from_shape_fn(shape, |(i, j, k)| (100 * i + 10 * j + k) as i32)
}

/// Returns the same numbers, with the innermost axis as elements that are arrays.
fn grouped(numbers: &Array3<i32>) -> Array2<[i32; 3]> {
    let (rows, columns, _) = numbers.dim();
    Array2::from_shape_fn((rows, columns), |(i, j)| std::array::from_fn(|k| numbers[[i, j, k]]))
}

fn npy_bytes<A: WriteNpyExt>(array: &A) -> Vec<u8> {
    let mut file = Vec::new();
    array.write_npy(&mut file).unwrap();
    file
}

#[test]
fn array_valued_elements_map_to_innermost_axis() {
    for file in FORTRAN_FILES {
        assert_eq!(Array1::<[i16; 3]>::read_npy(file).unwrap(), arr1(&ROWS));
        let all: Array<[[i16; 3]; 2], ndarray::Ix0> = Array::read_npy(file).unwrap();
        assert_eq!(all.into_scalar(), ROWS);
        let mut into = Array1::from_elem(2, [7i16; 3]);
        ReadOptions::new().read_into(file, &mut into).unwrap();
        assert_eq!(into, arr1(&ROWS));
        let wide = ReadOptions::new().casting(Casting::Safe);
        let floats = wide.read_from::<Array1<[f64; 3]>>(file).unwrap();
        assert_eq!(floats[1], [-1.0, -32768.0, 32767.0]);
        let view = ArrayView1::<[i16; 3]>::view_npy(file).unwrap_err();
        assert!(view.message().contains("does not have the memory layout"), "{view}");
    }
    // The output is what NumPy writes for the array of numbers.
    for shape in [(2, 4, 3), (1, 1, 3), (0, 2, 3), (5, 0, 3), (1, 300, 3)] {
        let numbers = numbered_array(shape);
        let groups = grouped(&numbers);
        assert_eq!(npy_bytes(&groups), npy_bytes(&numbers));
        assert_eq!(
            npy_bytes(&groups.t()),
            npy_bytes(&numbers.view().permuted_axes([1, 0, 2]).as_standard_layout())
        );
        for order in [Order::C, Order::Fortran] {
            let mut file = Vec::new();
            WriteOptions::new().order(order).write_to(&mut file, &numbers).unwrap();
            assert_eq!(Array2::<[i32; 3]>::read_npy(&file[..]).unwrap(), groups, "{shape:?} {order:?}");
            assert_eq!(ArrayD::<[i32; 3]>::read_npy(&file[..]).unwrap(), groups.clone().into_dyn());
            let any = DynArray::read_npy(&file[..]).unwrap();
            assert_eq!(any.into_array::<[i32; 3], Ix2>().unwrap(), groups);
        }
    }
}

/// Empty texts take no bytes in the file but are counted by their memory, within elements as well.
#[test]
fn empty_texts_within_elements_count_against_limit() {
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let text = "{'descr': '<U0', 'fortran_order': False, 'shape': (1048576, 4096), }";
    file.extend(format!("{text:<117}\n").bytes());
    let error = Array1::<[String; 4096]>::read_npy(&file[..]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

#[test]
fn mismatched_axes_of_array_valued_elements_are_errors() {
    let file = npy_bytes(&Array2::<f32>::zeros((5, 4)));
    let error = Array1::<[f32; 3]>::read_npy(&file[..]).unwrap_err();
    assert_eq!(error.to_string(), "expected shape (5, 3), found (5, 4)");
    let error = Array2::<[f32; 4]>::read_npy(&file[..]).unwrap_err();
    assert_eq!(error.to_string(), "expected an array of 3 axes, found shape (5, 4)");
    let error = Array1::<[f64; 4]>::read_npy(&file[..]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DTypeMismatch, "{error}");
    let flat = npy_bytes(&Array1::<f32>::zeros(5));
    let error = ArrayD::<[[f32; 1]; 5]>::read_npy(&flat[..]).unwrap_err();
    assert!(error.message().starts_with("expected an array of 2 ax"), "{error}");
    let options = WriteOptions::new().order(Order::Fortran);
    let error = options.write_to(Vec::new(), &arr1(&[[1.0, 2.0]])).unwrap_err();
    assert!(error.is_usage(), "{error}");
}

#[test]
fn array_valued_elements_can_be_viewed_and_mapped() {
    let numbers = numbered_array((1, 4, 3));
    let path = crate::support::temp::file().unwrap().into_temp_path();
    ndarray_io::write_npy(&path, &numbers.index_axis(ndarray::Axis(0), 0)).unwrap();
    // SAFETY: no other process uses the file.
    let map = unsafe { NpyMmap::<[i32; 3], Ix1>::open(&path) }.unwrap();
    assert_eq!(map.view(), grouped(&numbers).index_axis(ndarray::Axis(0), 0));
    assert_eq!(map.shape(), [4]);
    // SAFETY: no other process uses the file.
    let slab = unsafe { NpyMmap::<[i32; 3], Ix1>::open_slab(&path, 1..3) }.unwrap();
    assert_eq!(slab.view(), arr1(&[[10, 11, 12], [20, 21, 22]]));

    // With a single long axis both orders are the same, so that a column can be viewed.
    let column = Array2::from_shape_vec((3, 1).f(), vec![1.5f32, 2.5, 3.5]).unwrap();
    let mut file = Vec::new();
    WriteOptions::new().order(Order::Fortran).write_to(&mut file, &column).unwrap();
    let mut aligned: Vec<u64> = vec![0; file.len().div_ceil(8)];
    bytemuck::cast_slice_mut(&mut aligned)[..file.len()].copy_from_slice(&file);
    let bytes = &mut bytemuck::cast_slice_mut(&mut aligned)[..file.len()];
    assert_eq!(ArrayView1::<[f32; 1]>::view_npy(bytes).unwrap(), arr1(&[[1.5], [2.5], [3.5]]));
    ArrayViewMut1::<[f32; 1]>::view_mut_npy(bytes).unwrap()[1] = [9.0];
    assert_eq!(Array2::<f32>::read_npy(&bytes[..]).unwrap()[[1, 0]], 9.0);
}

#[test]
fn array_valued_elements_are_read_and_written_in_parts() {
    let numbers = numbered_array((6, 5, 3));
    let groups = grouped(&numbers);
    for order in [Order::C, Order::Fortran] {
        let path = crate::support::temp::file().unwrap().into_temp_path();
        WriteOptions::new().order(order).write_npy(&path, &numbers).unwrap();
        let file = NpyFile::open(&path).unwrap();
        let slice = s![1..;2, ..;-1];
        assert_eq!(file.slice::<[i32; 3], _>(slice).unwrap(), groups.slice(slice));
        let mut into = Array1::from_elem(6, [0; 3]);
        file.slice_into(s![.., 2], &mut into).unwrap();
        assert_eq!(into, groups.column(2));
        let chunks: Vec<_> = file.chunks::<[i32; 3], Ix2>(1, 2).unwrap().map(Result::unwrap).collect();
        assert_eq!(chunks.iter().map(|chunk| chunk.dim()).collect::<Vec<_>>(), [(6, 2), (6, 2), (6, 1)]);
        assert_eq!(chunks[1], groups.slice(s![.., 2..4]));
        let mut seen = 0;
        file.chunks::<[i32; 3], Ix2>(0, 4)
            .unwrap()
            .for_each_view(|chunk| {
                assert_eq!(chunk, groups.slice(s![seen..seen + chunk.nrows(), ..]));
                seen += chunk.nrows();
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(seen, 6);
        let rows: Vec<_> = file.rows::<[i32; 3], Ix2>().unwrap().map(Result::unwrap).collect();
        let axis = if order == Order::C { 0 } else { 1 };
        assert!(rows.iter().eq(groups.axis_iter(ndarray::Axis(axis)).collect::<Vec<_>>().iter()));
        let taken: Array2<[i32; 3]> = file.take(0, &[4, 0]).unwrap();
        assert_eq!(taken, groups.select(ndarray::Axis(0), &[4, 0]));
        let mut reader = NpyReader::new(Cursor::new(std::fs::read(&path).unwrap())).unwrap();
        assert_eq!(reader.slice::<[i32; 3], _>(slice).unwrap(), groups.slice(slice));
        drop(file);

        let part = arr2(&[[[-1, -2, -3], [-4, -5, -6]]]);
        let written = NpyFileMut::open(&path).unwrap().write_slice(s![3..4, 1..3], &part);
        if order == Order::Fortran {
            assert!(written.unwrap_err().is_usage());
            continue;
        }
        written.unwrap();
        let mut wanted = numbers.clone();
        wanted.slice_mut(s![3, 1, ..]).assign(&arr1(&[-1, -2, -3]));
        wanted.slice_mut(s![3, 2, ..]).assign(&arr1(&[-4, -5, -6]));
        assert_eq!(ndarray_io::read_npy::<_, Array3<i32>>(&path).unwrap(), wanted);
    }
}

#[test]
fn array_valued_elements_can_be_appended() {
    let path = crate::support::temp::file().unwrap().into_temp_path();
    let mut writer = NpyWriter::<[f32; 2], _>::create(&path, &[]).unwrap();
    writer.push(&arr1(&[[1.0, 2.0], [3.0, 4.0]])).unwrap();
    writer.finish().unwrap();
    let mut writer = NpyWriter::<[f32; 2], _>::append(&path).unwrap();
    writer.extend([[5.0, 6.0]]).unwrap();
    writer.finish().unwrap();
    let mut writer = NpyWriter::<f32, _>::append(&path).unwrap();
    writer.push(&arr1(&[7.0, 8.0])).unwrap();
    writer.finish().unwrap();
    let wanted = arr2(&[[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]);
    assert_eq!(ndarray_io::read_npy::<_, Array2<f32>>(&path).unwrap(), wanted);
    assert!(NpyWriter::<[f32; 3], _>::append(&path).unwrap_err().is_mismatch());

    let mut shaped = NpyWriter::<[u8; 2], _>::with_shape(Vec::new(), 2).unwrap();
    shaped.push(&arr1(&[[1, 2], [3, 4]])).unwrap();
    assert_eq!(shaped.finish().unwrap(), npy_bytes(&arr2(&[[1u8, 2], [3, 4]])));
}

#[test]
fn array_valued_elements_map_to_first_axis_in_ra() {
    let numbers = numbered_array((4, 2, 3));
    let groups = grouped(&numbers);
    let (mut plain, mut file) = (Vec::new(), Vec::new());
    numbers.view().permuted_axes([2, 0, 1]).write_ra(&mut plain).unwrap();
    groups.write_ra(&mut file).unwrap();
    assert_eq!(file, plain);
    assert_eq!(Array2::<[i32; 3]>::read_ra(&file[..]).unwrap(), groups);
    let (mut plain, mut file) = (Vec::new(), Vec::new());
    WriteOptions::new().order(Order::C).write_ra_to(&mut plain, &numbers).unwrap();
    WriteOptions::new().order(Order::C).write_ra_to(&mut file, &groups).unwrap();
    assert_eq!(file, plain);
    let path = crate::support::temp::file().unwrap().into_temp_path();
    ndarray_io::ra::write_ra(&path, &groups).unwrap();
    let ra = NpyFile::open(&path).unwrap();
    assert_eq!(ra.shape(), [3, 4, 2]);
    assert_eq!(ra.slice::<[i32; 3], _>(s![1.., 1]).unwrap(), groups.slice(s![1.., 1]));
    // Axes are those of the array, not of the file.
    let taken: Array2<[i32; 3]> = ra.take(0, &[3, 1]).unwrap();
    assert_eq!(taken, groups.select(ndarray::Axis(0), &[3, 1]));
    let taken: Array2<[i32; 3]> = ra.take_where(1, &[false, true]).unwrap();
    assert_eq!(taken, groups.select(ndarray::Axis(1), &[1]));
    assert!(ra.take::<Array2<[i32; 3]>>(2, &[0]).unwrap_err().is_usage());
    let chunks: Vec<_> = ra.chunks::<[i32; 3], Ix2>(1, 1).unwrap().map(Result::unwrap).collect();
    assert_eq!(chunks[1], groups.slice(s![.., 1..]));
}

#[derive(Element, Clone, Debug, PartialEq)]
#[repr(transparent)]
struct Name(String);

#[derive(Element, Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Length<U: Send + Sync + 'static> {
    value: f64,
    unit: std::marker::PhantomData<fn() -> U>,
}

#[derive(Element, Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Pair<T>([T; 2]);

#[derive(Element, Clone, Copy, Debug, PartialEq)]
#[repr(i16)]
enum Grade {
    Low = -32768,
    Middle,
    Zero = 0,
    High = 32767,
    One = 1,
    Two = 2,
    Minus = -1,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[repr(C)]
struct Graded {
    grade: Grade,
    pairs: [Pair<i16>; 2],
}

#[test]
fn newtypes_are_stored_as_their_inner_type() {
    let names = arr1(&[Name("Vega".into()), Name("Sirius".into())]);
    let texts = arr1(&["Vega".to_owned(), "Sirius".to_owned()]);
    assert_eq!(npy_bytes(&names), npy_bytes(&texts));
    assert_eq!(Array1::<Name>::read_npy(&npy_bytes(&texts)[..]).unwrap(), names);

    #[derive(Clone)]
    enum Metre {}
    let length = |value| Length::<Metre> { value, unit: std::marker::PhantomData };
    let file = npy_bytes(&arr1(&[1.5, -2.5]));
    let read = Array1::<Length<Metre>>::read_npy(&file[..]).unwrap();
    assert_eq!(read.map(|length| length.value), arr1(&[1.5, -2.5]));
    assert_eq!(npy_bytes(&arr1(&[length(1.5), length(-2.5)])), file);

    // A newtype of an array has the array's axes.
    for file in FORTRAN_FILES {
        let pairs: Array2<Pair<Grade>> = Array2::read_npy(&npy_bytes(&column_pairs(file))[..]).unwrap();
        assert_eq!(pairs.dim(), (3, 1));
        assert_eq!(pairs[[2, 0]], Pair([Grade::Two, Grade::High]));
    }
}

/// Returns NumPy's six numbers in pairs, each with the one below it, as an array of shape (3, 1, 2).
fn column_pairs(file: &[u8]) -> Array3<i16> {
    let numbers = Array2::<i16>::read_npy(file).unwrap();
    Array3::from_shape_fn((3, 1, 2), |(i, _, k)| numbers[[k, i]])
}

#[test]
fn invalid_enum_values_are_refused() {
    use Grade::{High, Low, Minus, One, Two, Zero};
    for file in FORTRAN_FILES {
        let grades = Array2::<Grade>::read_npy(file).unwrap();
        assert_eq!(grades, arr2(&[[Zero, One, Two], [Minus, Low, High]]));
        let groups = Array1::<[Grade; 3]>::read_npy(file).unwrap();
        assert_eq!(groups[1], [Minus, Low, High]);
    }
    let written = npy_bytes(&arr2(&[[Zero, One, Two], [Minus, Low, High]]));
    assert_eq!(written, npy_bytes(&arr2(&ROWS)));
    let path = crate::support::temp::file().unwrap().into_temp_path();
    for (bad, place) in [(3i16, 4usize), (256, 0)] {
        let mut numbers = Array1::<i16>::zeros(6);
        numbers[place] = bad;
        for order in [ndarray_io::ByteOrder::Little, ndarray_io::ByteOrder::Big] {
            let mut file = Vec::new();
            WriteOptions::new().byte_order(order).write_to(&mut file, &numbers).unwrap();
            let error = Array1::<Grade>::read_npy(&file[..]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("element {place}: expected a variant of enum Grade, found {bad}")
            );
        }
        ndarray_io::write_npy(&path, &numbers).unwrap();
        // SAFETY: no other process uses the file.
        let error = unsafe { NpyMmap::<Grade, Ix1>::open(&path) }.unwrap_err();
        assert!(error.message().starts_with("expected a variant of enum"), "{error}");
        let bytes = npy_bytes(&numbers.map(|number| i64::from(*number)));
        let any = ReadOptions::new().casting(Casting::SameKind);
        let error = any.read_from::<Array1<Grade>>(&bytes[..]).unwrap_err();
        assert!(error.message().starts_with("expected a variant of enum"), "{error}");
    }
    // Zero is a valid grade.
    // SAFETY: no other process uses the file.
    let map = unsafe { ndarray_io::NpyMmapMut::<Grade, Ix1>::create(&path, 3) }.unwrap();
    assert_eq!(map.view(), arr1(&[Zero; 3]));
}

#[test]
fn enums_and_newtypes_work_as_record_fields() {
    let graded = arr1(&[
        Graded { grade: Grade::High, pairs: [Pair([1, 2]), Pair([3, 4])] },
        Graded { grade: Grade::Minus, pairs: [Pair([5, 6]), Pair([7, 8])] },
    ]);
    let file = npy_bytes(&graded);
    let any = DynArray::read_npy(&file[..]).unwrap();
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    assert_eq!(any.dtype().to_string(), format!("[('grade', '{order}i2'), ('pairs', '{order}i2', (2, 2))]"));
    assert_eq!(Array1::<Graded>::read_npy(&file[..]).unwrap(), graded);
    let mut bad = file.clone();
    let at = bad.len() - 10;
    bad[at..at + 2].copy_from_slice(&5i16.to_ne_bytes());
    let error = Array1::<Graded>::read_npy(&bad[..]).unwrap_err();
    assert_eq!(error.to_string(), "element 1: field 'grade': expected a variant of enum Grade, found 5");
}

/// A bool as any type of numbers, 0 and others.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[element(from = "T", into = "T")]
struct NumBool<T>(bool, std::marker::PhantomData<T>);

impl From<u8> for NumBool<u8> {
    fn from(number: u8) -> Self {
        Self(number != 0, std::marker::PhantomData)
    }
}

impl From<NumBool<u8>> for u8 {
    fn from(own: NumBool<u8>) -> Self {
        own.0.into()
    }
}

/// NaN is a number that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[element(from = "f32", into = "f32")]
struct Maybe(Option<f32>);

impl From<f32> for Maybe {
    fn from(number: f32) -> Self {
        Self(Some(number).filter(|number| !number.is_nan()))
    }
}

impl From<Maybe> for f32 {
    fn from(own: Maybe) -> Self {
        own.0.unwrap_or(f32::NAN)
    }
}

/// A number that is written in hexadecimal.
#[derive(Clone, Debug, PartialEq, Element)]
#[element(try_from = "String", into = "String")]
struct Hex(u32);

impl TryFrom<String> for Hex {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u32::from_str_radix(&text, 16).map(Self)
    }
}

impl From<Hex> for String {
    fn from(own: Hex) -> Self {
        format!("{:x}", own.0)
    }
}

/// A direction, which is stored as two letters.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[element(from = "[u8; 2]", into = "[u8; 2]")]
enum Way {
    Up,
    Other([u8; 2]),
}

impl From<[u8; 2]> for Way {
    fn from(letters: [u8; 2]) -> Self {
        if letters == *b"up" { Self::Up } else { Self::Other(letters) }
    }
}

impl From<Way> for [u8; 2] {
    fn from(own: Way) -> Self {
        if let Way::Other(letters) = own { letters } else { *b"up" }
    }
}

#[derive(Record, Clone, Debug, PartialEq)]
struct ConvertedFields {
    maybe: [Maybe; 2],
    #[record(len = 4)]
    hex: Hex,
    flag: NumBool<u8>,
    way: Way,
}

#[test]
fn types_with_from_and_into_attributes_round_trip() {
    // The files are those of the types that are named in the attributes.
    let maybes = arr1(&[Maybe(Some(1.5)), Maybe(None), Maybe(Some(-0.0))]);
    let file = npy_bytes(&maybes);
    assert_eq!(file, npy_bytes(&arr1(&[1.5, f32::NAN, -0.0])));
    assert_eq!(Array1::<Maybe>::read_npy(&file[..]).unwrap(), maybes);
    let swapped = npy_bytes(&arr1(&[1.0f32]))
        .iter()
        .map(|byte| if b"<>".contains(byte) { *byte ^ b'<' ^ b'>' } else { *byte })
        .collect::<Vec<_>>();
    assert_eq!(
        Array1::<Maybe>::read_npy(&swapped[..]).unwrap(),
        arr1(&[Maybe(Some(f32::from_bits(0x803F)))])
    );
    let casting = ReadOptions::new().casting(Casting::SameKind);
    let wide = npy_bytes(&arr1(&[0.5f64, f64::NAN]));
    assert!(Array1::<Maybe>::read_npy(&wide[..]).unwrap_err().is_mismatch());
    let read = casting.read_from::<Array1<Maybe>>(&wide[..]).unwrap();
    assert_eq!(read, arr1(&[Maybe(Some(0.5)), Maybe(None)]));

    let hexes = arr2(&[[Hex(10), Hex(0xfff0)], [Hex(0), Hex(7)]]);
    let file = npy_bytes(&hexes);
    assert_eq!(file, npy_bytes(&hexes.mapv(String::from)));
    let native = if cfg!(target_endian = "little") { b"'<U4'" } else { b"'>U4'" };
    assert!(file.windows(5).any(|bytes| bytes == native));
    assert_eq!(Array2::<Hex>::read_npy(&file[..]).unwrap(), hexes);
    let wrong = npy_bytes(&arr2(&[["1".to_owned(), "2".into()], ["x".into(), "3".into()]]));
    let error = Array2::<Hex>::read_npy(&wrong[..]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotConvertible, "{error}");
    assert_eq!((error.element(), error.index()), (Some(2), Some(&[1, 0][..])));

    let flags = arr1(&[NumBool::<u8>::from(0), 1.into()]);
    assert_eq!(npy_bytes(&flags), npy_bytes(&arr1(&[0u8, 1])));
    let ways = arr1(&[Way::Up, Way::Other(*b"xy")]);
    assert_eq!(npy_bytes(&ways), npy_bytes(&arr2(&[[b'u', b'p'], [b'x', b'y']])));
    assert_eq!(Array1::<Way>::read_npy(&npy_bytes(&ways)[..]).unwrap(), ways);

    let record = ConvertedFields {
        maybe: [Maybe(None), Maybe(Some(2.0))],
        hex: Hex(0xab),
        flag: 7.into(),
        way: Way::Up,
    };
    let file = npy_bytes(&arr1(std::slice::from_ref(&record)));
    let dynamic = DynArray::read_npy(&file[..]).unwrap();
    let little = "[('maybe', '<f4', (2,)), ('hex', '<U4'), ('flag', '|u1'), ('way', '|u1', (2,))]";
    let native = if cfg!(target_endian = "little") { little.into() } else { little.replace('<', ">") };
    assert_eq!(dynamic.dtype().to_string(), native);
    assert_eq!(Array1::<ConvertedFields>::read_npy(&file[..]).unwrap(), arr1(&[record]));
    // Pieces, parts and many elements on several threads are the same.
    let many = Array1::from_shape_fn(300_000, |index| Maybe(Some(index as f32).filter(|_| index % 3 > 0)));
    let mut writer = NpyWriter::<Maybe, _>::with_shape(Vec::new(), 300_000).unwrap();
    many.exact_chunks(100_000).into_iter().for_each(|part| writer.push(&part).unwrap());
    let file = writer.finish().unwrap();
    assert_eq!(file, npy_bytes(&many));
    assert_eq!(Array1::<Maybe>::read_npy(&file[..]).unwrap(), many);
}

/// A type may be only read, or only written.
#[test]
fn read_only_and_write_only_types_are_supported() {
    #[derive(Clone, Debug, PartialEq, Element)]
    #[element(from = "i16")]
    struct ReadOnly(i32);

    impl From<i16> for ReadOnly {
        fn from(number: i16) -> Self {
            Self(number.into())
        }
    }

    #[derive(Clone, Element)]
    #[element(into = "i16")]
    struct WriteOnly(i8);

    impl From<WriteOnly> for i16 {
        fn from(own: WriteOnly) -> Self {
            own.0.into()
        }
    }

    let file = npy_bytes(&arr1(&[WriteOnly(-3)]));
    assert_eq!(Array1::<ReadOnly>::read_npy(&file[..]).unwrap(), arr1(&[ReadOnly(-3)]));

    /// The width of a text matters to what is written only.
    #[derive(Record, Clone, Debug, PartialEq)]
    struct NamedWithoutWidth {
        name: String,
        bytes: Vec<u8>,
    }
    #[derive(Record, Clone)]
    struct NamedWithWidth {
        #[record(len = 5)]
        name: String,
        #[record(len = 2)]
        bytes: Vec<u8>,
    }
    let file = npy_bytes(&arr1(&[NamedWithWidth { name: "Vega".into(), bytes: b"v".to_vec() }]));
    let wanted = NamedWithoutWidth { name: "Vega".into(), bytes: b"v".to_vec() };
    assert_eq!(Array1::<NamedWithoutWidth>::read_npy(&file[..]).unwrap(), arr1(&[wanted]));
    assert!(ndarray_io::DType::of::<NamedWithoutWidth>().unwrap_err().is_usage());
}

/// A conversion that gives another text each time.
#[derive(Clone, Element)]
#[element(into = "T")]
struct GrowingText<T>(std::marker::PhantomData<T>);

static CONVERSION_COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

fn next_length() -> usize {
    CONVERSION_COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1
}

impl From<GrowingText<String>> for String {
    fn from(_: GrowingText<String>) -> Self {
        "x".repeat(next_length())
    }
}

impl From<GrowingText<Vec<u8>>> for Vec<u8> {
    fn from(_: GrowingText<Vec<u8>>) -> Self {
        vec![b'x'; next_length()]
    }
}

/// Nothing is cut off in silence.
#[test]
fn text_longer_on_second_conversion_is_an_error() {
    let texts = [GrowingText(std::marker::PhantomData), GrowingText(std::marker::PhantomData)];
    let error = texts.map(|text: GrowingText<String>| text).write_npy(&mut Vec::new()).unwrap_err();
    assert!(error.message().starts_with("text of length"), "{error}");
    let bytes: [GrowingText<Vec<u8>>; 2] =
        [GrowingText(std::marker::PhantomData), GrowingText(std::marker::PhantomData)];
    let error = bytes.write_npy(&mut Vec::new()).unwrap_err();
    assert!(error.message().starts_with("text of length"), "{error}");
}

/// A struct with text of no declared width is as readable as any other: what does not fit is a mismatch.
#[test]
fn read_only_struct_reports_dtype_mismatch() {
    #[derive(Record, Clone, Debug)]
    struct Star {
        name: String,
        inner: Inner,
    }
    #[derive(Record, Clone, Debug)]
    struct Inner {
        bytes: Vec<u8>,
    }
    let error = Array1::<Star>::read_npy(&npy_bytes(&arr1(&[1.5]))[..]).unwrap_err();
    assert!(error.is_mismatch() && error.help().is_some(), "{error}");
    let mut ra = Vec::new();
    arr1(&[1u8; 8]).write_ra(&mut ra).unwrap();
    assert!(Array1::<Star>::read_ra(&ra[..]).unwrap_err().is_mismatch());
}
