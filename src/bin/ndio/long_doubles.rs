//! Compares numbers of more precision than `f64` has.

use ndarray_io::dtype::{ByteOrder, Kind, LongDoubleFormat, Scalar};
use ndarray_io::header::Order;
use ndarray_io::{Casting, DType, DynArray, ReadOptions, Result};

/// The elements of an array as exact numbers.
pub(crate) struct Exact {
    parts: Vec<Part>,
    /// The number of parts of an element: 2 for complex numbers.
    each: usize,
}

/// A number, or a part of a complex one. Equal numbers are equal.
#[derive(Clone, Copy, PartialEq)]
struct Part {
    is_negative: bool,
    size: Size,
}

#[derive(Clone, Copy, PartialEq)]
enum Size {
    NotANumber,
    Infinite,
    Zero,
    /// The highest bit of the mantissa is set, and has the weight 2^`exponent`.
    Finite {
        mantissa: u128,
        exponent: i32,
    },
}

/// How two elements differ, in units of 2^`scale`.
pub(crate) struct Difference {
    pub(crate) is_equal: bool,
    pub(crate) apart: f64,
    /// The magnitude of the second.
    pub(crate) size: f64,
    pub(crate) scale: i32,
}

const ZERO: Part = Part { is_negative: false, size: Size::Zero };

impl Exact {
    /// Converts elements to long doubles, which have the values of all other numbers, or reads long doubles in this format.
    pub(crate) fn of(array: &DynArray, format: LongDoubleFormat) -> Result<Self> {
        let is_complex = array.dtype().as_scalar().is_some_and(|scalar| scalar.kind() == Kind::Complex);
        let (kind, each) = if is_complex { (Kind::Complex, 2) } else { (Kind::Float, 1) };
        let long =
            Scalar::new(kind, 16 * each, ByteOrder::NATIVE).expect("there are long doubles of 16 bytes");
        let options = ReadOptions::new().casting(Casting::Unsafe).long_double(format);
        let made = array.cast_to_with(&DType::from(long), &options)?.in_order(Order::C)?.into_owned();
        let bits = made.bytes().as_chunks().0.iter();
        Ok(Self { parts: bits.map(|bytes| Part::of(u128::from_ne_bytes(*bytes), format)).collect(), each })
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.len() / self.each
    }

    fn element(&self, index: usize) -> [Part; 2] {
        let parts = &self.parts[index * self.each..][..self.each];
        [parts[0], parts.get(1).copied().unwrap_or(ZERO)]
    }

    /// Compares the elements of this index.
    pub(crate) fn differ(&self, other: &Self, index: usize, strict_nan: bool) -> Difference {
        let (one, two) = (self.element(index), other.element(index));
        let is_nan = |parts: [Part; 2]| parts.iter().any(|part| part.size == Size::NotANumber);
        let of = |is_equal, apart, size| Difference { is_equal, apart, size, scale: 0 };
        if is_nan(one) || is_nan(two) {
            return of(!strict_nan && is_nan(one) && is_nan(two), f64::NAN, f64::NAN);
        }
        let all = [one[0], one[1], two[0], two[1]];
        if one == two || all.iter().any(|part| part.size == Size::Infinite) {
            return of(one == two, f64::INFINITY, f64::INFINITY);
        }
        let exponents = all.iter().filter_map(|part| match part.size {
            Size::Finite { exponent, .. } => Some(exponent),
            _ => None,
        });
        let scale = exponents.max().unwrap_or(0);
        let [a, b, c, d] = all.map(|part| part.in_units(scale));
        let as_float = |units: i128| units as f64 / 2f64.powi(125);
        let apart = as_float(a - c).hypot(as_float(b - d));
        Difference { is_equal: false, apart, size: as_float(c).hypot(as_float(d)), scale }
    }
}

impl Part {
    fn of(bits: u128, format: LongDoubleFormat) -> Self {
        /// The exponent of infinities and NaNs.
        const SPECIAL: u128 = 0x7FFF;
        const BIAS: i32 = 16383;
        let (sign, exponent, mantissa) = match format {
            LongDoubleFormat::DoubleDouble => {
                let half = |bits: u64| Self::of_f64(f64::from_bits(bits));
                return half(bits as u64).plus(half((bits >> 64) as u64));
            }
            // The other bytes are padding.
            LongDoubleFormat::X87 => (bits >> 79 & 1, bits >> 64 & SPECIAL, u128::from(bits as u64) << 64),
            _ => {
                let exponent = bits >> 112 & SPECIAL;
                let is_normal = u128::from(exponent > 0 && exponent < SPECIAL);
                (bits >> 127, exponent, bits << 16 >> 1 | is_normal << 127)
            }
        };
        let size = match exponent {
            SPECIAL if mantissa << 1 == 0 => Size::Infinite,
            SPECIAL => Size::NotANumber,
            _ => Size::of(mantissa, (exponent as i32).max(1) - BIAS),
        };
        Self { is_negative: sign == 1 && size != Size::Zero, size }
    }

    fn of_f64(number: f64) -> Self {
        let bits = number.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7FF) as i32, u128::from(bits << 12 >> 12));
        let size = match exponent {
            0x7FF if fraction == 0 => Size::Infinite,
            0x7FF => Size::NotANumber,
            0 => Size::of(fraction << 75, -1022),
            _ => Size::of((fraction | 1 << 52) << 75, exponent - 1023),
        };
        Self { is_negative: number < 0.0, size }
    }

    /// Adds another number, to the first 126 bits.
    fn plus(self, other: Self) -> Self {
        match (self.size, other.size) {
            (Size::Finite { exponent, .. }, Size::Finite { exponent: second, .. }) => {
                let scale = exponent.max(second);
                let sum = self.in_units(scale) + other.in_units(scale);
                Self { is_negative: sum < 0, size: Size::of(sum.unsigned_abs() << 2, scale) }
            }
            (Size::Zero, _) | (Size::Finite { .. }, Size::NotANumber | Size::Infinite) => other,
            _ => self,
        }
    }

    /// Returns the number in units of 2^(`scale` − 125), of which it has fewer than 2^126.
    fn in_units(self, scale: i32) -> i128 {
        let Size::Finite { mantissa, exponent } = self.size else { return 0 };
        let units = (mantissa >> 2).checked_shr((scale - exponent) as u32).unwrap_or(0) as i128;
        if self.is_negative { -units } else { units }
    }
}

impl Size {
    fn of(mantissa: u128, exponent: i32) -> Self {
        match mantissa.leading_zeros() {
            128 => Self::Zero,
            zeros => Self::Finite { mantissa: mantissa << zeros, exponent: exponent - zeros as i32 },
        }
    }
}
