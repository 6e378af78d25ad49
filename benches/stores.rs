//! Compares arrays from a local web server (requires nginx) with plain sockets, with one request at a time,
//! and with fsspec and NumPy. `DELAY=20` delays each request by 20 milliseconds, for all runners.
//!
//!     PYTHON=… [DELAY=20] [MIB=1024] cargo bench -p ndarray-io-benches --features stores --bench stores

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use ndarray::{Array2, s};
use ndarray_io::NpyFile;
use ndarray_io_store::Remote;

const COLUMNS: usize = 1 << 14;
const ROUNDS: usize = 5;
const PART: usize = 16 << 20;

/// Fetches the whole object into one buffer, as `bytes(obstore.get(…).bytes())` does, with eight requests at a time.
const OBSTORE: &str = "import asyncio, sys, time
from obstore.store import HTTPStore
base, name = sys.argv[1].rsplit('/', 1)
store = HTTPStore.from_url(base, client_options={'allow_http': True})
async def main():
    size = (await store.head_async(name))['size']
    start = time.perf_counter()
    step = 16 << 20
    into = bytearray(size)
    limit = asyncio.Semaphore(8)
    async def part(at):
        async with limit:
            end = min(at + step, size)
            into[at:end] = memoryview(await store.get_range_async(name, start=at, end=end))
    await asyncio.gather(*[part(at) for at in range(0, size, step)])
    print(time.perf_counter() - start)
asyncio.run(main())";

const OBSTORE_ROWS: &str = "import asyncio, sys, time
from obstore.store import HTTPStore
base, name = sys.argv[1].rsplit('/', 1)
store = HTTPStore.from_url(base, client_options={'allow_http': True})
async def main():
    await store.head_async(name)
    start = time.perf_counter()
    await asyncio.gather(*[store.get_range_async(name, start=int(at), length=65536) for at in sys.argv[2].split(',')])
    print(time.perf_counter() - start)
asyncio.run(main())";

/// Eight tasks that read eighths of the object from eight clients.
const OBSTORE_EIGHT: &str = "import asyncio, sys, time
from obstore.store import HTTPStore
base, name = sys.argv[1].rsplit('/', 1)
stores = [HTTPStore.from_url(base, client_options={'allow_http': True}) for _ in range(8)]
async def main():
    size = (await stores[0].head_async(name))['size']
    step, eighth = 16 << 20, size // 8
    start = time.perf_counter()
    async def part(store, at, end):
        into = bytearray(end - at)
        limit = asyncio.Semaphore(8)
        async def request(place):
            async with limit:
                last = min(place + step, end)
                into[place - at:last - at] = memoryview(await store.get_range_async(name, start=place, end=last))
        await asyncio.gather(*[request(place) for place in range(at, end, step)])
        return into
    await asyncio.gather(*[part(store, number * eighth, (number + 1) * eighth) for number, store in enumerate(stores)])
    print(time.perf_counter() - start)
asyncio.run(main())";

struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // `Child::kill` would leave nginx's worker processes running, so send SIGTERM.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn nginx(folder: &Path) -> (KillOnDrop, u16) {
    let port = free_port();
    let name = folder.display();
    let configuration = format!(
        "daemon off; worker_processes 2; pid {name}/pid; error_log {name}/error.log; user root; events {{}}\n\
         http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000; \
         client_body_temp_path {name}/t1; proxy_temp_path {name}/t2; fastcgi_temp_path {name}/t3; \
         uwsgi_temp_path {name}/t4; scgi_temp_path {name}/t5; \
         server {{ listen 127.0.0.1:{port}; root {name}; }} }}"
    );
    fs::write(folder.join("nginx.conf"), configuration).unwrap();
    let child =
        Command::new("nginx").arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf")).spawn().unwrap();
    let child = KillOnDrop(child);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        thread::sleep(Duration::from_millis(20));
    }
    (child, port)
}

