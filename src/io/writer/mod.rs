//! [`NpyWriter`]: writes arrays incrementally.

mod append;
mod header;

pub(crate) use append::RowTypeFns;
pub use append::{UncommittedRows, grow_header, grow_header_with};
pub(crate) use header::{group_inner_axes_for, options_for, refuse_objects};

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;

use ndarray::{ArrayRef, Dimension, ShapeBuilder};

use header::{dtype_for, growing_axis_len, rewrite_header, shape_of_rows, with_text_width_of};

use super::change::{self, LockPurpose, LockTimeout, Locked, OwnerProcess};
use super::order::order_and_lengths;
use crate::bytes;
use crate::dtype::DType;
use crate::element::{WritableElement, WritePlan};
use crate::error::{Error, ErrorKind, Help, Result, WantedShape};
use crate::header::Header;
use crate::npy_format::{self as npy, Version};
use crate::options::WriteOptions;
use crate::shape::{Order, Shape};
use crate::transfer::{self, Items, Sink, os, streams};

/// Small pieces are buffered up to this many bytes, so that a small push costs no more than a copy.
const BUFFER_SIZE: usize = 1 << 20;

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
/// use ndarray::{arr1, arr2, Array2};
/// use ndarray_io::NpyWriter;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("log.npy");
/// let mut writer = NpyWriter::create(&path, &[3])?;
/// writer.push(&arr1(&[1.0, 2.0, 3.0]))?; // a row
/// writer.push(&arr2(&[[4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]))?; // or several
/// writer.extend([10.0, 11.0, 12.0])?; // or elements
/// writer.finish()?;
///
/// NpyWriter::append(&path)?.push_and_finish(&arr1(&[0.0, 0.0, 1.0]))?;
/// assert_eq!(ndarray_io::read_npy::<_, Array2<f64>>(&path)?.dim(), (5, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Rows are part of the array once [`NpyWriter::checkpoint`] or [`NpyWriter::finish`] has been called. The
/// data is written first, and then the header that counts it, in a single write. So concurrent readers, and
/// readers after a crash, see either the old length or the new one. If a writer is dropped, the rows since
/// the last checkpoint remain in the file after the array, where [`UncommittedRows::Recover`] finds them.
#[must_use = "nothing is complete before `checkpoint` or `finish`"]
pub struct NpyWriter<A, W = File> {
    writer: WriterSlot<W>,
    /// The file's path, if this writer opened it.
    path: Option<PathBuf>,
    /// The file's lock, if this writer took one.
    locked: Option<Locked>,
    /// Writes bytes to the writer. `drop` uses it, because `W` has no `Write` bound there.
    write: fn(&mut W, &[u8]) -> Result<()>,
    options: WriteOptions,
    dtype: DType,
    order: Order,
    version: Version,
    /// The shape of one row.
    row: Shape,
    /// The number of elements of one row.
    row_len: u64,
    /// How elements are written; `None` if their type is known only at run time.
    write_plan: Option<WritePlan<A>>,
    buffer: Vec<u8>,
    /// The number of elements.
    elements: u64,
    /// The number of rows, if a row has no elements; otherwise 0.
    empty_rows: usize,
    length: ArrayLength<W>,
    /// `elements` and `empty_rows` as counted by the last header that was written.
    committed_counts: (u64, usize),
    /// Whether an error has left the writer at an unknown position within the array.
    is_broken: bool,
    /// Whether another process has changed the file.
    has_external_change: bool,
    /// How long to wait for the lock of the header.
    lock_timeout: LockTimeout,
    owner: OwnerProcess,
}

/// The underlying writer, until it is returned to the caller.
struct WriterSlot<W>(Option<W>);

impl<W> std::ops::Deref for WriterSlot<W> {
    type Target = W;

    fn deref(&self) -> &W {
        self.0.as_ref().expect("the writer is present until it is returned")
    }
}

