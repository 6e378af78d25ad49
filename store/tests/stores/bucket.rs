//! A minimal S3 server for uploads; a test chooses how the last request ends.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// How the request that completes an upload is answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CompletionAnswer {
    /// Refuses the request: another writer was first.
    Refused,
    /// Completes the upload but loses the response; refuses the request when it is repeated.
    ResponseLost,
}

#[derive(Debug, Default)]
pub(crate) struct BucketState {
    /// Method, target and condition of each request.
    pub(crate) requests: Vec<(String, String, Option<String>)>,
    /// The mark in the upload's metadata; `object_exists` says whether the object exists.
    upload_mark: Option<String>,
    pub(crate) object_exists: bool,
    /// Whether requests with a condition are refused.
    pub(crate) refuses_conditions: bool,
}

pub(crate) fn start_bucket(end: CompletionAnswer) -> (u16, Arc<Mutex<BucketState>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let state = Arc::new(Mutex::new(BucketState::default()));
    let served = Arc::clone(&state);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let served = Arc::clone(&served);
            thread::spawn(move || while serve(&served, end, &stream).is_some() {});
        }
    });
    (port, state)
}

fn serve(state: &Mutex<BucketState>, end: CompletionAnswer, mut stream: &TcpStream) -> Option<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let field = |name: &str| {
        let find = |line: &str| {
            line.split_once(": ")
                .filter(|(found, _)| found.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.to_owned())
        };
        head.lines().find_map(find)
    };
    let len = field("content-length").map_or(0, |len| len.parse().unwrap());
    std::io::copy(&mut stream.take(len), &mut std::io::sink()).ok()?;
    let mut first = head.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let mut state = state.lock().unwrap();
    state.requests.push((method.clone(), target.clone(), field("if-none-match").or(field("if-match"))));
    let (status, fields, body) = match (&*method, target.contains("uploadId")) {
        ("POST", false) => {
            state.upload_mark = field("x-amz-meta-ndarrayioupload");
            let body =
                "<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>";
            (200, String::new(), body)
        }
        ("POST", true) if end == CompletionAnswer::ResponseLost && !state.object_exists => {
            state.object_exists = true;
            stream.shutdown(Shutdown::Both).ok()?;
            return None;
        }
        ("POST", true) => (412, String::new(), "<Error><Code>PreconditionFailed</Code></Error>"),
        ("PUT", _) if state.refuses_conditions => (412, String::new(), ""),
        ("PUT", _) => (200, "ETag: \"part\"\r\n".into(), ""),
        ("DELETE", _) => (204, String::new(), ""),
        _ if state.object_exists => {
            let mark =
                state.upload_mark.as_ref().map(|mark| format!("x-amz-meta-ndarrayioupload: {mark}\r\n"));
            let fields = "ETag: \"whole\"\r\nLast-Modified: Mon, 02 Nov 2026 10:00:00 GMT\r\n";
            (200, format!("{fields}{}", mark.unwrap_or_default()), "")
        }
        _ => (404, String::new(), ""),
    };
    drop(state);
    write!(stream, "HTTP/1.1 {status} Told\r\nContent-Length: {}\r\n{fields}\r\n{body}", body.len()).ok()
}
