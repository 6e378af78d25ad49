//! `ndio scan`: says what Python would do to load objects.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use ndarray_io::bytes::ReadAt;
use ndarray_io::object::Global;
use ndarray_io::scan::{Scan, ScannedPickle, scan};
use ndarray_io_formats::scan::KnownFormats;
use serde_json::json;

use super::failure::{Failure, at, escape_for_terminal, failure_json, report};
use super::formats::Format;
use super::input::{Input, for_each_file, has_array_extension};

/// List what Python would import and call to load objects
///
/// Of NPY files, archives, pickles, and files of joblib and PyTorch.
#[derive(Args)]
#[command(
    after_help = "Nothing in the files is imported or called. Exit code 1 means that there are other names than those of plain data; exit code 2
that something was not looked at, which may have any. That there are none does not make a file safe to load in Python: forged
arguments of NumPy's own functions can do harm.

Examples:
  ndio scan model.pkl a.npz
  ndio scan --calls x.npy"
)]
pub(crate) struct Arguments {
    /// Accept this class or function, in addition to those of plain data: 'fractions.Fraction'
    #[arg(long, value_name = "MODULE.NAME")]
    allow: Vec<String>,
    /// Print all calls in their order, not the number and the first of each function
    #[arg(long)]
    calls: bool,
    /// Print JSON, one line per pickle
    #[arg(long)]
    json: bool,
    /// Files, or folders, which are searched for arrays, pickles and archives, of any name
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let (mut code, mut is_any) = (0, false);
    for_each_file(
        &arguments.files,
        |_| true,
        |path| {
            let is_named = path.as_ref().is_ok_and(|path| arguments.files.iter().any(|named| named == path));
            let scanned = path.and_then(|path| {
                let input = Input::open_packed(path)?;
                let scanned = scan_input(&input)?;
                Ok((input.name().to_owned(), scanned))
            });
            let (name, scanned) = match scanned {
                Ok(scanned) => scanned,
                Err(failure) => {
                    (code, is_any) = (2, true);
                    out.flush()?;
                    report(&failure);
                    return Ok(());
                }
            };
            // Folders have files of all kinds.
            if !is_named
                && scanned.is_other_kind
                && !has_array_extension(&name)
                && !has_pickle_extension(&name)
            {
                return Ok(());
            }
            is_any = true;
            code = code.max(print_scan(arguments, &name, scanned, out)?);
            Ok(())
        },
    )?;
    if !is_any {
        return Err("none of the files is an array, a pickle or an archive".into());
    }
    Ok(code)
}

fn scan_input(input: &Input) -> Result<Scan, Failure> {
    match input.detected_format() {
        Some(Format::Stack) => scan_stack(input),
        _ => scan_bytes(input.bytes()?).map_err(|failure| input.at(failure)),
    }
}

/// Scans the bytes of a file, with all kinds of files that the program knows.
pub(crate) fn scan_bytes(bytes: Arc<dyn ReadAt>) -> Result<Scan, Failure> {
    Ok(scan(bytes, &crate::reading::options(), &[&KnownFormats])?)
}

/// Scans a stack: its `info` is a pickle, which Dask loads, and its parts may have objects.
fn scan_stack(input: &Input) -> Result<Scan, Failure> {
    let mut paths: Vec<PathBuf> = match fs::read_dir(input.name()) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?,
        Err(_) => return Err("only the folder of a stack is scanned, not a stack in a store".into()),
    };
    paths.sort();
    let mut all = Scan::default();
    for path in paths.iter().filter(|path| path.is_file()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let scanned = scan_bytes(Input::open_packed(path)?.bytes()?).map_err(|failure| at(path, failure))?;
        if !scanned.is_other_kind {
            all.append(&name, scanned);
        }
    }
    Ok(all)
}

