//! Converts between the numbers of `ml_dtypes` and other numbers, as that package does: by way of `f32`, or of an integer of one byte.

use super::{Recode, chain, numbers, numbers_recoder};
use crate::bytes::AsChunks;
use crate::dtype::{ByteOrder, Casting, CastingRules, Kind, Narrow, Scalar};
use crate::error::{Error, Fault, Remedy, Result};

/// How a float of a byte is composed of a sign, an exponent and a mantissa.
#[derive(Clone, Copy)]
struct Layout {
    bits: u32,
    mantissa_bits: u32,
    bias: i32,
    special: Special,
}

/// What else than finite numbers a float can be.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    /// Infinities and NaN, all with the largest exponent, as in IEEE 754.
    Ieee,
    /// One NaN of each sign, with the largest exponent and mantissa.
    LargestIsNan,
    /// One NaN, in the place of negative zero.
    MinusZeroIsNan,
    Nothing,
}

fn layout(narrow: Narrow) -> Layout {
    let layout = |bits, mantissa_bits, bias, special| Layout { bits, mantissa_bits, bias, special };
    match narrow {
        Narrow::Float8E3M4 => layout(8, 4, 3, Special::Ieee),
        Narrow::Float8E4M3 => layout(8, 3, 7, Special::Ieee),
        Narrow::Float8E4M3B11Fnuz => layout(8, 3, 11, Special::MinusZeroIsNan),
        Narrow::Float8E4M3Fn => layout(8, 3, 7, Special::LargestIsNan),
        Narrow::Float8E4M3Fnuz => layout(8, 3, 8, Special::MinusZeroIsNan),
        Narrow::Float8E5M2 => layout(8, 2, 15, Special::Ieee),
        Narrow::Float8E5M2Fnuz => layout(8, 2, 16, Special::MinusZeroIsNan),
        Narrow::Float6E2M3Fn => layout(6, 3, 1, Special::Nothing),
        Narrow::Float6E3M2Fn => layout(6, 2, 3, Special::Nothing),
        // Those that are not floats of this composition do not ask for it.
        _ => layout(4, 1, 1, Special::Nothing),
    }
}

impl Layout {
    fn sign_bit(self) -> u8 {
        1 << (self.bits - 1)
    }

    /// Returns the code of the largest finite number.
    fn largest_finite_code(self) -> u8 {
        let all = self.sign_bit() - 1;
        match self.special {
            Special::Ieee => (all >> self.mantissa_bits << self.mantissa_bits) - 1,
            Special::LargestIsNan => all - 1,
            Special::MinusZeroIsNan | Special::Nothing => all,
        }
    }

    fn to_f32(self, code: u8) -> f32 {
        let (sign, magnitude) = (code & self.sign_bit(), code & (self.sign_bit() - 1));
        let is_nan = match self.special {
            Special::MinusZeroIsNan => sign != 0 && magnitude == 0,
            Special::Ieee => magnitude > self.largest_finite_code() + 1,
            Special::LargestIsNan => magnitude > self.largest_finite_code(),
            Special::Nothing => false,
        };
        let exponent = i32::from(magnitude >> self.mantissa_bits);
        let fraction = magnitude & ((1 << self.mantissa_bits) - 1);
        let significand = f32::from(fraction | u8::from(exponent > 0) << self.mantissa_bits);
        // Subnormal numbers (exponent 0) have the scale of exponent 1.
        let scale = power_of_two(exponent.max(1) - self.bias - self.mantissa_bits as i32);
        let number = match magnitude > self.largest_finite_code() {
            _ if is_nan => f32::NAN,
            true => f32::INFINITY,
            false => significand * scale,
        };
        if sign == 0 { number } else { -number }
    }

    /// Returns the nearest number, ties to even.
    fn nearest_code(self, number: f32) -> u8 {
        let sign = if number.is_sign_negative() { self.sign_bit() } else { 0 };
        let all = self.sign_bit() - 1;
        let nan = match self.special {
            Special::Ieee => sign | (self.largest_finite_code() + 1) | 1 << (self.mantissa_bits - 1),
            Special::LargestIsNan => sign | all,
            Special::MinusZeroIsNan => self.sign_bit(),
            Special::Nothing => sign ^ self.sign_bit(), // zero of the other sign, as in `ml_dtypes`
        };
        if number.is_nan() {
            return nan;
        }
        let too_large = match self.special {
            Special::Ieee => sign | (self.largest_finite_code() + 1),
            Special::LargestIsNan | Special::MinusZeroIsNan => nan,
            Special::Nothing => sign | all,
        };
        let size = f64::from(number.abs());
        // The exponent of a double, which represents every single normally.
        let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(1 - self.bias);
        if exponent > 1 << (self.bits - self.mantissa_bits - 1) {
            return too_large;
        }
        let quanta = size / f64::from(power_of_two(exponent - self.mantissa_bits as i32));
        let rounded = quanta.round_ties_even() as i32;
        // The leading bit of a normal number adds 1 to the exponent.
        let code = ((exponent + self.bias - 1) << self.mantissa_bits) + rounded;
        match u8::try_from(code) {
            Ok(0) if self.special == Special::MinusZeroIsNan => 0,
            Ok(code) if code <= self.largest_finite_code() => sign | code,
            _ => too_large,
        }
    }
}

