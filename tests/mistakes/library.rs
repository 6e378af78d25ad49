//! Mistakes in using the library: what is done, and what `unwrap` has to print so that somebody who does not know it can mend it.
//! A new mistake is a row; `!` before a text: it is not there yet.

use std::io::Cursor;

use ndarray::{Array1, ArrayD, Ix1, arr1, arr2, s};
use ndarray_io::element::Chars;
use ndarray_io::{
    Casting, DType, DynArray, NpyFile, NpyMmap, NpyWriter, NpzReader, NpzWriter, ReadNpyExt, ReadOptions,
    Record, Result, ViewNpyExt, WriteNpyExt, WriteOptions, read_npy, read_npz, write_npy,
};

#[derive(Clone, Debug, Record)]
struct Particle {
    mass: f64,
    position: [f32; 3],
}

#[derive(Clone, Debug, Record)]
struct MisspeltParticle {
    #[record(rename = "Mass")]
    mass: f64,
    position: [f32; 3],
}

#[derive(Clone, Debug, Record)]
struct PartialParticle {
    mass: f64,
}

#[derive(Clone, Debug, Record)]
struct Named {
    name: Chars<4>,
}

fn npy_bytes<T: WriteNpyExt + ndarray_io::WriteArray + ?Sized>(array: &T) -> Vec<u8> {
    let mut file = Vec::new();
    array.write_npy(&mut file).unwrap();
    file
}

fn particles_npy() -> Vec<u8> {
    npy_bytes(&arr1(&[Particle { mass: 1.0, position: [0.0; 3] }]))
}

fn archive() -> NpzReader<Cursor<Vec<u8>>> {
    let mut archive = NpzWriter::new(Vec::new());
    archive.add("weights", &arr1(&[1.0])).unwrap();
    archive.add("biases", &arr1(&[1.0])).unwrap();
    NpzReader::new(Cursor::new(archive.finish().unwrap())).unwrap()
}

