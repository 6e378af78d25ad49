//! `ndio info`: describes files.

mod pipe;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::blocks::map_in_order;
use ndarray_io::error::ErrorKind;
use ndarray_io::file::Extent;
use ndarray_io::header::{Order, Shape};
use ndarray_io::npy::NpyHeader;
use ndarray_io::npz::{IndexState, NpzMember};
use ndarray_io::{DType, NpyReader, NpzFile, ReadOptions};
use serde_json::{Value, json};

use super::cells::dtype_text;
use super::failure::{Failure, is_closed, note, one_line, told};
use super::formats::Format;
use super::input::{Input, each_file, is_pipe};
use super::select::Arrays;
use super::source::Source;
use super::stats;
use super::terminal::Escaped;

/// Describe files: type, shape, order, sizes, members
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio info x.npy a.npz\n  ndio info --stats x.npy\n  ndio info --json x.npy"
)]
pub(crate) struct Arguments {
    /// Print JSON, one line per file
    #[arg(long)]
    json: bool,
    /// Compute minimum, maximum, mean and standard deviation, and count NaN, infinities and zeros
    #[arg(long)]
    stats: bool,
    /// Files, or folders, which are searched for array files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    // JSON has escapes of its own.
    if arguments.json { info(arguments, out) } else { info(arguments, &mut Escaped(out)) }
}

fn info(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut code = 0;
    each_file(&arguments.files, |path| {
        match path.and_then(|path| tell(path, arguments, out)) {
            Ok(true) => {}
            Ok(false) => code = code.max(1),
            // A closed pipe is not the fault of the file.
            Err(failure) if is_closed(&*failure) => return Err(failure),
            Err(failure) => {
                code = 2;
                out.flush()?;
                note(&failure);
            }
        }
        Ok(out.flush()?) // show each file as soon as it is done
    })?;
    Ok(code)
}

/// Describes one file. Returns whether the file has all the data that its header declares.
fn tell(path: &Path, arguments: &Arguments, out: &mut dyn Write) -> Result<bool, Failure> {
    if path == Path::new("-") || is_pipe(path) {
        return pipe::tell(path, arguments, out);
    }
    let input = Input::open(path)?;
    let told = tell_input(&input, arguments, out);
    told.map_err(|failure| if is_closed(&*failure) { failure } else { input.at(failure) })
}

fn tell_input(input: &Input, arguments: &Arguments, out: &mut dyn Write) -> Result<bool, Failure> {
    if input.format() == Format::Npz {
        return match arguments.json {
            true => write_npz(input, arguments.stats, out),
            false => print_npz(input, arguments.stats, out),
        };
    }
    let facts = facts(input, arguments.stats)?;
    show(&facts, arguments.json, out)
}

/// Prints what is known of a file, and returns whether it is whole.
fn show(facts: &Value, json: bool, out: &mut dyn Write) -> Result<bool, Failure> {
    let several = facts["arrays"].as_array();
    let is_whole = |facts: &Value| facts["is_whole"] != false;
    if json {
        serde_json::to_writer(&mut *out, facts)?;
        writeln!(out)?;
    } else {
        print(facts, out)?;
    }
    Ok(is_whole(facts) && several.into_iter().flatten().all(is_whole))
}

fn facts(input: &Input, stats: bool) -> Result<Value, Failure> {
    let (format, options) = (input.format(), crate::reading::options());
    let mut facts = match format {
        Format::Ra => ra(input)?,
        Format::Stack => stack(input)?,
        _ => npy(input, stats)?,
    };
    if stats && matches!(format, Format::Ra | Format::Stack) {
        facts["stats"] = stats_of(&Source::of_one(input, format, &options)?.readable()?);
    }
    add_file(&mut facts, input, format)?;
    Ok(facts)
}

/// Adds what is known of the file itself.
fn add_file(facts: &mut Value, input: &Input, format: Format) -> Result<(), Failure> {
    facts["file"] = json!(input.name().display().to_string());
    facts["format"] = json!(format.name());
    if format != Format::Stack {
        facts["file_size"] = json!(input.size()?);
    }
    Ok(())
}