impl<W> std::ops::DerefMut for WriterSlot<W> {
    fn deref_mut(&mut self) -> &mut W {
        self.0.as_mut().expect("the writer is present until it is returned")
    }
}

impl<A, W> Drop for NpyWriter<A, W> {
    /// Writes the buffered rows without counting them in the header.
    ///
    /// So no row that `push` has accepted is lost. After an error, the content of the file is unknown, and
    /// nothing is written. In a forked process, nothing is written either: the rows are those of its parent.
    fn drop(&mut self) {
        let Self { writer: WriterSlot(writer), write, buffer, is_broken, owner, .. } = self;
        let has_rows = !*is_broken && owner.is_current_process() && !buffer.is_empty();
        if let Some(writer) = writer.as_mut().filter(|_| has_rows) {
            let _ = write(writer, buffer); // drop cannot report an error
        }
    }
}

/// When the array is complete.
enum ArrayLength<W> {
    /// With this number of elements.
    Fixed(u64),
    /// When `finish` is called. The header is at `start`, is `head` bytes long, and is updated by `rewrite_header`.
    Growing {
        start: u64,
        head: usize,
        /// Whether the shape is kept within one sector, as in every header that this library creates.
        is_in_one_sector: bool,
        rewrite_header: fn(&mut W, u64, &[u8], &mut LockTimeout) -> Result<()>,
    },
}

