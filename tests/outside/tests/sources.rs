//! Every route over sources and a folder of someone else, with faults.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array2, Axis, Ix2, s};
use ndarray_io::bytes::{Folder, ReadAt, ReadHints, Runs};
use ndarray_io::convert::{Conversion, concatenate_files, convert_file};
use ndarray_io::dask::NpyStack;
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::ra::WriteRaExt;
use ndarray_io::{Compression, DynArray, NpyFile, NpzFile, Result, WriteOptions};
use ndarray_io_refs::{RefOptions, References, ZarrFormat};
use outside::{Fault, FaultyFolder, FaultySource, PartlyFetchedFolder, PartlyFetchedSource};

/// What a route has read; the wrong bytes are noticed by comparing it with the array.
type Route = Box<dyn Fn(Fault, &Path) -> Result<Vec<Array2<u32>>>>;

fn array() -> Array2<u32> {
    Array2::from_shape_fn((300, 70), |(row, column)| (row * 1000 + column) as u32)
}

fn npy(array: &Array2<u32>, order: Order) -> Arc<Vec<u8>> {
    let mut bytes = Vec::new();
    WriteOptions::new().order(order).write_to(&mut bytes, &array).unwrap();
    Arc::new(bytes)
}

fn npz(compression: Compression) -> Arc<Vec<u8>> {
    let mut npz = WriteOptions::new().compression(compression).npz_writer(Vec::new()).unwrap();
    npz.add("a", &array()).unwrap();
    npz.add("b", &array()).unwrap();
    Arc::new(npz.finish().unwrap())
}

