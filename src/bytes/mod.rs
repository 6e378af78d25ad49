//! Bytes at positions: the interface of everything that arrays can be read from.
//!
//! Files, memory, compressed members, stacks and objects in stores implement [`ReadAt`]. So can any other
//! source: an encrypted file, a part of a container, a cache, a database. Arrays and archives in such a
//! source are opened with `from_source`, and everything that reads parts of files works on them.
//!
//! ```
//! use ndarray::{Array2, s};
//! use ndarray_io::bytes::{LocalFile, ReadAt};
//! use ndarray_io::{NpyFile, Result};
//!
//! /// A file whose bytes are all inverted.
//! #[derive(Debug)]
//! struct Inverted(LocalFile);
//!
//! impl ReadAt for Inverted {
//!     fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
//!         let count = self.0.read_at(into, offset)?;
//!         into[..count].iter_mut().for_each(|byte| *byte = !*byte);
//!         Ok(count)
//!     }
//!
//!     fn size(&self) -> Result<u64> {
//!         self.0.size()
//!     }
//! }
//!
//! # let mut bytes = Vec::new();
//! # ndarray_io::WriteNpyExt::write_npy(&ndarray::arr2(&[[1, 2], [3, 4], [5, 6]]), &mut bytes)?;
//! # let file = tempfile::NamedTempFile::new()?;
//! # std::fs::write(&file, bytes.iter().map(|byte| !byte).collect::<Vec<_>>())?;
//! # let path = file.path();
//! let file = NpyFile::from_source(Inverted(LocalFile(std::fs::File::open(path)?)))?;
//! let part: Array2<i32> = file.slice(s![1.., ..])?;
//! assert_eq!(part, ndarray::arr2(&[[3, 4], [5, 6]]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A source may do what it likes: what is read from it is treated like any other input that is not trusted. A
//! source that is wrong about its size, or that returns other bytes each time, leads to an error or to the
//! bytes that it has returned.

mod chunks;
mod coalesce;
mod file;
mod fill;
mod folder;
mod hints;
mod join_layout;
pub(crate) mod kernels;
mod memory;
mod read_buf;
mod region;
mod runs;
mod scattered;

use std::fmt::Debug;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use chunks::AsChunks;
pub use file::LocalFile;
pub(crate) use file::{HAS_CONCURRENT_READS, READS_MOVE_POSITION, len_of_regular};
pub use fill::fill_at;
pub(crate) use fill::{fill, read_once, retry_interrupted};
pub use folder::{Folder, LocalFolder};
pub use hints::ReadHints;
pub(crate) use join_layout::{FirstNotLoaded, JoinLayout};
pub use memory::InMemory;
pub(crate) use read_buf::{ReadBuf, append, scratch};
pub(crate) use region::{Region, SharedRegion};
pub use runs::Runs;
pub(crate) use scattered::scatter_runs;

use crate::error::Result;

