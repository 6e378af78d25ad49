//! `ndio show`: prints values.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use ndarray_io::options::DisplayOptions;

use super::cells::write_json;
use super::failure::Failure;
use super::rows::RowOptions;
use super::select::Selection;
use super::source::Source;
use super::terminal::EscapingWriter;

/// Print the values of an array, or of each array of an NPY file
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio show x.npy\n  ndio show 'x.npy[0, ::2]' --precision 3\n  ndio show x.npy --table --where 'x[:, 0] > 3' --sort='-x[:, 1]' --rows 5\n  ndio show a.npz --member x\n  ndio show - --json < x.npy"
)]
pub(crate) struct Arguments {
    /// Print all elements
    #[arg(long)]
    all: bool,
    /// Maximum width of lines; default: the terminal's, or 80
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
    /// Maximum number of digits after the decimal point; of tables, of significant ones (default: 6)
    #[arg(long, value_name = "DIGITS")]
    precision: Option<usize>,
    /// In tables, all digits of floats
    #[arg(long, conflicts_with = "precision")]
    all_digits: bool,
    /// Print JSON: shape, dtype and all values, one line per array
    #[arg(long, conflicts_with_all = ["all", "width", "precision", "all_digits"])]
    json: bool,
    /// Show Python objects, as data
    #[arg(long, alias = "allow-pickle")]
    allow_objects: bool,
    #[command(flatten)]
    rows: RowOptions,
    #[command(flatten)]
    selection: Selection,
    /// The file, with its part: a.npz:x[0, :5]; - is standard input
    file: PathBuf,
}

impl Arguments {
    fn width(&self) -> usize {
        let terminal = || terminal_size::terminal_size().map_or(80, |(width, _)| width.0.into());
        self.width.unwrap_or_else(terminal)
    }

    fn display_options(&self) -> DisplayOptions {
        let mut display_options = crate::reading::display_options().width(self.width());
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
    let (input, selection) = arguments.selection.open(&arguments.file)?;
    for source in selection.open_all(&input, &options, arguments.json || arguments.all)? {
        let mut source = source?;
        if !arguments.json && arguments.rows.shows_table(&source) {
            let digits = if arguments.all_digits { None } else { Some(arguments.precision.unwrap_or(6)) };
            let source = source.ensure_iterable()?;
            let shown = arguments.rows.print_table(&source, digits, arguments.width(), arguments.all, out);
            shown.map_err(|failure| input.at(failure))?;
            continue;
        }
        if arguments.rows.selects() {
            let chosen = arguments.rows.chosen(&source).map_err(|failure| input.at(failure))?;
            source = Source::in_memory(chosen, input.name())?;
        }
        let shown = match arguments.json {
            true => source.ensure_iterable().and_then(|source| write_json(&source, out)),
            false => source.display_to(&display_options, &mut *out).and_then(|()| Ok(writeln!(out)?)),
        };
        shown.map_err(|failure| input.at(failure))?;
    }
    Ok(0)
}
