//! Where objects stand: a few flat tables, whose entries refer to one another by number.
//!
//! So that objects can be parts of themselves without leaking, nothing has to be walked through to be dropped, and a million
//! small lists are a few allocations.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use num_bigint::BigInt;
use num_complex::Complex;

use super::keys::Indexes;
use super::times::{Date, Time, Timedelta};
use super::{Object, ObjectRef};
use crate::dtype::DType;
use crate::shape::Order;

/// A value, or the number of the node that is one: in two words, which are moved as such. (What is put together byte by byte and
/// moved by words has the processor wait.)
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Slot([u64; 2]);

/// What a slot holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held<'a> {
    /// No value: what a call does not have.
    Absent,
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// A text that is so short that it stands in the slot.
    Short(&'a str),
    Node,
}

impl Slot {
    pub(super) const ABSENT: Self = Self::tagged(0, 0);
    pub(super) const NONE: Self = Self::tagged(1, 0);
    const BOOL: u8 = 2;
    const INT: u8 = 3;
    const FLOAT: u8 = 4;
    const SHORT: u8 = 5;
    const NODE: u8 = 6;
    /// How long a text may be: the first two bytes are the tag and the length.
    const MOST: usize = 14;

    /// The tag is the first byte in memory.
    const fn tagged(tag: u8, value: u64) -> Self {
        Self([u64::from_ne_bytes([tag, 0, 0, 0, 0, 0, 0, 0]), value])
    }

    pub(super) fn bool(value: bool) -> Self {
        Self::tagged(Self::BOOL, value.into())
    }

    pub(super) fn int(number: i64) -> Self {
        Self::tagged(Self::INT, number.cast_unsigned())
    }

    pub(super) fn float(number: f64) -> Self {
        Self::tagged(Self::FLOAT, number.to_bits())
    }

    pub(super) fn of_node(number: u32) -> Self {
        Self::tagged(Self::NODE, number.into())
    }

    /// A short text; `None` if it is too long, or no text.
    #[inline]
    pub(super) fn short(utf8: &[u8]) -> Option<Self> {
        if utf8.len() > Self::MOST {
            return None;
        }
        let mut bytes = [0; 16];
        bytes[..utf8.len()].copy_from_slice(utf8);
        Self::short_of(utf8.len(), &bytes)
    }

    /// Of a text that more bytes follow: it is taken at one stroke.
    #[inline]
    pub(super) fn short_of(len: usize, bytes: &[u8; 16]) -> Option<Self> {
        if len > Self::MOST {
            return None;
        }
        let text = u128::from_le_bytes(*bytes) & ((1 << (8 * len)) - 1);
        const NOT_ASCII: u128 = u128::from_ne_bytes([0x80; 16]);
        if text & NOT_ASCII != 0 && std::str::from_utf8(&bytes[..len]).is_err() {
            return None;
        }
        let all = (text << 16 | (len as u128) << 8 | u128::from(Self::SHORT)).to_le_bytes();
        let (words, _) = all.as_chunks::<8>();
        Some(Self([u64::from_ne_bytes(words[0]), u64::from_ne_bytes(words[1])]))
    }

    #[inline]
    fn tag(self) -> u8 {
        let [tag, ..] = self.0[0].to_ne_bytes();
        tag
    }

