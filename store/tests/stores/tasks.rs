//! Objects read from asynchronous tasks.

use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::{join_all, try_join_all};
use ndarray::{Array1, Array2, Axis, s};
use ndarray_io::{NpzWriter, ReadOptions};
use ndarray_io_store::{Remote, StoreOptions};

use super::server::{Answer, Server};
use super::{bytes_of, numbers, remote};

fn default_options() -> ReadOptions {
    ReadOptions::new()
}

#[tokio::test]
async fn async_reads_equal_array_parts() {
    let array = numbers(6000, 1000); // 48 MB
    let server = Server::new(&bytes_of(&array));
    let file = remote(&server, "a.npy").open_array_async(&default_options()).await.unwrap();
    assert_eq!((server.take_requests().len(), file.shape()), (1, &[6000, 1000][..]));
    // Far apart: a request for each row, many at a time, as no thread waits for any.
    let rows: Vec<usize> = (0..100).map(|number| 50 + number * 59).collect();
    assert_eq!(file.take::<Array2<u64>>(0, &rows).await.unwrap(), array.select(Axis(0), &rows));
    assert_eq!(server.take_requests().len(), 100);
    // All of it: directly into its memory.
    assert!(file.read::<Array2<u64>>().await.unwrap() == array);
    let parts = s![3000..3100, ..;2];
    assert_eq!(file.slice::<u64, _>(parts).await.unwrap(), array.slice(parts));
    // Several reads of one file at the same time.
    let columns = (0..20).map(|number| file.slice::<u64, _>(s![number * 300, ..]));
    for (number, column) in join_all(columns).await.into_iter().enumerate() {
        assert_eq!(column.unwrap(), array.row(number * 300));
    }
}

#[tokio::test]
async fn blocks_arrive_as_a_stream() {
    let array = numbers(6000, 1000);
    let server = Server::new(&bytes_of(&array));
    let file = remote(&server, "a.npy").open_array_async(&default_options()).await.unwrap();
    let mut row = 0;
    let mut blocks = file.blocks::<Array2<u64>>(1 << 20);
    while let Some(block) = blocks.try_next().await.unwrap() {
        let count = block.array().nrows();
        assert_eq!(block.array(), array.slice(s![row..row + count, ..]));
        row += count;
    }
    assert_eq!(row, 6000);
    // One that is dropped ends its thread; the next one begins again.
    drop(blocks);
    let mut blocks = file.blocks::<Array1<u64>>(1 << 20);
    assert!(blocks.try_next().await.unwrap_err().is_mismatch());
}

#[tokio::test]
async fn archives_are_read_from_tasks() {
    let array = numbers(2000, 1000);
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut npz = NpzWriter::new_compressed(&mut bytes);
    npz.add("packed", &array).unwrap();
    npz.add("small", &numbers(2, 3)).unwrap();
    npz.finish().unwrap();
    let mut stored = std::io::Cursor::new(Vec::new());
    let mut npz = NpzWriter::new(&mut stored);
    // A directory that is longer than what is fetched at first.
    for number in 0..3000 {
        npz.add(format!("{number:050}"), &Array1::from_elem(1, number)).unwrap();
    }
    npz.finish().unwrap();
    let server = Server::new(bytes.get_ref());
    let file = remote(&server, "a.npz").open_npz_async(&default_options()).await.unwrap();
    assert!(file.read::<Array2<u64>>("packed").await.unwrap() == array);
    assert_eq!(file.read::<Array2<u64>>("small").await.unwrap(), numbers(2, 3));
    assert!(file.read::<Array2<u64>>("none").await.unwrap_err().is_not_found());
    let server = Server::new(stored.get_ref());
    let file = remote(&server, "a.npz").open_npz_async(&default_options()).await.unwrap();
    let name = format!("{:050}", 1234);
    assert_eq!(file.read::<Array1<i32>>(&name).await.unwrap()[0], 1234);
}

/// Reads that a server never answers keep no others waiting.
#[tokio::test]
async fn silent_server_does_not_block_other_reads() {
    let array = numbers(6000, 1000);
    let [silent, server] = [(); 2].map(|()| Server::new(&bytes_of(&array)));
    let patient = StoreOptions::new().read_timeout(Duration::from_secs(3600));
    let open = |server: &Server| Remote::parse_with(&server.url("a.npy"), &patient).unwrap();
    let files = (0..64).map(|_| open(&silent)).collect::<Vec<_>>();
    let read = default_options();
    let files = try_join_all(files.iter().map(|file| file.open_array_async(&read))).await.unwrap();
    silent.take_requests();
    silent.answer_with(|_, _| Answer::NoResponse);
    let waiting: Vec<_> = files
        .into_iter()
        .map(|file| tokio::spawn(async move { file.slice::<u64, _>(s![3000..3100, ..]).await.is_ok() }))
        .collect();
    while silent.request_count() < 64 {
        tokio::task::yield_now().await;
    }
    let file = open(&server).open_array_async(&default_options()).await.unwrap();
    assert_eq!(file.slice::<u64, _>(s![3000..3100, ..]).await.unwrap(), array.slice(s![3000..3100, ..]));
    assert!(file.read::<Array2<u64>>().await.unwrap() == array);
    for task in waiting {
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    }
}
