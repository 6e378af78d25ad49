//! `ndio scan`: says what Python would do to load objects.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::bytes::InMemory;
use ndarray_io::error::{ErrorKind, Help};
use ndarray_io::object::{Call, Global, ObjectRef, Pickle, View};
use ndarray_io::{NpyFile, NpzFile, ReadOptions};
use serde_json::json;

use super::failure::{Failure, at_part, note, one_line};
use super::formats::Format;
use super::input::{Input, each_file, is_array_file};
use super::select::Arrays;
use super::source::{Source, Whole};

/// List what Python would import and call to load objects: in NPY, NPZ, pickles, joblib's and PyTorch's files
#[derive(Args)]
#[command(
    after_help = "Nothing in the files is imported or called. Exit code 1 means that loading does more than make plain data.

Examples:
  ndio scan model.pkl a.npz
  ndio scan --calls x.npy"
)]
pub(crate) struct Arguments {
    /// Accept this class or function, in addition to those that make plain data: 'fractions.Fraction'
    #[arg(long, value_name = "MODULE.NAME")]
    allow: Vec<String>,
    /// Print all calls in their order, not the number and the first of each function
    #[arg(long)]
    calls: bool,
    /// Print JSON, one line per pickle
    #[arg(long)]
    json: bool,
    /// Files, or folders, which are searched for arrays, pickles and archives
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut code = 0;
    each_file(&arguments.files, may_have_objects, |path| {
        let scanned = path.and_then(Input::open).and_then(|input| {
            let found = scan(&input, &arguments.allow);
            let found = found.map_err(|failure| input.at(failure))?;
            let name = input.name().to_string_lossy();
            if found.is_empty() && !arguments.json {
                writeln!(out, "{}: no objects", one_line(&name))?;
            }
            for one in &found {
                code = code.max(u8::from(!one.is_plain()));
                match arguments.json {
                    true => writeln!(out, "{}", one.json(&name))?,
                    false => one.print(&name, arguments.calls, out)?,
                }
            }
            Ok(())
        });
        if let Err(failure) = scanned {
            code = 2;
            out.flush()?;
            note(&failure);
        }
        Ok(())
    })?;
    Ok(code)
}

/// What Python would do to load one pickle, beyond making plain data.
#[derive(Default)]
struct Found {
    /// The member of an archive, or empty.
    part: String,
    imports: Vec<String>,
    /// The function and the whole call, shortened.
    calls: Vec<(String, String)>,
}

impl Found {
    fn of<'a>(
        part: &str,
        globals: impl Iterator<Item = Global<'a>>,
        calls: impl Iterator<Item = ObjectRef<'a>>,
        allowed: &[String],
    ) -> Self {
        let is_call = |object: ObjectRef<'a>| match object.view() {
            View::Call(call) => Some((object, call)),
            _ => None,
        };
        let is_known = |call: &Call<'a>| call.global().is_some_and(|global| is_accepted(global, allowed));
        let calls = calls.filter_map(is_call).filter(|(_, call)| !is_known(call));
        Self {
            part: part.to_owned(),
            imports: unknown(globals, allowed),
            calls: calls.map(|(object, call)| (name_of(call), shortened(object))).collect(),
        }
    }

    fn is_plain(&self) -> bool {
        self.imports.is_empty() && self.calls.is_empty()
    }

    fn print(&self, name: &str, all_calls: bool, out: &mut dyn Write) -> io::Result<()> {
        let part = if self.part.is_empty() { String::new() } else { format!(": {}", one_line(&self.part)) };
        let what = if self.is_plain() { "plain data" } else { "loading it in Python" };
        writeln!(out, "{}{part}: {what}", one_line(name))?;
        for import in &self.imports {
            writeln!(out, "  imports  {}", one_line(import))?;
        }
        if all_calls {
            return self
                .calls
                .iter()
                .try_for_each(|(_, call)| writeln!(out, "  calls    {}", one_line(call)));
        }
        // In the order of their first calls.
        let mut counts: Vec<(&str, usize, &str)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for (function, call) in &self.calls {
            let place = *places.entry(function).or_insert(counts.len());
            match counts.get_mut(place) {
                Some((_, count, _)) => *count += 1,
                None => counts.push((function, 1, call)),
            }
        }
        counts.into_iter().try_for_each(|(_, count, call)| {
            let times = if count == 1 { String::new() } else { format!(" and {} more", count - 1) };
            writeln!(out, "  calls    {}{times}", one_line(call))
        })
    }

    fn json(&self, name: &str) -> serde_json::Value {
        let call = |(function, call): &(String, String)| json!({"function": function, "call": call});
        let calls: Vec<_> = self.calls.iter().map(call).collect();
        let mut facts = json!({"file": name, "imports": self.imports, "calls": calls});
        if !self.part.is_empty() {
            facts["member"] = json!(self.part);
        }
        facts
    }
}