/// Each route returns arrays that all equal `array()`.
fn routes() -> Vec<(&'static str, Route)> {
    let mut routes: Vec<(&'static str, Route)> = Vec::new();
    let mut add = |name, route: Route| routes.push((name, route));
    for order in [Order::C, Order::Fortran] {
        let bytes = npy(&array(), order);
        let open = move |fault| NpyFile::from_source(FaultySource::new(&bytes, fault));
        let at = open.clone();
        add("read", Box::new(move |fault, _| Ok(vec![at(fault)?.read()?])));
        let at = open.clone();
        add(
            "read dyn",
            Box::new(move |fault, _| {
                Ok(vec![at(fault)?.read::<DynArray>()?.cast(ndarray_io::Casting::Safe)?])
            }),
        );
        let at = open.clone();
        add(
            "slice",
            Box::new(move |fault, _| {
                let file = at(fault)?;
                let mut made = Array2::zeros((300, 70));
                for step in 0..3 {
                    made.slice_mut(s![.., step..;3]).assign(&file.slice::<u32, _>(s![.., step..;3])?);
                }
                let mut into = Array2::zeros((300, 70));
                file.slice_into(s![..;-1, ..], &mut *into.slice_mut(s![..;-1, ..]))?;
                Ok(vec![made, into])
            }),
        );
        let at = open.clone();
        add(
            "take",
            Box::new(move |fault, _| {
                let (rows, columns): (Vec<usize>, Vec<usize>) =
                    ((0..300).rev().collect(), (0..70).rev().collect());
                let (mut one, mut two) =
                    (at(fault)?.take::<Array2<u32>>(0, &rows)?, at(fault)?.take::<Array2<u32>>(1, &columns)?);
                one.invert_axis(Axis(0));
                two.invert_axis(Axis(1));
                Ok(vec![one, two])
            }),
        );
        let at = open.clone();
        add(
            "chunks",
            Box::new(move |fault, _| {
                let file = at(fault)?;
                let mut made = Array2::zeros((0, 70));
                for chunk in file.chunks::<u32, Ix2>(0, 40)? {
                    made.append(Axis(0), chunk?.view()).unwrap();
                }
                let mut ahead = Array2::zeros((300, 0));
                file.chunks::<u32, Ix2>(1, 9)?.read_ahead(|chunk| {
                    ahead.append(Axis(1), chunk).unwrap();
                    std::ops::ControlFlow::Continue(())
                })?;
                Ok(vec![made, ahead])
            }),
        );
        let at = open.clone();
        add(
            "blocks",
            Box::new(move |fault, _| {
                let file = at(fault)?;
                let mut made = Array2::zeros((300, 70));
                let mut put = |block: ndarray_io::blocks::Block<Array2<u32>>| {
                    let [rows, columns] = block.ranges() else { panic!("two axes") };
                    made.slice_mut(s![rows.clone(), columns.clone()]).assign(block.array());
                    Ok::<(), ndarray_io::Error>(())
                };
                file.blocks::<Array2<u32>>().bytes(5000).threads(3).read_ahead(&mut put)?;
                file.blocks::<Array2<u32>>().bytes(333).try_for_each(|block| put(block?))?;
                Ok(vec![made])
            }),
        );
        let at = open.clone();
        add(
            "convert",
            Box::new(move |fault, folder| {
                let path = folder.join("converted.npy");
                convert_file(&at(fault)?, &path, Conversion::new().order(Order::C))?;
                Ok(vec![ndarray_io::read_npy(&path)?])
            }),
        );
        add(
            "join",
            Box::new(move |fault, folder| {
                let path = folder.join("joined.npy");
                let (one, two) = (open(fault)?, open(fault)?);
                concatenate_files(&[&one, &two], &path, 1, Conversion::new())?;
                let joined: Array2<u32> = ndarray_io::read_npy(&path)?;
                Ok(vec![joined.slice(s![.., ..70]).to_owned(), joined.slice(s![.., 70..]).to_owned()])
            }),
        );
    }
    for compression in [Compression::Stored, Compression::Deflated(1)] {
        let bytes = npz(compression);
        let open = move |fault| NpzFile::from_source(FaultySource::new(&bytes, fault));
        let at = open.clone();
        add(
            "archive",
            Box::new(move |fault, _| {
                let archive = at(fault)?;
                archive.verify()?;
                let all = archive.read_all::<Array2<u32>>()?.into_iter().map(|(_, array)| array);
                Ok(all.chain([archive.read("b")?]).collect())
            }),
        );
        add(
            "member",
            Box::new(move |fault, _| {
                let archive = open(fault)?;
                let member = archive.open_member("b")?;
                let rows = member.slice::<u32, _>(s![.., ..])?;
                Ok(vec![rows, member.read()?])
            }),
        );
    }
    let mut ra = Vec::new();
    array().write_ra(&mut ra).unwrap();
    let ra = Arc::new(ra);
    add(
        "ra",
        Box::new(move |fault, _| {
            let file = NpyFile::from_source(FaultySource::new(&ra, fault))?;
            Ok(vec![file.read()?, file.slice(s![.., ..])?])
        }),
    );
    for axis in [0, 1] {
        let pieces =
            [0..20, 20..21, 21..70].map(|part| array().slice_axis(Axis(axis), part.into()).to_owned());
        let rest = array().slice_axis(Axis(axis), (70..array().len_of(Axis(axis))).into()).to_owned();
        let files = pieces.into_iter().chain(Some(rest).filter(|rest| !rest.is_empty())).enumerate();
        let files: std::collections::BTreeMap<String, Arc<Vec<u8>>> =
            files.map(|(number, part)| (format!("{number}.npy"), npy(&part, Order::C))).collect();
        add(
            "stack",
            Box::new(move |fault, _| {
                let folder: Arc<dyn Folder> = Arc::new(FaultyFolder { files: files.clone(), fault });
                let stack = NpyStack::from_folder_along(folder, axis, &ndarray_io::ReadOptions::new())?;
                Ok(vec![stack.read()?, stack.slice(s![.., ..])?])
            }),
        );
    }
    routes
}

/// Returns how many threads and open files this process has.
#[cfg(target_os = "linux")]
fn thread_and_open_file_counts() -> (usize, usize) {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

#[cfg(not(target_os = "linux"))]
fn thread_and_open_file_counts() -> (usize, usize) {
    (0, 0)
}

/// One test, because it counts the threads of the process.
#[test]
fn faulty_sources_give_right_arrays_or_errors() {
    let folder = tempfile::tempdir().unwrap();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some("the source panics") {
            hook(panic);
        }
    }));
    let before = thread_and_open_file_counts();
    let (mut failed, mut read, mut panicked) = (0, 0, 0);
    for (name, route) in routes() {
        // Sound sources, of which some are odd.
        for fault in [Fault::ShortReads, Fault::ReportsNoParts, Fault::Interrupts(0), Fault::Interrupts(3)] {
            let made =
                route(fault, folder.path()).unwrap_or_else(|error| panic!("{name}, {fault:?}: {error}"));
            assert!(!made.is_empty() && made.iter().all(|made| *made == array()), "{name}, {fault:?}");
        }
        let numbered = (0..60).flat_map(|call| {
            [Fault::Fails(call), Fault::Panics(call), Fault::Ends(call), Fault::ReportsTooMany(call)]
        });
        let others = [
            Fault::TooManyParts,
            Fault::Changes,
            Fault::ClaimsMore,
            Fault::ClaimsLess,
            Fault::NoSize,
            Fault::Missing,
            Fault::OddHints,
        ];
        for fault in numbered.chain(others) {
            match catch_unwind(AssertUnwindSafe(|| route(fault, folder.path()))) {
                Ok(Ok(made)) => {
                    read += 1;
                    // Bytes that change may be any; otherwise they are those of the array.
                    let is_right = made.iter().all(|made| *made == array());
                    assert!(fault == Fault::Changes || is_right, "{name}, {fault:?}");
                }
                Ok(Err(error)) => {
                    failed += 1;
                    assert!(!error.to_string().is_empty());
                }
                Err(panic) => {
                    panicked += 1;
                    let text = panic.downcast_ref::<&str>().copied().unwrap_or_default();
                    let is_meant = text == "the source panics" && matches!(fault, Fault::Panics(_));
                    assert!(is_meant, "{name}, {fault:?}: {text}");
                }
            }
        }
    }
    drop(std::panic::take_hook());
    let (threads, files) = thread_and_open_file_counts();
    assert!(threads <= before.0 && files <= before.1, "{threads} threads and {files} files remain");
    assert!(failed > 1000 && read > 500 && panicked > 100, "{failed} {read} {panicked}");
}

