//! Compares numbers of more precision than `f64` has.

use ndarray_io::dtype::{Kind, LongDoubleFormat, Scalar};
use ndarray_io::element::LongDouble;
use ndarray_io::header::Order;
use ndarray_io::{ByteOrder, Casting, DType, DynArray, ReadOptions, Result};

/// The elements of an array as exact numbers.
pub(crate) struct ExactElements {
    parts: Vec<ExactReal>,
    /// The number of parts of an element: 2 for complex numbers.
    parts_per_element: usize,
}

/// A number, or a part of a complex one. Equal numbers are equal.
#[derive(Clone, Copy, PartialEq)]
enum ExactReal {
    NotANumber,
    Infinite {
        is_negative: bool,
    },
    /// The highest bit of the mantissa is set, and has the weight 2^`exponent`; of zero, none is.
    Finite {
        mantissa: u128,
        exponent: i32,
        is_negative: bool,
    },
}

/// How two elements differ, in units of 2^`scale`.
pub(crate) struct Difference {
    pub(crate) is_equal: bool,
    pub(crate) distance: f64,
    /// The magnitude of the second.
    pub(crate) second_magnitude: f64,
    pub(crate) scale: i32,
}

const ZERO: ExactReal = ExactReal::Finite { mantissa: 0, exponent: 0, is_negative: false };

impl ExactElements {
    /// Converts elements to long doubles, which have the values of all other numbers, or reads long doubles in this format.
    pub(crate) fn of(array: &DynArray, format: LongDoubleFormat) -> Result<Self> {
        let is_complex = array.dtype().as_scalar().is_some_and(|scalar| scalar.kind() == Kind::Complex);
        let (kind, parts_per_element) = if is_complex { (Kind::Complex, 2) } else { (Kind::Float, 1) };
        let long = Scalar::new(kind, 16 * parts_per_element, ByteOrder::NATIVE)
            .expect("there are long doubles of 16 bytes");
        let options = ReadOptions::new().casting(Casting::Unsafe).long_double(format);
        let made = array.cast_to(&DType::from(long), &options)?.in_order(Order::C)?.into_owned();
        let bits = made.bytes().as_chunks().0.iter();
        let number = |bytes: &[u8; 16]| LongDouble::from_le_bytes(u128::from_ne_bytes(*bytes).to_le_bytes());
        Ok(Self {
            parts: bits.map(|bytes| ExactReal::of(number(bytes), format)).collect(),
            parts_per_element,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.len() / self.parts_per_element
    }

    fn element(&self, index: usize) -> [ExactReal; 2] {
        let parts = &self.parts[index * self.parts_per_element..][..self.parts_per_element];
        [parts[0], parts.get(1).copied().unwrap_or(ZERO)]
    }

    /// Compares the elements of this index.
    pub(crate) fn difference_at(&self, other: &Self, index: usize, strict_nan: bool) -> Difference {
        let (one, two) = (self.element(index), other.element(index));
        let is_nan = |parts: [ExactReal; 2]| parts.contains(&ExactReal::NotANumber);
        let of = |is_equal, distance, second_magnitude| Difference {
            is_equal,
            distance,
            second_magnitude,
            scale: 0,
        };
        if is_nan(one) || is_nan(two) {
            return of(!strict_nan && is_nan(one) && is_nan(two), f64::NAN, f64::NAN);
        }
        let all = [one[0], one[1], two[0], two[1]];
        if one == two || all.iter().any(|part| matches!(part, ExactReal::Infinite { .. })) {
            return of(one == two, f64::INFINITY, f64::INFINITY);
        }
        let exponents = all.iter().filter_map(|part| match part {
            ExactReal::Finite { mantissa: 1.., exponent, .. } => Some(*exponent),
            _ => None,
        });
        let scale = exponents.max().unwrap_or(0);
        let [a, b, c, d] = all.map(|part| part.in_units(scale));
        let as_float = |units: i128| units as f64 / 2f64.powi(125);
        let distance = as_float(a - c).hypot(as_float(b - d));
        Difference { is_equal: false, distance, second_magnitude: as_float(c).hypot(as_float(d)), scale }
    }
}

impl ExactReal {
    fn of(number: LongDouble, format: LongDoubleFormat) -> Self {
        match number.integer_decode(format) {
            Some((0, ..)) => ZERO,
            Some((mantissa, exponent, sign)) => {
                Self::Finite { mantissa, exponent: exponent + 127, is_negative: sign < 0 }
            }
            None => match number.to_f64(format) {
                number if number.is_nan() => Self::NotANumber,
                number => Self::Infinite { is_negative: number < 0.0 },
            },
        }
    }

    /// Returns the number in units of 2^(`scale` − 125), of which it has fewer than 2^126.
    fn in_units(self, scale: i32) -> i128 {
        let Self::Finite { mantissa, exponent, is_negative } = self else { return 0 };
        let units = (mantissa >> 2).checked_shr((scale - exponent) as u32).unwrap_or(0) as i128;
        if is_negative { -units } else { units }
    }
}
