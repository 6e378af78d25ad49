//! Slices as slices of arrays.
#![allow(unsafe_code)]

/// `slice::as_chunks`, which is newer than the oldest compiler of this library.
pub(crate) trait AsChunks<T> {
    /// Returns the items as arrays of `N`; what is left is left out.
    fn chunks_of<const N: usize>(&self) -> &[[T; N]];

    /// Returns the items as arrays of `N` that can be changed; what is left is left out.
    fn chunks_of_mut<const N: usize>(&mut self) -> &mut [[T; N]];
}

impl<T> AsChunks<T> for [T] {
    #[inline]
    fn chunks_of<const N: usize>(&self) -> &[[T; N]] {
        const { assert!(N > 0) };
        // SAFETY: an array is aligned as its items are, and these arrays have no more items than the slice.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), self.len() / N) }
    }

    #[inline]
    fn chunks_of_mut<const N: usize>(&mut self) -> &mut [[T; N]] {
        const { assert!(N > 0) };
        // SAFETY: as above; the slice is borrowed as long as the arrays are.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr().cast(), self.len() / N) }
    }
}

#[cfg(test)]
mod tests {
    use super::AsChunks;

    #[test]
    fn chunks_are_those_of_the_standard_library() {
        let mut items: Vec<u16> = (0..11).collect();
        assert_eq!(
            items.chunks_of::<3>().concat(),
            items.chunks_exact(3).flatten().copied().collect::<Vec<_>>()
        );
        assert_eq!(items.chunks_of::<11>().len(), 1);
        assert!(items.chunks_of::<12>().is_empty());
        for chunk in items.chunks_of_mut::<4>() {
            chunk.reverse();
        }
        assert_eq!(items, [3, 2, 1, 0, 7, 6, 5, 4, 8, 9, 10]);
    }
}
