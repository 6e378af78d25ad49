//! What has to hold for a sparse matrix.

use ndarray_io::dtype::{Kind, Scalar};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Shape;
use ndarray_io::{ByteOrder, Casting, DType, DynArray, Error, Result};

use super::{Layout, Sparse, check_one_axis, malformed};

/// SciPy's arrays, and NumPy's, have at most this number of axes.
pub(super) const MAX_AXES: usize = 64;

/// Returns integers of any dtype.
pub(super) fn numbers(name: &str, array: &DynArray) -> Result<Vec<i64>> {
    check_one_axis(name, array)?;
    let wanted = Scalar::new(Kind::Int, 8, ByteOrder::NATIVE).map(DType::from);
    let wanted = wanted.ok_or_else(|| crate::too_large("an index"))?;
    let is_integer =
        array.dtype().as_scalar().is_some_and(|scalar| matches!(scalar.kind(), Kind::Int | Kind::Uint));
    if !is_integer {
        let error = Error::new(
            ErrorKind::DTypeMismatch,
            format!("expected integers, found {:.200}", array.dtype().to_string()),
        );
        return Err(error.at_member(name));
    }
    // Larger numbers of 64 bits without a sign are an error of the cast.
    let numbers = array.cast_to(&wanted, Casting::SameKind)?;
    Ok(numbers.view::<i64, ndarray::Ix1>()?.to_vec())
}

/// Fails unless the numbers are from 0 to below the end.
pub(super) fn check_within(name: &str, numbers: &[i64], end: usize) -> Result<()> {
    let is_wrong = |number: &&i64| usize::try_from(**number).map_or(true, |number| number >= end);
    match numbers.iter().find(is_wrong) {
        Some(number) => Err(malformed(format!("{number} in {name}, expected numbers from 0 to below {end}"))),
        None => Ok(()),
    }
}

/// Fails unless pointers ascend from 0, or from `first`, to at most the end.
pub(super) fn check_pointers(pointers: &[i64], count: usize, end: usize) -> Result<()> {
    if pointers.len() != count.saturating_add(1) {
        let reason = format!("indptr has {} numbers, expected {}", pointers.len(), count as u128 + 1);
        return Err(malformed(reason));
    }
    let is_in = |number: &i64| usize::try_from(*number).is_ok_and(|number| number <= end);
    if let Some(number) = pointers.iter().find(|number| !is_in(number)) {
        return Err(malformed(format!("{number} in indptr, for {end} elements")));
    }
    match pointers.windows(2).find(|pair| pair[0] > pair[1]) {
        Some(pair) => Err(malformed(format!("indptr descends from {} to {}", pair[0], pair[1]))),
        None => Ok(()),
    }
}

pub(super) fn check(sparse: &Sparse) -> Result<()> {
    let (shape, data) = (&sparse.shape, &sparse.data);
    if Shape::from(shape.as_slice()).len().is_none() {
        return Err(crate::too_large(&format!("an array of shape {}", Shape::from(shape.as_slice()))));
    }
    if shape.len() > MAX_AXES {
        return Err(malformed(format!("{} axes, more than {MAX_AXES}", shape.len())));
    }
    let is_number = data.dtype().as_scalar().is_some_and(|scalar| {
        matches!(scalar.kind(), Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Complex)
    });
    if !is_number {
        let reason = "it has numbers and bools only";
        return Err(Error::not_representable("a sparse matrix", data.dtype(), reason));
    }
    let axes = |count: usize| match data.shape().len() == count {
        true => Ok(()),
        false => Err(malformed(format!("data has {} axes, expected {count}", data.shape().len()))),
    };
    let two = || match shape[..] {
        [rows, columns] => Ok((rows, columns)),
        _ => Err(malformed(format!("{} with {} axes, expected 2", sparse.format(), shape.len()))),
    };
    match &sparse.layout {
        Layout::Csr { .. } | Layout::Csc { .. } => {
            axes(1)?;
            let (major, minor) = match (&sparse.layout, shape.as_slice()) {
                (Layout::Csr { .. }, [columns]) => (1, *columns),
                (Layout::Csr { .. }, _) => two()?,
                _ => {
                    let (rows, columns) = two()?;
                    (columns, rows)
                }
            };
            check_compressed(sparse, major, minor, data.len())
        }
        Layout::Bsr { .. } => {
            axes(3)?;
            let (rows, columns) = two()?;
            let [blocks, height, width] = data.shape() else { return axes(3) };
            if *height == 0 || *width == 0 || rows % height != 0 || columns % width != 0 {
                let reason = format!("blocks of {height} × {width} do not divide {rows} × {columns}");
                return Err(malformed(reason));
            }
            check_compressed(sparse, rows / height, columns / width, *blocks)
        }
        Layout::Coo { coords } => {
            axes(1)?;
            if coords.len() != shape.len() || coords.is_empty() {
                let reason = format!("coordinates of {} axes for {}", coords.len(), shape.len());
                return Err(malformed(reason));
            }
            for (axis, (coords, length)) in coords.iter().zip(shape).enumerate() {
                let name = format!("the coordinates of axis {axis}");
                let coords = numbers(&name, coords)?;
                check_len(&name, coords.len(), data.len())?;
                check_within(&name, &coords, *length)?;
            }
            Ok(())
        }
        Layout::Dia { offsets } => {
            axes(2)?;
            two()?;
            let mut offsets = numbers("offsets", offsets)?;
            check_len("offsets", offsets.len(), data.shape()[0])?;
            offsets.sort_unstable();
            match offsets.windows(2).find(|pair| pair[0] == pair[1]) {
                Some(pair) => Err(malformed(format!("offsets has {} twice", pair[0]))),
                None => Ok(()),
            }
        }
    }
}

fn check_compressed(sparse: &Sparse, major: usize, minor: usize, count: usize) -> Result<()> {
    let (Layout::Csr { indices, indptr } | Layout::Csc { indices, indptr } | Layout::Bsr { indices, indptr }) =
        &sparse.layout
    else {
        return Ok(());
    };
    let indices = numbers("indices", indices)?;
    check_len("indices", indices.len(), count)?;
    check_within("indices", &indices, minor)?;
    let pointers = numbers("indptr", indptr)?;
    check_pointers(&pointers, major, count)?;
    match pointers.first() {
        Some(0) => Ok(()),
        first => Err(malformed(format!("indptr begins with {first:?}, expected 0"))),
    }
}

fn check_len(name: &str, found: usize, wanted: usize) -> Result<()> {
    match found == wanted {
        true => Ok(()),
        false => Err(malformed(format!("{found} numbers in {name}, for {wanted} elements"))),
    }
}
