//! `ndio stats`: statistics of arrays, of their columns, or along an axis.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io_compute::table::{Column, float_cells, layout};
use ndarray_io_compute::{Summary as Found, index_in, percentiles, summarize_groups};
use serde_json::{Map, Value, json};

use super::calc::failure;
use super::failure::{Failure, escape_for_terminal, is_broken_pipe, report};
use super::join::normalize_axis;
use super::places::index_text;
use super::progress::Progress;
use super::select::Selection;
use super::source::Source;
use super::summary::Summary;
use super::terminal::EscapingWriter;

/// Print statistics of arrays, of their columns, or along an axis
#[derive(Args)]
#[command(
    after_help = "As numpy.nanmean, nanstd and nanpercentile (linear); infinite numbers are counted, and not part of the others but of percentiles.\n\nExamples:\n  ndio stats x.npy\n  ndio stats x.npy --by-column -p 5,50,95\n  ndio stats a.npz:x x.npy --json"
)]
pub(crate) struct Arguments {
    /// For each index of the last axis
    #[arg(long, conflicts_with = "axis")]
    by_column: bool,
    /// Along an axis, for each index of the others; a negative one counts from the last
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    axis: Option<isize>,
    /// Percentiles: 5,50,95
    #[arg(long, short, value_name = "NUMBERS", value_delimiter = ',', value_parser = parse_percentile)]
    percentiles: Vec<f64>,
    /// Number of significant digits
    #[arg(long, value_name = "DIGITS", default_value_t = 6)]
    precision: usize,
    /// All digits
    #[arg(long, conflicts_with = "precision")]
    all_digits: bool,
    /// Print JSON, one line for each row
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    selection: Selection,
    /// The files, with their parts: a.npz:x; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

fn parse_percentile(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number),
        _ => Err("expected numbers from 0 to 100".into()),
    }
}

/// A row of the table.
struct Row {
    label: String,
    is_field: bool,
    /// The name of each column, in which the row has a value.
    values: Vec<(String, Value)>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let (mut rows, mut code) = (Vec::new(), 0);
    let has_several = arguments.files.len() > 1;
    for path in &arguments.files {
        match file_rows(path, arguments, has_several) {
            Ok(found) => {
                let has_error = |row: &Row| row.values.iter().any(|(name, _)| name == "error");
                code = if found.iter().any(has_error) { 2 } else { code };
                rows.extend(found);
            }
            Err(failure) if is_broken_pipe(&*failure) => return Err(failure),
            Err(failure) if has_several => {
                report(&failure);
                code = 2;
            }
            Err(failure) => return Err(failure),
        }
    }
    if arguments.json {
        for row in &rows {
            let mut line = Map::new();
            if !row.label.is_empty() {
                line.insert("name".into(), row.label.clone().into());
            }
            line.extend(row.values.iter().cloned());
            writeln!(out, "{}", Value::Object(line))?;
        }
        return Ok(code);
    }
    let out = &mut EscapingWriter(out);
    let width = terminal_size::terminal_size().map_or(120, |(width, _)| width.0.into());
    let digits = (!arguments.all_digits).then_some(arguments.precision);
    // The fields of records have nothing in common; the columns of a table do.
    let has_one_notation = rows.iter().all(|row| !row.is_field);
    for line in layout(&table(&rows, digits, has_one_notation), width) {
        writeln!(out, "{line}")?;
    }
    Ok(code)
}

/// Returns the rows of a file: one, or one for each of its fields or groups.
fn file_rows(path: &Path, arguments: &Arguments, has_several: bool) -> Result<Vec<Row>, Failure> {
    let (input, selection) = arguments.selection.open(path)?;
    let options = crate::reading::options();
    let open = |field: Option<&str>| -> Result<Source, Failure> {
        let all = match (&selection.field, field) {
            (Some(outer), Some(field)) => Some(format!("{outer}.{field}")),
            (outer, field) => field.map(str::to_owned).or_else(|| outer.clone()),
        };
        Selection { field: all, ..selection.clone() }.open_one(&input, &options, true)?.ensure_iterable()
    };
    let source = open(None)?;
    let kept = arguments.kept_axes(source.shape().len()).map_err(|failure| input.at(failure))?;
    let (mut progress, all) = (Progress::new(), source.byte_len());
    let found = summarize_groups(&source, &kept, &options, &mut |bytes| progress.add(bytes, all));
    let found = found.map_err(failure).map_err(|failure| input.at(failure))?;
    drop(progress);
    let lengths: Vec<usize> = kept.iter().map(|axis| source.shape()[*axis]).collect();
    let groups: Vec<std::ops::Range<usize>> = lengths.iter().map(|length| 0..*length).collect();
    let prefix = if has_several { escape_for_terminal(&path.display().to_string()) } else { String::new() };
    let mut rows = Vec::new();
    let mut known: Vec<(Option<String>, Vec<Vec<f64>>)> = Vec::new();
    for (number, found) in found.into_iter().enumerate() {
        let group = if kept.is_empty() {
            String::new()
        } else {
            index_in(&groups, number).iter().map(usize::to_string).collect::<Vec<_>>().join(",")
        };
        for (field, found) in leaves(found) {
            if !arguments.percentiles.is_empty()
                && !known.iter().any(|(name, _)| *name == field)
                && matches!(found, Found::Numbers(_))
            {
                let source = open(field.as_deref())?;
                let found = percentiles(&source, &kept, &arguments.percentiles, &options);
                known.push((field.clone(), found.map_err(failure).map_err(|failure| input.at(failure))?));
            }
            let of_field = known.iter().find(|(name, _)| *name == field);
            let percentiles = of_field.map_or(&[][..], |(_, groups)| &groups[number]);
            let label: Vec<&str> = [&*prefix, &*group, field.as_deref().unwrap_or_default()]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect();
            let values = arguments.values(found, percentiles, &kept, &source);
            rows.push(Row { label: label.join(" "), is_field: field.is_some(), values });
        }
    }
    Ok(rows)
}

