//! From the value of `descr` to a dtype, by NumPy's rules.

use std::collections::HashSet;

use num_traits::ToPrimitive;
use py_literal::Value;

use super::alias;
use super::dict::dims;
use super::scan::Fault;
use crate::dtype::{DType, Kind, Record, Scalar, Subarray, Title};
use crate::error::{ErrorKind, Limited};
use crate::limits::{self, Limits};
use crate::shape::Shape;

/// The dtype that a `descr` means. `text` is its spelling, for errors.
pub(super) fn dtype(descr: &Value, text: &str) -> Result<DType, Fault> {
    any(descr, 0).map_err(|fault| match fault {
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

/// The tokenizer has bounded the depth of brackets, so that the recursion is bounded, too.
fn any(descr: &Value, depth: usize) -> Result<DType, Refusal> {
    match descr {
        Value::String(code) => Ok(alias::dtype(code)?),
        Value::Tuple(pair) => match pair.as_slice() {
            [base, shape] => shaped(any(base, depth)?, shape),
            _ => Err(Refusal::from("a subarray is a pair of a type and a shape")),
        },
        Value::List(fields) => record(fields, depth + 1).map(DType::from),
        _ => Err(Refusal::from("it is no string, pair or list")),
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
    let is_sizeless = |scalar: &Scalar| scalar.size() == 0;
    match (base.as_scalar().filter(|scalar| is_sizeless(scalar)), length) {
        // Behind a string without a size, NumPy takes a number for the size.
        (Some(scalar), Some(length)) => {
            let size = if scalar.kind() == Kind::Text { length.saturating_mul(4) } else { length };
            let order = scalar.byte_order().unwrap_or(crate::dtype::ByteOrder::NATIVE);
            return Ok(Scalar::new(scalar.kind(), size, order)
                .ok_or("it is larger than NumPy allows")?
                .into());
        }
        (Some(_), None) => return Err("a string without a size has no shape".into()),
        (None, _) => {}
    }
    let shape = match (shape, length) {
        (_, Some(length)) => Shape::from([length]),
        (Value::Tuple(lengths) | Value::List(lengths), _) => dims(lengths)?,
        _ => return Err("the shape of a subarray is no tuple".into()),
    };
    if shape.ndim() == 0 {
        return Ok(base);
    }
    let axes = limits::check(Limited::Dimensions, shape.ndim() as u64, Limits::DIMENSIONS as u64);
    axes.map_err(|error| Refusal::Other(error.into()))?;
    let subarray = Subarray::new(base, shape).ok_or("a subarray is larger than NumPy allows")?;
    Ok(subarray.into())
}

fn record(fields: &[Value], depth: usize) -> Result<Record, Refusal> {
    let nesting = limits::check(Limited::RecordNesting, depth as u64, Limits::RECORD_NESTING as u64);
    nesting.map_err(|error| Refusal::Other(error.into()))?;
    let mut record = Record::default();
    let mut names = HashSet::new();
    for field in fields {
        let (Value::Tuple(parts) | Value::List(parts)) = field else {
            return Err("a field is no tuple".into());
        };
        let (name, dtype) = match parts.as_slice() {
            [name, descr] => (name, any(descr, depth)?),
            [name, descr, shape] => (name, shaped(any(descr, depth)?, shape)?),
            _ => return Err("a field has a name, a type and perhaps a shape".into()),
        };
        let (name, title) = self::name(name)?;
        let size = dtype.item_size();
        let pushed = if name.is_empty() && title.is_none() && is_padding(&dtype) {
            record.pad(size)
        } else {
            let title_text = match &title {
                Some(Title::Text(text)) => Some(text.as_str()),
                _ => None,
            };
            for name in std::iter::once(name).chain(title_text) {
                if !names.insert(name.to_owned()) {
                    return Err(format!("the field name '{}' stands there twice", name.escape_debug()).into());
                }
            }
            record.push(name.to_owned(), title, dtype)
        };
        pushed.ok_or("the record is larger than NumPy allows")?;
    }
    Ok(record)
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
        DType::Subarray(_) => true,
        _ => false,
    }
}
