//! `ndio verify`: checks files for damage.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::file::Extent;
use ndarray_io::npz::{IndexState, Method, Remark};
use ndarray_io::{DynArray, NpzFile, ReadOptions};

use super::failure::escaped;
use super::input::shown;
use super::open::{Format, array_files, format_of, npy, npz, ra, ra_file, remote, stack};
use super::progress::Progress;
use super::source::{Arrays, Source};
use super::{Failure, at, told};

/// Check files: structure, length, checksums, bools and text
#[derive(Args)]
#[command(after_help = "Example:\n  ndio verify x.npy a.npz")]
pub(crate) struct Arguments {
    /// Accept Python objects made by this class or function, in addition to those that make plain data:
    /// 'fractions.Fraction'
    #[arg(long, value_name = "MODULE.NAME")]
    allow: Vec<String>,
    /// Files, or folders, which are searched for array files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

impl Arguments {
    pub(crate) fn inputs(&mut self) -> Vec<&mut PathBuf> {
        self.files.iter_mut().collect()
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    // Objects are read as data: nothing is executed.
    let options = crate::reading::options().allow_objects(true);
    let mut code = 0;
    for path in &array_files(&arguments.files)? {
        match verify(path, &options, &arguments.allow) {
            Ok(remarks) => {
                writeln!(out, "{}: sound", shown(path))?;
                for (member, remark) in remarks {
                    writeln!(out, "  {}: {remark}", escaped(&member))?;
                }
            }
            Err(failure) => {
                // Exit code 1 means that damage was found. A file that cannot be read has not been checked.
                let is_failing = |error: &ndarray_io::Error| error.is_io() || error.is_conflict();
                let is_unread = match remote(path)? {
                    Some(_) => failure.downcast_ref::<ndarray_io::Error>().is_some_and(is_failing),
                    None => !path.is_dir() && File::open(path).is_err(),
                };
                code = code.max(if is_unread { 2 } else { 1 });
                writeln!(out, "{}", told(&at(path, failure)))?;
            }
        }
    }
    Ok(code)
}

/// Returns what is not damage, each remark with the name of its member.
fn verify(path: &Path, options: &ReadOptions, allowed: &[String]) -> Result<Vec<(String, Remark)>, Failure> {
    let checked = match format_of(path)? {
        Format::Npy if remote(path)?.is_some() => {
            check(&Source::Npy(npy(path, options)?), allowed) // a file with trailing data has been downloaded
        }
        Format::Npy => {
            let mut arrays = Arrays::of(path, options);
            while let Some(array) = arrays.next() {
                let checked = check(&array?, allowed);
                arrays.numbered(checked)?;
            }
            arrays.end()
        }
        Format::Stack => {
            let stack = stack(path, options)?;
            // Check each part by itself, to find trailing bytes.
            (0..stack.lengths().len()).try_for_each(|number| {
                let part = stack.part(number)?;
                match part.extent()? {
                    Extent::Whole => check(&Source::Npy(part), allowed),
                    _ => {
                        let path = path.join(format!("{number}.npy"));
                        Ok(ndarray_io::npy::read_npy_with::<_, DynArray>(path, options).map(drop)?) // reports the error
                    }
                }
            })
        }
        Format::Ra => match ra_file(path, options) {
            Ok(file) => check(&Source::Ra(file), allowed),
            Err(failure) if remote(path)?.is_some() => Err(failure),
            Err(_) => Ok(ra(path, options)?.read::<DynArray>()?.check()?), // compressed data is decompressed completely
        },
        Format::Npz => return verify_npz(&npz(path, options)?, allowed),
    };
    checked.map(|()| Vec::new())
}

fn verify_npz(archive: &NpzFile, allowed: &[String]) -> Result<Vec<(String, Remark)>, Failure> {
    let mut all = Vec::new();
    for (index, member) in archive.members().iter().enumerate() {
        // Also that the blocks of an index are what other programs read, and other remarks.
        let is_special = member.index_state() != IndexState::Absent || member.method() == Method::Zstd;
        let is_array = archive.holds_array(index)?;
        if !is_array || is_special {
            let remarks = archive.verify_member(index)?;
            all.extend(remarks.into_iter().map(|remark| (member.file_name().to_owned(), remark)));
        }
        if !is_array {
            continue;
        }
        match Source::whole_member(archive, index)? {
            Source::Npy(file) if file.extent()? == Extent::Whole => check(&Source::Npy(file), allowed)?,
            Source::Memory(array) => check(&Source::Memory(array), allowed)?,
            _ => drop(archive.read::<DynArray>(index)?), // reports what is wrong
        }
    }
    Ok(all)
}

/// Checks the elements of a file of any size, block by block.
fn check(source: &Source, allowed: &[String]) -> Result<(), Failure> {
    const BLOCK: usize = 4 << 20;
    if let Source::Memory(array) = source {
        check_globals(array, allowed)?;
    }
    match source {
        Source::Npy(file) => file.check_complete()?,
        Source::Ra(file) => file.check_complete()?,
        Source::Memory(_) => {}
    }
    // There may be any number of zero-sized elements, so do not iterate over them.
    if !source.dtype().has_invalid_bytes() || source.dtype().item_size() == 0 {
        return Ok(());
    }
    let all = source.byte_len();
    let mut progress = Progress::new();
    source.blocks().bytes(BLOCK).map(
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
    let names = array.globals().into_iter().map(|global| (global.module(), global.name()));
    let unknown: Vec<String> = names
        .filter(|(module, name)| !is_plain(module, name))
        .map(|(module, name)| format!("{module}.{name}"))
        .filter(|name| !allowed.contains(name))
        .collect();
    const MOST: usize = 5;
    match unknown.len() {
        0 => Ok(()),
        count => {
            let more = if count > MOST { format!(" and {} more", count - MOST) } else { String::new() };
            let names = unknown.into_iter().take(MOST).collect::<Vec<_>>().join(", ");
            Err(format!("loading its objects in Python would import, and might call, {names}{more}; --allow NAME accepts one").into())
        }
    }
}

/// Whether a class or function only makes plain data.
fn is_plain(module: &str, name: &str) -> bool {
    const BUILTINS: [&str; 12] = [
        "bool", "bytes", "complex", "dict", "float", "int", "list", "object", "range", "slice", "str",
        "tuple",
    ];
    const NUMPY: [&str; 12] = [
        "bool",
        "bool_",
        "bytes_",
        "clongdouble",
        "datetime64",
        "dtype",
        "longdouble",
        "ndarray",
        "object_",
        "str_",
        "timedelta64",
        "void",
    ];
    match module {
        "builtins" => BUILTINS.contains(&name),
        "collections" => name == "OrderedDict",
        "datetime" => name == "timezone",
        "numpy" => {
            let bare = name.trim_end_matches(|last: char| last.is_ascii_digit());
            NUMPY.contains(&name) || bare != name && ["int", "uint", "float", "complex"].contains(&bare)
        }
        "numpy.ma" | "numpy.ma.core" => ["MaskedArray", "_mareconstruct"].contains(&name),
        "zoneinfo" => name.starts_with("ZoneInfo"),
        _ => false,
    }
}
