//! References: their contents and errors. `.ci/check_scaling.py` checks that Zarr's readers find the arrays.

use std::fs;
use std::path::Path;

use ndarray::{Array1, Array2, arr0, arr1};
use ndarray_io::error::ErrorKind;
use ndarray_io::{Compression, Result, WriteOptions, write_npy, write_npz};
use ndarray_io_refs::{RefOptions, References, ZarrFormat};
use serde_json::{Value, json};

fn refs_of(references: &References) -> Value {
    let document: Value = serde_json::from_str(&references.to_string()).unwrap();
    assert_eq!(document["version"], 1);
    document["refs"].clone()
}

/// Parses metadata, which is JSON in a JSON string.
fn embedded_json(refs: &Value, key: &str) -> Value {
    serde_json::from_str(refs[key].as_str().unwrap_or_else(|| panic!("no {key} in {refs}"))).unwrap()
}

fn references_of(path: &Path, options: &RefOptions) -> Result<References> {
    let mut references = References::new(ZarrFormat::V2);
    references.add(path, options)?;
    Ok(references)
}

#[test]
fn references_of_a_file_follow_both_zarr_formats() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    write_npy(&path, &Array2::<u16>::zeros((6, 5))).unwrap(); // a header of 128 bytes
    let options = RefOptions::new().chunk(2).location("s3://bucket/x.npy");
    let refs = refs_of(&references_of(&path, &options).unwrap());
    assert_eq!(embedded_json(&refs, ".zgroup"), json!({"zarr_format": 2}));
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    let array = json!({
        "zarr_format": 2, "shape": [6, 5], "chunks": [2, 5], "dtype": format!("{order}u2"), "order": "C",
        "compressor": null, "filters": null, "fill_value": null,
    });
    assert_eq!(embedded_json(&refs, "x/.zarray"), array);
    assert_eq!(embedded_json(&refs, "x/.zattrs"), json!({"_ARRAY_DIMENSIONS": ["x_dim_0", "x_dim_1"]}));
    for (key, start) in [("x/0.0", 128), ("x/1.0", 148), ("x/2.0", 168)] {
        assert_eq!(refs[key], json!(["s3://bucket/x.npy", start, 20]));
    }
    assert_eq!(refs.as_object().unwrap().len(), 6);

    let mut references = References::new(ZarrFormat::V3);
    references.add(&path, &options.chunk(4).dims(["t", "x"])).unwrap();
    let refs = refs_of(&references);
    let meta = embedded_json(&refs, "x/zarr.json");
    assert_eq!((&meta["data_type"], &meta["dimension_names"]), (&json!("uint16"), &json!(["t", "x"])));
    assert_eq!(meta["chunk_grid"]["configuration"]["chunk_shape"], json!([3, 5]));
    assert_eq!(refs["x/c/1/0"], json!(["s3://bucket/x.npy", 158, 30]));
    assert_eq!(
        references.notes(),
        ["x: chunks of 3 along axis 0; 4 (requested) does not divide its length 6"]
    );
    assert_eq!((references.len(), references.is_empty()), (1, false));
}

#[test]
fn last_chunk_is_padded_and_inlined() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    write_npy(&path, &arr1(&[1u8, 2, 3, 4, 5, 6, 7])).unwrap();
    let refs = refs_of(&references_of(&path, &RefOptions::new().chunk(3)).unwrap());
    assert_eq!(embedded_json(&refs, "x/.zarray")["chunks"], json!([3]));
    assert_eq!(refs["x/1"], json!([path.to_str().unwrap(), 131, 3]));
    assert_eq!(refs["x/2"], json!("base64:BwAA")); // base64.b64encode(b"\7\0\0")
    let refs = refs_of(&references_of(&path, &RefOptions::new().chunk(3).inline_limit(0)).unwrap());
    assert_eq!(embedded_json(&refs, "x/.zarray")["chunks"], json!([1]));
    let scalar = folder.path().join("scalar.npy");
    write_npy(&scalar, &arr0(5u8)).unwrap();
    let refs = refs_of(&references_of(&scalar, &RefOptions::new().chunk(3)).unwrap());
    assert_eq!(refs["scalar/0"], json!([scalar.to_str().unwrap(), 128, 1]));
    assert_eq!(embedded_json(&refs, "scalar/.zarray")["chunks"], json!([]));
}

