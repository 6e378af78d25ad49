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

/// The lengths of axes.
pub(super) fn dims(lengths: &[Value]) -> Result<Shape, String> {
    let lengths = lengths.iter().map(|length| match length {
        // The tokenizer has seen to it that a number without its sign fits 64 bits; one that is too large for this
        // machine's addresses is left for the header's check of its shape.
        Value::Integer(number) if number.to_u64().is_some() => Ok(number.to_usize().unwrap_or(usize::MAX)),
        Value::Integer(number) => Err(format!("an axis has the negative length {number}")),
        _ => Err("the length of an axis is no whole number".to_owned()),
    });
    lengths.collect::<Result<Vec<usize>, _>>().map(Shape::from)
}
