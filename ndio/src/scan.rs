//! `ndio scan`: says what Python would do to load objects.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::error::{ErrorKind, FileKind, Help};
use ndarray_io::header::Shape;
use ndarray_io::object::{Global, ObjectRef, Pickle, View};
use ndarray_io::{NpyReader, NpzFile, ReadOptions};
use serde_json::json;

use super::failure::{Failure, at, at_part, escape_for_terminal, report};
use super::formats::Format;
use super::input::{Input, for_each_file, has_array_extension};

/// List what Python would import and call to load objects: in NPY, NPZ, pickles, joblib's and PyTorch's files
#[derive(Args)]
#[command(
    after_help = "Nothing in the files is imported or called. Exit code 1 means that there are other names than those of plain data. That
there are none does not make a file safe to load in Python: forged arguments of NumPy's own functions can do harm.

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
    /// Files, or folders, which are searched for arrays, pickles and archives, of any name. Of what is compressed, files named as pickles are
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut code = 0;
    for_each_file(&arguments.files, may_have_objects, |path| {
        let mut report_failure = |failure: Failure, out: &mut dyn Write| -> Result<(), Failure> {
            code = 2;
            out.flush()?;
            report(&failure);
            Ok(())
        };
        let is_named = path.as_ref().is_ok_and(|path| arguments.files.iter().any(|named| named == path));
        let input = match path.and_then(Input::open) {
            Ok(input) => input,
            Err(failure) => return report_failure(failure, out),
        };
        let mut scan = Scan {
            arguments,
            name: &input.name().to_string_lossy(),
            out,
            has_pickle: false,
            has_unknown_names: false,
            is_partial: false,
        };
        let scanned = match !is_named && is_compressed_without_pickle_name(&input) {
            true => scan.report_unexamined("", "name it, and it is scanned"),
            false => scan.scan_input(&input),
        };
        let has_nothing = !scan.has_pickle && !scan.is_partial;
        if scan.is_partial {
            code = 2;
        }
        let has_unknown_names = scan.has_unknown_names;
        if has_unknown_names {
            code = code.max(1);
        }
        match scanned {
            Err(failure) => {
                code = 2;
                out.flush()?;
                report(&input.at(failure));
            }
            Ok(()) if has_nothing && !arguments.json => {
                writeln!(out, "{}: no objects", escape_for_terminal(&input.name().to_string_lossy()))?;
            }
            Ok(()) => {}
        }
        Ok(())
    })?;
    Ok(code)
}

/// So much of a pickle is looked at that cannot be read as a whole.
const MAX_DAMAGED_LEN: u64 = 64 << 20;

/// The scan of one file.
struct Scan<'a> {
    arguments: &'a Arguments,
    name: &'a str,
    out: &'a mut dyn Write,
    /// Whether a pickle has been found.
    has_pickle: bool,
    /// Whether one has other names than those of plain data.
    has_unknown_names: bool,
    /// Whether something has not been looked at.
    is_partial: bool,
}

