//! Statistics of numbers: minimum, maximum, mean and so on.

use std::borrow::Cow;

use ndarray_io::dtype::{Kind, Scalar};
use ndarray_io::{ByteOrder, Casting, DType, DynArray, with_numbers};
use serde::{Serialize, Serializer};

use super::Summary;
use crate::failure::Failure;

/// Statistics of numbers. NaN and infinities are counted, but excluded from all other statistics.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stats {
    pub(crate) count: u64,
    pub(crate) nan: u64,
    pub(crate) inf: u64,
    pub(crate) zero: u64,
    pub(crate) min: Bound,
    pub(crate) max: Bound,
    pub(crate) mean: f64,
    /// The sum of the squared deviations from the mean.
    squared_deviations: f64,
    /// The square root of `squared_deviations`, times [`DEVIATION_SCALE`]: used where `squared_deviations` overflows.
    scaled_deviation: f64,
}

/// A minimum or maximum: a float, or an integer that an `f64` may not represent exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    Float(f64),
    /// Kept as `f32`, because its shortest decimal form has fewer digits than that of the same `f64`.
    Single(f32),
    Int(i128),
}

impl Bound {
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Self::Float(number) => number,
            Self::Single(number) => number.into(),
            Self::Int(number) => number as f64,
        }
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Float(number) => serializer.serialize_f64(number),
            Self::Single(number) => {
                serializer.serialize_f64(number.to_string().parse::<f64>().unwrap_or(f64::NAN))
            }
            Self::Int(number) => match i64::try_from(number) {
                Ok(number) => serializer.serialize_i64(number),
                Err(_) => serializer.serialize_u64(number as u64), // integers have at most 64 bits
            },
        }
    }
}

/// The factor that keeps `Stats::scaled_deviation` finite for numbers of any count and size.
const DEVIATION_SCALE: f64 = 1.0 / (1u64 << 40) as f64;

impl Stats {
    /// Merges the statistics of two sets of numbers.
    pub(crate) fn merge(self, other: Self) -> Self {
        if self.finite_count() == 0 || other.finite_count() == 0 {
            let (some, none) = if self.finite_count() == 0 { (other, self) } else { (self, other) };
            let (count, nan, inf) = (some.count + none.count, some.nan + none.nan, some.inf + none.inf);
            return Self { count, nan, inf, ..some };
        }
        let pick = |one: Bound, two: Bound, less: bool| match (one, two) {
            (Bound::Int(one), Bound::Int(two)) => Bound::Int(if less { one.min(two) } else { one.max(two) }),
            (one, two) if (two.to_f64() < one.to_f64()) == less => two,
            (one, _) => one,
        };
        let (n, m) = (self.finite_count() as f64, other.finite_count() as f64);
        let delta = other.mean / 2.0 - self.mean / 2.0;
        Self {
            count: self.count + other.count,
            nan: self.nan + other.nan,
            inf: self.inf + other.inf,
            zero: self.zero + other.zero,
            min: pick(self.min, other.min, true),
            max: pick(self.max, other.max, false),
            mean: self.mean + 2.0 * (delta * (m / (n + m))),
            squared_deviations: self.squared_deviations
                + other.squared_deviations
                + 2.0 * delta * 2.0 * delta * (n * m / (n + m)),
            scaled_deviation: self
                .scaled_deviation
                .hypot(other.scaled_deviation)
                .hypot(2.0 * DEVIATION_SCALE * (delta * (n * m / (n + m)).sqrt())),
        }
    }

    pub(crate) fn finite_count(&self) -> u64 {
        self.count - self.nan - self.inf
    }

    pub(crate) fn std(&self) -> f64 {
        let count = self.finite_count() as f64;
        match self.squared_deviations.is_finite() {
            true => (self.squared_deviations / count).sqrt(),
            false => self.scaled_deviation / count.sqrt() / DEVIATION_SCALE,
        }
    }

    pub(crate) fn summary(self) -> Summary {
        let is_any = self.finite_count() > 0;
        Summary::Numbers {
            count: self.count,
            min: is_any.then_some(self.min),
            max: is_any.then_some(self.max),
            mean: is_any.then_some(self.mean),
            std: is_any.then(|| self.std()),
            nan: self.nan,
            inf: self.inf,
            zero: self.zero,
        }
    }
}

pub(crate) trait Number: Copy + Send + Sync {
    fn to_f64(self) -> f64;
    fn bound(self) -> Bound;
    fn smaller(self, other: Self) -> Self;
    fn larger(self, other: Self) -> Self;
}

macro_rules! numbers {
    ($($type:ty, $bound:ident, $as:ty;)*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn bound(self) -> Bound {
                Bound::$bound(self as $as)
            }
            // Unlike `min`, this compiles to one instruction. NaN is handled by `stats_of_piece_one_by_one`.
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                if other < self { other } else { self }
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if other > self { other } else { self }
            }
        }
    )*};
}

numbers! {
    i8, Int, i128; i16, Int, i128; i32, Int, i128; i64, Int, i128;
    u8, Int, i128; u16, Int, i128; u32, Int, i128; u64, Int, i128;
    f32, Single, f32; f64, Float, f64;
}

/// Computes the statistics of a block, in pieces that stay in the L1 cache during both passes.
pub(crate) fn stats_of_slice<T: Number>(items: &[T]) -> Stats {
    const PIECE_BYTES: usize = 16 << 10;
    let pieces = items.chunks((PIECE_BYTES / size_of::<T>()).max(1));
    let none = || stats_of_piece::<T>(&[]);
    pieces.map(stats_of_piece).reduce(Stats::merge).unwrap_or_else(none)
}

