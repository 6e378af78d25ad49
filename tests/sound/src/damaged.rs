//! Damaged files, read in every way. AddressSanitizer detects accesses out of bounds.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use ndarray::{Array, ArrayD, ArrayViewD, ArrayViewMutD, Ix1, Ix2};
use ndarray_io::element::{Bytes, Chars, LongDouble, Void};
use ndarray_io::ra::{ReadRaExt, ViewRaExt};
use ndarray_io::{Casting, DynArray, Limits, ReadNpyExt, ReadOptions, ViewMutNpyExt, ViewNpyExt};
use num_complex::Complex;

use crate::Aligned;

/// A pseudorandom number generator, which gives the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// The files of a folder and of the folders in it, if they are small.
fn collect_small_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let is_file =
            path.extension().is_some_and(|end| ["npy", "npz", "ra", "bin"].iter().any(|known| end == *known));
        if path.is_dir() {
            collect_small_files(&path, found);
        } else if is_file && path.metadata().unwrap().len() < 20_000 {
            found.push(path);
        }
    }
}

/// Changes some bytes, or removes or repeats a part.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = [0, 1, 0x7F, 0x80, 0xFF][random.below(5)],
            3 => {
                let digit = b'0' + random.below(10) as u8;
                if let Some(byte) = bytes[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
                    *byte = digit;
                }
            }
            4 => {
                let end = (at + random.below(40)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, part);
            }
            _ => {
                let end = (at + random.below(9)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
}

/// Reads bytes in every way. All but crashing is allowed.
fn read(bytes: &[u8]) {
    fn read_as_type<A>(file: &mut Aligned, options: &ReadOptions)
    where
        A: ndarray_io::ViewMutElement + Clone + std::fmt::Debug + 'static,
    {
        let shown = |array: ArrayViewD<'_, A>| assert!(!format!("{array:?}").is_empty());
        let _ = options.read_from::<ArrayD<A>>(file.get()).map(|array| shown(array.view()));
        let _ = ArrayD::<A>::read_ra(file.get()).map(|array| shown(array.view()));
        let _ = ArrayViewD::<A>::view_npy(file.get()).map(shown);
        let _ = ArrayViewD::<A>::view_ra(file.get()).map(shown);
        let _ = ArrayViewMutD::<A>::view_mut_npy(file.get_mut())
            .map(|mut array| array.iter_mut().for_each(|_| ()));
        let _ =
            DynArray::read_npy(file.get()).map(|array| array.into_array::<A, Ix1>().map(|array| array.len()));
    }
    let options = ReadOptions::new().limits(Limits::new().payload(1 << 22)).casting(Casting::Unsafe);
    let mut file = Aligned::new(bytes);
    if let Ok(array) = options.read_from::<DynArray>(bytes) {
        assert!(!format!("{array:?}").is_empty());
        let _ = array.check();
        for object in array.objects().unwrap_or_default() {
            let _ = (object.to_string(), serde_json::to_string(object), *object == object.clone());
        }
        let _ = array.cast_to(&"<f4".parse().unwrap(), Casting::Unsafe);
        if let Some(record) = array.dtype().as_record() {
            for field in record.fields() {
                let _ = array.field(field.name());
                let _ = array.field_view::<u16, Ix2>(field.name()).map(|view| view.iter().count());
            }
        }
    }
    read_as_type::<bool>(&mut file, &options);
    read_as_type::<u8>(&mut file, &options);
    read_as_type::<f64>(&mut file, &options);
    read_as_type::<Complex<f32>>(&mut file, &options);
    read_as_type::<Chars<2>>(&mut file, &options);
    read_as_type::<Bytes<3>>(&mut file, &options);
    read_as_type::<Void<3>>(&mut file, &options);
    read_as_type::<LongDouble>(&mut file, &options);
    read_as_type::<[i16; 2]>(&mut file, &options);
    let _ = options.read_from::<ArrayD<String>>(bytes);
    if let Ok(mut npz) = options.npz_reader(Cursor::new(bytes)) {
        let names = npz.names().unwrap_or_default();
        for name in &names {
            let _: Result<Array<f64, Ix1>, _> = npz.by_name(name);
            let _ = npz.read::<DynArray>(name);
        }
    }
}

/// The number of damaged copies of each file.
fn damaged_copy_count() -> usize {
    let set = std::env::var("NDARRAY_IO_DAMAGED").ok();
    set.map_or(5, |count| count.parse().expect("a number"))
}

#[test]
fn damaged_files_are_read_within_bounds() {
    let mut found = Vec::new();
    collect_small_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata"), &mut found);
    assert!(found.len() > 100, "{} files", found.len());
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for path in &found {
        let bytes = fs::read(path).unwrap();
        read(&bytes);
        for _ in 0..damaged_copy_count() {
            let mut bytes = bytes.clone();
            damage(&mut bytes, &mut random);
            read(&bytes);
        }
    }
}
