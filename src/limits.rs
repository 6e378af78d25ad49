//! What an untrusted file may ask for, and how fast memory may grow for it.
//!
//! This decides how much; it allocates nothing.

use crate::error::{ErrorKind, LimitKind, Result};

/// Limits for files that are not trusted. The defaults suit every file that NumPy writes.
///
/// ```
/// use ndarray_io::{Limits, ReadOptions};
///
/// // Uploads: no array over 64 MiB.
/// let options = ReadOptions::new().limits(Limits::default().payload(64 << 20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    header: u64,
    payload: u64,
    objects: u64,
    object_height: u32,
}

impl Limits {
    /// How deep brackets may nest in a header.
    #[cfg(feature = "py_literal")]
    pub(crate) const NESTING: usize = 128;
    /// How deep records may nest.
    pub(crate) const RECORD_NESTING: usize = 32;
    /// How many elements may come out of no bytes.
    pub(crate) const EMPTY_ITEMS: usize = 1 << 20;
    /// How many axes an array may have.
    pub(crate) const DIMENSIONS: usize = 64;

    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The longest header that is read, in bytes. By default 1 MiB: NumPy's own limit of 10,000 stops real files.
    #[must_use]
    pub fn header(mut self, bytes: u64) -> Self {
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

    /// How many lists, dicts and other objects with parts a pickle may have. By default there is no limit of its own: each takes a
    /// byte of the pickle at least, and about 150 of memory. Numbers, texts and bytes are not counted.
    #[must_use]
    pub fn objects(mut self, count: u64) -> Self {
        self.objects = count;
        self
    }

    /// How high objects may be that stand within objects: one more than the highest of their parts. By default 1000; NumPy has no
    /// limit but the memory.
    #[must_use]
    pub fn object_height(mut self, height: u32) -> Self {
        self.object_height = height;
        self
    }

    /// What [`header`](Self::header) has set.
    pub fn get_header(&self) -> u64 {
        self.header
    }

    /// What [`payload`](Self::payload) has set.
    pub fn get_payload(&self) -> u64 {
        self.payload
    }

    /// What [`objects`](Self::objects) has set.
    pub fn get_objects(&self) -> u64 {
        self.objects
    }

    /// What [`object_height`](Self::object_height) has set.
    pub fn get_object_height(&self) -> u32 {
        self.object_height
    }

    pub(crate) fn check_header(&self, bytes: u64) -> Result<()> {
        check(LimitKind::HeaderBytes, bytes, self.header)
    }

    pub(crate) fn check_payload(&self, bytes: u64) -> Result<()> {
        check(LimitKind::PayloadBytes, bytes, self.payload)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { header: 1 << 20, payload: u64::MAX, objects: u64::MAX, object_height: 1000 }
    }
}

/// An error if `found` is over `limit`.
pub(crate) fn check(limit_kind: LimitKind, found: u64, limit: u64) -> Result<()> {
    if found > limit { Err(ErrorKind::Limit { limit_kind, found, limit }.into()) } else { Ok(()) }
}

/// How much room to have for a payload of `total` bytes when `arrived` of them are there: 1 MiB to begin with, and never
/// more than 64 times what has arrived. The room grows by fresh allocations, and the last one is made when 1/64 of the
/// payload is there, so that no more than that stands twice.
pub(crate) fn room_for(arrived: usize, total: usize) -> usize {
    const FIRST: usize = 1 << 20;
    const STEP: usize = 64;
    let most = arrived.saturating_mul(STEP).max(FIRST);
    if most >= total { total } else { most.min(total.div_ceil(STEP).max(FIRST)).max(arrived + 1) }
}

#[cfg(test)]
mod tests {
    use super::room_for;

    #[test]
    fn room_grows_in_proportion_and_little_stands_twice() {
        for total in [0, 1, 1 << 20, (1 << 20) + 1, 3 << 20, 64 << 20, 128 << 20, 1 << 30, usize::MAX / 65] {
            let (mut arrived, mut before) = (0, 0);
            while arrived < total {
                let room = room_for(arrived, total);
                assert!(room > arrived && room <= total);
                assert!(
                    room <= arrived.saturating_mul(64).max(1 << 20),
                    "{room} bytes of room for {arrived}"
                );
                (before, arrived) = (arrived, room);
            }
            assert!(before <= total.div_ceil(64).max(1 << 20), "{before} of {total} bytes stood twice");
        }
    }
}
