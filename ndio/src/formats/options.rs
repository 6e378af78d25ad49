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

/// An option, whether it was given, and the formats of the input and of the output to which it applies.
pub(crate) struct Given {
    name: &'static str,
    is_given: bool,
    from: &'static [Format],
    to: &'static [Format],
    /// What these formats are called in messages.
    what: &'static str,
}

impl Given {
    /// The options of `ndio convert` that do not apply to every pair of formats.
    pub(crate) fn of(arguments: &Arguments) -> Vec<Self> {
        use Format::{Csv, Npy, Npz, Ra, Raw, Stack};
        const ALL: &[Format] = &Format::ALL;
        let packed = arguments.compression;
        let row = |name, is_given, from, to, what| Self { name, is_given, from, to, what };
        vec![
            row("--compression lz4", packed == Some(CompressionName::Lz4), ALL, &[Ra], "RA files"),
            row("--compression deflate", packed == Some(CompressionName::Deflate), ALL, &[Npz], "archives"),
            row("--compression zstd", packed == Some(CompressionName::Zstd), ALL, &[Npz], "archives"),
            row("--compression", packed.is_some(), ALL, &[Npz, Ra], "archives and RA files"),
            row("--name", arguments.name.is_some(), ALL, &[Npz], "archives"),
            row("--version", arguments.version.is_some(), ALL, &[Npy, Npz, Stack], "NPY files"),
            row(
                "--byte-order",
                arguments.byte_order.is_some(),
                ALL,
                &[Npy, Npz, Ra, Raw, Stack],
                "binary formats",
            ),
            row("--chunk", arguments.chunk.is_some(), ALL, &[Stack], "stacks (--to npy-stack)"),
            row("--axis", arguments.axis.is_some(), ALL, &[Stack], "stacks (--to npy-stack)"),
            row("--shape", arguments.shape.is_some(), &[Raw], ALL, "raw input"),
            row("--offset", arguments.offset.is_some(), &[Raw], ALL, "raw input"),
            row("--header", arguments.header, &[Csv], ALL, "CSV input"),
            row("--drop-trailing", arguments.drop_trailing, &[Npy, Ra], ALL, "NPY and RA input"),
            row(
                "--allow-objects",
                arguments.allow_objects,
                &[Npy, Npz, Ra, Stack],
                &[Npy, Npz, Csv],
                "NPY files, archives and CSV",
            ),
        ]
    }

    /// Returns an error for the first option that was given and has no effect for a pair of formats.
    pub(crate) fn check(arguments: &Arguments, from: Format, to: Format) -> Result<(), Failure> {
        let applies = |row: &Self| row.from.contains(&from) && row.to.contains(&to);
        if let Some(wrong) = Self::of(arguments).iter().find(|row| row.is_given && !applies(row)) {
            return Err(format!("{} is for {}", wrong.name, wrong.what).into());
        }
        match arguments.delimiter.is_some() && from != Format::Csv && to != Format::Csv {
            true => Err("--delimiter is for CSV".into()),
            false => Ok(()),
        }
    }
}
