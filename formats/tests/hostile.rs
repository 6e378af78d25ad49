//! Files that contradict themselves: each is an error or an array, and none a panic or much memory.
//!
//! `NDARRAY_IO_MUTATIONS=1000000` tries more than the default.

#![cfg(all(feature = "sparse", feature = "safetensors", feature = "gguf", feature = "torch"))]

use std::collections::BTreeMap;

use ndarray::{Array1, arr1, arr2};
use ndarray_io::bytes::InMemory;
use ndarray_io::error::ErrorKind;
use ndarray_io::{DynArray, NpzFile, NpzWriter, ReadOptions, Result, WriteArray};
use ndarray_io_formats::gguf::Gguf;
use ndarray_io_formats::safetensors::{
    SafeTensors, safetensors_to_npz, write_safetensors, write_safetensors_to,
};
use ndarray_io_formats::sparse::{Layout, Sparse, SparseFile};
use ndarray_io_formats::torch::Torch;

/// Pseudorandom numbers: the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    /// Changes a few bytes, and sometimes the length.
    fn damaged_copy(&mut self, bytes: &[u8]) -> Vec<u8> {
        const EDGE_BYTES: [u8; 8] = [0, 1, 0x7F, 0x80, 0xFF, b'9', b'"', b'-'];
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            bytes[at] = if self.below(2) == 0 { EDGE_BYTES[self.below(8)] } else { self.below(256) as u8 };
        }
        if self.below(8) == 0 {
            bytes.truncate(self.below(bytes.len()) + 1);
        }
        bytes
    }
}

fn mutation_count() -> usize {
    std::env::var("NDARRAY_IO_MUTATIONS").map_or(3000, |count| count.parse().unwrap())
}

/// Limits what a lie about a length could read.
fn limited_options() -> ReadOptions {
    ReadOptions::new().limits(ndarray_io::Limits::new().payload(1 << 20))
}

/// Returns the value, or `None` for an error that is about the file: any other error fails the test.
fn value_unless_file_error<T>(result: Result<T>) -> Option<T> {
    let is_about_file =
        |error: &ndarray_io::Error| error.is_format() || error.is_mismatch() || error.is_limit();
    match result {
        Err(error) => {
            assert!(is_about_file(&error), "{error}");
            None
        }
        Ok(value) => Some(value),
    }
}

#[test]
fn damaged_safetensors_are_errors_or_arrays() {
    let mut file = Vec::new();
    let (a, b) = (arr2(&[[1.5f32, 2.0], [3.0, 4.0]]), arr1(&[true, false, true]));
    let metadata = BTreeMap::from([("k".to_owned(), "v".to_owned())]);
    write_safetensors_to(&mut file, &[("a", &a as &dyn WriteArray), ("b", &b)], &metadata).unwrap();
    let (mut random, mut opened) = (Random(1), 0);
    for _ in 0..mutation_count() {
        let bytes = random.damaged_copy(&file);
        let opening = SafeTensors::from_source_with(InMemory(bytes), &limited_options());
        let Some(file) = value_unless_file_error(opening) else { continue };
        opened += 1;
        for name in file.tensors().names() {
            value_unless_file_error(file.read::<DynArray>(name).and_then(|array| array.check()));
        }
    }
    assert!(opened > mutation_count() / 50, "{opened}: too few for the test to mean something");
}

/// A file with a number, a list of texts, a tensor of four floats and a quantized one.
fn gguf() -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let mut file = b"GGUF".to_vec();
    file.extend(3u32.to_le_bytes());
    file.extend(2u64.to_le_bytes());
    file.extend(2u64.to_le_bytes());
    file.extend([text("n"), 4u32.to_le_bytes().to_vec(), 7u32.to_le_bytes().to_vec()].concat());
    file.extend([text("l"), 9u32.to_le_bytes().to_vec(), 8u32.to_le_bytes().to_vec()].concat());
    file.extend([2u64.to_le_bytes().to_vec(), text("x"), text("yz")].concat());
    for (name, kind) in [("t", 0u32), ("q", 8)] {
        file.extend(text(name));
        file.extend(2u32.to_le_bytes());
        file.extend([2u64.to_le_bytes(), 2u64.to_le_bytes()].concat());
        file.extend(kind.to_le_bytes());
        file.extend(0u64.to_le_bytes());
    }
    file.resize(file.len().next_multiple_of(32), 0);
    file.extend([1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|number| number.to_le_bytes()));
    file
}

