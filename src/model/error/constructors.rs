//! Errors that are made in several places, here and in what is built on the library: one wording for each.

use std::ops::Range;

use super::message::{Shortened, sort_similar_first};
use super::{Error, Fault, FileKind, FilePart};
use crate::dtype::DType;

impl Error {
    /// Creates [`NotLoaded`](crate::error::ErrorKind::NotLoaded), for a source where someone else does the I/O: see
    /// [`missing_ranges`](Self::missing_ranges).
    pub fn not_loaded(missing: Vec<Range<u64>>) -> Self {
        Fault::NotLoaded { missing }.into()
    }

    /// Creates [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory).
    ///
    /// ```
    /// use ndarray_io::Error;
    /// assert_eq!(Error::out_of_memory(1 << 60).to_string(), "out of memory: cannot allocate 1152921504606846976 bytes");
    /// ```
    pub fn out_of_memory(bytes: u64) -> Self {
        Fault::OutOfMemory { bytes }.into()
    }

    /// Creates [`NotConvertible`](crate::error::ErrorKind::NotConvertible) for elements that a format does not have.
    ///
    /// ```
    /// use ndarray_io::{DType, Error};
    ///
    /// let error = Error::not_representable("Zarr", &DType::Object, "it has no objects");
    /// assert_eq!(error.to_string(), "Zarr cannot represent elements of '|O': it has no objects");
    /// ```
    pub fn not_representable(format: &'static str, dtype: &DType, reason: impl Into<String>) -> Self {
        Fault::NotRepresentable { format, dtype: dtype.clone(), reason: reason.into() }.into()
    }

    /// Creates [`NoSuchName`](crate::error::ErrorKind::NoSuchName) with at most 100 of the first 10,000 names, the most similar ones first.
    ///
    /// ```
    /// use ndarray_io::Error;
    ///
    /// let error = Error::no_such_member("wieght", ["bias", "weight"]);
    /// assert_eq!(error.to_string(), "the archive has no member 'wieght'; it contains 'weight', 'bias'");
    /// ```
    pub fn no_such_member<'a>(name: impl Into<String>, names: impl IntoIterator<Item = &'a str>) -> Self {
        // There may be millions of names, so the error lists at most this many, of some that are compared.
        const MAX_AVAILABLE_NAMES: usize = 100;
        const MAX_COMPARED_NAMES: usize = 10_000;
        let name = name.into();
        let mut names: Vec<&str> = names.into_iter().take(MAX_COMPARED_NAMES).collect();
        sort_similar_first(&name, &mut names);
        let available = names.into_iter().take(MAX_AVAILABLE_NAMES).map(str::to_owned).collect();
        Fault::NoSuchMember { name, available }.into()
    }

    /// Creates the error for an option that needs a feature which is not enabled.
    #[cfg(any(not(feature = "lz4"), all(feature = "npz", not(feature = "zstd"))))]
    pub(crate) fn missing_feature(option: &str, feature: &'static str) -> Self {
        let reason = format!("{option} needs the feature `{feature}`");
        Self::from(Fault::BadOption { reason }).with_help(super::Remedy::Feature { name: feature })
    }
}

impl Fault {
    /// The error for a file that begins with these bytes.
    pub(crate) fn bad_magic(format: &'static str, first: &[u8]) -> Error {
        let found = first[..first.len().min(FileKind::PREFIX_LEN)].to_vec();
        Self::BadMagic { format, found }.into()
    }

    pub(crate) fn unsupported_dtype(descr: &str, reason: &str) -> Self {
        Self::Unsupported { part: FilePart::DType, reason: format!("{}: {reason}", Shortened(descr)) }
    }

    /// The fault of a member's content that has another CRC-32 than the archive records.
    #[cfg(any(test, feature = "npz"))]
    pub(crate) fn wrong_checksum(found: u32, recorded: u32) -> Self {
        let reason = format!("the archive records {recorded:08x}, found {found:08x}");
        Self::Malformed { part: FilePart::Checksum, reason, offset: None }
    }
}
