//! Converts between text and numbers, and between texts, in the spelling of NumPy.

use std::borrow::Cow;

use num_complex::Complex;

use super::Recode;
use crate::bytes::AsChunks;
use crate::dtype::{ByteOrder, Kind, Scalar, TimeStep, TimeUnit};
use crate::elements::bytes::write_padded;
use crate::elements::swap::{swap_unit_of, swap_units};
use crate::elements::text::{text, trimmed_utf8, write_code_points};
use crate::elements::time::{NAT, dates, iso_datetime};
use crate::elements::without_trailing_nuls;
use crate::error::{ElementFault, Error, Fault, Result};

/// Returns the width in characters of a text or byte string dtype, or `None` for any other dtype.
pub(super) fn width(scalar: &Scalar) -> Option<usize> {
    match scalar.kind() {
        Kind::Text => Some(scalar.size() / 4),
        Kind::Bytes => Some(scalar.size()),
        _ => None,
    }
}

/// Returns the width that NumPy reserves for numbers of a type.
///
/// Every number fits. For some types, the width is larger than necessary.
pub(super) fn reserved_width(number: &Scalar) -> Option<usize> {
    Some(match (number.kind(), number.size()) {
        (Kind::Bool, _) => 5,
        (Kind::Int, 1) => 4,
        (Kind::Int, 2) => 6,
        (Kind::Int, 4) => 11,
        (Kind::Int, 8) => 21,
        (Kind::Uint, 1) => 3,
        (Kind::Uint, 2) => 5,
        (Kind::Uint, 4) => 10,
        (Kind::Uint, 8) => 20,
        (Kind::Float, 2 | 4 | 8) => 32,
        (Kind::Complex, 8 | 16) => 64,
        (Kind::Datetime(step), _) => match step.unit {
            TimeUnit::Year => 22,
            TimeUnit::Month => 25,
            TimeUnit::Week | TimeUnit::Day => 28,
            TimeUnit::Hour => 32,
            TimeUnit::Minute => 35,
            TimeUnit::Second => 38,
            TimeUnit::Millisecond => 42,
            TimeUnit::Microsecond => 45,
            TimeUnit::Nanosecond => 48,
            TimeUnit::Picosecond => 51,
            TimeUnit::Femtosecond => 54,
            TimeUnit::Attosecond => 57,
            TimeUnit::Generic => 4, // only NaT has a form as text
        },
        (Kind::Timedelta(_), _) => 21, // some are longer, which NumPy truncates
        _ => return None,
    })
}

/// Returns the width of text, or that which NumPy reserves for another type.
pub(super) fn default_width(scalar: &Scalar) -> Option<usize> {
    width(scalar).or_else(|| reserved_width(scalar))
}

/// Returns a width that suffices for every element of a type.
pub(super) fn sufficient_width(scalar: &Scalar) -> Option<usize> {
    let least = match scalar.kind() {
        Kind::Datetime(_) | Kind::Timedelta(_) => 80,
        _ => 0,
    };
    default_width(scalar).map(|width| width.max(least))
}

