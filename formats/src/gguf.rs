//! Files of [GGUF](https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): the metadata, and tensors that are not quantized.
//!
//! Tensors of `F32`, `F16`, `BF16`, `F64` and `I8` to `I64` are arrays; the others are listed, with the names of their types, and
//! opening them is an error. Versions 2 and 3 are read, in either byte order. Arrays within arrays of the metadata, and text that is not
//! UTF-8, are errors; each value of the metadata takes 32 to 64 bytes of memory.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use ndarray_io::bytes::{LocalFile, ReadAt, fill_at};
use ndarray_io::dtype::{Kind, Narrow, Scalar};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::{Header, Order};
use ndarray_io::{ByteOrder, DType, Error, NpyFile, ReadArray, ReadOptions, Result};

use crate::tensors::{Tensor, Tensors};

/// A file of GGUF. Only its header has been read.
///
/// ```no_run
/// use ndarray::Array2;
/// use ndarray_io_formats::gguf::Gguf;
///
/// let file = Gguf::open("model.gguf")?;
/// for (key, value) in file.metadata() {
///     println!("{key}: {value:?}");
/// }
/// let norm: Array2<f32> = file.read("blk.0.attn_norm.weight")?;
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gguf {
    metadata: Vec<(String, Value)>,
    tensors: Tensors,
    quantized: Vec<Quantized>,
}

/// A tensor that is not an array: a quantized one, whose elements are in blocks with common factors, or one of a type that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quantized {
    /// The name.
    pub name: String,
    /// The name of the type, such as `Q4_K`.
    pub type_name: String,
    /// The lengths of the axes; the last one varies fastest.
    pub shape: Vec<u64>,
}

/// A value of the metadata.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// An integer without a sign, of any size.
    Uint(u64),
    /// An integer with a sign, of any size.
    Int(i64),
    /// A floating-point number, of either size.
    Float(f64),
    /// A bool.
    Bool(bool),
    /// A text.
    Text(String),
    /// Several values, of one type.
    Array(Vec<Value>),
}

