//! Choices that only some formats have.

/// How the members of an archive, or the elements of an RA file, are compressed.
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
    /// In archives: Deflate, with a level from 0 to 9: 0 does not compress, 1 is the fastest, 9 compresses best.
    ///
    /// The usual level is 6. Levels above 9 are treated as 9.
    Deflated(u32),
    /// In archives: Zstandard, with a level from 1 (fastest) to 22 (smallest). The usual level is 3.
    ///
    /// It is faster than Deflate and compresses better, but NumPy can read it only on Python 3.14 or later. An array of 1 GiB
    /// or more that it compresses by more than a factor of 1032, such as zeros, is read only with a higher
    /// [`Limits::expansion`](crate::Limits::expansion). Without the feature `zstd`, it is an error.
    Zstd(i32),
    /// A single LZ4 block, for RA files: as the format's C program writes them.
    ///
    /// The compressed data is buffered in memory. An array of more than 2,113,929,216 bytes is an error,
    /// [`BadOption`](crate::error::ErrorKind::BadOption); so is any array without the feature `lz4`.
    Lz4,
}

impl Compression {
    /// Deflate with the usual level, 6.
    ///
    /// ```
    /// use ndarray_io::Compression;
    /// assert_eq!(Compression::DEFLATE, Compression::Deflated(6));
    /// ```
    pub const DEFLATE: Self = Self::Deflated(6);
}

/// What happens to bytes that follow the array when an RA file is replaced.
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::options::Trailing;
/// use ndarray_io::ra::write_ra;
/// use ndarray_io::WriteOptions;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.ra");
/// let note = WriteOptions::new().trailing(Trailing::Write(b"taken on Monday".to_vec()));
/// note.write_ra(&path, &arr1(&[1.0]))?;
/// assert!(write_ra(&path, &arr1(&[2.0])).unwrap_err().is_conflict()); // the note would be lost
/// WriteOptions::new().trailing(Trailing::Keep).write_ra(&path, &arr1(&[2.0]))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Trailing {
    /// Protects the bytes: if there are any, the write fails with
    /// [`CannotChange`](crate::error::ErrorKind::CannotChange).
    #[default]
    Protect,
    /// Keeps the bytes, after the new array.
    ///
    /// Writing to a writer instead of a path is then an error,
    /// [`BadOption`](crate::error::ErrorKind::BadOption), since a writer replaces nothing.
    Keep,
    /// Replaces the bytes with these, which may be empty.
    Write(Vec<u8>),
}

/// What happens to what was written before a crash or an error and is not counted: rows after an array, or parts of a stack.
///
/// Whether bytes after an array are such rows, the file does
/// not say: any bytes make rows, but another array after the first is an error in any case. A batch that is pushed at once may have been
/// written in part; who sends it again after a crash discards these rows.
///
/// ```
/// use ndarray_io::options::Uncommitted;
/// assert_eq!(Uncommitted::default(), Uncommitted::Refuse);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Uncommitted {
    /// Fails with [`ErrorKind::Uncommitted`](crate::error::ErrorKind::Uncommitted), whose text says how many. This is the default.
    #[default]
    Refuse,
    /// Adds the complete rows to the array and removes an incomplete row; adds the parts to the stack. It is an error if one of these does not
    /// fit, or if one is missing between others.
    Recover,
    /// Removes them.
    Discard,
}
