//! From the nodes of a pickle to objects, without recursion.

use std::sync::Arc;

use num_complex::Complex;

use super::budget::Budget;
use super::compat::python_3;
use super::numpy::DTypes;
use super::{PyDate, PyGlobal, PyInt, PyObject, PyStr, PyTime, PyTimedelta, PyValue, numpy};
use crate::error::{Error, ErrorKind, Limited, Result};
use crate::limits;
use crate::pickle::{Atom, Call, Graph, Item, Node, Span};

/// Objects within objects, so deep.
pub(super) const MOST_NESTED: usize = 1000;

/// Makes objects out of nodes, each once.
pub(super) struct Reader<'a> {
    pickle: &'a [u8],
    graph: &'a Graph,
    done: Vec<State>,
    /// How high each node is that is done: one more than the highest of its parts.
    heights: Vec<u16>,
    old_text_is_bytes: bool,
    pub(super) dtypes: DTypes,
}

#[derive(Clone)]
enum State {
    New,
    /// Its parts are being made: who meets it among them is in a circle.
    Begun,
    Done(PyValue),
}

impl<'a> Reader<'a> {
    pub(super) fn new(pickle: &'a [u8], graph: &'a Graph, old_text_is_bytes: bool) -> Self {
        let count = graph.nodes.len();
        let (done, heights) = (vec![State::New; count], vec![0; count]);
        Self { pickle, graph, done, heights, old_text_is_bytes, dtypes: DTypes::new(Budget::of(pickle)) }
    }

    /// A node, if it is one.
    pub(super) fn node(&self, item: Item) -> Option<&'a Node> {
        item.place().ok().map(|number| &self.graph.nodes[number])
    }

    /// Marks a node whose parts the caller makes.
    pub(super) fn begin(&mut self, item: Item) {
        if let Ok(number) = item.place() {
            self.done[number] = State::Begun;
        }
    }

    pub(super) fn value(&mut self, item: Item) -> Result<PyValue> {
        let number = match item.place() {
            Ok(number) => number,
            Err(place) => return self.atom(place),
        };
        // What has to be made before: each node is looked at before its parts, and again behind them.
        let mut open = vec![number];
        let mut depth = Vec::new();
        while let Some(&index) = open.last() {
            match &self.done[index] {
                State::Done(_) => {
                    open.pop();
                }
                State::New => {
                    self.done[index] = State::Begun;
                    depth.push(index);
                    limits::check(Limited::ObjectNesting, depth.len() as u64, MOST_NESTED as u64)?;
                    let mut is_circle = false;
                    each_part(&self.graph.nodes[index], &mut |part| {
                        let Ok(part) = part.place() else { return };
                        match self.done[part] {
                            State::New => open.push(part),
                            State::Begun => is_circle = true,
                            State::Done(_) => {}
                        }
                    });
                    if is_circle {
                        return Err(circle());
                    }
                }
                State::Begun if depth.last() == Some(&index) => {
                    depth.pop();
                    open.pop();
                    // Whoever walks over values goes down by calls: what is done already counts as well.
                    let mut height = 0;
                    each_part(&self.graph.nodes[index], &mut |part| {
                        height = part.place().map_or(height, |part| height.max(self.heights[part] + 1));
                    });
                    limits::check(Limited::ObjectNesting, height.into(), MOST_NESTED as u64)?;
                    self.heights[index] = height;
                    let made = self.make(&self.graph.nodes[index])?;
                    self.done[index] = State::Done(made);
                }
                State::Begun => return Err(circle()),
            }
        }
        self.part(item)
    }

    /// What has been made, or is an atom.
    pub(super) fn part(&self, item: Item) -> Result<PyValue> {
        match item.place() {
            Ok(number) => match &self.done[number] {
                State::Done(value) => Ok(value.clone()),
                _ => unreachable!("parts are made before what has them"),
            },
            Err(place) => self.atom(place),
        }
    }

    fn parts(&self, items: &[Item]) -> Result<Vec<PyValue>> {
        items.iter().map(|item| self.part(*item)).collect()
    }

    fn pairs(&self, items: &[Item]) -> Result<Vec<(PyValue, PyValue)>> {
        items
            .as_chunks::<2>()
            .0
            .iter()
            .map(|[key, value]| Ok((self.part(*key)?, self.part(*value)?)))
            .collect()
    }

    fn atom(&self, place: usize) -> Result<PyValue> {
        Ok(match Graph::atom(self.pickle, place) {
            Atom::None => PyValue::None,
            Atom::Bool(value) => PyValue::Bool(value),
            Atom::Int(number) => PyValue::Int(number.into()),
            Atom::Float(number) => PyValue::Float(number),
            Atom::Str(utf8) => PyValue::Str(self.text(utf8, place)?),
            Atom::Bytes(bytes) => PyValue::Bytes(bytes.into()),
            Atom::OldStr(bytes) => self.old_text(bytes),
            Atom::Long(bytes) => PyValue::Int(PyInt::from_bytes(bytes)),
        })
    }

    fn text(&self, utf8: &[u8], place: usize) -> Result<PyStr> {
        PyStr::from_utf8(utf8).ok_or_else(|| {
            let reason = "a text is no UTF-8".into();
            ErrorKind::BadPickle { reason, offset: Some(place) }.into()
        })
    }

    /// A `str` of Python 2: text if it is ASCII, else bytes.
    fn old_text(&self, bytes: &[u8]) -> PyValue {
        match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() && !self.old_text_is_bytes => PyValue::Str(text.into()),
            _ => PyValue::Bytes(bytes.into()),
        }
    }

    fn make(&self, node: &Node) -> Result<PyValue> {
        Ok(match node {
            Node::List(items) => PyValue::List(Arc::new(self.parts(items)?)),
            Node::Tuple(items) => PyValue::Tuple(Arc::new(self.parts(items)?)),
            Node::Dict(pairs) => PyValue::Dict(Arc::new(self.pairs(pairs)?)),
            Node::Set(items) => PyValue::Set(Arc::new(self.parts(items)?)),
            Node::FrozenSet(items) => PyValue::FrozenSet(Arc::new(self.parts(items)?)),
            Node::ByteArray(span) => PyValue::ByteArray(span.of(self.pickle).into()),
            Node::Text(utf8) => PyValue::Str(self.text(utf8, 0)?),
            Node::Shared(item) => self.part(*item)?,
            Node::OldText(bytes) => self.old_text(bytes),
            Node::Digits(digits) => PyValue::Int(digits.parse()?),
            Node::Global { module, name } => match (self.part(*module)?, self.part(*name)?) {
                (PyValue::Str(module), PyValue::Str(name)) => {
                    self.spend(module.as_str().map_or(0, str::len) + name.as_str().map_or(0, str::len))?;
                    self.global(module.as_str(), name.as_str())?
                }
                _ => self.global(None, None)?,
            },
            Node::GlobalLines { module, name } => {
                let text = |span: &Span| std::str::from_utf8(span.of(self.pickle)).ok();
                self.global(text(module), text(name))?
            }
            Node::Call(call) => self.called(call)?,
        })
    }

    /// A class or function, by its name in Python 3.
    fn global(&self, module: Option<&str>, name: Option<&str>) -> Result<PyValue> {
        let names = module.zip(name);
        let (module, name) = names.ok_or_else(|| bad("the name of a class or function is no text"))?;
        let (module, name) = match self.graph.protocol {
            0..3 => python_3(module, name),
            _ => (module, name),
        };
        Ok(PyValue::Global(Arc::new(PyGlobal { module: module.to_owned(), name: name.to_owned() })))
    }

    /// What a call makes, if it is one of those that are known; else the call itself.
    fn called(&self, call: &Call) -> Result<PyValue> {
        let object = PyObject {
            callable: self.part(call.callable)?,
            args: self.part(call.args)?,
            kwargs: call.kwargs.map(|kwargs| self.part(kwargs)).transpose()?,
            is_new: call.is_new,
            state: call.state.map(|state| self.part(state)).transpose()?,
            items: self.parts(&call.items)?,
            pairs: self.pairs(&call.pairs)?,
        };
        let known = self.known(&object)?;
        Ok(known.unwrap_or_else(|| PyValue::Object(Arc::new(object))))
    }
}

