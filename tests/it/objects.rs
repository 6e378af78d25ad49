//! Objects, compared with what Python shows of them (`testdata/make_objects.py`), and malicious pickles.

use std::path::PathBuf;

use ndarray::{Array0, Array1, Array2, ArrayD, Ix1, IxDyn, ShapeBuilder, arr1, s};
use ndarray_io::header::Order;
use ndarray_io::object::{Date, Int, Object, Pickle, Time, Timedelta, View};
use ndarray_io::options::OldText;
use ndarray_io::{
    Casting, DType, DynArray, Error, Limits, NpyWriter, ReadNpyExt, ReadOptions, WriteNpyExt, WriteOptions,
    read_npy,
};
use num_complex::Complex;
use serde_json::Value;

use crate::support::manifest;
use crate::support::native_descr;
use crate::support::random::Random;

fn objects_folder() -> PathBuf {
    manifest::testdata().join("objects")
}

fn read(name: &str) -> ArrayD<Object> {
    read_npy(objects_folder().join(format!("{name}.npy"))).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn object_json_lines() -> Vec<Value> {
    let lines = std::fs::read_to_string(objects_folder().join("objects.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let like = |name: &Value| {
        let mut line = lines.iter().find(|line| &line["name"] == name).unwrap().clone();
        line["like"] = name.clone();
        line
    };
    lines
        .iter()
        .map(|line| match line.get("like") {
            None => line.clone(),
            Some(name) => {
                let mut like = like(name);
                like["name"] = line["name"].clone();
                like
            }
        })
        .collect()
}

#[test]
fn object_display_equals_python_repr() {
    let lines = object_json_lines();
    assert!(lines.len() > 70);
    for line in lines {
        let name = line["name"].as_str().unwrap();
        let array = read(name);
        let shape: Vec<u64> = array.shape().iter().map(|dim| *dim as u64).collect();
        assert_eq!(serde_json::json!(shape), line["shape"], "{name}");
        let is_fortran = array.ndim() > 1 && array.t().is_standard_layout() && !array.is_standard_layout();
        if array.len() > 1 {
            assert_eq!(is_fortran, line["fortran_order"].as_bool().unwrap(), "{name}");
        }
        let shown = line["shown"].as_array().unwrap();
        assert_eq!(array.len(), shown.len(), "{name}");
        for (item, shown) in array.iter().zip(shown) {
            if let Value::String(shown) = shown {
                // Before protocol 4, pickles do not store `fold`, which distinguishes two equal times.
                let is_old = ["-p0", "-p1", "-p2", "-p3"].iter().any(|protocol| name.ends_with(protocol));
                let shown = if is_old { shown.replace(", fold=1", "") } else { shown.clone() };
                assert_eq!(item.to_string(), shown, "{name}");
            }
        }
    }
}

/// 2,000 arrays and scalars of all kinds, and objects with arrays in them, compared with `repr` in NumPy 2.4.
/// (The texts have the byte order of records.)
#[cfg(target_endian = "little")]
#[test]
fn numpy_object_display_equals_numpys_repr() {
    let lines = std::fs::read_to_string(objects_folder().join("shown_by_numpy.txt")).unwrap();
    let lines: Vec<String> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let array = read("shown_by_numpy");
    assert!(array.len() == lines.len() && lines.len() > 2000);
    let differing: Vec<String> = (array.iter().zip(&lines).enumerate())
        .filter(|(_, (object, line))| object.to_string() != **line)
        .map(|(number, (object, line))| format!("{number}:\n{line}\n{object}"))
        .collect();
    assert!(
        differing.is_empty(),
        "{} differ:\n{}",
        differing.len(),
        differing[..differing.len().min(12)].join("\n")
    );
}

/// `os.system` was seen to run when NumPy loaded the file, whose items are 1 and None.
#[test]
fn discarded_calls_are_listed() {
    let read = |name: &str| {
        let options = ReadOptions::new().allow_objects(true);
        options.read_from::<DynArray>(std::fs::File::open(objects_folder().join(name)).unwrap()).unwrap()
    };
    let listed = |array: &DynArray| {
        let names: Vec<_> = array.globals().iter().map(ToString::to_string).collect();
        let calls = array.calls();
        (names.join(" "), calls.iter().map(ToString::to_string).find(|call| !call.starts_with("numpy")))
    };
    let array = read("discarded.npy");
    let expected = ("os.system numpy.dtype".into(), Some("os.system('echo this was never an item')".into()));
    assert_eq!(listed(&array), expected);
    // So it is for arrays that are made of it, but not for a file that is written of it.
    assert_eq!(listed(&array.slice(s![..1]).unwrap()), expected);
    assert_eq!(listed(&array.clone()), expected);
    let mut file = Vec::new();
    array.write_npy(&mut file).unwrap();
    let again = ReadOptions::new().allow_objects(true).read_from::<DynArray>(&file[..]).unwrap();
    assert_eq!(listed(&again), ("".into(), None));
    assert_eq!(again, array);
}

/// What only its own module knows is shown in our own notation; these lines were checked by hand.
#[test]
fn unknown_objects_are_displayed_as_calls() {
    let shown = |name: &str| read(name).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(shown("commands"), ["'before'", "posix.system('echo this came from a pickle')", "'after'"]);
    let others = shown("others");
    let expected = [
        "range(1, 10, 2)",
        "slice(1, None, 2)",
        "fractions.Fraction(1, 3)",
        "int",
        "numpy.float64",
        "len",
        "Ellipsis",
        "collections.OrderedDict() <items: {'a': 1, 'b': 2}>",
        "collections.Counter({'a': 2, 'b': 1, 'c': 1})",
    ];
    assert_eq!(others[..expected.len()], expected);
    assert!(
        others[9]
            .starts_with(r"datetime.datetime(b'\x07\xe4\x01\x01\x00\x00\x00\x00\x00\x00', datetime.timezone")
    );
}

/// Each file is written again, in each protocol, in both ways; `.ci/check_objects.py` checks what NumPy
/// reads.
#[test]
fn objects_round_trip_in_protocols_2_to_4() {
    let written = std::env::var_os("NDARRAY_IO_WRITTEN").map(PathBuf::from);
    let allow = ReadOptions::new().allow_objects(true);
    for entry in std::fs::read_dir(objects_folder()).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.file_name().unwrap().to_str().unwrap().strip_suffix(".npy").map(str::to_owned)
        else {
            continue;
        };
        let is_like = |again: &ArrayD<Object>, array: &ArrayD<Object>| {
            // Only protocol 5 keeps the byte order of arrays in objects.
            let differing = again.iter().zip(array).filter(|(one, two)| one != two).count();
            // (On a little-endian machine, `arrays-p5` has one array in the other order.)
            let is_alike = match name == "arrays-p5" {
                true if cfg!(target_endian = "little") => differing == 1,
                true => differing > 1,
                false => differing == 0,
            };
            again.shape() == array.shape() && is_alike
        };
        let array: ArrayD<Object> = read_npy(&path).unwrap();
        let dynamic: DynArray = allow.read_npy(&path).unwrap();
        for protocol in [2, 3, 4] {
            let options = WriteOptions::new().pickle_protocol(protocol);
            let (mut file, mut by_dynamic) = (Vec::new(), Vec::new());
            options.write_to(&mut by_dynamic, &dynamic).unwrap();
            let again = allow.read_from::<DynArray>(&by_dynamic[..]).unwrap();
            assert!(again == dynamic || name == "arrays-p5", "{name}");
            let is_plain = dynamic.dtype() == &DType::Object;
            if is_plain {
                options.write_to(&mut file, &array).unwrap();
                assert!(is_like(&ArrayD::read_npy(&file[..]).unwrap(), &array), "{name}");
            }
            if let Some(folder) = &written {
                std::fs::write(folder.join(format!("{name}.dynamic-p{protocol}.npy")), &by_dynamic).unwrap();
                if is_plain {
                    std::fs::write(folder.join(format!("{name}.typed-p{protocol}.npy")), &file).unwrap();
                }
            }
        }
    }
}

fn decode_hex(text: &Value) -> Vec<u8> {
    let digits = text.as_str().unwrap().as_bytes().as_chunks::<2>().0;
    digits.iter().map(|digits| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap()).collect()
}

/// Pickles of protocol 5 with buffers of their own, as `pickle.dumps(…, buffer_callback=…)` makes them, are read
/// and written again; `.ci/check_objects.py` checks what Python reads.
#[test]
fn out_of_band_buffers_round_trip() {
    let lines = std::fs::read_to_string(objects_folder().join("out_of_band.jsonl")).unwrap();
    let written = std::env::var_os("NDARRAY_IO_WRITTEN").map(PathBuf::from);
    let options = ReadOptions::new();
    for (number, line) in lines.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        let pickled = decode_hex(&line["pickle"]);
        let buffers: Vec<Vec<u8>> = line["buffers"].as_array().unwrap().iter().map(decode_hex).collect();
        let pickle = Pickle::read_with_buffers(&pickled[..], &buffers, &options).unwrap();
        let object = pickle.object();
        // Elsewhere, NumPy shows the byte order of little-endian arrays.
        if cfg!(target_endian = "little") {
            assert_eq!(object.to_string(), line["shown"].as_str().unwrap());
        }
        // With fewer buffers or none at all.
        if let Some((_, fewer)) = buffers.split_last() {
            let error = Pickle::read_with_buffers(&pickled[..], fewer, &options).unwrap_err();
            assert!(error.is_format() && error.to_string().contains("buffers given"), "{error}");
            let numbered = Pickle::read(&pickled[..]).unwrap();
            assert!(numbered.object().to_string().contains("<buffer 0>"));
        }
        let (again, outside) = Pickle::write_with_buffers(object).unwrap();
        // One for each array that has bytes; NumPy writes one that is not contiguous into the pickle.
        assert_eq!(outside.len(), [1, 1, 2, 4, 4, 5, 0][number], "{object}");
        let read = Pickle::read_with_buffers(&again[..], &outside, &options).unwrap();
        // An empty array is in the pickle: when that is read, its byte order becomes the machine's, as with NumPy.
        assert!(read.object() == object || cfg!(target_endian = "big") && number == 4, "{object}");
        if let Some(folder) = &written {
            let buffers: Vec<String> = outside.iter().map(|buffer| hex(buffer)).collect();
            let line =
                serde_json::json!({ "pickle": hex(&again), "buffers": buffers, "shown": line["shown"] });
            std::fs::write(folder.join(format!("{number}.out_of_band.json")), line.to_string()).unwrap();
        }
    }
    // An array is stored once, however often it is referred to, and none is copied to be written.
    let array = Object::from(&DynArray::new(&arr1(&[1u8; 1000])).unwrap());
    let both = Object::list([array.clone(), array.clone()]);
    let (pickled, outside) = Pickle::write_with_buffers(&both).unwrap();
    assert!(outside.len() == 1 && pickled.len() < 300);
    let View::Array(array) = array.view() else { panic!("an array") };
    assert!(std::ptr::eq(outside[0], array.bytes()));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Objects of the corpus are written again, for NumPy to check.
#[test]
#[ignore = "needs NDARRAY_IO_CORPUS and NDARRAY_IO_WRITTEN"]
fn corpus_objects_are_written_again() {
    let corpus = crate::support::folder_from_env("NDARRAY_IO_CORPUS");
    let written = crate::support::folder_from_env("NDARRAY_IO_WRITTEN");
    for case in manifest::npy_cases(&corpus) {
        if case.line["opt_in"] != "ok" {
            continue;
        }
        let options = ReadOptions::new().allow_objects(true);
        let array: DynArray =
            options.read_npy(&case.path).unwrap_or_else(|error| panic!("{}: {error}", case.id));
        let path = written.join(case.path.file_name().unwrap());
        ndarray_io::write_npy(path, &array).unwrap();
    }
}

/// All kinds of Python objects, in each of Python's protocols, are written in each of ours, for Python to
/// check.
#[test]
#[ignore = "needs NDARRAY_IO_KINDS and NDARRAY_IO_WRITTEN"]
fn objects_of_all_kinds_are_written_again() {
    let kinds = crate::support::folder_from_env("NDARRAY_IO_KINDS");
    let written = crate::support::folder_from_env("NDARRAY_IO_WRITTEN");
    let mut count = 0;
    for entry in std::fs::read_dir(kinds).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let array: Array1<Object> = read_npy(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(array, array.mapv(|object| object.detach()), "{name}");
        if name == "derived" {
            assert_eq!(array[0].to_string(), "('a', 1)");
            continue;
        }
        for protocol in [2, 3, 4] {
            let mut file = Vec::new();
            let options = WriteOptions::new().pickle_protocol(protocol);
            match options.write_to(&mut file, &array) {
                Ok(()) => {
                    let again = Array1::<Object>::read_npy(&file[..]).unwrap();
                    assert_eq!(again.len(), 1, "{name}");
                    std::fs::write(written.join(format!("{name}.{protocol}.npy")), &file).unwrap();
                }
                // An object that is constructed with keyword arguments.
                Err(error) => {
                    assert!(
                        protocol < 4 && error.to_string().contains("protocols before 4 cannot represent"),
                        "{name}: {error}"
                    )
                }
            }
            count += 1;
        }
    }
    assert!(count > 3000, "{count}");
}

#[test]
fn object_values_equal_those_python_wrote() {
    let ints = read("ints");
    assert_eq!(i64::try_from(&ints[[10]]).unwrap(), i64::MAX);
    assert_eq!(u64::try_from(&ints[[11]]).unwrap(), 1 << 63);
    assert_eq!(i128::try_from(&ints[[13]]).unwrap(), -(1 << 63) - 1);
    assert!(i64::try_from(&ints[[11]]).unwrap_err().to_string().contains("9223372036854775808"));
    assert!(i64::try_from(&ints[[15]]).is_err());
    let texts = read("texts");
    assert_eq!(texts[[2]].as_str(), Some("λ"));
    let (View::Str(lone), View::Str(several)) = (texts[[10]].view(), texts[[11]].view()) else { panic!() };
    assert_eq!((lone.as_str(), lone.code_points().collect()), (None, vec![0xD800]));
    // Python pickles a surrogate pair as two code points, not as one character of four bytes.
    assert_eq!(several.code_points().collect::<Vec<_>>(), [0x61, 0xDFFF, 0x62, 0xD83D, 0xDE00]);
    let bytes = read("bytes");
    assert_eq!(Vec::<u8>::try_from(&bytes[[4]]).unwrap(), (0..=255).collect::<Vec<u8>>());
    let floats = read("floats");
    assert_eq!(f64::try_from(&floats[[11]]).unwrap(), 5e-324);
    let containers = read("containers");
    assert_eq!(i64::try_from(containers[[8]].get("a").unwrap()).unwrap(), 1);
    assert_eq!(containers[[14]].items().unwrap().get(2499).unwrap(), Object::from(2499));
    assert!(
        String::try_from(&floats[[0]]).unwrap_err().to_string().contains("expected a str, found a float")
    );
}

#[test]
fn nested_numpy_objects_are_arrays_and_scalars() {
    let arrays = read("arrays");
    let within = |index: usize| match arrays[[index]].view() {
        View::Array(array) => array.to_dyn().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(within(1).order(), Order::Fortran);
    assert_eq!(within(1).view::<f64, IxDyn>().unwrap()[[1, 0]], 3.0);
    assert_eq!(within(2).cast::<u32, Ix1>(Casting::Safe).unwrap(), arr1(&[0, 1, 2]));
    assert_eq!(
        within(3).cast::<String, Ix1>(Casting::Safe).unwrap(),
        arr1(&["a".to_owned(), "λλ".to_owned()])
    );
    assert_eq!(within(5).dtype().to_string(), "[('a', '|i1'), ('b', '<f4', (2,))]");
    assert_eq!(within(9).dtype().to_string(), native_descr("'<M8[D]'"));
    assert_eq!(within(11).objects().unwrap()[0], "a".into());
    assert_eq!(
        within(15).dtype().to_string(),
        "[('', '|V2'), ('p', '|u1'), ('', '|V5'), ('q', '<i8'), ('', '|V8')]"
    );
    for protocol in [0, 1, 2, 3, 5] {
        let old = read(&format!("arrays-p{protocol}"));
        // Only protocol 5 keeps the byte order of an array; with the others it is that of this machine.
        let differing = old.iter().zip(&arrays).filter(|(one, two)| one != two).count();
        let in_other_order = if cfg!(target_endian = "little") { 1 } else { 6 };
        assert_eq!(differing, if protocol == 5 { in_other_order } else { 0 }, "protocol {protocol}");
    }
    let scalars = read("scalars");
    let View::Scalar(time) = scalars[[8]].view() else { panic!() };
    assert_eq!(time.to_dyn().unwrap().to_string(), "2020-01-01T00:00:00.123");
}

#[test]
fn shared_objects_stay_shared() {
    let rows = read("shared");
    assert!(rows[[0]].items().is_some() && rows[[0]].is_same(&rows[[1]]));
    assert!(rows[[2]].items().unwrap().get(0).unwrap().is_same(rows[[0]].as_ref()));
    let mut file = Vec::new();
    rows.write_npy(&mut file).unwrap();
    assert_eq!(file.windows(4).filter(|bytes| bytes == b"once").count(), 1);
    let again = ArrayD::<Object>::read_npy(&file[..]).unwrap();
    assert!(again[[0]].is_same(&again[[1]]));
}

#[test]
fn dynamic_read_of_objects_requires_option() {
    let path = objects_folder().join("grid.npy");
    let error = read_npy::<_, DynArray>(&path).unwrap_err();
    assert!(error.message().starts_with("the array contains Python objects"), "{error}");
    assert_eq!(error.help().unwrap().id(), "allow-objects");
    let array: DynArray = ReadOptions::new().allow_objects(true).read_npy(&path).unwrap();
    assert_eq!((array.shape(), array.objects().map(<[Object]>::len)), (&[2, 3][..], Some(6)));
    assert_eq!(array.to_string(), "[[ 'a',    1, None],\n [ 2.5, b'b', (1,)]]");
    // Operations without a meaning for objects are errors.
    assert!(array.view::<f64, IxDyn>().unwrap_err().is_mismatch());
    assert!(array.clone().into_array::<f64, IxDyn>().unwrap_err().error().is_mismatch());
    assert!(array.cast::<f64, IxDyn>(Casting::Unsafe).is_err());
    let numbers = DynArray::new(&arr1(&[0.0])).unwrap();
    assert!(array.cast_to(numbers.dtype(), Casting::Unsafe).is_err());
    assert_eq!(array.bytes(), b"");
}

#[test]
fn string_dtype_texts_of_any_length_are_read() {
    let texts = read("string_dtype").mapv(|text| text.as_str().map(str::to_owned));
    assert_eq!(texts.as_slice().unwrap(), [Some("a".into()), Some(String::new()), Some("λ".repeat(300))]);
    assert!(read("string_dtype_missing")[[1]].is_none());
}

#[test]
fn records_with_objects_are_tuples() {
    let array = read("records");
    let shown: Vec<_> = array.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["('x', -1, ([1, 2], 7))", "(None, 2, ({'k': 1.5}, 65535))"]);
    let dynamic: DynArray =
        ReadOptions::new().allow_objects(true).read_npy(objects_folder().join("records.npy")).unwrap();
    assert_eq!(
        dynamic.dtype().to_string(),
        "[(('A title', 'a'), '|O'), ('b', '<i4'), ('c', [('d', '|O'), ('e', '>u2')])]"
    );
}

#[test]
fn python_2_strings_are_text_or_bytes_by_option() {
    let path = objects_folder().join("python_2.npy");
    let shown = |options: &ReadOptions| {
        let array: Array1<Object> = options.read_npy(&path).unwrap();
        array.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(shown(&ReadOptions::new()), ["'text'", r"b'\xff\xfe\x00'", "range(0, 5)"]);
    let old_text = |old_text| ReadOptions::new().old_text(old_text);
    assert_eq!(shown(&old_text(OldText::Bytes))[0], "b'text'");
    assert_eq!(shown(&old_text(OldText::Latin1))[1], r"'ÿþ\x00'");
    let strict = old_text(OldText::Ascii).read_npy::<Array1<Object>>(&path).unwrap_err();
    assert!(strict.to_string().contains("not ASCII"), "{strict}");
}

#[test]
fn rust_values_convert_to_objects() {
    let shown = |value: Object| value.to_string();
    assert_eq!(shown(vec![Some(1), None].into()), "[1, None]");
    assert_eq!(shown([("a", vec![true])].into_iter().collect()), "{'a': [True]}");
    assert_eq!(shown(Complex::new(1.0, -2.0).into()), "(1-2j)");
    assert_eq!(shown("1".repeat(30).parse::<Int>().unwrap().into()), "1".repeat(30));
    assert_eq!(shown(Object::from("it's")), "\"it's\"");
    assert_eq!(shown((&b"\xff"[..]).into()), r"b'\xff'");
    assert_eq!(shown(DynArray::new(&arr1(&[1u8, 2])).unwrap().into()), "array([1, 2], dtype=uint8)");
}

/// A struct cannot contain objects: structs are decoded item by item, objects all at once.
#[cfg(feature = "derive")]
#[test]
fn struct_with_object_field_is_refused() {
    #[derive(ndarray_io::Record, Clone, Debug)]
    struct Row {
        o: Object,
        n: i8,
    }
    let row = Row { o: Object::none(), n: 1 };
    assert!(row.o.is_none() && row.n == 1);
    let error = arr1(&[row]).write_npy(std::io::sink()).unwrap_err();
    assert!(error.is_mismatch() || error.is_usage(), "{error}");
    let error = read_npy::<_, Array1<Row>>(objects_folder().join("records_aligned.npy")).unwrap_err();
    assert_eq!(error.help().unwrap().id(), "allow-objects", "{error}");
}

/// A list and a tuple with the same items stay two objects.
#[test]
fn list_and_tuple_of_same_items_stay_distinct() {
    let both = arr1(&[Object::list([1]), Object::tuple([1])]);
    let mut file = Vec::new();
    both.write_npy(&mut file).unwrap();
    let back = Array1::<Object>::read_npy(&file[..]).unwrap();
    assert_eq!((back[0].to_string(), back[1].to_string()), ("[1]".into(), "(1,)".into()));
}

/// In old protocols, a line break would end a name and turn the rest into opcodes.
#[test]
fn line_break_in_global_is_refused_in_old_protocols() {
    let call = Object::call("os\nsystem\n(S'rm'\ntR.", "x", [0; 0]);
    let array = arr1(&[call]);
    for protocol in [2, 3] {
        let options = WriteOptions::new().pickle_protocol(protocol);
        let error = options.write_to(std::io::sink(), &array).unwrap_err();
        assert!(error.to_string().contains("line end"), "{error}");
    }
    array.write_npy(std::io::sink()).unwrap();
    for protocol in [0, 1, 5] {
        let options = WriteOptions::new().pickle_protocol(protocol);
        assert!(options.write_to(std::io::sink(), &array).unwrap_err().is_usage());
    }
}

#[test]
fn incremental_writer_refuses_objects() {
    let error = NpyWriter::<Object, _>::new(std::io::Cursor::new(Vec::new()), &[3]).map(drop).unwrap_err();
    assert!(error.is_usage(), "{error}");
    // Scalars and empty arrays are written like other arrays.
    let mut file = Vec::new();
    Array0::from_elem((), Object::none()).write_npy(&mut file).unwrap();
    assert!(ArrayD::<Object>::read_npy(&file[..]).unwrap()[IxDyn(&[])].is_none());
    assert_eq!(read("empty").shape(), [0, 4]);
    let grid =
        Array2::from_shape_vec((2, 2).f(), vec![1.into(), 2.into(), 3.into(), Object::none()]).unwrap();
    file.clear();
    grid.write_npy(&mut file).unwrap();
    assert!(Array2::<Object>::read_npy(&file[..]).unwrap() == grid);
}

/// Returns a file of `shape` with this pickle.
fn object_npy(shape: &str, pickle: &[u8]) -> Vec<u8> {
    crate::support::file(&format!("{{'descr': '|O', 'fortran_order': False, 'shape': {shape}, }}"), pickle)
}

fn read_error(shape: &str, pickle: &[u8]) -> Error {
    Array1::<Object>::read_npy(&object_npy(shape, pickle)[..]).unwrap_err()
}

/// Returns the pickle of an array whose only item these opcodes make.
fn array_pickle(item: &[u8]) -> Vec<u8> {
    let start = b"\x80\x04\x8c\x15numpy.core.multiarray\x8c\x0c_reconstruct\x93\x8c\x05numpy\x8c\x07ndarray\x93K\x00\x85C\x01b\x87R(K\x01K\x01\x85\x8c\x05numpy\x8c\x05dtype\x93\x8c\x01O\x85R\x89]";
    [&start[..], item, b"atb."].concat()
}

#[test]
fn malicious_pickles_are_errors_or_bounded() {
    let read_one = |item: &[u8]| Array1::<Object>::read_npy(&object_npy("(1,)", &array_pickle(item))[..]);
    assert_eq!(read_one(b"K\x05").unwrap()[0], 5.into());
    let deep = [b"]".repeat(100_000), b"a".repeat(99_999)].concat();
    assert!(read_one(&deep).unwrap_err().message().starts_with("the pickle nests objects"));
    let deep_tuples = [b")".to_vec(), b"\x85".repeat(100_000)].concat();
    assert!(read_one(&deep_tuples).unwrap_err().message().starts_with("the pickle nests objects"));
    // [x, x] within [x, x] and so on: 2^60 items if counted one by one, but 60 shared lists.
    let doubled = |number: u8| [b'(', b'h', number, b'h', number, b'l', 0x94, b'0'];
    let bomb: Vec<u8> = b"]\x940".iter().copied().chain((0..60).flat_map(doubled)).chain(*b"h\x3C").collect();
    let one = read_one(&bomb).unwrap();
    let two = read_one(&bomb).unwrap();
    assert!(one == two, "as many comparisons as there are lists");
    assert!(one[0].to_string().len() < 17 << 20);
    let mut again = Vec::new();
    one.write_npy(&mut again).unwrap();
    assert!(again.len() < 2000, "{}", again.len());

    // Texts and bytes are shared as well: a thousand references to a text of 100,000 characters.
    let long =
        [&b"]\x94(X\xa0\x86\x01\x00"[..], &[b'x'; 100_000], b"\x94", &b"h\x01".repeat(1000), b"e"].concat();
    let one = read_one(&long).unwrap();
    let texts: Vec<&str> = one[0].items().unwrap().iter().filter_map(|text| text.as_str()).collect();
    assert_eq!(texts.len(), 1001);
    assert!(texts[1..].iter().all(|text| text.as_ptr() == texts[1].as_ptr()), "they are one text");
    let mut again = Vec::new();
    one.write_npy(&mut again).unwrap();
    assert!(again.len() < 250_000, "{}", again.len());

    for (opcodes, class) in [
        (&b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f"[..], "9223372036854775807 bytes"),
        (b"\x8b\xff\xff\xff\xff", "length is negative"),
        (b"j\xff\xff\xff\xff", "number 4294967295 of the memo"),
        (b"Nr\xff\xff\xff\xff0j\xff\xff\xff\xffK\x01K\x02", ""),
        (b"\xa0", "0xa0"),
        (b"}]K\x01s", "cannot be a key of a dict"),
        (b"i__main__\nx\n", "no mark"),
        (b"(o", "no class"),
        (b"}K\x01(u", ""),
        (b"}(K\x01u", "no value"),
        (b"\x95\xff\xff\xff\xff\xff\xff\xff\xff", "frame"),
        (b"\x80\x06", "protocol 6"),
        (b"\x8c\x02\xc3\x28", "UTF-8"),
        (b"00000", "the stack is empty"),
        (b"I12x\n", "its argument is malformed"),
    ] {
        match read_one(opcodes) {
            Ok(_) => assert_eq!(class, "", "{}", opcodes.escape_ascii()),
            Err(error) => {
                let shown = error.to_string();
                assert!(shown.contains(class), "{}: {shown}", opcodes.escape_ascii());
                assert!(error.is_format() || class.is_empty(), "{shown}");
            }
        }
    }
    let digits = [b"L", &b"9".repeat(1_000_000)[..], b"L\n"].concat();
    assert!(read_one(&digits).unwrap_err().message().starts_with("an integer has"));
}

#[test]
fn pickle_disagreeing_with_header_is_refused() {
    let bytes = std::fs::read(objects_folder().join("none_and_bools.npy")).unwrap();
    let pickle = &bytes[128..];
    for (shape, part) in [("(4,)", "(4,)"), ("(2,)", "(2,)"), ("(3, 1)", "")] {
        let error = read_error(shape, pickle).to_string();
        assert!(error.contains(part), "{error}");
    }
    // The list is shorter than the shape: NumPy would read beyond it.
    let mut short = array_pickle(b"K\x05");
    let at = short.windows(4).position(|bytes| bytes == b"K\x01\x85\x8c").unwrap();
    short[at + 1] = 9;
    let error = read_error("(9,)", &short).to_string();
    assert!(error.contains("(9,) has 1 elements"), "{error}");
    let numbers = std::fs::read(objects_folder().join("records.npy")).unwrap();
    let at = numbers.windows(2).position(|bytes| bytes == b"\n\x80").unwrap() + 1;
    let error = read_error("(2,)", &numbers[at..]).to_string();
    assert!(error.contains("the header declares the dtype '|O'"), "{error}");
}

#[test]
fn object_count_limit_is_enforced() {
    let path = objects_folder().join("containers.npy");
    let limits = Limits::default().objects(10);
    let error = ReadOptions::new().limits(limits).read_npy::<ArrayD<Object>>(&path).unwrap_err();
    assert!(error.message().starts_with("the pickle has at least"), "{error}");
    assert_eq!(error.help().unwrap().id(), "raise-objects-limit", "{error}");
}

/// Pickles with bytes changed, inserted, removed and duplicated give a value or an error.
/// NDARRAY_IO_MUTATIONS sets their number, by default 20,000, and NDARRAY_IO_SEED which they are; `.ci/run` tries more, and others each time.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "needs threads")]
fn mutated_pickles_are_values_or_errors() {
    let names = [
        "complexes",
        "times",
        "others",
        "scalars",
        "arrays",
        "not_equal",
        "shared",
        "records",
        "texts-p0",
        "grid",
        "python_2",
    ];
    let files: Vec<Vec<u8>> = names
        .iter()
        .map(|name| std::fs::read(objects_folder().join(format!("{name}.npy"))).unwrap())
        .collect();
    let asked = std::env::var("NDARRAY_IO_MUTATIONS").map(|count| count.parse().unwrap());
    let rounds: usize = asked.unwrap_or(20_000);
    let threads = std::thread::available_parallelism().unwrap().get();
    let first_seed: u64 = std::env::var("NDARRAY_IO_SEED").map_or(0, |seed| seed.parse().unwrap());
    let files = &files;
    let (values, errors) = std::thread::scope(|scope| {
        let mutate = |seed: usize| {
            scope.spawn(move || {
                count_mutation_outcomes(files, rounds.div_ceil(threads), first_seed + seed as u64)
            })
        };
        let parts: Vec<_> = (0..threads).map(mutate).collect();
        parts
            .into_iter()
            .map(|part| part.join().unwrap())
            .fold((0, 0), |all, part| (all.0 + part.0, all.1 + part.1))
    });
    assert!(values > 0 && errors > 0, "{values} values and {errors} errors");
}

/// Returns how many of `rounds` mutations are values, and how many are errors.
fn count_mutation_outcomes(files: &[Vec<u8>], rounds: usize, seed: u64) -> (usize, usize) {
    let mut random = Random::new(seed);
    let mut random = move |below: usize| random.below(below);
    let limits = Limits::default().objects(100_000).payload(1 << 20);
    let options = ReadOptions::new().limits(limits);
    let (mut values, mut errors) = (0, 0);
    for _ in 0..rounds {
        let mut bytes = files[random(files.len())].clone();
        let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for _ in 0..=random(4) {
            let at = header + random(bytes.len() - header);
            match random(4) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes.insert(at, b"(.012]})teuadRbs0h\x85\x86\x87\x94\x93\x81\x8f\x90"[random(26)]),
                2 => drop(bytes.remove(at)),
                _ => {
                    let end = bytes.len().min(at + random(40));
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        match options.read_from::<ArrayD<Object>>(&bytes[..]) {
            Ok(array) => {
                values += 1;
                drop(array.iter().map(ToString::to_string).collect::<Vec<_>>());
            }
            Err(_) => errors += 1,
        }
    }
    (values, errors)
}

/// An exception and a function that have two names in Python, in old and new protocols. `pickle.loads` finds
/// both.
#[test]
fn python_2_names_of_globals_round_trip() {
    let error = Object::call("builtins", "ValueError", ["no"]);
    let range = Object::call("builtins", "range", [1, 5, 1]);
    for protocol in [2, 3, 4] {
        let mut file = Vec::new();
        let options = WriteOptions::new().pickle_protocol(protocol);
        options.write_to(&mut file, &arr1(&[error.clone(), range.clone()])).unwrap();
        let has = |text: &str| file.windows(text.len()).any(|part| part == text.as_bytes());
        assert_eq!(has("exceptions\nValueError\n"), protocol == 2);
        assert_eq!(has("__builtin__\nxrange\n"), protocol == 2);
        let read = Array1::<Object>::read_npy(&file[..]).unwrap();
        assert_eq!(read, arr1(&[error.clone(), range.clone()]));
    }
}

/// An instance of `class A: pass` as Python 2 wrote it, with INST and with OBJ, and its state.
#[test]
fn python_2_instances_are_calls_with_state() {
    for opcodes in [&b"(im\nA\n}U\x01xK\x05sb"[..], b"(cm\nA\no}U\x01xK\x05sb"] {
        let read = Array1::<Object>::read_npy(&object_npy("(1,)", &array_pickle(opcodes))[..]).unwrap();
        let View::Call(call) = read[0].view() else { panic!("an object") };
        let global = call.global().unwrap();
        assert_eq!((global.module(), global.name()), ("m", "A"));
        assert_eq!(call.state().unwrap().get("x").unwrap(), Object::from(5));
    }
}

/// Values that Python cannot represent are not created: `np.load` would refuse the entire file.
#[test]
fn values_invalid_in_python_are_refused() {
    for (year, month, day) in [(0, 1, 1), (2023, 2, 29), (2023, 13, 1), (1900, 2, 29), (10_000, 1, 1)] {
        assert_eq!(Date::new(year, month, day), None);
    }
    assert!(Date::new(2024, 2, 29).is_some() && Time::new(24, 0, 0, 0).is_none());
    assert!(Timedelta::new(1_000_000_000, 0, 0).is_none() && Timedelta::new(0, 86_400, 0).is_none());
    let list = Object::from(vec![1]);
    assert!(Object::dict([(list.clone(), 1)]).unwrap_err().is_usage());
    assert!(Object::set([Object::tuple([list])]).unwrap_err().is_usage());
    assert!(Object::scalar(&DynArray::new(&arr1(&[1, 2])).unwrap()).unwrap_err().is_usage());
    assert!(Object::decimal("1.5e+3").is_ok() && Object::decimal("1.5e").unwrap_err().is_usage());
}

/// `repr(2.0 ** -25)`: of two texts that are equally close, Python takes the one with an even last digit.
#[test]
fn float_display_ties_to_even_digit_as_in_python() {
    assert_eq!(Object::from(1.0 / f64::from(1 << 25)).to_string(), "2.9802322387695312e-08");
    let complex = num_complex::Complex::new(1.0 / f64::from(1 << 25), -1e16);
    assert_eq!(Object::from(complex).to_string(), "(2.9802322387695312e-08-1e+16j)");
}
