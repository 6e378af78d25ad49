//! `ndio convert`: converts files of any size in bounded memory.
//!
//! The format of the input opens its arrays, and that of the output writes what the changes make of them.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Args;
use ndarray_io::dtype::Kind;
use ndarray_io::npy::Version;
use ndarray_io::{Casting, DType, ReadOptions};

use super::changes::Changes;
use super::failure::{Failure, at};
use super::form::Form;
use super::formats::{
    ByteOrderName, CastingName, CompressionName, CreateContext, CsvDialect, Format, InferOptions, OrderName,
    check_format_options, format_options_help, has_tabs, parse_dtype, with_form,
};
use super::input::Input;
use super::other_formats;
use super::other_formats::SparseLayout;
use super::output::{Output, temporary_folder_for};
use super::remote::display_name;
use super::select::{Arrays, Selection, file_of};

/// Convert files: format, type, order, axes, compression; save a part
///
/// Formats are NPY, NPZ, RA, CSV, raw bytes, stacks, safetensors and sparse matrices.
#[derive(Args, Clone)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", format_options_help().trim_end()))]
pub(crate) struct Arguments {
    /// The order of the elements
    #[arg(long, value_enum, ignore_case = true, help_heading = "Output")]
    pub(super) order: Option<OrderName>,
    /// The byte order
    #[arg(
        long,
        alias = "endian",
        value_enum,
        ignore_case = true,
        help_heading = "Output",
        hide_short_help = true
    )]
    pub(super) byte_order: Option<ByteOrderName>,
    /// The type of the elements, in NumPy's notation: f4, '<i8', U10; for CSV and raw input, the type to read (of CSV also str, bool)
    #[arg(long, value_name = "DTYPE", help_heading = "Output")]
    pub(super) dtype: Option<String>,
    /// Which casts are allowed; default: same-kind
    #[arg(long, value_enum, help_heading = "Output", hide_short_help = true)]
    pub(super) casting: Option<CastingName>,
    /// The version of the NPY format: 1.0, 2.0 or 3.0
    #[arg(long, value_name = "VERSION", value_parser = parse_version, help_heading = "Output", hide_short_help = true)]
    pub(super) version: Option<Version>,
    /// Compress the members of an archive, or an RA file
    #[arg(long, value_enum, help_heading = "Output")]
    pub(super) compression: Option<CompressionName>,
    /// How well: deflate from 0 to 9 (default: 6), zstd from 1 to 22 (3)
    #[arg(long, value_name = "NUMBER", help_heading = "Output", hide_short_help = true)]
    pub(super) level: Option<u8>,
    #[command(flatten)]
    pub(super) selection: Selection,
    /// The name of the array in the new archive; default: that in the old one, or arr_0, and arr_1, … for further arrays
    #[arg(long, value_name = "NAME", help_heading = "Output", hide_short_help = true)]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) form: Form,
    /// The shape of raw bytes: 100,3; one length may be -1, which is as long as the bytes are
    #[arg(
        long,
        value_name = "LENGTHS",
        allow_hyphen_values = true,
        help_heading = "Input",
        hide_short_help = true
    )]
    pub(super) shape: Option<String>,
    /// Skip this many bytes of raw input
    #[arg(long, value_name = "BYTES", help_heading = "Input", hide_short_help = true)]
    pub(super) offset: Option<u64>,
    /// Skip the first line of CSV, which has the names of the columns
    #[arg(long, help_heading = "Input")]
    pub(super) header: bool,
    /// Give each column of CSV the type that it has, and make records of the rows; names are those of the first line, if it has words only
    #[arg(long, conflicts_with = "dtype", help_heading = "Input")]
    pub(super) infer: bool,
    /// What precedes the fraction of numbers in CSV; default: a point
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter, help_heading = "Input", hide_short_help = true)]
    pub(super) decimal: Option<u8>,
    /// The delimiter of CSV: one character, or tab; default: a comma, and tab in .tsv
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter, help_heading = "Input")]
    pub(super) delimiter: Option<u8>,
    /// Precede texts in CSV that programs for spreadsheets take for formulas (`=`, `+`, `-`, `@`, tab) by an apostrophe
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(super) no_formulas: bool,
    /// The format of the input, regardless of its name
    #[arg(long, value_enum, help_heading = "Input", hide_short_help = true)]
    from: Option<Format>,
    /// The format of the output, regardless of its name
    #[arg(long, value_enum, help_heading = "Output")]
    to: Option<Format>,
    /// Number of indices in each file of a stack; default: as many as fit in about 128 MiB
    #[arg(long, value_name = "LENGTH", help_heading = "Output", hide_short_help = true)]
    pub(super) chunk: Option<usize>,
    /// The axis along which a stack is split into files, from 0; a negative one counts from the last
    #[arg(long, allow_hyphen_values = true, help_heading = "Output", hide_short_help = true)]
    pub(super) axis: Option<isize>,
    /// Replace an existing file
    #[arg(long, alias = "replace", help_heading = "Output")]
    force: bool,
    /// Do nothing unless the input has changed since the output was written; replaces it
    #[arg(long, help_heading = "Output")]
    if_newer: bool,
    /// Drop the data after the first array of an NPY or RA file
    #[arg(long, conflicts_with = "array", help_heading = "Input", hide_short_help = true)]
    pub(super) drop_trailing: bool,
    /// Make a sparse matrix for SciPy of a dense array or of another sparse matrix, sorted and without duplicates: in CSR by
    /// default, with more than two axes in COO
    #[arg(long, value_enum, value_name = "LAYOUT", num_args = 0..=1, require_equals = true, help_heading = "Output", hide_short_help = true)]
    pub(super) sparse: Option<Option<SparseLayout>>,
    /// Convert Python objects, as data
    #[arg(long, alias = "allow-pickle", help_heading = "Input", hide_short_help = true)]
    pub(super) allow_objects: bool,
    /// The input file; - is standard input
    pub(super) input: PathBuf,
    /// The output file; - is standard output
    output: PathBuf,
}

