//! Minimum, maximum, mean and the like of an array, in one pass over its blocks, on all cores.

mod numbers;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;

use ndarray_io::dtype::Kind;
use ndarray_io::header::Order;
use ndarray_io::{Casting, DType, DynArray};
use num_complex::Complex;
use serde_json::{Value, json};

use super::progress::Progress;
use super::source::Source;
use super::{Failure, told};
use numbers::{Bound, Stats, of_block, of_numbers};

/// What is found of elements of whatever kind.
#[derive(Debug)]
pub(crate) enum Found {
    Numbers(Stats),
    /// Of complex numbers: their two parts, and their magnitudes.
    Complex(Box<[Stats; 3]>),
    /// Ticks of this dtype, and how many are no time.
    Times {
        ticks: Stats,
        dtype: DType,
        none: u64,
    },
    Fields(Vec<(String, Self)>),
    /// Nothing, because of this.
    Nothing(String),
}

impl Found {
    fn of(array: DynArray) -> Result<Self, Failure> {
        let kind = match array.dtype() {
            DType::Record(record) => {
                let field = |field: &ndarray_io::dtype::Field| {
                    let name = field.name().to_owned();
                    Ok((name.clone(), Self::of(array.field(&*name)?)?))
                };
                return Ok(Self::Fields(record.fields().iter().map(field).collect::<Result<_, Failure>>()?));
            }
            dtype => dtype.as_scalar().map(|scalar| (scalar.kind(), scalar.size())),
        };
        match kind {
            Some((Kind::Bool | Kind::Int | Kind::Uint, _) | (Kind::Float, 2 | 4 | 8)) => {
                Ok(Self::Numbers(of_numbers(array)?))
            }
            Some((Kind::Complex, 8 | 16)) => Self::of_complex(&array),
            Some((Kind::Datetime(_) | Kind::Timedelta(_), _)) => {
                let dtype = array.dtype().clone();
                // The ticks of a time are integers; the byte order is theirs.
                let all: Vec<i64> = array.cast::<i64, ndarray::IxDyn>(Casting::Unsafe)?.into_iter().collect();
                let times: Vec<i64> = all.iter().copied().filter(|ticks| *ticks != i64::MIN).collect();
                let none = (all.len() - times.len()) as u64;
                Ok(Self::Times { ticks: of_block(&times), dtype, none })
            }
            _ => {
                Ok(Self::Nothing(format!("elements of the dtype {} have no minimum or mean", array.dtype())))
            }
        }
    }

    fn of_complex(array: &DynArray) -> Result<Self, Failure> {
        let all = array.cast::<Complex<f64>, ndarray::IxDyn>(Casting::Unsafe)?;
        let part = |part: fn(&Complex<f64>) -> f64| {
            // A number is one, or endless, or none, as a whole: its parts count alike.
            let parts = all.iter().map(|number| match number {
                number if number.is_nan() => f64::NAN,
                number if number.is_infinite() => f64::INFINITY,
                number => part(number),
            });
            of_block(&parts.collect::<Vec<_>>())
        };
        let parts = [part(|number| number.re), part(|number| number.im), part(|number| number.norm())];
        Ok(Self::Complex(Box::new(parts)))
    }

