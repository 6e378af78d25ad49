//! Work that is divided among threads, and values that threads share.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array1, Array2, s};
use ndarray_io::error::ErrorKind;
use ndarray_io::object::Object;
use ndarray_io::{Element, ReadNpyExt, ReadOptions, Record, WriteNpyExt};

/// Two parts of the size for which a second thread starts, and a bit.
const MULTI_THREADED_LEN: usize = if cfg!(miri) { 2 * (1 << 6) + 100 } else { 2 * (1 << 14) + 100 };

fn threads(count: usize) -> ReadOptions {
    ReadOptions::new().threads(count)
}

#[derive(Element, Clone, Debug, PartialEq)]
#[repr(transparent)]
struct Name(String);

#[test]
fn text_is_decoded_by_threads() {
    let names = Array1::from_iter((0..MULTI_THREADED_LEN).map(|number| Name((number % 10).to_string())));
    let mut file = Vec::new();
    names.write_npy(&mut file).unwrap();
    assert_eq!(threads(4).read_from::<Array1<Name>>(&file[..]).unwrap(), names);
    // A code point that does not exist, in a later part.
    let wrong = MULTI_THREADED_LEN - 50;
    let at = file.len() - 4 * (MULTI_THREADED_LEN - wrong);
    file[at..at + 4].copy_from_slice(&[0xFF; 4]);
    let error = threads(4).read_from::<Array1<Name>>(&file[..]).unwrap_err();
    assert_eq!(error.element(), Some(wrong));
}

static ALIVE_COUNT: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE_COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

fn counted_or_panic() -> Counted {
    let counted = Counted;
    assert!(
        ALIVE_COUNT.fetch_add(1, Ordering::Relaxed) < MULTI_THREADED_LEN - 60,
        "as a function of the caller's may"
    );
    counted
}

#[derive(Record, Debug)]
#[allow(dead_code)]
struct Row {
    number: u8,
    #[record(skip, default = "counted_or_panic")]
    counted: Counted,
}

#[test]
fn panic_of_a_default_leaks_nothing() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut file = Vec::new();
    #[derive(Record, Clone)]
    struct Number {
        number: u8,
    }
    Array1::from_elem(MULTI_THREADED_LEN, Number { number: 3 }).write_npy(&mut file).unwrap();
    for count in [1, 4] {
        let read = || threads(count).read_from::<Array1<Row>>(&file[..]);
        assert!(catch_unwind(AssertUnwindSafe(read)).is_err());
        assert_eq!(ALIVE_COUNT.load(Ordering::Relaxed), 0);
    }
    let _ = std::panic::take_hook();
}

/// A value that does not end with a program, of which each is counted.
#[derive(Debug)]
struct Value(Arc<()>);

static VALUE: std::sync::LazyLock<Arc<()>> = std::sync::LazyLock::new(|| Arc::new(()));

fn value() -> Value {
    Value(Arc::clone(&VALUE))
}

/// The fields of `Stored`, in another order, among others.
#[derive(Record, Debug)]
struct Assembled {
    number: u32,
    #[record(len = 20)]
    text: String,
    #[record(skip, default = "value")]
    value: Value,
    /// Not in the file, and placed before the flag.
    #[record(len = 4, default = "label")]
    label: Label,
    wide: [f64; 3],
    flag: bool,
}

#[derive(Element, Debug)]
#[repr(transparent)]
struct Label(String);

static LABEL_COUNT: AtomicUsize = AtomicUsize::new(0);

fn label() -> Label {
    LABEL_COUNT.fetch_add(1, Ordering::Relaxed);
    Label(String::new())
}

impl Drop for Label {
    fn drop(&mut self) {
        LABEL_COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Record, Clone)]
struct Stored {
    flag: u8,
    #[record(len = 20)]
    text: String,
    number: u32,
    wide: [f64; 3],
}

