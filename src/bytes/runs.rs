//! [`Runs`]: ranges of bytes, presented as one sequence: what a slice needs of a file.

use crate::shape::indices_of;
use std::ops::Range;
use std::sync::Arc;

/// Ranges of bytes, as runs of equal length.
///
/// It is compact: millions of runs at regular distances take as much memory as one.
///
/// # Examples
///
/// ```
/// use ndarray_io::bytes::Runs;
///
/// let runs = Runs::of_range(100..200);
/// assert_eq!((runs.byte_len(), runs.end()), (100, 200));
/// assert_eq!(runs.iter().collect::<Vec<_>>(), vec![100..200]);
/// ```
#[derive(Clone, Debug)]
pub struct Runs {
    /// The offset of the first run in the array, in bytes.
    start: u64,
    /// In the order of the file, the slowest first; axes within a run are omitted.
    axes: Vec<RunAxis>,
    /// The length of a run in bytes.
    run_len: usize,
}

/// The selection along an axis.
#[derive(Clone, Debug)]
enum RunAxis {
    /// The number of indices, and the stride in bytes.
    Strided(usize, u64),
    /// The offset of each index in bytes, and the largest of them.
    Offsets(Arc<Vec<u64>>, u64),
}

impl RunAxis {
    fn count(&self) -> usize {
        match self {
            Self::Strided(count, _) => *count,
            Self::Offsets(offsets, _) => offsets.len(),
        }
    }

    fn offset(&self, number: u64) -> u64 {
        match self {
            Self::Strided(_, stride) => number * stride,
            Self::Offsets(offsets, _) => offsets[number as usize],
        }
    }

    fn max_offset(&self) -> u64 {
        match self {
            Self::Strided(count, stride) => (*count as u64).saturating_sub(1).saturating_mul(*stride),
            Self::Offsets(_, max_offset) => *max_offset,
        }
    }
}

/// Listed runs: the same offsets for several indices of the outer axis.
pub(crate) struct ListedRuns<'a> {
    /// What is added to the offsets, for the first index of the outer axis.
    pub(crate) base: u64,
    pub(crate) offsets: &'a [u64],
    /// The number of indices of the outer axis, and how far apart they are.
    pub(crate) rows: usize,
    pub(crate) stride: u64,
}

impl ListedRuns<'_> {
    pub(crate) fn count(&self) -> usize {
        self.rows * self.offsets.len()
    }
}

/// Rows of runs at regular distances.
pub(crate) struct RunRows {
    /// How many rows remain along their axis.
    pub(crate) rows_left: usize,
    pub(crate) row_stride: usize,
    /// The number of runs in a row.
    pub(crate) runs_per_row: usize,
    pub(crate) stride: usize,
}

impl Runs {
    /// Returns one run.
    pub fn of_range(range: Range<u64>) -> Self {
        let run_len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        Self { start: range.start, axes: Vec::new(), run_len }
    }

