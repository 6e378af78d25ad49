//! Arrays whose type is known only at run time. `corpus.rs` reads and writes all dtypes in this way.

use ndarray::{Array2, ArrayD, Ix1, Ix2, IxDyn, ShapeBuilder, arr1, arr2};
use ndarray_io::bytes::InMemory;
use ndarray_io::dtype::{Kind, RecordBuilder, Scalar};
use ndarray_io::header::Order;
use ndarray_io::options::DisplayOptions;
use ndarray_io::{
    ByteOrder, Casting, DType, DynArray, NpyFile, ReadNpyExt, ViewMutElement, WriteNpyExt, WriteOptions,
    read_npy, with_numbers,
};

use crate::support::manifest::{self, with_type};

#[test]
fn record_fields_equal_numpys() {
    fn check_field<A>(records: &DynArray, path: &str, expected: &std::path::Path)
    where
        A: ViewMutElement + Clone + Default + PartialEq + std::fmt::Debug,
    {
        let expected = read_npy::<_, ArrayD<A>>(expected).unwrap();
        let field: ArrayD<A> = records.field(path).unwrap().into_array().unwrap();
        assert_eq!(field, expected);
        // The records are aligned, but `pos` is big-endian, and the records in `tail` have a size of five
        // bytes.
        match records.field_view::<A, IxDyn>(path) {
            Ok(view) => assert_eq!(view, expected),
            Err(error) => match path {
                path if (path == "pos") == cfg!(target_endian = "little") => {
                    assert!(error.message().starts_with("expected this machine's byte order"));
                }
                path => assert!(
                    path == "tail.x" && error.message().starts_with("misaligned: expected a multiple of")
                ),
            },
        }
        let mut records = records.clone();
        if let Ok(mut view) = records.field_view_mut::<A, IxDyn>(path) {
            view.fill(A::default());
            let zeros = ArrayD::default(expected.raw_dim());
            assert_eq!(records.field(path).unwrap().into_array::<A, IxDyn>().unwrap(), zeros);
        }
    }
    let folder = manifest::testdata();
    let mut seen = 0;
    for case in manifest::npy_cases(&folder) {
        let Some(path) = case.line["field"].as_str() else { continue };
        let records: DynArray = read_npy(folder.join(case.line["of"].as_str().unwrap())).unwrap();
        let field = records.field(path).unwrap();
        let dtype = field.dtype().clone();
        with_type!(dtype, check_field(&records, path, &case.path)).unwrap();
        if records.order() == Order::C {
            let mut written = Vec::new();
            field.write_npy(&mut written).unwrap();
            assert_eq!(written, case.bytes, "{path}");
        }
        seen += 1;
    }
    assert_eq!(seen, 14);
}

#[test]
fn missing_field_is_reported() {
    let records: DynArray = read_npy(manifest::testdata().join("records-c.npy")).unwrap();
    for path in ["", "x", "in.y", "in.x.z", "id.x", "in.", ".in", "a", "tail.x.0"] {
        let error = records.field(path).unwrap_err();
        assert!(error.is_not_found() && error.to_string().contains("has no field"), "{path}: {error}");
    }
    assert_eq!(records.field("in").unwrap().field("x").unwrap(), records.field("in.x").unwrap());
}

#[test]
fn views_share_the_bytes() {
    let mut array = DynArray::new(&arr2(&[[1.0, 2.0], [3.0, 4.0]]).t()).unwrap();
    assert_eq!(array.order(), Order::Fortran);
    array.view_mut::<f64, Ix2>().unwrap()[[0, 1]] = 30.0;
    assert_eq!(array.view::<f64, IxDyn>().unwrap(), arr2(&[[1.0, 30.0], [2.0, 4.0]]).into_dyn());
    assert!(array.view::<f64, Ix1>().unwrap_err().is_mismatch());
    assert!(array.view::<i64, Ix2>().unwrap_err().is_mismatch());
    let back: Array2<f64> = array.into_array().unwrap();
    assert_eq!(back, arr2(&[[1.0, 30.0], [2.0, 4.0]]));
}

