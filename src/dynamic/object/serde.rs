//! Objects as `serde` knows values.

use std::cell::Cell;
use std::fmt;

use serde_1::de::value::{MapDeserializer, SeqDeserializer};
use serde_1::de::{self, DeserializeOwned, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_1::ser::{self, SerializeMap, SerializeSeq, SerializeStruct};
use serde_1::{Deserialize, Deserializer, Serialize, Serializer, forward_to_deserialize_any};

use super::graph::Id;
use super::{Date, Int, Object, ObjectRef, Time, Timedelta, View};
use crate::dtype::Kind;
use crate::error::{Error, ErrorKind, Result};

/// So much is told and no more: parts that several refer to are told each time, which may be more often than a file that means harm
/// has bytes.
const MOST: usize = 64 << 20;
/// `serde` goes into parts by calls.
const DEEPEST: usize = 1000;

/// An object within those that are being told.
#[derive(Clone, Copy)]
struct Told<'a> {
    object: ObjectRef<'a>,
    left: &'a Cell<usize>,
    within: Option<&'a Within<'a>>,
}

struct Within<'a> {
    id: Option<Id>,
    depth: usize,
    within: Option<&'a Within<'a>>,
}

impl<'a> Told<'a> {
    /// This object as one whose parts are told, if they can be.
    fn enter(self) -> std::result::Result<Within<'a>, String> {
        let depth = self.within.map_or(0, |within| within.depth + 1);
        let id = self.object.id();
        let mut above = self.within.filter(|_| self.object.part_count() > 0);
        while let Some(within) = above {
            if id.is_some() && within.id == id {
                return Err("an object is a part of itself".to_owned());
            }
            above = within.within;
        }
        let left = self.left.get().checked_sub(1 + self.object.part_count());
        match left {
            Some(left) if depth < DEEPEST => {
                self.left.set(left);
                Ok(Within { id, depth, within: self.within })
            }
            Some(_) => Err(format!("objects are nested deeper than {DEEPEST}")),
            None => Err(format!("told without sharing, the objects are more than {MOST}")),
        }
    }

    /// What a text or bytes count for.
    fn spend(self, bytes: usize) -> std::result::Result<(), String> {
        let left = self.left.get().checked_sub(bytes / 16);
        self.left.set(left.ok_or_else(|| format!("told without sharing, the objects are more than {MOST}"))?);
        Ok(())
    }

    fn part<'b>(self, object: ObjectRef<'b>, within: &'b Within<'b>) -> Told<'b>
    where
        'a: 'b,
    {
        Told { object, left: self.left, within: Some(within) }
    }
}

/// `None` is a unit; a text, number, list, tuple, set or dict what one expects; bytes are bytes; a complex number a pair; dates and
/// times are text in ISO 8601, a length of time its seconds; a scalar of NumPy's is its number, an array nested sequences. An integer of
/// more than 128 bits is text. What nothing is known of is an error; see [`Object::with_calls`].
///
/// Parts that are shared are told each time, up to 64 million in all. An object that is a part of itself is an error.
///
/// ```
/// use ndarray_io::object::Object;
///
/// let row: Object = [("name", Object::from("a")), ("sizes", vec![1, 2].into())].into_iter().collect();
/// assert_eq!(serde_json::to_string(&row)?, r#"{"name":"a","sizes":[1,2]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.as_ref().serialize(serializer)
    }
}

/// As [`Object`].
impl Serialize for ObjectRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let left = Cell::new(MOST);
        Serial { told: Told { object: *self, left: &left, within: None }, tells_calls: false }
            .serialize(serializer)
    }
}

/// See [`Object::with_calls`].
#[derive(Clone, Copy, Debug)]
pub struct WithCalls<'a>(ObjectRef<'a>);

impl Object {
    /// The same for `serde`, where an object that nothing is known of is a struct of `callable`, `args` and `state`.
    ///
    /// ```
    /// use ndarray_io::object::Object;
    ///
    /// let call = Object::call("os", "system", ["echo"]);
    /// assert!(serde_json::to_string(&call).is_err());
    /// let told = serde_json::to_string(&call.with_calls())?;
    /// assert_eq!(told, r#"{"callable":"os.system","args":["echo"],"state":null}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn with_calls(&self) -> WithCalls<'_> {
        WithCalls(self.as_ref())
    }
}

