//! `ndio cat`, `ndio stack`, `ndio split`: files along an axis.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray::SliceInfoElem;
use ndarray_io::{Conversion, NpyReader, ReadOptions, Shape, concatenate_npy};

use super::Failure;
use super::blocks::Source;
use super::convert::{folder_of, replace, temporary, write_header};
use super::progress::Progress;

/// Files that become one, along an axis.
#[derive(Args)]
pub(crate) struct Files {
    /// The axis of the new array; a negative one counts from the last
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    axis: isize,
    /// The new file
    #[arg(long, short)]
    output: PathBuf,
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Cut a file along an axis into files of the same name with numbers
#[derive(Args)]
pub(crate) struct Split {
    /// The axis; a negative one counts from the last
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    axis: isize,
    /// Into so many files, of about the same size
    #[arg(long, conflicts_with = "size", required_unless_present = "size")]
    parts: Option<usize>,
    /// Into files of so many indices; the last may be shorter
    #[arg(long)]
    size: Option<usize>,
    /// Where the files go; without it, beside the one that is cut
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// The file
    file: PathBuf,
}

fn axis_of(axis: isize, count: usize) -> Result<usize, Failure> {
    let from_end = if axis < 0 { axis + count as isize } else { axis };
    match usize::try_from(from_end) {
        Ok(axis) if axis < count => Ok(axis),
        _ => Err(format!("there is no axis {axis}: the array has {count}, numbered from 0").into()),
    }
}

fn concatenate(files: &[PathBuf], output: &Path, axis: usize) -> Result<u8, Failure> {
    let mut progress = Progress::new();
    let conversion = Conversion::new().progress(|done, all| {
        progress.set(done, all);
        ControlFlow::Continue(())
    });
    concatenate_npy(files, output, axis, conversion)?;
    Ok(0)
}

pub(crate) fn cat(arguments: &Files) -> Result<u8, Failure> {
    let shape = NpyReader::new(open(&arguments.files[0])?)?.shape().clone();
    concatenate(&arguments.files, &arguments.output, axis_of(arguments.axis, shape.dims().len())?)
}

pub(crate) fn stack(arguments: &Files) -> Result<u8, Failure> {
    let near = folder_of(&arguments.output);
    let mut made = Vec::new();
    let mut axis = 0;
    let mut first: Option<Shape> = None;
    for path in &arguments.files {
        let mut file = open(path)?;
        let reader = NpyReader::new(&mut file).map_err(|error| format!("{}: {error}", path.display()))?;
        let (dtype, order, shape) = (reader.dtype().clone(), reader.order(), reader.shape().clone());
        let (offset, bytes) = (reader.data_offset(), reader.payload_len());
        let bytes = bytes.ok_or_else(|| format!("{}: Python objects are not stacked", path.display()))?;
        let wanted = first.get_or_insert_with(|| shape.clone());
        if *wanted != shape {
            let path = path.display();
            return Err(format!("{path}: its shape is {shape}, and that of the first file {wanted}").into());
        }
        axis = axis_of(arguments.axis, shape.dims().len() + 1)?;
        let mut dims = shape.dims().to_vec();
        dims.insert(axis, 1);
        // An axis of one index changes nothing of how the elements lie: the header alone is another.
        let part = temporary(&near)?;
        let mut out = File::options().write(true).open(&part)?;
        write_header(dtype, order, dims, &mut out)?;
        file.seek(SeekFrom::Start(offset as u64))?;
        io::copy(&mut io::Read::take(&file, bytes as u64), &mut out)?;
        made.push(part);
    }
    let files: Vec<PathBuf> = made.iter().map(|part| part.to_path_buf()).collect();
    concatenate(&files, &arguments.output, axis)
}

pub(crate) fn split(arguments: &Split, out: &mut dyn Write) -> Result<u8, Failure> {
    const BLOCK: usize = 4 << 20;
    let source = Source::open(&arguments.file, None, &ReadOptions::new())?;
    let axis = axis_of(arguments.axis, source.shape().len())?;
    let length = source.shape()[axis];
    let ends: Vec<usize> = match (arguments.parts, arguments.size) {
        (Some(0), _) | (_, Some(0)) => return Err("there are no parts of size 0, nor 0 of them".into()),
        (Some(parts), _) => {
            (1..=parts).map(|part| (part as u128 * length as u128 / parts as u128) as usize).collect()
        }
        (None, size) => {
            let size = size.unwrap_or(1);
            (1..=length.div_ceil(size)).map(|part| part.saturating_mul(size).min(length)).collect()
        }
    };
    let stem =
        arguments.file.file_stem().map_or_else(|| "part".into(), |stem| stem.to_string_lossy().into_owned());
    let folder = arguments.output.clone().unwrap_or_else(|| folder_of(&arguments.file));
    std::fs::create_dir_all(&folder)?;
    let digits = ends.len().saturating_sub(1).to_string().len();
    let all = (source.len() * source.dtype().item_size()) as u64;
    let mut progress = Progress::new();
    let mut from = 0;
    for (number, end) in ends.into_iter().enumerate() {
        let path = folder.join(format!("{stem}-{number:0digits$}.npy"));
        let mut dims = source.shape().to_vec();
        dims[axis] = end - from;
        replace(&path, |file| {
            write_header(source.dtype().clone(), source.order(), dims.clone(), file)?;
            for (mut slice, _) in source.blocks_of(&dims, source.order(), BLOCK) {
                if let SliceInfoElem::Slice { start, end: Some(end), .. } = &mut slice[axis] {
                    *start += from as isize;
                    *end += from as isize;
                }
                let part = source.slice(&slice)?;
                super::raw::put(&part, source.order(), file)?;
                progress.add(part.bytes().len() as u64, all);
            }
            Ok(())
        })?;
        writeln!(out, "{}: shape {}", path.display(), Shape::from(dims))?;
        from = end;
    }
    Ok(0)
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| format!("{}: {error}", path.display()).into())
}
