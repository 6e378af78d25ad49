//! The interface of a format, over which readers, files and maps are generic.

use std::borrow::Cow;
use std::fmt;

use super::payload::{PayloadReader, PayloadRef};
use crate::error::{Error, Result};
use crate::header::{Header, Parsed};
use crate::npy_format::{self as npy, NpyHeader};
use crate::options::{ReadOptions, WriteOptions};

/// A format that stores a header before the elements: [`Npy`] or [`Ra`](crate::file::Ra).
///
/// The trait is sealed.
///
/// ```
/// use ndarray_io::file::{ArrayFile, ArrayFormat};
///
/// fn rows<F: ArrayFormat>(file: &ArrayFile<F>) -> usize {
///     file.shape().first().copied().unwrap_or(1)
/// }
/// ```
pub trait ArrayFormat: fmt::Debug + Send + Sync + 'static + private::Sealed {
    /// The format's own header: a [`Header`] and the fields that only this format has.
    type Found: Clone + fmt::Debug + Send + Sync;

    /// Whether a file may contain other bytes after the array.
    #[doc(hidden)]
    const ALLOWS_TRAILING: bool;

    #[doc(hidden)]
    fn parse(bytes: &[u8], options: &ReadOptions) -> Result<Parsed<Self::Found>>;

    /// Returns the error for a source that ends after `have` bytes where `parse` needs `need`.
    #[doc(hidden)]
    fn truncated(have: usize, need: usize) -> Error;

    #[doc(hidden)]
    fn header(found: &Self::Found) -> &Header;

    /// Encodes the header of a new file.
    #[doc(hidden)]
    fn format(header: &Header, options: &WriteOptions) -> Result<Vec<u8>>;

    /// Returns an error unless the elements are stored uncompressed.
    #[doc(hidden)]
    fn check_uncompressed(_: &Self::Found, _: &ReadOptions) -> Result<()> {
        Ok(())
    }

    /// Returns an error if NPY files cannot represent the elements.
    #[doc(hidden)]
    fn check_representable_in_npy(_: &Self::Found) -> Result<()> {
        Ok(())
    }

    /// Returns the size of the stored elements in bytes, if the header declares it.
    #[doc(hidden)]
    fn stored_len(found: &Self::Found) -> Option<u64> {
        Self::header(found).payload_len()
    }

    /// Returns the size in bytes that the stored elements have at least.
    #[doc(hidden)]
    fn min_stored_len(found: &Self::Found) -> u64 {
        Self::stored_len(found).unwrap_or_default()
    }

    /// Returns the options, extended by what dispatch on the element type needs to know about this format.
    #[doc(hidden)]
    fn dispatch_options<'o>(_: &Self::Found, options: &'o ReadOptions) -> Cow<'o, ReadOptions> {
        Cow::Borrowed(options)
    }

    /// Passes the elements to `read`, after decompressing them if they are compressed.
    #[doc(hidden)]
    fn with_payload(
        found: &Self::Found,
        payload: PayloadRef<'_, '_>,
        read: &mut PayloadReader<'_>,
    ) -> Result<()>;
}

/// NumPy's NPY format.
///
/// ```
/// use ndarray_io::file::{ArrayFile, Npy};
/// use ndarray_io::NpyFile;
/// let open: fn(&str) -> ndarray_io::Result<ArrayFile<Npy>> = |path| NpyFile::open(path); // the same type
/// # assert!(open("/no/such/file").is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Npy {}

impl ArrayFormat for Npy {
    type Found = NpyHeader;

    const ALLOWS_TRAILING: bool = false;

    fn parse(bytes: &[u8], options: &ReadOptions) -> Result<Parsed<NpyHeader>> {
        let Parsed::Done(mut found, used) = npy::parse_with(bytes, options.get_limits())? else {
            return npy::parse_with(bytes, options.get_limits());
        };
        if let Some(narrow) = options.get_raw_bytes_type() {
            found.header = found.header.with_raw_bytes_as(narrow)?;
        }
        found.header.check_empty_items()?;
        Ok(Parsed::Done(found, used))
    }

    fn truncated(have: usize, need: usize) -> Error {
        npy::truncated(have, need)
    }

    fn header(found: &NpyHeader) -> &Header {
        &found.header
    }

    fn format(header: &Header, options: &WriteOptions) -> Result<Vec<u8>> {
        npy::format(header, options.get_version())
    }

    fn with_payload(_: &NpyHeader, payload: PayloadRef<'_, '_>, read: &mut PayloadReader<'_>) -> Result<()> {
        read(payload)
    }
}

pub(super) mod private {
    /// Restricts the trait to this library's formats.
    pub trait Sealed {}

    impl Sealed for super::Npy {}
}
