//! [`ArrayReader`]: look at an array before reading it, and at the arrays that follow.

use std::io::Read;

use super::format::{ArrayFormat, Npy};
use super::payload::{self, FromPayload, Payload, PayloadRef};
use super::ra::Ra;
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Help, Result};
use crate::header::Header;
use crate::npy_format::Version;
use crate::options::ReadOptions;
use crate::ra_format::RaHeader;
use crate::shape::Order;
use crate::transfer::{self, Source};

/// Reads NPY arrays from any [`Read`], one or several in a row, and shows what each is before it is read.
///
/// [`new`](ArrayReader::new) reads a header, and no byte after it. Then [`dtype`](ArrayReader::dtype), [`shape`](ArrayReader::shape),
/// [`order`](ArrayReader::order) and [`version`](ArrayReader::version) say what the array is; [`read`](ArrayReader::read) reads it, as an
/// array of a Rust type or as a [`DynArray`](crate::DynArray) of any dtype, [`skip`](ArrayReader::skip) passes over it, and
/// [`next_array`](ArrayReader::next_array) reads the header that follows. If the type was the wrong one, another can be tried.
///
/// The reader need not be buffered: headers are read in small pieces, and elements in large ones. The memory grows with what has
/// arrived, whatever the header promises. To read parts of a file, use [`NpyFile`](crate::NpyFile); to read one array from a path,
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
pub type NpyReader<R> = ArrayReader<R, Npy>;

/// Reads an RA array from anything that reads, and shows what it is before it is read.
///
/// ```
/// use ndarray::{arr2, Array2};
/// use ndarray_io::options::Trailing;
/// use ndarray_io::ra::{RaOptions, RaReader, WriteRaExt};
///
/// let mut file = Vec::new();
/// let note = RaOptions::new().trailing(Trailing::Write(b"a note".to_vec()));
/// arr2(&[[1.0, 2.0], [3.0, 4.0]]).write_ra_with(&mut file, &note)?;
///
/// let mut reader = RaReader::new(&file[..])?;
/// assert_eq!((reader.eltype(), reader.elbyte(), reader.flags()), (3, 8, 0));
/// let matrix: Array2<f64> = reader.read()?;
/// assert_eq!(matrix[[1, 0]], 3.0);
/// assert_eq!(reader.trailing()?, b"a note");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub type RaReader<R> = ArrayReader<R, Ra>;

/// Reads arrays of a format from anything that reads, and shows what they are before they are read: [`NpyReader`] and
/// [`RaReader`](crate::ra::RaReader) are its names.
///
/// A `File` is read by position and, if it is large, on several threads; there is no need to wrap it in a
/// `BufReader`. From any other reader nothing is taken beyond the end of an array.
///
/// ```
/// use ndarray::{arr1, arr2, Array1, Array2};
/// use ndarray_io::{NpyReader, WriteNpyExt};
///
/// let mut stream = Vec::new();
/// arr2(&[[1.0, 2.0], [3.0, 4.0]]).write_npy(&mut stream)?;
/// arr1(&[true, false]).write_npy(&mut stream)?;
///
/// let mut reader = NpyReader::new(&stream[..])?;
/// assert_eq!(reader.shape(), [2, 2]);
/// assert_eq!(reader.dtype().to_string(), "'<f8'");
/// let matrix: Array2<f64> = reader.read()?;
/// assert_eq!(matrix[[1, 0]], 3.0);
///
/// assert!(reader.next_array()?);
/// let flags: Array1<bool> = reader.read()?;
/// assert_eq!(flags, arr1(&[true, false]));
/// assert!(!reader.next_array()?); // the stream has ended, and cleanly
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Debug)]
pub struct ArrayReader<R, F: ArrayFormat> {
    reader: R,
    options: ReadOptions,
    found: F::Found,
    data_offset: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Right behind a header.
    AtPayload,
    /// Right behind a payload.
    AtEnd,
    /// Somewhere: an error has left the reader there.
    Lost,
}

