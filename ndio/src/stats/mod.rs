//! Statistics of an array (minimum, maximum, mean and so on), computed in one pass on all cores.

mod numbers;
mod summary;

use ndarray_io::dtype::Kind;
use ndarray_io::header::Order;
use ndarray_io::{Casting, DType, DynArray};
use num_complex::Complex;

use super::failure::{Failure, in_block};
use super::progress::Progress;
use super::source::Source;
use numbers::{Bound, Stats, stats_of_array, stats_of_slice};
pub(crate) use summary::Summary;
use summary::{ComplexRange, FieldSummary, TimeRange};

/// Statistics of elements of any kind.
#[derive(Debug)]
pub(crate) enum AnyStats {
    Numbers(Stats),
    /// Complex numbers: statistics of the real parts, the imaginary parts, and the magnitudes.
    Complex(Box<[Stats; 3]>),
    /// Times: statistics of the ticks, their dtype, and the number of NaT.
    Times {
        ticks: Stats,
        dtype: DType,
        none: u64,
    },
    Fields(Vec<(String, Self)>),
    /// There are no statistics, for this reason.
    Nothing(String),
}

/// Returns the message for a dtype whose elements have neither a minimum nor a mean.
fn no_statistics(dtype: &DType) -> String {
    format!("there are no statistics for dtype {dtype}")
}

impl AnyStats {
    fn of(array: &DynArray) -> Result<Self, Failure> {
        let kind = match array.dtype() {
            DType::Record(record) => {
                // By its number: a name would be searched for.
                let field = |(index, field): (usize, &ndarray_io::dtype::Field)| {
                    Ok((field.name().to_owned(), Self::of(&array.field(index)?)?))
                };
                let fields = record.fields().iter().enumerate().map(field);
                return Ok(Self::Fields(fields.collect::<Result<_, Failure>>()?));
            }
            dtype => dtype.as_scalar().map(|scalar| (scalar.kind(), scalar.size())),
        };
        match kind {
            Some((Kind::Float, 16) | (Kind::Complex, 32)) if crate::reading::long_double().is_none() => {
                Ok(Self::Nothing(no_statistics(array.dtype()) + ": --long-double states its format"))
            }
            Some((Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Narrow(_), _)) => {
                Ok(Self::Numbers(stats_of_array(array)?))
            }
            Some((Kind::Complex, 8..)) => Self::of_complex(array),
            Some((Kind::Datetime(_) | Kind::Timedelta(_), _)) => {
                let dtype = array.dtype().clone();
                // Casting to `i64` converts the ticks to native byte order.
                let all: Vec<i64> = array.cast::<i64, ndarray::IxDyn>(Casting::Unsafe)?.into_iter().collect();
                let times: Vec<i64> = all.iter().copied().filter(|ticks| *ticks != i64::MIN).collect();
                let none = (all.len() - times.len()) as u64;
                Ok(Self::Times { ticks: stats_of_slice(&times), dtype, none })
            }
            _ => Ok(Self::Nothing(no_statistics(array.dtype()))),
        }
    }

    fn of_complex(array: &DynArray) -> Result<Self, Failure> {
        let options = crate::reading::options().casting(Casting::Unsafe);
        let all = array.cast::<Complex<f64>, ndarray::IxDyn>(&options)?;
        let part = |part: fn(&Complex<f64>) -> f64| {
            // A complex number is NaN or infinite if either part is, so count it in the statistics of both
            // parts.
            let parts = all.iter().map(|number| match number {
                number if number.is_nan() => f64::NAN,
                number if number.is_infinite() => f64::INFINITY,
                number => part(number),
            });
            stats_of_slice(&parts.collect::<Vec<_>>())
        };
        let parts = [part(|number| number.re), part(|number| number.im), part(|number| number.norm())];
        Ok(Self::Complex(Box::new(parts)))
    }

