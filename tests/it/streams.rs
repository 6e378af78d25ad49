//! Arrays that come from readers, piece by piece.

use std::io::{self, Read};

use ndarray::{Array1, Array2, Array3, ArrayD, Ix1, Ix2, Ix3, IxDyn, ShapeBuilder, arr1, arr2, s};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::{DynArray, FlatArray, NpyReader, ReadNpyExt, ReadOptions, WriteNpyExt, WriteOptions};

use crate::support::routes::ChunkedReader;

fn npy_bytes(array: &impl WriteNpyExt) -> Vec<u8> {
    let mut file = Vec::new();
    array.write_npy(&mut file).unwrap();
    file
}

/// A reader that has only some bytes for now, and fails if it is asked for more.
struct FailsAfterPrefix<'a>(&'a [u8]);

impl Read for FailsAfterPrefix<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(io::Error::other("asked for what has not come")),
            count => Ok(count),
        }
    }
}

/// What has come from a pipe is returned before more comes.
#[test]
fn rows_are_returned_as_soon_as_received() {
    let file = npy_bytes(&Array2::from_shape_fn((1000, 3), |(row, column)| (row * 10 + column) as u32));
    let mut reader = NpyReader::new(FailsAfterPrefix(&file[..128 + 5 * 12 + 7])).unwrap();
    let mut rows = reader.rows::<u32, Ix2>().unwrap();
    for row in 0..5 {
        assert_eq!(rows.next().unwrap().unwrap(), arr1(&[row * 10, row * 10 + 1, row * 10 + 2]));
    }
    assert!(rows.next().unwrap().unwrap_err().to_string().contains("asked for what has not come"));
    assert!(rows.next().is_none());
}

/// A stream of several arrays, of which only the beginnings are read.
#[test]
fn next_array_skips_rest_of_dropped_iterator() {
    let mut stream = npy_bytes(&Array2::<f64>::ones((5000, 4)));
    stream
        .extend(npy_bytes(&Array3::from_shape_fn((3, 4, 5).f(), |(i, j, k)| (i + 10 * j + 100 * k) as i16)));
    stream.extend(npy_bytes(&arr1(&[7u8])));
    for size in [|_| 1_000_000, |call: usize| 1 + call * 7919 % 5003] {
        let mut reader = NpyReader::new(ChunkedReader::new(&stream, size)).unwrap();
        assert_eq!(reader.rows::<f64, Ix2>().unwrap().take(3).count(), 3);
        let error = reader.read::<DynArray>().unwrap_err();
        assert!(error.kind() == ErrorKind::OutOfTurn && error.help().is_some(), "{error}");
        assert_eq!(reader.blocks::<DynArray>().unwrap_err().kind(), ErrorKind::OutOfTurn);
        assert!(reader.next_array().unwrap());
        // In Fortran order, the last axis is the slowest.
        let planes = reader.chunks::<i16, Ix3>(2, 2).unwrap().take(2).collect::<Result<Vec<_>, _>>().unwrap();
        assert_eq!((planes[1].shape(), planes[1][[2, 3, 1]]), (&[3, 4, 2][..], 332));
        reader.skip().unwrap();
        assert!(reader.next_array().unwrap());
        assert_eq!(reader.read::<Array1<u8>>().unwrap(), arr1(&[7]));
        assert!(!reader.next_array().unwrap());
    }
}

/// Whatever the type, the pieces are what reading all of it gives; and one long axis is divided as well.
#[test]
fn blocks_equal_slices_of_array() {
    for array in [
        Array3::from_shape_fn((4, 5, 6), |(i, j, k)| (i * 30 + j * 6 + k) as f32),
        Array3::from_shape_fn((1, 1, 120).f(), |(_, _, k)| k as f32),
        Array3::from_shape_fn((7, 3, 2).f(), |(i, j, k)| (i + j * 7 + k * 21) as f32),
    ] {
        let array = array.into_dyn();
        let file = npy_bytes(&array);
        for bytes in [1, 10, 33, 1000] {
            let mut reader = NpyReader::new(ChunkedReader::new(&file, |call| 1 + call * 31 % 77)).unwrap();
            let mut numbers = Vec::new();
            for (number, block) in reader.blocks::<FlatArray<f32>>().unwrap().bytes(bytes).enumerate() {
                let block = block.unwrap();
                assert_eq!(block.number(), number);
                let part = array.slice(&block.slice()[..]);
                let in_order = if block.array().order() == Order::C { part } else { part.reversed_axes() };
                assert_eq!(block.array().items(), in_order.iter().copied().collect::<Vec<_>>());
                assert!(block.array().items().len() <= (bytes / 4).max(1));
                numbers.extend_from_slice(block.array().items());
            }
            let whole = FlatArray::<f32>::read_npy(&file[..]).unwrap();
            assert_eq!(numbers, whole.items());
        }
    }
}

