//! `ndio repair`: writes what is whole of a damaged file.

use std::collections::HashSet;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Parser};
use ndarray_io::NpzFile;
use ndarray_io::header::{Extent, Order};

use super::convert;
use super::failure::{Failure, at, is_read_failure, report};
use super::formats::{Format, options_like, write_archive};
use super::input::{Input, SequentialReader, temporary_file};
use super::list::plural;
use super::output::{Content, Output, is_same_file};
use super::select::Arrays;
use super::source::Source;
use super::unpack::open_or_salvage;

/// Write what is whole of a damaged file
///
/// That is, the complete rows of an array, or the sound members of an archive.
#[derive(Args)]
#[command(after_help = "Exit code 1 says that something was lost.

Examples:
  ndio repair x.npy -o whole.npy
  ndio repair a.npz -o whole.npz")]
pub(crate) struct Arguments {
    /// The new file
    #[arg(long, short)]
    output: PathBuf,
    /// Replace an existing file
    #[arg(long, alias = "replace")]
    force: bool,
    /// The damaged file
    file: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    if is_same_file(&arguments.file, &arguments.output) {
        return Err(at(&arguments.output, "the damaged file stays as it is: name another output".into()));
    }
    let input = Input::open(&arguments.file)?;
    match input.format() {
        Format::Npz => repair_archive(&input, arguments, out),
        Format::Npy | Format::Ra => repair_array(&input, arguments, out),
        format => Err(input.at(format!("files of this format ({}) are not repaired", format.name()))),
    }
}

/// The arguments of `ndio convert`.
#[derive(Parser)]
struct Convert {
    #[command(flatten)]
    arguments: convert::Arguments,
}

fn repair_array(input: &Input, arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let array = input.array(&crate::reading::options())?;
    let (shape, extent) = (array.shape(), array.extent()?);
    if extent.missing() == 0 {
        return keep_whole_arrays(input, extent, arguments, out);
    }
    // The rows of the axis that varies slowest.
    let axis = if array.order() == Order::Fortran { shape.len().saturating_sub(1) } else { 0 };
    let Some(all) = shape.get(axis) else {
        return Err(input.at("a single element has no rows that could be whole"));
    };
    if arguments.file == Path::new("-") {
        return Err(input.at("it is read twice: name the file"));
    }
    let other_axes = shape.iter().enumerate().filter(|(number, _)| *number != axis);
    let row_bytes =
        other_axes.fold(array.dtype().item_size() as u64, |bytes, (_, length)| bytes * *length as u64);
    let lost = extent.missing().div_ceil(row_bytes.max(1)).min(*all as u64) as usize;
    let mut slice = vec![":".to_owned(); axis];
    slice.push(format!(":{}", all - lost));
    let words = ["", "--slice", &slice.join(", ")].map(Into::into);
    let paths = [arguments.file.clone(), arguments.output.clone()].map(PathBuf::into_os_string);
    let force = arguments.force.then(|| "--force".into());
    let line = words.into_iter().chain(force).chain(["--".into()]).chain(paths);
    convert::run(&Convert::try_parse_from(line)?.arguments, out)?;
    report(&input.at(format!("{} of {all} along axis {axis} are whole", all - lost)));
    Ok(1)
}

/// Copies a file up to the end of its last whole array.
fn keep_whole_arrays(
    input: &Input,
    extent: Extent,
    arguments: &Arguments,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let options = crate::reading::options().allow_objects(true);
    let (mut end, size) = (input.size()? - extent.trailing().unwrap_or(0), input.size()?);
    if input.format() == Format::Npy {
        let mut arrays = Arrays::of(input, &options);
        while let Some(Ok(_)) = arrays.next() {
            let next = arrays.last_byte_range().end;
            if next > size {
                break;
            }
            end = next;
        }
    }
    let output = Output::new(&arguments.output, arguments.force)?;
    output.write(out, Content::Binary, |mut sink| {
        std::io::copy(&mut SequentialReader::new(input.bytes()?).take(end), &mut sink)?;
        Ok(())
    })?;
    let lost = size - end;
    if lost > 0 {
        report(&input.at(format!("{lost} bytes after what is whole are left out")));
    }
    Ok(u8::from(lost > 0))
}

fn repair_archive(input: &Input, arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let (archive, is_salvaged) = open_or_salvage(input)?;
    let output = Output::new(&arguments.output, arguments.force)?;
    let (mut count, mut lost, mut end, mut names) = (0, 0, 0, HashSet::new());
    output.write(out, Content::Binary, |sink| {
        write_archive(sink, |new| {
            for (index, member) in archive.members().iter().enumerate() {
                // What is found within a member is an archive in the archive.
                if is_salvaged && member.range().start < end {
                    continue;
                }
                let mut content = temporary_file()?;
                let copied = match names.contains(member.file_name()) {
                    false => check_array(&archive, index, input)
                        .and_then(|()| Ok(archive.copy_raw(index, &content)?)),
                    true => Err(format!("another member is called '{}'", member.file_name()).into()),
                };
                match copied {
                    Ok(len) => {
                        content.rewind()?;
                        let options = options_like(None, None, Some(member))?;
                        new.add_raw(member.file_name().to_owned(), content, len, &options)?;
                        (count, end) = (count + 1, member.range().end);
                        names.insert(member.file_name());
                    }
                    Err(failure) if !is_read_failure(&failure) => {
                        report(&input.at(failure));
                        lost += 1;
                    }
                    Err(failure) => return Err(failure),
                }
            }
            Ok(())
        })
    })?;
    let note = if is_salvaged {
        "; without a directory, those of an archive within it count as its own"
    } else {
        ""
    };
    if is_salvaged || lost > 0 {
        report(&input.at(format!("{count} of {} are whole{note}", plural(count + lost, "member"))));
    }
    Ok(u8::from(is_salvaged || lost > 0))
}

/// Returns an error if a member is an array that is longer than the member.
fn check_array(archive: &NpzFile, index: usize, input: &Input) -> Result<(), Failure> {
    let member = &archive.members()[index];
    match member.file_name().ends_with(".npy")
        && archive.peek(index).is_ok_and(|found| !found.header.dtype().has_object())
    {
        true => Source::open_member(archive, index, input, true)?.check_complete(),
        false => Ok(()),
    }
}
