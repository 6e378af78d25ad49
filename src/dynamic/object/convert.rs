//! Conversions from objects to Rust types.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use ndarray::ArrayD;
use num_complex::Complex;

use super::graph::Slot;
use super::{Array, Int, Object, ObjectRef, Scalar, View};
use crate::dtype::Kind;
use crate::dynamic::DynArray;
use crate::elements::ReadableElement;
use crate::error::{Error, Fault, Result};

impl ObjectRef<'_> {
    fn kind(self) -> &'static str {
        match self.view() {
            View::None => "None",
            View::Bool(_) => "a bool",
            View::Int(_) => "an int",
            View::Float(_) => "a float",
            View::Complex(_) => "a complex",
            View::Str(_) => "a str",
            View::Bytes(_) => "bytes",
            View::ByteArray(_) => "a bytearray",
            View::List(_) => "a list",
            View::Tuple(_) => "a tuple",
            View::Dict(_) => "a dict",
            View::Set(_) => "a set",
            View::FrozenSet(_) => "a frozenset",
            View::Scalar(_) => "a scalar of NumPy's",
            View::Array(_) => "an array",
            View::Date(_) | View::Time(_) | View::Datetime(..) | View::Timedelta(_) => "a time",
            View::Decimal(_) => "a Decimal",
            View::Global(_) | View::Extension(_) => "a class or function",
            View::Call(_) | View::Persistent(_) | View::Buffer(_) => "an object",
        }
    }

    pub(super) fn mismatch_error(self, wanted: &str) -> Error {
        let reason = format!("expected {wanted}, found {}", self.kind());
        Fault::NotConvertible { reason }.into()
    }
}

macro_rules! impl_try_from_object {
    ([$($generics:tt)*] $type:ty $(where [$($bounds:tt)*])?) => {
        impl<$($generics)*> TryFrom<&Object> for $type $(where $($bounds)*)? {
            type Error = Error;

            fn try_from(object: &Object) -> Result<Self> {
                object.as_ref().try_into()
            }
        }

        impl<$($generics)*> TryFrom<Object> for $type $(where $($bounds)*)? {
            type Error = Error;

            fn try_from(object: Object) -> Result<Self> {
                object.as_ref().try_into()
            }
        }
    };
}

macro_rules! try_from {
    ($($type:ty, $wanted:literal: |$object:ident| $made:expr;)*) => {$(
        impl TryFrom<ObjectRef<'_>> for $type {
            type Error = Error;

            fn try_from($object: ObjectRef<'_>) -> Result<Self> {
                let made: Option<Result<Self>> = $made;
                made.unwrap_or_else(|| Err($object.mismatch_error($wanted)))
            }
        }

        impl_try_from_object!([] $type);
    )*};
}

/// Returns a NumPy scalar as an integer, if it is an integer or bool.
fn integer(scalar: Scalar<'_>) -> Option<Int> {
    match scalar.dtype().as_scalar()?.kind() {
        Kind::Bool | Kind::Int => scalar.cast::<i64>().ok().map(Int::from),
        Kind::Uint => scalar.cast::<u64>().ok().map(Int::from),
        _ => None,
    }
}

fn is_text(scalar: Scalar<'_>) -> bool {
    scalar.dtype().as_scalar().is_some_and(|scalar| scalar.kind() == Kind::Text)
}

/// Returns a NumPy scalar as a float; integers are rounded, as in Python.
fn float(scalar: Scalar<'_>) -> Option<f64> {
    let number = integer(scalar).and_then(|number| number.to_f64());
    number.or_else(|| scalar.cast().ok())
}

macro_rules! ints {
    ($($type:ty),*) => {
        try_from! {$(
            $type, "an int": |object| match object.view() {
                View::Int(number) => Some((&number).try_into()),
                View::Scalar(scalar) => integer(scalar).map(|number| (&number).try_into()),
                _ => None,
            };
        )*}
    };
}

ints!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

try_from! {
    Int, "an int": |object| match object.view() {
        View::Int(number) => Some(Ok(number)),
        View::Scalar(scalar) => integer(scalar).map(Ok),
        _ => None,
    };
    bool, "a bool": |object| match object.view() {
        View::Bool(value) => Some(Ok(value)),
        View::Scalar(scalar) => scalar.cast::<bool>().ok().map(Ok),
        _ => None,
    };
    char, "a str of one character": |object| {
        let mut chars = object.as_str().unwrap_or_default().chars();
        chars.next().filter(|_| chars.next().is_none()).map(Ok)
    };
    f64, "a float": |object| match object.view() {
        View::Float(number) => Some(Ok(number)),
        // Python accepts integers as floats, too.
        View::Int(number) => Some(number.to_f64().ok_or_else(|| {
            Fault::NotConvertible { reason: "the integer is too large for a float".into() }.into()
        })),
        View::Scalar(scalar) => float(scalar).map(Ok),
        _ => None,
    };
    f32, "a float": |object| match object.view() {
        View::Scalar(scalar) if scalar.cast::<f32>().is_ok() => Some(scalar.cast()),
        _ => Some(f64::try_from(object).map(|number| number as f32)),
    };
    Complex<f64>, "a complex": |object| match object.view() {
        View::Complex(number) => Some(Ok(number)),
        View::Scalar(scalar) => scalar.cast().ok().map(Ok),
        _ => Some(f64::try_from(object).map(Complex::from)),
    };
    String, "a str": |object| match object.view() {
        View::Scalar(scalar) if is_text(scalar) => scalar.cast::<String>().ok().map(Ok),
        _ => object.as_str().map(|text| Ok(text.to_owned())),
    };
    DynArray, "an array": |object| object.as_array().map(Ok);
}