/// Prints what was found in a file, and returns the exit code.
fn print_scan(arguments: &Arguments, path: &Path, scanned: Scan, out: &mut dyn Write) -> Result<u8, Failure> {
    let name = path.to_string_lossy();
    let mut code = 0;
    let is_clean = scanned.pickles.is_empty() && scanned.is_complete();
    for pickle in &scanned.pickles {
        code = code.max(u8::from(print_pickle(arguments, &name, pickle, out)?));
    }
    for unseen in scanned.unseen {
        code = 2;
        let failure = at(path, unseen.reason.into());
        if arguments.json {
            let mut error = failure_json(&failure);
            error["member"] = unseen.member.into();
            error["offset"] = unseen.offset.into();
            let line = json!({"error": error});
            writeln!(out, "{line}")?;
            continue;
        }
        out.flush()?;
        report(&failure);
    }
    if is_clean && !arguments.json {
        writeln!(out, "{}: no objects", escape_for_terminal(&name))?;
    }
    Ok(code)
}

/// Prints what Python would do to load a pickle; returns whether there are other names than those of plain data.
fn print_pickle(
    arguments: &Arguments,
    file: &str,
    pickle: &ScannedPickle,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let imports = unknown_names(pickle, &arguments.allow);
    let is_unknown = |function: &String| !arguments.allow.contains(function);
    let calls: Vec<_> = pickle.calls.iter().filter(|call| is_unknown(&call.function)).collect();
    let is_plain = imports.is_empty() && calls.is_empty();
    if arguments.json {
        let calls: Vec<_> =
            calls.iter().map(|call| json!({"function": call.function, "call": call.text})).collect();
        let line = json!({"file": file, "member": pickle.member, "imports": imports, "calls": calls});
        writeln!(out, "{line}")?;
        return Ok(!is_plain);
    }
    let member = match &*pickle.member {
        "" => String::new(),
        member => format!(": {}", escape_for_terminal(member)),
    };
    let what = if is_plain { "only names of plain data" } else { "loading it in Python" };
    let count = if pickle.count == 1 { String::new() } else { format!(" ({} pickles)", pickle.count) };
    writeln!(out, "{}{member}: {what}{count}", escape_for_terminal(file))?;
    for import in &imports {
        writeln!(out, "  imports  {}", escape_for_terminal(import))?;
    }
    // In the order of their first calls.
    let (mut shown, mut places) = (Vec::new(), HashMap::new());
    for call in calls {
        let place = *places.entry(&call.function).or_insert(shown.len());
        match shown.get_mut(place) {
            Some((_, count)) if !arguments.calls => *count += 1,
            _ => shown.push((&call.text, 1_usize)),
        }
    }
    for (call, count) in shown {
        let times = if count == 1 { String::new() } else { format!(" and {} more", count - 1) };
        writeln!(out, "  calls    {}{times}", escape_for_terminal(call))?;
    }
    Ok(!is_plain)
}

/// Returns what a pickle looks up that plain data do not have, unless it is accepted.
pub(crate) fn unknown_names(pickle: &ScannedPickle, allowed: &[String]) -> Vec<String> {
    let names = pickle.names.iter().filter(|name| !name.is_usual && !allowed.contains(&name.name));
    let codes = pickle.extension_codes.iter().map(|code| format!("extension code {code}"));
    names.map(|name| name.name.clone()).chain(codes).collect()
}

/// Returns the names of what plain data do not have, unless they are accepted.
pub(crate) fn unknown_globals<'a>(
    globals: impl Iterator<Item = Global<'a>>,
    allowed: &[String],
) -> Vec<String> {
    let names = globals.filter(|global| !global.is_usual_in_data());
    let dotted = names.map(|global| format!("{}.{}", global.module(), global.name()));
    dotted.filter(|name| !allowed.contains(name)).collect()
}

/// Whether a file in a folder is a pickle by its name.
fn has_pickle_extension(path: &Path) -> bool {
    const PICKLE_EXTENSIONS: [&str; 8] = [".pkl", ".pickle", ".joblib", ".pt", ".pth", ".ckpt", ".sav", ".p"];
    let name = path.to_string_lossy().to_ascii_lowercase();
    PICKLE_EXTENSIONS.iter().any(|extension| name.ends_with(extension))
}
