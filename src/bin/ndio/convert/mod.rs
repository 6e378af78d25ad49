//! `ndio convert`: from one file to another, of any size in bounded memory. Whatever comes becomes an NPY file beside the output
//! (or is one), and whatever is wanted is made of that: so each format is one step to and one from NPY.

mod options;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ndarray_io::convert::{Conversion, convert_npy, convert_npy_to_ra, convert_ra_to_npy};
use ndarray_io::header::Order;
use ndarray_io::npz::NpzOptions;
use ndarray_io::ra::RaOptions;
use ndarray_io::{DType, NpyReader, NpzFile, NpzWriter, WriteOptions, npy};
use tempfile::TempPath;

use super::open::{Format, by_content, format_of, member_index};
use super::progress::Progress;
use super::{Failure, told};
use super::{csv, raw};
pub(crate) use options::Arguments;
use options::{CompressionName, Kind, kind_of_name};

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let is_standard = |path: &Path| path == Path::new("-");
    let of = |format| match format {
        Format::Npy => Kind::Npy,
        Format::Npz => Kind::Npz,
        Format::Ra => Kind::Ra,
    };
    let from = match (arguments.from, kind_of_name(&arguments.input)) {
        (Some(kind), _) => kind,
        _ if is_standard(&arguments.input) => Kind::Npy,
        // An array in a file of another name is an array still.
        (None, Some(kind @ (Kind::Csv | Kind::Raw))) => by_content(&arguments.input)?.map_or(kind, of),
        _ => of(format_of(&arguments.input)?),
    };
    let to = match arguments.to.or_else(|| kind_of_name(&arguments.output)) {
        Some(kind) => kind,
        None if is_standard(&arguments.output) => Kind::Npy,
        None => {
            let name = arguments.output.display();
            return Err(format!("{name}: its name does not say which format it is to have; --to does").into());
        }
    };
    let is_file = fs::metadata(&arguments.output).map_or(true, |metadata| metadata.is_file());
    let near = match is_standard(&arguments.output) || !is_file {
        true => std::env::temp_dir(),
        false => folder_of(&arguments.output),
    };
    let input = Input::of(arguments, from, &near)?;
    let done = finish(arguments, &input, from, to, &near, out);
    // Who asked knows nothing of files in between.
    let between = match &input {
        Input::Made(path) => path.display().to_string(),
        Input::Given(_) => return done,
    };
    done.map_err(|failure| match told(&failure) {
        text if text.contains(&between) => {
            text.replace(&between, &arguments.input.display().to_string()).into()
        }
        _ => failure,
    })
}

/// Makes the output of an NPY file.
fn finish(
    arguments: &Arguments,
    input: &Input,
    from: Kind,
    to: Kind,
    near: &Path,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let is_standard = |path: &Path| path == Path::new("-");
    if from == Kind::Npy {
        refuse_to_lose_arrays(input.path(), arguments)?;
    }
    let changed = changed(arguments, input, from, to, near)?;
    let npy = changed.as_deref().unwrap_or(input.path());
    match to {
        Kind::Csv => {
            return with_output(&arguments.output, out, |out| csv::write(npy, arguments.delimiter, out));
        }
        Kind::Raw => {
            let order = arguments.order();
            return with_output(&arguments.output, out, |out| raw::write(npy, order, out));
        }
        _ => {}
    }
    // The other formats are written to a file, and from there to standard output.
    let passing = is_standard(&arguments.output).then(|| temporary(near)).transpose()?;
    let output = passing.as_deref().unwrap_or(&arguments.output);
    match to {
        Kind::Npz => {
            refuse_to_lose_members(arguments, output)?;
            let options = NpzOptions::new().compression(arguments.packed()?);
            replace(output, |file| {
                let mut archive = NpzWriter::new_with_options(file, &options);
                let npy = File::open(npy)?;
                let len = npy.metadata()?.len();
                archive.add_raw(format!("{}.npy", arguments.name), npy, len)?;
                archive.finish()?;
                Ok(())
            })?;
        }
        Kind::Ra => {
            let mut progress = Progress::new();
            let is_packed = arguments.compression == Some(CompressionName::Lz4);
            if is_packed {
                let array: ndarray_io::DynArray = ndarray_io::read_npy(npy)?;
                ndarray_io::ra::write_ra_with(output, &array, &RaOptions::new().compressed(true))?;
            } else {
                convert_npy_to_ra(npy, output, arguments.conversion(&mut progress)?)?;
            }
        }
        _ if changed.is_some() => {
            replace(output, |file| Ok(io::copy(&mut File::open(npy)?, file).map(drop)?))?
        }
        _ => {
            let mut progress = Progress::new();
            convert(input.path(), output, arguments, from, &mut progress)?;
        }
    }
    if let Some(path) = passing {
        io::copy(&mut File::open(path)?, out)?;
    }
    Ok(0)
}

/// An error if the output is an archive with members that would be gone.
fn refuse_to_lose_members(arguments: &Arguments, output: &Path) -> Result<(), Failure> {
    let own = format!("{}.npy", arguments.name);
    if arguments.replace || !output.is_file() || by_content(output)? != Some(Format::Npz) {
        return Ok(());
    }
    let archive = NpzFile::open(output)?;
    match archive.members().iter().filter(|member| member.file_name() != own).count() {
        0 => Ok(()),
        others => {
            let path = output.display();
            Err(format!("{path}: it is an archive, of which other members ({others}) would be lost; --replace replaces it").into())
        }
    }
}

