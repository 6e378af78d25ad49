//! NumPy's files as matrices and tensors of other crates, through [`FlatArray`](ndarray_io::FlatArray) and
//! [`FlatView`](ndarray_io::FlatView) of [`ndarray_io`].
//!
//! | feature | module | types | without a copy |
//! |---|---|---|---|
//! | `nalgebra-0_35` | [`nalgebra`] | `DMatrix`, `DVector`, views with any strides | reading Fortran order, writing, views of maps |
//! | `faer-0_24` | [`faer`] | `Mat`, `MatRef` | views of maps; writing columns that are contiguous |
//! | `candle-0_11` | [`candle`] | `Tensor` on the CPU | reading; writing copies |
//! | `arrow-60` | [`arrow`] | primitive arrays, bools, texts, record batches | reading and writing numbers |
//! | | | `SparseColMat`, `SparseRowMat`, from and to sparse matrices of SciPy | |
//! | `sprs-0_11` | [`sprs`] | `CsMat`, from and to sparse matrices of SciPy | |
//!
//! NumPy's arrays in C order have rows one after another, matrices of `nalgebra` and `faer` have columns. An owned matrix of an array
//! in C order is therefore transposed by a copy; a view is not, it has strides. Arrays that are written are in the order of the matrix, Fortran order for these
//! crates, as `numpy.save` writes such an array.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "arrow-60")]
pub mod arrow;
#[cfg(feature = "candle-0_11")]
pub mod candle;
#[cfg(any(feature = "faer-0_24", feature = "sprs-0_11"))]
mod compressed;
#[cfg(feature = "faer-0_24")]
pub mod faer;
#[cfg(feature = "nalgebra-0_35")]
pub mod nalgebra;
#[cfg(feature = "sprs-0_11")]
pub mod sprs;

/// Returns the numbers of rows and columns.
#[cfg(any(feature = "nalgebra-0_35", feature = "faer-0_24"))]
fn two_axes(shape: &[usize]) -> ndarray_io::Result<(usize, usize)> {
    match *shape {
        [rows, columns] => Ok((rows, columns)),
        _ => Err(axes_mismatch(shape, "2 axes")),
    }
}

#[cfg(any(feature = "nalgebra-0_35", feature = "faer-0_24", feature = "arrow-60", feature = "sprs-0_11"))]
fn axes_mismatch(found: &[usize], wanted: &str) -> ndarray_io::Error {
    let found = ndarray_io::header::Shape::from(found);
    let text = format!("expected an array of {wanted}, found shape {found}");
    ndarray_io::Error::new(ndarray_io::error::ErrorKind::ShapeMismatch, text)
}
