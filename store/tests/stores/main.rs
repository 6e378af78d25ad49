//! Objects in stores: the data that is read, the requests that are made, and the handling of wrong answers.
//! The tests start their own servers; `.ci/check_stores.py` uses real ones.

mod bucket;
mod names;
mod real;
mod server;
mod tasks;
mod uploads;
mod wrong;

use ndarray::{Array1, Array2, Array3, ArrayD, Axis, Ix2, s};
use ndarray_io::dask::NpyStack;
use ndarray_io::{DynArray, NpzWriter, ReadOptions, WriteNpyExt};
use ndarray_io_store::{Remote, StoreOptions};
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use server::{Request, Server};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn bytes_of<T: WriteNpyExt + ?Sized>(array: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).unwrap();
    bytes
}

pub(crate) fn numbers(rows: usize, columns: usize) -> Array2<u64> {
    Array2::from_shape_fn((rows, columns), |(row, column)| (row * columns + column) as u64)
}

pub(crate) fn remote(server: &Server, name: &str) -> Remote {
    Remote::parse_with(&server.url(name), &StoreOptions::new().retries(2)).unwrap()
}

/// A remote object with few retries and a short timeout.
pub(crate) fn remote_with_short_timeout(server: &Server, name: &str) -> Remote {
    let options = StoreOptions::new().retries(2).read_timeout(Duration::from_millis(500));
    Remote::parse_with(&server.url(name), &options).unwrap()
}

pub(crate) fn requested_bytes(requests: &[Request]) -> u64 {
    requests.iter().filter_map(|request| request.range.clone()).map(|range| range.end - range.start).sum()
}

#[test]
fn small_array_takes_one_request() {
    let array = numbers(100, 7);
    let server = Server::new(&bytes_of(&array));
    let file = remote(&server, "a.npy").open_array().unwrap();
    assert_eq!((file.shape(), file.read::<Array2<u64>>().unwrap()), (&[100, 7][..], array.clone()));
    assert_eq!(file.slice::<u64, _>(s![3.., ..;2]).unwrap(), array.slice(s![3.., ..;2]));
    assert_eq!(server.take_requests().len(), 1);
}

/// What is read in sequence is on its way before it is asked for, and only once.
#[test]
fn blocks_in_sequence_are_fetched_ahead() {
    let array = numbers(6000, 1000); // 48 MB
    let bytes = bytes_of(&array);
    let server = Server::new(&bytes);
    // Limits of its own: other tests use the same by default.
    let options = StoreOptions::new().in_flight(128 << 20);
    let file = Remote::parse_with(&server.url("a.npy"), &options).unwrap().open_array().unwrap();
    server.take_requests();
    server.answer_together(bytes.len() as u64 / 2, 2);
    let mut row = 0;
    for block in file.blocks::<Array2<u64>>().bytes(1 << 20) {
        let block = block.unwrap();
        let count = block.array().nrows();
        assert_eq!(block.array(), array.slice(s![row..row + count, ..]));
        row += count;
    }
    assert_eq!(row, 6000);
    let requests = server.take_requests();
    assert!(requests.len() < 20 && server.max_concurrent_requests() > 1, "{}", requests.len());
    assert!(requested_bytes(&requests) < bytes.len() as u64 + (1 << 20), "{}", requested_bytes(&requests));
    // Single blocks here and there are fetched alone.
    for start in [5000, 100, 3000, 50] {
        file.slice::<u64, _>(s![start..start + 20, ..]).unwrap();
    }
    assert_eq!(server.take_requests().len(), 4);
}

#[test]
fn in_flight_and_request_limits_are_kept() {
    let array = numbers(6000, 1000); // 48 MB
    let server = Server::new(&bytes_of(&array));
    let options = StoreOptions::new().in_flight(16 << 20);
    let file = Remote::parse_with(&server.url("a.npy"), &options).unwrap().open_array().unwrap();
    assert!(file.read::<Array2<u64>>().unwrap() == array);
    assert_eq!(server.max_concurrent_requests(), 1);
    // Small ones at the same time, as far as they are not too many.
    let options = StoreOptions::new().requests(3);
    let file = Remote::parse_with(&server.url("a.npy"), &options).unwrap().open_array().unwrap();
    let rows: Vec<usize> = (0..50).map(|number| number * 100).collect();
    assert_eq!(file.take::<Array2<u64>>(0, &rows).unwrap(), array.select(Axis(0), &rows));
    assert!(server.max_concurrent_requests() <= 3);
}

