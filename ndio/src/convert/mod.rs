//! `ndio convert`: converts files of any size in bounded memory.
//!
//! Input in another format is first converted to a temporary NPY file beside the output. The output is made
//! from the NPY file, so each format needs only conversions to and from NPY.

mod options;

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ndarray_io::convert::{Conversion, convert_file, convert_npy, convert_npy_to_ra, convert_ra_to_npy};
use ndarray_io::dask::{convert_npy_to_stack, convert_stack_to_npy};
use ndarray_io::file::Extent;
use ndarray_io::header::Order;
use ndarray_io::npz::NpzOptions;
use ndarray_io::ra::RaOptions;
use ndarray_io::store::UploadOptions;
use ndarray_io::{DType, NpyFile, NpyReader, NpzFile, NpzWriter, WriteOptions, npy};
use tempfile::TempPath;

use super::input::{is_called, shown};
use super::join::axis_of;
use super::open::{Format, by_content, format_of, member_index, remote};
use super::progress::Progress;
use super::source::Source;
use super::source::{Arrays, no_array};
use super::{Failure, csv, raw};
pub(crate) use options::Arguments;
use options::{CompressionName, Kind, kind_of_name};

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let Some(remote) = remote(&arguments.output)? else { return to_file(arguments, out) };
    // Make the object as a file first: it becomes visible only when the upload is complete.
    let folder = tempfile::tempdir()?;
    let name = remote.name();
    let to = arguments.to.or_else(|| kind_of_name(Path::new(&name)));
    if to == Some(Kind::Stack) {
        return Err(format!("{name}: a stack is a folder of files, and cannot be written to a store").into());
    }
    let mut options = UploadOptions::new();
    if to == Some(Kind::Npz) && !arguments.replace {
        // The upload is conditional: members of an existing archive, or of one uploaded by another writer,
        // must not be lost.
        options = match remote.first_bytes() {
            Ok((first, version)) => {
                if first.starts_with(b"PK") {
                    refuse_others(&remote.open_npz()?, &[arguments.member_name(0, 1)], &name)?;
                }
                if version.is_verified() { options.replacing(&version)? } else { options }
            }
            Err(error) if error.is_not_found() => options.create_new(),
            Err(error) => return Err(error.into()),
        };
    }
    let made = folder.path().join(name.rsplit('/').next().unwrap_or_default());
    is_called(&made, Path::new(&name));
    let code = to_file(&Arguments { output: made.clone(), ..arguments.clone() }, out)?;
    let mut file = File::open(&made)?;
    let len = file.metadata()?.len();
    let mut upload = remote.upload(&options.len(len))?;
    let mut progress = Progress::new();
    io::copy(&mut Watched { input: &mut file, progress: &mut progress, all: len }, &mut upload)
        .map_err(|error| format!("{name}: {error}"))?;
    upload.finish()?;
    Ok(code)
}

