//! Arbitrary bytes as a file of each format give arrays, which can be shown, or errors; archives are read in
//! memory and from a file.
#![no_main]

use std::io::{Cursor, Write};

use ndarray_io::object::Pickle;
use ndarray_io::ra::ReadRaExt;
use ndarray_io::{DynArray, Limits, NpzFile, NpzReader, ReadNpyExt, ReadOptions, Result};

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
    show(DynArray::read_npy_with(bytes, &options.clone().allow_objects(true)));
    for pickle in [
        Pickle::read_joblib(bytes, &options),
        Pickle::read_with_buffers(bytes, &[&b"abcdefgh"[..], b"", b"1234"], &options),
    ] {
        let _ = pickle.map(|pickle| pickle.object().detach().to_string());
    }
    if let Ok(pickle) = Pickle::from_bytes_with(bytes, &options) {
        let _ = pickle.object().to_string();
    }
    show(DynArray::read_ra_with(bytes, &options));
    // testdata/ra has files with each of the flags 2, 4 and 6.
    show(DynArray::read_ra_with(bytes, &options.clone().ignore_ra_flags(true).ra_bytes_are_bools(true)));
    if let Ok(mut npz) = NpzReader::new_with(Cursor::new(bytes), &options) {
        for index in 0..npz.members().len() {
            show(npz.read(index));
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let npz = NpzFile::new_with(file, &options).unwrap();
        for index in 0..npz.len() {
            show(npz.read(index));
            if let Ok(member) = npz.open_member(index) {
                show(member.read());
            }
        }
    }
});
