//! Limits × ways to read: what each function with options refuses.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;

use ndarray::{Array1, ArrayD, ArrayView1, ArrayViewMut1, IxDyn};
use ndarray_io::bytes::{InMemory, LocalFolder};
use ndarray_io::dask::NpyStack;
use ndarray_io::object::Pickle;
use ndarray_io::{DynArray, FlatView, Limits, NpyFile, NpzFile, NpzWriter, ReadOptions, Result, ra, scan};

use crate::support::routes::Aligned;
use crate::support::verbs::{setters_and_verbs, sources};

/// Files of 1,000 numbers, and of objects with 12 parts that are five levels high.
struct Files {
    folder: tempfile::TempDir,
}

const OBJECTS_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/objects/containers.npy");
const PICKLE: &[u8] = b"(((((I1\nI2\nltI3\nltI4\nI5\nI6\nI7\nI8\nI9\nl.";

impl Files {
    fn new() -> Self {
        let files = Self { folder: crate::support::temp::folder().unwrap() };
        let array = Array1::from_iter((0..1000).map(f64::from));
        ndarray_io::write_npy(files.path("a.npy"), &array).unwrap();
        ra::write_ra(files.path("a.ra"), &array).unwrap();
        let mut archive = NpzWriter::new(File::create(files.path("a.npz")).unwrap());
        archive.add("a", &array).unwrap();
        archive.finish().unwrap();
        let mut archive = NpzWriter::new(File::create(files.path("objects.npz")).unwrap());
        let objects = fs::read(OBJECTS_FILE).unwrap();
        archive.add_raw("a", &objects[..], objects.len() as u64).unwrap();
        archive.finish().unwrap();
        fs::write(files.path("objects.npy"), objects).unwrap();
        fs::write(files.path("p.pkl"), PICKLE).unwrap();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }
}

