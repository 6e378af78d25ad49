//! Splits an array, which may be larger than memory, into blocks.
//!
//! Each block is a contiguous run of elements in the chosen order.

use std::borrow::Cow;

use ndarray::SliceInfoElem;
use ndarray_io::header::Order;
use ndarray_io::{DynArray, ReadNpyExt, WriteNpyExt, WriteOptions};

/// Returns the array in this order. With at most one axis longer than 1, both orders are the same.
pub(crate) fn in_order(array: &DynArray, order: Order) -> Result<Cow<'_, DynArray>, ndarray_io::Error> {
    if array.order() == order || array.shape().iter().filter(|length| **length != 1).count() < 2 {
        return Ok(Cow::Borrowed(array));
    }
    let mut file = Vec::new();
    array.write_npy_with(&mut file, &WriteOptions::new().order(order))?;
    Ok(Cow::Owned(DynArray::read_npy_with(&file[..], &crate::password::options().allow_objects(true))?))
}

/// Iterates over slices that cover an array, in the chosen order.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// The lengths of the axes, slowest-varying first.
    dims: Vec<usize>,
    order: Order,
    /// The axis that is split. Axes before it are indexed; axes after it are complete.
    cut: usize,
    /// The number of indices of the split axis in each block.
    step: usize,
    /// The start of the next block, on the axes up to and including the split one; `None` after the last
    /// block.
    next: Option<Vec<usize>>,
}

impl Blocks {
    /// Makes blocks of at least one and at most `most` elements.
    pub(crate) fn new(shape: &[usize], order: Order, most: usize) -> Self {
        let mut dims = shape.to_vec();
        if order == Order::Fortran {
            dims.reverse();
        }
        if dims.contains(&0) {
            return Self { dims, order, cut: 0, step: 1, next: None };
        }
        let mut cut = dims.len().saturating_sub(1);
        let mut within = 1;
        while cut > 0 && dims[cut] <= most / within {
            within *= dims[cut];
            cut -= 1;
        }
        let step = (most / within).max(1);
        let first = vec![0; if dims.is_empty() { 0 } else { cut + 1 }];
        Self { dims, order, cut, step, next: Some(first) }
    }
}

impl Iterator for Blocks {
    /// The slice, and the index of its first element in the array.
    type Item = (Vec<SliceInfoElem>, Vec<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let from = self.next.take()?;
        let mut slice = Vec::new();
        for (axis, length) in self.dims.iter().enumerate() {
            let (start, end) = match axis {
                _ if axis < self.cut => (from[axis], from[axis] + 1),
                _ if axis == self.cut => (from[axis], (from[axis] + self.step).min(*length)),
                _ => (0, *length),
            };
            slice.push(SliceInfoElem::Slice { start: start as isize, end: Some(end as isize), step: 1 });
        }
        let mut after = from.clone();
        if let Some(last) = after.last_mut() {
            *last += self.step;
        }
        for axis in (0..after.len()).rev() {
            if after[axis] < self.dims[axis] {
                self.next = Some(after);
                break;
            }
            if axis == 0 {
                break;
            }
            after[axis] = 0;
            after[axis - 1] += 1;
        }
        let mut first = from;
        first.resize(self.dims.len(), 0);
        if self.order == Order::Fortran {
            slice.reverse();
            first.reverse();
        }
        Some((slice, first))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array;
    use ndarray_io::header::Order;

    use super::Blocks;

    #[test]
    fn blocks_are_all_elements_in_order() {
        for shape in [vec![], vec![7], vec![3, 5], vec![2, 3, 4], vec![1, 1, 9, 1], vec![0, 3]] {
            let len: usize = shape.iter().product();
            let array = Array::from_iter(0..len).into_shape_with_order(shape.clone()).unwrap();
            for most in [1, 2, 5, 12, 100] {
                let blocks = Blocks::new(&shape, Order::C, most);
                let parts = blocks.flat_map(|(slice, first)| {
                    let part = array.slice(&slice[..]).iter().copied().collect::<Vec<_>>();
                    assert!(part.len() <= most && part[0] == array[&first[..]]);
                    part
                });
                assert_eq!(parts.collect::<Vec<_>>(), (0..len).collect::<Vec<_>>(), "{shape:?} by {most}");
                let by_columns = Blocks::new(&shape, Order::Fortran, most);
                let parts = by_columns
                    .flat_map(|(slice, _)| array.slice(&slice[..]).t().iter().copied().collect::<Vec<_>>());
                assert_eq!(parts.collect::<Vec<_>>(), array.t().iter().copied().collect::<Vec<_>>());
            }
        }
    }
}
