//! Reading and writing files by path. Errors name the file.

mod ra;
mod replace;

use std::fs::File;
use std::path::Path;

use ndarray::ShapeBuilder;

pub(crate) use ra::replace_with_trailing;
pub use ra::{ra_query, read_ra, write_ra, write_zeroed_ra};
pub use replace::FileReplacement;

use crate::array::{WriteArray, store_npy};
use crate::elements::WritableElement;
use crate::error::Result;
use crate::io::change::{self, NewFile};
use crate::io::{self, Expected, Format, ReadArray};
use crate::options::{ReadOptions, Verb, WriteOptions};
use crate::transfer::Sink;

/// Reads an array from an NPY file.
///
/// Bytes after the array are an error, unless another process is appending them with this library.
///
/// # Errors
///
/// - The [errors of reading](crate::error#errors-of-reading).
/// - A [format error](crate::Error::is_format) if the file is malformed, truncated or longer than its array.
/// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
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
    T: ReadArray,
{
    ReadOptions::new().read_npy(path)
}

/// Writes an array to an NPY file, replacing an existing file atomically.
///
/// The bytes are identical to those that `numpy.save` writes.
///
/// The array is written to a temporary file in the same folder, which then replaces the old file. If the
/// process dies or the disk is full, the old file is unchanged. Processes that have the old file open or
/// mapped continue to see its content, so an array that views the file can be written back to it. The file is
/// not synced to the disk, so a loss of power may damage it: see [`WriteOptions::sync`].
///
/// Symbolic links are followed. Permissions, owner and (on Linux) extended attributes are preserved. Where
/// that is impossible (a file with several hard links, a folder without write permission), the old file is
/// left unchanged, and the [help](crate::Error::help) of the error suggests [`WriteOptions::in_place`].
/// Anything that is not a regular file, such as a pipe or `/dev/stdout`, is written to directly.
///
/// # Errors
///
/// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
/// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) or
///   [`BadOption`](crate::error::ErrorKind::BadOption) if the format or the options cannot represent
///   the elements.
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the options are incompatible with each other or
///   with the call.
/// - A [conflict](crate::Error::is_conflict) if the existing file is locked or cannot be replaced.
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
    T: WriteArray + ?Sized,
{
    WriteOptions::new().write_npy(path, array)
}

// Not generic over the array, so that programs do not compile the replacement of a file again for each type.
fn replace_npy(path: &Path, array: &dyn WriteArray, options: &WriteOptions) -> Result<()> {
    options.check_at_path(Verb::WriteNpy, path)?;
    let new = NewFile::begin(path, options).map_err(|error| error.at_path(path))?;
    let written = store_npy(array, Sink::of(&mut new.file()), options);
    new.end(written).map_err(|error| error.at_path(path))
}

/// Writes an NPY file of zeros at the position of `file`, and truncates `file` after the array.
///
/// This is for arrays larger than memory. On file systems with sparse files, no disk space is used until
/// elements are written. `NpyMmapMut::create` creates such a file atomically at a path, and maps it.
///
/// # Errors
///
/// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
/// - [`Malformed`](crate::error::ErrorKind::Malformed) or [`Limit`](crate::error::ErrorKind::Limit) if the
///   shape is too large or has too many axes.
/// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) or
///   [`BadOption`](crate::error::ErrorKind::BadOption) if the format cannot represent the header.
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the elements are Python objects.
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
    WriteOptions::new().write_zeroed_npy::<A, D>(file, shape)
}

impl ReadOptions {
    /// Reads an array from an NPY file. See [`read_npy`].
    ///
    /// # Errors
    ///
    /// Those of [`read_npy`], except that bytes after the array are accepted with [`allow_trailing`](Self::allow_trailing).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::Array2;
    /// use ndarray_io::{Casting, ReadOptions};
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// # ndarray_io::write_npy(&path, &ndarray::arr2(&[[1.0f32, 2.0]]))?;
    /// let array: Array2<f64> = ReadOptions::new().casting(Casting::Safe).read_npy(&path)?;
    /// # assert_eq!(array, ndarray::arr2(&[[1.0, 2.0]]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_npy<T: ReadArray>(&self, path: impl AsRef<Path>) -> Result<T> {
        let path = path.as_ref();
        io::read_file(path, Expected::NPY, self).map_err(|error| error.at_path(path))
    }
}

impl WriteOptions {
    /// Writes an array to an NPY file. See [`write_npy`].
    ///
    /// # Errors
    ///
    /// Those of [`write_npy`];
    /// [`AlreadyExists`](crate::error::ErrorKind::AlreadyExists) if the path exists, with [`create_new`](Self::create_new);
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the options are incompatible with each other or with the call; and
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::WriteOptions;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("new.npy");
    /// WriteOptions::new().create_new(true).sync(true).write_npy(&path, &arr1(&[1.0]))?;
    /// assert!(WriteOptions::new().create_new(true).write_npy(&path, &arr1(&[2.0])).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_npy<T: WriteArray + ?Sized>(&self, path: impl AsRef<Path>, array: &T) -> Result<()> {
        replace_npy(path.as_ref(), &array, self)
    }

    /// Writes an NPY file of zeros at the position of `file`. See [`write_zeroed_npy`].
    ///
    /// # Errors
    ///
    /// Those of [`write_zeroed_npy`], and [`BadOption`](crate::error::ErrorKind::BadOption) for options that only files with a path have.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::WriteOptions;
    /// use ndarray_io::header::Order;
    ///
    /// let file = tempfile::tempfile()?;
    /// WriteOptions::new().order(Order::Fortran).write_zeroed_npy::<f64, _>(&file, (2, 3))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_zeroed_npy<A, D>(&self, file: &File, shape: D) -> Result<()>
    where
        A: WritableElement,
        D: ShapeBuilder,
    {
        self.check_for(Verb::WriteZeroed)?;
        io::write_zeroed::<A, D::Dim>(file, shape.into_shape_with_order(), Format::Npy, self)?;
        change::sync_writer(&mut { file }, self)
    }
}