impl Scan<'_> {
    fn scan_input(&mut self, input: &Input) -> Result<(), Failure> {
        match input.detected_format() {
            Some(Format::Npz) => self.scan_members(&input.npz(&options_with_objects())?, input),
            Some(Format::Stack) => self.scan_stack(input),
            Some(Format::Ra) => Ok(()),
            _ => self.scan_file(&mut input.file()?, input.name()),
        }
    }

    /// Scans a stack: its `info` is a pickle, which Dask loads, and its parts may have objects.
    fn scan_stack(&mut self, input: &Input) -> Result<(), Failure> {
        let mut paths: Vec<PathBuf> = match std::fs::read_dir(input.name()) {
            Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?,
            Err(_) => return Err("only the folder of a stack is scanned, not a stack in a store".into()),
        };
        paths.sort();
        let mut first_failure = None;
        for path in
            paths.iter().filter(|path| path.is_file() && (path.ends_with("info") || may_have_objects(path)))
        {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let opened = File::open(path).map_err(Failure::from);
            if let Err(failure) = opened.and_then(|mut file| self.scan_part(&name, &mut file)) {
                first_failure.get_or_insert(at(path, failure));
            }
        }
        first_failure.map_or(Ok(()), Err)
    }

    fn scan_file(&mut self, file: &mut File, path: &Path) -> Result<(), Failure> {
        self.scan_part("", file).map_err(|failure| at(path, failure))
    }

    /// Scans the arrays and pickles that follow one another in a file; other bytes may follow them.
    fn scan_part(&mut self, part: &str, file: &mut File) -> Result<(), Failure> {
        // At the beginning of the file, or after the header of an array of objects, there has to be something.
        let mut is_expected = true;
        loop {
            let start = file.stream_position()?;
            let first = peek_bytes(file)?;
            if first.starts_with(b"\x93NUMPY") {
                is_expected = self.skip_array(part, file, start)?;
                continue;
            }
            if !may_be_pickle(&first) {
                match first.first() {
                    // Some writers put a line break after a pickle.
                    Some(byte) if start > 0 && byte.is_ascii_whitespace() => {
                        file.seek(SeekFrom::Start(start + 1))?;
                        continue;
                    }
                    _ if is_expected => {
                        let unknown = || "it is neither an array nor a pickle".into();
                        return Err(other_file_kind_failure(file).unwrap_or_else(unknown));
                    }
                    _ => return Ok(()),
                }
            }
            let read = match start == 0 && may_be_compressed(&first) {
                true => Pickle::read_joblib(&*file, &options_with_objects()),
                false => Pickle::read_with(&*file, &options_with_objects()),
            };
            match read {
                Ok(pickle) => self.print_pickle(part, &pickle)?,
                // Only joblib skips the bytes of arrays: any other loader executes them.
                Err(error) if start == 0 && matches!(error.kind(), ErrorKind::Unsupported { .. }) => {
                    file.rewind()?;
                    return match Pickle::read_joblib(&*file, &options_with_objects()) {
                        Ok(pickle) => self.print_pickle(part, &pickle),
                        Err(error) => {
                            file.rewind()?;
                            self.print_damaged_pickle(part, file)?;
                            Err(error.into())
                        }
                    };
                }
                Err(error) => {
                    file.seek(SeekFrom::Start(start))?;
                    self.print_damaged_pickle(part, file)?;
                    file.seek(SeekFrom::Start(start))?;
                    // What else it is says more, if that is known.
                    return match other_file_kind_failure(file) {
                        _ if !is_expected => Ok(()),
                        Some(other) if start == 0 && !first.starts_with(&[0x80]) => Err(other),
                        _ => Err(error.into()),
                    };
                }
            }
            is_expected = false;
        }
    }

    /// Skips the header of an array, and its elements if they are not objects; returns whether a pickle has to follow.
    fn skip_array(&mut self, part: &str, file: &mut File, start: u64) -> Result<bool, Failure> {
        let array = match NpyReader::new_with(&*file, &options_with_objects()) {
            Ok(array) => array,
            // NumPy may read it all the same, and what follows as a pickle.
            Err(error) => {
                let mut line = Vec::new();
                file.seek(SeekFrom::Start(start))?;
                (&*file).take(1 << 16).read_to_end(&mut line)?;
                let end = line.iter().position(|byte| *byte == b'\n').map_or(line.len(), |end| end + 1);
                file.seek(SeekFrom::Start(start + end as u64))?;
                self.print_damaged_pickle(part, file)?;
                return Err(error.into());
            }
        };
        let (data, has_objects) = (array.data_offset(), array.dtype().has_object());
        let bytes = Shape::from(array.shape()).byte_len(array.dtype().item_size());
        file.seek(SeekFrom::Start(start + data + bytes.filter(|_| !has_objects).unwrap_or(0)))?;
        Ok(has_objects)
    }

    /// Scans the members of an archive that are arrays or pickles, as those of PyTorch.
    fn scan_members(&mut self, archive: &NpzFile, input: &Input) -> Result<(), Failure> {
        let mut first_failure = None;
        for (index, member) in archive.members().iter().enumerate() {
            let name = member.file_name();
            let mut scan = || -> Result<(), Failure> {
                let has_objects = archive.holds_array(index)?
                    && archive.peek(index).map_or(true, |found| found.header.dtype().has_object());
                let first = if has_objects { Vec::new() } else { first_bytes_of_member(archive, index)? };
                let is_known = has_objects || has_pickle_extension(name) || begins_with_protocol(&first);
                if !is_known && is_compressed(&first) {
                    return self.report_unexamined(name, "unpack it, and scan it by itself");
                }
                if !is_known && !may_be_pickle(&first) {
                    return Ok(());
                }
                let mut file = super::input::temporary_file()?;
                archive.copy_raw(index, &mut file)?;
                file.rewind()?;
                if !is_known && !is_old_pickle_with_names(&mut file) {
                    return Ok(());
                }
                file.rewind()?;
                self.scan_part(name, &mut file)
            };
            // One damaged member does not hide what others do.
            if let Err(failure) = scan() {
                first_failure.get_or_insert(at_part(input.name(), name, failure));
            }
        }
        first_failure.map_or(Ok(()), Err)
    }

    /// Says that what is compressed has not been decompressed to see whether it is a pickle.
    fn report_unexamined(&mut self, part: &str, remedy: &str) -> Result<(), Failure> {
        self.is_partial = true;
        if self.arguments.json {
            let line = json!({"file": self.name, "member": part, "error": "compressed, and not looked at"});
            return Ok(writeln!(self.out, "{line}")?);
        }
        self.out.flush()?;
        let part = if part.is_empty() { String::new() } else { format!(" {part}:") };
        report(&format!("{}:{part} it is compressed, and not looked at: {remedy}", self.name).into());
        Ok(())
    }

    /// Prints what Python would do to load a pickle.
    fn print_pickle(&mut self, part: &str, pickle: &Pickle) -> Result<(), Failure> {
        let is_accepted = |global: Global<'_>| is_accepted(global, &self.arguments.allow);
        let mut seen = HashSet::new();
        let globals = pickle.globals().filter(|global| !is_accepted(*global) && seen.insert(*global));
        let mut imports: Vec<String> = globals.map(dotted_name).collect();
        let codes: HashSet<u32> = pickle.extension_codes().collect();
        imports.extend(codes.into_iter().map(|code| format!("extension code {code}")));
        let unknown = pickle.calls().filter(|object| match object.view() {
            View::Call(call) => call.global().is_none_or(|global| !is_accepted(global)),
            _ => false,
        });
        // In the order of their first calls; only what is printed is formatted.
        let is_all = self.arguments.calls || self.arguments.json;
        let (mut calls, mut places) = (Vec::new(), HashMap::new());
        for object in unknown {
            let View::Call(call) = object.view() else { continue };
            let function = preview(call.callable());
            let place = *places.entry(function.clone()).or_insert(calls.len());
            match calls.get_mut(place) {
                Some((_, count, _)) if !is_all => *count += 1,
                _ => calls.push((function, 1_usize, preview(object))),
            }
        }
        self.report_findings(part, &imports, &calls)
    }

    /// Prints the names in a damaged pickle, if there are any: Python finds the damage after it has executed what comes before.
    fn print_damaged_pickle(&mut self, part: &str, file: &File) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        file.take(MAX_DAMAGED_LEN).read_to_end(&mut bytes)?;
        let names = Pickle::globals_until_damage(&bytes, &options_with_objects());
        let names: Vec<String> =
            names.into_iter().map(|(module, name)| shortened(&format!("{module}.{name}"))).collect();
        if names.is_empty() { Ok(()) } else { self.report_findings(part, &names, &[]) }
    }

    fn report_findings(
        &mut self,
        part: &str,
        imports: &[String],
        calls: &[(String, usize, String)],
    ) -> Result<(), Failure> {
        let is_plain = imports.is_empty() && calls.is_empty();
        self.has_pickle = true;
        self.has_unknown_names |= !is_plain;
        let out = &mut *self.out;
        if self.arguments.json {
            write!(
                out,
                "{{\"file\":{},\"member\":{},\"imports\":{},\"calls\":[",
                json!(self.name),
                json!(part),
                json!(imports)
            )?;
            for (number, (function, _, call)) in calls.iter().enumerate() {
                write!(
                    out,
                    "{}{}",
                    if number > 0 { "," } else { "" },
                    json!({"function": function, "call": call})
                )?;
            }
            return Ok(writeln!(out, "]}}")?);
        }
        let part = if part.is_empty() { String::new() } else { format!(": {}", escape_for_terminal(part)) };
        let what = if is_plain { "only names of plain data" } else { "loading it in Python" };
        writeln!(out, "{}{part}: {what}", escape_for_terminal(self.name))?;
        for import in imports {
            writeln!(out, "  imports  {}", escape_for_terminal(import))?;
        }
        for (_, count, call) in calls {
            let times = if *count == 1 { String::new() } else { format!(" and {} more", count - 1) };
            writeln!(out, "  calls    {}{times}", escape_for_terminal(call))?;
        }
        Ok(())
    }
}

