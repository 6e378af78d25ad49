//! Compares conversions, casts, fields and partial reads with NumPy, a copy, and system calls.
//!
//! Run with `cargo bench -p ndarray-io-benches --bench blocks`.
//! An argument after `--` selects the races whose name contains it.
//!
//! "copy" copies the file to a new one, through a buffer of 1 MiB.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use ndarray::{Array1, Array2, Axis, Ix1, Ix2, s};
use ndarray_io::convert::{Conversion, concatenate_npy, convert_npy};
use ndarray_io::dtype::{Kind, Scalar};
use ndarray_io::header::Order;
use ndarray_io::{
    ByteOrder, Casting, DynArray, NpyFile, NpyMmap, NpyWriter, ReadOptions, Record, read_npy, write_npy,
};
use ndarray_io_benches::{NumPy, Race, print_head, timed};

const ROUNDS: usize = 7;

/// The NumPy process, if NumPy is installed.
struct NumPySide(RefCell<Option<NumPy>>);

impl NumPySide {
    fn race<'a>(&'a self, race: Race<'a>, name: &'static str, work: String) -> Race<'a> {
        match self.0.borrow().is_some() {
            true => race.runner(name, move || {
                self.0.borrow_mut().as_mut().map_or(Duration::ZERO, |numpy| numpy.time(&work, 1))
            }),
            false => race,
        }
    }

    fn run_setup(&self, work: &str) {
        if let Some(numpy) = self.0.borrow_mut().as_mut() {
            numpy.time(&format!("let {work}"), 1);
        }
    }
}