#[test]
fn dynamic_array_is_written_in_requested_byte_order() {
    let array = arr2(&[[1i32, 2], [3, 4]]);
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let options = WriteOptions::new().byte_order(order);
        let (mut typed, mut dynamic) = (Vec::new(), Vec::new());
        options.write_to(&mut typed, &array).unwrap();
        options.write_to(&mut dynamic, &DynArray::new(&array).unwrap()).unwrap();
        assert_eq!(dynamic, typed);
    }
}

#[test]
fn foreign_byte_order_is_converted_but_not_viewed() {
    let big: DynArray = read_npy(manifest::testdata().join("number-bf8.npy")).unwrap();
    if cfg!(target_endian = "little") {
        assert_eq!(
            big.view::<f64, Ix1>().unwrap_err().message(),
            "expected this machine's byte order, found '>f8'"
        );
    }
    let little: DynArray = read_npy(manifest::testdata().join("number-lf8.npy")).unwrap();
    let bits = |array: DynArray| -> Vec<u64> {
        array.into_array::<f64, Ix1>().unwrap().iter().map(|number| number.to_bits()).collect()
    };
    assert_eq!(bits(big)[..10], bits(little)[..10]);
}

#[test]
fn dynamic_cast_obeys_casting_rule() {
    let array = DynArray::new(&arr1(&[1u8, 200])).unwrap();
    assert_eq!(array.cast::<i16, Ix1>(Casting::Safe).unwrap(), arr1(&[1, 200]));
    assert_eq!(array.cast::<i8, Ix1>(Casting::Unsafe).unwrap(), arr1(&[1, -56]));
    assert!(array.cast::<i8, Ix1>(Casting::Safe).unwrap_err().is_mismatch());
}

#[test]
fn with_numbers_accepts_numbers_and_refuses_bools() {
    let sum =
        |array: DynArray| with_numbers!(array, |view| view.iter().map(|item| *item as f64).sum::<f64>());
    assert_eq!(sum(DynArray::new(&arr1(&[1u8, 200])).unwrap()).unwrap(), 201.0);
    assert_eq!(sum(DynArray::new(&arr2(&[[1i64, -2]])).unwrap()).unwrap(), -1.0);
    assert_eq!(sum(DynArray::new(&arr1(&[1.5f32])).unwrap()).unwrap(), 1.5);
    let error = sum(DynArray::new(&arr1(&[true])).unwrap()).unwrap_err();
    assert!(error.to_string().contains("'|b1'"), "{error}");
}

#[test]
fn dynamic_array_is_written_in_requested_order() {
    let array = DynArray::new(&arr2(&[[1u16, 2, 3], [4, 5, 6]])).unwrap();
    for (order, elements) in [(Order::C, [1, 2, 3, 4, 5, 6]), (Order::Fortran, [1, 4, 2, 5, 3, 6])] {
        let mut file = Vec::new();
        WriteOptions::new().order(order).write_to(&mut file, &array).unwrap();
        assert!(file.ends_with(&elements.map(u16::to_ne_bytes).concat()));
        assert_eq!(DynArray::read_npy(&file[..]).unwrap().order(), order);
    }
}

#[test]
fn displayed_elements_are_aligned() {
    let shown = |name: &str| read_npy::<_, DynArray>(manifest::testdata().join(name)).unwrap().to_string();
    assert_eq!(shown("shape-l-2x3-c.npy"), "[[-2.0,  0.0,  2.0],\n [-1.0,  1.0, -2.0]]");
    assert_eq!(shown("shape-l-2x3-f.npy"), shown("shape-l-2x3-c.npy"));
    assert_eq!(shown("shape-l-scalar-c.npy"), "-2.0");
    assert_eq!(shown("shape-l-0x3-c.npy"), "[]");
    assert_eq!(shown("shape-bool-2x3-c.npy"), "[[ true, false,  true],\n [ true,  true,  true]]");
    assert_eq!(shown("fortran-bi2.npy"), "[[     0,      1,      2],\n [    -1, -32768,  32767]]");
    let strings = r#"[        b"",        b"a", b"\xff\xfe",    b"\x00b",   b"a\x00b",   b"\'\"\n"]"#;
    assert_eq!(shown("bytes-S5.npy"), strings);
}

