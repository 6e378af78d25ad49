//! Tables with columns of different types: the types are found in a first pass, and the rows become records in a second one.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use ndarray_io::dtype::{Kind, RecordBuilder, Scalar, TimeStep, TimeUnit};
use ndarray_io::element::{Datetime64, units};
use ndarray_io::header::{Header, Order, Shape};
use ndarray_io::{ByteOrder, DType, npy};

use super::csv::with_point;
use crate::failure::Failure;
use crate::growth;

/// What the cells of a column are, as a set.
pub(super) mod types {
    pub(in crate::formats) const BOOL: u8 = 1;
    pub(in crate::formats) const INT: u8 = 1 << 1;
    pub(in crate::formats) const NEGATIVE: u8 = 1 << 2;
    /// More than an `i64` holds.
    pub(in crate::formats) const UINT: u8 = 1 << 3;
    pub(in crate::formats) const FLOAT: u8 = 1 << 4;
    pub(in crate::formats) const TIME: u8 = 1 << 5;
    pub(in crate::formats) const TEXT: u8 = 1 << 6;
    pub(in crate::formats) const MISSING: u8 = 1 << 7;
    pub(in crate::formats) const NUMBER: u8 = INT | NEGATIVE | UINT | FLOAT;
}

/// What all cells of a column have in common.
#[derive(Clone, Default)]
pub(super) struct Column {
    cells: u64,
    /// Empty cells, and those with a word for "missing", which are text in a column of text.
    missing: u64,
    /// The number of characters of the longest cell.
    width: usize,
    types: u8,
    /// The finest unit of its dates.
    unit: Option<TimeUnit>,
}

/// What a cell has where a number or a date is missing.
const MISSING: [&str; 8] = ["", "NA", "N/A", "n/a", "null", "NULL", "None", "NaT"];

/// Returns what a cell is, and the unit of a date.
pub(super) fn cell_types(cell: &str, decimal: u8) -> (u8, Option<TimeUnit>) {
    let cell = cell.trim();
    let types = if MISSING.contains(&cell) {
        types::MISSING
    } else if matches!(cell, "true" | "True" | "TRUE" | "false" | "False" | "FALSE") {
        types::BOOL
    } else if let Ok(number) = cell.parse::<i64>() {
        if number < 0 { types::INT | types::NEGATIVE } else { types::INT }
    } else if cell.parse::<u64>().is_ok() {
        types::UINT
    } else if number(cell, decimal).is_some() {
        types::FLOAT
    } else {
        return text_types(cell);
    };
    (types, None)
}

/// Returns whether a text is a date, and the unit of it.
pub(super) fn text_types(text: &str) -> (u8, Option<TimeUnit>) {
    let unit = unit_of_date(text).filter(|unit| ticks(text, *unit).is_some());
    (if unit.is_some() { types::TIME } else { types::TEXT }, unit)
}

/// Parses a number as NumPy does, which makes infinity of what is too large.
fn number(cell: &str, decimal: u8) -> Option<f64> {
    with_point(cell, decimal).parse().ok()
}

/// Returns the coarsest unit that has all of a date in ISO 8601: `2026-11-01`, `2026-11-01 12:30`, `2026-11-01T12:30:15.25`.
fn unit_of_date(cell: &str) -> Option<TimeUnit> {
    let bytes = cell.as_bytes();
    let has_date = bytes.len() >= 10 && bytes[4] == b'-' && bytes[7] == b'-' && bytes[0].is_ascii_digit();
    let digits = cell.get(19..).map_or(0, |rest| {
        let fraction = rest.strip_prefix('.').unwrap_or_default();
        fraction.bytes().take_while(u8::is_ascii_digit).count()
    });
    match bytes.len() {
        _ if !has_date => None,
        10 => Some(TimeUnit::Day),
        16 => Some(TimeUnit::Minute),
        19.. => Some(match digits {
            0 => TimeUnit::Second,
            1..=3 => TimeUnit::Millisecond,
            4..=6 => TimeUnit::Microsecond,
            _ => TimeUnit::Nanosecond,
        }),
        _ => None,
    }
}

