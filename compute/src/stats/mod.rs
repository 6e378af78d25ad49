//! Statistics (minimum, maximum, mean and so on), computed in one pass on all cores.

mod numbers;

use std::ops::Range;

use ndarray::Dimension;
use ndarray_io::dtype::Kind;
use ndarray_io::header::Order;
use ndarray_io::{Casting, DType, DynArray, ReadOptions};
use num_complex::Complex;

use crate::Source;
use crate::boxes::{index_in, numbers_of};
use crate::error::{Error, Result};
pub use numbers::{Bound, Stats};
use numbers::{stats_of_array, stats_of_groups, stats_of_slice, to_supported_dtype};

/// Statistics of elements of any kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Summary {
    /// Numbers; a bool is 0 or 1.
    Numbers(Stats),
    /// Complex numbers: statistics of the real parts, the imaginary parts, and the magnitudes.
    Complex(Box<[Stats; 3]>),
    /// Times: statistics of the counts, their dtype, and the number of NaT.
    Times {
        /// The counts, without NaT.
        ticks: Stats,
        /// The dtype of the times.
        dtype: DType,
        /// The number of NaT.
        nat: u64,
    },
    /// Texts.
    Texts(TextStats),
    /// Those of each field of records.
    Fields(Vec<(String, Self)>),
    /// There are none for this dtype; the reason.
    Nothing(String),
}

/// Statistics of texts.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TextStats {
    /// The number of texts.
    pub count: u64,
    /// How many are empty.
    pub empty: u64,
    /// The first one by the numbers of its characters, and the last one.
    pub range: Option<(String, String)>,
    /// The number of characters of the longest one.
    pub longest: usize,
}

impl TextStats {
    fn of(texts: impl Iterator<Item = String>) -> Self {
        let mut all = Self::default();
        for text in texts {
            all.count += 1;
            all.empty += u64::from(text.is_empty());
            all.longest = all.longest.max(text.chars().count());
            match &mut all.range {
                Some((low, _)) if text < *low => *low = text,
                Some((_, high)) if text > *high => *high = text,
                Some(_) => {}
                range => *range = Some((text.clone(), text)),
            }
        }
        all
    }

    fn merge(self, other: Self) -> Self {
        let range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
        Self {
            count: self.count + other.count,
            empty: self.empty + other.empty,
            range,
            longest: self.longest.max(other.longest),
        }
    }
}

/// Returns the message for a dtype whose elements have neither a minimum nor a mean.
fn no_statistics(dtype: &DType) -> String {
    format!("there are no statistics for dtype {dtype}")
}

/// A part of an array, and how it is divided into groups.
struct Groups<'a> {
    /// The axes of which each index has a group of its own.
    kept: &'a [usize],
    /// What the part is of each axis of the array.
    ranges: &'a [Range<usize>],
    /// The shape of the array.
    shape: &'a [usize],
    options: &'a ReadOptions,
}

