//! The options of `ndio convert`.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ndarray_io::convert::Conversion;
use ndarray_io::dtype::ByteOrder;
use ndarray_io::header::Order;
use ndarray_io::npy::Version;
use ndarray_io::npz::Compression;
use ndarray_io::{Casting, DType, WriteOptions, npy};

use super::super::Failure;
use super::super::csv::Form;
use super::super::progress::Progress;
use super::super::source::Choice;

/// Convert between NPY, NPZ, RA, CSV and raw bytes; change order, byte order, type, compression
#[derive(Args, Clone)]
#[command(
    after_help = "Examples:\n  ndio convert x.npy x.csv\n  ndio convert x.csv y.npy --dtype f4\n  ndio convert x.npy x.npz --compression deflate\n  ndio convert x.npy y.npy --order fortran --dtype f4\n  ndio convert x.npy - --to raw > x.raw\n  ndio convert x.raw y.npy --dtype f8 --shape 4,6\n  ndio convert x.npy parts --to npy-stack --chunk 2"
)]
pub(crate) struct Arguments {
    /// The order of the elements
    #[arg(long, value_enum)]
    pub(super) order: Option<OrderName>,
    /// The byte order
    #[arg(long, value_enum)]
    pub(super) byte_order: Option<ByteOrderName>,
    /// The type of the elements, in NumPy's notation: f4, '<i8', U10; for CSV and raw input, the type to read
    #[arg(long, value_name = "DTYPE")]
    pub(super) dtype: Option<String>,
    /// Which casts are allowed
    #[arg(long, value_enum, default_value = "same-kind")]
    pub(super) casting: CastingName,
    /// The version of the NPY format: 1.0, 2.0 or 3.0
    #[arg(long, value_name = "VERSION", value_parser = version)]
    pub(super) version: Option<Version>,
    /// Compress the members of an archive, or an RA file
    #[arg(long, value_enum)]
    pub(super) compression: Option<CompressionName>,
    #[command(flatten)]
    pub(super) which: Choice,
    /// The name of the array in the new archive; default: arr_0, and arr_1, … for further arrays
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// The shape of raw bytes: 100,3
    #[arg(long, value_name = "LENGTHS")]
    pub(super) shape: Option<String>,
    /// Skip this many bytes of raw input
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(super) offset: u64,
    /// Skip the first line of CSV, which has the names of the columns
    #[arg(long)]
    pub(super) header: bool,
    /// The delimiter of CSV: one character, or tab
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = delimiter)]
    pub(super) delimiter: u8,
    /// The format of the input, regardless of its name
    #[arg(long, value_enum)]
    pub(super) from: Option<Kind>,
    /// The format of the output, regardless of its name
    #[arg(long, value_enum)]
    pub(super) to: Option<Kind>,
    /// Number of indices in each file of a stack; default: as many as fit in about 128 MiB
    #[arg(long, value_name = "LENGTH")]
    pub(super) chunk: Option<usize>,
    /// The axis along which a stack is split into files; a negative one counts from the last
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    pub(super) axis: isize,
    /// Replace an archive even if it has other members
    #[arg(long)]
    pub(super) replace: bool,
    /// Drop the data after the first array of an NPY or RA file
    #[arg(long)]
    pub(super) drop_trailing: bool,
    /// Convert Python objects, as data
    #[arg(long)]
    pub(super) allow_objects: bool,
    /// The input file; - is standard input
    pub(super) input: PathBuf,
    /// The output file, which replaces an existing one; - is standard output
    pub(super) output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    Npy,
    Npz,
    Ra,
    Csv,
    Raw,
    /// A folder of NPY files, as Dask writes it
    #[value(name = "npy-stack")]
    Stack,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum OrderName {
    C,
    Fortran,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum ByteOrderName {
    Little,
    Big,
    Native,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum CastingName {
    Safe,
    SameKind,
    Unsafe,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum CompressionName {
    None,
    Deflate,
    Zstd,
    Lz4,
}

fn version(text: &str) -> Result<Version, String> {
    match text {
        "1.0" | "1" => Ok(Version::V1),
        "2.0" | "2" => Ok(Version::V2),
        "3.0" | "3" => Ok(Version::V3),
        _ => Err("expected 1.0, 2.0 or 3.0".into()),
    }
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

/// Guesses the format from the extension.
pub(super) fn kind_of_name(path: &Path) -> Option<Kind> {
    match path.extension()?.to_str()? {
        "npy" => Some(Kind::Npy),
        "npz" => Some(Kind::Npz),
        "ra" => Some(Kind::Ra),
        "csv" => Some(Kind::Csv),
        "raw" | "bin" | "dat" => Some(Kind::Raw),
        _ => None,
    }
}

impl Arguments {
    /// Returns an error if an option was given that does not apply to these formats, and would have no effect.
    pub(super) fn check_formats(&self, from: Kind, to: Kind) -> Result<(), Failure> {
        use Kind::{Csv, Npy, Npz, Ra, Raw, Stack};
        let packed = self.compression.filter(|name| *name != CompressionName::None);
        // Whether the option is given, whether it applies, its name, and to what it applies.
        let rules = [
            (packed == Some(CompressionName::Lz4), to == Ra, "--compression lz4", "RA files"),
            (
                packed.is_some_and(|name| name != CompressionName::Lz4),
                to == Npz,
                "--compression",
                "archives (and lz4 for RA files)",
            ),
            (self.compression.is_some(), matches!(to, Npz | Ra), "--compression", "archives and RA files"),
            (self.name.is_some(), to == Npz, "--name", "archives"),
            (self.replace, to == Npz, "--replace", "archives"),
            (self.version.is_some(), matches!(to, Npy | Npz | Stack), "--version", "NPY files"),
            (self.byte_order.is_some(), to != Csv, "--byte-order", "binary formats"),
            (self.chunk.is_some(), to == Stack, "--chunk", "a stack (--to npy-stack)"),
            (self.axis != 0, to == Stack, "--axis", "a stack (--to npy-stack)"),
            (self.shape.is_some(), from == Raw, "--shape", "raw input"),
            (self.offset > 0, from == Raw, "--offset", "raw input"),
            (self.header, from == Csv, "--header", "CSV input"),
            (self.delimiter != b',', from == Csv || to == Csv, "--delimiter", "CSV"),
        ];
        match rules.into_iter().find(|(is_given, applies, ..)| *is_given && !applies) {
            Some((_, _, name, what)) => Err(format!("{name} is for {what}").into()),
            None => Ok(()),
        }
    }

    /// Returns the name of the member for one of `count` arrays.
    pub(super) fn member_name(&self, number: usize, count: usize) -> String {
        match (&self.name, count) {
            (Some(name), 1) => format!("{name}.npy"),
            (name, _) => format!("{}_{number}.npy", name.as_deref().unwrap_or("arr")),
        }
    }

    /// Whether the order, byte order or version is to be changed.
    pub(super) fn changes_layout(&self) -> bool {
        self.order.is_some() || self.byte_order.is_some() || self.version.is_some()
    }

    /// Whether arrays keep their names and everything else but the compression.
    pub(super) fn keeps_arrays(&self) -> bool {
        self.name.is_none() && self.dtype.is_none() && !self.changes_layout() && !self.drop_trailing
    }

    /// Returns the CSV dialect.
    pub(super) fn form(&self) -> Form {
        Form { has_header: self.header, delimiter: self.delimiter }
    }

    pub(super) fn order(&self) -> Option<Order> {
        self.order.map(|order| match order {
            OrderName::C => Order::C,
            OrderName::Fortran => Order::Fortran,
        })
    }

    pub(super) fn byte_order(&self) -> Option<ByteOrder> {
        self.byte_order.map(|order| match order {
            ByteOrderName::Little => ByteOrder::Little,
            ByteOrderName::Big => ByteOrder::Big,
            ByteOrderName::Native => ByteOrder::NATIVE,
        })
    }

    pub(super) fn packed(&self) -> Result<Compression, Failure> {
        Ok(match self.compression {
            None | Some(CompressionName::None) => Compression::Stored,
            Some(CompressionName::Deflate) => Compression::deflated(),
            Some(CompressionName::Zstd) => Compression::Zstd(3),
            Some(CompressionName::Lz4) => return Err("LZ4 is supported in RA files only".into()),
        })
    }

    /// Returns the requested dtype, with its byte order.
    pub(super) fn dtype(&self) -> Result<Option<DType>, Failure> {
        self.dtype.as_deref().map(dtype).transpose()
    }

    pub(super) fn conversion<'a>(&self, progress: &'a mut Progress) -> Result<Conversion<'a>, Failure> {
        let mut write = WriteOptions::new();
        if let Some(version) = self.version {
            write = write.version(version);
        }
        let conversion = Conversion::new()
            .read_options(crate::reading::options())
            .write_options(write)
            .progress(|done, all| {
                progress.set(done, all);
                ControlFlow::Continue(())
            });
        Ok(conversion)
    }
}

/// Parses a dtype in NumPy's notation, with or without byte order and quotes.
pub(crate) fn dtype(text: &str) -> Result<DType, Failure> {
    let descr = if text.starts_with(['[', '{', '(', '\'']) { text.to_owned() } else { format!("'{text}'") };
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (), }}");
    let mut file = b"\x93NUMPY\x02\x00".to_vec();
    file.extend((header.len() as u32 + 1).to_le_bytes());
    file.extend(header.bytes().chain([b'\n']));
    match npy::parse(&file) {
        Ok(npy::Parsed::Done(found, _)) => Ok(found.header.dtype().clone()),
        _ => Err(format!(
            "'{text}' is not a dtype; examples are f4, '>i8', U10, M8[ns], [('x', 'f8'), ('n', 'i4')]"
        )
        .into()),
    }
}

impl Arguments {
    pub(crate) fn inputs(&mut self) -> Vec<&mut PathBuf> {
        vec![&mut self.input]
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if text == "tab" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] => Err("it already ends a cell or a line".into()),
        [one] if one.is_ascii_alphanumeric() || b"+-.".contains(one) => Err("it occurs in numbers".into()),
        [one] if one.is_ascii() => Ok(*one),
        _ => Err("expected one ASCII character, or tab".into()),
    }
}
