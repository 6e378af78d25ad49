//! The elements of an array as bytes, for any type of elements.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::slice;

use ndarray::{ArrayRef, ArrayViewD, ArrayViewMutD, Dimension};

use super::super::transform::ByteTransform;
use super::{Bitwise, BitwiseOut};
use crate::bytes::kernels::{Direction, StridedLayout};
use crate::error::Result;

/// The elements of an array, of which only the bytes are known.
///
/// All bytes of the elements are initialized, and the array is borrowed. What moves them is compiled once, by this library, and not for
/// each type by each program.
pub(crate) struct StridedBytes<'a> {
    /// The address of the element whose indices are all 0, if there are elements.
    first: *const u8,
    layout: StridedLayout,
    borrowed: PhantomData<&'a [u8]>,
}

// SAFETY: it is a shared borrow of bytes.
unsafe impl Send for StridedBytes<'_> {}
// SAFETY: as above.
unsafe impl Sync for StridedBytes<'_> {}

impl<T> BitwiseOut<T> {
    /// Returns the elements of an array as bytes, in C order, or in Fortran order, which is C order with the axes reversed.
    pub(crate) fn strided<'a, D: Dimension>(
        &self,
        array: &'a ArrayRef<T, D>,
        is_fortran: bool,
    ) -> StridedBytes<'a> {
        StridedBytes {
            first: array.as_ptr().cast(),
            layout: layout_of(array.shape(), array.strides(), is_fortran, size_of::<T>(), size_of::<T>()),
            borrowed: PhantomData,
        }
    }
}

/// Returns the layout of elements of `item` bytes, whose strides are in units of `unit` bytes.
fn layout_of(lens: &[usize], strides: &[isize], is_fortran: bool, unit: usize, item: usize) -> StridedLayout {
    // ndarray allows any stride for axes of length 1, which are left out.
    let axes = lens.iter().zip(strides).map(|(len, stride)| (*len, stride.wrapping_mul(unit as isize)));
    match is_fortran {
        true => StridedLayout::new(axes.rev(), item),
        false => StridedLayout::new(axes, item),
    }
}

impl<'a> StridedBytes<'a> {
    /// Returns elements of `item` bytes in a slice, of which the first one begins at `start`; `axes` are lengths and strides in bytes.
    ///
    /// # Panics
    ///
    /// If an element is not within the bytes.
    pub(crate) fn of_slice(
        bytes: &'a [u8],
        start: usize,
        axes: impl Iterator<Item = (usize, isize)>,
        item: usize,
    ) -> Self {
        let layout = StridedLayout::new(axes, item);
        assert!(layout.is_within(start, bytes.len()), "all elements are within the bytes");
        Self { first: bytes.as_ptr().wrapping_add(start), layout, borrowed: PhantomData }
    }

    /// Returns elements of which the last axis of a view has the bytes, in C order, or in Fortran order of the other axes.
    pub(crate) fn of_items(view: &ArrayViewD<'a, u8>, is_fortran: bool) -> Self {
        let (item, axes) = (view.shape().last().copied().unwrap_or(1), view.ndim().saturating_sub(1));
        Self {
            first: view.as_ptr(),
            layout: layout_of(&view.shape()[..axes], &view.strides()[..axes], is_fortran, 1, item),
            borrowed: PhantomData,
        }
    }

    /// Returns the bytes if the elements are contiguous, in C order.
    pub(crate) fn as_contiguous(&self) -> Option<&'a [u8]> {
        self.layout.is_packed().then(|| {
            // SAFETY: the elements follow each other from the first one; their bytes are initialized and borrowed (see the type).
            // Of none, the array has an address that is not null.
            unsafe { slice::from_raw_parts(self.first, self.layout.byte_len()) }
        })
    }

    pub(crate) fn item_size(&self) -> usize {
        self.layout.item_size()
    }

    /// Returns the number of bytes.
    pub(crate) fn byte_len(&self) -> usize {
        self.layout.byte_len()
    }

    /// Returns the number of blocks that follow one another.
    pub(crate) fn block_count(&self) -> usize {
        self.layout.blocks().count()
    }

    /// Returns the elements of a block.
    ///
    /// # Panics
    ///
    /// If the index is out of bounds.
    pub(crate) fn block(&self, index: usize) -> Self {
        let (offset, _, layout) = self.layout.blocks().get(index);
        Self { first: self.first.wrapping_offset(offset), layout, borrowed: PhantomData }
    }

    /// Copies the elements.
    ///
    /// # Panics
    ///
    /// If `into` does not have exactly their size.
    pub(crate) fn gather(&self, into: &mut [u8]) {
        assert_eq!(self.byte_len(), into.len(), "exactly the size of the elements");
        // SAFETY: the elements are borrowed (see the type), and gathering does not write to them. `into` is another borrow.
        unsafe { self.layout.copy(Direction::Gather, self.first.cast_mut(), into.as_mut_ptr()) };
    }
}

