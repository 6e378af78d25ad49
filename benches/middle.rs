//! The sizes between a kilobyte and sixteen megabytes, small members, small rows, casts and small files.
//!
//! Run with `cargo bench -p ndarray-io-benches --bench middle`.
//! An argument after `--` selects the races whose name contains it.
//!
//! "raw" is one system call (or `memcpy`) into memory that is not cleared first.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{BufReader, Cursor, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ndarray::{Array1, Array2, Ix1, Ix2, ShapeBuilder, s};
use ndarray_io::{
    Casting, Compression, DynArray, NpyFile, NpyWriter, ReadNpyExt, ReadOptions, WriteNpyExt, WriteOptions,
    read_npy, write_npy,
};
use ndarray_io_benches::{NumPy, Race, print_head, timed};

const ROUNDS: usize = 15;
/// Sizes of payloads in bytes, and how often the work is repeated in a round.
const SIZES: [(usize, &str, u32); 6] = [
    (1 << 10, "1 kB", 2000),
    (10 << 10, "10 kB", 1000),
    (100 << 10, "100 kB", 300),
    (1 << 20, "1 MB", 60),
    (4 << 20, "4 MB", 15),
    (16 << 20, "16 MB", 5),
];

type Python = RefCell<Option<NumPy>>;

fn main() {
    let folder = std::env::temp_dir().join(format!("ndarray-io-middle-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let numpy = RefCell::new(NumPy::start());
    print_head(numpy.borrow().as_ref());
    reads(&folder, &numpy);
    writes(&folder, &numpy);
    members();
    rows_and_columns(&folder, &numpy);
    casts(&folder);
    small_changes(&folder);
    fs::remove_dir_all(&folder).unwrap();
}

/// Adds NumPy as a runner, if it is installed.
fn with_numpy<'a>(race: Race<'a>, numpy: &'a Python, work: String, times: u32) -> Race<'a> {
    if numpy.borrow().is_none() {
        return race;
    }
    race.runner("numpy", move || {
        numpy.borrow_mut().as_mut().map_or(Duration::ZERO, |numpy| numpy.time(&work, times))
    })
}

/// Returns the mean time of work that is repeated; its results are dropped within the time.
fn repeated<T>(times: u32, mut work: impl FnMut() -> T) -> Duration {
    timed(|| (0..times).for_each(|_| drop(std::hint::black_box(work())))) / times
}

fn numbers(bytes: usize) -> Array1<f64> {
    Array1::from_shape_fn(bytes / 8, |index| (index * 31 % 1009) as f64 * 0.5)
}

/// Memory of this length that is not cleared, filled by `fill`.
fn uncleared(length: usize, fill: impl FnOnce(*mut u8)) -> Vec<u8> {
    let mut memory = Vec::with_capacity(length);
    fill(memory.as_mut_ptr());
    // SAFETY: `fill` has initialized all bytes.
    unsafe { memory.set_len(length) };
    memory
}

/// The lower bound of reading a file by its path.
fn raw_read(path: &Path, length: usize) -> Vec<u8> {
    let file = File::open(path).unwrap();
    #[cfg(unix)]
    return uncleared(length, |memory| {
        use std::os::fd::AsRawFd;
        // SAFETY: the memory has this length.
        let came = unsafe { libc::pread(file.as_raw_fd(), memory.cast(), length, 128) };
        assert_eq!(came, length as isize);
    });
    #[cfg(not(unix))]
    {
        let mut memory = vec![0; length];
        { file }.read_exact(&mut memory).unwrap();
        memory
    }
}

fn raw_copy(bytes: &[u8]) -> Vec<u8> {
    // SAFETY: both are of this length, and the memory is new.
    uncleared(bytes.len(), |memory| unsafe { memory.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) })
}

fn reads(folder: &Path, numpy: &Python) {
    for (size, name, times) in SIZES {
        let path = &folder.join("read.npy");
        let array = numbers(size);
        write_npy(path, &array).unwrap();
        let bytes = &fs::read(path).unwrap();
        let race = Race::new(format!("read path, {name}"))
            .runner("ndarray-io", || repeated(times, || read_npy::<_, Array1<f64>>(path).unwrap()))
            .runner("raw", || repeated(times, || raw_read(path, size)))
            .runner("ndarray-npy", || {
                repeated(times, || ndarray_npy::read_npy::<_, Array1<f64>>(path).unwrap())
            });
        with_numpy(race, numpy, format!("np.load(r'{}')", path.display()), 1).run(ROUNDS);

        let opened = File::open(path).unwrap();
        let rewound = || {
            use std::io::Seek;
            (&opened).rewind().unwrap();
            &opened
        };
        Race::new(format!("read File, {name}"))
            .runner("ndarray-io", || repeated(times, || Array1::<f64>::read_npy(rewound()).unwrap()))
            .runner("ndarray-npy", || {
                repeated(times, || <Array1<f64> as ndarray_npy::ReadNpyExt>::read_npy(rewound()).unwrap())
            })
            .run(ROUNDS);

        Race::new(format!("read &[u8], {name}"))
            .runner("ndarray-io", || repeated(times, || Array1::<f64>::read_npy(&bytes[..]).unwrap()))
            .runner("memcpy", || repeated(times, || raw_copy(&bytes[128..])))
            .runner("ndarray-npy", || {
                repeated(times, || <Array1<f64> as ndarray_npy::ReadNpyExt>::read_npy(&bytes[..]).unwrap())
            })
            .run(ROUNDS);

        Race::new(format!("read Cursor, {name}"))
            .runner("ndarray-io", || {
                repeated(times, || Array1::<f64>::read_npy(Cursor::new(&bytes[..])).unwrap())
            })
            .runner("ndarray-npy", || {
                repeated(times, || {
                    <Array1<f64> as ndarray_npy::ReadNpyExt>::read_npy(Cursor::new(&bytes[..])).unwrap()
                })
            })
            .run(ROUNDS);

        let (mut into, mut raw) = (array.clone(), vec![0u8; size]);
        Race::new(format!("read_npy_into, {name}"))
            .runner("ndarray-io", || {
                repeated(times, || {
                    ReadOptions::new().read_into(File::open(path).unwrap(), &mut into).unwrap()
                })
            })
            .runner("open, read", || {
                repeated(times, || {
                    let mut file = File::open(path).unwrap();
                    file.read_exact(&mut [0; 128]).unwrap();
                    file.read_exact(&mut raw).unwrap();
                })
            })
            .run(ROUNDS);

        Race::new(format!("DynArray and into_array, {name}"))
            .runner("ndarray-io", || {
                repeated(times, || {
                    let any: DynArray = read_npy(path).unwrap();
                    any.into_array::<f64, Ix1>().unwrap()
                })
            })
            .runner("ndarray-io, typed", || repeated(times, || read_npy::<_, Array1<f64>>(path).unwrap()))
            .run(ROUNDS);
    }
}

fn writes(folder: &Path, numpy: &Python) {
    for (size, name, times) in SIZES {
        let (own, other, raw, third, ra) = (
            &folder.join("own.npy"),
            &folder.join("other.npy"),
            &folder.join("raw.npy"),
            folder.join("third.npy"),
            &folder.join("own.ra"),
        );
        let array = numbers(size);
        let mut bytes = Vec::new();
        array.write_npy(&mut bytes).unwrap();
        if let Some(numpy) = numpy.borrow_mut().as_mut() {
            write_npy(own, &array).unwrap();
            numpy.time(&format!("let array = np.load(r'{}')", own.display()), 1);
        }
        let times = times.div_ceil(10);
        let race = Race::new(format!("write path, {name}"))
            .runner("ndarray-io", || repeated(times, || write_npy(own, &array).unwrap()))
            .runner("temporary, write, rename", || repeated(times, || replace(raw, &bytes)))
            .runner("ndarray-npy", || repeated(times, || ndarray_npy::write_npy(other, &array).unwrap()))
            .runner("ndarray-io, RA", || repeated(times, || ndarray_io::ra::write_ra(ra, &array).unwrap()));
        with_numpy(race, numpy, format!("np.save(r'{}', array)", third.display()), 1).run(ROUNDS);
        Race::new(format!("write Vec, {name}"))
            .runner("ndarray-io", || {
                repeated(times, || {
                    let mut bytes = Vec::new();
                    array.write_npy(&mut bytes).unwrap();
                    bytes
                })
            })
            .runner("ndarray-npy", || {
                repeated(times, || {
                    let mut bytes = Vec::new();
                    ndarray_npy::WriteNpyExt::write_npy(&array, &mut bytes).unwrap();
                    bytes
                })
            })
            .run(ROUNDS);
    }
}

/// The lower bound of replacing a file: another file, one write, a rename.
fn replace(path: &Path, bytes: &[u8]) {
    let draft = path.with_extension("draft");
    let mut file = File::options().write(true).create_new(true).open(&draft).unwrap();
    file.write_all(bytes).unwrap();
    fs::rename(&draft, path).unwrap();
}

/// Archives in memory, of members of one size.
fn members() {
    let mut state = 1u64;
    let mut noise = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 60) as f64
    };
    for (size, count, name) in [
        (1 << 10, 1000, "1 kB"),
        (10 << 10, 1000, "10 kB"),
        (100 << 10, 100, "100 kB"),
        (1 << 20, 10, "1 MB"),
        (4 << 20, 3, "4 MB"),
    ] {
        let array = Array1::from_shape_fn(size / 8, |index| {
            ((index as f64 / 100.0).sin() * 1000.0 + noise()).round() / 8.0
        });
        let names: Vec<String> = (0..count).map(|number| format!("m{number}")).collect();
        for (kind, compression) in [("stored", Compression::Stored), ("deflated", Compression::DEFLATE)] {
            let options = WriteOptions::new().compression(compression);
            let own = || {
                let mut npz = options.npz_writer(Vec::new()).unwrap();
                names.iter().for_each(|name| npz.add_array(name.as_str(), &array).unwrap());
                npz.finish().unwrap()
            };
            let other = || {
                let file = Cursor::new(Vec::new());
                let mut npz = match compression {
                    Compression::Stored => ndarray_npy::NpzWriter::new(file),
                    _ => ndarray_npy::NpzWriter::new_compressed(file),
                };
                names.iter().for_each(|name| npz.add_array(name.as_str(), &array).unwrap());
                npz.finish().unwrap()
            };
            Race::new(format!("write {count} {kind} members of {name}"))
                .runner("ndarray-io", || timed(own))
                .runner("ndarray-npy", || timed(other))
                .run(5);
            let bytes = own();
            let other_bytes = other().into_inner();
            let one = ReadOptions::new().threads(1);
            Race::new(format!("read {count} {kind} members of {name}"))
                .runner("ndarray-io", || timed(|| read_members(&bytes, &ReadOptions::new(), count)))
                .runner("ndarray-io, 1 thread", || timed(|| read_members(&bytes, &one, count)))
                .runner("ndarray-io, theirs", || {
                    timed(|| read_members(&other_bytes, &ReadOptions::new(), count))
                })
                .runner("ndarray-npy", || {
                    timed(|| {
                        let mut npz = ndarray_npy::NpzReader::new(Cursor::new(&bytes[..])).unwrap();
                        (0..count).for_each(|index| {
                            drop(npz.by_index::<ndarray::OwnedRepr<f64>, Ix1>(index).unwrap());
                        });
                    })
                })
                .run(7);
        }
    }
}

