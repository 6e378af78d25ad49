//! The options of formats, and to which of them each applies.

use clap::ValueEnum;
use ndarray_io::header::Order;
use ndarray_io::{ByteOrder, Casting};

use super::Format;
use crate::convert::Arguments;
use crate::failure::Failure;

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum OrderName {
    C,
    #[value(alias = "f")]
    Fortran,
}

impl From<OrderName> for Order {
    fn from(name: OrderName) -> Self {
        match name {
            OrderName::C => Self::C,
            OrderName::Fortran => Self::Fortran,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ByteOrderName {
    Little,
    Big,
    Native,
}

impl From<ByteOrderName> for ByteOrder {
    fn from(name: ByteOrderName) -> Self {
        match name {
            ByteOrderName::Little => Self::Little,
            ByteOrderName::Big => Self::Big,
            ByteOrderName::Native => Self::NATIVE,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum CastingName {
    Safe,
    SameKind,
    Unsafe,
}

impl From<CastingName> for Casting {
    fn from(name: CastingName) -> Self {
        match name {
            CastingName::Safe => Self::Safe,
            CastingName::SameKind => Self::SameKind,
            CastingName::Unsafe => Self::Unsafe,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompressionName {
    None,
    Deflate,
    Zstd,
    Lz4,
}

use Format::{Csv, JsonLines, Npy, Npz, Ra, Raw, Stack};

/// An option, and the formats of the input and of the output to which it applies.
pub(crate) struct FormatOption {
    name: &'static str,
    is_given: fn(&Arguments) -> bool,
    from: &'static [Format],
    to: &'static [Format],
    /// What these formats are called.
    formats_text: &'static str,
}

const ALL: &[Format] = &[Npy, Npz, Ra, Csv, JsonLines, Raw, Stack];

/// The options of `ndio convert` that do not apply to every pair of formats.
const FORMAT_OPTIONS: &[FormatOption] = &[
    format_option(
        "--compression lz4",
        |given| given.compression == Some(CompressionName::Lz4),
        ALL,
        &[Ra],
        "RA files",
    ),
    format_option(
        "--compression deflate",
        |given| given.compression == Some(CompressionName::Deflate),
        ALL,
        &[Npz],
        "archives",
    ),
    format_option(
        "--compression zstd",
        |given| given.compression == Some(CompressionName::Zstd),
        ALL,
        &[Npz],
        "archives",
    ),
    format_option(
        "--compression",
        |given| given.compression.is_some(),
        ALL,
        &[Npz, Ra],
        "archives and RA files",
    ),
    format_option("--level", |given| given.level.is_some(), ALL, &[Npz], "archives"),
    format_option("--name", |given| given.name.is_some(), ALL, &[Npz], "archives"),
    format_option("--version", |given| given.version.is_some(), ALL, &[Npy, Npz, Stack], "NPY files"),
    format_option(
        "--byte-order",
        |given| given.byte_order.is_some(),
        ALL,
        &[Npy, Npz, Ra, Raw, Stack],
        "binary formats",
    ),
    format_option(
        "--order",
        |given| given.order.is_some(),
        ALL,
        &[Npy, Npz, Ra, Raw, Stack],
        "binary formats",
    ),
    format_option(
        "--casting",
        |given| given.casting.is_some(),
        &[Npy, Npz, Ra, JsonLines, Stack],
        ALL,
        "input that has a dtype",
    ),
    format_option("--chunk", |given| given.chunk.is_some(), ALL, &[Stack], "stacks (--to npy-stack)"),
    format_option("--axis", |given| given.axis.is_some(), ALL, &[Stack], "stacks (--to npy-stack)"),
    format_option("--shape", |given| given.shape.is_some(), &[Raw], ALL, "raw input"),
    format_option("--offset", |given| given.offset.is_some(), &[Raw], ALL, "raw input"),
    format_option("--header", |given| given.header, &[Csv], ALL, "CSV input"),
    format_option("--infer", |given| given.infer, &[Csv], ALL, "CSV input"),
    format_option("--decimal", |given| given.decimal.is_some(), &[Csv], ALL, "CSV input"),
    format_option("--delimiter", |given| given.delimiter.is_some(), &[Csv], &[Csv], "CSV"),
    format_option("--no-formulas", |given| given.no_formulas, ALL, &[Csv], "output in CSV"),
    format_option("--drop-trailing", |given| given.drop_trailing, &[Npy, Ra], ALL, "NPY and RA input"),
    format_option(
        "--allow-objects",
        |given| given.allow_objects,
        &[Npy, Npz, Stack],
        &[Npy, Npz, Csv, JsonLines],
        "input in NPY files and archives, and output in these, CSV and JSON lines",
    ),
];

const fn format_option(
    name: &'static str,
    is_given: fn(&Arguments) -> bool,
    from: &'static [Format],
    to: &'static [Format],
    formats_text: &'static str,
) -> FormatOption {
    FormatOption { name, is_given, from, to, formats_text }
}

impl FormatOption {
    fn applies(&self, from: Format, to: Format) -> bool {
        let (is_from, is_to) = (self.from.contains(&from), self.to.contains(&to));
        // The delimiter is that of the input, or of the output.
        if self.name == "--delimiter" { is_from || is_to } else { is_from && is_to }
    }
}

/// Returns an error for the first option that was given and has no effect for a pair of formats.
pub(crate) fn check_format_options(arguments: &Arguments, from: Format, to: Format) -> Result<(), Failure> {
    match FORMAT_OPTIONS
        .iter()
        .find(|format_option| (format_option.is_given)(arguments) && !format_option.applies(from, to))
    {
        Some(format_option) => {
            Err(format!("{} is for {}", format_option.name, format_option.formats_text).into())
        }
        None => Ok(()),
    }
}

/// Lists for the help to what each option applies.
pub(crate) fn format_options_help() -> String {
    let width = FORMAT_OPTIONS.iter().map(|format_option| format_option.name.len()).max().unwrap_or(0);
    let lines = FORMAT_OPTIONS
        .iter()
        .map(|format_option| format!("  {:<width$}  {}\n", format_option.name, format_option.formats_text));
    format!("Options for some formats only, and errors elsewhere:\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    /// An option that applies to all formats would not apply to one that is missing.
    #[test]
    fn options_for_every_format_list_each_of_them() {
        assert_eq!(ALL, Format::value_variants());
    }
}
