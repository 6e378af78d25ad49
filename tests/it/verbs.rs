//! Options for writing × verbs: what a verb cannot honour is refused, and never ignored.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ndarray::{Array1, arr1};
use ndarray_io::convert::{Conversion, concatenate_npy, convert_npy, convert_npy_to_ra, stack_npy};
use ndarray_io::dask::{NpyStackWriter, convert_npy_to_stack};
use ndarray_io::error::ErrorKind;
use ndarray_io::file::write_headed;
use ndarray_io::header::Order;
use ndarray_io::npy::Version;
use ndarray_io::options::{Trailing, Uncommitted};
use ndarray_io::{
    ByteOrder, Compression, DynArray, Error, NpzUpdate, NpzWriter, Result, WriteNpyExt, WriteOptions, ra,
};

use crate::support::verbs::setters_and_verbs;

type Setter = fn(WriteOptions) -> WriteOptions;

/// Each option with a value that is not its default.
const OPTIONS: &[(&str, Setter)] = &[
    ("byte_order", |options| options.byte_order(ByteOrder::NATIVE)),
    ("compression", |options| options.compression(Compression::Deflated(6))),
    ("compression, LZ4", |options| options.compression(Compression::Lz4)),
    ("create_new", |options| options.create_new(true)),
    ("in_place", |options| options.in_place(true)),
    ("order", |options| options.order(Order::C)),
    ("pickle_protocol", |options| options.pickle_protocol(3)),
    ("preallocate", |options| options.preallocate(true)),
    ("progress", |options| options.progress(|_, _| ControlFlow::Continue(()))),
    ("ra_bools", |options| options.ra_bools(true)),
    ("sync", |options| options.sync(true)),
    ("text_width", |options| options.text_width(4)),
    ("threads", |options| options.threads(2)),
    ("trailing", |options| options.trailing(Trailing::Write(b"note".to_vec()))),
    ("uncommitted", |options| options.uncommitted(Uncommitted::Discard)),
    ("version", |options| options.version(Version::V2)),
    ("wait_for_lock", |options| options.wait_for_lock(Duration::from_millis(1))),
];

/// Hints: they change neither bytes nor guarantees.
const HINTS: &[&str] = &["progress", "threads", "wait_for_lock"];

/// Options of which each verb that has them writes other bytes, whatever the array.
const CHANGE_BYTES: &[&str] = &["compression", "compression, LZ4", "trailing", "version"];

