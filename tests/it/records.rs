//! Structs as elements, compared with NumPy's description of its records and with the files that it writes.

use ndarray::{Array1, Array2, ArrayD, ArrayView, ArrayViewMut, ArrayViewMut1, IxDyn, ShapeBuilder, arr1, s};
use ndarray_io::element::{Bytes, Chars, Datetime64, Timedelta64, Void, units};
use ndarray_io::header::Order;
use ndarray_io::{
    ByteOrder, Casting, DType, DynArray, NpyReader, ReadNpyExt, ReadOptions, ReadableElement, Record,
    ViewElement, ViewMutElement, ViewMutNpyExt, ViewNpyExt, WritableElement, WriteNpyExt, WriteOptions,
};
use num_complex::Complex;
use serde_json::Value;

use crate::support::manifest::{self, Case, TestElement};
use crate::support::routes::{self, Aligned, Route};
use crate::support::{self, native_descr};

/// Structs that derive `Record` and can be compared with the manifest.
macro_rules! records {
    ($($(#[$attribute:meta])* struct $name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        #[derive(Record, Clone, Default, Debug, PartialEq)]
        $(#[$attribute])*
        struct $name { $($(#[$of_field])* $field: $type),* }

        impl TestElement for $name {
            fn json(self) -> Value {
                Value::Array(vec![$({ self.$field }.json()),*])
            }

            fn bytes(self, _: ByteOrder) -> Vec<u8> {
                unreachable!("records are compared by their values")
            }
        }
    )*};
}

records! {
    struct Packed { a: u8, b: f64, c: i16 }

    #[repr(C, packed)]
    #[derive(Copy)]
    struct PackedC { a: u8, b: f64, c: i16 }

    #[repr(C)]
    #[derive(Copy)]
    struct Tight { x: f32, y: f32 }

    #[repr(C)]
    #[derive(Copy)]
    struct AlignedC { flag: u8, value: f64, tail: i16 }

    struct Reordered { tail: i16, flag: u8, value: f64 }

    struct Bools { b0: bool, b1: bool, b2: [bool; 3] }

    struct Texts {
        #[record(len = 5)]
        s: Vec<u8>,
        #[record(len = 3)]
        u: String,
        #[record(len = 2)]
        big: String,
        v: Void<3>,
    }

    #[repr(C, packed)]
    #[derive(Copy)]
    struct TextsC { s: Bytes<5>, u: Chars<3>, big: Chars<2>, v: Void<3> }

    struct Times { t: Datetime64<units::Nanosecond>, d: Timedelta64<units::Times<25, units::Second>> }

    struct Inner { x: f32, flag: bool }

    struct Nested { id: i32, r#in: Inner, many: [Inner; 2] }

    #[repr(C)]
    struct NestedC { a: AlignedC, b: [AlignedC; 2], c: bool }

    struct Matrix {
        m: [[f64; 3]; 2],
        #[record(len = 2)]
        t: [String; 2],
        z: Complex<f64>,
    }

    #[record(size = 32)]
    struct Offsets {
        #[record(offset = 4)]
        a: u16,
        #[record(offset = 8 + 8)]
        b: f64,
    }

    struct Titled {
        #[record(title = "The title")]
        a: f32,
        #[record(rename = "it's")]
        its: u8,
    }

    struct UnicodeNames {
        #[record(rename = "λ漢😀")]
        symbols: f32,
        r#type: u8,
    }

    struct Empty {}

    /// The record of the oracle's sources and shapes.
    struct OracleRecord { id: u32, x: [f64; 2], s: Bytes<3>, ok: bool }
    struct Abc { a: u8, b: f32, #[record(len = 3)] c: Vec<u8> }
}

/// Whether the struct has the layout of NumPy's file, so that writing it gives the same bytes.
#[derive(Clone, Copy, PartialEq)]
enum LayoutMatch {
    Same,
    Other,
}

fn check_read_and_write<A>(case: &Case, written: LayoutMatch)
where
    A: ReadableElement + WritableElement + TestElement + Default + std::fmt::Debug,
{
    let facts = &case.arrays[0];
    let shape = facts.shape();
    let header = routes::Header { shape: &shape, byte_order: None, data_offset: facts.data_offset() };
    let mut seen = 0;
    for &route in routes::ALL {
        if route.is_view() {
            continue;
        }
        let Some(read) = routes::read_owned::<A>(route, &case.bytes, header) else { continue };
        let array = read.unwrap_or_else(|error| panic!("{}, {route:?}: {error}", case.id));
        let values: Vec<Value> = array.iter().cloned().map(A::json).collect();
        if let Some(expected) = facts.json["values"].as_array() {
            assert_eq!(&values, expected, "{}, {route:?}", case.id);
        }
        if written == LayoutMatch::Same && route == Route::Slice {
            for array in [array.clone(), strided(&array)] {
                let order = if facts.is_fortran() { Order::Fortran } else { Order::C };
                let mut file = Vec::new();
                let options = WriteOptions::new().order(order).byte_order(ByteOrder::Little);
                options.write_to(&mut file, &array).unwrap();
                assert_eq!(
                    file.escape_ascii().to_string(),
                    case.bytes.escape_ascii().to_string(),
                    "{}",
                    case.id
                );
            }
        }
        seen += 1;
    }
    assert!(seen > 10);
}

/// Returns the same elements as a view of every second element of a larger array.
fn strided<A: Clone + Default>(array: &ArrayD<A>) -> ArrayD<A> {
    let shape: Vec<usize> = array.shape().iter().map(|length| 2 * length).collect();
    let mut wide = ArrayD::<A>::default(shape);
    for axis in 0..array.ndim() {
        wide.slice_axis_inplace(ndarray::Axis(axis), ndarray::Slice::new(0, None, 2));
    }
    wide.assign(array);
    wide
}

fn check_view<A>(case: &Case)
where
    A: ViewElement + TestElement + std::fmt::Debug,
{
    let bytes = Aligned::new(&case.bytes);
    let view = ArrayView::<A, IxDyn>::view_npy(&bytes).unwrap();
    let values: Vec<Value> = view.iter().cloned().map(A::json).collect();
    assert_eq!(&values, case.arrays[0].json["values"].as_array().unwrap(), "{}", case.id);
}

fn check_view_mut<A>(case: &Case)
where
    A: ViewMutElement + TestElement + Default + std::fmt::Debug,
{
    check_view::<A>(case);
    let mut bytes = Aligned::new(&case.bytes);
    ArrayViewMut::<A, IxDyn>::view_mut_npy(&mut bytes).unwrap().fill(A::default());
    let zeroed = bytes[case.arrays[0].data_offset()..].iter().all(|byte| *byte == 0);
    assert!(zeroed && bytes[..case.arrays[0].data_offset()] == case.bytes[..case.arrays[0].data_offset()]);
    #[cfg(feature = "mmap")]
    {
        let file = routes::temp_file(&case.bytes, 0);
        // SAFETY: the file belongs to this test.
        let mut map = unsafe { ndarray_io::NpyMmapMut::<A, IxDyn>::open(file.path()).unwrap() };
        map.view_mut().fill(A::default());
        drop(map);
        assert_eq!(std::fs::read(file.path()).unwrap(), *bytes);
    }
}

fn case(id: &str) -> Case {
    let cases = manifest::npy_cases(&manifest::testdata());
    cases.into_iter().find(|case| case.id == id).unwrap_or_else(|| panic!("there is no case {id}"))
}

#[test]
#[cfg_attr(target_arch = "x86", ignore = "needs a C in which an f64 has an alignment of 8")]
fn records_equal_numpys() {
    use LayoutMatch::{Other, Same};
    check_read_and_write::<Packed>(&case("record-packed"), Same);
    check_read_and_write::<PackedC>(&case("record-packed"), Same);
    check_read_and_write::<AlignedC>(&case("record-unaligned"), Other);
    check_read_and_write::<Tight>(&case("record-tight"), Same);
    check_read_and_write::<Tight>(&case("record-tight_big"), Other);
    check_read_and_write::<AlignedC>(&case("record-aligned"), Same);
    check_read_and_write::<Reordered>(&case("record-reordered"), Other);
    check_read_and_write::<Bools>(&case("record-bools"), Same);
    check_read_and_write::<Times>(&case("record-times"), Other);
    check_read_and_write::<Nested>(&case("record-nested"), Same);
    check_read_and_write::<NestedC>(&case("record-nested_aligned"), Same);
    check_read_and_write::<Matrix>(&case("record-matrix"), Same);
    check_read_and_write::<Matrix>(&case("record-matrix_big"), Other);
    check_read_and_write::<Texts>(&case("record-text"), Other);
    check_read_and_write::<TextsC>(&case("record-text"), Other);
    check_read_and_write::<Offsets>(&case("record-offsets"), Same);
    check_read_and_write::<Titled>(&case("record-titled"), Same);
    check_read_and_write::<UnicodeNames>(&case("record-unicode"), Same);
    check_read_and_write::<Empty>(&case("record-none"), Same);
}

#[test]
fn fields_are_found_by_their_names() {
    let bytes = case("record-reordered").bytes;
    let same_order = Array2::<Reordered>::read_npy(&bytes[..]).unwrap();
    let other_order = Array2::<AlignedC>::read_npy(&bytes[..]).unwrap();
    let in_order = other_order.mapv(|AlignedC { flag, value, tail }| Reordered { tail, flag, value });
    assert_eq!(in_order, same_order);
}

#[test]
#[cfg(target_endian = "little")]
#[cfg_attr(target_arch = "x86", ignore = "needs a C in which an f64 has an alignment of 8")]
fn records_are_viewed_only_if_layouts_agree() {
    check_view_mut::<PackedC>(&case("record-packed"));
    check_view_mut::<Tight>(&case("record-tight"));
    check_view::<AlignedC>(&case("record-aligned"));
    check_view::<NestedC>(&case("record-nested_aligned"));
    let other = |id: &str| ArrayView::<AlignedC, IxDyn>::view_npy(&Aligned::new(&case(id).bytes)).map(drop);
    assert!(other("record-unaligned").unwrap_err().message().contains("does not have the memory layout"));
    assert!(other("record-reordered").unwrap_err().message().contains("does not have the memory layout"));
    let big = ArrayView::<Tight, IxDyn>::view_npy(&Aligned::new(&case("record-tight_big").bytes)).map(drop);
    assert!(big.unwrap_err().message().starts_with("expected this machine's byte order"));
}

#[test]
#[ignore = "needs NDARRAY_IO_CORPUS"]
fn corpus_records_equal_numpys() {
    let folder = support::folder_from_env("NDARRAY_IO_CORPUS");
    let mut seen = 0;
    for case in manifest::npy_cases(&folder) {
        if case.expected_class != "ok" || case.arrays.len() != 1 {
            continue;
        }
        let descr = case.arrays[0].json["descr"].as_str().unwrap_or_default();
        match descr {
            "[('id', '<u4'), ('x', '>f8', (2,)), ('s', '|S3'), ('ok', '|b1')]" => {
                check_read_and_write::<OracleRecord>(&case, LayoutMatch::Other)
            }
            "[('a', '|u1'), ('b', '>f4'), ('c', '|S3')]" if case.arrays[0].shape().len() < 32 => {
                check_read_and_write::<Abc>(&case, LayoutMatch::Other);
            }
            "[('x', '<f4'), ('y', '<f4')]" => {
                check_read_and_write::<Tight>(&case, LayoutMatch::Same);
                check_view_mut::<Tight>(&case);
            }
            "[('flag', '|u1'), ('', '|V7'), ('value', '<f8'), ('tail', '<i2'), ('', '|V6')]" => {
                check_read_and_write::<AlignedC>(&case, LayoutMatch::Other);
                check_view::<AlignedC>(&case);
            }
            _ => continue,
        }
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
}

#[test]
#[ignore = "needs NDARRAY_IO_CORPUS"]
fn invalid_bools_in_corpus_records_are_reported() {
    #[derive(Record)]
    struct BoolInRecord {
        a: u8,
        b: bool,
    }
    #[derive(Record)]
    struct BoolInSubarray {
        b: [bool; 3],
    }
    #[derive(Record)]
    struct Inmost {
        b: bool,
    }
    #[derive(Record)]
    struct BoolInNested {
        a: Inmost,
        c: Bytes<2>,
    }
    let folder = support::folder_from_env("NDARRAY_IO_CORPUS");
    let bytes = |id: &str| std::fs::read(folder.join(format!("bad-bool-{id}.npy"))).unwrap();
    for (error, field) in [
        (Array1::<BoolInRecord>::read_npy(&bytes("in_record")[..]).err().unwrap(), "b"),
        (Array1::<BoolInSubarray>::read_npy(&bytes("in_subarray")[..]).err().unwrap(), "b"),
        (Array1::<BoolInNested>::read_npy(&bytes("in_nested")[..]).err().unwrap(), "a.b"),
    ] {
        assert!(error.message().starts_with("expected a bool") && error.field() == Some(field), "{error:?}");
    }
}

/// The dtype that a struct is written as.
fn descr<A: WritableElement>(options: &WriteOptions) -> String {
    let mut file = Vec::new();
    options.write_to(&mut file, &Array1::<A>::from(Vec::new())).unwrap();
    NpyReader::new(&file[..]).unwrap().npy_header().unwrap().descr.clone()
}

#[test]
fn records_are_written_in_requested_byte_order() {
    for (id, big) in [("record-tight", "record-tight_big"), ("record-matrix", "record-matrix_big")] {
        let (native, big) = (case(id), case(big));
        let options = WriteOptions::new().byte_order(ByteOrder::Big).order(Order::C);
        let mut file = Vec::new();
        if id == "record-tight" {
            let options = options.order(Order::Fortran);
            let values = ArrayD::<Tight>::read_npy(&big.bytes[..]).unwrap();
            let mut again = Vec::new();
            WriteOptions::new().byte_order(ByteOrder::Big).write_to(&mut again, &values).unwrap();
            assert_eq!(again, big.bytes);
            options.write_to(&mut file, &ArrayD::<Tight>::read_npy(&native.bytes[..]).unwrap()).unwrap();
            assert_eq!(descr::<Tight>(&options), "[('x', '>f4'), ('y', '>f4')]");
        } else {
            let values = ArrayD::<Matrix>::read_npy(&big.bytes[..]).unwrap();
            options.write_to(&mut file, &values).unwrap();
            assert_eq!(file, big.bytes);
        }
    }
}

#[test]
fn written_dtype_follows_struct_layout() {
    #[derive(Record)]
    #[repr(C)]
    struct Mixed {
        a: u8,
        #[record(len = 3)]
        name: String,
        b: u8,
        #[record(len = 3)]
        raw: Vec<u8>,
        z: Complex<f32>,
        last: u16,
    }
    // np.dtype([('a','u1'),('name','U3'),('b','u1'),('raw','S3'),('z','c8'),('last','u2')], align=True)
    let expected = "[('a', '|u1'), ('', '|V3'), ('name', '<U3'), ('b', '|u1'), ('raw', '|S3'), ('z', '<c8'), \
                    ('last', '<u2'), ('', '|V2')]";
    assert_eq!(descr::<Mixed>(&WriteOptions::new()), native_descr(expected));

    #[derive(Record)]
    #[repr(C, packed(2))]
    #[derive(Clone, Copy)]
    struct PackedTo2 {
        a: u8,
        b: f64,
    }
    assert_eq!(
        descr::<PackedTo2>(&WriteOptions::new()),
        native_descr("[('a', '|u1'), ('', '|V1'), ('b', '<f8')]")
    );

    #[derive(Record)]
    #[repr(C, align(16))]
    struct AlignedTo16 {
        b: f64,
    }
    assert_eq!(descr::<AlignedTo16>(&WriteOptions::new()), native_descr("[('b', '<f8'), ('', '|V8')]"));
    assert_eq!(
        descr::<UnicodeNames>(&WriteOptions::new()),
        native_descr("[('λ漢😀', '<f4'), ('type', '|u1')]")
    );
}

#[test]
fn generic_structs_round_trip() {
    #[derive(Record, Debug, PartialEq, Clone, Copy)]
    #[repr(C, packed)]
    struct Pair<T: Copy, const N: usize>
    where
        T: Default,
    {
        one: T,
        many: [T; N],
    }
    assert_eq!(
        descr::<Pair<f32, 3>>(&WriteOptions::new()),
        native_descr("[('one', '<f4'), ('many', '<f4', (3,))]")
    );
    let pairs = arr1(&[Pair { one: 1u8, many: [2, 3] }, Pair { one: 4, many: [5, 6] }]);
    let mut file = Vec::new();
    pairs.write_npy(&mut file).unwrap();
    assert!(file.ends_with(&[1, 2, 3, 4, 5, 6]));
    assert_eq!(ArrayViewMut1::<Pair<u8, 2>>::view_mut_npy(&mut file).unwrap(), pairs);
}

#[test]
fn mismatched_fields_are_reported() {
    #[derive(Record)]
    struct FewerFields {
        flag: u8,
        tail: i16,
    }
    #[derive(Record)]
    struct MoreFields {
        flag: u8,
        value: f64,
        tail: i16,
        extra: u8,
    }
    #[derive(Record)]
    struct OtherFieldType {
        flag: u8,
        value: f32,
        tail: i16,
    }
    let bytes = case("record-aligned").bytes;
    let error = Array2::<MoreFields>::read_npy(&bytes[..]).err().unwrap();
    assert!(error.message().starts_with("expected a field 'extra'"), "{error}");
    assert!(error.is_mismatch());
    let error = Array2::<FewerFields>::read_npy(&bytes[..]).err().unwrap();
    assert!(error.message().starts_with("unexpected field 'value'"), "{error}");
    assert!(
        error.is_mismatch() && error.help().is_some_and(|help| help.id() == "ignore-extra-fields"),
        "{error}"
    );
    let options = ReadOptions::new().ignore_extra_fields(true);
    let less = options.read_from::<Array2<FewerFields>>(&bytes[..]).unwrap();
    let all = Array2::<AlignedC>::read_npy(&bytes[..]).unwrap();
    assert!(less.iter().zip(&all).all(|(less, all)| less.flag == all.flag && less.tail == all.tail));

    let error = Array2::<OtherFieldType>::read_npy(&bytes[..]).err().unwrap();
    assert_eq!(error.field(), Some("value"));
    assert!(error.is_mismatch());
    let wanted = native_descr("'<f4'");
    assert_eq!(error.to_string(), format!("field 'value': expected elements of {wanted}, found '<f8'"));
    let options = ReadOptions::new().casting(Casting::SameKind);
    let other = options.read_from::<Array2<OtherFieldType>>(&bytes[..]).unwrap();
    assert!(other.iter().zip(&all).all(|(other, all)| other.value == all.value as f32));

    let error = Array2::<f64>::read_npy(&bytes[..]).unwrap_err();
    assert!(error.is_mismatch() && error.help().is_some_and(|help| help.id() == "read-records"), "{error}");
    let mut numbers = Vec::new();
    arr1(&[1.0]).write_npy(&mut numbers).unwrap();
    assert!(Array1::<AlignedC>::read_npy(&numbers[..]).unwrap_err().is_mismatch());
}

#[test]
#[cfg_attr(target_arch = "x86", ignore = "needs a C in which an f64 has an alignment of 8")]
fn nested_fields_are_named_by_their_path() {
    #[derive(Record)]
    struct Inner64 {
        x: f64,
        flag: bool,
    }
    #[derive(Record)]
    struct Nested64 {
        id: i32,
        r#in: Inner64,
        many: [Inner; 2],
    }
    let error = Array2::<Nested64>::read_npy(&case("record-nested").bytes[..]).err().unwrap();
    assert_eq!(error.field(), Some("in.x"));

    // Item 4 of 19 bytes, `many[1].flag`; read by columns, in bulk and viewed.
    let broken = case("record-nested");
    let mut bytes = broken.bytes.clone();
    let start = broken.arrays[0].data_offset();
    bytes[start + 4 * 19 + 18] = 2;
    let error = Array2::<Nested>::read_npy(&bytes[..]).unwrap_err();
    assert!(error.message().starts_with("expected a bool (0 or 1), found 2"));
    assert_eq!((error.element(), error.field()), (Some(4), Some("many.flag")), "{error}");

    let broken = case("record-nested_aligned");
    let mut bytes = broken.bytes.clone();
    let (start, item) = (broken.arrays[0].data_offset(), size_of::<NestedC>());
    bytes[start + 5 * item + std::mem::offset_of!(NestedC, c)] = 7;
    let viewed = ArrayView::<NestedC, IxDyn>::view_npy(&Aligned::new(&bytes)).map(drop);
    // The file is little-endian: big-endian machines cannot view it.
    let viewed = viewed.err().filter(|_| cfg!(target_endian = "little"));
    for error in viewed.into_iter().chain([Array2::<NestedC>::read_npy(&bytes[..]).unwrap_err()]) {
        assert_eq!((error.element(), error.field()), (Some(5), Some("c")), "{error}");
    }
}

#[test]
fn texts_longer_than_their_field_are_refused() {
    let fits = Texts { s: b"abcde".to_vec(), u: "äöü".into(), big: "ab".into(), v: Void([1, 2, 3]) };
    let mut file = Vec::new();
    let one = arr1(std::slice::from_ref(&fits));
    one.write_npy(&mut file).unwrap();
    assert_eq!(Array1::<Texts>::read_npy(&file[..]).unwrap(), one);
    for (wrong, field) in [
        (Texts { s: b"abcdef".to_vec(), ..fits.clone() }, "s"),
        (Texts { u: "äöüß".into(), ..fits.clone() }, "u"),
    ] {
        let mut file = Vec::new();
        let error = arr1(&[fits.clone(), wrong]).write_npy(&mut file).unwrap_err();
        assert!(error.message().starts_with("text of length"), "{error}");
        assert_eq!((error.element(), error.field()), (Some(1), Some(field)), "{error}");
        assert!(file.is_empty(), "nothing is written");
    }
    let matrix = Matrix { t: ["ab".into(), "abc".into()], ..Matrix::default() };
    let error = arr1(&[matrix]).write_npy(Vec::new()).unwrap_err();
    assert_eq!((error.element(), error.field()), (Some(0), Some("t")), "{error}");
}

#[test]
#[cfg_attr(target_arch = "x86", ignore = "needs a C in which an f64 has an alignment of 8")]
fn padding_is_written_as_zeros() {
    let records: Vec<AlignedC> =
        (0..5000).map(|index| AlignedC { flag: 255, value: f64::from(index), tail: -1 }).collect();
    let array = Array2::from_shape_vec((50, 100), records).unwrap();
    for order in [Order::C, Order::Fortran] {
        let mut file = Vec::new();
        WriteOptions::new().order(order).write_to(&mut file, &array).unwrap();
        for item in file[file.len() - 5000 * 24..].chunks_exact(24) {
            assert!(item[1..8].iter().chain(&item[18..]).all(|byte| *byte == 0), "{item:?}");
        }
        assert_eq!(Array2::<AlignedC>::read_npy(&file[..]).unwrap(), array);
    }
    // Padding that is not zero is ignored.
    let mut bytes = case("record-aligned").bytes;
    let expected = Array2::<AlignedC>::read_npy(&bytes[..]).unwrap();
    let start = case("record-aligned").arrays[0].data_offset();
    bytes[start..].chunks_exact_mut(24).for_each(|item| item[1..8].fill(0xFF));
    assert_eq!(Array2::<AlignedC>::read_npy(&bytes[..]).unwrap(), expected);
    let mut into = Array2::<AlignedC>::default((4, 3).f());
    ReadOptions::new().read_into(&bytes[..], &mut into.slice_mut(s![..;2, ..])).unwrap();
    assert_eq!(into.slice(s![..;2, ..]), expected);
}

#[test]
fn large_record_arrays_round_trip() {
    let records = Array1::from_shape_fn(300_000, |index| Packed {
        a: index as u8,
        b: index as f64,
        c: (index % 1000) as i16,
    });
    let file = crate::support::ClosedTempFile::new();
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let options = WriteOptions::new().byte_order(order);
        options.write_npy(file.path(), &records).unwrap();
        let read: Array1<Packed> = ndarray_io::read_npy(file.path()).unwrap();
        assert_eq!(read, records);
        let packed: Array1<PackedC> = ndarray_io::read_npy(file.path()).unwrap();
        let same = |(one, other): (&PackedC, &Packed)| {
            ({ one.a }, { one.b }, { one.c }) == (other.a, other.b, other.c)
        };
        assert!(packed.iter().zip(&records).all(same));
    }
}

#[test]
fn dynamic_arrays_hold_records() {
    let array = DynArray::new(&arr1(&[Tight { x: 1.0, y: 2.0 }])).unwrap();
    assert_eq!(array.dtype().to_string(), native_descr("[('x', '<f4'), ('y', '<f4')]"));
    assert_eq!(array.view::<Tight, IxDyn>().unwrap()[0], Tight { x: 1.0, y: 2.0 });
    assert!(matches!(array.dtype(), DType::Record(_)));
}

/// Derived code for many fields does not nest deeply.
#[test]
fn struct_with_150_fields_compiles() {
    #[derive(Record)]
    #[rustfmt::skip]
    struct ManyFields {
        f0: u8, f1: u8, f2: u8, f3: u8, f4: u8, f5: u8, f6: u8, f7: u8, f8: u8, f9: u8, f10: u8,
        f11: u8, f12: u8, f13: u8, f14: u8, f15: u8, f16: u8, f17: u8, f18: u8, f19: u8, f20: u8,
        f21: u8, f22: u8, f23: u8, f24: u8, f25: u8, f26: u8, f27: u8, f28: u8, f29: u8, f30: u8,
        f31: u8, f32: u8, f33: u8, f34: u8, f35: u8, f36: u8, f37: u8, f38: u8, f39: u8, f40: u8,
        f41: u8, f42: u8, f43: u8, f44: u8, f45: u8, f46: u8, f47: u8, f48: u8, f49: u8, f50: u8,
        f51: u8, f52: u8, f53: u8, f54: u8, f55: u8, f56: u8, f57: u8, f58: u8, f59: u8, f60: u8,
        f61: u8, f62: u8, f63: u8, f64: u8, f65: u8, f66: u8, f67: u8, f68: u8, f69: u8, f70: u8,
        f71: u8, f72: u8, f73: u8, f74: u8, f75: u8, f76: u8, f77: u8, f78: u8, f79: u8, f80: u8,
        f81: u8, f82: u8, f83: u8, f84: u8, f85: u8, f86: u8, f87: u8, f88: u8, f89: u8, f90: u8,
        f91: u8, f92: u8, f93: u8, f94: u8, f95: u8, f96: u8, f97: u8, f98: u8, f99: u8, f100: u8,
        f101: u8, f102: u8, f103: u8, f104: u8, f105: u8, f106: u8, f107: u8, f108: u8, f109: u8,
        f110: u8, f111: u8, f112: u8, f113: u8, f114: u8, f115: u8, f116: u8, f117: u8, f118: u8,
        f119: u8, f120: u8, f121: u8, f122: u8, f123: u8, f124: u8, f125: u8, f126: u8, f127: u8,
        f128: u8, f129: u8, f130: u8, f131: u8, f132: u8, f133: u8, f134: u8, f135: u8, f136: u8,
        f137: u8, f138: u8, f139: u8, f140: u8, f141: u8, f142: u8, f143: u8, f144: u8, f145: u8,
        f146: u8, f147: u8, f148: u8, f149: u8,
    }
    let (last, bytes) = (7, [vec![0; 149], vec![7]].concat());
    let mut file = Vec::new();
    let record: DType = NpyReader::new(
        &{
            Array1::<ManyFields>::from(Vec::new()).write_npy(&mut file).unwrap();
            file
        }[..],
    )
    .unwrap()
    .dtype()
    .clone();
    let header = ndarray_io::header::Header::new(record, Order::C, [1].into()).unwrap();
    let file = [ndarray_io::npy::format(&header, None).unwrap(), bytes].concat();
    assert_eq!(Array1::<ManyFields>::read_npy(&file[..]).unwrap()[0].f149, last);
}

/// The file is NumPy's; its records have the fields `flag`, `value` and `tail`, as in `AlignedC`.
#[test]
#[cfg_attr(target_arch = "x86", ignore = "needs a C in which an f64 has an alignment of 8")]
#[expect(clippy::too_many_lines, reason = "structs that are compared with each other")]
fn skip_default_rename_and_flatten_attributes_apply() {
    #[derive(Record, Clone, Copy)]
    #[repr(C)]
    struct Head {
        flag: u8,
        value: f64,
    }
    #[derive(Record, Clone, Copy)]
    #[repr(C)]
    struct Flat {
        #[record(flatten)]
        head: Head,
        tail: i16,
    }
    #[derive(Record)]
    struct WithMissingFields {
        tail: i16,
        #[record(skip)]
        seen: Option<String>,
        #[record(flatten)]
        rest: Rest,
        #[record(default)]
        extra: f32,
        #[record(default = "two_sevens")]
        more: [u8; 2],
    }
    #[derive(Record)]
    struct Rest {
        #[record(alias = "amount", alias = "value")]
        number: f64,
        #[record(skip, default = "two_sevens")]
        sevens: [u8; 2],
        flag: u8,
    }
    #[derive(Record)]
    #[record(rename_all = "SCREAMING-KEBAB-CASE")]
    struct RenamedFields {
        first_one: u8,
        #[record(rename = "second")]
        second_one: u8,
    }
    fn two_sevens() -> [u8; 2] {
        [7, 7]
    }

    let bytes = case("record-aligned").bytes;
    let all = Array2::<AlignedC>::read_npy(&bytes[..]).unwrap();
    let loose = Array2::<WithMissingFields>::read_npy(&bytes[..]).unwrap();
    for (loose, all) in loose.iter().zip(&all) {
        assert_eq!((loose.tail, loose.rest.number, loose.rest.flag), (all.tail, all.value, all.flag));
        assert_eq!((&loose.seen, loose.extra, loose.more, loose.rest.sevens), (&None, 0.0, [7, 7], [7, 7]));
    }
    // `Head` takes 16 bytes; packed, `tail` would be at 9. The record has the size of the struct.
    let flat = Array2::<Flat>::read_npy(&bytes[..]).unwrap();
    assert!(flat.iter().zip(&all).all(|(flat, all)| {
        (flat.head.flag, flat.head.value, flat.tail) == (all.flag, all.value, all.tail)
    }));
    assert_eq!(
        descr::<Flat>(&WriteOptions::new()),
        native_descr("[('flag', '|u1'), ('', '|V7'), ('value', '<f8'), ('tail', '<i2'), ('', '|V6')]")
    );
    let (mut one, mut other) = (Vec::new(), Vec::new());
    flat.write_npy(&mut one).unwrap();
    all.write_npy(&mut other).unwrap();
    assert_eq!(one, other);
    let one = Aligned::new(&one);
    let viewed = ArrayView::<Flat, IxDyn>::view_npy(&one).unwrap(); // the layouts in file and memory agree
    assert!(viewed.iter().zip(&all).all(|(flat, all)| (flat.head.value, flat.tail) == (all.value, all.tail)));
    let named = descr::<RenamedFields>(&WriteOptions::new());
    assert_eq!(named, "[('FIRST-ONE', '|u1'), ('second', '|u1')]");
    assert_eq!(
        descr::<WithMissingFields>(&WriteOptions::new()),
        native_descr(
            "[('tail', '<i2'), ('number', '<f8'), ('flag', '|u1'), ('extra', '<f4'), ('more', '|u1', (2,))]"
        )
    );
    // Files that are written field by field can be read by structs with fewer fields.
    let mut file = Vec::new();
    loose.write_npy(&mut file).unwrap();
    let options = ReadOptions::new().ignore_extra_fields(true);
    #[derive(Record)]
    struct TwoFields {
        flag: u8,
        number: f64,
    }
    let two = options.read_from::<Array2<TwoFields>>(&file[..]).unwrap();
    assert!(two.iter().zip(&all).all(|(two, all)| (two.flag, two.number) == (all.flag, all.value)));
    let error = Array2::<TwoFields>::read_npy(&file[..]).err().unwrap();
    assert!(error.message().starts_with("unexpected field 'tail'"), "{error}");
    assert!(Array2::<RenamedFields>::read_npy(&file[..]).is_err());
}

/// Regression tests for the derive's code; each of these was wrong once.
#[test]
fn derive_handles_generic_flatten_and_clashing_names() {
    #[derive(Record, Clone, Copy, PartialEq, Debug)]
    struct Head {
        x: u16,
    }
    // The flattened type may be generic, and functions may have the names of the derive's own variables.
    #[derive(Record)]
    struct GenericFlatten<H: Clone> {
        #[record(flatten)]
        head: H,
        #[record(skip, default = "count")]
        skipped: u8,
        #[record(default = "fields")]
        missing: u8,
        y: u8,
    }
    #[derive(Record)]
    struct SkippedPhantom<T: Send + Sync + 'static> {
        x: u8,
        #[record(default)]
        missing: u8,
        #[record(skip)]
        nothing: std::marker::PhantomData<T>,
    }
    fn count() -> u8 {
        3
    }
    fn fields() -> u8 {
        4
    }
    let written = Array1::from(vec![GenericFlatten { head: Head { x: 1 }, skipped: 9, missing: 5, y: 2 }]);
    let mut file = Vec::new();
    written.write_npy(&mut file).unwrap();
    assert!(file.ends_with(&[&1u16.to_ne_bytes()[..], &[5, 2]].concat()));
    let read = Array1::<GenericFlatten<Head>>::read_npy(&file[..]).unwrap();
    assert_eq!((read[0].head, read[0].skipped, read[0].missing, read[0].y), (Head { x: 1 }, 3, 5, 2));
    assert_eq!(descr::<SkippedPhantom<String>>(&WriteOptions::new()), "[('x', '|u1'), ('missing', '|u1')]");
    file.truncate(0);
    arr1(&[Head { x: 7 }]).write_npy(&mut file).unwrap();
    let error = Array1::<GenericFlatten<Head>>::read_npy(&file[..]).err().unwrap();
    assert!(error.message().starts_with("expected a field 'y'"), "{error}");
}

#[test]
fn rename_all_spells_names_like_serde() {
    macro_rules! spelled {
        ($($case:literal)*) => {$({
            #[derive(Record, Default, serde_1::Serialize)]
            #[serde(crate = "serde_1", rename_all = $case)]
            #[record(rename_all = $case)]
            #[allow(non_snake_case)]
            struct Names {
                first_one: u8,
                URL_path: u8,
                _x__y_: u8,
                größe: u8,
            }

            let by_serde = serde_json::to_value(Names::default()).unwrap();
            let mut file = Vec::new();
            Array1::from(vec![Names::default()]).write_npy(&mut file).unwrap();
            let reader = NpyReader::new(&file[..]).unwrap();
            let fields = reader.dtype().as_record().unwrap().fields();
            assert_eq!(fields.len(), 4);
            assert!(fields.iter().all(|field| by_serde.get(field.name()).is_some()), "{}: {by_serde}", $case);
        })*};
    }
    spelled! {
        "lowercase" "UPPERCASE" "PascalCase" "camelCase" "snake_case" "SCREAMING_SNAKE_CASE" "kebab-case" "SCREAMING-KEBAB-CASE"
    }
}
