//! Between objects and Rust's own types.

use std::sync::Arc;

use num_complex::Complex;

use super::{PyInt, PyObject, PyStr, PyValue};
use crate::dtype::Kind;
use crate::dynamic::DynArray;
use crate::element::ReadableElement;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Casting;

impl PyValue {
    /// The text of a `str`, if it is one without lone surrogates.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => text.as_str(),
            _ => None,
        }
    }

    /// The bytes of `bytes` or `bytearray`.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) | Self::ByteArray(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The items of a list, tuple or set.
    ///
    /// ```
    /// # use ndarray_io::PyValue;
    /// assert_eq!(PyValue::from(vec![1, 2]).as_slice().unwrap().len(), 2);
    /// ```
    pub fn as_slice(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) | Self::Tuple(items) | Self::Set(items) | Self::FrozenSet(items) => Some(items),
            _ => None,
        }
    }

    /// The value that a dict has for a text, of several the last.
    ///
    /// ```
    /// # use ndarray_io::PyValue;
    /// let dict: PyValue = [("a", 1), ("b", 2)].into_iter().collect();
    /// assert_eq!(dict.get("b"), Some(&PyValue::from(2)));
    /// ```
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Dict(pairs) => {
                pairs.iter().rev().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Whether it is `None`.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a bool",
            Self::Int(_) => "an int",
            Self::Float(_) => "a float",
            Self::Complex(_) => "a complex",
            Self::Str(_) => "a str",
            Self::Bytes(_) => "bytes",
            Self::ByteArray(_) => "a bytearray",
            Self::List(_) => "a list",
            Self::Tuple(_) => "a tuple",
            Self::Dict(_) => "a dict",
            Self::Set(_) => "a set",
            Self::FrozenSet(_) => "a frozenset",
            Self::Scalar(_) => "a scalar of NumPy's",
            Self::Array(_) => "an array",
            Self::Date(_) | Self::Time(_) | Self::Datetime(..) | Self::Timedelta(_) => "a time",
            Self::Decimal(_) => "a Decimal",
            Self::Global(_) => "a class or function",
            Self::Object(_) => "an object",
        }
    }

    fn is_no(&self, wanted: &str) -> Error {
        let reason = format!("the object is {}, and not {wanted}", self.kind());
        ErrorKind::BadOption { reason }.into()
    }
}

macro_rules! from {
    ($($type:ty => |$value:ident| $made:expr;)*) => {$(
        impl From<$type> for PyValue {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )*};
}

from! {
    bool => |value| Self::Bool(value);
    i32 => |number| Self::Int(number.into());
    i64 => |number| Self::Int(number.into());
    u64 => |number| Self::Int(number.into());
    i128 => |number| Self::Int(number.into());
    PyInt => |number| Self::Int(number);
    f64 => |number| Self::Float(number);
    Complex<f64> => |number| Self::Complex(number);
    &str => |text| Self::Str(text.into());
    String => |text| Self::Str(text.into());
    PyStr => |text| Self::Str(text);
    &[u8] => |bytes| Self::Bytes(bytes.into());
    DynArray => |array| Self::Array(Arc::new(array));
    PyObject => |object| Self::Object(Arc::new(object));
}

/// A list.
impl<T: Into<PyValue>> From<Vec<T>> for PyValue {
    fn from(items: Vec<T>) -> Self {
        Self::List(Arc::new(items.into_iter().map(Into::into).collect()))
    }
}

/// `None` if there is nothing.
impl<T: Into<PyValue>> From<Option<T>> for PyValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// A dict.
impl<K: Into<PyValue>, V: Into<PyValue>> FromIterator<(K, V)> for PyValue {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self::Dict(Arc::new(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect()))
    }
}

macro_rules! try_from {
    ($($type:ty, $wanted:literal: |$value:ident| $made:expr;)*) => {$(
        impl TryFrom<&PyValue> for $type {
            type Error = Error;

            fn try_from($value: &PyValue) -> Result<Self> {
                let made: Option<Result<Self>> = $made;
                made.unwrap_or_else(|| Err($value.is_no($wanted)))
            }
        }
    )*};
}

/// A scalar of NumPy's as a type, if that is what it is.
fn scalar<A: ReadableElement>(array: &DynArray, casting: Casting) -> Option<A> {
    array.cast::<A, ndarray::Ix0>(casting).ok().map(ndarray::Array0::into_scalar)
}

/// A scalar of NumPy's that is an integer.
fn integer(array: &DynArray) -> Option<PyInt> {
    match array.dtype().as_scalar()?.kind() {
        Kind::Bool | Kind::Int => scalar::<i64>(array, Casting::Safe).map(PyInt::from),
        Kind::Uint => scalar::<u64>(array, Casting::Safe).map(PyInt::from),
        _ => None,
    }
}

fn is_bytes(array: &DynArray) -> bool {
    array.dtype().as_scalar().is_some_and(|scalar| scalar.kind() == Kind::Bytes)
}

macro_rules! ints {
    ($($type:ty),*) => {
        try_from! {$(
            $type, "an int": |value| match value {
                PyValue::Int(number) => Some(number.try_into()),
                PyValue::Scalar(array) => integer(array).map(|number| (&number).try_into()),
                _ => None,
            };
        )*}
    };
}

ints!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);

try_from! {
    bool, "a bool": |value| match value {
        PyValue::Bool(value) => Some(Ok(*value)),
        PyValue::Scalar(array) => scalar::<bool>(array, Casting::Safe).map(Ok),
        _ => None,
    };
    f64, "a float": |value| match value {
        PyValue::Float(number) => Some(Ok(*number)),
        // Python takes integers for floats, too.
        PyValue::Int(number) => Some(number.to_f64().ok_or_else(|| {
            ErrorKind::BadOption { reason: "the integer is too large for a float".into() }.into()
        })),
        PyValue::Scalar(array) => scalar::<f64>(array, Casting::SameKind).map(Ok),
        _ => None,
    };
    String, "a str": |value| match value {
        PyValue::Scalar(array) if !is_bytes(array) => scalar::<String>(array, Casting::Safe).map(Ok),
        value => value.as_str().map(|text| Ok(text.to_owned())),
    };
    Vec<u8>, "bytes": |value| value.as_bytes().map(|bytes| Ok(bytes.to_vec()));
}