pub(super) fn recoder(from: &Scalar, to: &Scalar) -> Option<Recode> {
    match (width(from), width(to)) {
        (Some(1..), Some(0)) => None, // nothing would fit
        (Some(_), Some(_)) if from.kind() == Kind::Bytes && to.kind() == Kind::Bytes => {
            Some(unit_recoder::<1>(*from, *to))
        }
        (Some(_), Some(_)) if from.kind() == Kind::Text && to.kind() == Kind::Text => {
            Some(unit_recoder::<4>(*from, *to))
        }
        (Some(_), Some(_)) => {
            let (from, to) = (*from, *to);
            Some(text_recoder(from, to.size(), move |text, into| write_text(&text, &to, into)))
        }
        (Some(_), None) => {
            // `reserved_width` is `None` for types that cannot be converted to or from text. A date in text has a unit.
            reserved_width(to).filter(|_| to.kind() != Kind::Datetime(TimeStep::GENERIC))?;
            let (from, to, size) = (*from, *to, to.size());
            let native = to.with_order(ByteOrder::NATIVE);
            Some(text_recoder(from, size, move |text, into| {
                read(&text, &native, into)?;
                if to.is_foreign() {
                    swap_units(into, swap_unit_of(&to));
                }
                Ok(())
            }))
        }
        (None, Some(0)) => None,
        (None, Some(_)) => {
            reserved_width(from)?;
            let (from, to) = (*from, *to);
            Some(Box::new(move |items, made| {
                if from.is_foreign() {
                    swap_units(items, swap_unit_of(&from));
                }
                let pairs = items.chunks_exact(from.size()).zip(made.chunks_exact_mut(to.size().max(1)));
                for (index, (item, into)) in pairs.enumerate() {
                    let text = format_number(&from, item).map_err(|error| error.at_element(index))?;
                    write_text(&text, &to, into).map_err(|error| error.at_element(index))?;
                }
                Ok(())
            }))
        }
        (None, None) => None,
    }
}

/// Returns the conversion of texts or byte strings to another width, unit by unit, whether or not the units of `N` bytes are
/// characters.
fn unit_recoder<const N: usize>(from: Scalar, to: Scalar) -> Recode
where
    [u8; N]: Default,
{
    Box::new(move |items, made| {
        if from.is_foreign() != to.is_foreign() {
            swap_units(items, N);
        }
        let (size, width) = (from.size(), to.size() / N);
        for (index, into) in made.chunks_exact_mut(to.size().max(1)).enumerate() {
            let text = without_trailing_nuls(items[index * size..][..size].chunks_of::<N>());
            if text.len() > width {
                let (length, width) = (text.len() as u64, width as u64);
                return Err(Error::from(Fault::TextTooLong { length, width }).at_element(index));
            }
            write_padded(text.as_flattened(), into);
        }
        Ok(())
    })
}

/// Returns a conversion that calls `make` for each text to write an element of `size` bytes.
fn text_recoder(
    from: Scalar,
    size: usize,
    make: impl Fn(Cow<'_, str>, &mut [u8]) -> Result<()> + Send + Sync + 'static,
) -> Recode {
    Box::new(move |items, made| {
        let count = made.len().checked_div(size).unwrap_or(0);
        for index in 0..count {
            let item = &mut items[index * from.size()..][..from.size()];
            let into = &mut made[index * size..][..size];
            decode_text(item, &from)
                .and_then(|text| make(text, into))
                .map_err(|error| error.at_element(index))?;
        }
        Ok(())
    })
}

/// Decodes the text in an item of a file, whose bytes are swapped in place if necessary.
fn decode_text<'a>(item: &'a mut [u8], scalar: &Scalar) -> Result<Cow<'a, str>> {
    if scalar.kind() == Kind::Bytes {
        return Ok(trimmed_utf8(item)?.into());
    }
    if scalar.is_foreign() {
        swap_units(item, 4);
    }
    let codes = without_trailing_nuls(item.chunks_of::<4>()).iter().map(|code| u32::from_ne_bytes(*code));
    Ok(text(codes)?.into())
}

fn write_text(text: &str, scalar: &Scalar, into: &mut [u8]) -> Result<()> {
    let width = width(scalar).unwrap_or(0);
    let length = if scalar.kind() == Kind::Bytes { text.len() } else { text.chars().count() };
    if length > width {
        return Err(Fault::TextTooLong { length: length as u64, width: width as u64 }.into());
    }
    if scalar.kind() == Kind::Bytes {
        // NumPy encodes text as ASCII when it casts from `U` to `S`.
        if let Some(char) = text.chars().find(|char| !char.is_ascii()) {
            let reason = format!("expected ASCII text for a string of bytes, found {char:?} in {text:?}");
            return Err(Fault::NotConvertible { reason }.into());
        }
        write_padded(text.as_bytes(), into);
    } else {
        write_code_points(text, scalar.is_foreign(), into);
    }
    Ok(())
}