fn ticks(cell: &str, unit: TimeUnit) -> Option<i64> {
    macro_rules! parsed {
        ($unit:ident) => {
            cell.parse::<Datetime64<units::$unit>>().ok()?.ticks()
        };
    }
    match unit {
        TimeUnit::Day => parsed!(Day),
        TimeUnit::Minute => parsed!(Minute),
        TimeUnit::Second => parsed!(Second),
        TimeUnit::Millisecond => parsed!(Millisecond),
        TimeUnit::Microsecond => parsed!(Microsecond),
        _ => parsed!(Nanosecond),
    }
}

impl Column {
    pub(super) fn add(&mut self, cell: &str, (types, unit): (u8, Option<TimeUnit>)) {
        self.cells += 1;
        // A cell has at most as many characters as bytes, so that most need not be counted.
        if cell.len() > self.width {
            self.width = self.width.max(cell.chars().count());
        }
        self.missing += u64::from(types == types::MISSING);
        self.types |= types;
        self.unit = self.unit.max(unit);
    }

    /// Counts the rows that have no cell of this column as missing, up to a number of rows.
    pub(super) fn lack_until(&mut self, rows: u64) {
        let lacking = rows - self.cells;
        if lacking > 0 {
            self.types |= types::MISSING;
            self.missing += lacking;
            self.cells = rows;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.cells += other.cells;
        self.missing += other.missing;
        self.width = self.width.max(other.width);
        self.types |= other.types;
        self.unit = self.unit.max(other.unit);
    }

    /// Returns the type that all cells have. Missing numbers are NaN, which integers lack.
    fn scalar(&self) -> Option<Scalar> {
        let has = |types| self.types & types != 0;
        let kinds = [types::NUMBER, types::BOOL, types::TIME].into_iter().filter(|types| has(*types)).count();
        let kind = match self.unit {
            _ if has(types::TEXT) || kinds > 1 || has(types::BOOL) && has(types::MISSING) => Kind::Text,
            Some(unit) => Kind::Datetime(TimeStep::new(1, unit)),
            None if has(types::BOOL) => Kind::Bool,
            None if kinds == 0 || has(types::FLOAT | types::MISSING) => Kind::Float,
            None if !has(types::UINT) => Kind::Int,
            None if has(types::NEGATIVE) => Kind::Float,
            None => Kind::Uint,
        };
        let size = match kind {
            Kind::Text => 4 * self.width.max(1),
            Kind::Bool => 1,
            _ => 8,
        };
        Scalar::new(kind, size, ByteOrder::NATIVE)
    }
}

/// Appends the bytes of a cell.
fn put_cell(cell: &str, dtype: &Scalar, decimal: u8, row: &mut Vec<u8>) -> Result<(), String> {
    let trimmed = cell.trim();
    let is_missing = MISSING.contains(&trimmed);
    let changed = || "the file has changed while it was read".to_owned();
    match dtype.kind() {
        Kind::Text => {
            let end = row.len() + dtype.size();
            row.extend(cell.chars().flat_map(|char| u32::from(char).to_ne_bytes()));
            if row.len() > end {
                return Err(changed());
            }
            row.resize(end, 0);
        }
        Kind::Bool => row.push(u8::from(trimmed.eq_ignore_ascii_case("true"))),
        Kind::Int => row.extend(trimmed.parse::<i64>().map_err(|_| changed())?.to_ne_bytes()),
        Kind::Uint => row.extend(trimmed.parse::<u64>().map_err(|_| changed())?.to_ne_bytes()),
        Kind::Datetime(step) => {
            let ticks = if is_missing { Some(i64::MIN) } else { ticks(trimmed, step.unit) };
            row.extend(ticks.ok_or_else(|| "a date in this unit is out of range".to_owned())?.to_ne_bytes());
        }
        _ => {
            let number = if is_missing { Some(f64::NAN) } else { number(trimmed, decimal) };
            row.extend(number.ok_or_else(changed)?.to_ne_bytes());
        }
    }
    Ok(())
}

/// What the rows of a table become.
pub(super) struct Layout {
    header: Header,
    scalars: Vec<Scalar>,
    decimal: u8,
    text: String,
}

impl Layout {
    /// Chooses records with these names; or, without names, an array of one or two axes if one type has room for all.
    pub(super) fn of(columns: &[Column], names: Option<&[&str]>, decimal: u8) -> Result<Self, Failure> {
        let rows = usize::try_from(columns.first().map_or(0, |column| column.cells))?;
        let mut scalars: Vec<Scalar> = columns.iter().filter_map(Column::scalar).collect();
        if names.is_none()
            && let Some(shared) = shared_scalar(columns)
        {
            scalars.fill(shared);
        }
        let is_table = names.is_none() && scalars.windows(2).all(|pair| pair[0] == pair[1]);
        let names = unique_names(names.unwrap_or_default(), columns.len());
        let (dtype, shape) = match (is_table, &scalars[..]) {
            (_, []) => return Err("the table has no columns".into()),
            (true, [one]) => ((*one).into(), vec![rows]),
            (true, [first, ..]) => ((*first).into(), vec![rows, scalars.len()]),
            (false, _) => {
                let fields = names.iter().zip(&scalars);
                let record = fields
                    .fold(RecordBuilder::new(), |record, (name, one)| record.field(name, (*one).into()));
                (record.build()?, vec![rows])
            }
        };
        let header = Header::new(dtype, Order::C, shape.into())?;
        let text = match (is_table, &scalars[..]) {
            (true, [first, ..]) => format!("{} {}", scalar_text(first), Shape::from(header.shape())),
            _ => columns_text(&names, &scalars, columns),
        };
        Ok(Self { header, scalars, decimal, text })
    }