/// A block of existing elements that are replaced.
pub(crate) struct StridedBlockMut<'a> {
    transform: &'a ByteTransform,
    first: *mut u8,
    layout: StridedLayout,
    /// Where the block begins among all elements in C order, in bytes.
    pub(crate) start: usize,
    borrowed: PhantomData<&'a mut [u8]>,
}

// SAFETY: it is a mutable borrow of bytes that no other block has.
unsafe impl Send for StridedBlockMut<'_> {}

impl<T> Bitwise<T> {
    /// Returns existing elements as blocks that follow one another in C order.
    ///
    /// Returns `None` if the elements have padding or need to be dropped.
    pub(crate) fn strided_blocks<'a>(
        &'a self,
        mut view: ArrayViewMutD<'a, T>,
    ) -> Option<Vec<StridedBlockMut<'a>>> {
        if !self.has_no_padding || std::mem::needs_drop::<T>() {
            return None;
        }
        let layout = layout_of(view.shape(), view.strides(), false, size_of::<T>(), size_of::<T>());
        let (first, blocks) = (view.as_mut_ptr().cast::<u8>(), layout.blocks());
        let block = |number| {
            let (offset, start, layout) = blocks.get(number);
            let (first, transform) = (first.wrapping_offset(offset), &self.transform);
            StridedBlockMut { transform, first, layout, start, borrowed: PhantomData }
        };
        Some((0..blocks.count()).map(block).collect())
    }
}

