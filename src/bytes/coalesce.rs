//! Reads parts that are close together by one call.

use crate::error::Result;

/// Reads parts in ascending order, and returns how many at the beginning of the list are complete.
///
/// Parts with gaps of at most `gap` bytes are read by one call, which extends over at most `span` bytes.
/// `read` fills a buffer from an offset and returns how many bytes were read; `None` means that it cannot.
pub(super) fn read_parts(
    parts: &mut [(u64, &mut [u8])],
    gap: u64,
    span: u64,
    read: impl Fn(&mut [u8], u64) -> Result<Option<usize>>,
) -> Result<usize> {
    let mut scratch = Vec::new();
    let mut done = 0;
    for group in groups(parts, gap, span) {
        if !read_group(group, &mut scratch, &read)? {
            break;
        }
        done += group.len();
    }
    Ok(done)
}

/// Divides parts into groups of which each is read by one call.
pub(super) fn groups<'p, 'b>(
    parts: &'p mut [(u64, &'b mut [u8])],
    gap: u64,
    span: u64,
) -> impl Iterator<Item = &'p mut [(u64, &'b mut [u8])]> {
    let mut rest = parts;
    std::iter::from_fn(move || {
        let first = rest.first()?.0;
        let (mut end, mut count) = (first, 0);
        for (place, part) in rest.iter() {
            let next = place.saturating_add(part.len() as u64);
            let is_near = *place >= first && *place <= end.saturating_add(gap) && next - first <= span;
            if count > 0 && !is_near {
                break;
            }
            (end, count) = (next.max(end), count + 1);
        }
        let (group, after) = std::mem::take(&mut rest).split_at_mut(count);
        rest = after;
        Some(group)
    })
}

/// Returns the offset of a group's first byte, and the length from there to its end.
pub(super) fn extent(group: &[(u64, &mut [u8])]) -> (u64, u64) {
    let first = group.first().map_or(0, |(place, _)| *place);
    let end = group.iter().map(|(place, part)| place.saturating_add(part.len() as u64)).max();
    (first, end.unwrap_or(first) - first)
}

/// Reads a group by one call, and returns whether all of it was read.
pub(super) fn read_group(
    group: &mut [(u64, &mut [u8])],
    scratch: &mut Vec<u8>,
    read: &impl Fn(&mut [u8], u64) -> Result<Option<usize>>,
) -> Result<bool> {
    if let [(place, part)] = group {
        return Ok(read(part, *place)? == Some(part.len()));
    }
    let (first, span) = extent(group);
    let span = span as usize; // a group of several parts is limited
    if scratch.len() < span {
        scratch.resize(span, 0);
    }
    if read(&mut scratch[..span], first)? != Some(span) {
        return Ok(false);
    }
    for (place, part) in group {
        let at = (*place - first) as usize;
        part.copy_from_slice(&scratch[at..at + part.len()]);
    }
    Ok(true)
}
