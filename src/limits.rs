//! What an untrusted file may ask for, and how fast memory may grow for it.
//!
//! This decides how much; it allocates nothing.

use crate::error::{ErrorKind, Limited, Result};

/// Limits for files that are not trusted. The defaults suit every file that NumPy writes.
///
/// ```
/// use ndarray_io::{Limits, ReadOptions};
///
/// // Uploads: no array over 64 MiB.
/// let options = ReadOptions::new().limits(Limits::default().payload(64 << 20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    header: usize,
    payload: u64,
}

impl Limits {
    /// How deep brackets may nest in a header.
    pub(crate) const NESTING: usize = 128;
    /// How deep records may nest.
    pub(crate) const RECORD_NESTING: usize = 32;
    /// How many axes an array may have.
    pub(crate) const DIMENSIONS: usize = 64;

    /// The longest header that is read, in bytes. By default 1 MiB: NumPy's own limit of 10,000 stops real files.
    #[must_use]
    pub fn header(mut self, bytes: usize) -> Self {
        self.header = bytes;
        self
    }

    /// The largest payload that is read, in bytes. By default there is no limit of its own; memory is never taken out
    /// of proportion to what has arrived, whatever the header says.
    #[must_use]
    pub fn payload(mut self, bytes: u64) -> Self {
        self.payload = bytes;
        self
    }

    pub(crate) fn check_header(&self, bytes: u64) -> Result<()> {
        check(Limited::HeaderBytes, bytes, self.header as u64)
    }

    pub(crate) fn check_payload(&self, bytes: u64) -> Result<()> {
        check(Limited::PayloadBytes, bytes, self.payload)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { header: 1 << 20, payload: u64::MAX }
    }
}

/// An error if `found` is over `limit`.
pub(crate) fn check(limited: Limited, found: u64, limit: u64) -> Result<()> {
    if found > limit { Err(ErrorKind::Limit { limited, found, limit }.into()) } else { Ok(()) }
}

/// How much room to have for a payload of `total` bytes when `arrived` of them are there: 1 MiB to begin with, then up
/// to 64 times what has arrived. The room grows by fresh allocations, so that at most 1/64 of the array stands twice.
pub(crate) fn room_for(arrived: usize, total: usize) -> usize {
    const FIRST: usize = 1 << 20;
    const STEP: usize = 64;
    total.min(FIRST.max(arrived.saturating_mul(STEP)))
}
