//! [SciPy's sparse matrices and arrays](https://docs.scipy.org/doc/scipy/reference/sparse.html) in NPZ archives, as
//! `scipy.sparse.save_npz` writes them.
//!
//! ```
//! use ndarray::{arr1, arr2};
//! use ndarray_io_formats::sparse::{Layout, Sparse};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("matrix.npz");
//! let matrix = Sparse::csr([2, 3], &[0, 2, 3], &[0, 2, 1], &arr1(&[1.5, 2.5, 3.5]))?;
//! matrix.write(&path)?; // scipy.sparse.load_npz opens it
//!
//! let matrix = Sparse::read(&path)?;
//! assert_eq!((matrix.format(), matrix.shape(), matrix.stored()), ("csr", &[2, 3][..], 3));
//! assert_eq!(matrix.to_dense::<f64, _>()?, arr2(&[[1.5, 0.0, 2.5], [0.0, 3.5, 0.0]]));
//! # Ok::<(), ndarray_io::Error>(())
//! ```
//!
//! CSR, CSC, BSR, COO and DIA are read and written, matrices and arrays, with one to 64 axes where SciPy has them, integers of any dtype as
//! indices, and numbers and bools as elements. What is read is checked: indices are within the shape, and pointers ascend. Unsorted and duplicate
//! indices are kept as they are. The lengths of a shape have a product below 2⁶³; to make it dense, also that product with the size of an element.
//!
//! [`SparseFile`] reads ranges of rows of a matrix that is larger than memory, and [`Sparse::write_dense`] writes a dense array of any size.

mod check;
mod dense;
mod file;
mod order;

pub use file::{SparseFile, SparseInfo};

use std::io::Write;
use std::path::Path;

use ndarray::{ArrayRef, Dimension, Ix1};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::{DynArray, Error, NpzFile, ReadOptions, Result, WritableElement, WriteArray, WriteOptions};

/// The names of the members that an archive of a sparse matrix can have, in any layout. Other members are ignored when it is read.
pub const MEMBER_NAMES: &[&str] =
    &["_is_array", "col", "coords", "data", "format", "indices", "indptr", "offsets", "row", "shape"];

/// A sparse matrix or array.
#[derive(Clone, Debug)]
pub struct Sparse {
    layout: Layout,
    shape: Vec<usize>,
    data: DynArray,
    is_array: bool,
}

/// Where the stored elements are.
///
/// The numbers are integers of any dtype, as they are in the archive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Layout {
    /// Rows one after another: the columns of the elements, and where each row begins among them. With one axis, there is one row.
    Csr {
        /// The column of each element.
        indices: DynArray,
        /// The number of the first element of each row, and the number of elements.
        indptr: DynArray,
    },
    /// Columns one after another.
    Csc {
        /// The row of each element.
        indices: DynArray,
        /// The number of the first element of each column, and the number of elements.
        indptr: DynArray,
    },
    /// Rows of dense blocks; the elements have the axes (block, row, column).
    Bsr {
        /// The column of each block, counted in blocks.
        indices: DynArray,
        /// The number of the first block of each row of blocks, and the number of blocks.
        indptr: DynArray,
    },
    /// The coordinates of each element: an array for each axis.
    Coo {
        /// The coordinates along each axis.
        coords: Vec<DynArray>,
    },
    /// Diagonals, each as long as a row.
    Dia {
        /// The distance of each diagonal from the main one: positive above it.
        offsets: DynArray,
    },
}

impl Sparse {
    /// Creates a matrix or array, and checks it.
    ///
    /// # Errors
    ///
    /// - [`Malformed`](ErrorKind::Malformed) if an index is out of bounds, pointers do not ascend, or the parts have different lengths, or
    ///   if the shape has more elements than 63 bits can count.
    /// - [`DTypeMismatch`](ErrorKind::DTypeMismatch) if indices are not integers.
    /// - [`NotConvertible`](ErrorKind::NotConvertible) if the elements are neither numbers nor bools.
    pub fn new(layout: Layout, shape: impl Into<Vec<usize>>, data: DynArray) -> Result<Self> {
        let sparse = Self { layout, shape: shape.into(), data, is_array: true };
        check::check(&sparse)?;
        Ok(sparse)
    }

