//! What the ways in ask of a format: the same readers, files and maps serve them all.

use std::borrow::Cow;
use std::fmt;

use super::payload::PayloadRef;
use crate::error::{Error, Result};
use crate::header::{Header, Parsed};
use crate::limits::Limits;
use crate::npy_format::{self as npy, NpyHeader};
use crate::options::{ReadOptions, WriteOptions};

/// A format with a header in front of its elements: [`Npy`] or [`Ra`](crate::file::Ra). Its methods are the library's own.
///
/// ```
/// use ndarray_io::file::{ArrayFile, ArrayFormat};
///
/// fn rows<F: ArrayFormat>(file: &ArrayFile<F>) -> usize {
///     file.shape().first().copied().unwrap_or(1)
/// }
/// ```
pub trait ArrayFormat: fmt::Debug + Send + Sync + 'static + private::Sealed {
    /// What the format's header says, beyond what the payload is.
    type Found: fmt::Debug + Send + Sync;

    /// Whether something that is no part of the array may stand behind it in its file.
    #[doc(hidden)]
    const HAS_TRAILING: bool;

    #[doc(hidden)]
    fn parse(bytes: &[u8], limits: &Limits) -> Result<Parsed<Self::Found>>;

    /// The error for a source that ends where `parse` still needs `need` bytes.
    #[doc(hidden)]
    fn truncated(have: usize, need: usize) -> Error;

    #[doc(hidden)]
    fn header(found: &Self::Found) -> &Header;

    /// The bytes of a header, for a file that is made.
    #[doc(hidden)]
    fn format(header: &Header, options: &WriteOptions) -> Result<Vec<u8>>;

    /// An error unless the elements lie in the file as they are.
    #[doc(hidden)]
    fn check_plain(_: &Self::Found, _: &ReadOptions) -> Result<()> {
        Ok(())
    }

    /// How many bytes the elements take in the file, if the header knows.
    #[doc(hidden)]
    fn stored_len(found: &Self::Found) -> Option<u64> {
        Self::header(found).payload_len()
    }

    /// What the gate has to know of elements of this format.
    #[doc(hidden)]
    fn gate<'o>(_: &Self::Found, options: &'o ReadOptions) -> Cow<'o, ReadOptions> {
        Cow::Borrowed(options)
    }

    /// Calls with the elements, unpacked if they are packed.
    #[doc(hidden)]
    fn with_payload<T>(
        found: &Self::Found,
        payload: PayloadRef<'_, '_>,
        read: impl FnOnce(PayloadRef<'_, '_>) -> Result<T>,
    ) -> Result<T>;
}

/// NumPy's format.
///
/// ```
/// use ndarray_io::file::{ArrayFile, Npy};
/// use ndarray_io::NpyFile;
/// let open: fn(&str) -> ndarray_io::Result<ArrayFile<Npy>> = |path| NpyFile::open(path); // two names of one type
/// # assert!(open("/no/such/file").is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Npy {}

impl ArrayFormat for Npy {
    type Found = NpyHeader;

    const HAS_TRAILING: bool = false;

    fn parse(bytes: &[u8], limits: &Limits) -> Result<Parsed<NpyHeader>> {
        npy::parse_with(bytes, limits)
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

    fn with_payload<T>(
        _: &NpyHeader,
        payload: PayloadRef<'_, '_>,
        read: impl FnOnce(PayloadRef<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        read(payload)
    }
}

pub(super) mod private {
    /// Keeps the trait to this library's formats.
    pub trait Sealed {}

    impl Sealed for super::Npy {}
}
