//! Python objects as data: pickles are decoded, and nothing in them is ever executed.
//!
//! An array of objects is read like any other array, with [`Object`] as its element type.
//! [`view`](Object::view) says what an object is. An object of an unknown class is a [`Call`]: the callable
//! that Python would call to create it, and the arguments.
//!
//! ```
//! use ndarray::{arr1, Array1};
//! use ndarray_io::object::{Object, View};
//! use ndarray_io::{ReadNpyExt, WriteNpyExt};
//!
//! let mut file = Vec::new();
//! let person: Object = [("name", Object::from("Ada")), ("born", 1815.into())].into_iter().collect();
//! arr1(&[person, vec![1.5, 2.5].into(), Object::none()]).write_npy(&mut file)?;
//!
//! let objects = Array1::<Object>::read_npy(&file[..])?;
//! assert_eq!(objects[0].get("name").unwrap().as_str(), Some("Ada"));
//! assert_eq!(i64::try_from(objects[0].get("born").unwrap())?, 1815);
//! let View::List(items) = objects[1].view() else { panic!("a list") };
//! assert_eq!(items.len(), 2);
//! assert_eq!(objects[1].to_string(), "[1.5, 2.5]"); // as Python shows it
//! # Ok::<(), ndarray_io::Error>(())
//! ```
//!
//! # Objects
//!
//! Objects that a file refers to several times are also shared in memory, and an object may contain itself,
//! as any tree with parent pointers does. Objects are immutable. An object that was read keeps all objects of
//! its pickle in memory; [`detach`](Object::detach) copies it into separate memory.
//!
//! `==` is strict: `1`, `1.0` and `True` differ, floats are equal if their bits are, and the order of dicts
//! and sets does not matter. Key lookup uses Python's equality, which considers those three the same key.
//! If a file has equal keys, the value of the last one is kept, at the position of the first one.
//!
//! # Cost of reading
//!
//! Time is proportional to the length of the pickle, and memory is at most 256 bytes for each of its bytes,
//! no matter how often its objects are referred to. Two things that NumPy accepts are errors: objects nested
//! deeper than 1000 levels, except in calls whose result is discarded (see [`Limits::object_height`](crate::Limits::object_height)), and pickles that
//! require copying more than 16 times their length plus 1 MiB.
//!
//! # Differences from Python
//!
//! - A `str` written by Python 2 is read as text if it is ASCII, otherwise as bytes;
//!   [`ReadOptions::old_text`](crate::ReadOptions::old_text) decodes it as NumPy's `encoding` does.
//! - What is not equal to itself, as a NaN or NaT, is a key of its own for each object, as in Python; a lookup
//!   finds the first one with the same bits. A `float` that a pickle refers to twice is two objects.
//! - Some `decimal` numbers with more than 400 digits equal only other `decimal` numbers, NumPy's times equal
//!   only times of the same unit, and a `longdouble` only those with the same bytes.
//! - If a class sets the state of its objects with its own function (as `cloudpickle` does), the state is
//!   lost: Python calls the function and discards its result.
//! - In protocol 5, the elements of an array that is in neither C nor Fortran order are rearranged in C order.
//! - If an array file contains its own array as an element, the inner array is not the same object as the
//!   array that is read.
//! - Equal strings and numbers may become one object when they are written; lists, dicts and other mutable
//!   objects never do.

mod array;
mod array_state;
#[cfg(any(feature = "chrono-0_4", feature = "jiff-0_2"))]
mod bridge;
mod budget;
mod build;
mod call;
mod compat;
mod convert;
mod dtypes;
mod element;
mod equal;
mod finish;
mod global_kind;
mod globals;
mod graph;
mod graph_view;
mod hash;
mod int;
mod joblib;
mod key_index;
mod keys;
mod load_effects;
mod machine;
mod parts;
mod pickle;
#[cfg(feature = "serde-1")]
mod serde;
mod show;
mod source;
mod text;
mod times;
mod union_find;
mod walk;
mod write;

use std::sync::Arc;

use num_complex::Complex;

use graph::{Node, SharedGraph, Slot, SlotContents};

pub(super) use array::{decode, encode, rearranged};
pub use build::{CallBuilder, Key};
#[cfg(feature = "npz")]
pub(crate) use call::is_usual_name;
pub use call::{Call, Global, Zone};
#[cfg(feature = "npz")]
pub(crate) use compat::python_3_name;
pub(super) use element::read_plan_with_load_effects;
pub(super) use equal::items_equal;
pub use graph::ObjectId;
pub use int::Int;
#[cfg(feature = "npz")]
pub(crate) use joblib::FileCompression;
pub(super) use load_effects::LoadEffects;
pub use parts::{Array, Dict, Items, Scalar};
pub use pickle::Pickle;
#[cfg(feature = "serde-1")]
pub use serde::{WithCalls, from_object};
pub(super) use show::brief_repr;
pub use text::Text;
pub use times::{Date, Time, Timedelta};

/// A Python object.
///
/// Objects are immutable and cheap to clone: a clone increments at most one reference count. See
/// [the module](self) for an overview.
#[derive(Clone)]
pub struct Object {
    slot: Slot,
    /// The tables that contain the object, unless its value is stored in the slot.
    graph: Option<Arc<SharedGraph>>,
}

/// A borrowed [`Object`].
#[derive(Clone, Copy)]
pub struct ObjectRef<'a> {
    slot: &'a Slot,
    graph: Option<&'a Arc<SharedGraph>>,
}