#[test]
fn faulty_element_named_by_array_index() {
    let mut file = npy_bytes(&Array2::from_elem((50, 4), true));
    file[128 + 4 * 30 + 2] = 9;
    for size in [|_| 1_000_000, |_| 1] {
        let mut reader = NpyReader::new(ChunkedReader::new(&file, size)).unwrap();
        let mut rows = reader.rows::<bool, Ix2>().unwrap();
        assert_eq!(
            rows.by_ref()
                .take(30)
                .filter(|row| row.as_ref().is_ok_and(|row| *row == arr1(&[true; 4])))
                .count(),
            30
        );
        let error = rows.next().unwrap().unwrap_err();
        assert_eq!((error.element(), error.index()), (Some(122), Some(&[30, 2][..])));
        assert!(rows.next().is_none());
    }
}

/// Elements come one by one, whatever the axes are.
#[test]
fn elements_are_yielded_in_file_order() {
    let file = npy_bytes(&Array3::from_shape_fn((3, 4, 5).f(), |(i, j, k)| (i + 3 * j + 12 * k) as i16));
    let mut reader = NpyReader::new(FailsAfterPrefix(&file[..128 + 2 * 17 + 1])).unwrap();
    let mut elements = reader.elements::<i16>().unwrap();
    assert_eq!(
        elements.by_ref().take(17).collect::<Result<Vec<_>, _>>().unwrap(),
        (0..17).collect::<Vec<_>>()
    );
    assert!(elements.next().unwrap().is_err() && elements.next().is_none());

    let mut two = npy_bytes(&arr2(&[[true, false], [true, true]]));
    two.extend(npy_bytes(&arr2(&[[1u8, 2, 3], [4, 5, 6]])));
    let fault = two.len() - 134 - 2; // the third bool
    let mut reader = NpyReader::new(ChunkedReader::new(&two, |_| 1000)).unwrap();
    assert_eq!(reader.elements::<bool>().unwrap().take(1).count(), 1);
    assert!(reader.next_array().unwrap());
    assert!(reader.elements::<[u8; 2]>().err().unwrap().is_mismatch());
    let parts = reader.elements::<[u8; 3]>().unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(parts, [[1, 2, 3], [4, 5, 6]]);
    assert!(!reader.next_array().unwrap());
    two[fault] = 7;
    let mut reader = NpyReader::new(ChunkedReader::new(&two, |_| 1000)).unwrap();
    let mut elements = reader.elements::<bool>().unwrap();
    assert_eq!(elements.by_ref().take(2).filter(Result::is_ok).count(), 2);
    let error = elements.next().unwrap().unwrap_err();
    assert_eq!((error.element(), error.index()), (Some(2), Some(&[1, 0][..])));
}

#[test]
fn truncated_stream_reports_counts() {
    let file = npy_bytes(&Array2::<f64>::ones((100, 3)));
    let cut = &file[..file.len() - 100];
    let mut reader = NpyReader::new(ChunkedReader::new(cut, |_| 1000)).unwrap();
    let mut rows = reader.rows::<f64, Ix2>().unwrap();
    assert_eq!(rows.by_ref().take(95).filter(Result::is_ok).count(), 95);
    let error = rows.next().unwrap().unwrap_err();
    assert!(error.message().contains("(2400 bytes), 2300 bytes remain"), "{error}");
    drop(rows);
    assert!(reader.next_array().unwrap_err().is_usage());
    // Of a slice, this is known before.
    assert!(NpyReader::new(cut).unwrap().rows::<f64, Ix2>().err().unwrap().is_format());
    // If the rest is skipped, the number counts from the beginning of the elements.
    let mut reader = NpyReader::new(ChunkedReader::new(cut, |_| 1000)).unwrap();
    reader.rows::<f64, Ix2>().unwrap().take(2).for_each(drop);
    assert!(reader.skip().unwrap_err().message().contains("(2400 bytes), 2300 bytes remain"));
}

