//! The kinds of errors: what a program can act upon.

use std::fmt;

/// What a program can do something about; the text of the [`Error`](crate::Error) says exactly what happened.
///
/// ```
/// use ndarray::Array1;
/// use ndarray_io::ReadNpyExt;
/// use ndarray_io::error::ErrorKind;
///
/// let error = Array1::<f64>::read_npy(&b"\x93NUMPY\x09\x00"[..]).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Unsupported);
/// assert_eq!(error.to_string(), "unsupported format version 9.0, expected 1.0, 2.0 or 3.0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An I/O operation failed: see [`as_io`](crate::Error::as_io). What has made the error itself may have no error of the system.
    Io,
    /// A source of bytes did not do what it is for: a reader was shorter than the caller had said, or reported more bytes than it was asked
    /// for; a server ignored the range of a request.
    BadSource,
    /// A [source](crate::bytes::ReadAt) does not have all bytes yet: see [`missing_ranges`](crate::Error::missing_ranges).
    NotLoaded,
    /// An allocation failed.
    OutOfMemory,

    /// The file does not start with the magic bytes of the format: another reader may know it.
    BadMagic,
    /// The file or stream is truncated.
    Truncated,
    /// A part of the file is malformed, contradicts another part, does not match its checksum, or declares more than there can be; or an
    /// element has a value that its type does not have.
    Malformed,
    /// A part of the file is well-formed, but uses something that is not supported: another version of the format, a dtype that NumPy does
    /// not have, a pickle that is not an array, a compression or encryption.
    ///
    /// Some methods of archives are supported with the Cargo features `zip-methods` and `zip-encryption`.
    Unsupported,
    /// Bytes follow an array that must be at the end of the file.
    Trailing,

    /// The Rust type or the target cannot hold elements of the dtype; or the fields of the struct and of the file's records differ.
    DTypeMismatch,
    /// The elements are Python objects, which this call does not support.
    Objects,
    /// The shape, or the number of axes, differs from the expected one: that of the target, of appended rows, of files that are joined.
    ShapeMismatch,
    /// The elements cannot be used where they are: viewed, mapped, or read or written in parts. They can be read as a whole.
    NeedsCopy,
    /// A value cannot be converted to the requested type, does not fit into the width of the text, or the format cannot represent it.
    NotConvertible,

    /// A limit was exceeded: see [`Limits`](crate::Limits).
    Limit,
    /// The archive has no member, or the records have no field, of this name.
    NoSuchName,
    /// Several members of the archive have this name, or would have it.
    AmbiguousName,
    /// A member of an archive is encrypted, and the password is missing or wrong.
    Encrypted,
    /// An index, the end of a slice, or an axis is not within the array; or there are fewer members or parts.
    OutOfBounds,

    /// The file to be created already exists.
    AlreadyExists,
    /// The file cannot be replaced atomically, or this would lose something that belongs to it; or its header has no room for the new length.
    CannotChange,
    /// Another writer holds the lock: it is appending to the file, updating it, or has mapped it for writing.
    Locked,
    /// An array or file has changed since it was opened, or while it was being written.
    Changed,
    /// There is more than the header or the `info` of a stack counts. An append was probably interrupted before it committed that.
    Uncommitted,

    /// The call is not possible now: the array has already been read, has not been written completely, or an earlier error has left it
    /// incomplete.
    OutOfTurn,
    /// The options or arguments are invalid, contradict each other, or do not apply to this call: as writing
    /// over an input, or to a path that names a folder.
    BadOption,
    /// The progress callback cancelled the operation.
    Cancelled,
}

impl ErrorKind {
    fn text(self) -> &'static str {
        match self {
            Self::Io => "an I/O operation failed",
            Self::BadSource => "the source of the bytes does not do what it is for",
            Self::NotLoaded => "bytes have not been loaded",
            Self::OutOfMemory => "out of memory",
            Self::BadMagic => "another format was expected",
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
            Self::Unsupported => "unsupported",
            Self::Trailing => "bytes follow the array",
            Self::DTypeMismatch => "other elements were expected",
            Self::Objects => "the elements are Python objects",
            Self::ShapeMismatch => "another shape was expected",
            Self::NeedsCopy => "the elements cannot be used where they are",
            Self::NotConvertible => "a value cannot be converted",
            Self::Limit => "a limit was exceeded",
            Self::NoSuchName => "no member or field has the name",
            Self::AmbiguousName => "several members have the name",
            Self::Encrypted => "encrypted",
            Self::OutOfBounds => "out of bounds",
            Self::AlreadyExists => "the file already exists",
            Self::CannotChange => "the file cannot be changed in this way",
            Self::Locked => "locked by another writer",
            Self::Changed => "an array or a file has changed",
            Self::Uncommitted => "there is more than the header counts",
            Self::OutOfTurn => "the call is not possible now",
            Self::BadOption => "the options or arguments are invalid",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Says what happened in general.
impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
