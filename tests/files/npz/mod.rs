//! Archives: NumPy's, by each way to read them, and malformed ones. `.ci/run` checks that NumPy, Python's
//! `zipfile` and Info-ZIP read what we write; here it is compared byte by byte.

#![cfg_attr(not(feature = "mmap"), allow(unused_imports))] // maps are looked at with that feature

mod write;

use std::fs::{self, File};
use std::io::{Cursor, Read, Seek, Write};
use std::path::Path;

use ndarray::{Array0, Array1, Array2, ArrayD, Ix1, Ix2, IxDyn, OwnedRepr, arr0, arr1, arr2};
use ndarray_io::bytes::InMemory;
use ndarray_io::error::ErrorKind;
use ndarray_io::header::{Header, Order};
use ndarray_io::{
    ByteOrder, Compression, DynArray, Error, Limits, NpyReader, NpzFile, NpzReader, NpzUpdate, NpzWriter,
    ReadOptions, Result, WriteArray, WriteOptions, read_npz, write_npz,
};
use write::{options, save_for_other_programs};

use crate::support::error_class::error_class;
use crate::support::manifest::{self, Case, assert_equals_numpys, dtype_json, sha256};
use crate::support::{self, in_c_order};

/// A way to read an archive, which returns members by number.
trait MemberReader {
    fn file_names(&self) -> Vec<String>;
    fn read(&mut self, index: usize) -> Result<DynArray>;
    fn read_bools(&mut self, index: usize) -> Result<ArrayD<bool>>;
    fn raw(&mut self, index: usize) -> Result<Vec<u8>>;
}

impl<R: Read + Seek> MemberReader for NpzReader<R> {
    fn file_names(&self) -> Vec<String> {
        self.members().iter().map(|member| member.file_name().to_owned()).collect()
    }

    fn read(&mut self, index: usize) -> Result<DynArray> {
        NpzReader::read(self, index)
    }

    fn read_bools(&mut self, index: usize) -> Result<ArrayD<bool>> {
        NpzReader::read(self, index)
    }

    fn raw(&mut self, index: usize) -> Result<Vec<u8>> {
        self.read_raw(index)
    }
}

impl MemberReader for NpzFile {
    fn file_names(&self) -> Vec<String> {
        self.members().iter().map(|member| member.file_name().to_owned()).collect()
    }

    fn read(&mut self, index: usize) -> Result<DynArray> {
        NpzFile::read(self, index)
    }

    fn read_bools(&mut self, index: usize) -> Result<ArrayD<bool>> {
        NpzFile::read(self, index)
    }

    fn raw(&mut self, index: usize) -> Result<Vec<u8>> {
        let name = self.members()[index].file_name().to_owned();
        self.read_raw(&name)
    }
}

/// An archive whose members are read as streams.
struct StreamingReader(NpzReader<Cursor<Vec<u8>>>);

impl MemberReader for StreamingReader {
    fn file_names(&self) -> Vec<String> {
        self.0.members().iter().map(|member| member.file_name().to_owned()).collect()
    }

    fn read(&mut self, index: usize) -> Result<DynArray> {
        self.0.stream(index, |reader| reader.read())
    }

    fn read_bools(&mut self, index: usize) -> Result<ArrayD<bool>> {
        self.0.stream(index, |reader| reader.read())
    }

    fn raw(&mut self, index: usize) -> Result<Vec<u8>> {
        self.0.read_raw(index)
    }
}

/// A reader that returns a few bytes at a time.
struct ShortReader(Cursor<Vec<u8>>);

impl Read for ShortReader {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let length = into.len().min(4099);
        self.0.read(&mut into[..length])
    }
}

