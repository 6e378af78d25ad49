//! Arrays and record batches of `arrow` 60: numbers, bools and texts.
//!
//! ```
//! use arrow_array::types::Float64Type;
//! use arrow_array::{Array, PrimitiveArray};
//! use ndarray_io_matrices::arrow::{from_arrow, to_primitive};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("column.npy");
//! ndarray_io::write_npy(&path, &ndarray::arr1(&[1.5, 2.5]))?;
//! let column: PrimitiveArray<Float64Type> = to_primitive(ndarray_io::read_npy(&path)?)?; // the same memory
//! assert_eq!(column.value(1), 2.5);
//! ndarray_io::write_npy(&path, &from_arrow(&column)?)?;
//! # Ok::<(), ndarray_io::Error>(())
//! ```
//!
//! [`to_batch`] and [`from_batch`] convert between arrays of records, one field for each column, and record batches. NumPy's files have no missing
//! values: an arrow array with nulls is refused.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, LargeStringArray, PrimitiveArray, RecordBatch, StringArray,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field, Schema};
use ndarray::{ArrayView1, Ix1};
use ndarray_io::dtype::Kind;
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::{
    Casting, DType, DynArray, Error, FlatArray, FlatView, ReadableElement, Result, WritableElement,
};

/// Makes an arrow array of an array with one axis, of the same memory.
///
/// # Errors
///
/// [`ShapeMismatch`](ErrorKind::ShapeMismatch) if the array does not have one axis.
pub fn to_primitive<T: ArrowPrimitiveType>(array: FlatArray<T::Native>) -> Result<PrimitiveArray<T>> {
    match array.shape() {
        [_] => Ok(PrimitiveArray::new(ScalarBuffer::from(array.into_parts().0), None)),
        shape => Err(crate::axes_mismatch(shape, "1 axis")),
    }
}

/// Views the numbers of an arrow array as an array that can be written, without a copy.
///
/// # Errors
///
/// [`BadOption`](ErrorKind::BadOption) if there are nulls.
pub fn view_of<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> Result<FlatView<'_, T::Native>> {
    check_no_nulls(array)?;
    FlatView::new(array.values(), &[array.len()], Order::C)
}

fn check_no_nulls(array: &dyn Array) -> Result<()> {
    match array.null_count() {
        0 => Ok(()),
        count => {
            let reason =
                format!("{count} of {} values are null, which NumPy's files cannot have", array.len());
            Err(Error::new(ErrorKind::BadOption, reason))
        }
    }
}

/// Calls code with the types of a number in arrow and in Rust; otherwise evaluates to the last argument.
macro_rules! with_types {
    ($found:expr, $arrow:ident, $native:ident, $code:expr, { $($pattern:pat => ($type:ty, $rust:ty)),* $(,)? }, $other:expr) => {
        match $found {
            $($pattern => {
                type $arrow = $type;
                type $native = $rust;
                $code
            })*
            _ => $other,
        }
    };
}

/// Makes an array of an arrow array of numbers, bools or texts. The elements are copied.
///
/// # Errors
///
/// - [`BadOption`](ErrorKind::BadOption) if there are nulls, a text ends with a zero, or the arrow array is of another type.
pub fn from_arrow(array: &dyn Array) -> Result<DynArray> {
    fn numbers<T: ArrowPrimitiveType>(array: &dyn Array) -> Result<DynArray>
    where
        T::Native: WritableElement,
    {
        DynArray::new(&ArrayView1::from(&array.as_primitive::<T>().values()[..]))
    }
    check_no_nulls(array)?;
    with_types!(array.data_type(), Arrow, _Native, numbers::<Arrow>(array), {
        DataType::Int8 => (Int8Type, i8),
        DataType::Int16 => (Int16Type, i16),
        DataType::Int32 => (Int32Type, i32),
        DataType::Int64 => (Int64Type, i64),
        DataType::UInt8 => (UInt8Type, u8),
        DataType::UInt16 => (UInt16Type, u16),
        DataType::UInt32 => (UInt32Type, u32),
        DataType::UInt64 => (UInt64Type, u64),
        DataType::Float16 => (Float16Type, half::f16),
        DataType::Float32 => (Float32Type, f32),
        DataType::Float64 => (Float64Type, f64),
    }, match array.data_type() {
        DataType::Boolean => DynArray::new(&array.as_boolean().values().iter().collect::<ndarray::Array1<bool>>()),
        DataType::Utf8 => texts(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(array.as_string::<i64>().iter()),
        other => Err(Error::new(ErrorKind::BadOption, format!("an arrow array of {other}, expected numbers, bools or texts"))),
    })
}

fn texts<'a>(items: impl Iterator<Item = Option<&'a str>>) -> Result<DynArray> {
    let items: Vec<String> = items.map(|text| text.unwrap_or_default().to_owned()).collect();
    if let Some(text) = items.iter().find(|text| text.ends_with('\0')) {
        let reason = format!("the text {text:?} ends with a zero, which NumPy's texts cannot have");
        return Err(Error::new(ErrorKind::BadOption, reason));
    }
    DynArray::new(&ndarray::Array1::from(items))
}

