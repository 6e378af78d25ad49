//! Conversions between dtypes, compared with NumPy's results for the same bytes.

use ndarray::{Array1, Ix1};
use ndarray_io::dtype::{Kind, LongDoubleFormat};
use ndarray_io::element::{Bytes, Chars, Datetime64, LongDouble, Timedelta64, Void, units};
use ndarray_io::error::ErrorKind;
use ndarray_io::options::DisplayOptions;
use ndarray_io::{
    Casting, DType, DynArray, ReadNpyExt, ReadOptions, ReadableElement, WritableElement, WriteNpyExt,
};
use num_complex::Complex;
use serde_json::Value;

/// Returns an array with these bytes as elements.
pub(crate) fn array(descr: &str, bytes: &[u8]) -> DynArray {
    let size = DynArray::read_npy(&npy(descr, 0, &[])[..]).unwrap().dtype().item_size();
    DynArray::read_npy(&npy(descr, bytes.len() / size, bytes)[..]).unwrap()
}

/// A file of one axis, with a header that is not padded.
pub(crate) fn npy(descr: &str, len: usize, bytes: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len},), }}");
    [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes(), bytes].concat()
}

pub(crate) fn bytes(hex: &Value) -> Vec<u8> {
    let digits = hex.as_str().unwrap().as_bytes().as_chunks::<2>().0;
    digits.iter().map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 16).unwrap()).collect()
}

#[test]
fn casts_equal_numpys() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let lines = std::fs::read_to_string(folder.join("casts.jsonl")).unwrap();
    let (mut count, mut refused) = (0, 0);
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
            let is_integer = |array: &DynArray| {
                matches!(array.dtype().as_scalar().unwrap().kind(), Kind::Int | Kind::Uint)
            };
            if is_integer(&found) && is_integer(&wanted) && casting != Casting::Unsafe {
                let fits = integers(&found).iter().all(|number| integer_range(&wanted).contains(number));
                assert_eq!(made.is_ok(), fits, "{from} as {to}");
            }
            let made = match made {
                Err(error) if error.message().starts_with("text of length") => {
                    continue;
                }
                // Integers that do not fit are an error unless the cast is unsafe; NumPy drops their high bits, so they
                // do not come back.
                Err(error)
                    if error.kind() == ErrorKind::NotConvertible
                        && casting == Casting::SameKind
                        && is_integer(&found)
                        && is_integer(&wanted) =>
                {
                    let first =
                        integers(&found).iter().position(|number| !integer_range(&wanted).contains(number));
                    assert!(first.is_some() && first == error.element(), "{from} as {to}: {error}");
                    refused += 1;
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
    assert!(refused > 10, "{refused}");
}

/// Every path asks one table: an array that is read as a type is the one that is cast to its dtype, or the same error.
#[test]
fn typed_reads_equal_dynamic_casts() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let lines = std::fs::read_to_string(folder.join("casts.jsonl")).unwrap();
    let mut found: Vec<(String, String)> = Vec::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (descr, hex) = (line[0].as_str().unwrap(), line[3].as_str().unwrap());
        if found.iter().all(|(other, others)| (&other[..], &others[..]) != (descr, hex)) {
            found.push((descr.to_owned(), hex.to_owned()));
        }
    }
    let mut made = 0;
    for (descr, hex) in &found {
        if !cfg!(feature = "half-2") && descr.ends_with("f2") {
            continue;
        }
        let found = array(descr, &bytes(&Value::String(hex.clone())));
        macro_rules! compare {
            ($($type:ty),* $(,)?) => {$(
                made += compare_typed::<$type>(&found);
            )*};
        }
        compare!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, Complex<f32>, Complex<f64>);
        compare!(Chars<3>, Chars<11>, Chars<32>, Bytes<3>, Bytes<32>, Void<8>, LongDouble);
        compare!(Datetime64<units::Day>, Datetime64<units::Second>, Datetime64<units::Nanosecond>);
        compare!(Datetime64<units::Month>, Timedelta64<units::Millisecond>);
        compare!(Timedelta64<units::Week>, Timedelta64<units::Year>);
        #[cfg(feature = "half-2")]
        compare!(half::f16);
        made += compare_text(&found);
    }
    assert!(made > 1000, "{made}");
}

const CASTINGS: [Casting; 3] = [Casting::Safe, Casting::SameKind, Casting::Unsafe];

