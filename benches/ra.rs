//! Compares RA files with NPY files, the `rawarray` crate, NumPy's raw files and the LZ4 codec.
//!
//! Run with `cargo bench -p ndarray-io-benches --bench ra`.
//! An argument after `--` selects the races whose name contains it.

use std::fs;
use std::path::Path;

use ndarray::Array1;
use ndarray_io::Compression;
use ndarray_io::ra::{read_ra, write_ra};
use ndarray_io::{WriteOptions, read_npy, write_npy};
use ndarray_io_benches::{NumPy, Race, print_head, timed};
use rawarray::RawArray;

const LEN: usize = 16 << 20;
const ROUNDS: usize = 11;

fn main() {
    let folder = std::env::temp_dir().join(format!("ndarray-io-ra-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut numpy = NumPy::start();
    print_head(numpy.as_ref());
    run(&folder, numpy.as_mut());
    fs::remove_dir_all(&folder).unwrap();
}

fn run(folder: &Path, numpy: Option<&mut NumPy>) {
    let array = Array1::from_shape_fn(LEN, |index| (index / 64 % 1000) as f64);
    let path = |name: &str| folder.join(name);
    let (ra, npy, raw, packed) = (&path("a.ra"), &path("a.npy"), &path("a.raw"), &path("packed.ra"));
    write_ra(ra, &array).unwrap();
    write_npy(npy, &array).unwrap();
    let items = array.as_slice().unwrap();
    let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_ne_bytes()).collect();
    fs::write(raw, &bytes).unwrap();
    let numpy = std::cell::RefCell::new(numpy);
    let numpy_time = |work: String| numpy.borrow_mut().as_mut().unwrap().time(&work, 1);
    let has_numpy = numpy.borrow().is_some();

    let mut race = Race::new("read 128 MiB of f64")
        .runner("ndarray-io", || timed(|| read_ra::<_, Array1<f64>>(ra).unwrap()))
        .runner("ndarray-io, NPY", || timed(|| read_npy::<_, Array1<f64>>(npy).unwrap()))
        .runner("rawarray", || timed(|| RawArray::<f64>::read(ra).unwrap()));
    if has_numpy {
        race = race.runner("numpy.fromfile", || numpy_time(format!("np.fromfile({raw:?})")));
    }
    race.run(ROUNDS);

    let theirs: RawArray<f64> = array.to_vec().into();
    let (to, to_npy, to_theirs, to_raw) = (&path("w.ra"), &path("w.npy"), &path("t.ra"), &path("w.raw"));
    let mut race = Race::new("write 128 MiB of f64")
        .runner("ndarray-io", || timed(|| write_ra(to, &array).unwrap()))
        .runner("ndarray-io, NPY", || timed(|| write_npy(to_npy, &array).unwrap()))
        .runner("rawarray", || timed(|| theirs.write(to_theirs).unwrap()));
    if has_numpy {
        numpy_time(format!("let a = np.fromfile({raw:?})"));
        race = race.runner("ndarray.tofile", || numpy_time(format!("a.tofile({to_raw:?})")));
    }
    race.run(ROUNDS);

    let options = WriteOptions::new().compression(Compression::Lz4);
    options.write_ra(packed, &array).unwrap();
    let block = lz4_flex::block::compress(&bytes);
    Race::new("read 128 MiB of f64, LZ4")
        .runner("ndarray-io", || timed(|| read_ra::<_, Array1<f64>>(packed).unwrap()))
        .runner("lz4_flex and a read", || {
            timed(|| {
                let file = fs::read(packed).unwrap();
                lz4_flex::block::decompress(&file[file.len() - block.len()..], bytes.len()).unwrap()
            })
        })
        .run(ROUNDS);
    Race::new("write 128 MiB of f64, LZ4")
        .runner("ndarray-io", || timed(|| options.write_ra(to, &array).unwrap()))
        .runner("lz4_flex and a write", || {
            timed(|| fs::write(to_raw, lz4_flex::block::compress(&bytes)).unwrap())
        })
        .run(ROUNDS);
}