fn to_file(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let is_standard = |path: &Path| path == Path::new("-");
    let of = |format| match format {
        Format::Npy => Kind::Npy,
        Format::Npz => Kind::Npz,
        Format::Ra => Kind::Ra,
        Format::Stack => Kind::Stack,
    };
    // Use the name that the user gave, even if the data came through a pipe.
    let from = match (arguments.from, kind_of_name(Path::new(&*shown(&arguments.input)))) {
        (Some(kind), _) => kind,
        // The content takes precedence over extensions such as .csv: an array in a file with another
        // extension is still an array.
        _ if arguments.input.is_dir() => of(format_of(&arguments.input)?),
        (None, Some(kind @ (Kind::Csv | Kind::Raw))) => by_content(&arguments.input)?.map_or(kind, of),
        _ => of(format_of(&arguments.input)?),
    };
    let to = match arguments.to.or_else(|| kind_of_name(&arguments.output)) {
        Some(kind) => kind,
        None if is_standard(&arguments.output) => Kind::Npy,
        None => {
            let name = arguments.output.display();
            return Err(format!("{name}: the format cannot be derived from the name; --to sets it").into());
        }
    };
    arguments.check_formats(from, to)?;
    if to == Kind::Stack && is_standard(&arguments.output) {
        return Err("a stack is a folder of files, and cannot be written to standard output".into());
    }
    let is_file = fs::metadata(&arguments.output).map_or(true, |metadata| metadata.is_file());
    let near = match is_standard(&arguments.output) || !is_file {
        true => std::env::temp_dir(),
        false => folder_of(&arguments.output),
    };
    let has_choice = arguments.which.array.is_some() || arguments.which.member.is_some();
    if matches!(from, Kind::Csv | Kind::Raw | Kind::Ra | Kind::Stack) && has_choice {
        let path = shown(&arguments.input);
        return Err(
            format!("{path}: it has one array: --array and --member are for NPY files and archives").into()
        );
    }
    // CSV to NPY needs no intermediate file.
    if (from, to) == (Kind::Csv, Kind::Npy) && !is_standard(&arguments.output) && !arguments.changes_layout()
    {
        csv::read(open(&arguments.input)?, arguments.form(), arguments.dtype()?, &arguments.output)?;
        return Ok(0);
    }
    if (from, to) == (Kind::Npz, Kind::Npy) && !is_standard(&arguments.output) && convert_member(arguments)? {
        return Ok(0);
    }
    if (from, to) == (Kind::Npz, Kind::Npz)
        && !has_choice
        && arguments.keeps_arrays()
        && !is_standard(&arguments.output)
    {
        return copy_archive(arguments, &near);
    }
    let inputs = match (from, to) {
        (Kind::Stack, Kind::Npy) => vec![Input::Given(arguments.input.clone())], // no intermediate file needed
        _ => Input::of(arguments, from, &near)?,
    };
    let mut arrays = Vec::new();
    for input in inputs {
        let changed = changed(arguments, &input, from, to, &near)?;
        arrays.push(changed.map_or(input, Input::Made));
    }
    match (to, &arrays[..]) {
        (Kind::Csv, [one]) => {
            // What has been made has the dtype that was asked for, which its file does not say.
            let mut options = crate::reading::options();
            if let Some(ndarray_io::dtype::Kind::Narrow(narrow)) =
                arguments.dtype()?.and_then(|dtype| Some(dtype.as_scalar()?.kind()))
            {
                options = options.raw_bytes_are(narrow);
            }
            with_output(&arguments.output, out, |out| {
                csv::write(one.path(), arguments.delimiter, options, out)
            })
        }
        (Kind::Raw, [one]) => {
            with_output(&arguments.output, out, |out| raw::write(one.path(), arguments.order(), out))
        }
        (Kind::Csv | Kind::Raw | Kind::Ra | Kind::Stack, several) if several.len() > 1 => {
            let (path, count) = (shown(&arguments.input), several.len());
            Err(format!("{path}: it has {count} arrays, but the output can have one; --array selects one, counted from 0").into())
        }
        _ => finish(arguments, &arrays, from, to, &near, out),
    }
}

/// Writes the output from NPY files.
fn finish(
    arguments: &Arguments,
    arrays: &[Input],
    from: Kind,
    to: Kind,
    near: &Path,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    // These formats need a file; for standard output, write a temporary one and copy it.
    let passing = (arguments.output == Path::new("-")).then(|| temporary(near)).transpose()?;
    let output = passing.as_deref().unwrap_or(&arguments.output);
    match to {
        Kind::Npz => {
            let count = arrays.len();
            let names: Vec<String> = (0..count).map(|number| arguments.member_name(number, count)).collect();
            refuse_to_lose_members(arguments, &names, output)?;
            let options = NpzOptions::new().compression(arguments.packed()?);
            let mut progress = Progress::new();
            let all =
                arrays.iter().map(|array| Ok(fs::metadata(array.path())?.len())).sum::<io::Result<u64>>()?;
            replace(output, |file| {
                let mut archive = NpzWriter::new_with(file, &options);
                for (name, array) in names.into_iter().zip(arrays) {
                    let npy = open(array.path())?;
                    let len = npy.metadata()?.len();
                    let npy = Watched { input: npy, progress: &mut progress, all };
                    archive.add_raw(name, npy, len)?;
                }
                archive.finish()?;
                Ok(())
            })?;
        }
        Kind::Ra => {
            let npy = arrays[0].path();
            let mut progress = Progress::new();
            if arguments.compression == Some(CompressionName::Lz4) {
                let array: ndarray_io::DynArray = ndarray_io::read_npy(npy)?;
                ndarray_io::ra::write_ra_with(output, &array, &RaOptions::new().compressed(true))?;
            } else {
                convert_npy_to_ra(npy, output, arguments.conversion(&mut progress)?)?;
            }
        }
        Kind::Stack => {
            let npy = arrays[0].path();
            let file = NpyFile::open(npy)?;
            let axis = axis_of(arguments.axis, file.shape().len())?;
            let length = arguments.chunk.unwrap_or_else(|| indices_of(&file, axis));
            let mut progress = Progress::new();
            let conversion = full_conversion(arguments, from, &mut progress)?;
            convert_npy_to_stack(npy, output, axis, length, conversion)?;
        }
        _ => match arrays {
            [one] => convert(one.path(), output, arguments, from, &mut Progress::new())?,
            several => {
                let mut made = Vec::new();
                for array in several {
                    let one = temporary(near)?;
                    is_called(&one, &arguments.input);
                    convert(array.path(), &one, arguments, from, &mut Progress::new())?;
                    made.push(one);
                }
                replace(output, |file| {
                    for one in made {
                        io::copy(&mut open(&one)?, file)?;
                    }
                    Ok(())
                })?;
            }
        },
    }
    if let Some(path) = passing {
        io::copy(&mut File::open(path)?, out)?;
    }
    Ok(0)
}

