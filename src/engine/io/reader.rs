//! [`NpyReader`]: inspects the header of an array before its elements are read.

use std::borrow::Cow;
use std::io::Read;

use super::format::{Expected, FormatHeader};
use super::part_reader::PartReader;
use super::payload::{FollowUp, Payload, PendingPayload, ReadArray};
use super::read::{self, Next};
use super::reader_state::{State, lost_position_error};
use crate::dtype::DType;
use crate::error::{Error, Fault, Remedy, Result};
use crate::header::{Extent, Header};
use crate::npy_format::NpyHeader;
use crate::options::ReadOptions;
use crate::ra_format::RaHeader;
use crate::shape::Order;
use crate::transfer::{self, Source};

/// A reader of NPY arrays from any [`Read`], and of an RA array ([`ReadOptions::ra_reader`]).
///
/// [`new`](NpyReader::new) reads the header and nothing after it. [`dtype`](NpyReader::dtype),
/// [`shape`](NpyReader::shape), [`order`](NpyReader::order), [`npy_header`](NpyReader::npy_header) and
/// [`ra_header`](NpyReader::ra_header) then describe the array. [`read`](NpyReader::read) reads it into an array of a Rust type, or into a
/// [`DynArray`](crate::DynArray) of any dtype. [`skip`](NpyReader::skip) skips it, and
/// [`next_array`](NpyReader::next_array) reads the header that follows, for streams of several arrays. If
/// the Rust type does not match the dtype, another type can be tried.
///
/// Of an RA array, [`trailing`](NpyReader::trailing) reads what follows it.
///
/// A `File` is read with positioned reads, on several threads if it is large; from any other reader, no byte after the end of the array
/// is consumed. No reader needs buffering: headers are read in small pieces, elements in large ones. Memory is
/// allocated in proportion to the data that has arrived, not to the size that the header declares. To read
/// parts of a file, use [`NpyFile`](crate::NpyFile); to read one array from a path,
/// [`read_npy`](crate::read_npy).
///
/// # Examples
///
/// ```
/// use ndarray::{Array1, Array2, arr1, arr2};
/// use ndarray_io::{NpyReader, WriteNpyExt};
///
/// let mut stream = Vec::new();
/// arr1(&[1.5f64, 2.5]).write_npy(&mut stream)?;
/// arr2(&[[1u8, 2], [3, 4]]).write_npy(&mut stream)?;
///
/// let mut reader = NpyReader::new(&stream[..])?;
/// assert_eq!((reader.dtype().to_string(), reader.shape()), ("'<f8'".to_owned(), &[2][..]));
/// assert_eq!(reader.read::<Array1<f64>>()?, arr1(&[1.5, 2.5]));
/// assert!(reader.next_array()?);
/// assert_eq!(reader.read::<Array2<u8>>()?, arr2(&[[1, 2], [3, 4]]));
/// assert!(!reader.next_array()?); // the stream has ended
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Debug)]
pub struct NpyReader<R> {
    reader: R,
    options: ReadOptions,
    found: FormatHeader,
    data_offset: usize,
    state: State,
}

impl<R: Read> NpyReader<R> {
    /// Reads the first header: [`ReadOptions::reader`] without options.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the header exceeds the [`Limits`](crate::Limits).
    pub fn new(reader: R) -> Result<Self> {
        ReadOptions::new().reader(reader)
    }

    /// Reads the first header, which must be one of this format.
    pub(crate) fn expecting(reader: R, expected: Expected, options: &ReadOptions) -> Result<Self> {
        options.refuse_trailing_check()?;
        Self::of(reader, expected, options)
    }

    pub(crate) fn of(mut reader: R, expected: Expected, options: &ReadOptions) -> Result<Self> {
        let (found, data_offset) = read_first_header(&mut reader, expected, options)?;
        Ok(Self { reader, options: options.clone(), found, data_offset, state: State::AtPayload })
    }

    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> &DType {
        self.header().dtype()
    }

    /// Returns the memory order of the elements.
    pub fn order(&self) -> Order {
        self.header().order()
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.header().shape()
    }

    /// Returns the offset of the elements in bytes from the start of the array, which is the header's length.
    pub fn data_offset(&self) -> u64 {
        self.data_offset as u64
    }

