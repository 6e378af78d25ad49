//! Serialization of objects with `serde`.

mod de;

use std::cell::Cell;

pub use de::from_object;
use serde_1::ser::{self, SerializeMap, SerializeSeq, SerializeStruct};
use serde_1::{Serialize, Serializer};

use super::graph::Id;
use super::{Dict, Int, Object, ObjectRef, View};
use crate::dtype::Kind;
use crate::error::{Fault, Result};
use crate::shape::Shape;

/// Maximum number of objects that are serialized.
///
/// Shared parts are serialized each time, so a small malicious file could otherwise expand to any size.
const MAX_OBJECTS: usize = 64 << 20;
/// Maximum depth, because `serde` visits parts recursively, as that of `serde_json`.
///
/// In debug builds, where a level takes the most stack, 300 levels overflowed the 2 MiB of a thread.
const MAX_DEPTH: usize = 128;

/// An object that is being serialized, and the objects that contain it.
#[derive(Clone, Copy)]
struct VisitedObject<'a> {
    object: ObjectRef<'a>,
    remaining_objects: &'a Cell<usize>,
    within: Option<&'a Ancestor<'a>>,
}

struct Ancestor<'a> {
    id: Option<Id>,
    depth: usize,
    within: Option<&'a Ancestor<'a>>,
}

impl<'a> VisitedObject<'a> {
    /// Enters the object, so that its parts can be serialized. Fails at a limit, or if it contains itself.
    fn enter(self) -> std::result::Result<Ancestor<'a>, String> {
        let depth = self.within.map_or(0, |within| within.depth + 1);
        let id = self.object.id();
        let mut above = self.within.filter(|_| self.object.part_count() > 0);
        while let Some(within) = above {
            if id.is_some() && within.id == id {
                return Err("an object contains itself".to_owned());
            }
            above = within.within;
        }
        let remaining_objects = self.remaining_objects.get().checked_sub(1 + self.object.part_count());
        match remaining_objects {
            Some(remaining_objects) if depth < MAX_DEPTH => {
                self.remaining_objects.set(remaining_objects);
                Ok(Ancestor { id, depth, within: self.within })
            }
            Some(_) => Err(format!("objects are nested deeper than {MAX_DEPTH}")),
            None => Err(format!("if shared objects are repeated, there are more than {MAX_OBJECTS} objects")),
        }
    }

    /// Counts the bytes of a text or array against the limit, 16 bytes as one object.
    fn spend(self, bytes: usize) -> std::result::Result<(), String> {
        let remaining_objects = self.remaining_objects.get().checked_sub(bytes / 16);
        self.remaining_objects.set(remaining_objects.ok_or_else(|| {
            format!("if shared objects are repeated, there are more than {MAX_OBJECTS} objects")
        })?);
        Ok(())
    }

    fn part<'b>(self, object: ObjectRef<'b>, within: &'b Ancestor<'b>) -> VisitedObject<'b>
    where
        'a: 'b,
    {
        VisitedObject { object, remaining_objects: self.remaining_objects, within: Some(within) }
    }

    fn pairs<'b>(
        self,
        dict: Dict<'b>,
        within: &'b Ancestor<'b>,
    ) -> impl ExactSizeIterator<Item = (VisitedObject<'b>, VisitedObject<'b>)>
    where
        'a: 'b,
    {
        dict.iter().map(move |(key, value)| (self.part(key, within), self.part(value, within)))
    }
}

/// Serializes the object as the closest type of `serde`.
///
/// - `None` becomes a unit. Strings, numbers, lists, dicts and bytes become values of the same kind, and
///   tuples and sets become sequences.
/// - A complex number becomes a pair, and a `Decimal` becomes text.
/// - Dates, times and time spans become text in ISO 8601.
/// - A NumPy scalar becomes its value, and an array becomes nested sequences.
/// - An integer of more than 128 bits becomes text.
///
/// Shared parts are serialized each time. The following are errors:
///
/// - classes, functions and objects of unknown classes; see [`Object::with_calls`],
/// - NumPy scalars and arrays of elements other than bools, numbers, strings and objects,
/// - strings with lone surrogates,
/// - objects that contain themselves,
/// - objects nested deeper than 128 levels,
/// - more than 64 Mi objects in total, where 16 bytes of text or data count as one object.
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

/// Serializes like [`Object`].
impl Serialize for ObjectRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let remaining_objects = Cell::new(MAX_OBJECTS);
        SerializableObject {
            visited: VisitedObject { object: *self, remaining_objects: &remaining_objects, within: None },
            includes_calls: false,
        }
        .serialize(serializer)
    }
}