/// Converts the items of a list, tuple or set, or the bytes of `bytes` and `bytearray`.
impl<T> TryFrom<ObjectRef<'_>> for Vec<T>
where
    T: for<'a> TryFrom<ObjectRef<'a>, Error: Into<Error>>,
{
    type Error = Error;

    fn try_from(object: ObjectRef<'_>) -> Result<Self> {
        if let Some(bytes) = object.as_bytes() {
            // Each byte is converted as if it were an `int`, so that any integer type can be `T`.
            let slots: Vec<Slot> = bytes.iter().map(|byte| Slot::int((*byte).into())).collect();
            return slots
                .iter()
                .map(|slot| T::try_from(ObjectRef::new(slot, None)).map_err(Into::into))
                .collect();
        }
        let items = object.items().ok_or_else(|| object.mismatch_error("a list, tuple or set"))?;
        items.iter().map(|item| T::try_from(item).map_err(Into::into)).collect()
    }
}

impl_try_from_object!([T] Vec<T> where [T: for<'a> TryFrom<ObjectRef<'a>, Error: Into<Error>>]);

macro_rules! maps {
    ([$($generics:tt)*] $type:ty where [$($bounds:tt)*]) => {
        /// Converts a dict.
        impl<$($generics)*> TryFrom<ObjectRef<'_>> for $type
        where
            K: for<'a> TryFrom<ObjectRef<'a>, Error: Into<Error>>,
            V: for<'a> TryFrom<ObjectRef<'a>, Error: Into<Error>>,
            $($bounds)*
        {
            type Error = Error;

            fn try_from(object: ObjectRef<'_>) -> Result<Self> {
                let View::Dict(dict) = object.view() else { return Err(object.mismatch_error("a dict")) };
                dict.iter().map(|(key, value)| Ok((K::try_from(key).map_err(Into::into)?, V::try_from(value).map_err(Into::into)?))).collect()
            }
        }

        impl_try_from_object!([$($generics)*] $type where [
            K: for<'a> TryFrom<ObjectRef<'a>, Error: Into<Error>>,
            V: for<'a> TryFrom<ObjectRef<'a>, Error: Into<Error>>,
            $($bounds)*
        ]);
    };
}

maps!([K, V, S] HashMap<K, V, S> where [K: Eq + Hash, S: BuildHasher + Default]);
maps!([K, V] BTreeMap<K, V> where [K: Ord]);

macro_rules! tuples {
    ($($count:literal: $($name:ident)*;)*) => {$(
        /// Converts a tuple, list or set with exactly as many items as this tuple.
        impl<$($name),*> TryFrom<ObjectRef<'_>> for ($($name,)*)
        where
            $($name: for<'a> TryFrom<ObjectRef<'a>, Error: Into<Error>>,)*
        {
            type Error = Error;

            fn try_from(object: ObjectRef<'_>) -> Result<Self> {
                let items = object.items().filter(|items| items.len() == $count);
                let items = items.ok_or_else(|| object.mismatch_error(concat!("a tuple of ", $count)))?;
                let mut items = items.iter();
                // The number of items was checked above.
                Ok(($(<$name>::try_from(items.next().expect("an item for each")).map_err(Into::into)?,)*))
            }
        }

        impl_try_from_object!([$($name),*] ($($name,)*) where [$($name: for<'a> TryFrom<ObjectRef<'a>, Error: Into<Error>>,)*]);
    )*};
}

tuples! { 1: A; 2: A B; 3: A B C; 4: A B C D; 5: A B C D E; 6: A B C D E F; }

/// Copies the elements of an array.
impl<T: ReadableElement> TryFrom<ObjectRef<'_>> for ArrayD<T> {
    type Error = Error;

    fn try_from(object: ObjectRef<'_>) -> Result<Self> {
        match object.view() {
            View::Array(array) => Array::to_array(array),
            _ => object
                .as_array()
                .ok_or_else(|| object.mismatch_error("an array"))?
                .into_array()
                .map_err(Error::from),
        }
    }
}

impl_try_from_object!([T: ReadableElement] ArrayD<T>);
