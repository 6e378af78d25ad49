//! Reads contiguous elements into strided arrays, the opposite of [`gather`](super::gather).
#![allow(unsafe_code)]

use ndarray::{ArrayView2, ArrayViewD, ArrayViewMut1, ArrayViewMut2, ArrayViewMutD, Axis, Ix2, s};

use super::Effort;
use super::gather::{closest_axis, divided, is_short, simplify};
use super::read::truncated;
use super::share::share_out;
use super::source::Source;
use super::walk;
use crate::bytes::scratch;
use crate::element::cast::Bitwise;
use crate::error::Result;
use crate::header::Header;
use crate::options::ReadOptions;
use crate::progress::Tally;

/// The side of the squares in which a transposed array is copied, in elements.
const TILE: usize = 8;

/// Reads all elements into an array whose axes are in the order of the file.
///
/// Returns `false`, without having read anything, if the source has no positions, or if such elements cannot be moved
/// as units of up to 16 bytes.
pub(super) fn read_scattered<T>(
    source: &mut Source<'_>,
    header: &Header,
    plain: &Bitwise<T>,
    target: &mut ArrayViewMutD<'_, T>,
    (tally, options): (&Tally, &ReadOptions),
) -> Result<bool> {
    match size_of::<T>() {
        1 => read_units::<T, 1>(source, header, plain, target, (tally, options)),
        2 => read_units::<T, 2>(source, header, plain, target, (tally, options)),
        4 => read_units::<T, 4>(source, header, plain, target, (tally, options)),
        8 => read_units::<T, 8>(source, header, plain, target, (tally, options)),
        16 => read_units::<T, 16>(source, header, plain, target, (tally, options)),
        _ => Ok(false),
    }
}

fn read_units<T, const SIZE: usize>(
    source: &mut Source<'_>,
    header: &Header,
    plain: &Bitwise<T>,
    target: &mut ArrayViewMutD<'_, T>,
    (tally, options): (&Tally, &ReadOptions),
) -> Result<bool> {
    let Some(positioned) = source.positioned() else { return Ok(false) };
    // SAFETY: only bytes that have passed `check` are copied into it, as complete elements.
    let target = unsafe { plain.units_over::<SIZE>(target.view_mut()) };
    let Some(mut target) = target else { return Ok(false) };
    simplify(&mut target);
    let (axis, step) = divided(&target, SIZE);
    let bytes = target.len() * SIZE;
    let mut blocks = Vec::new();
    cut(target, axis, step, &mut blocks);
    let mut at = 0;
    let blocks = blocks.into_iter().map(|block| {
        let start = at;
        at += block.len() * SIZE;
        (start, block)
    });
    let effort = Effort::moving(2 * bytes as u64).and(positioned.effort());
    let threads = effort.threads_on(&positioned.hints(), || options.get_threads());
    let work = |words: &mut Vec<u128>, (at, block): (usize, ArrayViewMutD<'_, [u8; SIZE]>)| {
        let mut room = scratch(words, block.len() * SIZE)?;
        let filled = positioned.fill_room(&mut room, usize::MAX, at)?;
        if room.left() > 0 {
            return Err(truncated(header, (at + filled) as u64));
        }
        let loaded = room.into_filled();
        // Nothing that is invalid reaches the array.
        plain.check(loaded).map_err(|error| error.offset_element(at / SIZE))?;
        scatter(loaded.as_chunks().0, block);
        tally.add(filled)
    };
    share_out(blocks, threads, &Vec::new, &work, &mut || Ok(()))?;
    source.advance(bytes as u64);
    Ok(true)
}

/// Divides an array into blocks that are consecutive in the file: one index of each axis before `axis`, and `step` of that.
fn cut<'a, T>(array: ArrayViewMutD<'a, T>, axis: usize, step: usize, blocks: &mut Vec<ArrayViewMutD<'a, T>>) {
    let mut rest = array;
    while !rest.is_empty() {
        let taken = if axis == 0 { step.min(rest.len_of(Axis(0))) } else { 1 };
        let (first, others) = rest.split_at(Axis(0), taken);
        match axis {
            0 => blocks.push(first),
            _ => cut(first.index_axis_move(Axis(0), 0), axis - 1, step, blocks),
        }
        rest = others;
    }
}

/// Copies elements, which are in C order, into an array.
fn scatter<const SIZE: usize>(items: &[[u8; SIZE]], mut target: ArrayViewMutD<'_, [u8; SIZE]>) {
    let Ok(source) = ArrayViewD::from_shape(target.raw_dim(), items) else {
        unreachable!("as many elements as the block has")
    };
    if is_short(&target) {
        return walk::scatter(items, target);
    }
    let (last, together) = (target.ndim() - 1, closest_axis(&target));
    if together == last {
        return target.assign(&source);
    }
    // Of the two axes that remain in each plane, one is contiguous in the source, and the other in the target.
    let mut order: Vec<usize> = (0..last).filter(|axis| *axis != together).collect();
    order.extend([together, last]);
    planes(source.permuted_axes(order.clone()), target.permuted_axes(order));
}

fn planes<const SIZE: usize>(source: ArrayViewD<'_, [u8; SIZE]>, mut target: ArrayViewMutD<'_, [u8; SIZE]>) {
    if source.ndim() > 2 {
        let parts = source.outer_iter().zip(target.outer_iter_mut());
        return parts.for_each(|(source, target)| planes(source, target));
    }
    let (Ok(source), Ok(target)) = (source.into_dimensionality::<Ix2>(), target.into_dimensionality::<Ix2>())
    else {
        unreachable!("two axes are left")
    };
    tiles(source, target);
}

/// Copies a plane whose last axis is contiguous in the source, and whose first one is in the target.
///
/// Tiles are transposed in registers, and each cache line of both sides is used completely.
fn tiles<const SIZE: usize>(source: ArrayView2<'_, [u8; SIZE]>, target: ArrayViewMut2<'_, [u8; SIZE]>) {
    let (rows, whole) = (source.nrows(), source.nrows() / TILE * TILE);
    let mut target = target.reversed_axes();
    let columns = source.axis_chunks_iter(Axis(1), TILE);
    for (source, mut target) in columns.zip(target.axis_chunks_iter_mut(Axis(0), TILE)) {
        let mut lanes: Vec<&mut [[u8; SIZE]]> =
            target.outer_iter_mut().filter_map(ArrayViewMut1::into_slice).collect();
        if lanes.len() < TILE {
            target.reversed_axes().assign(&source);
            continue;
        }
        for from in (0..whole).step_by(TILE) {
            let mut tile = [[[0; SIZE]; TILE]; TILE];
            for (at, row) in source.slice(s![from..from + TILE, ..]).outer_iter().enumerate() {
                let items: &[_; TILE] =
                    row.to_slice().and_then(<[_]>::first_chunk).expect("a row of the block");
                for (lane, item) in items.iter().enumerate() {
                    tile[lane][at] = *item;
                }
            }
            for (lane, items) in lanes.iter_mut().zip(&tile) {
                lane[from..from + TILE].copy_from_slice(items);
            }
        }
        for row in whole..rows {
            lanes.iter_mut().zip(source.row(row)).for_each(|(lane, item)| lane[row] = *item);
        }
    }
}
