//! The dict that a header is: its three keys, and no other.

use num_traits::ToPrimitive;
use py_literal::Value;

use super::scan::{self, Fault, What};
use super::{NpyHeader, Version, descr};
use crate::error::{Error, ErrorKind};
use crate::header::Header;
use crate::shape::{Order, Shape};

const KEYS: [&str; 3] = ["descr", "fortran_order", "shape"];

/// Reads a header of any form that NumPy takes.
pub(super) fn parse(text: &str, version: Version) -> Result<NpyHeader, Fault> {
    let normal = scan::normalize(text, version != Version::V3)?;
    let mut found = [const { None }; 3];
    for item in &normal.items {
        let key = value(&item.key)?;
        let index = KEYS.iter().position(|known| key.as_string().is_some_and(|key| key == known));
        let Some(index) = index else {
            let reason = "there is a key besides 'descr', 'fortran_order' and 'shape'";
            return Err(Fault::new(reason, item.key_at));
        };
        if found[index].replace(item).is_some() {
            return Err(Fault::new(format!("the key '{}' stands there twice", KEYS[index]), item.key_at));
        }
    }
    let missing = |index: usize| Fault::new(format!("the key '{}' is missing", KEYS[index]), None);
    let [descr, order, shape] = found;
    let descr = descr.ok_or_else(|| missing(0))?;
    let order = order.ok_or_else(|| missing(1))?;
    let shape = shape.ok_or_else(|| missing(2))?;

    let order = match value(&order.value)? {
        Value::Boolean(false) => Order::C,
        Value::Boolean(true) => Order::Fortran,
        _ => return Err(Fault::new("'fortran_order' is neither True nor False", order.source.start)),
    };
    let shape = match value(&shape.value)? {
        Value::Tuple(lengths) => dims(&lengths).map_err(|reason| Fault::new(reason, shape.source.start))?,
        _ => return Err(Fault::new("'shape' is no tuple", shape.source.start)),
    };
    let descr_text = &text[descr.source.clone()];
    let dtype = descr::dtype(&descr.value, &normal.lists, descr_text)?;
    let header = Header::new(dtype, order, shape)?;
    Ok(NpyHeader { header, version, descr: descr_text.to_owned() })
}

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

impl Fault {
    /// With its place in the file, for a text that begins `start` bytes behind the beginning of the array.
    pub(super) fn into_error(self, text: &str, version: Version, start: usize) -> Error {
        let reason = match self.what {
            What::Other(error) => return error,
            What::Malformed(reason) => reason,
        };
        // In Latin-1 a character is one byte in the file, whatever it takes in memory.
        let offset = self.at.map(|at| match version {
            Version::V3 => start + at,
            _ => start + text.get(..at).map_or(at, |before| before.chars().count()),
        });
        ErrorKind::BadHeader { reason, offset }.into()
    }
}
