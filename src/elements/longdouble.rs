//! `longdouble`: sixteen bytes in one of three formats. The file does not say which.

use std::fmt;

use num_complex::Complex;

use super::fixed::{ScalarElement, elements};
use crate::dtype::{ByteOrder, Kind, LongDoubleFormat, Scalar};

/// NumPy's `longdouble` (`<f16`): sixteen bytes that can be converted from either of two formats.
///
/// On x86 it is the x87 80-bit format with six bytes of padding; on most other 64-bit machines it is IEEE 754
/// binary128 (quad). The file does not say which, so the caller has to, here or with
/// [`ReadOptions::long_double`](crate::ReadOptions::long_double), which reads such a file as `f64` or another number. `Complex<LongDouble>` is NumPy's
/// `complex256`.
///
/// Equality compares all sixteen bytes, including the padding.
///
/// ```
/// use ndarray_io::dtype::LongDoubleFormat;
/// use ndarray_io::element::LongDouble;
///
/// let half = LongDouble::from_le_bytes([0, 0, 0, 0, 0, 0, 0, 0x80, 0xFE, 0x3F, 0, 0, 0, 0, 0, 0]);
/// assert_eq!(half.to_f64(LongDoubleFormat::X87), 0.5);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct LongDouble(pub(super) [u8; 16]);

impl LongDouble {
    /// Creates a number from these bytes, least significant first.
    pub fn from_le_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_le_bytes(bytes).to_ne_bytes())
    }

    /// Returns the bytes, least significant first.
    ///
    /// ```
    /// # use ndarray_io::element::LongDouble;
    /// assert_eq!(LongDouble::from_le_bytes([7; 16]).to_le_bytes(), [7; 16]);
    /// ```
    pub fn to_le_bytes(self) -> [u8; 16] {
        u128::from_ne_bytes(self.0).to_le_bytes()
    }

    /// Formats the number with the fewest digits that identify it.
    ///
    /// ```
    /// # use ndarray_io::dtype::LongDoubleFormat;
    /// # use ndarray_io::element::LongDouble;
    /// let half = LongDouble::from_le_bytes([0, 0, 0, 0, 0, 0, 0, 0x80, 0xFE, 0x3F, 0, 0, 0, 0, 0, 0]);
    /// assert_eq!(half.to_text(LongDoubleFormat::X87), "0.5");
    /// ```
    pub fn to_text(self, format: LongDoubleFormat) -> String {
        super::format_long_double(u128::from_ne_bytes(self.0), format, None)
    }

    /// Converts to the nearest `f64`, ties to even.
    ///
    /// Padding is ignored. Values beyond the range of `f64` become infinite; the payload of a NaN is lost.
    ///
    /// ```
    /// # use ndarray_io::dtype::LongDoubleFormat;
    /// # use ndarray_io::element::LongDouble;
    /// let mut bytes = [0; 16];
    /// bytes[14..].copy_from_slice(&[0xFE, 0x3F]);
    /// assert_eq!(LongDouble::from_le_bytes(bytes).to_f64(LongDoubleFormat::Quad), 0.5);
    /// ```
    pub fn to_f64(self, format: LongDoubleFormat) -> f64 {
        WideFloat::of(u128::from_ne_bytes(self.0), format).to_f64()
    }

    /// Returns the number as a mantissa, an exponent and a sign: it is mantissa × 2^exponent × sign. `None` for infinities and NaN.
    ///
    /// The highest bit of the mantissa is set, unless the number is 0. Of the sum of two doubles, the bits after the first 127 are
    /// lost, but for one that says that there were any.
    ///
    /// ```
    /// # use ndarray_io::dtype::LongDoubleFormat;
    /// # use ndarray_io::element::LongDouble;
    /// let half = LongDouble::from_le_bytes([0, 0, 0, 0, 0, 0, 0, 0x80, 0xFE, 0x3F, 0, 0, 0, 0, 0, 0]);
    /// assert_eq!(half.integer_decode(LongDoubleFormat::X87), Some((1 << 127, -128, 1)));
    /// ```
    pub fn integer_decode(self, format: LongDoubleFormat) -> Option<(u128, i32, i8)> {
        let WideFloat { is_negative, magnitude } = WideFloat::of(u128::from_ne_bytes(self.0), format);
        let Magnitude::Finite { mantissa, exponent } = magnitude else { return None };
        let sign = if is_negative { -1 } else { 1 };
        Some(match mantissa.leading_zeros() {
            128 => (0, 0, sign),
            zeros => (mantissa << zeros, exponent - zeros as i32 - 127, sign),
        })
    }
}

/// Formats the bits, as `DynArray` shows them.
impl fmt::Debug for LongDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:032x}", u128::from_ne_bytes(self.0))
    }
}

/// A number of any format, without its rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WideFloat {
    is_negative: bool,
    magnitude: Magnitude,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Magnitude {
    NotANumber,
    Infinite,
    /// `mantissa` × 2^(`exponent` − 127): the highest bit of the mantissa has the weight 2^`exponent`.
    Finite {
        mantissa: u128,
        exponent: i32,
    },
}