impl Serialize for WithCalls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let left = Cell::new(MOST);
        Serial { told: Told { object: self.0, left: &left, within: None }, tells_calls: true }
            .serialize(serializer)
    }
}

#[derive(Clone, Copy)]
struct Serial<'a> {
    told: Told<'a>,
    tells_calls: bool,
}

impl Serial<'_> {
    fn seq<'a, S: Serializer>(
        &'a self,
        serializer: S,
        items: impl ExactSizeIterator<Item = ObjectRef<'a>>,
    ) -> std::result::Result<S::Ok, S::Error> {
        let within = self.told.enter().map_err(ser::Error::custom)?;
        let mut seq = serializer.serialize_seq(Some(items.len()))?;
        for item in items {
            seq.serialize_element(&Serial {
                told: self.told.part(item, &within),
                tells_calls: self.tells_calls,
            })?;
        }
        seq.end()
    }
}

impl Serialize for Serial<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let object = self.told.object;
        self.told.spend(weight(object)).map_err(ser::Error::custom)?;
        match object.view() {
            View::None => serializer.serialize_unit(),
            View::Bool(value) => serializer.serialize_bool(value),
            View::Int(number) => self::int(&number, serializer),
            View::Float(number) => serializer.serialize_f64(number),
            View::Complex(number) => (number.re, number.im).serialize(serializer),
            View::Str(text) => match text.as_str() {
                Some(text) => serializer.serialize_str(text),
                None => Err(ser::Error::custom("a text has a lone surrogate")),
            },
            View::Bytes(bytes) | View::ByteArray(bytes) => serializer.serialize_bytes(bytes),
            View::List(items) | View::Tuple(items) | View::Set(items) | View::FrozenSet(items) => {
                self.seq(serializer, items.iter())
            }
            View::Dict(dict) => {
                let within = self.told.enter().map_err(ser::Error::custom)?;
                let mut map = serializer.serialize_map(Some(dict.len()))?;
                for (key, value) in dict.iter() {
                    let [key, value] =
                        [key, value].map(|part| Serial { told: self.told.part(part, &within), ..*self });
                    map.serialize_entry(&key, &value)?;
                }
                map.end()
            }
            View::Scalar(_) | View::Array(_) => match plain(object) {
                Ok(plain) => {
                    let part = Serial { told: Told { object: plain.as_ref(), ..self.told }, ..*self };
                    part.serialize(serializer)
                }
                Err(error) => Err(ser::Error::custom(error)),
            },
            View::Decimal(digits) => serializer.serialize_str(digits),
            View::Call(call) if self.tells_calls => {
                let within = self.told.enter().map_err(ser::Error::custom)?;
                let part = |object| Serial { told: self.told.part(object, &within), ..*self };
                let mut told = serializer.serialize_struct("Call", 3)?;
                told.serialize_field("callable", &part(call.callable()))?;
                told.serialize_field("args", &part(call.args()))?;
                told.serialize_field("state", &call.state().map(part))?;
                told.end()
            }
            View::Global(global) if self.tells_calls => serializer.collect_str(&global),
            _ => match iso(object) {
                Some(text) => serializer.serialize_str(&text),
                None => Err(ser::Error::custom("of an object nothing is known but how Python would make it")),
            },
        }
    }
}

/// How many bytes an object has in itself.
fn weight(object: ObjectRef<'_>) -> usize {
    match object.view() {
        View::Array(array) => array.bytes().len(),
        View::Scalar(scalar) => scalar.bytes().len(),
        _ => object.as_str().map_or(0, str::len) + object.as_bytes().map_or(0, <[u8]>::len),
    }
}