fn read_members(bytes: &[u8], options: &ReadOptions, count: usize) {
    let mut npz = options.npz_reader(Cursor::new(bytes)).unwrap();
    (0..count).for_each(|index| drop(npz.read::<Array1<f64>>(index).unwrap()));
}

fn rows_and_columns(folder: &Path, numpy: &Python) {
    let path = &folder.join("rows.npy");
    write_npy(path, &Array2::<f64>::ones((300_000, 8))).unwrap();
    let file = NpyFile::open(path).unwrap();
    Race::new("300,000 chunks of one row of 64 B")
        .runner("ndarray-io, for_each_view", || {
            timed(|| {
                let mut sum = 0.0;
                let call = |row: ndarray::ArrayView2<'_, f64>| {
                    sum += row[[0, 0]];
                    ControlFlow::Continue(())
                };
                file.chunks::<f64, Ix2>(0, 1).unwrap().for_each_view(call).unwrap();
                sum
            })
        })
        .runner("ndarray-io, iterator", || {
            timed(|| {
                let chunks = file.chunks::<f64, Ix2>(0, 1).unwrap();
                chunks.map(|row| row.unwrap()[[0, 0]]).sum::<f64>()
            })
        })
        .runner("ndarray-io, rows", || {
            timed(|| file.rows::<f64, Ix2>().unwrap().map(|row| row.unwrap()[0]).sum::<f64>())
        })
        .runner("BufReader", || {
            timed(|| {
                let mut reader = BufReader::new(File::open(path).unwrap());
                let (mut row, mut sum) = ([0; 64], 0.0);
                reader.read_exact(&mut [0; 128]).unwrap();
                for _ in 0..300_000 {
                    reader.read_exact(&mut row).unwrap();
                    sum += f64::from_le_bytes(row[..8].try_into().unwrap());
                }
                sum
            })
        })
        .run(ROUNDS);

    let picked: Vec<usize> = (0..20_000).map(|number: usize| number * 7919 % 300_000).collect();
    let map = mapped(path);
    let race = Race::new("take 20,000 rows of 64 B")
        .runner("ndarray-io", || timed(|| file.take::<Array2<f64>>(0, &picked).unwrap()))
        .runner("ndarray-io, with_map", || timed(|| map.take::<Array2<f64>>(0, &picked).unwrap()));
    if let Some(numpy) = numpy.borrow_mut().as_mut() {
        numpy.time("let picked = np.arange(20_000) * 7919 % 300_000", 1);
    }
    with_numpy(race, numpy, format!("np.load(r'{}', mmap_mode='r')[picked]", path.display()), 1).run(ROUNDS);

    let turned = &folder.join("turned.npy");
    let plane = Array2::from_shape_fn((2048, 2048).f(), |(row, column)| (row * 31 + column) as f64);
    write_npy(turned, &plane).unwrap();
    let file = NpyFile::open(turned).unwrap();
    let mut into = Array2::<f64>::zeros((2048, 2048));
    Race::new("Fortran file into C array, 32 MB")
        .runner("ndarray-io, read_npy_into", || {
            timed(|| ReadOptions::new().read_into(File::open(turned).unwrap(), &mut into).unwrap())
        })
        .runner("ndarray-io, slice", || timed(|| file.slice::<f64, _>(s![.., ..]).unwrap()))
        .run(ROUNDS);

    let wide = &folder.join("wide.npy");
    write_npy(wide, &Array2::<f64>::ones((16384, 1024))).unwrap();
    let (file, map) = (NpyFile::open(wide).unwrap(), mapped(wide));
    let race = Race::new("a column of 16384 × 1024")
        .runner("ndarray-io", || timed(|| file.slice::<f64, _>(s![.., 17]).unwrap()))
        .runner("ndarray-io, with_map", || timed(|| map.slice::<f64, _>(s![.., 17]).unwrap()))
        .runner("2 threads of pread", || timed(|| column_by_calls(wide)));
    with_numpy(race, numpy, format!("np.load(r'{}', mmap_mode='r')[:, 17].copy()", wide.display()), 1)
        .run(ROUNDS);
    let race = Race::new("every 2nd column of 128 MB")
        .runner("ndarray-io", || timed(|| file.slice::<f64, _>(s![.., ..;2]).unwrap()))
        .runner("ndarray-io, with_map", || timed(|| map.slice::<f64, _>(s![.., ..;2]).unwrap()));
    with_numpy(race, numpy, format!("np.load(r'{}', mmap_mode='r')[:, ::2].copy()", wide.display()), 1)
        .run(ROUNDS);
    let race = Race::new("a row of a Fortran file, 2048 × 2048");
    let (file, map) = (NpyFile::open(turned).unwrap(), mapped(turned));
    let race = race
        .runner("ndarray-io", || timed(|| file.slice::<f64, _>(s![17, ..]).unwrap()))
        .runner("ndarray-io, with_map", || timed(|| map.slice::<f64, _>(s![17, ..]).unwrap()));
    with_numpy(race, numpy, format!("np.load(r'{}', mmap_mode='r')[17].copy()", turned.display()), 1)
        .run(ROUNDS);
}

