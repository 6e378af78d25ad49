//! Members that are encrypted or compressed by less common methods, written by Python, 7-Zip, Info-ZIP and
//! libarchive (`testdata/methods/make_methods.py`).

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use ndarray::{Array2, s};
use ndarray_io::error::ErrorKind;
use ndarray_io::npz::{Method, NpzMember};
use ndarray_io::{DynArray, Limits, NpzFile, NpzReader, NpzUpdate, ReadNpyExt, ReadOptions};

use crate::support::error_class::error_class;

fn testdata_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/methods")
}

fn archives() -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = fs::read_dir(testdata_folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "npz"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect();
    found.sort();
    assert_eq!(found.len(), 16);
    found
}

/// Returns the array that NumPy saved.
fn expected_array(name: &str) -> DynArray {
    DynArray::read_npy(&fs::read(testdata_folder().join(format!("{name}.npy"))).unwrap()[..]).unwrap()
}

fn password_options() -> ReadOptions {
    ReadOptions::new().password("pass word")
}

#[test]
fn members_of_other_programs_are_read() {
    let mut methods = Vec::new();
    for (id, bytes) in archives() {
        let path = testdata_folder().join(format!("{id}.npz"));
        let file = password_options().open_npz(&path).unwrap();
        let mut reader = password_options().npz_reader(Cursor::new(bytes)).unwrap();
        for (index, member) in file.members().iter().enumerate() {
            let name = member.name();
            let expected_array = expected_array(name);
            assert_eq!(member.is_encrypted(), id.matches('-').count() == 2, "{id}");
            methods.push(member.method());
            if id == "xz-aes256-7zip" && name == "ramp" {
                let error = file.verify_member(index).unwrap_err();
                assert!(error.message().starts_with("unsupported archive"), "{error}");
                continue;
            }
            assert_eq!(file.read::<DynArray>(index).unwrap(), expected_array, "{id} {name}");
            assert_eq!(reader.read::<DynArray>(name).unwrap(), expected_array, "{id} {name}");
            assert_eq!(file.peek(name).unwrap().header.shape(), expected_array.shape(), "{id} {name}");
            assert_eq!(reader.peek(name).unwrap().header.shape(), expected_array.shape(), "{id} {name}");
            file.verify_member(index).unwrap();
            if name == "ramp" {
                let part: Array2<f64> = file.open_member(name).unwrap().slice(s![3..5, 1..;20]).unwrap();
                assert_eq!(part, ndarray::arr2(&[[151.0, 171.0, 191.0], [201.0, 221.0, 241.0]]));
            }
        }
    }
    for method in
        [Method::Stored, Method::Deflated, Method::Deflate64, Method::Bzip2, Method::Lzma, Method::Xz]
    {
        assert!(methods.contains(&method), "{method}");
    }
}

#[test]
fn missing_and_wrong_passwords_are_reported() {
    for (id, bytes) in archives() {
        if id.matches('-').count() < 2 {
            continue;
        }
        let read = |options: &ReadOptions| options.npz_reader(Cursor::new(&bytes))?.read::<DynArray>("noise");
        let error = read(&ReadOptions::new()).unwrap_err();
        assert!(error.message().contains("no password was given"), "{id}: {error}");
        assert_eq!(error.help().unwrap().id(), "password");
        assert!(error.is_usage());
        let error = read(&ReadOptions::new().password("Pass word")).unwrap_err();
        // ZipCrypto checks the password with one byte only; if that byte matches, the checksum differs.
        let is_told = match error.kind() {
            ErrorKind::Encrypted => error.message().starts_with("wrong password"),
            ErrorKind::Malformed => {
                id.contains("zipcrypto") && ["crc_mismatch", "bad_zip"].contains(&error_class(&error))
            }
            _ => false,
        };
        assert!(is_told, "{id}: {error}");
    }
    assert!(!format!("{:?}", password_options()).contains("pass word"));
}

/// Each changed byte is detected or does not matter.
#[test]
fn damaged_foreign_archives_never_yield_other_arrays() {
    let (mut errors, mut same) = (0, 0);
    for (id, bytes) in archives() {
        let is_slow = id.contains("aes"); // AES derives its key with 1000 rounds of SHA-1
        for at in (0..bytes.len()).step_by(if is_slow { 211 } else { 17 }) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            let Ok(mut reader) = password_options().npz_reader(Cursor::new(bytes)) else {
                errors += 1;
                continue;
            };
            for name in ["noise", "ramp"] {
                match reader.read::<DynArray>(name) {
                    Ok(array) => {
                        assert_eq!(array, expected_array(name), "{id} {name}: {at}");
                        same += 1;
                    }
                    Err(_) => errors += 1,
                }
            }
        }
    }
    assert!(errors > 300 && same > 300, "{errors} {same}");
}

