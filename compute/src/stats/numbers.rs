//! Statistics of numbers: minimum, maximum, mean and so on.

use std::borrow::Cow;

use ndarray_io::dtype::{Kind, Scalar};
use ndarray_io::{ByteOrder, Casting, DType, DynArray, ReadOptions, with_numbers};

use crate::boxes::groups_first;
use crate::error::Result;

/// Statistics of numbers. NaN and infinities are counted, but excluded from all other statistics.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// The number of elements.
    pub count: u64,
    /// The number of NaN.
    pub nan: u64,
    /// The number of infinities.
    pub inf: u64,
    /// The number of zeros.
    pub zero: u64,
    /// The minimum; NaN if there is none.
    pub min: Bound,
    /// The maximum; NaN if there is none.
    pub max: Bound,
    /// Where the first minimum is, counted in C order.
    pub argmin: u64,
    /// Where the first maximum is, counted in C order.
    pub argmax: u64,
    /// The mean.
    pub mean: f64,
    /// The sum of the squared deviations from the mean.
    squared_deviations: f64,
    /// The square root of `squared_deviations`, times [`DEVIATION_SCALE`]: used where `squared_deviations` overflows.
    scaled_deviation: f64,
}

/// A minimum or maximum: a float, or an integer that an `f64` may not represent exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A float.
    Float(f64),
    /// Kept as `f32`, because its shortest decimal form has fewer digits than that of the same `f64`.
    Single(f32),
    /// An integer of at most 64 bits.
    Int(i128),
}

impl Bound {
    fn compare(self, other: Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Int(one), Self::Int(two)) => one.cmp(&two),
            (one, two) => one.to_f64().partial_cmp(&two.to_f64()).unwrap_or(std::cmp::Ordering::Equal),
        }
    }

    /// Returns the number, rounded if it has more digits.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Float(number) => number,
            Self::Single(number) => number.into(),
            Self::Int(number) => number as f64,
        }
    }
}

/// The factor that keeps `Stats::scaled_deviation` finite for numbers of any count and size.
const DEVIATION_SCALE: f64 = 1.0 / (1u64 << 40) as f64;

impl Stats {
    /// Merges the statistics of two sets of numbers.
    pub(super) fn merge(self, other: Self) -> Self {
        if self.finite_count() == 0 || other.finite_count() == 0 {
            let (some, none) = if self.finite_count() == 0 { (other, self) } else { (self, other) };
            let (count, nan, inf) = (some.count + none.count, some.nan + none.nan, some.inf + none.inf);
            return Self { count, nan, inf, ..some };
        }
        let pick = |one: (Bound, u64), two: (Bound, u64), less: bool| match one.0.compare(two.0) {
            std::cmp::Ordering::Equal => (one.0, one.1.min(two.1)),
            order if order.is_lt() == less => one,
            _ => two,
        };
        let (min, argmin) = pick((self.min, self.argmin), (other.min, other.argmin), true);
        let (max, argmax) = pick((self.max, self.argmax), (other.max, other.argmax), false);
        let (n, m) = (self.finite_count() as f64, other.finite_count() as f64);
        let delta = other.mean / 2.0 - self.mean / 2.0;
        Self {
            count: self.count + other.count,
            nan: self.nan + other.nan,
            inf: self.inf + other.inf,
            zero: self.zero + other.zero,
            min,
            max,
            argmin,
            argmax,
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

    /// Returns the number of elements that are neither NaN nor infinite.
    pub fn finite_count(&self) -> u64 {
        self.count - self.nan - self.inf
    }

    /// Returns the standard deviation (of the population: `ddof` is 0).
    pub fn std(&self) -> f64 {
        let count = self.finite_count() as f64;
        match self.squared_deviations.is_finite() {
            true => (self.squared_deviations / count).sqrt(),
            false => self.scaled_deviation / count.sqrt() / DEVIATION_SCALE,
        }
    }
}

pub(super) trait Number: Copy + Send + Sync {
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
pub(super) fn stats_of_slice<T: Number>(items: &[T]) -> Stats {
    const PIECE_BYTES: usize = 16 << 10;
    let len = (PIECE_BYTES / size_of::<T>()).max(1);
    let mut all = stats_of_piece::<T>(&[]);
    for (number, piece) in items.chunks(len).enumerate() {
        let mut found = stats_of_piece(piece);
        if found.finite_count() > 0 {
            // Of most pieces, the extremes are not those of all.
            let is_first = all.finite_count() == 0;
            let place = |bound: Bound| {
                let at = piece
                    .iter()
                    .position(|item| item.bound().compare(bound).is_eq() && !item.to_f64().is_nan());
                (number * len + at.unwrap_or(0)) as u64
            };
            let is_lower = is_first || found.min.compare(all.min).is_lt();
            let is_higher = is_first || found.max.compare(all.max).is_gt();
            found.argmin = if is_lower { place(found.min) } else { u64::MAX };
            found.argmax = if is_higher { place(found.max) } else { u64::MAX };
        }
        all = all.merge(found);
    }
    all
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
        argmin: 0,
        argmax: 0,
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

/// Converts to a type that the loops support: native byte order, `f32` for halves and less, and `f64` for long doubles. `None` if they are
/// not numbers.
pub(super) fn to_supported_dtype<'a>(
    array: &'a DynArray,
    options: &ReadOptions,
) -> Result<Option<Cow<'a, DynArray>>> {
    let Some(scalar) = array.dtype().as_scalar() else { return Ok(None) };
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
    let Some(wanted) = wanted.map(DType::from) else { return Ok(None) };
    Ok(Some(match array.dtype() == &wanted {
        true => Cow::Borrowed(array),
        false => Cow::Owned(array.cast_to(&wanted, options.clone().casting(Casting::Unsafe))?),
    }))
}

/// Computes the statistics of an array of numbers of a supported type; their places are counted in the order of its memory.
pub(super) fn stats_of_array(array: &DynArray) -> Result<Stats> {
    Ok(with_numbers!(array, |view| match view.as_slice_memory_order() {
        Some(items) => stats_of_slice(items),
        None => stats_of_slice(&view.iter().copied().collect::<Vec<_>>()),
    })?)
}

/// Computes the statistics of each group of elements that have the same indices along the axes `kept`; their places are counted in C order
/// along the others.
pub(super) fn stats_of_groups(array: &DynArray, kept: &[usize]) -> Result<Vec<Stats>> {
    let axes = groups_first(array.ndim(), kept);
    let groups: usize = kept.iter().map(|axis| array.shape()[*axis]).product();
    let len = array.len().checked_div(groups).unwrap_or(0);
    Ok(with_numbers!(array, |view| {
        let ordered = view.permuted_axes(ndarray::IxDyn(&axes));
        let ordered = ordered.as_standard_layout();
        let items = ordered.as_slice().unwrap_or_default();
        (0..groups).map(|group| stats_of_slice(&items[group * len..][..len])).collect()
    })?)
}
