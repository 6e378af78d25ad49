//! Questions about arrays on disk: statistics, percentiles, distinct values, and arithmetic as NumPy does it.
//!
//! Everything is computed block by block: memory does not depend on the size of the arrays. What needs more than
//! [`MEMORY_BYTES`] reads the arrays several times.
//!
//! ```
//! use ndarray_io::{DynArray, NpyFile};
//! use ndarray_io_compute::{Expression, summarize};
//!
//! # let path = tempfile::NamedTempFile::new()?.into_temp_path();
//! ndarray_io::write_npy(&path, &ndarray::arr2(&[[1.0f32, 2.0], [3.0, f32::NAN]]))?;
//! let file = NpyFile::open(&path)?;
//! let doubled: DynArray = Expression::parse("where(isnan(x), 0, x * 2)")?.bind(&[("x", &file)])?.evaluate()?;
//! assert_eq!(doubled.to_string(), "[[2.0, 4.0],\n [6.0, 0.0]]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod boxes;
mod counts;
mod error;
mod expression;
mod quantiles;
pub mod stats;
pub mod table;

use ndarray::SliceInfoElem;
use ndarray_io::blocks::Blocks;
use ndarray_io::{DType, DynArray, NpyFile};

pub use boxes::{boxes, index_in};
pub use counts::{Counts, count, row_ranks};
pub use error::{Error, Result};
pub use expression::{Bound, Expression, Part, axis_number};
pub use quantiles::percentiles;
pub use stats::{Summary, summarize, summarize_groups};

/// The memory that one question may need, beside blocks.
pub const MEMORY_BYTES: u64 = 48 << 20;

/// An array of which parts can be read.
pub trait Source: Sync {
    /// Returns the dtype.
    fn dtype(&self) -> &DType;

    /// Returns the shape.
    fn shape(&self) -> &[usize];

    /// Reads a part.
    ///
    /// # Errors
    ///
    /// Those of reading.
    fn slice(&self, slice: &[SliceInfoElem]) -> ndarray_io::Result<DynArray>;

    /// Visits the array in blocks.
    fn blocks(&self) -> Blocks<'_, DynArray>;
}

impl Source for NpyFile {
    fn dtype(&self) -> &DType {
        self.dtype()
    }

    fn shape(&self) -> &[usize] {
        self.shape()
    }

    fn slice(&self, slice: &[SliceInfoElem]) -> ndarray_io::Result<DynArray> {
        self.slice_any(slice)
    }

    fn blocks(&self) -> Blocks<'_, DynArray> {
        self.blocks()
    }
}

impl Source for DynArray {
    fn dtype(&self) -> &DType {
        self.dtype()
    }

    fn shape(&self) -> &[usize] {
        self.shape()
    }

    fn slice(&self, slice: &[SliceInfoElem]) -> ndarray_io::Result<DynArray> {
        self.slice(slice)
    }

    fn blocks(&self) -> Blocks<'_, DynArray> {
        self.blocks()
    }
}