/// Describes an RA file from its header.
fn ra(input: &Input) -> Result<Value, Failure> {
    let options = crate::reading::options();
    if input.is_remote()
        && let Ok(file) = input.ra(&options)
    {
        let mut facts = array(file.dtype(), file.order(), file.shape());
        facts["data_offset"] = json!(file.data_offset());
        add_extent(&mut facts, Some(file.extent()?));
        facts["can_be_mapped"] = json!(false);
        return Ok(facts);
    }
    let mut reader = input.ra_reader(&options)?;
    let header = reader.ra_header().clone();
    let mut facts = array(reader.dtype(), reader.order(), reader.shape());
    facts["data_offset"] = json!(reader.data_offset());
    add_extent(&mut facts, reader.extent());
    let is_plain = header.flags & !1 == 0 && facts["is_whole"] == true;
    facts["can_be_mapped"] = json!(is_plain && is_native(reader.dtype()));
    // Integers of variable length extend to the end of the file, and the header declares their size when unpacked.
    let rest = input.size()?.saturating_sub(reader.data_offset());
    let stored = match (facts["bytes"] == header.size, facts["trailing"].is_u64()) {
        _ if header.flags & 6 == 0 => None,
        (false, _) => Some(header.size),
        (true, false) => Some(rest),
        (true, true) => None, // the data is as long as the elements
    };
    if let Some(stored) = stored {
        facts["stored_bytes"] = json!(stored);
    }
    for (name, number) in [("flags", header.flags), ("eltype", header.eltype), ("elbyte", header.elbyte)] {
        facts[name] = json!(number);
    }
    Ok(facts)
}

/// Describes a stack from its `info`, without opening the parts.
fn stack(input: &Input) -> Result<Value, Failure> {
    let stack = input.stack(&crate::reading::options())?;
    let mut facts = array(stack.dtype(), stack.as_file().order(), stack.shape());
    facts["axis"] = json!(stack.axis());
    facts["parts"] = json!(stack.lengths());
    Ok(facts)
}

/// Formats the lengths of the parts of a stack in one line.
fn parts(facts: &Value) -> String {
    let lengths: Vec<u64> = facts.as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let count = lengths.len();
    match (lengths.first(), lengths.iter().min(), lengths.iter().max()) {
        (Some(first), _, Some(longest)) if lengths[..count - 1].iter().all(|length| length == longest) => {
            let last = if lengths.last() == Some(first) {
                String::new()
            } else {
                format!(", the last {}", lengths[count - 1])
            };
            format!("{count} of length {first}{last}")
        }
        (_, Some(shortest), Some(longest)) => format!("{count} of lengths {shortest} to {longest}"),
        _ => "none".into(),
    }
}

/// Describes an NPY file; if the file has several arrays, returns a list.
fn npy(input: &Input, stats: bool) -> Result<Value, Failure> {
    let options = crate::reading::options();
    let mut all = Vec::new();
    if input.is_remote() {
        let file = input.npy(&options)?;
        let mut facts = array(file.dtype(), file.order(), file.shape());
        facts["version"] = json!(file.version().to_string());
        facts["data_offset"] = json!(file.data_offset());
        let extent = file.extent()?;
        add_extent(&mut facts, Some(extent));
        facts["can_be_mapped"] = json!(false);
        // What follows may be further arrays, for which the object is read to its end.
        if extent.trailing() == Some(0) && !file.dtype().has_object() {
            all.push(facts);
        }
    }
    if all.is_empty() {
        let mut reader = NpyReader::new_with(input.file()?, &options)?;
        all.push(npy_array(&mut reader));
        // The array may be followed by any data, which is reported as trailing bytes and not as an error.
        while let Ok(true) = reader.next_array() {
            all.push(npy_array(&mut reader));
        }
    }
    if stats {
        let options = options.allow_objects(true);
        for (facts, source) in all.iter_mut().zip(Arrays::of(input, &options)) {
            facts["stats"] = stats_of(&source?.readable()?);
        }
    }
    Ok(listed(all))
}

/// Returns the facts of the arrays of one file.
fn listed(mut all: Vec<Value>) -> Value {
    // For all but the last array, the trailing bytes are the following arrays.
    let last = all.len() - 1;
    for facts in &mut all[..last] {
        facts["trailing"] = json!(0);
    }
    match last {
        0 => all.swap_remove(0),
        _ => json!({"arrays": all}),
    }
}