impl StridedBlockMut<'_> {
    pub(crate) fn byte_len(&self) -> usize {
        self.layout.byte_len()
    }

    /// Converts the bytes of elements to native byte order, checks them, and copies them into the block.
    ///
    /// # Panics
    ///
    /// If there are more or fewer bytes than the block has.
    pub(crate) fn load(self, bytes: &mut [u8]) -> Result<()> {
        assert_eq!(self.byte_len(), bytes.len(), "exactly the size of the block");
        // Nothing that is invalid reaches the array.
        self.transform.apply(bytes)?;
        // SAFETY: the elements are borrowed mutably, and no other block has any of them. They have no padding and need no drop, and
        // complete elements are copied, which have passed the check for their type.
        unsafe { self.layout.copy(Direction::Scatter, self.first, bytes.as_mut_ptr()) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Pod;
    use ndarray::{Array, ArrayView, ArrayViewMutD, Axis, Ix3, IxDyn, ShapeBuilder, s};

    use super::{BitwiseOut, StridedBytes};
    use crate::elements::raw_words;

    /// Lengths and strides of axes, in elements.
    const AXES: &[&[(usize, isize)]] = &[
        &[],
        &[(5, 1)],
        &[(0, 3), (4, 1)],
        &[(40, 3)],
        &[(3, -40), (33, 1)],
        &[(17, 1), (19, 17)],
        &[(19, 2), (23, 40)],
        &[(20, -1), (18, 20)],
        &[(4, 1), (5, 4), (3, 20)],
        &[(3, 1), (200, 3)],
        &[(200, 1), (3, 201)],
        &[(9, 20), (11, 600), (2, 8000), (10, 1)],
        &[(2, 1), (2, 2), (2, 4), (2, 8), (2, 16), (2, 32), (2, 64), (2, 128), (2, 256), (2, 512)],
        &[(300, 500), (490, 1)],
        &[(490, 1), (300, 500)],
    ];

    /// Miri takes too long for many elements.
    fn is_left_out(axes: &[(usize, isize)]) -> bool {
        cfg!(miri) && axes.iter().map(|(len, _)| len).product::<usize>() > 200
    }

    /// Returns where each element is, the lowest one at 0, and how many places there are.
    fn places(axes: &[(usize, isize)]) -> (Vec<usize>, usize) {
        let far = |(len, stride): &(usize, isize)| (*len as isize - 1).max(0) * stride;
        let low: isize = axes.iter().map(far).filter(|far| *far < 0).sum();
        let high: isize = axes.iter().map(far).filter(|far| *far > 0).sum();
        let mut places = vec![-low];
        for (len, stride) in axes {
            let next = |at: isize| (0..*len as isize).map(move |index| at + index * stride);
            places = places.into_iter().flat_map(next).collect();
        }
        (places.into_iter().map(|at| at as usize).collect(), (high - low) as usize + 1)
    }

    /// Elements of any size and any strides are gathered from where their indices say, all at once and block by block.
    #[test]
    fn elements_are_gathered_from_where_their_indices_say() {
        let sizes: &[usize] = match cfg!(miri) {
            true => &[1, 3, 8, 40],
            false => &[1, 2, 3, 4, 6, 7, 8, 12, 16, 24, 32, 40, 72],
        };
        for axes in AXES {
            for &item in sizes {
                if is_left_out(axes) {
                    continue;
                }
                let (places, count) = places(axes);
                let bytes: Vec<u8> = (0..count * item).map(|at| (at * 7 + at / 251) as u8).collect();
                let expected: Vec<u8> =
                    places.iter().flat_map(|at| bytes[at * item..][..item].to_vec()).collect();
                let in_bytes = axes.iter().map(|(len, stride)| (*len, stride * item as isize));
                let start = places.first().map_or(0, |first| first * item);
                let strided = StridedBytes::of_slice(&bytes, start, in_bytes, item);
                let mut found = vec![0; expected.len()];
                strided.gather(&mut found);
                assert!(found == expected, "{axes:?}, {item} bytes");
                found.fill(0);
                let mut end = 0;
                for block in (0..strided.block_count()).map(|number| strided.block(number)) {
                    let start = end;
                    end += block.byte_len();
                    block.gather(&mut found[start..end]);
                }
                assert!(found == expected && end == found.len(), "{axes:?}, {item} bytes, in blocks");
            }
        }
    }

    /// The other way round, elements are put where their indices say, and nothing else changes.
    #[test]
    fn elements_are_scattered_to_where_their_indices_say() {
        fn check<T: Pod + PartialEq>(axes: &[(usize, isize)]) {
            if is_left_out(axes) {
                return;
            }
            let ((places, count), item) = (places(axes), size_of::<T>());
            let mut memory = vec![T::zeroed(); count];
            let lens: Vec<usize> = axes.iter().map(|(len, _)| *len).collect();
            let strides: Vec<usize> = axes.iter().map(|(_, stride)| stride.unsigned_abs()).collect();
            let shape = IxDyn(&lens).strides(IxDyn(&strides));
            let mut view = ArrayViewMutD::from_shape(shape, &mut memory).expect("the places of the elements");
            for (axis, _) in axes.iter().enumerate().filter(|(_, (_, stride))| *stride < 0) {
                view.invert_axis(Axis(axis));
            }
            let bytes: Vec<u8> = (0..places.len() * item).map(|at| 1 + (at % 255) as u8).collect();
            let bitwise = raw_words::<T>();
            for block in bitwise.strided_blocks(view).expect("words have no padding") {
                let part = block.start..block.start + block.byte_len();
                block.load(&mut bytes[part].to_vec()).expect("any bytes are words");
            }
            let mut expected = vec![0; count * item];
            for (number, at) in places.iter().enumerate() {
                expected[at * item..][..item].copy_from_slice(&bytes[number * item..][..item]);
            }
            assert!(bytemuck::cast_slice::<T, u8>(&memory) == expected, "{axes:?}, {item} bytes");
        }
        for axes in AXES {
            check::<u8>(axes);
            check::<u16>(axes);
            check::<[u8; 3]>(axes);
            check::<f32>(axes);
            check::<u64>(axes);
            check::<u128>(axes);
            check::<[f64; 3]>(axes);
            check::<[f64; 5]>(axes);
        }
    }

    /// The bytes are those of the elements, in the order in which ndarray has them.
    #[test]
    fn bytes_are_those_of_the_view() {
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
            for (view, strided) in
                [(view.view(), out.strided(view, false)), (view.t(), out.strided(view, true))]
            {
                let bytes: Vec<u8> = view.iter().flat_map(|item| item.to_ne_bytes()).collect();
                let mut found = vec![0; strided.byte_len()];
                strided.gather(&mut found);
                assert_eq!(found, bytes);
                assert_eq!(strided.as_contiguous(), view.to_slice().map(|_| &bytes[..]), "{view:?}");
            }
            assert_eq!(out.strided(view, false).as_contiguous().is_some(), *is_contiguous, "{view:?}");
        }
        // A stride that is never used may have any value.
        let any =
            ArrayView::from_shape((1, 3).strides((isize::MAX as usize, 1)), &[1u16, 2, 3]).expect("a view");
        assert_eq!(out.strided(&any, false).as_contiguous().map(<[u8]>::len), Some(6));
        // These elements have more bytes than there can be, and are still not none.
        let row = Array::from_elem((1, 4), 7u64);
        let many = row.broadcast((1 << (usize::BITS - 5), 4)).expect("as many elements as a view may have");
        let strided = BitwiseOut::<u64>::new(8, false).strided(&many, false);
        assert!(strided.as_contiguous().is_none() && strided.block_count() > 0);
    }
}