impl Gguf {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// - [`Io`](ErrorKind::Io) if it cannot be read.
    /// - [`Malformed`](ErrorKind::Malformed) if it is not a file of GGUF, or contradicts itself.
    /// - [`Unsupported`](ErrorKind::Unsupported) if it has another version than 2 or 3.
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        let path = path.as_ref();
        let open = || Self::of(Arc::new(LocalFile(File::open(path)?)), Some(path), &ReadOptions::new());
        open().map_err(|error| error.at_path(path))
    }

    /// Opens a file in a [source](ReadAt) of bytes, with options for reading.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn from_source_with<S: ReadAt + 'static>(source: S, options: &ReadOptions) -> Result<Self> {
        Self::of(Arc::new(source), None, options)
    }

    /// Returns the metadata, in the order of the file.
    pub fn metadata(&self) -> &[(String, Value)] {
        &self.metadata
    }

    /// Returns the tensors that are not quantized.
    pub fn tensors(&self) -> &Tensors {
        &self.tensors
    }

    /// Returns the tensors that are not arrays: quantized ones, and those of types that are not known. Where their bytes are is not checked.
    pub fn quantized(&self) -> &[Quantized] {
        &self.quantized
    }

    /// Opens a tensor, of which parts can be read.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](ErrorKind::Unsupported) if it is quantized.
    /// - Those of [`Tensors::open`].
    pub fn open_tensor(&self, name: &str) -> Result<NpyFile> {
        match self.quantized.iter().find(|tensor| tensor.name == name) {
            Some(tensor) => {
                let reason = format!("quantized or unknown numbers ({})", tensor.type_name);
                Err(Error::new(ErrorKind::Unsupported, format!("unsupported encoding: {reason}"))
                    .at_member(name))
            }
            None => self.tensors.open(name),
        }
    }

    /// Reads a tensor.
    ///
    /// # Errors
    ///
    /// Those of [`open_tensor`](Self::open_tensor), and of [`NpyFile::read`](ndarray_io::NpyFile::read).
    pub fn read<T: ReadArray>(&self, name: &str) -> Result<T> {
        self.open_tensor(name)?.read()
    }

    fn of(source: Arc<dyn ReadAt>, path: Option<&Path>, options: &ReadOptions) -> Result<Self> {
        let size = source.size()?;
        let mut bytes = HeaderReader {
            source: &*source,
            file_size: size,
            position: 0,
            buffer: Vec::new(),
            buffer_start: 0,
            order: ByteOrder::Little,
        };
        let magic: [u8; 4] = bytes.le_bytes()?;
        if magic != *b"GGUF" {
            return Err(malformed(
                format!("expected 'GGUF', found {:?}", magic.escape_ascii().to_string()),
                0,
            ));
        }
        let version = bytes.u32()?;
        let (version, order) = match version & 0xFFFF {
            0 => (version.swap_bytes(), ByteOrder::Big),
            _ => (version, ByteOrder::Little),
        };
        bytes.order = order;
        if !matches!(version, 2 | 3) {
            let reason = format!("{version} of GGUF, expected 2 or 3");
            return Err(Error::new(ErrorKind::Unsupported, format!("unsupported format version {reason}")));
        }
        let (tensors, pairs) = (bytes.u64()?, bytes.u64()?);
        // The fewest bytes that a tensor and a pair take.
        bytes.check_count(tensors, 24)?;
        bytes.check_count(pairs, 13)?;
        let mut metadata = Vec::new();
        for _ in 0..pairs {
            let key = bytes.text()?;
            let kind = bytes.u32()?;
            metadata.push((key, bytes.value(kind)?));
        }
        let mut infos = Vec::new();
        for _ in 0..tensors {
            let name = bytes.text()?;
            let axes = bytes.u32()?;
            if axes > 64 {
                return Err(malformed(format!("a tensor of {axes} axes"), bytes.position));
            }
            let mut shape = (0..axes).map(|_| bytes.u64()).collect::<Result<Vec<_>>>()?;
            shape.reverse(); // the first one varies fastest
            infos.push((name, shape, bytes.u32()?, bytes.u64()?));
        }
        let alignment = metadata.iter().find(|(key, _)| key == "general.alignment");
        let alignment = match alignment {
            None => 32,
            Some((_, Value::Uint(length))) if length.is_power_of_two() && *length < 1 << 32 => *length,
            Some((_, value)) => return Err(malformed(format!("an alignment of {value:?}"), bytes.position)),
        };
        let start = bytes.position.next_multiple_of(alignment);
        let (mut plain, mut quantized, mut names) = (Vec::new(), Vec::new(), HashSet::new());
        for (name, shape, kind, offset) in infos {
            if !names.insert(name.clone()) {
                return Err(malformed(format!("two tensors are named {name:?}"), start));
            }
            let dtype = match dtype_or_type_name(kind, order) {
                Ok(dtype) => dtype,
                Err(type_name) => {
                    quantized.push(Quantized { name, type_name, shape });
                    continue;
                }
            };
            let make = || {
                let lengths = shape.iter().map(|length| usize::try_from(*length));
                let lengths = lengths.collect::<std::result::Result<Vec<_>, _>>();
                let lengths = lengths.map_err(|_| crate::too_large("the shape"))?;
                let header = Header::new(dtype, Order::C, lengths.into())?;
                let offset = start.checked_add(offset).ok_or_else(|| crate::too_large("the offset"))?;
                let tensor = Tensor::new(name.clone(), header, offset, &source, path.map(Path::to_owned));
                tensor.check_within(size)?;
                Ok(tensor)
            };
            plain.push(make().map_err(|error: Error| error.at_member(&name))?);
        }
        Ok(Self { metadata, tensors: Tensors::new(plain, options)?, quantized })
    }
}

/// Returns the dtype of a type of GGML, or the name of the type if its elements are not numbers of their own.
fn dtype_or_type_name(kind: u32, order: ByteOrder) -> std::result::Result<DType, String> {
    let number = |kind, size| Scalar::new(kind, size, order).map(DType::from).ok_or_else(String::new);
    const QUANTIZED_TYPES: [(u32, &str); 29] = [
        (2, "Q4_0"),
        (3, "Q4_1"),
        (6, "Q5_0"),
        (7, "Q5_1"),
        (8, "Q8_0"),
        (9, "Q8_1"),
        (10, "Q2_K"),
        (11, "Q3_K"),
        (12, "Q4_K"),
        (13, "Q5_K"),
        (14, "Q6_K"),
        (15, "Q8_K"),
        (16, "IQ2_XXS"),
        (17, "IQ2_XS"),
        (18, "IQ3_XXS"),
        (19, "IQ1_S"),
        (20, "IQ4_NL"),
        (21, "IQ3_S"),
        (22, "IQ2_S"),
        (23, "IQ4_XS"),
        (29, "IQ1_M"),
        (31, "Q4_0_4_4"),
        (32, "Q4_0_4_8"),
        (33, "Q4_0_8_8"),
        (34, "TQ1_0"),
        (35, "TQ2_0"),
        (39, "MXFP4"),
        (40, "NVFP4"),
        (41, "Q1_0"),
    ];
    match kind {
        0 => number(Kind::Float, 4),
        1 => number(Kind::Float, 2),
        24 => number(Kind::Int, 1),
        25 => number(Kind::Int, 2),
        26 => number(Kind::Int, 4),
        27 => number(Kind::Int, 8),
        28 => number(Kind::Float, 8),
        // Raw bytes have no byte order: `bfloat16` is read as little-endian only.
        30 if order == ByteOrder::Little => Ok(Narrow::BFloat16.into()),
        30 => Err("big-endian BF16".into()),
        _ => Err(match QUANTIZED_TYPES.iter().find(|(number, _)| *number == kind) {
            Some((_, name)) => (*name).to_owned(),
            None => format!("type {kind}"),
        }),
    }
}