#[test]
fn display_of_large_array_shows_only_edges() {
    let array =
        DynArray::new(&Array2::from_shape_fn((100, 100), |(row, column)| (row * column) as u16)).unwrap();
    let expected = "\
[[   0,    0,    0, …,    0,    0,    0],
 [   0,    1,    2, …,   97,   98,   99],
 [   0,    2,    4, …,  194,  196,  198],
 …,
 [   0,   97,  194, …, 9409, 9506, 9603],
 [   0,   98,  196, …, 9506, 9604, 9702],
 [   0,   99,  198, …, 9603, 9702, 9801]]";
    assert_eq!(array.to_string(), expected);
    let cube = DynArray::new(&ndarray::arr3(&[[[1u8, 2]], [[3, 4]]])).unwrap();
    assert_eq!(cube.to_string(), "[[[1, 2]],\n\n [[3, 4]]]");
}

/// A preview reads only the edges of a file and equals that of the array.
#[test]
fn file_preview_equals_array_display() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    let shapes: [&[usize]; 9] = [
        &[],
        &[5],
        &[2000],
        &[0, 9],
        &[100, 100],
        &[3, 2000],
        &[400, 3],
        &[9, 10, 11, 8],
        &[8, 9, 8, 9, 8, 9],
    ];
    for shape in shapes {
        let len: usize = shape.iter().product();
        let array = ndarray::Array::from_iter(0..len as i32).into_shape_with_order(shape).unwrap();
        for order in [Order::C, Order::Fortran] {
            WriteOptions::new().order(order).write_npy(&path, &array).unwrap();
            let mut shown = Vec::new();
            let file = ndarray_io::NpyFile::open(&path).unwrap();
            file.display_to(&DisplayOptions::new(), &mut shown).unwrap();
            let shown = String::from_utf8(shown).unwrap();
            assert_eq!(shown, read_npy::<_, DynArray>(&path).unwrap().to_string(), "{shape:?} {order:?}");
        }
    }
}

/// Elements that are wider than a format string can pad (65,535 characters) are aligned all the same.
#[test]
fn elements_wider_than_format_padding_are_displayed() {
    let one = |descr: &str, bytes: usize| {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}");
        DynArray::read_npy(&crate::support::file(&header, &vec![b'a'; 2 * bytes])[..]).unwrap()
    };
    let fields: Vec<String> = (0..70).map(|number| format!("('f{number}', '|S2000')")).collect();
    let wide = one(&format!("[{}]", fields.join(", ")), 140_000);
    let bytes = one("('|u1', (40000,))", 40_000);
    let nested = one("[('a', [('b', '<u4', (300, 300))], (5,))]", 5 * 4 * 90_000);
    for array in [wide, bytes, nested] {
        let shown = array.to_string();
        assert!(shown.contains('…') && shown.starts_with('[') && shown.ends_with(']'), "{shown:.100}");
        assert!((1000..60_000).contains(&shown.len()), "{}", shown.len());
    }
    // Two texts of different widths, of which one is padded.
    let texts = ndarray::arr1(&["a".repeat(990), "b".to_owned()]);
    let shown = DynArray::new(&texts).unwrap().to_string();
    assert!(shown.ends_with(&format!("{}\"b\"]", " ".repeat(989))), "{shown}");
}

