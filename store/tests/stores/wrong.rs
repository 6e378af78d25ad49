//! Servers that answer wrongly.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ndarray::{Array1, Array2, s};
use ndarray_io::error::ErrorKind;
use ndarray_io::{NpzWriter, ReadOptions};
use ndarray_io_store::Remote;

use super::server::{Answer, Object, Server};
use super::{bytes_of, numbers, remote, remote_with_short_timeout};

#[test]
fn lost_responses_are_requested_again() {
    let array = numbers(3000, 1000); // 24 MB, two parts
    let server = Server::new(&bytes_of(&array));
    let file = remote_with_short_timeout(&server, "a.npy").open_array().unwrap();
    server.take_requests();
    server.answer_with(|number, _| match number {
        0 => Answer::DropAfter(1_000_000),
        1 => Answer::Status(503),
        2 => Answer::Status(500),
        _ => Answer::Correct,
    });
    assert!(file.read::<Array2<u64>>().unwrap() == array);
    let requests = server.take_requests();
    assert!((4..=6).contains(&requests.len()), "{requests:?}");
    // A missing response is treated as a connection error, too.
    server.answer_with(|number, _| if number == 0 { Answer::NoResponse } else { Answer::Correct });
    assert_eq!(file.slice::<u64, _>(s![2000, ..]).unwrap(), array.row(2000));
    assert_eq!(server.take_requests().len(), 2);
}

#[test]
fn persistent_wrong_answers_are_errors() {
    let array = numbers(3000, 100);
    let server = Server::new(&bytes_of(&array));
    let file = remote_with_short_timeout(&server, "a.npy").open_array().unwrap();
    server.take_requests();
    let read = || file.read::<Array2<u64>>().unwrap_err();
    let mut texts = Vec::new();
    for answer in [
        Answer::DropAfter(1000),
        Answer::Shortened(10),
        Answer::Extended(10),
        Answer::Shifted,
        Answer::Status(500),
        Answer::Status(403),
        Answer::NoResponse,
    ] {
        let always = answer.clone();
        server.answer_with(move |_, _| always.clone());
        let error = read();
        assert!(error.is_io(), "{answer:?}: {error}");
        texts.push(format!("{answer:?}: {error}"));
        let tries = server.take_requests().len();
        // A refusal of access is not retried.
        assert!(tries <= if answer == Answer::Status(403) { 1 } else { 12 }, "{answer:?}: {tries} tries");
    }
    let texts = texts.join("\n").replace(&server.url("a.npy"), "URL");
    assert!(texts.contains("Status(403): URL: the store refuses access (403"), "{texts}");
    assert!(texts.contains("Wrong"), "{texts}");
    server.answer_with(|_, _| Answer::Correct);
    assert!(file.read::<Array2<u64>>().unwrap() == array);
}

/// A replaced object is an error, whether or not the server checks conditions.
#[test]
fn replaced_object_is_reported_as_changed() {
    let (one, two) = (numbers(3000, 1000), numbers(3000, 1000) + 1);
    let monday = || Some("Mon, 02 Nov 2026 10:00:00 GMT".to_owned());
    let tuesday = "Tue, 03 Nov 2026 10:00:00 GMT";
    for ignores_conditions in [false, true] {
        for (before, after) in [
            (Some("\"one\""), Some("\"two\"")),
            (Some("W/\"one\""), Some("W/\"two\"")),
            (None, None),
            (Some("\"one\""), None),
        ] {
            let tag = before.map(str::to_owned);
            let server =
                Server::of(Object { bytes: bytes_of(&one), tag, modified: monday() }, ignores_conditions);
            let remote = remote(&server, "a.npy");
            let file = remote.open_array().unwrap();
            assert_eq!(file.slice::<u64, _>(s![2000, ..]).unwrap(), one.row(2000));
            assert_eq!(remote.version().unwrap().is_verified(), before == Some("\"one\""));
            server.replace(&bytes_of(&two), after, Some(tuesday));
            let error = file.slice::<u64, _>(s![2500, ..]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Changed, "{before:?} {ignores_conditions}: {error}");
            assert_eq!(remote.open_array().unwrap().slice::<u64, _>(s![2500, ..]).unwrap(), two.row(2500));
        }
    }
}

