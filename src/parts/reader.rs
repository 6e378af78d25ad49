//! Parts of an array that a reader stands before.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use ndarray::{Array, ArrayD, IxDyn, SliceArg};

use super::NpyFile;
use super::file::{FileBytes, arranged};
use super::select::Axes;
use crate::element::ReadableElement;
use crate::error::Result;
use crate::io::{ArrayFormat, ArrayReader, FromPayload, NpyReader, PayloadRef};
use crate::transfer::{ByteRuns, Source};

impl<R: Read + Seek, F: ArrayFormat> ArrayReader<R, F> {
    /// Reads a part of an array that has not been read, as ndarray's `slice` takes it of an array. Only the bytes that it
    /// needs are read. The reader then stands where it stood, so that other parts can be read.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the slice asks for indices that the array does not have;
    /// [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the slice has another number of axes;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits);
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback.
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
        let (reader, found, options) = self.parts()?;
        let found_header = F::header(found);
        let options = F::gate(found, options);
        let selection = Axes::of::<A>(found_header, &options)?.selection(&slice)?;
        let (header, picked) = selection.locate(found_header)?;
        let start = reader.stream_position()?;
        let mut runs = Runs { reader, start, picked: &picked, at: 0 };
        let mut source = Source::of(&mut runs);
        let array = ArrayD::from_payload(PayloadRef::new(&mut source, &header, &options));
        drop(source);
        reader.seek(SeekFrom::Start(start))?;
        arranged(&selection, array?)
    }
}

/// Reads the bytes that are picked of an array, one run after another.
struct Runs<'a, R> {
    reader: &'a mut R,
    start: u64,
    picked: &'a ByteRuns,
    at: u64,
}

impl<R: Read + Seek> Read for Runs<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.at >= self.picked.len() || into.is_empty() {
            return Ok(0);
        }
        let (place, left) = self.picked.find(self.at);
        let most = left.min(into.len());
        match self.reader.seek(SeekFrom::Start(self.start + place)) {
            // Farther than any file of this system reaches: there is nothing.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => return Ok(0),
            sought => sought?,
        };
        let count = self.reader.read(&mut into[..most])?;
        if count > most {
            let text = format!("the reader claims to have put {count} bytes into a buffer of {most}");
            return Err(std::io::Error::other(text));
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl NpyReader<File> {
    /// The array whose elements come next, as a file of which parts are read in any order: one array of a file that has several, one
    /// after another.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the array has already been read, or an earlier error has left the reader
    /// within it; [`Io`](crate::error::ErrorKind::Io) if the system fails; [`Objects`](crate::error::ErrorKind::Objects) of Python
    /// objects, which cannot be read in parts.
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
        let (file, found, options) = self.parts()?;
        let payload = file.stream_position()?;
        let end = payload.saturating_add(found.header.payload_len().unwrap_or_default());
        let bytes = payload.saturating_sub(header_len)..end;
        let (found, options) = (found.clone(), options.clone());
        let bytes = FileBytes::Range(Arc::new(self.into_inner()), bytes);
        NpyFile::of(bytes, (found, header_len as usize), &options)
    }
}
