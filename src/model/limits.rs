//! Limits on what an untrusted file may request, and on how fast memory may grow for it.
//!
//! What allocates memory of which a file declares the size is here as well: [`resize`] and [`reserve`].

use crate::error::{Fault, LimitKind, Result};

/// Limits for reading untrusted files. The defaults accept every file that NumPy writes.
///
/// ```
/// use ndarray_io::{Limits, ReadOptions};
///
/// // Uploads: no array over 64 MiB.
/// let options = ReadOptions::new().limits(Limits::default().payload(64 << 20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", default, deny_unknown_fields))]
pub struct Limits {
    header: u64,
    #[cfg_attr(feature = "serde-1", serde(with = "unlimited"))]
    payload: u64,
    #[cfg_attr(feature = "serde-1", serde(with = "unlimited"))]
    objects: u64,
    object_height: u32,
    expansion: u64,
}

/// A limit that is not set is `None` when it is serialized: some formats cannot represent 2⁶⁴ − 1.
#[cfg(feature = "serde-1")]
mod unlimited {
    use serde_1::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(limit: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        (*limit < u64::MAX).then_some(*limit).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.unwrap_or(u64::MAX))
    }
}

impl Limits {
    /// The maximum nesting depth of brackets in a header.
    #[cfg(feature = "py_literal")]
    pub(crate) const NESTING: usize = 128;
    /// The maximum nesting depth of records.
    pub(crate) const RECORD_NESTING: usize = crate::dtype::MAX_NESTING;
    /// The maximum number of elements without bytes in the file: no data backs the memory they occupy.
    pub(crate) const EMPTY_ITEMS: usize = 1 << 20;
    /// The maximum number of axes, as in NumPy.
    pub(crate) const DIMENSIONS: usize = 64;

    /// Returns the default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum header length in bytes. The default is 1 MiB.
    ///
    /// NumPy's own limit is 10,000 bytes, which rejects some existing files.
    #[must_use]
    pub fn header(mut self, bytes: u64) -> Self {
        self.header = bytes;
        self
    }

    /// Sets the maximum payload size in bytes. It is unlimited by default.
    ///
    /// This is what one call reads: the elements of an array, of a part or of a block. Of a member of an archive that is compressed,
    /// or that is copied or verified, it is all of the content.
    ///
    /// Regardless of this limit, memory is allocated in proportion to the data that has arrived, not to the
    /// size that the header declares.
    #[must_use]
    pub fn payload(mut self, bytes: u64) -> Self {
        self.payload = bytes;
        self
    }

    /// Sets the maximum number of lists, dicts and other containers in a pickle. It is unlimited by default.
    ///
    /// Each container occupies at least one byte of the pickle and about 150 bytes of memory. Numbers, text
    /// and bytes do not count towards the limit.
    #[must_use]
    pub fn objects(mut self, count: u64) -> Self {
        self.objects = count;
        self
    }

    /// Sets the maximum nesting depth of objects in a pickle. The default is 1000; NumPy has no limit.
    ///
    /// The depth of an object is one more than that of its most deeply nested part.
    #[must_use]
    pub fn object_height(mut self, height: u32) -> Self {
        self.object_height = height;
        self
    }

    /// Sets how many times larger the content of a compressed member may be than its compressed bytes.
    ///
    /// The default is 1032, which Deflate cannot exceed. Other methods can: 1 KB of bzip2 may become 1 GB. The limit applies to
    /// content of 1 GiB or more, of one member or of all that are read or verified together; smaller content is limited only
    /// by what its method can express.
    #[must_use]
    pub fn expansion(mut self, times: u64) -> Self {
        self.expansion = times;
        self
    }

    /// Returns the limit set with [`payload`](Self::payload).
    pub fn get_payload(&self) -> u64 {
        self.payload
    }

    /// Returns the limit set with [`objects`](Self::objects).
    #[cfg(feature = "object")]
    pub(crate) fn get_objects(&self) -> u64 {
        self.objects
    }

    /// Returns the limit set with [`object_height`](Self::object_height).
    #[cfg(feature = "object")]
    pub(crate) fn get_object_height(&self) -> u32 {
        self.object_height
    }

    #[cfg(any(feature = "npz", feature = "object"))]
    pub(crate) fn check_expansion(&self, size: u64, packed: u64) -> Result<()> {
        /// Smaller content is limited only by its method.
        const MIN_LIMITED_SIZE: u64 = 1 << 30;
        match size {
            0..MIN_LIMITED_SIZE => Ok(()),
            _ => check(LimitKind::Expansion, size.div_ceil(packed.max(1)), self.expansion),
        }
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
        Self { header: 1 << 20, payload: u64::MAX, objects: u64::MAX, object_height: 1000, expansion: 1032 }
    }
}

/// Returns an error if `found` exceeds `limit`.
pub(crate) fn check(limit_kind: LimitKind, found: u64, limit: u64) -> Result<()> {
    if found > limit { Err(Fault::Limit { limit_kind, found, limit }.into()) } else { Ok(()) }
}

/// Changes the number of items to `len`; new ones are zero.
///
/// Memory whose size a file declares is allocated by this function or one like it: without it, an error is returned,
/// and the process goes on.
pub(crate) fn resize<T: Clone + Default>(items: &mut Vec<T>, len: usize) -> Result<()> {
    reserve(items, len.saturating_sub(items.len()))?;
    items.resize(len, T::default());
    Ok(())
}

/// Allocates memory for exactly `more` further items.
pub(crate) fn reserve<T>(items: &mut Vec<T>, more: usize) -> Result<()> {
    let bytes = more.saturating_mul(size_of::<T>());
    items.try_reserve_exact(more).map_err(|_| Fault::OutOfMemory { bytes: bytes as u64 }.into())
}

/// Returns the capacity for a payload of `total` bytes after `arrived` of them have been read.
///
/// It is at most 1 MiB or 64 times `arrived`, whichever is greater, which bounds the memory that a false
/// header can claim. Each growth is a new allocation and a copy. The last one happens when 1/64 of the
/// payload has arrived, so at most this part is in memory twice.
pub(crate) fn capacity_for(arrived: usize, total: usize) -> usize {
    const FIRST_LEN: usize = 1 << 20;
    const FACTOR: usize = 64;
    let most = arrived.saturating_mul(FACTOR).max(FIRST_LEN);
    if most >= total { total } else { most.min(total.div_ceil(FACTOR).max(FIRST_LEN)).max(arrived + 1) }
}

#[cfg(test)]
mod tests {
    use super::capacity_for;

    #[test]
    fn buffer_grows_in_proportion_and_copies_at_most_a_64th() {
        for total in [0, 1, 1 << 20, (1 << 20) + 1, 3 << 20, 64 << 20, 128 << 20, 1 << 30, usize::MAX / 65] {
            let (mut arrived, mut before) = (0, 0);
            while arrived < total {
                let room = capacity_for(arrived, total);
                assert!(room > arrived && room <= total);
                assert!(
                    room <= arrived.saturating_mul(64).max(1 << 20),
                    "{room} bytes of room for {arrived}"
                );
                (before, arrived) = (arrived, room);
            }
            assert!(
                before <= total.div_ceil(64).max(1 << 20),
                "{before} of {total} bytes were allocated twice"
            );
        }
    }
}
