//! Building objects from Rust.

mod from;

use std::sync::Arc;

use super::graph::{CallParts, Graph, Name, Node, SharedGraph, Slot, Span, StoredDType};
use super::times::{Date, Time, Timedelta};
use super::{Int, Object, keys};
use crate::dtype::DType;
use crate::dynamic::DynArray;
use crate::error::{Fault, Result};
use crate::options::ReadOptions;

/// A new graph; the node that is added last is the object to build.
#[derive(Default)]
pub(super) struct GraphBuilder {
    pub(super) graph: Graph,
}

impl GraphBuilder {
    /// Finishes the graph and returns the object in `slot`, which must have been added last.
    fn finish(mut self, slot: Slot) -> Object {
        if let Some(Node::Dict(_) | Node::Set(_) | Node::FrozenSet(_)) = self.graph.nodes.last() {
            self.graph.add_indexes();
        }
        let graph = slot.node().map(|_| SharedGraph::new(self.graph));
        Object { slot, graph }
    }

    /// Adds an existing object as a part, and returns its slot.
    ///
    /// Short strings, complex numbers, dates and times are copied. All other objects stay in their own graph
    /// and are referred to, because they are mutable or may be large.
    fn add_object(&mut self, object: Object) -> Slot {
        let Some((graph, node)) = object.as_ref().node() else { return *object.as_ref().slot };
        match *node {
            Node::Text(span) if span.len < 1024 => {
                let span = self.graph.add_text(graph.text(span));
                self.graph.add(Node::Text(span))
            }
            // As a key, a NaN is the same only as the same object, so it is not copied.
            Node::Complex(number) if number.is_nan() => self.add_foreign(object),
            Node::Complex(_) | Node::Date(_) | Node::Time(_) | Node::Datetime(..) | Node::Timedelta(_) => {
                self.graph.add(*node)
            }
            _ => self.add_foreign(object),
        }
    }

    /// Adds a reference to an object of another graph.
    fn add_foreign(&mut self, object: Object) -> Slot {
        let object = object.as_ref().to_object();
        let foreign = &mut self.graph.rare_tables_mut().foreign;
        let number = foreign.len() as u32; // cannot truncate: each foreign object has a node, and node indices fit into a u32
        foreign.push(object);
        self.graph.add(Node::Foreign(number))
    }

    fn add_objects(&mut self, objects: impl IntoIterator<Item = Object>) -> Span {
        let objects = objects.into_iter();
        let mut slots = Vec::with_capacity(objects.size_hint().0);
        slots.extend(objects.map(|object| self.add_object(object)));
        if self.graph.slots.is_empty() {
            self.graph.slots = slots;
            return Span::new(0..self.graph.slots.len());
        }
        let start = self.graph.slots.len();
        self.graph.slots.extend(slots);
        Span::new(start..self.graph.slots.len())
    }

    fn add_pairs(&mut self, pairs: impl IntoIterator<Item = (Object, Object)>) -> Span {
        self.add_objects(pairs.into_iter().flat_map(|(key, value)| [key, value]))
    }

    fn add_bytes(&mut self, bytes: &[u8]) -> Span {
        let table = &mut self.graph.rare_tables_mut().bytes;
        table.extend_from_slice(bytes);
        Span::new(table.len() - bytes.len()..table.len())
    }

    fn add_dtype(&mut self, dtype: &DType) -> u32 {
        let dtypes = &mut self.graph.rare_tables_mut().dtypes;
        dtypes.push(StoredDType { dtype: Arc::new(dtype.clone()), origin: Slot::ABSENT });
        dtypes.len() as u32 - 1
    }

    pub(super) fn add_global(&mut self, module: &str, name: &str) -> Slot {
        let names = &mut self.graph.rare_tables_mut().names;
        names.push(Name { module: module.into(), name: name.into(), stored: None });
        let number = names.len() as u32 - 1;
        self.graph.add(Node::Global(number))
    }
}

fn build_object(make: impl FnOnce(&mut GraphBuilder) -> Node) -> Object {
    let mut build = GraphBuilder::default();
    let node = make(&mut build);
    let slot = build.graph.add(node);
    build.finish(slot)
}