#[test]
fn oversized_xz_dictionary_exceeds_limit() {
    for (id, mut bytes) in archives().into_iter().filter(|(id, _)| id == "xz-7zip" || id == "lzma-python") {
        let read = |bytes: &[u8], most: u64| {
            let options = ReadOptions::new().limits(Limits::new().payload(most));
            options.npz_reader(Cursor::new(bytes))?.read::<DynArray>("ramp")
        };
        assert_eq!(read(&bytes, 10_000).unwrap(), expected_array("ramp"), "{id}");
        if id == "lzma-python" {
            continue; // no dictionary is larger than the member: Python asks for 8 MiB
        }
        // Skips the stream header of 12 bytes and two bytes of the block header. The filter is LZMA2, which
        // has one byte of properties.
        let start = bytes.windows(6).position(|window| window == b"\xFD7zXZ\0").unwrap();
        let filter =
            start + 12 + bytes[start + 12..][..8].windows(2).position(|window| window == [0x21, 1]).unwrap();
        bytes[filter + 2] = 40; // 4 GiB
        let error = read(&bytes, 1 << 30).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        let error = read(&bytes, u64::MAX).unwrap_err(); // the checksum of the block header is now wrong
        assert!(error.message().starts_with("malformed archive"), "{error}");
    }
}

/// An update keeps encrypted members as they are, without their password.
#[test]
fn update_keeps_encrypted_members() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npz");
    let added = ndarray::arr1(&[1.0, 2.0]);
    let mut kept = 0;
    for (id, bytes) in archives() {
        fs::write(&path, &bytes).unwrap();
        let copy = folder.path().join("copy.npz"); // Windows does not replace an open file
        fs::write(&copy, &bytes).unwrap();
        let before = password_options().open_npz(&copy).unwrap();
        NpzUpdate::open(&path).unwrap().add("added", &added).unwrap().finish().unwrap();
        let after = password_options().open_npz(&path).unwrap();
        assert_eq!(after.read::<ndarray::Array1<f64>>("added").unwrap(), added, "{id}");
        for (index, member) in before.members().iter().enumerate() {
            let now = &after.members()[index];
            assert_eq!((now.name(), now.method()), (member.name(), member.method()), "{id}");
            assert_eq!(now.is_encrypted(), member.is_encrypted(), "{id}");
            kept += usize::from(member.is_encrypted());
            if id == "xz-aes256-7zip" && member.name() == "ramp" {
                continue; // it cannot be read
            }
            assert_eq!(after.read::<DynArray>(index).unwrap(), expected_array(member.name()), "{id}");
        }
        // What is encrypted is not replaced by what is not.
        let replaced = NpzUpdate::open(&path).unwrap().replace("noise", &added).map(drop);
        assert_eq!(replaced.is_err(), id.matches('-').count() == 2, "{id}");
        let wrong = ReadOptions::new().open_npz(&path).unwrap();
        assert_eq!(wrong.read::<DynArray>("noise").is_err(), id.matches('-').count() == 2, "{id}");
        // Python's zipfile, Info-ZIP and 7-Zip decrypt what was kept: `.ci/check_archives.py`.
        if let Some(folder) = std::env::var_os("NDARRAY_IO_ARCHIVES") {
            fs::create_dir_all(&folder).unwrap();
            fs::copy(&path, Path::new(&folder).join(format!("kept-{id}.zip"))).unwrap();
        }
    }
    assert!(kept > 10);
}

#[test]
#[cfg(feature = "mmap")]
fn map_copies_encrypted_members() {
    for (id, _) in archives().into_iter().filter(|(id, _)| id.matches('-').count() == 2) {
        let path = testdata_folder().join(format!("{id}.npz"));
        let map = |options: &ReadOptions| {
            // SAFETY: no process changes the file.
            let map = unsafe { options.map_npz(&path).unwrap() };
            map.cow::<u8, ndarray::Ix1>("noise").map(|array| array.into_owned())
        };
        let expected_array: ndarray::Array1<u8> = expected_array("noise").into_array().unwrap();
        assert_eq!(map(&password_options()).unwrap(), expected_array, "{id}");
        let error = map(&ReadOptions::new()).unwrap_err();
        assert!(error.message().contains("no password was given"), "{id}: {error}");
    }
}

