//! Files of `joblib.dump` (`testdata/make_joblib.py`), compared with what joblib loads.

use std::io::Write;
use std::sync::Arc;

use ndarray::{Ix1, arr1};
use ndarray_io::object::{Object, Pickle, View};
use ndarray_io::{Error, Limits, ReadOptions};

use crate::support::manifest;

fn read(file: &[u8]) -> Result<Pickle, Error> {
    Pickle::read_joblib(file, &ReadOptions::new())
}

/// The files, with what `repr` shows of each when joblib has loaded it.
fn files() -> Vec<(String, Vec<u8>, String)> {
    let folder = manifest::testdata().join("joblib");
    let shown = std::fs::read_to_string(folder.join("shown.json")).unwrap();
    let shown: std::collections::BTreeMap<String, String> = serde_json::from_str(&shown).unwrap();
    shown
        .into_iter()
        .map(|(name, shown)| (name.clone(), std::fs::read(folder.join(name)).unwrap(), shown))
        .collect()
}

/// The feature with which a file is unpacked, by the ending of its name.
fn required_feature(name: &str) -> Option<&'static str> {
    match name.rsplit('.').next()? {
        "z" | "gz" => Some("npz"),
        "bz2" | "xz" | "lzma" => Some("zip-methods"),
        "lz4" => Some("lz4"),
        _ => None,
    }
}

/// (The texts have the byte order of records.)
#[cfg(target_endian = "little")]
#[test]
fn objects_of_joblib_files_equal_those_joblib_loads() {
    let files = files();
    assert_eq!(files.len(), 32);
    for (name, file, shown) in files {
        let feature = required_feature(&name);
        let is_read = match feature {
            Some("npz") => cfg!(feature = "npz"),
            Some("zip-methods") => cfg!(feature = "zip-methods"),
            Some("lz4") => cfg!(feature = "lz4"),
            _ => true,
        };
        match read(&file) {
            Ok(pickle) => {
                assert!(is_read && pickle.object().to_string() == shown, "{name}:\n{}", pickle.object())
            }
            Err(error) => {
                assert!(!is_read, "{name}: {error}");
                assert!(error.message().starts_with("unsupported pickle"), "{name}: {error}");
                let help = error.help().map(|help| help.to_string()).unwrap_or_default();
                assert!(feature.is_some_and(|feature| help.contains(feature)), "{name}: {help}");
            }
        }
        // What is read can be written as an ordinary pickle.
        if let Ok(pickle) = read(&file) {
            let again = Pickle::write(pickle.object(), &Default::default()).unwrap();
            assert!(Pickle::read(&again[..]).unwrap().object() == pickle.object(), "{name}");
            assert!(pickle.object().detach() == *pickle.object());
        }
    }
}

/// A file that is truncated or changed gives a value or an error: at every third place, or, where a million mutations are asked for, at
/// every place.
#[test]
fn damaged_files_of_joblib_are_values_or_errors() {
    let asked = std::env::var("NDARRAY_IO_MUTATIONS").map_or(0, |count| count.parse::<usize>().unwrap());
    let step = if asked >= 1_000_000 { 1 } else { 3 };
    for (number, (name, file, _)) in files().into_iter().enumerate() {
        for end in (number % step..file.len()).step_by(step) {
            if let Ok(pickle) = read(&file[..end]) {
                assert!(name.starts_with("nothing"), "{name} cut at {end}: {}", pickle.object());
            }
        }
        for at in (number % step..file.len()).step_by(step) {
            for byte in [0, 0xFF, file[at] ^ 1] {
                let mut other = file.clone();
                other[at] = byte;
                if let Ok(pickle) = read(&other) {
                    assert!(pickle.object().to_string().len() < 1 << 20);
                }
            }
        }
    }
}

/// The names in pickles within the file are listed as well.
#[test]
fn globals_of_inner_pickles_are_listed() {
    let files = files();
    let names = |name: &str| {
        let (_, file, _) = files.iter().find(|(other, ..)| other == name).unwrap();
        read(file).unwrap().globals().map(|global| global.to_string()).collect::<Vec<_>>()
    };
    let expected = [
        "joblib.numpy_pickle.NumpyArrayWrapper",
        "numpy.ndarray",
        "numpy.dtype",
        "numpy._core.multiarray._reconstruct",
        "numpy._core.numeric._frombuffer",
    ];
    assert_eq!(names("objects.pkl"), expected);
}

