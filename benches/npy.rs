//! Compares NPY files with `ndarray-npy`, `npyz`, NumPy and system calls.
//!
//! Run with `cargo bench -p ndarray-io-benches`.
//!
//! An argument after `--` selects the races whose name contains it.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::Duration;

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, arr1, s};
use ndarray_io::{ReadNpyExt, ViewNpyExt, WriteNpyExt};
use ndarray_io_benches::{NumPy, Race, print_head, timed, timed_small};

/// 128 MiB of `f64`.
const SIDE: usize = 4096;
const CUBE: usize = 256;
const ROUNDS: usize = 15;

fn main() {
    let folder = std::env::temp_dir().join(format!("ndarray-io-race-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let numpy = RefCell::new(NumPy::start());
    print_head(numpy.borrow().as_ref());
    reads(&folder, &numpy);
    writes(&folder, &numpy);
    converted_reads(&folder, &numpy);
    texts_and_halves(&folder, &numpy);
    small(&numpy);
    headers(&numpy);
    many_files(&folder);
    fs::remove_dir_all(&folder).unwrap();
}

type Python = RefCell<Option<NumPy>>;

/// Adds NumPy as a runner, if it is installed.
fn with_numpy<'a>(race: Race<'a>, numpy: &'a Python, work: String, times: u32) -> Race<'a> {
    if numpy.borrow().is_none() {
        return race;
    }
    race.runner("numpy", move || {
        numpy.borrow_mut().as_mut().map_or(Duration::ZERO, |numpy| numpy.time(&work, times))
    })
}

fn plane() -> Array2<f64> {
    Array2::from_shape_fn((SIDE, SIDE), |(row, column)| (row * 31 + column) as f64 * 0.5)
}

fn reads(folder: &Path, numpy: &Python) {
    let path = &folder.join("plane.npy");
    ndarray_io::write_npy(path, &plane()).unwrap();
    Target::New.prepare(folder);
    let race = Race::new("read path")
        .runner("ndarray-io", || timed(|| ndarray_io::read_npy::<_, Array2<f64>>(path).unwrap()))
        .runner("ndarray-npy", || timed(|| ndarray_npy::read_npy::<_, Array2<f64>>(path).unwrap()))
        .runner("npyz", || timed(|| read_npyz(path)))
        .runner("2 preads, huge pages", || timed(|| raw_read(path, 128)));
    with_numpy(race, numpy, format!("np.load(r'{}')", path.display()), 1).run(ROUNDS);

    let open = || File::open(path).unwrap();
    let race = Race::new("read File")
        .runner("ndarray-io", || timed(|| Array2::<f64>::read_npy(open()).unwrap()))
        .runner("ndarray-npy", || {
            timed(|| <Array2<f64> as ndarray_npy::ReadNpyExt>::read_npy(open()).unwrap())
        });
    with_numpy(race, numpy, format!("np.load(r'{}')", path.display()), 1).run(ROUNDS);

    Race::new("read stream")
        .runner("ndarray-io", || timed(|| Array2::<f64>::read_npy(OpaqueReader(open())).unwrap()))
        .runner("ndarray-npy", || {
            timed(|| <Array2<f64> as ndarray_npy::ReadNpyExt>::read_npy(OpaqueReader(open())).unwrap())
        })
        .run(ROUNDS);
}

/// A reader of a file that the library does not recognize as a file.
struct OpaqueReader(File);

impl Read for OpaqueReader {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(into)
    }
}

fn read_npyz(path: &Path) -> Vec<f64> {
    npyz::NpyFile::new(BufReader::new(File::open(path).unwrap())).unwrap().into_vec().unwrap()
}

/// The lower bound: new memory with huge pages, filled with positioned reads by two threads.
#[cfg(target_os = "linux")]
fn raw_read(path: &Path, offset: u64) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let file = File::open(path).unwrap();
    let length = (file.metadata().unwrap().len() - offset) as usize;
    let mut memory = vec![0u8; length];
    let start = memory.as_mut_ptr().addr().next_multiple_of(4096);
    // SAFETY: the range is within the allocation, and the advice does not change its content.
    unsafe { libc::madvise(start as *mut _, (length - 4096) / 4096 * 4096, libc::MADV_HUGEPAGE) };
    let (first, second) = memory.split_at_mut(length / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| file.read_exact_at(first, offset).unwrap());
        file.read_exact_at(second, offset + length as u64 / 2).unwrap();
    });
    memory
}

#[cfg(not(target_os = "linux"))]
fn raw_read(path: &Path, _: u64) -> Vec<u8> {
    fs::read(path).unwrap()
}

