//! Appends bytes of a source to memory, which grows as they arrive.

use super::source::Source;
use super::{BLOCK_LEN, os};
use crate::bytes;
use crate::error::{Fault, Result};
use crate::limits;
use crate::options::ReadOptions;
use crate::progress::ProgressReporter;

/// Appends up to `count` bytes of a source, and returns how many were read.
///
/// Memory is allocated in advance only if the source certainly has the bytes. A server, or another source, may claim any
/// length, and a stream may end: then memory grows as bytes arrive.
pub(crate) fn append(
    source: &mut Source<'_>,
    into: &mut Vec<u8>,
    count: usize,
    reporter: &ProgressReporter,
) -> Result<usize> {
    let has_trusted_len = source.positioned().is_some_and(|positioned| positioned.has_trusted_len());
    let start = into.len();
    let total = start.saturating_add(count);
    while into.len() < total {
        let arrived = into.len();
        let capacity = if has_trusted_len { total } else { limits::capacity_for(arrived, total) };
        let more = capacity - arrived;
        // A caller that appends little by little needs space in proportion.
        let reserved = if has_trusted_len { into.try_reserve_exact(more) } else { into.try_reserve(more) };
        reserved.map_err(|_| Fault::OutOfMemory { bytes: capacity as u64 })?;
        os::advise_huge_pages((into.as_ptr(), into.capacity()));
        let came = bytes::append(into, more, |buf| source.fill_read_buf(buf, usize::MAX).map(drop))?;
        reporter.add(came)?;
        if came < more {
            break;
        }
    }
    Ok(into.len() - start)
}

/// Reads all that remains of a source, within the payload limit.
pub(crate) fn read_rest(source: &mut Source<'_>, options: &ReadOptions) -> Result<Vec<u8>> {
    let mut payload = Vec::new();
    let mut reporter = ProgressReporter::default();
    if let Some(remaining) = source.remaining() {
        options.get_limits().check_payload(remaining)?;
        reporter = ProgressReporter::new(options.get_progress(), remaining);
    }
    loop {
        let known = source.remaining().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        // Doubles the buffer if the length is unknown.
        let more = known.unwrap_or(BLOCK_LEN.max(payload.len()));
        let came = append(source, &mut payload, more, &reporter)?;
        // Checked in each step, since a stream of unknown length may be endless.
        options.get_limits().check_payload(payload.len() as u64)?;
        if came < more || known.is_some() {
            return Ok(payload);
        }
    }
}
