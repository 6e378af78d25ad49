//! `ndio info`: describes files.

mod archive;
mod facts;
mod pipe;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::header::{Extent, Shape};
use ndarray_io::ra::RaHeader;
use ndarray_io::{NpyFile, NpyReader};

use super::failure::{Failure, escape_for_terminal, failure_json, is_broken_pipe, one_line_message, report};
use super::formats::{Format, table_as_npy};
use super::input::{Input, for_each_file, has_array_extension, is_pipe_or_device};
use super::other_formats;
use super::remote::display_name;
use super::select::{Arrays, Selection, file_of};
use super::source::Source;
use super::summary::{self, Summary};
use super::terminal::EscapingWriter;
use archive::{print_archive_json, print_archive_table};
use facts::{
    ArrayFacts, DataFacts, ElementLocation, FileFacts, HeaderFacts, JsonList, PackedFacts, RaFacts,
    TensorFacts, is_native_endian,
};

/// Describe files: type, shape, order, sizes, members
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio info x.npy a.npz\n  ndio info --stats x.npy\n  ndio info --json x.npy"
)]
pub(crate) struct Arguments {
    /// Print JSON, one line per file
    #[arg(long)]
    json: bool,
    /// Compute minimum, maximum, mean and standard deviation of the finite elements, and count NaN, infinities and zeros
    #[arg(long)]
    stats: bool,
    /// Files, or folders, which are searched for array files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    // JSON has escapes of its own.
    if arguments.json { info(arguments, out) } else { info(arguments, &mut EscapingWriter(out)) }
}

fn info(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut code = 0;
    for_each_file(&arguments.files, has_array_extension, |path| {
        match path.and_then(|path| describe_path(path, arguments, out)) {
            Ok(true) => {}
            Ok(false) => code = code.max(1),
            // A closed pipe is not the fault of the file.
            Err(failure) if is_broken_pipe(&*failure) => return Err(failure),
            Err(failure) => {
                code = 2;
                if arguments.json {
                    writeln!(out, "{}", serde_json::json!({"error": failure_json(&failure)}))?;
                } else {
                    out.flush()?;
                    report(&failure);
                }
            }
        }
        Ok(out.flush()?) // show each file as soon as it is done
    })?;
    Ok(code)
}

/// Describes one file. Returns whether the file has all the data that its header declares.
fn describe_path(path: &Path, arguments: &Arguments, out: &mut dyn Write) -> Result<bool, Failure> {
    if path == Path::new("-") || is_pipe_or_device(path) {
        return pipe::describe_pipe(path, arguments, out);
    }
    if file_of(path) != path {
        return describe_part(path, arguments, out);
    }
    let input = Input::open(path)?;
    let described = describe_input(&input, arguments, out);
    described.map_err(|failure| if is_broken_pipe(&*failure) { failure } else { input.at(failure) })
}

/// Describes a part that is written with its file.
fn describe_part(path: &Path, arguments: &Arguments, out: &mut dyn Write) -> Result<bool, Failure> {
    let options = crate::reading::options().allow_objects(true);
    let (input, selection) = Selection::default().open(path)?;
    let source = selection.open_one(&input, &options, false)?;
    let file =
        FileFacts { file: display_name(path), file_size: None, ..FileFacts::of(&input, input.format())? };
    print_without_place(file, source, arguments, out)
}

/// Prints an array whose elements have no place of their own in the file.
fn print_without_place(
    file: FileFacts,
    source: Source,
    arguments: &Arguments,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let header = HeaderFacts::of(source.dtype(), source.order(), source.shape());
    let stats = arguments.stats.then(|| stats_of_opened(Ok(source)));
    let facts = ArrayFacts { version: None, header, place: ElementLocation::Part {}, stats };
    file.print_with_arrays(&[facts], arguments.json, out)
}

fn describe_input(input: &Input, arguments: &Arguments, out: &mut dyn Write) -> Result<bool, Failure> {
    if other_formats::is_safetensors(input) {
        return describe_safetensors(input, arguments, out);
    }
    if input.format() == Format::Npz {
        return match arguments.json {
            true => print_archive_json(input, arguments.stats, out),
            false => print_archive_table(input, arguments.stats, out),
        };
    }
    if let Some(table) = table_as_npy(input)? {
        let source = Source::npy(table.array(&crate::reading::options())?, input.name());
        return print_without_place(
            FileFacts::of(input, Format::of_input(input.name()).unwrap_or(Format::Csv))?,
            source,
            arguments,
            out,
        );
    }
    match single_array_facts(input, arguments.stats)? {
        Some(facts) => FileFacts::of(input, input.format())?.print_with_arrays(&[facts], arguments.json, out),
        None => describe_npy(input, arguments, out),
    }
}

