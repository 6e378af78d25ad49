//! `longdouble`: sixteen bytes in one of two formats. The file does not say which.

use num_complex::Complex;

use super::fixed::{Fixed, elements};
use crate::dtype::{ByteOrder, Kind, Scalar};

/// NumPy's `longdouble` (`<f16`): sixteen bytes that can be converted from either of two formats.
///
/// On x86 it is the x87 80-bit format with six bytes of padding; on most other 64-bit machines it is IEEE 754
/// binary128 (quad). The file does not say which, so the caller has to. `Complex<LongDouble>` is NumPy's
/// `complex256`.
///
/// Equality compares all sixteen bytes, including the padding.
///
/// ```
/// use ndarray_io::LongDouble;
///
/// let half = LongDouble::from_le_bytes([0, 0, 0, 0, 0, 0, 0, 0x80, 0xFE, 0x3F, 0, 0, 0, 0, 0, 0]);
/// assert_eq!(half.x87_to_f64(), 0.5);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
    /// # use ndarray_io::LongDouble;
    /// assert_eq!(LongDouble::from_le_bytes([7; 16]).to_le_bytes(), [7; 16]);
    /// ```
    pub fn to_le_bytes(self) -> [u8; 16] {
        u128::from_ne_bytes(self.0).to_le_bytes()
    }

    /// Converts to the nearest `f64`, ties to even, from the x87 80-bit format.
    ///
    /// The padding is ignored. Values beyond the range of `f64` become infinite; the payload of a NaN is
    /// lost.
    pub fn x87_to_f64(self) -> f64 {
        let bits = u128::from_ne_bytes(self.0);
        let mantissa = bits as u64;
        let exponent = (bits >> 64) as u16 & 0x7FFF;
        let is_negative = bits >> 79 & 1 == 1;
        match exponent {
            // The shift drops the integer bit, which leaves 0 for an infinity but not for a NaN.
            0x7FFF => special(is_negative, mantissa << 1 == 0),
            // The integer bit is explicit, so subnormals (exponent 0) have the scale of exponent 1.
            _ => nearest(is_negative, u128::from(mantissa) << 64, i32::from(exponent.max(1)) - 16383),
        }
    }

    /// Converts to the nearest `f64`, ties to even, from IEEE 754 binary128.
    ///
    /// Values beyond the range of `f64` become infinite; the payload of a NaN is lost.
    ///
    /// ```
    /// # use ndarray_io::LongDouble;
    /// let mut bytes = [0; 16];
    /// bytes[14..].copy_from_slice(&[0xFE, 0x3F]);
    /// assert_eq!(LongDouble::from_le_bytes(bytes).quad_to_f64(), 0.5);
    /// ```
    pub fn quad_to_f64(self) -> f64 {
        let bits = u128::from_ne_bytes(self.0);
        let fraction = bits & ((1 << 112) - 1);
        let exponent = (bits >> 112) as u16 & 0x7FFF;
        let is_negative = bits >> 127 == 1;
        match exponent {
            0x7FFF => special(is_negative, fraction == 0),
            0 => nearest(is_negative, fraction << 15, 1 - 16383),
            _ => nearest(is_negative, (fraction | 1 << 112) << 15, i32::from(exponent) - 16383),
        }
    }
}

fn special(is_negative: bool, is_infinite: bool) -> f64 {
    let value = if is_infinite { f64::INFINITY } else { f64::NAN };
    if is_negative { -value } else { value }
}

/// Returns the `f64` nearest to `mantissa` × 2^(`exponent` − 127).
///
/// The highest bit of `mantissa` has the weight 2^`exponent`.
fn nearest(is_negative: bool, mantissa: u128, exponent: i32) -> f64 {
    let sign = u64::from(is_negative) << 63;
    if mantissa == 0 {
        return f64::from_bits(sign);
    }
    let zeros = mantissa.leading_zeros();
    let mantissa = mantissa << zeros;
    let exponent = exponent - zeros as i32;
    // How many of the 128 bits an `f64` with this exponent keeps: 53, or fewer if it is subnormal.
    let kept = (53 + (exponent + 1022).min(0)).max(-1);
    if kept < 0 {
        return f64::from_bits(sign); // less than half of the smallest subnormal
    }
    let (whole, rest) = match kept {
        0 => (0, mantissa),
        _ => ((mantissa >> (128 - kept)) as u64, mantissa << kept),
    };
    const HALF: u128 = 1 << 127;
    // Round half to even.
    let is_up = rest > HALF || (rest == HALF && whole & 1 == 1);
    let base = match exponent {
        ..-1022 => 0,
        1024.. => return f64::from_bits(sign | f64::INFINITY.to_bits()),
        _ => ((exponent + 1022) as u64) << 52, // the leading bit of `whole` adds 1 to the exponent
    };
    // Rounding up may carry out of the fraction into the exponent. This is correct: the fraction becomes 0.
    f64::from_bits(sign | (base + whole + u64::from(is_up)))
}

impl Fixed for LongDouble {
    const UNIT: usize = 16;

    fn scalar(order: ByteOrder) -> Scalar {
        Scalar::new(Kind::Float, 16, order).expect("there is a float of 16 bytes") // see Kind::allows
    }
}

impl Fixed for Complex<LongDouble> {
    const UNIT: usize = 16;

    fn scalar(order: ByteOrder) -> Scalar {
        Scalar::new(Kind::Complex, 32, order).expect("there is a complex number of 32 bytes") // see Kind::allows
    }
}

elements! {
    [] LongDouble;
    [] Complex<LongDouble>;
}
