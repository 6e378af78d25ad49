//! Text, byte strings, times and 16-byte floats, where tests need more than the corpus has.

use std::time::{Duration, SystemTime};

use ndarray::{Array1, ArrayD, arr1};
use ndarray_io::ReadOptions;
use ndarray_io::dtype::LongDoubleFormat;
use ndarray_io::element::{Bytes, Chars, Datetime64, LongDouble, Timedelta64, Void, units};
use ndarray_io::error::ErrorKind;
use ndarray_io::{ByteOrder, ReadNpyExt, ViewNpyExt, WriteNpyExt, WriteOptions, read_npy};

use crate::support::manifest;
use crate::support::{file, routes};

fn little_endian_npy<T: WriteNpyExt>(array: &T) -> Vec<u8> {
    let mut file = Vec::new();
    let options = WriteOptions::new().byte_order(ByteOrder::Little);
    options.write_to(&mut file, &array).unwrap();
    file
}

fn strings(items: &[&str]) -> Array1<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

#[test]
fn default_text_width_equals_numpys() {
    let numpys = |name: &str| std::fs::read(manifest::testdata().join(name)).unwrap();
    assert_eq!(little_endian_npy(&strings(&["a", "Grace", "é"])), numpys("text-chosen.npy"));
    assert_eq!(little_endian_npy(&strings(&["", ""])), numpys("text-chosen_empty.npy"));
    assert_eq!(little_endian_npy(&arr1(&[b"a".to_vec(), b"Grace".to_vec()])), numpys("bytes-chosen.npy"));
}

#[test]
fn text_longer_than_requested_width_is_refused() {
    let names = strings(&["Ada", "Grace", "Lovelace"]);
    let with = |width| {
        let mut file = Vec::new();
        WriteOptions::new().text_width(width).write_to(&mut file, &names).map(|()| file)
    };
    assert_eq!(ArrayD::<String>::read_npy(&with(20).unwrap()[..]).unwrap(), names.clone().into_dyn());
    assert_eq!(with(20).unwrap().len(), 128 + 3 * 80);
    let error = with(7).unwrap_err();
    assert!(error.message().starts_with("text of length 8 exceeds the width of 7"), "{error}");
    assert_eq!(error.element(), Some(2));
}

#[test]
fn invalid_text_element_is_reported() {
    let header = |descr: &str| format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (3,), }}");
    let codes = |order: ByteOrder, codes: [u32; 6]| -> Vec<u8> {
        codes
            .iter()
            .flat_map(|code| if order == ByteOrder::Big { code.to_be_bytes() } else { code.to_le_bytes() })
            .collect()
    };
    for (order, descr) in [(ByteOrder::Little, "<U2"), (ByteOrder::Big, ">U2")] {
        for bad in [0x11_0000, 0xD800, 0xFFFF_FFFF] {
            let bytes = file(&header(descr), &codes(order, [0x41, 0, 0x42, 0x43, 0x44, bad]));
            let error = Array1::<String>::read_npy(&bytes[..]).unwrap_err();
            assert!(error.message() == format!("expected a Unicode character, found {bad:#X}"), "{error}");
            assert_eq!(error.element(), Some(2));
            let raw = Array1::<Chars<2>>::read_npy(&bytes[..]).unwrap();
            assert_eq!(raw[2].code_points(), [0x44, bad]);
            assert_eq!(
                (raw[0].try_to_string().unwrap().as_str(), raw[2].try_to_string().is_err()),
                ("A", true)
            );
        }
    }
    let bytes = file(&header("|S2"), b"okc\xC3\xA9\0");
    let error = Array1::<String>::read_npy(&bytes[..]).unwrap_err();
    assert!(error.message().starts_with("invalid UTF-8 at byte 1"), "{error}");
    assert_eq!(error.element(), Some(1));
    assert_eq!(Array1::<Vec<u8>>::read_npy(&bytes[..]).unwrap()[1], b"c\xC3");
    let bytes = file(&header("|S2"), b"ok\xC3\xA9\0\0");
    assert_eq!(Array1::<String>::read_npy(&bytes[..]).unwrap(), strings(&["ok", "é", ""]));
}