fn npy_array<R: std::io::Read>(reader: &mut NpyReader<R>) -> Value {
    let mut facts = array(reader.dtype(), reader.order(), reader.shape());
    facts["version"] = json!(reader.version().to_string());
    facts["data_offset"] = json!(reader.data_offset());
    add_extent(&mut facts, reader.extent());
    if reader.dtype().has_object() {
        // A pickle must be read to find its end.
        facts["bytes"] = Value::Null;
        facts["is_whole"] = json!(true);
    }
    let can_be_mapped =
        facts["is_whole"] == true && is_native(reader.dtype()) && !reader.dtype().has_object();
    facts["can_be_mapped"] = json!(can_be_mapped);
    facts
}

/// Adds whether the file is whole, if that is known without reading all of it.
fn add_extent(facts: &mut Value, extent: Option<Extent>) {
    facts["trailing"] = json!(extent.and_then(Extent::trailing));
    facts["is_whole"] = json!(extent.map(|extent| extent.trailing().is_some()));
    if let Some(missing @ 1..) = extent.map(Extent::missing) {
        facts["missing"] = json!(missing);
    }
}

/// Computes the statistics, or returns the reason why there are none.
fn stats_of(source: &Source) -> Value {
    stats::of(source).map_or_else(|failure| json!({"error": told(&failure)}), |stats| stats.json())
}

/// A member of an archive, and what could be read of it.
struct Known<'a> {
    member: &'a NpzMember,
    found: Option<Result<NpyHeader, String>>,
    stats: Value,
}

impl Known<'_> {
    /// Returns whether the member is in any case too small for the elements that its header declares.
    fn is_short(&self) -> bool {
        let declared = self.found.as_ref().and_then(|found| found.as_ref().ok()?.header.payload_len());
        declared.is_some_and(|bytes| bytes > self.member.size())
    }
}

/// Passes what is known of each member to `take`, in the order of the archive.
fn each_known<'a>(
    archive: &'a NpzFile,
    stats: bool,
    mut take: impl FnMut(Known<'a>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    /// How many headers a thread reads at a time: for fewer, it would wait longer than it works.
    const EACH: usize = 500;
    let threads = ReadOptions::new().get_threads().min(4).min(archive.len().div_ceil(EACH));
    let parts = archive.members().chunks(EACH).enumerate();
    let look = |(number, members): (usize, &'a [NpzMember])| -> Vec<_> {
        let known = |(index, member)| known_at(archive, number * EACH + index, member, stats);
        members.iter().enumerate().map(known).collect()
    };
    map_in_order(parts, threads, look, |known| known.into_iter().try_for_each(&mut take))
}

fn known_at<'a>(archive: &NpzFile, index: usize, member: &'a NpzMember, stats: bool) -> Known<'a> {
    let found = match archive.holds_array(index) {
        Ok(true) => Some(archive.peek(index).map_err(short)),
        Ok(false) => None,
        Err(error) => Some(Err(short(error))),
    };
    let stats = match &found {
        Some(Ok(_)) if stats => {
            match Source::member(archive, index, Path::new(""), true).and_then(Source::readable) {
                Ok(source) => stats_of(&source),
                Err(failure) => json!({"error": told(&failure)}),
            }
        }
        _ => Value::Null,
    };
    Known { member, found, stats }
}

/// Shortens the error for a member whose header cannot be read. The column `how` already shows
/// that the member is encrypted.
fn short(error: ndarray_io::Error) -> String {
    match error.kind() {
        ErrorKind::Encrypted { has_password: false, .. } => "needs a password".into(),
        ErrorKind::Encrypted { .. } => "has another password".into(),
        _ => told(&error.into()),
    }
}

/// Writes an archive as a line of JSON, member by member: there may be millions.
///
/// Returns whether all members have what their headers declare.
fn write_npz(input: &Input, stats: bool, out: &mut dyn Write) -> Result<bool, Failure> {
    let archive = input.npz(&crate::reading::options())?;
    let mut file = json!({});
    add_file(&mut file, input, Format::Npz)?;
    let file = file.to_string();
    write!(out, "{},\"members\":[", file.trim_end_matches('}'))?;
    let (mut is_first, mut are_whole) = (true, true);
    each_known(&archive, stats, |known| {
        let is_short = known.is_short();
        are_whole &= !is_short;
        let mut facts = match &known.found {
            Some(Ok(found)) => array(found.header.dtype(), found.header.order(), found.header.shape()),
            Some(Err(error)) => json!({"error": error}),
            None => json!({}),
        };
        if !known.stats.is_null() {
            facts["stats"] = known.stats;
        }
        if is_short {
            facts["is_whole"] = json!(false);
        }
        facts["member"] = json!(known.member.file_name());
        facts["size"] = json!(known.member.size());
        facts["compressed_size"] = json!(known.member.compressed_size());
        facts["packed"] = json!(known.member.method().to_string());
        if known.member.is_encrypted() {
            facts["encrypted"] = json!(true);
        }
        match known.member.index_state() {
            IndexState::Absent => {}
            IndexState::Used { block, count } => {
                facts["block_index"] = json!({"state": "used", "block_size": block, "blocks": count});
            }
            IndexState::Stale => facts["block_index"] = json!({"state": "stale"}),
            _ => facts["block_index"] = json!({"state": "ignored"}),
        }
        if !std::mem::take(&mut is_first) {
            out.write_all(b",")?;
        }
        Ok(serde_json::to_writer(&mut *out, &facts)?)
    })?;
    writeln!(out, "]}}")?;
    Ok(are_whole)
}

