//! Errors of others: what implements a source, a folder or a store says what went wrong in the words of the library.

use super::message::{Shortened, sort_similar_first};
use super::{CopyReason, Error, ErrorKind, FileKind, FilePart, WantedShape};
use crate::dtype::DType;
use crate::shape::Shape;

impl Error {
    /// Creates the error for an option that needs a feature which is not enabled.
    #[cfg(any(not(feature = "lz4"), all(feature = "npz", not(feature = "zstd"))))]
    pub(crate) fn missing_feature(option: &str, feature: &'static str) -> Self {
        let reason = format!("{option} needs the feature `{feature}`");
        Self::from(ErrorKind::BadOption { reason }).with_help(super::Remedy::Feature { name: feature })
    }
}

impl ErrorKind {
    /// Creates the error for a file that begins with these bytes.
    pub(crate) fn bad_magic(format: &'static str, first: &[u8]) -> Error {
        let found = first[..first.len().min(FileKind::PREFIX_LEN)].to_vec();
        Self::BadMagic { format, found }.into()
    }

    /// Creates [`BadSource`](Self::BadSource).
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
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
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    /// assert!(Error::from(ErrorKind::array_changed("another version is there")).is_conflict());
    /// ```
    pub fn array_changed(reason: impl Into<String>) -> Self {
        Self::ArrayChanged { reason: reason.into() }
    }

    /// Creates [`OutOfTurn`](Self::OutOfTurn).
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    /// assert!(Error::from(ErrorKind::out_of_turn("an earlier part could not be written")).is_usage());
    /// ```
    pub fn out_of_turn(reason: impl Into<String>) -> Self {
        Self::OutOfTurn { reason: reason.into() }
    }

    /// Creates [`BadOption`](Self::BadOption).
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    /// assert!(Error::from(ErrorKind::bad_option("no such store")).is_usage());
    /// ```
    pub fn bad_option(reason: impl Into<String>) -> Self {
        Self::BadOption { reason: reason.into() }
    }

    /// Creates [`NotRepresentable`](Self::NotRepresentable).
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::{DType, Error};
    ///
    /// let error = Error::from(ErrorKind::not_representable("Zarr", DType::Object, "it has no objects"));
    /// assert!(error.is_mismatch() && error.to_string().starts_with("Zarr cannot represent"));
    /// ```
    pub fn not_representable(format: &'static str, dtype: DType, reason: impl Into<String>) -> Self {
        Self::NotRepresentable { format, dtype, reason: reason.into() }
    }

