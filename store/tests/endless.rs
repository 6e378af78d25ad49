//! Servers whose answers do not end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray_io_store::{Remote, StoreOptions, UploadOptions, list};

/// Answers all requests with this head and bytes without end. Returns the address, and how many bytes the last answer had.
fn endless(head: String) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let most = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&most);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, head, count) = (stream.unwrap(), head.clone(), Arc::clone(&count));
            std::thread::spawn(move || {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read(&mut byte).unwrap_or(0) == 0 {
                        return;
                    }
                    request.push(byte[0]);
                }
                if request.starts_with(b"HEAD") {
                    let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
                    return;
                }
                let (mut sent, block) = (0, [b'x'; 1 << 16]);
                if stream.write_all(head.as_bytes()).is_err() {
                    return;
                }
                // The test fails long before this.
                while sent < 1 << 30 && stream.write_all(&block).is_ok() {
                    sent += block.len() as u64;
                    count.fetch_max(sent, Ordering::Relaxed);
                }
            });
        }
    });
    (address, most)
}

/// What the sockets of both sides may hold.
const BUFFERS: u64 = 16 << 20;

/// Reads, lists and writes at a server that sends without end.
fn ask_all(address: &str) {
    let options = || StoreOptions::new().set("allow_http", "true").retries(0);
    let web = format!("http://{address}/x.npy");
    assert!(Remote::parse_with(&web, &options()).unwrap().source().is_err());
    let s3 = || {
        let keys = options().set("access_key_id", "a").set("secret_access_key", "b").set("region", "r");
        keys.set("endpoint", format!("http://{address}"))
    };
    assert!(Remote::parse_with("s3://bucket/x.npy", &s3()).unwrap().source().is_err());
    let listed = list("s3://bucket/x", &s3()).and_then(|objects| objects.collect::<Result<Vec<_>, _>>());
    assert!(listed.is_err());
    let upload = Remote::parse_with("s3://bucket/x.npy", &s3()).unwrap();
    let write = || -> Result<(), Box<dyn std::error::Error>> {
        let mut upload = upload.upload(&UploadOptions::new())?;
        upload.write_all(&[0; 100])?;
        upload.finish()?;
        Ok(())
    };
    let _ = write(); // the body of a success is not needed
}

#[test]
fn error_without_end_is_read_to_its_limit() {
    for status in [400, 401, 403, 404, 409, 412, 416, 429, 500, 503] {
        for length in ["", "Content-Length: 1000000000000\r\n"] {
            let (address, sent) =
                endless(format!("HTTP/1.1 {status} Status\r\n{length}Connection: close\r\n\r\n"));
            ask_all(&address);
            let sent = sent.load(Ordering::Relaxed);
            assert!(sent < BUFFERS, "{status} {length}: {sent} bytes");
        }
    }
}

#[test]
fn object_without_length_is_read_to_its_limit() {
    let (address, sent) = endless("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".into());
    ask_all(&address);
    assert!(sent.load(Ordering::Relaxed) < (128 << 20) + BUFFERS);
}

/// Lists a bucket that has the same content on each page, each with a new token, and returns what ends it and how many pages were sent.
fn list_pages_without_end(content: &'static str) -> (String, u64) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let pages = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&pages);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, count) = (stream.unwrap(), Arc::clone(&count));
            std::thread::spawn(move || {
                let (mut requests, mut answers) = (BufReader::new(stream.try_clone().unwrap()), stream);
                // A blank line ends each request.
                while requests.by_ref().lines().map_while(Result::ok).any(|line| line.is_empty()) {
                    let number = count.fetch_add(1, Ordering::Relaxed);
                    let page = format!(
                        "<ListBucketResult>{content}<IsTruncated>true</IsTruncated>\
                         <NextContinuationToken>{number}</NextContinuationToken></ListBucketResult>"
                    );
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
                    answers.write_all((head + &page).as_bytes()).unwrap();
                }
            });
        }
    });
    let options = StoreOptions::new().retries(0).set("access_key_id", "a").set("secret_access_key", "b");
    let options = options.set("region", "r").set("endpoint", format!("http://{address}"));
    let end = list("s3://bucket/x", &options).unwrap().find_map(Result::err).unwrap();
    (end.to_string(), pages.load(Ordering::Relaxed))
}

#[test]
fn listing_without_end_is_given_up() {
    let (error, pages) = list_pages_without_end("");
    assert!(error.contains("pages without objects"), "{error}");
    assert_eq!(pages, 1001);
    let (error, pages) = list_pages_without_end("<Contents><Key>x</Key><Size>1</Size></Contents>");
    assert!(error.contains("the same page again"), "{error}");
    assert_eq!(pages, 2);
}
