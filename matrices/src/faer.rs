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
//!
//! Sparse matrices of SciPy become [`SparseColMat`] or [`SparseRowMat`], and the reverse:
//!
//! ```
//! use ndarray::arr1;
//! use ndarray_io_formats::sparse::Sparse;
//! use ndarray_io_matrices::faer::{from_sparse_columns, to_sparse_columns};
//!
//! let matrix = Sparse::csr([2, 3], &[0, 2, 3], &[0, 2, 1], &arr1(&[1.5, 2.5, 3.5]))?;
//! let columns = to_sparse_columns::<f64>(&matrix)?;
//! assert_eq!(columns.get(0, 2), Some(&2.5));
//! assert_eq!(from_sparse_columns(columns.as_ref())?.format(), "csc");
//! # Ok::<(), ndarray_io::Error>(())
//! ```

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use faer::sparse::{
    SparseColMat, SparseColMatRef, SparseRowMat, SparseRowMatRef, SymbolicSparseColMat, SymbolicSparseRowMat,
};
use faer::{Mat, MatRef};
use ndarray::{Array1, ArrayView1, Ix2, ShapeBuilder};
use ndarray_io::header::Order;
use ndarray_io::{
    Error, FlatArray, FlatView, NpyWriter, ReadableElement, Result, WritableElement, WriteOptions,
};
use ndarray_io_formats::sparse::Sparse;

use crate::compressed::CompressedMatrix;
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
    WriteOptions::new().replace_file(path, write).map_err(|error: Error| error.at_path(path))
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

/// Makes a matrix of columns. It is a copy with sorted columns, in which duplicate elements are added.
///
/// # Errors
///
/// - [`ShapeMismatch`](ndarray_io::error::ErrorKind::ShapeMismatch) if it does not have two axes.
/// - [`DTypeMismatch`](ndarray_io::error::ErrorKind::DTypeMismatch) if the elements have another type.
/// - Those of [`Sparse::to_csc`].
pub fn to_sparse_columns<A: ReadableElement>(matrix: &Sparse) -> Result<SparseColMat<usize, A>> {
    let CompressedMatrix { shape: (rows, columns), indptr, indices, data } =
        CompressedMatrix::csc_of(matrix)?;
    let places = SymbolicSparseColMat::new_checked(rows, columns, indptr, None, indices);
    Ok(SparseColMat::new(places, data))
}

/// Makes a matrix of rows, as [`to_sparse_columns`] makes one of columns.
///
/// # Errors
///
/// Those of [`to_sparse_columns`].
pub fn to_sparse_rows<A: ReadableElement>(matrix: &Sparse) -> Result<SparseRowMat<usize, A>> {
    let CompressedMatrix { shape: (rows, columns), indptr, indices, data } =
        CompressedMatrix::csr_of(matrix)?;
    let places = SymbolicSparseRowMat::new_checked(rows, columns, indptr, None, indices);
    Ok(SparseRowMat::new(places, data))
}

/// Makes a matrix for SciPy, in CSC. Elements that the matrix has room for and does not use are left out.
///
/// # Errors
///
/// Those of [`Sparse::csc`].
pub fn from_sparse_columns<A: WritableElement + Clone>(
    matrix: SparseColMatRef<'_, usize, A>,
) -> Result<Sparse> {
    let places = matrix.symbolic();
    let ranges = (0..matrix.ncols()).map(|column| places.col_range(column));
    let (indptr, indices, data) = compact_entries(ranges, places.row_idx(), matrix.val());
    Sparse::csc([matrix.nrows(), matrix.ncols()], &indptr, &indices, &data)
}

/// Makes a matrix for SciPy, in CSR, as [`from_sparse_columns`] does.
///
/// # Errors
///
/// Those of [`Sparse::csr`].
pub fn from_sparse_rows<A: WritableElement + Clone>(matrix: SparseRowMatRef<'_, usize, A>) -> Result<Sparse> {
    let places = matrix.symbolic();
    let ranges = (0..matrix.nrows()).map(|row| places.row_range(row));
    let (indptr, indices, data) = compact_entries(ranges, places.col_idx(), matrix.val());
    Sparse::csr([matrix.nrows(), matrix.ncols()], &indptr, &indices, &data)
}

/// Returns the pointers, indices and elements within some ranges.
fn compact_entries<A: Clone>(
    ranges: impl Iterator<Item = Range<usize>>,
    all_indices: &[usize],
    all_data: &[A],
) -> (Vec<usize>, Vec<usize>, Array1<A>) {
    let (mut indptr, mut indices, mut data) = (vec![0], Vec::new(), Vec::new());
    for range in ranges {
        indices.extend_from_slice(&all_indices[range.clone()]);
        data.extend_from_slice(&all_data[range]);
        indptr.push(indices.len());
    }
    (indptr, indices, Array1::from(data))
}
