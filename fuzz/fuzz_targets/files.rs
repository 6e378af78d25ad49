//! Arbitrary bytes as a file of each format give arrays or errors; archives are read in memory and from a
//! file.
#![no_main]

use std::io::{Cursor, Write};

use ndarray_io::ra::ReadRaExt;
use ndarray_io::{DynArray, Limits, NpzFile, NpzReader, ReadNpyExt, ReadOptions};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions::new().limits(Limits::default().payload(1 << 24)).threads(2);
    let _ = DynArray::read_npy_with(bytes, &options.clone().allow_objects(true));
    let _ = DynArray::read_ra_with(bytes, &options);
    if let Ok(mut npz) = NpzReader::new_with(Cursor::new(bytes), &options) {
        for index in 0..npz.members().len() {
            let _ = npz.read_index::<DynArray>(index);
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let npz = NpzFile::new_with(file, &options).unwrap();
        for index in 0..npz.len() {
            let _ = npz.read_index::<DynArray>(index);
            if let Ok(member) = npz.open_member_index(index) {
                let _ = member.read::<DynArray>();
            }
        }
    }
});