#[test]
fn stored_members_are_referenced_and_compressed_ones_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    write_npz(&path, &[("one", &arr1(&[1u8])), ("group/two", &arr1(&[2u8]))]).unwrap();
    let refs = refs_of(&references_of(&path, &RefOptions::new()).unwrap());
    let place = |key: &str| refs[key][1].as_u64().unwrap() as usize;
    let bytes = fs::read(&path).unwrap();
    assert_eq!((bytes[place("one/0")], bytes[place("group/two/0")]), (1, 2));
    assert_eq!(embedded_json(&refs, "group/.zgroup"), json!({"zarr_format": 2}));
    let refs = refs_of(&references_of(&path, &RefOptions::new().member("group/two").name("two")).unwrap());
    assert!(refs.get("two/0").is_some() && refs.get("one/0").is_none());

    let options = WriteOptions::new().compression(Compression::DEFLATE);
    let mut archive = options.npz_writer(fs::File::create(&path).unwrap()).unwrap();
    archive.add("z", &Array1::<u8>::zeros(1000)).unwrap();
    archive.finish().unwrap();
    let error = references_of(&path, &RefOptions::new()).unwrap_err();
    assert!(error.message().starts_with("expected an uncompressed member"), "{error}");
    assert!(error.to_string().contains("'z'"), "{error}");
}

#[test]
fn dtypes_and_names_invalid_in_zarr_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata");
    let dtype = |name: &str, format| {
        let mut references = References::new(format);
        references.add(data.join(name), &RefOptions::new()).map(|()| references)
    };
    for name in ["longdouble-l.npy", "dtype-titled.npy"] {
        let error = dtype(name, ZarrFormat::V2).unwrap_err();
        assert!(error.message().contains("cannot represent"), "{name}: {error}");
    }
    assert!(dtype("objects/grid.npy", ZarrFormat::V2).unwrap_err().is_mismatch());
    let records = folder.path().join("records.npy");
    fs::copy(data.join("stacks/records.npy"), &records).unwrap();
    let mut references = References::new(ZarrFormat::V2);
    references.add(&records, &RefOptions::new()).unwrap();
    assert_eq!(
        embedded_json(&refs_of(&references), "records/.zarray")["dtype"],
        json!([["a", "<i4"], ["b", ">f8"]])
    );
    let error = References::new(ZarrFormat::V3).add(&records, &RefOptions::new()).unwrap_err();
    assert!(error.message().contains("cannot represent"), "{error}");

    // Invalid names: duplicates, nested ones, and those that Zarr reserves.
    let path = folder.path().join("x.npy");
    write_npy(&path, &arr1(&[1u8, 2])).unwrap();
    let mut references = references_of(&path, &RefOptions::new()).unwrap();
    let before = references.to_string();
    for name in ["x", "x/y", "", "a//b", "/a", "../a", ".zgroup", "a/.zarray", "zarr.json", "__a", "a\\b"] {
        let error = references.add(&path, &RefOptions::new().name(name)).unwrap_err();
        assert!(error.is_usage() && error.path() == Some(&path), "{name:?}: {error}");
    }
    references.add(&path, &RefOptions::new().name("a/b")).unwrap();
    assert!(references.add(&path, &RefOptions::new().name("a")).unwrap_err().is_usage());
    // A failed addition changes nothing.
    let mut references = references_of(&path, &RefOptions::new()).unwrap();
    for options in
        [RefOptions::new().chunk(0), RefOptions::new().dims(["a", "b"]), RefOptions::new().dims::<&str>([])]
    {
        assert!(references.add(&path, &options.name("other")).unwrap_err().is_usage());
    }
    assert!(references.add(folder.path().join("nothing.npy"), &RefOptions::new()).unwrap_err().is_io());
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(129).unwrap();
    assert!(references.add(&path, &RefOptions::new().name("cut")).unwrap_err().is_format());
    assert_eq!(references.to_string(), before);
    // More chunks than a reader could handle.
    let many = folder.path().join("many.npy");
    let file = fs::File::create(&many).unwrap();
    ndarray_io::write_zeroed_npy::<u8, _>(&file, 20_000_000).unwrap();
    assert!(references_of(&many, &RefOptions::new().chunk(1)).unwrap_err().is_usage());
}

