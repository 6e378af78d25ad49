//! Objects that are made by hand.

mod from;

use std::sync::Arc;

use super::graph::{CallParts, Graph, Name, Node, Shared, Slot, Span, StoredDType};
use super::times::{Date, Time, Timedelta};
use super::{Int, Object, keys};
use crate::dtype::DType;
use crate::dynamic::DynArray;
use crate::error::{ErrorKind, Result};
use crate::options::ReadOptions;

/// A new graph, and the object that is added to it last.
#[derive(Default)]
pub(super) struct Build {
    pub(super) graph: Graph,
}

impl Build {
    /// An object of the graph: the last that was added.
    fn finish(mut self, slot: Slot) -> Object {
        if let Some(Node::Dict(_) | Node::Set(_) | Node::FrozenSet(_)) = self.graph.nodes.last() {
            self.graph.indexes = keys::room_for_indexes(&self.graph);
        }
        let graph = slot.node().map(|_| Shared::new(self.graph));
        Object { slot, graph }
    }

    /// An object as a part of the graph. Those that can be changed, and those that are large, stay where they are.
    fn take(&mut self, object: Object) -> Slot {
        let Some((graph, node)) = object.as_ref().node() else { return object.slot };
        match *node {
            Node::Text(span) if span.len < 1024 => {
                let span = self.graph.add_text(graph.text(span));
                self.graph.add(Node::Text(span))
            }
            Node::Complex(_) | Node::Date(_) | Node::Time(_) | Node::Datetime(..) | Node::Timedelta(_) => {
                self.graph.add(*node)
            }
            _ => {
                let foreign = &mut self.graph.rest_mut().foreign;
                let number = foreign.len() as u32; // each has a node, and those are counted
                foreign.push(object.as_ref().to_object());
                self.graph.add(Node::Foreign(number))
            }
        }
    }

    fn take_all(&mut self, objects: impl IntoIterator<Item = Object>) -> Span {
        let objects = objects.into_iter();
        let mut slots = Vec::with_capacity(objects.size_hint().0);
        slots.extend(objects.map(|object| self.take(object)));
        if self.graph.slots.is_empty() {
            self.graph.slots = slots;
            return Span::new(0..self.graph.slots.len());
        }
        let start = self.graph.slots.len();
        self.graph.slots.extend(slots);
        Span::new(start..self.graph.slots.len())
    }

    fn take_pairs(&mut self, pairs: impl IntoIterator<Item = (Object, Object)>) -> Span {
        self.take_all(pairs.into_iter().flat_map(|(key, value)| [key, value]))
    }

    fn data(&mut self, bytes: &[u8]) -> Span {
        let table = &mut self.graph.rest_mut().bytes;
        table.extend_from_slice(bytes);
        Span::new(table.len() - bytes.len()..table.len())
    }

    fn dtype(&mut self, dtype: &DType) -> u32 {
        let dtypes = &mut self.graph.rest_mut().dtypes;
        dtypes.push(StoredDType { dtype: Arc::new(dtype.clone()), origin: Slot::ABSENT });
        dtypes.len() as u32 - 1
    }

    pub(super) fn name(&mut self, module: &str, name: &str) -> Slot {
        let names = &mut self.graph.rest_mut().names;
        names.push(Name { module: module.into(), name: name.into(), stored: None });
        let number = names.len() as u32 - 1;
        self.graph.add(Node::Global(number))
    }
}

fn one(make: impl FnOnce(&mut Build) -> Node) -> Object {
    let mut build = Build::default();
    let node = make(&mut build);
    let slot = build.graph.add(node);
    build.finish(slot)
}

fn cannot<T>(reason: impl Into<String>) -> Result<T> {
    Err(ErrorKind::BadOption { reason: reason.into() }.into())
}

/// What can be the key of a dict for certain, whatever its value.
pub trait Key: Into<Object> + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! keys {
    ($($type:ty),*) => {$(
        impl Key for $type {}
        impl sealed::Sealed for $type {}
    )*};
}

keys!(
    &str, &String, String, char, bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, Int,
    Date, Time, Timedelta
);

impl Object {
    /// A list.
    pub fn list<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Self {
        one(|build| Node::List(build.take_all(items.into_iter().map(Into::into))))
    }

    /// A tuple.
    pub fn tuple<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Self {
        one(|build| Node::Tuple(build.take_all(items.into_iter().map(Into::into))))
    }

