//! Dense arrays of sparse ones, and back.

use std::io::Write;
use std::path::Path;

use ndarray::{Array, Dimension};
use ndarray_io::dtype::Kind;
use ndarray_io::header::{Header, Order};
use ndarray_io::{ByteOrder, DType, DynArray, Error, NpyFile, ReadableElement, Result, WriteOptions, npy};

use super::order::StoredElement;
use super::{Layout, Sparse};

/// How many bytes of a dense array are in memory at a time.
const BLOCK_BYTES: usize = 8 << 20;

impl Sparse {
    /// Returns a dense array. Duplicate elements are added.
    ///
    /// The shape comes from the file, so a small archive can ask for much memory: compare it with what you expect first.
    ///
    /// # Errors
    ///
    /// - [`OutOfMemory`](ndarray_io::error::ErrorKind::OutOfMemory) if the dense array cannot be allocated.
    /// - [`DTypeMismatch`](ndarray_io::error::ErrorKind::DTypeMismatch) or [`ShapeMismatch`](ndarray_io::error::ErrorKind::ShapeMismatch) if the array is not of this type.
    /// - [`NotConvertible`](ndarray_io::error::ErrorKind::NotConvertible) if duplicate elements cannot be added: those of `longdouble`, for example.
    pub fn to_dense<A: ReadableElement, D: Dimension>(&self) -> Result<Array<A, D>> {
        Ok(self.to_dense_dyn()?.into_array()?)
    }

    /// Returns a dense array of the elements' own dtype. See [`to_dense`](Self::to_dense).
    ///
    /// # Errors
    ///
    /// Those of [`to_dense`](Self::to_dense).
    pub fn to_dense_dyn(&self) -> Result<DynArray> {
        let (places, data) = self.summed_with_positive_zeros()?;
        let header = self.dense_header(&data)?;
        let len = header.payload_len().and_then(|len| usize::try_from(len).ok());
        let len = len.ok_or_else(|| crate::too_large("the dense array"))?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| Error::out_of_memory(len as u64))?;
        bytes.resize(len, 0);
        scatter_elements(&mut bytes, 0, &places, &data);
        DynArray::from_bytes(data.dtype().clone(), self.shape(), Order::C, &bytes)
    }

    /// Writes a dense array to a file of NPY, in blocks: it is never in memory as a whole. Besides the sparse array, the places of its
    /// elements and copies of them are, 40 to 50 bytes for each element.
    ///
    /// Of the options, those for files apply: `sync`, `create_new` and the like. The array is in C order and in the byte order of this machine.
    ///
    /// # Errors
    ///
    /// - [`NotConvertible`](ndarray_io::error::ErrorKind::NotConvertible) if duplicate elements cannot be added.
    /// - [`Io`](ndarray_io::error::ErrorKind::Io) if writing fails.
    /// - A [conflict](Error::is_conflict) if an existing file is locked or cannot be replaced.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, arr1, arr2};
    /// use ndarray_io_formats::sparse::Sparse;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("dense.npy");
    /// let matrix = Sparse::csr([2, 2], &[0, 1, 2], &[1, 0], &arr1(&[5u8, 6]))?;
    /// matrix.write_dense(&path, &Default::default())?;
    /// assert_eq!(ndarray_io::read_npy::<_, Array2<u8>>(&path)?, arr2(&[[0, 5], [6, 0]]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn write_dense<P: AsRef<Path>>(&self, path: P, options: &WriteOptions) -> Result<()> {
        let path = path.as_ref();
        options
            .replace_file(path, |file| self.write_dense_to(file))
            .map_err(|error: Error| error.at_path(path))
    }

    /// Writes a dense array as a file of NPY to a writer, in blocks. See [`write_dense`](Self::write_dense).
    ///
    /// # Errors
    ///
    /// Those of [`write_dense`](Self::write_dense). After an error, the writer may have received part of the file.
    pub fn write_dense_to<W: Write>(&self, mut writer: W) -> Result<()> {
        let (places, data) = self.summed_with_positive_zeros()?;
        let header = self.dense_header(&data)?;
        let size = data.dtype().item_size();
        let step = (BLOCK_BYTES / size.max(1)).max(1) as u64;
        writer.write_all(&npy::format(&header, None)?)?;
        let mut rest = places.as_slice();
        let (mut start, mut bytes) = (0, Vec::new());
        while start < header.len() {
            let end = header.len().min(start + step);
            bytes.clear();
            bytes.resize((end - start) as usize * size, 0);
            let count = rest.partition_point(|place| place.position < end);
            scatter_elements(&mut bytes, start, &rest[..count], &data);
            writer.write_all(&bytes)?;
            (rest, start) = (&rest[count..], end);
        }
        Ok(writer.flush()?)
    }

    /// Returns the elements as they are when they have been added to zeros: a negative zero becomes a positive one, as in SciPy.
    fn summed_with_positive_zeros(&self) -> Result<(Vec<StoredElement>, DynArray)> {
        let (places, data) = self.sum_duplicates()?;
        let Some(zeros) = ZeroDetector::of(data.dtype()).filter(|zeros| zeros.has_sign) else {
            return Ok((places, data));
        };
        let mut bytes = data.bytes().to_vec();
        for part in bytes.chunks_exact_mut(zeros.number_size) {
            if zeros.are_zero(part) {
                part.fill(0);
            }
        }
        let data = DynArray::from_bytes(data.dtype().clone(), data.shape(), Order::C, &bytes)?;
        Ok((places, data))
    }

    fn dense_header(&self, data: &DynArray) -> Result<Header> {
        Header::new(data.dtype().clone(), Order::C, self.shape().into())
    }

    /// Makes a sparse array of the elements of a dense one in a file that are not zero, in blocks.
    ///
    /// Arrays of one and two axes become CSR, others COO.
    ///
    /// # Errors
    ///
    /// - [`NotConvertible`](ndarray_io::error::ErrorKind::NotConvertible) if the elements are neither bools nor numbers of up to 64 bits, or complex ones of
    ///   two of these.
    /// - [`Malformed`](ndarray_io::error::ErrorKind::Malformed) if the array has no axes.
    /// - Those of reading the file.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr2;
    /// use ndarray_io::NpyFile;
    /// use ndarray_io_formats::sparse::Sparse;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("dense.npy");
    /// ndarray_io::write_npy(&path, &arr2(&[[0.0, 1.5], [-0.0, f64::NAN]]))?;
    /// let matrix = Sparse::from_dense(&NpyFile::open(&path)?)?;
    /// assert_eq!((matrix.format(), matrix.stored()), ("csr", 2));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn from_dense(array: &NpyFile) -> Result<Self> {
        let (shape, dtype) = (array.shape().to_vec(), array.dtype().clone());
        let Some(zeros) = ZeroDetector::of(&dtype) else {
            let reason = "zeros are told from others in numbers of up to 64 bits and bools only";
            return Err(Error::not_representable("a sparse matrix", &dtype, reason));
        };
        let size = dtype.item_size();
        let (mut places, mut bytes) = (Vec::new(), Vec::new());
        let mut start = 0_u64;
        if shape.is_empty() {
            return Err(super::malformed("an array without axes"));
        }
        for block in array.blocks::<DynArray>().order(Order::C).bytes(BLOCK_BYTES) {
            // In the order of the visit: a block of a file in Fortran order is in Fortran order itself.
            let block = block?.into_array();
            let block = block.in_order(Order::C)?;
            for (number, item) in block.bytes().chunks_exact(size).enumerate() {
                if !zeros.are_zero(item) {
                    places.push(start + number as u64);
                    bytes.extend_from_slice(item);
                }
            }
            start += block.len() as u64;
        }
        let data = DynArray::from_bytes(dtype, [places.len()], Order::C, &bytes)?;
        let coords = super::order::coordinates(&places, &shape)?;
        let sparse = Self::new(Layout::Coo { coords }, shape, data)?;
        if sparse.shape.len() > 2 { Ok(sparse) } else { sparse.to_csr() }
    }
}

