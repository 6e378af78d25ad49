//! Divides an array, or a part of it, into blocks, without reading.

use std::ops::Range;

use crate::shape::Order;

/// Iterates over boxes that cover a part of an array, each as a range of indices along each axis.
#[derive(Clone, Debug)]
pub(super) struct BlockRanges {
    /// The part that is covered, as a range along each axis.
    part: Vec<Range<usize>>,
    /// The axes, from the slowest in the order of the visit.
    axes: Vec<usize>,
    /// The place in `axes` of the axis that is divided. Axes before it are indexed; axes after it are complete.
    split_axis: usize,
    /// The number of indices of the divided axis in each box.
    step: usize,
    /// The start of the next box on the axes up to and including the divided one; `None` after the last box.
    next_start: Option<Vec<usize>>,
}

impl BlockRanges {
    /// Cuts boxes of at least one and at most `max_elements` elements, each of which is contiguous in this order.
    pub(super) fn new(part: Vec<Range<usize>>, order: Order, max_elements: usize) -> Self {
        let mut axes: Vec<usize> = (0..part.len()).collect();
        if order == Order::Fortran {
            axes.reverse();
        }
        let mut split_axis = axes.len().saturating_sub(1);
        let mut within = 1;
        while split_axis > 0 && part[axes[split_axis]].len() <= max_elements / within {
            within *= part[axes[split_axis]].len().max(1);
            split_axis -= 1;
        }
        let is_empty = part.iter().any(Range::is_empty);
        Self::from_parts(part, axes, split_axis, (max_elements / within).max(1), is_empty)
    }

    /// Cuts pieces of `step` indices along one axis, which may be empty along another one.
    pub(super) fn along_axis(part: Vec<Range<usize>>, axis: usize, step: usize) -> Self {
        let others = (0..part.len()).filter(|other| *other != axis);
        let axes = std::iter::once(axis).chain(others).collect();
        let is_empty = part[axis].is_empty();
        Self::from_parts(part, axes, 0, step.max(1), is_empty)
    }

    fn from_parts(
        part: Vec<Range<usize>>,
        axes: Vec<usize>,
        split_axis: usize,
        step: usize,
        is_empty: bool,
    ) -> Self {
        let first = axes.iter().take(split_axis + 1).map(|axis| part[*axis].start).collect();
        let next_start = if is_empty { None } else { Some(first) };
        Self { part, axes, split_axis, step, next_start }
    }

    /// Returns `count` boxes that follow one another as one, or those that are left. `None` after the last box.
    pub(super) fn next_merged(&mut self, count: usize) -> Option<Vec<Range<usize>>> {
        let step = self.step;
        self.step = step.saturating_mul(count);
        let many = self.next();
        self.step = step;
        many
    }

    /// Ends the iteration.
    pub(super) fn stop(&mut self) {
        self.next_start = None;
    }

    /// Returns how many boxes are left.
    pub(super) fn boxes_left(&self) -> usize {
        let Some(next) = &self.next_start else { return 0 };
        let mut left = 0usize;
        for (place, start) in next.iter().enumerate() {
            let range = &self.part[self.axes[place]];
            let (step, more) = if place == self.split_axis { (self.step, 0) } else { (1, 1) };
            // On the axes before the cut one, the current index is counted by the next axis.
            let own = range.len().div_ceil(step);
            let ahead = (range.end - start).div_ceil(step) - more;
            left = left.saturating_mul(own).saturating_add(ahead);
        }
        if next.is_empty() { 1 } else { left }
    }
}

impl Iterator for BlockRanges {
    type Item = Vec<Range<usize>>;

    fn next(&mut self) -> Option<Self::Item> {
        let from = self.next_start.take()?;
        let mut ranges = self.part.clone();
        for (place, start) in from.iter().enumerate() {
            let range = &mut ranges[self.axes[place]];
            let step = if place == self.split_axis { self.step } else { 1 };
            *range = *start..range.end.min(start.saturating_add(step));
        }
        let mut after = from;
        for place in (0..after.len()).rev() {
            let range = &self.part[self.axes[place]];
            let step = if place == self.split_axis { self.step } else { 1 };
            after[place] = after[place].saturating_add(step);
            if after[place] < range.end {
                self.next_start = Some(after);
                break;
            }
            after[place] = range.start;
        }
        Some(ranges)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array, Axis, SliceInfoElem};

    use super::BlockRanges;
    use crate::shape::Order;

    #[test]
    fn blocks_cover_all_elements_in_order() {
        for shape in [vec![], vec![7], vec![3, 5], vec![2, 3, 4], vec![1, 1, 9, 1], vec![0, 3]] {
            let len: usize = shape.iter().product();
            let array = Array::from_iter(0..len).into_shape_with_order(shape.clone()).unwrap();
            let all: Vec<_> = shape.iter().map(|length| 0..*length).collect();
            let inner: Vec<_> = shape.iter().map(|length| length / 3..*length).collect();
            for part in [all, inner] {
                let slice = |ranges: &[std::ops::Range<usize>]| -> Vec<SliceInfoElem> {
                    let of = |range: &std::ops::Range<usize>| {
                        let (start, end) = (range.start as isize, Some(range.end as isize));
                        SliceInfoElem::Slice { start, end, step: 1 }
                    };
                    ranges.iter().map(of).collect()
                };
                let view = array.slice(&slice(&part)[..]);
                let numbers = |view: ndarray::ArrayViewD<'_, usize>| view.iter().copied().collect::<Vec<_>>();
                for max_elements in [1, 2, 5, 12, 100] {
                    let cut = BlockRanges::new(part.clone(), Order::C, max_elements);
                    assert_eq!(cut.boxes_left(), cut.clone().count());
                    let mut left = cut.boxes_left();
                    let mut block_ranges = cut.clone();
                    let mut found = Vec::new();
                    while let Some(ranges) = block_ranges.next() {
                        let own = numbers(array.slice(&slice(&ranges)[..]));
                        assert!(own.len() <= max_elements);
                        left -= 1;
                        assert_eq!(block_ranges.boxes_left(), left, "{part:?} by {max_elements}");
                        found.extend(own);
                    }
                    assert_eq!(found, numbers(view.clone()), "{part:?} by {max_elements}");
                    let cut = BlockRanges::new(part.clone(), Order::Fortran, max_elements);
                    let found =
                        cut.flat_map(|ranges| numbers(array.slice(&slice(&ranges)[..]).reversed_axes()));
                    assert_eq!(found.collect::<Vec<_>>(), numbers(view.clone().reversed_axes()));
                }
                for axis in 0..shape.len() {
                    let pieces: Vec<_> = BlockRanges::along_axis(part.clone(), axis, 2).collect();
                    let found = pieces.iter().map(|ranges| array.slice(&slice(ranges)[..]));
                    let wanted = view.axis_chunks_iter(Axis(axis), 2);
                    assert_eq!(found.collect::<Vec<_>>(), wanted.collect::<Vec<_>>(), "{part:?}: {axis}");
                    assert_eq!(BlockRanges::along_axis(part.clone(), axis, 2).boxes_left(), pieces.len());
                }
            }
        }
    }
}