/// Returns how a member is compressed, whether it is encrypted, and whether it can be read in parts.
fn how(member: &NpzMember) -> String {
    let encrypted = if member.is_encrypted() { ", encrypted" } else { "" };
    let index = match member.index_state() {
        IndexState::Absent => String::new(),
        IndexState::Used { block, count } if block < 1 << 20 => {
            format!(", {count} blocks of {} KiB", block >> 10)
        }
        IndexState::Used { block, count } => format!(", {count} blocks of {} MiB", block >> 20),
        IndexState::Stale => ", stale index".into(),
        _ => ", ignored index".into(),
    };
    format!("{}{encrypted}{index}", member.method())
}

/// Prints an archive as a table, and returns whether all members have what their headers declare.
fn print_npz(input: &Input, stats: bool, out: &mut dyn Write) -> Result<bool, Failure> {
    let archive = input.npz(&crate::reading::options())?;
    writeln!(out, "{}: NPZ, {} bytes", one_line(&input.name().to_string_lossy()), input.size()?)?;
    let mut all_stats = Vec::new();
    let mut rows = vec![["member", "array", "bytes", "packed", "method"].map(str::to_owned)];
    let mut are_whole = true;
    each_known(&archive, stats, |known| {
        let is_short = known.is_short();
        are_whole &= !is_short;
        let what = match known.found {
            Some(Ok(found)) => {
                let (dtype, shape) = (dtype_text(found.header.dtype()), Shape::from(found.header.shape()));
                format!("{dtype} {shape}{}", if is_short { ", truncated" } else { "" })
            }
            Some(Err(error)) => error,
            None => "no array".to_owned(),
        };
        let name = one_line(known.member.file_name());
        if !known.stats.is_null() {
            all_stats.push((name.clone(), known.stats));
        }
        rows.push([
            name,
            what,
            known.member.size().to_string(),
            known.member.compressed_size().to_string(),
            how(known.member),
        ]);
        Ok(())
    })?;
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count().min(60)).max().unwrap_or(0);
    let [a, b, c, d] = [0, 1, 2, 3].map(width);
    for [name, what, size, packed, how] in &rows {
        writeln!(out, "  {name:<a$}  {what:<b$}  {size:>c$}  {packed:>d$}  {how}")?;
    }
    for (name, stats) in all_stats {
        writeln!(out, "  {name}")?;
        print_stats(&stats, out)?;
    }
    Ok(are_whole)
}

fn array(dtype: &DType, order: Order, shape: &[usize]) -> Value {
    let shape = Shape::from(shape);
    let mut facts = json!({
        "dtype": dtype_text(dtype),
        "shape": shape.dims(),
        "order": if order == Order::C { "C" } else { "Fortran" },
        "item_size": dtype.item_size(),
        "elements": shape.len(),
        "bytes": shape.byte_len(dtype.item_size()),
    });
    if let DType::Record(record) = dtype {
        let field = |field: &ndarray_io::dtype::Field| json!({"name": field.name(), "dtype": dtype_text(field.dtype()), "offset": field.offset()});
        facts["fields"] = record.fields().iter().map(field).collect();
    }
    facts
}

