//! [`SparseFile`]: a sparse matrix of which ranges of rows are read.

use std::ops::Range;
use std::path::Path;

use ndarray_io::dtype::Kind;
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::{Casting, DType, DynArray, Error, NpyFile, NpzFile, ReadOptions, Result};

use super::check::{check_pointers, check_within, numbers};
use super::{Layout, Sparse, malformed};

/// What the small members of an archive say.
pub(super) struct SparseHeader {
    pub(super) format: String,
    pub(super) shape: Vec<usize>,
    pub(super) is_array: bool,
}

impl SparseHeader {
    pub(super) fn of(archive: &NpzFile) -> Result<Self> {
        // A format of a few letters and a shape of at most 64 axes: anything larger is not read.
        let small = |name: &str, most: u64| {
            let header = archive.peek(name)?.header;
            match header.payload_len() {
                Some(len) if len <= most => archive.read::<DynArray>(name),
                _ => Err(malformed(format!(
                    "{name} has the dtype {} and {} elements",
                    header.dtype(),
                    header.len()
                ))),
            }
        };
        let format = small("format", 64)?;
        let is_text = format
            .dtype()
            .as_scalar()
            .is_some_and(|scalar| matches!(scalar.kind(), Kind::Bytes | Kind::Text));
        // Either text has zeros between and after its letters.
        let letters: Vec<u8> = format.bytes().iter().copied().filter(|byte| *byte != 0).collect();
        let format = String::from_utf8_lossy(&letters).into_owned();
        if !is_text || !matches!(format.as_str(), "csr" | "csc" | "bsr" | "coo" | "dia") {
            let reason = format!("the format {format:?}, expected csr, csc, bsr, coo or dia");
            return Err(malformed(reason));
        }
        let shape = numbers("shape", &small("shape", 64 * 8)?)?;
        check_within("shape", &shape, isize::MAX as usize)?;
        let shape = shape.into_iter().map(|length| length as usize).collect();
        let has_kind = archive.members().iter().any(|member| member.name() == "_is_array");
        let is_array = has_kind && small("_is_array", 8)?.bytes().iter().any(|byte| *byte != 0);
        Ok(Self { format, shape, is_array })
    }
}

/// What the small members of an archive and the header of its data say of a sparse matrix, without reading it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SparseInfo {
    /// SciPy's name of the layout: `csr`, `csc`, `bsr`, `coo` or `dia`.
    pub format: String,
    /// The lengths of the axes.
    pub shape: Vec<usize>,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The number of elements in the data, zeros and what is not used of them included.
    pub stored: u64,
    /// Whether SciPy loads it as an array; otherwise as a matrix.
    pub is_array: bool,
}

impl SparseInfo {
    /// Describes the sparse matrix in an archive; `None` if it is not that of one.
    ///
    /// # Errors
    ///
    /// Those of [`Sparse::read`], if the archive has what sparse matrices have, and it is wrong.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::{NpzFile, write_npz};
    /// use ndarray_io_formats::sparse::{Sparse, SparseInfo};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("matrix.npz");
    /// Sparse::csr([3, 2], &[0, 1, 1, 3], &[1, 0, 1], &arr1(&[1, 2, 3]))?.write(&path)?;
    /// let info = SparseInfo::of(&NpzFile::open(&path)?)?.expect("a sparse matrix");
    /// assert_eq!((info.format.as_str(), info.stored), ("csr", 3));
    /// write_npz(&path, &[("format", &arr1(&[1, 2])), ("shape", &arr1(&[2]))])?;
    /// assert!(SparseInfo::of(&NpzFile::open(&path)?)?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(archive: &NpzFile) -> Result<Option<Self>> {
        let has = |name: &str| archive.members().iter().any(|member| member.name() == name);
        let indices = ["indptr", "row", "coords", "offsets"];
        if !["format", "shape", "data"].into_iter().all(has) || !indices.into_iter().any(has) {
            return Ok(None);
        }
        let SparseHeader { format, shape, is_array } = SparseHeader::of(archive)?;
        let data = archive.peek("data")?.header;
        Ok(Some(Self { format, shape, dtype: data.dtype().clone(), stored: data.len(), is_array }))
    }
}

/// The archive of a matrix in CSR, or of one in CSC, of which ranges of rows or columns are read.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use ndarray_io_formats::sparse::{Sparse, SparseFile};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("matrix.npz");
/// Sparse::csr([3, 2], &[0, 1, 1, 3], &[1, 0, 1], &arr1(&[1, 2, 3]))?.write(&path)?;
/// let file = SparseFile::open(&path)?;
/// let rows = file.range(1..3)?; // reads only their elements
/// assert_eq!(rows.to_dense::<i32, _>()?, arr2(&[[0, 0], [2, 3]]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Debug)]
pub struct SparseFile {
    indices: NpyFile,
    indptr: NpyFile,
    data: NpyFile,
    shape: [usize; 2],
    is_csr: bool,
    is_array: bool,
}