/// The size and the time of a preview do not depend on the shape that a file declares.
#[test]
fn display_of_huge_declared_shape_stays_small() {
    let claim = |descr: &str, shape: &str| {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
        DynArray::read_npy(&crate::support::file(&header, &[])[..]).unwrap()
    };
    let long = 1usize << (usize::BITS - 2);
    let many = claim("'|V0'", &format!("({})", "2, ".repeat(20)));
    assert!(many.to_string().len() < 1_000_000 && many.to_string().contains('…'));
    assert!(claim("'|V0'", "(1048576,)").to_string().len() < 100);
    assert_eq!(claim("'<f8'", &format!("({}, 0)", long / 16)).to_string(), "[]");
    if usize::BITS == 64 {
        let field = claim("[('a', [], (2147483647, 1000))]", "(3,)").field("a").unwrap();
        assert_eq!(field.shape(), [3, 2_147_483_647, 1000]);
    }
}

#[test]
fn misaligned_field_is_copied_not_viewed() {
    // `x` is at offset 1 in records of six bytes, so that it cannot be viewed as `u32`.
    let text = crate::support::native_descr(
        "{'descr': [('id', '|u1'), ('x', '<u4'), ('ok', '|b1')], 'fortran_order': False, 'shape': (2,), }",
    );
    let record = |id: u8, x: u32, ok: u8| [&[id], &x.to_ne_bytes()[..], &[ok]].concat();
    let payload = [record(7, 1, 1), record(8, 2, 2)].concat();
    let file =
        [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &payload].concat();
    let records = DynArray::read_npy(&file[..]).unwrap();
    let error = records.field_view::<u32, Ix1>("x").unwrap_err();
    assert!(
        error.message().starts_with("misaligned: expected a multiple of") && error.field() == Some("x"),
        "{error}"
    );
    assert_eq!(records.field("x").unwrap().into_array::<u32, Ix1>().unwrap(), arr1(&[1, 2]));
    assert_eq!(records.field_view::<u8, Ix1>("id").unwrap(), arr1(&[7, 8]));
    let error = records.field_view::<bool, Ix1>("ok").unwrap_err();
    assert!(
        error.message().starts_with("expected a bool (0 or 1), found 2") && error.element() == Some(1),
        "{error}"
    );
    assert!(records.field_view::<i8, Ix1>("id").unwrap_err().is_mismatch());
    assert!(records.field_view::<u8, Ix2>("id").unwrap_err().is_mismatch());
}

#[test]
fn arrays_are_cast_to_runtime_dtypes() {
    let dtype = |kind, size, order| DType::from(Scalar::new(kind, size, order).unwrap());
    let array = DynArray::new(&arr2(&[[1i16, -2], [300, 4]])).unwrap();
    let big = array.cast_to(&dtype(Kind::Int, 2, ByteOrder::Big), Casting::Safe).unwrap();
    assert_eq!(big.bytes(), [0, 1, 0xFF, 0xFE, 1, 44, 0, 4]);
    // np.array([1, -2, 300, 4], '<i2').astype('>c8').tobytes()
    let complex = big.cast_to(&dtype(Kind::Complex, 8, ByteOrder::Big), Casting::Safe).unwrap();
    let expected: Vec<u8> =
        [1f32, 0.0, -2.0, 0.0, 300.0, 0.0, 4.0, 0.0].iter().flat_map(|part| part.to_be_bytes()).collect();
    assert_eq!(complex.bytes(), expected);
    assert!(
        array.cast_to(&dtype(Kind::Uint, 8, ByteOrder::NATIVE), Casting::SameKind).unwrap_err().is_mismatch()
    );

    // Records change the byte order of all fields: NumPy wrote these files in both.
    let folder = manifest::testdata();
    let records: DynArray = read_npy(folder.join("record-matrix.npy")).unwrap();
    assert!(array.cast_to(records.dtype(), Casting::Unsafe).unwrap_err().is_mismatch());
    for (little, big) in [("record-matrix", "record-matrix_big"), ("record-tight", "record-tight_big")] {
        let [little, big]: [DynArray; 2] =
            [little, big].map(|id| read_npy(folder.join(format!("{id}.npy"))).unwrap());
        let turned = little.cast_to(big.dtype(), Casting::Safe).unwrap();
        assert_eq!(turned.cast_to(little.dtype(), Casting::Safe).unwrap(), little);
        assert_eq!(turned.to_string(), little.to_string());
        assert_ne!(turned.bytes(), little.bytes());
    }
}

