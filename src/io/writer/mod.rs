//! [`NpyWriter`]: arrays that are written piece by piece.

mod append;
mod header;

pub use append::{UncommittedRows, grow_header, grow_header_with};
pub(crate) use header::{grouped_for, options_for};

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;

use ndarray::{ArrayRef, Dimension, ShapeBuilder};

use header::{dtype_for, growing_axis, grown, rewrite, width_of};

use super::change::{self, Locked};
use super::order::parts_of;
use crate::dtype::DType;
use crate::element::{WritableElement, WritePlan};
use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;
use crate::npy_format::{self as npy, Version};
use crate::options::WriteOptions;
use crate::shape::{Order, Shape};
use crate::transfer::{self, Items, Sink, os};

/// How many bytes of small pieces are collected before they are written.
const COLLECTED: usize = 1 << 20;

/// Writes an array piece by piece: of a shape that is known, to anything that writes; or growing row by row, to what can
/// seek, so that the header can be fixed in the end. Existing files are appended to by [`NpyWriter::append`].
///
/// What grows is the first axis, or in Fortran order the last. The files are byte for byte what NumPy saves for the whole
/// array. (An array in Fortran order that is contiguous both ways, because it has one row, is marked as being in Fortran
/// order, where NumPy would mark C order. A header of more than 450 bytes or so, that of a record of many fields, may have spaces
/// in front of its shape, so that its length is in one sector of the disk.)
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
/// Rows count when [`NpyWriter::checkpoint`] or [`NpyWriter::finish`] has been called: the data are written before the header
/// that counts them, and the header in one write, so that whoever reads the file meanwhile, or after a crash, sees the old
/// length or the new one. A writer that is dropped leaves its last rows after the array, where
/// [`UncommittedRows::Recover`] finds them.
pub struct NpyWriter<A, W> {
    writer: Slot<W>,
    /// The file's path, if the writer has opened it.
    path: Option<PathBuf>,
    /// Its lock.
    locked: Option<Locked>,
    /// Writes bytes when the writer is dropped.
    write: fn(&mut W, &[u8]) -> Result<()>,
    options: WriteOptions,
    dtype: DType,
    order: Order,
    version: Version,
    /// The shape of one row, and how many elements it has.
    row: Shape,
    row_len: u64,
    emit: WritePlan<A>,
    collected: Vec<u8>,
    /// How many elements there are, and of rows without elements how many rows.
    elements: u64,
    empty_rows: usize,
    end: End<W>,
    /// How many of each the header on the disk counts, as far as is known.
    counted: (u64, usize),
    /// An error has left the writer somewhere within an element.
    is_broken: bool,
    /// Something else has changed the file.
    is_foreign: bool,
}

/// The writer, until `finish` gives it back.
struct Slot<W>(Option<W>);

impl<W> std::ops::Deref for Slot<W> {
    type Target = W;

    fn deref(&self) -> &W {
        self.0.as_ref().expect("the writer is there until it is given back")
    }
}

impl<W> std::ops::DerefMut for Slot<W> {
    fn deref_mut(&mut self) -> &mut W {
        self.0.as_mut().expect("the writer is there until it is given back")
    }
}

impl<A, W> Drop for NpyWriter<A, W> {
    /// What has been collected is written, so that no row is lost that `push` has taken; it is not counted. After an error,
    /// nobody knows what is in the file, and nothing is written.
    fn drop(&mut self) {
        let Self { writer: Slot(writer), write, collected, is_broken, .. } = self;
        if let Some(writer) = writer
            && !*is_broken
            && !collected.is_empty()
        {
            let _ = write(writer, collected); // there is nobody left to tell
        }
    }
}

/// When the array is complete.
enum End<W> {
    /// With so many elements.
    At(u64),
    /// When it is said to be: the header begins at this place, is so long, and is written anew by this function.
    Open {
        start: u64,
        head: usize,
        /// The shape is kept within a sector, as every header that this writer has begun.
        is_in_one_sector: bool,
        rewrite: fn(&mut W, u64, &[u8]) -> Result<()>,
    },
}

