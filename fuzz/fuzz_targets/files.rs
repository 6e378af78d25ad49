//! Arbitrary bytes as a file of each format give arrays, which can be shown, or errors; archives are read in
//! memory and from a file.
#![no_main]

use std::io::{Cursor, Write};

use ndarray_io::object::Pickle;
use ndarray_io::{DynArray, Limits, ReadOptions, Result};

/// Shows an array in all ways: whole, and element by element.
fn show(array: Result<DynArray>) {
    let Ok(array) = array else { return };
    let _ = array.to_string();
    let _ = array.texts().take(10).map(|text| text.len()).sum::<usize>();
    for object in array.objects().unwrap_or_default() {
        let _ = object.to_string();
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions::new().limits(Limits::default().payload(1 << 24)).threads(2);
    show(options.clone().allow_objects(true).read_from::<DynArray>(bytes));
    for pickle in [
        Pickle::read_joblib(bytes, &options),
        Pickle::read_with_buffers(bytes, &[&b"abcdefgh"[..], b"", b"1234"], &options),
    ] {
        let _ = pickle.map(|pickle| pickle.object().detach().to_string());
    }
    if let Ok(pickle) = options.unpickle(bytes) {
        let _ = pickle.object().to_string();
    }
    show(options.read_ra_from::<DynArray>(bytes));
    // testdata/ra has files with each of the flags 2, 4 and 6.
    show(options.clone().ignore_ra_flags(true).ra_bytes_are_bools(true).read_ra_from::<DynArray>(bytes));
    if let Ok(mut npz) = options.npz_reader(Cursor::new(bytes)) {
        for index in 0..npz.members().len() {
            show(npz.read(index));
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let npz = options.open_npz_file(file).unwrap();
        for index in 0..npz.len() {
            show(npz.read(index));
            if let Ok(member) = npz.open_member(index) {
                show(member.read());
            }
        }
    }
});
