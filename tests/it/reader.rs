//! Inspecting arrays before reading them, and consecutive arrays in a stream.

use std::io::{Cursor, Read, Seek, SeekFrom, Write};

use ndarray::{Array1, Array2, ArrayD, arr1, arr2};
use ndarray_io::header::{Extent, Order};
use ndarray_io::npy::Version;
use ndarray_io::{Limits, NpyReader, ReadNpyExt, ReadOptions, WriteNpyExt};

use crate::support::manifest;
use crate::support::routes::ChunkedReader;

fn two_arrays() -> Vec<u8> {
    std::fs::read(manifest::testdata().join("hand-two_arrays.bin")).unwrap()
}

#[test]
fn reader_exposes_header_fields() {
    let bytes = two_arrays();
    let reader = NpyReader::new(&bytes[..]).unwrap();
    let header = reader.npy_header().unwrap();
    assert_eq!(header.version, Version::V1);
    assert_eq!(header.descr, "'<f4'");
    assert_eq!(reader.dtype().to_string(), "'<f4'");
    assert_eq!(reader.order(), Order::C);
    assert_eq!(reader.shape(), [2, 3]);
    assert_eq!(reader.data_offset(), 128);
    assert_eq!(reader.payload_len(), Some(24));
}

#[test]
fn consecutive_arrays_are_read() {
    let bytes = two_arrays();
    for read_first in [true, false] {
        let mut reader = NpyReader::new(ChunkedReader::new(&bytes, |_| 11)).unwrap();
        if read_first {
            assert_eq!(reader.read::<Array2<f32>>().unwrap().shape(), [2, 3]);
        }
        assert!(reader.next_array().unwrap());
        assert_eq!(reader.dtype().to_string(), "'>i2'");
        assert_eq!(reader.read::<Array1<i16>>().unwrap(), arr1(&[0, 0, 0]));
        assert!(!reader.next_array().unwrap());
        assert!(!reader.next_array().unwrap());
        assert!(reader.read_bytes().unwrap_err().is_usage());
    }
}

#[test]
fn reading_leaves_stream_just_after_array() {
    let mut bytes = two_arrays();
    bytes.extend(b"and more");
    let mut slice = &bytes[..];
    Array2::<f32>::read_npy(&mut slice).unwrap();
    Array1::<i16>::read_npy(&mut slice).unwrap();
    assert_eq!(slice, b"and more");

    let mut file = crate::support::temp::unnamed_file().unwrap();
    file.write_all(&bytes).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    ReadOptions::new().read_into(&file, &mut arr2(&[[0f32; 3]; 2])).unwrap();
    let mut reader = NpyReader::new(&mut file).unwrap();
    assert_eq!(reader.extent(), Some(Extent::Long { more: 8 }));
    reader.skip().unwrap();
    assert_eq!(reader.extent(), Some(Extent::Long { more: 8 }));
    let mut rest = String::new();
    reader.into_inner().read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "and more");
}

#[test]
fn read_can_be_retried_with_another_type() {
    let bytes = two_arrays();
    let mut reader = NpyReader::new(&bytes[..]).unwrap();
    assert!(reader.read::<Array2<f64>>().unwrap_err().is_mismatch());
    assert!(reader.read::<Array1<f32>>().unwrap_err().is_mismatch());
    assert_eq!(reader.read::<ArrayD<f32>>().unwrap().len(), 6);
}

#[test]
fn reader_cannot_advance_after_truncated_read() {
    let bytes = two_arrays();
    let mut reader = NpyReader::new(&bytes[..140]).unwrap();
    let error = reader.read::<Array2<f32>>().unwrap_err();
    assert!(error.message().contains("(24 bytes), 12 bytes remain"), "{error}");
    assert!(reader.next_array().unwrap_err().is_usage());
    assert!(NpyReader::new(&bytes[..140]).unwrap().skip().is_err());
}

#[test]
fn truncated_next_header_is_an_error() {
    let mut bytes = two_arrays();
    bytes.truncate(152);
    bytes.extend(b"\x93NUM");
    let mut reader = NpyReader::new(Cursor::new(bytes)).unwrap();
    let error = reader.next_array().unwrap_err();
    assert!(
        error.message().starts_with("truncated: expected a header of at least 10 bytes, found 4"),
        "{error}"
    );
}

