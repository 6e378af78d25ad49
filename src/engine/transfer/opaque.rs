//! Reads payloads that are one unit, such as a pickle.

use super::append::{append, read_rest};
use super::source::Source;
use crate::elements::OpaqueDecoder;
use crate::error::{Fault, Result};
use crate::header::Header;
use crate::options::ReadOptions;
use crate::progress::ProgressReporter;

/// Reads and decodes the payload.
pub(super) fn read_opaque<T>(
    source: &mut Source<'_>,
    header: &Header,
    decode: &dyn OpaqueDecoder<T>,
    options: &ReadOptions,
) -> Result<Vec<T>> {
    let (payload, is_stream) =
        read_opaque_payload(source, options, &|more| decode.read_self_delimited(more))?;
    let (items, used) = decode.decode(&payload, header, options)?;
    let surplus = (payload.len() - used) as u64;
    if !is_stream {
        source.advance(used as u64);
    } else if surplus > 0 && !options.allows_trailing() {
        return Err(Fault::Trailing { bytes: surplus, at_least: false, rows: 0 }.into());
    }
    Ok(items)
}

/// Appends at most the given number of bytes of a stream, and returns how many it appended.
type AppendMore<'a> = dyn FnMut(&mut Vec<u8>, u64) -> Result<u64> + 'a;

/// Reads an opaque payload, and returns whether the source is a stream, which cannot go back to the payload's end.
fn read_opaque_payload(
    source: &mut Source<'_>,
    options: &ReadOptions,
    read_self_delimited: &dyn Fn(&mut AppendMore<'_>) -> Result<Option<Vec<u8>>>,
) -> Result<(Vec<u8>, bool)> {
    // The end of the elements is known only after decoding, and only random access can return to it.
    let Some(mut lookahead) = source.lookahead() else {
        // A stream cannot be rewound: the decoder reads exactly one payload if it can find its end.
        let one = read_self_delimited(&mut |payload, count| read_more(source, payload, count, options))?;
        let payload = one.map_or_else(|| read_rest(source, options), Ok)?;
        return Ok((payload, true));
    };
    let remaining = lookahead.remaining().unwrap_or_default();
    options.get_limits().check_payload(remaining)?;
    let total = usize::try_from(remaining).unwrap_or(usize::MAX);
    let mut payload = Vec::new();
    append(&mut lookahead, &mut payload, total, &ProgressReporter::default())?;
    Ok((payload, false))
}

/// Appends up to `count` bytes, within the payload limit, and returns how many were read.
fn read_more(
    source: &mut Source<'_>,
    payload: &mut Vec<u8>,
    count: u64,
    options: &ReadOptions,
) -> Result<u64> {
    options.get_limits().check_payload((payload.len() as u64).saturating_add(count))?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    Ok(append(source, payload, count, &ProgressReporter::default())? as u64)
}