    /// Writes the header of the NPY file.
    pub(super) fn write_header(&self, out: &mut dyn Write) -> Result<(), Failure> {
        growth::add_output(self.header.payload_len().unwrap_or(u64::MAX))?;
        Ok(out.write_all(&npy::format(&self.header, None)?)?)
    }

    /// Appends the bytes of a cell to those of its row.
    pub(super) fn put(&self, column: usize, cell: &str, row: &mut Vec<u8>) -> Result<(), String> {
        match self.scalars.get(column) {
            Some(scalar) => put_cell(cell, scalar, self.decimal, row),
            None => Ok(()), // the number of columns is said to be wrong
        }
    }

    /// Lists the columns, and how many values each lacks.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// The names of columns that a header line has, each of them once.
fn unique_names(header: &[&str], count: usize) -> Vec<String> {
    let (mut used, mut numbers) = (HashSet::new(), HashMap::new());
    let name = |index: usize| {
        let given = header.get(index).map(|name| name.trim()).filter(|name| !name.is_empty());
        let base = given.map_or_else(|| format!("f{index}"), str::to_owned);
        let mut name = base.clone();
        // The number of a name is kept: thousands of columns may have the same.
        let number = numbers.entry(base.clone()).or_insert(1);
        while !used.insert(name.clone()) {
            *number += 1;
            name = format!("{base}_{number}");
        }
        name
    };
    (0..count).map(name).collect()
}

/// Returns the type of all cells of a table without names, unless numbers or dates would become text.
fn shared_scalar(columns: &[Column]) -> Option<Scalar> {
    let mut all = Column::default();
    columns.iter().for_each(|column| all.merge(column));
    let is_text = |column: &Column| column.scalar().is_some_and(|scalar| scalar.kind() == Kind::Text);
    let shared = !is_text(&all) || columns.iter().all(is_text);
    shared.then(|| all.scalar()).flatten()
}

/// Returns a type as one writes it: `f8`, `U10`, `M8[D]`.
fn scalar_text(scalar: &Scalar) -> String {
    DType::from(*scalar).to_string().trim_matches(['\'', '<', '>', '|']).to_owned()
}

/// Lists columns: `id i8, temp f8 (2 missing)`.
fn columns_text(names: &[String], scalars: &[Scalar], columns: &[Column]) -> String {
    let text = |((name, scalar), column): ((&String, &Scalar), &Column)| {
        let dtype = scalar_text(scalar);
        match column.missing {
            missing @ 1.. if scalar.kind() != Kind::Text => format!("{name} {dtype} ({missing} missing)"),
            _ => format!("{name} {dtype}"),
        }
    };
    let texts: Vec<String> = names.iter().zip(scalars).zip(columns).map(text).collect();
    texts.join(", ")
}