#[test]
fn damaged_gguf_is_an_error_or_arrays() {
    let whole = Gguf::from_source_with(InMemory(gguf()), &limited_options()).unwrap();
    assert_eq!(whole.read::<ndarray::Array2<f32>>("t").unwrap(), arr2(&[[1.0, 2.0], [3.0, 4.0]]));
    let (mut random, mut opened) = (Random(2), 0);
    for _ in 0..mutation_count() {
        let opening = Gguf::from_source_with(InMemory(random.damaged_copy(&gguf())), &limited_options());
        let Some(file) = value_unless_file_error(opening) else { continue };
        opened += 1;
        for name in file.tensors().names() {
            value_unless_file_error(file.read::<DynArray>(name));
        }
    }
    assert!(opened > mutation_count() / 50, "{opened}: too few for the test to mean something");
}

fn archive(members: &[(&str, &[u8])]) -> NpzFile {
    let mut npz = NpzWriter::new(Vec::new());
    for (name, bytes) in members {
        npz.add_raw(*name, *bytes, bytes.len() as u64).unwrap();
    }
    limited_options().open_npz_source(InMemory(npz.finish().unwrap())).unwrap()
}

/// The pickle of a dict with a tensor of 2 × 2 floats, and one of its columns.
fn two_tensor_pickle() -> Vec<u8> {
    let tensor = |first: u8, shape: &[u8], strides: &[u8]| {
        let mut bytes = b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQK".to_vec();
        bytes.push(first);
        for numbers in [shape, strides] {
            bytes.push(b'(');
            bytes.extend(numbers.iter().flat_map(|number| [b'K', *number]));
            bytes.push(b't');
        }
        bytes.extend(b"\x89}tR");
        bytes
    };
    let mut bytes = b"\x80\x02}(X\x01\x00\x00\x00a".to_vec();
    bytes.extend(tensor(0, &[2, 2], &[2, 1]));
    bytes.extend(b"X\x01\x00\x00\x00b");
    bytes.extend(tensor(1, &[2], &[2]));
    bytes.extend(b"u.");
    bytes
}

#[test]
fn damaged_archives_of_pytorch_are_errors_or_arrays() {
    let storage: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|number| number.to_le_bytes()).collect();
    let of = |pickle: &[u8]| {
        Torch::open_in(archive(&[("m/data.pkl", pickle), ("m/data/0", &storage), ("m/byteorder", b"little")]))
    };
    let whole = of(&two_tensor_pickle()).unwrap();
    assert_eq!(
        whole.read("a").unwrap().into_array::<f32, ndarray::Ix2>().unwrap(),
        arr2(&[[1.0, 2.0], [3.0, 4.0]])
    );
    assert_eq!(whole.read("b").unwrap().into_array::<f32, ndarray::Ix1>().unwrap(), arr1(&[2.0, 4.0]));
    let (mut random, mut opened) = (Random(3), 0);
    for _ in 0..mutation_count() {
        let opening = of(&random.damaged_copy(&two_tensor_pickle()));
        let Some(file) = value_unless_file_error(opening) else { continue };
        opened += 1;
        for tensor in file.tensors() {
            value_unless_file_error(file.read(tensor.name()));
            let opening = file.open_tensor(tensor.name());
            value_unless_file_error(opening.and_then(|array| array.read::<DynArray>()));
        }
    }
    assert!(opened > mutation_count() / 50, "{opened}: too few for the test to mean something");
}

#[test]
fn negation_flag_is_applied_to_floats_only() {
    let negated = |class: &[u8]| {
        let bytes = two_tensor_pickle();
        let at = bytes.windows(2).rposition(|part| part == b"\x89}").unwrap();
        let bytes = [&bytes[..at + 2], b"}X\x03\x00\x00\x00neg\x88stR", &bytes[at + 4..]].concat();
        let at = bytes.windows(12).rposition(|part| part == b"FloatStorage").unwrap();
        [&bytes[..at], class, b"Storage", &bytes[at + 12..]].concat()
    };
    let storage: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|number| number.to_le_bytes()).collect();
    let of = |class: &[u8]| {
        Torch::open_in(archive(&[("data.pkl", &negated(class)), ("data/0", &storage)])).unwrap()
    };
    let floats = of(b"Float");
    assert_eq!(floats.read("b").unwrap().into_array::<f32, ndarray::Ix1>().unwrap(), arr1(&[-2.0, -4.0]));
    let whole = of(b"Int");
    assert_eq!(whole.others()[0].0, "b");
}

