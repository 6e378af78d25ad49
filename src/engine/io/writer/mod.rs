//! [`NpyWriter`]: writes arrays incrementally.

mod append;
mod header;
mod rows;

pub(crate) use append::WritableHeader;
pub(crate) use header::{group_inner_axes_for, options_for, refuse_objects};
pub(crate) use rows::RowWriter;

use std::fs::File;
use std::io::{Seek, Write};

use ndarray::ShapeBuilder;

use header::{dtype_for, with_text_width_of};
use rows::BUFFER_SIZE;

use super::order::order_and_lengths;
use crate::dtype::DType;
use crate::elements::{WritableElement, WritePlan};
use crate::error::Result;
use crate::header::Header;
use crate::options::{Verb, WriteOptions};
use crate::transfer::{self, Items};

/// Writes NPY arrays incrementally.
///
/// There are two modes. [`with_shape`](NpyWriter::with_shape) writes an array of known shape to any [`Write`].
/// [`create`](NpyWriter::create) and [`new`](NpyWriter::new) write an array that grows by rows; this needs a
/// writer that can seek, because the header is updated. [`append`](NpyWriter::append) continues an existing
/// file.
///
/// The first axis grows, or the last in Fortran order. The files are byte for byte those that NumPy saves for
/// the entire array, with two exceptions. A Fortran-order array of one row, which is contiguous in both
/// orders, is marked as Fortran order, whereas NumPy marks it as C order. In a header of more than about 450
/// bytes (a record of many fields), spaces may precede the shape, so that the array's length does not cross a
/// boundary between disk sectors.
///
/// Small pushes are buffered until 1 MiB has been collected. The progress callback is not invoked.
///
/// ```
/// use ndarray::{arr2, Array2};
/// use ndarray_io::NpyWriter;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("log.npy");
/// let mut writer = NpyWriter::create(&path, &[3])?;
/// writer.push(&[1.0, 2.0, 3.0])?; // a row
/// writer.push(&arr2(&[[4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]))?; // or several
/// writer.extend([10.0, 11.0, 12.0])?; // or elements
/// writer.finish()?;
///
/// NpyWriter::append(&path)?.push_and_finish(&[0.0, 0.0, 1.0])?;
/// assert_eq!(ndarray_io::read_npy::<_, Array2<f64>>(&path)?.dim(), (5, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Rows are part of the array once [`NpyWriter::commit`] or [`NpyWriter::finish`] has been called. The
/// data is written first, and then the header that counts it, in a single write. So concurrent readers, and
/// readers after a crash, see either the old length or the new one. If a writer is dropped, the rows since
/// the last commit remain in the file after the array, where [`Uncommitted::Recover`](crate::options::Uncommitted::Recover) finds them.
#[must_use = "nothing is complete before `commit` or `finish`"]
pub struct NpyWriter<A, W = File> {
    pub(crate) row_writer: RowWriter<W>,
    /// How elements are written; `None` if their type is known only at run time.
    pub(crate) write_plan: Option<WritePlan<A>>,
}

impl<A: WritableElement, W: Write> NpyWriter<A, W> {
    pub(crate) fn of_shape<Sh: ShapeBuilder>(writer: W, shape: Sh, options: &WriteOptions) -> Result<Self> {
        let (order, shape) = order_and_lengths(shape.into_shape_with_order());
        let order = options.order.unwrap_or(order);
        let header = Header::new(dtype_for::<A>(options)?, order, shape)?;
        RowWriter::with_header(writer, header, options).map(Self::of_rows)
    }

