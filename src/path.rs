//! Files by their paths. Errors name the file.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use ndarray::ShapeBuilder;

use crate::array::{ReadNpyExt, ReadRaExt, WriteNpyExt, WriteRaExt, store_npy, store_ra};
use crate::element::WritableElement;
use crate::error::{Error, ErrorKind, Help, Result};
use crate::io::{self, Npy, RaReader, change};
use crate::options::{RaOptions, ReadOptions, Trailing, WriteOptions};
use crate::ra_format::MAGIC;
use crate::transfer::Source;

/// Reads an NPY file. Bytes behind the array are an error.
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is malformed
/// or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
/// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits); [`Cancelled`](crate::error::ErrorKind::Cancelled) by
/// the progress callback.
///
/// # Examples
///
/// ```
/// use ndarray::Array2;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// # ndarray_io::write_npy(&path, &ndarray::arr2(&[[1.0, 2.0]]))?;
/// let array: Array2<f64> = ndarray_io::read_npy(&path)?;
/// # assert_eq!(array, ndarray::arr2(&[[1.0, 2.0]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_npy<P, T>(path: P) -> Result<T>
where
    P: AsRef<Path>,
    T: ReadNpyExt,
{
    read_npy_with(path, &ReadOptions::new())
}

/// Reads an NPY file with options.
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is malformed
/// or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
/// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits); [`Cancelled`](crate::error::ErrorKind::Cancelled) by
/// the progress callback.
///
/// # Examples
///
/// ```
/// use ndarray::Array2;
/// use ndarray_io::{Casting, ReadOptions};
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// # ndarray_io::write_npy(&path, &ndarray::arr2(&[[1.0f32, 2.0]]))?;
/// let array: Array2<f64> = ndarray_io::read_npy_with(&path, &ReadOptions::new().casting(Casting::Safe))?;
/// # assert_eq!(array, ndarray::arr2(&[[1.0, 2.0]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_npy_with<P, T>(path: P, options: &ReadOptions) -> Result<T>
where
    P: AsRef<Path>,
    T: ReadNpyExt,
{
    let path = path.as_ref();
    let read = || {
        let mut file = File::open(path)?;
        let mut source = Source::of_opened(&mut file);
        io::read_file::<Npy, _>(&mut source, options)
    };
    read().map_err(|error| error.at_path(path))
}

/// Writes an NPY file, with the bytes that `numpy.save` writes. A file that is there is replaced whole or not at all.
///
/// The array is written to a new file beside the old one, which then takes its place: if the process dies or the disk
/// is full, the old file is as it was; who has the old file open or mapped keeps it; and an array that views the file
/// can be written back to it. Symbolic links are followed; permissions, owner and (on Linux) extended attributes are
/// kept. Where that is impossible (a file with several hard links, a directory that cannot be written) nothing happens,
/// and the error names [`WriteOptions::in_place`]. What is no regular file, as a pipe or `/dev/stdout`, is written
/// directly.
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`TextTooLong`](crate::error::ErrorKind::TextTooLong),
/// [`NotExpressible`](crate::error::ErrorKind::NotExpressible) or [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the
/// format or the options cannot hold the elements; [`BadOption`](crate::error::ErrorKind::BadOption) if the options contradict the
/// call; [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback; a [conflict](crate::Error::is_conflict) if the
/// existing file is locked or cannot be replaced.
///
/// # Examples
///
/// ```
/// use ndarray::arr2;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npy(&path, &arr2(&[[1.0, 2.0], [3.0, 4.0]]))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_npy<P, T>(path: P, array: &T) -> Result<()>
where
    P: AsRef<Path>,
    T: WriteNpyExt + ?Sized,
{
    write_npy_with(path, array, &WriteOptions::new())
}

/// Writes an NPY file with options. See [`write_npy`].
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`TextTooLong`](crate::error::ErrorKind::TextTooLong),
/// [`NotExpressible`](crate::error::ErrorKind::NotExpressible) or [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the
/// format or the options cannot hold the elements; [`BadOption`](crate::error::ErrorKind::BadOption) if the options contradict the
/// call; [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback; a [conflict](crate::Error::is_conflict) if the
/// existing file is locked or cannot be replaced.
///
/// # Examples
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::WriteOptions;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npy_with(&path, &arr1(&[1.0]), &WriteOptions::new().sync(true))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_npy_with<P, T>(path: P, array: &T, options: &WriteOptions) -> Result<()>
where
    P: AsRef<Path>,
    T: WriteNpyExt + ?Sized,
{
    let path = path.as_ref();
    change::replace(path, options, |file| store_npy(array, file, options))
        .map_err(|error| error.at_path(path))
}

