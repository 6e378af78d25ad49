//! Conversions between dtypes, compared with NumPy's results for the same bytes.

use ndarray_io::dtype::Kind;
use ndarray_io::{Casting, DynArray, ReadNpyExt};
use serde_json::Value;

/// Returns an array with these bytes as elements.
fn array(descr: &str, bytes: &[u8]) -> DynArray {
    let of = |len: usize| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len},), }}");
        let head = [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
        DynArray::read_npy(&[&head[..], if len == 0 { &[] } else { bytes }].concat()[..]).unwrap()
    };
    of(bytes.len() / of(0).dtype().item_size())
}

fn bytes(hex: &Value) -> Vec<u8> {
    let digits = hex.as_str().unwrap().as_bytes().as_chunks::<2>().0;
    digits.iter().map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 16).unwrap()).collect()
}

#[test]
fn casts_are_numpys() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let lines = std::fs::read_to_string(folder.join("casts.jsonl")).unwrap();
    let mut count = 0;
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (from, to) = (line[0].as_str().unwrap(), line[1].as_str().unwrap());
        if !cfg!(feature = "half-2") && [from, to].iter().any(|descr| descr.ends_with("f2")) {
            continue;
        }
        let weakest = match line[2].as_str().unwrap() {
            "safe" => Casting::Safe,
            "same_kind" => Casting::SameKind,
            _ => Casting::Unsafe,
        };
        let (found, wanted) = (array(from, &bytes(&line[3])), array(to, &[]));
        for casting in [Casting::Safe, Casting::SameKind, Casting::Unsafe] {
            // Text that does not fit is an error here; NumPy truncates it.
            let made = found.cast_to(wanted.dtype(), casting);
            if casting < weakest {
                let error = made.expect_err(&format!("{from} as {to}: {casting:?}"));
                assert!(error.is_mismatch(), "{from} as {to}: {error}");
                continue;
            }
            let made = match made {
                Err(error) if matches!(error.kind(), ndarray_io::error::ErrorKind::TextTooLong { .. }) => {
                    continue;
                }
                made => made.unwrap_or_else(|error| panic!("{from} as {to}: {error}")),
            };
            let wanted = bytes(&line[4]);
            assert!(
                made.bytes() == wanted || are_equal_but_for_nan(&made, &wanted),
                "{from} as {to}, {:?}: {made}\nand {} by NumPy",
                casting,
                array(to, &wanted)
            );
        }
        count += 1;
    }
    assert!(count > 400, "{count}");
}

/// Whether the arrays are equal, apart from the bits of NaNs.
fn are_equal_but_for_nan(made: &DynArray, wanted: &[u8]) -> bool {
    let scalar = made.dtype().as_scalar().unwrap();
    matches!(scalar.kind(), Kind::Float | Kind::Complex)
        && made.to_string().contains("nan")
        && made.to_string() == array(made.dtype().to_string().trim_matches('\''), wanted).to_string()
}