/// Returns the statistics of each field, with its name.
fn leaves(found: Found) -> Vec<(Option<String>, Found)> {
    let Found::Fields(fields) = found else { return vec![(None, found)] };
    let of_field = |(name, found): (String, Found)| {
        leaves(found).into_iter().map(move |(inner, found)| {
            (Some(inner.map_or_else(|| name.clone(), |inner| format!("{name}.{inner}"))), found)
        })
    };
    fields.into_iter().flat_map(of_field).collect()
}

impl Arguments {
    /// Returns the axes of which each index has a row of its own.
    fn kept_axes(&self, ndim: usize) -> Result<Vec<usize>, Failure> {
        match self.axis {
            Some(axis) => {
                let axis = normalize_axis(axis, ndim)?;
                Ok((0..ndim).filter(|other| *other != axis).collect())
            }
            None if self.by_column && ndim > 1 => Ok(vec![ndim - 1]),
            None => Ok(Vec::new()),
        }
    }

    fn values(
        &self,
        found: Found,
        percentiles: &[f64],
        kept: &[usize],
        source: &Source,
    ) -> Vec<(String, Value)> {
        let places = match &found {
            Found::Numbers(stats) if stats.finite_count() > 0 && source.dtype().as_record().is_none() => {
                vec![("argmin", stats.argmin), ("argmax", stats.argmax)]
            }
            _ => Vec::new(),
        };
        let Ok(Value::Object(mut found)) = serde_json::to_value(Summary::from(found)) else {
            return Vec::new();
        };
        let mut values: Vec<(String, Value)> = Vec::new();
        let mut take = |values: &mut Vec<_>, names: &[&str]| {
            values.extend(names.iter().filter_map(|name| found.shift_remove_entry(*name)));
        };
        take(&mut values, &["count", "min"]);
        let percentiles = self.percentiles.iter().zip(percentiles);
        values.extend(percentiles.map(|(wanted, value)| (format!("p{wanted}"), float_value(*value))));
        take(&mut values, &["max"]);
        values.extend(places.into_iter().map(|(name, at)| (name.to_owned(), place_value(at, kept, source))));
        take(&mut values, &["magnitude", "mean", "std", "nan", "inf", "zero"]);
        values.extend(found);
        values
    }
}

/// Returns a float, which JSON may lack, as text.
fn float_value(number: f64) -> Value {
    match number {
        _ if number.is_finite() => number.into(),
        _ if number.is_nan() => Value::Null,
        _ => if number > 0.0 { "inf" } else { "-inf" }.into(),
    }
}

/// Returns where an extreme is: an index, or the only number of it.
fn place_value(place: u64, kept: &[usize], source: &Source) -> Value {
    let others = source.shape().iter().enumerate().filter(|(axis, _)| !kept.contains(axis));
    let ranges: Vec<std::ops::Range<usize>> = others.map(|(_, length)| 0..*length).collect();
    match &index_in(&ranges, place as usize)[..] {
        [] => Value::Null,
        [index] => json!(index),
        index => json!(index),
    }
}

/// Returns the table of the rows, in which a column has one notation.
fn table(rows: &[Row], digits: Option<usize>, has_one_notation: bool) -> Vec<Column> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.values) {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    let mut columns = Vec::new();
    if rows.iter().any(|row| !row.label.is_empty()) || names.is_empty() {
        columns.push(Column::new("", rows.iter().map(|row| row.label.clone()).collect(), false));
    }
    for name in names {
        let values: Vec<Option<&Value>> = rows
            .iter()
            .map(|row| row.values.iter().find(|(known, _)| known == name).map(|(_, value)| value))
            .collect();
        let title = match name {
            "nan" => "NaN",
            "nat" => "NaT",
            name => name,
        };
        let is_text = !values.iter().flatten().any(|value| value.is_number());
        let cells = match has_one_notation {
            true => cells(&values, digits),
            false => values.iter().flat_map(|value| cells(&[*value], digits)).collect(),
        };
        columns.push(Column::new(title, cells, !is_text));
    }
    columns
}

fn cells(values: &[Option<&Value>], digits: Option<usize>) -> Vec<String> {
    let is_float = |value: &Value| value.is_f64();
    let numbers: Vec<f64> =
        values.iter().map(|value| value.and_then(Value::as_f64).unwrap_or(f64::NAN)).collect();
    let has_floats = values.iter().flatten().any(|value| is_float(value));
    let floats = digits.filter(|_| has_floats).map(|digits| float_cells(&numbers, digits));
    let text = |(number, value): (usize, &Option<&Value>)| match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) if items.iter().all(Value::is_u64) => {
            let index: Vec<usize> = items.iter().filter_map(|at| at.as_u64().map(|at| at as usize)).collect();
            index_text(&index)
        }
        // The two parts of complex numbers, or their smallest and largest magnitude.
        Some(Value::Array(items)) => {
            let items: Vec<String> = items.iter().flat_map(|item| cells(&[Some(item)], digits)).collect();
            format!("[{}]", items.join(", "))
        }
        Some(value) if value.is_number() => match &floats {
            Some(floats) => floats[number].clone(),
            None => value.to_string(),
        },
        Some(value) => value.to_string(),
    };
    values.iter().enumerate().map(text).collect()
}