/// Writes an NPY file that must not be there yet. It appears when it is complete.
///
/// # Errors
///
/// [`AlreadyExists`](crate::error::ErrorKind::AlreadyExists); [`Io`](crate::error::ErrorKind::Io) if the system fails;
/// [`TextTooLong`](crate::error::ErrorKind::TextTooLong), [`NotExpressible`](crate::error::ErrorKind::NotExpressible) or
/// [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the format or the options cannot hold the elements;
/// [`BadOption`](crate::error::ErrorKind::BadOption) if the options contradict the call;
/// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback.
///
/// # Examples
///
/// ```
/// use ndarray::arr1;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("new.npy");
/// ndarray_io::create_new_npy(&path, &arr1(&[1.0]))?;
/// assert!(ndarray_io::create_new_npy(&path, &arr1(&[2.0])).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create_new_npy<P, T>(path: P, array: &T) -> Result<()>
where
    P: AsRef<Path>,
    T: WriteNpyExt + ?Sized,
{
    create_new_npy_with(path, array, &WriteOptions::new())
}

/// Writes an NPY file that must not be there yet, with options. See [`create_new_npy`].
///
/// # Errors
///
/// [`AlreadyExists`](crate::error::ErrorKind::AlreadyExists); [`Io`](crate::error::ErrorKind::Io) if the system fails;
/// [`TextTooLong`](crate::error::ErrorKind::TextTooLong), [`NotExpressible`](crate::error::ErrorKind::NotExpressible) or
/// [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the format or the options cannot hold the elements;
/// [`BadOption`](crate::error::ErrorKind::BadOption) if the options contradict the call;
/// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback.
///
/// # Examples
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::WriteOptions;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("new.npy");
/// ndarray_io::npy::create_new_npy_with(&path, &arr1(&[1.0]), &WriteOptions::new().sync(true))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create_new_npy_with<P, T>(path: P, array: &T, options: &WriteOptions) -> Result<()>
where
    P: AsRef<Path>,
    T: WriteNpyExt + ?Sized,
{
    let path = path.as_ref();
    change::create_new(path, options, |file| store_npy(array, file, options))
        .map_err(|error| error.at_path(path))
}

/// Writes an NPY file full of zeros at the file's position, and cuts off what follows. Where the file system can, the
/// file takes no room on the disk before it is filled.
///
/// This is for arrays larger than memory. `NpyMmapMut::create` does the same by path, safely beside others that open the
/// file, and maps it.
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`Overflow`](crate::error::ErrorKind::Overflow) if the shape is
/// more than this machine can address; [`BadOption`](crate::error::ErrorKind::BadOption) of Python objects.
///
/// # Examples
///
/// ```
/// use ndarray::Array3;
/// use ndarray_io::{read_npy, write_zeroed_npy};
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// let file = std::fs::File::create(&path)?;
/// write_zeroed_npy::<f64, _>(&file, (2, 3, 4))?;
/// assert_eq!(read_npy::<_, Array3<f64>>(&path)?, Array3::<f64>::zeros((2, 3, 4)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_zeroed_npy<A, D>(file: &File, shape: D) -> Result<()>
where
    A: WritableElement,
    D: ShapeBuilder,
{
    write_zeroed_npy_with::<A, D>(file, shape, &WriteOptions::new())
}

/// Writes an NPY file full of zeros, with options. See [`write_zeroed_npy`].
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`Overflow`](crate::error::ErrorKind::Overflow) if the shape is
/// more than this machine can address; [`BadOption`](crate::error::ErrorKind::BadOption) of Python objects.
///
/// # Examples
///
/// ```
/// use ndarray_io::header::Order;
/// use ndarray_io::npy::write_zeroed_npy_with;
/// use ndarray_io::WriteOptions;
///
/// let file = tempfile::tempfile()?;
/// write_zeroed_npy_with::<f64, _>(&file, (2, 3), &WriteOptions::new().order(Order::Fortran))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_zeroed_npy_with<A, D>(file: &File, shape: D, options: &WriteOptions) -> Result<()>
where
    A: WritableElement,
    D: ShapeBuilder,
{
    io::write_zeroed::<A, D::Dim, Npy>(file, shape.into_shape_with_order(), options)
}

/// Replaces any file atomically, as [`write_npy`] does with its own: `write` gets an empty file, which takes the place of an
/// old one when it is complete. For formats that this library does not write.
///
/// # Errors
///
/// Whatever `write` returns; the old file is then as it was, unless it is overwritten in place or is not a regular file.
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; a [conflict](crate::Error::is_conflict) if the existing file is locked or
/// cannot be replaced.
///
/// ```
/// use ndarray_io::file::replace_file_with;
/// use ndarray_io::WriteOptions;
/// use std::io::Write;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.txt");
/// replace_file_with(&path, &WriteOptions::new(), |mut file| {
///     writeln!(file, "1,2,3")?;
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// assert_eq!(std::fs::read_to_string(&path)?, "1,2,3\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replace_file_with<P, E>(
    path: P,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<(), E>,
) -> Result<(), E>
where
    P: AsRef<Path>,
    E: From<crate::Error>,
{
    let path = path.as_ref();
    let mut failure = None;
    let replaced = change::replace(path, options, |file| {
        write(file).map_err(|error| {
            failure = Some(error);
            ErrorKind::Cancelled.into()
        })
    });
    match failure {
        Some(error) => Err(error),
        None => replaced.map_err(|error| error.at_path(path).into()),
    }
}

