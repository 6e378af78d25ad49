//! Plans the requests that fetch selected bytes.

use std::ops::Range;

/// The overhead of a request and its response headers, in bytes.
///
/// Fetching this much unneeded data costs no more than another request.
const REQUEST_OVERHEAD: u64 = 1 << 10;

/// Parts of an object, with their offsets.
type Parts<'p, 'b> = &'p mut [(u64, &'b mut [u8])];

/// Plans the requests for parts that ascend: the range of each request, and the parts that it contains.
///
/// A request is for at most `max_len` bytes, unless a part alone is longer. Parts are fetched together as long as a request fetches at most twice what it needs, or if the gap is at
/// most the overhead of a request. Both requests and unneeded bytes take time; which of them takes longer
/// depends on the distance of the store, which is not known here.
pub(crate) fn group_parts<'p, 'b>(
    parts: Parts<'p, 'b>,
    max_len: usize,
) -> impl Iterator<Item = (Range<u64>, Parts<'p, 'b>)> {
    let own = |(offset, part): &(u64, &mut [u8])| *offset..offset + part.len() as u64;
    let spans: Vec<_> = join_and_count(parts.iter().map(own), max_len).collect();
    let mut rest = parts;
    spans.into_iter().map(move |(range, count)| {
        let (group, after) = std::mem::take(&mut rest).split_at_mut(count);
        rest = after;
        (range, group)
    })
}

/// Plans the requests for ranges that ascend, as [`group_parts`] does.
pub(crate) fn join_ranges(ranges: Vec<Range<u64>>, max_len: usize) -> impl Iterator<Item = Range<u64>> {
    join_and_count(ranges.into_iter(), max_len).map(|(range, _)| range)
}

/// Joins ranges that ascend, and returns how many are in each.
fn join_and_count(
    ranges: impl Iterator<Item = Range<u64>>,
    max_len: usize,
) -> impl Iterator<Item = (Range<u64>, usize)> {
    let mut ranges = ranges.peekable();
    std::iter::from_fn(move || {
        let mut range = ranges.next()?;
        let (mut needed, mut count) = (range.end - range.start, 1);
        while let Some(run) = ranges.next_if(|run| should_join(&range, needed, run.clone(), max_len)) {
            needed += run.end.saturating_sub(run.start.max(range.end));
            range.end = range.end.max(run.end);
            count += 1;
        }
        Some((range, count))
    })
}

/// Returns the length of the equal parts, of at most `max_len` bytes, in which a long range is fetched.
pub(crate) fn even_part_len(len: usize, max_len: usize) -> usize {
    len.div_ceil(len.div_ceil(max_len).max(1)).max(1)
}

/// Returns whether a run is fetched together with the range before it, of which `needed` bytes are selected.
pub(crate) fn should_join(before: &Range<u64>, needed: u64, run: Range<u64>, max_len: usize) -> bool {
    let span = run.end.max(before.end) - before.start;
    let more = run.end.saturating_sub(run.start.max(before.end));
    let is_near = run.start <= before.end.saturating_add(REQUEST_OVERHEAD);
    run.start >= before.start && span <= max_len as u64 && (is_near || span <= 2 * (needed + more))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_LEN: usize = 16 << 20;

    /// Returns the ranges that are requested for parts of equal length.
    fn requested_ranges(starts: impl Iterator<Item = u64>, len: usize) -> Vec<Range<u64>> {
        let starts: Vec<u64> = starts.collect();
        let mut into = vec![0; starts.len() * len];
        let mut parts: Vec<(u64, &mut [u8])> = starts.into_iter().zip(into.chunks_mut(len)).collect();
        group_parts(&mut parts, MAX_LEN).map(|(range, _)| range).collect()
    }

    #[test]
    fn near_ranges_share_a_request_and_distant_ones_do_not() {
        // 256 pieces of 64 bytes, 32 KiB apart: object_store's `get_ranges` would fetch 8 MB.
        let apart = requested_ranges((0..256).map(|number| 100 + (number << 15)), 64);
        assert_eq!(apart.len(), 256);
        assert_eq!(apart[2], 65_636..65_700);
        // Every second byte: twice what is needed, in one request.
        assert_eq!(requested_ranges((0..1000).map(|number| 10 + 2 * number), 1), vec![10..2009]);
        // Every third number: the gaps are smaller than the overhead of a request.
        assert_eq!(requested_ranges((0..1000).map(|number| 24 * number), 8), vec![0..23_984]);
        // The same part twice.
        assert_eq!(requested_ranges([7, 7, 9].into_iter(), 4), vec![7..13]);
    }

    #[test]
    fn long_ranges_are_cut_into_equal_parts() {
        let part = even_part_len(40 << 20, MAX_LEN);
        assert_eq!((40usize << 20).div_ceil(part), 3);
        assert!(part <= MAX_LEN && 3 * part - (40 << 20) < 3);
        let starts = (0..3).map(|number| 128 + number * part as u64);
        assert_eq!(requested_ranges(starts, part).len(), 3);
        assert_eq!(
            (even_part_len(0, MAX_LEN), even_part_len(1, MAX_LEN), even_part_len(MAX_LEN + 1, MAX_LEN)),
            (1, 1, MAX_LEN / 2 + 1)
        );
    }
}