    /// Writes an array of a known shape, whose elements are passed in its memory order.
    ///
    /// The writer need not support seeking. The header is written immediately.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if writing fails.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the header does not fit the format version, or if text has no width, the
    ///   elements are Python objects, or `sync` is set for a writer that is not a file.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if NumPy has no dtype for the elements.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the shape has more than 64 axes.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if the size of the array overflows.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr2, ShapeBuilder};
    /// use ndarray_io::{NpyWriter, ReadNpyExt};
    ///
    /// let mut file = Vec::new();
    /// let mut writer = NpyWriter::with_shape(&mut file, (2, 3).f())?;
    /// writer.extend((0..6).map(|number| number as f32))?;
    /// writer.finish()?;
    /// let array = ndarray::Array2::<f32>::read_npy(&file[..])?;
    /// assert_eq!(array, arr2(&[[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn with_shape<Sh: ShapeBuilder>(writer: W, shape: Sh) -> Result<Self> {
        WriteOptions::new().writer_of_shape(writer, shape)
    }

    /// Returns the writer of rows of this type.
    fn of_rows(row_writer: RowWriter<W>) -> Self {
        let write_plan = Some(A::write_plan(&row_writer.dtype));
        Self { row_writer, write_plan }
    }

    /// Appends elements, in the order of the file.
    ///
    /// The iterator is consumed in blocks of up to 4096 elements.
    ///
    /// # Errors
    ///
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if the array would have more elements than its declared shape, or after an
    ///   earlier error.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if a text exceeds the width.
    /// - [`Io`](crate::error::ErrorKind::Io) if writing fails.
    pub fn extend(&mut self, items: impl IntoIterator<Item = A>) -> Result<()> {
        self.row_writer.check_state()?;
        /// The number of elements taken from the iterator at a time.
        const BLOCK_ITEMS: usize = 4096;
        let mut items = items.into_iter();
        let mut block = Vec::with_capacity(items.size_hint().0.clamp(1, BLOCK_ITEMS));
        loop {
            block.extend(items.by_ref().take(BLOCK_ITEMS));
            if block.is_empty() {
                return Ok(());
            }
            self.put(Items::Contiguous(&block), block.len())?;
            block.clear();
        }
    }

    pub(crate) fn put(&mut self, items: Items<'_, A>, count: usize) -> Result<()> {
        self.put_items(items, count).map_err(|error| self.row_writer.at_path(error))
    }

    fn put_items(&mut self, items: Items<'_, A>, count: usize) -> Result<()> {
        self.row_writer.check_count(count)?;
        // Checked before anything is buffered, so that the writer stays usable after text that is too long.
        if const { A::FILE_LAYOUT.may_not_fit() } {
            let options = with_text_width_of::<A>(&self.row_writer.dtype, &self.row_writer.options);
            A::dtype_for(&mut items.iter(), &options).map_err(|error| {
                error.offset_element(usize::try_from(self.row_writer.elements).unwrap_or(usize::MAX))
            })?;
        }
        match (&self.write_plan, items) {
            // Small contiguous rows are only copied into the buffer.
            (Some(WritePlan::Bitwise(out)), Items::Contiguous(items))
                if !out.transform().needs_swap() && size_of_val(items) < BUFFER_SIZE =>
            {
                self.row_writer.put_bytes(count, out.bytes(items))
            }
            (Some(write_plan), items) => {
                let mut items = Some(items);
                self.row_writer.put_with(count, &mut |sink, header, options| {
                    let Some(items) = items.take() else { unreachable!("it is called once") };
                    transfer::write_unflushed(sink, Vec::new(), header, items, write_plan, options)
                })
            }
            (None, _) => unreachable!("a writer of typed elements has a plan"),
        }
    }
}

