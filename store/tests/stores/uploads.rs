//! Uploads to an in-memory store.

use std::io::Write;
use std::sync::Arc;

use ndarray::{Array1, Array2, arr1};
use ndarray_io::NpzWriter;
use ndarray_io::error::ErrorKind;
use ndarray_io_store::{Remote, StoreOptions, UploadOptions};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use super::bucket::{CompletionAnswer, start_bucket};
use super::{bytes_of, numbers};

fn store() -> (Arc<InMemory>, Remote) {
    let store = Arc::new(InMemory::new());
    let remote = Remote::in_bucket(Arc::clone(&store) as Arc<dyn ObjectStore>, "data/a.npy").unwrap();
    (store, remote)
}

fn content(store: &InMemory) -> Option<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let path = Path::from("data/a.npy");
    runtime.block_on(async { Some(store.get(&path).await.ok()?.bytes().await.unwrap().to_vec()) })
}

#[test]
fn object_is_visible_only_after_finish() {
    let (store, remote) = store();
    let array = numbers(3000, 1000); // 24 MB: more than one part
    let mut upload = remote.upload(&UploadOptions::new().part_size(5 << 20)).unwrap();
    for piece in bytes_of(&array).chunks(1 << 20) {
        upload.write_all(piece).unwrap(); // parts fill up within a piece and at its end
    }
    assert_eq!(content(&store), None);
    upload.finish().unwrap();
    assert!(content(&store) == Some(bytes_of(&array)));
    assert!(remote.read_npy::<Array2<u64>>().unwrap() == array);
    // A dropped upload leaves the old object unchanged.
    let mut upload = remote.upload(&UploadOptions::new().part_size(5 << 20)).unwrap();
    upload.write_all(&vec![1; 12 << 20]).unwrap();
    drop(upload);
    assert!(content(&store) == Some(bytes_of(&array)));
    remote.write_npy(&arr1(&[1, 2])).unwrap();
    assert!(content(&store) == Some(bytes_of(&arr1(&[1, 2]))));
}