/// Returns 2 to this power, which an `f32` must have.
fn power_of_two(exponent: i32) -> f32 {
    match exponent {
        -126.. => f32::from_bits(((exponent + 127) as u32) << 23),
        _ => f32::from_bits(1 << (exponent + 149)),
    }
}

/// Decodes a float; `bytes` are those of one element.
pub(in crate::elements) fn to_f32(narrow: Narrow, bytes: &[u8]) -> f32 {
    match (narrow, bytes) {
        (Narrow::BFloat16, &[low, high]) => f32::from_bits(u32::from_le_bytes([0, 0, low, high])),
        (Narrow::Float8E8M0Fnu, &[0xFF]) => f32::NAN,
        (Narrow::Float8E8M0Fnu, &[code]) => power_of_two(i32::from(code) - 127),
        (_, &[code, ..]) => layout(narrow).to_f32(code),
        _ => f32::NAN,
    }
}

/// Returns the number that an element is.
pub(crate) fn narrow_value(narrow: Narrow, bytes: &[u8]) -> NarrowValue {
    match (narrow.limits(), bytes) {
        (Some(limits), &[code]) => NarrowValue::Integer(decode_integer(limits, code)),
        _ => NarrowValue::Float(to_f32(narrow, bytes)),
    }
}

/// An integer, or a float.
pub(crate) enum NarrowValue {
    Integer(i8),
    Float(f32),
}

/// Encodes a float in `into`, which are the bytes of one element.
pub(in crate::elements) fn encode_f32(narrow: Narrow, number: f32, into: &mut [u8]) {
    match (narrow, into) {
        (Narrow::BFloat16, into) => into.copy_from_slice(&bfloat16_bits(number).to_le_bytes()),
        (Narrow::Float8E8M0Fnu, into) => into.fill(nearest_power_of_two_code(number)),
        (_, into) => into.fill(layout(narrow).nearest_code(number)),
    }
}

/// Returns the upper half of a float, rounded to the nearest, ties to even.
fn bfloat16_bits(number: f32) -> u16 {
    let bits = number.to_bits();
    match number.is_nan() {
        true => (bits >> 16) as u16 & 0x8000 | 0x7FC0,
        false => ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) as u16,
    }
}

/// Returns the code of the nearest power of two, the larger one of a tie.
fn nearest_power_of_two_code(number: f32) -> u8 {
    if number.is_nan() || number <= 0.0 || number.is_infinite() {
        return 0xFF;
    }
    // Half of the distance to the next power carries into the exponent.
    let exponent = ((f64::from(number).to_bits() + (1 << 51)) >> 52) as i32 - 1023;
    u8::try_from((exponent + 127).max(0)).unwrap_or(0xFF)
}

/// Returns an integer of fewer than 8 bits from its byte, of which the higher bits are ignored.
pub(in crate::elements) fn decode_integer(limits: (i8, i8), code: u8) -> i8 {
    let unused = unused_bits(limits);
    match limits.0 < 0 {
        true => (code << unused) as i8 >> unused,
        false => (code << unused >> unused) as i8,
    }
}

/// Returns the byte of an integer.
pub(in crate::elements) fn encode_integer(limits: (i8, i8), integer: i64) -> u8 {
    let unused = unused_bits(limits);
    (integer as u8) << unused >> unused
}

/// Returns how many bits of a byte an integer does not have.
fn unused_bits((least, most): (i8, i8)) -> u32 {
    most.wrapping_sub(least).leading_zeros()
}

/// Returns the type of `ml_dtypes`, or `None` for any other dtype.
pub(super) fn narrow(scalar: &Scalar) -> Option<Narrow> {
    match scalar.kind() {
        Kind::Narrow(narrow) => Some(narrow),
        _ => None,
    }
}