fn main() {
    let folder = std::env::temp_dir().join(format!("ndarray-io-blocks-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let numpy = NumPySide(RefCell::new(NumPy::start()));
    print_head(numpy.0.borrow().as_ref());
    files(&folder, &numpy);
    casts(&numpy);
    records(&folder, &numpy);
    narrow(&folder, &numpy);
    rows(&folder, &numpy);
    fs::remove_dir_all(&folder).unwrap();
}

/// Measures work that creates a new file, after pending writes have been synced.
fn new(path: &Path, work: impl FnOnce()) -> Duration {
    let _ = fs::remove_file(path);
    // SAFETY: the call touches no memory.
    unsafe { libc::sync() };
    timed(work)
}

fn copy(from: &Path, to: &Path) {
    let (mut from, mut to) = (File::open(from).unwrap(), File::create(to).unwrap());
    let mut block = vec![0; 1 << 20];
    loop {
        match from.read(&mut block).unwrap() {
            0 => return,
            count => to.write_all(&block[..count]).unwrap(),
        }
    }
}

/// Writes an array with the elements `row ^ column`, some rows at a time.
fn make(path: &Path, rows: usize, columns: usize) {
    let mut writer = NpyWriter::<f64, _>::create(path, &[columns]).unwrap();
    let step = (1 << 20) / columns.min(1 << 20);
    for from in (0..rows).step_by(step.max(1)) {
        let count = step.max(1).min(rows - from);
        writer
            .push(&Array2::from_shape_fn((count, columns), |(row, column)| ((from + row) ^ column) as f64))
            .unwrap();
    }
    writer.finish().unwrap();
}

fn files(folder: &Path, numpy: &NumPySide) {
    let (from, own, other) = (&folder.join("from.npy"), &folder.join("own.npy"), &folder.join("other.npy"));
    let float = Scalar::new(Kind::Float, 4, ByteOrder::NATIVE).unwrap();
    let save = |made: &str| format!("np.save(r'{}', {made})", other.display());
    let load = format!("np.load(r'{}')", from.display());

    make(from, 1, 1 << 26);
    Race::new("512 MiB f64 (1, 2²⁶) to the other byte order")
        .runner("ndarray-io", || {
            new(own, || convert_npy(from, own, Conversion::new().byte_order(ByteOrder::Big)).unwrap())
        })
        .runner("copy", || new(other, || copy(from, other)))
        .run(ROUNDS);
    Race::new("512 MiB f64 (1, 2²⁶) to f4")
        .runner("ndarray-io", || {
            new(own, || {
                convert_npy(from, own, Conversion::new().dtype(float.into(), Casting::SameKind)).unwrap()
            })
        })
        .runner("copy", || new(other, || copy(from, other)))
        .run(ROUNDS);
    for (work, rows, columns) in [
        ("10⁶ × 100 f64 from C to Fortran order, 64 MiB of memory", 1_000_000, 100),
        ("2¹⁸ × 256 f64 from C to Fortran order, 64 MiB of memory", 1 << 18, 256),
    ] {
        make(from, rows, columns);
        let transpose = move |threads: usize| {
            let write = ndarray_io::WriteOptions::new().threads(threads);
            new(own, || {
                convert_npy(from, own, Conversion::new().order(Order::Fortran).write_options(write)).unwrap()
            })
        };
        let race = Race::new(work)
            .runner("ndarray-io", move || transpose(2))
            .runner("ndarray-io, one thread", move || transpose(1))
            .runner("copy", || new(other, || copy(from, other)));
        numpy
            .race(race, "numpy, asfortranarray + save", save(&format!("np.asfortranarray({load})")))
            .run(ROUNDS);
    }
    make(from, 2, 1 << 24);
    let race = Race::new("two of (2, 2²⁴) f64 along axis 1").runner("ndarray-io", || {
        new(own, || concatenate_npy(&[from, from], own, 1, Conversion::new()).unwrap())
    });
    numpy
        .race(race, "numpy, concatenate + save", save(&format!("np.concatenate([{load}, {load}], 1)")))
        .run(ROUNDS);
    for (rows, columns) in [(400_000, 10), (4000, 1000), (100_000, 100)] {
        make(from, rows, columns);
        let race = Race::new(format!("two of ({rows}, {columns}) f64 along axis 1"))
            .runner("ndarray-io", || {
                new(own, || concatenate_npy(&[from, from], own, 1, Conversion::new()).unwrap())
            });
        numpy
            .race(race, "numpy, concatenate + save", save(&format!("np.concatenate([{load}, {load}], 1)")))
            .run(ROUNDS);
    }
    for path in [from, own, other] {
        let _ = fs::remove_file(path);
    }
}

fn casts(numpy: &NumPySide) {
    let double = Scalar::new(Kind::Float, 8, ByteOrder::NATIVE).unwrap();
    let half = Scalar::new(Kind::Float, 2, ByteOrder::NATIVE).unwrap();
    let integers = DynArray::new(&Array1::from_iter(0..25_000_000i32)).unwrap();
    let doubles = DynArray::new(&Array1::from_iter((0..10_000_000).map(f64::from))).unwrap();
    let mut file = Vec::new();
    ndarray_io::WriteNpyExt::write_npy(&integers, &mut file).unwrap();
    numpy.run_setup("i = np.arange(25_000_000, dtype='i4'); d = np.arange(10_000_000, dtype='f8')");
    let race = Race::new("cast_to, i4 to f8, 25 M")
        .runner("ndarray-io", || timed(|| integers.cast_to(&double.into(), Casting::Safe).unwrap()));
    numpy.race(race, "numpy", "i.astype('f8')".into()).run(ROUNDS);
    let options = |threads| ReadOptions::new().casting(Casting::Safe).threads(threads);
    let read = |threads| {
        let file = &file;
        timed(|| options(threads).read_from::<Array1<f64>>(&file[..]).unwrap())
    };
    let race = Race::new("typed cast, i4 to f8, 25 M")
        .runner("ndarray-io", || read(2))
        .runner("ndarray-io, one thread", || read(1));
    numpy.race(race, "numpy", "i.astype('f8')".into()).run(ROUNDS);
    let race = Race::new("cast_to, f8 to f2, 10 M")
        .runner("ndarray-io", || timed(|| doubles.cast_to(&half.into(), Casting::SameKind).unwrap()));
    numpy.race(race, "numpy", "d.astype('f2')".into()).run(ROUNDS);
}

#[derive(Clone, Copy, Record)]
#[repr(C)]
struct Point {
    x: f64,
    id: i32,
    p: [f32; 3],
}

/// The fields of `Point` in another order.
#[derive(Clone, Copy, Record)]
#[repr(C)]
struct ReorderedPoint {
    id: i32,
    p: [f32; 3],
    x: f64,
}

fn records(folder: &Path, numpy: &NumPySide) {
    let path = &folder.join("records.npy");
    let points =
        Array1::from_shape_fn(4_000_000, |index| Point { x: index as f64, id: 7, p: [index as f32; 3] });
    write_npy(path, &points).unwrap();
    drop(points);
    let array: &DynArray = &read_npy(path).unwrap();
    numpy.run_setup(&format!("r = np.load(r'{}')", path.display()));
    for (work, name) in [("field x of 4 M records", "x"), ("field p of 4 M records", "p")] {
        let race = Race::new(work).runner("ndarray-io", move || timed(|| array.field(name).unwrap()));
        numpy.race(race, "numpy", format!("r['{name}'].copy()")).run(ROUNDS);
    }
    let read = |threads| {
        timed(|| ReadOptions::new().threads(threads).read_npy::<Array1<ReorderedPoint>>(path).unwrap())
    };
    numpy.run_setup("m = np.dtype([('id', '<i4'), ('p', '<f4', (3,)), ('x', '<f8')])");
    let race = Race::new("read 4 M records of another layout")
        .runner("ndarray-io", || read(2))
        .runner("ndarray-io, one thread", || read(1));
    numpy
        .race(
            race,
            "numpy, load + astype",
            format!("np.load(r'{}')[['id', 'p', 'x']].astype(m)", path.display()),
        )
        .run(ROUNDS);
    let _ = fs::remove_file(path);
}

/// Reads a column: elements of 8 bytes that are 8 KiB apart.
fn narrow(folder: &Path, numpy: &NumPySide) {
    let path = &folder.join("wide.npy");
    make(path, 100_000, 1024);
    let file = &NpyFile::open(path).unwrap();
    // SAFETY: no other process changes the file.
    let map = &unsafe { NpyMmap::<f64, Ix2>::open(path) }.unwrap();
    let race = Race::new("100,000 elements, one in 8 KiB, in cache")
        .runner("ndarray-io", || timed(|| file.slice::<f64, _>(s![.., 5]).unwrap()))
        .runner("one pread a run, two threads", || {
            let file = File::open(path).unwrap();
            let mut made = vec![[0u8; 8]; 100_000];
            timed(|| {
                std::thread::scope(|scope| {
                    for (part, made) in made.chunks_mut(50_000).enumerate() {
                        let file = &file;
                        scope.spawn(move || {
                            for (row, into) in made.iter_mut().enumerate() {
                                file.read_exact_at(into, 168 + (part * 50_000 + row) as u64 * 8192).unwrap();
                            }
                        });
                    }
                });
            })
        })
        .runner("all of it", || {
            timed(|| {
                let mut file = File::open(path).unwrap();
                let mut block = vec![0; 1 << 20];
                while file.read(&mut block).unwrap() > 0 {}
            })
        })
        .runner("NpyMmap", || timed(|| map.view().slice(s![.., 5]).to_owned()));
    numpy
        .race(
            race,
            "numpy, mmap_mode='r'",
            format!("np.array(np.load(r'{}', mmap_mode='r')[:, 5])", path.display()),
        )
        .run(ROUNDS);
    let _ = fs::remove_file(path);
}

/// Drops the file from the page cache.
fn drop_from_cache(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    // SAFETY: the descriptor is open, and the call touches no memory.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

fn rows(folder: &Path, numpy: &NumPySide) {
    let path = &folder.join("rows.npy");
    for (work, columns, count) in [("4 KiB", 512, 1 << 18), ("1 KiB", 128, 1 << 20)] {
        make(path, count, columns);
        let mut state = 1usize;
        let indices: &Vec<usize> = &(0..4096)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % count
            })
            .collect();
        let file = &NpyFile::open(path).unwrap();
        numpy.run_setup(&format!("path = r'{}'; which = {indices:?}", path.display()));
        numpy.run_setup("rows = lambda: [np.array(row) for m in [np.load(path, mmap_mode='r')] for row in (m[i] for i in which)]");
        numpy.run_setup("import mmap; advised = lambda m: (m._mmap.madvise(mmap.MADV_RANDOM), m)[1]");
        numpy.run_setup("random = lambda: [np.array(row) for m in [advised(np.load(path, mmap_mode='r'))] for row in (m[i] for i in which)]");
        let uncached = |work: String| {
            move || {
                drop_from_cache(path);
                numpy.0.borrow_mut().as_mut().map_or(Duration::ZERO, |numpy| numpy.time(&work, 1))
            }
        };
        Race::new(format!("4096 rows of {work} at random, not in cache"))
            .runner("ndarray-io", || {
                drop_from_cache(path);
                timed(|| file.take::<Array2<f64>>(0, indices).unwrap())
            })
            .runner("numpy, mmap_mode='r', row by row", uncached("rows()".into()))
            .runner("numpy, the same with MADV_RANDOM", uncached("random()".into()))
            .run(3);
        copy(path, Path::new("/dev/null"));
        // SAFETY: no other process changes the file.
        let map = &unsafe { NpyMmap::<f64, Ix2>::open(path) }.unwrap();
        let race = Race::new(format!("4096 rows of {work} at random, in cache"))
            .runner("ndarray-io", || timed(|| file.take::<Array2<f64>>(0, indices).unwrap()))
            .runner("NpyMmap, select", || timed(|| map.view().select(Axis(0), indices)));
        numpy
            .race(race, "numpy, take of a map", "np.take(np.load(path, mmap_mode='r'), which, 0)".into())
            .run(ROUNDS);
    }
    let _ = (fs::remove_file(path), read_npy::<_, ndarray::Array<f64, Ix1>>(path));
}