fn int<S: Serializer>(number: &Int, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    if let Ok(number) = i64::try_from(number) {
        return serializer.serialize_i64(number);
    }
    if let Ok(number) = u64::try_from(number) {
        return serializer.serialize_u64(number);
    }
    match (i128::try_from(number), u128::try_from(number)) {
        (Ok(number), _) => serializer.serialize_i128(number),
        (_, Ok(number)) => serializer.serialize_u128(number),
        _ => serializer.collect_str(number),
    }
}

/// A scalar or array of NumPy's as numbers, texts and lists.
fn plain(object: ObjectRef<'_>) -> Result<Object> {
    let (array, is_scalar) = match object.view() {
        View::Scalar(scalar) => (scalar.to_dyn()?, true),
        View::Array(array) => {
            if let Some(items) = array.objects() {
                let items = items.iter().map(ObjectRef::to_object).collect();
                return Ok(nested(items, array.shape()));
            }
            (array.to_dyn()?, false)
        }
        _ => return Ok(object.to_object()),
    };
    let items = numbers(&array)?;
    match is_scalar {
        true => Ok(items.into_iter().next().unwrap_or_default()),
        false => Ok(nested(items, array.shape())),
    }
}

/// The elements in C order.
fn numbers(array: &crate::dynamic::DynArray) -> Result<Vec<Object>> {
    fn cast<T>(array: &crate::dynamic::DynArray) -> Result<Vec<Object>>
    where
        T: crate::element::ReadableElement + Into<Object> + Clone,
    {
        let array = array.cast::<T, ndarray::IxDyn>(crate::options::Casting::Safe)?;
        Ok(array.iter().cloned().map(Into::into).collect())
    }
    match array.dtype().as_scalar().map(|scalar| scalar.kind()) {
        Some(Kind::Bool) => cast::<bool>(array),
        Some(Kind::Int) => cast::<i64>(array),
        Some(Kind::Uint) => cast::<u64>(array),
        Some(Kind::Float) => cast::<f64>(array),
        Some(Kind::Complex) => cast::<num_complex::Complex<f64>>(array),
        Some(Kind::Text) => cast::<String>(array),
        _ => {
            let reason = format!("an array of the dtype {} has no form in serde", array.dtype());
            Err(ErrorKind::BadOption { reason }.into())
        }
    }
}

/// Items in C order as lists of lists.
fn nested(mut items: Vec<Object>, dims: &[usize]) -> Object {
    let Some((_, within)) = dims.split_first() else { return items.pop().unwrap_or_default() };
    // Where an axis has no length there are rows without anything, of which a shape may promise any number.
    const MOST_EMPTY: usize = 1 << 16;
    for (index, dim) in within.iter().enumerate().rev() {
        let rows =
            dims[..=index].iter().try_fold(1usize, |rows, dim| rows.checked_mul(*dim)).unwrap_or(usize::MAX);
        let rows = if items.is_empty() { rows.min(MOST_EMPTY) } else { rows };
        items = (0..rows).map(|row| Object::list(items[row * dim..][..*dim].to_vec())).collect();
    }
    Object::list(items)
}

fn iso(object: ObjectRef<'_>) -> Option<String> {
    fn day(date: Date) -> String {
        format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day())
    }
    fn at(time: Time) -> String {
        let seconds = format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second());
        match time.microsecond() {
            0 => seconds,
            microsecond => format!("{seconds}.{microsecond:06}"),
        }
    }
    fn length(length: Timedelta) -> String {
        let total = length.total_microseconds();
        let sign = if total < 0 { "-" } else { "" };
        let (seconds, micro) = (total.unsigned_abs() / 1_000_000, total.unsigned_abs() % 1_000_000);
        match micro {
            0 => format!("{sign}PT{seconds}S"),
            micro => format!("{sign}PT{seconds}.{micro:06}S"),
        }
    }
    match object.view() {
        View::Date(date) => Some(day(date)),
        View::Time(time) => Some(at(time)),
        View::Datetime(date, time) => Some(format!("{}T{}", day(date), at(time))),
        View::Timedelta(time) => Some(length(time)),
        _ => None,
    }
}