/// The lower bound: preallocation, one write, and a rename.
fn raw_write(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    let draft = path.with_extension("draft");
    let mut file = File::create(&draft).unwrap();
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        // SAFETY: the descriptor is open, and the call touches no memory.
        unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes.len() as i64) };
    }
    file.write_all(bytes).unwrap();
    fs::rename(&draft, path).unwrap();
}

/// The state of the target before a write.
#[derive(Clone, Copy)]
enum Target {
    /// There is no file, and no data waits to be written to the disk.
    New,
    /// The file of the previous round, which the system may still be writing to the disk, as in a loop.
    Existing,
}

impl Target {
    const ALL: [Self; 2] = [Self::New, Self::Existing];

    fn prepare(self, folder: &Path) {
        if let Self::Existing = self {
            return;
        }
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"written")) {
                fs::remove_file(path).unwrap();
            }
        }
        #[cfg(target_os = "linux")]
        // SAFETY: the call has no arguments and touches no memory.
        unsafe {
            libc::sync();
        }
    }

    fn name(self, work: &str) -> String {
        match self {
            Self::New => format!("write {work}, new"),
            Self::Existing => format!("write {work}, again"),
        }
    }
}

/// Measures writing an array with this library and others; `theirs` is the NumPy expression for the array.
fn write_race<T>(folder: &Path, numpy: &Python, work: &str, array: &T, theirs: &str, raw: Option<&[u8]>)
where
    T: ndarray_io::WriteArray + ndarray_npy::WriteNpyExt,
{
    let path = |who: &str| folder.join(format!("written-{who}.npy"));
    let (ours, peers, raws, numpys) = (&path("ours"), &path("ndarray-npy"), &path("raw"), path("numpy"));
    let save = &format!("np.save(r'{}', {theirs})", numpys.display());
    for target in Target::ALL {
        let timed = move |work: &dyn Fn()| -> Duration {
            target.prepare(folder);
            timed(work)
        };
        let mut race = Race::new(target.name(work))
            .runner("ndarray-io", move || timed(&|| ndarray_io::write_npy(ours, array).unwrap()))
            .runner("ndarray-npy", move || timed(&|| ndarray_npy::write_npy(peers, array).unwrap()));
        if let Some(bytes) = raw {
            race = race.runner("fallocate, write, rename", move || timed(&|| raw_write(raws, bytes)));
        }
        if numpy.borrow().is_some() {
            race = race.runner("numpy", move || {
                target.prepare(folder);
                numpy.borrow_mut().as_mut().map_or(Duration::ZERO, |numpy| numpy.time(save, 1))
            });
        }
        race.run(ROUNDS);
    }
}

fn run_setup(numpy: &Python, work: &str) {
    if let Some(numpy) = numpy.borrow_mut().as_mut() {
        numpy.time(work, 1);
    }
}

fn writes(folder: &Path, numpy: &Python) {
    let plane = plane();
    let bytes: Vec<u8> = plane.iter().flat_map(|item| item.to_ne_bytes()).collect();
    run_setup(numpy, &format!("let plane = np.load(r'{}')", folder.join("plane.npy").display()));
    write_race(folder, numpy, "path", &plane, "plane", Some(&bytes));
    write_race(folder, numpy, "s![.., ..;2]", &plane.slice(s![.., ..;2]), "plane[:, ::2]", None);

    let cube = Array3::from_shape_fn((CUBE, CUBE, CUBE), |(a, b, c)| (a * 7 + b * 3 + c) as f64);
    run_setup(numpy, &format!("let cube = np.zeros(({CUBE}, {CUBE}, {CUBE})) + 1.5"));
    let view = cube.view().permuted_axes([1, 0, 2]);
    write_race(folder, numpy, "cube [1, 0, 2]", &view, "cube.transpose(1, 0, 2)", None);
    let view = cube.view().permuted_axes([2, 0, 1]);
    write_race(folder, numpy, "cube [2, 0, 1]", &view, "cube.transpose(2, 0, 1)", None);
}