/// How the exponents of both formats are biased.
const BIAS: i32 = 16383;
/// The exponent of infinities and NaNs.
const SPECIAL_EXPONENT: u128 = 0x7FFF;

impl WideFloat {
    pub(super) fn of(bits: u128, format: LongDoubleFormat) -> Self {
        if format == LongDoubleFormat::DoubleDouble {
            let half = |bits: u64| Self::of_f64(f64::from_bits(bits));
            return half(bits as u64).add(half((bits >> 64) as u64));
        }
        let (sign_at, fraction, has_integer_bit) = match format {
            // The mantissa with its integer bit is that of the format; the shift makes it a fraction like the other's.
            LongDoubleFormat::X87 => (79, u128::from(bits as u64) << 64, true),
            _ => (127, bits << 16, false),
        };
        let exponent = bits >> (sign_at - 15) & SPECIAL_EXPONENT;
        let magnitude = match exponent {
            // An infinity has nothing below the integer bit.
            SPECIAL_EXPONENT if fraction << u32::from(has_integer_bit) == 0 => Magnitude::Infinite,
            SPECIAL_EXPONENT => Magnitude::NotANumber,
            _ => {
                let mantissa = match has_integer_bit {
                    true => fraction,
                    false => fraction >> 1 | u128::from(exponent > 0) << 127,
                };
                // Subnormal numbers (exponent 0) have the scale of exponent 1.
                Magnitude::Finite { mantissa, exponent: (exponent as i32).max(1) - BIAS }
            }
        };
        Self { is_negative: bits >> sign_at & 1 == 1, magnitude }
    }

