//! `ndio find`: says where a condition holds.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

use clap::Args;
use ndarray::SliceInfoElem;
use ndarray_io_compute::{Bound, Part, Summary};
use serde_json::json;

use super::calc::{marked_failure, parse};
use super::failure::Failure;
use super::select::Selection;
use super::source::Source;
use super::summary;
use super::terminal::EscapingWriter;

/// Say where a condition holds: the indices, how many there are, and the smallest box that has them all
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

/// What was found.
#[derive(Default)]
struct Matches {
    count: u64,
    /// For each axis, the first and the last index.
    range: Option<Vec<(usize, usize)>>,
    /// The first ones.
    indices: Vec<Vec<usize>>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let (input, selection) = arguments.selection.open(&arguments.file)?;
    let source = selection.open_one_complete(&input, &crate::reading::options())?.ensure_iterable()?;
    let (found, axes) = match &*arguments.condition.trim().to_lowercase() {
        extreme @ ("min" | "max" | "argmin" | "argmax") => (
            extreme_of(&source, extreme.ends_with("min")).map_err(|failure| input.at(failure))?,
            source.shape().len(),
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
        let range = found
            .range
            .map(|range| range.into_iter().map(|(first, last)| [first, last + 1]).collect::<Vec<_>>());
        let line = json!({"count": found.count, "box": range, "indices": found.indices, "values": values});
        writeln!(out, "{line}")?;
        return Ok(0);
    }
    let out = &mut EscapingWriter(out);
    for (index, value) in found.indices.iter().zip(&values) {
        writeln!(out, "{}  {value}", index_text(index))?;
    }
    let listed = found.indices.len() as u64;
    if found.count > listed && listed > 0 {
        writeln!(out, "… and {} more; --limit lists them", found.count - listed)?;
    }
    match &found.range {
        Some(range) if found.count > 1 && axes > 0 => {
            let bounds: Vec<String> =
                range.iter().map(|(first, last)| format!("{first}:{}", last + 1)).collect();
            writeln!(out, "{} of {} elements, all in [{}]", found.count, source.len(), bounds.join(", "))?;
        }
        _ => writeln!(out, "{} of {} elements", found.count, source.len())?,
    }
    Ok(0)
}

pub(crate) fn index_text(index: &[usize]) -> String {
    let texts: Vec<String> = index.iter().map(usize::to_string).collect();
    format!("[{}]", texts.join(", "))
}

/// Parses a condition on an array: a name of a function is one of the array, and what begins with a comparison compares it.
pub(crate) fn bound_condition<'a>(text: &str, source: &'a Source) -> Result<Bound<'a>, Failure> {
    let trimmed = text.trim();
    let is_function = ["isnan", "isinf", "isfinite", "isnat"].contains(&trimmed);
    let is_comparison =
        trimmed.starts_with(['<', '>']) || trimmed.starts_with("==") || trimmed.starts_with("!=");
    let text = match (is_function, is_comparison) {
        (true, _) => format!("{trimmed}(x)"),
        (_, true) => format!("x {trimmed}"),
        _ => text.to_owned(),
    };
    parse(&text)?.bind_fields(source).map_err(|error| marked_failure(&text, error))
}

fn matches(source: &Source, condition: &str, limit: usize) -> Result<(Matches, usize), Failure> {
    let bound = bound_condition(condition, source)?;
    let mut found = Matches::default();
    bound.for_each_truth(|part: Part<Vec<bool>>| {
        found.add(&part, limit);
        Ok::<(), Failure>(())
    })?;
    Ok((found, bound.shape().len()))
}

impl Matches {
    fn add(&mut self, part: &Part<Vec<bool>>, limit: usize) {
        for (number, _) in part.elements.iter().enumerate().filter(|(_, is_true)| **is_true) {
            let index = index_in(&part.ranges, number);
            self.count += 1;
            match &mut self.range {
                Some(range) => {
                    for ((first, last), at) in range.iter_mut().zip(&index) {
                        (*first, *last) = ((*first).min(*at), (*last).max(*at));
                    }
                }
                None => self.range = Some(index.iter().map(|at| (*at, *at)).collect()),
            }
            if self.indices.len() < limit {
                self.indices.push(index);
            }
        }
    }
}

/// Returns the index in an array of an element of a part, by its number in C order.
pub(crate) fn index_in(ranges: &[Range<usize>], number: usize) -> Vec<usize> {
    let (mut rest, mut index) = (number, vec![0; ranges.len()]);
    for (at, range) in index.iter_mut().zip(ranges).rev() {
        let length = range.len().max(1);
        *at = range.start + rest % length;
        rest /= length;
    }
    index
}

fn extreme_of(source: &Source, is_minimum: bool) -> Result<Matches, Failure> {
    let Summary::Numbers(stats) = summary::compute(source)? else {
        return Err(format!(
            "there is no {} of dtype {}",
            if is_minimum { "minimum" } else { "maximum" },
            source.dtype()
        )
        .into());
    };
    if stats.finite_count() == 0 {
        return Ok(Matches::default());
    }
    let place = if is_minimum { stats.argmin } else { stats.argmax };
    let ranges: Vec<Range<usize>> = source.shape().iter().map(|length| 0..*length).collect();
    let index = index_in(&ranges, place as usize);
    Ok(Matches { count: 1, range: Some(index.iter().map(|at| (*at, *at)).collect()), indices: vec![index] })
}
