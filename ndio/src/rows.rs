//! Rows of an array: those that satisfy a condition, in an order, the first or last of them, or a sample; and tables of them.

use std::io::Write;

use clap::Args;
use ndarray::SliceInfoElem;
use ndarray_io::header::Order;
use ndarray_io::{DType, DynArray};
use ndarray_io_compute::Part;
use ndarray_io_compute::table::{CellOptions, Column, columns, layout};

use super::calc::{failure, marked_failure, parse};
use super::failure::Failure;
use super::find::bound_condition;
use super::source::Source;

/// Which rows
#[derive(Args)]
pub(crate) struct RowOptions {
    /// Only rows for which a condition of ndio calc holds: 'energy > 3 and ok'; x is the array
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true, help_heading = "Rows")]
    condition: Option<String>,
    /// In the order of a field or an expression; -energy begins with the largest
    #[arg(long, value_name = "KEY", allow_hyphen_values = true, help_heading = "Rows")]
    sort: Option<String>,
    /// The first rows
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["tail", "sample"], help_heading = "Rows")]
    head: Option<usize>,
    /// The last rows
    #[arg(long, value_name = "NUMBER", conflicts_with = "sample", help_heading = "Rows")]
    pub(crate) tail: Option<usize>,
    /// This number of rows, chosen by chance
    #[arg(long, value_name = "NUMBER", help_heading = "Rows")]
    sample: Option<usize>,
    /// Which sample: the same number always chooses the same rows
    #[arg(long, value_name = "NUMBER", help_heading = "Rows")]
    seed: Option<u64>,
    /// How many rows are shown at most; default: 20
    #[arg(long, value_name = "NUMBER", help_heading = "Rows")]
    rows: Option<usize>,
    /// Show a table, as of records
    #[arg(long, conflicts_with = "json", help_heading = "Rows")]
    table: bool,
}

/// Numbers of rows, in order.
enum Rows {
    All(usize),
    Listed(Vec<usize>),
}

impl Rows {
    fn len(&self) -> usize {
        match self {
            Self::All(count) => *count,
            Self::Listed(rows) => rows.len(),
        }
    }

    fn get(&self, number: usize) -> usize {
        match self {
            Self::All(_) => number,
            Self::Listed(rows) => rows[number],
        }
    }
}

impl RowOptions {
    /// Whether rows are chosen, or put in another order.
    pub(crate) fn selects(&self) -> bool {
        self.condition.is_some()
            || self.sort.is_some()
            || self.head.is_some()
            || self.tail.is_some()
            || self.sample.is_some()
    }

    /// Whether an array is shown as a table.
    pub(crate) fn shows_table(&self, source: &Source) -> bool {
        let ndim = source.shape().len();
        source.dtype().as_record().is_some() && !source.dtype().has_object() && ndim == 1
            || self.table && (1..=2).contains(&ndim)
    }

    /// Returns the rows that are chosen.
    fn rows(&self, source: &Source) -> Result<Rows, Failure> {
        /// A list of rows takes 8 bytes for each.
        const MAX_ROWS: usize = ndarray_io_compute::MEMORY_BYTES as usize / 16;
        let too_many = || {
            Failure::from(format!(
                "more than {MAX_ROWS} rows are chosen: --slice, --where or --head choose fewer"
            ))
        };
        let count = *source.shape().first().ok_or("a single element has no rows")?;
        let mut rows = match &self.condition {
            None => Rows::All(count),
            Some(condition) => {
                let bound = bound_condition(condition, source)?;
                if bound.shape() != [count] {
                    return Err(format!(
                        "the condition has the shape {}, and there are {count} rows: any(…, axis=1) is one value for each row",
                        ndarray_io::header::Shape::from(bound.shape())
                    )
                    .into());
                }
                // The first ones are enough if nothing else needs the others.
                let enough = if self.sort.is_none() { self.head.unwrap_or(usize::MAX) } else { usize::MAX };
                let mut found = Vec::new();
                bound.for_each_truth(|part: Part<Vec<bool>>| {
                    let start = part.ranges[0].start;
                    found.extend(
                        part.elements
                            .iter()
                            .enumerate()
                            .filter(|(_, is_true)| **is_true)
                            .map(|(at, _)| start + at)
                            .take(enough.saturating_sub(found.len())),
                    );
                    if found.len() > MAX_ROWS { Err(too_many()) } else { Ok(()) }
                })?;
                Rows::Listed(found)
            }
        };
        if let Some(key) = &self.sort {
            if rows.len() > MAX_ROWS {
                return Err(too_many());
            }
            rows = sorted(source, &rows, key)?;
        }
        let (len, limit) = (rows.len(), |wanted: usize| wanted.min(rows.len()));
        let numbers: Vec<usize> = match (self.head, self.tail, self.sample) {
            (Some(wanted), ..) => (0..limit(wanted)).collect(),
            (_, Some(wanted), _) => (len - limit(wanted)..len).collect(),
            (.., Some(wanted)) => sample(len, limit(wanted), self.seed),
            _ => return Ok(rows),
        };
        Ok(Rows::Listed(numbers.into_iter().map(|number| rows.get(number)).collect()))
    }