/// Returns how many casts gave values.
fn compare_typed<T: ReadableElement + WritableElement + Clone>(found: &DynArray) -> usize {
    let mut file = Vec::new();
    found.write_npy(&mut file).unwrap();
    let wanted = DType::of::<T>().unwrap();
    let mut made = 0;
    for casting in CASTINGS {
        let typed = ReadOptions::new().casting(casting).read_from::<Array1<T>>(&file[..]);
        let cast = found.cast_to(&wanted, casting).and_then(|cast| Ok(cast.into_array::<T, Ix1>()?));
        let what = format!("{} as {wanted}, {casting:?}", found.dtype());
        match (typed, cast) {
            (Ok(typed), Ok(cast)) => {
                let [typed, cast] = [typed, cast].map(|array| DynArray::new(&array).unwrap());
                assert!(typed.bytes() == cast.bytes(), "{what}: {typed}\nand {cast}");
                made += 1;
            }
            (Err(typed), Err(cast)) => {
                assert_eq!(format!("{:?}", typed.kind()), format!("{:?}", cast.kind()), "{what}");
                assert_eq!(typed.element(), cast.element(), "{what}");
            }
            (typed, cast) => panic!("{what}: {:?}\nand {:?}", typed.map(drop), cast.map(drop)),
        }
    }
    made
}

/// Text of any width is what a cast to the width makes that suffices for every element.
fn compare_text(found: &DynArray) -> usize {
    let mut file = Vec::new();
    found.write_npy(&mut file).unwrap();
    let mut made = 0;
    for casting in CASTINGS {
        let options = ReadOptions::new().casting(casting);
        let texts = options.read_from::<Array1<String>>(&file[..]);
        let strings = options.read_from::<Array1<Vec<u8>>>(&file[..]);
        let cast = |dtype: &str| found.cast_to(&dtype.parse().unwrap(), Casting::Unsafe);
        if let Ok(texts) = texts {
            assert_eq!(
                texts,
                cast("<U64").unwrap().into_array::<String, Ix1>().unwrap(),
                "{}",
                found.dtype()
            );
            made += 1;
        }
        if let Ok(strings) = strings {
            assert_eq!(
                strings,
                cast("|S64").unwrap().into_array::<Vec<u8>, Ix1>().unwrap(),
                "{}",
                found.dtype()
            );
            made += 1;
        }
    }
    let is_number = {
        let kind = found.dtype().as_scalar().unwrap().kind();
        matches!(kind, Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Complex)
    };
    assert!(made == 6 || !is_number, "{} as text", found.dtype());
    made
}

/// The elements, by way of their texts.
fn integers(array: &DynArray) -> Vec<i128> {
    let texts = array.cast_to(&"<U21".parse().unwrap(), Casting::Unsafe).unwrap();
    texts.into_array::<String, Ix1>().unwrap().iter().map(|text| text.parse().unwrap()).collect()
}

/// The numbers that a type of integers has.
fn integer_range(array: &DynArray) -> std::ops::Range<i128> {
    let scalar = array.dtype().as_scalar().unwrap();
    let bits = 8 * scalar.size();
    match scalar.kind() {
        Kind::Uint => 0..1 << bits,
        _ => -(1 << (bits - 1))..1 << (bits - 1),
    }
}

/// Whether the arrays are equal, apart from the bits of NaNs.
fn are_equal_but_for_nan(made: &DynArray, wanted: &[u8]) -> bool {
    let scalar = made.dtype().as_scalar().unwrap();
    matches!(scalar.kind(), Kind::Float | Kind::Complex)
        && made.to_string().contains("nan")
        && made.to_string() == array(made.dtype().to_string().trim_matches('\''), wanted).to_string()
}

