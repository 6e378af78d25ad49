//! [`RowWriter`]: what [`NpyWriter`](super::NpyWriter) does that does not depend on the type of the elements.
//!
//! It is compiled once for each type of writer, not for each pair of a writer and an element.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;

use super::header::{growing_axis_len, rewrite_header, shape_of_rows};
use crate::bytes;
use crate::dtype::DType;
use crate::error::{Error, Fault, Remedy, Result, WantedShape};
use crate::header::Header;
use crate::io::change::{self, LockPurpose, LockTimeout, Locked, OwnerProcess};
use crate::npy_format::{self as npy, Version};
use crate::options::WriteOptions;
use crate::shape::{Order, Shape};
use crate::transfer::{Sink, os, streams};

/// Small pieces are buffered up to this many bytes, so that a small push costs no more than a copy.
pub(super) const BUFFER_SIZE: usize = 1 << 20;

/// Writes the elements of an array that is written in pieces, as bytes or by functions.
pub(crate) struct RowWriter<W> {
    pub(super) writer: WriterSlot<W>,
    /// The file's path, if this writer opened it.
    pub(super) path: Option<PathBuf>,
    /// The file's lock, if this writer took one.
    pub(super) locked: Option<Locked>,
    /// Writes bytes to the writer. `drop` uses it, because `W` has no `Write` bound there.
    pub(super) write: fn(&mut W, &[u8]) -> Result<()>,
    pub(super) options: WriteOptions,
    pub(super) dtype: DType,
    pub(crate) order: Order,
    pub(super) version: Version,
    /// The shape of one row.
    pub(super) row: Shape,
    /// The number of elements of one row.
    pub(super) row_len: u64,
    pub(super) buffer: Vec<u8>,
    /// The number of elements.
    pub(super) elements: u64,
    /// The number of rows, if a row has no elements; otherwise 0.
    pub(super) empty_rows: usize,
    pub(super) length: ArrayLength<W>,
    /// `elements` and `empty_rows` as counted by the last header that was written.
    pub(super) committed_counts: (u64, usize),
    /// Whether an error has left the writer at an unknown position within the array.
    pub(super) is_broken: bool,
    /// Whether another process has changed the file.
    pub(super) has_external_change: bool,
    /// How long to wait for the lock of the header.
    pub(super) lock_timeout: LockTimeout,
    pub(super) owner: OwnerProcess,
}

/// The underlying writer, until it is returned to the caller.
pub(super) struct WriterSlot<W>(pub(super) Option<W>);

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

