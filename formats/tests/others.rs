//! Files of SciPy, safetensors, gguf and PyTorch, with their arrays as NumPy's files beside them (`.ci/check_formats.py make`).
//! What is written here, `.ci/check_formats.py check` opens with these programs.

#![cfg(all(feature = "sparse", feature = "safetensors", feature = "gguf", feature = "torch"))]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ndarray_io::header::Order;
use ndarray_io::{ByteOrder, Casting, DynArray, NpyFile, NpzFile, WriteArray, WriteOptions, read_npy};
use ndarray_io_formats::gguf::{Gguf, Value};
use ndarray_io_formats::safetensors::{
    SafeTensors, npz_to_safetensors, safetensors_to_npz, write_safetensors_to,
};
use ndarray_io_formats::sparse::{Sparse, SparseFile};
use ndarray_io_formats::torch::Torch;

fn input_and_output_folders() -> (PathBuf, PathBuf) {
    let of = |name: &str| PathBuf::from(std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set")));
    (of("NDARRAY_IO_FORMATS"), of("NDARRAY_IO_WRITTEN"))
}

/// Returns the elements in C order and little-endian, and the shape.
fn shape_and_bytes(array: &DynArray) -> (Vec<usize>, Vec<u8>) {
    let dtype = array.dtype().stored().with_byte_order(ByteOrder::Little);
    let stored =
        DynArray::from_bytes(array.dtype().stored(), array.shape(), array.order(), array.bytes()).unwrap();
    let array = stored.cast_to(&dtype, Casting::Safe).unwrap();
    let array = array.in_order(Order::C).unwrap();
    (array.shape().to_vec(), array.bytes().to_vec())
}

fn read_expected(path: &Path) -> (Vec<usize>, Vec<u8>) {
    shape_and_bytes(&read_npy::<_, DynArray>(path).unwrap())
}

#[test]
#[ignore = "needs files of other programs"]
fn sparse_matrices_equal_scipys() {
    let (files, written) = input_and_output_folders();
    fs::create_dir_all(written.join("sparse")).unwrap();
    for layout in ["csr", "csc", "coo"] {
        fs::create_dir_all(written.join(layout)).unwrap();
    }
    let mut count = 0;
    for entry in fs::read_dir(files.join("sparse")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_none_or(|extension| extension != "npz") {
            continue;
        }
        let dense = path.with_file_name(format!("{}.npy", name.trim_end_matches("_compressed")));
        let wanted = read_expected(&dense);
        let matrix = Sparse::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(shape_and_bytes(&matrix.to_dense_dyn().unwrap()), wanted, "{name}");
        let out = written.join("dense.npy");
        matrix.write_dense(&out, &Default::default()).unwrap();
        assert_eq!(read_expected(&out), wanted, "{name}");
        if !name.ends_with("_compressed") {
            matrix.write(written.join("sparse").join(format!("{name}.npz"))).unwrap();
            let file = |layout| written.join(layout).join(format!("{name}.npz"));
            matrix.to_coo().unwrap().write(file("coo")).unwrap();
            if wanted.0.len() == 2 {
                matrix.to_csr().unwrap().write(file("csr")).unwrap();
                matrix.to_csc().unwrap().write(file("csc")).unwrap();
                let again = Sparse::from_dense(&NpyFile::open(&dense).unwrap()).unwrap();
                assert_eq!(shape_and_bytes(&again.to_dense_dyn().unwrap()), wanted, "{name}");
                let turned = written.join("turned.npy");
                let array: DynArray = read_npy(&dense).unwrap();
                WriteOptions::new().order(Order::Fortran).write_npy(&turned, &array).unwrap();
                let again = Sparse::from_dense(&NpyFile::open(&turned).unwrap()).unwrap();
                assert_eq!(shape_and_bytes(&again.to_dense_dyn().unwrap()), wanted, "{name}");
            }
        }
        if let Ok(file) = SparseFile::open(&path) {
            let [rows, columns] = file.shape();
            let major = if file.is_csr() { rows } else { columns };
            for range in [0..major, 0..major.min(1), major / 2..major, major..major] {
                let part = file.range(range.clone()).unwrap();
                let all = matrix.to_dense_dyn().unwrap();
                let part_of_all = match file.is_csr() {
                    true => all.slice(ndarray::s![range, ..]),
                    false => all.slice(ndarray::s![.., range]),
                };
                assert_eq!(
                    shape_and_bytes(&part.to_dense_dyn().unwrap()),
                    shape_and_bytes(&part_of_all.unwrap()),
                    "{name}"
                );
            }
        }
        count += 1;
    }
    assert!(count > 200, "{count}");
}

#[test]
#[ignore = "needs files of other programs"]
fn tensors_equal_those_of_safetensors() {
    let (files, written) = input_and_output_folders();
    let path = files.join("safetensors/all.safetensors");
    let file = SafeTensors::open(&path).unwrap();
    assert_eq!(file.metadata(), &BTreeMap::from([("format".to_owned(), "np".to_owned())]));
    let bytes = fs::read(&path).unwrap();
    let mut arrays = Vec::new();
    for tensor in file.tensors().as_slice() {
        let array: DynArray = file.read(tensor.name()).unwrap();
        let wanted = read_expected(&files.join(format!("safetensors/{}.npy", tensor.name())));
        assert_eq!(shape_and_bytes(&array), wanted, "{}", tensor.name());
        let range = tensor.offset() as usize..tensor.offset() as usize + wanted.1.len();
        assert_eq!(bytes[range], wanted.1, "{}", tensor.name());
        arrays.push((tensor.name(), array));
    }
    assert_eq!(arrays.len(), 13 * 3 + 3);
    let list: Vec<(&str, &dyn WriteArray)> = arrays.iter().map(|(name, array)| (*name, array as _)).collect();
    let mut out = Vec::new();
    write_safetensors_to(&mut out, &list, file.metadata()).unwrap();
    fs::write(written.join("all.safetensors"), out).unwrap();

    let archive = NpzFile::open(files.join("safetensors/all.npz")).unwrap();
    let converted = fs::File::create(written.join("converted.safetensors")).unwrap();
    npz_to_safetensors(&archive, converted, &BTreeMap::new()).unwrap();
    safetensors_to_npz(&file, fs::File::create(written.join("back.npz")).unwrap(), &WriteOptions::new())
        .unwrap();
}

#[test]
#[ignore = "needs files of other programs"]
fn tensors_equal_those_of_gguf() {
    let (files, _) = input_and_output_folders();
    let file = Gguf::open(files.join("gguf/all.gguf")).unwrap();
    let get = |key: &str| &file.metadata().iter().find(|(name, _)| name == key).unwrap().1;
    assert_eq!(*get("general.architecture"), Value::Text("test".into()));
    assert_eq!(*get("a.number"), Value::Uint(7));
    assert_eq!(*get("a.float"), Value::Float(1.5));
    assert_eq!(*get("a.list"), Value::Array(vec![Value::Text("x".into()), Value::Text("yz".into())]));
    assert_eq!(file.tensors().len(), 7);
    for tensor in file.tensors().as_slice() {
        let wanted = read_expected(&files.join(format!("gguf/{}.npy", tensor.name())));
        assert_eq!(shape_and_bytes(&file.read(tensor.name()).unwrap()), wanted, "{}", tensor.name());
    }
    assert_eq!(file.quantized()[0].type_name, "Q8_0");
    let error = file.open_tensor("t.quantized").unwrap_err();
    assert!(error.to_string().contains("quantized or unknown numbers (Q8_0)"), "{error}");
}

#[test]
#[ignore = "needs files of other programs"]
fn tensors_equal_those_of_pytorch() {
    let (files, _) = input_and_output_folders();
    let file = Torch::open(files.join("torch/all.pt")).unwrap();
    let names: Vec<&str> = file.tensors().iter().map(|tensor| tensor.name()).collect();
    assert_eq!(names, ["model.weight", "model.turned", "model.part", "model.later", "steps.0", "flags"]);
    for name in names {
        let wanted = read_expected(&files.join(format!("torch/{name}.npy")));
        assert_eq!(shape_and_bytes(&file.read(name).unwrap()), wanted, "{name}");
        match file.open_tensor(name) {
            Ok(tensor) => assert_eq!(shape_and_bytes(&tensor.read().unwrap()), wanted, "{name}"),
            Err(error) => assert_eq!((name, error.is_format()), ("model.part", true), "{error}"),
        }
    }
    let big = Torch::open(files.join("torch/big.pt")).unwrap();
    let array = big.read("0").unwrap();
    assert_eq!(array.cast::<i16, ndarray::Ix1>(Casting::Safe).unwrap(), ndarray::arr1(&[1, 2, 3]));
}