#[test]
fn items_wider_than_their_element_type_are_refused() {
    let bytes = little_endian_npy(&arr1(&[Bytes::<3>::new(b"abc").unwrap(), Bytes::new(b"d").unwrap()]));
    let wider: Array1<Bytes<5>> = Array1::read_npy(&bytes[..]).unwrap();
    assert_eq!(wider[0].as_array(), b"abc\0\0");
    assert!(Array1::<Bytes<2>>::read_npy(&bytes[..]).unwrap_err().is_mismatch());
    // A shorter element must be decoded, so that it cannot be viewed.
    let error = ndarray::ArrayView1::<Bytes<5>>::view_npy(&bytes).unwrap_err();
    assert!(error.message().contains("does not have the memory layout") && error.is_mismatch(), "{error}");
    assert_eq!(ndarray::ArrayView1::<Bytes<3>>::view_npy(&bytes).unwrap()[1].as_bytes(), b"d");
    let text = little_endian_npy(&strings(&["λx", "y"]));
    let mut wider = Array1::<Chars<4>>::default(2);
    ReadOptions::new().read_into(&text[..], &mut wider).unwrap();
    assert_eq!(wider[0].try_to_string().unwrap(), "λx");
    assert!(Array1::<Chars<1>>::read_npy(&text[..]).unwrap_err().is_mismatch());
    assert!(Bytes::<2>::new(b"abc").is_none() && Chars::<2>::new("abc").is_none());
}

/// Elements that take no bytes in the file are limited by the memory that they take.
#[test]
fn zero_byte_items_are_limited_by_memory() {
    /// More elements than fit into memory, but a valid length.
    const ELEMENT_COUNT: usize = 1 << if usize::BITS == 64 { 40 } else { 30 };
    let claim = |descr: &str| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({ELEMENT_COUNT},), }}");
        file(&header, &[])
    };
    assert!(ArrayD::<String>::read_npy(&claim("|S0")[..]).unwrap_err().is_limit());
    assert!(ArrayD::<Vec<u8>>::read_npy(&claim("|S0")[..]).unwrap_err().is_limit());
    assert!(ArrayD::<Chars<3>>::read_npy(&claim("<U0")[..]).unwrap_err().is_limit());
    // These take none, but visiting them would not end.
    let bytes = claim("|V0");
    assert!(ArrayD::<Void<0>>::read_npy(&bytes[..]).unwrap_err().is_limit());
    let stream = crate::support::routes::ChunkedReader::new(&bytes, |_| 5);
    assert!(ArrayD::<Void<0>>::read_npy(stream).unwrap_err().is_limit());
}

/// All ways to read have the same limit, and a shape without elements has none.
#[test]
fn elements_without_bytes_are_limited_on_all_routes() {
    const MOST: usize = 1 << 20;
    let mut tried = 0;
    for (shape, is_over) in [(vec![1000], false), (vec![MOST + 1], true), (vec![MOST + 1, 0], false)] {
        let dims = shape.iter().map(|length| format!("{length}, ")).collect::<String>();
        let bytes = file(&format!("{{'descr': '|V0', 'fortran_order': False, 'shape': ({dims}), }}"), &[]);
        let header = routes::Header { shape: &shape, byte_order: None, data_offset: bytes.len() };
        for route in routes::ALL {
            let Some(read) = routes::read::<Void<0>>(*route, &bytes, header) else { continue };
            let limited = read.as_ref().is_err_and(|error| error.is_limit());
            assert_eq!(limited, is_over, "{route:?} of {shape:?}: {read:?}");
            tried += 1;
        }
    }
    assert!(tried > 3 * 20, "{tried}");
    let most = file(&format!("{{'descr': '|V0', 'fortran_order': False, 'shape': ({MOST},), }}"), &[]);
    assert_eq!(ArrayD::<Void<0>>::read_npy(&most[..]).unwrap().len(), MOST);
}