    /// Returns the size of the elements in bytes; `None` for Python objects, whose size is not declared.
    pub fn payload_len(&self) -> Option<u64> {
        self.header().payload_len()
    }

    /// Returns whether the file is whole, and otherwise how many bytes are missing or follow; `None` if it is unknown.
    ///
    /// It is known for files and slices whose header declares the size of the elements as they are stored, unless
    /// an earlier error has left the reader within the array. If the header does not, as in some compressed RA files, a
    /// file that is too short in any case lacks at least the bytes that are returned. After an array that has been
    /// read, this is about what follows it. A file that is being appended to may have trailing bytes.
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::header::Extent;
    /// # use ndarray_io::{NpyReader, WriteNpyExt};
    /// # use std::io::{Seek, Write};
    /// let mut file = tempfile::tempfile()?;
    /// arr1(&[1.0, 2.0]).write_npy(&mut file)?;
    /// file.write_all(b"more")?;
    /// file.rewind()?;
    /// let extent = NpyReader::new(file)?.extent();
    /// assert_eq!(extent.and_then(Extent::trailing), Some(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extent(&mut self) -> Option<Extent> {
        let (pending, least) = match self.state {
            State::AtPayload => (self.found.stored_len(), self.found.min_stored_len()),
            State::Within { left } => (Some(left), 0),
            State::AtEnd | State::AfterLast => (Some(0), 0),
            State::Lost => return None,
        };
        let have = Source::of(&mut self.reader).remaining()?;
        match pending {
            Some(pending) => Some(Extent::of(have, pending)),
            None => (have < least).then(|| Extent::of(have, least)),
        }
    }

    /// Reads the elements into an array of the requested type.
    ///
    /// After a mismatch or limit error, the reader has not moved, and another type can be tried. This does
    /// not apply if some of the elements had already been read from a reader that is not a `File`. After any
    /// other error, the array cannot be read again.
    ///
    /// # Errors
    ///
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if the array has already been read, or an earlier error has left the reader
    ///   within it.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the dtype or the number of axes does not match the type.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the array exceeds the [`Limits`](crate::Limits).
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    pub fn read<T: ReadArray>(&mut self) -> Result<T> {
        self.read_payload(T::inner_ndim(), T::from_payload)
    }

    /// Reads the elements, which have `inner` axes, with `read`.
    pub(crate) fn read_payload<T>(
        &mut self,
        inner: usize,
        read: impl FnOnce(Payload<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        self.check_state(State::AtPayload)?;
        let Self { reader, found, options, state, .. } = self;
        // Lost until the read has succeeded: an early return or a panic leaves the reader within the array.
        *state = State::Lost;
        let mut source = Source::of(reader);
        let (found, after) = (Cow::Borrowed(&*found), FollowUp::Reader(state));
        PendingPayload::new(&mut source, None, found, (options, inner), after)?.read(read)
    }

    /// Reads the bytes of the elements without decoding them, for dtypes that no Rust type represents.
    ///
    /// For Python objects, this reads to the end of the stream, because the header does not declare their
    /// size.
    ///
    /// # Errors
    ///
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if the array has already been read, or an earlier error has left the reader
    ///   within it.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the array exceeds the [`Limits`](crate::Limits).
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::{NpyReader, WriteNpyExt};
    /// let mut file = Vec::new();
    /// arr1(&[1u16, 2]).write_npy(&mut file)?;
    /// assert_eq!(NpyReader::new(&file[..])?.read_bytes()?, [1, 0, 2, 0]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn read_bytes(&mut self) -> Result<Vec<u8>> {
        self.read_payload(0, |Payload { source, header, options }| {
            transfer::read_bytes(source, header, options)
        })
    }

    /// Skips the elements that have not been read.
    ///
    /// This skips to the end of the stream if the stored size is unknown: for Python objects, and for compressed RA
    /// data whose header declares the uncompressed size.
    ///
    /// # Errors
    ///
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if the array has already been read, or an earlier error has left the reader
    ///   within it.
    /// - [`Io`](crate::error::ErrorKind::Io) if reading fails.
    /// - [`Truncated`](crate::error::ErrorKind::Truncated) if the elements are truncated.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::{arr0, arr1, Array0};
    /// # use ndarray_io::{NpyReader, WriteNpyExt};
    /// let mut stream = Vec::new();
    /// arr1(&[1u16, 2]).write_npy(&mut stream)?;
    /// arr0(7u8).write_npy(&mut stream)?;
    ///
    /// let mut reader = NpyReader::new(&stream[..])?;
    /// reader.skip()?;
    /// assert!(reader.next_array()?);
    /// assert_eq!(reader.read::<Array0<u8>>()?, arr0(7));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn skip(&mut self) -> Result<()> {
        let all = self.found.stored_len();
        let left = match self.state {
            State::Within { left } => Some(left),
            _ => self.check_state(State::AtPayload).map(|()| all)?,
        };
        // Lost until the skip has succeeded: an early return leaves the reader within the array.
        self.state = State::Lost;
        let mut source = Source::of(&mut self.reader);
        match left {
            None => source.skip(u64::MAX).map(drop)?,
            Some(left) => match source.skip(left)? {
                skipped if skipped < left => {
                    let before = all.unwrap_or(left).saturating_sub(left);
                    return Err(transfer::truncated(self.found.header(), before + skipped));
                }
                _ => {}
            },
        }
        source.sync_file_position()?;
        self.state = State::AtEnd;
        Ok(())
    }

    /// Returns the underlying reader, positioned directly after what has been read.
    ///
    /// An iterator over [`blocks`](NpyReader::blocks) or other pieces that was dropped early leaves the reader after what had come:
    /// [`skip`](NpyReader::skip) the rest first.
    pub fn into_inner(self) -> R {
        self.reader
    }

    pub(crate) fn format_header(&self) -> &FormatHeader {
        &self.found
    }

    fn header(&self) -> &Header {
        self.found.header()
    }

    /// Returns the reader, the header and the options, for reading parts of the elements.
    ///
    /// Fails if the elements have already been read or are compressed.
    pub(crate) fn reader_header_and_options(&mut self) -> Result<(&mut R, &FormatHeader, &ReadOptions)> {
        self.check_state(State::AtPayload)?;
        self.found.check_uncompressed(&self.options)?;
        Ok((&mut self.reader, &self.found, &self.options))
    }

    /// Skips what has not been read, and returns the header; `None` if an error has left the reader within the array.
    #[cfg(feature = "npz")]
    pub(crate) fn skip_rest(&mut self) -> Result<Option<&Header>> {
        match self.state {
            State::Lost => return Ok(None),
            State::AtPayload | State::Within { .. } => self.skip()?,
            State::AtEnd | State::AfterLast => {}
        }
        Ok(Some(self.header()))
    }

    /// Begins to read the elements in parts.
    pub(crate) fn part_reader(&mut self) -> Result<PartReader<'_, R>> {
        self.check_state(State::AtPayload)?;
        PartReader::new(&mut self.reader, &self.found, &self.options, &mut self.state)
    }

    fn check_state(&self, wanted: State) -> Result<()> {
        let reason = match (self.state, wanted) {
            (state, wanted) if state == wanted => return Ok(()),
            (State::Lost, _) => return Err(lost_position_error()),
            (State::Within { .. }, _) => "parts of the array have already been read",
            _ => "the array has already been read",
        };
        Err(Error::from(Fault::OutOfTurn { reason: reason.into() }).with_help(Remedy::NextArray))
    }

    /// Returns the header of an NPY array, with the version of the format and the text of `descr`.
    pub fn npy_header(&self) -> Option<&NpyHeader> {
        self.found.npy()
    }

    /// Returns the header of an RA array, with its flags and the numbers of its element type.
    pub fn ra_header(&self) -> Option<&RaHeader> {
        self.found.ra()
    }

    /// Moves to the next array, skipping the elements of this one if they have not been read.
    ///
    /// Returns `false` if the stream ends directly after this array; with [`ReadOptions::allow_trailing`], also if bytes
    /// that are not an array follow, and after an RA array: see [`trailing`](Self::trailing). If Python objects have not been read, everything
    /// up to the end of the stream is skipped.
    ///
    /// # Errors
    ///
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if an earlier error has left the reader within an array.
    /// - [`Io`](crate::error::ErrorKind::Io) if reading fails.
    /// - [`Trailing`](crate::error::ErrorKind::Trailing) if the bytes that follow are not an array.
    /// - Another [format error](crate::Error::is_format) if the skipped elements are truncated, or the next header is malformed.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the next header exceeds the [`Limits`](crate::Limits).
    pub fn next_array(&mut self) -> Result<bool> {
        if matches!(self.state, State::AtPayload | State::Within { .. }) {
            self.skip()?;
        }
        if self.state == State::AfterLast {
            return Ok(false);
        }
        self.check_state(State::AtEnd)?;
        if self.found.allows_trailing() {
            return Ok(false);
        }
        self.state = State::Lost;
        let mut source = Source::of(&mut self.reader);
        match read::read_next(&mut source, &self.options)? {
            Next::Nothing => {
                self.state = State::AtEnd;
                Ok(false)
            }
            Next::Other(_) if self.options.allows_trailing() => {
                self.state = State::AfterLast;
                Ok(false)
            }
            Next::Other(error) => Err(error),
            Next::Array((found, data_offset)) => {
                source.sync_file_position()?;
                (self.found, self.data_offset, self.state) = (found, data_offset, State::AtPayload);
                Ok(true)
            }
        }
    }

    /// Reads the bytes that follow the array, up to the end of the file.
    ///
    /// Some programs store data after RA arrays. The elements are skipped if they have
    /// not been read. All trailing bytes are loaded into memory.
    ///
    /// # Errors
    ///
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if an earlier error has left the reader within an array.
    /// - [`Io`](crate::error::ErrorKind::Io) if reading fails.
    /// - [`Truncated`](crate::error::ErrorKind::Truncated) if the skipped elements are truncated.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the trailing bytes exceed [`Limits::payload`](crate::Limits::payload).
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    pub fn trailing(&mut self) -> Result<Vec<u8>> {
        if matches!(self.state, State::AtPayload | State::Within { .. }) {
            self.skip()?;
        }
        self.check_state(State::AtEnd)?;
        let mut source = Source::of(&mut self.reader);
        let trailing = transfer::read_rest(&mut source, &self.options)?;
        source.sync_file_position()?;
        Ok(trailing)
    }
}

