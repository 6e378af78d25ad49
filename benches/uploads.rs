//! Writes an array to a server on loopback that understands S3's uploads and keeps nothing, beside obstore from Python, which has the
//! bytes in memory. `DELAY=20` delays each response by 20 milliseconds.
//!
//!     PYTHON=… [DELAY=20] [MIB=512] cargo bench -p ndarray-io-benches --features stores --bench uploads

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use ndarray::Array2;
use ndarray_io_store::{Remote, StoreOptions, UploadOptions};

const ROUNDS: usize = 5;

fn serve(stream: TcpStream, delay: Duration) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::with_capacity(256 << 10, stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let (mut first, mut len) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                len = value.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
            if first.is_empty() {
                first = line;
            }
        }
        io::copy(&mut (&mut reader).take(len), &mut io::sink()).ok()?;
        thread::sleep(delay);
        let body = match (first.starts_with("POST"), first.contains("uploadId")) {
            (true, false) => {
                "<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>"
            }
            (true, true) => {
                "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag></CompleteMultipartUploadResult>"
            }
            _ => "",
        };
        write!(writer, "HTTP/1.1 200 OK\r\nETag: \"part\"\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .ok()?;
    }
}

const OBSTORE: &str = "import sys, time, obstore
from obstore.store import S3Store
store = S3Store('bucket', endpoint=sys.argv[1], region='eu', access_key_id='id', secret_access_key='key', virtual_hosted_style_request=False,
                client_options={'allow_http': True})
content = bytes(int(sys.argv[2]) << 20)
start = time.perf_counter()
obstore.put(store, 'x.npy', content, use_multipart=True, chunk_size=16 << 20, max_concurrency=int(sys.argv[3]))
print(time.perf_counter() - start)";

fn main() {
    if env::args().any(|argument| argument == "--test" || argument == "--list") {
        return;
    }
    let number = |name: &str, otherwise: u64| env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (mib, delay) = (number("MIB", 512), Duration::from_millis(number("DELAY", 0)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(stream, delay));
        }
    });
    let array = Array2::<f64>::zeros((mib as usize, (1 << 20) / 8));
    let options = StoreOptions::new()
        .set("aws_endpoint", &endpoint)
        .set("aws_region", "eu")
        .set("aws_access_key_id", "id")
        .set("aws_secret_access_key", "key");
    let remote = Remote::parse_with("s3://bucket/x.npy", &options).unwrap();
    let mut times =
        vec![("ours", Vec::new()), ("obstore, 4 parts at a time", vec![]), ("obstore, 12 parts", vec![])];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        remote.write_npy_with(&array, &Default::default(), &UploadOptions::new()).unwrap();
        times[0].1.push(start.elapsed().as_secs_f64());
        for (place, at_once) in [(1, "4"), (2, "12")] {
            let Ok(python) = env::var("PYTHON") else { continue };
            let done = Command::new(python)
                .args(["-c", OBSTORE, &endpoint, &mib.to_string(), at_once])
                .stderr(Stdio::inherit())
                .output()
                .unwrap();
            times[place].1.push(String::from_utf8(done.stdout).unwrap().trim().parse().unwrap());
        }
    }
    println!("{mib} MiB, {} ms in front of each response", delay.as_millis());
    for (name, mut all) in times {
        all.sort_by(f64::total_cmp);
        if let Some(middle) = all.get(all.len() / 2) {
            println!("{name:28} {:8.3} s at least, {middle:.3} s in the middle", all[0]);
        }
    }
}