#[test]
fn x87_long_doubles_convert_to_numpys_doubles() {
    let mut seen = 0;
    for case in manifest::npy_cases(&manifest::testdata()) {
        let Some(expected) = case.line["as_f8"].as_array() else { continue };
        let array: Array1<LongDouble> = read_npy(&case.path).unwrap();
        let found: Vec<_> = array.iter().map(|item| item.to_f64(LongDoubleFormat::X87)).collect();
        for (found, expected) in found.iter().zip(expected) {
            let expected = u64::from_str_radix(expected.as_str().unwrap(), 16).unwrap();
            let is_nan = found.is_nan() && f64::from_bits(expected).is_nan();
            assert!(is_nan || found.to_bits() == expected, "{found:e} is not {:e}", f64::from_bits(expected));
            seen += 1;
        }
    }
    assert_eq!(seen, 24);
}

/// Quads have the bytes of Python's `numpy.longdouble` where it is IEEE 754 binary128.
#[test]
fn quad_floats_round_to_nearest_double() {
    let quad = |sign: u128, exponent: u128, fraction: u128| {
        LongDouble::from_le_bytes((sign << 127 | exponent << 112 | fraction).to_le_bytes())
            .to_f64(LongDoubleFormat::Quad)
    };
    assert_eq!(quad(0, 16383, 0), 1.0);
    assert_eq!(quad(1, 16384, 1 << 111), -3.0);
    assert_eq!(quad(0, 0, 1), 0.0);
    assert_eq!(quad(1, 0, 0).to_bits(), (-0.0f64).to_bits());
    assert_eq!(quad(0, 0x7FFF, 0), f64::INFINITY);
    assert!(quad(0, 0x7FFF, 1).is_nan());
    assert_eq!(quad(0, 16383 + 1024, 0), f64::INFINITY);
    assert_eq!(quad(0, 16383 + 1023, (1 << 112) - 1), f64::INFINITY);
    assert_eq!(quad(0, 16383 + 1023, ((1 << 52) - 1) << 60), f64::MAX);
    // Ties round to even, and the lowest bit decides if the value is not exactly halfway.
    assert_eq!(quad(0, 16383, 1 << 59), 1.0);
    assert_eq!(quad(0, 16383, 1 << 59 | 1), 1.0 + f64::EPSILON);
    assert_eq!(quad(0, 16383, 3 << 59), 1.0 + 2.0 * f64::EPSILON);
    // Subnormal numbers.
    assert_eq!(quad(0, 16383 - 1074, 0), f64::from_bits(1));
    assert_eq!(quad(0, 16383 - 1075, 0), 0.0);
    assert_eq!(quad(0, 16383 - 1075, 1), f64::from_bits(1));
    assert_eq!(quad(0, 16383 - 1076, u128::MAX >> 16), 0.0);
    assert_eq!(quad(0, 16383 - 1023, (1 << 112) - 1), f64::MIN_POSITIVE);
}