/// Whatever `serde` has: a unit becomes `None`, a map a dict, a sequence a list, an enum's variant its name, alone or as the key of a
/// dict. (Tuples, sets, dates and the rest do not come back: nothing says what they were.)
impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Make)
    }
}

struct Make;

impl<'de> Visitor<'de> for Make {
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

/// An object as whatever `serde` can make: so an array of dicts becomes structs in one line.
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
/// What `serde` cannot make of the object, and objects that it could not be told (see the implementation of `Serialize`).
pub fn from_object<T: DeserializeOwned>(object: &Object) -> Result<T> {
    let left = Cell::new(MOST);
    let told = Told { object: object.as_ref(), left: &left, within: None };
    T::deserialize(told).map_err(|Failed(reason)| ErrorKind::BadOption { reason }.into())
}

/// Why an object cannot be what was asked for.
#[derive(Debug)]
struct Failed(String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

impl de::Error for Failed {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self(reason.to_string())
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

impl<'de> IntoDeserializer<'de, Failed> for Told<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Told<'_> {
    type Error = Failed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failed> {
        self.spend(weight(self.object)).map_err(Failed)?;
        let within = self.enter().map_err(Failed)?;
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
            View::Int(number) => {
                if let Ok(number) = i64::try_from(&number) {
                    return visitor.visit_i64(number);
                }
                if let Ok(number) = u64::try_from(&number) {
                    return visitor.visit_u64(number);
                }
                match (i128::try_from(&number), u128::try_from(&number)) {
                    (Ok(number), _) => visitor.visit_i128(number),
                    (_, Ok(number)) => visitor.visit_u128(number),
                    _ => visitor.visit_string(number.to_string()),
                }
            }
            View::Float(number) => visitor.visit_f64(number),
            View::Complex(number) => {
                let mut seq = SeqDeserializer::<_, Failed>::new([number.re, number.im].into_iter());
                visitor.visit_seq(&mut seq)
            }
            View::Str(text) => match text.as_str() {
                Some(text) => visitor.visit_str(text),
                None => Err(Failed("a text has a lone surrogate".to_owned())),
            },
            View::Bytes(bytes) | View::ByteArray(bytes) => visitor.visit_bytes(bytes),
            View::List(items) | View::Tuple(items) | View::Set(items) | View::FrozenSet(items) => {
                seq(items.iter().collect(), visitor)
            }
            View::Dict(dict) => {
                let pairs =
                    dict.iter().map(|(key, value)| (self.part(key, &within), self.part(value, &within)));
                let mut map = MapDeserializer::new(pairs);
                let value = visitor.visit_map(&mut map)?;
                map.end()?;
                Ok(value)
            }
            View::Scalar(_) | View::Array(_) => {
                let plain = plain(self.object)?;
                Told { object: plain.as_ref(), left: self.left, within: self.within }.deserialize_any(visitor)
            }
            View::Decimal(digits) => visitor.visit_str(digits),
            _ => match iso(self.object) {
                Some(text) => visitor.visit_string(text),
                None => Err(Failed("of an object nothing is known but how Python would make it".to_owned())),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failed> {
        match self.object.is_none() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    /// Bytes are a sequence as well.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failed> {
        match self.object.as_bytes() {
            Some(bytes) => visitor.visit_seq(SeqDeserializer::<_, Failed>::new(bytes.iter().copied())),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> std::result::Result<V::Value, Failed> {
        visitor.visit_newtype_struct(self)
    }

    /// A text is a variant by its name, and a dict of one key one with what it has.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, Failed> {
        match self.object.view() {
            View::Dict(dict) if dict.len() == 1 => {
                let within = self.enter().map_err(Failed)?;
                let pairs =
                    dict.iter().map(|(key, value)| (self.part(key, &within), self.part(value, &within)));
                visitor.visit_enum(de::value::MapAccessDeserializer::new(MapDeserializer::new(pairs)))
            }
            _ => match self.object.as_str() {
                Some(name) => visitor.visit_enum(name.into_deserializer()),
                None => Err(Failed("an enum is a text, or a dict of one key".to_owned())),
            },
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct map struct identifier ignored_any
    }
}
