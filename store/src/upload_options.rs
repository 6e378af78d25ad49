//! [`UploadOptions`]: length, parts and condition of an upload.

use ndarray_io::Result;

use crate::address::bad_option;
use crate::remote::Version;
use crate::service::Condition;

/// The default size of a part.
const DEFAULT_PART_SIZE: u64 = 16 << 20;
/// The maximum number of parts that stores accept.
pub(crate) const MAX_PARTS: u64 = 10_000;
/// The minimum size in bytes of every part except the last.
const MIN_PART_SIZE: u64 = 5 << 20;

/// Options for writing an object: its length, the size of parts, and a condition.
///
/// ```
/// use ndarray_io_store::UploadOptions;
/// let options = UploadOptions::new().create_new().len(3 << 30);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
pub struct UploadOptions {
    len: Option<u64>,
    part_size: Option<u64>,
    condition: Option<Condition>,
}

impl UploadOptions {
    /// Creates options that replace an existing object unconditionally, in parts of 16 MiB.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the approximate length of the object in bytes, from which the size of parts is derived.
    ///
    /// An object has at most 10,000 parts, all of the same size except the last. Without a length, parts are
    /// 16 MiB in size, which suffices for objects of up to 156 GiB. A web server accepts an object only as a
    /// single part, which is buffered in memory: an object larger than the part size needs a length, which
    /// must not be too small.
    #[must_use]
    pub fn len(mut self, len: u64) -> Self {
        self.len = Some(len);
        self
    }

    /// Sets the size of a part in bytes; the default is 16 MiB and the minimum is 5 MiB.
    ///
    /// Parts are larger if [`len`](Self::len) requires it.
    ///
    /// In memory are the parts that are being sent, of 128 MiB together ([`StoreOptions::in_flight`](crate::StoreOptions::in_flight)), one beyond that limit, and
    /// one that is being filled.
    #[must_use]
    pub fn part_size(mut self, bytes: u64) -> Self {
        self.part_size = Some(bytes);
        self
    }

    /// Writes the object only if it does not exist.
    ///
    /// Otherwise the upload fails with [`AlreadyExists`](ndarray_io::error::ErrorKind::AlreadyExists).
    ///
    /// S3, GCS and Azure check this atomically when an object of one part becomes visible; S3 also does so
    /// for several parts. In other stores, an upload of several parts checks this just before its last
    /// request: another writer may create the object in between. A web server is asked before, and to check the condition
    /// itself, which not all do.
    #[must_use]
    pub fn create_new(mut self) -> Self {
        self.condition = Some(Condition::New);
        self
    }

    /// Replaces the object only if it still has this version.
    ///
    /// Otherwise the upload fails with [`Changed`](ndarray_io::error::ErrorKind::Changed), and no concurrent change by
    /// another writer is lost. The condition is checked as for [`create_new`](Self::create_new).
    ///
    /// # Errors
    ///
    /// [`BadOption`](ndarray_io::error::ErrorKind::BadOption) if the version has no strong entity tag.
    pub fn replacing(mut self, version: &Version) -> Result<Self> {
        let Some(tag) = version.tag().filter(|_| version.is_verified()) else {
            return Err(bad_option("the server sent no strong entity tag for the object"));
        };
        let number = version.number.clone();
        self.condition = Some(Condition::Unchanged { tag: tag.to_owned(), number });
        Ok(self)
    }

    pub(crate) fn get_len(&self) -> Option<u64> {
        self.len
    }

    pub(crate) fn condition(&self) -> Option<Condition> {
        self.condition.clone()
    }

    pub(crate) fn part_len(&self) -> Result<usize> {
        // Rounded up to a multiple of 1 MiB.
        let needed = self.len.unwrap_or(0).div_ceil(MAX_PARTS).div_ceil(1 << 20) << 20;
        let part = self.part_size.unwrap_or(DEFAULT_PART_SIZE).max(MIN_PART_SIZE).max(needed);
        usize::try_from(part)
            .map_err(|_| bad_option(format!("a part of {part} bytes does not fit into memory")))
    }
}
