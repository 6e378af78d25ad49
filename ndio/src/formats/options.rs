//! The options of formats, and to which of them each applies.

use clap::ValueEnum;
use ndarray_io::Casting;
use ndarray_io::dtype::ByteOrder;
use ndarray_io::header::Order;

use super::Format;
use crate::convert::Arguments;
use crate::failure::Failure;

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum OrderName {
    C,
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

use Format::{Csv, Npy, Npz, Ra, Raw, Stack};

/// An option, and the formats of the input and of the output to which it applies.
pub(crate) struct Row {
    name: &'static str,
    is_given: fn(&Arguments) -> bool,
    from: &'static [Format],
    to: &'static [Format],
    /// What these formats are called.
    what: &'static str,
}

const ALL: &[Format] = &Format::ALL;

/// The options of `ndio convert` that do not apply to every pair of formats.
const TABLE: &[Row] = &[
    row("--compression lz4", |given| given.compression == Some(CompressionName::Lz4), ALL, &[Ra], "RA files"),
    row(
        "--compression deflate",
        |given| given.compression == Some(CompressionName::Deflate),
        ALL,
        &[Npz],
        "archives",
    ),
    row(
        "--compression zstd",
        |given| given.compression == Some(CompressionName::Zstd),
        ALL,
        &[Npz],
        "archives",
    ),
    row("--compression", |given| given.compression.is_some(), ALL, &[Npz, Ra], "archives and RA files"),
    row("--name", |given| given.name.is_some(), ALL, &[Npz], "archives"),
    row("--version", |given| given.version.is_some(), ALL, &[Npy, Npz, Stack], "NPY files"),
    row(
        "--byte-order",
        |given| given.byte_order.is_some(),
        ALL,
        &[Npy, Npz, Ra, Raw, Stack],
        "binary formats",
    ),
    row("--order", |given| given.order.is_some(), ALL, &[Npy, Npz, Ra, Raw, Stack], "binary formats"),
    row("--casting", |given| given.casting.is_some(), &[Npy, Npz, Ra, Stack], ALL, "input that has a dtype"),
    row("--chunk", |given| given.chunk.is_some(), ALL, &[Stack], "stacks (--to npy-stack)"),
    row("--axis", |given| given.axis.is_some(), ALL, &[Stack], "stacks (--to npy-stack)"),
    row("--shape", |given| given.shape.is_some(), &[Raw], ALL, "raw input"),
    row("--offset", |given| given.offset.is_some(), &[Raw], ALL, "raw input"),
    row("--header", |given| given.header, &[Csv], ALL, "CSV input"),
    row("--delimiter", |given| given.delimiter.is_some(), &[Csv], &[Csv], "CSV"),
    row("--drop-trailing", |given| given.drop_trailing, &[Npy, Ra], ALL, "NPY and RA input"),
    row(
        "--allow-objects",
        |given| given.allow_objects,
        &[Npy, Npz, Stack],
        &[Npy, Npz, Csv],
        "input in NPY files and archives, and output in these and CSV",
    ),
];

const fn row(
    name: &'static str,
    is_given: fn(&Arguments) -> bool,
    from: &'static [Format],
    to: &'static [Format],
    what: &'static str,
) -> Row {
    Row { name, is_given, from, to, what }
}

impl Row {
    fn applies(&self, from: Format, to: Format) -> bool {
        let (is_from, is_to) = (self.from.contains(&from), self.to.contains(&to));
        // The delimiter is that of the input, or of the output.
        if self.name == "--delimiter" { is_from || is_to } else { is_from && is_to }
    }
}

/// Returns an error for the first option that was given and has no effect for a pair of formats.
pub(crate) fn check(arguments: &Arguments, from: Format, to: Format) -> Result<(), Failure> {
    match TABLE.iter().find(|row| (row.is_given)(arguments) && !row.applies(from, to)) {
        Some(row) => Err(format!("{} is for {}", row.name, row.what).into()),
        None => Ok(()),
    }
}

/// Lists for the help to what each option applies.
pub(crate) fn help() -> String {
    let width = TABLE.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let lines = TABLE.iter().map(|row| format!("  {:<width$}  {}\n", row.name, row.what));
    format!("Options for some formats only, and errors elsewhere:\n{}", lines.collect::<String>())
}
