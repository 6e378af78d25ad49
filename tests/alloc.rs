//! Peak memory while arrays are read, written and converted, measured with a counting allocator.
//!
//! Each test runs in a process of its own, where no other test allocates at the same time.
#![allow(clippy::incompatible_msrv, reason = "tests need a newer compiler than the library")]
#![allow(unsafe_code)] // an allocator is unsafe by its trait

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array1, ArrayD};
use ndarray_io::NpyFileMut;
use ndarray_io::{Casting, FlatArray, NpyReader, ReadNpyExt, ReadOptions, WriteNpyExt};

#[allow(dead_code)] // `file` is for others
#[path = "it/support/headers.rs"]
mod headers;

#[allow(dead_code)] // archives and pickles need features
#[path = "it/support/claims.rs"]
mod claims;

#[path = "it/support/program.rs"]
mod program;

#[cfg(feature = "object")]
#[path = "it/support/bombs.rs"]
#[allow(dead_code)] // it has more than are measured
mod bombs;
#[cfg(feature = "object")]
#[path = "it/support/pickles.rs"]
mod pickles;
#[cfg(feature = "object")]
#[path = "it/support/random.rs"]
mod random;

struct CountingAllocator;

static CURRENTLY_ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static PEAK_ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static TOTAL_ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static LARGEST_ALLOCATION: AtomicUsize = AtomicUsize::new(0);
static ALLOCATION_COUNT: AtomicUsize = AtomicUsize::new(0);

fn count_allocation(size: usize) {
    ALLOCATION_COUNT.fetch_add(1, Ordering::Relaxed);
    let now = CURRENTLY_ALLOCATED.fetch_add(size, Ordering::Relaxed) + size;
    PEAK_ALLOCATED.fetch_max(now, Ordering::Relaxed);
    LARGEST_ALLOCATION.fetch_max(size, Ordering::Relaxed);
    TOTAL_ALLOCATED.fetch_add(size, Ordering::Relaxed);
}

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_allocation(layout.size());
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_allocation(layout.size());
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CURRENTLY_ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const MIB: usize = 1 << 20;

/// Returns the peak of memory above the initial value, the largest single allocation, and the result.
fn measure_peak<T>(work: impl FnOnce() -> T) -> (usize, usize, T) {
    let before = CURRENTLY_ALLOCATED.load(Ordering::Relaxed);
    PEAK_ALLOCATED.store(before, Ordering::Relaxed);
    LARGEST_ALLOCATION.store(0, Ordering::Relaxed);
    let made = work();
    (PEAK_ALLOCATED.load(Ordering::Relaxed) - before, LARGEST_ALLOCATION.load(Ordering::Relaxed), made)
}

/// Returns how many allocations each further item takes: the difference between work on 1,000 items and on 5,000.
fn allocations_per_item<T, U>(make: impl Fn(usize) -> T, work: impl Fn(&T) -> U) -> f64 {
    allocations_per_item_of((1_000, 5_000), make, work)
}

fn allocations_per_item_of<T, U>(
    (few, many): (usize, usize),
    make: impl Fn(usize) -> T,
    work: impl Fn(&T) -> U,
) -> f64 {
    let calls = |count: usize| {
        let made = make(count);
        drop(work(&made)); // what is made once in a process is made here
        let before = ALLOCATION_COUNT.load(Ordering::Relaxed);
        drop(work(&made));
        ALLOCATION_COUNT.load(Ordering::Relaxed) - before
    };
    let more = calls(many).saturating_sub(calls(few));
    more as f64 / (many - few) as f64
}

/// A stream of a header and zeros, truncated after `zeros_left` bytes of them.
struct HeaderAndZeros {
    head: Vec<u8>,
    zeros_left: usize,
}

impl Read for HeaderAndZeros {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.head.is_empty() {
            let length = into.len().min(self.head.len());
            into[..length].copy_from_slice(&self.head[..length]);
            self.head.drain(..length);
            return Ok(length);
        }
        let length = into.len().min(self.zeros_left);
        into[..length].fill(0);
        self.zeros_left -= length;
        Ok(length)
    }
}

fn head(descr: &str, shape: &str) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut head = format!("\u{93}NUMPY\u{1}\u{0}\u{76}\u{0}{text:<117}\n")
        .chars()
        .map(|char| char as u8)
        .collect::<Vec<_>>();
    assert_eq!(head.len(), 128);
    head.reserve_exact(0);
    head
}

