//! `ndio count`: distinct values, and how often they occur.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use ndarray_io::DType;
use ndarray_io_compute::count;
use ndarray_io_compute::table::{CellOptions, Column, columns, layout};
use serde_json::json;

use super::calc::failure;
use super::cells::{dtype_text, for_each_scalar, put_scalar};
use super::failure::{Failure, escape_for_terminal};
use super::select::Selection;
use super::terminal::EscapingWriter;

/// Count distinct values; the most frequent first
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio count x.npy\n  ndio count x.npy --top 3 --json\n  ndio count a.npz:x"
)]
pub(crate) struct Arguments {
    /// How many values are listed
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    top: usize,
    /// List all values
    #[arg(long, conflicts_with = "top")]
    all: bool,
    /// Print JSON: total, distinct, values and counts
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    selection: Selection,
    /// The file, with its part: a.npz:x; - is standard input
    file: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let (input, selection) = arguments.selection.open(&arguments.file)?;
    let source = selection.open_one_complete(&input, &crate::reading::options())?.ensure_iterable()?;
    let top = if arguments.all { usize::MAX } else { arguments.top };
    let found = count(&source, top).map_err(failure).map_err(|failure| input.at(failure))?;
    if arguments.json {
        let mut values = Vec::new();
        for bytes in found.values.bytes().chunks(found.values.dtype().item_size().max(1)) {
            values.push(value_text(found.values.dtype(), bytes)?);
        }
        let line = json!({
            "dtype": dtype_text(source.dtype()), "total": found.total, "distinct": found.distinct, "values": values, "counts": found.counts,
        });
        writeln!(out, "{line}")?;
        return Ok(0);
    }
    let (display, read) = (crate::reading::display_options(), crate::reading::options());
    let mut table = columns(&found.values, &CellOptions { digits: None, display: &display, read: &read })
        .map_err(failure)?;
    for column in &mut table {
        if column.name.is_empty() {
            column.name = "value".into();
        }
        for cell in &mut column.cells {
            *cell = escape_for_terminal(cell);
        }
    }
    let share = |count: &u64| format!("{:.2} %", *count as f64 * 100.0 / found.total.max(1) as f64);
    table.push(Column::new("count", found.counts.iter().map(u64::to_string).collect(), true));
    table.push(Column::new("share", found.counts.iter().map(share).collect(), true));
    let out = &mut EscapingWriter(out);
    for line in layout(&table, usize::MAX) {
        writeln!(out, "{line}")?;
    }
    let values = if found.distinct == 1 { "value" } else { "distinct values" };
    let more = found.distinct.saturating_sub(found.counts.len() as u64);
    let more = if more > 0 { format!(", {more} more; --all lists them") } else { String::new() };
    writeln!(out, "{} {values} of {} elements{more}", found.distinct, found.total)?;
    Ok(0)
}

/// Returns a value as text; of records, all scalars.
fn value_text(dtype: &DType, bytes: &[u8]) -> Result<String, Failure> {
    let mut parts = Vec::new();
    for_each_scalar(dtype, bytes, &mut |dtype, bytes| {
        let mut text = Vec::new();
        put_scalar(dtype, bytes, &mut text)?;
        parts.push(String::from_utf8_lossy(&text).into_owned());
        Ok(())
    })?;
    Ok(parts.join(" "))
}