/// An object that is serialized with its calls: see [`Object::with_calls`].
#[derive(Clone, Copy, Debug)]
pub struct WithCalls<'a>(ObjectRef<'a>);

impl Object {
    /// Returns a value for `serde` in which objects of unknown classes are not errors.
    ///
    /// Each of them becomes a struct of `callable`, `args` and `state` and, if present, `kwargs`, `items` and
    /// `pairs`. Classes and functions become their names.
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
        let remaining_objects = Cell::new(MAX_OBJECTS);
        SerializableObject {
            visited: VisitedObject { object: self.0, remaining_objects: &remaining_objects, within: None },
            includes_calls: true,
        }
        .serialize(serializer)
    }
}

#[derive(Clone, Copy)]
struct SerializableObject<'a> {
    visited: VisitedObject<'a>,
    includes_calls: bool,
}

impl SerializableObject<'_> {
    fn serialize_items<'a, S: Serializer>(
        &'a self,
        serializer: S,
        items: impl ExactSizeIterator<Item = ObjectRef<'a>>,
    ) -> std::result::Result<S::Ok, S::Error> {
        let within = self.visited.enter().map_err(ser::Error::custom)?;
        let mut seq = serializer.serialize_seq(Some(items.len()))?;
        for item in items {
            seq.serialize_element(&SerializableObject {
                visited: self.visited.part(item, &within),
                includes_calls: self.includes_calls,
            })?;
        }
        seq.end()
    }
}

impl Serialize for SerializableObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let object = self.visited.object;
        self.visited.spend(own_byte_len(object)).map_err(ser::Error::custom)?;
        match object.view() {
            View::None => serializer.serialize_unit(),
            View::Bool(value) => serializer.serialize_bool(value),
            View::Int(number) => match SmallestInt::from(number) {
                SmallestInt::I64(number) => serializer.serialize_i64(number),
                SmallestInt::U64(number) => serializer.serialize_u64(number),
                SmallestInt::I128(number) => serializer.serialize_i128(number),
                SmallestInt::U128(number) => serializer.serialize_u128(number),
                SmallestInt::Text(digits) => serializer.serialize_str(&digits),
            },
            View::Float(number) => serializer.serialize_f64(number),
            View::Complex(number) => (number.re, number.im).serialize(serializer),
            View::Str(text) => match text.as_str() {
                Some(text) => serializer.serialize_str(text),
                None => Err(ser::Error::custom("a string contains a lone surrogate")),
            },
            View::Bytes(bytes) | View::ByteArray(bytes) => serializer.serialize_bytes(bytes),
            View::List(items) | View::Tuple(items) | View::Set(items) | View::FrozenSet(items) => {
                self.serialize_items(serializer, items.iter())
            }
            View::Dict(dict) => {
                let within = self.visited.enter().map_err(ser::Error::custom)?;
                let mut map = serializer.serialize_map(Some(dict.len()))?;
                for (key, value) in self.visited.pairs(dict, &within) {
                    map.serialize_entry(
                        &SerializableObject { visited: key, ..*self },
                        &SerializableObject { visited: value, ..*self },
                    )?;
                }
                map.end()
            }
            View::Scalar(_) | View::Array(_) => match numpy_to_plain(object) {
                Ok(plain) => {
                    let part = SerializableObject {
                        visited: VisitedObject { object: plain.as_ref(), ..self.visited },
                        ..*self
                    };
                    part.serialize(serializer)
                }
                Err(error) => Err(ser::Error::custom(error)),
            },
            View::Decimal(digits) => serializer.serialize_str(digits),
            View::Call(call) if self.includes_calls => {
                let within = self.visited.enter().map_err(ser::Error::custom)?;
                let part =
                    |object| SerializableObject { visited: self.visited.part(object, &within), ..*self };
                let items: Vec<_> = call.items().iter().map(part).collect();
                let pairs: Vec<_> =
                    call.pairs().iter().map(|(key, value)| (part(key), part(value))).collect();
                let rare = [call.kwargs().is_some(), !items.is_empty(), !pairs.is_empty()];
                let count = 3 + rare.iter().filter(|is_present| **is_present).count();
                let mut told = serializer.serialize_struct("Call", count)?;
                told.serialize_field("callable", &part(call.callable()))?;
                told.serialize_field("args", &part(call.args()))?;
                told.serialize_field("state", &call.state().map(part))?;
                if let Some(kwargs) = call.kwargs() {
                    told.serialize_field("kwargs", &part(kwargs))?;
                }
                if !items.is_empty() {
                    told.serialize_field("items", &items)?;
                }
                // Pairs, not a map: a key may occur several times.
                if !pairs.is_empty() {
                    told.serialize_field("pairs", &pairs)?;
                }
                told.end()
            }
            View::Global(global) if self.includes_calls => serializer.collect_str(&global),
            _ => match iso_8601_text(object) {
                Some(text) => serializer.serialize_str(&text),
                None => Err(ser::Error::custom("an object of an unknown class cannot be serialized")),
            },
        }
    }
}