#[test]
fn unsupported_stream_divisions_are_refused() {
    let file = npy_bytes(&Array2::<f64>::ones((3, 2)));
    let mut reader = NpyReader::new(&file[..]).unwrap();
    let error = reader.chunks::<f64, Ix2>(1, 1).err().unwrap();
    assert!(error.is_usage() && error.to_string().contains("NpyFile"), "{error}");
    assert_eq!(
        reader.chunks::<f64, Ix2>(2, 1).err().unwrap().message(),
        "an array of shape (3, 2) has no axis 2"
    );
    assert!(reader.chunks::<f64, Ix2>(0, 0).err().unwrap().is_usage());
    assert_eq!(
        reader.rows::<f64, Ix1>().err().unwrap().message(),
        "expected an array of 1 axis, found shape (3, 2)"
    );
    // Another type can be tried after the wrong one.
    assert!(reader.rows::<i32, Ix2>().err().unwrap().is_mismatch());
    assert!(reader.blocks::<ArrayD<i32>>().unwrap().next().unwrap().unwrap_err().is_mismatch());
    assert_eq!(reader.rows::<f64, Ix2>().unwrap().filter(Result::is_ok).count(), 3);

    // The parts of an element are not contiguous in Fortran order.
    let fortran = WriteOptions::new().order(Order::Fortran);
    let mut file = Vec::new();
    fortran.write_to(&mut file, &arr2(&[[1u8, 2, 3], [4, 5, 6]])).unwrap();
    let mut reader = NpyReader::new(&file[..]).unwrap();
    let error = reader.rows::<[u8; 3], Ix1>().err().unwrap();
    assert!(error.is_usage(), "{error}");
    assert!(reader.blocks::<Array1<[u8; 3]>>().unwrap().bytes(3).next().unwrap().unwrap_err().is_usage());
    assert_eq!(Array1::<[u8; 3]>::read_npy(&file[..]).unwrap(), arr1(&[[1, 2, 3], [4, 5, 6]]));
    assert!(
        NpyReader::new(&npy_bytes(&Array2::<f64>::ones((0, 2)))[..])
            .unwrap()
            .rows::<f64, Ix2>()
            .unwrap()
            .next()
            .is_none()
    );
}

/// A header that lies about its length costs no more memory than what comes, and its limit is that of a piece.
#[test]
fn stream_shorter_than_declared_is_a_format_error() {
    let head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 200000000), }";
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(head);
    file.resize(127, b' ');
    file.extend(b"\n12345678");
    let mut reader = NpyReader::new(ChunkedReader::new(&file, |_| 100)).unwrap();
    let mut blocks = reader.blocks::<ArrayD<f64>>().unwrap().bytes(8);
    assert_eq!(blocks.next().unwrap().unwrap().ranges(), [0..1, 0..1]);
    assert!(blocks.next().unwrap().unwrap_err().is_format());
    let mut reader = NpyReader::new(ChunkedReader::new(&file, |_| 100)).unwrap();
    assert!(reader.rows::<f64, Ix2>().unwrap().next().unwrap().unwrap_err().is_format());
}

/// A reader that claims to have read more than it was asked for.
struct OverreportingReader;

impl Read for OverreportingReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(into.len() + 1)
    }
}

#[test]
fn excess_count_of_reader_is_reported() {
    let file = npy_bytes(&Array2::<u8>::ones((100, 3)));
    let mut reader = NpyReader::new(file[..128].chain(OverreportingReader)).unwrap();
    let error = reader.rows::<u8, Ix2>().unwrap().next().unwrap().unwrap_err();
    assert!(error.kind() == ErrorKind::BadSource && !error.is_usage(), "{error}");
}