impl<R: Read, F: ArrayFormat> ArrayReader<R, F> {
    /// Reads the first header.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn new(reader: R) -> Result<Self> {
        Self::new_with(reader, &ReadOptions::new())
    }

    /// Reads the first header, with options for it and for all that follows.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::{arr1, Array1};
    /// # use ndarray_io::{Limits, NpyReader, ReadOptions, WriteNpyExt};
    /// # let mut file = Vec::new();
    /// # arr1(&[1.0]).write_npy(&mut file)?;
    /// let options = ReadOptions::new().limits(Limits::default().header(10_000).payload(1 << 20));
    /// let mut reader = NpyReader::new_with(&file[..], &options)?;
    /// # let array: Array1<f64> = reader.read()?;
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn new_with(mut reader: R, options: &ReadOptions) -> Result<Self> {
        let (found, data_offset) = header_from::<R, F>(&mut reader, options)?;
        Ok(Self { reader, options: options.clone(), found, data_offset, state: State::AtPayload })
    }

    /// What the elements are.
    pub fn dtype(&self) -> &DType {
        self.header().dtype()
    }

    /// How the elements follow one another.
    pub fn order(&self) -> Order {
        self.header().order()
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.header().shape()
    }

    /// The length of the header: where the elements begin, in bytes from the beginning of the array.
    pub fn data_offset(&self) -> u64 {
        self.data_offset as u64
    }

    /// How many bytes the elements take; `None` for Python objects, which say themselves where they end.
    pub fn payload_len(&self) -> Option<u64> {
        self.header().payload_len()
    }

    /// How many bytes follow the array, if the reader is a file, so that its length is known. A file that is being
    /// appended to has some.
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::{NpyReader, WriteNpyExt};
    /// # use std::io::{Seek, Write};
    /// let mut file = tempfile::tempfile()?;
    /// arr1(&[1.0, 2.0]).write_npy(&mut file)?;
    /// file.write_all(b"more")?;
    /// file.rewind()?;
    /// assert_eq!(NpyReader::new(file)?.trailing_len(), Some(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trailing_len(&mut self) -> Option<u64> {
        let pending = match self.state {
            State::AtPayload => F::stored_len(&self.found)?,
            State::AtEnd => 0,
            State::Lost => return None,
        };
        Source::of(&mut self.reader).remaining()?.checked_sub(pending)
    }

    /// Reads the elements, as whatever array is asked for.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the array has already been read, or an earlier error has left the reader
    /// within it; [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits);
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback. If the type does not fit, or a limit is passed, the
    /// reader is where it was and another type can be tried; after an error in the elements themselves, only if it is a `File`.
    pub fn read<T: FromPayload>(&mut self) -> Result<T> {
        self.take(|payload| T::from_payload(PayloadRef(payload)))
    }

    /// Reads the bytes of the elements as they are, whatever they mean: for dtypes that no Rust type holds.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the array has already been read, or an earlier error has left the reader
    /// within it; [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format)
    /// if the file is malformed or truncated; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
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
        self.take(|Payload { source, header, options }| transfer::read_bytes(source, header, options))
    }

    /// Passes over the elements.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the array has already been read, or an earlier error has left the reader
    /// within it; [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated.
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
        self.check_state(State::AtPayload)?;
        self.state = State::Lost;
        let mut source = Source::of(&mut self.reader);
        match F::stored_len(&self.found) {
            None => source.skip(u64::MAX).map(drop)?,
            Some(bytes) => match source.skip(bytes)? {
                skipped if skipped < bytes => {
                    return Err(transfer::truncated(F::header(&self.found), skipped));
                }
                _ => {}
            },
        }
        source.settle()?;
        self.state = State::AtEnd;
        Ok(())
    }

    /// The reader, which stands right behind what has been read.
    pub fn into_inner(self) -> R {
        self.reader
    }

    fn header(&self) -> &Header {
        F::header(&self.found)
    }

    /// What is needed to read parts of the elements, which have to be there still and as they are: the reader, the header,
    /// the options.
    pub(crate) fn parts(&mut self) -> Result<(&mut R, &F::Found, &ReadOptions)> {
        self.check_state(State::AtPayload)?;
        F::check_plain(&self.found, &self.options)?;
        Ok((&mut self.reader, &self.found, &self.options))
    }

    fn take<T>(&mut self, read: impl FnOnce(Payload<'_, '_>) -> Result<T>) -> Result<T> {
        self.check_state(State::AtPayload)?;
        self.state = State::Lost;
        let mut source = Source::of(&mut self.reader);
        let payload = PayloadRef::new(&mut source, F::header(&self.found), &self.options);
        let taken = F::with_payload(&self.found, payload, |payload| read(payload.into_inner()));
        match &taken {
            Ok(_) => {
                source.settle()?;
                self.state = State::AtEnd;
            }
            // Type and limits are asked before the payload is touched, so that another way can be tried. (A payload
            // that says itself where it ends may pass a limit half way.)
            Err(error) if error.is_mismatch() && is_there(&mut source) => self.state = State::AtPayload,
            Err(error) if error.is_limit() && is_there(&mut source) => self.state = State::AtPayload,
            Err(_) => {}
        }
        taken
    }

    fn check_state(&self, wanted: State) -> Result<()> {
        let reason = match (self.state, wanted) {
            (state, wanted) if state == wanted => return Ok(()),
            (State::Lost, _) => {
                let reason = "an earlier error has left the reader somewhere within an array".into();
                return Err(ErrorKind::BadOption { reason }.into());
            }
            _ => "the array has already been read",
        };
        Err(Error::from(ErrorKind::BadOption { reason: reason.into() }).with_help(Help::NextArray))
    }
}

