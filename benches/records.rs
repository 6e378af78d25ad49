//! Compares records of five fields with `npyz` and a plain array of the same bytes.
//!
//! Run with `cargo bench -p ndarray-io-benches --bench records`.
//! An argument after `--` selects the races whose name contains it.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::Path;

use ndarray::{Array1, ArrayView1};
use ndarray_io::{ByteOrder, DynArray, Record, ViewNpyExt, WriteOptions, read_npy, write_npy};
use ndarray_io_benches::{Race, print_head, timed, timed_small};
use npyz::{AutoSerialize, WriterBuilder};

const ROWS: usize = 1_000_000;
const ROUNDS: usize = 15;

/// 32 bytes without padding.
#[derive(Record, npyz::Serialize, npyz::Deserialize, npyz::AutoSerialize, Clone, Copy)]
#[repr(C)]
struct Tight {
    id: u64,
    x: f64,
    y: f64,
    weight: f32,
    kind: i32,
}

/// The same fields with padding: 40 bytes.
#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Padded {
    kind: i32,
    id: u64,
    weight: f32,
    x: f64,
    y: f64,
}

fn main() {
    let folder = std::env::temp_dir().join(format!("ndarray-io-records-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    print_head(None);
    run(&folder);
    fs::remove_dir_all(&folder).unwrap();
}

fn run(folder: &Path) {
    let tight = Array1::from_shape_fn(ROWS, |row| Tight {
        id: row as u64,
        x: row as f64,
        y: -(row as f64),
        weight: 0.5,
        kind: row as i32 % 7,
    });
    let padded = tight.mapv(|Tight { id, x, y, weight, kind }| Padded { kind, id, weight, x, y });
    let path = |name: &str| folder.join(name);
    let (matching, reordered, big) = (&path("tight.npy"), &path("padded.npy"), &path("big.npy"));
    let (plain, plain_wide) = (&path("plain.npy"), &path("wide.npy"));
    let numbers = Array1::from_shape_fn(4 * ROWS, |index| index as f64);
    let numbers_wide = Array1::from_shape_fn(5 * ROWS, |index| index as f64);
    write_npy(matching, &tight).unwrap();
    write_npy(reordered, &padded).unwrap();
    WriteOptions::new().byte_order(ByteOrder::Big).write_npy(big, &tight).unwrap();
    write_npy(plain, &numbers).unwrap();
    write_npy(plain_wide, &numbers_wide).unwrap();

    let npyz_read = |path: &Path| {
        let file = BufReader::new(File::open(path).unwrap());
        npyz::NpyFile::new(file).unwrap().into_vec::<Tight>().unwrap()
    };
    Race::new("read records, matching")
        .runner("ndarray-io", || timed(|| read_npy::<_, Array1<Tight>>(matching).unwrap()))
        .runner("ndarray-io, f64", || timed(|| read_npy::<_, Array1<f64>>(plain).unwrap()))
        .runner("npyz", || timed(|| npyz_read(matching)))
        .run(ROUNDS);
    Race::new("read records, padded")
        .runner("ndarray-io", || timed(|| read_npy::<_, Array1<Padded>>(reordered).unwrap()))
        .runner("ndarray-io, f64", || timed(|| read_npy::<_, Array1<f64>>(plain_wide).unwrap()))
        .run(ROUNDS);
    // npyz does not support padding, so it reads the tight file.
    Race::new("read records, reordered")
        .runner("ndarray-io", || timed(|| read_npy::<_, Array1<Tight>>(reordered).unwrap()))
        .runner("npyz, not reordered", || timed(|| npyz_read(matching)))
        .run(ROUNDS);
    Race::new("read records, big-endian")
        .runner("ndarray-io", || timed(|| read_npy::<_, Array1<Tight>>(big).unwrap()))
        .runner("npyz", || timed(|| npyz_read(big)))
        .run(ROUNDS);

    let out = &path("out.npy");
    let npyz_write = || {
        let file = BufWriter::new(File::create(path("npyz.npy")).unwrap());
        let options =
            npyz::WriteOptions::new().dtype(Tight::default_dtype()).shape(&[ROWS as u64]).writer(file);
        let mut writer = options.begin_nd().unwrap();
        writer.extend(tight.iter()).unwrap();
        writer.finish().unwrap();
    };
    Race::new("write records, matching")
        .runner("ndarray-io", || timed(|| write_npy(out, &tight).unwrap()))
        .runner("ndarray-io, f64", || timed(|| write_npy(path("f64.npy"), &numbers).unwrap()))
        .runner("npyz", || timed(npyz_write))
        .run(ROUNDS);
    Race::new("write records, padded")
        .runner("ndarray-io", || timed(|| write_npy(path("pad.npy"), &padded).unwrap()))
        .runner("ndarray-io, f64", || timed(|| write_npy(path("wide-again.npy"), &numbers_wide).unwrap()))
        .run(ROUNDS);
    let options = WriteOptions::new().byte_order(ByteOrder::Big);
    Race::new("write records, big-endian")
        .runner("ndarray-io", || timed(|| options.write_npy(path("b.npy"), &tight).unwrap()))
        .runner("npyz, little-endian", || timed(npyz_write))
        .run(ROUNDS);

    let dynamic: DynArray = read_npy(matching).unwrap();
    let few = DynArray::new(&tight.slice(ndarray::s![..10])).unwrap();
    Race::new("view one field")
        .runner("of 1,000,000 records", || {
            timed_small(|| dynamic.field_view::<f64, ndarray::Ix1>("y").unwrap().len())
        })
        .runner("of 10", || timed_small(|| few.field_view::<f64, ndarray::Ix1>("y").unwrap().len()))
        .run(ROUNDS);
    let _ = ArrayView1::<Tight>::view_npy(&[]);
}