#[test]
fn times_convert_to_system_time_and_back() {
    let at = |seconds: i64| match seconds {
        0.. => SystemTime::UNIX_EPOCH + Duration::from_secs(seconds as u64),
        _ => SystemTime::UNIX_EPOCH - Duration::from_secs(seconds.unsigned_abs()),
    };
    // np.array([...], "M8[Y]").astype("M8[s]").astype(int) and the like, of NumPy 2.4
    for (years, seconds) in
        [(0, 0), (30, 946_684_800), (54, 1_704_067_200), (-70, -2_208_988_800), (130, 4_102_444_800)]
    {
        assert_eq!(SystemTime::try_from(Datetime64::<units::Year>::new(years)).unwrap(), at(seconds));
    }
    for (months, seconds) in
        [(1, 2_678_400), (2, 5_097_600), (-1, -2_678_400), (361, 949_363_200), (362, 951_868_800)]
    {
        assert_eq!(SystemTime::try_from(Datetime64::<units::Month>::new(months)).unwrap(), at(seconds));
    }
    assert_eq!(SystemTime::try_from(Datetime64::<units::Week>::new(-2)).unwrap(), at(-1_209_600));
    assert_eq!(SystemTime::try_from(Datetime64::<units::Times<25, units::Second>>::new(3)).unwrap(), at(75));
    assert_eq!(Datetime64::<units::Millisecond>::try_from(at(-5)).unwrap().ticks(), Some(-5000));
    assert_eq!(Datetime64::<units::Day>::try_from(at(86_400 * 3)).unwrap().ticks(), Some(3));
    assert_eq!(
        Timedelta64::<units::Nanosecond>::try_from(Duration::from_millis(2)).unwrap().ticks(),
        Some(2_000_000)
    );
    assert_eq!(
        Duration::try_from(Timedelta64::<units::Picosecond>::new(5000)).unwrap(),
        Duration::from_nanos(5)
    );
}

#[test]
fn times_that_do_not_fit_are_errors() {
    let is_range = |error: ndarray_io::Error| error.kind() == ErrorKind::NotConvertible;
    // The clock of Windows has a resolution of 100 nanoseconds.
    let exact = SystemTime::try_from(Datetime64::<units::Nanosecond>::new(1_100));
    assert_eq!(exact.unwrap(), SystemTime::UNIX_EPOCH + Duration::from_nanos(1_100));
    let fine = SystemTime::try_from(Datetime64::<units::Nanosecond>::new(1_101));
    match cfg!(windows) {
        true => assert!(is_range(fine.unwrap_err())),
        false => assert_eq!(fine.unwrap(), SystemTime::UNIX_EPOCH + Duration::from_nanos(1_101)),
    }
    assert!(is_range(SystemTime::try_from(Datetime64::<units::Second>::NAT).unwrap_err()));
    assert!(is_range(SystemTime::try_from(Datetime64::<units::Generic>::new(1)).unwrap_err()));
    assert!(is_range(SystemTime::try_from(Datetime64::<units::Picosecond>::new(1)).unwrap_err()));
    assert!(is_range(SystemTime::try_from(Datetime64::<units::Year>::new(i64::MAX)).unwrap_err()));
    assert!(is_range(SystemTime::try_from(Datetime64::<units::Week>::new(i64::MIN + 1)).unwrap_err()));
    assert!(is_range(Duration::try_from(Timedelta64::<units::Second>::new(-1)).unwrap_err()));
    assert!(is_range(Duration::try_from(Timedelta64::<units::Month>::new(1)).unwrap_err()));
    let far = SystemTime::UNIX_EPOCH + Duration::from_secs(10_000_000_000);
    assert!(is_range(Datetime64::<units::Nanosecond>::try_from(far).unwrap_err()));
    assert!(is_range(Datetime64::<units::Day>::try_from(far).unwrap_err()), "it is no whole day");
    assert!(is_range(Timedelta64::<units::Attosecond>::try_from(Duration::MAX).unwrap_err()));
}

#[test]
fn datetime_read_in_other_unit_is_refused() {
    let bytes = little_endian_npy(&arr1(&[Datetime64::<units::Second>::new(5), Datetime64::NAT]));
    let read: Array1<Datetime64<units::Second>> = Array1::read_npy(&bytes[..]).unwrap();
    assert_eq!(format!("{read:?}").split(", shape").next().unwrap(), "[5[s], NaT]");
    let error = Array1::<Datetime64<units::Millisecond>>::read_npy(&bytes[..]).unwrap_err();
    assert_eq!(
        error.help().unwrap().to_string(),
        "read it as Datetime64<units::Second>, or convert it with ReadOptions::casting"
    );
    assert!(Array1::<Timedelta64<units::Second>>::read_npy(&bytes[..]).unwrap_err().is_mismatch());
}