/// If an object is replaced between two parts of a read, the result is the old array or an error.
#[test]
fn replacement_during_a_read_never_mixes_versions() {
    let (one, two) = (numbers(6000, 1000), numbers(6000, 1000) + 1);
    let server = Arc::new(Server::new(&bytes_of(&one)));
    let file = remote(&server, "a.npy").open_array().unwrap();
    server.take_requests();
    let two = bytes_of(&two);
    let is_replaced = AtomicBool::new(false);
    drop(file);
    let replaced = Arc::clone(&server);
    let options = ReadOptions::new().progress(move |_, _| {
        if !is_replaced.swap(true, Ordering::Relaxed) {
            replaced.replace(&two, Some("\"two\""), None);
        }
        ControlFlow::Continue(())
    });
    let file = remote(&server, "a.npy").open_array_with(&options).unwrap();
    match file.read::<Array2<u64>>() {
        Ok(array) => assert!(array == one),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Changed, "{error}"),
    }
}

#[test]
fn server_without_ranges_serves_whole_arrays() {
    let array = numbers(3000, 1000);
    let bytes = bytes_of(&array);
    let server = Server::new(&bytes);
    server.answer_with(|_, _| Answer::Whole);
    let remote = remote(&server, "a.npy");
    let file = remote.open_array().unwrap();
    let error = file.slice::<u64, _>(s![2000, ..]).unwrap_err();
    assert!(error.to_string().contains("ignores requests for ranges"), "{error}");
    assert!(file.read::<Array2<u64>>().unwrap() == array);
    assert_eq!(server.take_requests().len(), 1);
    // A second read starts from the beginning, even if a response was lost midway.
    assert!(file.read::<Array2<u64>>().unwrap() == array);
    assert_eq!(server.take_requests().len(), 1);
    server.answer_with(|_, _| Answer::WholeDropAfter(1_000_000));
    let other = remote.open_array().unwrap();
    assert!(other.read::<Array2<u64>>().unwrap_err().is_io());
    server.answer_with(|_, _| Answer::Whole);
    assert!(other.read::<Array2<u64>>().unwrap() == array);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert!(other.read::<Array2<u64>>().unwrap() == array));
        }
    });
    server.take_requests();
    // Unread data is not sent: dropping the file closes the connection.
    drop((file, remote.open_array().unwrap()));
    // A small object can be sliced, since all of it has arrived.
    let server = Server::new(&bytes_of(&numbers(10, 10)));
    server.answer_with(|_, _| Answer::Whole);
    let part: Array1<u64> = super::remote(&server, "a.npy").open_array().unwrap().slice(s![9, ..3]).unwrap();
    assert_eq!(part, Array1::from_vec(vec![90, 91, 92]));

    let mut npz = NpzWriter::new(Vec::new());
    npz.add("a", &array).unwrap();
    let server = Server::new(&npz.finish().unwrap());
    server.answer_with(|_, _| Answer::Whole);
    let error = super::remote(&server, "a.npz").open_npz().unwrap_err();
    assert!(error.to_string().contains("ignores requests for ranges"), "{error}");
}

#[test]
fn errors_have_no_secrets() {
    let server = Server::new(b"no array");
    for status in [400, 403, 404, 500] {
        server.answer_with(move |_, _| Answer::Status(status));
        let url = format!("{}?X-Signature=hush", server.url("a.npy"));
        let options = ndarray_io_store::StoreOptions::new().retries(0);
        let error = Remote::parse_with(&url, &options).unwrap().open_array().unwrap_err();
        assert!(server.take_requests()[0].target.ends_with("a.npy?X-Signature=hush"));
        assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");

        let options = options
            .set("aws_access_key_id", "hush-id")
            .set("aws_secret_access_key", "hush")
            .set("aws_endpoint", server.url("").trim_end_matches('/'))
            .set("allow_http", "true")
            .set("aws_region", "eu");
        let remote = Remote::parse_with("s3://bucket/a.npy", &options).unwrap();
        let error = remote.open_array().unwrap_err();
        let sent = server.take_requests()[0].authorization.clone().unwrap();
        assert!(sent.contains("hush-id"), "{sent}");
        assert!(
            !format!("{error} {error:?} {remote:?} {options:?}").contains("hush"),
            "{error:?} {remote:?}"
        );
        assert!(error.to_string().starts_with("s3://bucket/a.npy: "), "{error}");
    }
    match Remote::parse("https://user:hush@example.org/a.npy") {
        Ok(remote) => assert!(!format!("{remote:?} {}", remote.name()).contains("hush"), "{remote:?}"),
        // Wine has no certificates.
        Err(error) => assert!(cfg!(windows) && !format!("{error:?}").contains("hush"), "{error}"),
    }
}