#[test]
fn second_of_two_conditional_uploads_is_refused() {
    let (store, remote) = store();
    let new = UploadOptions::new().part_size(5 << 20).create_new();
    let large = vec![7; 11 << 20];
    // Both uploads start while no object exists.
    let mut uploads = [remote.upload(&new).unwrap(), remote.upload(&new).unwrap()];
    uploads[0].write_all(&large).unwrap();
    uploads[1].write_all(b"small").unwrap();
    let [first, second] = uploads;
    first.finish().unwrap();
    let error = second.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    let mut third = remote.upload(&new).unwrap();
    third.write_all(&large).unwrap();
    assert_eq!(third.finish().unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert!(content(&store) == Some(large.clone()));

    let version = remote.version().unwrap();
    assert_eq!(version.size(), 11 << 20);
    let replacing = UploadOptions::new().part_size(5 << 20).replacing(&version).unwrap();
    for bytes in [&b"small"[..], &large] {
        let mut uploads = [remote.upload(&replacing).unwrap(), remote.upload(&replacing).unwrap()];
        uploads[0].write_all(b"first").unwrap();
        uploads[1].write_all(bytes).unwrap();
        let [first, second] = uploads;
        if bytes == b"small" {
            first.finish().unwrap();
        } else {
            drop(first);
        }
        let error = second.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
        assert_eq!(content(&store).unwrap(), b"first");
    }
}

#[test]
fn archive_written_to_a_store_reads_back() {
    let (_, remote) = store();
    let mut npz = NpzWriter::new_compressed(remote.upload(&UploadOptions::new()).unwrap());
    npz.add("a", &numbers(100, 100)).unwrap();
    npz.add("b", &arr1(&[1.5])).unwrap();
    npz.finish().unwrap().finish().unwrap();
    let npz = remote.open_npz().unwrap();
    assert_eq!(npz.read::<Array2<u64>>("a").unwrap(), numbers(100, 100));
    assert_eq!(npz.read::<Array1<f64>>("b").unwrap(), arr1(&[1.5]));
}

/// The condition is sent with the request that completes the upload: checking beforehand is not enough.
#[test]
fn condition_is_sent_with_the_completing_request() {
    for end in [CompletionAnswer::Refused, CompletionAnswer::ResponseLost] {
        let (port, state) = start_bucket(end);
        let options = StoreOptions::new()
            .set("aws_endpoint", format!("http://127.0.0.1:{port}"))
            .set("allow_http", "true")
            .set("aws_region", "eu")
            .set("aws_access_key_id", "id")
            .set("aws_secret_access_key", "key");
        let remote = Remote::parse_with("s3://bucket/a.npy", &options).unwrap();
        let mut upload = remote.upload(&UploadOptions::new().part_size(5 << 20).create_new()).unwrap();
        upload.write_all(&vec![1; 12 << 20]).unwrap();
        let finished = upload.finish();
        let requests = std::mem::take(&mut state.lock().unwrap().requests);
        let ends: Vec<_> = requests
            .iter()
            .filter(|(method, target, _)| method == "POST" && target.contains("uploadId"))
            .collect();
        assert!(ends.iter().all(|(_, _, condition)| condition.as_deref() == Some("*")), "{requests:?}");
        let removed = requests.iter().filter(|(method, ..)| method == "DELETE").count();
        match end {
            // The loser's parts are removed.
            CompletionAnswer::Refused => {
                let error = finished.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
                assert_eq!((ends.len(), removed), (1, 1), "{requests:?}");
            }
            // The winner is told so, although its repeated request was refused.
            CompletionAnswer::ResponseLost => {
                assert_eq!(finished.unwrap().tag(), Some("\"whole\""));
                assert_eq!(ends.len(), 2, "{requests:?}");
            }
        }
    }
}

#[test]
fn upload_with_a_large_declared_length_succeeds() {
    let (store, remote) = store();
    // Parts of 5 MiB are too small for this length.
    let options = UploadOptions::new().part_size(5 << 20).len(100 << 30);
    let mut upload = remote.upload(&options).unwrap();
    upload.write_all(&vec![1; 12 << 20]).unwrap();
    let version = upload.finish().unwrap();
    assert_eq!((version.size(), content(&store).unwrap().len()), (12 << 20, 12 << 20));
    assert!(UploadOptions::new().replacing(&version).is_ok());
}

fn s3_remote(port: u16) -> Remote {
    let options = StoreOptions::new()
        .set("aws_endpoint", format!("http://127.0.0.1:{port}"))
        .set("allow_http", "true")
        .set("aws_access_key_id", "id")
        .set("aws_secret_access_key", "key");
    Remote::parse_with("s3://bucket/a.npy", &options).unwrap()
}

#[tokio::test]
async fn async_upload_finishes_or_leaves_no_parts() {
    let (store, remote) = store();
    let array = numbers(3000, 1000);
    let mut upload = remote.upload_async(&UploadOptions::new().part_size(5 << 20)).unwrap();
    for piece in bytes_of(&array).chunks(3 << 20) {
        upload.write(piece).await.unwrap();
    }
    let version = upload.finish().await.unwrap();
    let found = store.get(&Path::from("data/a.npy")).await.unwrap().bytes().await.unwrap();
    assert!(found == bytes_of(&array) && version.size() == found.len() as u64);

    // An upload that is given up leaves no parts, whether it is told to remove them or a write is cancelled.
    for is_aborted in [true, false] {
        let (port, state) = start_bucket(CompletionAnswer::Refused);
        let mut upload = s3_remote(port).upload_async(&UploadOptions::new().part_size(5 << 20)).unwrap();
        upload.write(&vec![1; 12 << 20]).await.unwrap();
        if is_aborted {
            upload.abort().await;
        } else {
            drop(upload);
        }
        let is_removed = || {
            let state = state.lock().unwrap();
            state
                .requests
                .iter()
                .any(|(method, target, _)| method == "DELETE" && target.contains("uploadId=7"))
        };
        assert!(!is_aborted || is_removed());
        while !is_removed() {
            tokio::task::yield_now().await;
        }
    }
}

/// A web server gets the condition with the object, and is asked before, because not all look at it.
#[test]
fn web_server_gets_the_condition_after_a_head_request() {
    let (port, state) = start_bucket(CompletionAnswer::Refused);
    let remote = Remote::parse(&format!("http://127.0.0.1:{port}/a.npy")).unwrap();
    let new = UploadOptions::new().create_new();
    remote.write_npy_with(&arr1(&[1]), &Default::default(), &new).unwrap();
    let requests = std::mem::take(&mut state.lock().unwrap().requests);
    let told: Vec<_> =
        requests.iter().map(|(method, _, condition)| (&**method, condition.as_deref())).collect();
    assert_eq!(told, [("HEAD", None), ("PUT", Some("*"))]);

    // Another writer is faster.
    state.lock().unwrap().refuses_conditions = true;
    let error = remote.write_npy_with(&arr1(&[1]), &Default::default(), &new).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    state.lock().unwrap().refuses_conditions = false;

    state.lock().unwrap().object_exists = true;
    let error = remote.write_npy_with(&arr1(&[1]), &Default::default(), &new).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    let replacing = UploadOptions::new().replacing(&remote.version().unwrap()).unwrap();
    state.lock().unwrap().requests.clear();
    remote.write_npy_with(&arr1(&[1]), &Default::default(), &replacing).unwrap();
    let requests = std::mem::take(&mut state.lock().unwrap().requests);
    assert_eq!(requests.last().unwrap().2.as_deref(), Some("\"whole\""));
}

/// Google does not check conditions when an upload of several parts is completed, and refuses requests that state one: it is asked
/// before.
#[test]
fn gcs_object_is_checked_before_an_upload_completes() {
    let (port, state) = start_bucket(CompletionAnswer::Refused);
    let key = format!(
        r#"{{"gcs_base_url": "http://127.0.0.1:{port}", "disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}}"#
    );
    let options = StoreOptions::new().set("google_service_account_key", key).set("allow_http", "true");
    let remote = Remote::parse_with("gs://bucket/a.npy", &options).unwrap();
    let mut upload = remote.upload(&UploadOptions::new().part_size(5 << 20).create_new()).unwrap();
    upload.write_all(&vec![1; 12 << 20]).unwrap();
    let _ = upload.finish(); // refused by this server, whatever is asked
    let requests = std::mem::take(&mut state.lock().unwrap().requests);
    assert!(requests.iter().all(|(_, _, condition)| condition.is_none()), "{requests:?}");
    let place = |wanted: &str, part: &str| {
        requests.iter().position(|(method, target, _)| method == wanted && target.contains(part)).unwrap()
    };
    assert!(place("HEAD", "bucket/a") < place("POST", "uploadId=7"), "{requests:?}");
}

#[tokio::test]
async fn array_written_async_reads_back() {
    let (_, remote) = store();
    let array = numbers(3000, 1000);
    let parts = UploadOptions::new().part_size(5 << 20);
    let version = remote.write_npy_async(array.clone(), &Default::default(), &parts).await.unwrap();
    assert_eq!(version.size(), bytes_of(&array).len() as u64);
    let file = remote.open_array_async(&Default::default()).await.unwrap();
    assert!(file.read::<Array2<u64>>().await.unwrap() == array);
}

/// This store does not look at conditions.
#[test]
fn existing_object_is_refused_without_uploading() {
    let (port, state) = start_bucket(CompletionAnswer::Refused);
    state.lock().unwrap().object_exists = true;
    let new = UploadOptions::new().create_new();
    let error = s3_remote(port).write_npy_with(&arr1(&[1]), &Default::default(), &new).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    assert!(state.lock().unwrap().requests.iter().all(|(method, ..)| method == "HEAD"));
}

/// A folder of a store that was given has the objects that it lists.
#[test]
fn folder_lists_literal_object_names() {
    use ndarray_io::bytes::Folder;
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let folder = Remote::in_bucket(Arc::clone(&store), "data").unwrap();
    for (number, name) in ["a%20b", "a b", "a#", "[~]", "\u{e9}"].into_iter().enumerate() {
        let object = Remote::in_bucket(Arc::clone(&store), &format!("data/{name}")).unwrap();
        object.write_npy(&arr1(&[number as u64])).unwrap();
    }
    let mut read: Vec<u64> = folder
        .names()
        .unwrap()
        .iter()
        .map(|name| {
            let bytes = folder.open(name).unwrap();
            ndarray_io::NpyFile::from_source(bytes).unwrap().read::<Array1<u64>>().unwrap()[0]
        })
        .collect();
    read.sort_unstable();
    assert_eq!(read, [0, 1, 2, 3, 4]);
    assert!(folder.open("..").is_err() && folder.open("a//b").is_err());
}
