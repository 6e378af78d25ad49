//! Options for reading that every subcommand has.

use std::sync::OnceLock;

use clap::{Args, ValueEnum};
use ndarray_io::ReadOptions;
use ndarray_io::dtype::LongDoubleFormat;

use super::Failure;
use super::password;

/// How RA files are read
#[derive(Args, Clone, Copy)]
pub(crate) struct RaFiles {
    /// Ignore unknown flags of RA files, and read data that is marked as compressed but is not
    #[arg(long, global = true, help_heading = "RA files")]
    ignore_ra_flags: bool,
    /// Read composites of one byte as bools: ra.py writes bools in this way
    #[arg(long, global = true, help_heading = "RA files")]
    ra_bools: bool,
}

/// How `longdouble`s are read
#[derive(Args, Clone, Copy)]
pub(crate) struct LongDoubles {
    /// The format of long doubles (f16), which files do not say, to convert, compare or plot them:
    /// that of x86, or of most other machines
    #[arg(long, global = true, value_name = "FORMAT")]
    long_double: Option<LongDoubleName>,
}

#[derive(Clone, Copy, ValueEnum)]
enum LongDoubleName {
    X87,
    Quad,
}

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    long: LongDoubles,
    #[command(flatten)]
    password: password::Arguments,
    #[command(flatten)]
    ra: RaFiles,
}

static RA: OnceLock<RaFiles> = OnceLock::new();
static LONG: OnceLock<LongDoubles> = OnceLock::new();

/// Sets the options for all further reads.
pub(crate) fn set(arguments: &Options) -> Result<(), Failure> {
    RA.get_or_init(|| arguments.ra);
    LONG.get_or_init(|| arguments.long);
    password::find(&arguments.password)
}

/// Returns the options.
pub(crate) fn options() -> ReadOptions {
    let mut options = ReadOptions::new();
    if let Some(ra) = RA.get() {
        options = options.ignore_ra_flags(ra.ignore_ra_flags).ra_bytes_are_bools(ra.ra_bools);
    }
    options = match LONG.get().and_then(|long| long.long_double) {
        Some(LongDoubleName::X87) => options.long_double(LongDoubleFormat::X87),
        Some(LongDoubleName::Quad) => options.long_double(LongDoubleFormat::Quad),
        None => options,
    };
    match password::get() {
        Some(password) => options.password(password),
        None => options,
    }
}