impl<A: WritableElement, W: Write> NpyWriter<A, W> {
    /// Writes an array of this shape, whose elements come in its order. The writer need not seek.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the header
    /// does not fit the version; [`BadOption`](crate::error::ErrorKind::BadOption) if text has no width, the elements are Python
    /// objects or the options contradict the writer.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr2, ShapeBuilder};
    /// use ndarray_io::{NpyWriter, ReadNpyExt};
    ///
    /// let mut file = Vec::new();
    /// let mut writer = NpyWriter::shaped(&mut file, (2, 3).f())?;
    /// writer.extend((0..6).map(|number| number as f32))?;
    /// writer.finish()?;
    /// let array = ndarray::Array2::<f32>::read_npy(&file[..])?;
    /// assert_eq!(array, arr2(&[[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn shaped<Sh: ShapeBuilder>(writer: W, shape: Sh) -> Result<Self> {
        Self::shaped_with(writer, shape, &WriteOptions::new())
    }

    /// The same with options. Text needs a width: [`WriteOptions::text_width`].
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the header
    /// does not fit the version; [`BadOption`](crate::error::ErrorKind::BadOption) if text has no width, the elements are Python
    /// objects or the options contradict the writer.
    pub fn shaped_with<Sh: ShapeBuilder>(mut writer: W, shape: Sh, options: &WriteOptions) -> Result<Self> {
        let (order, shape) = parts_of(shape.into_shape_with_order());
        let order = options.get_order().unwrap_or(order);
        let dtype = dtype_for::<A>(options)?;
        let header = Header::new(dtype, order, shape)?;
        let head = npy::format(&header, options.get_version())?;
        change::check_syncs(&mut writer, options)?;
        Sink::of(&mut writer).write(&head)?;
        let row = match (order, header.shape()) {
            (_, []) => Shape::default(),
            (Order::C, [_, row @ ..]) | (Order::Fortran, [row @ .., _]) => Shape::from(row),
        };
        Ok(Self::of(writer, header, row, Version::V1, End::At(0), options).ending_with_shape())
    }

    fn of(
        writer: W,
        header: Header,
        row: Shape,
        version: Version,
        end: End<W>,
        options: &WriteOptions,
    ) -> Self {
        let rows_are_empty = row.dims().contains(&0);
        let grown = growing_axis(header.order(), header.the_shape());
        Self {
            writer: Slot(Some(writer)),
            path: None,
            locked: None,
            write: |writer, bytes| Sink::of(writer).write(bytes),
            options: options.without_progress(),
            emit: A::emit(header.dtype()),
            order: header.order(),
            version,
            row_len: row.len().unwrap_or(0),
            row,
            collected: Vec::new(),
            elements: header.len(),
            empty_rows: if rows_are_empty { grown } else { 0 },
            dtype: header.dtype().clone(),
            end,
            counted: (header.len(), if rows_are_empty { grown } else { 0 }),
            is_broken: false,
            is_foreign: false,
        }
    }

    fn ending_with_shape(mut self) -> Self {
        self.end = End::At(self.elements);
        self.elements = 0;
        self
    }

    /// Appends one row, or several: an array of the shape of a row, or with one axis more, along which it grows.
    ///
    /// # Errors
    ///
    /// [`RowMismatch`](crate::error::ErrorKind::RowMismatch) if the rows have another shape,
    /// [`WrongCount`](crate::error::ErrorKind::WrongCount) if the shape declares fewer or, at the end, more;
    /// [`TextTooLong`](crate::error::ErrorKind::TextTooLong) if a text does not fit; [`BadOption`](crate::error::ErrorKind::BadOption)
    /// after an earlier error, or within a row of single elements; [`Io`](crate::error::ErrorKind::Io) if the system fails.
    pub fn push<D: Dimension>(&mut self, rows: &ArrayRef<A, D>) -> Result<()> {
        self.check_state()?;
        let (dims, row) = (rows.shape(), self.row.dims());
        let count = match (self.order, dims) {
            _ if dims == row => Some(1),
            (Order::C, [count, rest @ ..]) | (Order::Fortran, [rest @ .., count]) if rest == row => {
                Some(*count)
            }
            _ => None,
        };
        let Some(count) = count else {
            return Err(
                self.at_path(ErrorKind::RowMismatch { found: dims.into(), row: self.row.clone() }.into())
            );
        };
        if self.elements.checked_rem(self.row_len).unwrap_or(0) != 0 {
            let reason =
                "single elements have begun a row, which has to be complete before whole rows follow".into();
            return Err(ErrorKind::BadOption { reason }.into());
        }
        if self.row_len == 0 {
            self.empty_rows = self.empty_rows.saturating_add(count);
        }
        // Of one axis at most, both orders are the same.
        if rows.ndim() < 2
            && let Some(items) = rows.as_slice()
        {
            return self.put(Items::Contiguous(items), items.len());
        }
        // In Fortran order, the elements follow one another as those of the reversed axes in C order.
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
    /// # Errors
    ///
    /// [`WrongCount`](crate::error::ErrorKind::WrongCount) if the elements are more than the shape declares,
    /// [`TextTooLong`](crate::error::ErrorKind::TextTooLong) if a text does not fit; [`BadOption`](crate::error::ErrorKind::BadOption)
    /// after an earlier error; [`Io`](crate::error::ErrorKind::Io) if the system fails.
    pub fn extend(&mut self, items: impl IntoIterator<Item = A>) -> Result<()> {
        self.check_state()?;
        /// How many are taken at a time.
        const MOST: usize = 4096;
        let mut items = items.into_iter();
        let mut block = Vec::with_capacity(items.size_hint().0.clamp(1, MOST));
        loop {
            block.extend(items.by_ref().take(MOST));
            if block.is_empty() {
                return Ok(());
            }
            self.put(Items::Contiguous(&block), block.len())?;
            block.clear();
        }
    }

    /// Appends rows and finishes.
    ///
    /// # Errors
    ///
    /// [`RowMismatch`](crate::error::ErrorKind::RowMismatch) if the rows have another shape,
    /// [`WrongCount`](crate::error::ErrorKind::WrongCount) if the shape declares fewer or, at the end, more;
    /// [`TextTooLong`](crate::error::ErrorKind::TextTooLong) if a text does not fit; [`BadOption`](crate::error::ErrorKind::BadOption)
    /// after an earlier error, or within a row of single elements; [`Io`](crate::error::ErrorKind::Io) if the system fails.
    pub fn push_and_finish<D: Dimension>(mut self, rows: &ArrayRef<A, D>) -> Result<W> {
        self.push(rows)?;
        self.finish()
    }

    /// How many elements there are by now.
    pub fn len(&self) -> u64 {
        self.elements
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.elements == 0
    }

    fn put(&mut self, items: Items<'_, A>, count: usize) -> Result<()> {
        self.put_items(items, count).map_err(|error| self.at_path(error))
    }

    fn at_path(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.at_path(path),
            None => error,
        }
    }

    fn put_items(&mut self, items: Items<'_, A>, count: usize) -> Result<()> {
        let elements = self.elements.checked_add(count as u64);
        let wanted = if let End::At(wanted) = self.end { wanted } else { u64::MAX };
        match elements {
            Some(elements) if elements <= wanted => {}
            _ => {
                return Err(ErrorKind::WrongCount {
                    found: self.elements.saturating_add(count as u64),
                    wanted,
                }
                .into());
            }
        }
        if A::FILE_LAYOUT.varies() {
            let options = width_of::<A>(&self.dtype, &self.options);
            A::dtype_for(&mut items.iter(), &options)
                .map_err(|error| error.behind(usize::try_from(self.elements).unwrap_or(usize::MAX)))?;
        }
        self.is_broken = true;
        let Self { writer, collected, emit, dtype, options, .. } = self;
        match (&*emit, items) {
            // Small rows should cost no more than being copied.
            (WritePlan::Bitwise(out), Items::Contiguous(items))
                if !out.swaps() && size_of_val(items) < COLLECTED =>
            {
                collected.extend_from_slice(out.bytes(items));
            }
            (emit, items) => {
                let header = Header::new(dtype.clone(), Order::C, [count].into())?;
                let is_small = header.payload_len().is_some_and(|bytes| bytes < COLLECTED as u64);
                if !is_small {
                    Sink::of(&mut **writer).write(collected)?;
                    collected.clear();
                }
                let mut sink = if is_small { Sink::of(collected) } else { Sink::of(&mut **writer) };
                transfer::write_more(&mut sink, Vec::new(), &header, items, emit, options)?;
            }
        }
        if self.collected.len() >= COLLECTED {
            self.write_collected()?;
        }
        self.elements += count as u64;
        self.is_broken = false;
        Ok(())
    }

    fn write_collected(&mut self) -> Result<()> {
        Sink::of(&mut *self.writer).write(&self.collected)?;
        self.collected.clear();
        Ok(())
    }

    fn check_state(&self) -> Result<()> {
        match self.is_broken {
            false => Ok(()),
            true => {
                let reason = "an earlier error has left the writer somewhere within the array".into();
                Err(ErrorKind::BadOption { reason }.into())
            }
        }
    }

    /// Makes all rows count that have been pushed. What is read from now on, even if this process dies, has them. (Of an
    /// array whose shape was known from the beginning, it only writes what has been collected.)
    ///
    /// With [`WriteOptions::sync`] the rows are on the disk before the header that counts them, and it is, too.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) after an earlier error; [`Io`](crate::error::ErrorKind::Io) if the system
    /// fails; [`ChangedByOther`](crate::error::ErrorKind::ChangedByOther) if something else has changed the file.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.count_rows().map_err(|error| self.at_path(error))
    }

    fn count_rows(&mut self) -> Result<()> {
        self.check_state()?;
        self.is_broken = true;
        self.write_collected()?;
        Sink::of(&mut *self.writer).flush()?;
        change::sync_writer(&mut *self.writer, &self.options)?;
        if let End::Open { start, head, rewrite, .. } = self.end {
            let text = self.header_of(self.elements, self.empty_rows)?;
            self.check_length(start + head as u64)?;
            rewrite(&mut self.writer, start, &text)?;
            change::sync_writer(&mut *self.writer, &self.options)?;
        }
        self.counted = (self.elements, self.empty_rows);
        self.is_broken = false;
        Ok(())
    }

    /// The header that counts the whole rows of so many elements, in the bytes that there are for it.
    fn header_of(&self, elements: u64, empty_rows: usize) -> Result<Vec<u8>> {
        let End::Open { head, is_in_one_sector, .. } = self.end else { return Ok(Vec::new()) };
        let rows = elements.checked_div(self.row_len).map_or(Ok(empty_rows), usize::try_from);
        let rows =
            rows.map_err(|_| ErrorKind::Overflow { what: format!("an array of {elements} elements") })?;
        let header = Header::new(self.dtype.clone(), self.order, grown(&self.row, self.order, rows))?;
        let text = npy::format_in_place(&header, self.version, head, is_in_one_sector);
        Ok(text.ok_or(ErrorKind::NoRoom { header: head as u64 })?)
    }

    /// An error if the file is not as long as this writer has made it: then the header would count what another one wrote.
    fn check_length(&mut self, payload: u64) -> Result<()> {
        let bytes = self.elements * self.dtype.item_size() as u64;
        let wanted = payload + bytes;
        match os::as_any_file(&mut *self.writer).map(File::metadata).transpose()? {
            Some(metadata) if metadata.is_file() && metadata.len() != wanted => {
                self.is_foreign = true;
                Err(ErrorKind::ChangedByOther { found: metadata.len(), wanted }.into())
            }
            _ => Ok(()),
        }
    }

    /// Completes the array: an error if elements are missing, be it of the shape that was promised or of the last row.
    /// Returns the writer, which stands behind the array.
    ///
    /// # Errors
    ///
    /// [`WrongCount`](crate::error::ErrorKind::WrongCount) if elements are missing; [`BadOption`](crate::error::ErrorKind::BadOption)
    /// after an earlier error; [`Io`](crate::error::ErrorKind::Io) if the system fails;
    /// [`ChangedByOther`](crate::error::ErrorKind::ChangedByOther) if something else has changed the file.
    #[expect(clippy::missing_panics_doc, reason = "what is expected holds by construction")]
    pub fn finish(mut self) -> Result<W> {
        let wanted = match self.end {
            End::At(wanted) => wanted,
            End::Open { .. } => {
                self.elements - self.elements.checked_rem(self.row.len().unwrap_or(0)).unwrap_or(0)
            }
        };
        self.checkpoint()?; // the whole rows, at any rate
        if self.elements != wanted {
            return Err(self.at_path(ErrorKind::WrongCount { found: self.elements, wanted }.into()));
        }
        Ok(self.writer.0.take().expect("the writer is there until it is given back"))
    }
}

