//! `ndio repair`: writes what is whole of a damaged file.

use std::io::{Seek, Write};
use std::path::PathBuf;

use clap::{Args, Parser};
use ndarray_io::header::Order;

use super::convert;
use super::failure::{Failure, escape_for_terminal, is_damage, report};
use super::formats::{Format, options_like, write_archive};
use super::input::{Input, temporary_file};
use super::list::plural;
use super::output::{Content, Output};
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
    // The rows of the axis that varies slowest.
    let axis = if array.order() == Order::Fortran { shape.len().saturating_sub(1) } else { 0 };
    let Some(all) = shape.get(axis) else {
        return Err(input.at("a single element has no rows that could be whole"));
    };
    let other_axes = shape.iter().enumerate().filter(|(number, _)| *number != axis);
    let row_bytes =
        other_axes.fold(array.dtype().item_size() as u64, |bytes, (_, length)| bytes * *length as u64);
    let lost = extent.missing().div_ceil(row_bytes.max(1)).min(*all as u64) as usize;
    let mut slice = vec![":".to_owned(); axis];
    slice.push(format!(":{}", all - lost));
    let words = ["", "--slice", &slice.join(", "), "--drop-trailing"].map(Into::into);
    let paths = [arguments.file.clone(), arguments.output.clone()].map(PathBuf::into_os_string);
    let force = arguments.force.then(|| "--force".into());
    let line = words.into_iter().chain(force).chain(["--".into()]).chain(paths);
    convert::run(&Convert::try_parse_from(line)?.arguments, out)?;
    let name = escape_for_terminal(&input.name().to_string_lossy());
    writeln!(out, "{name}: {} of {all} along axis {axis} are whole", all - lost)?;
    Ok(u8::from(lost > 0))
}

fn repair_archive(input: &Input, arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let (archive, is_salvaged) = open_or_salvage(input)?;
    let output = Output::new(&arguments.output, arguments.force)?;
    let (mut count, mut lost, mut end) = (0, 0, 0);
    output.write(out, Content::Binary, |sink| {
        write_archive(sink, |new| {
            for (index, member) in archive.members().iter().enumerate() {
                // What is found within a member is an archive in the archive.
                if is_salvaged && member.range().start < end {
                    continue;
                }
                let mut content = temporary_file()?;
                match archive.copy_raw(index, &content).map_err(Failure::from) {
                    Ok(len) => {
                        content.rewind()?;
                        let options = options_like(None, None, Some(member))?;
                        new.add_raw(member.file_name().to_owned(), content, len, &options)?;
                        (count, end) = (count + 1, member.range().end);
                    }
                    Err(failure) if is_salvaged || is_damage(&failure) => {
                        report(&input.at(failure));
                        lost += 1;
                    }
                    Err(failure) => return Err(failure),
                }
            }
            Ok(())
        })
    })?;
    let name = escape_for_terminal(&input.name().to_string_lossy());
    writeln!(out, "{name}: {count} of {} are whole", plural(count + lost, "member"))?;
    Ok(u8::from(is_salvaged || lost > 0))
}
