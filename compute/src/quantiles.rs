//! Percentiles: exact, in bounded memory, by passes that narrow down where each of them is.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use ndarray_io::blocks::map_in_order;
use ndarray_io::dtype::Kind;
use ndarray_io::{Casting, DynArray, ReadOptions};

use crate::boxes::{groups_first, numbers_of};
use crate::error::{Error, Result};
use crate::{MEMORY_BYTES, Source};

/// Returns percentiles (0 to 100) of each group, as [`summarize_groups`](crate::summarize_groups) has them, without NaN: the values of
/// `numpy.nanpercentile`, which interpolates linearly. NaN for a group without numbers.
///
/// The array is read once if its numbers fit in [`MEMORY_BYTES`], and otherwise a few times.
///
/// # Errors
///
/// Those of reading the array; [`Error::Operands`] if the elements are not real numbers.
pub fn percentiles(
    source: &dyn Source,
    kept: &[usize],
    wanted: &[f64],
    options: &ReadOptions,
) -> Result<Vec<Vec<f64>>> {
    let scalar = source.dtype().as_scalar().map(|scalar| scalar.kind());
    if !matches!(scalar, Some(Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Narrow(_))) {
        return Err(Error::operands(format!("there are no percentiles of dtype {}", source.dtype())));
    }
    let lengths: Vec<usize> = kept.iter().map(|axis| source.shape()[*axis]).collect();
    let groups = lengths.iter().product();
    let pass = Pass { source, kept, lengths, options };
    let len = source.shape().iter().fold(1u64, |all, length| all.saturating_mul(*length as u64));
    if len.saturating_mul(8) <= MEMORY_BYTES {
        let everything = || Search { count: 0, spans: vec![Span::all(0, Vec::new())] };
        let mut searches: Vec<Search> = std::iter::repeat_with(everything).take(groups).collect();
        pass.gather(&mut searches)?;
        let values = |search: Search| {
            let keys = search.spans.into_iter().flat_map(|span| span.keys).collect::<Vec<_>>();
            let mut search = Search::new(keys.len() as u64, wanted);
            if let Some(span) = search.spans.first_mut() {
                span.keys = keys;
                span.select();
            }
            search.values(wanted)
        };
        return on_all_cores(searches, options, values);
    }
    let mut searches =
        pass.counts(groups)?.into_iter().map(|count| Search::new(count, wanted)).collect::<Vec<_>>();
    loop {
        let spans = searches.iter().flat_map(|search| &search.spans).filter(|span| span.low < span.high);
        let open: u64 = spans.map(|span| span.count).sum();
        if open.saturating_mul(8) <= MEMORY_BYTES {
            break;
        }
        pass.narrow(&mut searches)?;
    }
    pass.gather(&mut searches)?;
    on_all_cores(searches, options, |mut search| {
        search.spans.iter_mut().for_each(Span::select);
        search.values(wanted)
    })
}

/// Finishes the searches of all groups.
fn on_all_cores(
    searches: Vec<Search>,
    options: &ReadOptions,
    finish: impl Fn(Search) -> Vec<f64> + Sync,
) -> Result<Vec<Vec<f64>>> {
    let mut found = Vec::with_capacity(searches.len());
    map_in_order(searches.into_iter(), options.get_threads(), finish, |values| {
        found.push(values);
        Ok::<(), Error>(())
    })?;
    Ok(found)
}

/// The numbers in which the wanted ones of a group are.
struct Search {
    /// How many numbers the group has.
    count: u64,
    /// In ascending order, without a common number.
    spans: Vec<Span>,
}

/// All numbers whose keys are in a range: those of the ranks from `first` on.
struct Span {
    low: u64,
    /// The last key.
    high: u64,
    first: u64,
    count: u64,
    /// The ranks that are wanted.
    ranks: Vec<u64>,
    /// The keys, once they have been gathered.
    keys: Vec<u64>,
}

