//! Shapes and memory orders. Dimensions are multiplied only here, and always with overflow checks.

use std::fmt;

/// The memory order of an array's elements in a file.
///
/// ```
/// use ndarray_io::header::Order;
/// assert_eq!(Order::default(), Order::C);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", rename_all = "snake_case"))]
pub enum Order {
    /// The last axis varies fastest.
    #[default]
    C,
    /// The first axis varies fastest.
    Fortran,
}

/// The lengths of an array's axes.
///
/// ```
/// use ndarray_io::header::Shape;
///
/// let shape = Shape::from([3, 4]);
/// assert_eq!(shape.len(), Some(12));
/// assert_eq!(shape.byte_len(8), Some(96));
/// assert_eq!(shape.to_string(), "(3, 4)");
/// assert_eq!(Shape::from([usize::MAX, 2]).len(), None); // overflows
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", transparent))]
pub struct Shape(Vec<usize>);

impl Shape {
    /// Returns whether C and Fortran order coincide: the array is empty or at most one axis is longer than 1.
    pub(crate) fn is_same_in_both_orders(&self) -> bool {
        self.dims().contains(&0) || self.dims().iter().filter(|length| **length > 1).count() < 2
    }

    /// Returns the length of each axis.
    ///
    /// ```
    /// assert_eq!(ndarray_io::header::Shape::from([3, 4]).dims(), [3, 4]);
    /// ```
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// Returns the number of axes.
    ///
    /// ```
    /// assert_eq!(ndarray_io::header::Shape::from([3, 4]).ndim(), 2);
    /// ```
    pub fn ndim(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of elements, or `None` if it overflows.
    ///
    /// It overflows if the product of all non-zero lengths exceeds `i64::MAX`, even if another axis has
    /// length 0; `ndarray` has the same rule with `isize::MAX`.
    ///
    /// ```
    /// use ndarray_io::header::Shape;
    /// assert_eq!(Shape::from([]).len(), Some(1)); // no axes: one element
    /// assert_eq!(Shape::from([0, usize::MAX]).len(), None);
    /// ```
    #[expect(clippy::len_without_is_empty, reason = "emptiness would need the same check of overflow")]
    pub fn len(&self) -> Option<u64> {
        self.byte_len(1)
    }

    /// Returns the size of the elements in bytes, or `None` if it overflows.
    ///
    /// Overflow is defined as for [`Shape::len`], but for the size in bytes. In this check, items of size 0
    /// count as 1 byte.
    ///
    /// ```
    /// assert_eq!(ndarray_io::header::Shape::from([3, 0]).byte_len(8), Some(0));
    /// ```
    pub fn byte_len(&self, item_size: usize) -> Option<u64> {
        let bound = self.nonzero_byte_len(item_size)?;
        Some(if item_size == 0 || self.0.contains(&0) { 0 } else { bound })
    }
}

impl Shape {
    /// Returns the size in bytes, ignoring axes of length 0, or `None` if it exceeds `i64::MAX`.
    ///
    /// Both `ndarray` and the length of a file must be able to represent this size.
    fn nonzero_byte_len(&self, item_size: usize) -> Option<u64> {
        let mut lengths = self.0.iter().filter(|length| **length > 0);
        let bound =
            lengths.try_fold(item_size.max(1) as u64, |bound, length| bound.checked_mul(*length as u64));
        bound.filter(|&bound| i64::try_from(bound).is_ok())
    }

    /// Returns whether an array of this shape can be addressed in memory.
    pub(crate) fn fits_memory(&self, item_size: usize) -> bool {
        self.nonzero_byte_len(item_size).is_some_and(|bound| isize::try_from(bound).is_ok())
    }

    /// Returns the index along each axis of an element, given by its number in this order.
    pub(crate) fn index_of(&self, number: u64, order: Order) -> Vec<usize> {
        let lengths = self.0.iter().map(|length| (*length).max(1));
        match order {
            Order::Fortran => indices_of(number, lengths).collect(),
            Order::C => {
                let mut index: Vec<usize> = indices_of(number, lengths.rev()).collect();
                index.reverse();
                index
            }
        }
    }

    /// Returns the number in this order of an element, given by its index along each axis.
    pub(crate) fn linear_index(&self, index: &[usize], order: Order) -> u64 {
        let strides = self.strides(order);
        index.iter().zip(strides).map(|(index, stride)| *index as u64 * stride).sum()
    }

    /// Returns the stride of each axis in elements, for a shape whose number of elements does not overflow.
    pub(crate) fn strides(&self, order: Order) -> Vec<u64> {
        let mut strides = vec![1u64; self.ndim()];
        let axes: Vec<usize> = match order {
            Order::C => (0..self.ndim()).rev().collect(),
            Order::Fortran => (0..self.ndim()).collect(),
        };
        let mut stride = 1u64;
        for axis in axes {
            strides[axis] = stride;
            stride = stride.saturating_mul(self.0[axis] as u64);
        }
        strides
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Self {
        Self(dims.to_vec())
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Self {
        Self(dims.to_vec())
    }
}

impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Self {
        Self(dims)
    }
}

/// Formats the shape as a Python tuple, as in an NPY header.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (axis, length) in self.0.iter().enumerate() {
            if axis > 0 {
                f.write_str(", ")?;
            }
            length.fmt(f)?;
        }
        f.write_str(if self.ndim() == 1 { ",)" } else { ")" })
    }
}

/// The number of an axis, counted from 0: a `usize`, or an `Axis` of `ndarray`.
///
/// ```
/// use ndarray::{Array2, Axis, arr2};
/// use ndarray_io::NpyFile;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npy(&path, &arr2(&[[1, 2], [3, 4]]))?;
/// let file = NpyFile::open(&path)?;
/// let [one, other]: [Array2<i32>; 2] = [file.take(1, &[1])?, file.take(Axis(1), &[1])?];
/// assert_eq!(one, other);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AxisIndex: private::Sealed {
    /// Returns the number of the axis.
    fn number(self) -> usize;
}

impl AxisIndex for usize {
    fn number(self) -> usize {
        self
    }
}

pub(crate) mod private {
    /// Restricts the trait to two types.
    pub trait Sealed {}

    impl Sealed for usize {}
}

/// Returns the index along each axis of an element, given by its number; `lengths` are those of the axes, the fastest first. None is 0.
#[inline]
pub(crate) fn indices_of(number: u64, lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
    let mut left = number;
    lengths.map(move |length| {
        let index = (left % length as u64) as usize;
        left /= length as u64;
        index
    })
}

#[cfg(test)]
mod tests {
    #[cfg(target_pointer_width = "64")]
    use super::Shape;

    #[cfg(target_pointer_width = "64")] // on 32-bit targets, no shape reaches the maximum length of a file
    #[test]
    fn products_never_wrap() {
        let big = isize::MAX as usize;
        assert_eq!(Shape::from([big]).len(), Some(big as u64));
        assert_eq!(Shape::from([big + 1]).len(), None);
        assert_eq!(Shape::from([big / 8 + 1]).byte_len(8), None);
        assert_eq!(Shape::from([1 << (usize::BITS / 2), 1 << (usize::BITS / 2 - 1)]).len(), None);
        assert_eq!(Shape::from([0, big, 2]).len(), None);
        assert_eq!(Shape::from([0, big]).byte_len(8), None);
        assert_eq!(Shape::from([5]).byte_len(0), Some(0));
        assert_eq!(Shape::default().byte_len(8), Some(8));
    }
}
