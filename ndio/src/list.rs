//! `ndio ls`: many files at a glance; the tree of an archive; the objects of a store.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use clap::{Args, ValueEnum};
use ndarray_io::blocks::map_in_order;
use ndarray_io::header::Shape;
use ndarray_io::{DType, Error, NpzFile, ReadOptions};
use serde_json::{Map, Value, json};

use super::cells::dtype_text as full_dtype_text;
use super::failure::{Failure, at, escape_for_terminal, is_broken_pipe, one_line_message, report};
use super::formats::Format;
use super::input::{Input, for_each_file};
use super::other_formats::{is_safetensors, open_safetensors};
use super::remote::is_url;

/// List files: dtype, shape and size of each, and which differ from the others
///
/// Of an archive, its arrays; of a store (s3://bucket), its objects.
#[derive(Args)]
#[command(after_help = "Examples:\n  ndio ls .\n  ndio ls x.npy a.npz --sort size\n  ndio ls a.npz")]
pub(crate) struct Arguments {
    /// Exact sizes in bytes
    #[arg(long)]
    bytes: bool,
    /// The order; default: as the names are found
    #[arg(long, value_enum)]
    sort: Option<SortKey>,
    /// The arrays of each archive, too
    #[arg(long)]
    long: bool,
    /// Print JSON, one line per file
    #[arg(long)]
    json: bool,
    /// Of a store, only objects whose name after the bucket matches this pattern: * and ? match no slash, ** matches any
    #[arg(long, value_name = "PATTERN")]
    matching: Option<String>,
    /// Files, folders, archives, or what the URLs of objects begin with; default: the current folder
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SortKey {
    Name,
    Size,
    /// When it was changed last
    Mtime,
    Shape,
}

/// What is known of a file.
struct Entry {
    name: String,
    dtype: String,
    shape: Option<Vec<usize>>,
    /// What it is, if it is not one array.
    note: String,
    size: u64,
    changed: u64,
    is_truncated: bool,
    /// The arrays in it: name, dtype and shape.
    members: Vec<(String, String, String)>,
}

/// What a file turned out to be.
enum Kind {
    Arrays(Entry),
    /// Another file that is listed: its name, what it is, and its size.
    Known(Entry),
    Other,
    Failed(Failure),
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    if arguments.files.iter().any(|path| is_url(path)) {
        return list_objects(arguments, out);
    }
    if arguments.matching.is_some() {
        return Err("--matching is for objects in stores".into());
    }
    let current = [PathBuf::from(".")];
    let files = if arguments.files.is_empty() { &current[..] } else { &arguments.files };
    let (mut paths, mut code) = (Vec::new(), 0);
    for_each_file(
        files,
        |_| true,
        |path| {
            match path {
                Ok(path) => paths.push(path.to_owned()),
                Err(failure) => {
                    report(&failure);
                    code = 2;
                }
            }
            Ok(())
        },
    )?;
    let is_one_archive = paths.len() == 1 && arguments.files.len() == 1;
    let shows_members = arguments.long || is_one_archive;
    let (mut entries, mut others, mut arrays, mut truncated) = (Vec::new(), 0, 0, 0);
    let look = |path: PathBuf| look_at(&path, shows_members);
    map_in_order(paths.into_iter(), ReadOptions::new().get_threads().max(4), look, |kind| {
        match kind {
            Kind::Arrays(entry) => {
                arrays += 1;
                truncated += usize::from(entry.is_truncated);
                entries.push(entry);
            }
            Kind::Known(entry) => {
                others += 1;
                entries.push(entry);
            }
            Kind::Other => others += 1,
            Kind::Failed(failure) if is_broken_pipe(&*failure) => {}
            Kind::Failed(failure) => {
                code = 2;
                report(&failure);
            }
        }
        Ok::<(), Error>(())
    })?;
    match arguments.sort {
        Some(SortKey::Name) => entries.sort_by(|one, two| one.name.cmp(&two.name)),
        Some(SortKey::Size) => entries.sort_by_key(|entry| std::cmp::Reverse(entry.size)),
        Some(SortKey::Mtime) => entries.sort_by_key(|entry| std::cmp::Reverse(entry.changed)),
        Some(SortKey::Shape) => entries.sort_by(|one, two| one.shape.cmp(&two.shape)),
        None => {}
    }
    let code = if truncated > 0 { code.max(1) } else { code };
    if arguments.json {
        print_json(&entries, out)?;
        return Ok(code);
    }
    print_entries(&entries, arguments.bytes, out)?;
    if entries.len() + others != 1 || arrays != 1 {
        let count = |count: usize, one: &str, more: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {more}")),
        };
        let parts = [
            count(arrays, "file of arrays", "files of arrays"),
            count(others, "other file", "other files"),
            count(truncated, "truncated", "truncated"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            writeln!(out, "{}", parts.join(", "))?;
        }
    }
    Ok(code)
}

/// Looks at a file: at its header alone.
fn look_at(path: &Path, shows_members: bool) -> Kind {
    let metadata = fs::metadata(path);
    let size = metadata.as_ref().map_or(0, fs::Metadata::len);
    let changed = metadata
        .ok()
        .and_then(|metadata| metadata.modified().ok())
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let name = path.display().to_string();
    let entry = Entry {
        name: name.strip_prefix("./").unwrap_or(&name).to_owned(),
        dtype: String::new(),
        shape: None,
        note: String::new(),
        size,
        changed: changed.map_or(0, |time| time.as_secs()),
        is_truncated: false,
        members: Vec::new(),
    };
    let described = Input::open_packed(path).and_then(|input| describe(&input, entry, shows_members));
    described.unwrap_or_else(|failure| Kind::Failed(at(path, failure)))
}

fn describe(input: &Input, mut entry: Entry, shows_members: bool) -> Result<Kind, Failure> {
    let options = crate::reading::options().allow_objects(true).threads(1);
    if is_safetensors(input) {
        let opened = open_safetensors(input)?;
        let tensors = opened.tensors().as_slice();
        entry.note = plural(tensors.len(), "tensor");
        if shows_members {
            for tensor in tensors {
                let array = opened.tensors().open(tensor.name())?;
                entry.members.push((
                    tensor.name().to_owned(),
                    dtype_text(array.dtype()),
                    Shape::from(array.shape()).to_string(),
                ));
            }
        }
        return Ok(Kind::Arrays(entry));
    }
    match input.detected_format() {
        Some(Format::Npz) => {
            let archive = input.npz(&options)?;
            entry.note = plural(archive.len(), "member");
            if shows_members {
                entry.members = members_of(&archive);
            }
            Ok(Kind::Arrays(entry))
        }
        Some(Format::Stack) => {
            let stack = input.stack(&options)?;
            (entry.dtype, entry.shape) = (dtype_text(stack.dtype()), Some(stack.shape().to_vec()));
            entry.note = plural(stack.lengths().len(), "part");
            entry.size = Shape::from(stack.shape()).byte_len(stack.dtype().item_size()).unwrap_or(0);
            Ok(Kind::Arrays(entry))
        }
        Some(_) => {
            if let Ok(file) = input.array(&options) {
                (entry.dtype, entry.shape) = (dtype_text(file.dtype()), Some(file.shape().to_vec()));
                entry.is_truncated = file.extent()?.missing() > 0;
            } else {
                let reader = options.reader(input.file()?);
                let (dtype, shape) = match &reader {
                    Ok(reader) => (reader.dtype(), reader.shape()),
                    Err(_) if input.format() == Format::Ra => {
                        let reader = input.ra_reader(&options)?;
                        (entry.dtype, entry.shape) =
                            (dtype_text(reader.dtype()), Some(reader.shape().to_vec()));
                        return Ok(Kind::Arrays(entry));
                    }
                    Err(_) => return Err(reader.err().map_or_else(|| "unreadable".into(), Failure::from)),
                };
                (entry.dtype, entry.shape) = (dtype_text(dtype), Some(shape.to_vec()));
            }
            Ok(Kind::Arrays(entry))
        }
        None => {
            let error = options.open_source(input.bytes()?).err();
            let id = error.as_ref().and_then(Error::help).map_or("", |help| help.id()).to_owned();
            let is_array_by_name = super::input::has_array_extension(input.name());
            entry.note = match &*id {
                "file-hdf5" => "HDF5, not read".into(),
                "file-matlab" => "MATLAB, not read".into(),
                "file-parquet" => "Parquet, not read".into(),
                "file-arrow" => "Arrow, not read".into(),
                "file-pickle" => "a pickle, not read".into(),
                "file-torch" => "PyTorch, not read".into(),
                "file-gzip" | "file-zstd" | "file-xz" | "file-bzip2" | "file-lz4" => {
                    format!("compressed ({})", id.trim_start_matches("file-"))
                }
                _ if is_array_by_name => match error {
                    Some(error) => return Ok(Kind::Failed(input.at(Failure::from(error)))),
                    None => return Ok(Kind::Other),
                },
                _ => return Ok(Kind::Other),
            };
            Ok(Kind::Known(entry))
        }
    }
}

/// Returns a dtype as one word or two.
fn dtype_text(dtype: &DType) -> String {
    match dtype {
        DType::Record(record) => format!("{{{}}}", plural(record.fields().len(), "field")),
        dtype => full_dtype_text(dtype),
    }
}

pub(crate) fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn members_of(archive: &NpzFile) -> Vec<(String, String, String)> {
    let of = |index: usize| {
        let name = archive.members()[index].name().to_owned();
        match archive.peek(index) {
            Ok(found) => {
                (name, dtype_text(found.header.dtype()), Shape::from(found.header.shape()).to_string())
            }
            Err(error) => (name, String::new(), one_line_message(&error.into())),
        }
    };
    (0..archive.len()).map(of).collect()
}

/// Returns what most of the files have, if it is more than half of at least three.
fn most_common<T: Ord + Clone>(all: impl Iterator<Item = T>) -> Option<(T, usize)> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    all.for_each(|one| *counts.entry(one).or_insert(0) += 1);
    let total: usize = counts.values().sum();
    let most = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (total >= 3 && 2 * most.1 > total).then_some(most)
}