    #[inline]
    pub(super) fn held(&self) -> Held<'_> {
        match self.tag() {
            Self::SHORT => Held::Short(self.text()),
            Self::NODE => Held::Node,
            Self::INT => Held::Int(self.0[1].cast_signed()),
            Self::FLOAT => Held::Float(f64::from_bits(self.0[1])),
            Self::BOOL => Held::Bool(self.0[1] != 0),
            1 => Held::None,
            _ => Held::Absent,
        }
    }

    /// A number for finding a slot among others.
    pub(super) fn hash(self) -> u64 {
        mixed(self.0[0] ^ self.0[1].rotate_left(32))
    }

    /// The text that stands in the slot.
    pub(super) fn text(&self) -> &str {
        let bytes: &[u8] = bytemuck::cast_slice(&self.0);
        // Whoever made it has looked.
        std::str::from_utf8(&bytes[2..][..usize::from(bytes[1])])
            .expect("a short text is checked when it is made")
    }

    /// The number of the node, if it is one.
    #[inline]
    pub(super) fn node(self) -> Option<u32> {
        (self.tag() == Self::NODE).then_some(self.0[1] as u32) // as it was put there
    }

    pub(super) fn is_absent(self) -> bool {
        self == Self::ABSENT
    }

    /// Whether two keys that are equal are equal slots: texts, integers and `None`.
    pub(super) fn is_simple(self) -> bool {
        matches!(self.tag(), Self::SHORT | Self::INT | 1)
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.held().fmt(f)
    }
}

/// Entries of a table that follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) len: usize,
}

impl Span {
    pub(super) fn new(range: Range<usize>) -> Self {
        Self { start: range.start, len: range.len() }
    }

    pub(super) fn end(self) -> usize {
        self.start + self.len
    }

    pub(super) fn range(self) -> Range<usize> {
        self.start..self.end()
    }
}

/// An object that does not fit a slot.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    /// In the table of texts.
    Text(Span),
    /// A text with surrogates.
    Codes(u32),
    /// In the table of bytes; while a pickle is read, there or in the pickle: see [`Graph::data`].
    Bytes(Span),
    ByteArray(Span),
    /// In the table of slots, as all that have items.
    List(Span),
    Tuple(Span),
    /// Keys and values in turn.
    Dict(Span),
    Set(Span),
    FrozenSet(Span),
    Complex(Complex<f64>),
    /// An integer that does not fit a slot.
    Big(u32),
    /// The digits, in the table of texts.
    Decimal(Span),
    Date(Date),
    Time(Time),
    Datetime(Date, Time),
    Timedelta(Timedelta),
    /// A scalar of NumPy's: its dtype, and its bytes.
    Scalar(u32, Span),
    Array(u32),
    Global(u32),
    Call(u32),
    /// What Python would ask its caller for, by this name.
    Persistent(Slot),
    /// A class by its number in a table of Python's.
    Extension(u32),
    /// Memory that went another way than the pickle.
    Buffer {
        number: u32,
        is_read_only: bool,
    },
    /// An object of another graph.
    Foreign(u32),
}

/// A class or function, by its name in Python 3, and by that in the pickle if it is another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) module: Box<str>,
    pub(super) name: Box<str>,
    pub(super) stored: Option<Box<(String, String)>>,
}

/// What Python would call to make an object, and what it would do with it then.
#[derive(Clone, Debug)]
pub(super) struct CallParts {
    pub(super) callable: Slot,
    pub(super) args: Slot,
    pub(super) kwargs: Slot,
    pub(super) state: Slot,
    /// What is appended, and what is set by keys, which stand before their values.
    pub(super) items: Span,
    pub(super) pairs: Span,
    /// Whether the class's `__new__` is called and not the class.
    pub(super) is_new: bool,
}

#[derive(Clone, Debug)]
pub(super) struct ArrayParts {
    pub(super) dtype: u32,
    pub(super) order: Order,
    /// In the table of lengths.
    pub(super) dims: Span,
    /// The bytes, in the table of bytes; or the objects in C order, in the table of slots.
    pub(super) items: Span,
    pub(super) has_objects: bool,
}

/// A dtype, and the object that it was in the pickle: which says more (a class, metadata, whether it is aligned).
#[derive(Clone, Debug)]
pub(super) struct StoredDType {
    pub(super) dtype: Arc<DType>,
    pub(super) origin: Slot,
}