/// The texts are those of `numpy.lib.format.dtype_to_descr` for the same fields with `align=True` and
/// offsets.
#[test]
fn built_record_layouts_equal_numpys() {
    let dtype = |text: &str| text.parse::<DType>().unwrap();
    let names = ["flag", "x", "z", "t", "s", "at", "m", "tail"];
    let types = ["u1", "<f4", "<c16", "<U3", "S5", "('<i2', (3,))", "<M8[ns]", "u1"];
    let aligned = names
        .iter()
        .zip(types)
        .fold(RecordBuilder::new().aligned(), |builder, (name, text)| builder.field(*name, dtype(text)));
    assert_eq!(
        aligned.build().unwrap().to_string(),
        "[('flag', '|u1'), ('', '|V3'), ('x', '<f4'), ('z', '<c16'), ('t', '<U3'), ('s', '|S5'), ('', '|V1'), \
         ('at', '<i2', (3,)), ('m', '<M8[ns]'), ('tail', '|u1'), ('', '|V7')]"
    );
    let at = RecordBuilder::new().field_at(4, "a", dtype("u1")).field_at(8, "b", dtype("<f8")).size(32);
    let at = at.build().unwrap();
    assert_eq!(at.to_string(), "[('', '|V4'), ('a', '|u1'), ('', '|V3'), ('b', '<f8'), ('', '|V16')]");
    let titled = RecordBuilder::new().titled("a", "The title", dtype("<f4")).field("b", dtype("u1")).build();
    // NumPy: `np.dtype([('x', 'f8'), ('y', 'u1')], align=True)` has 16 bytes, whichever field sets the
    // alignment.
    let late =
        RecordBuilder::new().aligned().field_at(0, "x", dtype("<f8")).aligned().field("y", dtype("u1"));
    assert_eq!(late.build().unwrap().item_size(), 16);
    assert_eq!(
        RecordBuilder::new().aligned().field("x", dtype("<f4")).size(6).build().unwrap().item_size(),
        6
    );
    // A packed nested record has an alignment of 1.
    let packed = RecordBuilder::new()
        .aligned()
        .field("n", dtype("u1"))
        .field("p", dtype("[('a', 'u1'), ('b', '<f8')]"));
    assert_eq!(packed.build().unwrap().item_size(), 10);
    assert_eq!(titled.unwrap().to_string(), "[(('The title', 'a'), '<f4'), ('b', '|u1')]");

    let fails = |builder: RecordBuilder| builder.build().unwrap_err().to_string();
    let one = || RecordBuilder::new().titled("a", "t", dtype("<f4"));
    assert_eq!(fails(one().field("t", dtype("u1"))), "two fields have the name or title 't'");
    assert_eq!(fails(one().titled("b", "b", dtype("u1"))), "two fields have the name or title 'b'");
    assert_eq!(fails(one().field("", dtype("u1"))), "a field has no name");
    assert_eq!(
        fails(one().field_at(3, "b", dtype("u1"))),
        "expected an offset or size of at least 4, where the fields end, found 3"
    );
    assert_eq!(fails(one().size(1 << 31)), "a record of 2³¹ bytes or more is too large");
}