/// Makes an arrow array of an array with one axis: of numbers, bools or texts. The elements are copied.
///
/// # Errors
///
/// - [`ShapeMismatch`](ErrorKind::ShapeMismatch) if the array does not have one axis.
/// - [`NotConvertible`](ErrorKind::NotConvertible) if it is of another dtype.
/// - [`Malformed`](ErrorKind::Malformed) if a bool or text is invalid.
pub fn to_arrow(array: &DynArray) -> Result<ArrayRef> {
    fn items<A: ReadableElement>(array: &DynArray) -> Result<Vec<A>> {
        Ok(array.cast::<A, Ix1>(Casting::Safe)?.into_iter().collect())
    }
    if array.shape().len() != 1 {
        return Err(crate::axes_mismatch(array.shape(), "1 axis"));
    }
    let unsupported_dtype = || -> Error {
        Error::not_representable("arrow", array.dtype(), "numbers, bools and texts are converted")
    };
    let Some(scalar) = array.dtype().as_scalar() else { return Err(unsupported_dtype()) };
    with_types!((scalar.kind(), scalar.size()), Arrow, Native, {
        let values: PrimitiveArray<Arrow> = PrimitiveArray::new(ScalarBuffer::from(items::<Native>(array)?), None);
        Ok(Arc::new(values))
    }, {
        (Kind::Int, 1) => (Int8Type, i8),
        (Kind::Int, 2) => (Int16Type, i16),
        (Kind::Int, 4) => (Int32Type, i32),
        (Kind::Int, 8) => (Int64Type, i64),
        (Kind::Uint, 1) => (UInt8Type, u8),
        (Kind::Uint, 2) => (UInt16Type, u16),
        (Kind::Uint, 4) => (UInt32Type, u32),
        (Kind::Uint, 8) => (UInt64Type, u64),
        (Kind::Float, 2) => (Float16Type, half::f16),
        (Kind::Float, 4) => (Float32Type, f32),
        (Kind::Float, 8) => (Float64Type, f64),
    }, match scalar.kind() {
        Kind::Bool => Ok(Arc::new(BooleanArray::from(items::<bool>(array)?))),
        Kind::Text => {
            let texts = items::<String>(array)?;
            // More would be a panic of arrow, whose offsets have 32 bits.
            let bytes: usize = texts.iter().map(String::len).sum();
            match i32::try_from(bytes) {
                Ok(_) => Ok(Arc::new(StringArray::from(texts))),
                Err(_) => Ok(Arc::new(LargeStringArray::from(texts))),
            }
        }
        _ => Err(unsupported_dtype()),
    })
}

/// Makes a record batch of an array of records: a column for each field.
///
/// # Errors
///
/// - [`NotConvertible`](ErrorKind::NotConvertible) if the elements are not records, or a field is neither a number, nor a bool, nor a text.
/// - Those of [`to_arrow`], for each field.
///
/// # Examples
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::DynArray;
/// use ndarray_io_matrices::arrow::{from_batch, to_batch};
///
/// let (x, name) = (DynArray::new(&arr1(&[1i32, 2]))?, DynArray::new(&arr1(&["a".to_owned(), "bc".to_owned()]))?);
/// let records = DynArray::from_columns([("x", &x), ("name", &name)])?;
/// let batch = to_batch(&records)?;
/// assert_eq!((batch.num_rows(), batch.schema().field(1).name().as_str()), (2, "name"));
/// assert_eq!(from_batch(&batch)?, records);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn to_batch(records: &DynArray) -> Result<RecordBatch> {
    let Some(record) = records.dtype().as_record() else {
        let reason = "a record batch is made of records";
        return Err(Error::not_representable("arrow", records.dtype(), reason));
    };
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for field in record.fields() {
        let column = records.field(ndarray_io::dtype::FieldPath::from(&[field.name()][..]));
        let column =
            column.and_then(|column| to_arrow(&column)).map_err(|error| error.at_field(field.name()))?;
        fields.push(Field::new(field.name(), column.data_type().clone(), false));
        columns.push(column);
    }
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new(schema, columns).map_err(|error| Error::new(ErrorKind::BadOption, error.to_string()))
}

/// Makes an array of records of a record batch: a field for each column.
///
/// # Errors
///
/// - Those of [`from_arrow`], for each column.
/// - Those of [`DynArray::from_columns`], if two columns have the same name, for example.
pub fn from_batch(batch: &RecordBatch) -> Result<DynArray> {
    let mut columns = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        columns
            .push((field.name().clone(), from_arrow(column).map_err(|error| error.at_field(field.name()))?));
    }
    DynArray::from_columns(columns.iter().map(|(name, column)| (name.clone(), column)))
}

/// Returns whether [`to_arrow`] converts elements of a dtype.
#[must_use]
pub fn has_dtype(dtype: &DType) -> bool {
    DynArray::from_bytes(dtype.clone(), [0], Order::C, &[]).is_ok_and(|none| to_arrow(&none).is_ok())
}
