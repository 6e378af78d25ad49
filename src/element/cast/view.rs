//! Bytes that are viewed as elements where they lie.
#![allow(unsafe_code)]

use std::slice;

use ndarray::{ArrayView, ArrayViewMut, Dimension, IntoDimension, ShapeBuilder, StrideShape};

use super::super::ViewMutElement;
use super::super::transform::ByteTransform;
use super::Bitwise;
use crate::error::{ErrorKind, Result};

/// The bytes of `len` elements in this machine's order, as elements: an error if they are misaligned or invalid.
pub(crate) fn view<'a, T>(plain: &Bitwise<T>, bytes: &'a [u8], len: usize) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]); // wherever the bytes are, that is aligned
    }
    check_view(plain, bytes, len)?;
    // SAFETY: length and alignment have been checked, and that the bytes are elements by the proof in Bitwise<T>.
    Ok(unsafe { slice::from_raw_parts(bytes.as_ptr().cast::<T>(), len) })
}

/// The bytes of `len` elements in this machine's order, as elements that can be changed.
pub(crate) fn view_mut<'a, T: ViewMutElement>(
    plain: &Bitwise<T>,
    bytes: &'a mut [u8],
    len: usize,
) -> Result<&'a mut [T]> {
    const { T::IS_FULL };
    // That is for words at compile time; what counts is what the token knows.
    assert!(plain.is_full, "padding would write uninitialised bytes into the buffer");
    if len == 0 {
        return Ok(&mut []);
    }
    check_view(plain, bytes, len)?;
    // SAFETY: as in `view`; and T has no uninitialised bytes that could be written into the buffer.
    Ok(unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast::<T>(), len) })
}

/// Where elements lie that are spread through bytes, such as one field of records.
pub(crate) struct StridedLayout<D> {
    pub(crate) offset: usize,
    pub(crate) dim: D,
    /// In bytes.
    pub(crate) strides: Vec<usize>,
}

impl<D: Dimension> StridedLayout<D> {
    /// The shape with strides that count elements, after a look at whether all lie within `len` bytes at `bytes`, aligned.
    fn check<T>(&self, bytes: *const u8, len: usize) -> Result<StrideShape<D>> {
        let size = size_of::<T>();
        let mut strides = D::zeros(self.dim.ndim());
        for (into, &stride) in strides.slice_mut().iter_mut().zip(&self.strides) {
            if size == 0 {
                *into = 0; // elements without bytes are where the first one is
                continue;
            }
            if !stride.is_multiple_of(size) {
                return Err(ErrorKind::Misaligned { wanted: size, off_by: (stride % size) as u64 }.into());
            }
            *into = stride / size;
        }
        check_alignment::<T>(bytes.wrapping_add(self.offset))?;
        let steps =
            self.dim.slice().iter().zip(&self.strides).map(|(&length, &stride)| (length - 1) * stride);
        assert!(
            self.offset + steps.sum::<usize>() + size <= len,
            "the caller gives the bytes of all elements"
        );
        Ok(self.dim.clone().strides(strides))
    }

    /// An error if the bytes of an element are not valid.
    fn check_each(&self, fix: &ByteTransform, bytes: &[u8]) -> Result<()> {
        if !fix.checks() {
            return Ok(());
        }
        ndarray::indices(self.dim.clone()).into_iter().enumerate().try_for_each(|(number, index)| {
            let index = index.into_dimension();
            let at =
                index.slice().iter().zip(&self.strides).map(|(index, stride)| index * stride).sum::<usize>();
            fix.check_all(&bytes[self.offset + at..][..fix.item()]).map_err(|error| error.at_element(number))
        })
    }
}

/// Elements that are spread through bytes, in this machine's order: an error if they are misaligned or invalid.
pub(crate) fn view_spread<'a, T, D: Dimension>(
    plain: &Bitwise<T>,
    bytes: &'a [u8],
    spread: StridedLayout<D>,
) -> Result<ArrayView<'a, T, D>> {
    assert!(!plain.swaps(), "the caller has seen to the byte order");
    if spread.dim.size() == 0 {
        return Ok(ArrayView::from_shape(spread.dim, &[]).expect("of no elements, all are there"));
    }
    let shape = spread.check::<T>(bytes.as_ptr(), bytes.len())?;
    spread.check_each(&plain.fix, bytes)?;
    let first = bytes[spread.offset..].as_ptr().cast::<T>();
    // SAFETY: all elements lie within the borrowed bytes, aligned and valid, as has been checked; strides are positive.
    Ok(unsafe { ArrayView::from_shape_ptr(shape, first) })
}

/// The same for elements that can be changed, which must not overlap.
pub(crate) fn view_spread_mut<'a, T: ViewMutElement, D: Dimension>(
    plain: &Bitwise<T>,
    bytes: &'a mut [u8],
    spread: StridedLayout<D>,
) -> Result<ArrayViewMut<'a, T, D>> {
    const { T::IS_FULL };
    assert!(plain.is_full, "padding would write uninitialised bytes into the buffer");
    assert!(!plain.swaps(), "the caller has seen to the byte order");
    if spread.dim.size() == 0 {
        return Ok(ArrayViewMut::from_shape(spread.dim, &mut []).expect("of no elements, all are there"));
    }
    let mut extents: Vec<_> =
        spread.dim.slice().iter().zip(&spread.strides).filter(|axis| *axis.0 > 1).collect();
    extents.sort_by_key(|(_, stride)| **stride);
    let is_apart = extents
        .iter()
        .try_fold(size_of::<T>(), |reach, (length, stride)| (**stride >= reach).then_some(*stride * *length));
    assert!(is_apart.is_some(), "the caller gives elements that do not overlap");
    let shape = spread.check::<T>(bytes.as_ptr(), bytes.len())?;
    spread.check_each(&plain.fix, bytes)?;
    let first = bytes[spread.offset..].as_mut_ptr().cast::<T>();
    // SAFETY: as in `view_spread`; no two elements overlap, and T has no uninitialised bytes.
    Ok(unsafe { ArrayViewMut::from_shape_ptr(shape, first) })
}

fn check_view<T>(plain: &Bitwise<T>, bytes: &[u8], len: usize) -> Result<()> {
    assert_eq!(
        size_of::<T>().checked_mul(len),
        Some(bytes.len()),
        "the caller gives just the elements' bytes"
    );
    check_alignment::<T>(bytes.as_ptr())?;
    assert!(!plain.swaps(), "the caller has seen to the byte order");
    plain.fix.check_all(bytes)
}

fn check_alignment<T>(first: *const u8) -> Result<()> {
    match first.addr() % align_of::<T>() {
        0 => Ok(()),
        off_by => Err(ErrorKind::Misaligned { wanted: align_of::<T>(), off_by: off_by as u64 }.into()),
    }
}