impl Search {
    fn new(count: u64, wanted: &[f64]) -> Self {
        let mut ranks: Vec<u64> = wanted.iter().flat_map(|wanted| ranks_of(*wanted, count)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        Self { count, spans: if count == 0 { Vec::new() } else { vec![Span::all(count, ranks)] } }
    }

    /// Returns the number of a rank.
    fn number(&self, rank: u64) -> f64 {
        let span = self.spans.iter().find(|span| (span.first..span.first + span.count).contains(&rank));
        let span = span.unwrap_or_else(|| unreachable!("every wanted rank is in a span"));
        number_of(if span.low == span.high { span.low } else { span.keys[(rank - span.first) as usize] })
    }

    fn values(self, wanted: &[f64]) -> Vec<f64> {
        let value = |wanted: &f64| {
            if self.count == 0 {
                return f64::NAN;
            }
            let [low, high] = ranks_of(*wanted, self.count);
            let place = wanted / 100.0 * (self.count - 1) as f64;
            let (a, b, share) = (self.number(low), self.number(high), place - place.floor());
            let difference = b - a;
            // As NumPy rounds.
            match () {
                () if low == high || difference == 0.0 => a,
                () if share >= 0.5 => b - difference * (1.0 - share),
                () => a + difference * share,
            }
        };
        wanted.iter().map(value).collect()
    }
}

/// Returns the ranks of the two numbers between which a percentile is.
fn ranks_of(wanted: f64, count: u64) -> [u64; 2] {
    let last = count.saturating_sub(1);
    let place = (wanted / 100.0 * last as f64).clamp(0.0, last as f64);
    [(place.floor() as u64).min(last), (place.ceil() as u64).min(last)]
}

/// Returns an integer with the order of the numbers: -0.0 is 0.0.
fn key_of(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn number_of(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

struct Pass<'a> {
    source: &'a dyn Source,
    kept: &'a [usize],
    lengths: Vec<usize>,
    options: &'a ReadOptions,
}

impl Pass<'_> {
    /// Calls `look` with the numbers of each group in each block, on several threads.
    fn visit(&self, look: impl Fn(usize, &mut dyn Iterator<Item = f64>) + Sync) -> Result<()> {
        const BLOCK_BYTES: usize = 2 << 20;
        let options = self.options.clone().casting(Casting::Unsafe).threads(1);
        self.source.blocks().bytes(BLOCK_BYTES).par_map(
            |block| {
                let numbers = block
                    .array()
                    .cast::<f64, ndarray::IxDyn>(&options)
                    .map_err(|error| block.located(error))?;
                self.visit_block(block.array(), &numbers.view(), block.ranges(), &look);
                Ok(())
            },
            |done: Result<()>| done,
        )
    }

    fn visit_block(
        &self,
        array: &DynArray,
        numbers: &ndarray::ArrayViewD<'_, f64>,
        ranges: &[Range<usize>],
        look: &impl Fn(usize, &mut dyn Iterator<Item = f64>),
    ) {
        let is_number = |number: &f64| !number.is_nan();
        if self.kept.is_empty() {
            return match numbers.as_slice_memory_order() {
                Some(all) => look(0, &mut all.iter().copied().filter(is_number)),
                None => look(0, &mut numbers.iter().copied().filter(is_number)),
            };
        }
        let axes = groups_first(array.ndim(), self.kept);
        let ordered = numbers.view().permuted_axes(ndarray::IxDyn(&axes));
        let ordered = ordered.as_standard_layout();
        let all = ordered.as_slice().unwrap_or_default();
        let places = numbers_of(self.kept.iter().map(|axis| &ranges[*axis]), &self.lengths);
        let len = all.len().checked_div(places.len()).unwrap_or(0);
        for (number, group) in places.into_iter().enumerate() {
            look(group, &mut all[number * len..][..len].iter().copied().filter(is_number));
        }
    }

    /// Counts the numbers of each group.
    fn counts(&self, groups: usize) -> Result<Vec<u64>> {
        let counts = Mutex::new(vec![0u64; groups]);
        self.visit(|group, numbers| {
            let count = numbers.count() as u64;
            counts.lock().unwrap_or_else(PoisonError::into_inner)[group] += count;
        })?;
        Ok(counts.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Divides each span into parts of keys, and keeps the parts that have a wanted number.
    fn narrow(&self, searches: &mut [Search]) -> Result<()> {
        let spans: usize = searches.iter().map(|search| search.spans.len()).sum();
        // As many parts as there is memory for, once for each thread.
        let budget = MEMORY_BYTES as usize / 8 / (self.options.get_threads() + 2) / spans.max(1);
        let bits = budget.max(2).ilog2().clamp(1, 16);
        let histogram = || -> Vec<Vec<Vec<u64>>> {
            searches.iter().map(|search| search.spans.iter().map(|_| vec![0; 1 << bits]).collect()).collect()
        };
        let free: Mutex<Vec<Vec<Vec<Vec<u64>>>>> = Mutex::new(Vec::new());
        let lock = || free.lock().unwrap_or_else(PoisonError::into_inner);
        self.visit(|group, numbers| {
            let taken = lock().pop();
            let mut counts = taken.unwrap_or_else(histogram);
            let (spans, of_group) = (&searches[group].spans, &mut counts[group]);
            for number in numbers {
                let key = key_of(number);
                // Usually there is one, or a few.
                for (span, counts) in spans.iter().zip(of_group.iter_mut()) {
                    if (span.low..=span.high).contains(&key) {
                        counts[((key - span.low) >> span.shift(bits)) as usize] += 1;
                        break;
                    }
                }
            }
            lock().push(counts);
        })?;
        let mut all = histogram();
        for one in free.into_inner().unwrap_or_else(PoisonError::into_inner) {
            for (sums, counts) in all.iter_mut().flatten().zip(one.iter().flatten()) {
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
        }
        for (search, counts) in searches.iter_mut().zip(all) {
            let spans =
                search.spans.iter().zip(counts).flat_map(|(span, counts)| span.divided(bits, &counts));
            search.spans = spans.collect();
        }
        Ok(())
    }

    /// Collects the keys of all spans.
    fn gather(&self, searches: &mut [Search]) -> Result<()> {
        let found: Vec<Mutex<Vec<Vec<u64>>>> =
            searches.iter().map(|search| Mutex::new(vec![Vec::new(); search.spans.len()])).collect();
        self.visit(|group, numbers| {
            let spans = &searches[group].spans;
            if let [Span { low: 0, high: u64::MAX, .. }] = spans[..] {
                let keys: Vec<u64> = numbers.map(key_of).collect();
                found[group].lock().unwrap_or_else(PoisonError::into_inner)[0].extend(keys);
                return;
            }
            let mut keys: Vec<Vec<u64>> = vec![Vec::new(); spans.len()];
            for number in numbers {
                let key = key_of(number);
                if let Some(at) = spans.iter().position(|span| (span.low..=span.high).contains(&key))
                    && spans[at].low < spans[at].high
                {
                    keys[at].push(key);
                }
            }
            let mut found = found[group].lock().unwrap_or_else(PoisonError::into_inner);
            for (all, keys) in found.iter_mut().zip(keys) {
                all.extend(keys);
            }
        })?;
        for (search, found) in searches.iter_mut().zip(found) {
            let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
            for (span, keys) in search.spans.iter_mut().zip(found) {
                span.keys = keys;
            }
        }
        Ok(())
    }
}

impl Span {
    fn all(count: u64, ranks: Vec<u64>) -> Self {
        Self { low: 0, high: u64::MAX, first: 0, count, ranks, keys: Vec::new() }
    }

    /// Moves the wanted keys to their places.
    fn select(&mut self) {
        let mut from = 0;
        for rank in &self.ranks {
            let at = (rank - self.first) as usize;
            if at >= from && at < self.keys.len() {
                self.keys[from..].select_nth_unstable(at - from);
                from = at + 1;
            }
        }
    }

    /// Returns by how many bits keys are shifted, so that the span has this many bits of parts.
    fn shift(&self, bits: u32) -> u32 {
        let width = 64 - (self.high - self.low).leading_zeros();
        width.saturating_sub(bits)
    }

    fn divided(&self, bits: u32, counts: &[u64]) -> Vec<Self> {
        let (mut parts, mut first, shift) = (Vec::new(), self.first, self.shift(bits));
        for (number, count) in counts.iter().enumerate() {
            let ranks: Vec<u64> =
                self.ranks.iter().copied().filter(|rank| (first..first + count).contains(rank)).collect();
            if !ranks.is_empty() {
                let low = self.low + ((number as u64) << shift);
                let high = (low + ((1 << shift) - 1)).min(self.high);
                parts.push(Self { low, high, first, count: *count, ranks, keys: Vec::new() });
            }
            first += count;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_order_equals_number_order() {
        let numbers =
            [f64::NEG_INFINITY, -1e300, -1.5, -f64::MIN_POSITIVE, 0.0, 5e-324, 1.0, 2.0, f64::INFINITY];
        let keys = numbers.map(key_of);
        assert!(keys.is_sorted_by(|one, two| one < two));
        assert_eq!(keys.map(number_of), numbers);
        assert_eq!(key_of(-0.0), key_of(0.0));
    }
}
