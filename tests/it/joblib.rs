//! Files of `joblib.dump` (`testdata/make_joblib.py`), compared with what joblib loads.

use std::io::Write;

use ndarray_io::error::{ErrorKind, LimitKind};
use ndarray_io::object::{Object, Pickle};
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

/// (The texts have the byte order of records.)
#[cfg(target_endian = "little")]
#[test]
fn joblibs_files_have_the_objects_that_joblib_loads() {
    let files = files();
    assert_eq!(files.len(), 21);
    for (name, file, shown) in files {
        let is_other = ["bz2", "xz", "lzma", "lz4"].iter().any(|ending| name.ends_with(ending));
        match read(&file) {
            Ok(pickle) => {
                assert!(!is_other && pickle.object().to_string() == shown, "{name}:\n{}", pickle.object())
            }
            Err(error) => {
                assert!(
                    is_other && matches!(error.kind(), ErrorKind::UnsupportedPickle { .. }),
                    "{name}: {error}"
                );
                assert!(error.to_string().contains("unpacked first"), "{error}");
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

/// A file that is truncated or changed anywhere gives a value or an error.
#[test]
fn damaged_files_of_joblib_are_values_or_errors() {
    for (name, file, _) in files() {
        for end in 0..file.len() {
            if let Ok(pickle) = read(&file[..end]) {
                assert!(
                    name.starts_with("nothing") || name.ends_with("gz"),
                    "{name} cut at {end}: {}",
                    pickle.object()
                );
            }
        }
        for at in 0..file.len() {
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
fn names_of_inner_pickles_are_listed() {
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

#[test]
fn small_files_of_joblib_do_not_fill_the_memory() {
    let zeros = vec![0; 64 << 20];
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&zeros).unwrap();
    let packed = packed.finish().unwrap();
    let options = ReadOptions::new().limits(Limits::default().payload(1 << 20));
    let error = Pickle::read_joblib(&packed[..], &options).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit_kind: LimitKind::PayloadBytes, .. }), "{error}");
    // An array that declares more than follows.
    let (_, file, _) = files().into_iter().find(|(name, ..)| name == "numbers.pkl").unwrap();
    let at = file.windows(3).position(|bytes| bytes == b"K\x05\x85").unwrap();
    let lying = [&file[..at], b"J\xff\xff\xff\x7f", &file[at + 2..]].concat();
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
