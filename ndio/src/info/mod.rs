//! `ndio info`: describes files.

mod archive;
mod pipe;
mod print;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::file::Extent;
use ndarray_io::header::{Order, Shape};
use ndarray_io::{DType, NpyReader};
use serde_json::{Value, json};

use super::cells::dtype_text;
use super::failure::{Failure, is_closed, note, told};
use super::formats::Format;
use super::input::{Input, each_file, is_array_file, is_pipe};
use super::select::Arrays;
use super::source::Source;
use super::stats;
use super::terminal::Escaped;
use archive::{print_npz, write_npz};
use print::{print, print_head, print_one};

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
    each_file(&arguments.files, is_array_file, |path| {
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
    match facts(input, arguments.stats)? {
        Some(facts) => show(&facts, arguments.json, out),
        None => tell_npy(input, arguments, out),
    }
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

/// Describes a file of one array from its header; `None` for an NPY file that has to be read for that, as it may have several.
fn facts(input: &Input, stats: bool) -> Result<Option<Value>, Failure> {
    let (format, options) = (input.format(), crate::reading::options());
    let mut facts = match format {
        Format::Ra => ra(input)?,
        Format::Stack => stack(input)?,
        _ if !input.is_remote() => return Ok(None),
        _ => match object(input)? {
            Some(facts) => facts,
            None => return Ok(None),
        },
    };
    if stats {
        let source = match format {
            Format::Ra | Format::Stack => Source::of_one(input, format, &options)?,
            _ => Source::npy(input.npy(&options)?, input.name()),
        };
        facts["stats"] = stats_of(&source.readable()?);
    }
    add_file(&mut facts, input, format)?;
    Ok(Some(facts))
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

/// Describes an NPY file in a store; `None` if there is more in it than one array.
fn object(input: &Input) -> Result<Option<Value>, Failure> {
    let file = input.npy(&crate::reading::options())?;
    let mut facts = array(file.dtype(), file.order(), file.shape());
    facts["version"] = json!(file.version().to_string());
    facts["data_offset"] = json!(file.data_offset());
    let extent = file.extent()?;
    add_extent(&mut facts, Some(extent));
    facts["can_be_mapped"] = json!(false);
    Ok((!matches!(extent, Extent::Long { .. }) && !file.dtype().has_object()).then_some(facts))
}

/// Describes an NPY file, array by array: there may be millions. Returns whether all of them are whole.
fn tell_npy(input: &Input, arguments: &Arguments, out: &mut dyn Write) -> Result<bool, Failure> {
    // Objects are read as data.
    let options = crate::reading::options().allow_objects(true);
    let mut reader = NpyReader::new_with(input.file()?, &options)?;
    let mut sources = Arrays::of(input, &options);
    let mut describe = |reader: &mut NpyReader<std::fs::File>| -> Result<Value, Failure> {
        let mut facts = npy_array(reader);
        if arguments.stats
            && let Some(source) = sources.next()
        {
            let stats = source?.readable().map(|source| stats_of(&source));
            facts["stats"] = stats.unwrap_or_else(|failure| json!({"error": told(&failure)}));
        }
        Ok(facts)
    };
    let mut facts = describe(&mut reader)?;
    let mut has_more = has_next(&mut reader)?;
    if !has_more {
        add_file(&mut facts, input, Format::Npy)?;
        return show(&facts, arguments.json, out);
    }
    let mut file = json!({});
    add_file(&mut file, input, Format::Npy)?;
    match arguments.json {
        true => write!(out, "{{\"arrays\":[")?,
        false => print_head(&file, out)?,
    }
    let mut are_whole = true;
    for number in 0.. {
        if has_more {
            facts["trailing"] = json!(0); // what follows is the next array
        }
        are_whole &= facts["is_whole"] != false;
        match (arguments.json, number) {
            (true, 0) => serde_json::to_writer(&mut *out, &facts)?,
            (true, _) => write!(out, ",{facts}")?,
            (false, _) => print_one(number, &facts, out)?,
        }
        if !has_more {
            break;
        }
        facts = describe(&mut reader)?;
        has_more = has_next(&mut reader)?;
    }
    if arguments.json {
        writeln!(out, "],{}", file.to_string().trim_start_matches('{'))?;
    }
    Ok(are_whole)
}

/// Whether another array follows. The array may be followed by any data, which is reported as trailing bytes and not as an error.
fn has_next<R: std::io::Read>(reader: &mut NpyReader<R>) -> Result<bool, Failure> {
    match reader.next_array() {
        Err(error) if error.is_io() => Err(error.into()),
        next => Ok(next.unwrap_or(false)),
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
