//! `ndio query`: prints headers as YAML, in the form of RA's documentation.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ndarray_io::dtype::Kind;
use ndarray_io::header::Order;
use ndarray_io::ra::RaHeader;
use ndarray_io::{ByteOrder, DType, NpyReader, ra as format};

use super::failure::Failure;
use super::formats::Format;
use super::input::Input;

/// Print a header as YAML, as RA's own query does
#[derive(Args)]
#[command(after_help = "Example:\n  ndio query x.npy")]
pub(crate) struct Arguments {
    /// The form of the text: that of the page of the format, or that of RawArray.jl, which is for RA files
    #[arg(long, value_enum, default_value_t = Form::Page)]
    form: Form,
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Page,
    Julia,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    for path in &arguments.files {
        let input = Input::open(path)?;
        let name = input.name().display();
        match input.format() {
            Format::Ra => {
                let reader = input.ra_reader(&crate::reading::options())?;
                let Some(header) = reader.ra_header() else {
                    return Err(input.at("it has changed, and does not hold an RA array now"));
                };
                match arguments.form {
                    Form::Page => write!(out, "{}", format::query(header, &name.to_string()))?,
                    Form::Julia => writeln!(out, "{}", julia_text(header, &name.to_string()))?,
                }
            }
            _ if arguments.form == Form::Julia => {
                return Err(input.at("the form of RawArray.jl is for RA files"));
            }
            Format::Npz => {
                return Err(input.at("an archive has no header of its own; ndio info shows it"));
            }
            Format::Stack => {
                return Err(input.at("a stack has no header of its own; ndio info shows it"));
            }
            _ => {
                let mut reader = crate::reading::options()
                    .allow_objects(true)
                    .reader(input.file()?)
                    .map_err(|error| error.at_path(input.name()))?;
                print_header(&name.to_string(), &reader, out)?;
                // The array may be followed by any data, so errors are ignored.
                while let Ok(true) = reader.next_array() {
                    print_header(&name.to_string(), &reader, out)?;
                }
            }
        }
    }
    Ok(0)
}

/// Formats a header as `raquery` of RawArray.jl does, without a newline at the end.
fn julia_text(header: &RaHeader, name: &str) -> String {
    /// Flags of RawArray.jl: elements of variable length, and single bits.
    const JULIA_FLAGS: [(&str, u64); 2] = [("compressed", 2), ("bits", 4)];
    let bits = header.elbyte.saturating_mul(8);
    let kind = match header.eltype {
        1 => format!("Int{bits}"),
        2 => format!("UInt{bits}"),
        3 => format!("Float{bits}"),
        4 => format!("Complex{{Float{}}}", bits / 2),
        5 => "Bool".to_owned(),
        _ => format!("user{bits}"),
    };
    let endian = if header.flags & 1 == 0 { "little" } else { "big" };
    let flags = JULIA_FLAGS.map(|(flag, bit)| format!("{flag}: {}\n", header.flags & bit)).concat();
    let dims = header.header.shape();
    let shape: String = dims.iter().map(|dim| format!("  - {dim}\n")).collect();
    let size = header.size;
    format!(
        "---\nname: {name}\nendian: {endian}\n{flags}type: {kind}\nsize: {size}\ndimension: {}\nshape:\n{shape}...",
        dims.len()
    )
}

fn print_header(name: &str, reader: &NpyReader<File>, out: &mut dyn Write) -> Result<(), Failure> {
    let endian = match byte_order(reader.dtype()) {
        Some(ByteOrder::Big) => "big",
        _ => "little",
    };
    write!(out, "---\nname: {name}\nendian: {endian}\ntype: {}\n", ra_type_name(reader.dtype()))?;
    let (dims, size) = (reader.shape(), reader.payload_len().unwrap_or_default());
    write!(out, "size: {size}\ndimension: {}\norder: ", dims.len())?;
    writeln!(out, "{}", if reader.order() == Order::C { "C" } else { "Fortran" })?;
    writeln!(out, "shape:")?;
    dims.iter().try_for_each(|dim| writeln!(out, "  - {dim}"))?;
    writeln!(out, "...")?;
    Ok(())
}

fn byte_order(dtype: &DType) -> Option<ByteOrder> {
    dtype.as_scalar().and_then(ndarray_io::dtype::Scalar::byte_order)
}

/// Returns the name of the dtype in RA.
fn ra_type_name(dtype: &DType) -> String {
    let name = match dtype.as_scalar().map(ndarray_io::dtype::Scalar::kind) {
        Some(Kind::Bool) => "bool",
        Some(Kind::Int) => "int",
        Some(Kind::Uint) => "uint",
        Some(Kind::Float) => "float",
        Some(Kind::Complex) => "complex",
        _ => return dtype.to_string(),
    };
    format!("{name}{}", 8 * dtype.item_size())
}
