//! How the cost of an operation grows with one number: members, fields, axes, rows, indices, parts, nodes.
//!
//! Run with `cargo bench -p ndarray-io-benches --bench growth`.
//! An argument after `--` selects the axes whose name contains it.
//!
//! Each operation is run for n, 4 n and 16 n, and its processor time is compared with the work. The exponent is
//! that of the power of n by which the time grows: 1 is in proportion. With `GROWTH=check`, an exponent above
//! 1.15 is a failure, unless it is that of the peer: what leaves the cache of the processor grows faster for both.
//! `GROWTH=16` multiplies every n by 16, which takes minutes and gigabytes.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ndarray::{Array1, Array2, ArrayD, ArrayViewD, Axis, SliceInfoElem, s};
use ndarray_io::NpyFileMut;
use ndarray_io::ReadOptions;
use ndarray_io::convert::{Conversion, convert_npy};
use ndarray_io::dask::{NpyStack, NpyStackWriter};
use ndarray_io::header::Order;
use ndarray_io::object::Object;
use ndarray_io::{
    Casting, Compression, DType, DynArray, NpyFile, NpyWriter, NpzFile, NpzUpdate, ReadNpyExt, WriteArray,
    WriteOptions, read_npy, write_npy, write_npz,
};
use ndarray_io_benches::{NumPy, cpu_timed};

/// The number of times that each work is measured; the least time counts.
const ROUNDS: usize = 3;
/// The largest exponent that passes for proportional: caches of the processor cost more than the difference.
const MAX_EXPONENT: f64 = 1.15;

/// Some work at one size, which returns the processor time that it took.
type Work = Box<dyn FnMut() -> Duration>;
/// A change of the archive at a path.
type Change = Box<dyn Fn(&Path)>;

/// The least times of this library and of a peer, for each size.
struct Growth {
    name: String,
    sizes: [usize; 3],
    own: Vec<Duration>,
    peer: Vec<Duration>,
}

struct Bench {
    folder: PathBuf,
    numpy: RefCell<Option<NumPy>>,
    filter: Option<String>,
    scale: usize,
    rows: RefCell<Vec<Growth>>,
}

