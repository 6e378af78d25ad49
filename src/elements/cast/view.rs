//! Views of bytes as elements, without copying.
#![allow(unsafe_code)]

use std::slice;

use ndarray::{ArrayView, ArrayViewMut, Dimension, IntoDimension, ShapeBuilder, StrideShape};

use super::super::ViewMutElement;
use super::super::transform::ByteTransform;
use super::Bitwise;
use crate::error::{CopyReason, Fault, Result};

/// Views the bytes of `len` native-endian elements as elements; fails if they are misaligned or invalid.
pub(crate) fn view<'a, T>(bitwise: &Bitwise<T>, bytes: &'a [u8], len: usize) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]); // an empty slice is aligned at any address
    }
    check_view(bitwise, bytes, len)?;
    // SAFETY: length and alignment have been checked. The bytes have passed the check, so by the proof in
    // Bitwise<T> they are valid elements.
    Ok(unsafe { slice::from_raw_parts(bytes.as_ptr().cast::<T>(), len) })
}

/// Views the bytes of `len` native-endian elements as mutable elements.
pub(crate) fn view_mut<'a, T: ViewMutElement>(
    bitwise: &Bitwise<T>,
    bytes: &'a mut [u8],
    len: usize,
) -> Result<&'a mut [T]> {
    assert!(bitwise.has_no_padding, "padding would write uninitialized bytes into the buffer"); // see `check_no_padding`
    if len == 0 {
        return Ok(&mut []);
    }
    check_view(bitwise, bytes, len)?;
    // SAFETY: as in `view`; and T has no padding whose uninitialized bytes could be written into the buffer.
    Ok(unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast::<T>(), len) })
}

/// The positions of elements that need not be contiguous, such as one field of records.
pub(crate) struct StridedLayout<D> {
    pub(crate) offset: usize,
    pub(crate) dim: D,
    /// The strides in bytes.
    pub(crate) strides: Vec<usize>,
}

impl<D: Dimension> StridedLayout<D> {
    /// Returns the shape with strides in elements.
    ///
    /// Fails if an element is misaligned; panics if an element is not within the `len` bytes.
    fn checked_shape<T>(&self, bytes: *const u8, len: usize) -> Result<StrideShape<D>> {
        let size = size_of::<T>();
        check_alignment::<T>(bytes.wrapping_add(self.offset))?;
        if size == 0 {
            // Elements without a size need no memory. With strides of 0, they would be several at one position,
            // which ndarray does not allow.
            assert!(self.offset <= len, "the bytes must contain the first element");
            return Ok(self.dim.clone().into());
        }
        let mut strides = D::zeros(self.dim.ndim());
        for (into, &stride) in strides.slice_mut().iter_mut().zip(&self.strides) {
            // ndarray's strides are in elements, so a field cannot be viewed if the size of the record is not
            // a multiple of its own.
            if stride % size != 0 {
                return Err(Fault::NeedsCopy(CopyReason::Misaligned {
                    wanted: size,
                    off_by: (stride % size) as u64,
                })
                .into());
            }
            *into = stride / size;
        }
        // Callers handle arrays without elements, so no length is 0.
        let steps =
            self.dim.slice().iter().zip(&self.strides).map(|(&length, &stride)| (length - 1) * stride);
        assert!(self.offset + steps.sum::<usize>() + size <= len, "the bytes must contain all elements");
        Ok(self.dim.clone().strides(strides))
    }

    /// Fails if the bytes of any element are invalid.
    fn check_each(&self, transform: &ByteTransform, bytes: &[u8]) -> Result<()> {
        if !transform.needs_check() {
            return Ok(());
        }
        ndarray::indices(self.dim.clone()).into_iter().enumerate().try_for_each(|(number, index)| {
            let index = index.into_dimension();
            let at =
                index.slice().iter().zip(&self.strides).map(|(index, stride)| index * stride).sum::<usize>();
            transform
                .check_all(&bytes[self.offset + at..][..transform.item_size()])
                .map_err(|error| error.at_element(number))
        })
    }
}

/// Views native-endian elements that need not be contiguous; fails if they are misaligned or invalid.
pub(crate) fn view_strided<'a, T, D: Dimension>(
    bitwise: &Bitwise<T>,
    bytes: &'a [u8],
    layout: StridedLayout<D>,
) -> Result<ArrayView<'a, T, D>> {
    assert!(!bitwise.needs_swap(), "the byte order must be native");
    if layout.dim.size() == 0 {
        return Ok(ArrayView::from_shape(layout.dim, &[]).expect("an empty shape needs no elements"));
    }
    let shape = layout.checked_shape::<T>(bytes.as_ptr(), bytes.len())?;
    layout.check_each(&bitwise.transform, bytes)?;
    let first = bytes[layout.offset..].as_ptr().cast::<T>();
    // SAFETY: all elements are within the borrowed bytes, aligned and valid, as checked above; strides are
    // not negative.
    Ok(unsafe { ArrayView::from_shape_ptr(shape, first) })
}

/// Returns a mutable view of elements that need not be contiguous. The elements must not overlap.
pub(crate) fn view_strided_mut<'a, T: ViewMutElement, D: Dimension>(
    bitwise: &Bitwise<T>,
    bytes: &'a mut [u8],
    layout: StridedLayout<D>,
) -> Result<ArrayViewMut<'a, T, D>> {
    assert!(bitwise.has_no_padding, "padding would write uninitialized bytes into the buffer"); // see `check_no_padding`
    assert!(!bitwise.needs_swap(), "the byte order must be native");
    if layout.dim.size() == 0 {
        return Ok(ArrayViewMut::from_shape(layout.dim, &mut []).expect("an empty shape needs no elements"));
    }
    // With the axes sorted by stride, elements do not overlap if each stride is at least the extent of the
    // preceding axes.
    let mut extents: Vec<_> =
        layout.dim.slice().iter().zip(&layout.strides).filter(|axis| *axis.0 > 1).collect();
    extents.sort_by_key(|(_, stride)| **stride);
    let is_apart = extents
        .iter()
        .try_fold(size_of::<T>(), |reach, (length, stride)| (**stride >= reach).then_some(*stride * *length));
    assert!(is_apart.is_some(), "elements must not overlap");
    let shape = layout.checked_shape::<T>(bytes.as_ptr(), bytes.len())?;
    layout.check_each(&bitwise.transform, bytes)?;
    let first = bytes[layout.offset..].as_mut_ptr().cast::<T>();
    // SAFETY: as in `view_strided`; no two elements overlap, and T has no uninitialized bytes.
    Ok(unsafe { ArrayViewMut::from_shape_ptr(shape, first) })
}

fn check_view<T>(bitwise: &Bitwise<T>, bytes: &[u8], len: usize) -> Result<()> {
    assert_eq!(
        size_of::<T>().checked_mul(len),
        Some(bytes.len()),
        "the length must be exactly that of the elements"
    );
    check_alignment::<T>(bytes.as_ptr())?;
    assert!(!bitwise.needs_swap(), "the byte order must be native");
    bitwise.transform.check_all(bytes)
}

fn check_alignment<T>(first: *const u8) -> Result<()> {
    match first.addr() % align_of::<T>() {
        0 => Ok(()),
        off_by => {
            Err(Fault::NeedsCopy(CopyReason::Misaligned { wanted: align_of::<T>(), off_by: off_by as u64 })
                .into())
        }
    }
}