/// As a server does that makes what it sends: the end of the connection is the end of the object.
#[test]
fn object_without_content_length_is_read() {
    let array = numbers(3000, 1000);
    let server = Server::new(&bytes_of(&array));
    server.answer_with(|_, _| Answer::WholeWithoutLength);
    assert!(remote(&server, "a.npy").read_npy::<Array2<u64>>().unwrap() == array);
    assert_eq!(server.take_requests().len(), 1);
}

/// Each response brings a little, and the next one follows at once.
#[test]
fn truncated_responses_are_resumed() {
    let array = numbers(1000, 1000); // 8 MB
    let server = Server::new(&bytes_of(&array));
    server.answer_with(|_, _| Answer::DropAfter(70_000));
    assert!(remote(&server, "a.npy").read_npy::<Array2<u64>>().unwrap() == array);
    let requests = server.take_requests();
    assert!((115..=125).contains(&requests.len()), "{}", requests.len());
}

#[test]
fn false_shapes_and_truncated_objects_are_errors() {
    let mut bytes = bytes_of(&numbers(100, 100));
    let at = bytes.windows(10).position(|window| window == b"(100, 100)").unwrap();
    bytes[at..at + 10].copy_from_slice(b"(1<<40,1) ");
    bytes[at..at + 10].copy_from_slice(b"(99999999,");
    bytes[at + 10..at + 18].copy_from_slice(b"9999), }");
    let server = Server::new(&bytes);
    let opened = remote(&server, "a.npy").open_array();
    let error = match opened {
        Ok(file) => file.read::<Array2<u64>>().unwrap_err(),
        Err(error) => error,
    };
    assert!(error.is_format() || error.is_limit(), "{error}");
    for bytes in [&b""[..], b"\x93NUMPY", b"PK"] {
        let server = Server::new(bytes);
        let remote = remote(&server, "a");
        assert!(remote.open_array().is_err() && remote.open_npz().is_err() && remote.open_array().is_err());
    }
    let server = Server::new(b"");
    assert!(remote(&server, "a.npy").open_array().unwrap_err().is_format());
    assert_eq!(remote(&server, "a.npy").version().unwrap().size(), 0);
}

#[test]
fn progress_callback_cancels_the_read() {
    let array = numbers(6000, 1000);
    let server = Server::new(&bytes_of(&array));
    let options = ReadOptions::new().progress(|done, _| match done {
        0..20_000_000 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    let file = remote(&server, "a.npy").open_array_with(&options).unwrap();
    let error = file.read::<Array2<u64>>().unwrap_err();
    assert!(error.is_cancelled(), "{error}");
}

/// Dropping a future cancels its requests; the server would never answer.
#[test]
fn dropped_future_cancels_its_read() {
    let server = Server::new(&bytes_of(&numbers(3000, 1000)));
    let options = ndarray_io_store::StoreOptions::new();
    let remote = Remote::parse_with(&server.url("a.npy"), &options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let file = remote.open_array_async(&ReadOptions::new()).await.unwrap();
        let (ended, end) = std::sync::mpsc::channel();
        server.answer_with(|_, _| Answer::NoResponse);
        let read = file.run(move |file| {
            let read = file.read::<Array2<u64>>();
            ended.send(read.map(drop)).unwrap();
            Ok(())
        });
        let waited = tokio::time::timeout(std::time::Duration::from_millis(50), read).await;
        assert!(waited.is_err());
        let error = end.recv().unwrap().unwrap_err();
        assert!(error.is_cancelled(), "{error}");
    });
}
