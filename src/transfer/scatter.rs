//! Reads contiguous elements into strided arrays, the opposite of [`gather`](super::gather).
#![allow(unsafe_code)]

use ndarray::{ArrayView2, ArrayViewD, ArrayViewMut1, ArrayViewMut2, ArrayViewMutD, Axis, Ix2, s};

use super::Effort;
use super::gather::{block_division, is_copied_by_element, simplify_axes, smallest_stride_axis};
use super::parallel::for_each_parallel;
use super::source::Source;
use super::truncated;
use super::walk;
use crate::bytes::AsChunks;
use crate::bytes::scratch;
use crate::elements::cast::Bitwise;
use crate::error::Result;
use crate::header::Header;
use crate::options::ReadOptions;
use crate::progress::ProgressReporter;

/// The side of the squares in which a transposed array is copied, in elements.
const TILE_SIDE: usize = 8;

/// Reads all elements into an array whose axes are in the order of the file.
///
/// Returns `false`, without having read anything, if the source has no positions, or if such elements cannot be moved
/// as units of up to 16 bytes.
pub(super) fn read_strided<T>(
    source: &mut Source<'_>,
    header: &Header,
    bitwise: &Bitwise<T>,
    target: &mut ArrayViewMutD<'_, T>,
    (reporter, options): (&ProgressReporter, &ReadOptions),
) -> Result<bool> {
    // A constant, so that only one of the arms is compiled for a type.
    match const { size_of::<T>() } {
        1 => read_units::<T, 1>(source, header, bitwise, target, (reporter, options)),
        2 => read_units::<T, 2>(source, header, bitwise, target, (reporter, options)),
        4 => read_units::<T, 4>(source, header, bitwise, target, (reporter, options)),
        8 => read_units::<T, 8>(source, header, bitwise, target, (reporter, options)),
        16 => read_units::<T, 16>(source, header, bitwise, target, (reporter, options)),
        _ => Ok(false),
    }
}

fn read_units<T, const SIZE: usize>(
    source: &mut Source<'_>,
    header: &Header,
    bitwise: &Bitwise<T>,
    target: &mut ArrayViewMutD<'_, T>,
    (reporter, options): (&ProgressReporter, &ReadOptions),
) -> Result<bool> {
    if source.positioned().is_none() {
        return Ok(false);
    }
    // SAFETY: only bytes that have passed `swap_and_check` are copied into it, as complete elements.
    let target = unsafe { bitwise.view_byte_arrays_mut::<SIZE>(target.view_mut()) };
    let Some(target) = target else { return Ok(false) };
    read_byte_arrays(source, header, target, &|bytes| bitwise.swap_and_check(bytes), (reporter, options))?;
    Ok(true)
}

/// Reads elements as arrays of bytes; `swap_and_check` is called with complete elements, before they are copied.
fn read_byte_arrays<const SIZE: usize>(
    source: &mut Source<'_>,
    header: &Header,
    mut target: ArrayViewMutD<'_, [u8; SIZE]>,
    swap_and_check: &(dyn Fn(&mut [u8]) -> Result<()> + Sync),
    (reporter, options): (&ProgressReporter, &ReadOptions),
) -> Result<()> {
    let Some(positioned) = source.positioned() else { unreachable!("the caller has asked") };
    simplify_axes(&mut target);
    let (axis, step) = block_division(&target, SIZE);
    let bytes = target.len() * SIZE;
    let mut blocks = Vec::new();
    split_into_blocks(target, axis, step, &mut blocks);
    let mut at = 0;
    let blocks = blocks.into_iter().map(|block| {
        let start = at;
        at += block.len() * SIZE;
        (start, block)
    });
    let effort = Effort::moving(2 * bytes as u64).and(positioned.run_lookup_effort());
    let threads = effort.threads_on(&positioned.hints(), || options.get_threads());
    let work = |words: &mut Vec<u128>, (at, block): (usize, ArrayViewMutD<'_, [u8; SIZE]>)| {
        let mut buf = scratch(words, block.len() * SIZE)?;
        let filled = positioned.fill_read_buf(&mut buf, usize::MAX, at)?;
        if buf.left() > 0 {
            return Err(truncated(header, (at + filled) as u64));
        }
        let loaded = buf.into_filled();
        // Nothing that is invalid reaches the array.
        swap_and_check(loaded).map_err(|error| error.offset_element(at / SIZE))?;
        scatter(loaded.chunks_of(), block);
        reporter.add(filled)
    };
    for_each_parallel(blocks, threads, &Vec::new, &work, &mut || Ok(()))?;
    source.advance(bytes as u64);
    Ok(())
}

