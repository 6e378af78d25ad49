//! Errors as programs print them: what was found and what to do are there in each of the usual ways.

use std::error::Error as _;

use ndarray::{Array1, arr1};
use ndarray_io::{DynArray, Error, WriteNpyExt, read_npy, write_npy};

/// The lines that each way has to have, in this order.
const EXPECTED_MESSAGE: &str = "x.npy: expected elements of '<i4', found '<f8'";
const EXPECTED_HELP: &str = "help: read it as f64, or convert it with ReadOptions::casting";

fn sample_error() -> Error {
    let mut file = Vec::new();
    arr1(&[1.5]).write_npy(&mut file).unwrap();
    ndarray_io::ReadNpyExt::read_npy(&file[..]).map(|_: Array1<i32>| ()).unwrap_err().at_path("x.npy")
}

#[cfg(target_endian = "little")] // the message shows the Rust type's own dtype
#[cfg_attr(target_os = "wasi", ignore = "needs panics that unwind")]
#[test]
fn error_reports_have_message_and_help() {
    let fails = || -> ndarray_io::Result<()> { Err(sample_error()) };
    let unwrapped = std::panic::catch_unwind(|| fails().unwrap()).unwrap_err();
    let boxed: Box<dyn std::error::Error> = sample_error().into();
    for (how, helps, text) in [
        ("unwrap", 1, unwrapped.downcast_ref::<String>().unwrap().clone()),
        // A `main` that returns an error prints its `Debug`.
        ("main", 1, format!("Error: {:?}", sample_error())),
        ("main with a box", 1, format!("Error: {boxed:?}")),
        ("the alternate form", 1, format!("{:#}", sample_error()).replace("; ", "; help: ")),
        ("an I/O error", 1, format!("{:?}", std::io::Error::from(sample_error()))),
        // Advice is not a cause, so it is not in reports of causes.
        ("main with anyhow", 0, format!("{:?}", anyhow::Error::from(sample_error()))),
        ("anyhow's context", 0, format!("{:?}", anyhow::Error::from(sample_error()).context("no model"))),
        ("anyhow in one line", 0, format!("{:#}", anyhow::Error::from(sample_error()))),
        ("eyre", 0, format!("{:?}", eyre::Report::from(sample_error()))),
    ] {
        let (message, help) = (text.find(EXPECTED_MESSAGE), text.find(EXPECTED_HELP));
        assert!(message.is_some() && (helps == 0 || message < help), "{how}: {text}");
        assert_eq!(
            (text.matches(EXPECTED_MESSAGE).count(), text.matches(EXPECTED_HELP).count()),
            (1, helps),
            "{how}: {text}"
        );
    }
    assert_eq!(sample_error().to_string(), EXPECTED_MESSAGE);
    assert_eq!(format!("{:?}", sample_error()), format!("{EXPECTED_MESSAGE}\n  {EXPECTED_HELP}"));
    // The structure is still there.
    assert!(format!("{:#?}", sample_error()).contains("fault: DTypeMismatch {"));
    assert!(sample_error().source().is_none());
}

/// The first bytes of a file say what it is, on every way to read it.
#[test]
fn foreign_file_formats_are_identified() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("x.npy");
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("model/data.pkl", zip::write::SimpleFileOptions::default()).unwrap();
    let torch = archive.finish().unwrap().into_inner();
    for (bytes, parts) in [
        (&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], ["a gzip file", "gunzip"]),
        (b"\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0", ["an HDF5 file", "h5py"]),
        (b"MATLAB 5.0 MAT-file, Platform: posix", ["a MATLAB file", "scipy.io.loadmat"]),
        (b"PAR1\x15\x04\x15\x10\x15\x14", ["a Parquet file", "read_parquet"]),
        (b"\x48\0\0\0\0\0\0\0{\"x\":{\"dtype\":\"F64\"", ["a safetensors file", "`ndarray-io-formats`"]),
        (b"\x80\x04\x95\x09\0\0\0\0\0\0\0]\x94", ["a Python pickle", "object::Pickle"]),
        (b"version https://git-lfs.github.com/spec/v1\n", ["a pointer of Git LFS", "git lfs pull"]),
        (b"<!DOCTYPE html><html>", ["HTML", "download"]),
        (b"x,y\n1,2\n", ["text: \"x,y", "--from csv"]),
        (&torch, ["a ZIP archive", "NpzFile"]),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let errors = [
            read_npy::<_, DynArray>(&path).unwrap_err(),
            ndarray_io::NpyFile::open(&path).unwrap_err(),
            ndarray_io::ReadNpyExt::read_npy(bytes).map(|_: DynArray| ()).unwrap_err(),
            ndarray_io::ra::read_ra::<_, DynArray>(&path).unwrap_err(),
        ];
        for error in errors {
            let text = format!("{error:#}");
            assert!(parts.iter().all(|part| text.contains(part)) && error.is_format(), "{text}");
        }
        #[cfg(feature = "npz")]
        {
            let error = ndarray_io::read_npz(&path).unwrap_err();
            let parts = if bytes == torch { ["an archive of PyTorch", "object::Pickle"] } else { parts };
            let text = format!("{error:#}");
            assert!(parts.iter().all(|part| text.contains(part)) && error.is_format(), "{text}");
        }
    }
    // What is empty, or an array of another format.
    std::fs::write(&path, b"").unwrap();
    assert!(format!("{:#}", read_npy::<_, DynArray>(&path).unwrap_err()).contains("truncated"));
    write_npy(&path, &arr1(&[1.0])).unwrap();
    let error = ndarray_io::ra::read_ra::<_, DynArray>(&path).unwrap_err();
    assert!(format!("{error:#}").contains("an NPY file; read it with read_npy"), "{error:#}");
    let error = read_npy::<_, DynArray>("s3://bucket/x.npy").unwrap_err();
    assert!(error.is_io() && format!("{error:?}").contains("ndarray-io-store"), "{error:?}");
}

/// An archive whose writer was dropped says so.
#[cfg(feature = "npz")]
#[test]
fn unfinished_archive_is_reported_as_such() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npz");
    let mut archive = ndarray_io::NpzWriter::new(std::fs::File::create(&path).unwrap());
    archive.add("x", &arr1(&[1.5])).unwrap();
    drop(archive);
    let error = ndarray_io::read_npz(&path).unwrap_err();
    assert!(error.is_format() && format!("{error:#}").contains("call finish"), "{error:#}");
}

/// Similar names come first, however many there are.
#[cfg(feature = "npz")]
#[test]
fn similar_member_names_are_suggested_first() {
    let arrays: Vec<_> = (0..300).map(|number| (format!("layer_{number}"), arr1(&[0u8]))).collect();
    let mut archive = ndarray_io::NpzWriter::new(Vec::new());
    for (name, array) in &arrays {
        archive.add(name, array).unwrap();
    }
    archive.add("weights", &arr1(&[0u8])).unwrap();
    let mut archive = ndarray_io::NpzReader::new(std::io::Cursor::new(archive.finish().unwrap())).unwrap();
    let error = archive.read::<Array1<u8>>("wieghts").unwrap_err();
    assert!(error.to_string().contains("it contains 'weights', 'layer_0', 'layer_1', "), "{error}");
    let error = archive.read::<Array1<u8>>("Layer_299").unwrap_err();
    assert!(error.to_string().contains("it contains 'layer_299', "), "{error}");
}