/// Long doubles of the x87 as NumPy converts them, and those of other machines as exact arithmetic does.
#[test]
fn long_double_casts_equal_reference_values() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let lines = std::fs::read_to_string(folder.join("longdouble.jsonl")).unwrap();
    let mut count = 0;
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (format, to) = (line[0].as_str().unwrap(), line[1].as_str().unwrap());
        let from = line[4].as_str().unwrap_or("<f16");
        if !cfg!(feature = "half-2") && [from, to].iter().any(|descr| descr.ends_with("f2")) {
            continue;
        }
        let format = if format == "quad" { LongDoubleFormat::Quad } else { LongDoubleFormat::X87 };
        if to == "text" {
            let look = DisplayOptions::new().long_double(format);
            let texts = line[3].as_array().unwrap();
            assert!(texts.len() > 50);
            for (bytes, text) in bytes(&line[2]).chunks_exact(16).zip(texts) {
                let number = DynArray::from_bytes(
                    "<f16".parse().unwrap(),
                    vec![],
                    ndarray_io::header::Order::C,
                    bytes,
                );
                assert_eq!(
                    scientific(&number.unwrap().display_with(&look).to_string()),
                    text.as_str().unwrap()
                );
            }
            continue;
        }
        let (found, wanted) = (array(from, &bytes(&line[2])), array(to, &[]));
        let error = found.cast_to(wanted.dtype(), Casting::Unsafe).unwrap_err();
        assert!(error.is_mismatch() && error.help().unwrap().to_string().contains("long_double"), "{error}");
        let options = ReadOptions::new().casting(Casting::Unsafe).long_double(format);
        let made = found.cast_to(wanted.dtype(), &options).unwrap();
        let wanted = bytes(&line[3]);
        let is_same = made.bytes() == wanted || are_equal_but_for_nan(&made, &wanted);
        assert!(is_same, "{from} as {to}: {made}\nand {} by NumPy", array(to, &wanted));
        count += 1;
    }
    assert!(count >= 18, "{count}");
    // As quads and back.
    let doubles = ndarray::arr1(&[0.0, -0.0, 1.5, -0.1, 5e-324, f64::MAX, f64::INFINITY, 2f64.powi(-1030)]);
    let options = ReadOptions::new().casting(Casting::SameKind).long_double(LongDoubleFormat::Quad);
    let long = DynArray::new(&doubles).unwrap().cast_to(&"<f16".parse().unwrap(), &options).unwrap();
    let quads = long.clone().into_array::<LongDouble, Ix1>().unwrap();
    assert!(
        quads
            .iter()
            .zip(&doubles)
            .all(|(quad, double)| quad.to_f64(LongDoubleFormat::Quad).to_bits() == double.to_bits())
    );
    let mut file = Vec::new();
    long.write_npy(&mut file).unwrap();
    assert_eq!(options.read_from::<Array1<f64>>(&file[..]).unwrap(), doubles);
    assert!(options.casting(Casting::Safe).read_from::<Array1<f64>>(&file[..]).is_err());
}

/// Formats the text of a number as NumPy's `format_float_scientific` does.
fn scientific(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    let zeros = digits.len() - digits.trim_start_matches('0').len();
    let power = exponent.parse::<i32>().unwrap() + whole.len() as i32 - 1 - zeros as i32;
    let digits = digits.trim_matches('0');
    let rest = if digits.len() > 1 { format!(".{}", &digits[1..]) } else { String::new() };
    format!("{sign}{}{rest}e{power:+}", &digits[..1])
}

/// Complex numbers of two halves, as RA files have them, are converted as their parts are.
#[cfg(feature = "half-2")]
#[test]
fn complex_halves_are_cast_as_their_parts() {
    use ndarray_io::ByteOrder;
    use ndarray_io::dtype::Scalar;
    use ndarray_io::header::Order;
    let halves = Scalar::new(Kind::Complex, 4, ByteOrder::Big).unwrap();
    // 1 + 2i and -0.5 + inf i
    let bytes = [0x3C, 0, 0x40, 0, 0xB8, 0, 0x7C, 0];
    let found = DynArray::from_bytes(halves.into(), vec![2], Order::C, &bytes).unwrap();
    let of = |to: &str, casting| found.cast_to(&to.parse().unwrap(), casting);
    let wide = of("<c16", Casting::Safe).unwrap();
    let numbers = [Complex::new(1.0, 2.0), Complex::new(-0.5, f64::INFINITY)];
    assert_eq!(wide.clone().into_array::<Complex<f64>, Ix1>().unwrap(), ndarray::arr1(&numbers));
    assert_eq!(of("<i2", Casting::Unsafe).unwrap().bytes(), [1, 0, 0, 0]);
    assert!(of("<f4", Casting::SameKind).unwrap_err().is_mismatch());
    assert_eq!(wide.cast_to(&halves.into(), Casting::SameKind).unwrap().bytes(), bytes);
    assert_eq!(of("bfloat16", Casting::Unsafe).unwrap().bytes(), [0x80, 0x3F, 0, 0xBF]);
    let floats = DynArray::new(&ndarray::arr1(&[65519.999, 0.1])).unwrap();
    // np.float16(65519.999) and np.float16(0.1)
    let made = floats.cast_to(&halves.into(), Casting::SameKind).unwrap();
    assert_eq!(made.bytes(), [0x7B, 0xFF, 0, 0, 0x2E, 0x66, 0, 0]);
}