impl Seek for ShortReader {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

fn routes(case: &Case) -> Vec<Result<Box<dyn MemberReader>>> {
    fn boxed(route: impl MemberReader + 'static) -> Box<dyn MemberReader> {
        Box::new(route)
    }
    let bytes = || Cursor::new(case.bytes.clone());
    vec![
        NpzReader::new(bytes()).map(boxed),
        NpzReader::new(ShortReader(bytes())).map(boxed),
        NpzReader::new(bytes()).map(StreamingReader).map(boxed),
        NpzReader::new(File::open(&case.path).unwrap()).map(boxed),
        NpzFile::open(&case.path).map(boxed),
        ReadOptions::new().open_npz_file(File::open(&case.path).unwrap()).map(boxed),
    ]
}

#[test]
fn testdata_archives_are_read_as_in_numpy() {
    check_folder(&manifest::testdata());
}

#[test]
#[ignore = "needs NDARRAY_IO_CORPUS"]
fn corpus_archives_are_read_as_in_numpy() {
    check_folder(&support::folder_from_env("NDARRAY_IO_CORPUS"));
}

fn check_folder(folder: &Path) {
    let cases = manifest::cases_of(folder, "npz");
    assert!(!cases.is_empty());
    let failures: Vec<String> = cases.iter().flat_map(case_failures).collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Returns what is wrong with each way to read a case.
fn case_failures(case: &Case) -> Vec<String> {
    let mut failures = Vec::new();
    for (number, route) in routes(case).into_iter().enumerate() {
        let outcome = route
            .map_err(|error| error_class(&error).to_owned())
            .and_then(|mut route| route_outcome(case, &mut *route));
        match outcome {
            Ok(()) if case.allowed_classes.iter().any(|allowed| allowed == "ok") => {}
            Ok(()) => {
                failures.push(format!("{} (way {number}): ok, not {:?}", case.id, case.allowed_classes))
            }
            Err(found) if case.allowed_classes.contains(&found) => {}
            Err(found) => {
                failures.push(format!("{} (way {number}): {found}, not {:?}", case.id, case.allowed_classes))
            }
        }
    }
    failures
}

/// Returns the class of the first error, or what is wrong, as `Err`.
fn route_outcome(case: &Case, route: &mut dyn MemberReader) -> Result<(), String> {
    let names = route.file_names();
    let arrays: Vec<usize> = (0..names.len()).filter(|&index| names[index].ends_with(".npy")).collect();
    let mut first_error = Ok(());
    if arrays.iter().any(|&index| names.iter().filter(|name| **name == names[index]).count() > 1) {
        return Err("bad_zip".into()); // a duplicate name is refused, see below
    }
    for &index in arrays.iter().skip(case.arrays.len()) {
        route.read(index).map_err(|error| error_class(&error).to_owned())?;
    }
    for (&index, facts) in arrays.iter().zip(&case.arrays) {
        let json = &facts.json;
        if names[index] != json["member"].as_str().unwrap() {
            return Err(format!("member {} is not {}", names[index], json["member"]));
        }
        let read = match case.expected_class.as_str() {
            "bad_bool" if json["expect"] == "bad_bool" => {
                route.read_bools(index).and_then(|_| route.read(index))
            }
            _ => route.read(index),
        };
        let array = match read {
            Ok(array) => array,
            Err(error) => {
                let of_its_own = json["expect"].as_str().is_some_and(|expect| expect == error_class(&error));
                let message = error.to_string();
                if error.member() != Some(&names[index]) || !message.contains("member '") {
                    return Err(format!("the error does not name its member: {message}"));
                }
                if !(of_its_own && case.expected_class == "ok") && first_error.is_ok() {
                    first_error = Err(error_class(&error).to_owned());
                }
                continue;
            }
        };
        let wrong = |what: &str| format!("{}: {what} differs", names[index]);
        if json["shape"].is_null() {
            continue;
        }
        if array.shape() != facts.shape() || (array.order() == Order::Fortran) != facts.is_fortran() {
            return Err(wrong("shape or order"));
        }
        if dtype_json(array.dtype()) != json["dtype"] {
            return Err(wrong("dtype"));
        }
        let elements =
            in_c_order(array.bytes(), array.dtype().item_size(), array.shape(), facts.is_fortran());
        if sha256(&elements) != json["sha256"].as_str().unwrap() {
            return Err(wrong("content"));
        }
    }
    first_error?;
    if case.expected_class == "ok" && arrays.len() != case.arrays.len() {
        return Err(format!("{} arrays, not {}", arrays.len(), case.arrays.len()));
    }
    for other in case.line["other_members"].as_array().into_iter().flatten() {
        let index = names.iter().position(|name| other["member"] == **name).ok_or("a member is missing")?;
        let raw = route.raw(index).map_err(|error| error_class(&error).to_owned())?;
        if sha256(&raw) != other["sha256"].as_str().unwrap() {
            return Err(format!("{}: content differs", names[index]));
        }
    }
    Ok(())
}

#[cfg(feature = "mmap")]
#[test]
fn mapped_members_equal_read_members() {
    assert!(check_maps(&manifest::testdata()) > 3);
}

#[cfg(feature = "mmap")]
#[test]
#[ignore = "needs NDARRAY_IO_CORPUS"]
fn mapped_corpus_members_equal_read_members() {
    assert!(check_maps(&support::folder_from_env("NDARRAY_IO_CORPUS")) > 3);
}

/// Returns the number of members that were compared.
#[cfg(feature = "mmap")]
fn check_maps(folder: &Path) -> usize {
    let mut seen = 0;
    for case in manifest::cases_of(folder, "npz") {
        // SAFETY: no other process uses the file.
        let Ok(npz) = (unsafe { ndarray_io::npz::NpzMmap::open(&case.path) }) else { continue };
        let sound = npz.verify().is_ok();
        let file = NpzFile::open(&case.path).unwrap();
        for (index, member) in npz.members().iter().enumerate() {
            let name = member.file_name();
            if npz.members().iter().filter(|other| other.file_name() == name).count() > 1 {
                continue;
            }
            let (Ok(cow), read) = (npz.cow::<f64, IxDyn>(name), file.read::<ArrayD<f64>>(index)) else {
                continue;
            };
            match read {
                Ok(read) => {
                    assert!(cow == read || cow.iter().any(|item| item.is_nan()), "{} {name}", case.id)
                }
                Err(error) => assert!(!sound, "{} {name}: {error}", case.id),
            }
            seen += 1;
        }
    }
    seen
}

#[test]
fn member_names_are_resolved_as_in_numpy() {
    let mut npz = NpzWriter::new(Vec::new());
    npz.add("x", &arr1(&[1])).unwrap();
    npz.add("x.npy", &arr1(&[2])).unwrap();
    npz.add("", &arr1(&[3])).unwrap();
    npz.add("../up", &arr1(&[4])).unwrap();
    let taken = npz.add("x", &arr1(&[5])).unwrap_err();
    assert!(taken.message().contains("already has a member named"), "{taken}");
    assert!(taken.kind() == ErrorKind::AmbiguousName && !taken.is_client_fault(), "the writer has made it");
    assert!(npz.add("a\0b", &arr1(&[5])).unwrap_err().is_usage());
    assert!(npz.add("n".repeat(70_000), &arr1(&[5])).unwrap_err().is_usage());
    let mut npz = NpzReader::new(Cursor::new(npz.finish().unwrap())).unwrap();
    assert_eq!(npz.names().unwrap(), ["x", "x.npy", "", "../up"]);
    for (name, value) in [("x", 1), ("x.npy", 1), ("x.npy.npy", 2), ("", 3), ("../up", 4), ("../up.npy", 4)] {
        assert_eq!(npz.read::<Array1<i32>>(name).unwrap(), arr1(&[value]), "{name}");
    }
    let error = npz.read::<Array1<i32>>("y").unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("'x', 'x.npy', '', '../up'"), "{error}");
    assert!(npz.by_index::<OwnedRepr<i32>, Ix1>(4).unwrap_err().is_usage());
    assert_eq!(npz.peek("x").unwrap().header.shape(), [1]);
}

/// Returns an archive whose last member has the name of the first.
fn archive_with_duplicate_name() -> Vec<u8> {
    let mut npz = NpzWriter::new(Vec::new());
    npz.add("a1", &arr1(&[1])).unwrap();
    npz.add("a2", &arr1(&[2])).unwrap();
    let text = npz.finish().unwrap();
    let mut bytes = text.clone();
    for at in 0..text.len() - 6 {
        if text[at..].starts_with(b"a2.npy") {
            bytes[at + 1] = b'1';
        }
    }
    bytes
}

#[test]
fn duplicate_member_name_is_ambiguous() {
    let mut npz = NpzReader::new(Cursor::new(archive_with_duplicate_name())).unwrap();
    assert_eq!(npz.names().unwrap(), ["a1", "a1"]);
    let error = npz.read::<Array1<i32>>("a1").unwrap_err();
    assert!(error.message().contains("at indices [0, 1]"), "{error}");
    assert_eq!(npz.read::<Array1<i32>>(1).unwrap(), arr1(&[2]));
    let file = crate::support::ClosedTempFile::new();
    fs::write(file.path(), archive_with_duplicate_name()).unwrap();
    assert_eq!(read_npz(file.path()).unwrap_err().kind(), ErrorKind::AmbiguousName);
}

#[test]
fn unfinished_archive_is_malformed() {
    let mut bytes = Vec::new();
    let mut npz = NpzWriter::new(&mut bytes);
    npz.add("a", &Array1::<f64>::zeros(100_000)).unwrap();
    drop(npz);
    assert!(NpzReader::new(Cursor::new(bytes)).unwrap_err().message().starts_with("malformed archive"));

    /// A writer that fails after this number of bytes.
    #[derive(Debug)]
    struct LimitedWriter(usize);
    impl Write for LimitedWriter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| std::io::Error::other("full"))?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut npz = NpzWriter::new(LimitedWriter(100_000));
    let error = npz.add("a", &Array1::<f64>::zeros(100_000)).unwrap_err();
    assert!(error.is_io() && error.member() == Some("a.npy"), "{error}");
    assert!(npz.add("b", &arr1(&[1])).unwrap_err().is_usage());
    assert!(npz.finish().unwrap_err().is_usage());
    // The old file stays if writing its replacement fails.
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npz");
    write_npz(&path, &[("a", &arr1(&[1]))]).unwrap();
    let twice: [(&str, &dyn WriteArray); 2] = [("b", &arr1(&[1])), ("b", &arr1(&[2]))];
    assert!(write_npz(&path, &twice).is_err());
    assert_eq!(read_npz(&path).unwrap().keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Changing any byte of an archive gives an error, the same arrays, or other names; never a panic or other
/// contents.
#[test]
fn damaged_archive_never_yields_other_arrays() {
    let mut npz = NpzWriter::new(Vec::new());
    npz.add("a", &arr1(&[1u16, 2, 3])).unwrap();
    let deflated = WriteOptions::new().compression(Compression::DEFLATE);
    npz.add_with("b", &Array1::from_elem(50, 7u8), &deflated).unwrap();
    let sound = npz.finish().unwrap();
    let read = |bytes: &[u8]| -> Result<Vec<(String, DynArray)>, Error> {
        let mut npz = NpzReader::new(Cursor::new(bytes))?;
        (0..npz.len()).map(|index| Ok((npz.names()?[index].clone(), npz.read(index)?))).collect()
    };
    let expected = read(&sound).unwrap();
    let mut harmless = 0;
    for at in 0..sound.len() {
        for change in [0x01, 0x80, 0xFF] {
            let mut bytes = sound.clone();
            bytes[at] ^= change;
            if let Ok(found) = read(&bytes) {
                let content = |arrays: &[(String, DynArray)]| {
                    arrays.iter().map(|(_, array)| array.clone()).collect::<Vec<_>>()
                };
                assert_eq!(content(&found), content(&expected), "byte {at}");
                harmless += 1;
            }
        }
    }
    // Harmless changes are in versions, times, attributes and padding.
    assert!(harmless < 3 * sound.len() / 3, "{harmless} of {}", 3 * sound.len());
    for length in 0..sound.len() {
        assert!(read(&sound[..length]).is_err(), "{length}");
    }
}

/// An archive of one empty member with a long extra field, which other programs may write, can be opened.
#[test]
fn empty_member_with_long_extra_field_can_be_opened() {
    let extra = [&[0xCD, 0xAB, 0xCC, 0x07][..], &[0; 1996]].concat();
    let name = b"a.npy";
    let fixed = [&[20, 0][..], &[0; 20], &[5, 0], &2000u16.to_le_bytes()].concat();
    let local = [&b"PK\x03\x04"[..], &fixed, name, &extra].concat();
    let central = [&b"PK\x01\x02\x14\0"[..], &fixed, &[0; 14], name, &extra].concat();
    let sizes = [(central.len() as u32).to_le_bytes(), (local.len() as u32).to_le_bytes()].concat();
    let end = [&b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &sizes, &[0, 0]].concat();
    let file = crate::support::ClosedTempFile::new();
    fs::write(file.path(), [local, central, end].concat()).unwrap();
    let npz = NpzFile::open(file.path()).unwrap();
    assert_eq!(npz.names().unwrap(), ["a"]);
    for error in [npz.peek(0).map(drop).unwrap_err(), npz.read::<DynArray>("a").unwrap_err()] {
        assert!(error.is_format() && error.member() == Some("a.npy"), "{error}");
    }
    drop(npz);
    NpzUpdate::open(file.path()).unwrap().add("b", &arr1(&[1])).unwrap().finish().unwrap();
    let bytes = fs::read(file.path()).unwrap();
    assert_eq!(bytes.windows(2000).filter(|bytes| *bytes == extra).count(), 2, "both records keep the field");
}

#[test]
fn payload_limit_applies_to_archive_members() {
    let mut npz = NpzWriter::new_compressed(Vec::new());
    npz.add("zeros", &Array1::<f64>::zeros(1_000_000)).unwrap();
    let bytes = npz.finish().unwrap();
    assert!(bytes.len() < 20_000);
    let options = ReadOptions::new().limits(Limits::default().payload(1 << 20));
    let mut npz = options.npz_reader(Cursor::new(bytes)).unwrap();
    assert!(npz.read::<DynArray>("zeros").unwrap_err().is_limit());
    assert!(npz.read_raw("zeros.npy").unwrap_err().is_limit());
}

#[test]
fn write_options_apply_to_archive_members() {
    let write = WriteOptions::new().byte_order(ByteOrder::Big).order(Order::Fortran);
    let mut npz = write.npz_writer(Vec::new()).unwrap();
    npz.add("a", &arr2(&[[1i16, 2], [3, 4]])).unwrap();
    let mut npz = NpzReader::new(Cursor::new(npz.finish().unwrap())).unwrap();
    assert_equals_numpys(&npz.read_raw("a.npy").unwrap(), "option-array");
    let array: DynArray = npz.read("a").unwrap();
    assert_eq!((array.order(), array.bytes()), (Order::Fortran, &[0u8, 1, 0, 3, 0, 2, 0, 4][..]));
}

#[test]
fn archive_of_70000_members_is_read() {
    let mut npz = NpzWriter::new(Vec::new());
    for number in 0..70_000 {
        npz.add(number.to_string(), &arr0(number)).unwrap();
    }
    let bytes = npz.finish().unwrap();
    save_for_other_programs("70000-members.npz", &bytes);
    let file = crate::support::ClosedTempFile::new();
    fs::write(file.path(), &bytes).unwrap();
    let npz = NpzFile::open(file.path()).unwrap();
    assert_eq!(npz.len(), 70_000);
    assert_eq!(npz.read::<Array0<i32>>("69999").unwrap(), arr0(69_999));
    let all = npz.read_all::<Array0<i32>>().unwrap();
    assert!(
        all.iter()
            .enumerate()
            .all(|(number, (name, array))| { *name == number.to_string() && array[()] == number as i32 })
    );
}

/// More than 4 GiB stored, followed by another member, needs 64-bit sizes and offsets. Zeros become a hole in
/// the file, so that it takes no disk space; the test still takes a minute.
#[cfg(all(unix, target_pointer_width = "64"))]
#[test]
#[ignore = "needs NDARRAY_IO_ARCHIVES"]
fn member_larger_than_4_gib_round_trips() {
    struct SparseFile(File);
    impl Write for SparseFile {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            const MIN_ZEROS_LEN: usize = 1 << 20; // only the zeros are written in pieces this large
            match bytes.len() {
                MIN_ZEROS_LEN.. => self.0.seek_relative(bytes.len() as i64).map(|()| bytes.len()),
                _ => self.0.write(bytes),
            }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            self.0.flush()
        }
    }
    let folder = support::folder_from_env("NDARRAY_IO_ARCHIVES");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("more-than-4-gib.npz");
    let mut npz = NpzWriter::new(SparseFile(File::create(&path).unwrap()));
    let zeros = Array1::<f64>::zeros((4 << 30) / 8 + 1000);
    npz.add("zeros", &zeros).unwrap();
    drop(zeros);
    npz.add("behind", &arr1(&[1.5])).unwrap();
    npz.finish().unwrap();
    let npz = NpzFile::open(&path).unwrap();
    npz.verify().unwrap();
    assert_eq!(npz.read::<Array1<f64>>("behind").unwrap(), arr1(&[1.5]));
    assert_eq!(npz.members()[0].size(), (4 << 30) + 8000 + 128);
}

/// On output that cannot seek, sizes follow the content and have 32 bits: Java's `ZipInputStream` accepts no
/// others below 4 GiB.
#[cfg_attr(target_os = "wasi", ignore = "needs to know whether a file is in append mode")]
#[test]
fn data_descriptors_have_32_bit_sizes() {
    let array = Array1::from_iter(0..100_000u32);
    // For stored members they come first, since no stream could find the end otherwise: as in a file.
    let mut stored = NpzWriter::new(Vec::new());
    stored.add("a", &array).unwrap();
    let mut file = crate::support::temp::unnamed_file().unwrap();
    let mut in_file = NpzWriter::new(&file);
    in_file.add("a", &array).unwrap();
    in_file.finish().unwrap();
    file.rewind().unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    assert_eq!(stored.finish().unwrap(), bytes);
    // Pieces are known only afterwards, and a file takes their sizes in the header, also through references.
    let write = |pieces: &mut ndarray_io::NpyWriter<u32, &mut dyn Write>| pieces.push(&array);
    let mut of_pieces = crate::support::temp::unnamed_file().unwrap();
    let mut reference = &of_pieces;
    let mut npz = NpzWriter::new(&mut reference);
    npz.add_pieces("a", 100_000, write).unwrap();
    npz.finish().unwrap();
    of_pieces.rewind().unwrap();
    let mut through_references = Vec::new();
    of_pieces.read_to_end(&mut through_references).unwrap();
    assert_eq!(through_references, bytes);
    for pieces in [false, true] {
        let compression = if pieces { Compression::Stored } else { Compression::Deflated(1) };
        let options = WriteOptions::new().compression(compression);
        let mut npz = options.npz_writer(Vec::new()).unwrap();
        match pieces {
            false => npz.add("a", &array).unwrap(),
            true => npz.add_pieces::<u32, _>("a", 100_000, |writer| writer.push(&array)).unwrap(),
        }
        let bytes = npz.finish().unwrap();
        let u16_at = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let u32_at = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
        assert_eq!((u16_at(6) & 8, u32_at(14), u32_at(18), u32_at(22)), (8, 0, 0, 0));
        let (mut extra, content) = (30 + u16_at(26), 30 + u16_at(26) + u16_at(28));
        assert_eq!(content % 64, 0);
        while extra < content {
            assert_ne!(u16_at(extra), 1, "there are numbers of 64 bits");
            extra += 4 + u16_at(extra + 2);
        }
        let mut reader = NpzReader::new(Cursor::new(&bytes)).unwrap();
        let member = &reader.members()[0];
        let descriptor = content + member.compressed_size() as usize;
        let wanted = [0x0807_4B50, member.crc32(), member.compressed_size() as u32, 400_128, 0x0201_4B50];
        assert_eq!([0, 4, 8, 12, 16].map(|at| u32_at(descriptor + at)), wanted);
        assert_eq!(reader.read::<Array1<u32>>("a").unwrap(), array);
    }
}

/// An update fails and changes nothing if another program's extra fields leave no space for ours.
#[test]
fn update_without_room_for_extra_fields_changes_nothing() {
    let path = crate::support::temp::file().unwrap().into_temp_path();
    write_npz(&path, &[("a", &arr1(&[1.5, 2.5]))]).unwrap();
    let bytes = fs::read(&path).unwrap();
    let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let (name, extra) = (usize::from(u16_at(26)), usize::from(u16_at(28)));
    // The same member with an extra field of 65,520 bytes in its local record.
    let mut field = vec![0x1E, 0xA1];
    field.extend(65_520u16.to_le_bytes());
    field.resize(4 + 65_520, 0);
    let rest = &bytes[30 + name + extra..];
    let more = field.len() - extra;
    let mut long = bytes[..28].to_vec();
    long.extend((field.len() as u16).to_le_bytes());
    long.extend(&bytes[30..30 + name]);
    long.extend(&field);
    long.extend(rest);
    // The sizes move into the record itself, and the directory's offset grows.
    let size = 128 + 16u32;
    long[18..22].copy_from_slice(&size.to_le_bytes());
    long[22..26].copy_from_slice(&size.to_le_bytes());
    let end = long.len() - 6;
    let directory = u32::from_le_bytes(*long[end..].first_chunk().unwrap()) + more as u32;
    long[end..end + 4].copy_from_slice(&directory.to_le_bytes());
    fs::write(&path, &long).unwrap();
    assert_eq!(NpzFile::open(&path).unwrap().read::<Array1<f64>>("a").unwrap(), arr1(&[1.5, 2.5]));
    let one = arr1(&[1u8]);
    let updated = NpzUpdate::open(&path).unwrap().add("b", &one).unwrap().finish();
    assert!(updated.is_err());
    assert_eq!(fs::read(&path).unwrap(), long);
}

/// As NumPy, which goes by the content: a member with another name is an array if it begins as one.
/// Members are read in pieces, and their checksums verified, however little of them is read.
#[test]
fn streamed_members_equal_arrays_and_verify_checksums() {
    let array = Array2::from_shape_fn((3000, 50), |(row, column)| (row * 50 + column) as u32);
    for options in options() {
        let mut npz = options.npz_writer(Vec::new()).unwrap();
        npz.add("before", &arr1(&[1u8])).unwrap();
        npz.add("a", &array).unwrap();
        let bytes = npz.finish().unwrap();
        let mut npz = NpzReader::new(Cursor::new(&bytes)).unwrap();
        let sums = |reader: &mut NpyReader<&mut dyn Read>| {
            reader
                .rows::<u32, Ix2>()?
                .map(|row| Ok(row?.iter().map(|item| u64::from(*item)).sum::<u64>()))
                .collect()
        };
        let wanted: Vec<u64> =
            array.rows().into_iter().map(|row| row.iter().map(|item| u64::from(*item)).sum()).collect();
        let found: Vec<u64> = npz.stream("a", sums).unwrap();
        assert_eq!(found, wanted);
        let first = |reader: &mut NpyReader<&mut dyn Read>| reader.rows::<u32, Ix2>()?.next().transpose();
        assert_eq!(npz.stream(1, first).unwrap().unwrap(), array.row(0));
        assert_eq!(npz.stream("a", |reader| Ok(reader.shape().to_vec())).unwrap(), [3000, 50]);
        let error = npz.stream("a", |_| Err::<(), _>(ErrorKind::Cancelled.into())).unwrap_err();
        assert_eq!((error.member(), error.is_cancelled()), (Some("a.npy"), true));
        let mut memory = vec![0; 600_000];
        npz.read_into_bytes("a", &mut memory, Some(ByteOrder::Big)).unwrap();
        assert_eq!(memory[4 * 777..][..4], 777u32.to_be_bytes());
        assert!(npz.read_into_bytes("a", &mut memory[1..], None).unwrap_err().is_mismatch());

        // Damage near the end is found although only the first row is read.
        let member = &npz.members()[1];
        let mut damaged = bytes.clone();
        damaged[member.range().end as usize - 30] ^= 0x20;
        let mut npz = NpzReader::new(Cursor::new(&damaged)).unwrap();
        assert!(npz.stream("a", first).unwrap_err().is_format());
    }
}

#[test]
fn arrays_are_recognized_by_their_content() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npz");
    let array = Array1::from_iter(0..300u32);
    let mut npy = Vec::new();
    ndarray_io::WriteNpyExt::write_npy(&array, &mut npy).unwrap();
    for compression in [Compression::Stored, Compression::Deflated(6)] {
        let options = WriteOptions::new().compression(compression);
        let mut npz = options.npz_writer(File::create(&path).unwrap()).unwrap();
        npz.add_raw("weights", &npy[..], npy.len() as u64).unwrap();
        npz.add_raw("read.me", &b"\x93NUMP"[..], 5).unwrap();
        npz.add_raw("empty", &b""[..], 0).unwrap();
        npz.add("named", &array).unwrap();
        npz.finish().unwrap();
        let npz = NpzFile::open(&path).unwrap();
        let holds: Vec<bool> = (0..4).map(|index| npz.holds_array(index).unwrap()).collect();
        assert_eq!(holds, [true, false, false, true]);
        let all = npz.read_all::<Array1<u32>>().unwrap();
        assert_eq!(all, [("weights".to_owned(), array.clone()), ("named".to_owned(), array.clone())]);
        assert_eq!(ndarray_io::read_npz(&path).unwrap().len(), 2);
    }
}

