//! Compressed members, with five kinds of data.
//!
//! Run with `cargo bench -p ndarray-io-benches --bench compressed`.
//! An argument after `--` selects the races whose name contains it.

use std::cell::RefCell;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use ndarray::{Array1, Array2, Ix1, s};
use ndarray_io::{Compression, DynArray, NpzFile, ReadOptions, WriteArray, WriteOptions, read_npy};
use ndarray_io_benches::{NumPy, Race, print_head, timed};

const ROUNDS: usize = 9;

/// Each kind of data, and the NumPy expression that makes 32 MiB of it.
const KINDS: &[(&str, &str)] = &[
    ("noise", "np.random.default_rng(1).standard_normal(4 << 20)"),
    ("smooth", "np.sin(np.arange(4 << 20) / 1000.)"),
    ("ints", "np.random.default_rng(1).integers(0, 1000, 8 << 20).astype('i4')"),
    ("zeros", "np.zeros(4 << 20)"),
    (
        "text",
        "np.array(['name%05d of the %d' % (i % 70000, i % 13) for i in range((32 << 20) // 80)], dtype='U20')",
    ),
];

fn main() {
    let folder = std::env::temp_dir().join(format!("ndarray-io-compressed-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let numpy = RefCell::new(Some(NumPy::start().expect("NumPy makes the data: PYTHON names it")));
    print_head(numpy.borrow().as_ref());
    for (kind, make) in KINDS {
        kinds(&folder, &numpy, kind, make);
    }
    parts(&folder);
    fs::remove_dir_all(&folder).unwrap();
}

type Python = RefCell<Option<NumPy>>;

fn time_numpy(numpy: &Python, work: &str) -> Duration {
    numpy.borrow_mut().as_mut().expect("it was started").time(work, 1)
}

fn options(compression: Compression, threads: usize) -> WriteOptions {
    WriteOptions::new().threads(threads).compression(compression)
}

fn read(path: &Path, threads: usize) -> DynArray {
    ReadOptions::new().threads(threads).open_npz(path).unwrap().read("a").unwrap()
}

fn size(of: &str, who: &str, path: &Path) {
    if let Ok(metadata) = fs::metadata(path) {
        println!("| size {of} | {who} | | {} bytes | |", metadata.len());
    }
}

fn kinds(folder: &Path, numpy: &Python, kind: &str, make: &str) {
    let path = |name: &str| folder.join(format!("{kind}-{name}"));
    let (npy, own, theirs, two) = (&path("a.npy"), &path("own.npz"), &path("numpy.npz"), &path("two.npz"));
    time_numpy(numpy, &format!("let array = {make}; np.save(r'{}', array)", npy.display()));
    time_numpy(numpy, &format!("let np.savez_compressed(r'{}', a=array)", theirs.display()));
    time_numpy(numpy, &format!("let np.savez_compressed(r'{}', a=array, b=array)", two.display()));
    let array = read_npy::<_, DynArray>(npy).unwrap();
    let write = |path: &Path, compression, threads| {
        options(compression, threads).write_npz(path, &[("a", &array as &dyn WriteArray)]).unwrap();
    };
    Race::new(format!("write deflated {kind}"))
        .runner("ndarray-io, 2 threads", || timed(|| write(own, Compression::DEFLATE, 2)))
        .runner("ndarray-io, 1 thread", || timed(|| write(own, Compression::DEFLATE, 1)))
        .runner("numpy", || {
            time_numpy(
                numpy,
                &format!("made = None; np.savez_compressed(r'{}', a=array)", path("w.npz").display()),
            )
        })
        .run(3);
    write(own, Compression::DEFLATE, 2);
    size(&format!("deflated {kind}"), "ndarray-io", own);
    size(&format!("deflated {kind}"), "numpy", theirs);
    for (whose, path) in [("our own", own), ("NumPy's", theirs)] {
        Race::new(format!("read {whose} deflated {kind}"))
            .runner("ndarray-io, 2 threads", || timed(|| read(path, 2)))
            .runner("ndarray-io, 1 thread", || timed(|| read(path, 1)))
            .runner("ndarray-npy", || {
                timed(|| {
                    let mut npz = ndarray_npy::NpzReader::new(File::open(path).unwrap()).unwrap();
                    match kind {
                        "ints" => drop(npz.by_name::<ndarray::OwnedRepr<i32>, Ix1>("a").unwrap()),
                        "text" => {} // not supported
                        _ => drop(npz.by_name::<ndarray::OwnedRepr<f64>, Ix1>("a").unwrap()),
                    }
                })
            })
            .runner("numpy", || time_numpy(numpy, &format!("np.load(r'{}')['a']", path.display())))
            .run(ROUNDS);
    }
    Race::new(format!("read two members of NumPy's {kind}"))
        .runner("ndarray-io, 2 threads", || {
            let options = ReadOptions::new().threads(2);
            timed(|| options.open_npz(two).unwrap().read_all::<DynArray>().unwrap())
        })
        .runner("numpy", || {
            time_numpy(numpy, &format!("z = np.load(r'{}'); made = [z['a'], z['b']]", two.display()))
        })
        .run(ROUNDS);
    let zstd = |level| Compression::Zstd(level);
    let plain = || {
        let bytes = fs::read(npy).unwrap();
        zstd::bulk::compress(&bytes, 3).unwrap()
    };
    let packed = plain();
    Race::new(format!("write Zstandard {kind}"))
        .runner("ndarray-io, 2 threads", || timed(|| write(own, zstd(3), 2)))
        .runner("ndarray-io, 1 thread", || timed(|| write(own, zstd(3), 1)))
        .runner("zstd at once", || timed(plain))
        .run(ROUNDS);
    write(own, zstd(3), 2);
    size(&format!("Zstandard {kind}"), "ndarray-io", own);
    println!("| size Zstandard {kind} | zstd at once | | {} bytes | |", packed.len());
    Race::new(format!("read our own Zstandard {kind}"))
        .runner("ndarray-io, 2 threads", || timed(|| read(own, 2)))
        .runner("ndarray-io, 1 thread", || timed(|| read(own, 1)))
        .runner("zstd at once", || timed(|| zstd::bulk::decompress(&packed, 33 << 20).unwrap()))
        .run(ROUNDS);
    [npy, own, theirs, two, &path("w.npz")].into_iter().for_each(|path| drop(fs::remove_file(path)));
}

/// Compares reading a part of a member with reading all of it.
fn parts(folder: &Path) {
    let path = &folder.join("large.npz");
    let rows = 32 << 10;
    let large =
        Array2::from_shape_fn((rows, 1024), |(row, column)| ((row * 7 + column) as f64 / 1000.0).sin());
    options(Compression::Deflated(1), 2).write_npz(path, &[("a", &large)]).unwrap();
    drop(large);
    let part = rows / 100;
    Race::new("1 % of the rows of 256 MiB deflated")
        .runner("ndarray-io, a slice", || {
            timed(|| {
                let member = NpzFile::open(path).unwrap().open_member("a").unwrap();
                member.slice::<f64, _>(s![rows / 2..rows / 2 + part, ..]).unwrap()
            })
        })
        .runner("ndarray-io, all of it", || {
            timed(|| NpzFile::open(path).unwrap().read::<Array2<f64>>("a").unwrap())
        })
        .runner("ndarray-io, rows one by one", || {
            timed(|| {
                let member = NpzFile::open(path).unwrap().open_member("a").unwrap();
                let rows = rows / 2..rows / 2 + part;
                rows.map(|row| member.slice::<f64, _>(s![row, ..]).unwrap()).collect::<Vec<Array1<f64>>>()
            })
        })
        .run(ROUNDS);
}