#[test]
fn references_are_made_from_a_source() {
    let bytes = npy(&array(), Order::C);
    let mut references = References::new(ZarrFormat::V2);
    let options = RefOptions::new().location("vault:a.npy").name("a").chunk(100);
    references.add_source(FaultySource::new(&bytes, Fault::ShortReads), &options).unwrap();
    assert!(references.to_string().contains(r#""a/0.0":["vault:a.npy",128,28000]"#), "{references}");
    let failed = references.add_source(FaultySource::new(&bytes, Fault::Fails(0)), &options);
    assert_eq!(failed.unwrap_err().to_string(), "vault:a.npy: the source fails");
}

/// Counts the calls of each method.
#[derive(Debug, Default)]
struct CountingSource([AtomicUsize; 8]);

impl CountingSource {
    fn count_call(&self, method: usize) {
        self.0[method].fetch_add(1, Ordering::Relaxed);
    }
}

impl ReadAt for CountingSource {
    fn read_at(&self, _: &mut [u8], _: u64) -> Result<usize> {
        self.count_call(0);
        Ok(0)
    }

    fn size(&self) -> Result<u64> {
        self.count_call(1);
        Ok(0)
    }

    fn read_parts(&self, _: &mut [(u64, &mut [u8])]) -> Result<usize> {
        self.count_call(2);
        Ok(0)
    }

    fn check(&self, _: &Runs) -> Result<()> {
        self.count_call(3);
        Ok(())
    }

    fn bytes(&self) -> Option<&[u8]> {
        self.count_call(4);
        None
    }

    fn file(&self) -> Option<(&std::fs::File, u64)> {
        self.count_call(5);
        None
    }

    fn lock_file(&self) -> Option<&std::fs::File> {
        self.count_call(6);
        None
    }

    fn hints(&self) -> ReadHints {
        self.count_call(7);
        ReadHints::default()
    }
}

/// A pointer that did not pass on a method would use the default instead.
#[test]
fn smart_pointers_forward_all_methods() {
    /// Calls each method, of the type itself.
    fn call_all_methods<T: ReadAt>(source: T) {
        source.read_at(&mut [], 0).unwrap();
        source.size().unwrap();
        source.read_parts(&mut []).unwrap();
        source.check(&Runs::of_range(0..1)).unwrap();
        assert!(source.bytes().is_none() && source.file().is_none() && source.lock_file().is_none());
        source.hints();
    }
    let counting = Arc::new(CountingSource::default());
    call_all_methods(&*counting);
    call_all_methods(Arc::clone(&counting));
    call_all_methods(Box::new(&*counting));
    call_all_methods(Arc::clone(&counting) as Arc<dyn ReadAt>);
    call_all_methods(Box::new(Arc::clone(&counting)) as Box<dyn ReadAt>);
    let borrowed: &dyn ReadAt = &*counting;
    call_all_methods(borrowed);
    assert_eq!(counting.0.each_ref().map(|count| count.load(Ordering::Relaxed)), [6; 8]);
}

/// Repeats a read, fetching what it needs, and returns the result, how often it was repeated, and how many bytes
/// were fetched.
fn retry_after_fetching<T>(
    source: &PartlyFetchedSource,
    mut read: impl FnMut() -> Result<T>,
) -> (T, usize, u64) {
    let mut fetched = 0;
    for repeated in 0..20 {
        match read() {
            Ok(made) => return (made, repeated, fetched),
            Err(error) => match error.kind() {
                ErrorKind::NotLoaded => {
                    let more = source.fetch(error.missing_ranges());
                    assert!(more > 0, "it asks again for what it has");
                    fetched += more;
                }
                _ => panic!("{error}"),
            },
        }
    }
    panic!("it asks again and again");
}

/// Where someone else does the I/O: a read says what it needs, has no effect, and is repeated.
#[test]
fn reads_succeed_when_repeated_after_fetching() {
    let array = array();
    for order in [Order::C, Order::Fortran] {
        let bytes = npy(&array, order);
        let all = bytes.len() as u64;
        let open = || {
            let source = Arc::new(PartlyFetchedSource::new(&bytes));
            let (file, repeated, fetched) =
                retry_after_fetching(&source, || NpyFile::from_source(Arc::clone(&source)));
            assert!(repeated <= 2 && fetched <= 1024, "opening: {repeated} {fetched}");
            (source, file)
        };
        let (source, file) = open();
        let (read, repeated, fetched) = retry_after_fetching(&source, || file.read::<Array2<u32>>());
        assert!(read == array && repeated == 1 && fetched <= all);
        let (source, file) = open();
        let (read, repeated, fetched) =
            retry_after_fetching(&source, || file.slice::<u32, _>(s![100..110, 3..5]));
        assert!(read == array.slice(s![100..110, 3..5]) && repeated == 1);
        assert!(fetched <= 20 * 512, "{fetched}");
        // What a read needs can also be asked for before.
        let (source, file) = open();
        let (columns, rows) = (s![.., 7..;9], [17, 280]);
        source.fetch(&file.runs_of_slice::<u32, _>(columns).unwrap().iter().collect::<Vec<_>>());
        assert!(file.slice::<u32, _>(columns).unwrap() == array.slice(columns));
        source.fetch(&file.runs_of_take::<Array2<u32>>(0, &rows).unwrap().iter().collect::<Vec<_>>());
        assert!(file.take::<Array2<u32>>(0, &rows).unwrap() == array.select(Axis(0), &rows));
        source.fetch(&file.runs_of_all().unwrap().iter().collect::<Vec<_>>());
        assert!(file.read::<Array2<u32>>().unwrap() == array);
        let (source, file) = open();
        let (read, repeated, fetched) =
            retry_after_fetching(&source, || file.take::<Array2<u32>>(0, &[299, 5]));
        assert!(read == array.select(Axis(0), &[299, 5]) && repeated == 1);
        assert!(fetched <= if order == Order::C { 2048 } else { all }, "{fetched}");
        let (source, file) = open();
        let mut sum = 0;
        for number in 0..6 {
            let part = [number * 50..(number + 1) * 50, 0..70];
            let block = || file.blocks::<Array2<u32>>().bytes(1 << 20).within(&part)?.next().transpose();
            let (block, repeated, _) = retry_after_fetching(&source, block);
            sum += block.unwrap().array().sum();
            assert!(repeated <= 1);
        }
        assert_eq!(sum, array.sum());
    }
    for compression in [Compression::Stored, Compression::Deflated(1)] {
        let source = Arc::new(PartlyFetchedSource::new(&npz(compression)));
        let (archive, repeated, _) =
            retry_after_fetching(&source, || NpzFile::from_source(Arc::clone(&source)));
        assert!(repeated <= 3);
        let (read, repeated, _) = retry_after_fetching(&source, || archive.read::<Array2<u32>>("b"));
        assert!(read == array && repeated <= 3, "{repeated}");
        let (member, repeated, _) = retry_after_fetching(&source, || archive.open_member("a"));
        assert!(repeated <= 3, "{repeated}");
        let (read, repeated, _) = retry_after_fetching(&source, || member.slice::<u32, _>(s![7.., ..]));
        assert!(read == array.slice(s![7.., ..]) && repeated <= 1, "{repeated}");
    }
}

/// All parts are asked before the first error, so the number of repetitions does not follow that of parts.
#[test]
fn stacks_and_joins_ask_all_parts_at_once() {
    fn retry_after_fetching_files<T>(
        files: &[Arc<PartlyFetchedSource>],
        mut read: impl FnMut() -> Result<T>,
    ) -> (T, usize) {
        for repeated in 0..20 {
            match read() {
                Ok(made) => return (made, repeated),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NotLoaded, "{error}");
                    let fetched: u64 = files.iter().map(|file| file.fetch_reported()).sum();
                    assert!(fetched > 0, "it asks again for what it has");
                }
            }
        }
        panic!("it asks again and again");
    }
    let array = array();
    for axis in [0, 1] {
        let parts: Vec<_> = array.axis_chunks_iter(Axis(axis), 7).collect();
        let files = || -> Vec<_> {
            parts
                .iter()
                .map(|part| Arc::new(PartlyFetchedSource::new(&npy(&part.to_owned(), Order::C))))
                .collect()
        };
        let fetched = files();
        let options = ndarray_io::ReadOptions::new();
        let open = || NpyStack::from_folder_along(PartlyFetchedFolder(fetched.clone()), axis, &options);
        let (stack, times) = retry_after_fetching_files(&fetched, open);
        assert!(times <= 2, "opening: {times}");
        let (read, times) = retry_after_fetching_files(&fetched, || stack.read::<Array2<u32>>());
        assert!(read == array && times == 1, "reading: {times}");

        let fetched = files();
        let open = |file: &Arc<PartlyFetchedSource>| {
            retry_after_fetching_files(&fetched, || NpyFile::from_source(Arc::clone(file))).0
        };
        let open: Vec<NpyFile> = fetched.iter().map(open).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("joined.npy");
        let open: Vec<_> = open.iter().collect();
        let join = || concatenate_files(&open, &path, axis, Conversion::new());
        let (_, times) = retry_after_fetching_files(&fetched, join);
        assert!(times <= 1, "joining: {times}");
        assert!(ndarray_io::read_npy::<_, Array2<u32>>(&path).unwrap() == array);
    }
}