/// Objects and what they refer to.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) slots: Vec<Slot>,
    pub(super) texts: String,
    pub(super) rest: Option<Box<Rest>>,
    /// What keys stand where in a dict or set, for those that somebody has looked into.
    pub(super) indexes: Option<Box<dyn Indexes>>,
}

/// The tables that few have.
#[derive(Default)]
pub(super) struct Rest {
    pub(super) bytes: Vec<u8>,
    pub(super) codes: Vec<Box<[u32]>>,
    pub(super) bigs: Vec<Arc<BigInt>>,
    pub(super) names: Vec<Name>,
    pub(super) calls: Vec<CallParts>,
    pub(super) arrays: Vec<ArrayParts>,
    pub(super) dtypes: Vec<StoredDType>,
    pub(super) lengths: Vec<usize>,
    pub(super) foreign: Vec<Object>,
}

impl Graph {
    /// The tables that few have, by who refers to one of them.
    pub(super) fn rest(&self) -> &Rest {
        self.rest.as_deref().expect("what refers to a table has made it")
    }

    pub(super) fn rest_mut(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    pub(super) fn slots(&self, span: Span) -> &[Slot] {
        &self.slots[span.range()]
    }

    pub(super) fn text(&self, span: Span) -> &str {
        &self.texts[span.range()]
    }

    pub(super) fn call(&self, number: u32) -> &CallParts {
        &self.rest().calls[number as usize]
    }

    pub(super) fn array(&self, number: u32) -> &ArrayParts {
        &self.rest().arrays[number as usize]
    }

    pub(super) fn name(&self, number: u32) -> &Name {
        &self.rest().names[number as usize]
    }

    pub(super) fn dtype(&self, number: u32) -> &StoredDType {
        &self.rest().dtypes[number as usize]
    }

    /// Bytes that stand in a pickle or behind it: of a graph that is complete, there is no pickle.
    pub(super) fn data<'a>(&'a self, pickle: &'a [u8], span: Span) -> &'a [u8] {
        match span.start.checked_sub(pickle.len()) {
            _ if span.len == 0 => &[],
            Some(start) => &self.rest().bytes[start..][..span.len],
            None => &pickle[span.range()],
        }
    }

    /// The items among the parts of a node, and how many parts come before them; of a call there are none, since others follow.
    pub(super) fn items(&self, node: u32) -> (usize, &[Slot]) {
        match self.nodes[node as usize] {
            Node::List(span)
            | Node::Tuple(span)
            | Node::Dict(span)
            | Node::Set(span)
            | Node::FrozenSet(span) => (0, self.slots(span)),
            Node::Array(array) if self.array(array).has_objects => (1, self.slots(self.array(array).items)),
            _ => (usize::MAX, &[]),
        }
    }

    /// How many parts a node has, be they there or absent.
    pub(super) fn part_count(&self, node: u32) -> usize {
        match self.nodes[node as usize] {
            Node::List(span)
            | Node::Tuple(span)
            | Node::Dict(span)
            | Node::Set(span)
            | Node::FrozenSet(span) => span.len,
            Node::Call(call) => {
                let call = self.call(call);
                CALL_PARTS + call.items.len + call.pairs.len
            }
            Node::Array(array) => {
                1 + if self.array(array).has_objects { self.array(array).items.len } else { 0 }
            }
            Node::Scalar(..) | Node::Persistent(_) => 1,
            _ => 0,
        }
    }

    /// A part of a node. Of a call: what is called, its arguments, those by name, the items, the pairs, and last the state; of an
    /// array: its dtype, and the items.
    pub(super) fn part(&self, node: u32, index: usize) -> &Slot {
        match &self.nodes[node as usize] {
            Node::List(span)
            | Node::Tuple(span)
            | Node::Dict(span)
            | Node::Set(span)
            | Node::FrozenSet(span) => &self.slots(*span)[index],
            Node::Call(call) => {
                let call = self.call(*call);
                let CallParts { callable, args, kwargs, state, items, pairs, .. } = call;
                match index {
                    0 => callable,
                    1 => args,
                    2 => kwargs,
                    _ if index - 3 < items.len => &self.slots(*items)[index - 3],
                    _ => self.slots(*pairs).get(index - 3 - items.len).unwrap_or(state),
                }
            }
            Node::Array(array) => {
                let array = self.array(*array);
                match index.checked_sub(1) {
                    Some(index) => &self.slots(array.items)[index],
                    None => &self.dtype(array.dtype).origin,
                }
            }
            Node::Scalar(dtype, _) => &self.dtype(*dtype).origin,
            Node::Persistent(name) => name,
            _ => unreachable!("it has no parts"),
        }
    }

    /// Appends an object, and says which it is.
    pub(super) fn add(&mut self, node: Node) -> Slot {
        // A pickle's are counted, and nobody makes so many by hand: they would take 100 GB.
        let number = u32::try_from(self.nodes.len()).expect("fewer than 2³² objects");
        self.nodes.push(node);
        Slot::of_node(number)
    }

    /// Appends a text that does not fit a slot.
    pub(super) fn add_text(&mut self, text: &str) -> Span {
        let start = self.texts.len();
        self.texts.push_str(text);
        Span::new(start..self.texts.len())
    }
}

/// The parts of a call that are not counted: what is called, two kinds of arguments, and the state.
pub(super) const CALL_PARTS: usize = 4;

/// A graph that others refer to. It is taken apart without recursion, however deep graphs refer to one another.
pub(super) struct Shared(Graph);

impl Shared {
    pub(super) fn new(graph: Graph) -> Arc<Self> {
        Arc::new(Self(graph))
    }