/// Forwards requests after a delay, with two threads for each connection.
fn proxy(to: u16, delay: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
            client.set_nodelay(true).unwrap();
            server.set_nodelay(true).unwrap();
            let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || {
                let mut head = vec![0; 16 << 10];
                while let Ok(count @ 1..) = from_client.read(&mut head) {
                    thread::sleep(delay); // a request arrives in one piece
                    if to_server.write_all(&head[..count]).is_err() {
                        break;
                    }
                }
                let _ = to_server.shutdown(Shutdown::Both);
            });
            thread::spawn(move || {
                let (mut server, mut client) = (server, client);
                let _ = std::io::copy(&mut server, &mut client); // uses splice
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    port
}

/// Requests a range, and reads its bytes directly into memory.
fn get(stream: &mut TcpStream, port: u16, from: usize, into: &mut [u8]) {
    let to = from + into.len() - 1;
    write!(stream, "GET /x.npy HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nRange: bytes={from}-{to}\r\n\r\n")
        .unwrap();
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        let count = stream.read(&mut buffer).unwrap();
        head.extend_from_slice(&buffer[..count]);
        if let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    assert!(head.starts_with(b"HTTP/1.1 206"));
    let have = head.len() - end;
    into[..have].copy_from_slice(&head[end..]);
    stream.read_exact(&mut into[have..]).unwrap();
}

/// Reads the entire array over the given number of connections.
fn sockets(port: u16, rows: usize, offset: usize, at_once: usize) -> Array2<f64> {
    let mut array = Array2::<f64>::zeros((rows, COLUMNS)); // the pages are zeroed when they are first accessed
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(array.as_slice_mut().unwrap());
    let parts: Vec<std::sync::Mutex<(usize, &mut [u8])>> = bytes
        .chunks_mut(PART)
        .enumerate()
        .map(|(number, part)| (offset + number * PART, part).into())
        .collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                stream.set_nodelay(true).unwrap();
                while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut part = part.lock().unwrap();
                    let from = part.0;
                    get(&mut stream, port, from, part.1);
                }
            });
        }
    });
    drop(parts);
    array
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed().as_secs_f64(), done)
}

/// The most memory that the process has had since the last call, in MiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    fs::write("/proc/self/clear_refs", "5").unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