impl<A: WritableElement, W: Write> NpyWriter<A, W> {
    /// Writes an array of a known shape, whose elements are passed in its memory order.
    ///
    /// The writer need not support seeking. The header is written immediately.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Io`] if writing fails.
    /// - [`ErrorKind::VersionTooLow`] if the header does not fit the format version.
    /// - [`ErrorKind::NotRepresentable`] if NumPy has no dtype for the elements.
    /// - [`ErrorKind::Limit`] if the shape has more than 64 axes.
    /// - [`ErrorKind::Overflow`] if the size of the array overflows.
    /// - [`ErrorKind::BadOption`] if text has no width, the elements are Python objects, or `sync` is set for
    ///   a writer that is not a file.
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
        Self::with_shape_with(writer, shape, &WriteOptions::new())
    }

    /// Writes an array of a known shape, with options.
    ///
    /// Text needs a width: [`WriteOptions::text_width`].
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Io`] if writing fails.
    /// - [`ErrorKind::VersionTooLow`] if the header does not fit the format version.
    /// - [`ErrorKind::NotRepresentable`] if NumPy has no dtype for the elements.
    /// - [`ErrorKind::Limit`] if the shape has more than 64 axes.
    /// - [`ErrorKind::Overflow`] if the size of the array overflows.
    /// - [`ErrorKind::BadOption`] if text has no width, the elements are Python objects, or `sync` is set for
    ///   a writer that is not a file.
    pub fn with_shape_with<Sh: ShapeBuilder>(
        mut writer: W,
        shape: Sh,
        options: &WriteOptions,
    ) -> Result<Self> {
        let (order, shape) = order_and_lengths(shape.into_shape_with_order());
        let order = options.get_order().unwrap_or(order);
        let dtype = dtype_for::<A>(options)?;
        let header = Header::new(dtype, order, shape)?;
        let head = npy::format(&header, options.get_version())?;
        change::check_can_sync(&mut writer, options)?;
        Sink::of(&mut writer).write(&head)?;
        let row = match (order, header.shape()) {
            (_, []) => Shape::default(),
            (Order::C, [_, row @ ..]) | (Order::Fortran, [row @ .., _]) => Shape::from(row),
        };
        let write_plan = Some(A::write_plan(header.dtype()));
        Ok(Self::of(writer, header, row, Version::V1, ArrayLength::Fixed(0), (write_plan, options))
            .with_fixed_length())
    }

    /// Appends one or several rows.
    ///
    /// `rows` has either the shape of one row, or an additional axis along which the array grows. Rows are
    /// buffered; call [`checkpoint`](NpyWriter::checkpoint) to make them visible to readers.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::ShapeMismatch`] if the rows have a different shape.
    /// - [`ErrorKind::WrongCount`] if the array would have more elements than its declared shape.
    /// - [`ErrorKind::TextTooLong`] if a text exceeds the width.
    /// - [`ErrorKind::OutOfTurn`] after an earlier error, or if [`extend`](NpyWriter::extend) has left a row
    ///   incomplete.
    /// - [`ErrorKind::Io`] if writing fails.
    pub fn push<D: Dimension>(&mut self, rows: &ArrayRef<A, D>) -> Result<()> {
        self.check_rows_and_count_empty(rows.shape())?;
        // With at most one axis, both orders are the same.
        if let Some(items) = rows.as_slice().filter(|_| rows.ndim() < 2) {
            return self.put(Items::Contiguous(items), items.len());
        }
        // The elements in Fortran order are those of the reversed axes in C order.
        let view = if self.order == Order::Fortran { rows.t() } else { rows.view() };
        match view.to_slice() {
            Some(items) => self.put(Items::Contiguous(items), items.len()),
            None => {
                let len = view.len();
                self.put(Items::Strided(view.into_dyn()), len)
            }
        }
    }

    /// Appends elements, in the order of the file.
    ///
    /// The iterator is consumed in blocks of up to 4096 elements.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::WrongCount`] if the array would have more elements than its declared shape.
    /// - [`ErrorKind::TextTooLong`] if a text exceeds the width.
    /// - [`ErrorKind::OutOfTurn`] after an earlier error.
    /// - [`ErrorKind::Io`] if writing fails.
    pub fn extend(&mut self, items: impl IntoIterator<Item = A>) -> Result<()> {
        self.check_state()?;
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

    /// Appends one or several rows and finishes the array.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::ShapeMismatch`] if the rows have a different shape.
    /// - [`ErrorKind::WrongCount`] if the array has more or fewer elements than its declared shape.
    /// - [`ErrorKind::TextTooLong`] if a text exceeds the width.
    /// - [`ErrorKind::OutOfTurn`] after an earlier error, or if [`extend`](NpyWriter::extend) has left a row
    ///   incomplete.
    /// - [`ErrorKind::Io`] if writing fails.
    /// - [`ErrorKind::ArrayChanged`] if another process has changed the file.
    pub fn push_and_finish<D: Dimension>(mut self, rows: &ArrayRef<A, D>) -> Result<W> {
        self.push(rows)?;
        self.finish()
    }

    fn put(&mut self, items: Items<'_, A>, count: usize) -> Result<()> {
        self.put_items(items, count).map_err(|error| self.at_path(error))
    }

    fn put_items(&mut self, items: Items<'_, A>, count: usize) -> Result<()> {
        self.check_count(count)?;
        // Checked before anything is buffered, so that the writer stays usable after text that is too long.
        if const { A::FILE_LAYOUT.may_not_fit() } {
            let options = with_text_width_of::<A>(&self.dtype, &self.options);
            A::dtype_for(&mut items.iter(), &options).map_err(|error| {
                error.offset_element(usize::try_from(self.elements).unwrap_or(usize::MAX))
            })?;
        }
        let write_plan = self.write_plan.take();
        let written = match (&write_plan, items) {
            // Small contiguous rows are only copied into the buffer.
            (Some(WritePlan::Bitwise(out)), Items::Contiguous(items))
                if !out.needs_swap() && size_of_val(items) < BUFFER_SIZE =>
            {
                self.buffer.extend_from_slice(out.bytes(items));
                self.count_written_and_flush_if_full(count)
            }
            (Some(write_plan), items) => self.put_with(count, |sink, header, options| {
                transfer::write_unflushed(sink, Vec::new(), header, items, write_plan, options)
            }),
            (None, _) => unreachable!("a writer of typed elements has a plan"),
        };
        self.write_plan = write_plan;
        written
    }
}

