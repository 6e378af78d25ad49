//! Element types as values: text, arithmetic and other units. The expected results are NumPy's.

use ndarray_io::element::units::*;
use ndarray_io::element::{Bytes, Chars, Datetime64, LongDouble, Timedelta64, Void};
use ndarray_io::error::ErrorKind;

type TwentyFiveSeconds = Times<25, Second>;

#[test]
fn times_format_and_parse_as_in_numpy() {
    // str(np.datetime64(-1, "25s")), and so on
    assert_eq!(Datetime64::<TwentyFiveSeconds>::new(-1).to_string(), "1969-12-31T23:59:35");
    assert_eq!(Timedelta64::<TwentyFiveSeconds>::new(5).to_string(), "125 seconds");
    assert_eq!(Timedelta64::<Week>::new(-3).to_string(), "-3 weeks");
    assert_eq!(Timedelta64::<Generic>::new(7).to_string(), "7 generic time units");
    assert_eq!(Timedelta64::<Second>::NAT.to_string() + &Datetime64::<Day>::NAT.to_string(), "NaTNaT");
    assert_eq!(Datetime64::<Generic>::new(7).to_string(), "7[generic]"); // NumPy prints none
    assert_eq!(format!("[{:>12}]", Datetime64::<Year>::new(54)), "[        2024]");
    // np.datetime64("2024-02-29T12:30:15.5").astype("M8[25s]").view("i8"), and in nanoseconds
    assert_eq!(
        "2024-02-29T12:30:15.5".parse::<Datetime64<TwentyFiveSeconds>>().unwrap().ticks(),
        Some(68_368_392)
    );
    let nanos: Datetime64<Nanosecond> = "2024-02-29T12:30".parse().unwrap();
    assert_eq!(nanos.ticks(), Some(1_709_209_800_000_000_000));
    assert!("NaT".parse::<Datetime64<Generic>>().unwrap().is_nat());
    assert_eq!(Timedelta64::<Hour>::try_from("-12").unwrap().ticks(), Some(-12));
    for text in ["2024-02-30", "5 days", "", "now"] {
        let error = text.parse::<Timedelta64<Day>>().err().filter(|_| !text.is_empty());
        assert_eq!(error.is_some(), !text.is_empty(), "{text}"); // the empty text is "not a time"
        let error = text.parse::<Datetime64<Day>>().err();
        assert!(text.is_empty() || error.unwrap().kind() == ErrorKind::NotConvertible, "{text}");
    }
    assert!("2024".parse::<Datetime64<Generic>>().is_err());
}

#[test]
fn times_convert_between_units_as_in_numpy() {
    // np.datetime64(-1, "s").astype("M8[D]").view("i8"), np.timedelta64(-1, "s").astype("m8[m]").view("i8"), ...
    assert_eq!(Datetime64::<Second>::new(-1).in_unit::<Day>().unwrap().ticks(), Some(-1));
    assert_eq!(Timedelta64::<Second>::new(-1).in_unit::<Minute>().unwrap().ticks(), Some(-1));
    assert_eq!(Datetime64::<Day>::new(19_782).in_unit::<Year>().unwrap().ticks(), Some(54));
    assert_eq!(Datetime64::<Year>::new(54).in_unit::<Day>().unwrap().to_string(), "2024-01-01");
    assert!(Datetime64::<Year>::NAT.in_unit::<Day>().unwrap().is_nat());
    let error = Datetime64::<Day>::new(i64::MAX).in_unit::<Second>().unwrap_err();
    assert_eq!(error.element(), None);
    assert!(error.to_string().contains("is out of range for [s]"), "{error}");
    let error = Timedelta64::<Month>::new(1).in_unit::<Day>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotConvertible, "{error}");
}

