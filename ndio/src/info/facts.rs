//! What is known of files and their arrays: `Serialize` for programs, `print` for people.

use std::io::{self, Write};

use ndarray_io::header::{Extent, Order, Shape};
use ndarray_io::{ByteOrder, DType, NpyReader};
use ndarray_io_formats::sparse::SparseInfo;
use serde::Serialize;

use crate::cells::dtype_text;
use crate::failure::{Failure, escape_for_terminal};
use crate::formats::Format;
use crate::input::Input;
use crate::summary::Summary;

/// What is known of the file itself.
#[derive(Serialize)]
pub(super) struct FileFacts {
    pub(super) file: String,
    pub(super) format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sparse: Option<SparseFacts>,
}

/// What is known of the sparse matrix in an archive.
#[derive(Serialize)]
pub(super) struct SparseFacts {
    format: String,
    shape: Vec<usize>,
    dtype: String,
    stored: u64,
    density: f64,
    is_array: bool,
}

/// What is known of a tensor of safetensors.
#[derive(Serialize)]
pub(super) struct TensorFacts<'a> {
    pub(super) name: &'a str,
    #[serde(flatten)]
    pub(super) header: HeaderFacts,
    pub(super) data_offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stats: Option<Summary>,
}

/// What is known of a tensor whose elements share bytes.
#[derive(Serialize)]
pub(super) struct PackedFacts<'a> {
    pub(super) name: &'a str,
    /// What safetensors call its dtype.
    pub(super) packed: &'a str,
}

impl SparseFacts {
    pub(super) fn of(info: SparseInfo) -> Self {
        let elements: f64 = info.shape.iter().map(|length| *length as f64).product();
        Self {
            format: info.format,
            dtype: dtype_text(&info.dtype),
            stored: info.stored,
            density: if elements > 0.0 { info.stored as f64 / elements } else { 0.0 },
            shape: info.shape,
            is_array: info.is_array,
        }
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let (format, kind) = (self.format.to_uppercase(), if self.is_array { "array" } else { "matrix" });
        let shape = Shape::from(self.shape.as_slice());
        let percent = 100.0 * self.density;
        writeln!(
            out,
            "  sparse {kind} in {format}: {} {shape}, {} stored elements ({percent:.3} %)",
            self.dtype, self.stored
        )
    }
}

/// What is known of an array from its header.
#[derive(Serialize)]
pub(super) struct HeaderFacts {
    pub(super) dtype: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Vec<FieldFacts>>,
    shape: Vec<usize>,
    order: &'static str,
    item_size: usize,
    elements: Option<u64>,
    /// `None` of a pickle, which has to be read to find its length.
    pub(super) bytes: Option<u64>,
}

#[derive(Serialize)]
struct FieldFacts {
    name: String,
    dtype: String,
    offset: usize,
}

/// What is known of one array of a file.
#[derive(Serialize)]
pub(super) struct ArrayFacts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    #[serde(flatten)]
    pub(super) header: HeaderFacts,
    #[serde(flatten)]
    pub(super) place: ElementLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stats: Option<Summary>,
}

/// Where the elements of an array are.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ElementLocation {
    File(DataFacts),
    Parts {
        axis: usize,
        parts: Vec<usize>,
    },
    /// In a table of text, or within another array.
    Part {},
}

/// What is known of the data of an array.
#[derive(Serialize, Default)]
pub(super) struct DataFacts {
    pub(super) data_offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stored_bytes: Option<u64>,
    /// Whether the file has all of it, if that is known without reading it.
    pub(super) is_whole: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) missing: Option<u64>,
    pub(super) trailing: Option<u64>,
    pub(super) can_be_mapped: bool,
    #[serde(flatten)]
    pub(super) ra: Option<RaFacts>,
}

/// The numbers of an RA header.
#[derive(Serialize)]
pub(super) struct RaFacts {
    pub(super) flags: u64,
    pub(super) eltype: u64,
    pub(super) elbyte: u64,
}