/// Returns the type of NumPy's own that has all values of this one.
pub(super) fn wider_scalar(narrow: Narrow) -> Option<Scalar> {
    match narrow.limits() {
        Some((..0, _)) => Scalar::new(Kind::Int, 1, ByteOrder::NATIVE),
        Some(_) => Scalar::new(Kind::Uint, 1, ByteOrder::NATIVE),
        None => Scalar::new(Kind::Float, 4, ByteOrder::NATIVE),
    }
}

/// Returns the conversion between numbers of which one or both are of `ml_dtypes`, by way of `wide` types.
pub(super) fn recoder(from: &Scalar, to: &Scalar, rules: CastingRules) -> Option<Recode> {
    match (narrow(from), narrow(to)) {
        (Some(own), None) => {
            let wide = wider_scalar(own)?;
            Some(chain(decoder(own), [from, &wide, to], numbers_recoder(&wide, to, rules)?))
        }
        (Some(own), Some(_)) => {
            let wide = wider_scalar(own)?;
            Some(chain(decoder(own), [from, &wide, to], recoder(&wide, to, rules)?))
        }
        (None, Some(made)) => {
            let wide = match made.limits() {
                None => wider_scalar(made)?,
                // The range of its own is checked afterwards.
                Some(_) => Scalar::new(Kind::Int, 8, ByteOrder::NATIVE)?,
            };
            // Errors of integers name the type that is meant.
            let widen = numbers::recoder_for(from, &wide, to, rules.casting);
            let widen = widen.or_else(|| numbers_recoder(from, &wide, rules))?;
            let is_float = matches!(from.kind(), Kind::Float | Kind::Complex);
            Some(chain(widen, [from, &wide, to], encoder(made, is_float, rules.casting)))
        }
        (None, None) => None,
    }
}

/// Returns the conversion of elements to those of the `wide` type: by a table, if they have a byte.
fn decoder(narrow: Narrow) -> Recode {
    if narrow == Narrow::BFloat16 {
        return Box::new(|items, made| {
            for (item, number) in items.chunks_of().iter().zip(made.chunks_of_mut()) {
                *number = f32::from_bits(u32::from(u16::from_le_bytes(*item)) << 16).to_ne_bytes();
            }
            Ok(())
        });
    }
    if let Some(limits) = narrow.limits() {
        let table: [u8; 256] = std::array::from_fn(|code| decode_integer(limits, code as u8) as u8);
        return Box::new(move |items, made| {
            items.iter().zip(made).for_each(|(code, number)| *number = table[usize::from(*code)]);
            Ok(())
        });
    }
    let table: [[u8; 4]; 256] = std::array::from_fn(|code| to_f32(narrow, &[code as u8]).to_ne_bytes());
    Box::new(move |items, made| {
        let numbers = made.chunks_of_mut();
        items.iter().zip(numbers).for_each(|(code, number)| *number = table[usize::from(*code)]);
        Ok(())
    })
}

/// Returns the conversion of `f32`, or of `i64` that may have been floats, to elements.
fn encoder(narrow: Narrow, is_float: bool, casting: Casting) -> Recode {
    if narrow == Narrow::BFloat16 {
        return Box::new(|items, made| {
            for (item, into) in items.chunks_of().iter().zip(made.chunks_of_mut()) {
                *into = bfloat16_bits(f32::from_ne_bytes(*item)).to_le_bytes();
            }
            Ok(())
        });
    }
    let Some(limits) = narrow.limits() else {
        return Box::new(move |items, made| {
            for (item, into) in items.chunks_of().iter().zip(made.chunks_of_mut::<1>()) {
                encode_f32(narrow, f32::from_ne_bytes(*item), into);
            }
            Ok(())
        });
    };
    Box::new(move |items, made| {
        for (index, (item, into)) in items.chunks_of().iter().zip(made).enumerate() {
            let integer = clamp_or_check(i64::from_ne_bytes(*item), limits, is_float, casting, narrow)
                .map_err(|error| error.at_element(index))?;
            *into = encode_integer(limits, integer);
        }
        Ok(())
    })
}

/// Returns the integer to store: floats saturate, and other integers that do not fit are errors, unless they are to lose
/// their high bits.
fn clamp_or_check(
    integer: i64,
    limits: (i8, i8),
    is_float: bool,
    casting: Casting,
    to: Narrow,
) -> Result<i64> {
    let (least, most) = (i64::from(limits.0), i64::from(limits.1));
    match (least..=most).contains(&integer) {
        false if is_float => Ok(integer.clamp(least, most)),
        false if casting != Casting::Unsafe => {
            let reason = format!("{integer} is out of range for {}", to.name());
            Err(Error::from(Fault::NotConvertible { reason }).with_help(Remedy::Cast(Casting::Unsafe)))
        }
        _ => Ok(integer),
    }
}
