//! [`NpzReader`]: archives out of anything that reads and seeks.

use std::io::{Read, Seek};

use ndarray::{ArrayBase, DataOwned, Dimension};

use super::archive::{Archive, NpzMember, Place};
use super::member;
use crate::element::ReadableElement;
use crate::error::Result;
use crate::io::FromPayload;
use crate::npy_format::NpyHeader;
use crate::options::ReadOptions;
use crate::transfer::os;

/// Reads archives of arrays (`.npz`) from anything that reads and seeks.
///
/// Members are found by NumPy's rules: `by_name("x")` reads the member `x`, or else `x.npy`. Names are keys and never
/// paths. Each member's checksum is compared when it is read.
///
/// A `File` is read by position and on several threads; [`NpzFile`](super::NpzFile) does the same without `&mut`.
///
/// ```
/// use ndarray::{arr1, arr2, Array1, Array2};
/// use ndarray_io::{NpzReader, NpzWriter};
/// use std::io::Cursor;
///
/// let mut npz = NpzWriter::new(Vec::new());
/// npz.add_array("a", &arr1(&[1, 2, 3]))?;
/// npz.add_array("b", &arr2(&[[1.5], [2.5]]))?;
///
/// let mut npz = NpzReader::new(Cursor::new(npz.finish()?))?;
/// assert_eq!(npz.names()?, ["a", "b"]);
/// let b: Array2<f64> = npz.by_name("b")?;
/// assert_eq!(b, arr2(&[[1.5], [2.5]]));
/// let first: Array1<i32> = npz.by_index(0)?;
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Debug)]
pub struct NpzReader<R> {
    reader: R,
    archive: Archive,
    options: ReadOptions,
}

impl<R: Read + Seek> NpzReader<R> {
    /// Reads the archive's directory. Members are not touched.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated.
    pub fn new(reader: R) -> Result<Self> {
        Self::new_with(reader, &ReadOptions::new())
    }

    /// Reads the archive's directory, with options for all that is read from it.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated.
    pub fn new_with(mut reader: R, options: &ReadOptions) -> Result<Self> {
        let archive = Archive::load(&mut place(&mut reader))?;
        Ok(Self { reader, archive, options: options.clone() })
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.archive.members().len()
    }

    /// The names of all members, in the order of the directory, each without one suffix `.npy`.
    ///
    /// # Errors
    ///
    /// None today: the type is that of `ndarray-npy`.
    pub fn names(&self) -> Result<Vec<String>> {
        Ok(self.archive.names())
    }

    /// What the archive says of its members.
    pub fn members(&self) -> &[NpzMember] {
        self.archive.members()
    }

    /// Reads an array by its name.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; [`Io`](crate::error::ErrorKind::Io) if the system fails;
    /// [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the [format](crate::Error::is_format) if it is damaged; a
    /// [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn by_name<S, D>(&mut self, name: &str) -> Result<ArrayBase<S, D>>
    where
        S: DataOwned,
        S::Elem: ReadableElement,
        D: Dimension,
    {
        self.read(name)
    }

    /// Reads an array by its number in the directory.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if there is no member of this number;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error
    /// of the [format](crate::Error::is_format) if it is damaged; a [mismatch](crate::Error::is_mismatch) if its elements or axes are
    /// not those of the type; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn by_index<S, D>(&mut self, index: usize) -> Result<ArrayBase<S, D>>
    where
        S: DataOwned,
        S::Elem: ReadableElement,
        D: Dimension,
    {
        self.read_index(index)
    }

    /// Reads whatever array is asked for by its name, also a [`DynArray`](crate::DynArray).
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; [`Io`](crate::error::ErrorKind::Io) if the system fails;
    /// [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the [format](crate::Error::is_format) if it is damaged; a
    /// [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::{DynArray, NpzReader, NpzWriter};
    /// # let mut npz = NpzWriter::new(Vec::new());
    /// # npz.add_array("x", &arr1(&[1.5]))?;
    /// # let mut npz = NpzReader::new(std::io::Cursor::new(npz.finish()?))?;
    /// println!("{}", npz.read::<DynArray>("x")?);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn read<T: FromPayload>(&mut self, name: &str) -> Result<T> {
        member::read(place(&mut self.reader), self.archive.find(name)?, &self.options)
    }

    /// The same by the number in the directory.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if there is no member of this number;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error
    /// of the [format](crate::Error::is_format) if it is damaged; a [mismatch](crate::Error::is_mismatch) if its elements or axes are
    /// not those of the type; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn read_index<T: FromPayload>(&mut self, index: usize) -> Result<T> {
        member::read(place(&mut self.reader), self.archive.at(index)?, &self.options)
    }

    /// The header of an array, without its elements.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the
    /// [format](crate::Error::is_format) if the file is malformed or truncated; [`Limit`](crate::error::ErrorKind::Limit) beyond the
    /// [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::{NpzReader, NpzWriter};
    /// # let mut npz = NpzWriter::new(Vec::new());
    /// # npz.add_array("x", &arr1(&[1.5]))?;
    /// # let mut npz = NpzReader::new(std::io::Cursor::new(npz.finish()?))?;
    /// assert_eq!(npz.peek("x")?.header.shape(), [1]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn peek(&mut self, name: &str) -> Result<NpyHeader> {
        member::peek(place(&mut self.reader), self.archive.find(name)?, &self.options)
    }

    /// The bytes of a member, be it an array or not.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; [`Io`](crate::error::ErrorKind::Io) if the system fails;
    /// [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the [format](crate::Error::is_format) if it is damaged;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::{NpzReader, NpzWriter};
    /// # let mut npz = NpzWriter::new(Vec::new());
    /// # npz.add_array("x", &arr1(&[1.5]))?;
    /// # let mut npz = NpzReader::new(std::io::Cursor::new(npz.finish()?))?;
    /// assert!(npz.read_raw("x.npy")?.starts_with(b"\x93NUMPY"));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn read_raw(&mut self, name: &str) -> Result<Vec<u8>> {
        member::read_raw(place(&mut self.reader), self.archive.find(name)?, &self.options)
    }

    /// The same by the number in the directory.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if there is no member of this number;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error
    /// of the [format](crate::Error::is_format) if it is damaged; [`Limit`](crate::error::ErrorKind::Limit) beyond the
    /// [`Limits`](crate::Limits).
    pub fn read_raw_index(&mut self, index: usize) -> Result<Vec<u8>> {
        member::read_raw(place(&mut self.reader), self.archive.at(index)?, &self.options)
    }

    /// The reader.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

/// A file is recognised, so that it is read by position.
fn place<R: Read + Seek>(reader: &mut R) -> Place<'_> {
    if os::as_file(reader).is_none() {
        return Place::Stream(reader);
    }
    match os::as_file(reader) {
        Some(file) => Place::File(file),
        None => unreachable!("it was recognised above"),
    }
}