/// Divides an array into blocks that are consecutive in the file: one index of each axis before `axis`, and `step` of that.
fn split_into_blocks<'a, T>(
    array: ArrayViewMutD<'a, T>,
    axis: usize,
    step: usize,
    blocks: &mut Vec<ArrayViewMutD<'a, T>>,
) {
    let mut rest = array;
    while !rest.is_empty() {
        let taken = if axis == 0 { step.min(rest.len_of(Axis(0))) } else { 1 };
        let (first, others) = rest.split_at(Axis(0), taken);
        match axis {
            0 => blocks.push(first),
            _ => split_into_blocks(first.index_axis_move(Axis(0), 0), axis - 1, step, blocks),
        }
        rest = others;
    }
}

/// Copies elements, which are in C order, into an array.
fn scatter<const SIZE: usize>(items: &[[u8; SIZE]], mut target: ArrayViewMutD<'_, [u8; SIZE]>) {
    let Ok(source) = ArrayViewD::from_shape(target.raw_dim(), items) else {
        unreachable!("as many elements as the block has")
    };
    if is_copied_by_element(&target) {
        return walk::scatter(items, target);
    }
    let (last, fastest) = (target.ndim() - 1, smallest_stride_axis(&target));
    if fastest == last {
        return target.assign(&source);
    }
    // Of the two axes that remain in each plane, one is contiguous in the source, and the other in the target.
    let mut order: Vec<usize> = (0..last).filter(|axis| *axis != fastest).collect();
    order.extend([fastest, last]);
    copy_planes(source.permuted_axes(order.clone()), target.permuted_axes(order));
}

fn copy_planes<const SIZE: usize>(
    source: ArrayViewD<'_, [u8; SIZE]>,
    mut target: ArrayViewMutD<'_, [u8; SIZE]>,
) {
    if source.ndim() > 2 {
        let parts = source.outer_iter().zip(target.outer_iter_mut());
        return parts.for_each(|(source, target)| copy_planes(source, target));
    }
    let (Ok(source), Ok(target)) = (source.into_dimensionality::<Ix2>(), target.into_dimensionality::<Ix2>())
    else {
        unreachable!("two axes are left")
    };
    transpose_plane(source, target);
}

/// Copies a plane whose last axis is contiguous in the source, and whose first one is in the target.
///
/// Tiles are transposed in registers, and each cache line of both sides is used completely.
fn transpose_plane<const SIZE: usize>(
    source: ArrayView2<'_, [u8; SIZE]>,
    target: ArrayViewMut2<'_, [u8; SIZE]>,
) {
    let (rows, whole) = (source.nrows(), source.nrows() / TILE_SIDE * TILE_SIDE);
    let mut target = target.reversed_axes();
    let columns = source.axis_chunks_iter(Axis(1), TILE_SIDE);
    for (source, mut target) in columns.zip(target.axis_chunks_iter_mut(Axis(0), TILE_SIDE)) {
        let mut lanes: Vec<&mut [[u8; SIZE]]> =
            target.outer_iter_mut().filter_map(ArrayViewMut1::into_slice).collect();
        if lanes.len() < TILE_SIDE {
            target.reversed_axes().assign(&source);
            continue;
        }
        for from in (0..whole).step_by(TILE_SIDE) {
            let mut tile = [[[0; SIZE]; TILE_SIDE]; TILE_SIDE];
            for (at, row) in source.slice(s![from..from + TILE_SIDE, ..]).outer_iter().enumerate() {
                let items: &[_; TILE_SIDE] =
                    row.to_slice().and_then(<[_]>::first_chunk).expect("a row of the block");
                for (lane, item) in items.iter().enumerate() {
                    tile[lane][at] = *item;
                }
            }
            for (lane, items) in lanes.iter_mut().zip(&tile) {
                lane[from..from + TILE_SIDE].copy_from_slice(items);
            }
        }
        for row in whole..rows {
            lanes.iter_mut().zip(source.row(row)).for_each(|(lane, item)| lane[row] = *item);
        }
    }
}
