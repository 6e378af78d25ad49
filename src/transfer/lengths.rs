//! Checks how long a payload is before it is read.

use super::source::Source;
use super::truncated;
use crate::dtype::DType;
use crate::error::{LimitKind, Result};
use crate::header::Header;
use crate::limits::{self, Limits};
use crate::options::ReadOptions;
use crate::progress::ProgressReporter;

/// Checks the length of the payload, and returns the length in memory and what reports the progress.
pub(super) fn checked_len_and_reporter(
    source: &Source<'_>,
    header: &Header,
    options: &ReadOptions,
) -> Result<(usize, ProgressReporter)> {
    let (_, in_memory) = header.len_and_bytes_in_memory()?;
    let bytes = check_length(source, header, options)?;
    Ok((in_memory, ProgressReporter::new(options.get_progress(), bytes)))
}

/// Returns the length of the payload, checked against the limit and the source.
///
/// A source whose length is unknown is not checked.
pub(crate) fn check_length(source: &Source<'_>, header: &Header, options: &ReadOptions) -> Result<u64> {
    let bytes = header.payload_len().unwrap_or_default();
    options.get_limits().check_payload(bytes)?;
    match source.remaining() {
        Some(have) if have < bytes => Err(truncated(header, have)),
        _ => Ok(bytes),
    }
}

/// Fails if items of 0 bytes are more than what is made of them may be.
pub(super) fn check_empty_items(header: &Header) -> Result<()> {
    if header.dtype().item_size() > 0 {
        return Ok(());
    }
    // Items of 0 bytes need memory once they are decoded; in a subarray, each of its elements does.
    let within = match header.dtype() {
        DType::Subarray(subarray) => subarray.shape_ref().len().unwrap_or(u64::MAX),
        _ => 1,
    };
    let items = header.len().saturating_mul(within);
    limits::check(LimitKind::EmptyItems, items, Limits::EMPTY_ITEMS as u64)
}
