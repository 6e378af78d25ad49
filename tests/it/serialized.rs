//! Dtypes, headers and options, serialized with `serde`.

use std::time::Duration;

use ndarray::Array1;
use ndarray_io::dtype::Narrow;
use ndarray_io::header::{Header, Order, Shape};
use ndarray_io::npy::Version;
use ndarray_io::ra::WriteRaExt;
use ndarray_io::{ByteOrder, Casting, Compression, DType, Limits, ReadOptions, WriteNpyExt, WriteOptions};
use serde_1::Serialize;
use serde_1::de::DeserializeOwned;
use serde_json::{from_value, json, to_value};

use crate::support::native_descr;

fn deserialize_error<T: DeserializeOwned + std::fmt::Debug>(value: serde_json::Value) -> String {
    from_value::<T>(value).unwrap_err().to_string()
}

#[test]
fn dtypes_are_texts_as_numpy_spells_them() {
    // (what numpy.lib.format.dtype_to_descr returns, which is also the text)
    let texts = [
        "<f8",
        ">i2",
        "|b1",
        "|O",
        "<U7",
        "<M8[25s]",
        "[('x', '<f4'), ('y', '|u1', (2, 3))]",
        "[('a', [('b', '>c8')]), ('', '|V3')]",
    ];
    for text in texts {
        let dtype: DType = from_value(json!(text)).unwrap();
        assert_eq!(to_value(&dtype).unwrap(), json!(text));
        assert_eq!(dtype, text.parse().unwrap());
    }
    assert_eq!(to_value(DType::from(Narrow::BFloat16)).unwrap(), json!("bfloat16"));
    assert_eq!(from_value::<DType>(json!("bfloat16")).unwrap(), Narrow::BFloat16.into());
    assert_eq!(from_value::<DType>(json!("float64")).unwrap(), native_descr("<f8").parse().unwrap());
    assert!(deserialize_error::<DType>(json!("f7")).starts_with("unsupported dtype f7"));
}

#[test]
fn headers_are_checked_when_they_are_deserialized() {
    let header = Header::new("<i4".parse().unwrap(), Order::Fortran, Shape::from([2, 3])).unwrap();
    let value = json!({ "dtype": "<i4", "order": "fortran", "shape": [2, 3] });
    assert_eq!(to_value(&header).unwrap(), value);
    assert_eq!(from_value::<Header>(value).unwrap(), header);
    // Equal with the axes of an RA file, too: from which format a header comes is not compared.
    let mut ra = Vec::new();
    ndarray::arr2(&[[1, 2, 3], [4, 5, 6]]).t().write_ra(&mut ra).unwrap();
    let ndarray_io::header::Parsed::Done(found, _) = ndarray_io::ra::parse(&ra).unwrap() else {
        panic!("a header")
    };
    assert_eq!(from_value::<Header>(to_value(&found.header).unwrap()).unwrap(), found.header);
    assert_eq!(from_value::<Header>(json!({ "dtype": "<i4", "shape": [] })).unwrap().order(), Order::C);

    let header = |shape| json!({ "dtype": "<f8", "shape": shape });
    assert!(deserialize_error::<Header>(header(vec![usize::MAX >> 1; 3])).ends_with("is too large"));
    assert!(deserialize_error::<Header>(header(vec![1; 65])).contains("65"));
    assert!(
        deserialize_error::<Header>(json!({ "dtype": "<f8", "shape": [], "size": 1 }))
            .contains("unknown field")
    );
}

#[test]
fn deserialized_options_take_effect() {
    let mut file = Vec::new();
    Array1::<i32>::zeros(4).write_npy(&mut file).unwrap();
    let options: ReadOptions = from_value(json!({ "casting": "safe", "limits": { "payload": 16 } })).unwrap();
    assert_eq!(options.read_from::<Array1<f64>>(&file[..]).unwrap(), Array1::<f64>::zeros(4));
    let options: ReadOptions = from_value(json!({ "limits": { "payload": 15 } })).unwrap();
    let error = options.read_from::<Array1<i32>>(&file[..]).unwrap_err();
    assert!(error.message().starts_with("the data takes"));

    let options: WriteOptions = from_value(json!({ "byte_order": "big", "version": "2.0" })).unwrap();
    let mut file = Vec::new();
    options.write_to(&mut file, &Array1::<i32>::ones(1)).unwrap();
    assert!(file.starts_with(b"\x93NUMPY\x02\x00") && file.ends_with(&[0, 0, 0, 1]));

    assert!(deserialize_error::<ReadOptions>(json!({ "limit": {} })).contains("unknown field `limit`"));
    assert!(deserialize_error::<Limits>(json!({ "payload": -1 })).contains("u64"));
}

#[test]
fn options_round_trip_without_password_and_callback() {
    fn round_trip<T: Serialize + DeserializeOwned + std::fmt::Debug>(options: &T) -> T {
        from_value(to_value(options).unwrap()).unwrap()
    }
    let read = ReadOptions::new()
        .limits(Limits::new().header(5).object_height(6).expansion(7))
        .casting(Casting::SameKind)
        .raw_bytes_are(Narrow::Int4)
        .allow_trailing(true)
        .threads(3);
    let written = round_trip(&read);
    assert_eq!(format!("{written:?}"), format!("{read:?}"));
    let secret = read.password("secret").progress(|_, _| std::ops::ControlFlow::Continue(()));
    assert_eq!(format!("{:?}", round_trip(&secret)), format!("{written:?}"));

    let write = WriteOptions::new()
        .version(Version::V3)
        .order(Order::Fortran)
        .byte_order(ByteOrder::Big)
        .wait_for_lock(Duration::from_millis(1500))
        .create_new(true);
    assert_eq!(format!("{:?}", round_trip(&write)), format!("{write:?}"));
    let npz = write.clone().compression(Compression::Zstd(-3));
    assert_eq!(format!("{:?}", round_trip(&npz)), format!("{npz:?}"));
    let ra = write.order(Order::C);
    assert_eq!(format!("{:?}", round_trip(&ra)), format!("{ra:?}"));
    // Neither JSON of other languages nor TOML has 2^64 − 1. All fields are there, for formats that have no names.
    let limits = to_value(Limits::new()).unwrap();
    let (payload, objects) = (None::<u64>, None::<u64>);
    let wanted = json!({ "header": 1_048_576, "payload": payload, "objects": objects, "object_height": 1000, "expansion": 1032 });
    assert_eq!(limits, wanted);
    assert_eq!(from_value::<Limits>(json!([1_048_576, null, null, 1000, 1032])).unwrap(), Limits::new());
}