    /// Creates a matrix of rows: the elements of row `i` are those from `indptr[i]` to `indptr[i + 1]`, and `indices` has their columns.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn csr<A: WritableElement>(
        shape: [usize; 2],
        indptr: &[usize],
        indices: &[usize],
        data: &ArrayRef<A, Ix1>,
    ) -> Result<Self> {
        let indices = index_array(indices, shape[1].max(data.len()))?;
        let indptr = index_array(indptr, shape[1].max(data.len()))?;
        Self::new(Layout::Csr { indices, indptr }, shape, DynArray::new(data)?)
    }

    /// Creates a matrix of columns. See [`csr`](Self::csr).
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn csc<A: WritableElement>(
        shape: [usize; 2],
        indptr: &[usize],
        indices: &[usize],
        data: &ArrayRef<A, Ix1>,
    ) -> Result<Self> {
        let indices = index_array(indices, shape[0].max(data.len()))?;
        let indptr = index_array(indptr, shape[0].max(data.len()))?;
        Self::new(Layout::Csc { indices, indptr }, shape, DynArray::new(data)?)
    }

    /// Reads a matrix or array.
    ///
    /// # Errors
    ///
    /// - [`Io`](ErrorKind::Io) if reading fails.
    /// - A [format error](Error::is_format) if the file is not an archive, or damaged.
    /// - [`NoSuchName`](ErrorKind::NoSuchName) if it is not that of a sparse matrix.
    /// - Those of [`new`](Self::new).
    pub fn read<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::read_with(path, &ReadOptions::new())
    }

    /// Reads a matrix or array, with options.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    pub fn read_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let read = || Self::read_from(&options.open_npz(path)?);
        read().map_err(|error: Error| error.at_path(path))
    }

    /// Reads a matrix or array from an opened archive.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    pub fn read_from(archive: &NpzFile) -> Result<Self> {
        let named = file::SparseHeader::of(archive)?;
        let read = |name: &str| archive.read::<DynArray>(name);
        let layout = match named.format.as_str() {
            "csr" => Layout::Csr { indices: read("indices")?, indptr: read("indptr")? },
            "csc" => Layout::Csc { indices: read("indices")?, indptr: read("indptr")? },
            "bsr" => Layout::Bsr { indices: read("indices")?, indptr: read("indptr")? },
            "dia" => Layout::Dia { offsets: read("offsets")? },
            _ => {
                let has_coords = archive.members().iter().any(|member| member.name() == "coords");
                let coords = match has_coords {
                    true => split_coords(&read("coords")?, named.shape.len())?,
                    false => vec![read("row")?, read("col")?],
                };
                Layout::Coo { coords }
            }
        };
        let sparse = Self { layout, shape: named.shape, data: read("data")?, is_array: named.is_array };
        check::check(&sparse)?;
        Ok(sparse)
    }

    /// Writes it to an archive, stored, which replaces a file of the same name in one step.
    ///
    /// # Errors
    ///
    /// Those of [`WriteOptions::write_npz`].
    pub fn write<P: AsRef<Path>>(&self, path: P) -> Result<()> {
        self.write_with(path, &WriteOptions::new())
    }

    /// Writes it to an archive, with options, such as a compression.
    ///
    /// # Errors
    ///
    /// Those of [`write`](Self::write).
    pub fn write_with<P: AsRef<Path>>(&self, path: P, options: &WriteOptions) -> Result<()> {
        let path = path.as_ref();
        options
            .replace_file(path, |file| self.write_to(file, &options.content_options()))
            .map_err(|error: Error| error.at_path(path))
    }

    /// Writes it as an archive to a writer.
    ///
    /// # Errors
    ///
    /// Those of [`write`](Self::write). After an error, the writer may have received part of the archive.
    pub fn write_to<W: Write>(&self, writer: W, options: &WriteOptions) -> Result<()> {
        let shape: Vec<i64> = self.shape.iter().map(|length| *length as i64).collect();
        let format = DynArray::from_bytes("|S3".parse()?, Vec::new(), Order::C, self.format().as_bytes())?;
        let coords = match &self.layout {
            Layout::Coo { coords } if coords.len() != 2 => Some(stack_coords(coords)?),
            _ => None,
        };
        let mut members: Vec<(&str, &dyn WriteArray)> = match &self.layout {
            Layout::Csr { indices, indptr }
            | Layout::Csc { indices, indptr }
            | Layout::Bsr { indices, indptr } => vec![("indices", indices), ("indptr", indptr)],
            Layout::Dia { offsets } => vec![("offsets", offsets)],
            Layout::Coo { coords: each } => match &coords {
                Some(coords) => vec![("coords", coords)],
                None => vec![("row", &each[0]), ("col", &each[1])],
            },
        };
        let yes = ndarray::arr0(true);
        members.extend([("format", &format as &dyn WriteArray), ("shape", &shape), ("data", &self.data)]);
        if self.is_array {
            members.push(("_is_array", &yes));
        }
        let mut archive = options.npz_writer(writer)?;
        for (name, array) in members {
            archive.add(name, array)?;
        }
        Ok(archive.finish()?.flush()?)
    }

    /// Returns the layout, with the indices.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns SciPy's name of the layout: `csr`, `csc`, `bsr`, `coo` or `dia`.
    pub fn format(&self) -> &'static str {
        match &self.layout {
            Layout::Csr { .. } => "csr",
            Layout::Csc { .. } => "csc",
            Layout::Bsr { .. } => "bsr",
            Layout::Coo { .. } => "coo",
            Layout::Dia { .. } => "dia",
        }
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the stored elements: a vector, and for blocks and diagonals an array of more axes.
    pub fn data(&self) -> &DynArray {
        &self.data
    }

    /// Returns the number of elements that are stored, zeros and duplicates among them.
    pub fn stored(&self) -> usize {
        match &self.layout {
            Layout::Coo { .. } => self.data.len(),
            // Elements may follow the last row.
            Layout::Csr { indptr, .. } | Layout::Csc { indptr, .. } | Layout::Bsr { indptr, .. } => {
                let block: usize = self.data.shape()[1..].iter().product();
                let pointers = check::numbers("indptr", indptr).unwrap_or_default();
                pointers.last().map_or(0, |last| *last as usize) * block
            }
            // Diagonals are as long as a row, also where they leave the matrix.
            Layout::Dia { offsets } => {
                let (Some(&length), [rows, columns]) = (self.data.shape().get(1), self.shape[..].as_ref())
                else {
                    return 0;
                };
                let end = *columns.min(&length) as i128;
                let within = |offset: i64| {
                    let (first, last) =
                        (i128::from(offset).max(0), end.min(*rows as i128 + i128::from(offset)));
                    (last - first).max(0) as usize
                };
                check::numbers("offsets", offsets).unwrap_or_default().into_iter().map(within).sum()
            }
        }
    }

    /// Returns the stored elements for each element of the shape: not a number if the shape has none.
    pub fn density(&self) -> f64 {
        self.stored() as f64 / self.shape.iter().map(|length| *length as f64).product::<f64>()
    }

    /// Returns whether SciPy loads it as an array; otherwise as a matrix, whose `*` is the product of matrices.
    pub fn is_array(&self) -> bool {
        self.is_array
    }

    /// Sets whether SciPy loads it as an array; it does by default.
    #[must_use]
    pub fn as_array(self, is_array: bool) -> Self {
        Self { is_array, ..self }
    }
}