impl<A, W: Write> NpyWriter<A, W> {
    /// Returns the dtype of the elements in the file.
    ///
    /// ```
    /// let writer = ndarray_io::NpyWriter::<f32, _>::with_shape(Vec::new(), [2])?;
    /// assert_eq!(writer.dtype().to_string(), "'<f4'");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn dtype(&self) -> &DType {
        &self.row_writer.dtype
    }

    /// Returns the number of elements, including those that the header does not count yet.
    ///
    /// The number of rows is [`NpyWriter::rows`].
    pub fn len(&self) -> u64 {
        self.row_writer.elements
    }

    /// Returns the number of complete rows, including those that the header does not count yet: those of a file that is appended to
    /// as well.
    ///
    /// ```
    /// use ndarray::arr2;
    /// use ndarray_io::NpyWriter;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// NpyWriter::create(&path, &[2])?.push_and_finish(&arr2(&[[1.0, 2.0], [3.0, 4.0]]))?;
    /// let mut log = NpyWriter::<f64, _>::append(&path)?;
    /// assert_eq!((log.rows(), log.len()), (2, 4));
    /// log.extend([5.0])?; // a row that is not complete
    /// assert_eq!((log.rows(), log.len()), (2, 5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows(&self) -> u64 {
        self.row_writer.count()
    }

    /// Returns whether the array has no elements yet.
    pub fn is_empty(&self) -> bool {
        self.row_writer.elements == 0
    }

    /// Updates the header so that it counts all complete rows pushed so far.
    ///
    /// After this call, readers see these rows, even if this process dies. For an array of known shape, only
    /// the buffered elements are written. With [`WriteOptions::sync`], the rows are synced before the header
    /// that counts them is written, and then the header is synced. The call returns when both survive a loss
    /// of power.
    ///
    /// # Errors
    ///
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) after an earlier error.
    /// - [`Io`](crate::error::ErrorKind::Io) if writing or syncing fails.
    /// - [`Changed`](crate::error::ErrorKind::Changed) if another process has changed the file.
    pub fn commit(&mut self) -> Result<()> {
        self.row_writer.commit()
    }

    /// Completes the array and returns the writer, positioned directly after it.
    ///
    /// If a growing array ends with an incomplete row, the header is updated to count the complete rows
    /// before the error is returned.
    ///
    /// # Errors
    ///
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if elements of the declared shape or of the last row are missing, or after an
    ///   earlier error.
    /// - [`Io`](crate::error::ErrorKind::Io) if writing or syncing fails.
    /// - [`Changed`](crate::error::ErrorKind::Changed) if another process has changed the file.
    pub fn finish(self) -> Result<W> {
        self.row_writer.finish()
    }
}

impl<A: WritableElement, W: Write + Seek> NpyWriter<A, W> {
    /// Writes an array that grows by rows of the given shape, starting at the writer's position.
    ///
    /// A file is locked until the writer is dropped or returns it, and truncated at that position. `File::create` truncates it
    /// before, even if another process is writing to it: open the file without truncating it, or use [`NpyWriter::create`]. A `File`, a
    /// `BufWriter<File>` and references to them are recognized; any other writer is not locked. The header is updated only
    /// if the file has the length that this writer gave it; otherwise the update fails with [`Changed`](crate::error::ErrorKind::Changed) and
    /// leaves the header unchanged. The folder is never synced, even with [`WriteOptions::sync`]; that is up
    /// to the caller, who created the file.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if writing or seeking fails.
    /// - [`Locked`](crate::error::ErrorKind::Locked) if another writer has locked the file.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the header does not fit the format version, or if text has no width, the
    ///   elements are Python objects, the file was opened with `append(true)`, or `sync` is set for a writer that is not a file.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if NumPy has no dtype for the elements.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the array would have more than 64 axes.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if the size of a row overflows.
    pub fn new(writer: W, row: &[usize]) -> Result<Self> {
        WriteOptions::new().writer(writer, row)
    }
}

impl<A, W: std::fmt::Debug> std::fmt::Debug for NpyWriter<A, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NpyWriter")
            .field("writer", &self.row_writer.writer.0)
            .field("dtype", &self.row_writer.dtype)
            .field("order", &self.row_writer.order)
            .field("row", &self.row_writer.row)
            .field("elements", &self.row_writer.elements)
            .finish()
    }
}

impl WriteOptions {
    /// Starts an array of this shape in any writer. See [`NpyWriter::with_shape`].
    ///
    /// # Errors
    ///
    /// Those of [`NpyWriter::with_shape`], and [`BadOption`](crate::error::ErrorKind::BadOption) for options that only files with a path have.
    pub fn writer_of_shape<A, W>(&self, writer: W, shape: impl ShapeBuilder) -> Result<NpyWriter<A, W>>
    where
        A: WritableElement,
        W: Write,
    {
        self.check_for(Verb::Writer)?;
        NpyWriter::of_shape(writer, shape, self)
    }

    /// Starts an array that grows by rows, in a writer that can seek. See [`NpyWriter::new`].
    ///
    /// # Errors
    ///
    /// Those of [`NpyWriter::new`], and [`BadOption`](crate::error::ErrorKind::BadOption) for options that only files with a path have.
    pub fn writer<A: WritableElement, W: Write + Seek>(
        &self,
        writer: W,
        row: &[usize],
    ) -> Result<NpyWriter<A, W>> {
        self.check_for(Verb::Writer)?;
        RowWriter::new(writer, row, &|| dtype_for::<A>(self), self).map(NpyWriter::of_rows)
    }
}