/// A map has one array for each name, and a member that has been removed is gone, by its index as by its name.
#[test]
fn removed_members_are_not_found_by_index_or_name() {
    let folder = support::temp::folder().unwrap();
    let path = folder.path().join("a.npz");
    let mut npy = Vec::new();
    ndarray_io::WriteNpyExt::write_npy(&arr1(&[1.5]), &mut npy).unwrap();
    let mut npz = NpzWriter::new(File::create(&path).unwrap());
    npz.add("a", &arr1(&[2.5])).unwrap();
    npz.add_raw("a", &npy[..], npy.len() as u64).unwrap();
    npz.add("b", &arr1(&[3.5])).unwrap();
    npz.finish().unwrap();
    let error = ndarray_io::read_npz(&path).unwrap_err();
    assert!(error.message().contains("at indices [0, 1]"), "{error}");

    let array = arr1(&[4.5]);
    let mut update = NpzUpdate::open(&path).unwrap();
    update.remove(2).unwrap();
    assert!(update.replace(2, &array).unwrap_err().is_not_found());
    assert!(update.remove("b").unwrap_err().is_not_found());
    assert!(update.remove(2).unwrap_err().is_not_found());
    assert!(update.replace("b", &array).unwrap_err().is_not_found());
    // What has failed changes nothing.
    update.add("b", &array).unwrap().finish().unwrap();
    assert_eq!(NpzFile::open(&path).unwrap().read::<Array1<f64>>("b").unwrap(), array);
}

