//! Arbitrary bytes as a file of safetensors give tensors or an error.
#![no_main]

use ndarray_io::bytes::InMemory;
use ndarray_io::{DynArray, Limits, ReadOptions};
use ndarray_io_formats::safetensors::SafeTensors;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions::new().limits(Limits::default().payload(1 << 20));
    let Ok(file) = SafeTensors::from_source_with(InMemory(bytes.to_vec()), &options) else { return };
    for name in file.tensors().names() {
        let _ = file.read::<DynArray>(name).and_then(|array| array.check());
    }
});