const EXAMPLES: &str = "Examples:\n  ndio convert x.npy x.csv\n  ndio convert x.csv y.npy --dtype f4 --force\n  ndio convert x.npy x.npz --compression deflate\n  ndio convert x.npy part.npy --slice '0:2, ::2'\n  ndio convert x.npy y.npy --order fortran --dtype f4 --force\n  ndio convert x.npy - --to raw > x.raw\n  ndio convert x.raw y.npy --dtype f8 --shape 4,6 --force\n  ndio convert x.npy parts --to npy-stack --chunk 2\n  ndio convert x.npy sparse.npz --sparse\n  ndio convert a.npz a.safetensors";

fn parse_version(text: &str) -> Result<Version, String> {
    match text {
        "1.0" | "1" => Ok(Version::V1),
        "2.0" | "2" => Ok(Version::V2),
        "3.0" | "3" => Ok(Version::V3),
        _ => Err("expected 1.0, 2.0 or 3.0".into()),
    }
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if text == "tab" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] => Err("it already ends a cell or a line".into()),
        [one] if one.is_ascii_alphanumeric() || b"+-.".contains(one) => Err("it occurs in numbers".into()),
        [one] if one.is_ascii() => Ok(*one),
        _ => Err("expected one ASCII character, or tab".into()),
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    if arguments.if_newer && is_older(&arguments.input, &arguments.output) {
        return Ok(0);
    }
    let name = display_name(&arguments.output);
    let is_standard = arguments.output == Path::new("-");
    let wanted = arguments.to.or_else(|| Format::of_extension(&arguments.output));
    // A folder has rules of its own.
    let mut output = Output::new(
        &arguments.output,
        arguments.force || arguments.if_newer || wanted == Some(Format::Stack),
    )?;
    let (input, selection) =
        arguments.selection.open_with(&arguments.input, |path| output.open_input(path))?;
    let (input, arguments) = (Rc::new(input), &Arguments { selection, ..arguments.clone() });
    let Some(output) = other_formats::convert_or_return_output(arguments, &input, wanted, output, out)?
    else {
        return Ok(0);
    };
    let to = match wanted {
        Some(format) => format,
        None if is_standard => Format::Npy,
        None => {
            return Err(format!(
                "{name}: the format cannot be derived from the name; --to sets it: npy, npz, ra, csv, jsonl, raw or npy-stack"
            )
            .into());
        }
    };
    let from = arguments.from.unwrap_or_else(|| format_of(&input));
    check_format_options(arguments, from, to)?;
    if from.has_header() {
        arguments.selection.check_format(&input, from)?;
    } else if arguments.selection.selects_array() {
        return Err(
            input.at("it has one array: --array, --index and --member are for NPY files and archives")
        );
    }
    if input.is_output() && arguments.selection.selects_array() && has_several_arrays(&input, from)? {
        return Err(input.at("the other arrays of the file would be lost; name another output"));
    }
    if arguments.casting.is_some() && arguments.dtype.is_none() {
        return Err("--casting is for --dtype".into());
    }
    let changes = arguments.changes(from)?;
    let mut arrays = from.open(&input, arguments)?;
    if arguments.form.is_given() {
        arrays = with_form(arrays, arguments);
    }
    // The arrays have what they need of it: some systems do not replace a file that is open.
    drop(input);
    to.create(arrays, CreateContext { arguments, changes: &changes, output, stdout: out })?;
    Ok(0)
}

/// Whether a file, or what is to be read of it, was changed before another one.
fn is_older(input: &Path, output: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let input = file_of(input);
    matches!((changed(&input), changed(output)), (Some(input), Some(output)) if input < output)
}