#[test]
fn empty_selection_of_compressed_member_is_empty() {
    let archive =
        NpzFile::from_source(FaultySource::new(&npz(Compression::Deflated(1)), Fault::ShortReads)).unwrap();
    let member = archive.open_member("a").unwrap();
    assert_eq!(member.slice::<u32, _>(s![3..3, ..;2]).unwrap().dim(), (0, 35));
}

/// `FaultySource` checks that the offsets of a batch ascend, and that there are not too many.
#[test]
fn overlapping_and_narrow_requests_of_stacks_are_batched() {
    let stack = |files: [Array2<u32>; 2]| {
        let files = files.iter().enumerate();
        let files = files.map(|(number, part)| (format!("{number}.npy"), npy(part, Order::C)));
        let folder = FaultyFolder { files: files.collect(), fault: Fault::ShortReads };
        NpyStack::from_folder_along(folder, 1, &ndarray_io::ReadOptions::new()).unwrap()
    };
    let halves = [array().slice(s![.., ..35]).to_owned(), array().slice(s![.., 35..]).to_owned()];
    let taken: Array2<u32> = stack(halves).as_file().take(0, &[1, 1, 0, 299, 1]).unwrap();
    assert_eq!(taken, array().select(Axis(0), &[1, 1, 0, 299, 1]));
    let narrow = Array2::from_shape_fn((150_000, 1), |(row, _)| row as u32);
    let read: Array2<u32> = stack([narrow.clone(), narrow.clone()]).read().unwrap();
    assert!(read == ndarray::concatenate![Axis(1), narrow, narrow]);
}