fn print_entries(entries: &[Entry], is_exact: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let arrays = || entries.iter().filter(|entry| entry.shape.is_some());
    let (dtype, shape) = (
        most_common(arrays().map(|entry| entry.dtype.clone())),
        most_common(arrays().filter_map(|entry| entry.shape.clone())),
    );
    let texts: Vec<[String; 3]> = entries
        .iter()
        .map(|entry| {
            let what = match &entry.shape {
                Some(shape) => format!("{} {}", entry.dtype, Shape::from(&shape[..])),
                None => entry.note.clone(),
            };
            let size = if is_exact { entry.size.to_string() } else { human_size(entry.size) };
            [escape_for_terminal(&entry.name), escape_for_terminal(&what), size]
        })
        .collect();
    let width = |column: usize| {
        texts.iter().map(|row| ndarray_io_compute::table::text_width(&row[column])).max().unwrap_or(0).min(80)
    };
    let (name_width, what_width, size_width) = (width(0), width(1), width(2));
    for (entry, [name, what, size]) in entries.iter().zip(&texts) {
        let mut remarks = Vec::new();
        if entry.is_truncated {
            remarks.push("truncated".to_owned());
        }
        let others = |what: &str, count: usize| format!("{what} differs from {count} others");
        if let (Some(own), Some((shape, count))) = (&entry.shape, &shape)
            && own != shape
        {
            remarks.push(others("shape", *count));
        }
        if let (Some(_), Some((dtype, count))) = (&entry.shape, &dtype)
            && entry.dtype != *dtype
        {
            remarks.push(others("dtype", *count));
        }
        let remark =
            if remarks.is_empty() { String::new() } else { format!("   ◀ {}", remarks.join(", ")) };
        let padding = " ".repeat(name_width.saturating_sub(ndarray_io_compute::table::text_width(name)));
        writeln!(out, "{name}{padding}  {what:<what_width$}  {size:>size_width$}{remark}")?;
        print_tree(&entry.members, out)?;
    }
    Ok(())
}

