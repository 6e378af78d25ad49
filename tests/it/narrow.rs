//! The numbers of `ml_dtypes`, compared with that package.

use ndarray::{Array1, Ix1, arr1};
use ndarray_io::dtype::{Kind, Narrow};
use ndarray_io::element::Void;
use ndarray_io::narrow::*;
use ndarray_io::{
    Casting, DType, DynArray, ReadNpyExt, ReadOptions, ReadableElement, WritableElement, WriteNpyExt,
};
use serde_json::Value;

use crate::casts::{array, bytes};

fn narrow_json_lines() -> Vec<Value> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let lines = std::fs::read_to_string(folder.join("narrow.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), Narrow::ALL.len());
    lines
}

fn doubles_from_hex(hex: &Value) -> Vec<f64> {
    bytes(hex).as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
}

/// Equal with the signs of zeros, or both NaN.
fn is_same(one: f64, other: f64) -> bool {
    one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan()
}

/// The file that `numpy.save` makes of all codes has the values that NumPy says, through each way to say what they are.
#[test]
fn codes_have_the_values_of_ml_dtypes() {
    for line in narrow_json_lines() {
        let narrow = Narrow::from_name(line["type"].as_str().unwrap()).unwrap();
        let (file, wanted) = (bytes(&line["file"]), doubles_from_hex(&line["values"]));
        let options = ReadOptions::new().raw_bytes_are(narrow);
        let read = options.read_from::<DynArray>(&file[..]).unwrap();
        assert_eq!(read.dtype().as_scalar().unwrap().kind(), Kind::Narrow(narrow));
        assert_eq!(read.dtype().to_string(), format!("'{}'", narrow.name()));
        let options = options.casting(Casting::Safe);
        let converted: Array1<f64> = options.read_from::<Array1<_>>(&file[..]).unwrap();
        assert!(converted.len() >= wanted.len() && !wanted.is_empty());
        let of_dtype = read.cast::<f64, Ix1>(Casting::Safe).unwrap();
        for ((number, other), wanted) in converted.iter().zip(&of_dtype).zip(&wanted) {
            assert!(is_same(*number, *wanted), "{}: {number}, {wanted} by ml_dtypes", narrow.name());
            assert!(is_same(*other, *wanted), "{}: {other}, {wanted} by ml_dtypes", narrow.name());
        }
        // The bytes stay as they are when the array is written, and other programs find raw bytes.
        let mut written = Vec::new();
        read.write_npy(&mut written).unwrap();
        let raw = DynArray::read_npy(&written[..]).unwrap();
        assert_eq!(raw.dtype().to_string(), format!("'|V{}'", narrow.size()));
        assert!(file.ends_with(raw.bytes()));
        for (text, wanted) in read.texts().zip(&wanted) {
            let shown: f32 = text.parse().unwrap();
            assert!(is_same(shown.into(), *wanted), "{}: {text} for {wanted}", narrow.name());
        }
    }
}

/// Numbers become the codes that they become in NumPy.
#[test]
fn numbers_become_the_codes_of_ml_dtypes() {
    let mut count = 0;
    for line in narrow_json_lines() {
        let narrow = Narrow::from_name(line["type"].as_str().unwrap()).unwrap();
        for (from, pair) in line["from"].as_object().unwrap() {
            if !cfg!(feature = "half-2") && from.ends_with("f2") {
                continue;
            }
            let found = array(from, &bytes(&pair[0]));
            let made = found.cast_to(&narrow.into(), Casting::Unsafe).unwrap();
            let wanted = bytes(&pair[1]);
            let same = made.bytes().chunks(narrow.size()).zip(wanted.chunks(narrow.size()));
            // Of subnormal numbers, `ml_dtypes` makes the next power of two above, not the nearest.
            let is_tiny = |made: &[u8]| narrow == Narrow::Float8E8M0Fnu && made == [0];
            let first = same.clone().position(|(made, wanted)| made != wanted && !is_tiny(made));
            let of = |index: usize| found.texts().nth(index).unwrap();
            let codes = first.map(|index| (of(index), same.clone().nth(index).unwrap()));
            assert!(codes.is_none(), "{from} as {}: {codes:x?}", narrow.name());
            assert_eq!(made.bytes().len(), wanted.len());
            count += wanted.len();
        }
    }
    assert!(count > 10_000, "{count}");
}

/// Each Rust type is one of these types, and is written as raw bytes.
#[test]
fn narrow_types_round_trip_as_raw_bytes() {
    fn check_codes_and_values<T: ReadableElement + WritableElement + Copy + std::fmt::Debug>(
        narrow: Narrow,
        code: fn(T) -> u8,
        line: &Value,
    ) where
        f64: From<T>,
    {
        check_codes(narrow, code, line);
        let numbers: Array1<T> = Array1::read_npy(&bytes(&line["file"])[..]).unwrap();
        for (number, wanted) in numbers.iter().zip(doubles_from_hex(&line["values"])) {
            assert!(is_same(f64::from(*number), wanted), "{}: {wanted}", narrow.name());
        }
    }
    fn check_codes<T: ReadableElement + WritableElement + Copy + std::fmt::Debug>(
        narrow: Narrow,
        code: fn(T) -> u8,
        line: &Value,
    ) {
        let file = bytes(&line["file"]);
        let numbers: Array1<T> = Array1::read_npy(&file[..]).unwrap();
        let codes: Vec<u8> = numbers.iter().map(|number| code(*number)).collect();
        assert!(file.ends_with(&codes) && codes.len() >= 2);
        let mut written = Vec::new();
        numbers.write_npy(&mut written).unwrap();
        let raw: Array1<Void<1>> = Array1::read_npy(&written[..]).unwrap();
        assert!(raw.iter().map(|byte| byte.0[0]).eq(codes.iter().copied()));
        // It is another type than the others of its size, where the dtype says so.
        let options = ReadOptions::new().raw_bytes_are(narrow);
        let named: Array1<T> = options.read_from::<Array1<_>>(&written[..]).unwrap();
        assert!(named.iter().map(|number| code(*number)).eq(codes.iter().copied()));
        let other = if narrow == Narrow::Int2 { Narrow::Int4 } else { Narrow::Int2 };
        let options = ReadOptions::new().raw_bytes_are(other);
        assert!(options.read_from::<Array1<T>>(&written[..]).unwrap_err().is_mismatch());
        // From any number, as from its bytes.
        let floats = arr1(&[0.0f32, 1.0, -1.0, 0.3]);
        let mut file = Vec::new();
        floats.write_npy(&mut file).unwrap();
        assert!(Array1::<T>::read_npy(&file[..]).unwrap_err().is_mismatch());
        let options = ReadOptions::new().casting(Casting::Unsafe);
        let made: Array1<T> = options.read_from::<Array1<_>>(&file[..]).unwrap();
        let codes = DynArray::new(&floats).unwrap().cast_to(&narrow.into(), Casting::Unsafe).unwrap();
        assert!(made.iter().map(|number| code(*number)).eq(codes.bytes().iter().copied()));
    }
    for line in narrow_json_lines() {
        let narrow = Narrow::from_name(line["type"].as_str().unwrap()).unwrap();
        macro_rules! each {
            (floats: $($float:ident)*; integers: $($integer:ident)*) => {
                match narrow {
                    $(Narrow::$float => check_codes_and_values::<$float>(narrow, $float::to_bits, &line),)*
                    $(Narrow::$integer => {
                        check_codes::<$integer>(narrow, $integer::to_bits, &line);
                        let values = doubles_from_hex(&line["values"]);
                        for (code, value) in (0..).zip(values) {
                            assert_eq!(f64::from($integer::from_bits(code).get()), value);
                            assert_eq!($integer::new(value as i8).unwrap().to_bits(), code);
                        }
                    })*
                    other => assert_eq!(other, Narrow::BFloat16),
                }
            };
        }
        each! {
            floats: Float8E3M4 Float8E4M3 Float8E4M3B11Fnuz Float8E4M3Fn Float8E4M3Fnuz Float8E5M2 Float8E5M2Fnuz Float8E8M0Fnu
                Float6E2M3Fn Float6E3M2Fn Float4E2M1Fn;
            integers: Int1 Int2 Int4 Uint1 Uint2 Uint4
        }
    }
}

/// What does not fit, and what the castings allow.
#[test]
fn narrow_casts_obey_ranges_and_casting_rules() {
    let cast = |from: &DynArray, to: &str, casting| from.cast_to(&to.parse::<DType>().unwrap(), casting);
    let integers = DynArray::new(&arr1(&[7i32, 8])).unwrap();
    let error = cast(&integers, "int4", Casting::SameKind).unwrap_err();
    assert!(error.message() == "8 is out of range for int4");
    assert_eq!(error.element(), Some(1));
    assert_eq!(cast(&integers, "int4", Casting::Unsafe).unwrap().bytes(), [7, 8]); // -8
    let large = DynArray::new(&arr1(&[u64::MAX])).unwrap();
    assert_eq!(cast(&large, "int4", Casting::SameKind).unwrap_err().element(), Some(0));
    assert_eq!(cast(&large, "int4", Casting::Unsafe).unwrap().bytes(), [15]);
    // Floats saturate, as for integers of other sizes.
    let floats = DynArray::new(&arr1(&[7.9, -8.9, 1e300, f64::NEG_INFINITY, f64::NAN])).unwrap();
    assert_eq!(cast(&floats, "int4", Casting::Unsafe).unwrap().bytes(), [7, 8, 7, 8, 0]);
    // From numbers of fewer bits, what NumPy's `can_cast` says with `ml_dtypes`.
    for (from, to, weakest) in [
        ("int4", "|i1", Casting::Safe),
        ("int4", "<f8", Casting::Safe),
        ("int4", "|u1", Casting::Unsafe),
        ("int4", "int2", Casting::SameKind),
        ("uint4", "|i1", Casting::Safe),
        ("float8_e5m2", "<f4", Casting::Safe),
        ("float8_e5m2", "<c8", Casting::Safe),
        ("float8_e5m2", "<f2", Casting::SameKind),
        ("float8_e5m2", "<i8", Casting::Unsafe),
        ("float8_e5m2", "bfloat16", Casting::SameKind),
        ("<i4", "float8_e5m2", Casting::SameKind),
        ("<c8", "float8_e5m2", Casting::Unsafe),
    ] {
        if !cfg!(feature = "half-2") && to == "<f2" {
            continue;
        }
        let size = from.parse::<DType>().unwrap().item_size();
        let zeros = DynArray::from_bytes(
            from.parse().unwrap(),
            vec![1],
            ndarray_io::header::Order::C,
            &vec![0; size],
        );
        for casting in [Casting::Safe, Casting::SameKind, Casting::Unsafe] {
            let made = cast(zeros.as_ref().unwrap(), to, casting);
            assert_eq!(made.is_ok(), casting >= weakest, "{from} as {to}, {casting:?}");
        }
    }
}

/// NumPy writes `<f1` for `float8_e5m2`, and `<W4` for complex numbers of two halves, and reads neither.
#[test]
fn narrow_dtypes_unreadable_by_numpy_are_read() {
    let found = array("<f1", &[0x3C, 0xBE]);
    assert_eq!(found.to_string(), "[ 1.0, -1.5]");
    assert_eq!(array("<W4", &[0; 8]).dtype().to_string(), "'|V4'");
}

/// ml_dtypes 0.6: `np.array([1 + 2j, 1/3 - 2.5j]).astype(ml_dtypes.complex32).view("u2")`, and of `bcomplex32`; in headers, NumPy reads
/// the names where that package is imported.
#[cfg(feature = "half-2")]
#[test]
fn complex_numbers_of_ml_dtypes_are_read_as_their_types() {
    use crate::casts::npy;
    use half::{bf16, f16};
    use num_complex::Complex;

    let bytes = |halves: [u16; 4]| halves.map(u16::to_le_bytes).concat();
    let (ieee, brain) = ([15360, 16384, 13653, 49408], [16256, 16384, 16043, 49184]);
    let halves = arr1(&[Complex::new(1.0, 2.0), Complex::new(0.333_251_953_125, -2.5)]);
    let brains = arr1(&[Complex::new(1.0, 2.0), Complex::new(0.333_984_375, -2.5)]);
    for descr in ["<W4", "|V4", "complex32", "bcomplex32"] {
        let file = npy(descr, 2, &bytes(ieee));
        let read = Array1::<Complex<f16>>::read_npy(&file[..]).unwrap();
        assert_eq!(read.mapv(|z| Complex::new(f64::from(z.re), f64::from(z.im))), halves, "{descr}");
        let file = npy(descr, 2, &bytes(brain));
        let read = Array1::<Complex<bf16>>::read_npy(&file[..]).unwrap();
        assert_eq!(read.mapv(|z| Complex::new(f64::from(z.re), f64::from(z.im))), brains, "{descr}");
        let mut written = Vec::new();
        read.write_npy(&mut written).unwrap();
        let written = DynArray::read_npy(&written[..]).unwrap();
        assert_eq!((written.dtype().to_string(), written.bytes()), ("'|V4'".to_owned(), &bytes(brain)[..]));
    }
}

/// Fields of records, and items of subarrays, are raw bytes as well.
#[cfg(feature = "derive")]
#[test]
fn record_fields_of_narrow_types_round_trip() {
    #[derive(Clone, ndarray_io::Record)]
    struct Weight {
        scale: Float8E8M0Fnu,
        values: [Float4E2M1Fn; 2],
    }
    let mut file = Vec::new();
    let values = [1.5, -6.0].map(Float4E2M1Fn::from_f32);
    arr1(&[Weight { scale: Float8E8M0Fnu::from_f32(0.5), values }]).write_npy(&mut file).unwrap();
    let read = DynArray::read_npy(&file[..]).unwrap();
    assert_eq!(read.dtype().to_string(), "[('scale', '|V1'), ('values', '|V1', (2,))]");
    let options = ReadOptions::new().raw_bytes_are(Narrow::Float4E2M1Fn);
    let read = options.read_from::<DynArray>(&file[..]).unwrap();
    assert_eq!(read.to_string(), "[(-4.0, [1.5, -6.0])]"); // the scale, 126, is of another type
    let read: Array1<Weight> = Array1::read_npy(&file[..]).unwrap();
    assert_eq!((read[0].scale.to_f32(), read[0].values[1].to_f32()), (0.5, -6.0));
}
