//! [`Tensors`]: named arrays whose bytes are in a file as they are in memory.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use ndarray::{ArrayView, Dimension};
use ndarray_io::bytes::ReadAt;
use ndarray_io::header::Header;
use ndarray_io::{Error, NpyFile, ReadArray, ReadOptions, Result, ViewElement};

/// The tensors of a file, by name: in the order of their bytes in safetensors, by name in several files of them, and in the order of the
/// header in GGUF.
///
/// The value can be shared between threads, and each tensor opens as an [`NpyFile`].
#[derive(Clone, Debug, Default)]
pub struct Tensors {
    tensors: Vec<Tensor>,
    by_name: HashMap<String, usize>,
    options: ReadOptions,
}

/// A tensor: its name, its header, and where its elements are.
#[derive(Clone, Debug)]
pub struct Tensor {
    name: String,
    header: Header,
    offset: u64,
    source: Arc<dyn ReadAt>,
    path: Option<PathBuf>,
}

impl Tensor {
    /// Creates a tensor; its elements are at this offset of the source.
    pub(crate) fn new(
        name: String,
        header: Header,
        offset: u64,
        source: &Arc<dyn ReadAt>,
        path: Option<PathBuf>,
    ) -> Self {
        Self { name, header, offset, source: Arc::clone(source), path }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the dtype, the order and the shape.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the offset of the elements in their file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Views the elements in the bytes of their file, such as a map of it, without copying them.
    ///
    /// # Errors
    ///
    /// - [`Malformed`](ndarray_io::error::ErrorKind::Malformed) if the bytes end before the elements do.
    /// - Those of [`Header::view`].
    pub fn view<'a, A: ViewElement, D: Dimension>(&self, file: &'a [u8]) -> Result<ArrayView<'a, A, D>> {
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        let end = self.offset.saturating_add(self.header.payload_len().unwrap_or(u64::MAX));
        let bytes =
            file.get(place(self.offset)..place(end)).ok_or_else(|| self.truncated_error(file.len() as u64));
        bytes.and_then(|bytes| self.header.view(bytes)).map_err(|error| error.at_member(&self.name))
    }

    #[cfg(feature = "safetensors")]
    pub(crate) fn source(&self) -> Arc<dyn ReadAt> {
        Arc::clone(&self.source)
    }

    fn truncated_error(&self, size: u64) -> Error {
        let end = self.offset.saturating_add(self.header.payload_len().unwrap_or(u64::MAX));
        let reason = format!("the elements end at byte {end} of a file of {size} bytes");
        crate::malformed_header(reason, None)
    }

    /// Fails if the file ends before the elements do.
    pub(crate) fn check_within(&self, size: u64) -> Result<()> {
        match self.offset.checked_add(self.header.payload_len().unwrap_or(u64::MAX)) {
            Some(end) if end <= size => Ok(()),
            _ => Err(self.truncated_error(size).at_member(&self.name)),
        }
    }

    /// Opens the tensor with options.
    ///
    /// # Errors
    ///
    /// Those of [`ReadOptions::open_elements`].
    pub fn open_with(&self, options: &ReadOptions) -> Result<NpyFile> {
        let (source, header) = (Arc::clone(&self.source), self.header.clone());
        let file = options.open_elements(source, self.offset, header);
        let file = file.map_err(|error| error.at_member(&self.name))?.with_member(&self.name);
        Ok(match &self.path {
            Some(path) => file.with_path(path),
            None => file,
        })
    }
}

impl Tensors {
    /// Creates the list. Errors if two have the same name.
    pub(crate) fn new(tensors: Vec<Tensor>, options: &ReadOptions) -> Result<Self> {
        let mut by_name = HashMap::with_capacity(tensors.len());
        for (index, tensor) in tensors.iter().enumerate() {
            if by_name.insert(tensor.name.clone(), index).is_some() {
                let reason = format!("two tensors are named {:?}", tensor.name);
                return Err(crate::malformed_header(reason, None));
            }
        }
        Ok(Self { tensors, by_name, options: options.clone() })
    }

    /// Returns the tensors.
    pub fn as_slice(&self) -> &[Tensor] {
        &self.tensors
    }

    /// Returns the names, in the order of the tensors.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tensors.iter().map(Tensor::name)
    }

    /// Returns the number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Returns whether there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Returns a tensor by its name.
    ///
    /// # Errors
    ///
    /// [`NoSuchName`](ndarray_io::error::ErrorKind::NoSuchName) if there is none.
    pub fn get(&self, name: &str) -> Result<&Tensor> {
        match self.by_name.get(name) {
            Some(index) => Ok(&self.tensors[*index]),
            None => Err(Error::no_such_member(name, self.names())),
        }
    }

    /// Opens a tensor, of which parts can be read.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](ndarray_io::error::ErrorKind::NoSuchName) if there is none of the name.
    /// - Those of [`ReadOptions::open_elements`].
    pub fn open(&self, name: &str) -> Result<NpyFile> {
        self.get(name)?.open_with(&self.options)
    }

    /// Reads a tensor.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](ndarray_io::error::ErrorKind::NoSuchName) if there is none of the name.
    /// - Those of [`NpyFile::read`](ndarray_io::NpyFile::read).
    pub fn read<T: ReadArray>(&self, name: &str) -> Result<T> {
        self.open(name)?.read()
    }

    #[cfg(feature = "safetensors")]
    pub(crate) fn options(&self) -> &ReadOptions {
        &self.options
    }
}