    /// A dict. (With keys that are texts or numbers, `collect` makes one, too.) Of equal keys the last one's value counts.
    ///
    /// # Errors
    ///
    /// A key that none can be in Python: a list, dict, set, bytearray or array.
    pub fn dict<K: Into<Self>, V: Into<Self>>(pairs: impl IntoIterator<Item = (K, V)>) -> Result<Self> {
        let pairs = pairs.into_iter().map(|(key, value)| (key.into(), value.into()));
        let mut build = Build::default();
        let span = build.take_pairs(pairs);
        let object = finish_keyed(build, span, Node::Dict, 2);
        object.ok_or(()).or_else(|()| cannot(keys::UNHASHABLE))
    }

    /// A set.
    ///
    /// # Errors
    ///
    /// An item that none can be in Python: a list, dict, set, bytearray or array.
    pub fn set<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut build = Build::default();
        let span = build.take_all(items.into_iter().map(Into::into));
        finish_keyed(build, span, Node::Set, 1).ok_or(()).or_else(|()| cannot(keys::UNHASHABLE))
    }

    /// A frozenset.
    ///
    /// # Errors
    ///
    /// An item that none can be in Python: a list, dict, set, bytearray or array.
    pub fn frozen_set<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut build = Build::default();
        let span = build.take_all(items.into_iter().map(Into::into));
        finish_keyed(build, span, Node::FrozenSet, 1).ok_or(()).or_else(|()| cannot(keys::UNHASHABLE))
    }

    /// A `bytearray`.
    pub fn byte_array(bytes: &[u8]) -> Self {
        one(|build| Node::ByteArray(build.data(bytes)))
    }

    /// A text by its code points, among which may be lone surrogates; `None` if one is no code point.
    ///
    /// ```
    /// use ndarray_io::object::Object;
    ///
    /// assert_eq!(Object::from_code_points(&[0xD800]).unwrap().to_string(), r"'\ud800'");
    /// assert!(Object::from_code_points(&[0x110000]).is_none());
    /// ```
    pub fn from_code_points(codes: &[u32]) -> Option<Self> {
        if let Some(text) = codes.iter().map(|code| char::from_u32(*code)).collect::<Option<String>>() {
            return Some(text.into());
        }
        let are_codes = codes.iter().all(|code| *code <= 0x10_FFFF);
        are_codes.then(|| {
            one(|build| {
                build.graph.rest_mut().codes.push(codes.into());
                Node::Codes(0)
            })
        })
    }

    /// A scalar of NumPy's: an array of just one element, whatever its axes.
    ///
    /// # Errors
    ///
    /// An array of more elements or fewer, or of objects.
    pub fn scalar(array: &DynArray) -> Result<Self> {
        if array.len() != 1 || array.dtype().has_object() {
            let (shape, dtype) = (array.shape(), array.dtype());
            return cannot(format!(
                "a scalar is one element, and this array has the shape {shape:?} and the dtype {dtype}"
            ));
        }
        Ok(one(|build| {
            let span = build.data(array.bytes());
            Node::Scalar(build.dtype(array.dtype()), span)
        }))
    }

    /// A `decimal.Decimal`.
    ///
    /// # Errors
    ///
    /// Digits that Python would not take: sign, digits, a point, an exponent; `NaN`, `sNaN` and `Infinity`.
    pub fn decimal(digits: &str) -> Result<Self> {
        match keys::is_decimal(digits) {
            true => Ok(one(|build| Node::Decimal(build.graph.add_text(digits)))),
            false => cannot(format!("{digits:?} is no decimal number")),
        }
    }

    /// A `datetime.datetime`, without a time zone.
    pub fn datetime(date: Date, time: Time) -> Self {
        one(|_| Node::Datetime(date, time))
    }

    /// A class or function, by its name.
    pub fn global(module: &str, name: &str) -> Self {
        let mut build = Build::default();
        let slot = build.name(module, name);
        build.finish(slot)
    }

    /// What Python makes by a call.
    ///
    /// ```
    /// use ndarray_io::object::Object;
    ///
    /// let call = Object::call("fractions", "Fraction", [1, 3]);
    /// assert_eq!(call.to_string(), "fractions.Fraction(1, 3)");
    /// ```
    pub fn call<T: Into<Self>>(module: &str, name: &str, args: impl IntoIterator<Item = T>) -> Self {
        CallBuilder::new(Self::global(module, name), Self::tuple(args)).build()
    }

    /// A `numpy.dtype`: what [`as_dtype`](super::ObjectRef::as_dtype) reads.
    ///
    /// # Errors
    ///
    /// A dtype that NumPy does not have: complex numbers of 2 × 16 bits.
    ///
    /// ```
    /// use ndarray_io::object::Object;
    ///
    /// let double = "<f8".parse()?;
    /// let dtype = Object::dtype(&double)?;
    /// assert_eq!(dtype.as_ref().as_dtype(), Some(double));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dtype(dtype: &DType) -> Result<Self> {
        // Spelled in one place: there, as the dtype of an array.
        let pickle = super::write::pickled_dtype(dtype)?;
        Ok(super::Pickle::from_bytes_with(&pickle, &ReadOptions::new())?.into_object())
    }

    /// The same in memory of its own: an object that was read keeps all objects of its pickle.
    #[must_use]
    pub fn detach(&self) -> Self {
        super::walk::detached(self.as_ref())
    }
}

