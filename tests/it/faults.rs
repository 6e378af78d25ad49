//! Truncated files, and readers and writers that fail, return wrong counts, or transfer few bytes at a time.

use std::io::{self, Read, Write};

use ndarray::{Array2, ArrayD, ArrayView2, Axis, arr2};
use ndarray_io::error::ErrorKind;
use ndarray_io::{ReadNpyExt, Result, ViewNpyExt, WriteNpyExt};

use crate::support::native_descr;
use crate::support::routes::{Aligned, ChunkedReader, temp_file};

fn array_and_file() -> (Array2<f64>, Vec<u8>) {
    let array = arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).unwrap();
    (array, bytes)
}

#[test]
fn truncation_at_any_byte_reports_needed_and_present() {
    let (_, bytes) = array_and_file();
    for length in 0..bytes.len() {
        let cut = &bytes[..length];
        let reads: [Result<Array2<f64>>; 4] = [
            Array2::read_npy(cut),
            Array2::read_npy(ChunkedReader::new(cut, |call| call % 2 * 7)),
            ndarray_io::read_npy(temp_file(cut, 0).path()),
            ArrayView2::view_npy(&Aligned::new(cut)).map(|view| view.to_owned()),
        ];
        for read in reads {
            let error = read.unwrap_err();
            let expected = match length {
                0 => "expected a header of at least 10 bytes, found nothing".to_owned(),
                1..10 => format!("expected a header of at least 10 bytes, found {length}"),
                10..128 => format!("expected 128 bytes of header, found {length}"),
                _ => format!("(48 bytes), {} bytes remain", length - 128),
            };
            assert_eq!(error.kind(), ErrorKind::Truncated, "{length}: {error}");
            assert!(error.message().contains(&expected), "{length}: {error}");
            assert_eq!(io::Error::from(error).kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}

#[test]
fn truncation_message_counts_bytes() {
    let (_, bytes) = array_and_file();
    let cut = temp_file(&bytes[..150], 0);
    let error = ndarray_io::read_npy::<_, Array2<f64>>(cut.path()).unwrap_err();
    let expected = format!(
        "{}: truncated: the header declares 2 × 3 elements of {} (48 bytes), 22 bytes remain",
        cut.path().display(),
        native_descr("'<f8'")
    );
    assert_eq!(error.to_string(), expected);
}

/// A reader that returns some bytes and then fails or returns a wrong count.
struct FaultyReader<'a> {
    bytes: &'a [u8],
    read_at_end: fn(&mut [u8]) -> io::Result<usize>,
}

impl Read for FaultyReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.bytes.is_empty() {
            true => (self.read_at_end)(into),
            false => self.bytes.read(into),
        }
    }
}

#[test]
fn failing_reader_is_an_io_error() {
    let (_, bytes) = array_and_file();
    for length in [0, 5, 10, 60, 128, 150] {
        let would_block =
            FaultyReader { bytes: &bytes[..length], read_at_end: |_| Err(io::ErrorKind::WouldBlock.into()) };
        let error = Array2::<f64>::read_npy(would_block).unwrap_err();
        assert_eq!(error.as_io().map(io::Error::kind), Some(io::ErrorKind::WouldBlock), "{error}");
        let liar = FaultyReader { bytes: &bytes[..length], read_at_end: |into| Ok(into.len() + 1) };
        assert!(Array2::<f64>::read_npy(liar).unwrap_err().is_io());
    }
}

/// A writer that accepts a limited number of bytes per call, with a fault at one of the calls.
struct FaultyWriter {
    max_per_call: usize,
    calls: usize,
    fault: (usize, fn(usize) -> io::Result<usize>),
    written: Vec<u8>,
    is_flushed: bool,
}

impl FaultyWriter {
    fn new(max_per_call: usize, fault: (usize, fn(usize) -> io::Result<usize>)) -> Self {
        Self { max_per_call, calls: 0, fault, written: Vec::new(), is_flushed: false }
    }
}

impl Write for FaultyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        self.is_flushed = false;
        if self.calls == self.fault.0 {
            return (self.fault.1)(bytes.len());
        }
        let length = self.max_per_call.min(bytes.len());
        self.written.extend_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.is_flushed = true;
        Ok(())
    }
}

#[test]
fn short_and_interrupted_writes_are_completed() {
    let (array, bytes) = array_and_file();
    let strided = array.view().permuted_axes([1, 0]).slice_move(ndarray::s![..;-1, ..]);
    let mut expected = Vec::new();
    strided.write_npy(&mut expected).unwrap();
    for max_per_call in [1, 7, 100, 1000] {
        let interrupted: fn(usize) -> io::Result<usize> = |_| Err(io::ErrorKind::Interrupted.into());
        let mut writer = FaultyWriter::new(max_per_call, (2, interrupted));
        array.write_npy(&mut writer).unwrap();
        assert!(writer.written == bytes && writer.is_flushed);
        let mut writer = FaultyWriter::new(max_per_call, (1, interrupted));
        strided.write_npy(&mut writer).unwrap();
        assert!(writer.written == expected && writer.is_flushed);
    }
}

#[test]
fn writer_failure_at_any_call_is_an_error() {
    let large = ArrayD::from_shape_fn(vec![300, 200, 10], |index| index[0] as f64);
    let strided = large.view().permuted_axes(vec![2, 1, 0]);
    let faults: [fn(usize) -> io::Result<usize>; 3] =
        [|_| Ok(0), |length| Ok(length + 1), |_| Err(io::ErrorKind::StorageFull.into())];
    for fault in faults {
        for call in 1..=5 {
            let error = large.write_npy(FaultyWriter::new(1 << 20, (call, fault))).unwrap_err();
            assert!(error.is_io());
            assert!(
                large
                    .slice(ndarray::s![.., ..;-1, ..])
                    .write_npy(FaultyWriter::new(1 << 20, (call, fault)))
                    .is_err()
            );
            assert!(
                strided.index_axis(Axis(0), 0).write_npy(FaultyWriter::new(100_000, (call, fault))).is_err()
            );
        }
    }
}
