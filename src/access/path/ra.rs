//! RA files by path.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use ndarray::ShapeBuilder;

use crate::array::{WriteArray, store_ra};
use crate::elements::WritableElement;
use crate::error::{Error, Fault, FilePart, Remedy, Result};
use crate::header::Extent;
use crate::io::{self, Expected, Format, NpyReader, ReadArray, change};
use crate::options::{ReadOptions, Trailing, Verb, WriteOptions};
use crate::ra_format::MAGIC;

/// Reads an array from an RA file.
///
/// Bytes after the array are ignored; [`NpyReader::trailing`] reads them.
///
/// # Errors
///
/// - The [errors of reading](crate::error#errors-of-reading).
/// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
///
/// # Examples
///
/// ```
/// use ndarray::Array2;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// # ndarray_io::ra::write_ra(&path, &ndarray::arr2(&[[1.0, 2.0]]))?;
/// let array: Array2<f64> = ndarray_io::ra::read_ra(&path)?;
/// # assert_eq!(array, ndarray::arr2(&[[1.0, 2.0]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_ra<P, T>(path: P) -> Result<T>
where
    P: AsRef<Path>,
    T: ReadArray,
{
    ReadOptions::new().read_ra(path)
}

/// Writes an array to an RA file, replacing an existing file atomically. See [`write_npy`](crate::write_npy).
///
/// If bytes follow the array in the existing file, the call fails, so that they are not lost by accident; see
/// [`Trailing`].
///
/// # Errors
///
/// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
/// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the format or the options cannot
///   represent the elements.
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the options are incompatible with each other or
///   with the call.
/// - A [conflict](crate::Error::is_conflict) if the existing file is locked or cannot be replaced, or if
///   bytes follow its array.
///
/// # Examples
///
/// ```
/// use ndarray::arr2;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.ra");
/// ndarray_io::ra::write_ra(&path, &arr2(&[[1.0, 2.0], [3.0, 4.0]]))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_ra<P, T>(path: P, array: &T) -> Result<()>
where
    P: AsRef<Path>,
    T: WriteArray + ?Sized,
{
    WriteOptions::new().write_ra(path, array)
}

fn replace_ra(path: &Path, array: &dyn WriteArray, options: &WriteOptions) -> Result<()> {
    let put = || {
        options.check_for(Verb::WriteRa)?;
        replace_with_trailing(path, options, |file, trailing| store_ra(array, file, trailing, options))
    };
    put().map_err(|error| error.at_path(path))
}

/// Replaces an RA file by what `write` writes, with the bytes that have to follow the array.
pub(crate) fn replace_with_trailing(
    path: &Path,
    options: &WriteOptions,
    mut write: impl FnMut(&File, &[u8]) -> Result<()>,
) -> Result<()> {
    match options.get_trailing() {
        Trailing::Write(bytes) => change::replace(path, options, |file| write(file, bytes)),
        // These read the old file under a lock that is held until the file is replaced.
        Trailing::Keep => change::replace_after_inspecting(path, options, trailing_of, write),
        Trailing::Protect => change::replace_after_inspecting(path, options, refuse_trailing, write),
    }
}

/// Returns an error if bytes after the array of an RA file would be lost.
fn refuse_trailing(old: std::io::Result<&File>) -> Result<Vec<u8>> {
    match trailing_of(old)?.len() {
        0 => Ok(Vec::new()),
        len => {
            let reason = format!("{len} bytes after its array would be lost");
            Err(Error::from(Fault::CannotReplace { reason }).with_help(Remedy::KeepTrailing))
        }
    }
}

