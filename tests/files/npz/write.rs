//! Archives that we write and update, compared byte by byte with NumPy's members.

use std::fs::{self, File};
use std::io::{Cursor, Read, Seek, Write};
use std::path::Path;

use ndarray::{Array0, Array1, Array2, Ix1, Ix2, arr0, arr1, arr2, s};
use ndarray_io::error::ErrorKind;
use ndarray_io::{
    ByteOrder, Compression, NpzFile, NpzReader, NpzUpdate, NpzWriter, WriteArray, WriteOptions,
};

use crate::support::manifest::{self, assert_equals_numpys};

type Arrays = [(&'static str, Box<dyn WriteArray>); 5];

fn arrays() -> Arrays {
    let large = Array2::from_shape_fn((700, 300), |(row, column)| ((row * column) % 1000) as f64);
    [
        ("scalar", Box::new(arr0(7u8))),
        ("large", Box::new(large.clone())),
        ("strided", Box::new(large.slice_move(s![..;-2, ..;3]))),
        ("with/slash and space λ", Box::new(arr1(&["a".to_owned(), "bcd".into()]))),
        ("many", Box::new(Array1::from_shape_fn(600_000, |index| (index as f32).sqrt()))),
    ]
}

/// Options for the byte order of `testdata`.
fn little_endian_options(compression: Compression) -> WriteOptions {
    WriteOptions::new().byte_order(ByteOrder::Little).compression(compression)
}

pub(super) fn options() -> [WriteOptions; 4] {
    [
        little_endian_options(Compression::Stored),
        little_endian_options(Compression::Deflated(6)),
        little_endian_options(Compression::Deflated(1)),
        little_endian_options(Compression::Deflated(9)).threads(1),
    ]
}

/// A writer that cannot seek.
struct Pipe(Vec<u8>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let length = bytes.len().min(10_007);
        self.0.extend_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn write_arrays<W: Write>(writer: W, options: &WriteOptions) -> W {
    let mut npz = options.npz_writer(writer).unwrap();
    let large = Array2::from_shape_fn((700, 300), |(row, column)| ((row * column) % 1000) as f64);
    npz.add("scalar", &arr0(7u8)).unwrap();
    npz.add("large", &large).unwrap();
    npz.add("strided", &large.slice(s![..;-2, ..;3])).unwrap();
    npz.add("with/slash and space λ", &arr1(&["a".to_owned(), "bcd".into()])).unwrap();
    npz.add("many", &Array1::from_shape_fn(600_000, |index| (index as f32).sqrt())).unwrap();
    npz.finish().unwrap()
}

fn assert_members_equal_numpys(bytes: Vec<u8>) {
    let mut npz = NpzReader::new(Cursor::new(bytes)).unwrap();
    assert_eq!(npz.names().unwrap(), ["scalar", "large", "strided", "with/slash and space λ", "many"]);
    for (index, name) in ["scalar", "large", "strided", "texts", "many"].into_iter().enumerate() {
        assert_equals_numpys(&npz.read_raw(index).unwrap(), name);
    }
    let texts: Array1<String> = npz.read("with/slash and space λ").unwrap();
    assert_eq!(texts, arr1(&["a".to_owned(), "bcd".into()]));
    assert_eq!(npz.read::<Array1<f32>>("many").unwrap()[599_999], (599_999f32).sqrt());
}

/// Saves an archive to the folder in which `.ci/run` lets other programs check them.
pub(super) fn save_for_other_programs(name: &str, bytes: &[u8]) {
    if let Some(folder) = std::env::var_os("NDARRAY_IO_ARCHIVES") {
        fs::create_dir_all(&folder).unwrap();
        fs::write(Path::new(&folder).join(name), bytes).unwrap();
    }
}

/// Members that are written in pieces equal those that NumPy saves.
#[test]
fn members_written_in_pieces_equal_numpys() {
    for options in options() {
        for rows in [0, 1, 50, 40_000] {
            let array = Array2::from_shape_fn((rows, 3), |(row, column)| (row * 3 + column) as u32);
            let mut npz = options.npz_writer(Vec::new()).unwrap();
            npz.add_pieces("a", (rows, 3), |pieces| {
                array.rows().into_iter().try_for_each(|row| pieces.push(&row))
            })
            .unwrap();
            let mut npz = NpzReader::new(Cursor::new(npz.finish().unwrap())).unwrap();
            assert_equals_numpys(&npz.read_raw("a.npy").unwrap(), &format!("pieces-{rows}"));
        }
    }
}

#[test]
fn missing_pieces_are_an_error() {
    let mut npz = NpzWriter::new(Vec::new());
    let error = npz.add_pieces::<u8, _>("a", 10, |pieces| pieces.extend([1, 2])).unwrap_err();
    assert!(error.message().starts_with("expected 10 elements, found 2"), "{error}");
    assert_eq!(error.member(), Some("a.npy"));
    npz.add_pieces("a", 2, |pieces| pieces.extend([1u8, 2])).unwrap();
    assert!(npz.add_pieces::<f64, _>("large", 1 << 20, |pieces| pieces.extend([1.0])).is_err());
    assert!(npz.add_pieces("b", 1, |pieces| pieces.extend([1u8])).unwrap_err().is_usage());
    assert!(npz.finish().unwrap_err().is_usage());
}

#[test]
fn members_written_to_memory_pipe_and_file_equal_numpys() {
    for (number, options) in options().iter().enumerate() {
        let in_memory = write_arrays(Vec::new(), options);
        let piped = write_arrays(Pipe(Vec::new()), options).0;
        assert_eq!(in_memory, piped);
        let mut file = write_arrays(crate::support::temp::unnamed_file().unwrap(), options);
        let mut from_file = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut from_file).unwrap();
        let folder = crate::support::temp::folder().unwrap();
        let path = folder.path().join("a.npz");
        let all = arrays();
        let named: Vec<(&str, &dyn WriteArray)> = all.iter().map(|(name, array)| (*name, &**array)).collect();
        options.write_npz(&path, &named).unwrap();
        // If the output is seekable, the record before each member has the sizes.
        assert_eq!(from_file, fs::read(&path).unwrap());
        for (way, bytes) in [in_memory, from_file].into_iter().enumerate() {
            save_for_other_programs(&format!("options-{number}-way-{way}.npz"), &bytes);
            assert_members_equal_numpys(bytes);
        }
    }
}

#[cfg(feature = "zstd")]
#[test]
fn members_written_with_zstandard_equal_numpys() {
    for level in [1, 3, 19] {
        let bytes = write_arrays(Pipe(Vec::new()), &little_endian_options(Compression::Zstd(level))).0;
        assert_eq!(
            NpzReader::new(Cursor::new(&bytes)).unwrap().members()[1].method(),
            ndarray_io::npz::Method::Zstd
        );
        save_for_other_programs(&format!("zstd-{level}.npz"), &bytes);
        assert_members_equal_numpys(bytes);
    }
}

#[test]
fn archive_is_equal_for_each_thread_count() {
    let options = WriteOptions::new().compression(Compression::DEFLATE);
    let threads = |threads| write_arrays(Vec::new(), &options.clone().threads(threads));
    assert_eq!(threads(1), threads(3));
}

#[cfg(feature = "mmap")]
#[test]
fn stored_members_are_aligned_and_mapped() {
    use ndarray_io::npz::{NpzMmap, NpzMmapMut};
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npz");
    for before in [64, 63, 1, 0] {
        let mut file = File::create(&path).unwrap();
        file.write_all(&vec![b'#'; before]).unwrap();
        let file = write_arrays(file, &WriteOptions::new());
        drop(file);
        // SAFETY: the file belongs to this test.
        let npz = unsafe { NpzMmap::open(&path).unwrap() };
        npz.verify().unwrap();
        let large = npz.view::<f64, Ix2>("large").unwrap();
        assert_eq!(large.as_ptr().addr() % 64, 0);
        assert_eq!(large[[699, 299]], (699 * 299 % 1000) as f64);
        let strided = npz.view::<f64, Ix2>("strided").unwrap();
        assert_eq!(strided.as_ptr().addr() % 64, 0);
    }
    // SAFETY: as above.
    let mut npz = unsafe { NpzMmapMut::open(&path).unwrap() };
    npz.view_mut::<f64, Ix2>("large").unwrap().fill(3.5);
    npz.view_mut::<u8, ndarray::Ix0>("scalar").unwrap().fill(9);
    npz.sync().unwrap();
    npz.view_mut::<u8, ndarray::Ix0>("scalar").unwrap().fill(10);
    npz.sync().unwrap();
    drop(npz);
    let npz = NpzFile::open(&path).unwrap();
    npz.verify().unwrap();
    assert_eq!(npz.read::<Array2<f64>>("large").unwrap(), Array2::from_elem((700, 300), 3.5));
    assert_eq!(npz.read::<Array0<u8>>("scalar").unwrap(), arr0(10));
    save_for_other_programs("changed-in-a-map.npz", &fs::read(&path).unwrap());
    drop(npz);

    WriteOptions::new().compression(Compression::DEFLATE).write_npz(&path, &[("a", &arr1(&[1.5]))]).unwrap();
    // SAFETY: as above.
    let npz = unsafe { NpzMmap::open(&path).unwrap() };
    let error = npz.view::<f64, Ix1>("a").unwrap_err();
    assert!(error.is_mismatch() && error.help().is_some_and(|help| help.id() == "read"), "{error}");
    assert_eq!(npz.cow::<f64, Ix1>("a").unwrap(), arr1(&[1.5]));
}

#[test]
fn update_adds_replaces_and_removes_members() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npz");
    for options in options() {
        let (a, b, c) = (arr1(&[1, 2]), Array1::from_elem(100_000, 2.5), arr1(&[true]));
        options.write_npz(&path, &[("a", &a), ("b", &b), ("c", &c)]).unwrap();
        let packed = |name: &str| {
            let npz = NpzFile::open(&path).unwrap();
            npz.members().iter().find(|member| member.name() == name).unwrap().compressed_size()
        };
        let before = packed("b");
        let (other, new) = (arr1(&[7u8]), arr2(&[[1i64]]));
        NpzUpdate::open(&path)
            .unwrap()
            .replace("a", &other)
            .unwrap()
            .remove("c")
            .unwrap()
            .add("d", &new)
            .unwrap()
            .finish()
            .unwrap();
        let npz = NpzFile::open(&path).unwrap();
        npz.verify().unwrap();
        assert_eq!(npz.names().unwrap(), ["a", "b", "d"]);
        assert_eq!(npz.read::<Array1<u8>>("a").unwrap(), other);
        assert_eq!(npz.read::<Array1<f64>>("b").unwrap(), b);
        assert_eq!(npz.read::<Array2<i64>>("d").unwrap(), new);
        assert_eq!(packed("b"), before, "it was copied");
        save_for_other_programs(&format!("updated-{before}.npz"), &fs::read(&path).unwrap());
        drop(npz);

        let update = || NpzUpdate::open(&path).unwrap();
        assert!(update().add("a", &a).unwrap_err().message().contains("already has a member named"));
        assert_eq!(update().remove("c").unwrap_err().kind(), ErrorKind::NoSuchName);
        update().remove("a").unwrap().add("a", &c).unwrap().finish().unwrap();
        assert_eq!(NpzFile::open(&path).unwrap().names().unwrap(), ["b", "d", "a"]);
    }
    let in_place = WriteOptions::new().in_place(true);
    assert!(in_place.update_npz(&path).unwrap_err().is_usage());
}

/// Members written by NumPy and others are copied unchanged, for any form of their records.
#[test]
fn update_copies_foreign_members_unchanged() {
    for case in
        manifest::cases_of(&manifest::testdata(), "npz").iter().filter(|case| case.expected_class == "ok")
    {
        let copy = crate::support::ClosedTempFile::new();
        fs::write(copy.path(), &case.bytes).unwrap();
        let one = arr1(&[1.0]);
        NpzUpdate::open(copy.path()).unwrap().add("one more", &one).unwrap().finish().unwrap();
        let (old, new) = (NpzFile::open(&case.path).unwrap(), NpzFile::open(copy.path()).unwrap());
        new.verify().unwrap();
        assert_eq!(new.names().unwrap()[..old.len()], old.names().unwrap());
        assert_eq!(new.read::<Array1<f64>>("one more").unwrap(), one);
        for (old, new) in old.members().iter().zip(new.members()) {
            assert_eq!(
                (old.crc32(), old.size(), old.compressed_size()),
                (new.crc32(), new.size(), new.compressed_size())
            );
        }
    }
}