#[test]
fn iterations_continue_after_next_and_end_after_errors() {
    let bytes = npy(&array(), Order::C);
    let file = NpyFile::from_source(FaultySource::new(&bytes, Fault::ShortReads)).unwrap();
    let mut blocks = file.blocks::<Array2<u32>>().bytes(28_000);
    assert_eq!(blocks.next().unwrap().unwrap().number(), 0);
    let mut numbers = Vec::new();
    blocks
        .read_ahead(|block| {
            numbers.push(block.number());
            Ok::<(), ndarray_io::Error>(())
        })
        .unwrap();
    assert_eq!(numbers, [1, 2]);
    let fails = NpyFile::from_source(FaultySource::new(&bytes, Fault::Ends(4))).unwrap();
    let mut chunks = fails.chunks::<u32, Ix2>(0, 10).unwrap();
    assert!(chunks.by_ref().any(|chunk| chunk.is_err()));
    assert!(chunks.next().is_none());
    chunks.read_ahead(|_| panic!("the iteration has ended")).unwrap();
    let mut blocks = fails.blocks::<Array2<u32>>().bytes(1000);
    assert!(blocks.by_ref().any(|block| block.is_err()));
    assert!(blocks.next().is_none());
    blocks.read_ahead(|_| -> Result<()> { panic!("the iteration has ended") }).unwrap();
}