#[expect(clippy::too_many_lines, reason = "a list of measurements")]
fn main() {
    if env::args().any(|argument| argument == "--test" || argument == "--list") {
        return;
    }
    let number =
        |name: &str, otherwise: usize| env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (mib, delay) = (number("MIB", 1024), number("DELAY", 0));
    let rows = mib * (1 << 20) / 8 / COLUMNS;
    let folder = env::temp_dir().join(format!("ndarray-io-stores-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("x.npy");
    let array = Array2::from_shape_fn((rows, COLUMNS), |(row, column)| (row * COLUMNS + column) as f64);
    ndarray_io::write_npy(&path, &array).unwrap();
    let offset = NpyFile::open(&path).unwrap().data_offset() as usize;
    let (server, direct) = nginx(&folder);
    let port = match delay {
        0 => direct,
        delay => proxy(direct, Duration::from_millis(delay as u64)),
    };
    let url = format!("http://127.0.0.1:{port}/x.npy");
    let open = || Remote::parse(&url).unwrap().open_array().unwrap();
    let last = rows - 1;
    let slice = s![rows / 2..rows / 2 + rows / 100, ..];
    let take: Vec<usize> = (0..rows).step_by(rows / 500).collect();
    let part_bytes = (rows / 100) * COLUMNS * 8;
    let mut times: Vec<(&str, Vec<f64>)> = [
        "ours",
        "sockets, 8",
        "sockets, 16",
        "sockets, 1",
        "fsspec + NumPy",
        "ours, 1 %",
        "sockets, the same bytes",
        "obstore",
        "ours, 500 rows of 64 KiB",
        "obstore, the same rows",
        "ours, blocks of 1 MiB",
        "ours, eight clients",
        "obstore, eight clients",
    ]
    .map(|name| (name, Vec::new()))
    .into();
    for _ in 0..ROUNDS {
        let mut add = |number: usize, time: f64| times[number].1.push(time);
        let (time, read) = timed(|| open().read::<Array2<f64>>().unwrap());
        assert!(read[[last, COLUMNS - 1]] == array[[last, COLUMNS - 1]]);
        add(0, time);
        drop(read);
        for (number, at_once) in [(1, 8), (2, 16), (3, 1)] {
            let (time, read) = timed(|| sockets(port, rows, offset, at_once));
            assert!(read[[last, COLUMNS - 1]] == array[[last, COLUMNS - 1]]);
            add(number, time);
        }
        let python = |script: &str, arguments: &[&str]| {
            let done = Command::new(env::var("PYTHON").ok()?)
                .args(["-c", script, &url])
                .args(arguments)
                .stderr(Stdio::inherit())
                .output()
                .unwrap();
            String::from_utf8(done.stdout).unwrap().split(' ').next()?.trim().parse().ok()
        };
        let read =
            take.iter().map(|row| (offset + row * COLUMNS * 8).to_string()).collect::<Vec<_>>().join(",");
        if let Some(time) = python(OBSTORE, &[]) {
            add(7, time);
        }
        if let Some(time) = python(OBSTORE_ROWS, &[&read]) {
            add(9, time);
        }
        let file = open();
        let (time, read) = timed(|| file.slice::<f64, _>(s![..;rows / 500, ..8192]).unwrap());
        assert!(read == array.slice(s![..;rows / 500, ..8192]));
        add(8, time);
        let (time, sum) = timed(|| {
            let blocks = file.blocks::<Array2<f64>>().bytes(1 << 20);
            let mut sum = 0.0;
            for block in blocks {
                sum += block.unwrap().array()[[0, 0]];
            }
            sum
        });
        assert!(sum >= 0.0);
        add(10, time);
        let (time, _) = timed(|| {
            thread::scope(|scope| {
                for number in 0..8 {
                    let part = s![number * rows / 8..(number + 1) * rows / 8, ..];
                    scope.spawn(move || open().slice::<f64, _>(part).unwrap());
                }
            })
        });
        add(11, time);
        if let Some(time) = python(OBSTORE_EIGHT, &[]) {
            add(12, time);
        }
        {
            let script = "import sys, time, fsspec, numpy as np\nstart = time.perf_counter()\nwith fsspec.open(sys.argv[1]) as f:\n    a = np.load(f)\nprint(time.perf_counter() - start, a[-1, -1])";
            if let Some(time) = python(script, &[]) {
                add(4, time);
            }
        }
        let (time, read) = timed(|| open().slice::<f64, _>(slice).unwrap());
        assert!(read == array.slice(slice));
        add(5, time);
        // A request for the header and one for the bytes.
        let (time, _) = timed(|| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.set_nodelay(true).unwrap();
            get(&mut stream, port, 0, &mut vec![0; 64 << 10]);
            let mut bytes = vec![0u8; part_bytes];
            get(&mut stream, port, offset + rows / 2 * COLUMNS * 8, &mut bytes);
            bytes
        });
        add(6, time);
    }
    drop(array);
    let before = fs::read_to_string("/proc/self/statm").unwrap();
    let before = before.split(' ').nth(1).unwrap().parse::<u64>().unwrap() >> 8;
    peak();
    let blocks = |file: NpyFile| {
        for block in file.blocks::<Array2<f64>>().bytes(1 << 20) {
            block.unwrap();
        }
    };
    blocks(open());
    println!("blocks: {} MiB of memory beyond the {before} MiB of before", peak().saturating_sub(before));
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| blocks(open())))));
    println!("eight times blocks: {} MiB", peak().saturating_sub(before));
    drop(open().read::<Array2<f64>>().unwrap());
    println!("whole: {} MiB, of which {mib} are the array", peak().saturating_sub(before));
    drop(server);
    fs::remove_dir_all(&folder).unwrap();
    println!("{mib} MiB, {delay} ms in front of each request");
    let least = |number: usize| times[number].1.iter().copied().fold(f64::INFINITY, f64::min);
    for (number, (name, all)) in times.iter().enumerate() {
        let mut sorted = all.clone();
        sorted.sort_by(f64::total_cmp);
        if let Some(middle) = sorted.get(sorted.len() / 2) {
            println!("{name:24} {:8.3} s at least, {middle:.3} s in the middle", least(number));
        }
    }
    println!("ours / sockets, 8:        {:.2} of its speed", least(1) / least(0));
    println!("ours / sockets, 16:       {:.2}", least(2) / least(0));
    println!("ours / one at a time:     {:.2} x", least(3) / least(0));
    println!("ours / fsspec + NumPy:    {:.2} x", least(4) / least(0));
    println!("1 % / its bytes:          {:.2} of the time", least(5) / least(6));
    println!("ours / obstore:           {:.2} x", least(7) / least(0));
    println!("ours / obstore, 500 rows: {:.2} x", least(9) / least(8));
    println!("ours / obstore, eight:    {:.2} x", least(12) / least(11));
    println!("blocks / all at once:     {:.2} of its speed", least(0) / least(10));
}
