//! Reads scattered bytes that are nearly everywhere, by reading all that is between them.

use super::read::read_bytes;
use super::source::Source;
use crate::bytes::{Region, Runs};
use crate::dtype::DType;
use crate::header::{Header, Order};
use crate::options::ReadOptions;

/// All bytes between the first and the last of listed runs, in memory, where the runs are looked up.
pub(crate) struct BufferedExtent {
    bytes: Vec<u8>,
    /// The runs, within these bytes.
    runs: Runs,
}

impl BufferedExtent {
    /// Reads the bytes.
    ///
    /// `None` if it is faster to read each run, if the memory would be out of proportion, and if they cannot be read: then
    /// reading the runs says why.
    pub(crate) fn read(array: Region<'_>, runs: &Runs, options: &ReadOptions) -> Option<Self> {
        /// Longer runs are copied out of each part of the bytes while it is in the cache.
        const MAX_RUN_LEN: usize = 64;
        /// The most memory for each selected byte.
        const MAX_BYTES_PER_SELECTED: u64 = 2;
        let (hints, selected) = (array.hints(), runs.byte_len());
        if !runs.is_listed() || runs.run_len() > MAX_RUN_LEN || array.bytes().is_some() || hints.is_remote() {
            return None;
        }
        let extent = runs.dense_extent(0, selected, hints.gap)?;
        let (start, len) = (extent.start, extent.end - extent.start);
        if len > selected.saturating_mul(MAX_BYTES_PER_SELECTED)
            || options.get_limits().check_payload(len).is_err()
        {
            return None;
        }
        let len = usize::try_from(len).ok()?;
        let header = Header::new(DType::of::<u8>().ok()?, Order::C, vec![len].into()).ok()?;
        let options = ReadOptions::new().threads(options.get_threads());
        let bytes = read_bytes(&mut Source::region(array.part(extent)), &header, &options).ok()?;
        Some(Self { bytes, runs: runs.relative_to(start) })
    }

    /// Returns the bytes, and the runs within them.
    pub(crate) fn get(&self) -> (Region<'_>, &Runs) {
        (Region::of_memory(&self.bytes), &self.runs)
    }
}