fn mapped(path: &Path) -> NpyFile {
    // SAFETY: the files of this folder do not change.
    unsafe { NpyFile::open(path).unwrap().with_map().unwrap() }
}

#[cfg(unix)]
fn column_by_calls(path: &Path) -> Vec<[u8; 8]> {
    use std::os::unix::fs::FileExt;
    let file = File::open(path).unwrap();
    let mut column = vec![[0; 8]; 16384];
    let (first, second) = column.split_at_mut(8192);
    let read = |part: &mut [[u8; 8]], from: usize| {
        for (row, item) in part.iter_mut().enumerate() {
            file.read_exact_at(item, 128 + ((from + row) * 1024 + 17) as u64 * 8).unwrap();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| read(first, 0));
        read(second, 8192);
    });
    column
}

#[cfg(not(unix))]
fn column_by_calls(_: &Path) -> Vec<[u8; 8]> {
    Vec::new()
}

fn casts(folder: &Path) {
    let cast = &ReadOptions::new().casting(Casting::Safe);
    let (bytes, shorts, ints) = (&folder.join("u1.npy"), &folder.join("i2.npy"), &folder.join("i4.npy"));
    write_npy(bytes, &Array1::from_shape_fn(2_000_000, |index| index as u8)).unwrap();
    write_npy(shorts, &Array1::from_shape_fn(40_000, |index| index as i16)).unwrap();
    write_npy(ints, &Array1::from_shape_fn(2_000_000, |index| index as i32)).unwrap();
    Race::new("u8 read as f32, 2 M")
        .runner("ndarray-io", || repeated(5, || cast.read_npy::<Array1<f32>>(bytes).unwrap()))
        .runner("read and mapv", || repeated(5, || read_npy::<_, Array1<u8>>(bytes).unwrap().mapv(f32::from)))
        .run(ROUNDS);
    Race::new("i16 read as f64, 40,000")
        .runner("ndarray-io", || repeated(50, || cast.read_npy::<Array1<f64>>(shorts).unwrap()))
        .runner("read and mapv", || {
            repeated(50, || read_npy::<_, Array1<i16>>(shorts).unwrap().mapv(f64::from))
        })
        .run(ROUNDS);
    let any: DynArray = read_npy(ints).unwrap();
    let typed: Array1<i32> = read_npy(ints).unwrap();
    Race::new("DynArray::cast i4 to f8, 2 M")
        .runner("ndarray-io", || repeated(5, || any.cast::<f64, Ix1>(Casting::Safe).unwrap()))
        .runner("mapv", || repeated(5, || typed.mapv(f64::from)))
        .run(ROUNDS);
}