/// Calls with the parts that have to be made before.
fn each_part(node: &Node, call: &mut dyn FnMut(Item)) {
    match node {
        Node::List(items)
        | Node::Tuple(items)
        | Node::Dict(items)
        | Node::Set(items)
        | Node::FrozenSet(items) => items.iter().copied().for_each(call),
        Node::Global { module, name } => [*module, *name].into_iter().for_each(call),
        Node::Call(made) => {
            let Call { callable, args, kwargs, state, items, pairs, .. } = &**made;
            let few = [Some(*callable), Some(*args), *kwargs, *state];
            few.into_iter().flatten().chain(items.iter().chain(pairs).copied()).for_each(call);
        }
        Node::ByteArray(_)
        | Node::Text(_)
        | Node::OldText(_)
        | Node::Digits(_)
        | Node::Shared(_) // of an atom
        | Node::GlobalLines { .. } => {}
    }
}

fn circle() -> Error {
    let reason = "an object is a part of itself, which only Python can have".into();
    ErrorKind::UnsupportedPickle { reason }.into()
}

pub(super) fn bad(reason: impl Into<String>) -> Error {
    ErrorKind::BadPickle { reason: reason.into(), offset: None }.into()
}

impl Reader<'_> {
    fn spend(&self, bytes: usize) -> Result<()> {
        self.dtypes.budget.spend(bytes)
    }

    /// The objects whose meaning is known: of Python's own types, of `datetime` and `decimal`, and NumPy's arrays and scalars.
    fn known(&self, object: &PyObject) -> Result<Option<PyValue>> {
        let (Some(global), PyValue::Tuple(args)) = (object.global(), &object.args) else { return Ok(None) };
        if object.is_new || object.kwargs.is_some() || !object.items.is_empty() || !object.pairs.is_empty() {
            return Ok(None);
        }
        let name = (&*global.module, &*global.name);
        // What is made of an argument copies it, however many arguments of it there are.
        self.spend(args.iter().map(copied).sum())?;
        if let Some(made) = numpy::known(&self.dtypes, name, args, object.state.as_ref())? {
            return Ok(Some(made));
        }
        if object.state.is_some() {
            return Ok(None);
        }
        let number = |value: &PyValue| match value {
            PyValue::Float(number) => Some(*number),
            PyValue::Int(number) => i64::try_from(number).ok().map(|number| number as f64),
            _ => None,
        };
        Ok(match (name, &args[..]) {
            (("builtins", "complex"), [re, im]) => {
                number(re).zip(number(im)).map(|(re, im)| PyValue::Complex(Complex::new(re, im)))
            }
            (("builtins", "set"), [PyValue::List(items)]) => Some(PyValue::Set(Arc::clone(items))),
            (("builtins", "frozenset"), [PyValue::List(items)]) => {
                Some(PyValue::FrozenSet(Arc::clone(items)))
            }
            (("builtins", "bytearray"), [bytes @ (PyValue::Bytes(_) | PyValue::Str(_))]) => {
                latin1(bytes).map(|bytes| PyValue::ByteArray(bytes.into()))
            }
            (("builtins", "bytearray"), []) => Some(PyValue::ByteArray([].into())),
            (("builtins", "bytearray"), [text @ PyValue::Str(_), PyValue::Str(codec)])
            | (("_codecs", "encode"), [text @ PyValue::Str(_), PyValue::Str(codec)])
                if codec.as_str().is_some_and(|codec| matches!(codec, "latin1" | "latin-1")) =>
            {
                let make = |bytes: Vec<u8>| match name.1 {
                    "encode" => PyValue::Bytes(bytes.into()),
                    _ => PyValue::ByteArray(bytes.into()),
                };
                latin1(text).map(make)
            }
            // Before protocol 3, empty bytes are those of the type itself.
            (("builtins", "bytes"), []) => Some(PyValue::Bytes([].into())),
            (("decimal", "Decimal"), [PyValue::Str(digits)]) => {
                digits.as_str().map(|digits| PyValue::Decimal(digits.into()))
            }
            (
                ("datetime", "timedelta"),
                [PyValue::Int(days), PyValue::Int(seconds), PyValue::Int(microseconds)],
            ) => match (days.try_into(), seconds.try_into(), microseconds.try_into()) {
                (Ok(days), Ok(seconds), Ok(microseconds)) => {
                    Some(PyValue::Timedelta(PyTimedelta { days, seconds, microseconds }))
                }
                _ => None,
            },
            (
                ("datetime", kind @ ("date" | "time" | "datetime")),
                [packed @ (PyValue::Bytes(_) | PyValue::Str(_))],
            ) => latin1(packed).and_then(|packed| time(kind, &packed)),
            _ => None,
        })
    }
}

