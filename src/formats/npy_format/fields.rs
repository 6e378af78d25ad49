//! NumPy's rules for records and subarrays, shared by the direct and the general path.

use crate::dtype::{ByteOrder, DType, Kind, Record, RecordError, Scalar, Subarray, Title};
use crate::shape::Shape;

/// A record under construction.
#[derive(Default)]
pub(super) struct HeaderRecordBuilder {
    record: Record,
}

impl HeaderRecordBuilder {
    /// Appends a field, or what NumPy treats as padding. The error says what is wrong.
    pub(super) fn push(&mut self, name: &str, title: Option<Title>, dtype: DType) -> Result<(), String> {
        let pushed = match name.is_empty() && title.is_none() && is_padding(&dtype) {
            true => self.record.try_pad(dtype.item_size()),
            false => self.record.try_push(name.to_owned(), title, dtype),
        };
        pushed.map_err(|error| match error {
            RecordError::NameTwice(name) => format!("duplicate field name '{}'", name.escape_debug()),
            error => error.to_string(),
        })
    }

    pub(super) fn finish(self) -> Record {
        self.record
    }
}

/// The shape after a type: a length, or the lengths of axes.
pub(super) enum SubarrayShape {
    Length(usize),
    Axes(Shape),
}

/// Combines a type and a shape into a subarray, or into a string type of that length.
pub(super) fn with_subarray_shape(base: DType, repeat: SubarrayShape) -> Result<DType, &'static str> {
    let sizeless = base.as_scalar().filter(|scalar| scalar.size() == 0);
    let shape = match (sizeless, repeat) {
        // NumPy uses a number after a string type without a size as the size.
        (Some(scalar), SubarrayShape::Length(length)) => {
            let size = if scalar.kind() == Kind::Text { length.saturating_mul(4) } else { length };
            let order = scalar.byte_order().unwrap_or(ByteOrder::NATIVE);
            let scalar = Scalar::new(scalar.kind(), size, order);
            return scalar.map(DType::from).ok_or("it is larger than NumPy allows");
        }
        (Some(_), SubarrayShape::Axes(_)) => return Err("a string without a size has no shape"),
        (None, SubarrayShape::Length(length)) => Shape::from([length]),
        (None, SubarrayShape::Axes(shape)) => shape,
    };
    if shape.ndim() == 0 {
        return Ok(base);
    }
    Subarray::new(base, shape)
        .map(DType::from)
        .ok_or("a subarray is larger than NumPy allows, or nested too deeply")
}

/// Returns whether NumPy treats an unnamed field of this dtype as padding.
///
/// That is the case for raw bytes, and for subarrays of any type except objects.
fn is_padding(dtype: &DType) -> bool {
    match dtype {
        DType::Scalar(scalar) => scalar.kind() == Kind::Void,
        DType::Subarray(subarray) => !subarray.base().has_object(),
        _ => false,
    }
}
