//! How members are packed.

use crate::options::WriteOptions;

/// How a member is packed.
///
/// ```
/// use ndarray_io::npz::Compression;
/// assert_eq!(Compression::default(), Compression::Stored);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// As it is: the fastest, and it can be mapped.
    #[default]
    Stored,
    /// Deflated, with a level from 0 (none) and 1 (fast) to 9 (small). 6 is what most programs take.
    Deflated(u32),
    /// Compressed by Zstandard, with a level from 1 (fast) to 22 (small); 3 is usual. It is faster than deflate and makes
    /// less of it, but NumPy reads it only with Python 3.14 or later.
    #[cfg(feature = "zstd")]
    Zstd(i32),
}

impl Compression {
    /// Deflated, with the usual level.
    ///
    /// ```
    /// use ndarray_io::npz::Compression;
    /// assert_eq!(Compression::deflated(), Compression::Deflated(6));
    /// ```
    pub const fn deflated() -> Self {
        Self::Deflated(6)
    }
}

/// Options for writing archives.
///
/// ```
/// use ndarray_io::npz::{Compression, NpzOptions};
/// use ndarray_io::WriteOptions;
///
/// let options = NpzOptions::new()
///     .compression(Compression::deflated())
///     .write(WriteOptions::new().threads(1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct NpzOptions {
    compression: Compression,
    write: WriteOptions,
}

impl NpzOptions {
    /// The defaults: stored members, with the time stamp that ZIP begins with, so that equal arrays give equal files.
    pub fn new() -> Self {
        Self::default()
    }

    /// How members are packed.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// How each array is written, and what is done with a file by its path.
    #[must_use]
    pub fn write(mut self, options: WriteOptions) -> Self {
        self.write = options;
        self
    }

    /// What [`compression`](Self::compression) has set.
    pub fn get_compression(&self) -> Compression {
        self.compression
    }

    /// What [`write`](Self::write) has set.
    pub fn get_write(&self) -> &WriteOptions {
        &self.write
    }
}
