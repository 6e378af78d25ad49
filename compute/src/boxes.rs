//! Boxes of an array: for each axis, a range of its indices.

use std::ops::Range;

/// Returns the boxes that a range of the elements of an array forms, in order: for each axis, the indices. The first axis is the slowest.
///
/// ```
/// let boxes = ndarray_io_compute::boxes(&[3, 4], 2..9);
/// assert_eq!(boxes, [[0..1, 2..4], [1..2, 0..4], [2..3, 0..1]]);
/// ```
pub fn boxes(dims: &[usize], elements: Range<u64>) -> Vec<Vec<Range<usize>>> {
    let mut boxes = Vec::new();
    add_boxes(dims, elements.start, elements.end, &mut Vec::new(), &mut boxes);
    boxes
}

/// Returns the index in an array of an element of a box, by its number in the box in C order.
///
/// ```
/// assert_eq!(ndarray_io_compute::index_in(&[2..4, 0..5], 7), [3, 2]);
/// ```
pub fn index_in(ranges: &[Range<usize>], number: usize) -> Vec<usize> {
    let (mut rest, mut index) = (number, vec![0; ranges.len()]);
    for (at, range) in index.iter_mut().zip(ranges).rev() {
        let length = range.len().max(1);
        *at = range.start + rest % length;
        rest /= length;
    }
    index
}

/// Returns the number in an array, in C order, of each element of a box.
pub(crate) fn numbers_of<'a>(
    ranges: impl IntoIterator<Item = &'a Range<usize>>,
    lengths: &[usize],
) -> Vec<usize> {
    ranges.into_iter().zip(lengths).fold(vec![0], |numbers: Vec<usize>, (range, length)| {
        numbers.iter().flat_map(|number| range.clone().map(move |index| number * length + index)).collect()
    })
}

/// Returns the axes in the order in which the groups come first.
pub(crate) fn groups_first(ndim: usize, kept: &[usize]) -> Vec<usize> {
    kept.iter().copied().chain((0..ndim).filter(|axis| !kept.contains(axis))).collect()
}

/// Adds the boxes that the elements from `from` to `to` of an array form, in order; the first axis is the slowest.
fn add_boxes(
    dims: &[usize],
    from: u64,
    to: u64,
    outer: &mut Vec<Range<usize>>,
    boxes: &mut Vec<Vec<Range<usize>>>,
) {
    if from >= to {
        return;
    }
    let Some((_, within)) = dims.split_first() else {
        return boxes.push(outer.clone());
    };
    let inner: u64 = within.iter().map(|length| *length as u64).product();
    let one = |index: u64,
               from: u64,
               to: u64,
               outer: &mut Vec<Range<usize>>,
               boxes: &mut Vec<Vec<Range<usize>>>| {
        outer.push(index as usize..index as usize + 1);
        add_boxes(within, from, to, outer, boxes);
        outer.pop();
    };
    let (first, last) = (from / inner, to / inner);
    if first == last {
        return one(first, from % inner, to % inner, outer, boxes);
    }
    if !from.is_multiple_of(inner) {
        one(first, from % inner, inner, outer, boxes);
    }
    let whole = from.div_ceil(inner)..last;
    if !whole.is_empty() {
        let mut ranges = outer.clone();
        ranges.push(whole.start as usize..whole.end as usize);
        ranges.extend(within.iter().map(|length| 0..*length));
        boxes.push(ranges);
    }
    if !to.is_multiple_of(inner) {
        one(last, 0, to % inner, outer, boxes);
    }
}

#[cfg(test)]
mod tests {
    use super::boxes;

    /// The elements of the boxes are those of the range, each once and in order.
    #[test]
    fn boxes_cover_a_range_in_order() {
        let dims = [3, 4, 5];
        for from in 0..=60 {
            for to in from..=60 {
                let boxes = boxes(&dims, from..to);
                assert!(boxes.len() <= 5, "{boxes:?}");
                let mut found = Vec::new();
                for ranges in &boxes {
                    for a in ranges[0].clone() {
                        for b in ranges[1].clone() {
                            found.extend(ranges[2].clone().map(|c| ((a * 4 + b) * 5 + c) as u64));
                        }
                    }
                }
                assert_eq!(found, (from..to).collect::<Vec<_>>(), "{from}..{to}");
            }
        }
    }
}
