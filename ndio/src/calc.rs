//! `ndio calc`: computes with arrays of any size.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::header::{Header, Order};
use ndarray_io::npy;
use ndarray_io_compute::{Bound, Error, Expression};

use super::cells::write_json;
use super::failure::{Failure, at, escape_for_terminal};
use super::formats::{Format, as_array};
use super::input::{Input, temporary_file};
use super::output::{Content, Output};
use super::progress::Progress;
use super::select::Selection;
use super::source::Source;
use super::terminal::EscapingWriter;

/// Compute with arrays, as NumPy does: operators, functions, sums along an axis
#[derive(Args)]
#[command(after_help = LANGUAGE)]
pub(crate) struct Arguments {
    /// The new NPY file; - is standard output. Without it, the result is shown
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
    /// Print JSON: shape, dtype and all values
    #[arg(long, conflicts_with = "output")]
    json: bool,
    /// What is computed
    #[arg(allow_hyphen_values = true)]
    expression: String,
    /// Arrays and their names: a=x.npy b=model.npz:layer.w; one without a name is x
    #[arg(required = true, value_name = "NAME=FILE")]
    arrays: Vec<String>,
}

const LANGUAGE: &str = "Operators:  + - * / // % **   == != < <= > >=   and or not   & | ^ ~   .T .real .imag
Functions:  abs sign sqrt exp log log2 log10 sin cos tan … floor ceil round clip(x, low, high) where(c, x, y)
            minimum maximum isnan isinf isfinite astype(x, f4) reshape(x, 10, -1) transpose(x, 1, 0, 2) squeeze
Of all elements, or along an axis (mean(x, axis=0)):
            sum prod mean std var min max any all argmin argmax count_nonzero nanmean nanstd nanmin nanmax nansum
Fields of records: r.energy. Results have the dtypes of NumPy.

Examples:
  ndio calc 'x * 2' x=x.npy
  ndio calc 'mean(x, axis=0)' x=x.npy
  ndio calc 'clip(a - b, 0, 1).T' a=x.npy b=x.npy -o d.npy
  ndio calc 'a + sum(b)' a=a.npz:x b=x.npy";

/// Divides `NAME=FILE`.
fn name_and_file(argument: &str) -> (&str, &str) {
    let is_name = |name: &str| {
        name.starts_with(|char: char| char.is_alphabetic() || char == '_')
            && name.chars().all(|char| char.is_alphanumeric() || char == '_')
    };
    match argument.split_once('=') {
        Some((name, file)) if is_name(name) => (name, file),
        _ => ("x", argument),
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let expression = parse(&arguments.expression)?;
    let mut output =
        arguments.output.as_deref().map(|path| Output::new(path, arguments.force)).transpose()?;
    arguments.output.as_deref().map_or(Ok(()), check_npy_name)?;
    let options = crate::reading::options();
    let (mut names, mut sources): (Vec<&str>, Vec<Source>) = (Vec::new(), Vec::new());
    for argument in &arguments.arrays {
        let (name, file) = name_and_file(argument);
        if names.contains(&name) {
            return Err(format!("there are two arrays of the name '{name}': write NAME=FILE").into());
        }
        let open = |path: &Path| match &mut output {
            Some(output) => as_array(output.open_input(path)?),
            None => as_array(Input::open(path)?),
        };
        let (input, selection) = Selection::default().open_with(Path::new(file), open)?;
        names.push(name);
        sources.push(selection.open_one_complete(&input, &options)?.ensure_iterable()?);
    }
    let arrays = names.iter().zip(&sources).map(|(name, source)| (*name, source as _));
    let bound = expression.bind(&arrays.collect::<Vec<_>>());
    let bound = bound.map_err(|error| marked_failure(&arguments.expression, error))?;
    match output {
        Some(output) => {
            output.write(out, Content::Binary, |mut sink| write_npy(&bound, &mut sink))?;
        }
        None => {
            let result = computed(&bound)?;
            match arguments.json {
                true => write_json(&result, out)?,
                false => {
                    let width = terminal_size::terminal_size().map_or(80, |(width, _)| width.0.into());
                    let out = &mut EscapingWriter(out);
                    result.display_to(&crate::reading::display_options().width(width), &mut *out)?;
                    writeln!(out)?;
                }
            }
        }
    }
    Ok(0)
}

/// Returns an error for an output whose name is that of another format.
pub(crate) fn check_npy_name(path: &Path) -> Result<(), Failure> {
    match Format::of_extension(path).filter(|format| *format != Format::Npy) {
        Some(format) => Err(at(
            path,
            format!("results are NPY files; ndio convert makes {} of one", format.name()).into(),
        )),
        None => Ok(()),
    }
}

/// Parses an expression; an error shows where it is wrong.
pub(crate) fn parse(text: &str) -> Result<Expression, Failure> {
    Expression::parse(text).map_err(|error| marked_failure(text, error))
}

/// Returns an error of computing as one of the program, which shows where it is in the expression.
pub(crate) fn marked_failure(text: &str, error: Error) -> Failure {
    let (message, at) = match error {
        Error::Syntax { message, at } => (message, at),
        other => return failure(other),
    };
    let before: String = text.chars().take(at).collect();
    let after: String = text.chars().skip(at).collect();
    format!("{message}, at the mark: {}⟨here⟩{}", escape_for_terminal(&before), escape_for_terminal(&after))
        .into()
}

/// Returns an error of computing as one of the program.
pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::Read(error) => (*error).into(),
        other => other.into(),
    }
}

/// Writes a result as an NPY file, part by part.
fn write_npy(bound: &Bound<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let header = Header::new(bound.dtype().map_err(failure)?, Order::C, bound.shape().into())?;
    let all = header.payload_len().unwrap_or(0);
    out.write_all(&npy::format(&header, None)?)?;
    let mut progress = Progress::new();
    bound.for_each_part(|part| {
        out.write_all(part.elements.bytes()).map_err(ndarray_io::Error::from)?;
        progress.add(part.elements.bytes().len() as u64, all);
        Ok::<(), Failure>(())
    })
}

/// Computes a result into a file without a name.
fn computed(bound: &Bound<'_>) -> Result<Source, Failure> {
    let file: File = temporary_file()?;
    let mut writer = BufWriter::new(&file);
    write_npy(bound, &mut writer)?;
    writer.flush()?;
    drop(writer);
    let input = Input::of_file(file, Path::new("the result"))?;
    Ok(Source::npy(input.array(&crate::reading::options())?, input.name()))
}