/// Computes the statistics of a piece. Sums are computed in independent lanes, so that the compiler can
/// vectorize them.
#[inline(always)]
fn stats_of_piece<T: Number>(items: &[T]) -> Stats {
    const LANES: usize = 8;
    let none = Bound::Float(f64::NAN);
    let mut found = Stats {
        count: items.len() as u64,
        nan: 0,
        inf: 0,
        zero: 0,
        min: none,
        max: none,
        mean: 0.0,
        squared_deviations: 0.0,
        scaled_deviation: 0.0,
    };
    let Some(first) = items.first() else { return found };
    let (rows, rest) = items.as_chunks::<LANES>();
    let (mut sums, mut zeros) = ([0.0f64; LANES], [0u64; LANES]);
    let (mut least, mut most) = ([*first; LANES], [*first; LANES]);
    for row in rows {
        for lane in 0..LANES {
            sums[lane] += row[lane].to_f64();
            zeros[lane] += u64::from(row[lane].to_f64() == 0.0);
        }
    }
    // A separate loop, because there are not enough registers for both.
    for row in rows {
        for lane in 0..LANES {
            least[lane] = least[lane].smaller(row[lane]);
            most[lane] = most[lane].larger(row[lane]);
        }
    }
    for item in rest {
        sums[0] += item.to_f64();
        zeros[0] += u64::from(item.to_f64() == 0.0);
        least[0] = least[0].smaller(*item);
        most[0] = most[0].larger(*item);
    }
    let sum: f64 = sums.iter().sum();
    let none = found.clone();
    if !sum.is_finite() {
        return stats_of_piece_one_by_one(items, none);
    }
    found.zero = zeros.iter().sum();
    found.min = least.iter().copied().fold(*first, T::smaller).bound();
    found.max = most.iter().copied().fold(*first, T::larger).bound();
    found.mean = sum / items.len() as f64;
    let mut squares = [0.0f64; LANES];
    for row in rows {
        for lane in 0..LANES {
            let delta = row[lane].to_f64() - found.mean;
            squares[lane] += delta * delta;
        }
    }
    let rest = rest.iter().map(|item| (item.to_f64() - found.mean).powi(2));
    let squares = squares.iter().sum::<f64>() + rest.sum::<f64>();
    if !squares.is_finite() {
        return stats_of_piece_one_by_one(items, none);
    }
    (found.squared_deviations, found.scaled_deviation) = (squares, squares.sqrt() * DEVIATION_SCALE);
    found
}

/// Like `stats_of_piece`, for pieces with NaN or infinities, or whose sum overflows: one element at a time.
fn stats_of_piece_one_by_one<T: Number>(items: &[T], mut found: Stats) -> Stats {
    let mut seen = 0.0;
    for item in items.iter().copied() {
        let number = item.to_f64();
        if number.is_nan() {
            found.nan += 1;
            continue;
        }
        if number.is_infinite() {
            found.inf += 1;
            continue;
        }
        if seen == 0.0 {
            (found.min, found.max) = (item.bound(), item.bound());
        }
        seen += 1.0;
        found.zero += u64::from(number == 0.0);
        if number < found.min.to_f64() {
            found.min = item.bound();
        }
        if number > found.max.to_f64() {
            found.max = item.bound();
        }
        // Halve first, because the difference of two floats may overflow.
        let delta = number / 2.0 - found.mean / 2.0;
        found.mean += 2.0 * (delta / seen);
        let share = (seen - 1.0) / seen;
        found.squared_deviations += 2.0 * delta * 2.0 * delta * share;
        found.scaled_deviation = found.scaled_deviation.hypot(2.0 * DEVIATION_SCALE * (delta * share.sqrt()));
    }
    found
}

/// Converts to a type that the loops support: native byte order, `f32` for halves and less, and `f64` for long doubles.
fn to_supported_dtype(array: &DynArray) -> Result<Cow<'_, DynArray>, Failure> {
    let no_numbers = || super::no_statistics(array.dtype());
    let scalar = array.dtype().as_scalar().ok_or_else(no_numbers)?;
    let wanted = match (scalar.kind(), scalar.size()) {
        (Kind::Bool, _) => Scalar::new(Kind::Uint, 1, ByteOrder::NATIVE),
        (Kind::Narrow(narrow), _) if narrow.limits().is_some() => {
            Scalar::new(Kind::Int, 1, ByteOrder::NATIVE)
        }
        (Kind::Float, 2) | (Kind::Narrow(_), _) => Scalar::new(Kind::Float, 4, ByteOrder::NATIVE),
        (Kind::Float, 12 | 16) => Scalar::new(Kind::Float, 8, ByteOrder::NATIVE),
        (Kind::Int | Kind::Uint | Kind::Float, size) => Scalar::new(scalar.kind(), size, ByteOrder::NATIVE),
        _ => None,
    };
    let wanted = DType::from(wanted.ok_or_else(no_numbers)?);
    match array.dtype() == &wanted {
        true => Ok(Cow::Borrowed(array)),
        false => Ok(Cow::Owned(array.cast_to(&wanted, crate::reading::options().casting(Casting::Unsafe))?)),
    }
}

/// Computes the statistics of an array of numbers.
pub(crate) fn stats_of_array(array: &DynArray) -> Result<Stats, Failure> {
    let array = &*to_supported_dtype(array)?;
    Ok(with_numbers!(array, |view| match view.as_slice_memory_order() {
        Some(items) => stats_of_slice(items),
        None => stats_of_slice(&view.iter().copied().collect::<Vec<_>>()),
    })?)
}
