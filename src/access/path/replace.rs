//! Replacing files of any format.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::{Error, Fault, Result};
use crate::io::change::{self, LockPurpose, Locked};
use crate::options::{Verb, WriteOptions};

/// A file that is read and then replaced by what was made of it, without losing what others change in between.
///
/// It comes from [`WriteOptions::begin_replacement`]. The file is locked from opening until it has been replaced or this value is dropped. Other changes through this library
/// fail with [`Locked`](crate::error::ErrorKind::Locked) in that time, or wait; readers see the old file until the new one is in place.
///
/// # Examples
///
/// Two processes that both add 1 add 2:
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{ReadNpyExt, WriteNpyExt, WriteOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("counts.npy");
/// ndarray_io::write_npy(&path, &arr1(&[1u64, 2, 3]))?;
/// let old = WriteOptions::new().begin_replacement(&path)?;
/// let counts = Array1::<u64>::read_npy(old.file())?;
/// old.replace_with(|new| (counts + 1).write_npy(new))?;
/// # assert_eq!(ndarray_io::read_npy::<_, Array1<u64>>(&path)?, arr1(&[2, 3, 4]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Compare and replace, for work that takes too long to keep the file locked:
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{ReadNpyExt, WriteNpyExt, WriteOptions, read_npy};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("weights.npy");
/// # ndarray_io::write_npy(&path, &arr1(&[1.0, 2.0, 3.0]))?;
/// let before: Array1<f64> = read_npy(&path)?;
/// let better = &before * 0.5; // takes an hour
/// let old = WriteOptions::new().begin_replacement(&path)?;
/// if Array1::<f64>::read_npy(old.file())? == before {
///     old.replace_with(|new| better.write_npy(new))?;
/// }
/// # assert_eq!(read_npy::<_, Array1<f64>>(&path)?, better);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileReplacement {
    path: PathBuf,
    old: Locked,
    options: WriteOptions,
}

impl FileReplacement {
    /// Returns the old file, for reading: at first, from its beginning.
    ///
    /// Rows after the array that its header does not count were left by an interrupted append.
    pub fn file(&self) -> &File {
        &self.old
    }

    /// Replaces the file by what `write` writes to an empty one, as [`WriteOptions::replace_file`] does.
    ///
    /// # Errors
    ///
    /// - Any error that `write` returns. The old file is then unchanged.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`Locked`](crate::error::ErrorKind::Locked) if a program that does not lock has replaced the file in the meantime.
    /// - Another [conflict](crate::Error::is_conflict) if the file cannot be replaced.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the path is that of an open file descriptor.
    pub fn replace_with<E: From<Error>>(self, write: impl FnOnce(&File) -> Result<(), E>) -> Result<(), E> {
        let Self { path, old, options } = self;
        with_caller_error(&path, |caller_error| {
            change::replace_locked(&path, old, &options, |_, file| caller_error.capture(write(file)))
        })
    }
}

impl WriteOptions {
    /// Atomically replaces a file of any format with what a callback writes.
    ///
    /// By default, the callback writes to an empty temporary file. When it returns `Ok`, this file replaces an
    /// existing file, as with [`write_npy`](crate::write_npy). Use this function for formats that this library does not write.
    ///
    /// # Errors
    ///
    /// - Any error that `write` returns. The old file is then unchanged, unless it is overwritten in place or is
    ///   not a regular file.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [conflict](crate::Error::is_conflict) if the existing file is locked or cannot be replaced.
    ///
    /// The options about arrays are for the callback: [`content_options`](Self::content_options).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Write;
    ///
    /// use ndarray_io::{Error, WriteOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.txt");
    /// WriteOptions::new().replace_file(&path, |mut file| writeln!(file, "1,2,3").map_err(Error::from))?;
    /// assert_eq!(std::fs::read_to_string(&path)?, "1,2,3\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace_file<E: From<Error>>(
        &self,
        path: impl AsRef<Path>,
        write: impl FnOnce(&File) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = path.as_ref();
        with_caller_error(path, |caller_error| {
            change::replace(path, self, |file| caller_error.capture(write(file)))
        })
    }

    /// Returns the options about what is written, without those about the file that it is written to: for what writes to the file of
    /// [`replace_file`](Self::replace_file), or to another writer.
    #[must_use]
    pub fn content_options(&self) -> Self {
        self.clone().sync(false).in_place(false).create_new(false)
    }

    /// Opens and locks an existing regular file of any format, to replace it.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if the file does not exist, or cannot be opened for reading and writing.
    /// - [`Locked`](crate::error::ErrorKind::Locked) if it is locked.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if it is a folder, a pipe or a device, and for other options than [`sync`](Self::sync).
    pub fn begin_replacement(&self, path: impl AsRef<Path>) -> Result<FileReplacement> {
        let path = path.as_ref().to_owned();
        let open = || {
            self.check_for(Verb::BeginReplacement)?;
            change::open_locked(&path, LockPurpose::Change, self.wait_for_lock)
        };
        let old = open().map_err(|error| error.at_path(&path))?;
        Ok(FileReplacement { path, old, options: self.clone() })
    }
}

/// An error of the caller's own type, while a result of this library takes its place.
struct CallerError<E>(Option<E>);

impl<E> CallerError<E> {
    fn capture(&mut self, result: Result<(), E>) -> Result<()> {
        result.map_err(|error| {
            self.0 = Some(error);
            // Any error makes the change discard the new file.
            Fault::Cancelled.into()
        })
    }
}

fn with_caller_error<E: From<Error>>(
    path: &Path,
    change: impl FnOnce(&mut CallerError<E>) -> Result<()>,
) -> Result<(), E> {
    let mut kept = CallerError(None);
    let changed = change(&mut kept);
    match kept.0 {
        Some(error) => Err(error),
        None => changed.map_err(|error| error.at_path(path).into()),
    }
}