/// A `longdouble` of 12 bytes is of 32-bit x86, so that its format need not be said; of PowerPC, the sum of two doubles.
#[test]
fn f12_and_double_double_long_doubles_are_converted() {
    let file: Vec<u8> = [0x8000_0000_0000_0001_u64.to_le_bytes(), [0xFF, 0x3F, 7, 7, 0, 0, 0, 0]].concat();
    let found = array("<f12", &file[..12]);
    assert_eq!(found.to_string(), "[1.0000000000000000001]");
    assert_eq!(found.cast::<f64, Ix1>(Casting::SameKind).unwrap(), ndarray::arr1(&[1.0]));
    assert_eq!(
        array("<f8", &1f64.to_le_bytes()).cast_to(found.dtype(), Casting::Safe).unwrap().bytes()[..10],
        {
            let mut one = [0u8; 10];
            one[7..].copy_from_slice(&[0x80, 0xFF, 0x3F]);
            one
        }
    );
    let big = found.cast_to(&">f12".parse().unwrap(), Casting::Safe).unwrap();
    assert_eq!(big.bytes()[2..4], [0x3F, 0xFF]);
    let options = ReadOptions::new().casting(Casting::Unsafe).long_double(LongDoubleFormat::DoubleDouble);
    // 2^53 + 1 and 0.1 with 106 bits: 0.1 + 2^-56 * 0.4 - ..., that is, the nearest double of what is left of 1/10
    for (large, small, text, double) in [
        (2f64.powi(53), 1.0, "9007199254740993.0", 2f64.powi(53)),
        (0.1, -5.551115123125783e-18, "0.1", 0.1),
        (1.0, -2f64.powi(-60), "0.9999999999999999991326382620116", 1.0),
        (-3.0, 0.0, "-3.0", -3.0),
        (1.0, -0.9999999, "9.9999999947364415220363298431039e-8", 1.0 - 0.9999999),
        (5e-324, 0.0, "5e-324", 5e-324),
    ] {
        for bytes in
            [[large.to_le_bytes(), f64::to_le_bytes(small)], [f64::to_le_bytes(small), large.to_le_bytes()]]
        {
            let found = array("<f16", bytes.as_flattened());
            let look = DisplayOptions::new().long_double(LongDoubleFormat::DoubleDouble);
            assert_eq!(found.display_with(&look).to_string(), format!("[{text}]"));
            assert_eq!(found.cast::<f64, Ix1>(&options).unwrap(), ndarray::arr1(&[double]));
        }
    }
    let integer = DynArray::new(&ndarray::arr1(&[(1i64 << 53) + 1])).unwrap();
    for (to, of) in [("<f16", f64::to_le_bytes as fn(f64) -> [u8; 8]), (">f16", f64::to_be_bytes)] {
        let made = integer.cast_to(&to.parse().unwrap(), &options).unwrap();
        assert_eq!(made.bytes(), [of(2f64.powi(53)), of(1.0)].as_flattened());
        assert_eq!(made.cast::<i64, Ix1>(&options).unwrap(), ndarray::arr1(&[(1i64 << 53) + 1]));
    }
}

/// With fewer digits, long doubles are rounded as other numbers are.
#[test]
fn long_doubles_display_with_precision_as_in_numpy() {
    let bits = |mantissa: u64, exponent: u16| {
        [&mantissa.to_le_bytes()[..], &exponent.to_le_bytes(), &[0; 6]].concat()
    };
    let third = bits(0xAAAA_AAAA_AAAA_AAAB, 0x3FFD);
    let large = bits(u64::MAX, 0x43FE); // np.longdouble(2) ** 1024 * (1 - 2.0**-64)
    let small = bits(0xFFFF_FFFF_FFFF_FFFF, 0x3BF0);
    // By np.format_float_positional(number, precision, unique=False), and by format_float_scientific
    for (number, digits, text) in [
        (&third, 18, "0.333333333333333333"),
        (&third, 0, "3e-1"),
        (&third, 3, "0.333"),
        (&large, 3, "1.798e308"),
        (&large, 0, "2e308"),
        (&small, 2, "3.40e-313"),
    ] {
        let look = DisplayOptions::new().long_double(LongDoubleFormat::X87).precision(digits);
        assert_eq!(array("<f16", number).display_with(&look).to_string(), format!("[{text}]"));
    }
}