fn converted_reads(folder: &Path, numpy: &Python) {
    let plain = &folder.join("plane.npy");
    let big = &folder.join("big.npy");
    let options = ndarray_io::WriteOptions::new().byte_order(ndarray_io::ByteOrder::Big);
    options.write_npy(big, &plane()).unwrap();
    let race = Race::new("read >f8")
        .runner("ndarray-io", || timed(|| ndarray_io::read_npy::<_, Array2<f64>>(big).unwrap()))
        .runner("ndarray-io, <f8", || timed(|| ndarray_io::read_npy::<_, Array2<f64>>(plain).unwrap()))
        .runner("ndarray-npy", || timed(|| ndarray_npy::read_npy::<_, Array2<f64>>(big).unwrap()));
    with_numpy(race, numpy, format!("np.load(r'{}').astype('<f8')", big.display()), 1).run(ROUNDS);

    let bools = &folder.join("bools.npy");
    let values = Array1::from_shape_fn(SIDE * SIDE * 8, |index| index % 3 == 0);
    ndarray_io::write_npy(bools, &values).unwrap();
    let race = Race::new("read bool")
        .runner("ndarray-io", || timed(|| ndarray_io::read_npy::<_, Array1<bool>>(bools).unwrap()))
        .runner("ndarray-io, <f8", || timed(|| ndarray_io::read_npy::<_, Array2<f64>>(plain).unwrap()))
        .runner("ndarray-npy", || timed(|| ndarray_npy::read_npy::<_, Array1<bool>>(bools).unwrap()));
    with_numpy(race, numpy, format!("np.load(r'{}')", bools.display()), 1).run(ROUNDS);
}

fn texts_and_halves(folder: &Path, numpy: &Python) {
    let texts = &folder.join("texts.npy");
    let words = Array1::from_shape_fn(1_000_000, |index| format!("word number {}", index % 10_000));
    ndarray_io::write_npy(texts, &words).unwrap();
    let race = Race::new("read U16 into String")
        .runner("ndarray-io", || timed(|| ndarray_io::read_npy::<_, Array1<String>>(texts).unwrap()))
        .runner("npyz", || {
            timed(|| {
                let file = BufReader::new(File::open(texts).unwrap());
                npyz::NpyFile::new(file).unwrap().into_vec::<String>().unwrap()
            })
        });
    with_numpy(race, numpy, format!("np.load(r'{}').tolist()", texts.display()), 1).run(ROUNDS);
    let race = Race::new("write String as U16")
        .runner("ndarray-io", || timed(|| ndarray_io::write_npy(folder.join("t.npy"), &words).unwrap()));
    run_setup(numpy, &format!("let words = np.load(r'{}').tolist()", texts.display()));
    with_numpy(race, numpy, format!("np.save(r'{}', np.array(words))", folder.join("n.npy").display()), 1)
        .run(ROUNDS);

    let path = |name: &str| folder.join(name);
    let (integers, halves, brains) = (&path("u2.npy"), &path("f2.npy"), &path("V2.npy"));
    let values = Array1::from_shape_fn(64 << 20, |index| index as u16);
    ndarray_io::write_npy(integers, &values).unwrap();
    ndarray_io::write_npy(halves, &values.mapv(half::f16::from_bits)).unwrap();
    ndarray_io::write_npy(brains, &values.mapv(half::bf16::from_bits)).unwrap();
    Race::new("read 16-bit numbers")
        .runner("u16", || timed(|| ndarray_io::read_npy::<_, Array1<u16>>(integers).unwrap()))
        .runner("f16", || timed(|| ndarray_io::read_npy::<_, Array1<half::f16>>(halves).unwrap()))
        .runner("bf16", || timed(|| ndarray_io::read_npy::<_, Array1<half::bf16>>(brains).unwrap()))
        .run(ROUNDS);
}

/// Opens, reads and closes 10,000 files of 1 KB.
fn many_files(folder: &Path) {
    let array = Array1::<f64>::ones(112);
    let paths: Vec<_> = (0..10_000).map(|number| folder.join(format!("many-{number}.npy"))).collect();
    paths.iter().for_each(|path| fs::write(path, file_of_array(&array)).unwrap());
    let bare = |path: &Path| {
        let mut file = File::open(path).unwrap();
        let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact(&mut bytes).unwrap();
        bytes
    };
    Race::new("10,000 files of 1 KB")
        .runner("ndarray-io", || {
            timed(|| {
                paths
                    .iter()
                    .map(|path| ndarray_io::read_npy::<_, Array1<f64>>(path).unwrap().len())
                    .sum::<usize>()
            })
        })
        .runner("ndarray-npy", || {
            timed(|| {
                paths
                    .iter()
                    .map(|path| ndarray_npy::read_npy::<_, Array1<f64>>(path).unwrap().len())
                    .sum::<usize>()
            })
        })
        .runner("open, statx, read, close", || {
            timed(|| paths.iter().map(|path| bare(path).len()).sum::<usize>())
        })
        .run(ROUNDS);
}

fn file_of_array(array: &Array1<f64>) -> Vec<u8> {
    let mut file = Vec::new();
    array.write_npy(&mut file).unwrap();
    file
}