/// A way to read a member, named as the function is.
type Route = (&'static str, fn(&NpzFile) -> Result<()>);

/// All functions of [`NpzFile`] that read the content of members.
const ROUTES: &[Route] = &[
    ("read", |npz| npz.read::<DynArray>("a").map(drop)),
    ("read_into_bytes", |npz| npz.read_into_bytes("a", &mut [0; 8000], None)),
    ("stream", |npz| {
        npz.stream("a", |reader| {
            let all: Result<Vec<f64>, _> = reader.elements::<f64>()?.collect();
            all.map(drop)
        })
    }),
    ("open_member", |npz| npz.open_member("a")?.read::<DynArray>().map(drop)),
    ("open_elements", |npz| {
        let header = Header::new("<f8".parse()?, Order::C, [1016].into())?; // with the header of NPY
        npz.open_elements("a", header)?.read::<DynArray>().map(drop)
    }),
    ("verify_member", |npz| npz.verify_member("a").map(drop)),
    ("verify", |npz| npz.verify().map(drop)),
    ("read_raw", |npz| npz.read_raw("a").map(drop)),
    ("copy_raw", |npz| npz.copy_raw("a", std::io::sink()).map(drop)),
    ("read_all", |npz| npz.read_all::<DynArray>().map(drop)),
];

/// Functions that read the directory or the beginning of a member.
const NOT_READING_CONTENT: &[&str] = &[
    "open",
    "open_npz",
    "new",
    "open_npz_file",
    "from_source",
    "open_npz_source",
    "salvage",
    "with_path",
    "with_options",
    "is_empty",
    "len",
    "names",
    "members",
    "index_of",
    "peek",
    "holds_array",
    "read_npz",
];

/// The content of a compressed member counts as a whole, on all routes; and all of them ask whether to go on.
#[test]
fn payload_limit_and_progress_apply_to_all_routes() {
    let source = include_str!("../../../src/containers/npz/file.rs");
    let functions = source.lines().filter_map(|line| line.trim().strip_prefix("pub fn "));
    let names = functions.map(|rest| rest.split(['<', '(']).next().unwrap());
    let is_known =
        |name: &&str| ROUTES.iter().any(|(known, _)| known == name) || NOT_READING_CONTENT.contains(name);
    let unknown: Vec<_> = names.filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "add {unknown:?} to the routes");

    let array = Array1::from_iter((0..1000).map(f64::from));
    for is_compressed in [false, true] {
        let mut writer =
            if is_compressed { NpzWriter::new_compressed(Vec::new()) } else { NpzWriter::new(Vec::new()) };
        writer.add("a", &array).unwrap();
        let archive = writer.finish().unwrap();
        let with = |options: &ReadOptions| options.open_npz_source(InMemory(archive.clone())).unwrap();
        for (name, read) in ROUTES {
            read(&with(&ReadOptions::new())).unwrap_or_else(|error| panic!("{name}: {error}"));
            // Of a member that is not compressed, elements are read one after the other.
            let is_bounded = *name == "stream" && !is_compressed;
            let small = ReadOptions::new().limits(Limits::new().payload(64));
            let limited = read(&with(&small));
            assert_eq!(limited.is_err_and(|error| error.is_limit()), !is_bounded, "{name} {is_compressed}");
            let stopped = ReadOptions::new().progress(|_, _| std::ops::ControlFlow::Break(()));
            let error = read(&with(&stopped)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{name} {is_compressed}: {error}");
        }
    }
}
