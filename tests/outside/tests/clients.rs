//! Programs of users of `ndarray-npy` and `npyz`.
//!
//! Those of `ndarray-npy` are compiled twice, from the same file: with that crate, and with this one in its place. Those of
//! `npyz` differ in the lines that `MIGRATING.md` shows; what one crate writes, the other reads.

mod theirs {
    pub use ndarray_npy as npy;

    pub mod programs {
        include!("clients/programs.rs");
    }
}

mod ours {
    pub use ndarray_io as npy;

    pub mod programs {
        include!("clients/programs.rs");
    }
}

use std::fs::{self, File};

/// Runs a program of both crates, each in a folder of its own, and compares what they return.
macro_rules! programs_agree {
    ($($name:ident: $wanted:expr;)*) => {$(
        #[test]
        fn $name() {
            let [theirs, ours] = [(); 2].map(|()| tempfile::tempdir().unwrap());
            let wanted = self::theirs::programs::$name(theirs.path()).unwrap();
            assert_eq!(wanted, $wanted);
            assert_eq!(self::ours::programs::$name(ours.path()).unwrap(), wanted);
        }
    )*};
}

programs_agree! {
    quadtree_cache: 34_782.0;
    network_weights: ndarray::arr1(&[76.0, 25.0]);
    mipmaps: vec![vec![16, 24, 3], vec![8, 12, 3], vec![4, 6, 3], vec![2, 3, 3], vec![1, 2, 3]];
    code_book: 100;
    photon_cube: 17;
    generic_loaders: vec![3, 3, 3];
    archive_repacking: [("10", 0.0), ("20", 20.0), ("30", 60.0), ("40", 120.0)].map(|(name, sum)| (name.to_owned(), sum)).into();
}

#[test]
fn scores_program_agrees_in_both_crates() {
    assert_eq!(theirs::programs::scores().unwrap(), (40, 33.0));
    assert_eq!(ours::programs::scores().unwrap(), (40, 33.0));
}

/// A file in one format for both: what one crate writes is read by the other, program by program.
#[test]
fn files_of_ndarray_npy_are_read() {
    let folder = tempfile::tempdir().unwrap();
    theirs::programs::quadtree_cache(folder.path()).unwrap();
    assert_eq!(ours::programs::quadtree_cache(folder.path()).unwrap(), 34_782.0); // reads what is there
}

/// Shards of records, which `npyz` iterates over.
#[test]
fn record_shards_are_exchanged_with_npyz() {
    use ndarray_io::{FlatArray, NpyReader, Record, WriteNpyExt};

    #[derive(npyz::Serialize, npyz::Deserialize, npyz::AutoSerialize, Record, Clone, Debug, PartialEq)]
    struct Hit {
        channel: u16,
        time: f64,
        position: [f32; 3],
    }

    let folder = tempfile::tempdir().unwrap();
    let hits = |shard: u16| -> Vec<Hit> {
        let hit =
            |channel: u16| Hit { channel, time: f64::from(channel) / 8.0, position: [f32::from(shard); 3] };
        (0..1000).map(hit).collect()
    };
    for shard in 0..3 {
        npyz::to_file_1d(folder.path().join(format!("theirs-{shard}.npy")), hits(shard)).unwrap();
        hits(shard)
            .write_npy(File::create(folder.path().join(format!("ours-{shard}.npy"))).unwrap())
            .unwrap();
    }
    for (shard, name) in [(0, "theirs-0.npy"), (1, "theirs-1.npy"), (2, "ours-2.npy")] {
        let path = folder.path().join(name);
        // for hit in npyz::NpyFile::new(file)?.data::<Hit>()? { … }
        let mut reader = NpyReader::new(File::open(&path).unwrap()).unwrap();
        let read: Vec<Hit> = reader.elements().unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(read, hits(shard));
        // npyz::NpyFile::new(file)?.into_vec::<Hit>()?
        let all: FlatArray<Hit> = ndarray_io::read_npy(&path).unwrap();
        assert_eq!(all.items(), read);
        let theirs = npyz::NpyFile::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(theirs.into_vec::<Hit>().unwrap(), read);
    }
}

