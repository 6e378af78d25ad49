//! For any text that the direct path accepts, the general path gives the same result.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: (u8, &[u8])| {
    let (version, text) = input;
    ndarray_io::npy::compare_header_paths(text, version);
});