/// Progress is that of the whole array, and its callback can stop in between.
#[test]
fn progress_counts_whole_array_and_cancels() {
    use std::ops::ControlFlow;
    use std::sync::{Arc, Mutex};

    let file = npy_bytes(&Array2::<u8>::ones((100, 10)));
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let options = ReadOptions::new().progress(move |done, all| {
        tell.lock().unwrap().push((done, all));
        if done < 500 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let mut reader = options.reader(ChunkedReader::new(&file, |_| 10)).unwrap();
    let read = reader.chunks::<u8, IxDyn>(0, 10).unwrap().collect::<Vec<_>>();
    assert_eq!(read.last().unwrap().as_ref().unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(*told.lock().unwrap(), [(100, 1000), (200, 1000), (300, 1000), (400, 1000), (500, 1000)]);
}

/// The elements go to memory of the caller.
#[test]
fn elements_are_read_into_callers_bytes() {
    use ndarray_io::{ByteOrder, NpyFile};

    let array = Array3::from_shape_fn((3, 4, 5).f(), |(i, j, k)| (i * 100 + j * 10 + k) as u16);
    let temp_file = crate::support::routes::temp_file(&npy_bytes(&array), 0);
    let file = NpyFile::open(temp_file.path()).unwrap();
    let big = |items: Vec<u16>| items.into_iter().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
    let mut memory = vec![0; 120];
    file.read_into_bytes(&mut memory, Some(ByteOrder::Big)).unwrap();
    assert_eq!(memory, big(array.t().iter().copied().collect()));
    let mut part = vec![0; 24];
    file.slice_into_bytes(s![..;-1, 1..3, ..;3], &mut part, Some(ByteOrder::Big)).unwrap();
    let wanted = array.slice(s![..;-1, 1..3, ..;3]);
    assert_eq!(part, big(wanted.t().iter().copied().collect()));
    file.slice_into_bytes(s![2, .., 2..], &mut part, Some(ByteOrder::Big)).unwrap();
    assert_eq!(part, big(array.slice(s![2, .., 2..]).t().iter().copied().collect()));
    for wrong in [119, 121] {
        let error = file.read_into_bytes(&mut vec![0; wrong], None).unwrap_err();
        assert!(error.message().starts_with("expected shape"), "{error}");
        assert!(file.slice_into_bytes(s![..;-1, .., ..], &mut vec![0; wrong], None).is_err());
    }
    let mut bools = npy_bytes(&arr1(&[true, false]));
    *bools.last_mut().unwrap() = 2;
    let error = NpyReader::new(&bools[..]).unwrap().read_into_bytes(&mut [0; 2], None).unwrap_err();
    assert_eq!(error.element(), Some(1));
}

/// In Fortran order, the parts of an element are not contiguous, even if there is only one.
#[test]
fn fortran_rows_of_one_item_elements_are_refused() {
    let fortran = WriteOptions::new().order(Order::Fortran);
    let mut file = Vec::new();
    fortran.write_to(&mut file, &Array3::<u8>::ones((10, 30, 1))).unwrap();
    let rows = NpyReader::new(&file[..]).unwrap().rows::<[u8; 1], Ix2>().map(Iterator::count);
    assert!(rows.err().unwrap().is_usage());
    let blocks = NpyReader::new(&file[..]).unwrap().blocks::<Array2<[u8; 1]>>().unwrap().bytes(10).count();
    assert_eq!(blocks, 30);
}

/// A reader that panics once, after it has given some bytes.
struct PanickingReader<'a>(&'a [u8], usize);

impl Read for PanickingReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        assert!(self.1 != 4, "the fourth call");
        let most = into.len().min(160);
        (&mut self.0).read(&mut into[..most])
    }
}

/// After a panic of the reader, nothing that it has not given is taken for elements.
#[cfg_attr(target_os = "wasi", ignore = "needs panics that unwind")]
#[test]
fn panicking_reader_yields_no_stale_elements() {
    let file = npy_bytes(&Array1::from_iter(1..=1000u64));
    let mut reader = NpyReader::new(PanickingReader(&file, 0)).unwrap();
    let mut elements = reader.elements::<u64>().unwrap();
    let mut seen = 0;
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        elements.by_ref().for_each(|element| {
            seen += 1;
            assert_eq!(element.unwrap(), seen);
        });
    }));
    assert!(caught.is_err() && seen > 0);
    let error = elements.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfTurn, "{error}");
    assert!(elements.next().is_none());
}

/// How much had come when an iterator was dropped makes no difference.
#[test]
fn skip_after_partial_iteration_reaches_next_array() {
    let mut file = npy_bytes(&Array1::from_iter((0..1000).map(f64::from)));
    file.extend(npy_bytes(&arr1(&[5u8])));
    for size in [|_| 1_000_000, |_| 100] {
        for count in [0, 1, 500, 1000] {
            let mut reader = NpyReader::new(ChunkedReader::new(&file, size)).unwrap();
            assert_eq!(reader.elements::<f64>().unwrap().take(count).count(), count);
            reader.skip().unwrap();
            assert!(reader.skip().unwrap_err().is_usage() && reader.next_array().unwrap());
            assert_eq!(reader.read::<Array1<u8>>().unwrap(), arr1(&[5]));
        }
    }
}

