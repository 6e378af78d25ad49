//! Copies strided arrays into blocks of bytes in the order of the file.
//!
//! [`BlockPlan`] divides an array into consecutive blocks of the file, and [`gather`] fills a block: row by row if
//! rows are contiguous, otherwise tile by tile, so that each cache line is loaded once and used completely.
//! Copying a transposed array element by element would load each line once for every element in the line.

use ndarray::{ArrayBase, ArrayView2, ArrayViewD, Axis, Ix2, IxDyn, RawData, Slice, s};

use super::walk::{self, SHORT_AXIS_LEN};
use crate::bytes::AsChunks;
use crate::elements::cast::BitwiseOut;
use crate::shape::indices_of;

/// The approximate size of a block.
const BLOCK_LEN: usize = 1 << 20;
/// The maximum size of a block that is enlarged to use a transposed array's cache lines completely.
const MAX_BLOCK_LEN: usize = 16 << 20;
/// The side of the squares in which a transposed array is copied, in elements.
const TILE_SIDE: usize = 8;
/// The minimum length of a transposed block along the contiguous axis, in bytes: a few complete cache lines.
///
/// Such a block also has at least two squares along that axis.
const MIN_CONTIGUOUS_BYTES: usize = 128;

/// The division of an array into blocks, in C order of its axes.
pub(super) struct BlockPlan<'a, T> {
    view: ArrayViewD<'a, T>,
    /// The axis that is divided.
    ///
    /// A block has one index of each axis before it, and all indices of the axes after it.
    axis: usize,
    /// How many indices of that axis are in a block.
    step: usize,
}