    /// Merges the statistics of two blocks.
    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Numbers(one), Self::Numbers(two)) => Self::Numbers(one.merge(two)),
            (Self::Complex(ones), Self::Complex(twos)) => {
                let ([a, b, c], [d, e, f]) = (*ones, *twos);
                Self::Complex(Box::new([a.merge(d), b.merge(e), c.merge(f)]))
            }
            (Self::Times { ticks, dtype, none }, Self::Times { ticks: others, none: other_none, .. }) => {
                Self::Times { ticks: ticks.merge(others), dtype, none: none + other_none }
            }
            (Self::Fields(ones), Self::Fields(twos)) => {
                let both = ones.into_iter().zip(twos);
                Self::Fields(both.map(|((name, one), (_, two))| (name, one.merge(two))).collect())
            }
            (one, _) => one,
        }
    }

    /// Returns the minimum and maximum; for complex numbers, those of the magnitudes.
    pub(crate) fn range(&self) -> Result<(f64, f64), Failure> {
        match self {
            Self::Numbers(stats) => Ok((stats.min.to_f64(), stats.max.to_f64())),
            Self::Complex(parts) => Ok((parts[2].min.to_f64(), parts[2].max.to_f64())),
            Self::Nothing(reason) => Err(reason.clone().into()),
            Self::Times { dtype, .. } => Err(format!("dtype {dtype} is not numeric").into()),
            Self::Fields(_) => Err("records are not numeric".into()),
        }
    }

    pub(crate) fn summary(self) -> Summary {
        match self {
            Self::Numbers(stats) => stats.summary(),
            Self::Nothing(error) => Summary::Nothing { error },
            Self::Fields(fields) => {
                let field = |(name, found): (String, Self)| FieldSummary { name, summary: found.summary() };
                Summary::Fields { fields: fields.into_iter().map(field).collect() }
            }
            Self::Complex(parts) => {
                let [real, imaginary, size] = *parts;
                let finite = (size.finite_count() > 0).then(|| ComplexRange {
                    magnitude: [size.min.to_f64(), size.max.to_f64()],
                    mean: [real.mean, imaginary.mean],
                    std: real.std().hypot(imaginary.std()),
                });
                Summary::Complex { count: size.count, nan: size.nan, inf: size.inf, zero: size.zero, finite }
            }
            Self::Times { ticks, dtype, none } => {
                let text = |ticks: f64| time_text(ticks as i64, &dtype);
                let exact = |bound: Bound| match bound {
                    Bound::Int(number) => time_text(number as i64, &dtype),
                    bound => text(bound.to_f64()),
                };
                let range = (ticks.count > 0).then(|| {
                    // An `f64` has fewer digits than a tick count: keep the rounded mean between minimum and
                    // maximum.
                    let (low, high) = (ticks.min.to_f64(), ticks.max.to_f64());
                    let mean = match ticks.min == ticks.max {
                        true => exact(ticks.min),
                        false => text(ticks.mean.clamp(low, high)),
                    };
                    TimeRange { min: exact(ticks.min), max: exact(ticks.max), mean }
                });
                Summary::Times { count: ticks.count + none, nat: none, range }
            }
        }
    }
}

/// Formats a time like an element of an array.
fn time_text(ticks: i64, dtype: &DType) -> Option<String> {
    let native = dtype.with_byte_order(ndarray_io::ByteOrder::NATIVE);
    let one = DynArray::from_bytes(native, Vec::new(), Order::C, &ticks.to_ne_bytes()).ok()?;
    one.texts().next()
}

/// Computes the statistics of an array, with one thread for each core.
pub(crate) fn compute(source: &Source) -> Result<AnyStats, Failure> {
    /// The block size in bytes: a block fits in a core's private cache.
    const BLOCK_BYTES: usize = 512 << 10;
    // The statistics of an empty array show which kind of statistics the dtype has.
    let empty = DynArray::from_bytes(source.dtype().clone(), vec![0], Order::C, &[]);
    let nothing = empty.map_or_else(
        |_| Ok(AnyStats::Nothing(no_statistics(source.dtype()))),
        |empty| AnyStats::of(&empty),
    )?;
    if matches!(nothing, AnyStats::Nothing(_)) {
        return Ok(nothing);
    }
    let all = source.byte_len();
    let mut progress = Progress::new();
    let mut merged = None;
    source.blocks().bytes(BLOCK_BYTES).par_map(
        |block| {
            let bytes = block.array().bytes().len() as u64;
            let found = AnyStats::of(block.array()).map_err(|failure| in_block(&block, failure))?;
            Ok((found, bytes))
        },
        // Merged in order, because rounding depends on the order, and each run must print the same result.
        |found: Result<(AnyStats, u64), Failure>| {
            let (found, bytes) = found?;
            progress.add(bytes, all);
            merged = Some(match merged.take() {
                Some(before) => AnyStats::merge(before, found),
                None => found,
            });
            Ok::<(), Failure>(())
        },
    )?;
    Ok(merged.unwrap_or(nothing))
}
