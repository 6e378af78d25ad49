//! Rows or columns of a sparse matrix one after another, in the types that other crates use.

use ndarray::{Array1, Ix1};
use ndarray_io::error::ErrorKind;
use ndarray_io::{Casting, DynArray, Error, ReadableElement, Result};
use ndarray_io_formats::sparse::{Layout, Sparse};

/// A sparse matrix with sorted indices and without duplicates.
pub(crate) struct CompressedMatrix<A> {
    /// The numbers of rows and columns.
    pub(crate) shape: (usize, usize),
    pub(crate) indptr: Vec<usize>,
    pub(crate) indices: Vec<usize>,
    pub(crate) data: Vec<A>,
}

impl<A: ReadableElement> CompressedMatrix<A> {
    /// Returns the rows of a matrix.
    pub(crate) fn csr_of(matrix: &Sparse) -> Result<Self> {
        Self::of(matrix, Sparse::to_csr)
    }

    /// Returns the columns of a matrix.
    #[cfg(feature = "faer-0_24")]
    pub(crate) fn csc_of(matrix: &Sparse) -> Result<Self> {
        Self::of(matrix, Sparse::to_csc)
    }

    fn of(matrix: &Sparse, sorted: fn(&Sparse) -> Result<Sparse>) -> Result<Self> {
        let [rows, columns] = *matrix.shape() else {
            return Err(crate::axes_mismatch(matrix.shape(), "2 axes"));
        };
        let sorted = sorted(matrix)?;
        let (Layout::Csr { indices, indptr } | Layout::Csc { indices, indptr }) = sorted.layout() else {
            return Err(Error::new(ErrorKind::Malformed, "malformed sparse matrix: expected CSR or CSC"));
        };
        let numbers = |array: &DynArray| -> Result<Vec<usize>> {
            // They have been checked: they are between 0 and the lengths of the matrix.
            Ok(array.cast::<i64, Ix1>(Casting::Safe)?.iter().map(|number| *number as usize).collect())
        };
        let data: Array1<A> = sorted.data().clone().into_array()?;
        Ok(Self {
            shape: (rows, columns),
            indptr: numbers(indptr)?,
            indices: numbers(indices)?,
            data: data.into_raw_vec_and_offset().0,
        })
    }
}
