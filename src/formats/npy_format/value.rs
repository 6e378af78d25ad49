//! Values of the pieces of a header, parsed by `py_literal`.

use num_traits::ToPrimitive;
use py_literal::Value;

use super::fault::HeaderFault;
use crate::shape::Shape;

/// Parses a piece in normal form.
pub(super) fn value(piece: &str) -> Result<Value, HeaderFault> {
    // The tokenizer's output always parses. If it ever did not, only the error's offset would be lost.
    piece.parse().map_err(|error| HeaderFault::new(format!("the literal cannot be parsed: {error}"), None))
}

/// Returns the first axis length that exceeds `usize` on this machine, if any.
pub(super) fn first_oversized_length(lengths: &[Value]) -> Option<u64> {
    lengths.iter().find_map(|length| match length {
        Value::Integer(number) => number.to_u64().filter(|number| usize::try_from(*number).is_err()),
        _ => None,
    })
}

/// Converts the lengths of axes to a shape.
pub(super) fn dims(lengths: &[Value]) -> Result<Shape, String> {
    let lengths = lengths.iter().map(|length| match length {
        // The tokenizer has checked that the magnitude of each number fits in 64 bits.
        Value::Integer(number) if number.to_u64().is_some() => {
            number.to_usize().ok_or_else(|| format!("an axis has the length {number}"))
        }
        Value::Integer(number) => Err(format!("an axis has the negative length {number}")),
        _ => Err("the length of an axis is not an integer".to_owned()),
    });
    lengths.collect::<Result<Vec<usize>, _>>().map(Shape::from)
}