    /// Creates [`DTypeMismatch`](Self::DTypeMismatch).
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::{DType, Error};
    ///
    /// let (found, wanted): (DType, DType) = ("<f8".parse()?, "<f4".parse()?);
    /// assert!(Error::from(ErrorKind::dtype_mismatch(found, wanted)).is_mismatch());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dtype_mismatch(found: DType, wanted: DType) -> Self {
        Self::DTypeMismatch { found, wanted }
    }

    /// Creates [`ShapeMismatch`](Self::ShapeMismatch).
    ///
    /// ```
    /// use ndarray_io::error::{ErrorKind, WantedShape};
    /// use ndarray_io::Error;
    ///
    /// let kind = ErrorKind::shape_mismatch([2, 3].into(), WantedShape::Exactly([2, 4].into()));
    /// assert_eq!(Error::from(kind).to_string(), "expected shape (2, 4), found (2, 3)");
    /// ```
    pub fn shape_mismatch(found: Shape, wanted: WantedShape) -> Self {
        Self::ShapeMismatch { found, wanted }
    }

    /// Creates [`NoSuchAxis`](Self::NoSuchAxis).
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    /// assert!(Error::from(ErrorKind::no_such_axis(2, [3, 4].into())).is_usage());
    /// ```
    pub fn no_such_axis(axis: usize, shape: Shape) -> Self {
        Self::NoSuchAxis { axis, shape }
    }

    /// Creates [`Overflow`](Self::Overflow).
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    /// assert_eq!(Error::from(ErrorKind::overflow("the total length")).to_string(), "the total length is too large");
    /// ```
    pub fn overflow(what: impl Into<String>) -> Self {
        Self::Overflow { what: what.into() }
    }

    /// Creates [`NeedsCopy`](Self::NeedsCopy) for content that is compressed.
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    /// assert_eq!(Error::from(ErrorKind::compressed(10, 100)).help().unwrap().id(), "read");
    /// ```
    pub fn compressed(packed: u64, size: u64) -> Self {
        Self::NeedsCopy(CopyReason::Compressed { packed, size })
    }

    /// Creates [`Malformed`](Self::Malformed), with the offset in the file if there is one.
    ///
    /// ```
    /// use ndarray_io::error::{ErrorKind, FilePart};
    /// use ndarray_io::Error;
    ///
    /// let error = Error::from(ErrorKind::malformed(FilePart::Header, "a tensor without a shape", Some(8)));
    /// assert!(error.is_format() && error.to_string().contains("a tensor without a shape"));
    /// ```
    pub fn malformed(part: FilePart, reason: impl Into<String>, offset: Option<u64>) -> Self {
        Self::Malformed { part, reason: reason.into(), offset }
    }

    /// Creates [`Unsupported`](Self::Unsupported).
    ///
    /// ```
    /// use ndarray_io::error::{ErrorKind, FilePart};
    /// use ndarray_io::Error;
    ///
    /// let error = Error::from(ErrorKind::unsupported(FilePart::Header, "quantized numbers (Q4_0)"));
    /// assert_eq!(error.to_string(), "unsupported header: quantized numbers (Q4_0)");
    /// ```
    pub fn unsupported(part: FilePart, reason: impl Into<String>) -> Self {
        Self::Unsupported { part, reason: reason.into() }
    }

    /// Creates [`NoSuchMember`](Self::NoSuchMember) with at most 100 of the first 10,000 names, the most similar ones first.
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    ///
    /// let error = Error::from(ErrorKind::no_such_member("wieght", ["bias", "weight"]));
    /// assert!(error.is_not_found() && error.to_string().contains("'weight'"), "{error}");
    /// ```
    pub fn no_such_member<'a>(name: impl Into<String>, names: impl IntoIterator<Item = &'a str>) -> Self {
        // There may be millions of names, so the error lists at most this many, of some that are compared.
        const MAX_AVAILABLE_NAMES: usize = 100;
        const MAX_COMPARED_NAMES: usize = 10_000;
        let name = name.into();
        let mut names: Vec<&str> = names.into_iter().take(MAX_COMPARED_NAMES).collect();
        sort_similar_first(&name, &mut names);
        let available = names.into_iter().take(MAX_AVAILABLE_NAMES).map(str::to_owned).collect();
        Self::NoSuchMember { name, available }
    }

    /// Creates [`OutOfMemory`](Self::OutOfMemory).
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    /// assert!(Error::from(ErrorKind::out_of_memory(1 << 60)).to_string().contains("1152921504606846976"));
    /// ```
    pub fn out_of_memory(bytes: u64) -> Self {
        Self::OutOfMemory { bytes }
    }

    /// Creates [`OutOfBounds`](Self::OutOfBounds).
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    /// assert!(Error::from(ErrorKind::out_of_bounds(7, 3, Some(0))).is_usage());
    /// ```
    pub fn out_of_bounds(index: i128, length: u64, axis: Option<usize>) -> Self {
        Self::OutOfBounds { index, length, axis }
    }

    /// Creates [`NameTaken`](Self::NameTaken).
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    /// assert!(Error::from(ErrorKind::name_taken("a.npy")).is_usage());
    /// ```
    pub fn name_taken(name: impl Into<String>) -> Self {
        Self::NameTaken { name: name.into() }
    }

    pub(crate) fn unsupported_dtype(descr: &str, reason: &str) -> Self {
        Self::Unsupported { part: FilePart::DType, reason: format!("{}: {reason}", Shortened(descr)) }
    }

    /// The error for content of an archive's member that has another CRC-32 than the archive records.
    #[cfg(any(test, feature = "npz"))]
    pub(crate) fn wrong_checksum(found: u32, recorded: u32) -> Self {
        let reason = format!("the archive records {recorded:08x}, found {found:08x}");
        Self::Malformed { part: FilePart::Checksum, reason, offset: None }
    }
}