/// Describes the tensors of a file of safetensors. All of them are whole (otherwise it is not opened): returns whether their elements could be read.
fn describe_safetensors(input: &Input, arguments: &Arguments, out: &mut dyn Write) -> Result<bool, Failure> {
    let stats = |array: &NpyFile| {
        let source = Source::npy(array.with_options(&crate::reading::options()), input.name());
        arguments.stats.then(|| stats_of(&source))
    };
    let opened = other_formats::open_safetensors(input)?;
    let tensors = opened.tensors().as_slice();
    let file = FileFacts { format: "safetensors", ..FileFacts::of(input, Format::Npy)? };
    let (mut is_sound, mut list) = (true, None);
    match arguments.json {
        true => list = Some(JsonList::begin(&file, "tensors", out)?),
        false => file.print(None, out)?,
    }
    let names = opened.tensors().names().chain(opened.packed().keys().map(String::as_str));
    let width = names.map(|name| escape_for_terminal(name).chars().count().min(60)).max().unwrap_or(0);
    for tensor in tensors {
        let array = &opened.tensors().open(tensor.name())?;
        let stats = stats(array);
        is_sound &= !stats.as_ref().is_some_and(Summary::has_failed);
        let facts = TensorFacts {
            name: tensor.name(),
            header: HeaderFacts::of(array.dtype(), array.order(), array.shape()),
            data_offset: array.offset_in_source(),
            stats,
        };
        match &mut list {
            Some(list) => list.push(&facts, out)?,
            None => {
                let shape = Shape::from(array.shape());
                writeln!(
                    out,
                    "  {:<width$}  {} {shape}",
                    escape_for_terminal(tensor.name()),
                    facts.header.dtype
                )?;
                facts.stats.map_or(Ok(()), |stats| stats.print(out))?;
            }
        }
    }
    for (name, dtype) in opened.packed() {
        let facts = PackedFacts { name, packed: dtype };
        match &mut list {
            Some(list) => list.push(&facts, out)?,
            None => {
                writeln!(out, "  {:<width$}  {dtype}, whose elements share bytes", escape_for_terminal(name))?
            }
        }
    }
    list.map_or(Ok(()), |list| list.end(out))?;
    Ok(is_sound)
}

/// Describes a file of one array from its header; `None` for an NPY file that has to be read for that, as it may have several.
fn single_array_facts(input: &Input, stats: bool) -> Result<Option<ArrayFacts>, Failure> {
    let (format, options) = (input.format(), crate::reading::options());
    let mut facts = match format {
        Format::Ra => ra_facts(input)?,
        Format::Stack => stack_facts(input)?,
        _ if !input.is_remote() => return Ok(None),
        _ => match remote_npy_facts(input)? {
            Some(facts) => facts,
            None => return Ok(None),
        },
    };
    if stats {
        let source = match format {
            Format::Ra | Format::Stack => Source::open_single_array(input, format, &options)?,
            _ => Source::npy(input.array(&options)?, input.name()),
        };
        facts.stats = Some(stats_of(&source.ensure_iterable()?));
    }
    Ok(Some(facts))
}

/// Describes an RA file from its header.
fn ra_facts(input: &Input) -> Result<ArrayFacts, Failure> {
    let options = crate::reading::options();
    if input.is_remote()
        && let Ok(file) = input.array(&options)
    {
        let header = HeaderFacts::of(file.dtype(), file.order(), file.shape());
        return Ok(ArrayFacts::new(header, DataFacts::at(file.data_offset(), Some(file.extent()?))));
    }
    let mut reader = input.ra_reader(&options)?;
    let Some(RaHeader { flags, eltype, elbyte, size, .. }) = reader.ra_header().cloned() else {
        return Err(input.at("it has changed, and does not hold an RA array now"));
    };
    let header = HeaderFacts::of(reader.dtype(), reader.order(), reader.shape());
    let mut data = DataFacts::at(reader.data_offset(), reader.extent());
    data.can_be_mapped = flags & !1 == 0 && data.is_whole == Some(true) && is_native_endian(reader.dtype());
    // Integers of variable length extend to the end of the file, and the header declares their size when unpacked.
    let rest = input.size()?.saturating_sub(reader.data_offset());
    data.stored_bytes = match (header.bytes == Some(size), data.trailing.is_some()) {
        _ if flags & 6 == 0 => None,
        (false, _) => Some(size),
        (true, false) => Some(rest),
        (true, true) => None, // the data is as long as the elements
    };
    data.ra = Some(RaFacts { flags, eltype, elbyte });
    Ok(ArrayFacts::new(header, data))
}