/// What is declared is compared with what the compressed bytes can contain, before anything is decompressed.
#[test]
fn content_beyond_the_ratio_of_its_method_is_refused() {
    const GIB: u32 = 1 << 30;
    // The most bytes of content for each compressed byte, by the specifications of the formats.
    let most = |method| match method {
        Method::Deflated => Some(1032),
        Method::Deflate64 => Some(29_128),
        Method::Bzip2 => Some(1_912_500),
        Method::Zstd => Some(32_768),
        _ => None, // LZMA and XZ
    };
    let archives = archives().into_iter().filter(|(id, _)| !id.contains("aes") && !id.contains("zipcrypto"));
    let mut tried = Vec::new();
    for (id, bytes) in archives {
        let reader = NpzReader::new(Cursor::new(&bytes)).unwrap();
        let is_packed = |member: &NpzMember| member.method() != Method::Stored;
        let Some(index) = reader.members().iter().position(is_packed) else { continue };
        let member = reader.members()[index].clone();
        let declared = |size: u32, options: &ReadOptions| {
            // The only fields of 32 bits with the true size are those of the two headers.
            let mut bytes = bytes.clone();
            let old = (member.size() as u32).to_le_bytes();
            let places: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..*at + 4] == old).collect();
            places.iter().for_each(|at| bytes[*at..*at + 4].copy_from_slice(&size.to_le_bytes()));
            let mut reader = options.npz_reader(Cursor::new(bytes)).unwrap();
            reader.read::<DynArray>(index).unwrap_err()
        };
        let packed = member.compressed_size();
        let any = ReadOptions::new().limits(Limits::default().expansion(u64::MAX));
        if let Some(most) = most(member.method()).and_then(|most| u32::try_from(most * packed).ok()) {
            let error = declared(most + 1, &any);
            let is_told = error.message().starts_with("malformed archive")
                && error.to_string().contains("cannot contain");
            assert!(is_told, "{id}: {error}");
            let error = declared(most, &any);
            assert!(!error.to_string().contains("cannot contain"), "{id}: {error}");
        }
        if most(member.method()).is_none_or(|most| most * packed > u64::from(GIB)) {
            let error = declared(GIB, &ReadOptions::new());
            let is_limit = error.message().starts_with("the content is");
            assert!(is_limit, "{id}: {error}");
            assert_eq!(error.help().unwrap().id(), "raise-expansion-limit");
            assert!(declared(GIB - 1, &ReadOptions::new()).kind() != ErrorKind::Limit, "{id}");
            assert!(declared(GIB, &any).kind() != ErrorKind::Limit, "{id}");
        }
        tried.push(member.method());
    }
    for method in [Method::Deflate64, Method::Bzip2, Method::Lzma, Method::Xz] {
        assert!(tried.contains(&method), "{method}");
    }
}

/// What Python's bz2 makes of 183.6 million times the same byte: 142 bytes, 1,292,957 for each. It is no more than the method
/// can express.
#[test]
fn smallest_bzip2_of_equal_bytes_is_read() {
    const UNPACKED_SIZE: u32 = 183600000;
    let packed: [u8; 142] = [
        66, 90, 104, 57, 49, 65, 89, 38, 83, 89, 95, 172, 150, 3, 0, 0, 0, 0, 0, 128, 8, 32, 0, 48, 140, 38,
        146, 148, 33, 19, 49, 65, 89, 38, 83, 89, 95, 172, 150, 3, 0, 0, 0, 0, 0, 128, 8, 32, 0, 48, 140, 38,
        146, 148, 33, 19, 49, 65, 89, 38, 83, 89, 95, 172, 150, 3, 0, 0, 0, 0, 0, 128, 8, 32, 0, 48, 140, 38,
        146, 148, 33, 19, 49, 65, 89, 38, 83, 89, 95, 172, 150, 3, 0, 0, 0, 0, 0, 128, 8, 32, 0, 48, 140, 38,
        146, 148, 33, 19, 49, 65, 89, 38, 83, 89, 3, 69, 114, 31, 0, 0, 29, 128, 0, 128, 8, 32, 0, 48, 140,
        38, 136, 98, 238, 72, 167, 10, 18, 24, 160, 122, 199, 96,
    ];
    let (crc, name) = (0xab716467u32, b"a.bin");
    let number = |bytes: &mut Vec<u8>, number: u32| bytes.extend(number.to_le_bytes());
    let record = |signature: &[u8], more: usize| {
        let mut record = [signature, &[20, 0, 0, 0, 12, 0, 0, 0, 0, 0]].concat();
        [crc, packed.len() as u32, UNPACKED_SIZE].iter().for_each(|field| number(&mut record, *field));
        record.extend([name.len() as u8, 0]);
        record.resize(record.len() + more, 0);
        record.extend(name);
        record
    };
    let mut archive = record(b"PK\x03\x04", 2);
    archive.extend(packed);
    let (central, start) = (record(b"PK\x01\x02\x14\0", 16), archive.len() as u32);
    archive.extend(&central);
    archive.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    number(&mut archive, central.len() as u32);
    number(&mut archive, start);
    archive.extend([0, 0]);
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npz");
    fs::write(&path, archive).unwrap();
    NpzFile::open(&path).unwrap().verify().unwrap();
}
