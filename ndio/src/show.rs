//! `ndio show`: prints values.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use ndarray::SliceInfoElem;
use ndarray_io::ReadOptions;
use ndarray_io::options::DisplayOptions;

use super::Failure;
use super::failure::at;
use super::slice;
use super::source::{Choice, Source};

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
    #[arg(long)]
    allow_objects: bool,
    #[command(flatten)]
    which: Which,
}

/// An array, or a part of it.
#[derive(Args)]
pub(crate) struct Which {
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// A part, as NumPy writes it: '0:10, ..., ::2'
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true)]
    pub(crate) slice: Option<String>,
    /// The file; - is standard input
    pub(crate) file: PathBuf,
}

impl Arguments {
    pub(crate) fn inputs(&mut self) -> Vec<&mut PathBuf> {
        vec![&mut self.which.file]
    }

    fn look(&self) -> DisplayOptions {
        let terminal = || terminal_size::terminal_size().map_or(80, |(width, _)| width.0.into());
        let mut look = crate::reading::look().width(self.width.unwrap_or_else(terminal));
        if let Some(digits) = self.precision {
            look = look.precision(digits);
        }
        if self.all { look.all() } else { look }
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let options = crate::reading::options().allow_objects(arguments.allow_objects);
    let Which { choice, slice, file } = &arguments.which;
    let look = arguments.look();
    let is_whole = arguments.json && slice.is_none();
    for source in choice.all(file, &options, is_whole)? {
        let source = if arguments.json { source?.readable(file)? } else { source? };
        let slice = slice_of(slice.as_deref(), &source)?;
        let mut show = || match (arguments.json, &arguments.which.slice) {
            (true, None) => super::cells::write_json(&source, out),
            (true, Some(_)) => {
                super::cells::write_json(&Source::Memory(Box::new(source.slice(&slice)?)), out)
            }
            (false, _) => Ok(writeln!(out, "{}", preview(&source, &slice, &look)?)?),
        };
        show().map_err(|failure| at(file, failure))?;
    }
    Ok(0)
}

/// Formats an array; reads only the elements that are shown.
fn preview(source: &Source, slice: &[SliceInfoElem], look: &DisplayOptions) -> Result<String, Failure> {
    Ok(match source {
        Source::Npy(file) => file.preview_with(slice, look)?,
        Source::Ra(file) => file.preview_with(slice, look)?,
        Source::Memory(array) => array.slice(slice)?.shown(look),
    })
}

fn slice_of(slice: Option<&str>, source: &Source) -> Result<Vec<SliceInfoElem>, Failure> {
    match slice {
        Some(text) => Ok(slice::parse(text, source.shape())?),
        None => Ok(source.all()),
    }
}

impl Which {
    /// Opens the chosen array, or reads the requested slice of it. Reads only the data that is needed.
    pub(crate) fn open(&self, options: &ReadOptions) -> Result<Source, Failure> {
        let Self { choice, slice, file } = self;
        if slice.is_none() {
            return choice.open_all(file, options);
        }
        let source = choice.open(file, options)?;
        let slice = slice_of(slice.as_deref(), &source)?;
        Ok(Source::Memory(Box::new(source.slice(&slice)?)))
    }
}