/// Returns indices in the dtype that SciPy chooses for new ones: 32 bits if the largest possible number fits.
fn index_array(indices: &[usize], most: usize) -> Result<DynArray> {
    /// Their number may come from a shape, which has no bytes in the file.
    fn converted<T: WritableElement + TryFrom<usize>>(indices: &[usize]) -> Result<DynArray> {
        let bytes = (indices.len() as u64).saturating_mul(size_of::<T>() as u64);
        let mut numbers = Vec::new();
        numbers.try_reserve_exact(indices.len()).map_err(|_| Error::out_of_memory(bytes))?;
        for index in indices {
            numbers.push(T::try_from(*index).map_err(|_| crate::too_large("an index"))?);
        }
        DynArray::new(&ndarray::Array1::from(numbers))
    }
    if i32::try_from(most).is_ok() { converted::<i32>(indices) } else { converted::<i64>(indices) }
}

/// Returns the rows of the array of all coordinates, one for each axis.
fn split_coords(coords: &DynArray, wanted: usize) -> Result<Vec<DynArray>> {
    let [axes, count] = coords.shape() else {
        return Err(malformed(format!("coordinates of shape {:?}", coords.shape())));
    };
    if *axes != wanted {
        return Err(malformed(format!("coordinates of {axes} axes for {wanted}")));
    }
    let coords = coords.in_order(Order::C)?;
    let size = coords.dtype().item_size() * count;
    let row = |axis: usize| {
        DynArray::from_bytes(
            coords.dtype().clone(),
            [*count],
            Order::C,
            &coords.bytes()[axis * size..][..size],
        )
    };
    (0..*axes).map(row).collect()
}

/// Returns the array of all coordinates.
fn stack_coords(coords: &[DynArray]) -> Result<DynArray> {
    let Some(first) = coords.first() else { return Err(malformed("an array without axes")) };
    let is_one = coords.iter().all(|axis| axis.dtype() == first.dtype());
    let dtype = if is_one { first.dtype().clone() } else { "<i8".parse()? };
    let mut bytes = Vec::new();
    for axis in coords {
        bytes.extend_from_slice(axis.cast_to(&dtype, ndarray_io::Casting::SameKind)?.bytes());
    }
    DynArray::from_bytes(dtype, [coords.len(), first.len()], Order::C, &bytes)
}

fn malformed(reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Malformed, format!("malformed sparse matrix: {reason}"))
}

/// Fails unless an array has one axis.
fn check_one_axis(name: &str, array: &DynArray) -> Result<()> {
    match array.shape() {
        [_] => Ok(()),
        shape => {
            Err(malformed(format!("{name} has {} axes, expected {}", shape.len(), Ix1::NDIM.unwrap_or(1))))
        }
    }
}