#[test]
fn repetition_of_a_storage_is_limited() {
    let repeated = |shape: &[u8]| {
        let bytes = two_tensor_pickle();
        let at = bytes.windows(6).rposition(|part| part == b"(K\x02t(K").unwrap();
        let bytes = [&bytes[..at + 1], shape, b"t(K\x00", &bytes[at + 7..]].concat();
        Torch::open_in(archive(&[("data.pkl", &bytes), ("data/0", &[0; 16])]))
    };
    // 200 elements in distances of 0, as of `expand`.
    assert_eq!(repeated(b"K\xC8").unwrap().read("b").unwrap().shape(), [200]);
    // A few bytes would be any number of elements.
    let error = repeated(b"J\x00\x00\x00\x40").unwrap_err();
    assert!(error.to_string().contains("1073741824 elements up to number 2 of a storage of 4"), "{error}");
}

#[test]
fn disproportionately_long_tensor_names_are_refused() {
    // A key of 60 kB and 10,000 tensors in a list below it, which are one.
    let key = [&b"X\x60\xEA\x00\x00"[..], &[b'k'; 60_000]].concat();
    let inner = &two_tensor_pickle()[10..];
    let end = inner.windows(2).position(|part| part == b"tR").unwrap() + 2;
    let bytes =
        [b"\x80\x02}(", &key[..], b"](", &inner[..end], b"q\x05", &b"h\x05".repeat(10_000), b"eu."].concat();
    let error = Torch::open_in(archive(&[("data.pkl", &bytes), ("data/0", &[0; 16])])).unwrap_err();
    assert!(error.to_string().contains("names of its tensors"), "{error}");
}

#[test]
fn calls_sharing_long_arguments_can_be_opened() {
    // 10,000 calls of one tuple of 10,000 lists: 100 million if each call looked at them.
    let tuple = [&b"("[..], &b"]".repeat(10_000), b"tq\x00"].concat();
    let bytes = [b"\x80\x02](", &tuple[..], &b"cm\nf\nh\x00R".repeat(10_000), b"e."].concat();
    assert!(Torch::open_in(archive(&[("data.pkl", &bytes)])).unwrap().tensors().is_empty());
    // Names of classes that are long, of very many tensors.
    let class = [&b"ctorch\n"[..], &b"X".repeat(60_000), b"Storage\nq\x01"].concat();
    let storage = b"(X\x07\x00\x00\x00storageh\x01X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ";
    let tensor = [&b"h\x02("[..], storage, b"K\x00))\x89}tR"].concat();
    let bytes =
        [b"\x80\x02](", &class[..], b"ctorch._utils\n_rebuild_tensor_v2\nq\x02", &tensor.repeat(3000), b"e."];
    let file = Torch::open_in(archive(&[("data.pkl", &bytes.concat()), ("data/0", &[0; 16])])).unwrap();
    assert_eq!(file.others().len(), 3000);
    assert!(file.others().iter().all(|(_, reason)| reason.len() < 200));
}

#[test]
fn duplicate_tensor_names_are_numbered() {
    let inner = &two_tensor_pickle()[10..];
    let end = inner.windows(2).position(|part| part == b"tR").unwrap() + 2;
    let mut bytes = [b"\x80\x02}(N", &inner[..end], b"q\x05"].concat();
    for number in 0..3000u16 {
        bytes.extend([b'M', number as u8, (number >> 8) as u8, b'\x85', b'h', 5]); // tuples as keys
    }
    bytes.extend(b"u.");
    let file = Torch::open_in(archive(&[("data.pkl", &bytes), ("data/0", &[0; 16])])).unwrap();
    assert_eq!((file.tensors()[0].name(), file.tensors()[3000].name()), ("…", "…#3001"));
}

#[test]
fn storage_of_another_length_is_an_error() {
    let of =
        |storage: &[u8]| Torch::open_in(archive(&[("data.pkl", &two_tensor_pickle()), ("data/0", storage)]));
    assert!(of(&[0; 16]).is_ok());
    let error = of(&[0; 20]).unwrap_err();
    assert!(error.to_string().contains("a storage of 16 bytes, whose member has 20"), "{error}");
}

