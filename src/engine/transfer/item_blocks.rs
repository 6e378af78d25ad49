//! [`ItemBlocks`]: divides arrays whose elements are encoded one by one into blocks.

use ndarray::{ArrayViewD, Axis, Slice};

use crate::bytes::kernels::{block_division, inner_byte_len};
use crate::shape::indices_of;

/// The division of an array into blocks, in C order of its axes.
pub(super) struct ItemBlocks<'a, T> {
    view: ArrayViewD<'a, T>,
    /// The axis that is divided.
    ///
    /// A block has one index of each axis before it, and all indices of the axes after it.
    axis: usize,
    /// How many indices of that axis are in a block.
    step: usize,
}

impl<'a, T> ItemBlocks<'a, T> {
    pub(super) fn new(mut view: ArrayViewD<'a, T>, item: usize) -> Self {
        simplify_axes(&mut view);
        let inner = |axis: usize| inner_byte_len(view.shape().iter().copied(), axis, item);
        let (axis, step) = block_division(view.ndim(), &inner);
        Self { view, axis, step }
    }

    /// Returns the number of blocks.
    pub(super) fn count(&self) -> usize {
        if self.view.is_empty() {
            return 0;
        }
        self.view.shape()[..self.axis].iter().product::<usize>() * self.piece_count()
    }

    fn piece_count(&self) -> usize {
        self.view.shape()[self.axis].div_ceil(self.step)
    }

    /// Returns a view of a block's elements, in C order.
    pub(super) fn block(&self, index: usize) -> ArrayViewD<'_, T> {
        let (outer, piece) = (index / self.piece_count(), index % self.piece_count());
        let mut block = self.view.view();
        let lengths = self.view.shape()[..self.axis].iter().rev().copied();
        for (axis, index) in (0..self.axis).rev().zip(indices_of(outer as u64, lengths)) {
            block = block.index_axis_move(Axis(axis), index);
        }
        let from = piece * self.step;
        let to = (from + self.step).min(block.len_of(Axis(0)));
        block.slice_axis_inplace(Axis(0), Slice::from(from..to));
        block
    }
}

/// Merges axes that are contiguous, and removes those of length 1. At least one axis remains.
fn simplify_axes<T>(view: &mut ArrayViewD<'_, T>) {
    for axis in 1..view.ndim() {
        view.merge_axes(Axis(axis - 1), Axis(axis));
    }
    for axis in (0..view.ndim()).rev() {
        if view.len_of(Axis(axis)) == 1 {
            view.index_axis_inplace(Axis(axis), 0);
        }
    }
    if view.ndim() == 0 {
        view.insert_axis_inplace(Axis(0));
    }
}