/// A verb, the options that it has besides hints, and how it is called with a path at which nothing is yet.
type Verb = (&'static str, &'static [&'static str], fn(&WriteOptions, &Path) -> Result<()>);

const ARCHIVE: &[&str] =
    &["byte_order", "compression", "order", "pickle_protocol", "sync", "text_width", "version"];
const NEW_ARCHIVE: &[&str] = &[
    "byte_order",
    "compression",
    "create_new",
    "in_place",
    "order",
    "pickle_protocol",
    "sync",
    "text_width",
    "version",
];

const VERBS: &[Verb] = &[
    (
        "write_npy",
        &[
            "byte_order",
            "create_new",
            "in_place",
            "order",
            "pickle_protocol",
            "sync",
            "text_width",
            "version",
        ],
        |options, path| options.write_npy(path, &numbers()),
    ),
    (
        "write_to",
        &["byte_order", "order", "pickle_protocol", "sync", "text_width", "version"],
        |options, path| options.write_to(new_file(path), &numbers()),
    ),
    (
        "write_zeroed_npy",
        &["byte_order", "order", "preallocate", "sync", "text_width", "version"],
        |options, path| options.write_zeroed_npy::<f64, _>(&new_file(path), 3),
    ),
    (
        "create_map",
        &["byte_order", "create_new", "in_place", "order", "preallocate", "sync", "version"],
        // SAFETY: the file belongs to this test.
        |options, path| unsafe { options.create_map::<f64, _>(path, 3) }.map(drop),
    ),
    (
        "write_ra",
        &[
            "byte_order",
            "compression, LZ4",
            "create_new",
            "in_place",
            "order",
            "ra_bools",
            "sync",
            "trailing",
        ],
        |options, path| options.write_ra(path, &numbers()),
    ),
    (
        "write_ra_to",
        &["byte_order", "compression, LZ4", "order", "ra_bools", "sync", "trailing"],
        |options, path| options.write_ra_to(new_file(path), &numbers()),
    ),
    ("write_npz", NEW_ARCHIVE, |options, path| options.write_npz(path, &[("a", &numbers())])),
    ("write_npz_from", NEW_ARCHIVE, |options, path| options.write_npz_from(path, [("a", numbers())])),
    ("npz_writer", ARCHIVE, |options, path| {
        let mut npz = options.npz_writer(new_file(path))?;
        npz.add("a", &numbers())?;
        npz.finish().map(drop)
    }),
    ("update_npz", ARCHIVE, |options, path| {
        ndarray_io::write_npz(path, &[("a", &numbers())])?;
        options.update_npz(path)?.add("b", &numbers())?.finish()
    }),
    ("writer", &["byte_order", "order", "text_width", "version"], |options, _| {
        options.writer::<f64, _>(Cursor::new(Vec::new()), &[])?.finish().map(drop)
    }),
    ("writer_of_shape", &["byte_order", "order", "text_width", "version"], |options, _| {
        options.writer_of_shape::<f64, _>(Vec::new(), 0)?.finish().map(drop)
    }),
    (
        "create",
        &["byte_order", "create_new", "in_place", "order", "sync", "text_width", "version"],
        |options, path| options.create::<f64>(path, &[])?.finish().map(drop),
    ),
    ("append", &["sync", "uncommitted"], |options, path| {
        ndarray_io::write_npy(path, &numbers())?;
        options.append::<f64>(path)?.finish().map(drop)
    }),
    ("append_dyn", &["sync", "uncommitted"], |options, path| {
        ndarray_io::write_npy(path, &numbers())?;
        options.append_dyn(path)?.finish().map(drop)
    }),
    (
        "append_or_create",
        &["byte_order", "order", "sync", "text_width", "uncommitted", "version"],
        |options, path| options.append_or_create::<f64>(path, &[])?.finish().map(drop),
    ),
    ("append_or_create_dyn", &["order", "sync", "uncommitted", "version"], |options, path| {
        options.append_or_create_dyn(path, &"<f8".parse()?, &[])?.finish().map(drop)
    }),
    ("grow_header", &["sync"], |options, path| {
        ndarray_io::write_npy(path, &numbers())?;
        options.grow_header(path)
    }),
    ("begin_replacement", &["sync"], |options, path| {
        ndarray_io::write_npy(path, &numbers())?;
        options.begin_replacement(path)?.replace_with(|file| numbers().write_npy(file))
    }),
    ("create_stack", &["create_new", "in_place", "order", "sync", "version"], |options, path| {
        options.create_stack(path, &"<f8".parse()?, &[], 0)?.finish()
    }),
    ("append_stack", &["order", "sync", "uncommitted", "version"], |options, path| {
        NpyStackWriter::create(path, &"<f8".parse()?, &[], 0)?.finish()?;
        options.append_stack(path)?.finish()
    }),
];

/// Functions and methods that take options as an argument, by their names.
const FUNCTIONS: &[Verb] = &[
    (
        "add_with",
        &["byte_order", "compression", "order", "pickle_protocol", "text_width", "version"],
        |options, path| {
            let mut npz = NpzWriter::new(new_file(path));
            npz.add_with("a", &numbers(), options)?;
            npz.finish().map(drop)
        },
    ),
    ("add_raw_with", &["compression"], |options, path| {
        let mut npz = NpzWriter::new(new_file(path));
        npz.add_raw_with("a", &b"text"[..], 4, options)?;
        npz.finish().map(drop)
    }),
    ("with_options", ARCHIVE, |options, path| {
        ndarray_io::write_npz(path, &[("a", &numbers())])?;
        NpzUpdate::open(path)?.with_options(options).add("b", &numbers())?.finish()
    }),
    ("write_headed", &["byte_order", "order", "pickle_protocol", "sync", "text_width"], |options, path| {
        write_headed(&numbers(), new_file(path), options, &mut |_| Ok(b"head".to_vec()))
    }),
    ("write_options", &["create_new", "in_place", "sync", "version"], |options, path| {
        let from = path.with_extension("from");
        ndarray_io::write_npy(&from, &numbers())?;
        convert_npy(&from, path, Conversion::new().write_options(options.clone()))
    }),
    ("convert_npy_to_ra", &["create_new", "in_place", "ra_bools", "sync", "trailing"], |options, path| {
        let from = path.with_extension("from");
        ndarray_io::write_npy(&from, &numbers())?;
        convert_npy_to_ra(&from, path, Conversion::new().write_options(options.clone()))
    }),
];

fn numbers() -> Array1<f64> {
    arr1(&[1.0, 2.0, 3.0])
}

fn new_file(path: &Path) -> File {
    File::options().read(true).write(true).create_new(true).open(path).unwrap()
}

#[test]
fn verbs_refuse_options_that_they_cannot_honour() {
    for (verb, honoured, call) in VERBS.iter().chain(FUNCTIONS) {
        for (option, set) in OPTIONS {
            let folder = crate::support::temp::folder().unwrap();
            let done = call(&set(WriteOptions::new()), &folder.path().join("a"));
            match honoured.contains(option) || HINTS.contains(option) {
                true => {
                    done.unwrap_or_else(|error| panic!("{verb}, {option}: {error}"));
                    let (with, without) = (folder.path().join("a"), folder.path().join("b"));
                    call(&WriteOptions::new(), &without).unwrap();
                    // Some write to memory, or a folder.
                    if CHANGE_BYTES.contains(option) && with.is_file() {
                        assert_ne!(
                            fs::read(with).unwrap(),
                            fs::read(without).unwrap(),
                            "{verb} ignores {option}"
                        );
                    }
                }
                false => {
                    let error = done.err().unwrap_or_else(|| panic!("{verb} ignores {option}"));
                    assert_eq!(error.kind(), ErrorKind::BadOption, "{verb}, {option}: {error}");
                }
            }
        }
    }
}

/// What is refused leaves an existing file as it is.
#[test]
fn refused_option_changes_nothing() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, b"content").unwrap();
    for call in [
        (|options, path| options.write_npy(path, &numbers())) as fn(&WriteOptions, &PathBuf) -> Result<()>,
        |options, path| options.write_ra(path, &numbers()),
        |options, path| options.write_npz(path, &[("a", &numbers())]),
        |options, path| options.create::<f64>(path, &[]).map(drop),
    ] {
        let error = call(&WriteOptions::new().uncommitted(Uncommitted::Recover), &path).unwrap_err();
        assert!(error.to_string().contains("uncommitted") && error.path() == Some(&path), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"content");
    }
}