fn bad_option<T>(reason: impl Into<String>) -> Result<T> {
    Err(Fault::BadOption { reason: reason.into() }.into())
}

/// A type whose values can all be keys of a dict.
///
/// Implemented for strings, `char`, `bool`, integers, dates and times. [`Object::dict`] accepts other keys.
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
    /// Creates a list.
    pub fn list<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Self {
        build_object(|build| Node::List(build.add_objects(items.into_iter().map(Into::into))))
    }

    /// Creates a tuple.
    pub fn tuple<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Self {
        build_object(|build| Node::Tuple(build.add_objects(items.into_iter().map(Into::into))))
    }

    /// Creates a dict.
    ///
    /// If keys are equal, the value of the last one is kept. If the type of the keys is a [`Key`], `collect`
    /// creates a dict too, and cannot fail.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if Python could not hash a key: a list, dict, set, bytearray or array, or a
    /// tuple that contains one.
    pub fn dict<K: Into<Self>, V: Into<Self>>(pairs: impl IntoIterator<Item = (K, V)>) -> Result<Self> {
        let pairs = pairs.into_iter().map(|(key, value)| (key.into(), value.into()));
        let mut build = GraphBuilder::default();
        let span = build.add_pairs(pairs);
        let object = finish_dict_or_set(build, span, Node::Dict, 2);
        object.ok_or(()).or_else(|()| bad_option(keys::UNHASHABLE_REASON))
    }

    /// Creates a set.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if Python could not hash an item: a list, dict, set, bytearray or array, or a
    /// tuple that contains one.
    pub fn set<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut build = GraphBuilder::default();
        let span = build.add_objects(items.into_iter().map(Into::into));
        finish_dict_or_set(build, span, Node::Set, 1)
            .ok_or(())
            .or_else(|()| bad_option(keys::UNHASHABLE_REASON))
    }

    /// Creates a frozenset.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if Python could not hash an item: a list, dict, set, bytearray or array, or a
    /// tuple that contains one.
    pub fn frozen_set<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut build = GraphBuilder::default();
        let span = build.add_objects(items.into_iter().map(Into::into));
        finish_dict_or_set(build, span, Node::FrozenSet, 1)
            .ok_or(())
            .or_else(|()| bad_option(keys::UNHASHABLE_REASON))
    }

    /// Creates a `bytearray`, which is a copy of `bytes`.
    pub fn byte_array(bytes: &[u8]) -> Self {
        build_object(|build| Node::ByteArray(build.add_bytes(bytes)))
    }

    /// Creates a string from code points, which may include lone surrogates.
    ///
    /// Returns `None` if a value is beyond U+10FFFF.
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
            build_object(|build| {
                build.graph.rare_tables_mut().code_points.push(codes.into());
                Node::Codes(0)
            })
        })
    }

    /// Creates a NumPy scalar from an array with exactly one element and any number of axes.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the array does not have exactly one element, or contains objects.
    pub fn scalar(array: &DynArray) -> Result<Self> {
        if array.len() != 1 || array.dtype().has_object() {
            let (shape, dtype) = (array.shape(), array.dtype());
            return bad_option(format!(
                "a scalar is one element, and this array has the shape {shape:?} and the dtype {dtype}"
            ));
        }
        Ok(build_object(|build| {
            let span = build.add_bytes(array.bytes());
            Node::Scalar(build.add_dtype(array.dtype()), span)
        }))
    }

    /// Creates a `decimal.Decimal`.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if Python would not accept `digits`. It accepts an optional sign, digits, a
    /// decimal point and an exponent, and also `NaN`, `sNaN` and `Infinity`.
    pub fn decimal(digits: &str) -> Result<Self> {
        match keys::is_decimal(digits) {
            true => Ok(build_object(|build| Node::Decimal(build.graph.add_text(digits)))),
            false => bad_option(format!("{digits:?} is not a decimal number")),
        }
    }

    /// Creates a `datetime.datetime` without a time zone.
    pub fn datetime(date: Date, time: Time) -> Self {
        build_object(|_| Node::Datetime(date, time))
    }

    /// Creates a reference to a class or function, by name.
    pub fn global(module: &str, name: &str) -> Self {
        let mut build = GraphBuilder::default();
        let slot = build.add_global(module, name);
        build.finish(slot)
    }

    /// Creates an object that Python would create by calling a class or function.
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

    /// Creates a `numpy.dtype`, which [`as_dtype`](super::ObjectRef::as_dtype) converts back.
    ///
    /// # Errors
    ///
    /// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if NumPy does not have the dtype: complex numbers of 2 × 16 bits.
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
        // Only the writer knows how pickles represent dtypes, so the dtype is pickled and read back.
        let pickle = super::write::pickled_dtype(dtype)?;
        Ok(ReadOptions::new().unpickle(&pickle)?.into_object())
    }

    /// Copies the object, and everything it refers to, into separate memory.
    ///
    /// Without this, an object that was read keeps all objects of its pickle in memory.
    #[must_use]
    pub fn detach(&self) -> Self {
        super::walk::detached(self.as_ref())
    }
}

