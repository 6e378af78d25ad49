//! Reading files of safetensors.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray_io::bytes::{LocalFile, ReadAt, fill_at};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::{Header, Order};
use ndarray_io::{Error, ReadArray, ReadOptions, Result};
use safetensors::tensor::Metadata;
use serde::Deserialize;

use super::dtype_of;
use crate::malformed_header as malformed;
use crate::tensors::{Tensor, Tensors};

/// The largest header that programs of safetensors read.
pub(super) const MAX_HEADER: u64 = 100_000_000;

/// The tensors of a file, or of several with an index, and the metadata.
///
/// Only the headers are read when it is opened. It can be shared between threads.
#[derive(Clone, Debug)]
pub struct SafeTensors {
    tensors: Tensors,
    metadata: BTreeMap<String, String>,
    /// The tensors whose elements share bytes, and their dtypes.
    packed: BTreeMap<String, String>,
}

/// `model.safetensors.index.json`: which tensor is in which file.
#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl SafeTensors {
    /// Opens a file. The index of a model in several files (`model.safetensors.index.json`) opens all of them.
    ///
    /// # Errors
    ///
    /// - [`Io`](ErrorKind::Io) if a file cannot be read.
    /// - [`Malformed`](ErrorKind::Malformed) if it is not a file of safetensors, its tensors overlap or leave gaps, or it is not
    ///   as long as its header says.
    /// - [`Limit`](ErrorKind::Limit) if a tensor has more than 64 axes.
    ///
    /// A header of more than 100 MB is an error, as in the format's own programs.
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::open_with(path, &ReadOptions::new())
    }

    /// Opens a file or an index with options, which also apply to all reads.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let open = || match path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
            true => Self::of_index(path, options),
            false => Self::of(Arc::new(LocalFile(File::open(path)?)), Some(path), options),
        };
        open().map_err(|error| error.at_path(path))
    }

    /// Opens a file in a [source](ReadAt) of bytes.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn from_source<S: ReadAt + 'static>(source: S) -> Result<Self> {
        Self::from_source_with(source, &ReadOptions::new())
    }

    /// Opens a file in a [source](ReadAt) of bytes, with options.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn from_source_with<S: ReadAt + 'static>(source: S, options: &ReadOptions) -> Result<Self> {
        Self::of(Arc::new(source), None, options)
    }

    /// Returns the tensors.
    pub fn tensors(&self) -> &Tensors {
        &self.tensors
    }

    /// Returns the tensors whose elements are smaller than a byte and share bytes, with the names of their dtypes: they cannot be read.
    pub fn packed(&self) -> &BTreeMap<String, String> {
        &self.packed
    }

    /// Reads a tensor.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](ErrorKind::Unsupported) if several of its elements share a byte.
    /// - Those of [`Tensors::read`].
    pub fn read<T: ReadArray>(&self, name: &str) -> Result<T> {
        self.refuse_packed(name)?;
        self.tensors.read(name)
    }

    fn refuse_packed(&self, name: &str) -> Result<()> {
        match self.packed.get(name) {
            Some(dtype) => {
                let reason = format!("{dtype}: several elements share a byte");
                Err(Error::new(ErrorKind::Unsupported, format!("unsupported dtype {reason}")).at_member(name))
            }
            None => Ok(()),
        }
    }

    /// Fails if there are tensors that cannot be read.
    pub(super) fn check_none_packed(&self) -> Result<()> {
        self.packed.keys().try_for_each(|name| self.refuse_packed(name))
    }

    /// Returns the metadata, `__metadata__` of the header; of several files, that of all.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    fn of(source: Arc<dyn ReadAt>, path: Option<&Path>, options: &ReadOptions) -> Result<Self> {
        let size = source.size()?;
        let mut length = [0; 8];
        let filled = fill_at(&*source, &mut length, 0)?;
        let length = u64::from_le_bytes(length);
        if filled < 8 {
            return Err(malformed(format!("the file has {size} bytes, fewer than a header"), None));
        }
        if length > MAX_HEADER || length > size.saturating_sub(8) {
            let reason =
                format!("it declares {length} bytes; the file has {size}, and at most {MAX_HEADER} are read");
            return Err(malformed(reason, Some(0)));
        }
        let mut text = vec![0; usize::try_from(length).map_err(|_| crate::too_large("the header"))?];
        if fill_at(&*source, &mut text, 8)? < text.len() {
            return Err(malformed("the file was truncated", None));
        }
        if text.first() != Some(&b'{') {
            return Err(malformed("it begins with no '{'", Some(8)));
        }
        let head: Metadata = serde_json::from_slice(&text).map_err(|error| malformed(error, None))?;
        let declared = (8 + length).checked_add(head.data_len() as u64);
        let declared = declared.ok_or_else(|| crate::too_large("the size of the tensors"))?;
        if declared != size {
            return Err(malformed(format!("tensors end at byte {declared} of a file of {size}"), None));
        }
        let (mut tensors, mut packed) = (Vec::new(), BTreeMap::new());
        let mut infos: Vec<_> = head.tensors().into_iter().collect();
        infos.sort_by(|one, two| (one.1.data_offsets, &one.0).cmp(&(two.1.data_offsets, &two.0)));
        for (name, info) in infos {
            let Some(dtype) = dtype_of(info.dtype) else {
                packed.insert(name, info.dtype.to_string());
                continue;
            };
            let make = || {
                let header = Header::new(dtype, Order::C, info.shape.clone().into())?;
                let offset = 8 + length + info.data_offsets.0 as u64;
                let tensor = Tensor::new(name.clone(), header, offset, &source, path.map(Path::to_owned));
                tensor.check_within(size)?;
                Ok(tensor)
            };
            tensors.push(make().map_err(|error: Error| error.at_member(&name))?);
        }
        let metadata = head.metadata().iter().flatten();
        let metadata = metadata.map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(Self { tensors: Tensors::new(tensors, options)?, metadata, packed })
    }

    fn of_index(path: &Path, options: &ReadOptions) -> Result<Self> {
        let file = LocalFile(File::open(path)?);
        let size = file.size()?;
        if size > MAX_HEADER {
            return Err(malformed(format!("an index of {size} bytes: at most {MAX_HEADER} are read"), None));
        }
        let mut text = vec![0; size as usize];
        let filled = fill_at(&file, &mut text, 0)?;
        let index: Index = serde_json::from_slice(&text[..filled]).map_err(|error| malformed(error, None))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let (mut files, mut metadata, mut packed) = (HashMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut tensors = Vec::new();
        for (name, file) in &index.weight_map {
            if !files.contains_key(file) {
                // The name comes from the index: it is that of a file beside it, and nothing else.
                let is_name = Path::new(file).components().count() == 1
                    && Path::new(file).file_name().is_some_and(|only| only == file.as_str());
                if !is_name {
                    return Err(malformed(
                        format!("{file:?} is not the name of a file beside the index"),
                        None,
                    ));
                }
                let path: PathBuf = folder.join(file);
                let source = || Ok(Arc::new(LocalFile(File::open(&path)?)));
                let opened = source().and_then(|source| Self::of(source, Some(&path), options));
                let opened = opened.map_err(|error: Error| error.at_path(&path))?;
                metadata.extend(opened.metadata.clone());
                files.insert(file.as_str().to_owned(), opened);
            }
            if let Some(dtype) = files[file].packed.get(name) {
                packed.insert(name.clone(), dtype.clone());
                continue;
            }
            let tensor = files[file].tensors.get(name).map_err(|error| error.at_path(&folder.join(file)))?;
            tensors.push(tensor.clone());
        }
        Ok(Self { tensors: Tensors::new(tensors, options)?, metadata, packed })
    }
}