fn main() {
    let folder = std::env::temp_dir().join(format!("ndarray-io-growth-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mode = std::env::var("GROWTH").unwrap_or_default();
    let mut numpy = NumPy::start();
    if let Some(numpy) = &mut numpy {
        numpy.count_processor_time();
    }
    println!("NumPy {}\n", numpy.as_ref().map_or("is not there", |numpy| &numpy.version));
    println!(
        "| axis | n | n | 4 n | 16 n | exponent | peer | its exponent | peer / ours at 16 n |\n|---|---|---|---|---|---|---|---|---|"
    );
    let bench = Bench {
        folder,
        numpy: RefCell::new(numpy),
        filter: std::env::args().nth(1).filter(|filter| filter != "--bench"),
        scale: mode.parse().unwrap_or(1),
        rows: RefCell::default(),
    };
    scattered(&bench);
    axes(&bench);
    fields(&bench);
    members(&bench);
    rows_and_parts(&bench);
    objects(&bench);
    program(&bench);
    fs::remove_dir_all(&bench.folder).unwrap();
    let rows = bench.rows.into_inner();
    let steep: Vec<&str> = rows.iter().filter(|row| row.is_steep()).map(|row| row.name.as_str()).collect();
    if mode == "check" && !steep.is_empty() {
        eprintln!("more than in proportion: {}", steep.join(", "));
        std::process::exit(1);
    }
}

impl Growth {
    /// Returns the power of n by which these times grow, from the first to the last size.
    fn exponent(&self, times: &[Duration]) -> f64 {
        let factor = self.sizes[2] as f64 / self.sizes[0] as f64;
        (times[2].as_secs_f64() / times[0].as_secs_f64()).ln() / factor.ln()
    }

    fn is_steep(&self) -> bool {
        let peer = if self.peer.is_empty() { 0.0 } else { self.exponent(&self.peer) };
        self.exponent(&self.own) > MAX_EXPONENT.max(peer + 0.1)
    }
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns work in NumPy, if it is installed.
    fn has_numpy(&self) -> bool {
        self.numpy.borrow().is_some()
    }

    fn run_setup(&self, work: &str) {
        if let Some(numpy) = self.numpy.borrow_mut().as_mut() {
            numpy.time(&format!("let {work}"), 1);
        }
    }

    /// Runs an axis at n, 4 n and 16 n.
    fn axis(&self, name: &str, n: usize, peer: &'static str, make: impl FnMut(usize) -> (Work, Peer)) {
        let n = n * self.scale;
        self.sizes(name, [n, 4 * n, 16 * n], peer, make);
    }

    /// Runs an axis at three sizes. `make` prepares the work, and that of the peer.
    fn sizes(
        &self,
        name: &str,
        sizes: [usize; 3],
        peer_name: &'static str,
        mut make: impl FnMut(usize) -> (Work, Peer),
    ) {
        if self.filter.as_ref().is_some_and(|filter| !name.contains(filter)) {
            return;
        }
        let (mut own, mut peer) = (Vec::new(), Vec::new());
        for size in sizes {
            let (mut work, mut other) = make(size);
            let mut least = [Duration::MAX; 2];
            for round in 0..=ROUNDS {
                let times = [Some(work()), self.peer_time(&mut other)];
                if round == 0 {
                    continue; // warms up
                }
                for (least, time) in least.iter_mut().zip(times) {
                    *least = time.map_or(*least, |time| time.min(*least));
                }
            }
            own.push(least[0]);
            peer.extend((least[1] != Duration::MAX).then_some(least[1]));
        }
        let row = Growth { name: name.to_owned(), sizes, own, peer };
        let times: Vec<String> = row.own.iter().map(|time| shown(*time)).collect();
        let peer = row.peer.last().map_or("| |".into(), |peer| {
            let ratio = peer.as_secs_f64() / row.own[2].as_secs_f64();
            format!("{:.2} | {ratio:.2} × |", row.exponent(&row.peer))
        });
        let exponent = row.exponent(&row.own);
        println!("| {name} | {} | {} | {exponent:.2} | {peer_name} | {peer}", sizes[0], times.join(" | "));
        self.rows.borrow_mut().push(row);
    }

    fn peer_time(&self, peer: &mut Peer) -> Option<Duration> {
        match peer {
            Peer::None => None,
            Peer::Own(work) => Some(work()),
            Peer::NumPy(work) => self.numpy.borrow_mut().as_mut().map(|numpy| numpy.time(work, 1)),
        }
    }
}

/// What the work is compared with.
enum Peer {
    None,
    /// Something in this process.
    Own(Work),
    /// A line of Python.
    NumPy(String),
}

fn shown(time: Duration) -> String {
    match time.as_micros() {
        0..10_000 => format!("{} µs", time.as_micros()),
        10_000..10_000_000 => format!("{:.1} ms", time.as_secs_f64() * 1e3),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

/// Returns work that is measured as a whole.
fn work<T>(mut call: impl FnMut() -> T + 'static) -> Work {
    Box::new(move || cpu_timed(&mut call))
}

/// Returns numbers from 0 to `most` in no order, always the same.
fn shuffled(count: usize, most: usize) -> Vec<usize> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    (0..count).map(|_| next()).collect()
}

/// Parts of a file that are many short runs.
fn scattered(bench: &Bench) {
    let path = &bench.path("scattered.npy");
    bench.axis("rows of 3 bytes, read `[.., ..;2]`", 400_000, "NumPy's map", |n| {
        write_npy(path, &Array2::<u8>::zeros((n, 3))).unwrap();
        let file = NpyFile::open(path).unwrap();
        let numpy = format!("np.array(np.load(r'{}', mmap_mode='r')[:, ::2])", path.display());
        (work(move || file.slice::<u8, _>(s![.., ..;2]).unwrap()), Peer::NumPy(numpy))
    });
    bench.axis("rows of 3 bytes, written `[.., ..;2]`", 400_000, "NumPy's map", |n| {
        write_npy(path, &Array2::<u8>::zeros((n, 3))).unwrap();
        let file = NpyFileMut::open_exclusive(path).unwrap();
        let part = Array2::<u8>::from_elem((n, 2), 7);
        bench.run_setup(&format!("part = np.full(({n}, 2), 7, np.uint8)"));
        let numpy = format!("np.load(r'{}', mmap_mode='r+')[:, ::2] = part", path.display());
        (work(move || file.write_slice(s![.., ..;2], &part).unwrap()), Peer::NumPy(numpy))
    });
    let taken = |name: &str, n: usize, axis: usize, shape: fn(usize) -> (usize, usize)| {
        bench.axis(name, n, "NumPy's map", |n| {
            let all = Array2::<f64>::from_elem(shape(n), 0.5);
            write_npy(path, &all).unwrap();
            let file = NpyFile::open(path).unwrap();
            let indices = shuffled(n, n);
            bench.run_setup(&format!("indices = np.random.default_rng(1).integers(0, {n}, {n})"));
            let numpy = format!("np.load(r'{}', mmap_mode='r').take(indices, {axis})", path.display());
            (work(move || file.take::<Array2<f64>>(axis, &indices).unwrap()), Peer::NumPy(numpy))
        });
    };
    taken("numbers taken at random", 1_600_000, 0, |n| (n, 1));
    taken("rows of 800 bytes taken at random", 30_000, 0, |n| (n, 100));
    taken("columns of 100 rows taken at random", 30_000, 1, |n| (100, n));
}

/// The same numbers in more and more axes.
fn axes(bench: &Bench) {
    let (path, out) = (&bench.path("axes.npy"), &bench.path("other.npy"));
    // 2²⁰ numbers: 2 axes of 1024, 5 of 16, 20 of 2.
    let sizes = [2, 5, 20];
    let make = |axes: usize| {
        let all = ArrayD::from_shape_vec(vec![1 << (20 / axes); axes], (0..1u32 << 20).collect()).unwrap();
        write_npy(path, &all).unwrap();
        all
    };
    let write = |array: ArrayD<u32>| {
        let out = out.clone();
        work(move || write_npy(&out, &array).unwrap())
    };
    bench.sizes("axes: all reversed, written", sizes, "ndarray's copy", |axes| {
        let mut reversed = make(axes).reversed_axes();
        reversed.invert_axis(Axis(0)); // in none of the orders of a file
        let peer = reversed.clone();
        (write(reversed), Peer::Own(work(move || copied(&peer.view()))))
    });
    bench.sizes("axes: the last one backwards, written", sizes, "ndarray's copy", |axes| {
        let mut view = make(axes);
        view.invert_axis(Axis(axes - 1));
        let peer = view.clone();
        (write(view), Peer::Own(work(move || copied(&peer.view()))))
    });
    bench.sizes("axes: all reversed, read", sizes, "NumPy", |axes| {
        write_npy(path, &make(axes).reversed_axes()).unwrap();
        let read = path.clone();
        let numpy = format!("np.ascontiguousarray(np.load(r'{}'))", path.display());
        let mut into = ArrayD::<u32>::zeros(vec![1 << (20 / axes); axes]);
        (
            work(move || ReadOptions::new().read_into(File::open(&read).unwrap(), &mut into).unwrap()),
            Peer::NumPy(numpy),
        )
    });
    bench.sizes("axes: C to Fortran, converted", sizes, "NumPy", |axes| {
        make(axes);
        let (from, to) = (path.clone(), out.clone());
        let numpy =
            format!("np.save(r'{}.py', np.asfortranarray(np.load(r'{}')))", to.display(), path.display());
        let options = || Conversion::new().order(Order::Fortran);
        (work(move || convert_npy(&from, &to, options()).unwrap()), Peer::NumPy(numpy))
    });
    bench.sizes("axes: taken along the last", sizes, "ndarray's select", |axes| {
        let all = make(axes);
        let file = NpyFile::open(path).unwrap();
        let indices: Vec<usize> = (0..all.shape()[axes - 1]).rev().collect();
        let same = indices.clone();
        (
            work(move || file.take::<ArrayD<u32>>(axes - 1, &indices).unwrap()),
            Peer::Own(work(move || all.select(Axis(axes - 1), &same))),
        )
    });
    bench.sizes("axes: every second of the last", sizes, "ndarray's copy", |axes| {
        let all = make(axes);
        let file = NpyFile::open(path).unwrap();
        let mut part = vec![SliceInfoElem::from(..); axes];
        part[axes - 1] = SliceInfoElem::Slice { start: 0, end: None, step: 2 };
        let same = part.clone();
        (
            work(move || file.slice::<u32, _>(&part[..]).unwrap()),
            Peer::Own(work(move || all.slice(&same[..]).to_owned())),
        )
    });
}

/// Returns a copy in C order, element by element as the iterator gives them.
fn copied(view: &ArrayViewD<'_, u32>) -> ArrayD<u32> {
    view.as_standard_layout().into_owned()
}

/// Returns the dtype of records with `n` fields of 8 bytes.
fn record(n: usize, code: &str) -> DType {
    let fields: Vec<String> = (0..n).map(|field| format!("('f{field}', '{code}')")).collect();
    format!("[{}]", fields.join(", ")).parse().unwrap()
}

/// Records with more and more fields.
fn fields(bench: &Bench) {
    let path = &bench.path("records.npy");
    let records = |n: usize, count: usize| {
        DynArray::from_bytes(record(n, "<f8"), [count], Order::C, &vec![0; 8 * n * count]).unwrap()
    };
    bench.axis("fields: header parsed", 1_000, "NumPy", |n| {
        write_npy(path, &records(n, 1)).unwrap();
        let read = path.clone();
        let numpy = format!("np.lib.format.open_memmap(r'{}', mode='r')", path.display());
        // NumPy refuses longer headers, unless it is told not to.
        let numpy = numpy.replace("mode='r'", "mode='r', max_header_size=10**9");
        (work(move || NpyFile::open(&read).unwrap()), Peer::NumPy(numpy))
    });
    bench.axis("fields: the last name repeated, refused", 1_000, "the same, accepted", |n| {
        let file = |last: String| {
            let mut fields: Vec<String> = (0..n).map(|field| format!("('f{field}', '<f8')")).collect();
            fields.push(format!("('{last}', '<f8')"));
            let header =
                format!("{{'descr': [{}], 'fortran_order': False, 'shape': (0,), }}\n", fields.join(", "));
            [b"\x93NUMPY\x02\x00", &(header.len() as u32).to_le_bytes()[..], header.as_bytes()].concat()
        };
        let (refused, accepted) = (file(format!("f{}", n - 1)), file("last".into()));
        (
            work(move || DynArray::read_npy(&refused[..]).unwrap_err()),
            Peer::Own(work(move || DynArray::read_npy(&accepted[..]).unwrap())),
        )
    });
    bench.axis("fields: each copied by name", 600, "", |n| {
        let (array, names) = (records(n, 10), (0..n).map(|field| format!("f{field}")).collect::<Vec<_>>());
        (work(move || names.iter().for_each(|name| drop(array.field(&name[..]).unwrap()))), Peer::None)
    });
    // As many bytes for each n: the exponent is that of the overhead.
    bench.sizes("fields: 16 MB of records cast to >f8", [100, 1_000, 10_000], "NumPy", |n| {
        let (array, to) = (records(n, 2_000_000 / n), record(n, ">f8"));
        write_npy(path, &array).unwrap();
        bench.run_setup(&format!("records = np.load(r'{}', max_header_size=10**9)", path.display()));
        bench.run_setup(&format!("wanted = np.dtype([(f'f{{i}}', '>f8') for i in range({n})])"));
        let work = work(move || array.cast_to(&to, Casting::SameKind).unwrap());
        (work, Peer::NumPy("records.astype(wanted)".into()))
    });
}

/// Archives of more and more members.
fn members(bench: &Bench) {
    let (path, out) = (&bench.path("members.npz"), &bench.path("changed.npz"));
    let item = &Array1::<f64>::zeros(10);
    let archive = |n: usize, compression: Compression| {
        let names: Vec<String> = (0..n).map(|member| format!("m{member}")).collect();
        let arrays: Vec<(&str, &dyn WriteArray)> =
            names.iter().map(|name| (&name[..], item as &dyn WriteArray)).collect();
        WriteOptions::new().compression(compression).write_npz(path, &arrays).unwrap();
        names
    };
    bench.run_setup("import zipfile, shutil, os");
    bench.axis("members: written", 6_000, "NumPy", |n| {
        bench.run_setup(&format!("items = {{f'm{{i}}': np.zeros(10) for i in range({n})}}"));
        let numpy = format!("np.savez(r'{}', **items)", out.display());
        let (names, out) = (archive(n, Compression::Stored), out.clone());
        let item = item.clone();
        let write = move || {
            let arrays: Vec<(&str, &dyn WriteArray)> =
                names.iter().map(|name| (&name[..], &item as &dyn WriteArray)).collect();
            write_npz(&out, &arrays).unwrap();
        };
        (work(write), Peer::NumPy(numpy))
    });
    bench.axis("members: opened", 6_000, "zipfile", |n| {
        archive(n, Compression::Stored);
        let (numpy, path) = (format!("zipfile.ZipFile(r'{}')", path.display()), path.clone());
        (work(move || NpzFile::open(&path).unwrap()), Peer::NumPy(numpy))
    });
    for (name, compression) in [("stored", Compression::Stored), ("deflated", Compression::DEFLATE)] {
        bench.axis(&format!("members: {name}, each read by name"), 6_000, "NumPy", |n| {
            let (names, file) = (archive(n, compression), NpzFile::open(path).unwrap());
            bench.run_setup(&format!("file = np.load(r'{}')", path.display()));
            let each = move || names.iter().for_each(|name| drop(file.read::<Array1<f64>>(name).unwrap()));
            (work(each), Peer::NumPy("[file[name] for name in file.files]".into()))
        });
        bench.axis(&format!("members: {name}, all verified"), 6_000, "zipfile", |n| {
            archive(n, compression);
            let file = NpzFile::open(path).unwrap();
            bench.run_setup(&format!("file = zipfile.ZipFile(r'{}')", path.display()));
            (work(move || file.verify().unwrap()), Peer::NumPy("file.testzip()".into()))
        });
    }
    bench.axis("members: one added", 6_000, "zipfile, in place", |n| {
        archive(n, Compression::Stored);
        let (numpy, change) = (numpy_adds(path, out, 1), changed(path, out));
        let item = item.clone();
        let add =
            move |path: &Path| NpzUpdate::open(path).unwrap().add("new", &item).unwrap().finish().unwrap();
        (change(Box::new(add)), Peer::NumPy(numpy))
    });
    bench.axis("members: one in ten replaced", 6_000, "", |n| {
        let (names, change) = (archive(n, Compression::Stored), changed(path, out));
        let item = item.clone();
        let replace = move |path: &Path| {
            let mut update = NpzUpdate::open(path).unwrap();
            for name in names.iter().step_by(10) {
                update.replace(name, &item).unwrap();
            }
            update.finish().unwrap();
        };
        (change(Box::new(replace)), Peer::None)
    });
    bench.axis("members: added in one update", 6_000, "zipfile, in place", |n| {
        archive(1, Compression::Stored);
        let (numpy, change) = (numpy_adds(path, out, n), changed(path, out));
        let item = item.clone();
        let add = move |path: &Path| {
            let mut update = NpzUpdate::open(path).unwrap();
            for number in 0..n {
                update.add(format!("new{number}"), &item).unwrap();
            }
            update.finish().unwrap();
        };
        (change(Box::new(add)), Peer::NumPy(numpy))
    });
}

/// Returns work on a copy of the archive, which is made before the clock starts.
fn changed(path: &Path, out: &Path) -> impl FnOnce(Change) -> Work {
    let (path, out) = (path.to_owned(), out.to_owned());
    move |change| {
        Box::new(move || {
            fs::copy(&path, &out).unwrap();
            cpu_timed(|| change(&out))
        })
    }
}

/// Python that adds `n` members to a copy of the archive, less the time of the copy, which is small.
fn numpy_adds(path: &Path, out: &Path, n: usize) -> String {
    let (path, out) = (path.display(), out.display());
    format!(
        "shutil.copy(r'{path}', r'{out}.py'); file = zipfile.ZipFile(r'{out}.py', 'a'); \
         [np.lib.format.write_array(file.open(f'new{{i}}.npy', 'w', force_zip64=True), np.zeros(10)) for i in range({n})]; \
         file.close()"
    )
}

/// Files and stacks that grow row by row and part by part.
fn rows_and_parts(bench: &Bench) {
    let path = &bench.path("rows.npy");
    bench.axis("rows of 80 bytes pushed", 40_000, "", |n| {
        let (path, row) = (path.clone(), Array1::<f64>::zeros(10));
        let push = move || {
            let _ = fs::remove_file(&path);
            let mut writer = NpyWriter::create(&path, &[10]).unwrap();
            (0..n).for_each(|_| writer.push(&row).unwrap());
            writer.finish().unwrap();
        };
        (work(push), Peer::None)
    });
    bench.axis("rows of 80 bytes, the file opened for each", 500, "", |n| {
        let (path, row) = (path.clone(), Array1::<f64>::zeros(10));
        let push = move || {
            let _ = fs::remove_file(&path);
            NpyWriter::<f64, _>::create(&path, &[10]).unwrap().finish().unwrap();
            for _ in 0..n {
                let mut writer = NpyWriter::append(&path).unwrap();
                writer.push(&row).unwrap();
                writer.finish().unwrap();
            }
        };
        (work(push), Peer::None)
    });
    let stack = &bench.path("stack");
    let pushed = |stack: &Path, n: usize, commit: bool| {
        let _ = fs::remove_dir_all(stack);
        let mut writer = NpyStackWriter::create(stack, &"<f8".parse().unwrap(), &[], 0).unwrap();
        let part = Array1::<f64>::zeros(10);
        for _ in 0..n {
            writer.push(&part).unwrap();
            if commit {
                writer.commit().unwrap();
            }
        }
        writer.finish().unwrap();
    };
    bench.axis("parts of a stack pushed", 250, "NumPy saves as many files", |n| {
        let own = stack.clone();
        let numpy = format!(
            "os.makedirs(r'{0}.py', exist_ok=True); [np.save(fr'{0}.py/{{i}}.npy', np.zeros(10)) for i in range({n})]",
            stack.display()
        );
        (work(move || pushed(&own, n, false)), Peer::NumPy(numpy))
    });
    bench.axis("parts of a stack pushed, each committed", 250, "as many files renamed", |n| {
        let (own, folder) = (stack.clone(), bench.path("renamed"));
        // What the system needs for it: on ext4, creating a file takes longer after many were deleted.
        let rename = move || {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir(&folder).unwrap();
            for number in 0..n {
                fs::write(folder.join(format!("{number}.npy")), [0; 208]).unwrap();
                fs::write(folder.join("draft"), vec![0; 100 + 2 * number]).unwrap();
                fs::rename(folder.join("draft"), folder.join("info")).unwrap();
            }
        };
        (work(move || pushed(&own, n, true)), Peer::Own(work(rename)))
    });
    bench.axis("parts of a stack opened and read", 250, "", |n| {
        pushed(stack, n, false);
        let own = stack.clone();
        (work(move || NpyStack::open(&own).unwrap().read::<Array1<f64>>().unwrap()), Peer::None)
    });
}

/// Objects of more and more nodes, compared with `pickle`.
fn objects(bench: &Bench) {
    const KINDS: &[(&str, &str)] = &[
        ("list of numbers", "list(range(n))"),
        ("list of pairs", "[(i, i / 3) for i in range(n)]"),
        ("list of texts", "[f'item {i}' for i in range(n)]"),
        ("set of numbers", "set(range(n))"),
        ("set of texts", "{f'item {i}' for i in range(n)}"),
        ("dict of texts", "{f'item {i}': i for i in range(n)}"),
        ("set of NaNs", "{float('nan') for i in range(n)}"),
        ("dict of NaTs", "{np.datetime64('NaT', 's'): i for i in range(n)}"),
    ];
    let path = &bench.path("object.npy");
    bench.run_setup("import pickle, gc");
    for (name, python) in KINDS.iter().filter(|_| bench.has_numpy()) {
        bench.axis(&format!("objects: a {name}, read"), 60_000, "NumPy", |n| {
            bench.run_setup(&format!("made = (lambda n: {python})({n})"));
            bench.run_setup("whole = np.empty((), object); whole[()] = made; made = None");
            bench.run_setup(&format!("_ = np.save(r'{}', whole)", path.display()));
            let read = path.clone();
            let numpy = format!("np.load(r'{}', allow_pickle=True)", path.display());
            (work(move || read_npy::<_, ndarray::Array0<Object>>(&read).unwrap()), Peer::NumPy(numpy))
        });
        bench.axis(&format!("objects: a {name}, written"), 60_000, "NumPy", |n| {
            bench.run_setup(&format!("made = (lambda n: {python})({n})"));
            bench.run_setup("whole = np.empty((), object); whole[()] = made; made = None");
            bench.run_setup(&format!("_ = np.save(r'{}', whole)", path.display()));
            let object: ndarray::Array0<Object> = read_npy(path).unwrap();
            let write = path.clone();
            let numpy = format!("np.save(r'{}.py', whole)", path.display());
            (work(move || write_npy(&write, &object).unwrap()), Peer::NumPy(numpy))
        });
    }
    bench.run_setup("whole = None");
}

/// The program, if it has been built: `cargo build --release -p ndio`.
fn program(bench: &Bench) {
    let ndio = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/ndio");
    if !ndio.exists() {
        return println!("(the program has not been built)");
    }
    let (path, out) = (&bench.path("program.npz"), &bench.path("program.csv"));
    let run = |words: &[&str], files: &[&Path]| {
        let (ndio, words) = (ndio.clone(), words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        let files: Vec<PathBuf> = files.iter().map(|&file| file.to_owned()).collect();
        work(move || {
            let mut command = Command::new(&ndio);
            let output = command.args(&words).args(&files).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        })
    };
    let archive = |n: usize| {
        let item = Array1::<f64>::zeros(10);
        let names: Vec<String> = (0..n).map(|member| format!("m{member}")).collect();
        let arrays: Vec<(&str, &dyn WriteArray)> =
            names.iter().map(|name| (&name[..], &item as &dyn WriteArray)).collect();
        write_npz(path, &arrays).unwrap();
    };
    for words in [&["info"][..], &["info", "--json"], &["verify"]] {
        bench.axis(&format!("members: `ndio {}`", words.join(" ")), 6_000, "", |n| {
            archive(n);
            (run(words, &[path]), Peer::None)
        });
    }
    bench.axis("members: `ndio diff`", 6_000, "", |n| {
        archive(n);
        (run(&["diff"], &[path, path]), Peer::None)
    });
    let npy = &bench.path("program.npy");
    bench.axis("fields: `ndio info --stats`", 600, "", |n| {
        let records = DynArray::from_bytes(record(n, "<f8"), [2], Order::C, &vec![0; 16 * n]).unwrap();
        write_npy(npy, &records).unwrap();
        (run(&["info", "--stats"], &[npy]), Peer::None)
    });
    bench.axis("distinct numbers: `ndio info --stats`", 60_000, "", |n| {
        write_npy(npy, &Array1::<f64>::range(0.0, n as f64, 1.0)).unwrap();
        (run(&["info", "--stats"], &[npy]), Peer::None)
    });
    bench.axis("distinct texts: CSV to NPY", 30_000, "", |n| {
        let text: String = (0..n).map(|line| format!("item {line}\n")).collect();
        File::create(out).unwrap().write_all(text.as_bytes()).unwrap();
        (run(&["convert", "--force", "--dtype", "U12"], &[out, npy]), Peer::None)
    });
}