/// Writes all members of an archive to another one, compressed as the arguments say.
fn copy_archive(arguments: &Arguments, near: &Path) -> Result<u8, Failure> {
    let (path, output) = (&arguments.input, &arguments.output);
    let archive = NpzFile::open_with(path, &crate::reading::options())?;
    let names: Vec<String> = archive.members().iter().map(|member| member.file_name().to_owned()).collect();
    refuse_to_lose_members(arguments, &names, output)?;
    let all = archive.members().iter().fold(0, |all: u64, member| all.saturating_add(member.size()));
    let options = NpzOptions::new().compression(arguments.packed()?);
    let mut progress = Progress::new();
    replace(output, |file| {
        let mut copy = NpzWriter::new_with(file, &options);
        for name in names {
            let made = temporary(near)?;
            let len = archive.copy_raw(&name, File::options().write(true).open(&made)?)?;
            let content = Watched { input: open(&made)?, progress: &mut progress, all };
            copy.add_raw(name, content, len)?;
        }
        copy.finish()?;
        Ok(())
    })?;
    Ok(0)
}

/// Returns the number of indices of an axis that take about 128 MiB, the default chunk size of Dask.
fn indices_of(file: &NpyFile, axis: usize) -> usize {
    const BYTES: u64 = 128 << 20;
    let length = file.shape()[axis];
    let all =
        file.shape().iter().fold(file.dtype().item_size() as u64, |all, len| all.saturating_mul(*len as u64));
    let each = (all / length.max(1) as u64).max(1);
    usize::try_from(BYTES / each).unwrap_or(usize::MAX).clamp(1, length.max(1))
}

/// Returns an error if the output is an archive whose other members would be lost.
fn refuse_to_lose_members(arguments: &Arguments, own: &[String], output: &Path) -> Result<(), Failure> {
    if arguments.replace || !output.is_file() || by_content(output)? != Some(Format::Npz) {
        return Ok(());
    }
    refuse_others(&NpzFile::open(output)?, own, &output.display().to_string())
}

/// Returns an error if an archive has members other than these.
fn refuse_others(archive: &NpzFile, own: &[String], path: &str) -> Result<(), Failure> {
    match archive.members().iter().filter(|member| !own.iter().any(|own| own == member.file_name())).count() {
        0 => Ok(()),
        others => Err(format!(
            "{path}: the archive has other members ({others}), which would be lost; --replace replaces it"
        )
        .into()),
    }
}

/// An input that has been converted to an NPY file.
enum Input {
    Given(PathBuf),
    Made(TempPath),
}