/// Prints the arrays of an archive, with the common beginnings of their names once.
fn print_tree(members: &[(String, String, String)], out: &mut dyn Write) -> Result<(), Failure> {
    let mut open: Vec<&str> = Vec::new();
    let depth = |name: &str| name.matches('/').count();
    let width = members
        .iter()
        .map(|(name, ..)| 2 * depth(name) + name.rsplit('/').next().unwrap_or_default().chars().count())
        .max();
    for (name, dtype, shape) in members {
        let (folder, last) = name.rsplit_once('/').unwrap_or(("", name));
        let folders: Vec<&str> = if folder.is_empty() { Vec::new() } else { folder.split('/').collect() };
        let common = open.iter().zip(&folders).take_while(|(one, two)| one == two).count();
        for (level, folder) in folders.iter().enumerate().skip(common) {
            writeln!(out, "  {}{}/", "  ".repeat(level), escape_for_terminal(folder))?;
        }
        let width = width.unwrap_or(0).saturating_sub(2 * folders.len()).min(60);
        writeln!(
            out,
            "  {}{:<width$}  {dtype} {shape}",
            "  ".repeat(folders.len()),
            escape_for_terminal(last)
        )?;
        open = folders;
    }
    Ok(())
}

fn print_json(entries: &[Entry], out: &mut dyn Write) -> Result<(), Failure> {
    for entry in entries {
        let mut line = Map::new();
        line.insert("file".into(), entry.name.clone().into());
        if let Some(shape) = &entry.shape {
            line.insert("dtype".into(), entry.dtype.clone().into());
            line.insert("shape".into(), json!(shape));
        }
        if !entry.note.is_empty() {
            line.insert("what".into(), entry.note.clone().into());
        }
        line.insert("size".into(), entry.size.into());
        line.insert("is_truncated".into(), entry.is_truncated.into());
        if !entry.members.is_empty() {
            let member = |(name, dtype, shape): &(String, String, String)| json!({"name": name, "dtype": dtype, "shape": shape});
            line.insert("members".into(), entry.members.iter().map(member).collect());
        }
        writeln!(out, "{}", Value::Object(line))?;
    }
    Ok(())
}