/// Formats a native-endian number as Python's `str` formats the NumPy scalar.
pub(crate) fn format_number(scalar: &Scalar, item: &[u8]) -> Result<String> {
    macro_rules! number {
        ($type:ty) => {
            bytemuck::pod_read_unaligned::<$type>(item)
        };
    }
    Ok(match (scalar.kind(), scalar.size()) {
        (Kind::Bool, _) => match item[0] {
            0 => "False".into(),
            1 => "True".into(),
            found => return Err(Fault::InvalidElement(ElementFault::Bool { found }).into()),
        },
        (Kind::Int, 1) => number!(i8).to_string(),
        (Kind::Int, 2) => number!(i16).to_string(),
        (Kind::Int, 4) => number!(i32).to_string(),
        (Kind::Int, _) => number!(i64).to_string(),
        (Kind::Uint, 1) => number!(u8).to_string(),
        (Kind::Uint, 2) => number!(u16).to_string(),
        (Kind::Uint, 4) => number!(u32).to_string(),
        (Kind::Uint, _) => number!(u64).to_string(),
        // NumPy switches to an exponent at 1e3 for halves, at 1e6 for singles and at 1e16 for doubles.
        (Kind::Float, 2) => {
            let half = half_to_single(number!(u16));
            format_float(shortest_half(half), half.into(), 1e3, ".0")
        }
        (Kind::Float, 4) => format_f32(number!(f32), ".0"),
        (Kind::Float, 8) => format_f64(number!(f64), ".0"),
        (Kind::Complex, 8) => {
            let number = number!(Complex<f32>);
            join_parts(&format_f32(number.re, ""), &format_f32(number.im, ""), is_positive_zero(number.re))
        }
        (Kind::Complex, _) => format_complex(number!(Complex<f64>)),
        (Kind::Datetime(_) | Kind::Timedelta(_), 8) if number!(i64) == NAT => "NaT".into(),
        (Kind::Datetime(step), 8) if step.unit != TimeUnit::Generic => {
            iso_datetime(number!(i64).into(), step)
        }
        (Kind::Timedelta(step), 8) => {
            format!("{} {}", i128::from(number!(i64)) * i128::from(step.count), step.unit.plural())
        }
        _ => return Err(Fault::NotConvertible { reason: format!("{scalar} has no form as text") }.into()),
    })
}

fn is_positive_zero(number: impl num_traits::Float) -> bool {
    number.is_zero() && number.is_sign_positive()
}

fn format_f32(number: f32, end: &str) -> String {
    let shortest = format!("{number:e}");
    let even = |digits: usize| format!("{number:.digits$e}");
    let is_same = |text: &str| text.parse() == Ok(number);
    format_float(prefer_even_digits(shortest, even, is_same), f64::from(number), 1e6, end)
}

/// Formats a float as Python's `repr` does; an integral number without an exponent ends in `end`.
pub(crate) fn format_f64(number: f64, end: &str) -> String {
    let shortest = format!("{number:e}");
    let even = |digits: usize| format!("{number:.digits$e}");
    let is_same = |text: &str| text.parse() == Ok(number);
    format_float(prefer_even_digits(shortest, even, is_same), number, 1e16, end)
}

/// Returns the shortest digits. If two candidates are equally close, the even one is chosen, as in Python.
fn prefer_even_digits(
    shortest: String,
    even: impl FnOnce(usize) -> String,
    is_same: impl FnOnce(&str) -> bool,
) -> String {
    let digits = shortest.split('e').next().unwrap_or("").bytes().filter(u8::is_ascii_digit).count();
    let even = even(digits.saturating_sub(1));
    if is_same(&even) { even } else { shortest }
}