impl<A, W: Write> NpyWriter<A, W> {
    fn of(
        writer: W,
        header: Header,
        row: Shape,
        version: Version,
        length: ArrayLength<W>,
        (write_plan, options): (Option<WritePlan<A>>, &WriteOptions),
    ) -> Self {
        let rows_are_empty = row.dims().contains(&0);
        let row_count = growing_axis_len(header.order(), header.shape_ref());
        Self {
            writer: WriterSlot(Some(writer)),
            path: None,
            locked: None,
            write: |writer, bytes| Sink::of(writer).write(bytes),
            options: options.without_progress(),
            write_plan,
            order: header.order(),
            version,
            row_len: row.len().unwrap_or(0),
            row,
            buffer: Vec::new(),
            elements: header.len(),
            empty_rows: if rows_are_empty { row_count } else { 0 },
            dtype: header.dtype().clone(),
            length,
            committed_counts: (header.len(), if rows_are_empty { row_count } else { 0 }),
            is_broken: false,
            has_external_change: false,
            lock_timeout: LockTimeout::default(),
            owner: OwnerProcess::new(),
        }
    }

    fn with_fixed_length(mut self) -> Self {
        self.length = ArrayLength::Fixed(self.elements);
        (self.elements, self.empty_rows) = (0, 0);
        self
    }

    /// Checks whether an array consists of rows that can be pushed now, and counts those that have no elements.
    pub(crate) fn check_rows_and_count_empty(&mut self, dims: &[usize]) -> Result<()> {
        self.check_state()?;
        let row = self.row.dims();
        let count = match (self.order, dims) {
            _ if dims == row => Some(1),
            (Order::C, [count, rest @ ..]) | (Order::Fortran, [rest @ .., count]) if rest == row => {
                Some(*count)
            }
            _ => None,
        };
        let Some(count) = count else {
            let wanted = WantedShape::Rows(self.row.clone());
            let error = Error::from(ErrorKind::ShapeMismatch { found: dims.into(), wanted });
            let is_last_axis = self.order == Order::Fortran && self.row.ndim() > 0;
            return Err(self.at_path(if is_last_axis { error.with_help(Help::COrder) } else { error }));
        };
        if self.elements.checked_rem(self.row_len).unwrap_or(0) != 0 {
            let reason =
                "a row begun with single elements must be completed before entire rows are pushed".into();
            return Err(ErrorKind::OutOfTurn { reason }.into());
        }
        if self.row_len == 0 {
            self.empty_rows = self.empty_rows.saturating_add(count);
        }
        Ok(())
    }

    /// Checks whether this number of elements can follow.
    fn check_count(&self, count: usize) -> Result<()> {
        let elements = self.elements.checked_add(count as u64);
        let wanted = if let ArrayLength::Fixed(wanted) = self.length { wanted } else { u64::MAX };
        match elements {
            Some(elements) if elements <= wanted => Ok(()),
            _ => {
                let found = self.elements.saturating_add(count as u64);
                Err(ErrorKind::WrongCount { found, wanted }.into())
            }
        }
    }

