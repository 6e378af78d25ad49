//! From the value of `descr` to a dtype, by NumPy's rules.

use std::collections::HashSet;

use num_traits::ToPrimitive;
use py_literal::Value;

use super::alias;
use super::fault::Fault;
use super::value::{dims, value};
use crate::dtype::{ByteOrder, DType, Kind, Record, Scalar, Subarray, Title};
use crate::error::{ErrorKind, LimitKind};
use crate::limits::{self, Limits};
use crate::shape::Shape;

/// The dtype that a `descr` in normal form means, with the pieces of its lists. `text` is its spelling, for errors.
pub(super) fn dtype(piece: &str, lists: &[Vec<String>], text: &str) -> Result<DType, Fault> {
    let parsed = value(piece).map_err(Refusal::Other).and_then(|descr| Descr { lists }.any(&descr, 0));
    parsed.map_err(|fault| match fault {
        Refusal::Reason(reason) => ErrorKind::UnsupportedDType { descr: text.to_owned(), reason }.into(),
        Refusal::Other(fault) => fault,
    })
}

enum Refusal {
    /// What is wrong with the dtype, in words.
    Reason(String),
    /// A limit.
    Other(Fault),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Reason(reason)
    }
}

impl From<&str> for Refusal {
    fn from(reason: &str) -> Self {
        Self::Reason(reason.to_owned())
    }
}

/// What is known while a `descr` is read: the items of its lists.
struct Descr<'a> {
    lists: &'a [Vec<String>],
}

impl Descr<'_> {
    /// The tokenizer has bounded the depth of brackets, so that the recursion is bounded, too.
    fn any(&self, descr: &Value, depth: usize) -> Result<DType, Refusal> {
        match descr {
            Value::String(code) => Ok(alias::dtype(code)?),
            Value::Tuple(pair) => match pair.as_slice() {
                [base, shape] => shaped(self.any(base, depth)?, shape),
                _ => Err(Refusal::from("a subarray is a pair of a type and a shape")),
            },
            Value::List(number) => self.record(number, depth + 1).map(DType::from),
            _ => Err(Refusal::from("it is no string, pair or list")),
        }
    }

    /// The record whose fields are the items of a list, which are read one after another.
    fn record(&self, number: &[Value], depth: usize) -> Result<Record, Refusal> {
        let nesting = limits::check(LimitKind::RecordNesting, depth as u64, Limits::RECORD_NESTING as u64);
        nesting.map_err(|error| Refusal::Other(error.into()))?;
        let pieces = match number {
            [Value::Integer(number)] => number.to_usize().and_then(|number| self.lists.get(number)),
            _ => None,
        };
        let mut record = Record::default();
        let mut names = HashSet::new();
        // The tokenizer has put a number that it knows in the place of each list.
        for piece in pieces.into_iter().flatten() {
            let Value::Tuple(parts) = value(piece).map_err(Refusal::Other)? else {
                return Err("a field is no tuple".into());
            };
            let (name, dtype) = match parts.as_slice() {
                [name, descr] => (name, self.any(descr, depth)?),
                [name, descr, shape] => (name, shaped(self.any(descr, depth)?, shape)?),
                _ => return Err("a field has a name, a type and perhaps a shape".into()),
            };
            let (name, title) = self::name(name)?;
            let pushed = if name.is_empty() && title.is_none() && is_padding(&dtype) {
                record.pad(dtype.item_size())
            } else {
                let title_text = match &title {
                    Some(Title::Text(text)) => Some(text.as_str()),
                    _ => None,
                };
                for name in std::iter::once(name).chain(title_text) {
                    if !names.insert(name.to_owned()) {
                        return Err(
                            format!("the field name '{}' stands there twice", name.escape_debug()).into()
                        );
                    }
                }
                record.push(name.to_owned(), title, dtype)
            };
            pushed.ok_or("the record is larger than NumPy allows")?;
        }
        Ok(record)
    }
}

/// A type and a shape: a subarray, if the shape is none of the special ones.
fn shaped(base: DType, shape: &Value) -> Result<DType, Refusal> {
    let length = match shape {
        Value::Integer(length) => {
            Some(length.to_usize().ok_or("the length of a subarray is negative or too large")?)
        }
        _ => None,
    };
    let sizeless = base.as_scalar().filter(|scalar| scalar.size() == 0);
    let shape = match (sizeless, length, shape) {
        // Behind a string without a size, NumPy takes a number for the size.
        (Some(scalar), Some(length), _) => {
            let size = if scalar.kind() == Kind::Text { length.saturating_mul(4) } else { length };
            let order = scalar.byte_order().unwrap_or(ByteOrder::NATIVE);
            return Ok(Scalar::new(scalar.kind(), size, order)
                .ok_or("it is larger than NumPy allows")?
                .into());
        }
        (Some(_), None, _) => return Err("a string without a size has no shape".into()),
        (None, Some(length), _) => Shape::from([length]),
        (None, None, Value::Tuple(lengths)) => dims(lengths)?,
        _ => return Err("the shape of a subarray is no tuple".into()),
    };
    if shape.ndim() == 0 {
        return Ok(base);
    }
    let subarray = Subarray::new(base, shape).ok_or("a subarray is larger than NumPy allows")?;
    Ok(subarray.into())
}

/// A name, or a pair of a title and a name.
fn name(name: &Value) -> Result<(&str, Option<Title>), Refusal> {
    match name {
        Value::String(name) => Ok((name, None)),
        Value::Tuple(pair) => match pair.as_slice() {
            [Value::String(title), Value::String(name)] => Ok((name, Some(Title::Text(title.clone())))),
            [Value::Integer(title), Value::String(name)] => {
                Ok((name, Some(Title::Int(title.to_i64().ok_or("a title is a number too large")?))))
            }
            [Value::None, Value::String(name)] => Ok((name, None)),
            _ => Err("a field's title and name are no strings".into()),
        },
        _ => Err("a field's name is no string".into()),
    }
}

/// Whether NumPy takes a field without a name for padding: raw bytes, and subarrays of anything.
fn is_padding(dtype: &DType) -> bool {
    match dtype {
        DType::Scalar(scalar) => scalar.kind() == Kind::Void,
        DType::Subarray(subarray) => !subarray.base().has_object(),
        _ => false,
    }
}
