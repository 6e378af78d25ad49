//! `ndio check`: compares files with what a pipeline expects of them.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use ndarray_io::DType;
use ndarray_io::dtype::{Kind, Scalar};
use ndarray_io_compute::{Bound, Part, index_in};

use super::failure::{Failure, escape_for_terminal, is_broken_pipe, report};
use super::find::{bound_condition, bound_to_array};
use super::formats::{parse_dtype, shape_words};
use super::places::index_text;
use super::select::Selection;
use super::source::Source;

/// Check that files have what is expected; exit code 1 if not
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio check --dtype f8 --shape 4,6 x.npy\n  ndio check --finite --range=-50,50 x.npy a.npz:x\n  ndio check --that 'x >= 0' --monotonic x.npy"
)]
pub(crate) struct Arguments {
    /// The shape: 100,8; -1 is any length
    #[arg(long, value_name = "LENGTHS", allow_hyphen_values = true)]
    shape: Option<String>,
    /// The dtype, of either byte order: f4, i8, U10
    #[arg(long, value_name = "DTYPE")]
    dtype: Option<String>,
    /// No NaN, no infinity, no NaT
    #[arg(long)]
    finite: bool,
    /// All elements are within these limits: 0,1
    #[arg(long, value_name = "LOW,HIGH", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<(String, String)>,
    /// No element is less than the one before it along the first axis
    #[arg(long)]
    monotonic: bool,
    /// A condition of ndio calc that all elements satisfy: 'x > 0'
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    that: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// The files, with their parts: a.npz:x
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

fn parse_range(text: &str) -> Result<(String, String), String> {
    let is_finite = |text: &str| text.parse().is_ok_and(f64::is_finite);
    let limits =
        text.split_once([',', ':']).map(|(low, high)| (low.trim().to_owned(), high.trim().to_owned()));
    limits
        .filter(|(low, high)| is_finite(low) && is_finite(high))
        .ok_or_else(|| "expected two numbers, the lower first: 0,1".into())
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut code = 0;
    for path in &arguments.files {
        let checked = arguments.selection.open(path).and_then(|(input, selection)| {
            let source =
                selection.open_one_complete(&input, &crate::reading::options())?.ensure_iterable()?;
            faults_of(&source, arguments).map_err(|failure| input.at(failure))
        });
        match checked {
            Ok(faults) if faults.is_empty() => {}
            Ok(faults) => {
                code = code.max(1);
                for fault in faults {
                    writeln!(out, "{}: {fault}", escape_for_terminal(&path.display().to_string()))?;
                }
            }
            Err(failure) if is_broken_pipe(&*failure) => return Err(failure),
            Err(failure) => {
                out.flush()?;
                report(&failure);
                code = 2;
            }
        }
    }
    Ok(code)
}

/// Returns what is not as expected.
fn faults_of(source: &Source, arguments: &Arguments) -> Result<Vec<String>, Failure> {
    let mut faults = Vec::new();
    if let Some(wanted) = &arguments.shape
        && !has_shape(source.shape(), wanted)?
    {
        faults.push(format!("shape {}, expected ({wanted})", source.display_shape()));
    }
    if let Some(wanted) = &arguments.dtype {
        let (wanted, found) = (parse_dtype(wanted)?, source.dtype());
        let native = |dtype: &DType| dtype.with_byte_order(ndarray_io::ByteOrder::NATIVE);
        if native(&wanted) != native(found) {
            faults.push(format!("dtype {found}, expected {wanted}"));
        }
    }
    if arguments.finite {
        add_odd_numbers(source, source.dtype(), "x", &mut faults)?;
    }
    if let Some((low, high)) = &arguments.range {
        // NaN is not within limits.
        faults.extend(violations(
            &bound_to_array(&format!("x >= {low} and x <= {high}"), source)?,
            &format!("not in {low} to {high}"),
            true,
        )?);
    }
    for condition in &arguments.that {
        faults.extend(violations(
            &bound_condition(condition, source)?,
            &format!("not as in: {condition}"),
            true,
        )?);
    }
    if arguments.monotonic
        && let Some(length @ 2..) = source.shape().first()
    {
        let bound = bound_to_array(&format!("x[1:{length}] >= x[:{}]", length - 1), source)?;
        faults.extend(violations_after(1, &bound, "less than the element before", true)?);
    }
    Ok(faults)
}

/// Adds how many elements, of each field, are NaN, NaT or infinite. `place` is the expression of the field.
fn add_odd_numbers(
    source: &Source,
    dtype: &DType,
    place: &str,
    faults: &mut Vec<String>,
) -> Result<(), Failure> {
    if let DType::Record(record) = dtype {
        return record.fields().iter().try_for_each(|field| {
            let quote = if field.name().contains('\'') { '"' } else { '\'' };
            add_odd_numbers(
                source,
                field.dtype(),
                &format!("{place}[{quote}{}{quote}]", field.name()),
                faults,
            )
        });
    }
    let base = if let DType::Subarray(subarray) = dtype { subarray.base() } else { dtype };
    if base.as_record().is_some() {
        return Err(format!("the elements of {place} are arrays of records, which are not checked").into());
    }
    let names: &[(&str, &str)] = match base.as_scalar().map(Scalar::kind) {
        Some(Kind::Datetime(_) | Kind::Timedelta(_)) => &[("isnan", "NaT")],
        Some(Kind::Float | Kind::Complex | Kind::Narrow(_)) => &[("isnan", "NaN"), ("isinf", "infinite")],
        _ => &[],
    };
    for (function, what) in names {
        let what = if place == "x" { (*what).to_owned() } else { format!("{what} in {}", &place[1..]) };
        faults.extend(violations(&bound_to_array(&format!("{function}({place})"), source)?, &what, false)?);
    }
    Ok(())
}

fn has_shape(found: &[usize], wanted: &str) -> Result<bool, Failure> {
    let lengths = shape_words(wanted);
    let mut is_equal = lengths.len() == found.len();
    for (number, length) in lengths.iter().enumerate() {
        let wanted: i64 = length.parse().map_err(|_| format!("{length} is not a length: --shape 100,8"))?;
        is_equal &= wanted == -1 || found.get(number).is_some_and(|found| *found as i64 == wanted);
    }
    Ok(is_equal)
}

/// Returns how many elements satisfy a condition, or do not, and where the first one is.
fn violations(bound: &Bound<'_>, what: &str, holds: bool) -> Result<Option<String>, Failure> {
    violations_after(0, bound, what, holds)
}

/// Like `violations`, for a condition whose first row is that of a later row of the array.
fn violations_after(
    rows: usize,
    bound: &Bound<'_>,
    what: &str,
    holds: bool,
) -> Result<Option<String>, Failure> {
    let (mut count, mut first): (usize, Option<Vec<usize>>) = (0, None);
    bound.for_each_truth(|part: Part<Vec<bool>>| {
        let at = part.elements.iter().position(|is_true| *is_true != holds);
        first = first.take().or_else(|| at.map(|at| index_in(&part.ranges, at)));
        count += part.elements.iter().filter(|is_true| **is_true != holds).count();
        Ok::<(), Failure>(())
    })?;
    let more = if count > 1 { ", the first" } else { "" };
    Ok(first.map(|mut index| {
        index.iter_mut().take(1).for_each(|row| *row += rows);
        format!("{count} {what}{more} at {}", index_text(&index))
    }))
}