/// Bytes that can be read at any offset, from several threads at once.
///
/// Only [`read_at`](ReadAt::read_at) and [`size`](ReadAt::size) are required. The other methods let a source
/// say how it is best read. A source that transforms or counts what it reads from another one should not pass
/// on [`bytes`](ReadAt::bytes) and [`file`](ReadAt::file), which bypass it.
///
/// References, boxes and `Arc`s of a source are sources.
///
/// # Examples
///
/// ```
/// use ndarray_io::bytes::ReadAt;
///
/// let bytes: &[u8] = b"0123456789";
/// let mut part = [0; 4];
/// assert_eq!(bytes.read_at(&mut part, 3)?, 4);
/// assert_eq!(&part, b"3456");
/// assert_eq!(bytes.read_at(&mut part, 8)?, 2); // the end
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub trait ReadAt: Debug + Send + Sync {
    /// Reads bytes at an offset into the beginning of `into`, and returns how many were read.
    ///
    /// There may be fewer than requested. 0 means that the source ends at or before this offset.
    ///
    /// # Errors
    ///
    /// Any. An error of kind [`Io`](crate::error::ErrorKind::Io) that wraps
    /// [`Interrupted`](std::io::ErrorKind::Interrupted) repeats the call.
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize>;

    /// Returns the number of bytes.
    ///
    /// Memory for arrays is allocated only after their size has been compared with this number.
    ///
    /// # Errors
    ///
    /// Any.
    fn size(&self) -> Result<u64>;

    /// Reads several parts, each given by its offset and its destination, and returns how many parts at the
    /// beginning of the list are complete.
    ///
    /// The offsets ascend; parts may overlap. There are at most 65,536 parts. If fewer parts than requested
    /// are complete, the next one is read with [`read_at`](ReadAt::read_at); the rest is requested again. By
    /// default, parts that are close
    /// together are read by one call of `read_at`, as far as [`hints`](ReadAt::hints) allow.
    ///
    /// # Errors
    ///
    /// Any.
    fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<usize> {
        let hints = self.hints();
        coalesce::read_parts(parts, hints.gap, hints.span_bytes(), |into, offset| {
            Ok(Some(fill_at(self, into, offset)?))
        })
    }

    /// Returns an error if some of these bytes are known to be missing.
    ///
    /// This is called before memory is allocated for them, and with at least the bytes that a read will need:
    /// the elements of an array or of a part of it, the content of a member, or the compressed blocks that
    /// have it. A source whose owner does the I/O can therefore answer with
    /// [`NotLoaded`](crate::error::ErrorKind::NotLoaded), and have all of them loaded before the read is
    /// repeated; its [`hints`](ReadAt::hints) should have a gap of 0. Stacks ask for entire parts, references and
    /// joins for entire arrays; stacks and joins ask all of them before they return the first `NotLoaded`, so each
    /// should note what it lacks. Headers (of a compressed member: its first block), directories, and members
    /// of up to 64 KiB are read without it, in a few calls of [`read_at`](ReadAt::read_at).
    ///
    /// # Errors
    ///
    /// Any.
    fn check(&self, runs: &Runs) -> Result<()> {
        let _ = runs;
        Ok(())
    }

    /// Returns all bytes, if they are in memory.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }

    /// Returns a file and an offset, if the bytes are those of the file from this offset to the end of the file. Bytes that
    /// end before must not return it: the file is then read in their place, without asking for their size.
    fn file(&self) -> Option<(&File, u64)> {
        None
    }

    /// Returns the file whose locks coordinate access to these bytes, if they are derived from an entire file.
    ///
    /// Conversions compare this file, or [`file`](ReadAt::file), with their output.
    fn lock_file(&self) -> Option<&File> {
        None
    }

    /// Returns how the source is best read.
    fn hints(&self) -> ReadHints {
        ReadHints::default()
    }
}

/// Implements `ReadAt` for a pointer to a source, by passing on every call.
macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<T: ReadAt + ?Sized> ReadAt for $pointer {
            fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
                (**self).read_at(into, offset)
            }

            fn size(&self) -> Result<u64> {
                (**self).size()
            }

            fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<usize> {
                (**self).read_parts(parts)
            }

            fn check(&self, runs: &Runs) -> Result<()> {
                (**self).check(runs)
            }

            fn bytes(&self) -> Option<&[u8]> {
                (**self).bytes()
            }

            fn file(&self) -> Option<(&File, u64)> {
                (**self).file()
            }

            fn lock_file(&self) -> Option<&File> {
                (**self).lock_file()
            }

            fn hints(&self) -> ReadHints {
                (**self).hints()
            }
        }
    )*};
}

forward!(&T, Box<T>, Arc<T>);

/// Implements `Folder` for a pointer to a folder.
macro_rules! forward_folder {
    ($($pointer:ty),*) => {$(
        impl<T: Folder + ?Sized> Folder for $pointer {
            fn names(&self) -> Result<Vec<String>> {
                (**self).names()
            }

            fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>> {
                (**self).open(name)
            }

            fn path(&self) -> PathBuf {
                (**self).path()
            }

            fn path_of(&self, name: &str) -> PathBuf {
                (**self).path_of(name)
            }
        }
    )*};
}

forward_folder!(&T, Box<T>, Arc<T>);