/// A header of version 2.0 without padding.
fn unpadded_v2_header(descr: &str, shape: &str) -> Vec<u8> {
    let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.bytes());
    bytes
}

mod peak_memory_stays_within_bounds {
    /// Makes a test of each function, which runs in a process of its own.
    macro_rules! alone {
        ($($(#[$attribute:meta])* $name:ident)*) => {$(
            $(#[$attribute])*
            #[test]
            fn $name() {
                super::run_alone(concat!("peak_memory_stays_within_bounds::", stringify!($name)), super::$name);
            }
        )*};
    }

    alone! {
        arrays_take_their_size
        false_claims_take_little_memory
        piecewise_work_takes_memory_for_a_few_pieces
        conversions_stay_within_their_budget
        casts_take_memory_for_their_result
        rows_and_fields_take_few_allocations
        #[cfg(feature = "npz")]
        members_take_few_allocations
        #[cfg(feature = "dask")]
        parts_take_few_allocations
        #[cfg(feature = "object")]
        objects_take_memory_in_proportion
        #[cfg(feature = "object")]
        pickles_take_memory_and_work_in_proportion
        #[cfg(feature = "npz")]
        archives_take_memory_for_their_arrays
    }
}

/// Calls the function in a process that runs only this test. Other processes may run at the same time: each counts its own memory.
fn run_alone(test: &str, measure: fn()) {
    const IS_ALONE: &str = "NDARRAY_IO_ALONE";
    if std::env::var_os(IS_ALONE).is_some() {
        return measure();
    }
    let mut alone = program::program(std::env::current_exe().unwrap());
    let run =
        alone.args([test, "--exact"]).env(IS_ALONE, "1").env_remove("RUST_TEST_NOCAPTURE").output().unwrap();
    let said = [run.stdout, run.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(run.status.success() && said.contains("1 passed"), "{}: {said}", run.status);
}

#[expect(clippy::too_many_lines, reason = "a list")]
fn arrays_take_their_size() {
    // An entire array takes its size, 1/64 of it, and 8 MiB.
    for (descr, item) in [("<f8", 8), (">f8", 8)] {
        for mib in [3, 70] {
            let bytes = mib * MIB;
            let array_and_more = bytes + bytes / 64 + 8 * MIB;
            let stream =
                || HeaderAndZeros { head: head(descr, &format!("({},)", bytes / item)), zeros_left: bytes };
            let (peak, _, array) = measure_peak(|| Array1::<f64>::read_npy(stream()).unwrap());
            assert_eq!(array.len(), bytes / item);
            assert!(peak <= array_and_more, "{mib} MiB from a stream took {peak} bytes");
            drop(array);

            let mut file = tempfile::tempfile().unwrap();
            io::copy(&mut stream(), &mut file).unwrap();
            io::Seek::rewind(&mut file).unwrap();
            let (peak, _, array) = measure_peak(|| Array1::<f64>::read_npy(&file).unwrap());
            assert!(peak <= bytes + 8 * MIB, "{mib} MiB from a file took {peak} bytes");
            drop(array);
            io::Seek::rewind(&mut file).unwrap();
            let mut array = Array1::<f64>::zeros(bytes / item);
            let (peak, _, ()) = measure_peak(|| ReadOptions::new().read_into(&file, &mut array).unwrap());
            assert!(peak <= MIB, "reading {mib} MiB into an array took {peak} bytes");
            // Strided writes buffer a few blocks and do not copy the array.
            let (peak, _, ()) =
                measure_peak(|| array.slice(ndarray::s![..;-1]).write_npy(io::sink()).unwrap());
            assert!(peak <= 12 * MIB, "writing {mib} MiB took {peak} bytes");
        }
    }

    // In pieces, an array of any size takes a piece.
    let stream = || HeaderAndZeros { head: head(">f8", "(20, 1000000)"), zeros_left: 160_000_000 };
    let (peak, _, ()) = measure_peak(|| {
        NpyReader::new(stream())
            .unwrap()
            .blocks::<FlatArray<f64>>()
            .unwrap()
            .for_each(|block| drop(block.unwrap()))
    });
    assert!(peak <= 2 * MIB, "160 MB in blocks took {peak} bytes");
    let (peak, _, ()) = measure_peak(|| {
        NpyReader::new(stream())
            .unwrap()
            .rows::<f64, ndarray::Ix2>()
            .unwrap()
            .for_each(|row| drop(row.unwrap()));
    });
    assert!(peak <= 8_000_000 / 64 * 65 + 2 * MIB, "160 MB in rows of 8 MB took {peak} bytes");

    // A conversion takes the array of the new type and a block.
    let stream = HeaderAndZeros { head: head("<i2", "(5000000,)"), zeros_left: 10_000_000 };
    let options = ReadOptions::new().casting(Casting::Safe);
    let (peak, _, array) = measure_peak(|| options.read_from::<Array1<f64>>(stream).unwrap());
    assert!(peak <= 40_000_000 / 64 * 65 + 8 * MIB, "converting took {peak} bytes");
    drop(array);

    // The header declares far more data than the source has. Where usize has 32 bits, the larger shapes are
    // already errors of the header.
    let elements = ["(268435456,)", "(68719476736,)", "(1000000, 1000000)"];
    for elements in &elements[..if usize::BITS == 64 { 3 } else { 1 }] {
        for (left, most) in [(0, 2 * MIB), (MIB + 1, 70 * MIB), (3 * MIB, 200 * MIB)] {
            let stream = HeaderAndZeros { head: head("<f8", elements), zeros_left: left };
            let (_, largest, read) = measure_peak(|| ArrayD::<f64>::read_npy(stream));
            assert!(read.is_err());
            assert!(largest <= most, "{elements} of which {left} bytes came: {largest} bytes at once");
        }
        let bytes = head("<f8", elements);
        let (peak, _, read) =
            measure_peak(|| ArrayD::<f64>::read_npy(HeaderAndZeros { head: bytes.clone(), zeros_left: 0 }));
        assert!(read.is_err() && peak <= 2 * MIB, "{peak}");
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, &bytes).unwrap();
        let (peak, _, read) = measure_peak(|| ndarray_io::read_npy::<_, ArrayD<f64>>(file.path()));
        assert!(read.is_err() && peak <= MIB, "{peak}");
        let part = ndarray_io::NpyFile::open(file.path()).unwrap();
        let (_, largest, read) = measure_peak(|| part.read::<ArrayD<f64>>());
        assert!(read.is_err() && largest <= MIB, "{largest} bytes at once for a part that is not there");
    }

    // Headers of 1 MiB: invalid ones are refused before they are parsed into values, and fields are parsed
    // one at a time.
    let many = |item: &str| item.repeat((1 << 20) / item.len() - 8);
    let refused = [many("1,"), many("[],"), many("((1),"), format!("{}{}", "[".repeat(120), many("[],"))];
    let headers = refused.iter().flat_map(|items| {
        [
            ("'<f4'".to_owned(), format!("({items})")),
            (format!("[{items}]"), "()".into()),
            (format!("('<f4', ({items}))"), "()".into()),
        ]
    });
    for (descr, shape) in headers {
        let (peak, _, read) =
            measure_peak(|| ndarray_io::NpyReader::new(&unpadded_v2_header(&descr, &shape)[..]).map(drop));
        assert!(read.is_err() && peak <= 8 * MIB, "{:.20}… {:.20}… took {peak} bytes", descr, shape);
    }
    let fields: String = (0..60_000).map(|field| format!("('f{field}','f4'),")).collect();
    let (peak, _, read) = measure_peak(|| {
        ndarray_io::NpyReader::new(&unpadded_v2_header(&format!("[{fields}]"), "()")[..]).map(drop)
    });
    assert!(read.is_ok() && peak <= 40 * MIB, "60,000 fields took {peak} bytes");

    // Headers on which a parser that copies the rest at each step would be quadratic: the sum of all
    // allocations is proportional to the header's length.
    for (descr, _) in headers::long_descrs() {
        let header = unpadded_v2_header(&descr, "(0,)");
        TOTAL_ALLOCATED.store(0, Ordering::Relaxed);
        drop(ndarray_io::NpyReader::new(&header[..]));
        let all = TOTAL_ALLOCATED.load(Ordering::Relaxed);
        assert!(all <= 1000 * header.len() + MIB, "{descr:.20}… allocated {all} bytes");
    }

    // A header that declares a length of 4 GiB and is truncated.
    let head = b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec();
    let (peak, _, read) = measure_peak(|| ArrayD::<f64>::read_npy(HeaderAndZeros { head, zeros_left: 0 }));
    assert!(read.is_err() && peak <= MIB / 8, "{peak}");
}

/// Whatever a header claims, reading a short file is an error and takes little.
fn false_claims_take_little_memory() {
    use ndarray_io::DynArray;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let refused = |what: &str, read: &mut dyn FnMut() -> Result<DynArray, ndarray_io::Error>| {
        let (peak, largest, read) = measure_peak(read);
        assert!(read.is_err(), "{what} was read");
        assert!(peak <= 2 * MIB, "{what} took {peak} bytes, {largest} at once");
    };
    let options = ReadOptions::new().allow_objects(true);
    for (number, (what, file)) in claims::ra_files().enumerate() {
        let stream = || HeaderAndZeros { head: file.clone(), zeros_left: 0 };
        refused(&what, &mut || options.read_ra_from(&file[..]));
        refused(&what, &mut || options.clone().ignore_ra_flags(true).read_ra_from(stream()));
        // Files are slower, so a part of them.
        if number % 7 == 0 {
            std::fs::write(&path, &file).unwrap();
            refused(&what, &mut || options.read_ra(&path));
            refused(&what, &mut || options.open(&path)?.read());
        }
    }
    for (number, (what, file)) in claims::npy_files().enumerate() {
        refused(&what, &mut || options.read_from::<DynArray>(&file[..]));
        refused(&what, &mut || {
            options.read_from::<DynArray>(HeaderAndZeros { head: file.clone(), zeros_left: 0 })
        });
        if number % 3 == 0 {
            std::fs::write(&path, &file).unwrap();
            refused(&what, &mut || options.read_npy(&path));
            refused(&what, &mut || options.open(&path)?.read());
        }
    }
    #[cfg(feature = "npz")]
    for (what, file) in claims::archives() {
        let cursor = || io::Cursor::new(file.clone());
        refused(&what, &mut || options.npz_reader(cursor())?.read("a"));
        std::fs::write(&path, &file).unwrap();
        refused(&what, &mut || options.open_npz(&path)?.read("a"));
        refused(&what, &mut || options.open_npz(&path)?.open_member("a")?.read());
    }
    #[cfg(feature = "object")]
    for (what, pickle) in claims::pickles() {
        use ndarray_io::object::Pickle;
        let (peak, _, read) = measure_peak(|| options.read_pickle(&pickle[..]).map(drop));
        assert!(read.is_err() && peak <= 2 * MIB, "{what}: {peak}");
        let (peak, _, read) = measure_peak(|| Pickle::read_joblib(&pickle[..], &options).map(drop));
        assert!(read.is_err() && peak <= 2 * MIB, "{what}: {peak}");
    }
}

/// Reading, writing and transposing in pieces takes memory for a few pieces, for any file size.
fn piecewise_work_takes_memory_for_a_few_pieces() {
    use ndarray::{Array2, Ix2};
    use ndarray_io::convert::{Conversion, convert_npy};
    use ndarray_io::header::Order;
    use ndarray_io::{NpyFile, NpyWriter};
    use std::ops::ControlFlow;

    let folder = tempfile::tempdir().unwrap();
    let (path, turned) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
    let rows = Array2::<f64>::ones((1 << 10, 1 << 10)); // 8 MiB
    let (peak, _, ()) = measure_peak(|| {
        let mut writer = NpyWriter::new(std::fs::File::create(&path).unwrap(), &[1 << 10]).unwrap();
        (0..16).for_each(|_| writer.push(&rows).unwrap());
        rows.rows().into_iter().for_each(|row| writer.push(&row).unwrap());
        writer.finish().unwrap();
    });
    assert!(peak <= 4 * MIB, "writing piece by piece took {peak} bytes");
    drop(rows);
    let file = NpyFile::open(&path).unwrap();
    let mut sum = 0.0;
    let (peak, _, ()) = measure_peak(|| {
        let each = |chunk: ndarray::ArrayView2<'_, f64>| {
            sum += chunk.sum();
            ControlFlow::Continue(())
        };
        file.chunks::<f64, Ix2>(0, 128).unwrap().read_ahead(each).unwrap(); // chunks of 1 MiB
    });
    assert!(sum == f64::from(17 << 20) && peak <= 4 * MIB, "going through 136 MiB took {peak} bytes");
    let (peak, _, slice) = measure_peak(|| file.slice::<f64, _>(ndarray::s![.., 0..8]).unwrap());
    assert!(slice.len() == 17 << 13 && peak <= 3 * MIB, "a slice of 1 MiB took {peak} bytes");
    let conversion = || Conversion::new().order(Order::Fortran).memory(16 * MIB);
    let (peak, _, ()) = measure_peak(|| convert_npy(&path, &turned, conversion()).unwrap());
    assert!(peak <= 40 * MIB, "turning 136 MiB round took {peak} bytes");
}

/// Rows take no allocation each, fields a fixed number, which does not grow with their number.
fn rows_and_fields_take_few_allocations() {
    use ndarray::{Array2, s};
    use ndarray_io::header::Order;
    use ndarray_io::{DType, DynArray, NpyFile, NpyWriter, write_npy};

    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (&folder.path().join("a.npy"), folder.path().join("b.npy"));
    let rows = |count: usize| {
        write_npy(path, &Array2::<f32>::ones((count, 3))).unwrap();
        (
            NpyFileMut::open(path).unwrap(),
            (0..count).rev().collect::<Vec<_>>(),
            Array2::<f32>::zeros((count, 2)),
        )
    };
    check(
        "rows in part",
        0.0,
        allocations_per_item(rows, |(file, ..)| file.slice::<f32, _>(s![.., ..;2]).unwrap()),
    );
    check(
        "rows listed",
        0.0,
        allocations_per_item(rows, |(file, all, _)| file.take::<Array2<f32>>(0, all).unwrap()),
    );
    check(
        "rows written in part",
        0.0,
        allocations_per_item(rows, |(file, _, part)| file.write_slice(s![.., ..;2], part).unwrap()),
    );
    check(
        "rows turned round",
        0.0,
        allocations_per_item(rows, |(.., part)| write_npy(&other, &part.slice(s![..;-1, ..;-1])).unwrap()),
    );
    let pushed = |count: &usize| {
        let mut writer = NpyWriter::create(&other, &[3]).unwrap();
        let row = ndarray::arr1(&[1.0f32, 2.0, 3.0]);
        (0..*count).for_each(|_| writer.push(&row).unwrap());
        writer.finish().unwrap();
    };
    check("rows pushed", 0.0, allocations_per_item(|count| count, pushed));

    let record = |count: usize| {
        let fields: Vec<String> = (0..count).map(|field| format!("('f{field}', '<f8')")).collect();
        let dtype: DType = format!("[{}]", fields.join(", ")).parse().unwrap();
        let array = DynArray::from_bytes(dtype.clone(), [1], Order::C, &vec![0; 8 * count]).unwrap();
        write_npy(path, &array).unwrap();
        (array, dtype)
    };
    // Its name, and its name in the index of names.
    check("fields of a header", 2.0, allocations_per_item(record, |_| NpyFile::open(path).unwrap()));
    check(
        "fields by name",
        0.0,
        allocations_per_item(record, |(_, dtype)| {
            let DType::Record(record) = dtype else { unreachable!("it is a record") };
            assert!(record.field("f7").is_some() && record.field("g").is_none());
        }),
    );
}

/// Checks how many allocations each of many things takes. What grows by doubling is allocated a few times in all.
fn check(what: &str, most: f64, each: f64) {
    assert!(each < most + 0.02, "{what}: {each} allocations, at most {most}");
}

/// Members of an archive take a fixed number of allocations each.
#[cfg(feature = "npz")]
fn members_take_few_allocations() {
    use ndarray_io::{Compression, NpzFile, NpzUpdate, WriteArray, WriteOptions};

    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("a.npz");
    let array = ndarray::arr1(&[1u64]);
    let members = |count: usize| {
        let names: Vec<String> = (0..count).map(|member| format!("member {member}")).collect();
        let arrays: Vec<(&str, &dyn WriteArray)> =
            names.iter().map(|name| (&name[..], &array as &dyn WriteArray)).collect();
        WriteOptions::new().compression(Compression::DEFLATE).write_npz(path, &arrays).unwrap();
        NpzFile::open(path).unwrap()
    };
    check("members of a directory", 1.0, allocations_per_item(members, |_| NpzFile::open(path).unwrap()));
    check("members verified", 13.0, allocations_per_item(members, |npz| npz.verify().unwrap()));
    let all = |npz: &NpzFile| {
        npz.names().unwrap().iter().for_each(|name| drop(npz.read::<Array1<u64>>(name).unwrap()))
    };
    check("members read", 26.0, allocations_per_item(members, all));
    if cfg!(windows) {
        return; // an open file is not replaced
    }
    check(
        "members that stay",
        16.0,
        allocations_per_item(members, |_| {
            NpzUpdate::open(path).unwrap().replace("member 7", &array).unwrap().finish().unwrap()
        }),
    );
}

/// Parts of a stack take a fixed number of allocations each.
#[cfg(feature = "dask")]
fn parts_take_few_allocations() {
    use ndarray_io::dask::{NpyStack, NpyStackWriter};

    let counts = (400, 2_000); // each is a file
    let folder = tempfile::tempdir().unwrap();
    let path = |count: usize| folder.path().join(format!("{count}"));
    let parts = |count: usize| {
        let _ = std::fs::remove_dir_all(path(count));
        let mut writer = NpyStackWriter::create(path(count), &"<f8".parse().unwrap(), &[], 0).unwrap();
        (0..count).for_each(|_| writer.push(&ndarray::arr1(&[1.0])).unwrap());
        writer.finish().unwrap();
        NpyStack::open(path(count)).unwrap()
    };
    check(
        "parts of a stack",
        1.0,
        allocations_per_item_of(counts, parts, |stack| NpyStack::open(path(stack.lengths().len())).unwrap()),
    );
    check(
        "parts read",
        if cfg!(windows) { 18.0 } else { 16.0 }, // paths are converted for the system
        allocations_per_item_of(counts, parts, |stack| stack.read::<Array1<f64>>().unwrap()),
    );
}

/// A conversion stays close to its memory budget, whichever axis is the long one and for any operation.
fn conversions_stay_within_their_budget() {
    use ndarray::{Array, IxDyn};
    use ndarray_io::convert::{Conversion, concatenate_npy, convert_npy, stack_npy};
    use ndarray_io::dtype::{Kind, Scalar};
    use ndarray_io::header::Order;
    use ndarray_io::{ByteOrder, write_npy};

    const MEMORY_BUDGET: usize = MIB;
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
    let float = Scalar::new(Kind::Float, 4, ByteOrder::Big).unwrap();
    let long = 3 << 18; // elements of 8 bytes: 6 MiB
    let shapes: &[&[usize]] = &[
        &[1, long],
        &[long, 1],
        &[1, long, 1],
        &[3, long / 3, 1],
        &[long / 64, 64],
        &[64, long / 64],
        &[4, long / 32, 8],
        &[1, 8, long / 8, 1],
        &[2, 2, 2, long / 8],
        &[long / 8, 2, 2, 2],
    ];
    let check = |what: &str, shape: &[usize], work: &dyn Fn() -> ndarray_io::Result<()>| {
        let (peak, _, done) = measure_peak(work);
        done.unwrap();
        assert!(peak <= MEMORY_BUDGET + 2 * MIB, "{what} of {shape:?} took {peak} bytes");
    };
    for shape in shapes {
        let array = Array::from_shape_fn(IxDyn(shape), |_| 1u64);
        write_npy(&path, &array).unwrap();
        drop(array);
        let conversion = || Conversion::new().memory(MEMORY_BUDGET);
        check("turning", shape, &|| convert_npy(&path, &other, conversion().order(Order::Fortran)));
        check("the other byte order", shape, &|| {
            convert_npy(&path, &other, conversion().byte_order(ByteOrder::Big))
        });
        let all = || conversion().order(Order::Fortran).dtype(float.into(), Casting::SameKind);
        check("another type", shape, &|| convert_npy(&path, &other, all()));
        for axis in [0, shape.len() - 1] {
            check("joining", shape, &|| concatenate_npy(&[&path, &path], &other, axis, conversion()));
            check("stacking", shape, &|| stack_npy(&[&path, &path], &other, axis, conversion()));
        }
    }
    // Every permutation of the axes: a Fortran-order array of each shape is converted to C order.
    let lengths = [3, 17, 50, 201];
    for number in 0..24 {
        let mut left = lengths.to_vec();
        let mut rest = number;
        let shape: Vec<usize> = (1..=4)
            .rev()
            .map(|count| {
                left.remove({
                    let at = rest % count;
                    rest /= count;
                    at
                })
            })
            .collect();
        write_npy(&path, &Array::<u64, _>::ones(IxDyn(&shape))).unwrap();
        check("turning", &shape, &|| {
            convert_npy(&path, &other, Conversion::new().memory(MEMORY_BUDGET).order(Order::Fortran))
        });
    }
}

/// Objects take at most 256 bytes per byte of their pickle plus 4 MiB, even if their parts are shared.
#[cfg(feature = "object")]
fn objects_take_memory_in_proportion() {
    use ndarray_io::object::Object;

    let files = [
        ("lists", bombs::empty_lists(1_000_000)),
        ("one text", bombs::one_text_under_many_memo_numbers(1000)),
        ("names", bombs::globals_of_one_text(1000)),
        ("encoded", bombs::text_encoded_many_times(1000)),
        ("buffers", bombs::arrays_of_one_buffer(1000)),
        ("arrays", bombs::arrays_of_one_dtype(1000, 1000)),
        ("wide", bombs::arrays_of_one_dtype(16_000, 1)),
        ("records", bombs::nested_records(31)),
        ("chain", bombs::nested_tuples(100_000)),
        ("graphs", bombs::differently_shared_graphs(60)),
    ];
    for (name, file) in files {
        let (peak, _, read) = measure_peak(|| Array1::<Object>::read_npy(&file[..]));
        assert!(peak <= 256 * file.len() + 4 * MIB, "{name}: {peak} bytes for {}", file.len());
        drop(read);
    }
}

/// For random pickles, both peak memory and the sum of all allocations are proportional to the pickle's
/// length. NDARRAY_IO_PICKLES sets the number of pickles, by default 300.
#[cfg(feature = "object")]
fn pickles_take_memory_and_work_in_proportion() {
    use std::hash::{DefaultHasher, Hash, Hasher};

    use ndarray_io::object::Pickle;

    let count = std::env::var("NDARRAY_IO_PICKLES").map_or(300, |count| count.parse().unwrap());
    let (mut values, mut errors, mut written) = (0, 0, 0);
    for seed in 0..count {
        let bytes = pickles::pickle(seed, [500, 5_000, 50_000][seed as usize % 3]);
        let read = || Pickle::read(&bytes[..]);
        let within = |what: &str, times: usize, work: &mut dyn FnMut()| {
            let before = TOTAL_ALLOCATED.load(Ordering::Relaxed);
            let (peak, _, ()) = measure_peak(work);
            let all = TOTAL_ALLOCATED.load(Ordering::Relaxed) - before;
            let most = times * bytes.len();
            assert!(peak <= most + MIB, "seed {seed}: {what} takes {peak} bytes for {}", bytes.len());
            assert!(
                all <= 4 * most + 4 * MIB,
                "seed {seed}: {what} takes {all} bytes in all for {}",
                bytes.len()
            );
        };
        within("reading", 256, &mut || drop(read()));
        let (Ok(one), Ok(two)) = (read(), read()) else {
            errors += 1;
            continue;
        };
        values += 1;
        let (one, two) = (one.object(), two.object());
        within("comparing", 512, &mut || assert!(one == two, "seed {seed}"));
        let hash = |object: &ndarray_io::object::Object| {
            let mut hasher = DefaultHasher::new();
            object.hash(&mut hasher);
            hasher.finish()
        };
        within("hashing", 64, &mut || assert!(hash(one) == hash(two), "seed {seed}"));
        within("detaching", 512, &mut || assert!(one.detach() == *one, "seed {seed}"));
        if seed.is_multiple_of(16) {
            assert!(one.to_string().len() < 17 << 20);
        }
        within("writing", 512, &mut || {
            if let Ok(again) = Pickle::write(one, &ndarray_io::WriteOptions::new()) {
                written += 1;
                let again = Pickle::read(&again[..]).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                assert!(again.object() == one, "seed {seed}: written, it is another");
            }
        });
    }
    assert!(
        values > count / 4 && errors > 0 && written > 0,
        "{values} values, {errors} errors, {written} written"
    );
}

/// Casting and slicing take memory for the result and a block.
fn casts_take_memory_for_their_result() {
    use ndarray_io::dtype::{Kind, Scalar};
    use ndarray_io::{ByteOrder, DynArray};

    let array = DynArray::new(&Array1::<i32>::ones(4 * MIB)).unwrap();
    let double = Scalar::new(Kind::Float, 8, ByteOrder::NATIVE).unwrap();
    let (peak, _, cast) = measure_peak(|| array.cast_to(&double.into(), Casting::Safe).unwrap());
    assert!(cast.len() == 4 * MIB && peak <= 32 * MIB + MIB, "casting took {peak} bytes");
    let (peak, _, slice) = measure_peak(|| array.slice(ndarray::s![..;-2]).unwrap());
    // Four threads, where there are as many processors, take 2 MiB each.
    assert!(slice.len() == 2 * MIB && peak <= 8 * MIB + 9 * MIB, "slicing took {peak} bytes");
    let (peak, _, typed) = measure_peak(|| array.cast::<f64, ndarray::Ix1>(Casting::Safe).unwrap());
    assert!(typed.len() == 4 * MIB && peak <= 32 * MIB + 2 * MIB, "casting to a type took {peak} bytes");
}

/// An archive takes memory for its arrays and a few blocks; a bomb allocates nothing for its declared size.
#[cfg(feature = "npz")]
fn archives_take_memory_for_their_arrays() {
    use ndarray_io::{Compression, DynArray, NpzReader, NpzWriter, WriteOptions};
    use std::io::Cursor;

    let array = Array1::<f64>::from_shape_fn(4 << 20, |index| (index % 1000) as f64); // 32 MiB
    let two = WriteOptions::new().threads(2);
    let deflated = two.compression(Compression::Deflated(1));
    let (peak, _, ()) = measure_peak(|| {
        let mut npz = deflated.npz_writer(io::sink()).unwrap();
        npz.add("a", &array).unwrap();
        npz.add("b", &array.slice(ndarray::s![..;-1])).unwrap();
        npz.finish().unwrap();
    });
    assert!(peak <= 16 * MIB, "deflating twice 32 MiB took {peak} bytes");
    let mut npz = deflated.npz_writer(Cursor::new(Vec::new())).unwrap();
    npz.add("a", &array).unwrap();
    let bytes = npz.finish().unwrap();
    drop(array);
    let (peak, _, read) = measure_peak(|| NpzReader::new(bytes).unwrap().read::<Array1<f64>>("a").unwrap());
    assert!(read.len() == 4 << 20 && peak <= 42 * MIB, "inflating 32 MiB took {peak} bytes");
    drop(read);

    // Decompressed block by block on two threads: reading takes the result and a few blocks, slicing the part
    // and some blocks.
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut npz = deflated.npz_writer(file.as_file()).unwrap();
    npz.add("a", &Array1::<f64>::from_shape_fn(4 << 20, |index| (index % 1000) as f64)).unwrap();
    npz.finish().unwrap();
    let options = ReadOptions::new().threads(2);
    let npz = options.open_npz(file.path()).unwrap();
    let (peak, _, read) = measure_peak(|| npz.read::<Array1<f64>>("a").unwrap());
    assert!(read.len() == 4 << 20 && peak <= 38 * MIB, "inflating 32 MiB block by block took {peak} bytes");
    drop(read);
    let (peak, _, part) = measure_peak(|| {
        npz.open_member("a").unwrap().slice::<f64, _>(ndarray::s![1_000_000..3_000_000;1000]).unwrap()
    });
    assert!(part.len() == 2000 && peak <= 6 * MIB, "a part of 16 MiB took {peak} bytes");

    // A member of zeros that exceeds the payload limit is refused before memory is allocated for it.
    let mut npz = NpzWriter::new_compressed(Cursor::new(Vec::new()));
    npz.add("zeros", &Array1::<u8>::zeros(200 << 20)).unwrap();
    let bytes = npz.finish().unwrap();
    let limits = ndarray_io::Limits::default().payload(1 << 20);
    let options = ReadOptions::new().limits(limits);
    let (peak, _, read) =
        measure_peak(|| options.npz_reader(bytes).unwrap().read::<DynArray>("zeros").map(drop));
    assert!(read.is_err() && peak <= MIB, "a bomb took {peak} bytes");

    // Of a stream that declares nearly 1 GiB and has some thousand bytes, memory is taken for what arrives.
    #[cfg(all(feature = "zip-methods", feature = "zip-encryption"))]
    for name in ["lzma-7zip", "xz-7zip"] {
        let path = format!("{}/testdata/methods/{name}.npz", env!("CARGO_MANIFEST_DIR"));
        let mut bytes = std::fs::read(path).unwrap();
        let archive = NpzReader::new(Cursor::new(&bytes)).unwrap();
        let is_packed = |member: &&ndarray_io::npz::NpzMember| member.compressed_size() < member.size();
        let member = archive.members().iter().find(is_packed).unwrap().clone();
        let old = (member.size() as u32).to_le_bytes();
        let places: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..*at + 4] == old).collect();
        places.iter().for_each(|at| bytes[*at..*at + 4].copy_from_slice(&((1 << 30) - 1u32).to_le_bytes()));
        let mut reader = NpzReader::new(Cursor::new(bytes)).unwrap();
        let (_, largest, read) = measure_peak(|| reader.read_raw(member.file_name()).map(drop));
        assert!(read.unwrap_err().is_format() && largest <= 70 * MIB, "{name}: {largest} bytes at once");
    }
}