    /// Iterates over the runs, in the order in which they are requested.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let (len, mut at) = (self.byte_len(), 0);
        std::iter::from_fn(move || {
            let (offset, left) = Some(at).filter(|at| *at < len).map(|at| self.offset_at(at))?;
            at += left as u64;
            Some(offset..offset.saturating_add(left as u64))
        })
    }

    /// Selects elements of `item` bytes along axes, given as lengths and strides in elements.
    pub(crate) fn new(start: u64, mut axes: Vec<(usize, u64)>, item: usize) -> Self {
        axes.iter_mut().for_each(|(_, stride)| *stride = stride.saturating_mul(item as u64));
        Self::with_byte_strides(start.saturating_mul(item as u64), axes, item)
    }

    /// Like [`new`](Self::new), with the start and the strides in bytes.
    pub(crate) fn with_byte_strides(start: u64, mut axes: Vec<(usize, u64)>, item: usize) -> Self {
        let mut run_len = item;
        // Contiguous axes become part of the run.
        while let Some(&(count, stride)) = axes.last() {
            if count != 1 && stride != run_len as u64 {
                break;
            }
            run_len = run_len.saturating_mul(count);
            axes.pop();
        }
        axes.retain(|(count, _)| *count != 1);
        // An axis whose indices continue those of the next one is the same axis.
        axes.reverse();
        axes.dedup_by(|outer, inner| {
            let continues = inner.1.checked_mul(inner.0 as u64) == Some(outer.1);
            let merged = inner.0.checked_mul(outer.0).filter(|_| continues);
            inner.0 = merged.unwrap_or(inner.0);
            merged.is_some()
        });
        axes.reverse();
        let axes = axes.into_iter().map(|(count, stride)| RunAxis::Strided(count, stride)).collect();
        Self { start, axes, run_len }
    }

    /// Selects runs of `run_len` bytes at these offsets from `start`, for each index of an outer axis.
    ///
    /// The smallest offset is 0, the largest one is given.
    pub(crate) fn listed(
        start: u64,
        (outer, stride): (usize, u64),
        (offsets, max_offset): (Vec<u64>, u64),
        run_len: usize,
    ) -> Self {
        Self {
            start,
            axes: vec![RunAxis::Strided(outer, stride), RunAxis::Offsets(Arc::new(offsets), max_offset)],
            run_len,
        }
    }

    /// Returns whether the runs are listed, and thus may be in any order.
    pub(crate) fn is_listed(&self) -> bool {
        matches!(self.axes.last(), Some(RunAxis::Offsets(..)))
    }

    /// Returns the total length of all runs in bytes.
    pub fn byte_len(&self) -> u64 {
        self.axes.iter().fold(self.run_len as u64, |len, axis| len.saturating_mul(axis.count() as u64))
    }

    /// Returns the largest end of a run, as an offset in bytes.
    pub fn end(&self) -> u64 {
        if self.byte_len() == 0 {
            return 0;
        }
        let last = self.axes.iter().map(RunAxis::max_offset).fold(self.start, u64::saturating_add);
        last.saturating_add(self.run_len as u64)
    }

    /// Returns the array offset of a selected byte, and how many bytes remain of its run from there.
    pub(crate) fn offset_at(&self, at: u64) -> (u64, usize) {
        let run_len = self.run_len.max(1) as u64;
        let (number, within) = (at / run_len, at % run_len);
        let indices = indices_of(number, self.axes.iter().rev().map(RunAxis::count));
        let axes = self.axes.iter().rev().zip(indices);
        let offset = axes.map(|(axis, index)| axis.offset(index as u64)).sum::<u64>() + self.start + within;
        (offset, (run_len - within) as usize)
    }

    /// Returns the stride of runs along the fastest axis, and how many runs remain along that axis.
    ///
    /// The number includes the run that contains the given byte. For listed runs, the result is `(0, 1)`.
    pub(crate) fn stride_and_runs_left(&self, at: u64) -> (u64, usize) {
        match self.axes.last() {
            Some(RunAxis::Strided(count, stride)) => {
                let number = (at / self.run_len.max(1) as u64 % *count as u64) as usize;
                (*stride, count - number)
            }
            Some(RunAxis::Offsets(..)) | None => (0, 1),
        }
    }

    /// Returns the rows of runs from a selected byte on, if a row begins there: what the two fastest axes select.
    pub(crate) fn rows(&self, at: u64) -> Option<RunRows> {
        let [.., RunAxis::Strided(rows, row_stride), RunAxis::Strided(count, stride)] = &self.axes[..] else {
            return None;
        };
        let run_len = self.run_len.max(1) as u64;
        let (number, count) = (at / run_len, *count as u64);
        if at % run_len != 0 || number % count != 0 {
            return None;
        }
        let rows_left = *rows - (number / count % *rows as u64) as usize;
        let size = |size: u64| usize::try_from(size).ok();
        Some(RunRows {
            rows_left,
            row_stride: size(*row_stride)?,
            runs_per_row: size(count)?,
            stride: size(*stride)?,
        })
    }

    /// Returns listed runs of up to `most` bytes from a selected byte on, if a run begins there: a part of one index of
    /// the outer axis, or all of several.
    pub(crate) fn listed_from(&self, at: u64, most: u64) -> Option<ListedRuns<'_>> {
        let [RunAxis::Strided(outer, stride), RunAxis::Offsets(offsets, _)] = &self.axes[..] else {
            return None;
        };
        let run_len = self.run_len.max(1) as u64;
        if at % run_len != 0 || most < run_len {
            return None;
        }
        let (row, number) =
            (at / run_len / offsets.len() as u64, (at / run_len % offsets.len() as u64) as usize);
        let (base, most) = (self.start + row * stride, (most / run_len) as usize);
        let rows = (most / offsets.len()).min(*outer - row as usize);
        Some(match number == 0 && rows > 0 {
            true => ListedRuns { base, offsets, rows, stride: *stride },
            false => {
                let offsets = &offsets[number..offsets.len().min(number.saturating_add(most))];
                ListedRuns { base, offsets, rows: 1, stride: 0 }
            }
        })
    }

    /// Invokes `visit` with the number and the offset of each listed run among `len` selected bytes, which are whole runs.
    #[inline]
    pub(super) fn for_each_listed(&self, from: u64, len: u64, mut visit: impl FnMut(usize, u64)) {
        let (mut at, mut number) = (from, 0);
        while let Some(listed) = self.listed_from(at, from + len - at) {
            for row in 0..listed.rows as u64 {
                for offset in listed.offsets {
                    visit(number, listed.base + row * listed.stride + offset);
                    number += 1;
                }
            }
            at += (listed.count() * self.run_len) as u64;
        }
    }

    /// Returns the smallest range that has the listed runs of selected bytes, if whole runs are selected, and these are
    /// nearly everywhere in it: reading all of it takes no longer than reading each, when a call costs as much as reading
    /// `gap` bytes.
    pub(crate) fn dense_extent(&self, from: u64, len: u64, gap: u64) -> Option<Range<u64>> {
        let count = len / self.run_len.max(1) as u64;
        let is_dense =
            |extent: &Range<u64>| count > 1 && count.saturating_mul(gap) >= extent.end - extent.start;
        self.extent(from, len).filter(is_dense)
    }

    /// Returns the smallest range that has the listed runs of selected bytes, if whole runs are selected.
    fn extent(&self, from: u64, len: u64) -> Option<Range<u64>> {
        let run_len = self.run_len.max(1) as u64;
        if !self.is_listed() || from % run_len != 0 || len % run_len != 0 || len == 0 {
            return None;
        }
        if (from, len) == (0, self.byte_len()) {
            return Some(self.start..self.end());
        }
        let (mut at, mut first, mut end) = (from, u64::MAX, 0);
        while at < from + len {
            let listed = self.listed_from(at, from + len - at)?;
            let (least, most) = listed
                .offsets
                .iter()
                .fold((u64::MAX, 0), |(least, most), at| (least.min(*at), most.max(*at)));
            let last = listed.base + (listed.rows as u64 - 1) * listed.stride;
            (first, end) = (first.min(listed.base + least), end.max(last + most + run_len));
            at += listed.count() as u64 * run_len;
        }
        Some(first..end)
    }

    /// Returns the number of consecutive runs between which there are at most `gap` bytes, so that one read can span
    /// them; they begin at a multiple of this number.
    pub(crate) fn coalescible_count(&self, gap: u64) -> u64 {
        let (mut coalescible_count, mut extent) = (1u64, self.run_len as u64);
        for axis in self.axes.iter().rev() {
            let RunAxis::Strided(count, stride) = axis else { break };
            // Runs that are not in the order of the file have no gap.
            if stride.checked_sub(extent).is_none_or(|between| between > gap) {
                break;
            }
            coalescible_count = coalescible_count.saturating_mul(*count as u64);
            extent = axis.max_offset().saturating_add(extent);
        }
        coalescible_count
    }

    /// Returns the range of the runs from a selected byte on that are moved by one call, and how many these are.
    ///
    /// There are up to `most` bytes to be moved; [`coalescible_count`](Self::coalescible_count) says which runs are close together, and the range
    /// is no longer than `longest`, unless it is one run. A run of which only a part is moved is moved by itself.
    pub(crate) fn coalesced(
        &self,
        at: u64,
        most: u64,
        coalescible_count: u64,
        longest: u64,
    ) -> (Range<u64>, u64) {
        let (run_len, (offset, left)) = (self.run_len as u64, self.offset_at(at));
        let span = |count: u64| self.offset_at(at + (count - 1) * run_len).0 - offset + run_len;
        if left as u64 != run_len || most <= run_len {
            return (offset..offset + left as u64, 1);
        }
        let after = (most / run_len).min(coalescible_count - at / run_len % coalescible_count);
        let count = largest_accepted(after, |count| span(count) <= longest);
        (offset..offset + span(count), count)
    }

    pub(crate) fn run_len(&self) -> usize {
        self.run_len
    }

    /// Returns whether there is at most one run.
    pub(crate) fn is_single_run(&self) -> bool {
        self.axes.is_empty()
    }

    /// Returns the same runs at offsets that are larger by this many bytes.
    pub(crate) fn offset_by(&self, bytes: u64) -> Self {
        Self { start: self.start.saturating_add(bytes), ..self.clone() }
    }

    /// Returns the same runs at offsets from a place that is not after the first of them.
    pub(crate) fn relative_to(&self, offset: u64) -> Self {
        Self { start: self.start - offset, ..self.clone() }
    }
}