/// A fault near the end of what has come is found in time that is proportional to it.
#[cfg(feature = "derive")]
#[test]
fn failing_element_is_found_in_linear_time() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    static TRY_FROM_CALLS: AtomicUsize = AtomicUsize::new(0);

    #[derive(Debug, ndarray_io::Element)]
    #[element(try_from = "u8")]
    struct Even(#[allow(dead_code)] u8);

    impl TryFrom<u8> for Even {
        type Error = &'static str;

        fn try_from(number: u8) -> Result<Self, Self::Error> {
            TRY_FROM_CALLS.fetch_add(1, Ordering::Relaxed);
            if number.is_multiple_of(2) { Ok(Self(number)) } else { Err("odd") }
        }
    }

    let mut numbers = vec![2u8; 50_000];
    *numbers.last_mut().unwrap() = 3;
    let file = npy_bytes(&numbers);
    let mut reader = NpyReader::new(&file[..]).unwrap();
    let found = reader.elements::<Even>().unwrap().collect::<Vec<_>>();
    assert_eq!((found.len(), found[49_999].as_ref().unwrap_err().element()), (50_000, Some(49_999)));
    assert!(TRY_FROM_CALLS.swap(0, Ordering::Relaxed) <= 100_001);
    let mut reader = NpyReader::new(&file[..]).unwrap();
    assert_eq!(reader.rows::<Even, Ix1>().unwrap().filter(Result::is_ok).count(), 49_999);
    assert!(TRY_FROM_CALLS.load(Ordering::Relaxed) <= 100_001);
}

/// What is asked of the callback is asked once, and its answer is heard.
#[test]
fn cancellation_returned_once_stops_reading() {
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicU64, Ordering};

    static DONE_BYTES: AtomicU64 = AtomicU64::new(0);

    let file = npy_bytes(&Array1::from_iter((0..10_000).map(f64::from)));
    let options = ReadOptions::new().progress(|done, all| {
        let before = DONE_BYTES.swap(done, Ordering::Relaxed);
        assert!(done >= before && all == 80_000, "{before} {done}");
        if before < 1000 && done >= 1000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let mut reader = options.reader(&file[..]).unwrap();
    let last = reader.elements::<f64>().unwrap().last().unwrap();
    assert_eq!(last.unwrap_err().kind(), ErrorKind::Cancelled);
}

/// Lengths that would overflow, elements without bytes, and arrays without elements.
#[test]
fn extreme_lengths_and_empty_arrays_are_read_or_refused() {
    let file = npy_bytes(&Array1::from_iter(0..10u8));
    let mut reader = NpyReader::new(&file[..]).unwrap();
    assert_eq!(
        reader.chunks::<u8, Ix1>(0, usize::MAX).unwrap().map(|chunk| chunk.unwrap().len()).sum::<usize>(),
        10
    );
    let none = npy_bytes(&Array2::<u8>::zeros((3, 0)));
    assert_eq!(
        NpyReader::new(&none[..]).unwrap().elements::<[u8; 0]>().unwrap().filter(Result::is_ok).count(),
        3
    );
    assert_eq!(
        NpyReader::new(&none[..]).unwrap().rows::<u8, Ix2>().unwrap().filter(Result::is_ok).count(),
        3
    );
    // A wrong type is told of although there is no element.
    let empty = npy_bytes(&Array1::<i32>::zeros(0));
    let reader = || NpyReader::new(&empty[..]).unwrap();
    assert!(reader().elements::<f64>().err().unwrap().is_mismatch());
    assert!(reader().rows::<f64, Ix1>().err().unwrap().is_mismatch());
    assert!(reader().blocks::<Array1<f64>>().unwrap().next().unwrap().unwrap_err().is_mismatch());
    assert!(reader().blocks::<Array1<i32>>().unwrap().next().is_none());
    // A few bytes cannot keep a program busy for ever.
    let endless = ndarray_io::npy::format(
        &ndarray_io::header::Header::new(
            "|u1".parse().unwrap(),
            Order::C,
            [1 << (usize::BITS - 8), 0].into(),
        )
        .unwrap(),
        None,
    );
    let error = NpyReader::new(&endless.unwrap()[..]).unwrap().rows::<u8, Ix2>().err().unwrap();
    assert!(error.is_limit(), "{error}");
}