fn options_with_objects() -> ReadOptions {
    crate::reading::options().allow_objects(true)
}

/// Returns the next few bytes of a file, whose position stays.
fn peek_bytes(file: &mut File) -> Result<Vec<u8>, Failure> {
    let start = file.stream_position()?;
    let mut first = Vec::new();
    (&*file).take(16).read_to_end(&mut first)?;
    file.seek(SeekFrom::Start(start))?;
    Ok(first)
}

/// Whether bytes may begin a pickle, or a file of joblib that is compressed as a whole.
fn may_be_pickle(first: &[u8]) -> bool {
    const FIRST_OPCODES: &[u8] =
        b"(])}NIJKMLFGSTUVXCBcp0P\x82\x83\x84\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x95\x96\x97";
    match first {
        [0x80, protocol, ..] => *protocol <= 5,
        [opcode, ..] => FIRST_OPCODES.contains(opcode) || may_be_compressed(first),
        [] => false,
    }
}

/// Whether a file begins like one that joblib has compressed.
fn may_be_compressed(first: &[u8]) -> bool {
    // The first four are of zlib.
    const COMPRESSION_MAGICS: [&[u8]; 9] = [
        b"\x78\x01",
        b"\x78\x5e",
        b"\x78\x9c",
        b"\x78\xda",
        b"\x1f\x8b",
        b"BZh",
        b"\xfd7zXZ",
        b"\x5d\0",
        b"\x04\x22\x4d\x18",
    ];
    COMPRESSION_MAGICS.iter().any(|packed| first.starts_with(packed))
}