#[test]
fn shared_limits_leave_each_object_one_request() {
    let array = numbers(6000, 1000); // 48 MB
    let server = Server::new(&bytes_of(&array));
    let options = StoreOptions::new().in_flight(16 << 20).part_size(4 << 20);
    let open = |name| Remote::parse_with(&server.url(name), &options).unwrap().open_array().unwrap();
    let files = ["a.npy", "b.npy", "c.npy"].map(open);
    server.answer_together(0, 2);
    std::thread::scope(|scope| {
        for file in &files {
            scope.spawn(|| assert!(file.read::<Array2<u64>>().unwrap() == array));
        }
    });
    let requests = server.take_requests();
    let len = |request: &Request| request.range.as_ref().map_or(0, |range| range.end - range.start);
    assert!(requests.iter().all(|request| len(request) <= 4 << 20));
    // Four are shared, and each object may have one.
    assert!((2..=4 + 3).contains(&server.max_concurrent_requests()), "{}", server.max_concurrent_requests());
    // What is fetched ahead of those who do not read on is part of the limit: 16 MiB, and what each of them has asked for.
    let blocks: Vec<_> = files
        .iter()
        .map(|file| {
            let mut blocks = file.blocks::<Array2<u64>>().bytes(1 << 20);
            (0..4).for_each(|_| drop(blocks.next().unwrap().unwrap()));
            blocks
        })
        .collect();
    assert!(requested_bytes(&server.take_requests()) <= (16 << 20) + 3 * (8 << 20));
    drop(blocks);
}

#[test]
fn whole_array_of_48_mb_takes_three_requests() {
    let array = numbers(6000, 1000); // 48 MB
    let server = Server::new(&bytes_of(&array));
    let file = remote(&server, "a.npy").open_array().unwrap();
    server.take_requests();
    assert!(file.read::<Array2<u64>>().unwrap() == array);
    let requests = server.take_requests();
    // Opening has fetched 64 KiB: the header of 128 bytes, and the first elements.
    assert_eq!((requested_bytes(&requests), requests.len()), (48_000_000 - (65_536 - 128), 3));
    assert!(requests.iter().all(|request| request.if_match.as_deref() == Some("\"one\"")));
    // With a conversion to another type, and into memory with other strides.
    let floats: Array2<f64> = {
        let options = ReadOptions::new().casting(ndarray_io::Casting::SameKind);
        remote(&server, "a.npy").open_array_with(&options).unwrap().read().unwrap()
    };
    assert!(floats == array.mapv(|number| number as f64));
    let mut turned = Array2::<u64>::zeros((1000, 6000)).reversed_axes();
    file.slice_into(s![.., ..], &mut turned).unwrap();
    assert!(turned == array);
    assert!(server.max_concurrent_requests() <= 8, "{}", server.max_concurrent_requests());
}

#[test]
fn slices_fetch_no_more_than_twice_what_they_need() {
    let array = numbers(20_000, 50); // 8 MB
    let bytes = bytes_of(&array);
    let server = Server::new(&bytes);
    let file = remote(&server, "a.npy").open_array().unwrap();
    server.take_requests();
    // Gaps below 1 KiB between runs are fetched as well: a separate request would cost as much.
    let check = |needed: u64, most: usize, what: &str| {
        let requests = server.take_requests();
        assert!(
            requested_bytes(&requests) <= 2 * needed,
            "{what}: {} for {needed}",
            requested_bytes(&requests)
        );
        assert!(requests.len() <= most, "{what}: {} requests", requests.len());
    };
    assert_eq!(file.slice::<u64, _>(s![15_000..15_100, ..]).unwrap(), array.slice(s![15_000..15_100, ..]));
    check(40_000, 1, "rows");
    assert_eq!(file.slice::<u64, _>(s![9000..9100;10, ..]).unwrap(), array.slice(s![9000..9100;10, ..]));
    check(4000, 10, "rows far apart");
    assert_eq!(
        file.slice::<u64, _>(s![9000..9100;-1, ..;-2]).unwrap(),
        array.slice(s![9000..9100;-1, ..;-2])
    );
    check(20_000, 1, "every second column");
    assert_eq!(file.slice::<u64, _>(s![9000..9020, 3..5]).unwrap(), array.slice(s![9000..9020, 3..5]));
    check(20 * 400, 1, "two columns");
    let taken: Array2<u64> = file.take(0, &[19_999, 7000, 7001, 19_999, 12_000]).unwrap();
    assert_eq!(taken, array.select(Axis(0), &[19_999, 7000, 7001, 19_999, 12_000]));
    check(1600, 3, "listed rows");
    let mut rows = 0;
    for chunk in file.chunks::<u64, Ix2>(0, 8000).unwrap() {
        let chunk = chunk.unwrap();
        assert_eq!(chunk, array.slice(s![rows..rows + chunk.nrows(), ..]));
        rows += chunk.nrows();
    }
    assert_eq!(rows, 20_000);
    check(8_000_000, 3, "chunks");
}