impl ReadOptions {
    /// Reads the first header of a stream of NPY arrays. The options apply to all of them.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the header exceeds the [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::{arr1, Array1};
    /// # use ndarray_io::{Limits, NpyReader, ReadOptions, WriteNpyExt};
    /// # let mut file = Vec::new();
    /// # arr1(&[1.0]).write_npy(&mut file)?;
    /// let options = ReadOptions::new().limits(Limits::default().header(10_000).payload(1 << 20));
    /// let mut reader = options.reader(&file[..])?;
    /// # let array: Array1<f64> = reader.read()?;
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn reader<R: Read>(&self, reader: R) -> Result<NpyReader<R>> {
        NpyReader::expecting(reader, Expected::NPY, self)
    }

    /// Reads the header of an RA array. Compressed data is decompressed, and its compressed bytes stay in memory until that is done.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, arr2};
    /// use ndarray_io::options::Trailing;
    /// use ndarray_io::{ReadOptions, WriteOptions};
    ///
    /// let mut file = Vec::new();
    /// let note = WriteOptions::new().trailing(Trailing::Write(b"a note".to_vec()));
    /// note.write_ra_to(&mut file, &arr2(&[[1.0, 2.0], [3.0, 4.0]]))?;
    ///
    /// let mut reader = ReadOptions::new().ra_reader(&file[..])?;
    /// let header = reader.ra_header().unwrap();
    /// assert_eq!((header.eltype, header.elbyte, header.flags), (3, 8, 0));
    /// let matrix: Array2<f64> = reader.read()?;
    /// assert_eq!(matrix[[1, 0]], 3.0);
    /// assert_eq!(reader.trailing()?, b"a note");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn ra_reader<R: Read>(&self, reader: R) -> Result<NpyReader<R>> {
        NpyReader::expecting(reader, Expected::RA, self)
    }
}

fn read_first_header<R: Read>(
    reader: &mut R,
    expected: Expected,
    options: &ReadOptions,
) -> Result<(FormatHeader, usize)> {
    let mut source = Source::of(reader);
    let found = read::read_header(&mut source, expected, options)?;
    source.sync_file_position()?;
    Ok(found)
}