impl<'a, T> BlockPlan<'a, T> {
    pub(super) fn new(mut view: ArrayViewD<'a, T>, item: usize) -> Self {
        simplify_axes(&mut view);
        let (axis, step) = block_division(&view, item);
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

/// Returns the axis along which an array is divided into blocks, and the number of its indices in each.
pub(super) fn block_division<S: RawData>(view: &ArrayBase<S, IxDyn>, item: usize) -> (usize, usize) {
    let shape = view.shape();
    let inner = |axis: usize| shape[axis + 1..].iter().product::<usize>().saturating_mul(item).max(1);
    let last = shape.len() - 1;
    let axis = (0..last).find(|&axis| inner(axis) <= BLOCK_LEN).unwrap_or(last);
    let step = (BLOCK_LEN / inner(axis)).max(1);
    // Blocks of a transposed array need several indices of the contiguous axis, to fill cache lines.
    let fastest = smallest_stride_axis(view);
    let wanted = (MIN_CONTIGUOUS_BYTES / item.max(1)).max(2 * TILE_SIDE);
    let transposed = fastest < axis || (fastest == axis && fastest < last && step < wanted);
    match transposed && inner(fastest).saturating_mul(wanted) <= MAX_BLOCK_LEN {
        true => (fastest, wanted),
        false => (axis, step),
    }
}

/// Merges axes that are contiguous in both memory and file, and removes those of length 1.
///
/// At least one axis remains.
pub(super) fn simplify_axes<S: RawData>(view: &mut ArrayBase<S, IxDyn>) {
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

/// Permutes the axes of contiguous elements of `item` bytes.
///
/// `order` lists the axes of `items` in the order of the result, the slowest first.
pub(crate) fn permute_axes(items: &[u8], lens: &[usize], order: &[usize], item: usize, into: &mut [u8]) {
    match item {
        0 => {}
        1 => permute_axes_of_units::<1>(items, lens, order, 1, into),
        2 => permute_axes_of_units::<2>(items, lens, order, 1, into),
        4 => permute_axes_of_units::<4>(items, lens, order, 1, into),
        8 => permute_axes_of_units::<8>(items, lens, order, 1, into),
        16 => permute_axes_of_units::<16>(items, lens, order, 1, into),
        _ if item % 8 == 0 => permute_axes_of_units::<8>(items, lens, order, item / 8, into),
        _ if item % 4 == 0 => permute_axes_of_units::<4>(items, lens, order, item / 4, into),
        _ => permute_axes_of_units::<1>(items, lens, order, item, into),
    }
}

/// Permutes the axes of elements that consist of `each` units.
fn permute_axes_of_units<const SIZE: usize>(
    items: &[u8],
    lens: &[usize],
    order: &[usize],
    each: usize,
    into: &mut [u8],
) {
    let out = crate::elements::raw_units::<SIZE>();
    let mut dims = lens.to_vec();
    let mut order = order.to_vec();
    if each > 1 || dims.is_empty() {
        order.push(dims.len());
        dims.push(each);
    }
    // The number of items is exactly the product of the lengths.
    let view =
        ArrayViewD::from_shape(dims, items.chunks_of::<SIZE>()).expect("just the items of the lengths");
    let mut view = view.permuted_axes(order);
    simplify_axes(&mut view);
    gather(&view, &out, into);
}

/// Returns the axis with the smallest nonzero stride, or the last axis if all strides are zero.
pub(super) fn smallest_stride_axis<S: RawData>(view: &ArrayBase<S, IxDyn>) -> usize {
    let strides = view.strides().iter().enumerate().filter(|(_, stride)| **stride != 0);
    strides.rev().min_by_key(|(_, stride)| stride.unsigned_abs()).map_or(view.ndim() - 1, |(axis, _)| axis)
}

/// Returns whether the elements are moved one by one, because there are only short runs or small squares of them.
pub(super) fn is_copied_by_element<S: RawData>(view: &ArrayBase<S, IxDyn>) -> bool {
    let (last, fastest) = (view.ndim() - 1, smallest_stride_axis(view));
    let row = view.len_of(Axis(last));
    match fastest == last || view.len_of(Axis(fastest)) == 1 {
        true => row < SHORT_AXIS_LEN && view.ndim() > 1,
        false => row.min(view.len_of(Axis(fastest))) < TILE_SIDE,
    }
}

/// Fills `into` with the bytes of the elements, in C order; its length must be exactly their size.
pub(super) fn gather<T>(block: &ArrayViewD<'_, T>, out: &BitwiseOut<T>, into: &mut [u8]) {
    let last = block.ndim() - 1;
    let row_bytes = block.len_of(Axis(last)) * size_of::<T>();
    let fastest = smallest_stride_axis(block);
    if into.is_empty() {
        return;
    }
    if is_copied_by_element(block) {
        walk::gather(block, out, into);
    } else if block.strides()[last] == 1 {
        for (row, into) in block.rows().into_iter().zip(into.chunks_exact_mut(row_bytes)) {
            match row.to_slice() {
                Some(row) => into.copy_from_slice(out.bytes(row)),
                None => copy_each(row.iter(), out, into),
            }
        }
    } else if fastest == last || block.len_of(Axis(fastest)) == 1 {
        for (row, into) in block.rows().into_iter().zip(into.chunks_exact_mut(row_bytes)) {
            copy_each(row.iter(), out, into);
        }
    } else {
        transpose(block, fastest, out, into);
    }
}

fn copy_each<'a, T: 'a>(items: impl Iterator<Item = &'a T>, out: &BitwiseOut<T>, into: &mut [u8]) {
    for (item, into) in items.zip(into.chunks_exact_mut(size_of::<T>())) {
        into.copy_from_slice(out.bytes(std::slice::from_ref(item)));
    }
}

/// Copies a block whose contiguous axis is not the last.
///
/// The block is divided into planes of that axis and the last one, and each plane into narrow tiles.
fn transpose<T>(block: &ArrayViewD<'_, T>, fastest: usize, out: &BitwiseOut<T>, into: &mut [u8]) {
    let size = size_of::<T>();
    let last = block.ndim() - 1;
    // The stride of each axis in the file, in bytes.
    let mut steps = vec![size; block.ndim()];
    for axis in (0..last).rev() {
        steps[axis] = steps[axis + 1] * block.len_of(Axis(axis + 1));
    }
    let row = steps[fastest];
    let outer: Vec<usize> = (0..last).filter(|&axis| axis != fastest).collect();
    let planes: usize = outer.iter().map(|&axis| block.len_of(Axis(axis))).product();

    for plane in 0..planes {
        let (mut view, mut at) = (block.view(), 0);
        let lengths = outer.iter().rev().map(|&axis| block.len_of(Axis(axis)));
        for (&axis, index) in outer.iter().rev().zip(indices_of(plane as u64, lengths)) {
            view.collapse_axis(Axis(axis), index);
            at += index * steps[axis];
        }
        for &axis in outer.iter().rev() {
            view.index_axis_inplace(Axis(axis), 0);
        }
        // Of the two remaining axes, the contiguous one comes first.
        let Ok(plane) = view.into_dimensionality::<Ix2>() else { unreachable!("two axes are left") };
        transpose_plane(plane, out, &mut into[at..], row);
    }
}

/// Copies a plane whose first axis is contiguous; its rows are `row` bytes apart in the file.
fn transpose_plane<T>(plane: ArrayView2<'_, T>, out: &BitwiseOut<T>, into: &mut [u8], row: usize) {
    // A constant, so that only one of the arms is compiled for a type.
    match const { size_of::<T>() } {
        1 => transpose_tiles::<1>(byte_plane(&plane, out), into, row),
        2 => transpose_tiles::<2>(byte_plane(&plane, out), into, row),
        4 => transpose_tiles::<4>(byte_plane(&plane, out), into, row),
        8 => transpose_tiles::<8>(byte_plane(&plane, out), into, row),
        16 => transpose_tiles::<16>(byte_plane(&plane, out), into, row),
        _ => {
            for (line, into) in plane.rows().into_iter().zip(into.chunks_mut(row)) {
                copy_each(line.iter(), out, into);
            }
        }
    }
}

fn byte_plane<'a, T, const SIZE: usize>(
    plane: &'a ArrayView2<'_, T>,
    out: &BitwiseOut<T>,
) -> ArrayView2<'a, [u8; SIZE]> {
    out.strided(plane).units().into_dimensionality().expect("it has two axes")
}

/// Transposes tiles in registers and writes their rows.
///
/// Writing one element at a time would evict the rows from the cache, because rows that are this far apart
/// often compete for the same cache lines.
fn transpose_tiles<const SIZE: usize>(plane: ArrayView2<'_, [u8; SIZE]>, into: &mut [u8], row: usize) {
    for (number, columns) in plane.axis_chunks_iter(Axis(1), TILE_SIDE).enumerate() {
        let into = &mut into[number * TILE_SIDE * SIZE..];
        let mut lanes: [&[[u8; SIZE]]; TILE_SIDE] = [&[]; TILE_SIDE];
        let mut is_tiled = columns.ncols() == TILE_SIDE;
        for (lane, items) in lanes.iter_mut().zip(columns.columns()) {
            match items.to_slice() {
                Some(items) => *lane = items,
                None => is_tiled = false,
            }
        }
        if !is_tiled {
            copy_plane(columns, into, row);
            continue;
        }
        let whole = columns.nrows() / TILE_SIDE * TILE_SIDE;
        for from in (0..whole).step_by(TILE_SIDE) {
            let mut tile = [[[0; SIZE]; TILE_SIDE]; TILE_SIDE];
            for (column, lane) in lanes.iter().enumerate() {
                for (line, item) in lane[from..from + TILE_SIDE].iter().enumerate() {
                    tile[line][column] = *item;
                }
            }
            for (line, items) in tile.iter().enumerate() {
                into[(from + line) * row..][..TILE_SIDE * SIZE].copy_from_slice(items.as_flattened());
            }
        }
        if whole < columns.nrows() {
            copy_plane(columns.slice(s![whole.., ..]), &mut into[whole * row..], row);
        }
    }
}

/// Copies the elements of a plane one by one.
fn copy_plane<const SIZE: usize>(plane: ArrayView2<'_, [u8; SIZE]>, into: &mut [u8], row: usize) {
    for (line, into) in plane.rows().into_iter().zip(into.chunks_mut(row)) {
        for (item, into) in line.iter().zip(into.chunks_of_mut()) {
            *into = *item;
        }
    }
}
