//! `ndio cat`, `ndio stack`, `ndio split`: joins and splits files along an axis.

use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::NpyReader;
use ndarray_io::convert::{Conversion, concatenate_npy, stack_npy};
use ndarray_io::header::Shape;

use super::Failure;
use super::convert::{folder_of, passed_on, replace, write_header};
use super::input::without_pipes;
use super::progress::Progress;
use super::source::{Choice, refuse_several};

/// Files to be joined along an axis.
#[derive(Args)]
pub(crate) struct Files {
    /// The axis of the new array; a negative one counts from the last
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    axis: isize,
    /// The new file; - is standard output
    #[arg(long, short)]
    output: PathBuf,
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Split a file along an axis into numbered files
#[derive(Args)]
#[command(after_help = "Example:\n  ndio split x.npy --parts 2 -o parts")]
pub(crate) struct Split {
    /// The axis; a negative one counts from the last
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    axis: isize,
    /// Number of files to make, of about equal size
    #[arg(long, conflicts_with = "size", required_unless_present = "size")]
    parts: Option<usize>,
    /// Number of indices in each file; the last may be shorter
    #[arg(long)]
    size: Option<usize>,
    /// The output folder; default: the folder of the input
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    choice: Choice,
    /// The file
    file: PathBuf,
}

pub(crate) fn axis_of(axis: isize, count: usize) -> Result<usize, Failure> {
    let from_end = if axis < 0 { axis + count as isize } else { axis };
    match usize::try_from(from_end) {
        Ok(axis) if axis < count => Ok(axis),
        _ => Err(format!("there is no axis {axis}: the array has {count}, numbered from 0").into()),
    }
}

fn with_progress(join: impl FnOnce(Conversion<'_>) -> ndarray_io::Result<()>) -> Result<u8, Failure> {
    let mut progress = Progress::new();
    join(Conversion::new().read_options(crate::reading::options()).progress(|done, all| {
        progress.set(done, all);
        ControlFlow::Continue(())
    }))?;
    Ok(0)
}

fn axis_count(path: &Path) -> Result<usize, Failure> {
    Ok(NpyReader::new_with(open(path)?, &crate::reading::options())?.shape().len())
}

impl Split {
    pub(crate) fn outputs(&self) -> Vec<&Path> {
        self.output.as_deref().into_iter().collect()
    }
}

impl Files {
    pub(crate) fn outputs(&self) -> Vec<&Path> {
        vec![&self.output]
    }

    pub(crate) fn inputs(&mut self) -> Vec<&mut PathBuf> {
        self.files.iter_mut().collect()
    }
}

/// Returns an error if a file has several arrays, since files are joined completely.
fn refuse_streams(files: &[PathBuf]) -> Result<(), Failure> {
    files.iter().try_for_each(|path| refuse_several(path, "ndio convert --array extracts one"))
}

pub(crate) fn cat(arguments: &Files, out: &mut dyn Write) -> Result<u8, Failure> {
    refuse_streams(&arguments.files)?;
    let axis = axis_of(arguments.axis, axis_count(&arguments.files[0])?)?;
    let join = |output: &Path| {
        with_progress(|conversion| concatenate_npy(&arguments.files, output, axis, conversion))
    };
    passed_on(&arguments.output, out, join)
}

pub(crate) fn stack(arguments: &Files, out: &mut dyn Write) -> Result<u8, Failure> {
    refuse_streams(&arguments.files)?;
    let axis = axis_of(arguments.axis, axis_count(&arguments.files[0])? + 1)?;
    let join =
        |output: &Path| with_progress(|conversion| stack_npy(&arguments.files, output, axis, conversion));
    passed_on(&arguments.output, out, join)
}

pub(crate) fn split(arguments: &Split, out: &mut dyn Write) -> Result<u8, Failure> {
    const BLOCK: usize = 4 << 20;
    let mut file = arguments.file.clone();
    let made = without_pipes(vec![&mut file], false)?;
    let source = arguments.choice.open_all(&file, &crate::reading::options())?;
    let axis = axis_of(arguments.axis, source.shape().len())?;
    let length = source.shape()[axis];
    let ends: Vec<usize> = match (arguments.parts, arguments.size) {
        (Some(0), _) | (_, Some(0)) => {
            return Err("the number and the size of parts must be at least 1".into());
        }
        (Some(parts), _) if parts > 1 << 20 => return Err(format!("{parts} files are too many").into()),
        (Some(parts), _) => {
            // Like NumPy's `array_split`: if the length is not divisible, the first parts are one index
            // longer.
            let (size, longer) = (length / parts, length % parts);
            (1..=parts).map(|part| part * size + part.min(longer)).collect()
        }
        (None, Some(size)) if length.div_ceil(size) > 1 << 20 => {
            return Err(format!("{} files are too many", length.div_ceil(size)).into());
        }
        (None, size) => {
            let size = size.unwrap_or(1);
            // Of an axis without indices, one part, so that joining the parts gives the array.
            (1..=length.div_ceil(size).max(1)).map(|part| part.saturating_mul(size).min(length)).collect()
        }
    };
    let name = if made.is_empty() { arguments.file.file_stem() } else { None };
    let stem = name.map_or_else(|| "part".into(), |stem| stem.to_string_lossy().into_owned());
    let folder = match (&arguments.output, made.is_empty()) {
        (Some(folder), _) => folder.clone(),
        (None, true) => folder_of(&arguments.file),
        (None, false) => PathBuf::from("."),
    };
    std::fs::create_dir_all(&folder)?;
    let path_of = |number: usize, digits: usize| folder.join(format!("{stem}-{number:0digits$}.npy"));
    let digits = ends.len().saturating_sub(1).to_string().len();
    // Check all outputs before the first is written.
    if !arguments.force {
        (0..ends.len()).try_for_each(|number| refuse_old(&path_of(number, digits), "--force"))?;
    }
    let all = source.byte_len();
    let mut progress = Progress::new();
    let mut from = 0;
    for (number, end) in ends.into_iter().enumerate() {
        let path = path_of(number, digits);
        let mut part: Vec<_> = source.shape().iter().map(|length| 0..*length).collect();
        part[axis] = from..end;
        let dims: Vec<usize> = part.iter().map(ExactSizeIterator::len).collect();
        replace(&path, |file| {
            write_header(source.dtype().clone(), source.order(), dims.clone(), file)?;
            source.blocks().bytes(BLOCK).within(&part)?.for_each(|block| {
                super::raw::put(block.array(), source.order(), file)?;
                progress.add(block.array().bytes().len() as u64, all);
                Ok(())
            })
        })?;
        writeln!(out, "{}: shape {}", path.display(), Shape::from(dims))?;
        from = end;
    }
    Ok(0)
}

/// Returns an error if a file exists and the flag to replace it was not given.
pub(crate) fn refuse_old(path: &Path, flag: &str) -> Result<(), Failure> {
    match path.symlink_metadata() {
        Ok(_) => Err(format!("{}: it already exists; {flag} replaces it", path.display()).into()),
        Err(_) => Ok(()),
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| format!("{}: {error}", path.display()).into())
}