/// An error if a file has more arrays after the first, which a conversion would lose.
fn refuse_to_lose_arrays(path: &Path, arguments: &Arguments) -> Result<(), Failure> {
    let mut reader = NpyReader::new(File::open(path)?)?;
    if arguments.drop_trailing || reader.dtype().has_object() {
        return Ok(());
    }
    let more = reader.trailing_len().unwrap_or(0);
    match more {
        0 => Ok(()),
        _ => Err(format!(
            "{}: {more} bytes follow its first array, maybe more arrays; --drop-trailing leaves them out",
            arguments.input.display()
        )
        .into()),
    }
}

/// What is to be converted, as an NPY file.
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

    fn of(arguments: &Arguments, from: Kind, near: &Path) -> Result<Self, Failure> {
        let path = &arguments.input;
        if from == Kind::Npy && path != Path::new("-") {
            return Ok(Self::Given(path.clone()));
        }
        let made = temporary(near)?;
        let mut file = File::options().write(true).open(&made)?;
        match from {
            Kind::Npy => {
                let mut input = io::stdin().lock();
                io::copy(&mut input, &mut file)?;
            }
            Kind::Npz => {
                let archive = NpzFile::open_with(path, &crate::password::options())?;
                let index = member_index(&archive, path, arguments.member.as_deref())?;
                let name = archive.members()[index].file_name();
                archive.copy_raw(name, &mut file)?;
            }
            Kind::Ra => {
                let mut progress = Progress::new();
                drop(file);
                convert_ra_to_npy(
                    path,
                    &made,
                    Conversion::new().drop_trailing(arguments.drop_trailing).progress(|done, all| {
                        progress.set(done, all);
                        ControlFlow::Continue(())
                    }),
                )?;
            }
            Kind::Csv => {
                let form = csv::Form { has_header: arguments.header, delimiter: arguments.delimiter };
                with_input(path, |input| csv::read(input, form, arguments.dtype()?, &made))?
            }
            Kind::Raw => {
                let dtype = arguments.dtype()?.ok_or("raw bytes need --dtype")?;
                let shape = arguments.shape.as_deref().ok_or("raw bytes need --shape")?;
                let order = arguments.order().unwrap_or(Order::C);
                with_input(path, |input| raw::read(input, arguments.offset, dtype, shape, order, &mut file))?;
            }
        }
        Ok(Self::Made(made))
    }
}

/// The input with order, byte order and dtype as they are asked for, if they are others and what is written needs them.
fn changed(
    arguments: &Arguments,
    input: &Input,
    from: Kind,
    to: Kind,
    near: &Path,
) -> Result<Option<TempPath>, Failure> {
    if to == Kind::Npy {
        return Ok(None); // in one step, then
    }
    let has_wish = arguments.byte_order.is_some()
        || arguments.version.is_some()
        || arguments.order.is_some() && from != Kind::Raw
        || arguments.dtype.is_some() && !matches!(from, Kind::Csv | Kind::Raw);
    if !has_wish {
        return Ok(None);
    }
    let made = temporary(near)?;
    let mut progress = Progress::new();
    convert(input.path(), &made, arguments, from, &mut progress)?;
    Ok(Some(made))
}

/// From NPY to NPY.
fn convert(
    from: &Path,
    to: &Path,
    arguments: &Arguments,
    kind: Kind,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let options = crate::password::options().allow_objects(arguments.allow_objects);
    if NpyReader::new(File::open(from)?)?.dtype().has_object() {
        let array: ndarray_io::DynArray = ndarray_io::read_npy_with(from, &options)?;
        let mut write = WriteOptions::new();
        if let Some(order) = arguments.order() {
            write = write.order(order);
        }
        return Ok(ndarray_io::write_npy_with(to, &array, &write)?);
    }
    let mut conversion = arguments.conversion(progress)?;
    if let Some(order) = arguments.order().filter(|_| kind != Kind::Raw) {
        conversion = conversion.order(order);
    }
    if let Some(order) = arguments.byte_order() {
        conversion = conversion.byte_order(order);
    }
    // Of a table and of raw bytes it is the type that they have been read with.
    if let Some(dtype) = arguments.dtype()?.filter(|_| !matches!(kind, Kind::Csv | Kind::Raw)) {
        conversion = conversion.dtype(dtype, arguments.casting.into());
    }
    Ok(convert_npy(from, to, conversion)?)
}

pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A file that goes when it is dropped.
pub(crate) fn temporary(near: &Path) -> Result<TempPath, Failure> {
    let make = || {
        let made = tempfile::Builder::new().prefix(".ndio-").suffix(".tmp").tempfile_in(near)?;
        Ok(made.into_temp_path())
    };
    Ok(super::interrupt::removed_at_the_end(make).map_err(|error| format!("{}: {error}", near.display()))?)
}

/// Writes a file, which replaces an old one when it is complete.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut &File) -> Result<(), Failure>,
) -> Result<(), Failure> {
    ndarray_io::file::replace_file_with(path, &WriteOptions::new(), |mut file| write(&mut file))
}

fn with_input<T>(path: &Path, read: impl FnOnce(&mut dyn Read) -> Result<T, Failure>) -> Result<T, Failure> {
    if path == Path::new("-") {
        return read(&mut io::stdin().lock());
    }
    read(&mut File::open(path).map_err(|error| format!("{}: {error}", path.display()))?)
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
