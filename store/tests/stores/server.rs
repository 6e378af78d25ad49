//! An HTTP server for one object, which records requests and can be told to answer wrongly.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// How a request is answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Correct,
    /// Answers with this status and a body that repeats the request's headers.
    Status(u16),
    /// Closes the connection after this number of bytes of the body.
    DropAfter(usize),
    /// Omits this number of bytes, with a matching `Content-Length`.
    Shortened(usize),
    /// Appends this number of bytes.
    Extended(usize),
    /// Announces a range other than the requested one.
    Shifted,
    /// Sends the entire object, ignoring the requested range.
    Whole,
    /// Like `Whole`, but closes the connection after this number of bytes.
    WholeDropAfter(usize),
    /// Sends the entire object without saying how long it is.
    WholeWithoutLength,
    /// Redirects to another URL.
    Redirect(String),
    /// Sends nothing.
    NoResponse,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    /// All lines before the body.
    pub(crate) head: String,
    pub(crate) range: Option<Range<u64>>,
    pub(crate) if_match: Option<String>,
    pub(crate) if_unmodified_since: Option<String>,
    pub(crate) authorization: Option<String>,
    /// The number of bytes of the body that were sent.
    pub(crate) sent_len: usize,
}

pub(crate) struct Object {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tag: Option<String>,
    pub(crate) modified: Option<String>,
}

type AnswerFn = dyn Fn(usize, &Request) -> Answer + Send + Sync;

struct ServerState {
    object: Mutex<Object>,
    answer_with: Mutex<Box<AnswerFn>>,
    /// Whether the conditions of requests are ignored.
    ignores_conditions: bool,
    requests: Mutex<Vec<Request>>,
    running: Mutex<Running>,
    has_begun: Condvar,
}

/// How many requests are answered at the same time.
#[derive(Default)]
struct Running {
    now: usize,
    max: usize,
    /// Requests for what begins at or after this offset wait until so many have run at the same time.
    wanted: Option<(u64, usize)>,
}

pub(crate) struct Server {
    shared: Arc<ServerState>,
    port: u16,
}

impl Server {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self::of(Object { bytes: bytes.to_vec(), tag: Some("\"one\"".into()), modified: None }, false)
    }

    pub(crate) fn of(object: Object, ignores_conditions: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(ServerState {
            object: Mutex::new(object),
            answer_with: Mutex::new(Box::new(|_, _| Answer::Correct)),
            ignores_conditions,
            requests: Mutex::default(),
            running: Mutex::default(),
            has_begun: Condvar::new(),
        });
        let served = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let served = Arc::clone(&served);
                thread::spawn(move || while serve(&served, &stream).is_some() {});
            }
        });
        Self { shared, port }
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    /// Sets how requests are answered from now on, given the request's number and the request.
    pub(crate) fn answer_with(
        &self,
        answer_with: impl Fn(usize, &Request) -> Answer + Send + Sync + 'static,
    ) {
        *self.shared.answer_with.lock().unwrap() = Box::new(answer_with);
    }

    pub(crate) fn replace(&self, bytes: &[u8], tag: Option<&str>, modified: Option<&str>) {
        let (tag, modified) = (tag.map(Into::into), modified.map(Into::into));
        *self.shared.object.lock().unwrap() = Object { bytes: bytes.to_vec(), tag, modified };
    }

    /// Returns the requests since the last call.
    pub(crate) fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut *self.shared.requests.lock().unwrap())
    }

    /// Returns the number of requests since the last call of [`take_requests`](Self::take_requests).
    pub(crate) fn request_count(&self) -> usize {
        self.shared.requests.lock().unwrap().len()
    }

    /// Returns the highest number of concurrent requests.
    pub(crate) fn max_concurrent_requests(&self) -> usize {
        self.shared.running.lock().unwrap().max
    }

    /// Answers requests for what begins at or after an offset only when `count` requests have run at the same time: however slow this machine is, they
    /// meet; and if they are sent one after another, the client gives up.
    pub(crate) fn answer_together(&self, from: u64, count: usize) {
        self.shared.running.lock().unwrap().wanted = Some((from, count));
    }
}

