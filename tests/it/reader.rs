//! Inspecting arrays before reading them, and consecutive arrays in a stream.

use std::io::{Cursor, Read, Seek, SeekFrom, Write};

use ndarray::{Array1, Array2, ArrayD, arr1, arr2};
use ndarray_io::error::{ErrorKind, FileSection};
use ndarray_io::file::Extent;
use ndarray_io::header::Order;
use ndarray_io::npy::Version;
use ndarray_io::{Limits, NpyReader, ReadNpyExt, ReadNpyIntoExt, ReadOptions, WriteNpyExt};

use crate::support::manifest;
use crate::support::routes::Chunks;

fn two_arrays() -> Vec<u8> {
    std::fs::read(manifest::testdata().join("hand-two_arrays.bin")).unwrap()
}

#[test]
fn what_a_header_says_is_shown() {
    let bytes = two_arrays();
    let reader = NpyReader::new(&bytes[..]).unwrap();
    assert_eq!(reader.version(), Version::V1);
    assert_eq!(reader.descr_text(), "'<f4'");
    assert_eq!(reader.dtype().to_string(), "'<f4'");
    assert_eq!(reader.order(), Order::C);
    assert_eq!(reader.shape(), [2, 3]);
    assert_eq!(reader.data_offset(), 128);
    assert_eq!(reader.payload_len(), Some(24));
}

#[test]
fn arrays_in_a_row() {
    let bytes = two_arrays();
    for read_first in [true, false] {
        let mut reader = NpyReader::new(Chunks::new(&bytes, |_| 11)).unwrap();
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
fn a_stream_is_left_right_behind_an_array() {
    let mut bytes = two_arrays();
    bytes.extend(b"and more");
    let mut slice = &bytes[..];
    Array2::<f32>::read_npy(&mut slice).unwrap();
    Array1::<i16>::read_npy(&mut slice).unwrap();
    assert_eq!(slice, b"and more");

    let mut file = crate::support::temp::unnamed().unwrap();
    file.write_all(&bytes).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    arr2(&[[0f32; 3]; 2]).read_npy_into(&file).unwrap();
    let mut reader = NpyReader::new(&mut file).unwrap();
    assert_eq!(reader.extent(), Some(Extent::Long { more: 8 }));
    reader.skip().unwrap();
    assert_eq!(reader.extent(), Some(Extent::Long { more: 8 }));
    let mut rest = String::new();
    reader.into_inner().read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "and more");
}

#[test]
fn another_type_can_be_tried() {
    let bytes = two_arrays();
    let mut reader = NpyReader::new(&bytes[..]).unwrap();
    assert!(reader.read::<Array2<f64>>().unwrap_err().is_mismatch());
    assert!(reader.read::<Array1<f32>>().unwrap_err().is_mismatch());
    assert_eq!(reader.read::<ArrayD<f32>>().unwrap().len(), 6);
}

#[test]
fn an_error_loses_the_place() {
    let bytes = two_arrays();
    let mut reader = NpyReader::new(&bytes[..140]).unwrap();
    let error = reader.read::<Array2<f32>>().unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Truncated { part: FileSection::Payload { .. }, need: 24, have: 12, .. }
        ),
        "{error}"
    );
    assert!(reader.next_array().unwrap_err().is_usage());
    assert!(NpyReader::new(&bytes[..140]).unwrap().skip().is_err());
}

#[test]
fn what_follows_has_to_be_an_array() {
    let mut bytes = two_arrays();
    bytes.truncate(152);
    bytes.extend(b"\x93NUM");
    let mut reader = NpyReader::new(Cursor::new(bytes)).unwrap();
    let error = reader.next_array().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Truncated { part: FileSection::Preamble, need: 10, have: 4, .. }),
        "{error}"
    );
}

#[test]
fn bytes_are_given_for_every_dtype() {
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
fn into_needs_the_shape() {
    let mut file = Vec::new();
    arr2(&[[1u8, 2], [3, 4]]).write_npy(&mut file).unwrap();
    let error = Array2::<u8>::zeros((4, 1)).read_npy_into(&file[..]).unwrap_err();
    assert!(error.is_mismatch());
    assert!(error.to_string().contains("(2, 2)") && error.to_string().contains("(4, 1)"), "{error}");
}

#[test]
fn what_is_over_a_limit_can_be_passed_over() {
    let bytes = two_arrays();
    let options = ReadOptions::new().limits(Limits::default().payload(10));
    let mut reader = NpyReader::new_with(&bytes[..], &options).unwrap();
    assert!(reader.read::<Array2<f32>>().unwrap_err().is_limit());
    assert!(reader.next_array().unwrap());
    assert_eq!(reader.read::<Array1<i16>>().unwrap().len(), 3);
}

#[test]
fn objects_are_bound_by_the_limit_too() {
    let path = manifest::testdata().join("dtype-object.npy");
    let file = std::fs::File::open(&path).unwrap();
    let length = file.metadata().unwrap().len() - 128;
    let options = |most| ReadOptions::new().limits(Limits::default().payload(most));
    assert!(NpyReader::new_with(&file, &options(length - 1)).unwrap().read_bytes().unwrap_err().is_limit());
    let bytes = std::fs::read(&path).unwrap();
    let stream = |most| NpyReader::new_with(Chunks::new(&bytes, |_| 7), &options(most)).unwrap().read_bytes();
    assert!(stream(length - 1).unwrap_err().is_limit());
    assert_eq!(stream(length).unwrap().len() as u64, length);
}

#[test]
fn a_lost_place_has_no_surplus() {
    let path = manifest::testdata().join("bad-bool-2.bin");
    let mut reader = NpyReader::new(std::fs::File::open(path).unwrap()).unwrap();
    assert_eq!(reader.extent(), Some(Extent::Whole));
    assert_eq!(reader.read::<ArrayD<bool>>().unwrap_err().element(), Some(4));
    assert_eq!(reader.extent(), None);
}