/// Whether bytes begin like something compressed, also in a way that joblib does not read.
fn is_compressed(first: &[u8]) -> bool {
    may_be_compressed(first) || first.starts_with(b"\x28\xb5\x2f\xfd")
}

/// Returns the error for a file of another kind, if its first bytes say which.
fn other_file_kind_failure(file: &mut File) -> Option<Failure> {
    let error = NpyReader::new(&*file).err()?;
    match error.help() {
        Some(Help::OtherFile(FileKind::Safetensors)) => Some("a safetensors file has no objects".into()),
        Some(Help::OtherFile(FileKind::Pickle)) | None => None,
        Some(_) => Some(error.into()),
    }
}

/// Whether a file in a folder may have objects, by its name or its content.
fn may_have_objects(path: &Path) -> bool {
    let begins = || {
        // What cannot be read is an error of the scan.
        let Ok(mut file) = File::open(path) else { return true };
        let Ok(first) = peek_bytes(&mut file) else { return true };
        begins_with_protocol(&first)
            || Format::detect(&first).is_some()
            || is_compressed(&first)
            || may_be_pickle(&first) && is_old_pickle_with_names(&mut file)
    };
    has_array_extension(path) || has_pickle_extension(&path.to_string_lossy()) || begins()
}

/// Whether a file is compressed, and its name does not say that it is a pickle.
fn is_compressed_without_pickle_name(input: &Input) -> bool {
    is_compressed(input.first_bytes()) && !has_pickle_extension(&input.name().to_string_lossy())
}