/// The bytes are those of a NumPy structured array with the same columns.
#[test]
fn records_from_columns_and_reshape_equal_numpys() {
    let names = DynArray::from_bytes(
        "<U2".parse().unwrap(),
        [2],
        Order::C,
        &[97, 0, 0, 0, 98, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0],
    )
    .unwrap();
    // In Fortran order, so that it must be transposed.
    let cube = ndarray::Array3::from_shape_fn((2, 2, 2).f(), |(i, j, k)| (4 * i + 2 * j + k) as i16);
    let (cube, heights) = (
        DynArray::new(&cube).unwrap(),
        DynArray::from_bytes(">f4".parse().unwrap(), [2], Order::C, &[0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0])
            .unwrap(),
    );
    assert_eq!(cube.order(), Order::Fortran);
    let records = DynArray::from_columns([("n", &names), ("at", &cube), ("z", &heights)]).unwrap();
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    let expected = format!("[('n', '<U2'), ('at', '{order}i2', (2, 2)), ('z', '>f4')]");
    assert_eq!(records.dtype().to_string(), expected);
    let hex: String = records.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let expected = match order {
        '<' => "610000006200000000000100020003003fc0000063000000000000000400050006000700c0000000",
        _ => "610000006200000000000001000200033fc0000063000000000000000004000500060007c0000000",
    };
    assert_eq!(hex, expected);
    let short = DynArray::new(&arr1(&[1u8, 2, 3])).unwrap();
    let error = DynArray::from_columns([("n", &names), ("x", &short)]).unwrap_err();
    assert!(error.message().starts_with("expected shape") && error.field() == Some("x"), "{error}");
    assert!(DynArray::from_columns([("n", &names), ("n", &names)]).unwrap_err().is_usage());
    assert!(DynArray::from_columns::<String>([]).unwrap_err().is_usage());

    let turned =
        DynArray::new(&ndarray::Array2::from_shape_fn((3, 2).f(), |(i, j)| (i + 3 * j) as i16)).unwrap();
    let again = turned.reshape([2, 3]).unwrap();
    assert_eq!(again.bytes(), [0i16, 3, 1, 4, 2, 5].map(i16::to_ne_bytes).as_flattened());
    assert!(again.reshape([4]).unwrap_err().is_mismatch());
}

#[test]
fn fields_are_found_by_number_path_and_title() {
    let records: DynArray = read_npy(manifest::testdata().join("records-c.npy")).unwrap();
    for (index, name) in ["id", "pos", "in", "name", "a.b", "tail"].iter().enumerate() {
        assert_eq!(records.field(index).unwrap(), records.field(*name).unwrap(), "{name}");
        assert_eq!(records.field([*name]).unwrap(), records.field(*name).unwrap(), "{name}");
    }
    assert_eq!(records.field(["in", "x"]).unwrap(), records.field("in.x").unwrap());
    assert_eq!(records.field(["tail", "flag"]).unwrap(), records.field(5).unwrap().field(1).unwrap());
    assert!(
        records.field(["a", "b"]).is_err() && records.field(6).is_err() && records.field([""; 0]).is_err()
    );

    let of = |text: &str| DynArray::from_bytes(text.parse().unwrap(), [1], Order::C, &[1, 2, 3]).unwrap();
    let titled = of("[(('T.1', 'a'), 'u1'), ('b', [('T', 'u1'), ('c', 'u1')])]");
    assert_eq!(titled.field("T.1").unwrap().bytes(), [1]);
    // The path may mean `a.b` and `c`, or `a` and `b.c`.
    let two = of("[('a.b', [('c', 'u1')]), ('a', [('b.c', 'u1'), ('d', 'u1')])]");
    let error = two.field("a.b.c").unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("several"), "{error}");
    assert_eq!(
        (two.field(["a", "b.c"]).unwrap().bytes(), two.field(["a.b", "c"]).unwrap().bytes()),
        (&[2][..], &[1][..])
    );
}

/// In records that share their parts, looking up a path takes time in proportion to its length, and the
/// message stays short.
#[test]
fn field_lookup_in_shared_records_takes_linear_time() {
    let mut dtype: DType = "V0".parse().unwrap();
    for _ in 0..32 {
        dtype = RecordBuilder::new().field("a", dtype.clone()).field("a.a", dtype).build().unwrap();
    }
    let array = DynArray::from_bytes(dtype, [1], Order::C, &[]).unwrap();
    let error = array.field(&format!("{}z", "a.".repeat(32))).unwrap_err().to_string();
    assert!(error.len() < 300 && error.contains("its fields are 'a', 'a.a'"), "{error}");
}

