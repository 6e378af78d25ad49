//! Conversions to arrays of a known type, as the standard library spells them.

use ndarray::{Array, ArrayView, Dimension};

use super::DynArray;
use crate::elements::{ReadableElement, ViewElement};
use crate::error::{Error, Returned};

/// Converts the array to an array of a known type, as [`DynArray::into_array`] does.
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::DynArray;
///
/// let array: Array1<f64> = DynArray::new(&arr1(&[1.0, 2.0]))?.try_into()?;
/// assert_eq!(array.sum(), 3.0);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
impl<A: ReadableElement, D: Dimension> TryFrom<DynArray> for Array<A, D> {
    type Error = Returned<DynArray>;

    fn try_from(array: DynArray) -> Result<Self, Self::Error> {
        array.into_array()
    }
}

/// Returns a typed view of the elements, as [`DynArray::view`] does.
///
/// ```
/// use ndarray::{ArrayView1, arr1};
/// use ndarray_io::DynArray;
///
/// let array = DynArray::new(&arr1(&[1.0, 2.0]))?;
/// let view: ArrayView1<'_, f64> = (&array).try_into()?;
/// assert_eq!(view.sum(), 3.0);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
impl<'a, A: ViewElement, D: Dimension> TryFrom<&'a DynArray> for ArrayView<'a, A, D> {
    type Error = Error;

    fn try_from(array: &'a DynArray) -> Result<Self, Error> {
        array.view()
    }
}