    /// What is found of both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Numbers(one), Self::Numbers(two)) => Self::Numbers(one.and(two)),
            (Self::Complex(ones), Self::Complex(twos)) => {
                let ([a, b, c], [d, e, f]) = (*ones, *twos);
                Self::Complex(Box::new([a.and(d), b.and(e), c.and(f)]))
            }
            (Self::Times { ticks, dtype, none }, Self::Times { ticks: others, none: other_none, .. }) => {
                Self::Times { ticks: ticks.and(others), dtype, none: none + other_none }
            }
            (Self::Fields(ones), Self::Fields(twos)) => {
                let both = ones.into_iter().zip(twos);
                Self::Fields(both.map(|((name, one), (_, two))| (name, one.and(two))).collect())
            }
            (one, _) => one,
        }
    }

    /// What is found of numbers, from the least to the largest.
    pub(crate) fn range(&self) -> Result<(f64, f64), Failure> {
        match self {
            Self::Numbers(stats) => Ok((stats.min.float(), stats.max.float())),
            Self::Complex(parts) => Ok((parts[2].min.float(), parts[2].max.float())),
            Self::Nothing(reason) => Err(reason.clone().into()),
            Self::Times { dtype, .. } => Err(format!("elements of the dtype {dtype} are no numbers").into()),
            Self::Fields(_) => Err("records are no numbers".into()),
        }
    }

    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Numbers(stats) => stats.json(),
            Self::Nothing(reason) => json!({"error": reason}),
            Self::Fields(fields) => {
                let fields = fields.iter().map(|(name, found)| {
                    let mut stats = found.json();
                    stats["name"] = json!(name);
                    stats
                });
                json!({"fields": fields.collect::<Vec<_>>()})
            }
            Self::Complex(parts) => {
                let [real, imaginary, size] = &**parts;
                let mut stats =
                    json!({"count": size.count, "nan": size.nan, "inf": size.inf, "zero": size.zero});
                if size.finite() > 0 {
                    stats["magnitude"] = json!([size.min.float(), size.max.float()]);
                    stats["mean"] = json!([real.mean, imaginary.mean]);
                    stats["std"] = json!(real.std().hypot(imaginary.std()));
                }
                stats
            }
            Self::Times { ticks, dtype, none } => {
                let mut stats = json!({"count": ticks.count + none, "nat": none});
                if ticks.count > 0 {
                    let text = |ticks: f64| time_text(ticks as i64, dtype);
                    let exact = |bound: Bound| match bound {
                        Bound::Int(number) => time_text(number as i64, dtype),
                        bound => text(bound.float()),
                    };
                    stats["min"] = json!(exact(ticks.min));
                    stats["max"] = json!(exact(ticks.max));
                    // A float has fewer digits than ticks: the mean of times is among them, at least.
                    let (low, high) = (ticks.min.float(), ticks.max.float());
                    let is_one = ticks.min == ticks.max;
                    stats["mean"] =
                        json!(if is_one { exact(ticks.min) } else { text(ticks.mean.clamp(low, high)) });
                }
                stats
            }
        }
    }
}

/// A time as an array of it shows it.
fn time_text(ticks: i64, dtype: &DType) -> Option<String> {
    let native = dtype.with_byte_order(ndarray_io::dtype::ByteOrder::NATIVE);
    let one = DynArray::from_bytes(native, Vec::new(), Order::C, &ticks.to_ne_bytes()).ok()?;
    one.texts().next()
}

/// What has been found of the blocks so far, which are added in their order: rounding depends on it, and two runs should say the
/// same.
#[derive(Default)]
struct Merged {
    found: Option<Found>,
    next: usize,
    /// Those that came before their turn: as many as there are threads at most.
    early: BTreeMap<usize, Found>,
}

impl Merged {
    fn add(&mut self, number: usize, found: Found) {
        self.early.insert(number, found);
        while let Some(found) = self.early.remove(&self.next) {
            self.next += 1;
            self.found = Some(match self.found.take() {
                Some(before) => before.and(found),
                None => found,
            });
        }
    }
}

/// Those of a whole array, by as many threads as there are cores.
pub(crate) fn of(source: &Source) -> Result<Found, Failure> {
    /// What fits a core's own cache.
    const BLOCK: usize = 512 << 10;
    // Of no elements: what kind of answer there is.
    let empty = DynArray::from_bytes(source.dtype().clone(), vec![0], Order::C, &[]);
    let nothing = empty.map_or_else(
        |_| Ok(Found::Nothing(format!("elements of the dtype {} have no minimum or mean", source.dtype()))),
        Found::of,
    )?;
    if matches!(nothing, Found::Nothing(_)) {
        return Ok(nothing);
    }
    let all = source.byte_len();
    let queue = Mutex::new((source.blocks(source.order(), BLOCK).enumerate(), Progress::new()));
    let merged = Mutex::new(Merged::default());
    let work = || -> Result<(), String> {
        loop {
            let block = queue.lock().unwrap_or_else(PoisonError::into_inner).0.next();
            let Some((number, (slice, _))) = block else { return Ok(()) };
            let array = source.slice(&slice).map_err(|failure| told(&failure))?;
            let bytes = array.bytes().len() as u64;
            let found = Found::of(array).map_err(|failure| told(&failure))?;
            merged.lock().unwrap_or_else(PoisonError::into_inner).add(number, found);
            queue.lock().unwrap_or_else(PoisonError::into_inner).1.add(bytes, all);
        }
    };
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        let helpers: Vec<_> = (1..cores).map(|_| scope.spawn(work)).collect();
        let own = work();
        let join = |helper: thread::ScopedJoinHandle<'_, _>| match helper.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        helpers.into_iter().map(join).chain([own]).collect::<Result<(), String>>()
    })?;
    Ok(merged.into_inner().unwrap_or_else(PoisonError::into_inner).found.unwrap_or(nothing))
}