/// Dense matrices in both orders, with the shape and the order as values.
#[test]
fn dense_matrices_are_exchanged_with_npyz() {
    use ndarray_io::header::Order;
    use ndarray_io::{FlatArray, FlatView, ReadNpyExt, WriteNpyExt};
    use npyz::WriterBuilder;

    let items: Vec<f64> = (0..12).map(f64::from).collect();
    for (order, theirs) in [(Order::C, npyz::Order::C), (Order::Fortran, npyz::Order::Fortran)] {
        let mut file = Vec::new();
        let mut writer = npyz::WriteOptions::new()
            .default_dtype()
            .shape(&[3, 4])
            .order(theirs)
            .writer(&mut file)
            .begin_nd()
            .unwrap();
        writer.extend(items.iter().copied()).unwrap();
        writer.finish().unwrap();
        let read = FlatArray::<f64>::read_npy(&file[..]).unwrap();
        assert_eq!((read.items(), read.shape(), read.order()), (&items[..], &[3, 4][..], order));

        let mut ours = Vec::new();
        FlatView::new(&items, &[3, 4], order).unwrap().write_npy(&mut ours).unwrap();
        let npy = npyz::NpyFile::new(&ours[..]).unwrap();
        assert_eq!((npy.shape(), npy.order()), (&[3, 4][..], theirs));
        assert_eq!(npy.into_vec::<f64>().unwrap(), items);
    }
}

/// A loader that must give what `npyz` gives: element by element, from a stream, with the header first.
#[test]
fn streamed_elements_equal_those_of_npyz() {
    use ndarray_io::NpyReader;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    npyz::to_file_1d(&path, (0..5000).map(|number| number as f32 / 7.0).collect::<Vec<f32>>()).unwrap();
    let file = fs::read(&path).unwrap();
    let theirs = npyz::NpyFile::new(&file[..]).unwrap();
    let mut ours = NpyReader::new(&file[..]).unwrap();
    let shape: Vec<u64> = ours.shape().iter().map(|length| *length as u64).collect();
    assert_eq!((shape.as_slice(), ours.dtype().to_string()), (theirs.shape(), theirs.dtype().descr()));
    let pairs = theirs.data::<f32>().unwrap().zip(ours.elements::<f32>().unwrap());
    let mut count = 0;
    for (one, other) in pairs {
        assert_eq!(one.unwrap(), other.unwrap());
        count += 1;
    }
    assert_eq!(count, 5000);
}

