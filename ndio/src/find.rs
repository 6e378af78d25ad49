//! `ndio find`: says where a condition holds.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

use clap::Args;
use ndarray::SliceInfoElem;
use ndarray_io::dtype::Kind;
use ndarray_io::header::Shape;
use ndarray_io_compute::{Bound, Error, Part, index_in};
use serde_json::json;

use super::calc::{failure, marked_failure, parse};
use super::failure::Failure;
use super::places::{Places, index_text};
use super::select::Selection;
use super::source::Source;
use super::terminal::EscapingWriter;

/// Say where a condition holds, and how often
///
/// The indices, how many there are, and the smallest box that has them all.
#[derive(Args)]
#[command(
    after_help = "The condition is one of ndio calc: x is the array, and fields of records have their names. 'isnan' is isnan(x), '> 3' is x > 3;\nmin and max find the first such element.\n\nExamples:\n  ndio find x.npy isnan\n  ndio find x.npy '> 3'\n  ndio find x.npy max\n  ndio find x.npy 'abs(x - mean(x)) > 3 * std(x)' --limit 5"
)]
pub(crate) struct Arguments {
    /// How many indices are listed
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
    /// Print JSON: count, box, indices and values
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    selection: Selection,
    /// The file, with its part: a.npz:x[0]; - is standard input
    file: PathBuf,
    /// The condition
    #[arg(allow_hyphen_values = true)]
    condition: String,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let (input, selection) = arguments.selection.open(&arguments.file)?;
    let source = selection.open_one_complete(&input, &crate::reading::options())?.ensure_iterable()?;
    let (found, total) = match &*arguments.condition.trim().to_lowercase() {
        extreme @ ("min" | "max" | "argmin" | "argmax") => (
            extreme_of(&source, extreme.ends_with("min")).map_err(|failure| input.at(failure))?,
            source.len(),
        ),
        _ => matches(&source, &arguments.condition, arguments.limit).map_err(|failure| input.at(failure))?,
    };
    let mut values = Vec::new();
    for index in &found.indices {
        // A condition on records has no index within their fields that are arrays.
        let axes = source.shape().len().min(index.len());
        let place: Vec<SliceInfoElem> =
            index[..axes].iter().map(|at| SliceInfoElem::Index(*at as isize)).collect();
        let value = source.slice(&place)?;
        values.push(value.display_with(&crate::reading::display_options()).to_string().replace('\n', " "));
    }
    if arguments.json {
        let line = json!({"count": found.count, "box": found.box_json(), "indices": found.indices, "values": values});
        writeln!(out, "{line}")?;
        return Ok(0);
    }
    let out = &mut EscapingWriter(out);
    for (index, value) in found.indices.iter().zip(&values) {
        writeln!(out, "{}  {value}", index_text(index))?;
    }
    if let Some(rest) = found.rest_text() {
        writeln!(out, "{rest}")?;
    }
    writeln!(out, "{} of {total} elements{}", found.count, found.box_text())?;
    Ok(0)
}

/// Parses a condition on an array: a name of a function is one of the array, and what begins with a comparison compares it.
pub(crate) fn bound_condition<'a>(text: &str, source: &'a Source) -> Result<Bound<'a>, Failure> {
    let trimmed = text.trim();
    let is_function = ["isnan", "isinf", "isfinite", "isnat"].contains(&trimmed);
    let is_comparison =
        trimmed.starts_with(['<', '>']) || trimmed.starts_with("==") || trimmed.starts_with("!=");
    match (is_function, is_comparison) {
        (true, _) => bound_to_array(&format!("{trimmed}(x)"), source),
        (_, true) => bound_to_array(&format!("x {trimmed}"), source),
        _ => parse(text)?.bind_fields(source).map_err(|error| marked_failure(text, error)),
    }
}

/// Binds a condition in which `x` is the array, even if a field has this name.
pub(crate) fn bound_to_array<'a>(text: &str, source: &'a Source) -> Result<Bound<'a>, Failure> {
    let bound = parse(text)?.bind(&[("x", source)]);
    bound.map_err(|error| match error {
        // The array is not in what the user has written.
        Error::Syntax { message, .. } => message.into(),
        other => failure(other),
    })
}

fn matches(source: &Source, condition: &str, limit: usize) -> Result<(Places, u64), Failure> {
    let bound = bound_condition(condition, source)?;
    if !bound.shape().starts_with(source.shape()) {
        let (found, wanted) = (Shape::from(bound.shape()), source.display_shape());
        return Err(format!("the condition has the shape {found}, and the array has {wanted}").into());
    }
    let mut found = Places::with_limit(limit);
    bound.for_each_truth(|part: Part<Vec<bool>>| {
        for (number, _) in part.elements.iter().enumerate().filter(|(_, is_true)| **is_true) {
            found.add(index_in(&part.ranges, number));
        }
        Ok::<(), Failure>(())
    })?;
    Ok((found, bound.shape().iter().map(|length| *length as u64).product()))
}

fn extreme_of(source: &Source, is_minimum: bool) -> Result<Places, Failure> {
    // Not NaN, which would be both.
    let name = if is_minimum { "argmin" } else { "argmax" };
    let is_float = source
        .dtype()
        .as_scalar()
        .is_some_and(|scalar| matches!(scalar.kind(), Kind::Float | Kind::Narrow(_)));
    let worst = if is_minimum { "inf" } else { "-inf" };
    let place = match is_float {
        true => bound_to_array(&format!("{name}(where(isnan(x), {worst}, x))"), source)?,
        false => bound_to_array(&format!("{name}(x)"), source)?,
    };
    let place = place.evaluate().map_err(failure)?.into_array::<i64, ndarray::Ix0>()?.into_scalar();
    let ranges: Vec<Range<usize>> = source.shape().iter().map(|length| 0..*length).collect();
    let index = index_in(&ranges, place as usize);
    let element: Vec<Range<usize>> = index.iter().map(|at| *at..at + 1).collect();
    // If all are NaN, there is none.
    if is_float && bound_to_array("isnan(x)", source)?.truth(&element).map_err(failure)? == [true] {
        return Ok(Places::default());
    }
    let mut found = Places::with_limit(1);
    found.add(index);
    Ok(found)
}