/// Small files that are replaced, and small appends.
fn small_changes(folder: &Path) {
    let arrays: Vec<Array1<f64>> = (0..1000).map(|number| numbers(1000 + number * 9)).collect();
    let files: Vec<Vec<u8>> = arrays
        .iter()
        .map(|array| {
            let mut bytes = Vec::new();
            array.write_npy(&mut bytes).unwrap();
            bytes
        })
        .collect();
    let paths = |who: &str| -> Vec<PathBuf> {
        let inner = folder.join(who);
        fs::create_dir_all(&inner).unwrap();
        (0..1000).map(|number| inner.join(format!("{number}.npy"))).collect()
    };
    let (own, other, raw) = (paths("own"), paths("other"), paths("raw"));
    Race::new("rewrite 1,000 files of 1 to 10 kB")
        .runner("ndarray-io", || {
            timed(|| own.iter().zip(&arrays).for_each(|(path, array)| write_npy(path, array).unwrap()))
        })
        .runner("temporary, write, rename", || {
            timed(|| raw.iter().zip(&files).for_each(|(path, bytes)| replace(path, bytes)))
        })
        .runner("ndarray-npy", || {
            timed(|| {
                other
                    .iter()
                    .zip(&arrays)
                    .for_each(|(path, array)| ndarray_npy::write_npy(path, array).unwrap())
            })
        })
        .run(ROUNDS);

    let (log, bare) = (&folder.join("log.npy"), &folder.join("bare.npy"));
    let start = |path: &Path| write_npy(path, &Array2::<f64>::ones((1, 8))).unwrap();
    let row = Array1::<f64>::ones(8);
    Race::new("reopen, append a row, finish")
        .runner("ndarray-io", || {
            start(log);
            repeated(1000, || {
                let mut writer = NpyWriter::append(log).unwrap();
                writer.push(&row).unwrap();
                writer.finish().unwrap()
            })
        })
        .runner("open, read, 2 pwrites", || {
            start(bare);
            let mut at = 128 + 64;
            repeated(1000, || {
                append_by_calls(bare, at);
                at += 64;
            })
        })
        .run(ROUNDS);
}

#[cfg(unix)]
fn append_by_calls(path: &Path, at: u64) {
    use std::os::unix::fs::FileExt;
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut head = [0; 128];
    file.read_exact_at(&mut head, 0).unwrap();
    file.write_all_at(&[0; 64], at).unwrap();
    file.write_all_at(&head, 0).unwrap();
}

#[cfg(not(unix))]
fn append_by_calls(_: &Path, _: u64) {}