#[test]
fn concatenating_incompatible_files_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write_npy(path("a.npy"), &Array2::<u8>::zeros((4, 3))).unwrap();
    write_npy(path("b.npy"), &Array2::<u8>::zeros((2, 3))).unwrap();
    write_npy(path("wide.npy"), &Array2::<u8>::zeros((4, 5))).unwrap();
    write_npy(path("other.npy"), &Array2::<u16>::zeros((4, 3))).unwrap();
    let join = |names: &[&str], axis| {
        let paths: Vec<_> = names.iter().map(|name| path(name)).collect();
        let mut references = References::new(ZarrFormat::V2);
        references.concatenate(&paths, axis, &RefOptions::new()).map(|()| refs_of(&references))
    };
    let refs = join(&["a.npy", "a.npy", "b.npy"], 0).unwrap();
    assert_eq!(embedded_json(&refs, "a/.zarray")["shape"], json!([10, 3]));
    let error = join(&["a.npy", "b.npy", "a.npy"], 0).unwrap_err();
    assert!(
        error.to_string().contains("a.npy' has 4") && error.to_string().contains("b.npy' has 2"),
        "{error}"
    );
    let error = join(&["b.npy", "a.npy"], 0).unwrap_err();
    assert!(error.is_usage(), "{error}");
    let error = join(&["a.npy", "wide.npy"], 0).unwrap_err();
    assert!(error.message().starts_with("expected shape"), "{error}");
    assert!(error.path().unwrap().ends_with("wide.npy"));
    let error = join(&["a.npy", "wide.npy"], 1).unwrap_err(); // its rows are not contiguous in the file
    assert!(error.is_usage(), "{error}");
    let error = join(&["a.npy", "other.npy"], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DTypeMismatch, "{error}");
    assert!(join(&["a.npy"], 2).unwrap_err().is_usage());
    assert!(join(&[], 0).unwrap_err().is_usage());
}

/// Regression tests: each of these once gave wrong data, took too long, or was ignored.
#[test]
fn reported_bugs_of_references_stay_fixed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // An empty file at the end: the chunk before it is padded from the last bytes of its own file.
    write_npy(path("a.npy"), &arr1(&[1u8, 2, 3, 4])).unwrap();
    write_npy(path("b.npy"), &arr1(&[5u8, 6, 7])).unwrap();
    write_npy(path("none.npy"), &Array1::<u8>::zeros(0)).unwrap();
    let join = |names: &[&str], options: &RefOptions| {
        let paths: Vec<_> = names.iter().map(|name| path(name)).collect();
        let mut references = References::new(ZarrFormat::V2);
        references.concatenate(&paths, 0, options).map(|()| references)
    };
    let refs = refs_of(&join(&["a.npy", "b.npy", "none.npy"], &RefOptions::new().chunk(2)).unwrap());
    assert_eq!(refs["a/3"], json!("base64:BwA=")); // base64.b64encode(b"\7\0")
    write_npy(path("none.npy"), &Array1::<u16>::zeros(0)).unwrap();
    assert!(join(&["a.npy", "none.npy"], &RefOptions::new()).unwrap_err().is_mismatch());
    assert!(join(&["a.npy"], &RefOptions::new().member("x")).unwrap_err().is_usage());
    // Chunks never span two files; a note says so.
    let references = join(&["a.npy", "a.npy"], &RefOptions::new().chunk(8)).unwrap();
    assert_eq!(references.notes().len(), 1);
    // A leading axis of length 1 does not prevent padding at the end.
    write_npy(path("long.npy"), &Array2::<u8>::zeros((1, 1009))).unwrap();
    let refs = refs_of(&references_of(&path("long.npy"), &RefOptions::new().chunk(100)).unwrap());
    assert_eq!(embedded_json(&refs, "long/.zarray")["chunks"], json!([1, 100]));
    // A header that declares a huge number of elements without bytes, or huge elements.
    for (descr, shape, reason) in [
        ("|S0", "(1000,)", "elements of 0 bytes"),
        ("|V400000000", "(0,)", "the value of missing chunks would be too long"),
    ] {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let mut file = b"\x93NUMPY\x01\0".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.bytes());
        fs::write(path("endless.npy"), file).unwrap();
        let error = References::new(ZarrFormat::V3).add(path("endless.npy"), &RefOptions::new()).unwrap_err();
        assert!(
            error.message().contains("cannot represent") && error.to_string().contains(reason),
            "{descr}: {error}"
        );
    }
    let deep = "a/".repeat(15_000) + "a";
    assert!(references_of(&path("a.npy"), &RefOptions::new().name(deep)).unwrap_err().is_usage());
    // A dimension must have one length.
    let mut references = references_of(&path("a.npy"), &RefOptions::new().dims(["t"])).unwrap();
    assert!(references.add(path("b.npy"), &RefOptions::new().dims(["t"])).unwrap_err().is_usage());
    assert!(references.add(path("b.npy"), &RefOptions::new().member("x")).unwrap_err().is_usage());
    // An archive is added completely or not at all.
    let before = references.to_string();
    write_npz(path("two.npz"), &[("c", &arr1(&[1u8])), ("a", &arr1(&[2u8]))]).unwrap();
    assert!(references.add(path("two.npz"), &RefOptions::new()).unwrap_err().is_usage());
    assert!(references.add(path("two.npz"), &RefOptions::new().name("x")).unwrap_err().is_usage());
    assert_eq!(references.to_string(), before);
}
