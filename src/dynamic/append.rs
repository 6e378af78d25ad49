//! Appending rows whose type is known only at run time.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::{DynArray, DynView};
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Help, Result};
use crate::io::{NpyWriter, RowWriter, UncommittedRows, WritableHeader, refuse_objects};
use crate::options::WriteOptions;
use crate::transfer::Sink;

/// Rows of the dtype that the file has.
const ROWS_OF_FILE_DTYPE: WritableHeader = |header, _| Ok(header.clone());

/// Rows whose dtype is known only at run time.
///
/// ```
/// use ndarray_io::file::UncommittedRows;
/// use ndarray_io::{DynView, NpyWriter, WriteOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("log.npy");
/// let (dtype, options) = ("<i2".parse()?, WriteOptions::new());
/// let mut log = NpyWriter::append_or_create_dyn(&path, &dtype, &[3], UncommittedRows::Refuse, &options)?;
/// log.push_dyn(&DynView::new(&[1, 0, 2, 0, 3, 0], 0, dtype, [3], &[2])?)?;
/// log.finish()?;
/// assert_eq!(ndarray_io::read_npy::<_, ndarray::Array2<i16>>(&path)?, ndarray::arr2(&[[1, 2, 3]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl NpyWriter<DynArray, File> {
    /// Opens an existing NPY file to append rows to its array, of the dtype that it has: see [`NpyWriter::append_with`].
    ///
    /// # Errors
    ///
    /// Those of [`NpyWriter::append_with`], except that any dtype is right but that of Python objects.
    pub fn append_dyn<P: AsRef<Path>>(
        path: P,
        surplus: UncommittedRows,
        options: &WriteOptions,
    ) -> Result<Self> {
        RowWriter::open_to_append(path.as_ref(), None, surplus, options, ROWS_OF_FILE_DTYPE)
            .map(|row_writer| Self { row_writer, write_plan: None })
    }

    /// Opens an NPY file to append rows of a shape, or creates it with a dtype: see [`NpyWriter::append_or_create_with`].
    ///
    /// # Errors
    ///
    /// - [`DTypeMismatch`](ErrorKind::DTypeMismatch) if the elements of an existing file have another dtype.
    /// - [`BadOption`](ErrorKind::BadOption) if the dtype has Python objects.
    /// - Those of [`NpyWriter::append_or_create_with`].
    pub fn append_or_create_dyn<P: AsRef<Path>>(
        path: P,
        dtype: &DType,
        row: &[usize],
        surplus: UncommittedRows,
        options: &WriteOptions,
    ) -> Result<Self> {
        let path = path.as_ref();
        refuse_objects(dtype).map_err(|error| error.at_path(path))?;
        let own = || Ok(dtype.clone());
        let row_writer =
            RowWriter::open_to_append_or_create(path, (row, &own), surplus, options, ROWS_OF_FILE_DTYPE)?;
        let writer = Self { row_writer, write_plan: None };
        writer.check_dtype(dtype)?;
        Ok(writer)
    }
}

impl<W: Write> NpyWriter<DynArray, W> {
    /// Appends one or several rows, as [`push`](NpyWriter::push).
    ///
    /// # Errors
    ///
    /// - [`DTypeMismatch`](ErrorKind::DTypeMismatch) if the rows do not have exactly the dtype of the file.
    /// - Those of [`push`](NpyWriter::push).
    pub fn push_dyn(&mut self, rows: &DynView<'_>) -> Result<()> {
        self.check_dtype(rows.dtype())?;
        self.row_writer.check_rows_and_count_empty(rows.shape())?;
        // `new` has checked that they fit in memory.
        let count = rows.shape().iter().product();
        let mut write =
            |sink: &mut Sink<'_>, order, options: &WriteOptions| rows.write_elements(sink, order, options);
        self.row_writer.put_rows(count, &mut write)
    }

    fn check_dtype(&self, dtype: &DType) -> Result<()> {
        if dtype == self.dtype() {
            return Ok(());
        }
        let kind = ErrorKind::DTypeMismatch { found: dtype.clone(), wanted: self.dtype().clone() };
        Err(self.row_writer.at_path(Error::from(kind).with_help(Help::FileDType)))
    }
}