impl Groups<'_> {
    /// Returns the statistics of each group.
    fn summaries(&self, array: &DynArray) -> Result<Vec<Summary>> {
        if let DType::Record(record) = array.dtype() {
            let mut groups: Vec<Vec<(String, Summary)>> = vec![Vec::new(); self.count(array)];
            for (index, field) in record.fields().iter().enumerate() {
                // By its number: a name would be searched for.
                let found = self.summaries(&array.field(index)?)?;
                for (group, summary) in groups.iter_mut().zip(found) {
                    group.push((field.name().to_owned(), summary));
                }
            }
            return Ok(groups.into_iter().map(Summary::Fields).collect());
        }
        let scalar = array.dtype().as_scalar().map(|scalar| (scalar.kind(), scalar.size()));
        if let Some((Kind::Float, 16) | (Kind::Complex, 32)) = scalar
            && !self.has_long_double_format(array.dtype())
        {
            let reason = no_statistics(array.dtype()) + ": its format is not known";
            return Ok(vec![Summary::Nothing(reason); self.count(array)]);
        }
        // The first of equal extremes is the first one in C order.
        let array = &*array.in_order(Order::C)?;
        if let Some(numbers) = to_supported_dtype(array, self.options)? {
            let found = match self.kept.is_empty() {
                true => vec![stats_of_array(&numbers)?],
                false => stats_of_groups(&numbers, self.kept)?,
            };
            return Ok(found
                .into_iter()
                .map(|stats| Summary::Numbers(self.placed(stats, &numbers)))
                .collect());
        }
        if self.kept.is_empty() {
            return Ok(vec![self.other_summary(array)?]);
        }
        let mut found = Vec::with_capacity(self.count(array));
        let lengths: Vec<usize> = self.kept.iter().map(|axis| array.shape()[*axis]).collect();
        for index in ndarray::indices(ndarray::IxDyn(&lengths)) {
            let mut slice =
                vec![ndarray::SliceInfoElem::Slice { start: 0, end: None, step: 1 }; array.ndim()];
            for (axis, at) in self.kept.iter().zip(index.slice()) {
                slice[*axis] = ndarray::SliceInfoElem::Index(*at as isize);
            }
            found.push(self.other_summary(&array.slice(&slice[..])?)?);
        }
        Ok(found)
    }

    /// Whether the options say what long doubles are.
    fn has_long_double_format(&self, dtype: &DType) -> bool {
        let none = DynArray::from_bytes(dtype.clone(), vec![0], Order::C, &[]);
        let options = self.options.clone().casting(Casting::Unsafe);
        none.is_ok_and(|none| none.cast::<Complex<f64>, ndarray::Ix1>(&options).is_ok())
    }

    fn count(&self, array: &DynArray) -> usize {
        self.kept.iter().map(|axis| array.shape()[*axis]).product()
    }

    /// Returns the statistics of elements that are not real numbers.
    fn other_summary(&self, array: &DynArray) -> Result<Summary> {
        match array.dtype().as_scalar().map(|scalar| (scalar.kind(), scalar.size())) {
            Some((Kind::Complex, 8..)) => self.of_complex(array),
            Some((Kind::Datetime(_) | Kind::Timedelta(_), _)) => {
                let dtype = array.dtype().clone();
                // Casting to `i64` converts the ticks to native byte order.
                let all: Vec<i64> = array.cast::<i64, ndarray::IxDyn>(Casting::Unsafe)?.into_iter().collect();
                let times: Vec<i64> = all.iter().copied().filter(|ticks| *ticks != i64::MIN).collect();
                let nat = (all.len() - times.len()) as u64;
                Ok(Summary::Times { ticks: stats_of_slice(&times), dtype, nat })
            }
            Some((Kind::Text, _)) => {
                let texts = array.cast::<String, ndarray::IxDyn>(Casting::Safe)?;
                Ok(Summary::Texts(TextStats::of(texts.into_iter())))
            }
            _ => Ok(Summary::Nothing(no_statistics(array.dtype()))),
        }
    }

    fn of_complex(&self, array: &DynArray) -> Result<Summary> {
        let options = self.options.clone().casting(Casting::Unsafe);
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
        Ok(Summary::Complex(Box::new(parts)))
    }

    /// Counts the places of the extremes in the array instead of the part.
    fn placed(&self, stats: Stats, array: &DynArray) -> Stats {
        let others: Vec<usize> = (0..array.ndim()).filter(|axis| !self.kept.contains(axis)).collect();
        // The axes of elements that are arrays come last, and are entire.
        let range = |axis: &usize| self.ranges.get(*axis).cloned().unwrap_or(0..array.shape()[*axis]);
        let ranges: Vec<Range<usize>> = others.iter().map(range).collect();
        let length = |axis: usize| self.shape.get(axis).copied().unwrap_or(array.shape()[axis]);
        let place = |at: u64| {
            if at == u64::MAX {
                return at;
            }
            let indices = index_in(&ranges, at as usize);
            let index = others.iter().zip(&indices);
            index.fold(0u64, |all, (axis, index)| all * length(*axis) as u64 + *index as u64)
        };
        let mut stats = stats;
        (stats.argmin, stats.argmax) = (place(stats.argmin), place(stats.argmax));
        stats
    }
}

