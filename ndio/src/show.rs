//! `ndio show`: prints values.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use ndarray_io::options::DisplayOptions;
use ndarray_io_compute::table::layout;

use super::cells::{write_json, write_json_lines};
use super::failure::{Failure, at, is_broken_pipe};
use super::input::is_pipe_or_device;
use super::remote::is_url;
use super::rows::{RowOptions, read_rows, row_columns};
use super::select::{Selection, file_of};
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
    /// Print the last rows (10, or --tail), and then those that another process appends; with --json, a line for each
    #[arg(long, conflicts_with_all = ["all", "condition", "sort", "head", "sample", "slice"], help_heading = "Rows")]
    follow: bool,
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

    /// Returns the number of significant digits in tables; `None` for all.
    fn table_digits(&self) -> Option<usize> {
        (!self.all_digits).then_some(self.precision.unwrap_or(6))
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
    if arguments.follow {
        return follow(arguments, out);
    }
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
            let digits = arguments.table_digits();
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

/// Prints rows as another process appends them, until the file is gone, or holds another array.
fn follow(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    const PAUSE: Duration = Duration::from_millis(200);
    let file = file_of(&arguments.file);
    if is_pipe_or_device(&file) || is_url(&file) || file == Path::new("-") {
        return Err("--follow is for files".into());
    }
    let (mut shown, mut last_state, mut first_row) = (None, None, None);
    loop {
        let metadata = file.metadata().map_err(|error| at(&file, error.into()))?;
        let state = (metadata.len(), metadata.modified().ok());
        if last_state != Some(state) {
            last_state = Some(state);
            let (input, selection) = arguments.selection.open(&arguments.file)?;
            let source = selection.open_one(&input, &crate::reading::options(), true)?.ensure_iterable()?;
            let count = *source.shape().first().ok_or("a single element has no rows")?;
            let row = (source.dtype().clone(), source.shape()[1..].to_vec());
            let from = shown.unwrap_or(count.saturating_sub(arguments.rows.tail.unwrap_or(10)));
            if count < from || first_row.as_ref().is_some_and(|first| *first != row) {
                return Err(input.at(format!("it was replaced after row {from} was shown")));
            }
            print_rows(arguments, &source, from..count, shown.is_none(), out)
                .map_err(|failure| if is_broken_pipe(&*failure) { failure } else { input.at(failure) })?;
            out.flush()?;
            (shown, first_row) = (Some(count), Some(row));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Prints rows, as lines of JSON or of a table.
fn print_rows(
    arguments: &Arguments,
    source: &Source,
    rows: Range<usize>,
    has_header: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if arguments.json {
        let array = read_rows(source, rows)?;
        return write_json_lines(&Source::in_memory(array, source.name())?, out);
    }
    if source.shape().len() > 2 {
        return Err("rows of more than two axes are followed with --json".into());
    }
    let rows: Vec<usize> = rows.collect();
    let columns = row_columns(source, &rows, arguments.table_digits())?;
    let lines = layout(&columns, usize::MAX);
    for line in lines.iter().skip(usize::from(!has_header)) {
        writeln!(EscapingWriter(out), "{line}")?;
    }
    Ok(())
}
