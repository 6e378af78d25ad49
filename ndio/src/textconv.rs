//! `ndio textconv`: text for `git diff`, which does not depend on the name of the file.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use ndarray_io::header::Order;

use super::failure::{Failure, is_broken_pipe, is_read_failure, one_line_message};
use super::formats::Format;
use super::select::Selection;
use super::source::Source;
use super::summary::{self, Summary};
use super::terminal::EscapingWriter;

/// Print arrays as text for git diff
///
/// That is, dtype, shape and statistics, and the values of small ones, one row per line.
#[derive(Args)]
#[command(after_help = "Configure git once:
  git config diff.ndio.textconv 'ndio textconv'
  echo '*.npy diff=ndio' >> .gitattributes
  echo '*.npz diff=ndio' >> .gitattributes

Example:
  ndio textconv x.npy")]
pub(crate) struct Arguments {
    /// The file
    file: PathBuf,
}

/// Prints a file. One that cannot be read is text as well: after an error, git would show no other file.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let out = &mut EscapingWriter(out);
    match print_file(arguments, out) {
        Err(failure) if !is_read_failure(&failure) && !is_broken_pipe(&*failure) => {
            writeln!(out, "{}", one_line_message(&failure))?;
            Ok(0)
        }
        printed => printed,
    }
}

fn print_file(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let options = crate::reading::options().allow_objects(true);
    let (input, _) = Selection::default().open(&arguments.file)?;
    if input.format() != Format::Npz {
        for array in Selection::default().open_all(&input, &options, true)? {
            print("array", &array?, out)?;
        }
        return Ok(0);
    }
    let archive = input.npz(&options)?;
    for (index, member) in archive.members().iter().enumerate() {
        match archive.holds_array(index)? {
            true => print(member.file_name(), &Source::open_member(&archive, index, &input, true)?, out)?,
            false => writeln!(out, "{}: {} bytes, no array", member.file_name(), member.size())?,
        }
    }
    Ok(0)
}

fn print(name: &str, source: &Source, out: &mut dyn Write) -> Result<(), Failure> {
    /// More would not be read in a diff.
    const MAX_ELEMENTS: u64 = 10_000;
    let is_fortran = source.order() == Order::Fortran && source.shape().len() > 1;
    let order = if is_fortran { ", Fortran order" } else { "" };
    writeln!(out, "{name}: {} {}{order}", source.dtype(), source.display_shape())?;
    if !source.dtype().has_object() {
        Summary::from(summary::compute(source)?).print(out)?;
    }
    // Elements of one axis on lines of their own, so that one that is inserted moves no others.
    let width = if source.shape().len() == 1 { 1 } else { usize::MAX };
    let shown = crate::reading::display_options().width(width);
    source.display_to(&if source.len() <= MAX_ELEMENTS { shown.all() } else { shown }, out)?;
    Ok(writeln!(out)?)
}