/// Returns the bytes after the array of an old RA file; none if the file has another format.
///
/// An RA file that cannot be parsed is an error, because bytes after its array might be lost.
fn trailing_of(old: std::io::Result<&File>) -> Result<Vec<u8>> {
    let mut old = old.map_err(|error| unreadable_trailing(&error))?;
    let mut magic = [0; 8];
    old.rewind()?;
    let has_magic = match old.read_exact(&mut magic) {
        Ok(()) => true,
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(unreadable_trailing(&error)),
    };
    old.rewind()?;
    let other = {
        let mut other = *MAGIC; // the magic in the other byte order
        other.reverse();
        other
    };
    if !has_magic || ![*MAGIC, other].contains(&magic) {
        return Ok(Vec::new());
    }
    let read = || {
        let mut reader = NpyReader::of(old, Expected::RA, &ReadOptions::new())?; // recognized as a file, so its elements are skipped
        // Integers of variable length extend to the end of the file, so it is not known whether something follows them.
        // The same holds if some of the data is missing.
        if reader.ra_header().map_or(0, |found| found.flags) & 2 != 0
            && reader.extent().and_then(Extent::trailing).is_none()
        {
            let reason = "where its compressed data ends is unknown".into();
            return Err(Fault::Malformed { part: FilePart::Data, reason, offset: None }.into());
        }
        reader.trailing()
    };
    read().map_err(|error: crate::Error| unreadable_trailing(&error))
}

/// Returns the error for an old file that cannot be read, and is therefore not replaced.
fn unreadable_trailing(error: &dyn std::fmt::Display) -> crate::Error {
    let reason = format!("the bytes after its array cannot be read ({error}) and would be lost");
    Error::from(Fault::CannotReplace { reason }).with_help(Remedy::KeepTrailing)
}

/// Returns the header of an RA file as YAML, as shown in the documentation of the format.
///
/// The text ends with one newline.
///
/// # Errors
///
/// - The [errors of reading](crate::error#errors-of-reading).
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.ra");
/// ndarray_io::ra::write_ra(&path, &ndarray::arr1(&[1.0f32, 2.0]))?;
/// let text = ndarray_io::ra::ra_query(&path)?;
/// assert!(text.ends_with("type: float32\nsize: 8\ndimension: 1\nshape:\n  - 2\n...\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn ra_query<P: AsRef<Path>>(path: P) -> Result<String> {
    let path = path.as_ref();
    let query = || {
        let reader = NpyReader::expecting(File::open(path)?, Expected::RA, &ReadOptions::new())?;
        match reader.ra_header() {
            Some(found) => Ok(crate::ra_format::query(found, &path.to_string_lossy())),
            None => unreachable!("only RA was expected"),
        }
    };
    query().map_err(|error: crate::Error| error.at_path(path))
}

/// Writes an RA file of zeros at the position of `file`, and truncates `file` after the array. See [`write_zeroed_npy`](crate::write_zeroed_npy).
///
/// # Errors
///
/// Those of [`write_zeroed_npy`](crate::write_zeroed_npy), and [`BadOption`](crate::error::ErrorKind::BadOption) for a shape of several axes that is not in
/// Fortran order.
///
/// # Examples
///
/// ```
/// use ndarray::{Array2, ShapeBuilder};
/// use ndarray_io::ra::{read_ra, write_zeroed_ra};
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// let file = std::fs::File::create(&path)?;
/// write_zeroed_ra::<f32, _>(&file, (2, 3).f())?;
/// assert_eq!(read_ra::<_, Array2<f32>>(&path)?, Array2::<f32>::zeros((2, 3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_zeroed_ra<A, D>(file: &File, shape: D) -> Result<()>
where
    A: WritableElement,
    D: ShapeBuilder,
{
    io::write_zeroed::<A, D::Dim>(file, shape.into_shape_with_order(), Format::Ra, &WriteOptions::new())
}

impl ReadOptions {
    /// Reads an array from an RA file. See [`read_ra`].
    ///
    /// # Errors
    ///
    /// Those of [`read_ra`].
    pub fn read_ra<T: ReadArray>(&self, path: impl AsRef<Path>) -> Result<T> {
        let path = path.as_ref();
        let read = || NpyReader::expecting(File::open(path)?, Expected::RA, self)?.read();
        read().map_err(|error| error.at_path(path))
    }
}

impl WriteOptions {
    /// Writes an array to an RA file. See [`write_ra`] and [`write_ra_to`](Self::write_ra_to).
    ///
    /// # Errors
    ///
    /// Those of [`write_ra`], and [`BadOption`](crate::error::ErrorKind::BadOption) if the options are incompatible with each other or with the call.
    pub fn write_ra<T: WriteArray + ?Sized>(&self, path: impl AsRef<Path>, array: &T) -> Result<()> {
        replace_ra(path.as_ref(), &array, self)
    }
}
