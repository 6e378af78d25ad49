//! Errors of others: what implements a source, a folder or a store says what went wrong in the words of the library.

use super::message::Short;
use super::{ErrorKind, FilePart};

impl ErrorKind {
    /// Creates [`BadSource`](Self::BadSource).
    ///
    /// ```
    /// use ndarray_io::Error;
    /// use ndarray_io::error::ErrorKind;
    ///
    /// let error = Error::from(ErrorKind::bad_source("the server ignores ranges")).at_path("s3://bucket/a.npy");
    /// assert!(error.is_io() && error.to_string().contains("ignores ranges"));
    /// ```
    pub fn bad_source(reason: impl Into<String>) -> Self {
        Self::BadSource { reason: reason.into() }
    }

    /// Creates [`ArrayChanged`](Self::ArrayChanged).
    ///
    /// ```
    /// use ndarray_io::Error;
    /// use ndarray_io::error::ErrorKind;
    /// assert!(Error::from(ErrorKind::array_changed("another version is there")).is_conflict());
    /// ```
    pub fn array_changed(reason: impl Into<String>) -> Self {
        Self::ArrayChanged { reason: reason.into() }
    }

    /// Creates [`OutOfTurn`](Self::OutOfTurn).
    ///
    /// ```
    /// use ndarray_io::Error;
    /// use ndarray_io::error::ErrorKind;
    /// assert!(Error::from(ErrorKind::out_of_turn("an earlier part could not be written")).is_usage());
    /// ```
    pub fn out_of_turn(reason: impl Into<String>) -> Self {
        Self::OutOfTurn { reason: reason.into() }
    }

    /// Creates [`BadOption`](Self::BadOption).
    ///
    /// ```
    /// use ndarray_io::Error;
    /// use ndarray_io::error::ErrorKind;
    /// assert!(Error::from(ErrorKind::bad_option("no such store")).is_usage());
    /// ```
    pub fn bad_option(reason: impl Into<String>) -> Self {
        Self::BadOption { reason: reason.into() }
    }

    pub(crate) fn unsupported_dtype(descr: &str, reason: &str) -> Self {
        Self::Unsupported { part: FilePart::DType, reason: format!("{}: {reason}", Short(descr)) }
    }

    /// The error for content of an archive's member that has another CRC-32 than the archive records.
    #[cfg(feature = "npz")]
    pub(crate) fn wrong_checksum(found: u32, recorded: u32) -> Self {
        let reason = format!("the archive records {recorded:08x}, found {found:08x}");
        Self::Malformed { part: FilePart::Checksum, reason, offset: None }
    }
}