/// Every slice of every layout equals the one that ndarray takes.
#[test]
fn slices_of_stored_arrays_equal_ndarrays() {
    let array = Array3::from_shape_fn((40, 30, 20), |(a, b, c)| (a * 10_000 + b * 100 + c) as u32);
    for is_fortran in [false, true] {
        let bytes = match is_fortran {
            false => bytes_of(&array),
            true => bytes_of(&array.t().as_standard_layout().into_owned().reversed_axes()),
        };
        // A header of 100 kB, so that opening the file fetches no elements.
        let server = Server::new(&bytes);
        let file = remote(&server, "a.npy").open_array().unwrap();
        let info = [
            s![.., .., ..],
            s![1..7;3, ..;-1, 2..9],
            s![39.., 5..6, ..;7],
            s![..;-13, 29.., 19..],
            s![0..0, .., ..],
        ];
        for slice in info {
            assert_eq!(file.slice::<u32, _>(slice).unwrap(), array.slice(slice), "{slice:?}");
        }
        for axis in 0..3 {
            let taken: ArrayD<u32> = file.take(axis, &[3, 19, 3, 0]).unwrap();
            assert_eq!(taken, array.select(Axis(axis), &[3, 19, 3, 0]).into_dyn());
        }
    }
}

#[test]
fn archive_member_takes_at_most_three_requests() {
    let (small, large) = (numbers(10, 3), numbers(9000, 100));
    let mut npz = NpzWriter::new(Vec::new());
    npz.add("small", &small).unwrap();
    npz.add("large", &large).unwrap();
    npz.add("other", &numbers(20_000, 10)).unwrap();
    let server = Server::new(&npz.finish().unwrap());
    let open = || remote(&server, "a.npz").open_npz().unwrap();
    assert_eq!(open().names().unwrap(), ["small", "large", "other"]);
    assert_eq!(server.take_requests().len(), 1);
    assert_eq!(open().read::<Array2<u64>>("small").unwrap(), small);
    assert!(server.take_requests().len() <= 2);
    assert!(open().read::<Array2<u64>>("large").unwrap() == large);
    let requests = server.take_requests();
    assert!(requests.len() <= 3 && requested_bytes(&requests) <= 7_200_000 + (200 << 10), "{requests:?}");
    let row: Array1<u64> = open().open_member("large").unwrap().slice(s![8000, ..]).unwrap();
    assert_eq!(row, large.row(8000));
    let requests = server.take_requests();
    assert!(requests.len() <= 3 && requested_bytes(&requests) <= 200 << 10, "{requests:?}");
    open().verify().unwrap();
}