impl Summary {
    /// Merges the statistics of two parts.
    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Numbers(one), Self::Numbers(two)) => Self::Numbers(one.merge(two)),
            (Self::Complex(ones), Self::Complex(twos)) => {
                let ([a, b, c], [d, e, f]) = (*ones, *twos);
                Self::Complex(Box::new([a.merge(d), b.merge(e), c.merge(f)]))
            }
            (Self::Times { ticks, dtype, nat }, Self::Times { ticks: others, nat: more, .. }) => {
                Self::Times { ticks: ticks.merge(others), dtype, nat: nat + more }
            }
            (Self::Texts(one), Self::Texts(two)) => Self::Texts(one.merge(two)),
            (Self::Fields(ones), Self::Fields(twos)) => {
                let both = ones.into_iter().zip(twos);
                Self::Fields(both.map(|((name, one), (_, two))| (name, one.merge(two))).collect())
            }
            (one, _) => one,
        }
    }

    /// Returns the minimum and maximum; for complex numbers, those of the magnitudes.
    ///
    /// # Errors
    ///
    /// [`Error::Operands`] if they are not numbers.
    pub fn range(&self) -> Result<(f64, f64)> {
        match self {
            Self::Numbers(stats) => Ok((stats.min.to_f64(), stats.max.to_f64())),
            Self::Complex(parts) => Ok((parts[2].min.to_f64(), parts[2].max.to_f64())),
            Self::Nothing(reason) => Err(Error::operands(reason.clone())),
            Self::Times { dtype, .. } => Err(Error::operands(format!("dtype {dtype} is not numeric"))),
            Self::Texts(_) => Err(Error::operands("text is not numeric")),
            Self::Fields(_) => Err(Error::operands("records are not numeric")),
        }
    }
}

/// Computes the statistics of an array, with one thread for each core. `progress` is told how many bytes have been read.
///
/// # Errors
///
/// Those of reading the array.
pub fn summarize(
    source: &dyn Source,
    options: &ReadOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Summary> {
    let mut all = summarize_groups(source, &[], options, progress)?;
    Ok(all.pop().unwrap_or_else(|| unreachable!("without axes there is one group")))
}

/// Computes the statistics of each group of elements that have the same indices along the axes `kept`, in C order: for a table and `[1]`,
/// those of each column.
///
/// # Errors
///
/// Those of reading the array; [`Error::TooLarge`] if there are too many groups.
pub fn summarize_groups(
    source: &dyn Source,
    kept: &[usize],
    options: &ReadOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<Summary>> {
    /// The block size in bytes: a block fits in a core's private cache.
    const BLOCK_BYTES: usize = 512 << 10;
    const MAX_GROUPS: u64 = crate::MEMORY_BYTES / size_of::<Summary>() as u64;
    let shape = source.shape();
    let lengths: Vec<usize> = kept.iter().map(|axis| shape[*axis]).collect();
    let count = lengths.iter().fold(1u64, |all, length| all.saturating_mul(*length as u64));
    if count > MAX_GROUPS {
        return Err(Error::TooLarge(format!("{count} groups are too many: choose other axes, or a part")));
    }
    // The statistics of an empty array show which kind of statistics the dtype has.
    let axes = vec![0; shape.len().max(1)];
    let none = DynArray::from_bytes(source.dtype().clone(), axes.clone(), Order::C, &[]);
    let ranges = vec![0..0; axes.len()];
    let groups = Groups { kept: &[], ranges: &ranges, shape: &axes, options };
    let none = match none {
        Ok(none) => groups.summaries(&none)?.remove(0),
        Err(_) => Summary::Nothing(no_statistics(source.dtype())),
    };
    if matches!(none, Summary::Nothing(_)) {
        return Ok(vec![none; count as usize]);
    }
    let mut merged: Vec<Option<Summary>> = vec![None; count as usize];
    source.blocks().bytes(BLOCK_BYTES).par_map(
        |block| {
            let groups = Groups { kept, ranges: block.ranges(), shape, options };
            let found = groups.summaries(block.array()).map_err(|error| match error {
                Error::Read(error) => Error::Read(Box::new(block.located(*error))),
                other => other,
            })?;
            let ranges: Vec<Range<usize>> = kept.iter().map(|axis| block.ranges()[*axis].clone()).collect();
            Ok((found, ranges, block.array().bytes().len() as u64))
        },
        // Merged in order, because rounding depends on the order, and each run must give the same result.
        |found: Result<_>| {
            let (found, ranges, bytes) = found?;
            progress(bytes);
            let places = numbers_of(&ranges, &lengths);
            for (place, summary) in places.into_iter().zip(found) {
                merged[place] = Some(match merged[place].take() {
                    Some(before) => before.merge(summary),
                    None => summary,
                });
            }
            Ok::<(), Error>(())
        },
    )?;
    Ok(merged.into_iter().map(|found| found.unwrap_or_else(|| none.clone())).collect())
}

/// Formats a time like an element of an array.
pub fn time_text(ticks: i64, dtype: &DType) -> Option<String> {
    let native = dtype.with_byte_order(ndarray_io::ByteOrder::NATIVE);
    let one = DynArray::from_bytes(native, Vec::new(), Order::C, &ticks.to_ne_bytes()).ok()?;
    one.texts().next()
}
