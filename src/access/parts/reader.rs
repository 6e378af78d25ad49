//! Reading parts of the array at which a reader is positioned.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use ndarray::{Array, ArrayD, IxDyn, SliceArg};

use super::NpyFile;
use super::read::arranged;
use super::select::Axes;
use crate::bytes::{LocalFile, ReadAt, Runs, SharedRegion};
use crate::elements::{ReadableElement, inner_axes_of};
use crate::error::Result;
use crate::io::{NpyReader, Payload, ReadArray};
use crate::transfer::Source;

impl<R: Read + Seek> NpyReader<R> {
    /// Reads the part of the current array that ndarray's `slice` would select.
    ///
    /// Only the bytes of the part are read. The reader then returns to the start of the array's elements, so
    /// other parts can be read.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the slice is out of bounds.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the slice has a step of 0, [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if the array has already
    ///   been read.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the slice has a different number of axes.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    /// - [`NeedsCopy`](crate::error::ErrorKind::NeedsCopy) if the data of an RA file is compressed or stored as
    ///   single bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, s, Array2};
    /// use ndarray_io::{NpyReader, WriteNpyExt};
    /// use std::io::Cursor;
    ///
    /// let mut bytes = Vec::new();
    /// Array2::from_shape_fn((3, 4), |(row, column)| (row * 10 + column) as u64).write_npy(&mut bytes)?;
    /// let mut reader = NpyReader::new(Cursor::new(bytes))?;
    /// assert_eq!(reader.slice::<u64, _>(s![1, ..;-2])?, arr1(&[13, 11]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn slice<A, I>(&mut self, slice: I) -> Result<Array<A, I::OutDim>>
    where
        A: ReadableElement,
        I: SliceArg<IxDyn>,
    {
        let (reader, found, options) = self.reader_header_and_options()?;
        let found_header = found.header();
        let options = found.dispatch_options(options);
        let selection = Axes::of(found_header, inner_axes_of::<A>().len())?.selection(&slice)?;
        let (header, selected) = selection.locate(found_header)?;
        let start = reader.stream_position()?;
        let mut runs = RunsReader { reader, start, selected: &selected, at: 0 };
        let mut source = Source::of(&mut runs);
        let array = ArrayD::from_payload(Payload { source: &mut source, header: &header, options: &options });
        drop(source);
        // Seek back before the result is checked, so that other parts can be read after an error.
        reader.seek(SeekFrom::Start(start))?;
        let array = array.map_err(|error| {
            found_header.name_selected_element(error, &header, &selected, inner_axes_of::<A>().len())
        });
        arranged(&selection, array?)
    }
}

/// A reader of the selected byte runs of an array, as one stream.
struct RunsReader<'a, R> {
    reader: &'a mut R,
    start: u64,
    selected: &'a Runs,
    at: u64,
}

impl<R: Read + Seek> Read for RunsReader<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.at >= self.selected.byte_len() || into.is_empty() {
            return Ok(0);
        }
        let (place, left) = self.selected.offset_at(self.at);
        let max_len = left.min(into.len());
        match self.reader.seek(SeekFrom::Start(self.start + place)) {
            // The position is beyond the maximum file size of this system: treat it as the end of the data.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => return Ok(0),
            sought => sought?,
        };
        let count = crate::bytes::read_once(self.reader, &mut into[..max_len])?;
        self.at += count as u64;
        Ok(count)
    }
}

impl NpyReader<File> {
    /// Converts the reader into a file handle for random access to the current array.
    ///
    /// Use this if a file contains several arrays.
    ///
    /// # Errors
    ///
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if the array has already been read, or if an
    ///   earlier error left the reader in the middle of the array.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects, which cannot be
    ///   read in parts.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, s};
    /// use ndarray_io::{NpyReader, WriteNpyExt};
    /// use std::io::Seek;
    ///
    /// # let mut file = tempfile::tempfile()?;
    /// arr1(&[1u16, 2, 3]).write_npy(&mut file)?;
    /// arr1(&[4u16, 5, 6, 7]).write_npy(&mut file)?;
    /// file.rewind()?;
    ///
    /// let mut reader = NpyReader::new(file)?;
    /// reader.next_array()?;
    /// let second = reader.into_file()?;
    /// assert_eq!(second.slice::<u16, _>(s![..;-2])?, arr1(&[7, 5]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_file(mut self) -> Result<NpyFile> {
        let header_len = self.data_offset();
        let (file, found, options) = self.reader_header_and_options()?;
        let payload = file.stream_position()?;
        let end = payload.saturating_add(found.header().payload_len().unwrap_or_default());
        // The range includes the header, because `NpyFile` adds the length of the header to its start.
        let bytes = payload.saturating_sub(header_len)..end;
        let (found, options) = (found.clone(), options.clone());
        let file: Arc<dyn ReadAt> = Arc::new(LocalFile(self.into_inner()));
        let bytes = SharedRegion::part(&file, bytes);
        NpyFile::of(bytes, (found, header_len as usize), &options)
    }
}