/// Formats a complex number as Python and NumPy do.
pub(crate) fn format_complex(number: Complex<f64>) -> String {
    let part = |part| format_f64(part, "");
    join_parts(&part(number.re), &part(number.im), is_positive_zero(number.re))
}

fn join_parts(re: &str, im: &str, is_imaginary: bool) -> String {
    let sign = if im.starts_with('-') { "" } else { "+" };
    if is_imaginary { format!("{im}j") } else { format!("({re}{sign}{im}j)") }
}

/// Returns the fewest digits that identify a float of 16 bits, in Rust's scientific notation.
pub(crate) fn shortest_half(number: f32) -> String {
    let exact = f64::from(number);
    if exact == 0.0 || !exact.is_finite() {
        return format!("{exact:e}");
    }
    // What is nearer than half of the distance to the next float is read as this one, and so is what is exactly there,
    // if the fraction is even. Below a power of two, the floats are closer to each other.
    let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).max(-14);
    let above = power_of_two(exponent - 11);
    let is_power = exact.to_bits() << 12 == 0 && exponent > -14;
    let below = if is_power { above / 2.0 } else { above };
    let is_even = (exact / power_of_two(exponent - 10)) % 2.0 == 0.0;
    let is_same = |text: &str| {
        let off = text.parse::<f64>().unwrap_or(f64::NAN).abs() - exact.abs();
        -off < below && off < above || is_even && (-off == below || off == above)
    };
    // If the nearest number with these digits is too low, the next one may do.
    let next = |digits: usize| {
        let step = 10f64.powi(exact.abs().log10().floor() as i32 - digits as i32) / 2.0;
        format!("{:.digits$e}", exact + step.copysign(exact))
    };
    // Five significant digits are enough to identify any float of 16 bits.
    let mut candidates = (0..6).flat_map(|digits| [format!("{exact:.digits$e}"), next(digits)]);
    candidates.find(|text| is_same(text)).unwrap_or_else(|| format!("{exact:e}"))
}

/// Exactly, which `powi` does not promise.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Returns the number that the fewest digits of a float of 16 bits say.
pub(crate) fn half_as_printed(number: f32) -> f64 {
    shortest_half(number).parse().unwrap_or(number.into())
}

/// Converts a 16-bit float to the `f32` of the same value.
pub(crate) fn half_to_single(bits: u16) -> f32 {
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1F), u32::from(bits & 0x3FF));
    let value = match exponent {
        0 => fraction as f32 / 16_777_216.0, // in units of 2⁻²⁴
        0x1F => f32::from_bits(0x7F80_0000 | fraction << 13),
        // The exponents are biased by 15 and by 127, which differ by 112.
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if bits >> 15 == 1 { -value } else { value }
}

/// Formats a float from its shortest digits.
///
/// The result has an exponent if the magnitude of the number is at least `large`, or below 0.0001 but not 0.
/// Otherwise, an integral number ends in `end`.
fn format_float(scientific: String, number: f64, large: f64, end: &str) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let size = number.abs();
    if size >= large || (size != 0.0 && size < 1e-4) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let digits = digits.replace('.', "");
    let point = usize::try_from(exponent).map_or(0, |exponent| exponent + 1);
    match digits.len() {
        _ if exponent < 0 => {
            let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
            format!("{sign}0.{zeros}{digits}")
        }
        len if len <= point => format!("{sign}{digits}{}{end}", "0".repeat(point - len)),
        _ => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
    }
}

/// Parses an element of eight bytes, in native byte order.
pub(in crate::elements) fn parse_item(text: &str, scalar: &Scalar) -> Result<[u8; 8]> {
    let mut made = [0; 8];
    // A date in text has a unit.
    match scalar.kind() == Kind::Datetime(TimeStep::GENERIC) && !is_nat(text) {
        true => Err(text_mismatch(text, scalar)),
        false => read(text, scalar, &mut made).map(|()| made),
    }
}