impl<W> Drop for RowWriter<W> {
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
pub(super) enum ArrayLength<W> {
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

impl<W: Write> RowWriter<W> {
    pub(super) fn of(
        writer: W,
        header: Header,
        row: Shape,
        version: Version,
        length: ArrayLength<W>,
        options: &WriteOptions,
    ) -> Self {
        let rows_are_empty = row.dims().contains(&0);
        let row_count = growing_axis_len(header.order(), header.shape_ref());
        Self {
            writer: WriterSlot(Some(writer)),
            path: None,
            locked: None,
            write: |writer, bytes| Sink::of(writer).write(bytes),
            options: options.without_progress(),
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

    /// Writes the header of an array of a known shape.
    pub(super) fn with_header(mut writer: W, header: Header, options: &WriteOptions) -> Result<Self> {
        let head = npy::format(&header, options.version)?;
        change::check_can_sync(&mut writer, options)?;
        Sink::of(&mut writer).write(&head)?;
        let row = match (header.order(), header.shape()) {
            (_, []) => Shape::default(),
            (Order::C, [_, row @ ..]) | (Order::Fortran, [row @ .., _]) => Shape::from(row),
        };
        let length = ArrayLength::Fixed(header.len());
        let mut made = Self::of(writer, header, row, Version::V1, length, options);
        (made.elements, made.empty_rows) = (0, 0);
        Ok(made)
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
            let error = Error::from(Fault::ShapeMismatch { found: dims.into(), wanted });
            let is_last_axis = self.order == Order::Fortran && self.row.ndim() > 0;
            return Err(self.at_path(if is_last_axis { error.with_help(Remedy::COrder) } else { error }));
        };
        if self.elements.checked_rem(self.row_len).unwrap_or(0) != 0 {
            let reason =
                "a row begun with single elements must be completed before entire rows are pushed".into();
            return Err(Fault::OutOfTurn { reason }.into());
        }
        if self.row_len == 0 {
            self.empty_rows = self.empty_rows.saturating_add(count);
        }
        Ok(())
    }

    /// Checks whether this number of elements can follow.
    pub(super) fn check_count(&self, count: usize) -> Result<()> {
        let elements = self.elements.checked_add(count as u64);
        let wanted = if let ArrayLength::Fixed(wanted) = self.length { wanted } else { u64::MAX };
        match elements {
            Some(elements) if elements <= wanted => Ok(()),
            _ => {
                let found = self.elements.saturating_add(count as u64);
                Err(Fault::WrongCount { found, wanted }.into())
            }
        }
    }

    /// Writes elements by a function, which is given where to, and the header of an array of just these: few into the buffer, many directly.
    pub(super) fn put_with(
        &mut self,
        count: usize,
        write: &mut dyn FnMut(&mut Sink<'_>, &Header, &WriteOptions) -> Result<()>,
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
        write: &mut dyn FnMut(&mut Sink<'_>, Order, &WriteOptions) -> Result<()>,
    ) -> Result<()> {
        let order = self.order;
        let put = self
            .check_count(count)
            .and_then(|()| self.put_with(count, &mut |sink, _, options| write(sink, order, options)));
        put.map_err(|error| self.at_path(error))
    }

    /// Writes few elements, whose bytes are those of the file.
    pub(super) fn put_bytes(&mut self, count: usize, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        self.count_written_and_flush_if_full(count)
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

    /// Returns the number of complete rows.
    pub(super) fn count(&self) -> u64 {
        self.elements.checked_div(self.row_len).unwrap_or(self.empty_rows as u64)
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

    pub(super) fn check_state(&self) -> Result<()> {
        match self.is_broken {
            false => Ok(()),
            true => {
                let reason = "an earlier error has left the writer within the array".into();
                Err(self.at_path(Fault::OutOfTurn { reason }.into()))
            }
        }
    }

    pub(super) fn commit(&mut self) -> Result<()> {
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
    pub(super) fn header_bytes_counting(&self, elements: u64, empty_rows: usize) -> Result<Vec<u8>> {
        let ArrayLength::Growing { head, is_in_one_sector, .. } = self.length else { return Ok(Vec::new()) };
        let rows = elements.checked_div(self.row_len).map_or(Ok(empty_rows), usize::try_from);
        let rows = rows.map_err(|_| Fault::Overflow { what: format!("an array of {elements} elements") })?;
        let header = Header::new(self.dtype.clone(), self.order, shape_of_rows(&self.row, self.order, rows))?;
        let text = npy::format_in_place(&header, self.version, head, is_in_one_sector);
        Ok(text.ok_or(Fault::HeaderCannotGrow { header: head as u64, crosses_sector: false })?)
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
                Err(Fault::ArrayChanged {
                    reason: format!("expected a file of {wanted} bytes, found {found}"),
                }
                .into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn finish(mut self) -> Result<W> {
        let wanted = match self.length {
            ArrayLength::Fixed(wanted) => wanted,
            // Of whole rows.
            ArrayLength::Growing { .. } => {
                let row = self.row.len().unwrap_or(0);
                self.elements.checked_next_multiple_of(row).unwrap_or(self.elements)
            }
        };
        self.commit()?; // counts the complete rows even if an error follows
        if self.elements != wanted {
            return Err(self.at_path(Fault::WrongCount { found: self.elements, wanted }.into()));
        }
        Ok(self.writer.0.take().expect("the writer is present until it is returned"))
    }
}

impl<W: Write + Seek> RowWriter<W> {
    /// Writes rows of a shape and a dtype, which is asked for once the file is locked.
    pub(super) fn new(
        mut writer: W,
        row: &[usize],
        dtype: &dyn Fn() -> Result<DType>,
        options: &WriteOptions,
    ) -> Result<Self> {
        let locked = lock_file_of(&mut writer, options)?;
        let mut made = Self::new_without_locking(writer, row, dtype()?, options)?;
        made.locked = locked;
        Ok(made)
    }

    /// Like `new`, for a writer whose file is locked.
    pub(super) fn new_without_locking(
        mut writer: W,
        row: &[usize],
        dtype: DType,
        options: &WriteOptions,
    ) -> Result<Self> {
        let row = Shape::from(row);
        // With one axis, both orders are the same.
        let order = if row.ndim() == 0 { Order::C } else { options.order.unwrap_or_default() };
        let header = Header::new(dtype, order, shape_of_rows(&row, order, 0))?;
        let head = npy::format_growing(&header, options.version)?;
        let start = writer.stream_position()?;
        change::check_can_sync(&mut writer, options)?;
        let file = streams::as_file_or_buffered(&mut writer);
        if let Some((file, length)) = file.and_then(|file| Some((file, bytes::len_of_regular(file)?))) {
            if os::is_append_only(file) {
                let reason = "the file was opened for appending only, so its header cannot be updated";
                return Err(Fault::BadOption { reason: reason.into() }.into());
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
        Ok(Self::of(writer, header, row, version, length, options))
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
        Ok(file) => Locked::new(file, LockPurpose::Change, options.wait_for_lock).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => Ok(None), // WASI has neither
        Err(error) => Err(error.into()),
    }
}
