//! Visits the elements of arrays that have many short axes.
//!
//! An iterator over the innermost axis is fast if the axis is long. Where it has 2 indices, most of the time goes
//! into the other axes. So the innermost axes are visited together, by a table of offsets.
#![allow(unsafe_code)]

use ndarray::{ArrayViewD, ArrayViewMutD};

use crate::elements::cast::BitwiseOut;

/// An axis is short if it has fewer indices.
pub(super) const SHORT_AXIS_LEN: usize = 16;

/// The order in which the elements of a strided array are visited.
pub(super) struct Walk {
    /// The axes outside of the tables, the slowest of the contiguous side first.
    outer: Vec<Axis>,
    /// Where each row begins on the strided and on the contiguous side. With the axes that are closest together on the
    /// strided side, complete cache lines are used on that side, too.
    rows: Vec<(isize, usize)>,
    /// Where each element of a row is on the strided side; on the other, a row is contiguous.
    columns: Vec<isize>,
}

#[derive(Clone, Copy, Default)]
struct Axis {
    len: usize,
    /// The distance of its indices on the strided side, in units of the caller.
    stride: isize,
    /// The distance on the contiguous side, in elements.
    number_stride: usize,
}

impl Walk {
    /// Creates a walk over axes, given by length and stride, in C order of the contiguous side. None has length 0.
    pub(super) fn new(axes: &mut dyn DoubleEndedIterator<Item = (usize, isize)>) -> Self {
        /// The largest table.
        const MAX_TABLE_LEN: usize = 512;
        let mut step = 1;
        let mut rest: Vec<Axis> = Vec::new();
        for (len, stride) in axes.rev().filter(|(len, _)| *len != 1) {
            rest.push(Axis { len, stride, number_stride: step });
            step *= len;
        }
        rest.reverse();
        let fits = |table: usize, axis: &Axis| table < SHORT_AXIS_LEN && table * axis.len <= MAX_TABLE_LEN;
        let closest = rest.last().map_or(0, |axis| axis.stride.unsigned_abs());
        let (mut columns, mut closest) = (vec![0], closest);
        while let Some(axis) = rest.last().copied().filter(|axis| fits(columns.len(), axis)) {
            rest.pop();
            closest = closest.min(axis.stride.unsigned_abs());
            let all = (0..axis.len as isize).flat_map(|index| {
                let place = move |column: &isize| index * axis.stride + column;
                columns.iter().map(place).collect::<Vec<_>>()
            });
            columns = all.collect();
        }
        let mut rows = vec![(0, 0)];
        let next = |rest: &[Axis], rows: usize| {
            let axes = rest.iter().copied().enumerate();
            axes.min_by_key(|(_, axis)| axis.stride.unsigned_abs())
                .filter(|(_, axis)| axis.stride.unsigned_abs() < closest && fits(rows, axis))
        };
        while let Some((at, axis)) = next(&rest, rows.len()) {
            let all = (0..axis.len).flat_map(|index| {
                let place = move |(offset, number): &(isize, usize)| {
                    (index as isize * axis.stride + offset, index * axis.number_stride + number)
                };
                rows.iter().map(place).collect::<Vec<_>>()
            });
            rows = all.collect();
            rest.remove(at);
        }
        Self { outer: rest, rows, columns }
    }

    /// Invokes `visit` with the offset of each element on the strided side, and its number on the contiguous side.
    #[inline]
    pub(super) fn for_each(&self, mut visit: impl FnMut(isize, usize)) {
        let one = (&Axis { len: 1, ..Axis::default() }, &[][..]);
        let (last, outer) = self.outer.split_last().unwrap_or(one);
        let mut indices = vec![0; outer.len()];
        let (mut offset, mut number) = (0, 0);
        loop {
            let (mut from, mut to) = (offset, number);
            for _ in 0..last.len {
                for (row, first) in &self.rows {
                    for (at, column) in self.columns.iter().enumerate() {
                        visit(from + row + column, to + first + at);
                    }
                }
                from = from.wrapping_add(last.stride); // the last sum is not used
                to += last.number_stride;
            }
            // The next indices of the outer axes.
            let mut axes = outer.iter().zip(&mut indices).rev();
            loop {
                let Some((axis, index)) = axes.next() else { return };
                *index += 1;
                offset = offset.wrapping_add(axis.stride);
                number += axis.number_stride;
                if *index < axis.len {
                    break;
                }
                *index = 0;
                offset = offset.wrapping_sub((axis.len as isize).wrapping_mul(axis.stride));
                number -= axis.len * axis.number_stride;
            }
        }
    }
}

fn axes<'a>(
    shape: &'a [usize],
    strides: &'a [isize],
) -> impl DoubleEndedIterator<Item = (usize, isize)> + 'a {
    shape.iter().copied().zip(strides.iter().copied())
}

/// Fills `into` with the bytes of the elements, in C order; its length must be exactly their size.
pub(super) fn gather<T>(from: &ArrayViewD<'_, T>, out: &BitwiseOut<T>, into: &mut [u8]) {
    let size = size_of::<T>();
    assert_eq!(into.len(), from.len() * size, "as many bytes as the elements have");
    if into.is_empty() {
        return;
    }
    let start = from.as_ptr();
    Walk::new(&mut axes(from.shape(), from.strides())).for_each(|offset, number| {
        // SAFETY: the offset is that of indices within the view, which borrows the elements.
        let item = unsafe { &*start.wrapping_offset(offset) };
        into[number * size..][..size].copy_from_slice(out.bytes(std::slice::from_ref(item)));
    });
}

/// Copies elements, which are in C order, into an array of as many elements.
pub(super) fn scatter<T: Copy>(items: &[T], mut into: ArrayViewMutD<'_, T>) {
    assert_eq!(items.len(), into.len(), "as many elements as the array has");
    if items.is_empty() {
        return;
    }
    let walk = Walk::new(&mut axes(into.shape(), into.strides()));
    let start = into.as_mut_ptr();
    walk.for_each(|offset, number| {
        // SAFETY: the offset is that of indices within the view, which borrows the elements mutably.
        unsafe { start.wrapping_offset(offset).write(items[number]) };
    });
}

#[cfg(test)]
mod tests {
    use super::Walk;

    /// Each element is visited once, at the offset that its indices have.
    #[test]
    fn walks_visit_each_element_once_at_its_offset() {
        let cases: &[&[(usize, isize)]] = &[
            &[],
            &[(5, -3)],
            &[
                (2, 1),
                (2, 2),
                (2, 4),
                (2, 8),
                (2, 16),
                (2, 32),
                (2, 64),
                (2, 128),
                (2, 256),
                (2, 512),
                (2, 1024),
            ],
            &[(7, 1), (3, 7), (700, 21)],
            &[(700, 3), (3, -1)],
            &[(3, 0), (20, 40), (1, 9), (40, -1)],
        ];
        for axes in cases {
            let count: usize = axes.iter().map(|(len, _)| len).product();
            let expected: Vec<isize> = (0..count)
                .map(|number| {
                    let mut left = number;
                    axes.iter().rev().fold(0, |offset, (len, stride)| {
                        let index = left % len;
                        left /= len;
                        offset + index as isize * stride
                    })
                })
                .collect();
            let mut found = vec![None; count];
            Walk::new(&mut axes.iter().copied()).for_each(|offset, number| {
                assert!(found[number].replace(offset).is_none(), "{axes:?} {number} twice");
            });
            assert_eq!(found, expected.into_iter().map(Some).collect::<Vec<_>>(), "{axes:?}");
        }
    }
}
