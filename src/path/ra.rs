//! RA files by path.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use crate::array::{WriteArray, store_ra};
use crate::error::{Error, ErrorKind, FilePart, Help, Result};
use crate::header::Extent;
use crate::io::{RaReader, ReadArray, change};
use crate::options::{RaOptions, ReadOptions, Trailing};
use crate::ra_format::MAGIC;

/// Reads an array from an RA file.
///
/// Bytes after the array are ignored; [`RaReader::trailing`] reads them.
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
    read_ra_with(path, &ReadOptions::new())
}

/// Reads an array from an RA file, with options. See [`read_ra`].
///
/// # Errors
///
/// - The [errors of reading](crate::error#errors-of-reading).
/// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
pub fn read_ra_with<P, T>(path: P, options: &ReadOptions) -> Result<T>
where
    P: AsRef<Path>,
    T: ReadArray,
{
    let path = path.as_ref();
    let read = || RaReader::new_with(File::open(path)?, options)?.read();
    read().map_err(|error| error.at_path(path))
}

/// Writes an array to an RA file, replacing an existing file atomically. See [`write_npy`](crate::write_npy).
///
/// If bytes follow the array in the existing file, the call fails, so that they are not lost by accident; see
/// [`Trailing`].
///
/// # Errors
///
/// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
/// - [`TextTooLong`](crate::error::ErrorKind::TextTooLong) or
///   [`NotRepresentable`](crate::error::ErrorKind::NotRepresentable) if the format or the options cannot
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
    write_ra_with(path, array, &RaOptions::new())
}

/// Writes an array to an RA file, with options. See [`write_ra`].
///
/// # Errors
///
/// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
/// - [`TextTooLong`](crate::error::ErrorKind::TextTooLong) or
///   [`NotRepresentable`](crate::error::ErrorKind::NotRepresentable) if the format or the options cannot
///   represent the elements.
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the options are incompatible with each other or
///   with the call.
/// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
/// - A [conflict](crate::Error::is_conflict) if the existing file is locked or cannot be replaced, or if
///   bytes that follow its array would be lost.
pub fn write_ra_with<P, T>(path: P, array: &T, options: &RaOptions) -> Result<()>
where
    P: AsRef<Path>,
    T: WriteArray + ?Sized,
{
    replace_ra(path.as_ref(), &array, options)
}

fn replace_ra(path: &Path, array: &dyn WriteArray, options: &RaOptions) -> Result<()> {
    let write = options.element_options();
    let put = || match options.get_trailing() {
        Trailing::Write(bytes) => change::replace(path, &write, |file| store_ra(array, file, bytes, options)),
        // `Keep` and `Protect` read the old file under a lock that is held until the file is replaced.
        Trailing::Keep => {
            let put = |file: &File, kept: &[u8]| store_ra(array, file, kept, options);
            change::replace_after_inspecting(path, &write, trailing_of, put)
        }
        Trailing::Protect => {
            let put = |file: &File, _: &[u8]| store_ra(array, file, &[], options);
            change::replace_after_inspecting(path, &write, refuse_trailing, put)
        }
    };
    put().map_err(|error| error.at_path(path))
}

/// Returns an error if bytes after the array of an RA file would be lost.
pub(crate) fn refuse_trailing(old: std::io::Result<&File>) -> Result<Vec<u8>> {
    match trailing_of(old)?.len() {
        0 => Ok(Vec::new()),
        len => {
            let reason = format!("{len} bytes after its array would be lost");
            Err(Error::from(ErrorKind::CannotReplace { reason }).with_help(Help::KeepTrailing))
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
        let mut reader = RaReader::new(old)?; // recognized as a file, so its elements are skipped
        // Integers of variable length extend to the end of the file, so it is not known whether something follows them.
        // The same holds if some of the data is missing.
        if reader.flags() & 2 != 0 && reader.extent().and_then(Extent::trailing).is_none() {
            let reason = "where its compressed data ends is unknown".into();
            return Err(ErrorKind::Malformed { part: FilePart::Data, reason, offset: None }.into());
        }
        reader.trailing()
    };
    read().map_err(|error: crate::Error| unreadable_trailing(&error))
}

/// Returns the error for an old file that cannot be read, and is therefore not replaced.
fn unreadable_trailing(error: &dyn std::fmt::Display) -> crate::Error {
    let reason = format!("the bytes after its array cannot be read ({error}) and would be lost");
    Error::from(ErrorKind::CannotReplace { reason }).with_help(Help::KeepTrailing)
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
        let reader = RaReader::new(File::open(path)?)?;
        Ok(crate::ra_format::query(reader.ra_header(), &path.to_string_lossy()))
    };
    query().map_err(|error: crate::Error| error.at_path(path))
}