fn read(text: &str, native: &Scalar, into: &mut [u8]) -> Result<()> {
    parse_number(text, native, into).ok_or_else(|| text_mismatch(text, native))
}

fn text_mismatch(text: &str, scalar: &Scalar) -> Error {
    let reason = format!("expected the text of {scalar}, found {text:?}");
    Fault::NotConvertible { reason }.into()
}

/// Parses a number as Python does, and writes it in native byte order.
fn parse_number(text: &str, scalar: &Scalar, into: &mut [u8]) -> Option<()> {
    macro_rules! put {
        ($number:expr) => {
            into.copy_from_slice(bytemuck::bytes_of(&$number))
        };
    }
    match (scalar.kind(), scalar.size()) {
        (Kind::Bool, _) => into[0] = u8::from(!text.is_empty()), // any text but the empty one is true
        (Kind::Int | Kind::Uint, size) => {
            let number: i128 = without_underscores(text.trim())?.parse().ok()?;
            match (scalar.kind(), size) {
                (Kind::Int, 1) => put!(i8::try_from(number).ok()?),
                (Kind::Int, 2) => put!(i16::try_from(number).ok()?),
                (Kind::Int, 4) => put!(i32::try_from(number).ok()?),
                (Kind::Int, _) => put!(i64::try_from(number).ok()?),
                (_, 1) => put!(u8::try_from(number).ok()?),
                (_, 2) => put!(u16::try_from(number).ok()?),
                (_, 4) => put!(u32::try_from(number).ok()?),
                _ => put!(u64::try_from(number).ok()?),
            }
        }
        #[cfg(feature = "half-2")]
        (Kind::Float, 2) => put!(super::numbers::nearest_half(trim_and_parse_float(text)?)),
        (Kind::Float, 4) => put!(trim_and_parse_float(text)? as f32),
        (Kind::Float, 8) => put!(trim_and_parse_float(text)?),
        (Kind::Complex, 8) => {
            let (re, im) = parse_complex(text)?;
            put!(Complex::new(re as f32, im as f32));
        }
        (Kind::Complex, 16) => {
            let (re, im) = parse_complex(text)?;
            put!(Complex::new(re, im));
        }
        (Kind::Datetime(_) | Kind::Timedelta(_), _) if is_nat(text) => put!(NAT),
        (Kind::Datetime(step), _) => put!(dates::parse(text, step)?),
        (Kind::Timedelta(_), _) => put!(text.parse::<i64>().ok()?),
        _ => return None,
    }
    Some(())
}

fn is_nat(text: &str) -> bool {
    text.is_empty() || text.eq_ignore_ascii_case("NaT")
}

/// Removes Python's underscores; returns `None` if one of them is not between two digits.
fn without_underscores(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(text.into());
    }
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_between =
        |(at, byte): (usize, &u8)| *byte != b'_' || (at > 0 && is_digit(at - 1) && is_digit(at + 1));
    bytes.iter().enumerate().all(is_between).then(|| text.replace('_', "").into())
}

fn trim_and_parse_float(text: &str) -> Option<f64> {
    parse_float(text.trim())
}

fn parse_float(text: &str) -> Option<f64> {
    without_underscores(text)?.parse().ok()
}

