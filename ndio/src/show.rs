//! `ndio show`: prints values.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use ndarray_io::options::DisplayOptions;

use super::cells::write_json;
use super::failure::Failure;
use super::input::Input;
use super::select::Selection;
use super::terminal::EscapingWriter;

/// Print the values of an array, or of each array of an NPY file
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio show x.npy\n  ndio show x.npy --slice '0, ::2' --precision 3\n  ndio show a.npz --member x\n  ndio show - --json < x.npy"
)]
pub(crate) struct Arguments {
    /// Print all elements
    #[arg(long)]
    all: bool,
    /// Maximum width of lines; default: the terminal's, or 80
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
    /// Maximum number of digits after the decimal point
    #[arg(long, value_name = "DIGITS")]
    precision: Option<usize>,
    /// Print JSON: shape, dtype and all values, one line per array
    #[arg(long, conflicts_with_all = ["all", "width", "precision"])]
    json: bool,
    /// Show Python objects, as data
    #[arg(long, alias = "allow-pickle")]
    allow_objects: bool,
    #[command(flatten)]
    selection: Selection,
    /// The file; - is standard input
    file: PathBuf,
}

impl Arguments {
    fn display_options(&self) -> DisplayOptions {
        let terminal = || terminal_size::terminal_size().map_or(80, |(width, _)| width.0.into());
        let mut display_options =
            crate::reading::display_options().width(self.width.unwrap_or_else(terminal));
        if let Some(digits) = self.precision {
            display_options = display_options.precision(digits);
        }
        if self.all { display_options.all() } else { display_options }
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    // JSON has escapes of its own.
    if arguments.json { show(arguments, out) } else { show(arguments, &mut EscapingWriter(out)) }
}

fn show(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let options = crate::reading::options().allow_objects(arguments.allow_objects);
    let display_options = arguments.display_options();
    let input = Input::open(&arguments.file)?;
    for source in arguments.selection.open_all(&input, &options, arguments.json || arguments.all)? {
        let source = source?;
        let shown = match arguments.json {
            true => source.ensure_iterable().and_then(|source| write_json(&source, out)),
            false => source.display_to(&display_options, &mut *out).and_then(|()| Ok(writeln!(out)?)),
        };
        shown.map_err(|failure| input.at(failure))?;
    }
    Ok(0)
}