#[test]
fn unsupported_tensors_are_listed_with_reasons() {
    let bytes =
        b"\x80\x02}(X\x01\x00\x00\x00actorch._utils\n_rebuild_sparse_tensor\n)RX\x01\x00\x00\x00bK\x01u.";
    let file = Torch::open_in(archive(&[("data.pkl", &bytes[..])])).unwrap();
    assert_eq!(
        file.others(),
        [("a".to_owned(), "a tensor made by torch._utils._rebuild_sparse_tensor".to_owned())]
    );
    let error = file.read("a").unwrap_err();
    assert!(error.is_format() && error.to_string().contains("_rebuild_sparse_tensor"), "{error}");
}

#[test]
fn shared_tensor_is_listed_under_each_name() {
    let mut bytes = b"\x80\x02}(X\x01\x00\x00\x00a".to_vec();
    let inner = &two_tensor_pickle()[10..];
    let end = inner.windows(2).position(|part| part == b"tR").unwrap() + 2;
    bytes.extend(&inner[..end]);
    bytes.extend(b"q\x05X\x01\x00\x00\x00bh\x05u.");
    let file = Torch::open_in(archive(&[("data.pkl", &bytes), ("data/0", &[0; 16])])).unwrap();
    let names: Vec<&str> = file.tensors().iter().map(|tensor| tensor.name()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn damaged_sparse_matrices_are_errors_or_arrays() {
    let (mut random, mut opened) = (Random(4), 0);
    let npy = |array: &dyn WriteArray| {
        let mut file = Vec::new();
        ndarray_io::file::write_headed(array, &mut file, &Default::default(), &mut |header| {
            ndarray_io::npy::format(header, None)
        })
        .unwrap();
        file
    };
    for number in 0..mutation_count() {
        let format: &[u8; 3] = [b"csr", b"csc", b"coo", b"dia", b"bsr"][number % 5];
        let two = number % 5 > 2;
        let data = if number % 5 == 4 {
            DynArray::new(&ndarray::Array3::<f32>::ones((3, 2, 2))).unwrap()
        } else if two {
            DynArray::new(&arr2(&[[1.0, 2.0], [3.0, 4.0]])).unwrap()
        } else {
            DynArray::new(&arr1(&[1.0, 2.0, 3.0])).unwrap()
        };
        let format =
            DynArray::from_bytes("|S3".parse().unwrap(), Vec::new(), ndarray_io::header::Order::C, format);
        let (indices, indptr) = (npy(&arr1(&[0, 1, 0])), npy(&arr1(&[0, 2, 3])));
        let offsets = npy(&arr1(&[0i64, -1]));
        let shape = npy(&arr1(&[4i64, 4]));
        let pointers_of_two = npy(&arr1(&[0, 1, 2, 2, 3]));
        let pointers = if number % 5 == 4 { indptr } else { pointers_of_two };
        let mut members = [
            ("indices.npy", indices.clone()),
            ("indptr.npy", pointers),
            ("row.npy", indices.clone()),
            ("col.npy", indices),
            ("offsets.npy", offsets),
            ("format.npy", npy(&format.unwrap())),
            ("shape.npy", shape),
            ("data.npy", npy(&data)),
        ];
        if number > 5 {
            // Elements more often than headers.
            let which = random.below(members.len());
            let (head, rest) = members[which].1.split_at(if random.below(4) == 0 { 0 } else { 128 });
            let damaged = [head, &random.damaged_copy(rest)].concat();
            members[which].1 = damaged;
        }
        let members: Vec<(&str, &[u8])> = members.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
        let archive = archive(&members);
        if let Some(file) = value_unless_file_error(SparseFile::open_in(&archive)) {
            let [rows, columns] = file.shape();
            let major = if file.is_csr() { rows } else { columns };
            value_unless_file_error(file.range(0..major));
            match major {
                0 | 1 => assert!(file.range(1..2).unwrap_err().is_usage()),
                _ => drop(value_unless_file_error(file.range(1..2))),
            }
        }
        match Sparse::read_from(&archive) {
            Ok(matrix) if matrix.shape().iter().map(|length| *length as f64).product::<f64>() < 1e6 => {
                opened += 1;
                // Beside an axis of length 0, another one may be too long for an array.
                let dense = value_unless_file_error(matrix.to_dense_dyn());
                // Rows without elements need pointers all the same.
                if matrix.shape().iter().all(|length| *length < 1 << 20) {
                    assert!(dense.is_some());
                    matrix.to_csr().unwrap();
                }
            }
            Ok(_) => {}
            Err(error) => {
                assert!(number > 5, "{error}");
                value_unless_file_error(Err::<(), _>(error));
            }
        }
    }
    assert!(opened > mutation_count() / 20, "{opened}: too few for the test to mean something");
}

#[test]
fn inconsistent_sparse_matrices_are_refused_with_reasons() {
    let numbers = |numbers: &[i64]| DynArray::new(&arr1(numbers)).unwrap();
    let data = numbers(&[1, 2]);
    for (layout, shape, said) in [
        (
            Layout::Csr { indices: numbers(&[0, 3]), indptr: numbers(&[0, 1, 2]) },
            vec![2, 3],
            "3 in indices, expected numbers from 0 to below 3",
        ),
        (
            Layout::Csr { indices: numbers(&[0, -1]), indptr: numbers(&[0, 1, 2]) },
            vec![2, 3],
            "-1 in indices, expected numbers from 0 to below 3",
        ),
        (
            Layout::Csr { indices: numbers(&[0, 1]), indptr: numbers(&[0, 2, 1]) },
            vec![2, 3],
            "indptr descends from 2 to 1",
        ),
        (Layout::Csr { indices: numbers(&[0, 1]), indptr: numbers(&[0, 2, 3]) }, vec![2, 3], "3 in indptr"),
        (Layout::Csr { indices: numbers(&[0, 1]), indptr: numbers(&[0, 2]) }, vec![2, 3], "expected 3"),
        (
            Layout::Csc { indices: numbers(&[0, 1]), indptr: numbers(&[1, 1, 1, 2]) },
            vec![2, 3],
            "begins with",
        ),
        (Layout::Coo { coords: vec![numbers(&[0, 1])] }, vec![2, 3], "coordinates of 1 axes for 2"),
        (Layout::Coo { coords: vec![numbers(&[0]), numbers(&[0])] }, vec![2, 3], "1 numbers"),
        (Layout::Dia { offsets: numbers(&[0, 0]) }, vec![2, 3], "data has 1 axes, expected 2"),
    ] {
        let error = Sparse::new(layout, shape, data.clone()).unwrap_err();
        assert!(error.to_string().contains(said), "{error}, not {said}");
        assert!(error.is_format(), "{error}");
    }
    let floats = DynArray::new(&arr1(&[0.0, 1.0])).unwrap();
    let layout = Layout::Csr { indices: floats, indptr: numbers(&[0, 1, 2]) };
    assert_eq!(Sparse::new(layout, [2, 3], data).unwrap_err().kind(), ErrorKind::DTypeMismatch);
}

#[test]
fn sparse_matrix_of_zero_byte_elements_is_refused() {
    let data = DynArray::from_bytes("|V0".parse().unwrap(), [1, 1 << 30], ndarray_io::header::Order::C, &[]);
    let data = data.unwrap();
    let layout = Layout::Dia { offsets: DynArray::new(&arr1(&[0])).unwrap() };
    let error = Sparse::new(layout, [1, 1 << 30], data).unwrap_err();
    assert!(error.message().contains("cannot represent"), "{error}");
}

#[test]
fn dia_count_equals_scipys_and_huge_csr_is_refused() {
    let numbers = |numbers: &[i64]| DynArray::new(&arr1(numbers)).unwrap();
    let none = DynArray::new(&ndarray::Array2::<f64>::zeros((2, 6))).unwrap();
    let layout = Layout::Dia { offsets: numbers(&[-1, 2]) };
    let long = Sparse::new(layout, [4, 5], none).unwrap();
    // SciPy counts 3 and 3 elements within the matrix, of 6 each: the diagonals leave it.
    assert_eq!(long.stored(), 6);
    let coords = vec![numbers(&[5]), numbers(&[0])];
    // In CSR, with a number more than rows, of which each is as long as an address.
    let rows = isize::MAX as usize / size_of::<usize>();
    let tall = Sparse::new(Layout::Coo { coords }, [rows, 1], numbers(&[7])).unwrap();
    assert!(tall.to_csr().unwrap_err().to_string().contains("memory"));
    assert!(tall.to_dense_dyn().is_err());
}

#[test]
fn coordinates_that_mismatch_the_shape_are_an_error() {
    let npy = |array: &dyn WriteArray| {
        let mut file = Vec::new();
        let make = &mut |header: &ndarray_io::header::Header| ndarray_io::npy::format(header, None);
        ndarray_io::file::write_headed(array, &mut file, &Default::default(), make).unwrap();
        file
    };
    let header = ndarray_io::header::Header::new(
        "<i4".parse().unwrap(),
        ndarray_io::header::Order::C,
        [1 << (usize::BITS - 4), 0].into(),
    );
    let coords = ndarray_io::npy::format(&header.unwrap(), None).unwrap();
    let format =
        DynArray::from_bytes("|S3".parse().unwrap(), Vec::new(), ndarray_io::header::Order::C, b"coo");
    let archive = archive(&[
        ("coords.npy", &coords),
        ("format.npy", &npy(&format.unwrap())),
        ("shape.npy", &npy(&arr1(&[3i64, 3, 3]))),
        ("data.npy", &npy(&Array1::<f64>::zeros(0))),
    ]);
    let error = Sparse::read_from(&archive).unwrap_err();
    assert!(error.to_string().contains("axes for 3"), "{error}");
}

#[test]
fn empty_safetensors_tensors_are_sorted_by_name() {
    let json: String = (0..20)
        .rev()
        .map(|number| format!("\"t{number:02}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}},"))
        .collect();
    let json = format!("{{{}}}", json.trim_end_matches(','));
    let file = [&(json.len() as u64).to_le_bytes()[..], json.as_bytes()].concat();
    let file = SafeTensors::from_source(InMemory(file)).unwrap();
    let names: Vec<&str> = file.tensors().names().collect();
    assert!(names.is_sorted() && names.len() == 20, "{names:?}");
}

#[test]
fn sub_byte_tensor_does_not_prevent_reading_others() {
    let json = r#"{"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}"#;
    let file = [&(json.len() as u64).to_le_bytes()[..], json.as_bytes(), &[1, 7]].concat();
    let file = SafeTensors::from_source(InMemory(file)).unwrap();
    assert_eq!(file.read::<Array1<u8>>("b").unwrap(), arr1(&[7]));
    let error = file.read::<DynArray>("a").unwrap_err();
    assert!(error.to_string().contains("F4: several elements share a byte"), "{error}");
    assert!(safetensors_to_npz(&file, &mut Vec::new(), &Default::default()).is_err(), "nothing is left out");
}

#[test]
fn shard_index_opens_only_files_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    let path = |name: &str| folder.path().join(name);
    write_safetensors(path("a.safetensors"), &[("x", &arr1(&[1, 2]) as &dyn WriteArray)]).unwrap();
    write_safetensors(path("b.safetensors"), &[("y", &arr1(&[3.5]) as &dyn WriteArray)]).unwrap();
    let index = path("inner/model.safetensors.index.json");
    let write = |map: &str| std::fs::write(&index, format!("{{\"weight_map\":{map}}}")).unwrap();
    for name in ["../a.safetensors", "/etc/hostname", "..", "", "./a", "missing"] {
        write(&format!("{{\"x\":\"{name}\"}}"));
        assert!(SafeTensors::open(&index).is_err(), "{name}");
    }
    let index = path("model.safetensors.index.json");
    std::fs::write(&index, r#"{"metadata":{},"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}"#)
        .unwrap();
    let file = SafeTensors::open(&index).unwrap();
    assert_eq!(file.read::<Array1<i32>>("x").unwrap(), arr1(&[1, 2]));
    assert_eq!(file.read::<Array1<f64>>("y").unwrap(), arr1(&[3.5]));
    std::fs::write(&index, r#"{"weight_map":{"z":"a.safetensors"}}"#).unwrap();
    let error = SafeTensors::open(&index).unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("a.safetensors"), "{error}");
}

#[test]
fn unwritable_names_and_dtypes_are_refused() {
    let (one, text) = (arr1(&[1u8]), arr1(&["a".to_owned()]));
    let mut out = Vec::new();
    let mut write = |tensors: &[(&str, &dyn WriteArray)]| {
        out.clear();
        let result = write_safetensors_to(&mut out, tensors, &BTreeMap::new());
        assert!(out.is_empty() || result.is_ok(), "nothing is written before all is known");
        result
    };
    let taken = write(&[("a", &one), ("a", &arr1(&[1.5]))]).unwrap_err();
    assert!(taken.message().contains("already has a tensor named \"a\""), "{taken}");
    assert!(write(&[("__metadata__", &one)]).is_err());
    let error = write(&[("t", &text)]).unwrap_err();
    assert!(error.is_mismatch() && error.member() == Some("t"), "{error}");
    write(&[]).unwrap();
}