/// The size of the dictionary is a claim of the file, which does not count as memory.
#[cfg(feature = "zip-methods")]
#[test]
fn lzma_dictionary_does_not_count_against_limit() {
    let (_, file, shown) = files().into_iter().find(|(name, ..)| name == "model.lzma").unwrap();
    let options = ReadOptions::new().limits(Limits::default().payload(1 << 20));
    // A machine of 32 bits cannot have 3 GiB for it.
    let sizes = [4352u32, 64 << 20, 3 << 30];
    for size in sizes.into_iter().filter(|size| usize::BITS == 64 || *size < 1 << 30) {
        // The format of LZMA alone: a byte of properties, then the size of the dictionary.
        let claims = [&file[..1], &size.to_le_bytes(), &file[5..]].concat();
        let pickle = Pickle::read_joblib(&claims[..], &options).unwrap();
        assert!(cfg!(target_endian = "big") || pickle.object().to_string() == shown);
    }
}

#[test]
fn joblib_decompression_bomb_exceeds_payload_limit() {
    let zeros = vec![0; 64 << 20];
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&zeros).unwrap();
    let packed = packed.finish().unwrap();
    let options = ReadOptions::new().limits(Limits::default().payload(1 << 20));
    let error = Pickle::read_joblib(&packed[..], &options).unwrap_err();
    assert!(error.message().starts_with("the data takes"), "{error}");
    // An array that declares more than follows.
    let (_, file, _) = files().into_iter().find(|(name, ..)| name == "numbers.pkl").unwrap();
    let at = file.windows(3).position(|bytes| bytes == b"K\x05\x85").unwrap();
    let mut lying = [&file[..at], b"J\xff\xff\xff\x7f", &file[at + 2..]].concat();
    lying[3] += 3; // the length of the frame
    assert!(read(&lying).unwrap_err().to_string().contains("17179869176 bytes"));
}

/// The pickle in the place of an array of objects may be any value, which `joblib.load` returns.
#[test]
fn inner_pickles_may_be_of_any_value() {
    let (_, file, _) = files().into_iter().find(|(name, ..)| name == "objects.pkl").unwrap();
    let at = file.windows(4).position(|bytes| bytes == b"ub\x80\x05").unwrap() + 2;
    for (inner, shown) in [(&b"N."[..], "None"), (b"K\x07.", "7"), (b"X\x01\0\0\0x.", "'x'"), (b"].", "[]")] {
        let file = [&file[..at], inner, b"."].concat();
        let object = read(&file).unwrap().into_object();
        assert_eq!(object.to_string(), shown);
        let list = Object::list([object.clone(), object.clone()]);
        assert_eq!(list.to_string(), format!("[{shown}, {shown}]"));
        assert_eq!(list.detach(), list);
        let again = Pickle::write(&object, &Default::default()).unwrap();
        assert_eq!(Pickle::read(&again[..]).unwrap().object(), &object);
    }
}

/// A file in memory that is aligned as a memory map is.
struct Aligned(Vec<u128>, usize);

impl Aligned {
    fn new(file: &[u8]) -> Self {
        let mut words = vec![0; file.len().div_ceil(16)];
        bytemuck::cast_slice_mut(&mut words)[..file.len()].copy_from_slice(file);
        Self(words, file.len())
    }
}

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[..self.1]
    }
}

#[test]
fn arrays_in_joblib_files_are_viewed_without_copying() {
    for (name, file, _) in files().into_iter().filter(|(name, ..)| name.ends_with("pkl")) {
        let bytes = Arc::new(Aligned::new(&file));
        let place = (*bytes).as_ref().as_ptr_range();
        /// What is kept belongs to the caller as well.
        struct SharedFile(Arc<Aligned>);
        impl AsRef<[u8]> for SharedFile {
            fn as_ref(&self) -> &[u8] {
                (*self.0).as_ref()
            }
        }
        let options = ReadOptions::new();
        let viewed = Pickle::view_joblib(SharedFile(Arc::clone(&bytes)), &options).unwrap();
        let copied = read(&file).unwrap();
        assert!(viewed.object() == copied.object(), "{name}");
        assert!(viewed.object().detach() == *copied.object(), "{name}");
        let written = |pickle: &Pickle| Pickle::write(pickle.object(), &Default::default()).unwrap();
        assert!(written(&viewed) == written(&copied), "{name}");
        // `<i8`: 0 to 4, as joblib loads it.
        if name.starts_with("numbers") {
            let View::Array(array) = viewed.object().view() else { panic!("{name}: not an array") };
            // Numbers in another byte order than this machine's are copied.
            if cfg!(target_endian = "little") {
                let view = array.view::<i64, Ix1>().unwrap();
                assert_eq!(view, arr1(&[0, 1, 2, 3, 4]));
                assert!(place.contains(&view.as_ptr().cast()), "{name}");
                assert_eq!(Arc::strong_count(&bytes), 2);
            }
            // What is detached is independent.
            let alone = viewed.object().detach();
            drop((viewed, copied));
            assert_eq!(Arc::strong_count(&bytes), 1);
            let View::Array(array) = alone.view() else { panic!("an array") };
            assert_eq!(array.to_array::<i64, Ix1>().unwrap(), arr1(&[0, 1, 2, 3, 4]));
        }
    }
}