/// ml_dtypes 0.5 with NumPy 2.4: np.array([1, -2.5, nan], ml_dtypes.bfloat16).view("u2")
#[cfg(feature = "half-2")]
#[test]
fn raw_bytes_are_read_as_requested_bfloat16() {
    let header = "{'descr': '<V2', 'fortran_order': False, 'shape': (3,), }";
    let bytes = file(header, &[0x80, 0x3F, 0x20, 0xC0, 0xC0, 0x7F]);
    let read: Array1<half::bf16> = Array1::read_npy(&bytes[..]).unwrap();
    assert_eq!((read[0].to_f32(), read[1].to_f32(), read[2].is_nan()), (1.0, -2.5, true));
    assert!(little_endian_npy(&read).ends_with(&[0x80, 0x3F, 0x20, 0xC0, 0xC0, 0x7F]));
    assert!(Array1::<half::f16>::read_npy(&bytes[..]).unwrap_err().is_mismatch());
}

#[cfg(feature = "chrono-0_4")]
#[test]
fn times_convert_to_chrono_and_back() {
    use chrono_0_4::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
    // np.datetime64(54, "Y") is 2024; np.datetime64(-1, "ns") is 1969-12-31T23:59:59.999999999
    let new_year = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap().and_hms_opt(0, 0, 0).unwrap();
    assert_eq!(NaiveDateTime::try_from(Datetime64::<units::Year>::new(54)).unwrap(), new_year);
    assert_eq!(Datetime64::<units::Day>::try_from(new_year).unwrap().ticks(), Some(19_723));
    let before: DateTime<Utc> = Datetime64::<units::Nanosecond>::new(-1).try_into().unwrap();
    assert_eq!(before.to_string(), "1969-12-31 23:59:59.999999999 UTC");
    assert_eq!(Datetime64::<units::Nanosecond>::try_from(before).unwrap().ticks(), Some(-1));
    assert!(Datetime64::<units::Microsecond>::try_from(before).is_err(), "nothing is rounded");
    assert!(DateTime::<Utc>::try_from(Datetime64::<units::Week>::new(i64::MAX)).is_err());
    assert_eq!(
        TimeDelta::try_from(Timedelta64::<units::Millisecond>::new(-1500)).unwrap(),
        TimeDelta::milliseconds(-1500)
    );
    assert_eq!(
        Timedelta64::<units::Microsecond>::try_from(TimeDelta::milliseconds(-1500)).unwrap().ticks(),
        Some(-1_500_000)
    );
    assert!(TimeDelta::try_from(Timedelta64::<units::Second>::NAT).is_err());
}

#[cfg(feature = "jiff-0_2")]
#[test]
fn times_convert_to_jiff_and_back() {
    use jiff_0_2::{SignedDuration, Timestamp};
    let new_year: Timestamp = "2024-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(Timestamp::try_from(Datetime64::<units::Year>::new(54)).unwrap(), new_year);
    assert_eq!(Datetime64::<units::Day>::try_from(new_year).unwrap().ticks(), Some(19_723));
    let before = Timestamp::try_from(Datetime64::<units::Nanosecond>::new(-1)).unwrap();
    assert_eq!(before.to_string(), "1969-12-31T23:59:59.999999999Z");
    assert!(Datetime64::<units::Microsecond>::try_from(before).is_err(), "nothing is rounded");
    assert!(
        Timestamp::try_from(Datetime64::<units::Year>::new(8030)).is_err(),
        "jiff ends with the year 9999"
    );
    let length = SignedDuration::from_millis(-1500);
    assert_eq!(SignedDuration::try_from(Timedelta64::<units::Millisecond>::new(-1500)).unwrap(), length);
    assert_eq!(Timedelta64::<units::Microsecond>::try_from(length).unwrap().ticks(), Some(-1_500_000));
    assert!(SignedDuration::try_from(Timedelta64::<units::Week>::new(i64::MAX)).is_err());
}
