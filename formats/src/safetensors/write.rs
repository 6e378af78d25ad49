//! Writing files of safetensors.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use ndarray_io::error::ErrorKind;
use ndarray_io::file::{header_of, write_headed};
use ndarray_io::header::{Header, Order};
use ndarray_io::{ByteOrder, Error, Result, WriteArray, WriteOptions};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::read::MAX_HEADER;
use super::safetensors_dtype;
use crate::malformed_header as malformed;

/// Writes arrays to a file, which replaces one of the same name in one step.
///
/// The bytes are those of the format's own programs: the tensors are sorted by dtype, larger elements first, and by name (metadata are sorted as well, where theirs have no order). Arrays
/// of any strides and byte order are written in C order and little-endian.
///
/// # Errors
///
/// - [`NotConvertible`](ErrorKind::NotConvertible) if the format does not have a dtype.
/// - [`AmbiguousName`](ErrorKind::AmbiguousName) if two arrays have the same name; [`BadOption`](ErrorKind::BadOption) if one is named
///   `__metadata__`.
/// - [`Malformed`](ErrorKind::Malformed) if the header or the file would be larger than programs can read.
/// - [`Io`](ErrorKind::Io) if writing fails.
/// - A [conflict](Error::is_conflict) if the existing file is locked or cannot be replaced.
pub fn write_safetensors<P: AsRef<Path>>(path: P, tensors: &[(&str, &dyn WriteArray)]) -> Result<()> {
    let path = path.as_ref();
    WriteOptions::new()
        .replace_file(path, |file| write_safetensors_to(file, tensors, &BTreeMap::new()))
        .map_err(|error| error.at_path(path))
}

/// Writes arrays and metadata to a writer. See [`write_safetensors`].
///
/// # Errors
///
/// Those of [`write_safetensors`]. After an error, the writer may have received part of the file.
///
/// # Examples
///
/// ```
/// use std::collections::BTreeMap;
///
/// use ndarray::{Array1, arr1};
/// use ndarray_io::bytes::InMemory;
/// use ndarray_io_formats::safetensors::{SafeTensors, write_safetensors_to};
///
/// let metadata = BTreeMap::from([("format".to_owned(), "np".to_owned())]);
/// let mut file = Vec::new();
/// write_safetensors_to(&mut file, &[("a", &arr1(&[1i64, 2]))], &metadata)?;
/// let file = SafeTensors::from_source(InMemory(file))?;
/// assert_eq!(file.metadata()["format"], "np");
/// assert_eq!(file.read::<Array1<i64>>("a")?, arr1(&[1, 2]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn write_safetensors_to<W: Write>(
    mut writer: W,
    tensors: &[(&str, &dyn WriteArray)],
    metadata: &BTreeMap<String, String>,
) -> Result<()> {
    let options = WriteOptions::new().order(Order::C).byte_order(ByteOrder::Little);
    let headers = tensors.iter().map(|(name, array)| {
        let header = header_of(*array, &options).map_err(|error| error.at_member(name))?;
        Ok((*name, header))
    });
    let headers = headers.collect::<Result<Vec<_>>>()?;
    let plan = FilePlan::new(&headers, metadata)?;
    writer.write_all(&plan.head)?;
    for index in plan.order {
        let (name, array) = tensors[index];
        write_headed(array, &mut writer, &options, &mut |_| Ok(Vec::new()))
            .map_err(|error| error.at_member(name))?;
    }
    Ok(writer.flush()?)
}

/// The header of a file, and the order of the tensors in it.
pub(super) struct FilePlan {
    pub(super) head: Vec<u8>,
    pub(super) order: Vec<usize>,
}

/// The JSON of a header. Unlike that of `Metadata`, it is the same each time: the metadata are sorted.
struct HeaderJson<'a> {
    metadata: &'a BTreeMap<String, String>,
    tensors: &'a [(String, TensorInfo)],
}

impl Serialize for HeaderJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.metadata.is_empty() {
            map.serialize_entry("__metadata__", self.metadata)?;
        }
        for (name, info) in self.tensors {
            map.serialize_entry(name, info)?;
        }
        map.end()
    }
}

impl FilePlan {
    pub(super) fn new(headers: &[(&str, Header)], metadata: &BTreeMap<String, String>) -> Result<Self> {
        let named = |(name, header): &(&str, Header)| {
            safetensors_dtype(header.dtype()).map_err(|error: Error| error.at_member(name))
        };
        let dtypes = headers.iter().map(named).collect::<Result<Vec<Dtype>>>()?;
        let mut order: Vec<usize> = (0..headers.len()).collect();
        order.sort_by(|&one, &two| dtypes[two].cmp(&dtypes[one]).then(headers[one].0.cmp(headers[two].0)));
        let mut end = 0_usize;
        let mut tensors: Vec<(String, TensorInfo)> = Vec::new();
        for &index in &order {
            let (name, header) = &headers[index];
            if *name == "__metadata__" {
                let text = "the name '__metadata__' is that of the file's metadata";
                return Err(Error::new(ErrorKind::BadOption, text));
            }
            let start = end;
            let len = header.payload_len().and_then(|len| usize::try_from(len).ok());
            let Some(next) = len.and_then(|len| start.checked_add(len)) else {
                return Err(crate::too_large("the size of the file"));
            };
            end = next;
            let shape = header.shape().to_vec();
            tensors.push((
                (*name).to_owned(),
                TensorInfo { dtype: dtypes[index], shape, data_offsets: (start, end) },
            ));
        }
        check_unique_names(&tensors)?;
        let json = serde_json::to_vec(&HeaderJson { metadata, tensors: &tensors });
        let mut json = json.map_err(|error| malformed(error, None))?;
        Metadata::new(None, tensors).map_err(|error| malformed(error, None))?;
        json.resize(json.len().next_multiple_of(8), b' ');
        if json.len() as u64 > MAX_HEADER {
            let reason = format!("a header of {} bytes: programs read at most {MAX_HEADER}", json.len());
            return Err(malformed(reason, None));
        }
        let head = [&(json.len() as u64).to_le_bytes()[..], &json].concat();
        Ok(Self { head, order })
    }
}

/// Fails if two tensors have the same name.
fn check_unique_names(tensors: &[(String, TensorInfo)]) -> Result<()> {
    let mut names: Vec<&str> = tensors.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::new(
            ErrorKind::AmbiguousName,
            format!("the file already has a tensor named {:?}", pair[0]),
        )),
        None => Ok(()),
    }
}
