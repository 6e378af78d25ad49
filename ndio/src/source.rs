//! One array, which can be read in parts.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::SliceInfoElem;
use ndarray_io::blocks::Blocks;
use ndarray_io::bytes::InMemory;
use ndarray_io::header::{Header, Order, Shape};
use ndarray_io::npz::Method;
use ndarray_io::options::DisplayOptions;
use ndarray_io::{DType, DynArray, NpyFile, NpzFile, ReadOptions};

use super::failure::{Failure, is_broken_pipe, is_stdout_error};
use super::formats::Format;
use super::input::Input;
use super::select::with_header;

/// An array of an input, or a part of it.
pub(crate) struct Source {
    /// What messages call the file.
    name: PathBuf,
    pub(crate) array: SourceArray,
}

/// Where the elements are.
pub(crate) enum SourceArray {
    File(Box<NpyFile>),
    /// Python objects, which are in memory.
    Objects(Box<DynArray>),
}

/// The bytes of an array.
struct ArrayBytes(DynArray);

impl AsRef<[u8]> for ArrayBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl Source {
    pub(crate) fn of(array: SourceArray, name: &Path) -> Self {
        Self { name: name.to_owned(), array }
    }

    pub(crate) fn npy(file: NpyFile, name: &Path) -> Self {
        Self { name: name.to_owned(), array: SourceArray::File(Box::new(file)) }
    }

    pub(crate) fn objects(array: DynArray, name: &Path) -> Self {
        Self { name: name.to_owned(), array: SourceArray::Objects(Box::new(array)) }
    }

    /// Opens the array of an RA file or a stack.
    pub(crate) fn open_single_array(
        input: &Input,
        format: Format,
        options: &ReadOptions,
    ) -> Result<Self, Failure> {
        let name = input.name();
        Ok(match format {
            Format::Stack => Self::npy(input.stack(options)?.into_file(), name),
            _ => match input.array(options) {
                Ok(file) => Self::npy(file, name),
                // Compressed data cannot be read in parts.
                Err(_) => {
                    let array = input.ra_reader(options)?.read();
                    Self::in_memory(array.map_err(|error| error.at_path(name))?, name)?
                }
            },
        })
    }

    /// Wraps an array in memory whose elements are not Python objects.
    pub(crate) fn in_memory(array: DynArray, name: &Path) -> Result<Self, Failure> {
        let shape = array.shape().to_vec();
        let header = Header::new(array.dtype().clone(), array.order(), shape.into())?;
        let bytes = with_header(&header, Arc::new(InMemory(ArrayBytes(array))), 0)?;
        let file = crate::reading::options().open_source(bytes)?;
        Ok(Self::npy(file.with_path(name), name))
    }

    /// Opens a member of an archive. The checksum of a stored member is verified first if all of it is read, as reads of compressed members
    /// always do, or if that takes no time that anyone notices.
    pub(crate) fn open_member(
        archive: &NpzFile,
        index: usize,
        input: &Input,
        reads_all: bool,
    ) -> Result<Self, Failure> {
        let max_small = if input.is_remote() { 1 << 20 } else { 64 << 20 };
        let needs_check = archive.members().get(index).is_some_and(|member| {
            member.method() == Method::Stored && (reads_all || member.size() <= max_small)
        });
        if needs_check {
            archive.verify_member(index)?;
        }
        let name = input.name();
        let has_object = archive.peek(index).is_ok_and(|found| found.header.dtype().has_object());
        Ok(match has_object {
            true => Self::objects(archive.read(index)?, name), // one pickle
            false => Self::npy(archive.open_member(index)?, name),
        })
    }

    /// Returns the array, unless it has too many elements to iterate over.
    pub(crate) fn ensure_iterable(self) -> Result<Self, Failure> {
        /// A small file may declare any number of zero-sized elements.
        const MAX_EMPTY_ELEMENTS: u64 = 1 << 20;
        match self.dtype().item_size() == 0 && self.len() > MAX_EMPTY_ELEMENTS {
            true => Err(format!(
                "{}: it has {} elements of zero bytes, too many to iterate over",
                self.name.display(),
                self.len()
            )
            .into()),
            false => Ok(self),
        }
    }

    /// Returns what messages call the file.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    pub(crate) fn dtype(&self) -> &DType {
        match &self.array {
            SourceArray::File(file) => file.dtype(),
            SourceArray::Objects(array) => array.dtype(),
        }
    }

    pub(crate) fn order(&self) -> Order {
        match &self.array {
            SourceArray::File(file) => file.order(),
            SourceArray::Objects(array) => array.order(),
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match &self.array {
            SourceArray::File(file) => file.shape(),
            SourceArray::Objects(array) => array.shape(),
        }
    }

    /// Returns the shape as Python writes it.
    pub(crate) fn display_shape(&self) -> Shape {
        Shape::from(self.shape().to_vec())
    }

    /// The number of elements, which may be more than this machine can address.
    pub(crate) fn len(&self) -> u64 {
        // The lengths of the other axes of an empty array could overflow the product.
        if self.shape().contains(&0) {
            return 0;
        }
        self.shape().iter().fold(1, |all: u64, length| all.saturating_mul(*length as u64))
    }

    /// The size of the elements in bytes.
    pub(crate) fn byte_len(&self) -> u64 {
        self.len().saturating_mul(self.dtype().item_size() as u64)
    }

    pub(crate) fn slice(&self, slice: &[SliceInfoElem]) -> ndarray_io::Result<DynArray> {
        let part = match &self.array {
            SourceArray::File(file) => file.slice_any(slice),
            SourceArray::Objects(array) => array.slice(slice),
        };
        part.map_err(|error| self.name_error(error))
    }

    /// Returns an error if the file is shorter than its header says: before memory is allocated for all of it.
    pub(crate) fn check_complete(&self) -> Result<(), Failure> {
        let checked = match &self.array {
            SourceArray::File(file) => file.check_complete(),
            SourceArray::Objects(_) => Ok(()),
        };
        Ok(checked.map_err(|error| self.name_error(error))?)
    }

    /// Adds the name of the file to an error that has none.
    pub(crate) fn name_error(&self, error: ndarray_io::Error) -> ndarray_io::Error {
        // What is written is not the fault of the file.
        let is_of_other = is_broken_pipe(&error) || is_stdout_error(&error);
        if error.path().is_some() || is_of_other { error } else { error.at_path(&self.name) }
    }

    /// Visits the array in blocks.
    pub(crate) fn blocks(&self) -> Blocks<'_, DynArray> {
        match &self.array {
            SourceArray::File(file) => file.blocks(),
            SourceArray::Objects(array) => array.blocks(),
        }
    }

    /// Writes the array as text; reads only the elements that are shown.
    pub(crate) fn display_to(
        &self,
        display_options: &DisplayOptions,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        match &self.array {
            SourceArray::File(file) => {
                file.display_to(display_options, out).map_err(|error| self.name_error(error))?
            }
            SourceArray::Objects(array) => write!(out, "{}", array.display_with(display_options))?,
        }
        Ok(())
    }
}

impl ndarray_io_compute::Source for Source {
    fn dtype(&self) -> &DType {
        self.dtype()
    }

    fn shape(&self) -> &[usize] {
        self.shape()
    }

    fn slice(&self, slice: &[SliceInfoElem]) -> ndarray_io::Result<DynArray> {
        self.slice(slice)
    }

    fn blocks(&self) -> Blocks<'_, DynArray> {
        self.blocks()
    }
}