impl<R: Read> NpyReader<R> {
    /// The version of the format.
    pub fn version(&self) -> Version {
        self.found.version
    }

    /// The text of `descr`, exactly as it stands in the header.
    pub fn descr_text(&self) -> &str {
        &self.found.descr
    }

    /// Goes on to the next array, passing over the elements of this one if they have not been read. `false` if the
    /// stream has ended here, as it should: right behind an array.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if an earlier error has left the reader within an array;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if what follows is
    /// not an array; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn next_array(&mut self) -> Result<bool> {
        if self.state == State::AtPayload {
            self.skip()?;
        }
        self.check_state(State::AtEnd)?;
        self.state = State::Lost;
        let mut source = Source::of(&mut self.reader);
        match payload::next_header::<Npy>(&mut source, self.options.get_limits())? {
            None => {
                self.state = State::AtEnd;
                Ok(false)
            }
            Some((found, data_offset)) => {
                source.settle()?;
                (self.found, self.data_offset, self.state) = (found, data_offset, State::AtPayload);
                Ok(true)
            }
        }
    }
}

impl<R: Read> RaReader<R> {
    /// The number of the elements' type: see [`RaHeader`](crate::ra::RaHeader).
    pub fn eltype(&self) -> u64 {
        self.found.eltype
    }

    /// The bytes of one element.
    pub fn elbyte(&self) -> u64 {
        self.found.elbyte
    }

    /// The flags, as the header has them.
    pub fn flags(&self) -> u64 {
        self.found.flags
    }

    /// All that the header says.
    pub fn ra_header(&self) -> &RaHeader {
        &self.found
    }

    /// What stands behind the array, to the end of the file: bytes that some programs put there and that are no part of the
    /// array. Passes over the elements if they have not been read.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if an earlier error has left the reader within an array;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn trailing(&mut self) -> Result<Vec<u8>> {
        if self.state == State::AtPayload {
            self.skip()?;
        }
        self.check_state(State::AtEnd)?;
        let mut source = Source::of(&mut self.reader);
        let trailing = transfer::read_rest(&mut source, &self.options)?;
        source.settle()?;
        Ok(trailing)
    }
}

/// Whether the payload has not been touched, or can be read again.
fn is_there(source: &mut Source<'_>) -> bool {
    source.passed() == 0 || source.restart()
}

fn header_from<R: Read, F: ArrayFormat>(reader: &mut R, options: &ReadOptions) -> Result<(F::Found, usize)> {
    let mut source = Source::of(reader);
    let found = payload::read_header::<F>(&mut source, options.get_limits())?;
    source.settle()?;
    Ok(found)
}
