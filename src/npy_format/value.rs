//! The values of a header's pieces, which `py_literal` reads.

use num_traits::ToPrimitive;
use py_literal::Value;

use super::fault::Fault;
use crate::shape::Shape;

/// The value of a piece in normal form.
pub(super) fn value(piece: &str) -> Result<Value, Fault> {
    // The normal form is made so that this never fails; if it does, nothing is lost but the place.
    piece.parse().map_err(|error| Fault::new(format!("the literal is not understood: {error}"), None))
}

/// The length of an axis that this machine has no number for, if there is one.
pub(super) fn too_long(lengths: &[Value]) -> Option<u64> {
    lengths.iter().find_map(|length| match length {
        Value::Integer(number) => number.to_u64().filter(|number| usize::try_from(*number).is_err()),
        _ => None,
    })
}

/// The lengths of axes.
pub(super) fn dims(lengths: &[Value]) -> Result<Shape, String> {
    let lengths = lengths.iter().map(|length| match length {
        // The tokenizer has seen to it that a number without its sign fits 64 bits.
        Value::Integer(number) if number.to_u64().is_some() => {
            number.to_usize().ok_or_else(|| format!("an axis has the length {number}"))
        }
        Value::Integer(number) => Err(format!("an axis has the negative length {number}")),
        _ => Err("the length of an axis is no whole number".to_owned()),
    });
    lengths.collect::<Result<Vec<usize>, _>>().map(Shape::from)
}
