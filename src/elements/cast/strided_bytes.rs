//! The elements of an array as bytes, for any type of elements.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::slice;

use ndarray::{ArrayRef, ArrayViewD, Axis, Dimension, IxDyn, ShapeBuilder, StrideShape};

use super::BitwiseOut;

/// The elements of an array, of which only the bytes are known.
///
/// A [`BitwiseOut`] has made it, so all bytes of the elements are initialized; the array is borrowed. What moves them is then
/// compiled once, by this library, and not for each type by each program.
pub(crate) struct StridedBytes<'a> {
    /// The address of the element whose indices are all 0, if there are elements.
    first: *const u8,
    shape: &'a [usize],
    /// In elements.
    strides: &'a [isize],
    /// Whether the axes are taken from the last one to the first.
    is_reversed: bool,
    item_size: usize,
    borrowed: PhantomData<&'a [u8]>,
}

impl<T> BitwiseOut<T> {
    /// Returns the elements of an array as bytes.
    pub(crate) fn strided<'a, D: Dimension>(&self, array: &'a ArrayRef<T, D>) -> StridedBytes<'a> {
        StridedBytes {
            first: array.as_ptr().cast(),
            shape: array.shape(),
            strides: array.strides(),
            is_reversed: false,
            item_size: size_of::<T>(),
            borrowed: PhantomData,
        }
    }
}

impl<'a> StridedBytes<'a> {
    /// Reverses the axes: Fortran order is C order with the axes reversed.
    pub(crate) fn reversed(self) -> Self {
        Self { is_reversed: !self.is_reversed, ..self }
    }

    pub(crate) fn item_size(&self) -> usize {
        self.item_size
    }

    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the length and the stride of each axis, the last axis first.
    fn axes_from_last(&self) -> impl Iterator<Item = (usize, isize)> + '_ {
        let count = self.shape.len();
        (0..count).map(move |number| {
            let axis = if self.is_reversed { number } else { count - 1 - number };
            (self.shape[axis], self.strides[axis])
        })
    }

    /// Returns the bytes if the elements are contiguous, in C order.
    pub(crate) fn as_contiguous(&self) -> Option<&'a [u8]> {
        let len = self.len();
        let mut step = 1;
        let mut is_next = |(len, stride): (usize, isize)| {
            let is_next = len == 1 || stride == step;
            step *= len as isize;
            is_next
        };
        (len == 0 || self.axes_from_last().all(&mut is_next)).then(|| {
            // SAFETY: the elements follow each other from the first one; their bytes are initialized and borrowed (see the type).
            // Of none, the array has an address that is not null.
            unsafe { slice::from_raw_parts(self.first, len * self.item_size) }
        })
    }

    /// Returns a view of the elements as arrays of bytes, of their size.
    pub(crate) fn units<const SIZE: usize>(&self) -> ArrayViewD<'a, [u8; SIZE]> {
        assert_eq!(self.item_size, SIZE, "arrays of the size of the elements");
        let (shape, lowest) = self.shape_and_lowest();
        // SAFETY: these are the addresses of the elements, which consist of SIZE initialized bytes and are borrowed (see the type). An
        // array of bytes needs no alignment, and if there are no elements, no address.
        let mut view = unsafe { ArrayViewD::from_shape_ptr(shape, lowest.cast()) };
        for (axis, _) in self.inverted_axes() {
            view.invert_axis(Axis(axis));
        }
        view
    }

    /// Returns the axes whose strides are negative, and how many bytes their last index is below their first one.
    ///
    /// Without elements, there are none: the address of an element that does not exist may be outside of the memory.
    fn inverted_axes(&self) -> impl Iterator<Item = (usize, isize)> + '_ {
        let has_elements = self.len() > 0;
        let inverted =
            self.axes_from_last().enumerate().filter(move |(_, (_, stride))| has_elements && *stride < 0);
        inverted.map(|(number, (len, stride))| {
            (self.shape.len() - 1 - number, (len - 1) as isize * stride * self.item_size as isize)
        })
    }

    /// Returns the shape with strides that are not negative, and the lowest address, from which they count.
    fn shape_and_lowest(&self) -> (StrideShape<IxDyn>, *const u8) {
        let mut shape = IxDyn::zeros(self.shape.len());
        let mut strides = shape.clone();
        for (number, (len, stride)) in self.axes_from_last().enumerate() {
            let axis = self.shape.len() - 1 - number;
            (shape[axis], strides[axis]) = (len, stride.unsigned_abs());
        }
        let lowest = self.inverted_axes().fold(self.first, |first, (_, bytes)| first.wrapping_offset(bytes));
        (shape.strides(strides), lowest)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array, ArrayView, Ix3, s};

    use super::BitwiseOut;

    /// The units of a view are those of its elements, in the order in which ndarray has them.
    #[test]
    fn units_are_those_of_the_view() {
        let array = Array::from_shape_fn((3, 4, 5), |(i, j, k)| (i * 100 + j * 10 + k) as u16);
        let one = Array::from_elem((1, 1, 1), 7u16);
        let row = array.slice(s![..1, ..1, ..]);
        let views: [(ArrayView<'_, u16, Ix3>, bool); 10] = [
            (array.view(), true),
            (array.slice(s![1.., .., ..]), true),
            (array.slice(s![..;-1, 1..3, ..;-2]), false),
            (array.slice(s![1..2, 1..2, ..]), true),
            (array.slice(s![1..2, ..;3, 3..4]), false),
            (array.view().permuted_axes([2, 0, 1]), false),
            (array.slice(s![..0, .., ..;-1]), true),
            (row.broadcast((2, 3, 5)).expect("lengths of 1"), false),
            (one.slice(s![..;-1, .., ..;-1]), true),
            (array.slice(s![..;-1, 2..2, ..;2]), true),
        ];
        let out = BitwiseOut::<u16>::new(2, false);
        for (view, is_contiguous) in &views {
            for (view, units) in [(view.view(), out.strided(view)), (view.t(), out.strided(view).reversed())]
            {
                let bytes: Vec<u8> = view.iter().flat_map(|item| item.to_ne_bytes()).collect();
                assert_eq!(units.units::<2>().shape(), view.shape());
                assert_eq!(units.units::<2>().iter().flatten().copied().collect::<Vec<_>>(), bytes);
                assert_eq!(units.as_contiguous(), view.to_slice().map(|_| &bytes[..]), "{view:?}");
            }
            assert_eq!(out.strided(view).as_contiguous().is_some(), *is_contiguous, "{view:?}");
        }
    }
}
