//! Archives, compared with two other libraries: `zip` and `rawzip` read what this one writes, and the
//! reverse.

use std::io::{Cursor, Read, Write};
use std::path::Path;

use ndarray::{Array1, Array2, arr1};
use ndarray_io::{Compression, DynArray, ReadNpyExt, ReadOptions, WriteNpyExt, WriteOptions};
use zip::unstable::write::FileOptionsExt as _;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::support::random::Random;

/// Returns archives of other programs and of this library, each with several members.
fn archives() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for folder in ["testdata", "testdata/methods"] {
        for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "npz") {
                all.push((path.display().to_string(), std::fs::read(path).unwrap()));
            }
        }
    }
    for compression in [Compression::Stored, Compression::Deflated(6)] {
        let options = WriteOptions::new().compression(compression);
        let mut npz = options.npz_writer(Cursor::new(Vec::new())).unwrap();
        npz.add("numbers", &Array1::from_iter(0..5000u32)).unwrap();
        npz.add("größe", &Array2::<f64>::eye(3)).unwrap();
        npz.add("leer", &arr1::<u8>(&[])).unwrap();
        all.push((format!("our own, {compression:?}"), npz.finish().unwrap().into_inner()));
    }
    assert!(all.len() > 20);
    all
}

/// A member's name, its uncompressed and compressed size, and its checksum.
type MemberSummary = (Vec<u8>, u64, u64, u32);

/// Returns the members that `rawzip` finds in the directory.
fn members_by_rawzip(bytes: &[u8]) -> Option<Vec<MemberSummary>> {
    let archive = rawzip::ZipArchive::from_slice(bytes).ok()?;
    let mut entries = archive.entries();
    let mut found = Vec::new();
    while let Some(entry) = entries.next_entry().ok()? {
        let name = entry.file_path().as_bytes().to_vec();
        found.push((name, entry.uncompressed_size_hint(), entry.compressed_size_hint(), entry.crc32()));
    }
    Some(found)
}

/// Returns a member's content as `zip` reads it.
fn content_by_zip(bytes: &[u8], name: &str) -> Option<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let index = archive.index_for_name(name)?;
    let mut content = Vec::new();
    let mut file = archive.by_index_decrypt(index, b"pass word").ok()?;
    file.read_to_end(&mut content).ok()?;
    Some(content)
}

fn password_options() -> ReadOptions {
    ReadOptions::new().password("pass word")
}

#[test]
fn members_agree_with_rawzip_and_zip_crates() {
    let mut members = 0;
    for (id, bytes) in archives() {
        let mut ours = password_options().npz_reader(Cursor::new(&bytes)).unwrap();
        let facts = ours.members().iter();
        let facts = facts.map(|member| {
            (member.file_name().as_bytes().to_vec(), member.size(), member.compressed_size(), member.crc32())
        });
        assert_eq!(Some(facts.collect::<Vec<_>>()), members_by_rawzip(&bytes), "{id}");
        let names: Vec<String> = ours.members().iter().map(|member| member.file_name().to_owned()).collect();
        for (index, name) in names.iter().enumerate() {
            if names.iter().filter(|other| *other == name).count() > 1 || id.contains("xz-aes") {
                continue; // `zip` keeps one of several members with a name; we refuse encrypted XZ
            }
            assert_eq!(content_by_zip(&bytes, name), Some(ours.read_raw(index).unwrap()), "{id}: {name}");
            members += 1;
        }
    }
    assert!(members > 50, "{members}");
}

#[test]
fn archives_written_by_zip_crate_are_read() {
    let array = Array2::from_shape_fn((40, 30), |(i, j)| (i * 7 + j * j) as f32);
    let mut file = Vec::new();
    array.write_npy(&mut file).unwrap();
    let methods = [
        CompressionMethod::Stored,
        CompressionMethod::Deflated,
        CompressionMethod::Bzip2,
        CompressionMethod::Xz,
    ];
    for method in methods {
        for (number, aes) in
            [None, Some(zip::AesMode::Aes128), Some(zip::AesMode::Aes256)].into_iter().enumerate()
        {
            let plain = SimpleFileOptions::default().compression_method(method).unix_permissions(0o600);
            let options = [
                plain,
                plain.large_file(true),
                plain.with_alignment(64),
                plain.with_deprecated_encryption(b"pass word").unwrap(),
            ];
            let mut writer = ZipWriter::new(Cursor::new(b"something else".to_vec()));
            writer.set_comment("a comment").unwrap();
            let mut written = 0;
            for (index, options) in options.into_iter().enumerate() {
                let options = match aes {
                    Some(mode) if index < 3 => options.with_aes_encryption(mode, "pass word"),
                    Some(_) => continue,
                    None => options,
                };
                if writer.start_file(format!("a{index}.npy"), options).is_err() {
                    continue; // not supported by the crate's writer
                }
                writer.write_all(&file).unwrap();
                written += 1;
            }
            assert!(written > 0, "{method:?} {number}");
            let bytes = writer.finish().unwrap().into_inner();
            let mut npz = password_options().npz_reader(Cursor::new(bytes)).unwrap();
            assert_eq!(npz.len(), written);
            for name in npz.names().unwrap() {
                let read = npz.read::<DynArray>(&name);
                if method == CompressionMethod::Xz && (number > 0 || name == "a3") {
                    assert!(read.is_err()); // encrypted XZ is refused
                    continue;
                }
                let read = read.unwrap_or_else(|error| panic!("{method:?} {number} {name}: {error}"));
                assert_eq!(read.into_array::<f32, ndarray::Ix2>().unwrap(), array);
            }
        }
    }
}

/// If both libraries accept a damaged archive, they read the same data from it.
#[test]
fn content_of_damaged_archives_agrees_with_zip_crate() {
    let mut random = Random::new(11);
    let (mut both, mut tried) = (0, 0);
    for (id, bytes) in archives() {
        if id.contains("aes") || bytes.len() > 50_000 {
            continue; // slow
        }
        for _ in 0..100 {
            let mut damaged = bytes.clone();
            for _ in 0..=random.below(3) {
                // Damages the records at the end more often than the content.
                let from = if random.below(2) == 0 { 0 } else { damaged.len().saturating_sub(200) };
                let at = from + random.below(damaged.len() - from);
                damaged[at] = random.below(256) as u8;
            }
            tried += 1;
            let Ok(mut ours) = password_options().npz_reader(Cursor::new(&damaged)) else {
                continue;
            };
            let names: Vec<String> =
                ours.members().iter().map(|member| member.file_name().to_owned()).collect();
            for (index, name) in names.iter().enumerate() {
                let Ok(own) = ours.read_raw(index) else { continue };
                let is_alone = names.iter().filter(|other| *other == name).count() == 1;
                if let Some(theirs) = content_by_zip(&damaged, name).filter(|_| is_alone) {
                    assert_eq!(own, theirs, "{id}: {name}");
                    both += 1;
                }
            }
        }
    }
    assert!(tried > 1000 && both > 1000, "{tried} {both}");
}

/// Members read with `zip` are NPY files, which `ReadNpyExt` reads.
#[test]
fn members_read_by_zip_crate_are_npy_files() {
    let mut npz = WriteOptions::new().npz_writer(Cursor::new(Vec::new())).unwrap();
    npz.add("a", &arr1(&[1.5, 2.5])).unwrap();
    let bytes = npz.finish().unwrap().into_inner();
    let file = content_by_zip(&bytes, "a.npy").unwrap();
    assert_eq!(Array1::<f64>::read_npy(&file[..]).unwrap(), arr1(&[1.5, 2.5]));
}
