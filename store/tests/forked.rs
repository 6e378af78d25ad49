//! A process that was forked: what its parent has opened is the parent's, and it opens its own. A program of its own, because a thread
//! of another test could hold a lock at that moment.

#![cfg(unix)]
#![allow(unsafe_code)]

#[path = "stores/server.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod server;

use std::io::Write;

use ndarray::{Array2, s};
use ndarray_io::WriteNpyExt;
use ndarray_io::error::ErrorKind;
use ndarray_io_store::{Remote, StoreOptions, UploadOptions};
use object_store::memory::InMemory;
use server::Server;

#[test]
fn file_opened_before_a_fork_is_refused_in_the_child() {
    let array = Array2::from_shape_fn((6000, 1000), |(row, column)| (row * 1000 + column) as u64);
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).unwrap();
    let server = Server::new(&bytes);
    let remote = Remote::parse_with(&server.url("a.npy"), &StoreOptions::new().retries(1)).unwrap();
    let file = remote.open_array().unwrap();
    // So that more is being fetched.
    let mut blocks = file.blocks::<Array2<u64>>().bytes(1 << 20);
    for _ in 0..4 {
        blocks.next().unwrap().unwrap();
    }
    let store = std::sync::Arc::new(InMemory::new());
    let uploaded = Remote::in_bucket(store, "b").unwrap();
    let mut upload = uploaded.upload(&UploadOptions::new().part_size(5 << 20)).unwrap();
    upload.write_all(&vec![7; 12 << 20]).unwrap();

    // SAFETY: the child makes no assumption about the threads of its parent, and ends without returning.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let error = file.slice::<u64, _>(s![5000..5100, ..]).unwrap_err();
        let is_refused = error.kind() == ErrorKind::OutOfTurn;
        drop((blocks, upload));
        drop(file);
        let own = remote.open_array().and_then(|file| file.slice::<u64, _>(s![5000..5100, ..]));
        let is_read = own.is_ok_and(|own| own == array.slice(s![5000..5100, ..]));
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(i32::from(!is_refused) + 2 * i32::from(!is_read)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status));
    assert_eq!(libc::WEXITSTATUS(status), 0);
    // The parent goes on: nobody has taken its connections or the parts of its upload.
    assert_eq!(blocks.next().unwrap().unwrap().array().ncols(), 1000);
    assert_eq!(upload.finish().unwrap().size(), 12 << 20);
    assert_eq!(file.slice::<u64, _>(s![5000..5100, ..]).unwrap(), array.slice(s![5000..5100, ..]));
}