/// Parses a complex number: `1+2j`, `(1+2j)`, `2j`, `j` or `1`.
fn parse_complex(text: &str) -> Option<(f64, f64)> {
    let text = text.trim();
    let text = match text.strip_prefix('(') {
        Some(rest) => rest.strip_suffix(')')?.trim(),
        None => text,
    };
    let Some(rest) = text.strip_suffix(['j', 'J']) else { return Some((parse_float(text)?, 0.0)) };
    // The sign between the parts is neither the first character nor the sign of an exponent.
    let bytes = rest.as_bytes();
    let is_sign = |at: &usize| matches!(bytes[*at], b'+' | b'-') && !matches!(bytes[at - 1], b'e' | b'E');
    let parting = (1..bytes.len()).rev().find(is_sign);
    let (re, im) = parting.map_or((0.0.into(), rest), |at| (parse_float(&rest[..at]), &rest[at..]));
    let im = match im {
        "" | "+" => Some(1.0),
        "-" => Some(-1.0),
        im => parse_float(im),
    };
    Some((re?, im?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts are the output of NumPy 2.4's `astype('U')`.
    #[test]
    fn floats_are_spelled_as_numpy_does() {
        let doubles = [
            (1e16, "1e+16"),
            (1.5, "1.5"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (123456789.123, "123456789.123"),
            (f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (-0.0, "-0.0"),
            (5e-324, "5e-324"),
            (1e15, "1000000000000000.0"),
            (0.00125, "0.00125"),
            (1.0 / 33_554_432.0, "2.9802322387695312e-08"),
            (-2049.0, "-2049.0"),
            (1e22, "1e+22"),
            (9007199254740992.0, "9007199254740992.0"),
        ];
        for (number, text) in doubles {
            assert_eq!(format_f64(number, ".0"), text);
        }
        let singles = [
            (1e5, "100000.0"),
            (123456.0, "123456.0"),
            (1e6, "1e+06"),
            (1234567.0, "1.234567e+06"),
            (0.0001, "1e-04"),
            (0.00012, "0.00012"),
            (1.0 / 4096.0, "0.00024414062"),
            (16777216.0, "1.6777216e+07"),
            (3.4e38, "3.4e+38"),
            (9007199254740992.0, "9.007199e+15"),
        ];
        for (number, text) in singles {
            assert_eq!(format_f32(number, ".0"), text);
        }
        for (number, text) in [
            (100.0f32, "100.0"),
            (1000.0, "1e+03"),
            (0.099975586, "0.1"),
            (0.000_100_016_594, "0.0001"),
            (2048.0, "2.048e+03"),
            (65504.0, "6.55e+04"),
            (5.9604645e-8, "6e-08"),
            (0.015625, "0.01563"),
        ] {
            assert_eq!(format_float(shortest_half(number), number.into(), 1e3, ".0"), text);
        }
        let complex = |re: f64, im: f64| format_complex(Complex::new(re, im));
        assert_eq!(complex(1.0, 2.0), "(1+2j)");
        assert_eq!(complex(1e8, 1.0), "(100000000+1j)");
        assert_eq!(complex(f64::INFINITY, -1.0), "(inf-1j)");
        assert_eq!(complex(1.0, f64::NAN), "(1+nanj)");
        assert_eq!((complex(0.0, -0.0), complex(-0.0, 2.0)), ("-0j".into(), "(-0+2j)".into()));
    }

    /// The results are those of Python 3.13.
    #[test]
    fn numbers_are_read_as_python_does() {
        for (text, number) in [
            ("1_000", Some("1000")),
            ("1__0", None),
            ("_1", None),
            ("1_", None),
            ("+_1", None),
            ("-0", Some("-0")),
        ] {
            assert_eq!(without_underscores(text).as_deref(), number, "{text}");
        }
        assert_eq!(trim_and_parse_float("1_0.5"), Some(10.5));
        assert_eq!(trim_and_parse_float("Infinity"), Some(f64::INFINITY));
        let complex = [
            ("1+2j", Some((1.0, 2.0))),
            ("j", Some((0.0, 1.0))),
            ("-j", Some((0.0, -1.0))),
            (" 1 + 2j", None),
            ("(1+2j)", Some((1.0, 2.0))),
            ("1_0j", Some((0.0, 10.0))),
            ("+1-1J", Some((1.0, -1.0))),
            ("1e5+2e-3j", Some((1e5, 0.002))),
            ("(1)", Some((1.0, 0.0))),
            ("()", None),
            ("1+", None),
            ("2j+1", None),
        ];
        for (text, number) in complex {
            assert_eq!(parse_complex(text.trim()), number, "{text}");
        }
    }
}
