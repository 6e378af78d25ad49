//! How the members of an archive are compressed.

use crate::options::WriteOptions;

/// How a member is compressed.
///
/// ```
/// use ndarray_io::Compression;
/// assert_eq!(Compression::default(), Compression::Stored);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Compression {
    /// Not compressed: the fastest to read and write, and the only kind that can be memory-mapped.
    #[default]
    Stored,
    /// Deflate, with a level from 0 to 9: 0 does not compress, 1 is the fastest, 9 compresses best.
    ///
    /// The usual level is 6. Levels above 9 are treated as 9.
    Deflated(u32),
    /// Zstandard, with a level from 1 (fastest) to 22 (smallest). The usual level is 3.
    ///
    /// It is faster than Deflate and compresses better, but NumPy can read it only on Python 3.14 or later. An array of 1 GiB
    /// or more that it compresses by more than a factor of 1032, such as zeros, is read only with a higher
    /// [`Limits::expansion`](crate::Limits::expansion). Without the feature `zstd`, it is an error.
    Zstd(i32),
}

impl Compression {
    /// Returns Deflate with the usual level, 6.
    ///
    /// ```
    /// use ndarray_io::Compression;
    /// assert_eq!(Compression::deflated(), Compression::Deflated(6));
    /// ```
    pub const fn deflated() -> Self {
        Self::Deflated(6)
    }
}

/// Options for writing archives.
///
/// By default, members are not compressed.
///
/// ```
/// use ndarray_io::npz::NpzOptions;
/// use ndarray_io::{Compression, WriteOptions};
///
/// let options = NpzOptions::new()
///     .compression(Compression::deflated())
///     .write_options(WriteOptions::new().threads(1));
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", default, deny_unknown_fields))]
pub struct NpzOptions {
    compression: Compression,
    #[cfg_attr(feature = "serde-1", serde(rename = "write_options"))]
    write: WriteOptions,
}

impl NpzOptions {
    /// Creates the default options: stored members.
    ///
    /// Members have a fixed timestamp (the first one that ZIP can represent), so equal arrays produce
    /// identical files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how members are compressed. The default is [`Compression::Stored`].
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets the options for writing each array, and for replacing an existing file by path.
    #[must_use]
    pub fn write_options(mut self, options: WriteOptions) -> Self {
        self.write = options;
        self
    }

    /// Returns the value of [`compression`](Self::compression).
    pub(crate) fn get_compression(&self) -> Compression {
        self.compression
    }

    /// Returns the options set with [`write_options`](Self::write_options).
    pub fn get_write_options(&self) -> &WriteOptions {
        &self.write
    }
}