fn is_native(dtype: &DType) -> bool {
    dtype.with_byte_order(ndarray_io::dtype::ByteOrder::NATIVE) == *dtype
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn print(facts: &Value, out: &mut dyn Write) -> Result<(), Failure> {
    write!(out, "{}: {}", one_line(&text(&facts["file"])), text(&facts["format"]).to_uppercase())?;
    if let Some(version) = facts["version"].as_str() {
        write!(out, " {version}")?;
    }
    if let Some(bytes) = facts["file_size"].as_u64() {
        write!(out, ", {bytes} bytes")?;
    }
    writeln!(out)?;
    let Some(arrays) = facts["arrays"].as_array() else { return print_array(facts, out) };
    for (number, facts) in arrays.iter().enumerate() {
        writeln!(out, "  array {number}, NPY {}", text(&facts["version"]))?;
        print_array(facts, out)?;
    }
    Ok(())
}

fn print_array(facts: &Value, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "  dtype   {}", text(&facts["dtype"]))?;
    for field in facts["fields"].as_array().into_iter().flatten() {
        writeln!(out, "    {:>6}  {}  {}", field["offset"], text(&field["name"]), text(&field["dtype"]))?;
    }
    writeln!(out, "  shape   {}, {} order", shape(&facts["shape"]), text(&facts["order"]))?;
    if !facts["flags"].is_null() {
        writeln!(
            out,
            "  flags   {}, eltype {}, elbyte {}",
            facts["flags"], facts["eltype"], facts["elbyte"]
        )?;
    }
    let size =
        facts["bytes"].as_u64().map_or_else(|| "a pickle".to_owned(), |bytes| format!("{bytes} bytes"));
    if !facts["parts"].is_null() {
        writeln!(out, "  parts   {}, along axis {}", parts(&facts["parts"]), facts["axis"])?;
        writeln!(out, "  data    {size}")?;
        return print_stats(&facts["stats"], out);
    }
    let offset = facts["data_offset"].as_u64().unwrap_or_default();
    let align = 1u64 << offset.trailing_zeros().min(12);
    let size = match facts["stored_bytes"].as_u64() {
        Some(stored) => format!("{stored} bytes, {size} when unpacked"),
        None => size,
    };
    writeln!(out, "  data    {size}, at byte {offset} (a multiple of {align})")?;
    match facts["trailing"].as_u64() {
        Some(0) | None => {}
        Some(bytes) => writeln!(out, "  after   {bytes} bytes that are not part of the array")?,
    }
    if facts["is_whole"] == false {
        writeln!(out, "  truncated  bytes that are missing: {}", facts["missing"])?;
    }
    let mapped = if facts["can_be_mapped"] == true { "yes" } else { "no" };
    writeln!(out, "  mapped  {mapped}")?;
    print_stats(&facts["stats"], out)?;
    Ok(())
}

fn print_stats(stats: &Value, out: &mut dyn Write) -> Result<(), Failure> {
    if stats.is_null() {
        return Ok(());
    }
    if let Some(error) = stats["error"].as_str() {
        return Ok(writeln!(out, "  stats   {error}")?);
    }
    for field in stats["fields"].as_array().into_iter().flatten() {
        writeln!(out, "  field   {}", one_line(&text(&field["name"])))?;
        print_stats(field, out)?;
    }
    if !stats["fields"].is_null() {
        return Ok(());
    }
    if let Some(none) = stats["nat"].as_u64() {
        if !stats["min"].is_null() {
            writeln!(out, "  range   {} to {}", text(&stats["min"]), text(&stats["max"]))?;
            writeln!(out, "  mean    {}", text(&stats["mean"]))?;
        }
        return Ok(writeln!(out, "  counts  {none} NaT")?);
    }
    if let Some([low, high]) = stats["magnitude"].as_array().map(Vec::as_slice) {
        writeln!(out, "  range   {low} to {high} in magnitude")?;
        let (real, imaginary) = (stats["mean"][0].as_f64(), stats["mean"][1].as_f64());
        let mean = num_complex::Complex::new(real.unwrap_or_default(), imaginary.unwrap_or_default());
        writeln!(out, "  mean    {:?}{:+?}i, standard deviation {}", mean.re, mean.im, stats["std"])?;
    } else if !stats["min"].is_null() {
        writeln!(out, "  range   {} to {}", stats["min"], stats["max"])?;
        writeln!(out, "  mean    {}, standard deviation {}", stats["mean"], stats["std"])?;
    }
    writeln!(out, "  counts  {} NaN, {} infinite, {} zero", stats["nan"], stats["inf"], stats["zero"])?;
    Ok(())
}

/// Formats a shape like a Python tuple.
fn shape(dims: &Value) -> String {
    let dims: Vec<usize> = dims
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|dim| dim.as_u64())
        .map(|dim| dim as usize)
        .collect();
    Shape::from(dims).to_string()
}
