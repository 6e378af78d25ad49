//! Copies strided elements of a block of bytes contiguously.

use ndarray::{ArrayViewD, ShapeBuilder};

use super::gather::{gather, simplify_axes};
use super::walk::{SHORT_AXIS_LEN, Walk};
use crate::bytes::AsChunks;
use crate::shape::indices_of;

/// Copies strided elements of `item` bytes contiguously into `into`, which has exactly their size.
///
/// `axes` are pairs of length and stride in bytes, the slowest first.
pub(super) fn gather_strided(
    bytes: &[u8],
    start: usize,
    axes: &[(usize, usize)],
    item: usize,
    into: &mut [u8],
) {
    match item {
        _ if into.is_empty() => {}
        1 => gather_strided_units::<1>(bytes, start, axes, into),
        2 => gather_strided_units::<2>(bytes, start, axes, into),
        4 => gather_strided_units::<4>(bytes, start, axes, into),
        8 => gather_strided_units::<8>(bytes, start, axes, into),
        16 => gather_strided_units::<16>(bytes, start, axes, into),
        // For example, points with three coordinates.
        3 => gather_strided_units::<3>(bytes, start, axes, into),
        6 => gather_strided_units::<6>(bytes, start, axes, into),
        12 => gather_strided_units::<12>(bytes, start, axes, into),
        24 => gather_strided_units::<24>(bytes, start, axes, into),
        32 => gather_strided_units::<32>(bytes, start, axes, into),
        _ if has_short_rows(axes) => gather_by_walk(bytes, start, axes, into, |bytes| &bytes[..item]),
        _ => {
            let (last, outer) = axes.split_last().unwrap_or((&(1, 0), &[]));
            for_each_row(start, outer, last.0 * item, into, &mut |place, row| {
                for (index, into) in row.chunks_exact_mut(item).enumerate() {
                    into.copy_from_slice(&bytes[place + index * last.1..][..item]);
                }
            });
        }
    }
}

fn gather_strided_units<const SIZE: usize>(
    bytes: &[u8],
    start: usize,
    axes: &[(usize, usize)],
    into: &mut [u8],
) {
    let is_unit = |axis: &(usize, usize)| axis.1 % SIZE == 0;
    let strided = |axes: &[(usize, usize)]| axes.iter().filter(|axis| axis.0 > 1).count() > 1;
    if strided(axes) && axes.iter().all(is_unit) {
        let dims: Vec<usize> = axes.iter().map(|(len, _)| *len).collect();
        let strides: Vec<usize> = axes.iter().map(|(_, stride)| stride / SIZE).collect();
        let shape = ndarray::IxDyn(&dims).strides(ndarray::IxDyn(&strides));
        // Elements that overlap are copied one by one below.
        if let Ok(mut view) = ArrayViewD::from_shape(shape, bytes[start..].chunks_of::<SIZE>()) {
            simplify_axes(&mut view);
            return gather(&view, &crate::elements::raw_units::<SIZE>(), into);
        }
    }
    if has_short_rows(axes) {
        return gather_by_walk(bytes, start, axes, into, |bytes| &bytes[..SIZE]);
    }
    let (&(len, stride), outer) = axes.split_last().unwrap_or((&(1, SIZE), &[]));
    for_each_row(start, outer, len * SIZE, into, &mut |place, row| {
        if stride == SIZE {
            return row.copy_from_slice(&bytes[place..][..row.len()]);
        }
        if stride < SIZE {
            for (index, into) in row.chunks_of_mut::<SIZE>().iter_mut().enumerate() {
                into.copy_from_slice(&bytes[place + index * stride..][..SIZE]);
            }
            return;
        }
        for (item, into) in bytes[place..].chunks(stride).zip(row.chunks_of_mut::<SIZE>()) {
            into.copy_from_slice(&item[..SIZE]);
        }
    });
}

/// Returns whether rows are so short that most of the time would go into the other axes.
fn has_short_rows(axes: &[(usize, usize)]) -> bool {
    axes.len() > 1 && axes.last().is_some_and(|(len, _)| *len < SHORT_AXIS_LEN)
}

/// Copies elements one by one; `item` returns the first of some bytes.
#[inline]
fn gather_by_walk(
    bytes: &[u8],
    start: usize,
    axes: &[(usize, usize)],
    into: &mut [u8],
    item: impl Fn(&[u8]) -> &[u8],
) {
    Walk::new(&mut axes.iter().map(|(len, stride)| (*len, *stride as isize))).for_each(|offset, number| {
        let item = item(&bytes[start + offset as usize..]);
        into[number * item.len()..][..item.len()].copy_from_slice(item);
    });
}

/// Invokes `call` for each row, with the offset of its first element and its destination.
fn for_each_row(
    start: usize,
    outer: &[(usize, usize)],
    row: usize,
    into: &mut [u8],
    call: &mut dyn FnMut(usize, &mut [u8]),
) {
    for (number, into) in into.chunks_exact_mut(row).enumerate() {
        call(element_offset(start, outer, number), into);
    }
}

/// Returns the offset of an element, given by its number; `axes` are the length and the stride of each axis, the fastest last.
pub(super) fn element_offset(start: usize, axes: &[(usize, usize)], number: usize) -> usize {
    let indices = indices_of(number as u64, axes.iter().rev().map(|(length, _)| *length));
    axes.iter().rev().zip(indices).fold(start, |place, ((_, stride), index)| place + index * stride)
}