/// Returns the number of bytes of text or data in an object, excluding its parts.
fn own_byte_len(object: ObjectRef<'_>) -> usize {
    match object.view() {
        View::Array(array) => array.bytes().len(),
        View::Scalar(scalar) => scalar.bytes().len(),
        _ => object.as_str().map_or(0, str::len) + object.as_bytes().map_or(0, <[u8]>::len),
    }
}

/// An integer in the smallest integer type of `serde` that can represent it, or as text.
enum SmallestInt {
    I64(i64),
    U64(u64),
    I128(i128),
    U128(u128),
    Text(String),
}

impl From<Int> for SmallestInt {
    fn from(number: Int) -> Self {
        let small = i64::try_from(&number).map(Self::I64).or_else(|_| u64::try_from(&number).map(Self::U64));
        let large =
            || i128::try_from(&number).map(Self::I128).or_else(|_| u128::try_from(&number).map(Self::U128));
        small.or_else(|_| large()).unwrap_or_else(|_| Self::Text(number.to_string()))
    }
}

/// Converts a NumPy scalar or array to bools, numbers, strings and lists.
fn numpy_to_plain(object: ObjectRef<'_>) -> Result<Object> {
    let (array, is_scalar) = match object.view() {
        View::Scalar(scalar) => (scalar.to_dyn()?, true),
        View::Array(array) => {
            if let Some(items) = array.objects() {
                let items = items.iter().map(ObjectRef::to_object).collect();
                return nested_list(items, array.shape());
            }
            (array.to_dyn()?, false)
        }
        _ => return Ok(object.to_object()),
    };
    let items = elements_to_objects(&array)?;
    match is_scalar {
        true => Ok(items.into_iter().next().unwrap_or_default()),
        false => nested_list(items, array.shape()),
    }
}

/// Returns the elements in C order.
fn elements_to_objects(array: &crate::dynamic::DynArray) -> Result<Vec<Object>> {
    fn cast_to_objects<T>(array: &crate::dynamic::DynArray) -> Result<Vec<Object>>
    where
        T: crate::elements::ReadableElement + Into<Object> + Clone,
    {
        let array = array.cast::<T, ndarray::IxDyn>(crate::dtype::Casting::Safe)?;
        Ok(array.iter().cloned().map(Into::into).collect())
    }
    match array.dtype().as_scalar().map(|scalar| scalar.kind()) {
        Some(Kind::Bool) => cast_to_objects::<bool>(array),
        Some(Kind::Int) => cast_to_objects::<i64>(array),
        Some(Kind::Uint) => cast_to_objects::<u64>(array),
        Some(Kind::Float) => cast_to_objects::<f64>(array),
        Some(Kind::Complex) => cast_to_objects::<num_complex::Complex<f64>>(array),
        Some(Kind::Text) => cast_to_objects::<String>(array),
        _ => {
            let reason = format!("an array of the dtype {} has no form in serde", array.dtype());
            Err(Fault::NotConvertible { reason }.into())
        }
    }
}

/// Converts items in C order to nested lists.
fn nested_list(mut items: Vec<Object>, dims: &[usize]) -> Result<Object> {
    let Some((_, within)) = dims.split_first() else { return Ok(items.pop().unwrap_or_default()) };
    // With an axis of length 0, a shape may declare any number of empty rows without any bytes in the file.
    const MAX_EMPTY_ROWS: usize = 1 << 16;
    for (index, dim) in within.iter().enumerate().rev() {
        let rows =
            dims[..=index].iter().try_fold(1usize, |rows, dim| rows.checked_mul(*dim)).unwrap_or(usize::MAX);
        if items.is_empty() && rows > MAX_EMPTY_ROWS {
            let reason =
                format!("an array of shape {} has more than {MAX_EMPTY_ROWS} empty rows", Shape::from(dims));
            return Err(Fault::NotConvertible { reason }.into());
        }
        items = (0..rows).map(|row| Object::list(items[row * dim..][..*dim].to_vec())).collect();
    }
    Ok(Object::list(items))
}

fn iso_8601_text(object: ObjectRef<'_>) -> Option<String> {
    match object.view() {
        View::Date(date) => Some(date.to_string()),
        View::Time(time) => Some(time.to_string()),
        View::Datetime(date, time) => Some(format!("{date}T{time}")),
        View::Timedelta(length) => Some(length.to_string()),
        _ => None,
    }
}
