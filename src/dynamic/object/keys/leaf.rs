//! Keys without parts, in normalized form.

use std::borrow::Cow;

use num_bigint::BigInt;
use num_complex::Complex;
use num_traits::FromPrimitive;

use super::super::graph::{Id, Node, SlotContents};
use super::super::times::{Date, Time, Timedelta};
use super::super::{ObjectRef, Text, View};
use crate::dtype::{ByteOrder, DType, Kind, Scalar};
use crate::elements::without_trailing_nuls;

/// A key without parts, normalized so that keys that Python considers equal are equal.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Leaf<'a> {
    None,
    Int(i64),
    Big(Cow<'a, BigInt>),
    Float(u64),
    Complex(u64, u64),
    /// A decimal number that equals no integer or float: its sign, digits and power of ten.
    Digits(bool, String, i64),
    Text(Cow<'a, str>),
    Codes(Vec<u32>),
    Bytes(&'a [u8]),
    Date(Date),
    Time(Time),
    Datetime(Date, Time),
    Timedelta(Timedelta),
    Global(&'a str, &'a str),
    Scalar(&'a DType, &'a [u8]),
    Extension(u32),
    /// An object that is equal only to itself, as far as is known.
    Identity(Id),
}

impl Leaf<'_> {
    /// Returns whether Python does not consider the value equal to itself.
    pub(super) fn is_nan(&self) -> bool {
        let is_nan = |bits: u64| f64::from_bits(bits).is_nan();
        match self {
            Self::Float(bits) => is_nan(*bits),
            Self::Complex(re, im) => is_nan(*re) || is_nan(*im),
            Self::Digits(_, digits, _) => digits.to_ascii_lowercase().contains("nan"),
            Self::Scalar(dtype, bytes) => {
                dtype.as_scalar().is_some_and(|scalar| is_nat_or_long_double_nan(scalar, bytes))
            }
            _ => false,
        }
    }
}

/// Returns whether a scalar is NaT, or a `longdouble` or `clongdouble` that is not a number.
fn is_nat_or_long_double_nan(scalar: &Scalar, bytes: &[u8]) -> bool {
    let mut little = bytes.to_vec();
    if scalar.byte_order() == Some(ByteOrder::Big) {
        // Also exchanges the parts of a complex number, which does not matter here.
        little.reverse();
    }
    match scalar.kind() {
        Kind::Datetime(_) | Kind::Timedelta(_) => little == i64::MIN.to_le_bytes(),
        Kind::Float => is_long_double_nan(&little),
        Kind::Complex => little.chunks_exact((little.len() / 2).max(1)).any(is_long_double_nan),
        _ => false,
    }
}

/// Returns whether a `longdouble` is not a number in one of the formats that it may have.
///
/// The file does not say which. On x86, 10 bytes are the number, and what follows is not initialized; elsewhere
/// 16 bytes are. A number that is taken for a NaN by mistake is only not compared with other keys.
fn is_long_double_nan(little: &[u8]) -> bool {
    const EXPONENT_MASK: u16 = 0x7FFF;
    let bits = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits: u128, byte| bits << 8 | u128::from(*byte));
    let is_nan = |fraction: &[u8], top: &[u8], unused: u32| {
        bits(top) as u16 & EXPONENT_MASK == EXPONENT_MASK && bits(fraction) << unused != 0
    };
    match little.len() {
        // The highest bit of the fraction is that before the point.
        10..16 => is_nan(&little[..8], &little[8..10], 65),
        16 => is_nan(&little[..8], &little[8..10], 65) || is_nan(&little[..14], &little[14..], 0),
        _ => false,
    }
}

/// The kind of a key.
pub(super) enum KeyKind<'a> {
    Leaf(Leaf<'a>),
    Tuple,
    FrozenSet,
    /// An object that is not hashable.
    None,
}

