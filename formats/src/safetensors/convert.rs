//! Conversions between NPZ and safetensors, in bounded memory.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

use ndarray_io::bytes::ReadAt;
use ndarray_io::file::write_headed;
use ndarray_io::header::{Header, Order};
use ndarray_io::{ByteOrder, DynArray, NpyFile, NpzFile, Result, WriteOptions, npy};

use super::SafeTensors;
use super::write::FilePlan;

/// How many bytes of an array are in memory at a time.
const BLOCK_BYTES: usize = 8 << 20;

/// Writes the arrays of an archive as a file of safetensors, in bounded memory, with these metadata.
///
/// [`WriteOptions::replace_file`] replaces a file in one step.
///
/// # Errors
///
/// Those of [`write_safetensors_to`](super::write_safetensors_to), and of reading the archive.
///
/// # Examples
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::bytes::InMemory;
/// use ndarray_io::{NpzFile, write_npz};
/// use ndarray_io_formats::safetensors::{SafeTensors, npz_to_safetensors};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npz");
/// write_npz(&path, &[("x", &arr1(&[1.5, 2.5]))])?;
/// let mut out = Vec::new(); // or a file
/// npz_to_safetensors(&NpzFile::open(&path)?, &mut out, &Default::default())?;
/// assert_eq!(SafeTensors::from_source(InMemory(out))?.read::<Array1<f64>>("x")?, arr1(&[1.5, 2.5]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn npz_to_safetensors<W: Write>(
    archive: &NpzFile,
    mut writer: W,
    metadata: &BTreeMap<String, String>,
) -> Result<()> {
    let mut headers = Vec::new();
    for (index, member) in archive.members().iter().enumerate() {
        let header = archive.peek(index)?.header;
        let dtype = header.dtype().with_byte_order(ByteOrder::Little);
        headers.push((member.name(), Header::new(dtype, Order::C, header.shape().into())?));
    }
    let plan = FilePlan::new(&headers, metadata)?;
    writer.write_all(&plan.head)?;
    for index in plan.order {
        write_elements(&archive.open_member(index)?, &mut writer)?;
    }
    Ok(writer.flush()?)
}

/// Copies the elements of an array in C order and little-endian.
fn write_elements(array: &NpyFile, writer: &mut impl Write) -> Result<()> {
    let options = WriteOptions::new().order(Order::C).byte_order(ByteOrder::Little);
    for block in array.blocks::<DynArray>().order(Order::C).bytes(BLOCK_BYTES) {
        write_headed(block?.array(), &mut *writer, &options, &mut |_| Ok(Vec::new()))?;
    }
    Ok(())
}

/// Writes the tensors of a file as an archive, in bounded memory.
///
/// Numbers of the package `ml_dtypes` become raw bytes, as `numpy.savez` writes them. The metadata are not in the archive. The
/// members have the names of the tensors, with `.npy`, also if these are paths: a program that unpacks the archive into files has to check them.
///
/// # Errors
///
/// - [`Unsupported`](ndarray_io::error::ErrorKind::Unsupported) if several elements of a tensor share a byte: nothing is left out.
/// - Those of [`NpzWriter::add_raw`](ndarray_io::NpzWriter::add_raw), and of reading the file.
pub fn safetensors_to_npz<W: Write>(file: &SafeTensors, writer: W, options: &WriteOptions) -> Result<()> {
    file.check_none_packed()?;
    let mut archive = options.npz_writer(writer)?;
    for tensor in file.tensors().as_slice() {
        let header = tensor.header();
        let stored = Header::new(header.dtype().stored(), Order::C, header.shape().into())?;
        let head = npy::format(&stored, None)?;
        let len = head.len() as u64 + header.payload_len().unwrap_or(0);
        tensor.open_with(file.tensors().options())?.check_complete()?;
        let elements = SourceReader { source: tensor.source(), position: tensor.offset() };
        archive.add_raw(format!("{}.npy", tensor.name()), head.chain(elements), len)?;
    }
    Ok(archive.finish()?.flush()?)
}

/// The bytes of a source from an offset on, as a reader.
struct SourceReader {
    source: Arc<dyn ReadAt>,
    position: u64,
}

impl Read for SourceReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read_at(into, self.position).map_err(|error| {
            let kind = error.as_io().map_or(io::ErrorKind::Other, io::Error::kind);
            io::Error::new(kind, error.to_string())
        })?;
        self.position += count as u64;
        Ok(count)
    }
}