/// How the zeros of a dtype are told from other elements.
pub(super) struct ZeroDetector {
    /// The size of a number: for complex ones, half of an element.
    number_size: usize,
    /// Whether there is a negative zero as well.
    has_sign: bool,
    /// The byte of a number that has the sign.
    sign_index: usize,
}

impl ZeroDetector {
    /// Returns `None` for dtypes other than those of bools and numbers.
    pub(super) fn of(dtype: &DType) -> Option<Self> {
        let scalar = dtype.as_scalar()?;
        let parts = match scalar.kind() {
            Kind::Bool | Kind::Int | Kind::Uint | Kind::Float => 1,
            Kind::Complex => 2,
            _ => return None,
        };
        let number_size = scalar.size() / parts;
        // A `longdouble` has bytes that mean nothing.
        if number_size == 0 || number_size > 8 {
            return None;
        }
        let has_sign = matches!(scalar.kind(), Kind::Float | Kind::Complex);
        let is_big = scalar.byte_order() == Some(ByteOrder::Big);
        Some(Self { number_size, has_sign, sign_index: if is_big { 0 } else { number_size - 1 } })
    }

    /// Returns whether all numbers are zeros.
    pub(super) fn are_zero(&self, item: &[u8]) -> bool {
        let is_zero = |(position, byte): (usize, &u8)| {
            *byte == 0 || self.has_sign && *byte == 0x80 && position % self.number_size == self.sign_index
        };
        item.iter().enumerate().all(is_zero)
    }
}

/// Puts elements into the bytes of a dense array, from the element `start` on.
fn scatter_elements(bytes: &mut [u8], start: u64, places: &[StoredElement], data: &DynArray) {
    let size = data.dtype().item_size();
    for place in places {
        let position = (place.position - start) as usize * size;
        bytes[position..position + size].copy_from_slice(&data.bytes()[place.data_index * size..][..size]);
    }
}
