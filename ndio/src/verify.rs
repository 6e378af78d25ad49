//! `ndio verify`: checks files for damage.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use ndarray_io::header::Extent;
use ndarray_io::npz::{IndexState, Method};
use ndarray_io::{DynArray, NpzFile, ReadOptions};

use super::failure::{Failure, escape_for_terminal, is_read_failure, one_line_message};
use super::formats::Format;
use super::input::{Input, for_each_file, has_array_extension};
use super::other_formats;
use super::progress::Progress;
use super::scan::{scan_bytes, unknown_globals, unknown_names};
use super::select::Arrays;
use super::source::{Source, SourceArray};

/// Check files: structure, length, checksums, bools and text
#[derive(Args)]
#[command(after_help = "Examples:\n  ndio verify x.npy a.npz\n  ndio verify --read x.npy")]
pub(crate) struct Arguments {
    /// Accept Python objects made by this class or function, in addition to those that make plain data:
    /// 'fractions.Fraction'
    #[arg(long, value_name = "MODULE.NAME")]
    allow: Vec<String>,
    /// Read every byte of arrays of numbers too, of which otherwise the header and the length are looked at: any bytes are numbers,
    /// but a disk may not give them back
    #[arg(long)]
    read: bool,
    /// Files, or folders, which are searched for array files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    // Objects are read as data: nothing is executed.
    let options = crate::reading::options().allow_objects(true);
    let mut code = 0;
    for_each_file(&arguments.files, has_array_extension, |path| {
        let input = match path.and_then(Input::open) {
            Ok(input) => input,
            // A file that cannot be opened has not been checked.
            Err(failure) => {
                code = code.max(if is_read_failure(&failure) { 2 } else { 1 });
                return Ok(writeln!(out, "{}", one_line_message(&failure))?);
            }
        };
        match verify(&input, &options, arguments) {
            Ok(remarks) => {
                writeln!(out, "{}: sound", escape_for_terminal(&input.name().to_string_lossy()))?;
                for (member, remark) in remarks {
                    writeln!(out, "  {}: {}", escape_for_terminal(&member), escape_for_terminal(&remark))?;
                }
            }
            Err(failure) => {
                // Exit code 1 means that damage was found: what changes or cannot be read has not been checked.
                code = code.max(if is_read_failure(&failure) { 2 } else { 1 });
                writeln!(out, "{}", one_line_message(&input.at(failure)))?;
            }
        }
        Ok(())
    })?;
    Ok(code)
}

/// Returns what is not damage, each remark with the name of its member.
fn verify(
    input: &Input,
    options: &ReadOptions,
    arguments: &Arguments,
) -> Result<Vec<(String, String)>, Failure> {
    if other_formats::is_safetensors(input) {
        // All tensors are whole, otherwise it is not opened; numbers have no checksum.
        return other_formats::open_safetensors(input).map(|_| Vec::new());
    }
    let checked = match input.format() {
        Format::Npz => return verify_npz(&input.npz(options)?, input, arguments),
        Format::Stack => {
            let stack = input.stack(options)?;
            // Check each part by itself, to find trailing bytes.
            (0..stack.lengths().len()).try_for_each(|number| {
                let part = stack.part(number)?;
                let path = part.path().unwrap_or(input.name()).to_owned();
                part.check_end()?;
                check(&Source::npy(part, &path), arguments)
            })
        }
        Format::Ra => match input.array(options) {
            Ok(file) => check(&Source::npy(file, input.name()), arguments),
            // Compressed data is decompressed completely.
            Err(_) => Ok(input.ra_reader(options)?.read::<DynArray>()?.check()?),
        },
        _ => {
            let mut arrays = Arrays::of(input, options);
            while let Some(array) = arrays.next() {
                let checked = check(&array?, arguments);
                arrays.located(checked)?;
            }
            arrays.check_end()
        }
    };
    checked.map(|()| Vec::new())
}

fn verify_npz(
    archive: &NpzFile,
    input: &Input,
    arguments: &Arguments,
) -> Result<Vec<(String, String)>, Failure> {
    let (mut all, mut others) = (Vec::new(), Vec::new());
    for (index, member) in archive.members().iter().enumerate() {
        // Also that the blocks of an index are what other programs read, and other remarks: `Remark::StaleIndex` and
        // `Remark::UnusableIndex` are of members with an index, and `Remark::SeveralFrames` of Zstandard.
        let is_special = member.index_state() != IndexState::Absent || member.method() == Method::Zstd;
        let is_array = archive.holds_array(index)?;
        if !is_array || is_special {
            let remarks = archive.verify_member(index)?;
            all.extend(remarks.into_iter().map(|remark| (member.file_name().to_owned(), remark.to_string())));
        }
        if !is_array {
            others.push(member.file_name());
            continue;
        }
        let source = Source::open_member(archive, index, input, true)?;
        match &source.array {
            // This reports what is wrong.
            SourceArray::File(file) if file.npy_header().is_some() && file.extent()? != Extent::Whole => {
                drop(archive.read::<DynArray>(index)?)
            }
            _ => check(&source, arguments)?,
        }
    }
    if others.is_empty() {
        return Ok(all);
    }
    // Members of other programs, such as PyTorch, may have objects too.
    let scanned = scan_bytes(input.bytes()?)?;
    let is_other = |member: &str| others.contains(&member);
    for pickle in scanned.pickles.iter().filter(|pickle| is_other(&pickle.member)) {
        let names = unknown_names(pickle, &arguments.allow);
        if !names.is_empty() {
            all.push((pickle.member.clone(), would_import(names)));
        }
    }
    Ok(all)
}

/// Checks the elements of a file of any size, block by block.
fn check(source: &Source, arguments: &Arguments) -> Result<(), Failure> {
    const BLOCK_BYTES: usize = 4 << 20;
    source.check_complete()?;
    if let SourceArray::Objects(array) = &source.array {
        check_globals(array, &arguments.allow)?;
    }
    // There may be any number of zero-sized elements, so do not iterate over them.
    let is_read = arguments.read || source.dtype().has_invalid_bytes();
    if !is_read || source.dtype().item_size() == 0 || matches!(source.array, SourceArray::Objects(_)) {
        return Ok(());
    }
    let all = source.byte_len();
    let mut progress = Progress::new();
    source.blocks().bytes(BLOCK_BYTES).par_map(
        |block| {
            let bytes = block.array().bytes().len() as u64;
            block.array().check().map(|()| bytes).map_err(|error| block.located(error))
        },
        |checked| {
            progress.add(checked?, all);
            Ok(())
        },
    )
}

/// Returns an error if loading the objects in Python would call more than the constructors of plain data.
fn check_globals(array: &DynArray, allowed: &[String]) -> Result<(), Failure> {
    let mut unknown = unknown_globals(array.globals().into_iter(), allowed);
    unknown.extend(array.extension_codes().into_iter().map(|code| format!("extension code {code}")));
    if unknown.is_empty() { Ok(()) } else { Err(would_import(unknown).into()) }
}

fn would_import(unknown: Vec<String>) -> String {
    const MAX_NAMES: usize = 5;
    let more = match unknown.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names = unknown.into_iter().take(MAX_NAMES).collect::<Vec<_>>().join(", ");
    format!(
        "loading its objects in Python would import, and might call, {names}{more}; --allow NAME accepts one"
    )
}