/// Whether a file has several arrays.
fn has_several_arrays(input: &Input, format: Format) -> Result<bool, Failure> {
    let options = crate::reading::options().allow_objects(true);
    match format {
        Format::Npz => Ok(input.npz(&options)?.len() > 1),
        Format::Npy => Ok(Arrays::of(input, &options).take(2).count() > 1),
        _ => Ok(false),
    }
}

/// The content takes precedence over extensions such as .csv: an array in a file with another extension is still an array.
fn format_of(input: &Input) -> Format {
    let by_name = || Format::of_input(input.name());
    input.detected_format().or_else(by_name).unwrap_or_else(|| input.format())
}

fn is_text(dtype: &DType) -> bool {
    dtype.as_scalar().is_some_and(|scalar| scalar.kind() == Kind::Text)
}

impl Arguments {
    pub(super) fn output(&self) -> &Path {
        &self.output
    }

    /// Returns the format of the output that was given, regardless of its name.
    pub(super) fn to(&self) -> Option<Format> {
        self.to
    }

    /// Returns whether the format of the input was given.
    pub(super) fn has_from(&self) -> bool {
        self.from.is_some()
    }

    /// Returns an option that was given for what arrays become, if any.
    pub(super) fn given_array_option(&self) -> Option<&'static str> {
        let given = [
            (self.order.is_some(), "--order"),
            (self.byte_order.is_some(), "--byte-order"),
            (self.dtype.is_some(), "--dtype"),
            (self.casting.is_some(), "--casting"),
            (self.version.is_some(), "--version"),
            (self.selection.selects_array(), "a choice of an array"),
            (self.selection.slice.is_some(), "--slice"),
            (self.selection.field.is_some(), "--field"),
            (self.name.is_some(), "--name"),
            (self.shape.is_some(), "--shape"),
            (self.form.is_given(), "--reshape, --transpose or --squeeze"),
            (self.offset.is_some(), "--offset"),
            (self.header, "--header"),
            (self.delimiter.is_some(), "--delimiter"),
            (self.no_formulas, "--no-formulas"),
            (self.from.is_some(), "--from"),
            (self.chunk.is_some(), "--chunk"),
            (self.axis.is_some(), "--axis"),
            (self.drop_trailing, "--drop-trailing"),
            (self.allow_objects, "--allow-objects"),
        ];
        given.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }

    /// Creates a file without a name for what is between the input and the output.
    pub(super) fn temporary_file_near_output(&self) -> Result<File, Failure> {
        let folder = temporary_folder_for(&self.output);
        tempfile::tempfile_in(&folder).map_err(|error| at(&folder, error.into()))
    }

    /// Whether the output is an archive.
    pub(super) fn is_output_archive(&self) -> bool {
        self.to.or_else(|| Format::of_extension(&self.output)) == Some(Format::Npz)
    }

    pub(super) fn read_options(&self) -> ReadOptions {
        crate::reading::options().allow_objects(self.allow_objects)
    }

    /// Returns what is changed. The order of raw input, and the dtype of raw and CSV input, say what the input is.
    fn changes(&self, from: Format) -> Result<Changes, Failure> {
        let dtype = match self.dtype.as_deref().map(parse_dtype).transpose()? {
            Some(dtype) if from.has_header() || from == Format::JsonLines => {
                Some((dtype, self.casting.map_or(Casting::SameKind, Into::into)))
            }
            // What does not fit was refused when the text was read.
            Some(dtype) if from == Format::Csv && !is_text(&dtype) => Some((dtype, Casting::Unsafe)),
            _ => None,
        };
        Ok(Changes {
            order: self.order.filter(|_| from != Format::Raw).map(Into::into),
            byte_order: self.byte_order.map(Into::into),
            dtype,
            version: self.version,
        })
    }

    /// Returns the CSV dialect.
    pub(super) fn csv_dialect(&self, name: &Path) -> CsvDialect {
        CsvDialect {
            has_header: self.header,
            delimiter: self.delimiter.unwrap_or(if has_tabs(name) { b'\t' } else { b',' }),
            has_no_formulas: self.no_formulas,
            decimal: self.decimal.unwrap_or(b'.'),
        }
    }

    pub(super) fn infer_options(&self) -> InferOptions {
        InferOptions { has_header: self.header, delimiter: self.delimiter, decimal: self.decimal }
    }

    /// Returns the file name of the member for an array that has this name, if any: the first of one, or one of several.
    pub(super) fn member_file_name(&self, own: Option<&str>, number: usize, is_one: bool) -> String {
        match (&self.name, own) {
            (Some(name), _) if is_one => format!("{name}.npy"),
            (None, Some(own)) => format!("{own}.npy"),
            (name, _) => format!("{}_{number}.npy", name.as_deref().unwrap_or("arr")),
        }
    }
}