impl<A: WritableElement, W: Write + Seek> NpyWriter<A, W> {
    /// Writes an array that grows by rows of this shape.
    ///
    /// A file is truncated where the writer begins. Nothing keeps another process from writing to it at the same time, and a
    /// reader that wants the whole file finds rows after the array that are not counted yet: [`NpyWriter::create`] locks it. A header is only written if the file is as long as this writer has made it; else it is
    /// an [`ErrorKind::ChangedByOther`], and the file stays as it is. A file that was opened with `append(true)` is refused.
    /// Its folder is not synced, whatever [`WriteOptions::sync`] says: who has created the file has to do that.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the header
    /// does not fit the version; [`BadOption`](crate::error::ErrorKind::BadOption) if text has no width, the elements are Python
    /// objects or the options contradict the writer.
    pub fn new(writer: W, row: &[usize]) -> Result<Self> {
        Self::new_with(writer, row, &WriteOptions::new())
    }

    /// The same with options. With [`Order::Fortran`] the last axis grows. Text needs a width:
    /// [`WriteOptions::text_width`].
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the header
    /// does not fit the version; [`BadOption`](crate::error::ErrorKind::BadOption) if text has no width, the elements are Python
    /// objects or the options contradict the writer.
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
        let row = Shape::from(row);
        // Of one axis there is but one order.
        let order = if row.ndim() == 0 { Order::C } else { options.get_order().unwrap_or_default() };
        let header = Header::new(dtype_for::<A>(options)?, order, grown(&row, order, 0))?;
        let head = npy::format_growing(&header, options.get_version())?;
        let start = writer.stream_position()?;
        change::check_syncs(&mut writer, options)?;
        if let Some(file) = os::as_any_file(&mut writer)
            && let Some(length) = os::len_of_regular(file)
        {
            if os::only_appends(file) {
                let reason =
                    "the file was opened to be appended to only, so that its header could not be updated";
                return Err(ErrorKind::BadOption { reason: reason.into() }.into());
            }
            if length > start {
                change::set_len(file, start)?; // nothing of what was there stays after the array
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
        // Else a loss of power could bring back what was truncated, with new rows in it.
        change::sync_writer(&mut writer, options)?;
        let end = End::Open { start, head: head.len(), is_in_one_sector: true, rewrite: rewrite::<W> };
        Ok(Self::of(writer, header, row, version, end, options))
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