fn malformed(reason: impl std::fmt::Display, position: u64) -> Error {
    crate::malformed_header(reason, Some(position))
}

/// The bytes of a header, in order.
struct HeaderReader<'a> {
    source: &'a dyn ReadAt,
    file_size: u64,
    position: u64,
    /// Some of the bytes, from `buffer_start` on.
    buffer: Vec<u8>,
    buffer_start: u64,
    order: ByteOrder,
}

impl HeaderReader<'_> {
    /// Fails if the rest of the file has no room for this many parts of at least `min_len` bytes each.
    fn check_count(&self, count: u64, min_len: u64) -> Result<()> {
        match count.checked_mul(min_len) {
            Some(bytes) if bytes <= self.file_size.saturating_sub(self.position) => Ok(()),
            _ => {
                let reason = format!("{count} parts in a file of {} bytes", self.file_size);
                Err(malformed(reason, self.position))
            }
        }
    }

    fn read_exact(&mut self, into: &mut [u8]) -> Result<()> {
        const BUFFER_LEN: usize = 64 << 10;
        let mut filled = 0;
        while filled < into.len() {
            let from = usize::try_from(self.position - self.buffer_start).unwrap_or(usize::MAX);
            let rest = self.buffer.get(from..).unwrap_or_default();
            if rest.is_empty() {
                self.buffer_start = self.position;
                self.buffer.resize(BUFFER_LEN, 0);
                let came = fill_at(self.source, &mut self.buffer, self.position)?;
                self.buffer.truncate(came);
                if came == 0 {
                    return Err(malformed("the file ends within its header", self.position));
                }
                continue;
            }
            let count = rest.len().min(into.len() - filled);
            into[filled..filled + count].copy_from_slice(&rest[..count]);
            filled += count;
            self.position += count as u64;
        }
        Ok(())
    }

    fn le_bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes)?;
        if N > 1 && self.order == ByteOrder::Big {
            bytes.reverse();
        }
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.le_bytes()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.le_bytes()?))
    }

    fn text(&mut self) -> Result<String> {
        let length = self.u64()?;
        self.check_count(length, 1)?;
        let position = self.position;
        let len = usize::try_from(length).map_err(|_| crate::too_large("a text"))?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| Error::out_of_memory(length))?;
        bytes.resize(len, 0);
        self.read_exact(&mut bytes)?;
        String::from_utf8(bytes).map_err(|error| malformed(error.to_string(), position))
    }

    fn value(&mut self, kind: u32) -> Result<Value> {
        match kind {
            9 => {
                let (kind, count) = (self.u32()?, self.u64()?);
                let min_len = match kind {
                    0 | 1 | 7 => 1,
                    2 | 3 => 2,
                    4..=6 => 4,
                    8 | 10..=12 => 8,
                    _ => return Err(malformed(format!("an array of values of type {kind}"), self.position)),
                };
                self.check_count(count, min_len)?;
                (0..count).map(|_| self.non_array_value(kind)).collect::<Result<_>>().map(Value::Array)
            }
            kind => self.non_array_value(kind),
        }
    }

    /// Reads a value that is not an array.
    fn non_array_value(&mut self, kind: u32) -> Result<Value> {
        Ok(match kind {
            0 => Value::Uint(self.le_bytes::<1>()?[0].into()),
            1 => Value::Int(i8::from_le_bytes(self.le_bytes()?).into()),
            2 => Value::Uint(u16::from_le_bytes(self.le_bytes()?).into()),
            3 => Value::Int(i16::from_le_bytes(self.le_bytes()?).into()),
            4 => Value::Uint(self.u32()?.into()),
            5 => Value::Int(i32::from_le_bytes(self.le_bytes()?).into()),
            6 => Value::Float(f32::from_le_bytes(self.le_bytes()?).into()),
            7 => match self.le_bytes::<1>()?[0] {
                value @ (0 | 1) => Value::Bool(value == 1),
                value => return Err(malformed(format!("expected a bool, found {value}"), self.position - 1)),
            },
            8 => Value::Text(self.text()?),
            10 => Value::Uint(self.u64()?),
            11 => Value::Int(i64::from_le_bytes(self.le_bytes()?)),
            12 => Value::Float(f64::from_le_bytes(self.le_bytes()?)),
            kind => return Err(malformed(format!("a value of type {kind}"), self.position)),
        })
    }
}
