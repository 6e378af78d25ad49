//! `ndio split`: splits an array along an axis into numbered files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::header::{Header, Shape};
use ndarray_io::npy;

use super::changes::Changes;
use super::failure::{Failure, at};
use super::growth;
use super::join::normalize_axis;
use super::output::{
    Content, Output, already_exists_failure, folder_of, is_regular, is_same_file, refuse_in_stack,
};
use super::progress::Progress;
use super::remote;
use super::select::Selection;
use super::unpack::check_folder;

/// Split an array along an axis into numbered files
#[derive(Args)]
#[command(
    group(clap::ArgGroup::new("how").required(true)),
    after_help = "Example:\n  ndio split x.npy --parts 2 -o parts"
)]
pub(crate) struct Split {
    /// The axis; a negative one counts from the last
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    axis: isize,
    /// Number of files to make, of about equal size
    #[arg(long, short = 'n', group = "how", allow_hyphen_values = true)]
    parts: Option<usize>,
    /// Number of indices in each file; the last may be shorter
    #[arg(long, group = "how")]
    size: Option<usize>,
    /// The output folder; default: the folder of the input
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    selection: Selection,
    /// The file
    file: PathBuf,
}

pub(crate) fn split(arguments: &Split, out: &mut dyn Write) -> Result<u8, Failure> {
    let (input, selection) = arguments.selection.open(&arguments.file)?;
    let source = selection.open_one_complete(&input, &crate::reading::options())?;
    let axis = normalize_axis(arguments.axis, source.shape().len()).map_err(|failure| input.at(failure))?;
    let length = source.shape()[axis];
    let part_ends = part_ends(length, arguments)?;
    let file = input.name();
    let is_file = file.is_file();
    let stem = file.file_stem().filter(|_| is_file);
    let stem = stem.map_or_else(|| "part".into(), |stem| stem.to_string_lossy().into_owned());
    let folder = match &arguments.output {
        Some(folder) if remote::is_url(folder) => {
            return Err(format!(
                "{}: parts are written to a folder",
                remote::redacted_url(folder)?.display()
            )
            .into());
        }
        Some(folder) => folder.clone(),
        None if is_file => folder_of(file),
        None => PathBuf::from("."),
    };
    check_folder(&folder)?;
    refuse_in_stack(&folder.join("0"), file)?;
    std::fs::create_dir_all(&folder).map_err(|error| at(&folder, error.into()))?;
    let digits = part_ends.len().saturating_sub(1).to_string().len();
    let path_of = |number: usize| folder.join(format!("{stem}-{number:0digits$}.npy"));
    // Look at all outputs before the first is written.
    if let Some(path) = (0..part_ends.len()).map(path_of).find(|path| is_same_file(path, file)) {
        return Err(at(&path, "a part would take the place of the array that is split".into()));
    }
    if let Some(path) = (0..part_ends.len()).map(path_of).find(|path| !arguments.force && is_regular(path)) {
        return Err(already_exists_failure(&path));
    }
    refuse_stale_parts(&folder, &stem, &path_of, part_ends.len())?;
    let all = source.byte_len();
    growth::add_decoded(all);
    // The headers of the parts are about as long as that of the array.
    let header = Header::new(source.dtype().clone(), source.order(), source.shape().to_vec().into())?;
    let headers_len = (npy::format(&header, None)?.len() as u64).saturating_mul(part_ends.len() as u64);
    growth::add_output(all.saturating_add(headers_len))?;
    let mut progress = Progress::new();
    let mut from = 0;
    for (number, end) in part_ends.into_iter().enumerate() {
        let path = path_of(number);
        let mut part: Vec<_> = source.shape().iter().map(|length| 0..*length).collect();
        part[axis] = from..end;
        let dims: Vec<usize> = part.iter().map(ExactSizeIterator::len).collect();
        let header = Header::new(source.dtype().clone(), source.order(), dims.clone().into())?;
        let head = npy::format(&header, None)?;
        let elements = Changes::default().elements(&source, &header).within(&part)?.with_progress_total(all);
        Output::new(&path, arguments.force)?.write(&mut io::sink(), Content::Binary, |mut sink| {
            sink.write_all(&head)?;
            elements.write_to(&mut progress, &mut sink)
        })?;
        writeln!(out, "{}: shape {}", path.display(), Shape::from(dims))?;
        from = end;
    }
    Ok(0)
}

/// Refuses to split beside parts of an earlier split that are not replaced: who joins the files of the folder would join them as well.
fn refuse_stale_parts(
    folder: &Path,
    stem: &str,
    path_of: &impl Fn(usize) -> PathBuf,
    count: usize,
) -> Result<(), Failure> {
    let entries = folder.read_dir().map_err(|error| at(folder, error.into()))?;
    for entry in entries {
        let name = entry.map_err(|error| at(folder, error.into()))?.file_name();
        let Some(name) = name.to_str() else { continue };
        let rest = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".npy"));
        let Some(digits) = rest.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())) else {
            continue;
        };
        let path = folder.join(name);
        let is_replaced = digits.parse().is_ok_and(|number| number < count && path_of(number) == path);
        if !digits.is_empty() && !is_replaced {
            let text = "is not one of the new parts, and looks like a part of an earlier split: remove it";
            return Err(at(&path, text.into()));
        }
    }
    Ok(())
}

/// Returns where the parts of an axis of this length end.
fn part_ends(length: usize, arguments: &Split) -> Result<Vec<usize>, Failure> {
    const MAX_PARTS: usize = 1 << 20;
    Ok(match (arguments.parts, arguments.size) {
        (Some(0), _) | (_, Some(0)) => {
            return Err("the number and the size of parts must be at least 1".into());
        }
        (Some(parts), _) if parts > MAX_PARTS => return Err(format!("{parts} files are too many").into()),
        (Some(parts), _) => {
            // Like NumPy's `array_split`: if the length is not divisible, the first parts are one index
            // longer.
            let (size, longer) = (length / parts, length % parts);
            (1..=parts).map(|part| part * size + part.min(longer)).collect()
        }
        (None, Some(size)) if length.div_ceil(size) > MAX_PARTS => {
            return Err(format!("{} files are too many", length.div_ceil(size)).into());
        }
        (None, size) => {
            let size = size.unwrap_or(1);
            // Of an axis without indices, one part, so that joining the parts gives the array.
            (1..=length.div_ceil(size).max(1)).map(|part| part.saturating_mul(size).min(length)).collect()
        }
    })
}