    pub(super) fn of_f64(number: f64) -> Self {
        let bits = number.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7FF) as i32, u128::from(bits << 12 >> 12));
        let magnitude = match exponent {
            0x7FF if fraction == 0 => Magnitude::Infinite,
            0x7FF => Magnitude::NotANumber,
            0 => Magnitude::Finite { mantissa: fraction << 75, exponent: -1022 },
            _ => Magnitude::Finite { mantissa: (fraction | 1 << 52) << 75, exponent: exponent - 1023 },
        };
        Self { is_negative: number.is_sign_negative(), magnitude }
    }

    pub(super) fn of_integer(number: i128) -> Self {
        let magnitude = Magnitude::Finite { mantissa: number.unsigned_abs(), exponent: 127 };
        Self { is_negative: number < 0, magnitude }
    }

    /// Adds another number. Bits after the 127th are lost, but for one that says that there were any.
    fn add(self, other: Self) -> Self {
        let ((one, exponent), (two, lower)) = match (self.magnitude, other.magnitude) {
            (Magnitude::NotANumber, _) | (_, Magnitude::Finite { mantissa: 0, .. }) => return self,
            (_, Magnitude::NotANumber) | (Magnitude::Finite { mantissa: 0, .. }, _) => return other,
            (Magnitude::Infinite, Magnitude::Infinite) if self.is_negative != other.is_negative => {
                return Self { magnitude: Magnitude::NotANumber, ..self };
            }
            (Magnitude::Infinite, _) => return self,
            (_, Magnitude::Infinite) => return other,
            (
                Magnitude::Finite { mantissa, exponent },
                Magnitude::Finite { mantissa: two, exponent: lower },
            ) => {
                // With their highest bits set, so that the order of the exponents is that of the numbers.
                let high = |mantissa: u128, exponent: i32| {
                    let zeros = mantissa.leading_zeros();
                    (mantissa << zeros, exponent - zeros as i32)
                };
                (high(mantissa, exponent), high(two, lower))
            }
        };
        if lower > exponent || lower == exponent && two > one {
            return other.add(self);
        }
        // One bit of room for the carry: the lowest bits of a number that comes from another type are 0.
        let shift = (exponent - lower + 1) as u32;
        let (one, moved) = (one >> 1, two.checked_shr(shift).unwrap_or(0));
        let is_inexact = moved.checked_shl(shift).unwrap_or(0) != two;
        let mantissa = match self.is_negative == other.is_negative {
            true => (one + moved) | u128::from(is_inexact),
            false => (one - moved - u128::from(is_inexact)) | u128::from(is_inexact),
        };
        Self {
            is_negative: self.is_negative && mantissa > 0,
            magnitude: Magnitude::Finite { mantissa, exponent: exponent + 1 },
        }
    }

    /// Returns the bits of a number that comes from another type: of at most 64 bits of mantissa, and an exponent that all
    /// formats have. Of two doubles, the larger one has the higher bits if `is_big`.
    pub(super) fn bits(self, format: LongDoubleFormat, is_big: bool) -> u128 {
        if format == LongDoubleFormat::DoubleDouble {
            let large = self.to_f64();
            let rest = if large.is_finite() { self.add(Self::of_f64(-large)).to_f64() } else { 0.0 };
            let (low, high) = if is_big { (rest, large) } else { (large, rest) };
            return u128::from(high.to_bits()) << 64 | u128::from(low.to_bits());
        }
        let (exponent, mantissa) = match self.magnitude {
            Magnitude::NotANumber => (SPECIAL_EXPONENT, 0b11 << 126),
            Magnitude::Infinite => (SPECIAL_EXPONENT, 1 << 127),
            Magnitude::Finite { mantissa: 0, .. } => (0, 0),
            Magnitude::Finite { mantissa, exponent } => {
                let zeros = mantissa.leading_zeros();
                ((exponent - zeros as i32 + BIAS) as u128, mantissa << zeros)
            }
        };
        let sign = u128::from(self.is_negative);
        match format {
            LongDoubleFormat::X87 => sign << 79 | exponent << 64 | mantissa >> 64,
            _ => sign << 127 | exponent << 112 | mantissa << 1 >> 16,
        }
    }

    /// Returns the nearest `f64`, ties to even.
    pub(super) fn to_f64(self) -> f64 {
        self.to_f64_by(|whole, rest| {
            const HALF: u128 = 1 << 127;
            whole + u64::from(rest > HALF || (rest == HALF && whole & 1 == 1))
        })
    }

    /// Returns an `f64` that becomes the same when it is rounded to fewer bits as this number would: its last
    /// bit says whether anything was truncated.
    pub(super) fn to_f64_rounded_to_odd(self) -> f64 {
        self.to_f64_by(|whole, rest| whole | u64::from(rest != 0))
    }

    /// `round` is given the kept bits and those after them, of which the highest is the next one.
    fn to_f64_by(self, round: impl Fn(u64, u128) -> u64) -> f64 {
        let sign = u64::from(self.is_negative) << 63;
        let (mantissa, exponent) = match self.magnitude {
            Magnitude::NotANumber => return f64::NAN.copysign(f64::from_bits(sign | 0x3FF << 52)),
            Magnitude::Infinite => return f64::from_bits(sign | f64::INFINITY.to_bits()),
            Magnitude::Finite { mantissa: 0, .. } => return f64::from_bits(sign),
            Magnitude::Finite { mantissa, exponent } => {
                let zeros = mantissa.leading_zeros();
                (mantissa << zeros, exponent - zeros as i32)
            }
        };
        // How many of the 128 bits an `f64` with this exponent keeps: 53, or fewer if it is subnormal.
        let kept = (53 + (exponent + 1022).min(0)).max(-1);
        let (whole, rest) = match kept {
            -1 => (0, 1), // less than half of the smallest subnormal
            0 => (0, mantissa),
            _ => ((mantissa >> (128 - kept)) as u64, mantissa << kept),
        };
        let base = match exponent {
            ..-1022 => 0,
            1024.. => return f64::from_bits(sign | f64::INFINITY.to_bits()),
            _ => ((exponent + 1022) as u64) << 52, // the leading bit of `whole` adds 1 to the exponent
        };
        // Rounding up may carry out of the fraction into the exponent. This is correct: the fraction becomes 0.
        f64::from_bits(sign | (base + round(whole, rest)))
    }

    /// Returns the integer without the fraction; the nearest one if it is out of range, and 0 for NaN.
    pub(super) fn to_integer(self) -> i128 {
        let magnitude = match self.magnitude {
            Magnitude::NotANumber => 0,
            Magnitude::Infinite => i128::MAX,
            Magnitude::Finite { exponent: ..0, .. } => 0,
            Magnitude::Finite { mantissa, exponent } => match 127 - exponent {
                // The highest bit is that of the sign.
                shift @ 1.. => (mantissa >> shift) as i128,
                _ if mantissa == 0 => 0,
                _ => i128::MAX,
            },
        };
        if self.is_negative { -magnitude } else { magnitude }
    }

    pub(super) fn is_negative(self) -> bool {
        self.is_negative
    }

    /// Returns the number as an integer of at most `precision` bits and the exponent of its unit, which is at least `least`.
    ///
    /// Returns `None` for zero, infinities and NaN. The bits after those are none, in a number of that precision.
    pub(super) fn mantissa_and_exponent(self, precision: i32, least: i32) -> Option<(u128, i32)> {
        match self.magnitude {
            Magnitude::Finite { mantissa: mantissa @ 1.., exponent } => {
                // With its highest bit set: the sum of two doubles may have fewer bits than the precision.
                let zeros = mantissa.leading_zeros();
                let (mantissa, exponent) = (mantissa << zeros, exponent - zeros as i32);
                let unit = (exponent - precision + 1).max(least);
                Some((mantissa >> (unit + 127 - exponent), unit))
            }
            _ => None,
        }
    }

    pub(super) fn is_zero(self) -> bool {
        matches!(self.magnitude, Magnitude::Finite { mantissa: 0, .. })
    }
}

impl ScalarElement for LongDouble {
    const SWAP_UNIT: usize = 16;

    fn scalar(order: ByteOrder) -> Scalar {
        Scalar::new(Kind::Float, 16, order).expect("there is a float of 16 bytes") // see Kind::allows
    }
}

impl ScalarElement for Complex<LongDouble> {
    const SWAP_UNIT: usize = 16;

    fn scalar(order: ByteOrder) -> Scalar {
        Scalar::new(Kind::Complex, 32, order).expect("there is a complex number of 32 bytes") // see Kind::allows
    }
}

elements! {
    [] LongDouble;
    [] Complex<LongDouble>;
}