/// Whether bytes are a pickle of protocol 0 or 1, which begins as a text may do, that names classes or functions.
fn is_old_pickle_with_names(file: &mut File) -> bool {
    let is_name = |name: &str| {
        name.split('.').all(|part| {
            !part.starts_with(|char: char| char.is_ascii_digit())
                && !part.is_empty()
                && part.chars().all(|char| char.is_alphanumeric() || char == '_')
        })
    };
    // After a name at the beginning, a pickle goes on with an opcode, and a list of words with a word.
    let goes_on = |bytes: &[u8]| {
        bytes.strip_prefix(b"c").is_none_or(|rest| {
            let next = rest.splitn(3, |byte| *byte == b'\n').nth(2).and_then(|rest| rest.first());
            next.is_some_and(|next| b"(])}NIJKMLFGSTUVXCBcp0PqrRt.\x81".contains(next))
        })
    };
    let mut bytes = Vec::new();
    // Most pickles have a name near their beginning.
    for most in [1 << 16, 1 << 20, MAX_DAMAGED_LEN] {
        let Ok(came) = file.take(most - bytes.len() as u64).read_to_end(&mut bytes) else { return false };
        let names = Pickle::globals_until_damage(&bytes, &options_with_objects());
        if goes_on(&bytes) && names.iter().any(|(module, name)| is_name(module) && is_name(name)) {
            return true;
        }
        if came == 0 {
            break;
        }
    }
    false
}

fn has_pickle_extension(name: &str) -> bool {
    const PICKLE_EXTENSIONS: [&str; 8] = [".pkl", ".pickle", ".joblib", ".pt", ".pth", ".ckpt", ".sav", ".p"];
    const COMPRESSED_EXTENSIONS: [&str; 8] = [".zst", ".gz", ".bz2", ".xz", ".lzma", ".z", ".zlib", ".lz4"];
    let name = name.to_ascii_lowercase();
    let inner = COMPRESSED_EXTENSIONS.iter().find_map(|extension| name.strip_suffix(extension));
    let name = inner.unwrap_or(&name);
    PICKLE_EXTENSIONS.iter().any(|extension| name.ends_with(extension))
}

/// Whether bytes begin like a pickle that says its protocol.
fn begins_with_protocol(first: &[u8]) -> bool {
    first.starts_with(&[0x80]) && may_be_pickle(first)
}

/// Returns the first few bytes of a member.
fn first_bytes_of_member(archive: &NpzFile, index: usize) -> Result<Vec<u8>, Failure> {
    let mut first = PrefixWriter(Vec::new());
    match archive.copy_raw(index, &mut first) {
        Err(error) if first.0.is_empty() => Err(error.into()),
        _ => Ok(first.0),
    }
}

/// Takes the first bytes that are written to it, and refuses more.
struct PrefixWriter(Vec<u8>);

impl Write for PrefixWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() >= 16 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = &bytes[..bytes.len().min(16)];
        self.0.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the names that plain data do not have, unless they are accepted.
pub(crate) fn unknown_names<'a>(
    globals: impl Iterator<Item = Global<'a>>,
    allowed: &[String],
) -> Vec<String> {
    globals.filter(|global| !is_accepted(*global, allowed)).map(dotted_name).collect()
}

