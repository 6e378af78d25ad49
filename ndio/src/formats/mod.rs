//! The formats. Each has a file with what it is called, how its files begin, how they are opened, and how they are created.

mod columns;
mod csv;
mod jsonl;
mod npy;
mod npz;
mod options;
mod ra;
mod raw;
mod stack;

use std::io::Seek;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::ValueEnum;
use ndarray_io::NpzFile;

use super::changes::Changes;
use super::convert::Arguments;
use super::failure::Failure;
use super::input::{Input, temporary_file};
use super::output::Output;
use super::remote::display_name;
use super::source::Source;

pub(crate) use options::{
    ByteOrderName, CastingName, CompressionName, OrderName, check_format_options, format_options_help,
};

/// The formats that are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Npy,
    Npz,
    Ra,
    Csv,
    /// JSON lines
    #[value(name = "jsonl", alias = "ndjson")]
    JsonLines,
    Raw,
    /// A folder of NPY files, as Dask writes it
    #[value(name = "npy-stack")]
    Stack,
}

/// What a format does. To add one, write a file with an implementation, and add it to [`Format`] and [`Format::file_format`].
trait FileFormat: Sync {
    /// The name, for `--from` and `--to`.
    fn name(&self) -> &'static str;

    /// What the names of its files end with.
    fn extensions(&self) -> &'static [&'static str];

    /// Whether files of the format begin with these bytes: at least eight, unless the file is shorter.
    fn sniff(&self, first: &[u8]) -> bool;

    /// Opens the arrays of an input that are to be converted.
    fn open(&self, input: &Rc<Input>, arguments: &Arguments) -> Result<PendingArrays, Failure>;

    /// Writes arrays as a file.
    fn create(&self, arrays: PendingArrays, context: CreateContext<'_, '_>) -> Result<(), Failure>;
}

/// An array that is to be converted, and is opened when its turn comes.
pub(crate) struct PendingArray {
    /// Its name in an archive.
    pub(crate) name: Option<String>,
    open: Box<dyn FnOnce() -> Result<Source, Failure>>,
    /// The member of an archive that it is.
    member: Option<Member>,
}

/// Arrays that are to be converted, one after another.
type PendingArrays = Box<dyn ExactSizeIterator<Item = PendingArray>>;

/// A member of an archive, which can be copied as it is.
struct Member {
    archive: Rc<NpzFile>,
    index: usize,
}

impl PendingArray {
    fn new(name: Option<String>, open: impl FnOnce() -> Result<Source, Failure> + 'static) -> Self {
        Self { name, open: Box::new(open), member: None }
    }

    fn open(self) -> Result<Source, Failure> {
        (self.open)()
    }
}

/// What a new file is made with.
pub(crate) struct CreateContext<'a, 'o> {
    pub(crate) arguments: &'a Arguments,
    pub(crate) changes: &'a Changes,
    pub(crate) output: Output,
    /// Standard output.
    pub(crate) stdout: &'o mut dyn std::io::Write,
}

impl Format {
    fn file_format(self) -> &'static dyn FileFormat {
        match self {
            Self::Npy => &npy::Npy,
            Self::Npz => &npz::Npz,
            Self::Ra => &ra::Ra,
            Self::Csv => &csv::Csv,
            Self::JsonLines => &jsonl::JsonLines,
            Self::Raw => &raw::Raw,
            Self::Stack => &stack::Stack,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.file_format().name()
    }

    /// Whether files of the format say what they are, and what their elements are.
    pub(crate) fn has_header(self) -> bool {
        !self.is_table() && self != Self::Raw
    }

    /// Whether files of the format are tables of text, whose types are found.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Self::Csv | Self::JsonLines)
    }

    /// Detects a format by the first bytes of a file.
    pub(crate) fn detect(first: &[u8]) -> Option<Self> {
        Self::value_variants().iter().copied().find(|format| format.file_format().sniff(first))
    }

    /// Guesses the format of an input from the end of its name, before which may be that of gzip.
    pub(crate) fn of_input(path: &Path) -> Option<Self> {
        Self::of_extension(&unpacked_name(path))
    }

    /// Guesses the format from the end of a name.
    pub(crate) fn of_extension(path: &Path) -> Option<Self> {
        // That of a URL is before its query.
        let name = display_name(path);
        let extension = Path::new(&name).extension()?.to_str()?;
        let is_its = |known: &&'static str| known.eq_ignore_ascii_case(extension);
        Self::value_variants()
            .iter()
            .copied()
            .find(|format| format.file_format().extensions().iter().any(is_its))
    }

    pub(crate) fn open(self, input: &Rc<Input>, arguments: &Arguments) -> Result<PendingArrays, Failure> {
        self.file_format().open(input, arguments)
    }

    pub(crate) fn create(self, arrays: PendingArrays, context: CreateContext<'_, '_>) -> Result<(), Failure> {
        self.file_format().create(arrays, context)
    }
}

/// Returns the name of an input without the end that says that it is compressed by gzip.
fn unpacked_name(path: &Path) -> PathBuf {
    let name = PathBuf::from(display_name(path));
    let is_gzip = name.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    if is_gzip { name.with_extension("") } else { name }
}

/// Returns a table of text as an NPY file with the types that its columns have, if an input is one by its name.
pub(crate) fn table_as_npy(input: &Input) -> Result<Option<Input>, Failure> {
    let format = Format::of_input(input.name()).filter(|format| format.is_table());
    let Some(format) = format.filter(|_| input.detected_format().is_none()) else { return Ok(None) };
    let mut made = temporary_file()?;
    match format {
        Format::JsonLines => jsonl::infer(input, &made)?,
        _ => csv::infer(input, &made)?,
    }
    made.rewind()?;
    Input::of_file(made, input.name()).map(Some)
}

/// Returns a table of text as an array; any other input as it is.
pub(crate) fn as_array(input: Input) -> Result<Input, Failure> {
    Ok(table_as_npy(&input)?.unwrap_or(input))
}

/// Returns an iterator over one array.
fn single_array(one: PendingArray) -> PendingArrays {
    Box::new(std::iter::once(one))
}

/// Returns arrays whose axes are changed, each in a file without a name beside the output.
pub(crate) fn with_form(arrays: PendingArrays, arguments: &Arguments) -> PendingArrays {
    let arguments = Rc::new(arguments.clone());
    Box::new(arrays.map(move |array| {
        let arguments = Rc::clone(&arguments);
        let open = move || arguments.form.applied((array.open)()?, arguments.temporary_file_near_output()?);
        PendingArray { open: Box::new(open), name: array.name, member: array.member }
    }))
}

/// Returns the only array that is to be converted, for formats of one array.
fn open_only_array(mut arrays: PendingArrays, arguments: &Arguments) -> Result<Source, Failure> {
    match (arrays.len(), arrays.next()) {
        (1, Some(one)) => one.open(),
        (count, _) => Err(format!(
            "{}: it has {count} arrays, but the output can have one; --array selects one, counted from 0",
            display_name(&arguments.input)
        )
        .into()),
    }
}

pub(crate) use csv::{CsvDialect, InferOptions, has_tabs};
pub(crate) use npy::{parse_dtype, refuse_bytes_after, refuse_trailing};
pub(crate) use npz::{compression_of, options_like, write as write_archive};
pub(crate) use raw::{parse_shape, shape_words};
