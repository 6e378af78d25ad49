//! Options for reading that every subcommand has.

use std::sync::OnceLock;

use clap::{Args, ValueEnum};
use ndarray_io::ReadOptions;
use ndarray_io::dtype::{Kind, LongDoubleFormat, Narrow, Scalar};
use ndarray_io::options::DisplayOptions;

use super::failure::Failure;
use super::{growth, password};

/// How RA files are read
#[derive(Args, Clone, Copy)]
pub(crate) struct RaReadOptions {
    /// Ignore unknown flags of RA files, and read data that is marked as compressed but is not
    #[arg(long, global = true, hide_short_help = true, help_heading = "RA files")]
    ignore_ra_flags: bool,
    /// Read composites of one byte as bools: ra.py writes bools in this way
    #[arg(long, global = true, hide_short_help = true, help_heading = "RA files")]
    ra_bools: bool,
}

/// What numbers are that files do not tell
#[derive(Args, Clone, Copy)]
pub(crate) struct NumberOptions {
    /// The format of long doubles (f16), which files do not say, to show, convert and compare them as numbers:
    /// that of x86, of PowerPC (double-double), or of most other machines
    #[arg(long, global = true, hide_short_help = true, value_name = "FORMAT", help_heading = "Input")]
    long_double: Option<LongDoubleName>,
    /// Read raw bytes (V1, V2) as numbers of the package ml_dtypes, such as bfloat16, float8_e4m3fn or int4
    #[arg(long, global = true, hide_short_help = true, help_heading = "Input", value_name = "TYPE", value_parser = parse_narrow_type)]
    r#as: Option<Narrow>,
}

fn parse_narrow_type(name: &str) -> Result<Narrow, String> {
    Narrow::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Narrow::ALL.iter().map(|narrow| narrow.name()).collect();
        format!("expected {}", names.join(", "))
    })
}

#[derive(Clone, Copy, ValueEnum)]
enum LongDoubleName {
    X87,
    Quad,
    DoubleDouble,
}

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    numbers: NumberOptions,
    #[command(flatten)]
    password: password::Arguments,
    #[command(flatten)]
    ra: RaReadOptions,
    #[command(flatten)]
    growth: growth::GrowthOptions,
}

static RA_OPTIONS: OnceLock<RaReadOptions> = OnceLock::new();
static NUMBER_OPTIONS: OnceLock<NumberOptions> = OnceLock::new();

/// Sets the options for all further reads.
pub(crate) fn set(arguments: &Options) -> Result<(), Failure> {
    growth::set(arguments.growth);
    RA_OPTIONS.get_or_init(|| arguments.ra);
    NUMBER_OPTIONS.get_or_init(|| arguments.numbers);
    password::load(&arguments.password)
}

/// Returns the format of long doubles, if it is known.
pub(crate) fn long_double() -> Option<LongDoubleFormat> {
    Some(match NUMBER_OPTIONS.get()?.long_double? {
        LongDoubleName::X87 => LongDoubleFormat::X87,
        LongDoubleName::Quad => LongDoubleFormat::Quad,
        LongDoubleName::DoubleDouble => LongDoubleFormat::DoubleDouble,
    })
}

/// Returns the format of a number's long doubles, if it consists of them and their format is known.
pub(crate) fn long_double_format_of(scalar: &Scalar) -> Option<LongDoubleFormat> {
    match (scalar.kind(), scalar.size()) {
        (Kind::Float, 12) | (Kind::Complex, 24) => Some(LongDoubleFormat::X87),
        (Kind::Float, 16) | (Kind::Complex, 32) => long_double(),
        _ => None,
    }
}

/// Returns how elements are shown.
pub(crate) fn display_options() -> DisplayOptions {
    match long_double() {
        Some(format) => DisplayOptions::new().long_double(format),
        None => DisplayOptions::new(),
    }
}

/// Returns the options.
pub(crate) fn options() -> ReadOptions {
    let mut options = ReadOptions::new();
    if let Some(ra) = RA_OPTIONS.get() {
        options = options.ignore_ra_flags(ra.ignore_ra_flags).ra_bytes_are_bools(ra.ra_bools);
    }
    if let Some(narrow) = NUMBER_OPTIONS.get().and_then(|numbers| numbers.r#as) {
        options = options.raw_bytes_are(narrow);
    }
    if let Some(format) = long_double() {
        options = options.long_double(format);
    }
    match password::get() {
        Some(password) => options.password(password),
        None => options,
    }
}