/// Formats a number of bytes with three digits at most.
pub(crate) fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64;
    for unit in UNITS {
        size /= 1000.0;
        if size < 9.95 {
            return format!("{size:.1} {unit}");
        }
        if size < 999.5 {
            return format!("{size:.0} {unit}");
        }
    }
    format!("{size:.0} EB")
}

#[cfg(not(feature = "remote"))]
fn list_objects(_: &Arguments, _: &mut dyn Write) -> Result<u8, Failure> {
    Err("URLs need a program with the feature remote".into())
}

/// Lists the objects of stores.
#[cfg(feature = "remote")]
fn list_objects(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    use ndarray_io_store::{StoreOptions, list};
    for path in &arguments.files {
        let url = path
            .to_str()
            .filter(|_| is_url(path))
            .ok_or_else(|| at(path, "files and URLs are listed separately".into()))?;
        let mut objects = list(url, &StoreOptions::new())?;
        if let Some(pattern) = &arguments.matching {
            objects = objects.matching(pattern)?;
        }
        for object in objects {
            let object = object?;
            match arguments.json {
                true => writeln!(out, "{}", json!({"size": object.size(), "url": object.url()}))?,
                false => writeln!(out, "{:>14}  {}", object.size(), escape_for_terminal(object.url()))?,
            }
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::human_size;

    #[test]
    fn sizes_have_few_digits() {
        let found =
            [0, 999, 1000, 3300, 9949, 9950, 99_949, 999_499, 999_500, 16_512_000, u64::MAX].map(human_size);
        assert_eq!(
            found,
            [
                "0 B", "999 B", "1.0 kB", "3.3 kB", "9.9 kB", "10 kB", "100 kB", "999 kB", "1.0 MB", "17 MB",
                "18 EB"
            ]
        );
    }
}