#[test]
fn huge_thread_count_visits_each_item_once() {
    let mut count = 0;
    let take = |_| {
        count += 1;
        Ok::<(), ndarray_io::Error>(())
    };
    ndarray_io::blocks::map_in_order(0..3, usize::MAX, |number| number, take).unwrap();
    assert_eq!(count, 3);
}

/// Memory grows as bytes arrive where only the source says how many there are.
#[test]
fn false_size_of_info_is_an_error() {
    #[derive(Debug)]
    struct FalseSizeSource;
    impl ReadAt for FalseSizeSource {
        fn read_at(&self, _: &mut [u8], offset: u64) -> Result<usize> {
            assert!(offset < 10 << 20, "it reads on and on");
            Ok(0)
        }

        fn size(&self) -> Result<u64> {
            Ok(1 << 60)
        }
    }
    #[derive(Debug)]
    struct FalseSizeFolder;
    impl Folder for FalseSizeFolder {
        fn names(&self) -> Result<Vec<String>> {
            Ok(Vec::new())
        }

        fn open(&self, _: &str) -> Result<Arc<dyn ReadAt>> {
            Ok(Arc::new(FalseSizeSource))
        }

        fn path(&self) -> std::path::PathBuf {
            "claims".into()
        }
    }
    let error = NpyStack::from_folder(FalseSizeFolder, &ndarray_io::ReadOptions::new()).unwrap_err();
    assert!(error.is_format(), "{error}"); // an empty `info`, rather than a lack of memory
}
