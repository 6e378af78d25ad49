//! Arbitrary bytes as the pickle of a PyTorch archive give tensors or an error. The archive is sound and has three storages, so that the
//! checks of an archive do not keep the bytes from being read.
#![no_main]

use ndarray_io::bytes::InMemory;
use ndarray_io::{NpzFile, NpzWriter};
use ndarray_io_formats::torch::Torch;

libfuzzer_sys::fuzz_target!(|pickle: &[u8]| {
    let mut npz = NpzWriter::new(Vec::new());
    for (name, bytes) in
        [("data.pkl", pickle), ("data/0", &[1; 16]), ("data/1", &[2; 16]), ("data/2", &[3; 16])]
    {
        npz.add_raw(name, bytes, bytes.len() as u64).unwrap();
    }
    let archive = NpzFile::from_source(InMemory(npz.finish().unwrap())).unwrap();
    let Ok(file) = Torch::open_in(archive) else { return };
    let names: Vec<String> = file.tensors().iter().map(|tensor| tensor.name().to_owned()).collect();
    for name in names {
        let _ = file.read(&name);
    }
});
