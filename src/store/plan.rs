//! Plans the requests that fetch selected bytes.

use std::ops::Range;

use crate::transfer::ByteRuns;

/// The maximum size of a request in bytes.
///
/// Smaller requests would be dominated by latency; larger ones parallelize poorly.
pub(super) const PART: usize = 16 << 20;

/// The overhead of a request and its response headers, in bytes.
///
/// Fetching this much unneeded data costs no more than another request.
const HEAD: u64 = 1 << 10;

/// One request: a range of the object that contains consecutive selected bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) range: Range<u64>,
    /// The corresponding range of the selected bytes.
    pub(super) picked: Range<u64>,
}

/// Plans the requests for selected bytes, in the order of the file.
///
/// Runs are merged as long as a request fetches at most twice what it needs, or if the gap is at most the
/// overhead of a request. Both requests and unneeded bytes take time; which of them takes longer depends on
/// the distance of the store, which is not known here.
pub(super) fn groups(place: u64, runs: &ByteRuns, picked: Range<u64>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut at = picked.start;
    while at < picked.end {
        let (start, left) = runs.find(at);
        let (start, len) = (place + start, (left as u64).min(picked.end - at));
        match groups.last_mut() {
            Some(last) if is_joined(&last.range, last.picked.end - last.picked.start, start..start + len) => {
                last.range.end = start + len;
                last.picked.end += len;
            }
            _ => {
                // A run of more than 16 MiB is fetched in parts of equal size.
                let parts = len.div_ceil(PART as u64).max(1);
                let part = len.div_ceil(parts).max(1);
                for from in (0..len).step_by(usize::try_from(part).unwrap_or(usize::MAX)) {
                    let to = (from + part).min(len);
                    groups.push(Group { range: start + from..start + to, picked: at + from..at + to });
                }
            }
        }
        at += len;
    }
    groups
}

/// Returns whether a run is fetched together with the range before it, of which `needed` bytes are selected.
pub(super) fn is_joined(before: &Range<u64>, needed: u64, run: Range<u64>) -> bool {
    let span = run.end.max(before.end) - before.start;
    let more = run.end.saturating_sub(run.start.max(before.end));
    let is_near = run.start <= before.end.saturating_add(HEAD);
    run.start >= before.start && span <= PART as u64 && (is_near || span <= 2 * (needed + more))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_fetched_together_and_what_is_far_apart_is_not() {
        // 256 pieces of 64 bytes, 32 KiB apart: object_store's `get_ranges` would fetch 8 MB.
        let runs = ByteRuns::of_bytes(0, vec![(256, 32 << 10)], 64);
        let apart = groups(100, &runs, 0..runs.len());
        assert_eq!(apart.len(), 256);
        assert_eq!(apart[2], Group { range: 65_636..65_700, picked: 128..192 });
        // Every second byte: twice what is needed, in one request.
        let runs = ByteRuns::of_bytes(10, vec![(1000, 2)], 1);
        assert_eq!(groups(0, &runs, 0..1000), [Group { range: 10..2009, picked: 0..1000 }]);
        // Every third number: the gaps are smaller than the overhead of a request.
        let runs = ByteRuns::of_bytes(0, vec![(1000, 24)], 8);
        assert_eq!(groups(0, &runs, 0..8000), [Group { range: 0..23_984, picked: 0..8000 }]);
        // A subrange that begins in the middle of a run.
        let runs = ByteRuns::of_bytes(0, vec![(3, 12)], 8);
        assert_eq!(groups(0, &runs, 4..16), [Group { range: 4..20, picked: 4..16 }]);
    }

    #[test]
    fn long_runs_are_cut_into_equal_parts() {
        let runs = ByteRuns::of_bytes(0, vec![], 40 << 20);
        let parts = groups(128, &runs, 0..runs.len());
        let lens: Vec<u64> = parts.iter().map(|part| part.range.end - part.range.start).collect();
        assert_eq!(lens.iter().sum::<u64>(), 40 << 20);
        assert!(lens.iter().all(|len| (8 << 20..=16 << 20).contains(len)), "{lens:?}");
        assert_eq!((parts[0].range.start, parts[2].range.end), (128, 128 + (40 << 20)));
    }
}