impl FileFacts {
    pub(super) fn of(input: &Input, format: Format) -> Result<Self, Failure> {
        let file_size = if format == Format::Stack { None } else { Some(input.size()?) };
        Ok(Self { file: input.name().display().to_string(), format: format.name(), file_size, sparse: None })
    }

    /// Prints the file, and the version of NPY if all of it is one array.
    pub(super) fn print(&self, version: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}: {}", escape_for_terminal(&self.file), self.format.to_uppercase())?;
        if let Some(version) = version {
            write!(out, " {version}")?;
        }
        if let Some(bytes) = self.file_size {
            write!(out, ", {bytes} bytes")?;
        }
        writeln!(out)?;
        self.sparse.as_ref().map_or(Ok(()), |sparse| sparse.print(out))
    }

    /// Prints the file with the arrays that are in it, and returns whether all of them are whole.
    pub(super) fn print_with_arrays(
        self,
        arrays: &[ArrayFacts],
        json: bool,
        out: &mut dyn Write,
    ) -> Result<bool, Failure> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Arrays<'a> {
            One(&'a ArrayFacts),
            Several { arrays: &'a [ArrayFacts] },
        }
        #[derive(Serialize)]
        struct FileWithArrays<'a> {
            #[serde(flatten)]
            file: FileFacts,
            #[serde(flatten)]
            arrays: Arrays<'a>,
        }
        match (json, arrays) {
            (true, _) => {
                let arrays = match arrays {
                    [one] => Arrays::One(one),
                    arrays => Arrays::Several { arrays },
                };
                serde_json::to_writer(&mut *out, &FileWithArrays { file: self, arrays })?;
                writeln!(out)?;
            }
            (false, [one]) => {
                self.print(one.version.as_deref(), out)?;
                one.print(out)?;
            }
            (false, several) => {
                self.print(None, out)?;
                several.iter().enumerate().try_for_each(|(number, one)| one.print_numbered(number, out))?;
            }
        }
        Ok(arrays.iter().all(ArrayFacts::is_sound))
    }
}

/// A list in the JSON of a file, written item by item: there may be millions.
pub(super) struct JsonList {
    is_empty: bool,
}

impl JsonList {
    pub(super) fn begin(file: &FileFacts, name: &str, out: &mut dyn Write) -> Result<Self, Failure> {
        let file = serde_json::to_string(file)?;
        write!(out, "{},\"{name}\":[", file.strip_suffix('}').unwrap_or(&file))?;
        Ok(Self { is_empty: true })
    }

    pub(super) fn push(&mut self, item: &impl Serialize, out: &mut dyn Write) -> Result<(), Failure> {
        if !std::mem::take(&mut self.is_empty) {
            out.write_all(b",")?;
        }
        Ok(serde_json::to_writer(out, item)?)
    }

    pub(super) fn end(self, out: &mut dyn Write) -> Result<(), Failure> {
        Ok(writeln!(out, "]}}")?)
    }
}

impl HeaderFacts {
    pub(super) fn of(dtype: &DType, order: Order, shape: &[usize]) -> Self {
        let shape = Shape::from(shape);
        let field = |field: &ndarray_io::dtype::Field| FieldFacts {
            name: field.name().to_owned(),
            dtype: dtype_text(field.dtype()),
            offset: field.offset(),
        };
        let fields = match dtype {
            DType::Record(record) => Some(record.fields().iter().map(field).collect()),
            _ => None,
        };
        Self {
            dtype: dtype_text(dtype),
            fields,
            shape: shape.dims().to_vec(),
            order: if order == Order::C { "C" } else { "Fortran" },
            item_size: dtype.item_size(),
            elements: shape.len(),
            bytes: shape.byte_len(dtype.item_size()),
        }
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "  dtype   {}", self.dtype)?;
        for field in self.fields.iter().flatten() {
            writeln!(out, "  {:>6}  {}  {}", field.offset, field.name, field.dtype)?;
        }
        writeln!(out, "  shape   {}, {} order", Shape::from(self.shape.as_slice()), self.order)
    }
}