/// What follows an array need not be a file of another kind.
#[test]
fn bytes_after_the_last_array_are_trailing() {
    let again = [b"xyzxyz".to_vec(), two_arrays()].concat();
    let beginning_of_magic = b"\x93NUMP".to_vec();
    for (junk, allows) in
        [(b"xyz".to_vec(), false), (b"xyz".to_vec(), true), (again, true), (beginning_of_magic, true)]
    {
        let all = [two_arrays(), junk.clone()].concat();
        let mut file = crate::support::temp::unnamed_file().unwrap();
        file.write_all(&all).unwrap();
        file.rewind().unwrap();
        let mut reader = reader_after_two_arrays(file, allows);
        // A file tells how much follows, and so does its reader after it has been asked for another array.
        if allows {
            assert_eq!(reader.extent().and_then(Extent::trailing), Some(junk.len() as u64));
        }
        reader_after_two_arrays(Cursor::new(all).chain(std::io::empty()), allows);
    }
}

/// Reads up to the bytes after two arrays, which are an error unless they are allowed.
fn reader_after_two_arrays<R: Read>(input: R, allows: bool) -> NpyReader<R> {
    let options = if allows { ReadOptions::new().allow_trailing(true) } else { ReadOptions::new() };
    let mut reader = options.reader(input).unwrap();
    assert!(reader.next_array().unwrap());
    match reader.next_array() {
        // What comes later in the stream is not looked for.
        Ok(has_next) => assert!(allows && !has_next && !reader.next_array().unwrap()),
        Err(error) => assert!(!allows && error.message().starts_with("found at least 3 bytes"), "{error}"),
    }
    reader
}

#[test]
fn payload_bytes_of_object_array_are_read() {
    let folder = manifest::testdata();
    let bytes = std::fs::read(folder.join("dtype-object.npy")).unwrap();
    let mut reader = NpyReader::new(&bytes[..]).unwrap();
    assert_eq!(reader.payload_len(), None);
    let pickle = reader.read_bytes().unwrap();
    assert_eq!(pickle, bytes[reader.data_offset() as usize..]);
    assert!(pickle.starts_with(b"\x80\x04") && pickle.ends_with(b"."));
    assert!(!reader.next_array().unwrap());
    let error = ndarray_io::read_npy::<_, ArrayD<f64>>(folder.join("dtype-object.npy")).unwrap_err();
    assert!(error.to_string().contains("Python objects"), "{error}");
}

#[test]
fn read_into_wrong_shape_is_refused() {
    let mut file = Vec::new();
    arr2(&[[1u8, 2], [3, 4]]).write_npy(&mut file).unwrap();
    let error = ReadOptions::new().read_into(&file[..], &mut Array2::<u8>::zeros((4, 1))).unwrap_err();
    assert!(error.is_mismatch());
    assert!(error.to_string().contains("(2, 2)") && error.to_string().contains("(4, 1)"), "{error}");
}

#[test]
fn array_over_limit_can_be_skipped() {
    let bytes = two_arrays();
    let options = ReadOptions::new().limits(Limits::default().payload(10));
    let mut reader = options.reader(&bytes[..]).unwrap();
    assert!(reader.read::<Array2<f32>>().unwrap_err().is_limit());
    assert!(reader.next_array().unwrap());
    assert_eq!(reader.read::<Array1<i16>>().unwrap().len(), 3);
}

#[test]
fn payload_limit_applies_to_object_bytes() {
    let path = manifest::testdata().join("dtype-object.npy");
    let file = std::fs::File::open(&path).unwrap();
    let length = file.metadata().unwrap().len() - 128;
    let options = |most| ReadOptions::new().limits(Limits::default().payload(most));
    assert!(options(length - 1).reader(&file).unwrap().read_bytes().unwrap_err().is_limit());
    let bytes = std::fs::read(&path).unwrap();
    let stream = |most| options(most).reader(ChunkedReader::new(&bytes, |_| 7)).unwrap().read_bytes();
    assert!(stream(length - 1).unwrap_err().is_limit());
    assert_eq!(stream(length).unwrap().len() as u64, length);
}

#[test]
fn extent_is_none_after_failed_read() {
    let path = manifest::testdata().join("bad-bool-2.bin");
    let mut reader = NpyReader::new(std::fs::File::open(path).unwrap()).unwrap();
    assert_eq!(reader.extent(), Some(Extent::Whole));
    assert_eq!(reader.read::<ArrayD<bool>>().unwrap_err().element(), Some(4));
    assert_eq!(reader.extent(), None);
}