fn is_accepted(global: Global<'_>, allowed: &[String]) -> bool {
    let is_it = |name: &String| {
        name.strip_prefix(global.module()).and_then(|rest| rest.strip_prefix('.')) == Some(global.name())
    };
    global.is_usual_in_data() || allowed.iter().any(is_it)
}

fn dotted_name(global: Global<'_>) -> String {
    format!("{}.{}", shortened(global.module()), shortened(global.name()))
}

/// Returns the beginning of a text.
fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 200;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Formats an object as Python shows it, but only the beginning of what is long, in time that does not depend on its length.
fn preview(object: ObjectRef<'_>) -> String {
    let mut text = String::new();
    put_preview(object, &mut text, 3);
    shortened(&text)
}

/// Appends the preview of an object, with the parts of parts to a depth.
fn put_preview(object: ObjectRef<'_>, text: &mut String, depth: usize) {
    const MAX_ITEMS: usize = 8;
    let has_parts = object.items().is_some() || matches!(object.view(), View::Dict(_) | View::Call(_));
    if depth == 0 && has_parts {
        return text.push('…');
    }
    let list = |text: &mut String, ends: [&str; 2], items: ndarray_io::object::Items<'_>| {
        text.push_str(ends[0]);
        for (number, item) in items.iter().take(MAX_ITEMS).enumerate() {
            text.push_str(if number > 0 { ", " } else { "" });
            put_preview(item, text, depth - 1);
        }
        text.push_str(if items.len() > MAX_ITEMS { ", …" } else { "" });
        text.push_str(ends[1]);
    };
    match object.view() {
        View::Str(string) => match string.as_str() {
            Some(string) => text.push_str(&format!("'{}'", shortened(string).escape_debug())),
            None => text.push_str("'…'"),
        },
        View::Bytes(bytes) | View::ByteArray(bytes) => {
            text.push_str(&format!("b'{}'", bytes[..bytes.len().min(100)].escape_ascii()));
        }
        View::List(items) => list(text, ["[", "]"], items),
        View::Tuple(items) if items.len() == 1 => list(text, ["(", ",)"], items),
        View::Tuple(items) => list(text, ["(", ")"], items),
        View::Set(items) | View::FrozenSet(items) => list(text, ["{", "}"], items),
        View::Dict(dict) => {
            text.push('{');
            for (number, (key, value)) in dict.iter().take(MAX_ITEMS).enumerate() {
                text.push_str(if number > 0 { ", " } else { "" });
                put_preview(key, text, depth - 1);
                text.push_str(": ");
                put_preview(value, text, depth - 1);
            }
            text.push_str(if dict.len() > MAX_ITEMS { ", …}" } else { "}" });
        }
        View::Global(global) => text.push_str(&dotted_name(global)),
        View::Call(call) => {
            put_preview(call.callable(), text, depth - 1);
            match call.args().items() {
                Some(items) => list(text, ["(", ")"], items),
                None => text.push_str("(…)"),
            }
            for (what, part) in [(" by name ", call.kwargs()), (" with state ", call.state())] {
                if let Some(part) = part {
                    text.push_str(what);
                    put_preview(part, text, depth - 1);
                }
            }
        }
        View::Persistent(id) => {
            text.push_str("<persistent ");
            put_preview(id, text, depth.saturating_sub(1));
            text.push('>');
        }
        View::Int(number) => match i128::try_from(&number) {
            Ok(number) => text.push_str(&number.to_string()),
            Err(_) => text.push_str("<a large int>"),
        },
        View::Array(_) => text.push_str("<an array>"),
        View::Scalar(_) => text.push_str("<a NumPy scalar>"),
        View::Decimal(digits) => text.push_str(&format!("Decimal('{}')", shortened(digits))),
        // These are of limited length.
        _ => text.push_str(&object.to_string()),
    }
}