    pub(super) fn graph_mut(&mut self) -> &mut Graph {
        &mut self.0
    }
}

impl Deref for Shared {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        &self.0
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut foreign =
            self.0.rest.as_mut().map(|rest| std::mem::take(&mut rest.foreign)).unwrap_or_default();
        while let Some(object) = foreign.pop() {
            if let Some(mut graph) = object.into_graph().and_then(Arc::into_inner)
                && let Some(rest) = &mut graph.0.rest
            {
                foreign.append(&mut rest.foreign);
            }
        }
    }
}

/// Which object it is: the graph by its address, and the number within it.
pub(super) type Id = (usize, u32);

impl<'a> ObjectRef<'a> {
    /// An object of a graph; of one that stands in another, that.
    pub(super) fn new(slot: &'a Slot, graph: Option<&'a Arc<Shared>>) -> Self {
        if let (Some(number), Some(graph)) = (slot.node(), graph)
            && let Node::Foreign(foreign) = graph.nodes[number as usize]
        {
            return graph.rest().foreign[foreign as usize].as_ref();
        }
        Self { slot, graph }
    }

    /// The graph and the number, of what is no slot.
    pub(super) fn place(self) -> Option<(&'a Arc<Shared>, u32)> {
        self.graph.zip(self.slot.node())
    }

    pub(super) fn node(self) -> Option<(&'a Arc<Shared>, &'a Node)> {
        self.place().map(|(graph, number)| (graph, &graph.nodes[number as usize]))
    }

    pub(super) fn id(self) -> Option<Id> {
        self.place().map(|(graph, number)| (Arc::as_ptr(graph).addr(), number))
    }

    /// A part of the object's node, if it is there.
    pub(super) fn part(self, index: usize) -> Option<Self> {
        let (graph, number) = self.place()?;
        let slot = graph.part(number, index);
        (!slot.is_absent()).then(|| Self::new(slot, Some(graph)))
    }

    pub(super) fn part_count(self) -> usize {
        self.place().map_or(0, |(graph, number)| graph.part_count(number))
    }
}

/// Spreads a word over its upper bits: they are the place in a table.
pub(super) fn mixed(word: u64) -> u64 {
    word.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