/// The text of all elements that is written block by block is the one that is made in memory.
#[test]
fn file_display_in_blocks_equals_array_display() {
    let shapes: [&[usize]; 9] =
        [&[], &[1], &[0, 3], &[7], &[40_000], &[300, 200], &[2, 3, 5000], &[2, 30_000, 1], &[5, 1, 1, 4, 2]];
    for shape in shapes {
        for order in [Order::C, Order::Fortran] {
            for width in [usize::MAX, 80, 3] {
                let len: usize = shape.iter().product();
                let bytes: Vec<u8> =
                    (0..len as i32).flat_map(|n| (n * 7919 % 100_003).to_le_bytes()).collect();
                let array = DynArray::from_bytes("<i4".parse().unwrap(), shape, order, &bytes).unwrap();
                let mut file = Vec::new();
                array.write_npy(&mut file).unwrap();
                let look = DisplayOptions::new().all().width(width);
                let mut text = Vec::new();
                NpyFile::from_source(InMemory(file)).unwrap().display_to(&look, &mut text).unwrap();
                let wanted = array.display_with(&look).to_string();
                assert!(text == wanted.as_bytes(), "{shape:?} {order:?} {width}");
            }
        }
    }
}

/// `np.format_float_positional(half, unique=True)`.
#[test]
fn half_floats_display_shortest_digits() {
    let halves: Vec<u8> =
        [0x2E66_u16, 0x2400, 0x7BFF, 0x0001].iter().flat_map(|half| half.to_le_bytes()).collect();
    let array = DynArray::from_bytes("'<f2'".parse().unwrap(), vec![4], Order::C, &halves).unwrap();
    assert_eq!(array.to_string(), "[    0.1, 0.01563, 65500.0,    6e-8]");
}

/// The text of each dtype is read as the same dtype: of each kind, size, byte order, and unit of time.
#[test]
fn scalar_dtypes_of_all_kinds_survive_their_texts() {
    use ndarray_io::ByteOrder;
    use ndarray_io::dtype::{Kind, Narrow, Scalar, TimeStep, TimeUnit};

    let mut kinds = vec![
        Kind::Bool,
        Kind::Int,
        Kind::Uint,
        Kind::Float,
        Kind::Complex,
        Kind::Bytes,
        Kind::Text,
        Kind::Void,
    ];
    kinds.extend(Narrow::ALL.map(Kind::Narrow));
    for unit in TimeUnit::ALL {
        // Without a unit, there is no count in the text.
        for count in if unit == TimeUnit::Generic { [1, 1] } else { [1, 25] } {
            let step = TimeStep::new(count, unit);
            kinds.extend([Kind::Datetime(step), Kind::Timedelta(step)]);
        }
    }
    let source = include_str!("../../src/model/dtype/scalar.rs");
    let (_, variants) = source.split_once("pub enum Kind {\n").unwrap();
    let (variants, _) = variants.split_once("\n}").unwrap();
    let variants =
        variants.lines().filter(|line| line.starts_with("    ") && line.as_bytes()[4].is_ascii_uppercase());
    let names: std::collections::BTreeSet<String> =
        kinds.iter().map(|kind| format!("{kind:?}").split(['(', ' ']).next().unwrap().to_owned()).collect();
    assert_eq!(variants.count(), names.len(), "a kind is missing in this test: it has {names:?}");
    let mut count = 0;
    for kind in kinds {
        for (size, order) in (0..40).flat_map(|size| [(size, ByteOrder::Little), (size, ByteOrder::Big)]) {
            let Some(scalar) = Scalar::new(kind, size, order) else { continue };
            let dtype = DType::from(scalar);
            let text = dtype.to_string();
            // Read from a header, and as a program names a dtype; what NumPy lacks is in no header.
            let found = text.trim_matches('\'').parse::<DType>();
            if (kind, size) == (Kind::Complex, 4) {
                continue;
            }
            assert_eq!(found.ok().as_ref(), Some(&dtype), "{text}");
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}