/// The options about a file are for the file, those about arrays for what writes to it.
#[test]
fn options_of_a_replaced_file_are_divided() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    let options = WriteOptions::new().create_new(true).sync(true).version(Version::V2);
    let write = |file: &File| options.content_options().write_to(file, &numbers());
    options.replace_file(&path, write).unwrap();
    assert!(fs::read(&path).unwrap().starts_with(b"\x93NUMPY\x02\0")); // the version, as NumPy's specification places it
    let again = options.replace_file(&path, |_| Ok::<(), Error>(()));
    assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);
}

/// A new option, or a new verb, needs its row.
#[test]
fn tables_have_all_options_and_all_verbs() {
    let (setters, mut found) = setters_and_verbs("WriteOptions", "model/options/write.rs");
    let known: BTreeSet<_> = OPTIONS.iter().map(|(name, _)| name.split(',').next().unwrap()).collect();
    assert_eq!(setters.iter().map(String::as_str).collect::<BTreeSet<_>>(), known);
    // What the callback writes is its own, and has options of its own.
    for name in ["replace_file", "content_options"] {
        assert!(found.remove(name));
    }
    assert_eq!(
        found.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        VERBS.iter().map(|verb| verb.0).collect()
    );
}

/// RA has no version, and stores the first axis fastest; in C order, its axes are reversed.
#[test]
fn order_of_ra_reverses_axes() {
    let array = ndarray::arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let mut file = Vec::new();
    WriteOptions::new().order(Order::C).write_ra_to(&mut file, &array).unwrap();
    let ndarray_io::header::Parsed::Done(found, _) = ra::parse(&file).unwrap() else {
        panic!("it is complete")
    };
    assert_eq!((found.header.shape(), found.header.order()), (&[3, 2][..], Order::Fortran));
    file.clear();
    WriteOptions::new().order(Order::Fortran).write_ra_to(&mut file, &array).unwrap();
    let ndarray_io::header::Parsed::Done(found, _) = ra::parse(&file).unwrap() else {
        panic!("it is complete")
    };
    assert_eq!(found.header.shape(), [2, 3]);
}