/// Returns the largest number from 1 to `most` that is accepted, if all smaller ones are; at least 1.
fn largest_accepted(most: u64, accepts: impl Fn(u64) -> bool) -> u64 {
    let (mut least, mut refused) = (1, most + 1);
    while refused - least > 1 {
        let middle = least + (refused - least) / 2;
        if accepts(middle) {
            least = middle;
        } else {
            refused = middle;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::Runs;

    #[test]
    fn contiguous_runs_are_merged_and_found_by_position() {
        // Selects s![1..4;2, 1..3, ..] of an array of shape (4, 5, 6) with elements of two bytes.
        let picked = Runs::new(30 + 6, vec![(2, 60), (2, 6), (6, 1)], 2);
        assert_eq!((picked.run_len(), picked.byte_len()), (24, 48));
        assert_eq!((picked.offset_at(0), picked.end()), ((72, 24), 216));
        assert_eq!(picked.offset_at(5), (77, 19));
        assert_eq!(picked.offset_at(24), (72 + 120, 24));
        // s![.., .., ..;3]
        let picked = Runs::new(0, vec![(4, 30), (5, 6), (2, 3)], 2);
        assert_eq!((picked.run_len(), picked.byte_len()), (2, 80));
        assert_eq!([0, 2, 4, 20].map(|at| picked.offset_at(at).0), [0, 6, 12, 60]);
        // In all three axes, the next run is 6 bytes away: they are one axis of 40 runs.
        assert_eq!(picked.stride_and_runs_left(2), (6, 39));
        // Rows 3, 0 and 3 of four columns in each of two planes.
        let picked = Runs::listed(0, (2, 160), (vec![96, 0, 96], 96), 32);
        assert_eq!((picked.byte_len(), picked.end()), (192, 288));
        assert_eq!([0, 32, 70, 96].map(|at| picked.offset_at(at)), [(96, 32), (0, 32), (102, 26), (256, 32)]);
        // The entire array.
        assert_eq!(Runs::new(0, vec![(4, 30), (5, 6), (6, 1)], 2).run_len(), 240);
    }
}
