//! Objects as `serde` knows values.

mod de;

use std::cell::Cell;

pub use de::from_object;
use serde_1::ser::{self, SerializeMap, SerializeSeq, SerializeStruct};
use serde_1::{Serialize, Serializer};

use super::graph::Id;
use super::{Dict, Int, Object, ObjectRef, View};
use crate::dtype::Kind;
use crate::error::{ErrorKind, Result};

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

    fn pairs<'b>(
        self,
        dict: Dict<'b>,
        within: &'b Within<'b>,
    ) -> impl ExactSizeIterator<Item = (Told<'b>, Told<'b>)>
    where
        'a: 'b,
    {
        dict.iter().map(move |(key, value)| (self.part(key, within), self.part(value, within)))
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
            View::Int(number) => match Sized::from(number) {
                Sized::I64(number) => serializer.serialize_i64(number),
                Sized::U64(number) => serializer.serialize_u64(number),
                Sized::I128(number) => serializer.serialize_i128(number),
                Sized::U128(number) => serializer.serialize_u128(number),
                Sized::Text(digits) => serializer.serialize_str(&digits),
            },
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
                for (key, value) in self.told.pairs(dict, &within) {
                    map.serialize_entry(&Serial { told: key, ..*self }, &Serial { told: value, ..*self })?;
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

/// An integer in the smallest of the types that `serde` has, or as text.
enum Sized {
    I64(i64),
    U64(u64),
    I128(i128),
    U128(u128),
    Text(String),
}

impl From<Int> for Sized {
    fn from(number: Int) -> Self {
        let small = i64::try_from(&number).map(Self::I64).or_else(|_| u64::try_from(&number).map(Self::U64));
        let large =
            || i128::try_from(&number).map(Self::I128).or_else(|_| u128::try_from(&number).map(Self::U128));
        small.or_else(|_| large()).unwrap_or_else(|_| Self::Text(number.to_string()))
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
        let array = array.cast::<T, ndarray::IxDyn>(crate::dtype::Casting::Safe)?;
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
            Err(ErrorKind::NotConvertible { reason }.into())
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
    match object.view() {
        View::Date(date) => Some(date.to_string()),
        View::Time(time) => Some(time.to_string()),
        View::Datetime(date, time) => Some(format!("{date}T{time}")),
        View::Timedelta(length) => Some(length.to_string()),
        _ => None,
    }
}
