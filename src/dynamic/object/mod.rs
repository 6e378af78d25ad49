//! Python objects as data: what a pickle says, of which nothing is ever executed.
//!
//! An array of objects is read as any other array, by asking for [`Object`]. What an object is says its [`view`](Object::view); an
//! object that nothing is known of is a [`Call`]: what Python would call to make it, with what.
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
//! # What objects are here
//!
//! Objects that a file refers to several times are shared here as well, and an object may be a part of itself, as every parent
//! pointer makes it. Objects cannot be changed. One that was read keeps all of its pickle's objects in memory;
//! [`detach`](Object::detach) copies its part out.
//!
//! `==` is strict: `1`, `1.0` and `True` differ, floats are equal if their bits are, and the order of dicts and sets does not
//! matter. Keys are looked up as Python does it, for which those three are one key. Of equal keys in a file the last one's value
//! counts, at the first one's place.
//!
//! # What reading costs
//!
//! Time in proportion to the pickle, and at most 256 bytes of memory for each of its bytes, whatever refers to what. Objects
//! within objects deeper than 1000 are an error (see [`Limits::object_height`](crate::Limits::object_height)), as is what would
//! have to be copied more than 16 times the pickle's length in all: NumPy reads such files.
//!
//! # What differs from Python
//!
//! A `str` that Python 2 wrote is text if it is ASCII, else bytes; [`ReadOptions::old_text`](crate::ReadOptions::old_text) takes
//! it as NumPy's `encoding` does. NaNs are found by their bits, numbers of `decimal` with more than 400 digits by how they are
//! written, NumPy's times only by those of the same unit. A class that sets the state of its objects by a function of its own
//! (`cloudpickle` writes such) loses it: Python calls the function and throws away what it returns. An array of protocol 5 that is in
//! neither order is a call. An array that has itself as an element is another array when it is read as one of a file. Equal texts and numbers may become one object when they are written; lists, dicts and others that
//! can be changed never do.

mod array;
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
mod globals;
mod graph;
mod int;
mod keys;
mod known;
mod machine;
mod parts;
mod pickle;
#[cfg(feature = "serde-1")]
mod serde;
mod show;
mod text;
mod times;
mod walk;
mod write;

use std::sync::Arc;

use num_complex::Complex;

use graph::{Held, Node, Shared, Slot};

pub(super) use array::{decode, encode, rearranged};
pub use build::{CallBuilder, Key};
pub use call::{Call, Global, Zone};
pub(super) use equal::items_equal;
pub use int::Int;
pub use parts::{Array, Dict, Items, Scalar};
pub use pickle::Pickle;
#[cfg(feature = "serde-1")]
pub use serde::{WithCalls, from_object};
pub(super) use show::brief;
pub use text::Text;
pub use times::{Date, Time, Timedelta};

/// A Python object: see [the module](self).
#[derive(Clone)]
pub struct Object {
    slot: Slot,
    /// Where it stands, if it is not in the slot.
    graph: Option<Arc<Shared>>,
}

/// A borrowed [`Object`].
#[derive(Clone, Copy)]
pub struct ObjectRef<'a> {
    slot: &'a Slot,
    graph: Option<&'a Arc<Shared>>,
}

/// What an object is.
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
    /// `None`
    None,
    /// `bool`
    Bool(bool),
    /// `int`, of any size
    Int(Int),
    /// `float`
    Float(f64),
    /// `complex`
    Complex(Complex<f64>),
    /// `str`
    Str(Text<'a>),
    /// `bytes`
    Bytes(&'a [u8]),
    /// `bytearray`
    ByteArray(&'a [u8]),
    /// `list`
    List(Items<'a>),
    /// `tuple`
    Tuple(Items<'a>),
    /// `dict`, in the order of the file
    Dict(Dict<'a>),
    /// `set`, in the order of the file
    Set(Items<'a>),
    /// `frozenset`, in the order of the file
    FrozenSet(Items<'a>),
    /// A scalar of NumPy's
    Scalar(Scalar<'a>),
    /// A `numpy.ndarray`
    Array(Array<'a>),
    /// `datetime.date`
    Date(Date),
    /// `datetime.time`, without a time zone
    Time(Time),
    /// `datetime.datetime`, without a time zone
    Datetime(Date, Time),
    /// `datetime.timedelta`
    Timedelta(Timedelta),
    /// `decimal.Decimal`, by its digits
    Decimal(&'a str),
    /// A class or function, by its name
    Global(Global<'a>),
    /// Any other object: what Python would call to make it
    Call(Call<'a>),
    /// What Python would ask its caller for, by this name: a persistent id
    Persistent(ObjectRef<'a>),
    /// A class or function by a number of Python's `copyreg.add_extension`
    Extension(u32),
    /// The memory of this number that went another way than the pickle
    Buffer(u32),
}

impl Object {
    /// `None`.
    pub fn none() -> Self {
        Self::default()
    }

    /// The same, borrowed.
    pub fn as_ref(&self) -> ObjectRef<'_> {
        ObjectRef::new(&self.slot, self.graph.as_ref())
    }

    /// What it is.
    pub fn view(&self) -> View<'_> {
        self.as_ref().view()
    }

    fn into_graph(self) -> Option<Arc<Shared>> {
        self.graph
    }
}

impl Default for Object {
    /// `None`
    fn default() -> Self {
        Self { slot: Slot::NONE, graph: None }
    }
}

impl<'a> ObjectRef<'a> {
    /// What it is.
    pub fn view(self) -> View<'a> {
        match self.slot.held() {
            Held::Absent | Held::None => View::None,
            Held::Bool(value) => View::Bool(value),
            Held::Int(number) => View::Int(number.into()),
            Held::Float(number) => View::Float(number),
            Held::Short(text) => View::Str(Text::new(text)),
            Held::Node => self.view_further(),
        }
    }

    fn view_further(self) -> View<'a> {
        let (graph, node) = self.node().expect("what is no slot has a node");
        let items = || Items::new(self);
        match *node {
            Node::Text(span) => View::Str(Text::new(graph.text(span))),
            Node::Codes(number) => View::Str(Text::of_codes(&graph.rest().codes[number as usize])),
            Node::Bytes(span) => View::Bytes(graph.data(&[], span)),
            Node::ByteArray(span) => View::ByteArray(graph.data(&[], span)),
            Node::List(_) => View::List(items()),
            Node::Tuple(_) => View::Tuple(items()),
            Node::Dict(_) => View::Dict(Dict::new(self)),
            Node::Set(_) => View::Set(items()),
            Node::FrozenSet(_) => View::FrozenSet(items()),
            Node::Complex(number) => View::Complex(number),
            Node::Big(number) => View::Int(Int::of_shared(&graph.rest().bigs[number as usize])),
            Node::Decimal(span) => View::Decimal(graph.text(span)),
            Node::Date(date) => View::Date(date),
            Node::Time(time) => View::Time(time),
            Node::Datetime(date, time) => View::Datetime(date, time),
            Node::Timedelta(length) => View::Timedelta(length),
            Node::Scalar(dtype, span) => {
                View::Scalar(Scalar::new(&graph.dtype(dtype).dtype, graph.data(&[], span)))
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

    /// An object of its own, which costs no more than a counter.
    pub fn to_object(self) -> Object {
        Object { slot: *self.slot, graph: self.slot.node().and(self.graph).cloned() }
    }
}
