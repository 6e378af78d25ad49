//! Files that earlier releases have written, `testdata/releases`, are read by this one. NumPy said what they contain when
//! `testdata/make_release.py` made them.

use std::fs;
use std::path::Path;

use ndarray::Array1;
use ndarray_io::dask::NpyStack;
use ndarray_io::header::Order;
use ndarray_io::object::Object;
use ndarray_io::ra::read_ra;
use ndarray_io::{DynArray, NpzFile, read_npy};
use serde_json::{Value, json};

use crate::support::in_c_order;
use crate::support::manifest::{sha256, testdata};

#[test]
fn files_of_all_releases_are_read() {
    let folders = fs::read_dir(testdata().join("releases")).unwrap().map(|entry| entry.unwrap().path());
    let mut versions = Vec::new();
    for folder in folders {
        let expected = fs::read_to_string(folder.join("expected.jsonl")).unwrap();
        let mut unread: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        unread.retain(|path| !path.ends_with("expected.jsonl"));
        for line in expected.lines() {
            let wanted: Value = serde_json::from_str(line).unwrap();
            let id = format!("{}: {line}", folder.display());
            let path = folder.join(wanted["file"].as_str().unwrap());
            match &wanted["objects"] {
                Value::Null => assert_eq!(
                    read(&path, &wanted).unwrap_or_else(|error| panic!("{id}: {error}")),
                    wanted,
                    "{id}"
                ),
                objects => {
                    let read: Array1<Object> = match wanted["member"].as_str() {
                        Some(member) => NpzFile::open(&path).unwrap().read(member).unwrap(),
                        None => read_npy(&path).unwrap(),
                    };
                    assert_eq!(
                        &json!(read.iter().map(Object::to_string).collect::<Vec<_>>()),
                        objects,
                        "{id}"
                    );
                }
            }
            unread.retain(|other| *other != path);
        }
        assert!(unread.is_empty(), "no line says what they contain: {unread:?}");
        assert!(expected.lines().count() > 50, "{}", folder.display());
        versions.push(folder.file_name().unwrap().to_str().unwrap().to_owned());
    }
    assert!(versions.iter().any(|version| version == "0.1.0"), "{versions:?}");
}

/// Reads a file or a member, and returns what the manifest should say about it.
fn read(path: &Path, wanted: &Value) -> ndarray_io::Result<Value> {
    let member = wanted["member"].as_str();
    let array: DynArray = match (member, path.extension().and_then(|extension| extension.to_str())) {
        (Some(member), _) => NpzFile::open(path)?.read(member)?,
        (None, Some("npy")) => read_npy(path)?,
        (None, Some("ra")) => read_ra(path)?,
        (None, _) => NpyStack::open(path)?.read()?,
    };
    let bytes =
        in_c_order(array.bytes(), array.dtype().item_size(), array.shape(), array.order() == Order::Fortran);
    let mut found = json!({
        "file": wanted["file"], "descr": array.dtype().to_string(), "shape": array.shape(), "sha256": sha256(&bytes)
    });
    if let Some(member) = member {
        found["member"] = member.into();
    }
    Ok(found)
}
