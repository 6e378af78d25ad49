//! Checks how long a payload is before it is read.

use super::source::Source;
use super::truncated;
use crate::error::Result;
use crate::header::Header;
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