#[test]
fn blocks_of_a_compressed_member_are_fetched_alone() {
    // Data that deflate compresses to about half its size.
    let mut state = 1u64;
    let array = Array2::from_shape_fn((1000, 1000), |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 32
    });
    let mut npz = NpzWriter::new_compressed(Vec::new());
    npz.add("a", &array).unwrap();
    let archive = npz.finish().unwrap();
    assert!(archive.len() > 4_000_000, "{}", archive.len());
    let server = Server::new(&archive);
    let npz = remote(&server, "a.npz").open_npz().unwrap();
    let member = npz.open_member("a").unwrap();
    server.take_requests();
    assert_eq!(member.slice::<u64, _>(s![600, ..]).unwrap(), array.row(600));
    let requests = server.take_requests();
    assert!(requests.len() <= 1 && requested_bytes(&requests) <= 1 << 20, "{requests:?}");
    assert!(npz.read::<Array2<u64>>("a").unwrap() == array);
    assert!(member.read::<Array2<u64>>().unwrap() == array);

    // An archive from another writer has no index: it is decompressed from the start.
    let mut other = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    other.start_file("b.npy", zip::write::SimpleFileOptions::default()).unwrap();
    other.write_all(&bytes_of(&array)).unwrap();
    let other = other.finish().unwrap().into_inner();
    let len = other.len() as u64;
    let server = Server::new(&other);
    let npz = remote(&server, "b.npz").open_npz().unwrap();
    server.take_requests();
    assert!(npz.read::<Array2<u64>>("b").unwrap() == array);
    let requests = server.take_requests();
    assert!(requests.len() <= 8 && requested_bytes(&requests) <= len + (200 << 10), "{requests:?}");
    assert_eq!(npz.open_member("b").unwrap().slice::<u64, _>(s![600, ..]).unwrap(), array.row(600));
}

#[test]
fn ra_object_equals_the_local_file() {
    let path = "../testdata/ra/c8-5-big.ra";
    let server = Server::new(&std::fs::read(path).unwrap());
    let file = remote(&server, "a.ra").open_array().unwrap();
    let local = ndarray_io::NpyFile::open(path).unwrap();
    assert_eq!((file.shape(), file.dtype()), (local.shape(), local.dtype()));
    assert!(
        file.read::<ndarray_io::DynArray>().unwrap().bytes()
            == local.read::<ndarray_io::DynArray>().unwrap().bytes()
    );
}

/// Stacks written by Dask are read, in C and Fortran order and along any axis.
#[test]
fn stack_in_a_store_equals_the_local_one() {
    for name in ["axis1", "zero", "records"] {
        let folder = std::path::Path::new("../testdata/stacks").join(name);
        let local: DynArray = NpyStack::open(&folder).unwrap().read().unwrap();
        let store = Arc::new(InMemory::new());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let to = format!("data/{}", path.file_name().unwrap().to_str().unwrap());
            let bytes = std::fs::read(path).unwrap();
            runtime.block_on(store.put(&to.as_str().into(), bytes.into())).unwrap();
        }
        let remote = Remote::in_bucket(store.clone(), "data").unwrap();
        let stack = NpyStack::from_folder(remote.clone(), &ReadOptions::new()).unwrap();
        let read: DynArray = stack.read().unwrap();
        assert_eq!(
            (read.shape(), read.dtype(), read.bytes()),
            (local.shape(), local.dtype(), local.bytes()),
            "{name}"
        );
        assert_eq!(stack.part(1).unwrap().shape().len(), local.shape().len());
        // Without `info`, the parts are found by listing the folder.
        if name == "zero" {
            runtime.block_on(store.delete(&"data/info".into())).unwrap();
            let stack = NpyStack::from_folder(remote.clone(), &ReadOptions::new()).unwrap();
            assert_eq!(stack.shape(), local.shape());
        }
    }
    let nothing = Remote::in_bucket(Arc::new(InMemory::new()), "nothing").unwrap();
    assert!(NpyStack::from_folder(nothing.clone(), &ReadOptions::new()).unwrap_err().is_not_found());
}

#[test]
fn blocking_and_async_reads_work_within_a_task() {
    let array = numbers(3000, 1000);
    let server = Server::new(&bytes_of(&array));
    let remote = remote(&server, "a.npy");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        // A blocking call within a task.
        let file = remote.open_array().unwrap();
        assert_eq!(file.slice::<u64, _>(s![2000, ..]).unwrap(), array.row(2000));
        let file = remote.open_array_async(&ReadOptions::new()).await.unwrap();
        assert_eq!(file.shape(), [3000, 1000]);
        assert!(file.read::<Array2<u64>>().await.unwrap() == array);
        let column: Array1<u64> = file.slice(s![..20, 3]).await.unwrap();
        assert_eq!(column, array.slice(s![..20, 3]));
        let taken: Array2<u64> = file.take(0, &[5, 2]).await.unwrap();
        assert_eq!(taken, array.select(Axis(0), &[5, 2]));
        // A method that has none of its own.
        let last = file.run(|file| file.rows::<u64, ndarray::Ix2>()?.last().unwrap()).await.unwrap();
        assert_eq!(last, array.row(2999));
    });
}