/// Answers one request; returns `None` if the connection is closed.
#[expect(clippy::too_many_lines, reason = "one request, from its line to its answer")]
fn serve(shared: &ServerState, mut stream: &TcpStream) -> Option<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let field = |name: &str| {
        let found = head
            .lines()
            .find_map(|line| line.split_once(": ").filter(|(found, _)| found.eq_ignore_ascii_case(name)));
        found.map(|(_, value)| value.to_owned())
    };
    let mut object = shared.object.lock().unwrap();
    let len = object.bytes.len() as u64;
    let range = field("range").map(|range| {
        let (start, end) = range.trim_start_matches("bytes=").split_once('-').unwrap();
        match (start.parse::<u64>(), end.parse::<u64>()) {
            (Ok(start), Ok(end)) => start..(end + 1).min(len),
            (Ok(start), Err(_)) => start..len,
            (Err(_), Ok(suffix)) => len.saturating_sub(suffix)..len,
            _ => panic!("range {range}"),
        }
    });
    let mut request = Request {
        method,
        target,
        head: head.clone(),
        range,
        if_match: field("if-match"),
        if_unmodified_since: field("if-unmodified-since"),
        authorization: field("authorization"),
        sent_len: 0,
    };
    let number = shared.requests.lock().unwrap().len();
    let answer = shared.answer_with.lock().unwrap()(number, &request);
    let is_other = |field: &Option<String>, own: &Option<String>| {
        !shared.ignores_conditions && field.is_some() && field != own
    };
    let (mut status, mut body, mut fields) = (200, Vec::new(), String::new());
    if is_other(&request.if_match, &object.tag) || is_other(&request.if_unmodified_since, &object.modified) {
        status = 412;
    } else if let Answer::Status(wrong) = answer {
        (status, body) = (wrong, format!("<Code>Wrong</Code> {head}").into_bytes());
    } else if let Answer::Redirect(url) = &answer {
        (status, fields) = (302, format!("Location: {url}\r\n"));
    } else if let (Some(range), false) = (
        &request.range,
        matches!(answer, Answer::Whole | Answer::WholeDropAfter(_) | Answer::WholeWithoutLength),
    ) {
        if range.start >= len {
            status = 416;
        } else {
            status = 206;
            let mut range = range.clone();
            body = object.bytes[range.start as usize..range.end as usize].to_vec();
            if answer == Answer::Shifted {
                range = range.start + 1..range.end + 1;
            }
            fields = format!("Content-Range: bytes {}-{}/{len}\r\n", range.start, range.end - 1);
        }
    } else {
        body = std::mem::take(&mut object.bytes);
        object.bytes = body.clone();
    }
    if status < 300 {
        for (name, value) in [("ETag", &object.tag), ("Last-Modified", &object.modified)] {
            if let Some(value) = value {
                fields += &format!("{name}: {value}\r\n");
            }
        }
    }
    drop(object);
    let announced = body.len();
    match answer {
        Answer::DropAfter(len) | Answer::WholeDropAfter(len) => body.truncate(len),
        Answer::Shortened(few) => body.truncate(announced.saturating_sub(few)),
        Answer::Extended(many) => body.extend(vec![0; many]),
        _ => {}
    }
    let is_dropped = matches!(answer, Answer::DropAfter(_) | Answer::WholeDropAfter(_));
    let announced = if is_dropped { announced } else { body.len() };
    if request.method == "HEAD" {
        body.clear();
    }
    request.sent_len = body.len();
    let start = request.range.as_ref().map_or(0, |range| range.start);
    let place = {
        let mut requests = shared.requests.lock().unwrap();
        requests.push(request);
        requests.len() - 1
    };
    if answer == Answer::NoResponse {
        let _ = stream.read(&mut byte); // until the client gives up
        return None;
    }
    {
        let mut running = shared.running.lock().unwrap();
        running.now += 1;
        running.max = running.max.max(running.now);
        shared.has_begun.notify_all();
        while running.wanted.is_some_and(|(from, count)| start >= from && running.max < count) {
            running = shared.has_begun.wait(running).unwrap();
        }
    }
    let is_unsized = answer == Answer::WholeWithoutLength;
    let length = if is_unsized { String::new() } else { format!("Content-Length: {announced}\r\n") };
    let head = format!("HTTP/1.1 {status} Told\r\n{length}{fields}\r\n");
    let mut sent = 0;
    let written = stream.write_all(head.as_bytes()).and_then(|()| {
        body.chunks(256 << 10).try_for_each(|chunk| {
            stream.write_all(chunk)?;
            sent += chunk.len();
            Ok(())
        })
    });
    shared.running.lock().unwrap().now -= 1;
    if let Some(request) = shared.requests.lock().unwrap().get_mut(place) {
        request.sent_len = sent;
    }
    if written.is_err() || is_dropped || is_unsized {
        let _ = stream.shutdown(Shutdown::Both);
        return None;
    }
    Some(())
}