/// A verb of the options, or a function with options, by file and name; the limits that it has with a file; and how it is called.
type Route = (&'static str, &'static [&'static str], fn(&Files, &ReadOptions) -> Result<()>);

const NUMBERS: &[&str] = &["header", "payload"];
const OBJECTS: &[&str] = &["header", "payload", "objects", "object_height"];
/// Of pickles, and of RA files, whose header has a fixed length but for the axes.
const PICKLES: &[&str] = &["payload", "objects", "object_height"];
const DATA: &[&str] = &["payload"];

const ROUTES: &[Route] = &[
    ("ReadOptions::read_from", NUMBERS, |files, options| {
        options.read_from::<ArrayD<f64>>(&files.bytes("a.npy")[..]).map(drop)
    }),
    ("ReadOptions::read_from", OBJECTS, |files, options| {
        options.read_from::<DynArray>(&files.bytes("objects.npy")[..]).map(drop)
    }),
    ("ReadOptions::read_into", NUMBERS, |files, options| {
        options.read_into(&files.bytes("a.npy")[..], &mut Array1::<f64>::zeros(1000))
    }),
    ("ReadOptions::read_ra_from", DATA, |files, options| {
        options.read_ra_from::<ArrayD<f64>>(&files.bytes("a.ra")[..]).map(drop)
    }),
    ("ReadOptions::ra_reader", DATA, |files, options| {
        options.ra_reader(&files.bytes("a.ra")[..])?.read::<DynArray>().map(drop)
    }),
    ("ReadOptions::view_npy", NUMBERS, |files, options| {
        options.view_npy::<ArrayView1<f64>>(&Aligned::new(&files.bytes("a.npy"))).map(drop)
    }),
    ("ReadOptions::view_mut_npy", NUMBERS, |files, options| {
        options.view_mut_npy::<ArrayViewMut1<f64>>(&mut Aligned::new(&files.bytes("a.npy"))).map(drop)
    }),
    ("ReadOptions::view_npy", NUMBERS, |files, options| {
        options.view_npy::<FlatView<f64>>(&Aligned::new(&files.bytes("a.npy"))).map(drop)
    }),
    ("ReadOptions::view_ra", DATA, |files, options| {
        options.view_ra::<FlatView<f64>>(&Aligned::new(&files.bytes("a.ra"))).map(drop)
    }),
    ("ReadOptions::view_ra", DATA, |files, options| {
        options.view_ra::<ArrayView1<f64>>(&Aligned::new(&files.bytes("a.ra"))).map(drop)
    }),
    ("ReadOptions::view_mut_ra", DATA, |files, options| {
        options.view_mut_ra::<ArrayViewMut1<f64>>(&mut Aligned::new(&files.bytes("a.ra"))).map(drop)
    }),
    ("ReadOptions::open_stack", OBJECTS, |_, options| all_of_parts(options.open_stack(PARTS)?)),
    ("containers/dask/mod.rs: from_folder", OBJECTS, |_, options| {
        all_of_parts(NpyStack::from_folder(LocalFolder(PARTS.into()), options)?)
    }),
    ("containers/dask/mod.rs: from_folder_along", OBJECTS, |_, options| {
        all_of_parts(NpyStack::from_folder_along(LocalFolder(PARTS.into()), 0, options)?)
    }),
    ("containers/dask/mod.rs: open_along", OBJECTS, |_, options| {
        all_of_parts(NpyStack::open_along(PARTS, 0, options)?)
    }),
    ("dynamic/object/joblib.rs: read_joblib", PICKLES, |files, options| {
        Pickle::read_joblib(&files.bytes("p.pkl")[..], options).map(drop)
    }),
    ("dynamic/object/joblib.rs: view_joblib", PICKLES, |files, options| {
        Pickle::view_joblib(files.bytes("p.pkl"), options).map(drop)
    }),
    ("ReadOptions::read_pickle", PICKLES, |files, options| {
        options.read_pickle(&files.bytes("p.pkl")[..]).map(drop)
    }),
    ("dynamic/object/pickle.rs: read_with_buffers", PICKLES, |files, options| {
        Pickle::read_with_buffers(&files.bytes("p.pkl")[..], &[[]; 0], options).map(drop)
    }),
    ("ReadOptions::unpickle", PICKLES, |files, options| options.unpickle(&files.bytes("p.pkl")).map(drop)),
    ("ReadOptions::reader", NUMBERS, |files, options| {
        options.reader(&files.bytes("a.npy")[..])?.read::<DynArray>().map(drop)
    }),
    ("ReadOptions::reader", NUMBERS, |files, options| {
        options.reader(&files.bytes("a.npy")[..])?.read_bytes().map(drop)
    }),
    ("ReadOptions::reader", OBJECTS, |files, options| {
        options.reader(&files.bytes("objects.npy")[..])?.read::<DynArray>().map(drop)
    }),
    ("ReadOptions::map", NUMBERS, |files, options| {
        // SAFETY: the file belongs to this test.
        unsafe { options.map::<f64, IxDyn>(files.path("a.npy")) }.map(drop)
    }),
    ("ReadOptions::map_mut", NUMBERS, |files, options| {
        // SAFETY: the file belongs to this test.
        unsafe { options.map_mut::<f64, IxDyn>(files.path("a.npy")) }.map(drop)
    }),
    ("ReadOptions::map_cow", NUMBERS, |files, options| {
        // SAFETY: the file belongs to this test.
        unsafe { options.map_cow::<f64, IxDyn>(files.path("a.npy")) }.map(drop)
    }),
    ("ReadOptions::open_npz", NUMBERS, |files, options| {
        all_of_archive(options.open_npz(files.path("a.npz"))?)
    }),
    ("ReadOptions::open_npz", OBJECTS, |files, options| {
        all_of_archive(options.open_npz(files.path("objects.npz"))?)
    }),
    ("ReadOptions::open_npz_file", NUMBERS, |files, options| {
        all_of_archive(options.open_npz_file(File::open(files.path("a.npz")).unwrap())?)
    }),
    ("ReadOptions::open_npz_source", NUMBERS, |files, options| {
        all_of_archive(options.open_npz_source(InMemory(files.bytes("a.npz")))?)
    }),
    ("containers/npz/file.rs: salvage", NUMBERS, |files, options| {
        all_of_archive(NpzFile::salvage(InMemory(files.bytes("a.npz")), options)?)
    }),
    ("containers/npz/file.rs: with_options", NUMBERS, |files, options| {
        all_of_archive(NpzFile::open(files.path("a.npz"))?.with_options(options))
    }),
    ("ReadOptions::read_npz", NUMBERS, |files, options| options.read_npz(files.path("a.npz")).map(drop)),
    ("ReadOptions::map_npz", NUMBERS, |files, options| {
        // SAFETY: the file belongs to this test.
        let archive = unsafe { options.map_npz(files.path("a.npz"))? };
        archive.view::<f64, IxDyn>("a").map(drop)
    }),
    ("ReadOptions::npz_reader", NUMBERS, |files, options| {
        let mut archive = options.npz_reader(File::open(files.path("a.npz")).unwrap())?;
        archive.by_name::<ndarray::OwnedRepr<f64>, IxDyn>("a.npy").map(drop)
    }),
    ("ReadOptions::open", NUMBERS, |files, options| {
        options.open(files.path("a.npy"))?.read::<DynArray>().map(drop)
    }),
    ("ReadOptions::open", DATA, |files, options| {
        options.open(files.path("a.ra"))?.read::<DynArray>().map(drop)
    }),
    ("ReadOptions::open_file", NUMBERS, |files, options| {
        let file = options.open_file(File::open(files.path("a.npy")).unwrap())?;
        file.slice_any(ndarray::s![..]).map(drop)
    }),
    ("ReadOptions::open_source", NUMBERS, |files, options| {
        let file = options.open_source(InMemory(files.bytes("a.npy")))?;
        file.take::<Array1<f64>>(0, &Vec::from_iter(0..1000)).map(drop)
    }),
    ("access/parts/file.rs: with_options", DATA, |files, options| {
        NpyFile::open(files.path("a.npy"))?.with_options(options).read::<DynArray>().map(drop)
    }),
    ("ReadOptions::open_elements", DATA, |files, options| {
        let header = ndarray_io::header::Header::new("<f8".parse()?, Default::default(), [1000].into())?;
        let source = std::sync::Arc::new(InMemory(files.bytes("a.npy")));
        options.open_elements(source, 128, header)?.read::<DynArray>().map(drop)
    }),
    ("ReadOptions::read_npy", NUMBERS, |files, options| {
        options.read_npy::<ArrayD<f64>>(files.path("a.npy")).map(drop)
    }),
    ("ReadOptions::read_ra", DATA, |files, options| {
        options.read_ra::<ArrayD<f64>>(files.path("a.ra")).map(drop)
    }),
    // It says of each part that it could not look at why.
    ("scan/mod.rs: scan", &[], |files, options| {
        scan::scan(InMemory(files.bytes("objects.npy")), options, &[]).map(drop)
    }),
];

/// Functions whose options say how values convert; their input is in memory already.
const WITHOUT_A_FILE: &[&str] = &[
    "elements/from_into.rs: read_plan_from",
    "elements/record/read.rs: read_plan",
    "elements/wrapped.rs: newtype_read_plan",
    "elements/wrapped.rs: enum_read_plan",
];

const PARTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/stacks/big");

fn all_of_parts(parts: NpyStack) -> Result<()> {
    parts.read::<DynArray>().map(drop)
}

fn all_of_archive(archive: NpzFile) -> Result<()> {
    archive.read::<DynArray>("a").map(drop)
}

#[test]
fn functions_with_options_refuse_what_exceeds_their_limits() {
    let files = Files::new();
    type Limit = (&'static str, fn(Limits) -> Limits);
    const LIMITS: &[Limit] = &[
        ("header", |limits| limits.header(20)),
        ("payload", |limits| limits.payload(20)),
        ("objects", |limits| limits.objects(3)),
        ("object_height", |limits| limits.object_height(2)),
    ];
    let options = ReadOptions::new().allow_objects(true);
    for (route, wanted, read) in ROUTES {
        read(&files, &options).unwrap_or_else(|error| panic!("{route}: {error}"));
        for (name, limited) in LIMITS {
            let found = read(&files, &options.clone().limits(limited(Limits::new())));
            let is_over = found.as_ref().is_err_and(|error| error.is_limit());
            assert!(is_over || found.is_ok(), "{route}, {name}: {found:?}");
            assert_eq!(is_over, wanted.contains(name), "{route}, {name}: {found:?}");
        }
    }
}

/// A new limit, or a new function with options, needs its row.
#[test]
fn table_has_all_limits_and_all_functions_with_options() {
    let (setters, _) = setters_and_verbs("Limits", "model/limits.rs");
    // The last one needs an archive whose lengths are gigabytes: `tests/files/methods.rs`.
    let listed = ["expansion", "header", "object_height", "objects", "payload"];
    assert_eq!(setters, listed.map(str::to_owned).into());

    let known: BTreeSet<&str> =
        ROUTES.iter().map(|(route, ..)| *route).chain(WITHOUT_A_FILE.to_vec()).collect();
    let (_, verbs) = setters_and_verbs("ReadOptions", "model/options/read.rs");
    let mut found: BTreeSet<String> = verbs.iter().map(|verb| format!("ReadOptions::{verb}")).collect();
    for (file, text) in sources() {
        for function in text.split("pub fn ").skip(1) {
            let head = function.split(['{', ';']).next().unwrap();
            if head.contains("options: &ReadOptions") {
                let name = head.split(['<', '(']).next().unwrap();
                found.insert(format!("{file}: {name}"));
            }
        }
    }
    assert_eq!(found.iter().map(|route| &**route).collect::<BTreeSet<_>>(), known);
}