/// A mistake: what is done, how, and what has to be in the message.
type Mistake = (&'static str, fn(&std::path::Path) -> Result<()>, &'static [&'static str]);

const MISTAKES: &[Mistake] = &[
    (
        "reads f4 as f64",
        |_| Array1::<f64>::read_npy(&npy_bytes(&arr1(&[1f32]))[..]).map(drop),
        &["read it as f32", "ReadOptions::casting"],
    ),
    (
        "reads f8 as i32",
        |_| Array1::<i32>::read_npy(&npy_bytes(&arr1(&[1f64]))[..]).map(drop),
        &["'<f8'", "read it as f64"],
    ),
    (
        "reads bools of another program",
        |_| Array1::<bool>::read_npy(&npy_bytes(&odd_bools()?)[..]).map(drop),
        &["element 1", "found 255", "read it as a DynArray"],
    ),
    (
        "takes an array of odd bools as bools",
        |_| Ok(odd_bools()?.into_array::<bool, Ix1>().map(drop)?),
        &["element 1", "found 255", "DynArray::bytes"],
    ),
    ("views odd bools", |_| odd_bools()?.view::<bool, Ix1>().map(drop), &["element 1", "DynArray::bytes"]),
    (
        "views odd bools to change them",
        |_| odd_bools()?.view_mut::<bool, Ix1>().map(drop),
        &["element 1", "DynArray::bytes"],
    ),
    (
        "casts odd bools",
        |_| odd_bools()?.cast::<u8, Ix1>(Casting::Unsafe).map(drop),
        &["element 1", "DynArray::bytes"],
    ),
    (
        "casts odd bools to a dtype",
        |_| odd_bools()?.cast_to(&"<i4".parse()?, Casting::Unsafe).map(drop),
        &["element 1", "DynArray::bytes"],
    ),
    ("checks odd bools", |_| odd_bools()?.check(), &["element 1", "DynArray::bytes"]),
    (
        "views an array that was read as another type",
        |_| DynArray::new(&arr1(&[1.5]))?.view::<f32, Ix1>().map(drop),
        &["'<f8'", "read it as f64"],
    ),
    (
        "changes an array that was read as another type",
        |_| DynArray::new(&arr1(&[1.5]))?.view_mut::<f32, Ix1>().map(drop),
        &["'<f8'", "read it as f64"],
    ),
    (
        "reads 2 axes as 1",
        |_| Array1::<f64>::read_npy(&npy_bytes(&arr2(&[[1.0]]))[..]).map(drop),
        &["1 axis", "(1, 1)", "ArrayD"],
    ),
    (
        "reads a scalar as 1 axis",
        |_| Array1::<f64>::read_npy(&npy_bytes(&ndarray::arr0(1.0))[..]).map(drop),
        &["1 axis", "()", "read it as Array0"],
    ),
    (
        "reads an archive as an array",
        |_| Array1::<f64>::read_npy(&b"PK\x03\x04\x14\0\0\0\0\0\0\0"[..]).map(drop),
        &["a ZIP archive", "read_npz"],
    ),
    ("reads an empty file", |_| Array1::<f64>::read_npy(&b""[..]).map(drop), &["found nothing"]),
    (
        "reads a file that is not there",
        |_| read_npy::<_, DynArray>("no/such.npy").map(drop),
        &["no/such.npy"],
    ),
    (
        "reads a URL",
        |_| read_npy::<_, DynArray>("https://example.org/x.npy").map(drop),
        &["Remote", "ndarray-io-store"],
    ),
    (
        "forgets `finish` of an archive",
        |path| {
            let mut archive = NpzWriter::new(std::fs::File::create(path)?);
            archive.add("x", &Array1::<f64>::zeros(1 << 16))?;
            drop(archive);
            read_npz(path).map(drop)
        },
        &["call finish"],
    ),
    (
        "misspells a member",
        |_| archive().read::<Array1<f64>>("wieghts").map(drop),
        &["it contains 'weights', "],
    ),
    (
        "reads a member as another type",
        |_| archive().read::<Array1<f32>>("biases").map(drop),
        &["member 'biases", "read it as f64"],
    ),
    (
        "renames a field wrongly",
        |_| Array1::<MisspeltParticle>::read_npy(&particles_npy()[..]).map(drop),
        &["the file are 'mass', ", "rename"],
    ),
    (
        "leaves out a field",
        |_| Array1::<PartialParticle>::read_npy(&particles_npy()[..]).map(drop),
        &["'position'", "ignore_extra_fields"],
    ),
    (
        "reads records as numbers",
        |_| Array1::<f64>::read_npy(&particles_npy()[..]).map(drop),
        &["derive Record", "DynArray"],
    ),
    (
        "writes a text that is too long",
        |_| write_too_long_text().map(drop),
        &["length 5", "width of 4", "wider type"],
    ),
    (
        "casts a float to an integer by a safe rule",
        |_| {
            ReadOptions::new()
                .casting(Casting::Safe)
                .read_from::<Array1<i32>>(&npy_bytes(&arr1(&[1.5]))[..])
                .map(drop)
        },
        &["Casting::Unsafe", "truncates"],
    ),
    (
        "takes an index that is too large",
        |path| {
            write_npy(path, &arr1(&[1.0]))?;
            NpyFile::open(path)?.take::<Array1<f64>>(0, &[7]).map(drop)
        },
        &["index 7", "length 1"],
    ),
    (
        "takes along an axis that is not there",
        |path| {
            write_npy(path, &arr1(&[1.0]))?;
            NpyFile::open(path)?.take::<Array1<f64>>(2, &[0]).map(drop)
        },
        &["no axis 2", "(1,)"],
    ),
    (
        "slices more axes than there are",
        |path| {
            write_npy(path, &arr1(&[1.0]))?;
            NpyFile::open(path)?.slice::<f64, _>(s![0, 0, 0]).map(drop)
        },
        &["1 axis", "3 axes"],
    ),
    (
        "creates a file that exists",
        |path| {
            write_npy(path, &arr1(&[1.0]))?;
            WriteOptions::new().create_new(true).write_npy(path, &arr1(&[1.0]))
        },
        &["already exists", "write_npy"],
    ),
    (
        "writes into a folder that is not there",
        |_| write_npy("no/such/x.npy", &arr1(&[1.0])),
        &["no/such/x.npy", "writing failed"],
    ),
    (
        "views bytes that are misaligned",
        |_| {
            let file = npy_bytes(&arr1(&[1.0]));
            let moved = [&[0][..], &file].concat();
            let at = moved.as_ptr().align_offset(8);
            ndarray::ArrayView1::<f64>::view_npy(&moved[(at + 1) % 8..]).map(drop)
        },
        &["misaligned", "read the array"],
    ),
    (
        "maps bools that are not bools",
        |path| {
            std::fs::write(
                path,
                npy_bytes(&arr1(&[2u8]))
                    .iter()
                    .map(|byte| if *byte == b'u' { b'b' } else { *byte })
                    .collect::<Vec<_>>(),
            )?;
            // SAFETY: nobody changes the file.
            unsafe { NpyMmap::<bool, Ix1>::open(path) }.map(drop)
        },
        &["element 0", "bool (0 or 1), found 2", "read it as a DynArray"],
    ),
    (
        "reads objects",
        |_| {
            DynArray::read_npy(
                &b"\x93NUMPY\x01\0\x36\0{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"[..],
            )
            .map(drop)
        },
        &["Python objects", "allow_objects"],
    ),
    (
        "reads the file twice from one reader",
        |_| {
            let file = npy_bytes(&arr1(&[1.0]));
            let mut reader = &file[..];
            Array1::<f64>::read_npy(&mut reader)?;
            Array1::<f64>::read_npy(&mut reader).map(drop)
        },
        &["found nothing"],
    ),
    (
        "saves two arrays into one file",
        |path| {
            std::fs::write(path, [npy_bytes(&arr1(&[1.0])), npy_bytes(&arr1(&[2.0]))].concat())?;
            read_npy::<_, DynArray>(path).map(drop)
        },
        &["another array follows", "NpyReader"],
    ),
    (
        "pushes rows of another length",
        |path| {
            let mut rows = NpyWriter::<f64>::create(path, &[3])?;
            rows.push(&arr1(&[1.0, 2.0]))
        },
        &["(3,)", "(2,)"],
    ),
    (
        "appends rows of another dtype",
        |path| {
            write_npy(path, &arr2(&[[1.0, 2.0]]))?;
            NpyWriter::<f32>::append(path).map(drop)
        },
        &["'<f8'", "'<f4'", "the file's dtype"],
    ),
    ("spells a dtype as in Rust", |_| "f32".parse::<DType>().map(drop), &["such as f8", "int32"]),
    ("writes bools to RA", |path| WriteOptions::new().write_ra(path, &arr1(&[true])), &["ra_bools", "u8"]),
    (
        "reads an array that is too large",
        |_| {
            ArrayD::<f64>::read_npy(&b"\x93NUMPY\x01\0\x46\0{'descr': '<f8', 'fortran_order': False, 'shape': (99999999,),}               "[..]).map(drop)
        },
        &["truncated"],
    ),
];

/// Bools as another program may write them: any byte but 0 is true.
fn odd_bools() -> Result<DynArray> {
    DynArray::from_bytes("|b1".parse()?, [2], ndarray_io::header::Order::C, &[1, 255])
}

fn write_too_long_text() -> Result<Vec<u8>> {
    let text = Chars::<4>::try_from("hello");
    Ok(npy_bytes(&arr1(&[Named { name: text? }])))
}

#[test]
fn library_messages_name_the_remedy() {
    let (mut mended, mut wrong) = (0, Vec::new());
    for (what, make, parts) in MISTAKES {
        let folder = tempfile::tempdir().unwrap();
        let error = make(&folder.path().join("x.npy")).expect_err(what);
        let text = format!("{error:?}");
        let is_known = parts.iter().any(|part| part.starts_with('!'));
        let has_all = parts.iter().all(|part| text.contains(part.trim_start_matches('!')));
        if has_all == is_known {
            wrong.push(format!("{what}: {text}"));
        }
        mended += usize::from(has_all);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    println!("library: {mended} of {} mistakes are mended by their messages", MISTAKES.len());
}