/// How many bytes a copy of a text or of bytes has.
fn copied(value: &PyValue) -> usize {
    match value {
        PyValue::Bytes(bytes) | PyValue::ByteArray(bytes) => bytes.len(),
        PyValue::Str(text) => text.as_str().map_or(0, str::len),
        _ => 0,
    }
}

/// Bytes, or a text of Latin-1 as bytes.
pub(super) fn latin1(value: &PyValue) -> Option<Vec<u8>> {
    match value {
        PyValue::Bytes(bytes) => Some(bytes.to_vec()),
        PyValue::Str(text) => text.code_points().into_iter().map(|code| u8::try_from(code).ok()).collect(),
        _ => None,
    }
}

/// What the module `datetime` packs into bytes.
fn time(kind: &str, packed: &[u8]) -> Option<PyValue> {
    let date = |packed: &[u8]| match *packed {
        [high, low, month @ 1..=12, day @ 1..=31] => {
            Some(PyDate { year: u16::from_be_bytes([high, low]), month, day })
        }
        _ => None,
    };
    let time = |packed: &[u8], is_fold| match *packed {
        [hour @ 0..24, minute @ 0..60, second @ 0..60, a, b, c] => {
            Some(PyTime { hour, minute, second, microsecond: u32::from_be_bytes([0, a, b, c]), is_fold })
        }
        _ => None,
    };
    // The highest bit of the month, or of the hour, says that clocks were put back.
    const FOLD: u8 = 0x80;
    match kind {
        "date" => date(packed).map(PyValue::Date),
        "time" => {
            let (first, rest) = packed.split_first()?;
            let mut bytes = vec![first & !FOLD];
            bytes.extend(rest);
            time(&bytes, first & FOLD != 0).map(PyValue::Time)
        }
        _ => {
            let (day, at) = packed.split_first_chunk::<4>()?;
            let [high, low, month, number] = *day;
            let is_fold = month & FOLD != 0;
            let date = date(&[high, low, month & !FOLD, number])?;
            time(at, is_fold).map(|time| PyValue::Datetime(date, time))
        }
    }
}
