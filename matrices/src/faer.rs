//! Matrices of `faer` 0.24.
//!
//! ```
//! use faer::{Mat, mat};
//! use ndarray_io_matrices::faer::{read_npy, write_npy};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("matrix.npy");
//! let matrix: Mat<f64> = mat![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
//! write_npy(&path, matrix.as_ref())?;
//! assert_eq!(read_npy::<f64, _>(&path)?, matrix);
//! # Ok::<(), ndarray_io::Error>(())
//! ```

use std::fs::File;
use std::path::Path;

use faer::{Mat, MatRef};
use ndarray::{ArrayView1, Ix2, ShapeBuilder};
use ndarray_io::error::{Error, Result};
use ndarray_io::file::replace_file_with;
use ndarray_io::header::Order;
use ndarray_io::{FlatArray, FlatView, NpyWriter, ReadableElement, WritableElement, WriteOptions};

use crate::two_axes;

/// Reads a matrix of a file of NPY. Its columns are aligned, as `faer` wants them, so the elements are copied.
///
/// # Errors
///
/// - Those of [`ndarray_io::read_npy`].
/// - [`ShapeMismatch`](ndarray_io::error::ErrorKind::ShapeMismatch) if the array does not have two axes.
pub fn read_npy<T: ReadableElement + Copy, P: AsRef<Path>>(path: P) -> Result<Mat<T>> {
    let array: FlatArray<T> = ndarray_io::read_npy(path.as_ref())?;
    let made = view(&array.view())
        .map(|view| Mat::from_fn(view.nrows(), view.ncols(), |row, column| view[(row, column)]));
    made.map_err(|error| error.at_path(path.as_ref()))
}

/// Writes a matrix to a file of NPY, in Fortran order. If its columns are contiguous, nothing is copied; otherwise one column at a time.
///
/// # Errors
///
/// Those of [`ndarray_io::write_npy`].
pub fn write_npy<T: WritableElement + Copy, P: AsRef<Path>>(path: P, matrix: MatRef<'_, T>) -> Result<()> {
    let path = path.as_ref();
    let write = |file: &File| {
        let shape = Ix2(matrix.nrows(), matrix.ncols()).f();
        let mut writer = NpyWriter::with_shape(file, shape)?;
        for column in matrix.col_iter() {
            match column.try_as_col_major() {
                Some(column) => writer.push(&ArrayView1::from(column.as_slice()))?,
                None => {
                    let column: Vec<T> = column.iter().copied().collect();
                    writer.push(&ArrayView1::from(&column))?;
                }
            }
        }
        writer.finish().map(drop)
    };
    replace_file_with(path, &WriteOptions::new(), write).map_err(|error: Error| error.at_path(path))
}

/// Views an array, such as that of a map, as a matrix, without a copy.
///
/// # Errors
///
/// [`ShapeMismatch`](ndarray_io::error::ErrorKind::ShapeMismatch) if the array does not have two axes.
///
/// # Examples
///
/// ```
/// use ndarray_io::header::Order;
/// use ndarray_io::FlatView;
/// use ndarray_io_matrices::faer::view;
///
/// let array = FlatView::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3], Order::C)?;
/// assert_eq!(view(&array)?, faer::mat![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn view<'a, T>(array: &FlatView<'a, T>) -> Result<MatRef<'a, T>> {
    let (rows, columns) = two_axes(array.shape())?;
    // `FlatView` has exactly the elements of its shape.
    Ok(match array.order() {
        Order::Fortran => MatRef::from_column_major_slice(array.items(), rows, columns),
        Order::C => MatRef::from_row_major_slice(array.items(), rows, columns),
    })
}
