//! [`NpzReader`]: reads archives from any seekable reader.

use std::io::{Read, Seek};

use ndarray::{ArrayBase, DataOwned, Dimension};

use super::archive::{Archive, ArchiveBytes, MemberKey, NpzMember};
use super::member;
use crate::bytes::Region;
use crate::dtype::ByteOrder;
use crate::elements::ReadableElement;
use crate::error::Result;
use crate::io::{NpyReader, ReadArray};
use crate::npy_format::NpyHeader;
use crate::options::ReadOptions;
use crate::transfer::streams;

/// Reads NPZ archives from any seekable reader.
///
/// Members are found by NumPy's rule: `by_name("x")` reads the member `x`, or else `x.npy`. Names are only
/// keys, never paths. Reading a member verifies its checksum.
///
/// If the reader is a `File`, it is read by position, from several threads.
/// [`NpzFile`](crate::NpzFile) does the same without `&mut self`.
///
/// ```
/// use ndarray::{arr1, arr2, Array1, Array2};
/// use ndarray_io::{NpzReader, NpzWriter};
/// use std::io::Cursor;
///
/// let mut npz = NpzWriter::new(Vec::new());
/// npz.add("a", &arr1(&[1, 2, 3]))?;
/// npz.add("b", &arr2(&[[1.5], [2.5]]))?;
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
    /// Opens an archive, and reads its central directory but no members.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    pub fn new(reader: R) -> Result<Self> {
        ReadOptions::new().npz_reader(reader)
    }

    /// Returns whether the archive has no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of members, including those that are not arrays.
    pub fn len(&self) -> usize {
        self.archive.members().len()
    }

    /// Returns the names of all members, in the order of the central directory.
    ///
    /// If a name ends in `.npy`, this suffix is removed once.
    ///
    /// # Errors
    ///
    /// None at present. The return type matches `ndarray-npy`.
    pub fn names(&self) -> Result<Vec<String>> {
        Ok(self.archive.names())
    }

    /// Returns the metadata of all members, in the order of the central directory.
    pub fn members(&self) -> &[NpzMember] {
        self.archive.members()
    }

    /// Reads an array by name: [`read`](Self::read), under the name that `ndarray-npy` uses.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](crate::error::ErrorKind::NoSuchName) or
    ///   [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) unless exactly one member matches `name`.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - A [mismatch](crate::Error::is_mismatch) if the elements or axes do not match the requested type.
    #[doc(hidden)]
    pub fn by_name<S, D>(&mut self, name: &str) -> Result<ArrayBase<S, D>>
    where
        S: DataOwned,
        S::Elem: ReadableElement,
        D: Dimension,
    {
        self.read(name)
    }

    /// Reads an array by its index in the central directory: [`read`](Self::read), under the name that `ndarray-npy` uses.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if there are fewer members.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - A [mismatch](crate::Error::is_mismatch) if the elements or axes do not match the requested type.
    #[doc(hidden)]
    pub fn by_index<S, D>(&mut self, index: usize) -> Result<ArrayBase<S, D>>
    where
        S: DataOwned,
        S::Elem: ReadableElement,
        D: Dimension,
    {
        self.read(index)
    }

    /// Reads an array by name or index, as any supported type, including [`DynArray`](crate::DynArray).
    ///
    /// # Errors
    ///
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the elements or axes do not match the requested type.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::{DynArray, NpzReader, NpzWriter};
    /// # let mut npz = NpzWriter::new(Vec::new());
    /// # npz.add("x", &arr1(&[1.5]))?;
    /// # let mut npz = NpzReader::new(std::io::Cursor::new(npz.finish()?))?;
    /// println!("{}", npz.read::<DynArray>("x")?);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn read<T: ReadArray>(&mut self, member: impl MemberKey) -> Result<T> {
        member::read(archive_bytes(&mut self.reader), self.archive.get(member)?, &self.options)
    }

    /// Reads the elements of an array into memory of the caller: see [`NpyReader::read_into_bytes`].
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the memory has another size.
    /// - Those of [`read`](Self::read).
    pub fn read_into_bytes(
        &mut self,
        member: impl MemberKey,
        into: &mut [u8],
        byte_order: Option<ByteOrder>,
    ) -> Result<()> {
        let member = self.archive.get(member)?;
        member::read_into_bytes(archive_bytes(&mut self.reader), member, &self.options, into, byte_order)
    }

    /// Reads an array in pieces: calls a function with a reader of its member.
    ///
    /// The [`blocks`](crate::NpyReader::blocks), [`chunks`](crate::NpyReader::chunks), [`rows`](crate::NpyReader::rows) and
    /// [`elements`](crate::NpyReader::elements) of the reader are read in bounded memory. What the function does not read is skipped. The checksum is verified when it has
    /// returned, and only then is it certain that it has seen the right bytes.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read), and of the function.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::{Array2, Ix2};
    /// # use ndarray_io::{NpzReader, NpzWriter};
    /// # let mut npz = NpzWriter::new(Vec::new());
    /// # npz.add("x", &Array2::<f64>::ones((100, 3)))?;
    /// # let mut npz = NpzReader::new(std::io::Cursor::new(npz.finish()?))?;
    /// let sum: f64 = npz.stream("x", |reader| reader.rows::<f64, Ix2>()?.map(|row| Ok(row?.sum())).sum())?;
    /// assert_eq!(sum, 300.0);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn stream<O>(
        &mut self,
        member: impl MemberKey,
        call: impl FnOnce(&mut NpyReader<&mut dyn Read>) -> Result<O>,
    ) -> Result<O> {
        member::stream(archive_bytes(&mut self.reader), self.archive.get(member)?, &self.options, call)
    }

    /// Reads the header of an array, without its elements.
    ///
    /// The checksum is not verified.
    ///
    /// # Errors
    ///
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [format error](crate::Error::is_format) if the member is malformed, truncated or compressed by an
    ///   unsupported method.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::{NpzReader, NpzWriter};
    /// # let mut npz = NpzWriter::new(Vec::new());
    /// # npz.add("x", &arr1(&[1.5]))?;
    /// # let mut npz = NpzReader::new(std::io::Cursor::new(npz.finish()?))?;
    /// assert_eq!(npz.peek("x")?.header.shape(), [1]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn peek(&mut self, member: impl MemberKey) -> Result<NpyHeader> {
        member::peek(archive_bytes(&mut self.reader), self.archive.get(member)?, &self.options)
            .map(|(header, _)| header)
    }

    /// Reads all bytes of a member, whether or not it is an array, and verifies its checksum.
    ///
    /// # Errors
    ///
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - The [errors of reading](crate::error#errors-of-reading).
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::{NpzReader, NpzWriter};
    /// # let mut npz = NpzWriter::new(Vec::new());
    /// # npz.add("x", &arr1(&[1.5]))?;
    /// # let mut npz = NpzReader::new(std::io::Cursor::new(npz.finish()?))?;
    /// assert!(npz.read_raw("x.npy")?.starts_with(b"\x93NUMPY"));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn read_raw(&mut self, member: impl MemberKey) -> Result<Vec<u8>> {
        member::read_raw(archive_bytes(&mut self.reader), self.archive.get(member)?, &self.options)
    }

    /// Returns the underlying reader.
    ///
    /// Its position is unspecified.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

/// Returns access to the bytes of a reader. Detects a `File`, which can be read by position.
fn archive_bytes<R: Read + Seek>(reader: &mut R) -> ArchiveBytes<'_> {
    // Two calls, because the borrow checker rejects returning the first borrow from only one branch.
    if streams::as_file(reader).is_none() {
        return ArchiveBytes::of_stream(reader);
    }
    match streams::as_file(reader) {
        Some(file) => ArchiveBytes::of(Region::of_file(file)),
        None => unreachable!("it was recognised above"),
    }
}

impl ReadOptions {
    /// Reads the directory of an archive from a reader that can seek. See [`NpzReader::new`]. The options apply to all members.
    ///
    /// # Errors
    ///
    /// Those of [`NpzReader::new`].
    pub fn npz_reader<R: Read + Seek>(&self, mut reader: R) -> Result<NpzReader<R>> {
        let archive = Archive::load(&mut archive_bytes(&mut reader))?;
        Ok(NpzReader { reader, archive, options: self.clone() })
    }
}