/// Scans every pickle in a file.
fn scan(input: &Input, allowed: &[String]) -> Result<Vec<Found>, Failure> {
    let options = crate::reading::options().allow_objects(true);
    match input.by_content() {
        Some(Format::Npz) => scan_members(&input.npz(&options)?, input, allowed),
        Some(Format::Npy) => {
            let mut found = Vec::new();
            for array in Arrays::of(input, &options) {
                let array = array?;
                if let Whole::Objects(array) = &array.array {
                    let globals = array.globals().into_iter();
                    found.push(Found::of("", globals, array.calls().into_iter(), allowed));
                }
            }
            Ok(found)
        }
        Some(_) => Ok(Vec::new()),
        None => {
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut input.file()?, &mut bytes)?;
            pickles("", &bytes, &options, allowed).map_err(|failure| {
                match NpyFile::from_source(InMemory(bytes)) {
                    // It is a file of another kind, which says more than that it is not a pickle.
                    Err(error) if matches!(error.help(), Some(Help::OtherFile(_))) => error.into(),
                    _ => failure,
                }
            })
        }
    }
}

/// Scans the members of an archive that are arrays or pickles, as those of PyTorch.
fn scan_members(archive: &NpzFile, input: &Input, allowed: &[String]) -> Result<Vec<Found>, Failure> {
    let options = crate::reading::options();
    let mut found = Vec::new();
    for (index, member) in archive.members().iter().enumerate() {
        let name = member.file_name();
        let mut scan = || -> Result<(), Failure> {
            if archive.holds_array(index)? {
                if archive.peek(index)?.header.dtype().has_object()
                    && let Whole::Objects(array) = &Source::member(archive, index, input.name(), true)?.array
                {
                    let globals = array.globals().into_iter();
                    found.push(Found::of(name, globals, array.calls().into_iter(), allowed));
                }
            } else if is_pickle(archive, index)? {
                found.extend(pickles(name, &archive.read_raw(index)?, &options, allowed)?);
            }
            Ok(())
        };
        scan().map_err(|failure| at_part(input.name(), name, failure))?;
    }
    Ok(found)
}

/// Whether a file in a folder may have objects, by its name or its first bytes.
fn may_have_objects(path: &Path) -> bool {
    let mut first = [0; 8];
    let read = || std::fs::File::open(path).and_then(|file| io::Read::read(&mut &file, &mut first));
    let begins = |first: &[u8]| begins_pickle(first) || Format::told_by(first).is_some();
    is_array_file(path) || is_named_pickle(&path.to_string_lossy()) || { read }()
        .is_ok_and(|count| begins(&first[..count]))
}

fn is_named_pickle(name: &str) -> bool {
    const EXTENSIONS: [&str; 8] = [".pkl", ".pickle", ".joblib", ".pt", ".pth", ".ckpt", ".sav", ".p"];
    EXTENSIONS.iter().any(|extension| name.to_ascii_lowercase().ends_with(extension))
}

/// Whether a member is a pickle by its name, or begins like one of protocol 2 or later.
fn is_pickle(archive: &NpzFile, index: usize) -> Result<bool, Failure> {
    let name = archive.members()[index].file_name();
    if is_named_pickle(name) {
        return Ok(true);
    }
    let mut first = First(Vec::new());
    match archive.copy_raw(index, &mut first) {
        Err(error) if first.0.is_empty() => Err(error.into()),
        _ => Ok(begins_pickle(&first.0)),
    }
}

fn begins_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, ..])
}

/// Takes the first bytes that are written to it, and refuses more.
struct First(Vec<u8>);

impl Write for First {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() >= 2 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Scans the pickles that follow one another, as in early files of PyTorch, or a file of joblib.
fn pickles(
    part: &str,
    bytes: &[u8],
    options: &ReadOptions,
    allowed: &[String],
) -> Result<Vec<Found>, Failure> {
    let found = |pickle: &Pickle| Found::of(part, pickle.globals(), pickle.calls(), allowed);
    let (mut all, mut rest) = (Vec::new(), bytes);
    while begins_pickle(rest) {
        match Pickle::read_with(&mut rest, options) {
            Ok(pickle) => all.push(found(&pickle)),
            // Arrays of joblib follow in the pickle.
            Err(error) if all.is_empty() && matches!(error.kind(), ErrorKind::Unsupported { .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if all.is_empty() {
        all.push(found(&Pickle::read_joblib(bytes, options)?));
    }
    Ok(all)
}

/// Returns the names of what does more than make plain data, unless it is accepted.
pub(crate) fn unknown<'a>(globals: impl Iterator<Item = Global<'a>>, allowed: &[String]) -> Vec<String> {
    globals.filter(|global| !is_accepted(*global, allowed)).map(full_name).collect()
}

fn is_accepted(global: Global<'_>, allowed: &[String]) -> bool {
    global.makes_plain_data() || allowed.contains(&full_name(global))
}

fn full_name(global: Global<'_>) -> String {
    format!("{}.{}", global.module(), global.name())
}

/// Returns the function of a call, which may be what another call returns.
fn name_of(call: Call<'_>) -> String {
    call.global().map_or_else(|| shortened(call.callable()), full_name)
}

/// Formats an object in at most about 200 characters.
fn shortened(object: ObjectRef<'_>) -> String {
    struct Start(String);
    impl fmt::Write for Start {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            const MOST: usize = 200;
            let left = MOST.saturating_sub(self.0.len());
            match text.char_indices().find(|(at, _)| *at >= left) {
                None => {
                    self.0.push_str(text);
                    Ok(())
                }
                Some((at, _)) => {
                    self.0.push_str(&text[..at]);
                    self.0.push('…');
                    Err(fmt::Error) // what follows is not formatted
                }
            }
        }
    }
    let mut start = Start(String::new());
    let _ = write!(start, "{object:?}");
    start.0
}