/// Describes a stack from its `info`, without opening the parts.
fn stack_facts(input: &Input) -> Result<ArrayFacts, Failure> {
    let stack = input.stack(&crate::reading::options())?;
    let header = HeaderFacts::of(stack.dtype(), stack.as_file().order(), stack.shape());
    let place = ElementLocation::Parts { axis: stack.axis(), parts: stack.lengths().to_vec() };
    Ok(ArrayFacts { version: None, header, place, stats: None })
}

/// Describes an NPY file in a store; `None` if there is more in it than one array.
fn remote_npy_facts(input: &Input) -> Result<Option<ArrayFacts>, Failure> {
    let file = input.array(&crate::reading::options())?;
    let extent = file.extent()?;
    if matches!(extent, Extent::Long { .. }) || file.dtype().has_object() {
        return Ok(None);
    }
    let header = HeaderFacts::of(file.dtype(), file.order(), file.shape());
    let data = DataFacts::at(file.data_offset(), Some(extent));
    let version = file.npy_header().map(|header| header.version.to_string());
    Ok(Some(ArrayFacts { version, ..ArrayFacts::new(header, data) }))
}

/// Describes an NPY file, array by array: there may be millions. Returns whether all of them are whole.
fn describe_npy(input: &Input, arguments: &Arguments, out: &mut dyn Write) -> Result<bool, Failure> {
    // Objects are read as data.
    let options = crate::reading::options().allow_objects(true);
    let mut reader = options.reader(input.file()?)?;
    let mut sources = Arrays::of(input, &options);
    let mut describe = |reader: &mut NpyReader<std::fs::File>| -> Result<ArrayFacts, Failure> {
        let mut facts = ArrayFacts::of_npy(reader);
        if arguments.stats
            && let Some(source) = sources.next()
        {
            facts.stats = Some(stats_of_opened(source));
        }
        Ok(facts)
    };
    let mut facts = describe(&mut reader)?;
    let mut has_more = advance_to_next_array(&mut reader)?;
    let file = FileFacts::of(input, Format::Npy)?;
    if !has_more {
        return file.print_with_arrays(&[facts], arguments.json, out);
    }
    let mut are_sound = true;
    let mut list = None;
    match arguments.json {
        true => list = Some(JsonList::begin(&file, "arrays", out)?),
        false => file.print(None, out)?,
    }
    for number in 0.. {
        if let (true, ElementLocation::File(data)) = (has_more, &mut facts.place) {
            data.trailing = Some(0); // what follows is the next array
        }
        are_sound &= facts.is_sound();
        match &mut list {
            Some(list) => list.push(&facts, out)?,
            None => facts.print_numbered(number, out)?,
        }
        if !has_more {
            break;
        }
        facts = describe(&mut reader)?;
        has_more = advance_to_next_array(&mut reader)?;
    }
    list.map_or(Ok(()), |list| list.end(out))?;
    Ok(are_sound)
}

/// Whether another array follows. The array may be followed by any data, which is reported as trailing bytes and not as an error.
fn advance_to_next_array<R: std::io::Read>(reader: &mut NpyReader<R>) -> Result<bool, Failure> {
    match reader.next_array() {
        Err(error) if error.is_io() => Err(error.into()),
        next => Ok(next.unwrap_or(false)),
    }
}

/// Computes the statistics of an array, if it could be opened, or returns the reason why there are none.
fn stats_of_opened(source: Result<Source, Failure>) -> Summary {
    match source {
        Err(failure) => Summary::Failed { error: one_line_message(&failure) },
        Ok(source) => match source.ensure_iterable() {
            Err(failure) => Summary::Nothing { error: one_line_message(&failure) },
            Ok(source) => stats_of(&source),
        },
    }
}

/// Computes the statistics, or returns the reason why there are none.
fn stats_of(source: &Source) -> Summary {
    summary::compute(source)
        .map_or_else(|failure| Summary::Failed { error: one_line_message(&failure) }, Summary::from)
}