#[test]
fn fields_are_dropped_if_a_later_one_is_invalid() {
    let stored = |index: usize| Stored {
        flag: (index % 2) as u8,
        text: format!("a text that is not short {index}")[5..].to_owned(),
        number: index as u32,
        wide: [index as f64; 3],
    };
    let many = if cfg!(miri) { 300 } else { MULTI_THREADED_LEN };
    let mut rows: Vec<Stored> = (0..many)
        .map(|index| Stored { text: stored(index).text[..16].to_owned(), ..stored(index) })
        .collect();
    let file = |rows: &[Stored]| {
        let mut file = Vec::new();
        Array1::from(rows.to_vec()).write_npy(&mut file).unwrap();
        // The flag was written as a number, so that it can be wrong.
        let at = file.windows(3).position(|bytes| bytes == b"|u1").unwrap();
        file[at..at + 3].copy_from_slice(b"|b1");
        file
    };
    for count in [1, 4] {
        let read = threads(count).read_from::<Array1<Assembled>>(&file(&rows)[..]).unwrap();
        assert_eq!((Arc::strong_count(&VALUE), LABEL_COUNT.load(Ordering::Relaxed)), (many + 1, many));
        assert!(read.iter().all(|read| read.label.0.is_empty()));
        for (read, stored) in read.iter().zip(&rows) {
            assert_eq!((read.number, &read.text, read.wide), (stored.number, &stored.text, stored.wide));
            assert_eq!(u8::from(read.flag), stored.flag);
            assert!(Arc::ptr_eq(&read.value.0, &VALUE));
        }
        drop(read);
        assert_eq!((Arc::strong_count(&VALUE), LABEL_COUNT.load(Ordering::Relaxed)), (1, 0));
    }
    rows[many - 7].flag = 2;
    for count in [1, 4] {
        let error = threads(count).read_from::<Array1<Assembled>>(&file(&rows)[..]).unwrap_err();
        assert!(error.message().starts_with("expected a bool (0 or 1), found 2"), "{error}");
        assert_eq!((error.element(), Arc::strong_count(&VALUE)), (Some(many - 7), 1));
        assert_eq!(LABEL_COUNT.load(Ordering::Relaxed), 0, "what was placed before is dropped");
    }
}

#[test]
#[cfg(not(miri))] // which takes minutes to compress
fn blocks_are_packed_and_unpacked_by_threads() {
    let numbers = Array2::from_shape_fn((2_000, 300), |(row, column)| (row * column) as u32);
    use ndarray_io::{Compression, NpzReader, WriteOptions};
    let options = WriteOptions::new().compression(Compression::DEFLATE);
    let mut writer = options.npz_writer(std::io::Cursor::new(Vec::new())).unwrap();
    writer.add("a", &numbers).unwrap();
    writer.add("b", &numbers.t()).unwrap();
    let archive = writer.finish().unwrap().into_inner();
    std::thread::scope(|scope| {
        for name in ["a", "b", "a"] {
            let (archive, numbers) = (&archive, &numbers);
            scope.spawn(move || {
                let mut npz = NpzReader::new(std::io::Cursor::new(archive)).unwrap();
                let read: Array2<u32> = npz.by_name(name).unwrap();
                assert_eq!(if name == "a" { read } else { read.reversed_axes() }, numbers);
            });
        }
    });
}

#[test]
fn strided_arrays_are_written_in_order() {
    let rows = if cfg!(miri) { 8 } else { 3_000 };
    let numbers = Array2::from_shape_fn((rows, 700), |(row, column)| (row * 700 + column) as f64);
    let mut file = Vec::new();
    numbers.slice(s![..;2, ..;3]).t().write_npy(&mut file).unwrap();
    let read = threads(3).read_from::<Array2<f64>>(&file[..]).unwrap();
    assert_eq!(read.t(), numbers.slice(s![..;2, ..;3]));
}

#[test]
fn objects_are_shared_by_threads() {
    let shared = Object::list((0..50).map(|number| Object::from(number.to_string())));
    let object = Arc::new(Object::tuple([shared.clone(), shared]));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let object = Arc::clone(&object);
            scope.spawn(move || {
                let mut file = Vec::new();
                ndarray::arr0((*object).clone()).write_npy(&mut file).unwrap();
                let read = ndarray::Array0::<Object>::read_npy(&file[..]).unwrap();
                assert_eq!(read[()], *object);
                assert!(read[()].to_string().len() > 100);
            });
        }
    });
}

/// A progress callback that cancels while several threads work.
#[test]
fn cancelled_threaded_read_fails_or_completes() {
    let mut file = Vec::new();
    Array1::from_elem(MULTI_THREADED_LEN, Name("x".to_owned())).write_npy(&mut file).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let options = threads(4).progress(move |_, _| {
        seen.fetch_add(1, Ordering::Relaxed);
        std::ops::ControlFlow::Break(())
    });
    match options.read_from::<Array1<Name>>(&file[..]) {
        Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
        Ok(read) => assert_eq!(read.len(), MULTI_THREADED_LEN),
    }
    assert!(calls.load(Ordering::Relaxed) > 0);
}