/// Finishes a dict or set; `None` if a key is not hashable.
///
/// If keys are equal, the value of the last one is kept, at the position of the first one.
fn finish_dict_or_set(
    mut build: GraphBuilder,
    span: Span,
    node: fn(Span) -> Node,
    step: usize,
) -> Option<Object> {
    // Keys are compared as parts of an object, so the object is finished first, and duplicates are removed
    // afterwards.
    let slot = build.graph.add(node(span));
    let mut object = build.finish(slot);
    let kept = keys::KeyHasher::with_python_equality().deduplicated_entries(object.as_ref(), step)?;
    let number = object.slot.node()?;
    if let Some(kept) = kept
        && let Some(shared) = object.graph.as_mut().and_then(Arc::get_mut)
    {
        shared.retain_keys(number, &kept);
    }
    Some(object)
}

/// A builder of an object that is described by the call that Python would make to create it.
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
    /// Creates a builder from a callable and its arguments.
    ///
    /// They are nearly always an [`Object::global`] and an [`Object::tuple`].
    pub fn new(callable: Object, args: Object) -> Self {
        let (items, pairs) = (Vec::new(), Vec::new());
        Self { callable, args, kwargs: None, is_new: false, state: None, items, pairs }
    }

    /// Sets the keyword arguments, a dict.
    ///
    /// The class's `__new__` is then called instead of the class.
    pub fn kwargs(self, kwargs: Object) -> Self {
        Self { kwargs: Some(kwargs), is_new: true, ..self }
    }

    /// Sets whether the class's `__new__` is called instead of the class. The default is `false`.
    pub fn is_new(self, is_new: bool) -> Self {
        Self { is_new, ..self }
    }

    /// Sets the state that the object is given after the call.
    pub fn state(self, state: Object) -> Self {
        Self { state: Some(state), ..self }
    }

    /// Adds an item that is appended to the object, after the items added before.
    pub fn item(mut self, item: impl Into<Object>) -> Self {
        self.items.push(item.into());
        self
    }

    /// Adds a key-value pair that is set on the object.
    pub fn pair(mut self, key: impl Into<Object>, value: impl Into<Object>) -> Self {
        self.pairs.push((key.into(), value.into()));
        self
    }

    /// Builds the object.
    pub fn build(self) -> Object {
        let Self { callable, args, kwargs, is_new, state, items, pairs } = self;
        build_object(|build| {
            let mut few = [Some(callable), Some(args), kwargs, state]
                .map(|part| part.map_or(Slot::ABSENT, |part| build.add_object(part)))
                .into_iter();
            let mut next = || few.next().unwrap_or(Slot::ABSENT);
            let (callable, args, kwargs, state) = (next(), next(), next(), next());
            let items = build.add_objects(items);
            let pairs = build.add_pairs(pairs);
            build.graph.rare_tables_mut().calls.push(CallParts {
                callable,
                args,
                kwargs,
                state,
                items,
                pairs,
                calls_new: is_new,
            });
            Node::Call(0)
        })
    }
}
