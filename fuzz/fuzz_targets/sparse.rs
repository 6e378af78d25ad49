//! Arbitrary numbers as the parts of a sparse matrix give a matrix, whose elements are all within its shape, or an error.
#![no_main]

use ndarray_io::bytes::InMemory;
use ndarray_io::header::Order;
use ndarray_io::{DynArray, NpzFile};
use ndarray_io_formats::sparse::{Layout, Sparse, SparseFile};

/// What a matrix is made of, and how its numbers are stored.
#[derive(Debug, arbitrary::Arbitrary)]
struct Parts<'a> {
    layout: u8,
    dtypes: [u8; 4],
    shape: Vec<i16>,
    data_shape: [u8; 3],
    data: &'a [u8],
    first: &'a [u8],
    second: &'a [u8],
}

/// Returns an array with one axis of the numbers in some bytes, or with the shape.
fn array(dtype: u8, shape: Option<&[u8]>, bytes: &[u8]) -> Option<DynArray> {
    const DTYPES: [&str; 8] = ["|i1", "|u1", "<i4", ">i8", "<u8", "<f4", "|b1", "<c16"];
    let dtype: ndarray_io::DType = DTYPES[usize::from(dtype % 8)].parse().unwrap();
    let size = dtype.item_size();
    let shape: Vec<usize> = shape
        .map_or(vec![bytes.len() / size], |shape| shape.iter().map(|length| usize::from(*length)).collect());
    let bytes = bytes.get(..shape.iter().product::<usize>().checked_mul(size)?)?;
    // Bools that are neither 0 nor 1 are errors of the elements, not of the matrix.
    DynArray::from_bytes(dtype, shape, Order::C, bytes).ok().filter(|array| array.check().is_ok())
}

libfuzzer_sys::fuzz_target!(|parts: Parts| {
    let axes = [1, 1, 1, 2, 3][usize::from(parts.layout % 5)];
    let made = || {
        let data = array(parts.dtypes[0], Some(&parts.data_shape[..axes]), parts.data)?;
        let (first, second) =
            (array(parts.dtypes[1], None, parts.first)?, array(parts.dtypes[2], None, parts.second)?);
        let layout = match parts.layout % 5 {
            0 => Layout::Csr { indices: first, indptr: second },
            1 => Layout::Csc { indices: first, indptr: second },
            2 => Layout::Coo { coords: vec![first, second] },
            3 => Layout::Dia { offsets: first },
            _ => Layout::Bsr { indices: first, indptr: second },
        };
        let shape: Vec<usize> = parts.shape.iter().map(|length| *length as usize).collect();
        Some((layout, shape, data))
    };
    let Some((layout, shape, data)) = made() else { return };
    let Ok(matrix) = Sparse::new(layout, shape, data) else { return };
    if matrix
        .shape()
        .iter()
        .try_fold(1usize, |len, length| len.checked_mul(*length))
        .is_some_and(|len| len < 1 << 16)
    {
        let dense = matrix.to_dense_dyn().unwrap();
        for converted in [matrix.to_coo(), matrix.to_csr(), matrix.to_csc()].into_iter().flatten() {
            let again = converted.to_dense_dyn().unwrap();
            // NaN does not equal itself, and its sign may change when duplicates are added.
            assert_eq!(again.shape(), dense.shape());
            if !matches!(parts.dtypes[0] % 8, 5 | 7) {
                assert!(again == dense, "{matrix:?} {converted:?}");
            }
        }
        let mut bytes = Vec::new();
        matrix.write_to(&mut bytes, &Default::default()).unwrap();
        let file = NpzFile::from_source(InMemory(bytes)).unwrap();
        assert_eq!(Sparse::read_from(&file).unwrap().stored(), matrix.stored());
        if let Ok(file) = SparseFile::open_in(&file) {
            let [rows, columns] = file.shape();
            let major = if file.is_csr() { rows } else { columns };
            file.range(major / 3..major).unwrap();
        }
    }
});
