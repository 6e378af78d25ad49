//! `ndio cat`, `ndio stack`: join arrays along an axis.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::convert::{Conversion, concatenate_files_into, concatenate_npy, stack_files_into, stack_npy};
use ndarray_io::{Error, NpyFile, WriteOptions};

use ndarray_io_compute::axis_number;

use super::calc::failure;
use super::changes::Changes;
use super::failure::{Failure, at, report, with_advice};
use super::formats::Format;
use super::input::temporary_file;
use super::output::{Content, Output, Sink};
use super::progress::Progress;
use super::select::Selection;
use super::source::SourceArray;

/// Files to be joined along an axis.
#[derive(Args)]
pub(crate) struct JoinArguments {
    /// The axis of the new array; a negative one counts from the last
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    axis: isize,
    /// The new file; - is standard output
    #[arg(long, short)]
    output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    selection: Selection,
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Returns the number of an axis, of which a negative one counts from the last.
pub(crate) fn normalize_axis(axis: isize, count: usize) -> Result<usize, Failure> {
    axis_number(axis as i128, count).map_err(failure)
}

pub(crate) fn cat(arguments: &JoinArguments, out: &mut dyn Write) -> Result<u8, Failure> {
    join(
        arguments,
        out,
        &JoinFunctions {
            added_axes: 0,
            files: |files, to, axis, conversion| concatenate_files_into(files, to, axis, conversion),
            paths: |files, to, axis, conversion| concatenate_npy(files, to, axis, conversion),
        },
    )
}

pub(crate) fn stack(arguments: &JoinArguments, out: &mut dyn Write) -> Result<u8, Failure> {
    join(
        arguments,
        out,
        &JoinFunctions {
            added_axes: 1,
            files: |files, to, axis, conversion| stack_files_into(files, to, axis, conversion),
            paths: |files, to, axis, conversion| stack_npy(files, to, axis, conversion),
        },
    )
}

/// How files are joined.
struct JoinFunctions {
    /// The number of axes that the result has in addition.
    added_axes: usize,
    files: fn(&[&NpyFile], &File, usize, Conversion<'_>) -> ndarray_io::Result<()>,
    /// For more files than can be open at once.
    paths: fn(&[PathBuf], &Path, usize, Conversion<'_>) -> ndarray_io::Result<()>,
}

fn join(arguments: &JoinArguments, out: &mut dyn Write, functions: &JoinFunctions) -> Result<u8, Failure> {
    /// The number of files that are open at once.
    const MAX_OPEN_FILES: usize = 200;
    if let Some(format) = Format::of_extension(&arguments.output).filter(|format| *format != Format::Npy) {
        let text = format!("joined arrays are an NPY file; ndio convert makes {} of it", format.name());
        return Err(at(&arguments.output, text.into()));
    }
    let mut output = Output::new(&arguments.output, arguments.force)?;
    let options = crate::reading::options();
    let mut progress = Progress::new();
    let (first, others) = arguments.files.split_first().ok_or("there are no files")?;
    let is_many = arguments.files.len() > MAX_OPEN_FILES;
    let mut is_reported = false;
    let mut open = |path: &Path| -> Result<NpyFile, Failure> {
        let (input, selection) = arguments.selection.open_with(path, |path| output.open_input(path))?;
        let has_no_selection = !selection.selects_array() && !selection.is_partial();
        if input.is_output() && !std::mem::replace(&mut is_reported, true) {
            // Meant by users who add to a file, but not by those of `*.npy` who run the same command again.
            report(&input.at("is one of the inputs as well: what is in it now is joined, too"));
        }
        if is_many && (!has_no_selection || input.format() != Format::Npy || !path.is_file()) {
            let text = format!(
                "more than {MAX_OPEN_FILES} files are joined only if each is an NPY file of one array"
            );
            return Err(input.at(text));
        }
        let source = selection.open_one_complete(&input, &options);
        let source = source.map_err(|failure| match input.format() {
            Format::Npz if !selection.selects_array() => with_advice(failure, "FILE.npz:NAME is one of them"),
            _ => failure,
        })?;
        match source.array {
            SourceArray::File(file) if file.ra_header().is_some() => {
                Err(input.at("ndio convert makes an NPY file of it, which can be joined"))
            }
            SourceArray::File(file) => Ok(*file),
            SourceArray::Objects(_) => Err(input.at("Python objects cannot be joined")),
        }
    };
    let name = first;
    let first = open(first)?;
    let axis = normalize_axis(arguments.axis, first.shape().len() + functions.added_axes)
        .map_err(|failure| at(name, failure))?;
    if is_many {
        // They are looked at now, and opened again one after another.
        drop(first);
        others.iter().try_for_each(|path| open(path).map(drop))?;
        let Some((path, options)) = output.path_and_options() else {
            return Err(format!("more than {MAX_OPEN_FILES} files are joined to a new file only").into());
        };
        let conversion = Changes::default().conversion(options, &mut progress);
        (functions.paths)(&arguments.files, path, axis, conversion)?;
        return Ok(0);
    }
    let mut files = vec![first];
    for path in others {
        files.push(open(path)?);
    }
    output.write(out, Content::Binary, move |sink| {
        let files = files;
        let conversion = Changes::default().conversion(WriteOptions::new(), &mut progress);
        let files: Vec<&NpyFile> = files.iter().collect();
        with_file(sink, |file| (functions.files)(&files, file, axis, conversion))
    })?;
    Ok(0)
}

/// Calls a function with a file: that which is written, or one whose content is passed on to a stream.
pub(crate) fn with_file(
    sink: Sink<'_>,
    write: impl FnOnce(&File) -> ndarray_io::Result<()>,
) -> Result<(), Failure> {
    match sink {
        Sink::File(file) => Ok(write(file)?),
        Sink::Stream(out) => {
            let mut file = temporary_file()?;
            write(&file)?;
            file.rewind()?;
            io::copy(&mut file, out).map_err(Error::from)?;
            Ok(())
        }
    }
}