impl Input {
    fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Made(path) => path,
        }
    }

    /// Converts the input to NPY files: one, or one for each array of an NPY file with several.
    fn of(arguments: &Arguments, from: Kind, near: &Path) -> Result<Vec<Self>, Failure> {
        let path = &arguments.input;
        if from == Kind::Npy {
            return Self::arrays(arguments, near);
        }
        if arguments.which.array.is_some() {
            return Err(format!("{}: --array is for NPY files", shown(path)).into());
        }
        let made = temporary(near)?;
        is_called(&made, path);
        let mut file = File::options().write(true).open(&made)?;
        match from {
            Kind::Npy | Kind::Npz => {
                let archive = NpzFile::open_with(path, &crate::reading::options())?;
                let index = member_index(&archive, path, arguments.which.member.as_deref())?;
                let name = archive.members()[index].file_name();
                archive.copy_raw(name, &mut file)?;
            }
            Kind::Ra => {
                let mut progress = Progress::new();
                drop(file);
                convert_ra_to_npy(
                    path,
                    &made,
                    Conversion::new()
                        .read_options(crate::reading::options())
                        .drop_trailing(arguments.drop_trailing)
                        .progress(|done, all| {
                            progress.set(done, all);
                            ControlFlow::Continue(())
                        }),
                )?;
            }
            Kind::Stack => {
                drop(file);
                let mut progress = Progress::new();
                convert_stack_to_npy(path, &made, arguments.conversion(&mut progress)?)?;
            }
            Kind::Csv => csv::read(open(path)?, arguments.form(), arguments.dtype()?, &made)?,
            Kind::Raw => {
                let dtype = arguments.dtype()?.ok_or("raw bytes need --dtype")?;
                let shape = arguments.shape.as_deref().ok_or("raw bytes need --shape")?;
                let order = arguments.order().unwrap_or(Order::C);
                raw::read(&mut open(path)?, arguments.offset, dtype, shape, order, &mut file)?;
            }
        }
        Ok(vec![Self::Made(made)])
    }

    fn arrays(arguments: &Arguments, near: &Path) -> Result<Vec<Self>, Failure> {
        let path = &arguments.input;
        let given = vec![Self::Given(path.clone())];
        if arguments.which.member.is_some() {
            return Err(format!("{}: not an archive with members", shown(path)).into());
        }
        let options = crate::reading::options().allow_objects(arguments.allow_objects);
        let mut arrays = Arrays::of(path, &options);
        let mut ranges = Vec::new();
        while let Some(array) = arrays.next() {
            array?;
            ranges.push(arrays.bytes());
            if arguments.drop_trailing && arguments.which.array.is_none() {
                break;
            }
        }
        let more = fs::metadata(path)?.len().saturating_sub(ranges.last().map_or(0, |last| last.end));
        if let Some(wanted) = arguments.which.array {
            let count = ranges.len();
            let range = ranges.into_iter().nth(wanted).ok_or_else(|| no_array(path, wanted, count))?;
            return Ok(vec![Self::cut(path, range, near)?]);
        }
        if more > 0 && arguments.drop_trailing {
            return ranges.into_iter().map(|range| Self::cut(path, range, near)).collect();
        }
        if more > 0 {
            let path = shown(path);
            let what = if ranges.len() == 1 { "its array" } else { "its last array" };
            return Err(format!(
                "{path}: {more} bytes that are not an array follow {what}; --drop-trailing drops them"
            )
            .into());
        }
        match ranges.len() {
            1 => Ok(given),
            _ => ranges.into_iter().map(|range| Self::cut(path, range, near)).collect(),
        }
    }

    /// Copies one of several arrays to a separate file.
    fn cut(path: &Path, bytes: std::ops::Range<u64>, near: &Path) -> Result<Self, Failure> {
        let made = temporary(near)?;
        is_called(&made, path);
        let mut input = open(path)?;
        input.seek(SeekFrom::Start(bytes.start))?;
        let mut file = File::options().write(true).open(&made)?;
        io::copy(&mut input.take(bytes.end - bytes.start), &mut file)?;
        Ok(Self::Made(made))
    }
}

/// A reader that shows progress.
pub(crate) struct Watched<'a, R> {
    pub(crate) input: R,
    pub(crate) progress: &'a mut Progress,
    pub(crate) all: u64,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.progress.add(count as u64, self.all);
        Ok(count)
    }
}

/// Applies order, byte order and dtype in a separate step, if they are requested and the output format cannot
/// apply them itself.
fn changed(
    arguments: &Arguments,
    input: &Input,
    from: Kind,
    to: Kind,
    near: &Path,
) -> Result<Option<TempPath>, Failure> {
    if matches!(to, Kind::Npy | Kind::Stack) {
        return Ok(None); // these apply the changes themselves
    }
    // For raw input, order and dtype describe the input.
    let has_wish = match from {
        Kind::Raw => arguments.byte_order.is_some() || arguments.version.is_some(),
        Kind::Csv => arguments.changes_layout(),
        _ => arguments.changes_layout() || arguments.dtype.is_some(),
    };
    if !has_wish {
        return Ok(None);
    }
    let made = temporary(near)?;
    is_called(&made, &arguments.input);
    let mut progress = Progress::new();
    convert(input.path(), &made, arguments, from, &mut progress)?;
    Ok(Some(made))
}

