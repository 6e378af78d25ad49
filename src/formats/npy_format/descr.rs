//! Converts the value of `descr` to a dtype, by NumPy's rules.

use num_traits::ToPrimitive;
use py_literal::Value;

use super::alias;
use super::fault::HeaderFault;
use super::fields::{HeaderRecordBuilder, SubarrayShape, with_subarray_shape};
use super::value::{dims, value};
use crate::dtype::{DType, Record, Title};
use crate::error::{Fault, LimitKind};
use crate::limits::{self, Limits};

/// Converts a `descr` in normal form to a dtype.
///
/// `lists` contains the items of its lists; `text` is its original spelling, for error messages.
pub(super) fn dtype(piece: &str, lists: &[Vec<String>], text: &str) -> Result<DType, HeaderFault> {
    let parsed =
        value(piece).map_err(Refusal::Other).and_then(|descr| DescrParser { lists }.parse_dtype(&descr, 0));
    parsed.map_err(|fault| match fault {
        Refusal::Reason(reason) => Fault::unsupported_dtype(text, &reason).into(),
        Refusal::Other(fault) => fault,
    })
}

enum Refusal {
    /// The dtype is invalid or unsupported; the text says why.
    Reason(String),
    /// Any other error, such as an exceeded limit.
    Other(HeaderFault),
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

/// The context in which a `descr` is converted: the items of its lists.
struct DescrParser<'a> {
    lists: &'a [Vec<String>],
}

impl DescrParser<'_> {
    /// Converts any `descr`. The tokenizer has limited the nesting of brackets, which bounds the recursion.
    fn parse_dtype(&self, descr: &Value, depth: usize) -> Result<DType, Refusal> {
        match descr {
            Value::String(code) => Ok(alias::dtype(code)?),
            Value::Tuple(pair) => match pair.as_slice() {
                [base, shape] => with_shape(self.parse_dtype(base, depth)?, shape),
                _ => Err(Refusal::from("a subarray is a pair of a type and a shape")),
            },
            Value::List(number) => self.record(number, depth + 1).map(DType::from),
            _ => Err(Refusal::from("it is not a string, a pair or a list")),
        }
    }

    /// Converts a list to a record, parsing one field at a time.
    fn record(&self, number: &[Value], depth: usize) -> Result<Record, Refusal> {
        let nesting = limits::check(LimitKind::RecordNesting, depth as u64, Limits::RECORD_NESTING as u64);
        nesting.map_err(|error| Refusal::Other(error.into()))?;
        // The tokenizer has replaced each list by `[number,]`, an index into `lists`.
        let pieces = match number {
            [Value::Integer(number)] => number.to_usize().and_then(|number| self.lists.get(number)),
            _ => None,
        };
        let mut fields = HeaderRecordBuilder::default();
        for piece in pieces.into_iter().flatten() {
            let Value::Tuple(parts) = value(piece).map_err(Refusal::Other)? else {
                return Err("a field is not a tuple".into());
            };
            let (name, dtype) = match parts.as_slice() {
                [name, descr] => (name, self.parse_dtype(descr, depth)?),
                [name, descr, shape] => (name, with_shape(self.parse_dtype(descr, depth)?, shape)?),
                _ => return Err("a field must be a name, a type and an optional shape".into()),
            };
            let (name, title) = self::name_and_title(name)?;
            fields.push(name, title, dtype)?;
        }
        Ok(fields.finish())
    }
}

/// Combines a type and a shape, by the rules of [`with_subarray_shape`].
fn with_shape(base: DType, shape: &Value) -> Result<DType, Refusal> {
    let length = match shape {
        Value::Integer(length) => {
            Some(length.to_usize().ok_or("the length of a subarray is negative or too large")?)
        }
        _ => None,
    };
    let repeat = match (length, shape) {
        (Some(length), _) => SubarrayShape::Length(length),
        (None, Value::Tuple(lengths)) => SubarrayShape::Axes(dims(lengths)?),
        _ => return Err("the shape of a subarray is not a tuple".into()),
    };
    Ok(with_subarray_shape(base, repeat)?)
}

/// Splits a field's name, or a pair of a title and a name.
fn name_and_title(name: &Value) -> Result<(&str, Option<Title>), Refusal> {
    match name {
        Value::String(name) => Ok((name, None)),
        Value::Tuple(pair) => match pair.as_slice() {
            [Value::String(title), Value::String(name)] => Ok((name, Some(Title::Text(title.clone())))),
            [Value::Integer(title), Value::String(name)] => {
                Ok((name, Some(Title::Int(title.to_i64().ok_or("the number of a title is too large")?))))
            }
            [Value::None, Value::String(name)] => Ok((name, None)),
            _ => Err("a field's title and name are not strings".into()),
        },
        _ => Err("a field's name is not a string".into()),
    }
}
