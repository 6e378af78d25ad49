//! Conversions between NPZ and safetensors, in bounded memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use ndarray_io::bytes::ReadAt;
use ndarray_io::dtype::ByteOrder;
use ndarray_io::error::{ErrorKind, Result};
use ndarray_io::file::{replace_file_with, write_headed};
use ndarray_io::header::{Header, Order};
use ndarray_io::npz::NpzOptions;
use ndarray_io::{DynArray, NpyFile, NpzFile, NpzWriter, WriteOptions, npy};

use super::SafeTensors;
use super::write::Plan;

/// How many bytes of an array are in memory at a time.
const BLOCK: usize = 8 << 20;

/// Writes the arrays of an archive to a file of safetensors, in bounded memory, with these metadata.
///
/// A file of the same name is replaced in one step.
///
/// # Errors
///
/// Those of [`write_safetensors`](super::write_safetensors), and of reading the archive.
///
/// # Examples
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::{NpzFile, write_npz};
/// use ndarray_io_formats::safetensors::{SafeTensors, npz_to_safetensors};
///
/// # let folder = tempfile::tempdir()?;
/// # let (npz, safe) = (folder.path().join("a.npz"), folder.path().join("a.safetensors"));
/// write_npz(&npz, &[("x", &arr1(&[1.5, 2.5]))])?;
/// npz_to_safetensors(&NpzFile::open(&npz)?, &safe, &Default::default())?;
/// assert_eq!(SafeTensors::open(&safe)?.read::<Array1<f64>>("x")?, arr1(&[1.5, 2.5]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn npz_to_safetensors<P: AsRef<Path>>(
    archive: &NpzFile,
    path: P,
    metadata: &BTreeMap<String, String>,
) -> Result<()> {
    let mut headers = Vec::new();
    for (index, member) in archive.members().iter().enumerate() {
        let header = archive.peek(index)?.header;
        let dtype = header.dtype().with_byte_order(ByteOrder::Little);
        headers.push((member.name(), Header::new(dtype, Order::C, header.shape().into())?));
    }
    let plan = Plan::new(&headers, metadata)?;
    replace_file_with(path, &WriteOptions::new(), |mut file: &File| {
        file.write_all(&plan.head)?;
        for index in plan.order {
            copy(&archive.open_member(index)?, file)?;
        }
        Ok(())
    })
}

/// Copies the elements of an array in C order and little-endian.
fn copy(array: &NpyFile, mut file: &File) -> Result<()> {
    let options = WriteOptions::new().order(Order::C).byte_order(ByteOrder::Little);
    for block in array.blocks::<DynArray>().order(Order::C).bytes(BLOCK) {
        write_headed(block?.array(), file, &options, &mut |_| Ok(Vec::new()))?;
    }
    Ok(file.flush()?)
}

/// Writes the tensors of a file to an archive, in bounded memory.
///
/// Numbers of the package `ml_dtypes` become raw bytes, as `numpy.savez` writes them. The metadata are not in the archive.
///
/// # Errors
///
/// - Those of [`NpzWriter::add_raw`], and of reading the file.
pub fn safetensors_to_npz<P: AsRef<Path>>(file: &SafeTensors, path: P, options: &NpzOptions) -> Result<()> {
    replace_file_with(path, options.get_write_options(), |archive| {
        let mut archive = NpzWriter::new_with(archive, options);
        for tensor in file.tensors().as_slice() {
            let header = tensor.header();
            let stored = Header::new(header.dtype().stored(), Order::C, header.shape().into())?;
            let head = npy::format(&stored, None)?;
            let len = head.len() as u64 + header.payload_len().unwrap_or(0);
            tensor.open_with(file.tensors().options())?.check_complete()?;
            let elements = Elements { source: tensor.source(), at: tensor.offset() };
            archive.add_raw(format!("{}.npy", tensor.name()), head.chain(elements), len)?;
        }
        archive.finish().map(drop)
    })
}

/// The bytes of a source from an offset on, as a reader.
struct Elements {
    source: Arc<dyn ReadAt>,
    at: u64,
}

impl Read for Elements {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read_at(into, self.at).map_err(|error| match error.kind() {
            ErrorKind::Io(io) => io::Error::new(io.kind(), error.to_string()),
            _ => io::Error::other(error.to_string()),
        })?;
        self.at += count as u64;
        Ok(count)
    }
}
