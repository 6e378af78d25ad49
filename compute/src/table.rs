//! Tables of text: columns with one notation each, which fit a width.

use ndarray_io::dtype::Kind;
use ndarray_io::options::DisplayOptions;
use ndarray_io::{Casting, DType, DynArray, ReadOptions};

use crate::error::Result;

/// A column of a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Column {
    /// What is above it.
    pub name: String,
    /// A text for each row.
    pub cells: Vec<String>,
    /// Whether the cells are aligned on the right, as numbers are.
    pub is_right: bool,
}

impl Column {
    /// Creates a column.
    pub fn new(name: impl Into<String>, cells: Vec<String>, is_right: bool) -> Self {
        Self { name: name.into(), cells, is_right }
    }

    fn width(&self) -> usize {
        self.cells.iter().map(|cell| text_width(cell)).chain([text_width(&self.name)]).max().unwrap_or(0)
    }
}

/// How the cells of a table are written.
#[derive(Clone, Debug)]
pub struct CellOptions<'a> {
    /// How many significant digits floats have; `None`: as many as distinguish them.
    pub digits: Option<usize>,
    /// How other elements are shown.
    pub display: &'a DisplayOptions,
    /// How numbers are read.
    pub read: &'a ReadOptions,
}

/// Returns the columns of rows: those of each field of records, or of each index of the last axis of an array of two axes.
///
/// # Errors
///
/// Those of conversions.
pub fn columns(rows: &DynArray, options: &CellOptions<'_>) -> Result<Vec<Column>> {
    let mut made = Vec::new();
    add_columns(rows, "", options, &mut made)?;
    Ok(made)
}

/// The most columns that the axes of a field have, or those of an array; of others, all elements are one cell.
const MAX_INNER_COLUMNS: usize = 200;

fn add_columns(rows: &DynArray, name: &str, options: &CellOptions<'_>, made: &mut Vec<Column>) -> Result<()> {
    let within = |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    if let (DType::Record(record), 1) = (rows.dtype(), rows.ndim()) {
        for (index, field) in record.fields().iter().enumerate() {
            add_columns(&rows.field(index)?, &within(field.name()), options, made)?;
        }
        return Ok(());
    }
    let inner: usize = rows.shape().iter().skip(1).product();
    if rows.ndim() > 1 && inner <= MAX_INNER_COLUMNS {
        for index in ndarray::indices(ndarray::IxDyn(&rows.shape()[1..])) {
            let index = ndarray::Dimension::slice(&index);
            let all = ndarray::SliceInfoElem::Slice { start: 0, end: None, step: 1 };
            let at = index.iter().map(|at| ndarray::SliceInfoElem::Index(*at as isize));
            let part = rows.slice(&std::iter::once(all).chain(at).collect::<Vec<_>>()[..])?;
            let text: Vec<String> = index.iter().map(usize::to_string).collect();
            add_columns(&part, &within(&text.join(".")), options, made)?;
        }
        return Ok(());
    }
    let kind = rows.dtype().as_scalar().map(ndarray_io::dtype::Scalar::kind);
    let is_number = matches!(kind, Some(Kind::Int | Kind::Uint | Kind::Float | Kind::Narrow(_)));
    let cells = match kind {
        Some(Kind::Float)
            if rows.ndim() == 1 && rows.dtype().item_size() <= 8 && options.digits.is_some() =>
        {
            let numbers = rows.cast::<f64, ndarray::Ix1>(options.read.clone().casting(Casting::Unsafe))?;
            float_cells(numbers.as_slice().unwrap_or_default(), options.digits.unwrap_or(6))
        }
        Some(Kind::Text) if rows.ndim() == 1 => {
            rows.cast::<String, ndarray::Ix1>(Casting::Safe)?.into_iter().collect()
        }
        _ if rows.ndim() == 1 => rows.texts_with(options),
        _ => (0..rows.shape().first().copied().unwrap_or(0))
            .map(|row| {
                let mut place =
                    vec![ndarray::SliceInfoElem::Slice { start: 0, end: None, step: 1 }; rows.ndim()];
                place[0] = ndarray::SliceInfoElem::Index(row as isize);
                let part = rows.slice(&place[..])?;
                Ok(part
                    .display_with(options.display)
                    .to_string()
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" "))
            })
            .collect::<ndarray_io::Result<_>>()?,
    };
    made.push(Column::new(name, cells, is_number));
    Ok(())
}