impl DataFacts {
    /// Data at a position of a file, and how much of it is there, if that is known without reading all of it.
    pub(super) fn at(data_offset: u64, extent: Option<Extent>) -> Self {
        let trailing = extent.and_then(Extent::trailing);
        Self {
            data_offset,
            is_whole: extent.map(|extent| extent.trailing().is_some()),
            missing: extent.map(Extent::missing).filter(|missing| *missing > 0),
            trailing,
            ..Self::default()
        }
    }
}

impl ArrayFacts {
    pub(super) fn new(header: HeaderFacts, data: DataFacts) -> Self {
        Self { version: None, header, place: ElementLocation::File(data), stats: None }
    }

    /// The array that a reader has come to.
    pub(super) fn of_npy<R: io::Read>(reader: &mut NpyReader<R>) -> Self {
        let mut header = HeaderFacts::of(reader.dtype(), reader.order(), reader.shape());
        let mut data = DataFacts::at(reader.data_offset(), reader.extent());
        let is_pickle = reader.dtype().has_object();
        if is_pickle {
            // It must be read to find its end.
            header.bytes = None;
            data.is_whole = Some(true);
        }
        data.can_be_mapped = data.is_whole == Some(true) && is_native_endian(reader.dtype()) && !is_pickle;
        let version = reader.npy_header().map(|header| header.version.to_string());
        Self { version, ..Self::new(header, data) }
    }

    /// Whether the array has all of its data, and its elements could be read, if they were.
    pub(super) fn is_sound(&self) -> bool {
        !matches!(&self.place, ElementLocation::File(DataFacts { is_whole: Some(false), .. }))
            && !self.stats.as_ref().is_some_and(Summary::has_failed)
    }

    /// Prints one of several arrays.
    pub(super) fn print_numbered(&self, number: usize, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "  array {number}, NPY {}", self.version.as_deref().unwrap_or_default())?;
        self.print(out)
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.header.print(out)?;
        let size = self.header.bytes.map_or_else(|| "a pickle".to_owned(), |bytes| format!("{bytes} bytes"));
        match &self.place {
            ElementLocation::Parts { axis, parts } => {
                writeln!(out, "  parts   {}, along axis {axis}", part_lengths_text(parts))?;
                writeln!(out, "  data    {size}")?;
            }
            ElementLocation::File(data) => data.print(&size, out)?,
            ElementLocation::Part {} => {}
        }
        self.stats.as_ref().map_or(Ok(()), |stats| stats.print(out))
    }
}

impl DataFacts {
    fn print(&self, size: &str, out: &mut dyn Write) -> io::Result<()> {
        if let Some(RaFacts { flags, eltype, elbyte }) = self.ra {
            writeln!(out, "  flags   {flags}, eltype {eltype}, elbyte {elbyte}")?;
        }
        let stored = self.stored_bytes.map(|stored| format!("{stored} bytes, {size} when unpacked"));
        let (size, offset) = (stored.as_deref().unwrap_or(size), self.data_offset);
        writeln!(out, "  data    {size}, at byte {offset}")?;
        if let Some(bytes @ 1..) = self.trailing {
            writeln!(out, "  after   {bytes} bytes that are not part of the array")?;
        }
        if let (Some(false), Some(missing)) = (self.is_whole, self.missing) {
            writeln!(out, "  truncated  bytes that are missing: {missing}")?;
        }
        writeln!(out, "  mappable  {}", if self.can_be_mapped { "yes" } else { "no" })
    }
}

/// Formats the lengths of the parts of a stack in one line.
fn part_lengths_text(lengths: &[usize]) -> String {
    let count = lengths.len();
    match (lengths, lengths.iter().min(), lengths.iter().max()) {
        ([first, ..], _, Some(longest)) if lengths[..count - 1].iter().all(|length| length == longest) => {
            let last = &lengths[count - 1];
            let last = if last == first { String::new() } else { format!(", the last {last}") };
            format!("{count} of length {first}{last}")
        }
        (_, Some(shortest), Some(longest)) => format!("{count} of lengths {shortest} to {longest}"),
        _ => "none".into(),
    }
}

pub(super) fn is_native_endian(dtype: &DType) -> bool {
    dtype.with_byte_order(ByteOrder::NATIVE) == *dtype
}
