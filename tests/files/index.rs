//! The archives of `testdata/index`, which were written without this library: block indexes that follow the rules of
//! `docs/internals/block-index.md`, and that do not.

use std::fs;
use std::path::PathBuf;

use ndarray::{Array1, s};
use ndarray_io::ReadOptions;
use ndarray_io::header::Parsed;
use ndarray_io::npy;
use ndarray_io::npz::{IndexState, Remark};
use serde_json::Value;

fn testdata_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/index")
}

/// What the writer of the archives expects of each.
fn test_vectors() -> Vec<(String, Value)> {
    let expected = fs::read_to_string(testdata_folder().join("expected.json")).unwrap();
    let Value::Object(expected) = serde_json::from_str(&expected).unwrap() else { panic!("no object") };
    let test_vectors: Vec<_> = expected
        .into_iter()
        .filter(|(name, _)| cfg!(feature = "zstd") || !name.starts_with("zstd"))
        .collect();
    assert!(test_vectors.len() >= 30);
    test_vectors
}

fn state_name(state: IndexState) -> &'static str {
    match state {
        IndexState::Used { .. } => "used",
        IndexState::Stale => "stale",
        IndexState::Ignored => "ignored",
        _ => "absent",
    }
}

fn remark_names(remarks: &[Remark]) -> Option<String> {
    let words: Vec<_> = remarks
        .iter()
        .map(|remark| match remark {
            Remark::StaleIndex => "stale",
            Remark::UnusableIndex => "unusable",
            Remark::SeveralFrames => "frames",
            _ => "other",
        })
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[test]
fn foreign_indexed_archives_are_read_as_expected() {
    let mut parts = 0;
    for (name, expected) in test_vectors() {
        let path = testdata_folder().join(format!("{name}.npz"));
        for threads in [1, 3] {
            let options = ReadOptions::new().threads(threads).allow_trailing(true);
            let npz = options.open_npz(&path).unwrap();
            assert_eq!(state_name(npz.members()[0].index_state()), expected["state"], "{name}");
            let verified = npz.verify_member(0);
            if !expected["reads"].as_bool().unwrap() {
                assert!(verified.unwrap_err().is_format(), "{name}");
                assert!(npz.read_raw("a.npy").unwrap_err().is_format(), "{name}");
                continue;
            }
            match verified {
                Ok(remarks) => {
                    assert_eq!(remark_names(&remarks).as_deref(), expected["remark"].as_str(), "{name}")
                }
                Err(error) => {
                    assert_eq!(expected["remark"], "differs", "{name}: {error}");
                    assert!(error.to_string().contains("from what other programs read"), "{error}");
                }
            }
            let raw = npz.read_raw("a.npy").unwrap();
            let found = (raw.len() as u64, u64::from(crc32fast::hash(&raw)));
            let wanted = (expected["size"].as_u64().unwrap(), expected["crc"].as_u64().unwrap());
            assert_eq!(found, wanted, "{name}");

            // Parts of those whose content is an array.
            let Ok(Parsed::Done(parsed, header_len)) = npy::parse(&raw) else { continue };
            if parsed.header.dtype().to_string() != "'<u4'" {
                continue;
            }
            let elements =
                raw[header_len..].chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
            let elements = Array1::from_iter(elements);
            assert_eq!(Some(elements.len() as u64 * 4), parsed.header.payload_len(), "{name}");
            let member = npz.open_member("a").unwrap();
            let len = elements.len();
            for range in [len / 2..len / 2 + 500, 0..10, len - 5..len] {
                let part: Array1<u32> = member.slice(s![range.clone()]).unwrap();
                assert_eq!(part, elements.slice(s![range]), "{name}");
            }
            let mut reader = options.npz_reader(fs::File::open(&path).unwrap()).unwrap();
            assert_eq!(reader.read::<Array1<u32>>("a").unwrap(), elements, "{name}");
            parts += 1;
        }
    }
    assert!(parts >= 2 * 24, "{parts}");
}