trait Texts {
    fn texts_with(&self, options: &CellOptions<'_>) -> Vec<String>;
}

impl Texts for DynArray {
    /// Returns the elements of one axis as they are displayed; texts without their quotes.
    fn texts_with(&self, options: &CellOptions<'_>) -> Vec<String> {
        (0..self.len())
            .map(|at| match self.slice(&[ndarray::SliceInfoElem::Index(at as isize)][..]) {
                Ok(one) => one.display_with(options.display).to_string(),
                Err(error) => error.to_string(),
            })
            .collect()
    }
}

/// Writes floats in one notation: with as many decimals as the column needs for this many significant digits.
pub fn float_cells(numbers: &[f64], digits: usize) -> Vec<String> {
    let finite = || numbers.iter().copied().filter(|number| number.is_finite());
    let largest = finite().map(f64::abs).fold(0.0, f64::max);
    let smallest = finite().map(f64::abs).filter(|number| *number > 0.0).fold(f64::INFINITY, f64::min);
    let text = |number: f64, finite: &dyn Fn(f64) -> String| match number {
        _ if number.is_nan() => "NaN".to_owned(),
        _ if number.is_infinite() => if number > 0.0 { "inf" } else { "-inf" }.to_owned(),
        _ => finite(number),
    };
    let is_whole = finite().all(|number| number.fract() == 0.0);
    if largest >= 1e15 || largest > 0.0 && (largest < 1e-4 || smallest < largest * 1e-9 && !is_whole) {
        let scientific = |number: f64| format!("{number:.*e}", digits.saturating_sub(1));
        return trimmed(numbers.iter().map(|number| text(*number, &scientific)).collect());
    }
    let before_point = if largest >= 1.0 { largest.log10().floor() as usize + 1 } else { 1 };
    let leading_zeros = if largest > 0.0 && largest < 1.0 { (-largest.log10()).ceil() as usize } else { 0 };
    let decimals = (digits + leading_zeros).saturating_sub(before_point);
    let fixed = |number: f64| format!("{number:.decimals$}");
    trimmed(numbers.iter().map(|number| text(*number, &fixed)).collect())
}

/// Removes the zeros at the end that all cells have after the point.
fn trimmed(mut cells: Vec<String>) -> Vec<String> {
    let zeros = |cell: &str| {
        let digits = cell.split('e').next().unwrap_or_default();
        let (_, decimals) = digits.split_once('.')?;
        Some((decimals.len() - decimals.trim_end_matches('0').len(), decimals.len()))
    };
    let common = cells.iter().filter_map(|cell| zeros(cell)).reduce(|one, two| one.min(two));
    if let Some((common @ 1.., decimals)) = common {
        for cell in &mut cells {
            if let Some(point) = cell.find('.') {
                let end = point + 1 + decimals;
                let from = if common == decimals { point } else { end - common };
                cell.replace_range(from..end, "");
            }
        }
    }
    cells
}

/// Lays out columns in lines of at most `width` characters. Columns that do not fit follow in further blocks, each of which begins with
/// the first column again.
pub fn layout(columns: &[Column], width: usize) -> Vec<String> {
    const GAP: usize = 2;
    let Some((first, others)) = columns.split_first() else { return Vec::new() };
    let mut lines = Vec::new();
    let mut rest = others;
    loop {
        let mut used = first.width();
        let fits = |column: &&Column| {
            used += GAP + column.width();
            used <= width
        };
        let count = rest.iter().take_while(fits).count().max(usize::from(!rest.is_empty()));
        let (block, more) = rest.split_at(count);
        let block: Vec<&Column> = std::iter::once(first).chain(block).collect();
        for row in std::iter::once(None).chain((0..first.cells.len()).map(Some)) {
            let cells = block.iter().map(|column| {
                let text = row.map_or(&*column.name, |row| &column.cells[row]);
                let padding = " ".repeat(column.width().saturating_sub(text_width(text)));
                if column.is_right { format!("{padding}{text}") } else { format!("{text}{padding}") }
            });
            let line = cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
            lines.push(line.trim_end().to_owned());
        }
        if more.is_empty() {
            return lines;
        }
        lines.push(String::new());
        rest = more;
    }
}

/// Returns how many columns of a terminal a text takes.
pub fn text_width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    unicode_width::UnicodeWidthStr::width(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_of_a_column_have_one_notation() {
        assert_eq!(float_cells(&[5.887, 0.3881234567, -1.5], 6), ["5.88700", "0.38812", "-1.50000"]);
        assert_eq!(float_cells(&[1.5, 2.25, 100.0], 6), ["1.50", "2.25", "100.00"]);
        assert_eq!(float_cells(&[1.0, 2.0, f64::NAN], 6), ["1", "2", "NaN"]);
        assert_eq!(float_cells(&[1e300, 1.0], 3), ["1e300", "1e0"]);
        assert_eq!(float_cells(&[0.00123456789, 0.0], 6), ["0.00123457", "0.00000000"]);
    }

    #[test]
    fn columns_that_do_not_fit_follow() {
        let column = |name: &str, cells: [&str; 2], is_right| {
            Column::new(name, cells.map(str::to_owned).to_vec(), is_right)
        };
        let columns = [
            column("", ["0", "1"], true),
            column("name", ["日本語", "a"], false),
            column("x", ["1.5", "-20.25"], true),
        ];
        assert_eq!(layout(&columns, 80), ["   name         x", "0  日本語     1.5", "1  a       -20.25"]);
        assert_eq!(
            layout(&columns, 12),
            ["   name", "0  日本語", "1  a", "", "        x", "0     1.5", "1  -20.25"]
        );
    }
}