/// Converts a member of an archive to NPY without an intermediate file, unless its elements are objects.
fn convert_member(arguments: &Arguments) -> Result<bool, Failure> {
    let path = &arguments.input;
    if arguments.which.array.is_some() {
        return Err(format!("{}: --array is for NPY files", shown(path)).into());
    }
    let archive = NpzFile::open_with(path, &crate::reading::options())?;
    let index = member_index(&archive, path, arguments.which.member.as_deref())?;
    if archive.peek(index).is_ok_and(|found| found.header.dtype().has_object()) {
        return Ok(false);
    }
    let Source::Npy(member) = Source::whole_member(&archive, index)? else { return Ok(false) };
    if member.extent()? != Extent::Whole {
        return Ok(false); // the copy is checked as any other file
    }
    let mut progress = Progress::new();
    convert_file(&member, &arguments.output, full_conversion(arguments, Kind::Npz, &mut progress)?)?;
    Ok(true)
}

/// Converts NPY (or a stack) to NPY.
fn convert(
    from: &Path,
    to: &Path,
    arguments: &Arguments,
    kind: Kind,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let options = crate::reading::options().allow_objects(arguments.allow_objects);
    if kind == Kind::Stack && from.is_dir() {
        return Ok(convert_stack_to_npy(from, to, full_conversion(arguments, kind, progress)?)?);
    }
    if NpyReader::new(File::open(from)?)?.dtype().has_object() {
        if arguments.dtype.is_some() || arguments.byte_order.is_some() || arguments.version.is_some() {
            let path = shown(&arguments.input);
            return Err(format!(
                "{path}: the dtype, byte order and version of Python objects cannot be changed"
            )
            .into());
        }
        let array: ndarray_io::DynArray = ndarray_io::npy::read_npy_with(from, &options)?;
        let mut write = WriteOptions::new();
        if let Some(order) = arguments.order() {
            write = write.order(order);
        }
        return Ok(ndarray_io::npy::write_npy_with(to, &array, &write)?);
    }
    Ok(convert_npy(from, to, full_conversion(arguments, kind, progress)?)?)
}

/// Returns all requested changes that apply to this kind of input.
fn full_conversion<'a>(
    arguments: &Arguments,
    kind: Kind,
    progress: &'a mut Progress,
) -> Result<Conversion<'a>, Failure> {
    let mut conversion = arguments.conversion(progress)?;
    if let Some(order) = arguments.order().filter(|_| kind != Kind::Raw) {
        conversion = conversion.order(order);
    }
    if let Some(order) = arguments.byte_order() {
        conversion = conversion.byte_order(order);
    }
    // For CSV and raw input, the dtype has been used for reading.
    if let Some(dtype) = arguments.dtype()?.filter(|_| !matches!(kind, Kind::Csv | Kind::Raw)) {
        conversion = conversion.dtype(dtype, arguments.casting.into());
    }
    Ok(conversion)
}

pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Creates a temporary file that is deleted when it is dropped, or when a signal ends the program.
pub(crate) fn temporary(near: &Path) -> Result<TempPath, Failure> {
    let make = || {
        let made = tempfile::Builder::new().prefix(".ndio-").suffix(".tmp").tempfile_in(near)?;
        Ok(made.into_temp_path())
    };
    Ok(super::interrupt::removed_at_the_end(make).map_err(|error| format!("{}: {error}", near.display()))?)
}

/// Makes a file, which is passed on to standard output if that is what the path says.
pub(crate) fn passed_on<T>(
    output: &Path,
    out: &mut dyn Write,
    make: impl FnOnce(&Path) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if output != Path::new("-") {
        return make(output);
    }
    let passing = temporary(&std::env::temp_dir())?;
    let made = make(&passing)?;
    io::copy(&mut File::open(&passing)?, out)?;
    Ok(made)
}

/// Writes a file, and replaces an existing one atomically when it is complete.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut &File) -> Result<(), Failure>,
) -> Result<(), Failure> {
    ndarray_io::file::replace_file_with(path, &WriteOptions::new(), |mut file| write(&mut file))
}

fn open(path: &Path) -> Result<File, Failure> {
    Ok(File::open(path).map_err(|error| format!("{}: {error}", shown(path)))?)
}

fn with_output(
    path: &Path,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<u8, Failure> {
    if path == Path::new("-") {
        write(out)?;
    } else {
        replace(path, |file| {
            let mut file = io::BufWriter::new(file);
            write(&mut file)?;
            Ok(file.flush()?)
        })?;
    }
    Ok(0)
}

/// Writes the header of an NPY file.
pub(crate) fn write_header(
    dtype: DType,
    order: Order,
    shape: Vec<usize>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let header = ndarray_io::header::Header::new(dtype, order, shape.into())?;
    out.write_all(&npy::format(&header, None)?)?;
    Ok(())
}
