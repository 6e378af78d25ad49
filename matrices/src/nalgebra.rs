//! Matrices and vectors of `nalgebra` 0.35.
//!
//! ```
//! use nalgebra::DMatrix;
//! use ndarray_io_matrices::nalgebra::{read_npy, write_npy};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("matrix.npy");
//! let matrix = DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
//! write_npy(&path, &matrix)?; // in Fortran order, without a copy
//! assert_eq!(read_npy::<f64, _>(&path)?, matrix);
//! # Ok::<(), ndarray_io::Error>(())
//! ```

use std::path::Path;

use nalgebra::{DMatrix, DVector, Dyn, MatrixView, Scalar, VecStorage};
use ndarray_io::header::Order;
use ndarray_io::{FlatArray, FlatView, ReadableElement, Result, WritableElement};

use crate::two_axes;

/// A view of an array of either order.
pub type StridedView<'a, T> = MatrixView<'a, T, Dyn, Dyn, Dyn, Dyn>;

/// Reads a matrix of a file of NPY.
///
/// # Errors
///
/// - Those of [`ndarray_io::read_npy`].
/// - [`ShapeMismatch`](ErrorKind::ShapeMismatch) if the array does not have two axes.
pub fn read_npy<T: Scalar + ReadableElement, P: AsRef<Path>>(path: P) -> Result<DMatrix<T>> {
    let array: FlatArray<T> = ndarray_io::read_npy(path.as_ref())?;
    to_matrix(array).map_err(|error| error.at_path(path.as_ref()))
}

/// Writes a matrix to a file of NPY, in Fortran order.
///
/// # Errors
///
/// Those of [`ndarray_io::write_npy`].
pub fn write_npy<T: Scalar + WritableElement, P: AsRef<Path>>(path: P, matrix: &DMatrix<T>) -> Result<()> {
    ndarray_io::write_npy(path, &view_of(matrix)?)
}

/// Makes a matrix of an array. That of an array in Fortran order has the same memory; one in C order is copied.
///
/// # Errors
///
/// [`ShapeMismatch`](ErrorKind::ShapeMismatch) if the array does not have two axes.
pub fn to_matrix<T: Scalar>(array: FlatArray<T>) -> Result<DMatrix<T>> {
    let (rows, columns) = two_axes(array.shape())?;
    let order = array.order();
    let (items, ..) = array.into_parts();
    Ok(match order {
        Order::Fortran => DMatrix::from_data(VecStorage::new(Dyn(rows), Dyn(columns), items)),
        Order::C => DMatrix::from_row_slice(rows, columns, &items),
    })
}

/// Makes a vector of an array with one axis, of the same memory.
///
/// # Errors
///
/// [`ShapeMismatch`](ErrorKind::ShapeMismatch) if the array does not have one axis.
pub fn to_vector<T: Scalar>(array: FlatArray<T>) -> Result<DVector<T>> {
    match array.shape() {
        [_] => Ok(DVector::from_vec(array.into_parts().0)),
        shape => Err(crate::axes_mismatch(shape, "1 axis")),
    }
}

/// Views an array, such as that of a map, as a matrix, without a copy.
///
/// # Errors
///
/// [`ShapeMismatch`](ErrorKind::ShapeMismatch) if the array does not have two axes.
///
/// # Examples
///
/// ```
/// use ndarray_io::header::Order;
/// use ndarray_io::FlatView;
/// use ndarray_io_matrices::nalgebra::view;
///
/// let array = FlatView::new(&[1, 2, 3, 4, 5, 6], &[2, 3], Order::C)?;
/// assert_eq!(view(&array)?, nalgebra::DMatrix::from_row_slice(2, 3, &[1, 2, 3, 4, 5, 6]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn view<'a, T: Scalar>(array: &FlatView<'a, T>) -> Result<StridedView<'a, T>> {
    let (rows, columns) = two_axes(array.shape())?;
    let (between_rows, between_columns) = match array.order() {
        // `nalgebra` wants memory for elements of either axis, also if the other one has the length 0.
        _ if rows == 0 => (1, 0),
        _ if columns == 0 => (0, 1),
        Order::C => (columns, 1),
        Order::Fortran => (1, rows),
    };
    // `FlatView` has exactly the elements of its shape.
    Ok(StridedView::from_slice_with_strides_generic(
        array.items(),
        Dyn(rows),
        Dyn(columns),
        Dyn(between_rows),
        Dyn(between_columns),
    ))
}

/// Returns the elements of a matrix as an array in Fortran order, which can be written, without a copy.
///
/// # Errors
///
/// None for a matrix that is in memory.
pub fn view_of<T: Scalar>(matrix: &DMatrix<T>) -> Result<FlatView<'_, T>> {
    FlatView::new(matrix.as_slice(), &[matrix.nrows(), matrix.ncols()], Order::Fortran)
}

/// Returns the elements of a vector as an array, which can be written, without a copy.
///
/// # Errors
///
/// None for a vector that is in memory.
pub fn vector_view_of<T: Scalar>(vector: &DVector<T>) -> Result<FlatView<'_, T>> {
    FlatView::new(vector.as_slice(), &[vector.len()], Order::C)
}