/// A dict or set, if all of its keys can be some. Of equal ones the last counts, at the place of the first.
fn finish_keyed(mut build: Build, span: Span, node: fn(Span) -> Node, step: usize) -> Option<Object> {
    let slot = build.graph.add(node(span));
    let mut object = build.finish(slot);
    let kept = keys::Keys::default().distinct(object.as_ref(), step)?;
    let number = object.slot.node()?;
    if let Some(kept) = kept
        && let Some(shared) = object.graph.as_mut().and_then(Arc::get_mut)
    {
        shared.keep(number, &kept);
    }
    Some(object)
}

/// An object that nothing is known of but how Python would make it.
///
/// ```
/// use ndarray_io::object::{CallBuilder, Object};
///
/// let class = Object::global("collections", "OrderedDict");
/// let object = CallBuilder::new(class, Object::tuple([0; 0])).pair("a", 1).build();
/// assert_eq!(object.to_string(), "collections.OrderedDict() <items: {'a': 1}>");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct CallBuilder {
    callable: Object,
    args: Object,
    kwargs: Option<Object>,
    is_new: bool,
    state: Option<Object>,
    items: Vec<Object>,
    pairs: Vec<(Object, Object)>,
}

impl CallBuilder {
    /// What would be called, nearly always [`Object::global`], and with what, nearly always [`Object::tuple`].
    pub fn new(callable: Object, args: Object) -> Self {
        let (items, pairs) = (Vec::new(), Vec::new());
        Self { callable, args, kwargs: None, is_new: false, state: None, items, pairs }
    }

    /// What is called with by names, a dict: then it is the class's `__new__` that is called.
    pub fn kwargs(self, kwargs: Object) -> Self {
        Self { kwargs: Some(kwargs), is_new: true, ..self }
    }

    /// Whether it is the class's `__new__` that is called.
    pub fn is_new(self, is_new: bool) -> Self {
        Self { is_new, ..self }
    }

    /// The state that the object is given then.
    pub fn state(self, state: Object) -> Self {
        Self { state: Some(state), ..self }
    }

    /// What is appended to it, behind what has been.
    pub fn item(mut self, item: impl Into<Object>) -> Self {
        self.items.push(item.into());
        self
    }

    /// What is set by a key.
    pub fn pair(mut self, key: impl Into<Object>, value: impl Into<Object>) -> Self {
        self.pairs.push((key.into(), value.into()));
        self
    }

    /// The object.
    pub fn build(self) -> Object {
        let Self { callable, args, kwargs, is_new, state, items, pairs } = self;
        one(|build| {
            let mut few = [Some(callable), Some(args), kwargs, state]
                .map(|part| part.map_or(Slot::ABSENT, |part| build.take(part)))
                .into_iter();
            let mut next = || few.next().unwrap_or(Slot::ABSENT);
            let (callable, args, kwargs, state) = (next(), next(), next(), next());
            let items = build.take_all(items);
            let pairs = build.take_pairs(pairs);
            build.graph.rest_mut().calls.push(CallParts {
                callable,
                args,
                kwargs,
                state,
                items,
                pairs,
                is_new,
            });
            Node::Call(0)
        })
    }
}
