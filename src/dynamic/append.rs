//! Appending rows whose type is known only at run time.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::{DynArray, DynView};
use crate::array::Rows;
use crate::dtype::DType;
use crate::error::{Error, Fault, Remedy, Result};
use crate::io::{NpyWriter, RowWriter, WritableHeader, refuse_objects};
use crate::options::{Verb, WriteOptions};
use crate::shape::Order;
use crate::transfer::Sink;

/// Rows of the dtype that the file has.
const ROWS_OF_FILE_DTYPE: WritableHeader = |header, _| Ok(header.clone());

/// Rows whose dtype is known only at run time.
///
/// ```
/// use ndarray_io::{DynView, NpyWriter, WriteOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("log.npy");
/// let (dtype, options) = ("<i2".parse()?, WriteOptions::new());
/// let mut log = options.append_or_create_dyn(&path, &dtype, &[3])?;
/// log.push(&DynView::new(&[1, 0, 2, 0, 3, 0], 0, dtype, [3], &[2])?)?;
/// log.finish()?;
/// assert_eq!(ndarray_io::read_npy::<_, ndarray::Array2<i16>>(&path)?, ndarray::arr2(&[[1, 2, 3]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl WriteOptions {
    /// Opens an existing NPY file to append rows to its array, of the dtype that it has: see [`append`](Self::append).
    ///
    /// # Errors
    ///
    /// Those of [`append`](Self::append), except that any dtype is right but that of Python objects.
    pub fn append_dyn(&self, path: impl AsRef<Path>) -> Result<NpyWriter<DynArray, File>> {
        self.check_at_path(Verb::Append, path.as_ref())?;
        RowWriter::open_to_append(path.as_ref(), None, self, ROWS_OF_FILE_DTYPE)
            .map(|row_writer| NpyWriter { row_writer, write_plan: None })
    }

    /// Opens an NPY file to append rows of a shape, or creates it with a dtype: see [`append_or_create`](Self::append_or_create).
    ///
    /// # Errors
    ///
    /// - [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if the elements of an existing file have another dtype.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the dtype has Python objects.
    /// - Those of [`append_or_create`](Self::append_or_create).
    pub fn append_or_create_dyn(
        &self,
        path: impl AsRef<Path>,
        dtype: &DType,
        row: &[usize],
    ) -> Result<NpyWriter<DynArray, File>> {
        let path = path.as_ref();
        self.check_at_path(Verb::AppendOrCreateDyn, path)?;
        refuse_objects(dtype).map_err(|error| error.at_path(path))?;
        let own = || Ok(dtype.clone());
        let row_writer = RowWriter::open_to_append_or_create(path, (row, &own), self, ROWS_OF_FILE_DTYPE)?;
        let writer = NpyWriter { row_writer, write_plan: None };
        writer.check_dtype(dtype)?;
        Ok(writer)
    }
}

impl Rows<DynArray> for DynView<'_> {
    fn push_to<W: Write>(&self, writer: &mut NpyWriter<DynArray, W>) -> Result<()> {
        writer.push_of(self.dtype(), self.shape(), &mut |sink, order, options| {
            self.write_elements(sink, order, options)
        })
    }
}

impl Rows<DynArray> for DynArray {
    fn push_to<W: Write>(&self, writer: &mut NpyWriter<DynArray, W>) -> Result<()> {
        writer.push_of(self.dtype(), self.shape(), &mut |sink, order, options| {
            self.write_elements(sink, order, options)
        })
    }
}

impl<W: Write> NpyWriter<DynArray, W> {
    /// Appends one or several rows of exactly the dtype of the file, which `write` writes.
    fn push_of(
        &mut self,
        dtype: &DType,
        shape: &[usize],
        write: &mut dyn FnMut(&mut Sink<'_>, Order, &WriteOptions) -> Result<()>,
    ) -> Result<()> {
        self.check_dtype(dtype)?; // Python objects cannot be appended, so that there are none after this
        self.row_writer.check_rows_and_count_empty(shape)?;
        // They are in memory, so that their number fits.
        self.row_writer.put_rows(shape.iter().product(), write)
    }

    fn check_dtype(&self, dtype: &DType) -> Result<()> {
        if dtype == self.dtype() {
            return Ok(());
        }
        let kind = Fault::DTypeMismatch { found: dtype.clone(), wanted: self.dtype().clone() };
        Err(self.row_writer.at_path(Error::from(kind).with_help(Remedy::FileDType)))
    }
}