/// Between real and complex long doubles, the bits stay as they are: also those that other types do not have.
#[test]
fn long_doubles_keep_their_bits() {
    let cases = [1u128, 0x7FFF_FFFF_FFFF_FFFF, 1 << 63, 0x7FFF << 64 | 0b11 << 62 | 7, u128::MAX, 1 << 111];
    let file: Vec<u8> = cases.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    for format in [LongDoubleFormat::X87, LongDoubleFormat::Quad] {
        let options = ReadOptions::new().long_double(format).casting(Casting::SameKind);
        for (from, to) in [("<f16", "<c32"), ("<f16", ">c32")] {
            let wide = array(from, &file).cast_to(&to.parse().unwrap(), &options).unwrap();
            let options = options.clone().casting(Casting::Unsafe);
            assert_eq!(wide.cast_to(&from.parse().unwrap(), &options).unwrap().bytes(), file);
        }
    }
}

/// Texts of another width keep all code points, also those that are not characters.
#[test]
fn text_casts_keep_invalid_code_points() {
    let codes = [0xD800u32, 0x61, 0x11_0000, 0, 0x20AC, 0];
    let file: Vec<u8> = codes.iter().flat_map(|code| code.to_le_bytes()).collect();
    for (from, to) in [("<U2", "<U3"), ("<U2", ">U3")] {
        let wide = array(from, &file).cast_to(&to.parse().unwrap(), Casting::Safe).unwrap();
        assert_eq!(wide.cast_to(&from.parse().unwrap(), Casting::Unsafe).unwrap().bytes(), file);
    }
    let error = array("<U2", &file).cast_to(&"<U1".parse().unwrap(), Casting::Unsafe).unwrap_err();
    assert_eq!(error.element(), Some(0));
}

/// Of what an existing array had, nothing stays.
#[test]
fn converted_elements_replace_old_ones() {
    fn check<A>(file: &[u8], old: A, wanted: [A; 2])
    where
        A: ReadableElement + Clone + PartialEq + std::fmt::Debug,
    {
        let options = ReadOptions::new().casting(Casting::Unsafe).long_double(LongDoubleFormat::X87);
        let mut array = Array1::from_elem(4, old.clone());
        options.read_into(file, &mut array.slice_mut(ndarray::s![..2])).unwrap();
        assert_eq!(array.to_vec(), [&wanted[..], &[old.clone(), old.clone()]].concat());
        let mut array = Array1::from_elem(4, old.clone());
        options.read_into(file, &mut array.slice_mut(ndarray::s![..;2])).unwrap();
        assert_eq!(array.to_vec(), [wanted[0].clone(), old.clone(), wanted[1].clone(), old]);
    }
    let (mut numbers, mut halves) = (Vec::new(), Vec::new());
    ndarray::arr1(&[7i32, -12]).write_npy(&mut numbers).unwrap();
    ndarray::arr1(&[1.5f64, -0.5]).write_npy(&mut halves).unwrap();
    check(&numbers, Bytes::<16>::new(&[b'z'; 16]).unwrap(), ["7", "-12"].map(|text| text.parse().unwrap()));
    check(
        &numbers,
        Chars::<12>::new("zzzzzzzzzzzz").unwrap(),
        ["7", "-12"].map(|text| text.parse().unwrap()),
    );
    check(&numbers, true, [true, true]);
    check(&numbers, -1i64, [7, -12]);
    // 1.5 and -0.5 as the x87 has them, and six bytes of padding.
    let long = |exponent: u16, significand: u8| {
        let mut bytes = [0; 16];
        bytes[7] = significand;
        bytes[8..10].copy_from_slice(&exponent.to_le_bytes());
        LongDouble::from_le_bytes(bytes)
    };
    check(&halves, LongDouble::from_le_bytes([0xAA; 16]), [long(0x3FFF, 0xC0), long(0xBFFE, 0x80)]);
}

/// Items without bytes become elements that need memory, in any array.
#[test]
fn empty_items_are_limited_in_existing_arrays() {
    let len = (1 << 20) + 1;
    let text = format!("{{'descr': '<U0', 'fortran_order': False, 'shape': ({len},), }}");
    let head = [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
    let options = ReadOptions::new().casting(Casting::Unsafe);
    let mut array = Array1::from_elem(2 * len, Datetime64::<units::Second>::default());
    for step in [1, 2] {
        let mut part = array.slice_mut(ndarray::s![..len * step; step]);
        let error = options.read_into(&head[..], &mut part).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }
}