/// What both crates say of the same bytes: the rows of the table in `MIGRATING.md`.
#[test]
fn read_errors_correspond_to_those_of_ndarray_npy() {
    use ndarray::{Array1, Array2, ArrayView1};
    use ndarray_io::error::ErrorKind as Kind;
    use ndarray_npy::npy::header::ParseHeaderError as Header;
    use ndarray_npy::{ReadNpyError as Read, ViewNpyError as View};

    fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = vec![0x93];
        file.extend(b"NUMPY");
        file.extend([version, 0]);
        match version {
            1 => file.extend(118u16.to_le_bytes()),
            _ => file.extend(116u32.to_le_bytes()),
        }
        file.extend(header.as_bytes());
        file.resize(127, b' ');
        file.push(b'\n');
        file.extend(data);
        file
    }
    let is = |ours: &ndarray_io::Error, (kind, text): (Kind, &str)| {
        ours.kind() == kind && ours.message().starts_with(text)
    };
    let plain = |descr: &str, shape: &str, data: &[u8]| {
        file(1, &format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"), data)
    };
    type ReadErrorRow = (Vec<u8>, fn(&Read) -> bool, (Kind, &'static str));
    let rows: Vec<ReadErrorRow> = vec![
        (
            b"not an array".to_vec(),
            |e| matches!(e, Read::ParseHeader(Header::MagicString)),
            (Kind::BadMagic, "expected an NPY file, found text"),
        ),
        (
            file(9, "", b""),
            |e| matches!(e, Read::ParseHeader(Header::Version { .. })),
            (Kind::Unsupported, "unsupported format version"),
        ),
        (b"\x93NUM".to_vec(), |e| matches!(e, Read::Io(_)), (Kind::Truncated, "truncated")),
        (
            file(1, "{'descr': 5", b""),
            |e| matches!(e, Read::ParseHeader(Header::DictParse(_))),
            (Kind::Malformed, "malformed header"),
        ),
        (
            file(1, "[1]", b""),
            |e| matches!(e, Read::ParseHeader(Header::MetaNotDict(_))),
            (Kind::Malformed, "malformed header"),
        ),
        (
            file(1, "{'descr': '|u1'}", b""),
            |e| matches!(e, Read::ParseHeader(Header::MissingKey(_))),
            (Kind::Malformed, "malformed header"),
        ),
        (
            plain("'|u1'", "(9223372036854775807, 3)", b""),
            |e| matches!(e, Read::LengthOverflow),
            (Kind::Malformed, "an array of shape (9223372036854775807, 3)"),
        ),
        (
            plain("'|u1'", "(2, 1)", b"ab"),
            |e| matches!(e, Read::WrongNdim(Some(1), 2)),
            (Kind::ShapeMismatch, "expected an array of"),
        ),
        (
            plain("'<f8'", "(1,)", &[0; 8]),
            |e| matches!(e, Read::WrongDescriptor(_)),
            (Kind::DTypeMismatch, "expected elements of"),
        ),
        (
            plain("'|O'", "(1,)", &[0; 8]),
            |e| matches!(e, Read::WrongDescriptor(_)),
            (Kind::Objects, "the array contains Python objects"),
        ),
        (
            plain("'zz'", "(1,)", &[0; 8]),
            |e| matches!(e, Read::WrongDescriptor(_)),
            (Kind::Unsupported, "unsupported dtype"),
        ),
        (plain("'|u1'", "(3,)", b"ab"), |e| matches!(e, Read::MissingData), (Kind::Truncated, "truncated")),
    ];
    for (bytes, is_theirs, wanted) in rows {
        let theirs = <Array1<u8> as ndarray_npy::ReadNpyExt>::read_npy(&bytes[..]).unwrap_err();
        let ours = <Array1<u8> as ndarray_io::ReadNpyExt>::read_npy(&bytes[..]).unwrap_err();
        assert!(is_theirs(&theirs) && is(&ours, wanted), "{theirs:?} {ours:?}");
    }
    let bools = plain("'|b1'", "(2,)", &[0, 2]);
    assert!(matches!(
        <Array1<bool> as ndarray_npy::ReadNpyExt>::read_npy(&bools[..]).unwrap_err(),
        Read::ParseData(_)
    ));
    let ours = <Array1<bool> as ndarray_io::ReadNpyExt>::read_npy(&bools[..]).unwrap_err();
    assert!(ours.message().starts_with("expected a bool"));

    // Views. The words make the elements aligned, or not, as the machine wants them.
    let words = |bytes: &[u8], shift: usize| {
        let mut words = vec![0u64; bytes.len() / 8 + 2];
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[shift..shift + bytes.len()].copy_from_slice(bytes);
        (words, shift..shift + bytes.len())
    };
    type ViewErrorRow = (Vec<u8>, usize, fn(&View) -> bool, (Kind, &'static str));
    let rows: [ViewErrorRow; 4] = [
        (
            plain("'<f8'", "(1,)", &[0; 8]),
            4,
            |e| matches!(e, View::MisalignedData),
            (Kind::NeedsCopy, "misaligned"),
        ),
        (
            plain("'>f8'", "(1,)", &[0; 8]),
            0,
            |e| matches!(e, View::NonNativeEndian),
            (Kind::NeedsCopy, "expected this machine's byte order"),
        ),
        (
            plain("'<f8'", "(1,)", &[0; 9]),
            0,
            |e| matches!(e, View::ExtraBytes(1)),
            (Kind::Trailing, "found 1 byte after the array"),
        ),
        (
            plain("'<f8'", "(2,)", &[0; 9]),
            0,
            |e| matches!(e, View::MissingBytes(7)),
            (Kind::Truncated, "truncated"),
        ),
    ];
    for (bytes, shift, is_theirs, wanted) in rows {
        let (words, range) = words(&bytes, shift);
        let bytes = &bytemuck::cast_slice::<u64, u8>(&words)[range];
        let theirs = <ArrayView1<f64> as ndarray_npy::ViewNpyExt>::view_npy(bytes).unwrap_err();
        let ours = <ArrayView1<f64> as ndarray_io::ViewNpyExt>::view_npy(bytes).unwrap_err();
        assert!(is_theirs(&theirs) && is(&ours, wanted), "{theirs:?} {ours:?}");
    }

    // Archives.
    let array = Array2::<f64>::zeros((2, 2));
    let mut npz = ndarray_io::NpzWriter::new(std::io::Cursor::new(Vec::new()));
    npz.add_array("a", &array).unwrap();
    assert!(npz.add_array("a", &array).unwrap_err().message().contains("already has a member named"));
    let mut npz = ndarray_io::NpzReader::new(npz.finish().unwrap()).unwrap();
    let missing = npz.read::<Array2<f64>>("b").unwrap_err();
    assert_eq!(missing.kind(), Kind::NoSuchName);
    let inner = npz.read::<Array2<f32>>("a").unwrap_err();
    assert_eq!((inner.kind() == Kind::DTypeMismatch, inner.member()), (true, Some("a.npy")));
}

/// An error of writing says that it is one, whatever variant an enum puts it into.
#[test]
fn write_error_says_that_writing_failed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no such folder").join("a.npy");
    let error = ndarray_io::write_npy(&path, &ndarray::arr1(&[1.0])).unwrap_err();
    assert!(error.is_io() && error.to_string().contains("writing failed: "), "{error}");
    let error = ndarray_io::read_npy::<_, ndarray::Array1<f64>>(&path).unwrap_err();
    assert!(error.is_io() && !error.to_string().contains("writing"), "{error}");
    let full: &mut [u8] = &mut [0; 100];
    let error = ndarray_io::WriteNpyExt::write_npy(&ndarray::arr1(&[1.0]), full).unwrap_err();
    assert!(error.to_string().starts_with("writing failed: "), "{error}");
}