impl SparseFile {
    /// Opens an archive.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](ErrorKind::Unsupported) if the matrix is neither in CSR nor in CSC.
    /// - Those of [`Sparse::read`], but for the indices, which are checked when they are read.
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::open_with(path, &ReadOptions::new())
    }

    /// Opens an archive, with options.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let open = || Self::open_in(&options.open_npz(path)?);
        open().map_err(|error: Error| error.at_path(path))
    }

    /// Opens the matrix in an opened archive.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_in(archive: &NpzFile) -> Result<Self> {
        let named = SparseHeader::of(archive)?;
        let (is_csr, [rows, columns]) = match (named.format.as_str(), named.shape.as_slice()) {
            ("csr", [rows, columns]) => (true, [*rows, *columns]),
            ("csc", [rows, columns]) => (false, [*rows, *columns]),
            (format, shape) => {
                let reason = format!("{format} of {} axes has no ranges: read all of it", shape.len());
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("unsupported sparse matrix: {reason}"),
                ));
            }
        };
        let open = |name: &str| {
            let array = archive.open_member(name)?;
            match array.shape() {
                [_] => Ok(array),
                shape => Err(malformed(format!("{name} has {} axes, expected 1", shape.len()))),
            }
        };
        let (indices, indptr, data) = (open("indices")?, open("indptr")?, open("data")?);
        let major = if is_csr { rows } else { columns };
        if indptr.shape()[0] != major + 1 || indices.shape() != data.shape() {
            let reason = format!(
                "{} numbers in indptr, {} in indices and {} elements, for a shape of ({rows}, {columns})",
                indptr.shape()[0],
                indices.shape()[0],
                data.shape()[0]
            );
            return Err(malformed(reason));
        }
        Ok(Self { indices, indptr, data, shape: [rows, columns], is_csr, is_array: named.is_array })
    }

    /// Returns the numbers of rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> &DType {
        self.data.dtype()
    }

    /// Returns whether it is in CSR, with ranges of rows; otherwise it is in CSC, with ranges of columns.
    pub fn is_csr(&self) -> bool {
        self.is_csr
    }

    /// Returns the number of elements in the data, with those after the last row, if there are any.
    pub fn stored(&self) -> usize {
        self.data.shape()[0]
    }

    /// Reads a range of rows, or of columns in CSC.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](ErrorKind::OutOfBounds) if the range is not within the matrix.
    /// - Those of [`Sparse::new`], and of reading.
    pub fn range(&self, range: Range<usize>) -> Result<Sparse> {
        let major = if self.is_csr { self.shape[0] } else { self.shape[1] };
        let minor = if self.is_csr { self.shape[1] } else { self.shape[0] };
        if range.start > range.end || range.end > major {
            let index = range.end.max(range.start);
            let axis = usize::from(!self.is_csr);
            let text = format!("index {index} is out of bounds for axis {axis} of length {major}");
            return Err(Error::new(ErrorKind::OutOfBounds, text));
        }
        let pointers = numbers("indptr", &read_part(&self.indptr, range.start..range.end + 1)?)?;
        check_pointers(&pointers, range.len(), self.stored())?;
        let (first, last) = (pointers[0], pointers[range.len()]);
        if range.start == 0 && first != 0 {
            return Err(malformed(format!("indptr begins with {first}, expected 0")));
        }
        let within = first as usize..last as usize;
        let (indices, data) = (read_part(&self.indices, within.clone())?, read_part(&self.data, within)?);
        check_within("indices", &numbers("indices", &indices)?, minor)?;
        let pointers: Vec<i64> = pointers.iter().map(|pointer| pointer - first).collect();
        let indptr = DynArray::new(&ndarray::Array1::from(pointers))?;
        // The numbers fit: they are at most those of the file.
        let indptr = indptr.cast_to(self.indptr.dtype(), Casting::SameKind).unwrap_or(indptr);
        let (layout, shape) = match self.is_csr {
            true => (Layout::Csr { indices, indptr }, [range.len(), minor]),
            false => (Layout::Csc { indices, indptr }, [minor, range.len()]),
        };
        Ok(Sparse::new(layout, shape, data)?.as_array(self.is_array))
    }
}

/// Reads a part of a vector.
fn read_part(vector: &NpyFile, range: Range<usize>) -> Result<DynArray> {
    vector.check_complete()?; // before memory is taken for what the header declares
    let size = vector.dtype().item_size();
    let mut bytes = Vec::new();
    let len = range.len().checked_mul(size).ok_or_else(|| crate::too_large("a part of the matrix"))?;
    bytes.try_reserve_exact(len).map_err(|_| Error::out_of_memory(len as u64))?;
    bytes.resize(len, 0);
    let slice =
        ndarray::SliceInfoElem::Slice { start: range.start as isize, end: Some(range.end as isize), step: 1 };
    vector.slice_into_bytes::<&[ndarray::SliceInfoElem]>(&[slice], &mut bytes, None)?;
    DynArray::from_bytes(vector.dtype().clone(), [range.len()], Order::C, &bytes)
}
