//! Strided arrays as blocks of bytes in the order of the file.
//!
//! [`Plan`] cuts an array into blocks that follow one another in the file, and [`gather`] fills one: row by row where
//! rows lie together, and else tile by tile, so that each line of the cache is fetched once and used whole. One element
//! at a time would fetch the lines of a transposed array again for every element in them.

use ndarray::{ArrayViewD, Axis, Slice};

use crate::element::cast::PlainOut;

/// About how large a block is.
const BLOCK: usize = 1 << 20;
/// How large a block may become so that a transposed array's cache lines are used whole.
const LARGEST_BLOCK: usize = 16 << 20;
/// How many bytes of the axis that lies together a tile takes: a line of the cache, but at least a few elements.
const TILE_BYTES: usize = 64;
const TILE_MIN: usize = 8;

/// An array cut into blocks, in C order of its axes.
pub(super) struct Plan<'a, T> {
    view: ArrayViewD<'a, T>,
    /// The axis that is cut. Of the axes before it a block has one index, of those behind it all.
    axis: usize,
    /// How many indices of that axis a block has.
    step: usize,
    item: usize,
}

impl<'a, T> Plan<'a, T> {
    pub(super) fn new(mut view: ArrayViewD<'a, T>, item: usize) -> Self {
        simplify(&mut view);
        let shape = view.shape();
        let inner = |axis: usize| shape[axis + 1..].iter().product::<usize>().saturating_mul(item).max(1);
        let last = shape.len() - 1;
        let mut axis = (0..last).find(|&axis| inner(axis) <= BLOCK).unwrap_or(last);
        let mut step = (BLOCK / inner(axis)).max(1);
        let together = closest_axis(&view);
        let wanted = tile_width(item);
        let transposed = together < axis || (together == axis && together < last && step < wanted);
        if transposed && inner(together).saturating_mul(wanted) <= LARGEST_BLOCK {
            (axis, step) = (together, wanted);
        }
        Self { view, axis, step, item }
    }

    /// How many blocks there are.
    pub(super) fn count(&self) -> usize {
        if self.view.is_empty() {
            return 0;
        }
        self.view.shape()[..self.axis].iter().product::<usize>() * self.pieces()
    }

    fn pieces(&self) -> usize {
        self.view.shape()[self.axis].div_ceil(self.step)
    }

    /// The elements of a block, in C order.
    pub(super) fn block(&self, index: usize) -> ArrayViewD<'_, T> {
        let (mut outer, piece) = (index / self.pieces(), index % self.pieces());
        let mut block = self.view.view();
        for axis in (0..self.axis).rev() {
            let length = block.len_of(Axis(axis));
            block = block.index_axis_move(Axis(axis), outer % length);
            outer /= length;
        }
        let from = piece * self.step;
        let to = (from + self.step).min(block.len_of(Axis(0)));
        block.slice_axis_inplace(Axis(0), Slice::from(from..to));
        block
    }

    pub(super) fn item(&self) -> usize {
        self.item
    }
}

/// Joins the axes that follow one another in memory as they do in the file, and drops those of length 1. At least one
/// axis stays.
fn simplify<T>(view: &mut ArrayViewD<'_, T>) {
    for axis in (1..view.ndim()).rev() {
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

/// The axis whose elements lie closest together.
fn closest_axis<T>(view: &ArrayViewD<'_, T>) -> usize {
    let strides = view.strides().iter().enumerate().filter(|(_, stride)| **stride != 0);
    strides.rev().min_by_key(|(_, stride)| stride.unsigned_abs()).map_or(view.ndim() - 1, |(axis, _)| axis)
}

fn tile_width(item: usize) -> usize {
    (TILE_BYTES / item.max(1)).max(TILE_MIN)
}

/// Fills `into` with the bytes of the elements, in C order. It has just their size.
pub(super) fn gather<T>(block: &ArrayViewD<'_, T>, out: PlainOut<T>, into: &mut [u8]) {
    let last = block.ndim() - 1;
    let row_bytes = block.len_of(Axis(last)) * size_of::<T>();
    let together = closest_axis(block);
    if into.is_empty() {
        return;
    }
    if block.strides()[last] == 1 {
        for (row, into) in block.rows().into_iter().zip(into.chunks_exact_mut(row_bytes)) {
            match row.to_slice() {
                Some(row) => into.copy_from_slice(out.bytes(row)),
                None => copy_each(row.iter(), out, into),
            }
        }
    } else if together == last || block.len_of(Axis(together)) == 1 {
        for (row, into) in block.rows().into_iter().zip(into.chunks_exact_mut(row_bytes)) {
            copy_each(row.iter(), out, into);
        }
    } else {
        transpose(block, together, out, into);
    }
}

fn copy_each<'a, T: 'a>(items: impl Iterator<Item = &'a T>, out: PlainOut<T>, into: &mut [u8]) {
    for (item, into) in items.zip(into.chunks_exact_mut(size_of::<T>())) {
        into.copy_from_slice(out.bytes(std::slice::from_ref(item)));
    }
}

/// Gathers a block whose elements lie together along another axis than the last: in planes of that axis and the last,
/// each in tiles that are narrow along it.
fn transpose<T>(block: &ArrayViewD<'_, T>, together: usize, out: PlainOut<T>, into: &mut [u8]) {
    let size = size_of::<T>();
    let last = block.ndim() - 1;
    // How far apart in the file the neighbours of each axis are.
    let mut steps = vec![size; block.ndim()];
    for axis in (0..last).rev() {
        steps[axis] = steps[axis + 1] * block.len_of(Axis(axis + 1));
    }
    let row = steps[together];
    let outer: Vec<usize> = (0..last).filter(|&axis| axis != together).collect();
    let planes: usize = outer.iter().map(|&axis| block.len_of(Axis(axis))).product();
    let width = tile_width(size);

    for plane in 0..planes {
        let (mut rest, mut at) = (plane, 0);
        let mut view = block.view();
        for &axis in outer.iter().rev() {
            let length = block.len_of(Axis(axis));
            view.collapse_axis(Axis(axis), rest % length);
            at += rest % length * steps[axis];
            rest /= length;
        }
        for &axis in outer.iter().rev() {
            view.index_axis_inplace(Axis(axis), 0);
        }
        // Two axes are left, the one that lies together and then the last.
        for (number, tile) in view.axis_chunks_iter(Axis(0), width).enumerate() {
            let at = at + number * width * row;
            for (column, items) in tile.columns().into_iter().enumerate() {
                let mut at = at + column * size;
                for item in items {
                    into[at..at + size].copy_from_slice(out.bytes(std::slice::from_ref(item)));
                    at += row;
                }
            }
        }
    }
}