    /// Writes elements by a function, which is given where to, and the header of an array of just these: few into the buffer, many directly.
    fn put_with(
        &mut self,
        count: usize,
        write: impl FnOnce(&mut Sink<'_>, &Header, &WriteOptions) -> Result<()>,
    ) -> Result<()> {
        let header = Header::new(self.dtype.clone(), Order::C, [count].into())?;
        let is_small = header.payload_len().is_some_and(|bytes| bytes < BUFFER_SIZE as u64);
        // Broken until everything has been written: an early return leaves part of an element in the file.
        self.is_broken = true;
        if !is_small {
            self.flush_buffer()?; // what is already buffered comes before
        }
        let Self { writer, buffer, options, .. } = self;
        let mut sink = if is_small { Sink::of(buffer) } else { Sink::of(&mut **writer) };
        write(&mut sink, &header, options)?;
        self.count_written_and_flush_if_full(count)
    }

    /// Writes rows by a function, which is given where to and the order of their elements.
    pub(crate) fn put_rows(
        &mut self,
        count: usize,
        write: impl FnOnce(&mut Sink<'_>, Order, &WriteOptions) -> Result<()>,
    ) -> Result<()> {
        let order = self.order;
        let put = self
            .check_count(count)
            .and_then(|()| self.put_with(count, |sink, _, options| write(sink, order, options)));
        put.map_err(|error| self.at_path(error))
    }

    /// Counts elements that have been written.
    fn count_written_and_flush_if_full(&mut self, count: usize) -> Result<()> {
        self.is_broken = true;
        if self.buffer.len() >= BUFFER_SIZE {
            self.flush_buffer()?;
        }
        self.elements += count as u64;
        self.is_broken = false;
        Ok(())
    }

    /// Returns the dtype of the elements in the file.
    ///
    /// ```
    /// let writer = ndarray_io::NpyWriter::<f32, _>::with_shape(Vec::new(), [2])?;
    /// assert_eq!(writer.dtype().to_string(), "'<f4'");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// Returns the number of elements, including those that the header does not count yet.
    ///
    /// The number of rows is [`NpyWriter::rows`].
    pub fn len(&self) -> u64 {
        self.elements
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
        self.elements.checked_div(self.row_len).unwrap_or(self.empty_rows as u64)
    }

    /// Returns whether the array has no elements yet.
    pub fn is_empty(&self) -> bool {
        self.elements == 0
    }

    pub(crate) fn at_path(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.at_path(path),
            None => error,
        }
    }

    fn flush_buffer(&mut self) -> Result<()> {
        Sink::of(&mut *self.writer).write(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn check_state(&self) -> Result<()> {
        match self.is_broken {
            false => Ok(()),
            true => {
                let reason = "an earlier error has left the writer within the array".into();
                Err(self.at_path(ErrorKind::OutOfTurn { reason }.into()))
            }
        }
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
    /// - [`ErrorKind::OutOfTurn`] after an earlier error.
    /// - [`ErrorKind::Io`] if writing or syncing fails.
    /// - [`ErrorKind::ArrayChanged`] if another process has changed the file.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.commit_rows().map_err(|error| self.at_path(error))
    }

    fn commit_rows(&mut self) -> Result<()> {
        self.check_state()?;
        self.is_broken = true;
        self.flush_buffer()?;
        Sink::of(&mut *self.writer).flush()?;
        // The rows are synced before the header, which must never count rows that a loss of power could still
        // destroy.
        change::sync_writer(&mut *self.writer, &self.options)?;
        if let ArrayLength::Growing { start, head, rewrite_header, .. } = self.length {
            let text = self.header_bytes_counting(self.elements, self.empty_rows)?;
            self.check_file_unchanged(start + head as u64)?;
            rewrite_header(&mut self.writer, start, &text, &mut self.lock_timeout)?;
            change::sync_writer(&mut *self.writer, &self.options)?;
        }
        self.committed_counts = (self.elements, self.empty_rows);
        self.is_broken = false;
        Ok(())
    }

    /// Returns a header that counts the complete rows among `elements` and is as long as the old header.
    fn header_bytes_counting(&self, elements: u64, empty_rows: usize) -> Result<Vec<u8>> {
        let ArrayLength::Growing { head, is_in_one_sector, .. } = self.length else { return Ok(Vec::new()) };
        let rows = elements.checked_div(self.row_len).map_or(Ok(empty_rows), usize::try_from);
        let rows =
            rows.map_err(|_| ErrorKind::Overflow { what: format!("an array of {elements} elements") })?;
        let header = Header::new(self.dtype.clone(), self.order, shape_of_rows(&self.row, self.order, rows))?;
        let text = npy::format_in_place(&header, self.version, head, is_in_one_sector);
        Ok(text.ok_or(ErrorKind::HeaderCannotGrow { header: head as u64, crosses_sector: false })?)
    }

    /// Returns an error if the file does not have the length that this writer gave it.
    ///
    /// Without this check, the header could count bytes that another process wrote.
    fn check_file_unchanged(&mut self, payload: u64) -> Result<()> {
        let bytes = self.elements * self.dtype.item_size() as u64;
        let wanted = payload + bytes;
        match streams::as_file_or_buffered(&mut *self.writer).map(File::metadata).transpose()? {
            Some(metadata) if metadata.is_file() && metadata.len() != wanted => {
                self.has_external_change = true;
                let found = metadata.len();
                Err(ErrorKind::array_changed(format!("expected a file of {wanted} bytes, found {found}"))
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// Completes the array and returns the writer, positioned directly after it.
    ///
    /// If a growing array ends with an incomplete row, the header is updated to count the complete rows
    /// before the error is returned.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::WrongCount`] if elements of the declared shape or of the last row are missing.
    /// - [`ErrorKind::OutOfTurn`] after an earlier error.
    /// - [`ErrorKind::Io`] if writing or syncing fails.
    /// - [`ErrorKind::ArrayChanged`] if another process has changed the file.
    #[expect(clippy::missing_panics_doc, reason = "what is expected holds by construction")]
    pub fn finish(mut self) -> Result<W> {
        let wanted = match self.length {
            ArrayLength::Fixed(wanted) => wanted,
            // Of whole rows.
            ArrayLength::Growing { .. } => {
                let row = self.row.len().unwrap_or(0);
                self.elements.checked_next_multiple_of(row).unwrap_or(self.elements)
            }
        };
        self.checkpoint()?; // counts the complete rows even if an error follows
        if self.elements != wanted {
            return Err(self.at_path(ErrorKind::WrongCount { found: self.elements, wanted }.into()));
        }
        Ok(self.writer.0.take().expect("the writer is present until it is returned"))
    }
}

impl<A: WritableElement, W: Write + Seek> NpyWriter<A, W> {
    /// Writes an array that grows by rows of the given shape, starting at the writer's position.
    ///
    /// A file is locked until the writer is dropped or returns it, and truncated at that position. `File::create` truncates it
    /// before, even if another process is writing to it: open the file without truncating it, or use [`NpyWriter::create`]. A `File`, a
    /// `BufWriter<File>` and references to them are recognized; any other writer is not locked. The header is updated only
    /// if the file has the length that this writer gave it; otherwise the update fails with [`ErrorKind::ArrayChanged`] and
    /// leaves the header unchanged. The folder is never synced, even with [`WriteOptions::sync`]; that is up
    /// to the caller, who created the file.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Io`] if writing or seeking fails.
    /// - [`ErrorKind::Locked`] if another writer has locked the file.
    /// - [`ErrorKind::VersionTooLow`] if the header does not fit the format version.
    /// - [`ErrorKind::NotRepresentable`] if NumPy has no dtype for the elements.
    /// - [`ErrorKind::Limit`] if the array would have more than 64 axes.
    /// - [`ErrorKind::Overflow`] if the size of a row overflows.
    /// - [`ErrorKind::BadOption`] if text has no width, the elements are Python objects, the file was opened
    ///   with `append(true)`, or `sync` is set for a writer that is not a file.
    pub fn new(writer: W, row: &[usize]) -> Result<Self> {
        Self::new_with(writer, row, &WriteOptions::new())
    }

    /// Writes an array that grows by rows of the given shape, with options.
    ///
    /// With [`Order::Fortran`] the last axis grows. Text needs a width: [`WriteOptions::text_width`]. For the lock of a file,
    /// the writer waits as long as [`WriteOptions::wait_for_lock`] says.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Io`] if writing or seeking fails.
    /// - [`ErrorKind::Locked`] if another writer has locked the file.
    /// - [`ErrorKind::VersionTooLow`] if the header does not fit the format version.
    /// - [`ErrorKind::NotRepresentable`] if NumPy has no dtype for the elements.
    /// - [`ErrorKind::Limit`] if the array would have more than 64 axes.
    /// - [`ErrorKind::Overflow`] if the size of a row overflows.
    /// - [`ErrorKind::BadOption`] if text has no width, the elements are Python objects, the file was opened
    ///   with `append(true)`, or `sync` is set for a writer that is not a file.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::header::Order;
    /// use ndarray_io::{NpyWriter, WriteOptions};
    /// use std::io::Cursor;
    ///
    /// let options = WriteOptions::new().text_width(5);
    /// let mut names = NpyWriter::new_with(Cursor::new(Vec::new()), &[], &options)?;
    /// names.extend(["Ada".to_owned(), "Grace".to_owned()])?;
    /// assert!(names.extend(["Katherine".to_owned()]).is_err());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn new_with(mut writer: W, row: &[usize], options: &WriteOptions) -> Result<Self> {
        let locked = lock_file_of(&mut writer, options)?;
        let dtype = dtype_for::<A>(options)?;
        let write_plan = Some(A::write_plan(&dtype));
        let mut made = Self::new_without_locking(writer, row, (dtype, write_plan), options)?;
        made.locked = locked;
        Ok(made)
    }
}

impl<A, W: Write + Seek> NpyWriter<A, W> {
    /// Like `new_with`, for a writer whose file is locked.
    fn new_without_locking(
        mut writer: W,
        row: &[usize],
        (dtype, write_plan): (DType, Option<WritePlan<A>>),
        options: &WriteOptions,
    ) -> Result<Self> {
        let row = Shape::from(row);
        // With one axis, both orders are the same.
        let order = if row.ndim() == 0 { Order::C } else { options.get_order().unwrap_or_default() };
        let header = Header::new(dtype, order, shape_of_rows(&row, order, 0))?;
        let head = npy::format_growing(&header, options.get_version())?;
        let start = writer.stream_position()?;
        change::check_can_sync(&mut writer, options)?;
        let file = streams::as_file_or_buffered(&mut writer);
        if let Some((file, length)) = file.and_then(|file| Some((file, bytes::len_of_regular(file)?))) {
            if os::is_append_only(file) {
                let reason = "the file was opened for appending only, so its header cannot be updated";
                return Err(ErrorKind::BadOption { reason: reason.into() }.into());
            }
            if length > start {
                change::set_len(file, start)?; // so that no old content remains after the array
            }
        }
        let version = if head[6] == 1 {
            Version::V1
        } else if head[6] == 2 {
            Version::V2
        } else {
            Version::V3
        };
        Sink::of(&mut writer).write(&head)?;
        // Without this sync, a loss of power could restore truncated bytes, and new rows would be mixed with
        // them.
        change::sync_writer(&mut writer, options)?;
        let length = ArrayLength::Growing {
            start,
            head: head.len(),
            is_in_one_sector: true,
            rewrite_header: rewrite_header::<W>,
        };
        Ok(Self::of(writer, header, row, version, length, (write_plan, options)))
    }
}

/// Locks the regular file to which a writer writes, if it is recognized.
///
/// The lock is taken through a second handle of the same open file, since the writer is needed for writing.
fn lock_file_of<W>(writer: &mut W, options: &WriteOptions) -> Result<Option<Locked>> {
    let Some(file) =
        streams::as_file_or_buffered(writer).filter(|file| bytes::len_of_regular(file).is_some())
    else {
        return Ok(None);
    };
    if change::is_lent_to_callback(file) {
        return Ok(None);
    }
    match file.try_clone() {
        Ok(file) => Locked::new(file, LockPurpose::Change, options.get_wait_for_lock()).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => Ok(None), // WASI has neither
        Err(error) => Err(error.into()),
    }
}

impl<A, W: std::fmt::Debug> std::fmt::Debug for NpyWriter<A, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NpyWriter")
            .field("writer", &self.writer.0)
            .field("dtype", &self.dtype)
            .field("order", &self.order)
            .field("row", &self.row)
            .field("elements", &self.elements)
            .finish()
    }
}
