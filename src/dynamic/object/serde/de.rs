//! Deserialization of objects, and of other types from objects.

use std::cell::Cell;
use std::fmt;

use serde_1::de::value::{MapDeserializer, SeqDeserializer};
use serde_1::de::{self, DeserializeOwned, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_1::{Deserialize, Deserializer, forward_to_deserialize_any};

use super::super::{Object, ObjectRef, View};
use super::{MAX_OBJECTS, SmallestInt, VisitedObject, iso_8601_text, numpy_to_plain, own_byte_len};
use crate::error::{Error, Fault, Result};

/// Deserializes any value of a self-describing format.
///
/// A unit becomes `None`, a map a dict, and a sequence a list. The variant of an enum becomes its name, or a
/// dict with the name as its only key. Tuples, sets, dates and other types are not restored, because the data
/// does not identify them.
impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Object, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<Object, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> std::result::Result<Object, E> {
        Ok(number.into())
    }

    fn visit_i128<E>(self, number: i128) -> std::result::Result<Object, E> {
        Ok(number.into())
    }

    fn visit_u128<E>(self, number: u128) -> std::result::Result<Object, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> std::result::Result<Object, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Object, E> {
        Ok(text.into())
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> std::result::Result<Object, E> {
        Ok(bytes.into())
    }

    fn visit_unit<E>(self) -> std::result::Result<Object, E> {
        Ok(Object::none())
    }

    fn visit_none<E>(self) -> std::result::Result<Object, E> {
        Ok(Object::none())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Object, D::Error> {
        Object::deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Object, D::Error> {
        Object::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Object, A::Error> {
        let mut items = Vec::<Object>::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Object, A::Error> {
        let mut pairs = Vec::<(Object, Object)>::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Object::dict(pairs).map_err(de::Error::custom)
    }
}

/// Converts an object to any type that `serde` can deserialize, such as a dict to a struct.
///
/// ```
/// # use serde_1 as serde;
/// use ndarray::arr1;
/// use ndarray_io::object::{Object, from_object};
///
/// #[derive(serde::Deserialize, Debug, PartialEq)]
/// # #[serde(crate = "serde_1")]
/// struct Row {
///     name: String,
///     size: u32,
/// }
///
/// let rows = arr1(&[[("name", Object::from("a")), ("size", 1.into())].into_iter().collect::<Object>()]);
/// let rows: Vec<Row> = rows.iter().map(from_object).collect::<Result<_, _>>()?;
/// assert_eq!(rows, [Row { name: "a".into(), size: 1 }]);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
///
/// # Errors
///
/// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the object does not fit `T`, or could not be serialized (see the
/// implementation of `Serialize`).
pub fn from_object<T: DeserializeOwned>(object: &Object) -> Result<T> {
    let remaining_objects = Cell::new(MAX_OBJECTS);
    let visited =
        VisitedObject { object: object.as_ref(), remaining_objects: &remaining_objects, within: None };
    T::deserialize(visited).map_err(|ConversionError(reason)| Fault::NotConvertible { reason }.into())
}

/// Why an object cannot be converted.
#[derive(Debug)]
pub(super) struct ConversionError(String);

impl fmt::Display for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConversionError {}

impl de::Error for ConversionError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self(reason.to_string())
    }
}

impl From<Error> for ConversionError {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

impl<'de> IntoDeserializer<'de, ConversionError> for VisitedObject<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for VisitedObject<'_> {
    type Error = ConversionError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, ConversionError> {
        self.spend(own_byte_len(self.object)).map_err(ConversionError)?;
        let within = self.enter().map_err(ConversionError)?;
        let seq = |items: Vec<ObjectRef<'_>>, visitor: V| {
            let parts = items.into_iter().map(|item| self.part(item, &within));
            let mut seq = SeqDeserializer::new(parts);
            let value = visitor.visit_seq(&mut seq)?;
            seq.end()?;
            Ok(value)
        };
        match self.object.view() {
            View::None => visitor.visit_unit(),
            View::Bool(value) => visitor.visit_bool(value),
            View::Int(number) => match SmallestInt::from(number) {
                SmallestInt::I64(number) => visitor.visit_i64(number),
                SmallestInt::U64(number) => visitor.visit_u64(number),
                SmallestInt::I128(number) => visitor.visit_i128(number),
                SmallestInt::U128(number) => visitor.visit_u128(number),
                SmallestInt::Text(digits) => visitor.visit_string(digits),
            },
            View::Float(number) => visitor.visit_f64(number),
            View::Complex(number) => {
                let mut seq = SeqDeserializer::<_, ConversionError>::new([number.re, number.im].into_iter());
                visitor.visit_seq(&mut seq)
            }
            View::Str(text) => match text.as_str() {
                Some(text) => visitor.visit_str(text),
                None => Err(ConversionError("a string contains a lone surrogate".to_owned())),
            },
            View::Bytes(bytes) | View::ByteArray(bytes) => visitor.visit_bytes(bytes),
            View::List(items) | View::Tuple(items) | View::Set(items) | View::FrozenSet(items) => {
                seq(items.iter().collect(), visitor)
            }
            View::Dict(dict) => {
                let mut map = MapDeserializer::new(self.pairs(dict, &within));
                let value = visitor.visit_map(&mut map)?;
                map.end()?;
                Ok(value)
            }
            View::Scalar(_) | View::Array(_) => {
                let plain = numpy_to_plain(self.object)?;
                VisitedObject {
                    object: plain.as_ref(),
                    remaining_objects: self.remaining_objects,
                    within: self.within,
                }
                .deserialize_any(visitor)
            }
            View::Decimal(digits) => visitor.visit_str(digits),
            _ => match iso_8601_text(self.object) {
                Some(text) => visitor.visit_string(text),
                None => Err(ConversionError("an object of an unknown class cannot be serialized".to_owned())),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, ConversionError> {
        match self.object.is_none() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    /// Accepts bytes as a sequence, too.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, ConversionError> {
        match self.object.as_bytes() {
            Some(bytes) => {
                visitor.visit_seq(SeqDeserializer::<_, ConversionError>::new(bytes.iter().copied()))
            }
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> std::result::Result<V::Value, ConversionError> {
        visitor.visit_newtype_struct(self)
    }

    /// Reads a string as a variant without content, and a dict of one key as a variant with content.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, ConversionError> {
        match self.object.view() {
            View::Dict(dict) if dict.len() == 1 => {
                let within = self.enter().map_err(ConversionError)?;
                let pairs = MapDeserializer::new(self.pairs(dict, &within));
                visitor.visit_enum(de::value::MapAccessDeserializer::new(pairs))
            }
            _ => match self.object.as_str() {
                Some(name) => visitor.visit_enum(name.into_deserializer()),
                None => Err(ConversionError("an enum is a text, or a dict of one key".to_owned())),
            },
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct map struct identifier ignored_any
    }
}