#[test]
fn checked_time_arithmetic_keeps_nat_and_finds_overflow() {
    let day = |text: &str| text.parse::<Datetime64<Day>>().unwrap();
    let days = Timedelta64::<Day>::new;
    assert_eq!(day("2024-02-28").checked_add(days(2)), Some(day("2024-03-01")));
    assert_eq!(day("2024-03-01").checked_sub(days(2)), Some(day("2024-02-28")));
    assert_eq!(day("2025-01-01").checked_since(day("2024-01-01")), Some(days(366)));
    assert_eq!(days(3).checked_add(days(-5)).and_then(|sum| sum.checked_mul(3)), Some(days(-6)));
    assert_eq!(days(3).checked_sub(days(5)), Some(days(-2)));
    // "Not a time" stays so, and is not the result of anything else.
    assert_eq!(day("NaT").checked_add(days(1)), Some(Datetime64::NAT));
    assert_eq!(day("2024-01-01").checked_since(day("NaT")), Some(Timedelta64::NAT));
    assert_eq!(days(i64::MIN).checked_mul(0), Some(Timedelta64::NAT));
    assert_eq!(days(i64::MIN + 1).checked_sub(days(1)), None);
    assert_eq!(days(i64::MAX).checked_add(days(1)), None);
    assert_eq!(days(i64::MAX).checked_mul(2), None);
}

#[test]
fn text_and_byte_elements_parse_and_format() {
    assert_eq!("añb".parse::<Chars<3>>().unwrap().to_string(), "añb");
    let error = Chars::<2>::try_from("añb").unwrap_err();
    assert!(error.message().starts_with("text of length 3 exceeds the width of 2"), "{error}");
    assert_eq!("ab".parse::<Bytes<3>>().unwrap().as_ref(), b"ab");
    assert!("añb".parse::<Bytes<3>>().is_err());
    assert_eq!(Bytes::<3>::try_from(&b"a\xFF"[..]).unwrap().to_string(), "a\\xff");
    assert_eq!(format!("{:5}|", Bytes::<3>::new(b"ab").unwrap()), "ab   |");
    assert_eq!(Void([1, 0xAB]).to_string(), "0x01ab");
    assert_eq!(format!("{:?}", LongDouble::from_le_bytes([1; 16])), "0x01010101010101010101010101010101");
}

/// Times of others are rounded down on request; the ticks are those of `numpy.datetime64(…).astype`.
#[test]
fn system_and_chrono_times_are_rounded_down() {
    use std::time::{Duration, SystemTime};

    use ndarray_io::element::units::{Day, Generic, Hour, Month, Second, Week, Year};
    use ndarray_io::element::{Datetime64, Timedelta64};

    // On Windows, a tick of the system has 100 ns.
    let before = SystemTime::UNIX_EPOCH - Duration::from_nanos(100);
    assert!(Datetime64::<Second>::try_from(before).is_err());
    assert_eq!(Datetime64::<Second>::rounded_down(before).unwrap().to_string(), "1969-12-31T23:59:59");
    assert_eq!(Datetime64::<Day>::rounded_down(before).unwrap().ticks(), Some(-1));
    assert_eq!(Datetime64::<Week>::rounded_down(before).unwrap().ticks(), Some(-1));
    assert_eq!(Datetime64::<Month>::rounded_down(before).unwrap().to_string(), "1969-12");
    assert_eq!(Datetime64::<Year>::rounded_down(before).unwrap().to_string(), "1969");
    assert!(Datetime64::<Generic>::rounded_down(before).is_err());
    // 2024-02-29T12:34:56.789, and a year beyond the range of nanoseconds in 64 bits.
    let leap = SystemTime::UNIX_EPOCH + Duration::from_millis(1_709_210_096_789);
    assert_eq!(Datetime64::<Hour>::rounded_down(leap).unwrap().to_string(), "2024-02-29T12");
    assert_eq!(Datetime64::<Month>::rounded_down(leap).unwrap().to_string(), "2024-02");
    let far = SystemTime::UNIX_EPOCH + Duration::from_secs(40_000_000_000);
    assert_eq!(Datetime64::<Day>::rounded_down(far).unwrap().to_string(), "3237-07-19");
    assert!(Datetime64::<ndarray_io::element::units::Nanosecond>::rounded_down(far).is_err());
    assert_eq!(Timedelta64::<Hour>::rounded_down(Duration::from_secs(7199)).unwrap().ticks(), Some(1));
    assert!(Timedelta64::<Year>::rounded_down(Duration::from_secs(1)).is_err());
    #[cfg(feature = "chrono-0_4")]
    {
        let time = chrono_0_4::DateTime::from_timestamp(-1, 999_999_999).unwrap();
        assert_eq!(Datetime64::<Second>::rounded_down(time).unwrap().ticks(), Some(-1));
        let length = chrono_0_4::TimeDelta::milliseconds(-1);
        assert_eq!(Timedelta64::<Second>::rounded_down(length).unwrap().ticks(), Some(-1));
    }
}