/// The kind and value of an object, as returned by [`Object::view`].
///
/// ```
/// use ndarray_io::object::{Object, View};
///
/// fn depth(object: &Object) -> usize {
///     match object.view() {
///         View::List(items) => 1 + items.iter().map(|item| depth(&item.to_object())).max().unwrap_or(0),
///         _ => 0,
///     }
/// }
/// assert_eq!(depth(&vec![vec![1, 2], vec![]].into()), 2);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum View<'a> {
    /// `None`.
    None,
    /// A `bool`.
    Bool(bool),
    /// An `int` of any size.
    Int(Int),
    /// A `float`.
    Float(f64),
    /// A `complex`.
    Complex(Complex<f64>),
    /// A `str`.
    Str(Text<'a>),
    /// A `bytes` object.
    Bytes(&'a [u8]),
    /// A `bytearray`.
    ByteArray(&'a [u8]),
    /// A `list`.
    List(Items<'a>),
    /// A `tuple`.
    Tuple(Items<'a>),
    /// A `dict`, in the order of the file.
    Dict(Dict<'a>),
    /// A `set`, in the order of the file.
    Set(Items<'a>),
    /// A `frozenset`, in the order of the file.
    FrozenSet(Items<'a>),
    /// A NumPy scalar.
    Scalar(Scalar<'a>),
    /// A `numpy.ndarray`.
    Array(Array<'a>),
    /// A `datetime.date`.
    Date(Date),
    /// A `datetime.time` without a time zone.
    Time(Time),
    /// A `datetime.datetime` without a time zone.
    Datetime(Date, Time),
    /// A `datetime.timedelta`.
    Timedelta(Timedelta),
    /// A `decimal.Decimal`, as its digits.
    Decimal(&'a str),
    /// A class or function, by name.
    Global(Global<'a>),
    /// Any other object: the call that Python would make to create it.
    Call(Call<'a>),
    /// An object that Python would request from its caller by this persistent id.
    Persistent(ObjectRef<'a>),
    /// A class or function, by its code in Python's `copyreg.add_extension`.
    Extension(u32),
    /// An out-of-band buffer of protocol 5, by its position among the buffers of the pickle.
    Buffer(u32),
}

impl Object {
    /// Returns Python's `None`.
    pub fn none() -> Self {
        Self::default()
    }

    /// Borrows the object.
    pub fn as_ref(&self) -> ObjectRef<'_> {
        ObjectRef::new(&self.slot, self.graph.as_ref())
    }

    /// Returns the kind and value of the object.
    pub fn view(&self) -> View<'_> {
        self.as_ref().view()
    }

    fn into_graph(self) -> Option<Arc<SharedGraph>> {
        self.graph
    }
}

impl Default for Object {
    /// Returns Python's `None`.
    fn default() -> Self {
        Self { slot: Slot::NONE, graph: None }
    }
}

impl<'a> ObjectRef<'a> {
    /// Returns the kind and value of the object.
    pub fn view(self) -> View<'a> {
        match self.slot.contents() {
            SlotContents::Absent | SlotContents::None => View::None,
            SlotContents::Bool(value) => View::Bool(value),
            SlotContents::Int(number) => View::Int(number.into()),
            SlotContents::Float(number) => View::Float(number),
            SlotContents::Short(text) => View::Str(Text::new(text)),
            SlotContents::Node => self.view_node(),
        }
    }

    fn view_node(self) -> View<'a> {
        let (graph, node) = self.node().expect("an object that is not a slot has a node");
        let items = || Items::new(self);
        match *node {
            Node::Text(span) => View::Str(Text::new(graph.text(span))),
            Node::Codes(number) => {
                View::Str(Text::of_codes(&graph.rare_tables().code_points[number as usize]))
            }
            Node::Bytes(span) => View::Bytes(graph.bytes(span)),
            Node::ByteArray(span) => View::ByteArray(graph.bytes(span)),
            Node::List(_) => View::List(items()),
            Node::Tuple(_) => View::Tuple(items()),
            Node::Dict(_) => View::Dict(Dict::new(self)),
            Node::Set(_) => View::Set(items()),
            Node::FrozenSet(_) => View::FrozenSet(items()),
            Node::Complex(number) => View::Complex(number),
            Node::Big(number) => View::Int(Int::of_shared(&graph.rare_tables().bigs[number as usize])),
            Node::Decimal(span) => View::Decimal(graph.text(span)),
            Node::Date(date) => View::Date(date),
            Node::Time(time) => View::Time(time),
            Node::Datetime(date, time) => View::Datetime(date, time),
            Node::Timedelta(length) => View::Timedelta(length),
            Node::Scalar(dtype, span) => {
                View::Scalar(Scalar::new(&graph.dtype(dtype).dtype, graph.bytes(span)))
            }
            Node::Array(number) => View::Array(Array::new(self, graph.array(number))),
            Node::Global(number) => View::Global(Global::new(graph.name(number))),
            Node::Call(number) => View::Call(Call::new(self, graph.call(number))),
            Node::Persistent(_) => View::Persistent(self.part(0).unwrap_or(self)),
            Node::Extension(code) => View::Extension(code),
            Node::Buffer { number, .. } => View::Buffer(number),
            Node::Foreign(_) => unreachable!("`new` has gone there"),
        }
    }

    /// Returns an owned object; this increments at most one reference count.
    pub fn to_object(self) -> Object {
        Object { slot: *self.slot, graph: self.slot.node().and(self.graph).cloned() }
    }
}