/// Handles recognize RA; what names NPY reads NPY only, as NumPy does: the axes of RA are in the other order, and bytes may follow its array.
#[test]
fn calls_that_name_npy_refuse_ra() {
    let folder = crate::support::temp::folder().unwrap();
    let (from, to) = (folder.path().join("a.ra"), folder.path().join("to"));
    ra::write_ra(&from, &ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]])).unwrap();
    let bytes = fs::read(&from).unwrap();
    let options = ndarray_io::ReadOptions::new();
    let conversion = Conversion::new;
    for error in [
        options.read_npy::<DynArray>(&from).unwrap_err(),
        options.read_from::<DynArray>(&bytes[..]).unwrap_err(),
        options.reader(&bytes[..]).unwrap_err(),
        options.read_into(&bytes[..], &mut numbers()).unwrap_err(),
        options.view_npy::<ndarray::ArrayView2<f64>>(&bytes).unwrap_err(),
        convert_npy(&from, &to, conversion()).unwrap_err(),
        concatenate_npy(&[&from, &from], &to, 0, conversion()).unwrap_err(),
        stack_npy(&[&from, &from], &to, 0, conversion()).unwrap_err(),
        convert_npy_to_ra(&from, &to, conversion()).unwrap_err(),
        convert_npy_to_stack(&from, &to, 0, 1, conversion()).unwrap_err(),
        WriteOptions::new().append::<f64>(&from).unwrap_err(),
        WriteOptions::new().grow_header(&from).unwrap_err(),
    ] {
        assert!(error.to_string().contains("found an RA file") && error.is_format(), "{error}");
    }
    assert!(options.open(&from).unwrap().ra_header().is_some() && !to.exists());
    assert_eq!(fs::read(&from).unwrap(), bytes);
}

/// Bytes after the array of an RA file, and bools, are what the options say, also if the file replaces the NPY file that it is made of.
#[test]
fn conversion_to_ra_honours_options_of_ra() {
    let folder = crate::support::temp::folder().unwrap();
    let (npy, to) = (folder.path().join("a.npy"), folder.path().join("to.ra"));
    let with =
        |trailing| Conversion::new().write_options(WriteOptions::new().ra_bools(true).trailing(trailing));
    // Flags, type 5 of 1 byte, 2 bytes of data, 1 axis of 2: 56 bytes with the magic, then the data.
    let head = [0u64, 5, 1, 2, 1, 2].map(u64::to_le_bytes).concat();
    let file_with = |note: &[u8]| [&b"rawarray"[..], &head, &[1, 0], note].concat();
    ndarray_io::write_npy(&npy, &arr1(&[true, false])).unwrap();
    convert_npy_to_ra(&npy, &to, with(Trailing::Write(b"note".to_vec()))).unwrap();
    assert_eq!(fs::read(&to).unwrap(), file_with(b"note"));
    assert!(convert_npy_to_ra(&npy, &to, with(Trailing::Protect)).unwrap_err().is_conflict());
    convert_npy_to_ra(&npy, &to, with(Trailing::Keep)).unwrap();
    assert_eq!(fs::read(&to).unwrap(), file_with(b"note"));
    convert_npy_to_ra(&npy, &npy, with(Trailing::Write(b"more".to_vec()))).unwrap();
    assert_eq!(fs::read(&npy).unwrap(), file_with(b"more"));
}