/// Reads files of three elements with the headers that other writers make.
fn headers(numpy: &Python) {
    let mut own = Vec::new();
    ndarray_npy::WriteNpyExt::write_npy(&arr1(&[1.0, 2.0, 3.0]), &mut own).unwrap();
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3L,)}";
    let old = file_of(text, &[0; 24]);
    for (writer, file) in [("ndarray-npy", &own), ("NumPy on Python 2", &old)] {
        run_setup(numpy, &format!("let raw = bytes({:?})", &file[..]));
        let race = Race::new(format!("read 3 elements, header of {writer}"))
            .runner("ndarray-io", || timed_small(|| Array1::<f64>::read_npy(&file[..]).unwrap()))
            .runner("npyz", || {
                timed_small(|| npyz::NpyFile::new(&file[..]).map(|npy| npy.into_vec::<f64>()))
            });
        let race = match ndarray_npy::ReadNpyExt::read_npy(&file[..]) as Result<Array1<f64>, _> {
            Ok(_) => race.runner("ndarray-npy", || {
                timed_small(|| <Array1<f64> as ndarray_npy::ReadNpyExt>::read_npy(&file[..]).unwrap())
            }),
            Err(_) => race,
        };
        with_numpy(race, numpy, "np.load(io.BytesIO(raw))".into(), 2000).run(ROUNDS);
    }
    let text = "{'descr': [('id', '<i8'), ('name', '<U8'), ('position', '<f4', (3,)), ('mass', '<f8'), ('flag', '|b1')], \
                'fortran_order': False, 'shape': (1,), }";
    let file = file_of(text, &[0; 61]);
    run_setup(numpy, &format!("let raw = bytes({:?})", &file[..]));
    let race = Race::new("header of a record of 5 fields")
        .runner("ndarray-io", || {
            timed_small(|| ndarray_io::NpyReader::new(&file[..]).unwrap().dtype().item_size())
        })
        .runner("npyz", || timed_small(|| npyz::NpyFile::new(&file[..]).unwrap().len()));
    let header = "f = io.BytesIO(raw); np.lib.format.read_magic(f); np.lib.format.read_array_header_1_0(f)";
    with_numpy(race, numpy, header.into(), 2000).run(ROUNDS);
}

/// Returns a file of version 1.0 with this text as its header.
fn file_of(text: &str, payload: &[u8]) -> Vec<u8> {
    let padded = format!("{text:<width$}\n", width = (text.len() + 11).next_multiple_of(64) - 11);
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((padded.len() as u16).to_le_bytes());
    file.extend(padded.bytes());
    file.extend(payload);
    file
}

fn small(numpy: &Python) {
    let array = arr1(&[1.0, 2.0, 3.0]);
    let mut words = [0u64; 19];
    let mut file = Vec::new();
    array.write_npy(&mut file).unwrap();
    assert_eq!(file.len(), 152);
    for (word, bytes) in words.iter_mut().zip(file.chunks_exact(8)) {
        *word = u64::from_ne_bytes(bytes.try_into().unwrap());
    }
    // SAFETY: 19 words are 152 bytes, and they have the alignment that a view needs.
    let aligned = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), 152) };
    run_setup(
        numpy,
        "let small = np.array([1.0, 2.0, 3.0]); file = io.BytesIO(); np.save(file, small); raw = file.getvalue()",
    );

    let race = Race::new("read 3 elements")
        .runner("ndarray-io", || timed_small(|| Array1::<f64>::read_npy(&file[..]).unwrap()))
        .runner("ndarray-npy", || {
            timed_small(|| <Array1<f64> as ndarray_npy::ReadNpyExt>::read_npy(&file[..]).unwrap())
        })
        .runner("npyz", || timed_small(|| npyz::NpyFile::new(&file[..]).unwrap().into_vec::<f64>().unwrap()));
    with_numpy(race, numpy, "np.load(io.BytesIO(raw))".into(), 2000).run(ROUNDS);

    let race = Race::new("view 3 elements")
        .runner("ndarray-io", || timed_small(|| ArrayView1::<f64>::view_npy(aligned).unwrap().len()))
        .runner("ndarray-npy", || {
            timed_small(|| <ArrayView1<f64> as ndarray_npy::ViewNpyExt>::view_npy(aligned).unwrap().len())
        });
    with_numpy(race, numpy, "np.load(io.BytesIO(raw))".into(), 2000).run(ROUNDS);

    let race = Race::new("write 3 elements")
        .runner("ndarray-io", || {
            timed_small(|| {
                let mut file = Vec::new();
                array.write_npy(&mut file).unwrap();
                file
            })
        })
        .runner("ndarray-npy", || {
            timed_small(|| {
                let mut file = Vec::new();
                ndarray_npy::WriteNpyExt::write_npy(&array, &mut file).unwrap();
                file
            })
        });
    with_numpy(race, numpy, "file = io.BytesIO(); np.save(file, small)".into(), 2000).run(ROUNDS);
    let _ = ArrayView2::<f64>::view_npy(&[]);
}