pub(super) fn kind(key: ObjectRef<'_>) -> KeyKind<'_> {
    let leaf = match key.view() {
        View::None => Leaf::None,
        View::Bool(value) => Leaf::Int(value.into()),
        View::Int(_) => match (key.slot.contents(), key.node()) {
            (SlotContents::Int(number), _) => Leaf::Int(number),
            (_, Some((graph, Node::Big(number)))) => {
                Leaf::Big(Cow::Borrowed(&graph.rare_tables().bigs[*number as usize]))
            }
            _ => unreachable!("an integer is small or large"),
        },
        View::Float(number) => float(number),
        View::Complex(number) => complex(number),
        View::Str(text) => match text.as_str() {
            Some(text) => Leaf::Text(Cow::Borrowed(text)),
            None => Leaf::Codes(Text::code_points(text).collect()),
        },
        View::Bytes(bytes) => Leaf::Bytes(bytes),
        View::Decimal(digits) => decimal(digits),
        View::Date(date) => Leaf::Date(date),
        // Python compares the readings of clocks, which do not include the fold.
        View::Time(time) => Leaf::Time(time.fold(false)),
        View::Datetime(date, time) => Leaf::Datetime(date, time.fold(false)),
        View::Timedelta(length) => Leaf::Timedelta(length),
        View::Scalar(scalar) => {
            let kind = scalar.dtype().as_scalar().map(|scalar| scalar.kind());
            let made = match kind {
                Some(Kind::Bool | Kind::Int) => scalar.cast::<i64>().ok().map(Leaf::Int),
                Some(Kind::Uint) => scalar.cast::<u64>().ok().map(|number| match i64::try_from(number) {
                    Ok(number) => Leaf::Int(number),
                    Err(_) => Leaf::Big(Cow::Owned(number.into())),
                }),
                Some(Kind::Float) => scalar.cast::<f64>().ok().map(float),
                Some(Kind::Complex) => scalar.cast::<Complex<f64>>().ok().map(complex),
                Some(Kind::Text) => scalar.cast::<String>().ok().map(|text| Leaf::Text(Cow::Owned(text))),
                Some(Kind::Bytes) => Some(Leaf::Bytes(without_trailing_nuls(scalar.bytes()))),
                _ => None,
            };
            made.unwrap_or(Leaf::Scalar(scalar.dtype(), scalar.bytes()))
        }
        View::Global(global) => Leaf::Global(global.module(), global.name()),
        View::Extension(code) => Leaf::Extension(code),
        View::Tuple(_) => return KeyKind::Tuple,
        View::FrozenSet(_) => return KeyKind::FrozenSet,
        View::Call(_) | View::Persistent(_) | View::Buffer(_) => match key.id() {
            Some(id) => Leaf::Identity(id),
            None => return KeyKind::None,
        },
        View::List(_) | View::Dict(_) | View::Set(_) | View::ByteArray(_) | View::Array(_) => {
            return KeyKind::None;
        }
    };
    KeyKind::Leaf(leaf)
}

/// Normalizes a float: a whole number becomes the integer, which is the same key.
fn float<'a>(number: f64) -> Leaf<'a> {
    // 2⁶³, the smallest positive float that does not fit into an `i64`.
    const I64_LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if number.fract() != 0.0 || !number.is_finite() {
        return Leaf::Float(number.to_bits());
    }
    if (-I64_LIMIT..I64_LIMIT).contains(&number) {
        return Leaf::Int(number as i64);
    }
    BigInt::from_f64(number).map_or(Leaf::Float(number.to_bits()), |number| Leaf::Big(Cow::Owned(number)))
}

fn complex<'a>(number: Complex<f64>) -> Leaf<'a> {
    match number.im == 0.0 {
        true => float(number.re),
        // Adding 0.0 turns -0.0 into 0.0, because zeros of both signs are equal.
        false => Leaf::Complex((number.re + 0.0).to_bits(), (number.im + 0.0).to_bits()),
    }
}

/// Parses a decimal number into its sign, digits, and the power of ten to multiply them by.
fn parse_decimal(text: &str) -> Option<(bool, String, i64)> {
    let (is_negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    Some((is_negative, digits, i64::from(power) - fraction.len() as i64))
}

/// Returns whether Python's `Decimal` accepts a text.
pub(in super::super) fn is_decimal(text: &str) -> bool {
    let unsigned = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
    let nan = unsigned.strip_prefix('s').unwrap_or(&unsigned).strip_prefix("nan");
    let is_nan = nan.is_some_and(|payload| payload.bytes().all(|digit| digit.is_ascii_digit()));
    text.len() <= unsigned.len() + 1
        && (is_nan || matches!(&*unsigned, "inf" | "infinity") || parse_decimal(text).is_some())
}

/// Normalizes a decimal number: one that equals an integer or float becomes the same key.
///
/// Integers of more than 400 digits are recognized only if they are written out, in at most 4,000 bytes.
fn decimal<'a>(text: &str) -> Leaf<'a> {
    // Bounds the time: a text as short as `1e999999999` could expand to a gigabyte.
    const MAX_EXPANDED_DIGITS: usize = 400;
    let Some((is_negative, digits, power)) = parse_decimal(text) else {
        return match text.to_ascii_lowercase().trim_start_matches(['-', '+']) {
            "inf" | "infinity" if text.starts_with('-') => float(f64::NEG_INFINITY),
            "inf" | "infinity" => float(f64::INFINITY),
            _ => Leaf::Digits(false, text.to_owned(), 0), // a NaN
        };
    };
    let kept = digits.trim_start_matches('0').trim_end_matches('0');
    let power = power + (digits.len() - digits.trim_end_matches('0').len()) as i64;
    if kept.is_empty() {
        return Leaf::Int(0);
    }
    let sign = if is_negative { "-" } else { "" };
    if power >= 0
        && (kept.len() as i64 + power <= MAX_EXPANDED_DIGITS.max(text.len()) as i64)
        && text.len() <= 10 * MAX_EXPANDED_DIGITS
    {
        let whole = format!("{sign}{kept}{}", "0".repeat(power as usize));
        return match (whole.parse::<i64>(), whole.parse::<BigInt>()) {
            (Ok(number), _) => Leaf::Int(number),
            (_, Ok(number)) => Leaf::Big(Cow::Owned(number)),
            _ => unreachable!("these are digits"),
        };
    }
    // Each float is an exact decimal fraction with one decimal place for each halving: at most 1,074 places.
    if power < 0 && kept.len() < MAX_EXPANDED_DIGITS && power > -1100 {
        let number: f64 = format!("{sign}{kept}e{power}").parse().expect("these are digits");
        let written = format!("{:.*}", power.unsigned_abs() as usize, number.abs());
        let is_all = written.replace('.', "").trim_start_matches('0') == kept;
        let further = format!("{:.1100}", number.abs());
        if is_all && further.trim_end_matches('0').len() <= written.len() {
            return float(number);
        }
    }
    Leaf::Digits(is_negative, kept.to_owned(), power)
}