    /// Returns the chosen rows as an array.
    pub(crate) fn chosen(&self, source: &Source) -> Result<DynArray, Failure> {
        let rows = self.rows(source)?;
        let size = source.byte_len() / (source.shape()[0].max(1) as u64);
        if size.saturating_mul(rows.len() as u64) > 8 * ndarray_io_compute::MEMORY_BYTES {
            return Err(format!(
                "{} rows are too many to be shown at once: --head and --sample choose fewer",
                rows.len()
            )
            .into());
        }
        read_rows(source, (0..rows.len()).map(|number| rows.get(number)))
    }

    /// Prints rows as a table. `digits` is the number of significant digits, `None` for all.
    pub(crate) fn print_table(
        &self,
        source: &Source,
        digits: Option<usize>,
        width: usize,
        all: bool,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        const DEFAULT_ROWS: usize = 20;
        let rows = self.rows(source)?;
        let most = if all { usize::MAX } else { self.rows.unwrap_or(DEFAULT_ROWS) };
        // Of what has an order of its own, the first ones; otherwise the first and the last.
        let is_first_only = self.sort.is_some() || self.rows.is_some();
        let (first, last) = match rows.len() {
            len if len <= most => (len, 0),
            _ if is_first_only => (most, 0),
            _ => (most.div_ceil(2), most / 2),
        };
        let shown: Vec<usize> =
            (0..first).chain(rows.len() - last..rows.len()).map(|number| rows.get(number)).collect();
        let mut all_columns = row_columns(source, &shown, digits)?;
        if last > 0 {
            all_columns.iter_mut().for_each(|column| column.cells.insert(first, "…".into()));
        }
        for line in layout(&all_columns, width) {
            writeln!(out, "{line}")?;
        }
        let total = source.shape()[0];
        if rows.len() > first + last || rows.len() < total {
            let of = if rows.len() < total {
                format!("{} of {total} rows", rows.len())
            } else {
                format!("{total} rows")
            };
            writeln!(out, "{of}")?;
        }
        Ok(())
    }
}

/// Returns the columns of rows, the first of which has their numbers.
pub(crate) fn row_columns(
    source: &Source,
    rows: &[usize],
    digits: Option<usize>,
) -> Result<Vec<Column>, Failure> {
    let array = read_rows(source, rows.iter().copied())?;
    let (display, read) = (crate::reading::display_options(), crate::reading::options());
    let mut found = vec![Column::new("", rows.iter().map(usize::to_string).collect(), true)];
    found.extend(columns(&array, &CellOptions { digits, display: &display, read: &read }).map_err(failure)?);
    for cell in found.iter_mut().flat_map(|column| &mut column.cells) {
        *cell = super::failure::escape_for_terminal(cell);
    }
    Ok(found)
}

/// Reads rows, those that follow one another at once.
pub(crate) fn read_rows(source: &Source, rows: impl Iterator<Item = usize>) -> Result<DynArray, Failure> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for row in rows {
        match runs.last_mut() {
            Some(run) if run.end == row => run.end += 1,
            _ => runs.push(row..row + 1),
        }
    }
    let (mut bytes, mut count) = (Vec::new(), 0);
    for run in runs {
        let all = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
        let mut slice = vec![all; source.shape().len()];
        slice[0] = SliceInfoElem::Slice { start: run.start as isize, end: Some(run.end as isize), step: 1 };
        bytes.extend_from_slice(source.slice(&slice)?.in_order(Order::C)?.bytes());
        count += run.len();
    }
    let shape = [&[count], &source.shape()[1..]].concat();
    let dtype: DType = source.dtype().clone();
    Ok(DynArray::from_bytes(dtype, shape, Order::C, &bytes)?)
}

/// Sorts rows by a key; equal ones keep their order, and NaN comes last.
fn sorted(source: &Source, rows: &Rows, key: &str) -> Result<Rows, Failure> {
    // Of an expression, a minus is that of its first part.
    let is_name =
        |rest: &&str| !rest.contains(['+', '-', '*', '/', '%', '<', '>', '=', '&', '|', '^', ' ', '(']);
    let (is_descending, key) = match key.strip_prefix('-').filter(is_name) {
        Some(rest) => (true, rest),
        None => (false, key),
    };
    let ranks = ndarray_io_compute::row_ranks(source, &parse(key)?);
    let keys = ranks.map_err(|error| marked_failure(key, error))?;
    let mut order: Vec<usize> = (0..rows.len()).map(|number| rows.get(number)).collect();
    match is_descending {
        true => order.sort_by_key(|row| (keys[*row] == u32::MAX, std::cmp::Reverse(keys[*row]))),
        false => order.sort_by_key(|row| keys[*row]),
    }
    Ok(Rows::Listed(order))
}

/// Returns `wanted` of the numbers below `len`, in ascending order.
fn sample(len: usize, wanted: usize, seed: Option<u64>) -> Vec<usize> {
    let mut random = seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
    // Floyd's algorithm: each set of numbers is equally probable.
    let mut chosen = std::collections::BTreeSet::new();
    for last in len - wanted..len {
        let number = random.u64(..=last as u64) as usize; // the same where a `usize` has 32 bits
        chosen.insert(if chosen.contains(&number) { last } else { number });
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::sample;

    #[test]
    fn samples_have_distinct_numbers_of_the_range() {
        for (len, wanted) in [(10, 10), (1000, 7), (1, 1), (0, 0), (5, 0)] {
            let found = sample(len, wanted, Some(3));
            assert_eq!(found.len(), wanted);
            assert!(found.is_sorted_by(|one, two| one < two) && found.iter().all(|number| *number < len));
        }
        assert_ne!(sample(1000, 5, Some(1)), sample(1000, 5, Some(2)));
    }
}