/// Reads an RA file. What stands behind its array is no error: [`RaReader::trailing`] gives it.
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is malformed
/// or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
/// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits); [`Cancelled`](crate::error::ErrorKind::Cancelled) by
/// the progress callback.
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
    T: ReadRaExt,
{
    read_ra_with(path, &ReadOptions::new())
}

/// Reads an RA file with options. See [`read_ra`].
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is malformed
/// or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
/// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits); [`Cancelled`](crate::error::ErrorKind::Cancelled) by
/// the progress callback.
pub fn read_ra_with<P, T>(path: P, options: &ReadOptions) -> Result<T>
where
    P: AsRef<Path>,
    T: ReadRaExt,
{
    let path = path.as_ref();
    let read = || T::read_ra_with(File::open(path)?, options);
    read().map_err(|error| error.at_path(path))
}

/// Writes an RA file. A file that is there is replaced whole or not at all, as by [`write_npy`]; if something stands behind its
/// array, nothing is lost by accident: see [`Trailing`].
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`TextTooLong`](crate::error::ErrorKind::TextTooLong) or
/// [`NotExpressible`](crate::error::ErrorKind::NotExpressible) if the format or the options cannot hold the elements;
/// [`BadOption`](crate::error::ErrorKind::BadOption) if the options contradict the call;
/// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback; a [conflict](crate::Error::is_conflict) if the existing
/// file is locked or cannot be replaced.
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
    T: WriteRaExt + ?Sized,
{
    write_ra_with(path, array, &RaOptions::new())
}

/// Writes an RA file with options. See [`write_ra`].
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`TextTooLong`](crate::error::ErrorKind::TextTooLong) or
/// [`NotExpressible`](crate::error::ErrorKind::NotExpressible) if the format or the options cannot hold the elements;
/// [`BadOption`](crate::error::ErrorKind::BadOption) if the options contradict the call;
/// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback; a [conflict](crate::Error::is_conflict) if the existing
/// file is locked or cannot be replaced.
pub fn write_ra_with<P, T>(path: P, array: &T, options: &RaOptions) -> Result<()>
where
    P: AsRef<Path>,
    T: WriteRaExt + ?Sized,
{
    let path = path.as_ref();
    let write = options.element_options();
    let put = || match options.get_trailing() {
        Trailing::Write(bytes) => change::replace(path, &write, |file| store_ra(array, file, bytes, options)),
        Trailing::Keep => {
            let put = |file: &File, kept: &[u8]| store_ra(array, file, kept, options);
            change::replace_after_look(path, &write, trailing_of, put)
        }
        Trailing::Protect => {
            let put = |file: &File, _: &[u8]| store_ra(array, file, &[], options);
            change::replace_after_look(path, &write, refuse_trailing, put)
        }
    };
    put().map_err(|error| error.at_path(path))
}

/// An error if something would be lost that follows the array of an RA file.
pub(crate) fn refuse_trailing(old: std::io::Result<&File>) -> Result<Vec<u8>> {
    match trailing_of(old)?.len() {
        0 => Ok(Vec::new()),
        len => {
            let reason = format!("{len} bytes after its array would be lost");
            Err(Error::from(ErrorKind::CannotReplace { reason }).with_help(Help::KeepTrailing))
        }
    }
}

/// What follows the array of an old file, if it is an RA file. One that is, and cannot be understood, may have something to
/// lose.
fn trailing_of(old: std::io::Result<&File>) -> Result<Vec<u8>> {
    let mut old = old.map_err(|error| unread(&error))?;
    let metadata = old.metadata()?;
    let mut magic = [0; 8];
    old.rewind()?;
    let has_magic = match old.read_exact(&mut magic) {
        Ok(()) => true,
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(unread(&error)),
    };
    old.rewind()?;
    let other = {
        let mut other = *MAGIC; // in the other byte order
        other.reverse();
        other
    };
    if !has_magic || ![*MAGIC, other].contains(&magic) {
        return Ok(Vec::new());
    }
    let mut read = || {
        let mut reader = RaReader::new(&mut old)?;
        // Some writers leave the unpacked size in the header of packed data: the data are what is left, then, and nobody
        // knows where they end.
        let size = reader.ra_header().size;
        let is_unpacked = reader.payload_len() == Some(size);
        if reader.flags() & 2 != 0 && (size > metadata.len() || is_unpacked) {
            let reason = "its data are packed, and its header says a size that the file does not have".into();
            return Err(ErrorKind::BadPacking { reason }.into());
        }
        reader.trailing()
    };
    read().map_err(|error: crate::Error| unread(&error))
}

/// An old file that cannot be looked at is not replaced by accident.
fn unread(error: &dyn std::fmt::Display) -> crate::Error {
    let reason = format!("what follows its array cannot be read ({error}) and would be lost");
    Error::from(ErrorKind::CannotReplace { reason }).with_help(Help::KeepTrailing)
}

/// The header of an RA file as YAML, as the page of the format shows it, ending in one newline.
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is malformed
/// or truncated; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
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
