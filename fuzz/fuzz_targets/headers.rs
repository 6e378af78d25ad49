//! The direct path and the general one on any text: what the direct one accepts, the general one understands in the same way.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: (u8, &[u8])| {
    let (version, text) = input;
    ndarray_io::npy::compare_header_paths(text, version);
});
