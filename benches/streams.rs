//! Compares arrays that come from a stream, in pieces, with `npyz` and with reading the bytes alone.
//!
//! Run with `cargo bench -p ndarray-io-benches --bench streams`.
//! An argument after `--` selects the races whose name contains it.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

use ndarray::{Array2, Ix2};
use ndarray_io::{FlatArray, NpyReader, Record, WriteNpyExt, write_npy};
use ndarray_io_benches::{Race, print_head, timed};

const ROUNDS: usize = 15;

/// A file that does not show that it is one: each call reads what a pipe has.
struct Stream(File);

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(64 << 10);
        self.0.read(&mut into[..most])
    }
}

#[derive(Record, npyz::Serialize, npyz::Deserialize, npyz::AutoSerialize, Clone, Copy)]
#[repr(C)]
struct Hit {
    id: u64,
    time: f64,
    x: f32,
    y: f32,
}

fn main() {
    let folder = std::env::temp_dir().join(format!("ndarray-io-streams-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    print_head(None);
    run(&folder);
    fs::remove_dir_all(&folder).unwrap();
}

/// Reads all bytes into one buffer of 64 KiB, as a program does that does nothing with them.
fn raw(path: &Path) -> u64 {
    let (mut stream, mut buffer, mut all) = (Stream(File::open(path).unwrap()), vec![0; 64 << 10], 0);
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => return all,
            count => all += count as u64,
        }
    }
}

fn reader(path: &Path) -> NpyReader<Stream> {
    NpyReader::new(Stream(File::open(path).unwrap())).unwrap()
}

fn npyz_reader(path: &Path) -> npyz::NpyFile<BufReader<Stream>> {
    npyz::NpyFile::new(BufReader::with_capacity(64 << 10, Stream(File::open(path).unwrap()))).unwrap()
}

fn run(folder: &Path) {
    for columns in [3, 1000] {
        let rows = 12_000_000 / columns;
        let path = &folder.join(format!("{columns}.npy"));
        write_npy(path, &Array2::from_shape_fn((rows, columns), |(row, column)| (row ^ column) as f64))
            .unwrap();
        Race::new(format!("96 MB of f64 from a stream, ({rows}, {columns}), summed"))
            .runner("the bytes alone", || timed(|| raw(path)))
            .runner("npyz: data", || {
                timed(|| npyz_reader(path).data::<f64>().unwrap().map(Result::unwrap).sum::<f64>())
            })
            .runner("elements", || {
                timed(|| reader(path).elements::<f64>().unwrap().map(Result::unwrap).sum::<f64>())
            })
            .runner("rows", || {
                timed(|| reader(path).rows::<f64, Ix2>().unwrap().map(|row| row.unwrap().sum()).sum::<f64>())
            })
            .runner("blocks", || {
                let sum = |block: ndarray_io::Result<ndarray_io::blocks::Block<FlatArray<f64>>>| {
                    block.unwrap().array().items().iter().sum::<f64>()
                };
                timed(|| reader(path).blocks::<FlatArray<f64>>().unwrap().map(sum).sum::<f64>())
            })
            .runner("the whole array", || timed(|| reader(path).read::<Array2<f64>>().unwrap().sum()))
            .run(ROUNDS);
    }
    let path = &folder.join("hits.npy");
    let hits: Vec<Hit> = (0..4_000_000).map(|id| Hit { id, time: id as f64, x: 0.5, y: 1.5 }).collect();
    hits.write_npy(File::create(path).unwrap()).unwrap();
    Race::new("96 MB of records from a stream, of which one field is summed")
        .runner("the bytes alone", || timed(|| raw(path)))
        .runner("npyz: data", || {
            timed(|| npyz_reader(path).data::<Hit>().unwrap().map(|hit| hit.unwrap().time).sum::<f64>())
        })
        .runner("elements", || {
            timed(|| reader(path).elements::<Hit>().unwrap().map(|hit| hit.unwrap().time).sum::<f64>())
        })
        .run(ROUNDS);
}
