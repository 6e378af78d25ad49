//! Errors of others: what implements a source, a folder or a store says what went wrong in the words of the library.

use super::ErrorKind;

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
}
