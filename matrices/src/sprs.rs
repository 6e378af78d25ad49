//! Sparse matrices of `sprs` 0.11, from and to those of SciPy.
//!
//! ```
//! use ndarray::arr1;
//! use ndarray_io_formats::sparse::Sparse;
//! use ndarray_io_matrices::sprs::{from_sprs, to_sprs};
//! use sprs::CsMat;
//!
//! let matrix = Sparse::csr([2, 3], &[0, 2, 3], &[2, 0, 1], &arr1(&[1.5, 2.5, 3.5]))?; // the first row is not sorted
//! let sorted: CsMat<f64> = to_sprs(&matrix)?; // a copy, whose rows are
//! assert_eq!(sorted.get(0, 2), Some(&1.5));
//! assert_eq!(from_sprs(&sorted)?.to_dense::<f64, _>()?, matrix.to_dense::<f64, ndarray::Ix2>()?);
//! # Ok::<(), ndarray_io::Error>(())
//! ```

use ndarray::Array1;
use ndarray_io::error::ErrorKind;
use ndarray_io::{Error, ReadableElement, Result, WritableElement};
use ndarray_io_formats::sparse::Sparse;
use sprs::CsMat;

use crate::compressed::CompressedMatrix;

/// Makes a matrix of rows. It is a copy with sorted rows, in which duplicate elements are added.
///
/// # Errors
///
/// - [`ShapeMismatch`](ErrorKind::ShapeMismatch) if it does not have two axes.
/// - [`DTypeMismatch`](ErrorKind::DTypeMismatch) if the elements have another type.
/// - Those of [`Sparse::to_csr`].
pub fn to_sprs<A: ReadableElement>(matrix: &Sparse) -> Result<CsMat<A>> {
    let CompressedMatrix { shape, indptr, indices, data } = CompressedMatrix::csr_of(matrix)?;
    CsMat::try_new(shape, indptr, indices, data)
        .map_err(|(.., error)| Error::new(ErrorKind::Malformed, format!("malformed sparse matrix: {error}")))
}

/// Makes a matrix for SciPy: CSR or CSC, as it is.
///
/// # Errors
///
/// Those of [`Sparse::csr`].
pub fn from_sprs<A: WritableElement + Clone>(matrix: &CsMat<A>) -> Result<Sparse> {
    let shape = [matrix.rows(), matrix.cols()];
    let indptr: Vec<usize> = matrix.proper_indptr().to_vec();
    let data = Array1::from(matrix.data().to_vec());
    match matrix.is_csr() {
        true => Sparse::csr(shape, &indptr, matrix.indices(), &data),
        false => Sparse::csc(shape, &indptr, matrix.indices(), &data),
    }
}
