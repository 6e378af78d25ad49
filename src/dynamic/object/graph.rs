//! Storage of objects: a few flat tables, whose entries refer to one another by index.
//!
//! With indices instead of pointers, objects can contain themselves without leaking, dropping needs no
//! traversal, and a million small lists need only a few allocations.
#![allow(clippy::incompatible_msrv, reason = "the features that it belongs to need a newer compiler")]

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex};

use num_bigint::BigInt;
use num_complex::Complex;

use super::key_index::{KeyIndexes, MAX_WITHOUT_INDEX};
use super::source::PickleSource;
use super::times::{Date, Time, Timedelta};
use super::{Object, ObjectRef};
use crate::bytes::AsChunks;
use crate::dtype::DType;
use crate::shape::Order;

/// A small value, or the index of a node, in two words.
///
/// A slot is built from whole words: writing it byte by byte and then moving it by words would stall the
/// processor.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Slot([u64; 2]);

/// The contents of a [`Slot`].
#[derive(Clone, Copy, Debug)]
pub(super) enum SlotContents<'a> {
    /// No value: an optional part that is missing.
    Absent,
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// A string that is short enough to be stored in the slot.
    Short(&'a str),
    Node,
}

impl Slot {
    pub(super) const ABSENT: Self = Self::tagged(0, 0);
    pub(super) const NONE: Self = Self::tagged(1, 0);
    const BOOL_TAG: u8 = 2;
    const INT_TAG: u8 = 3;
    const FLOAT_TAG: u8 = 4;
    const SHORT_TAG: u8 = 5;
    const NODE_TAG: u8 = 6;
    /// Maximum length of a string in bytes: the first two of the 16 bytes are the tag and the length.
    const MAX_SHORT_LEN: usize = 14;

    /// Builds a slot whose first byte in memory is the tag.
    const fn tagged(tag: u8, value: u64) -> Self {
        Self([u64::from_ne_bytes([tag, 0, 0, 0, 0, 0, 0, 0]), value])
    }

    pub(super) fn bool(value: bool) -> Self {
        Self::tagged(Self::BOOL_TAG, value.into())
    }

    pub(super) fn int(number: i64) -> Self {
        Self::tagged(Self::INT_TAG, number.cast_unsigned())
    }

    pub(super) fn float(number: f64) -> Self {
        Self::tagged(Self::FLOAT_TAG, number.to_bits())
    }

    pub(super) fn of_node(number: u32) -> Self {
        Self::tagged(Self::NODE_TAG, number.into())
    }

    /// Stores a short string; `None` if it is too long or not valid UTF-8.
    #[inline]
    pub(super) fn short(utf8: &[u8]) -> Option<Self> {
        if utf8.len() > Self::MAX_SHORT_LEN {
            return None;
        }
        let mut bytes = [0; 16];
        bytes[..utf8.len()].copy_from_slice(utf8);
        Self::short_from_buffer(utf8.len(), &bytes)
    }

    /// Stores the short string at the start of a 16-byte buffer, which is loaded in one step.
    #[inline]
    pub(super) fn short_from_buffer(len: usize, bytes: &[u8; 16]) -> Option<Self> {
        if len > Self::MAX_SHORT_LEN {
            return None;
        }
        let text = u128::from_le_bytes(*bytes) & ((1 << (8 * len)) - 1);
        // ASCII, the common case, does not need to be validated as UTF-8.
        const NOT_ASCII: u128 = u128::from_ne_bytes([0x80; 16]);
        if text & NOT_ASCII != 0 && std::str::from_utf8(&bytes[..len]).is_err() {
            return None;
        }
        let all = (text << 16 | (len as u128) << 8 | u128::from(Self::SHORT_TAG)).to_le_bytes();
        let words = all.chunks_of::<8>();
        Some(Self([u64::from_ne_bytes(words[0]), u64::from_ne_bytes(words[1])]))
    }

    #[inline]
    fn tag(self) -> u8 {
        let [tag, ..] = self.0[0].to_ne_bytes();
        tag
    }

    #[inline]
    pub(super) fn contents(&self) -> SlotContents<'_> {
        match self.tag() {
            Self::SHORT_TAG => SlotContents::Short(self.short_text()),
            Self::NODE_TAG => SlotContents::Node,
            Self::INT_TAG => SlotContents::Int(self.0[1].cast_signed()),
            Self::FLOAT_TAG => SlotContents::Float(f64::from_bits(self.0[1])),
            Self::BOOL_TAG => SlotContents::Bool(self.0[1] != 0),
            1 => SlotContents::None,
            _ => SlotContents::Absent,
        }
    }

    /// Returns a hash of the slot, for lookup tables.
    pub(super) fn hash(self) -> u64 {
        mix_bits(self.0[0] ^ self.0[1].rotate_left(32))
    }

    /// Returns the string that is stored in the slot.
    pub(super) fn short_text(&self) -> &str {
        let bytes: &[u8] = bytemuck::cast_slice(&self.0);
        // The constructors have validated the text.
        std::str::from_utf8(&bytes[2..][..usize::from(bytes[1])])
            .expect("a short text is checked when it is made")
    }

    /// Returns the index of the node, if the slot refers to one.
    #[inline]
    pub(super) fn node(self) -> Option<u32> {
        (self.tag() == Self::NODE_TAG).then_some(self.0[1] as u32) // the index was stored as a u32
    }

    pub(super) fn is_absent(self) -> bool {
        self == Self::ABSENT
    }

    /// Returns whether equal keys of this kind always have equal slots: short strings, integers and `None`.
    pub(super) fn is_canonical_key(self) -> bool {
        matches!(self.tag(), Self::SHORT_TAG | Self::INT_TAG | 1)
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.contents().fmt(f)
    }
}

/// A range of consecutive entries of a table.
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

/// An object that does not fit into a slot.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    /// A string, in the table of texts.
    Text(Span),
    /// A string with lone surrogates, by its index in the table of code points.
    Codes(u32),
    /// Bytes in the table of bytes, or in what the pickle is or was read from: see [`Graph::bytes_in`].
    Bytes(Span),
    ByteArray(Span),
    /// A list; its items are in the table of slots, as are those of all variants with items.
    List(Span),
    Tuple(Span),
    /// Keys and values, alternating.
    Dict(Span),
    Set(Span),
    FrozenSet(Span),
    Complex(Complex<f64>),
    /// An integer that does not fit into a slot.
    Big(u32),
    /// The digits, in the table of texts.
    Decimal(Span),
    Date(Date),
    Time(Time),
    Datetime(Date, Time),
    Timedelta(Timedelta),
    /// A NumPy scalar: its dtype and its bytes.
    Scalar(u32, Span),
    Array(u32),
    Global(u32),
    Call(u32),
    /// An object that Python would request from its caller by this persistent id.
    Persistent(Slot),
    /// A class or function, by its code in Python's extension registry.
    Extension(u32),
    /// An out-of-band buffer of protocol 5.
    Buffer {
        number: u32,
        is_read_only: bool,
    },
    /// An object of another graph, by its index in `foreign`.
    Foreign(u32),
}

/// The name of a class or function in Python 3, and its name in the pickle if that differs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) module: Box<str>,
    pub(super) name: Box<str>,
    pub(super) stored: Option<Box<(String, String)>>,
}

/// The call that Python would make to create an object, and what it would do with the result.
#[derive(Clone, Debug)]
pub(super) struct CallParts {
    pub(super) callable: Slot,
    pub(super) args: Slot,
    pub(super) kwargs: Slot,
    pub(super) state: Slot,
    /// The items that are appended.
    pub(super) items: Span,
    /// The keys and values that are set, alternating.
    pub(super) pairs: Span,
    /// Whether the class's `__new__` is called instead of the class.
    pub(super) calls_new: bool,
}

#[derive(Clone, Debug)]
pub(super) struct ArrayParts {
    pub(super) dtype: u32,
    pub(super) order: Order,
    /// The lengths of the axes, in the table of lengths.
    pub(super) dims: Span,
    /// The bytes, in the table of bytes; or the objects in C order, in the table of slots.
    pub(super) items: Span,
    pub(super) has_objects: bool,
}

/// A dtype, and the object it was decoded from, which may also specify a class, metadata and alignment.
#[derive(Clone, Debug)]
pub(super) struct StoredDType {
    pub(super) dtype: Arc<DType>,
    pub(super) origin: Slot,
}

/// Objects and the tables they refer to.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) slots: Vec<Slot>,
    pub(super) texts: String,
    pub(super) rare_tables: Option<Box<RareTables>>,
    /// Indexes of the keys of dicts and sets, each built on first lookup; `None` if all are small.
    pub(super) indexes: Option<Box<dyn KeyIndexes>>,
}

/// Tables that few graphs need.
#[derive(Default)]
pub(super) struct RareTables {
    pub(super) bytes: Vec<u8>,
    /// What the pickle was read from, and its length at that time, if bytes have stayed there.
    pub(super) backing: Option<(BackingBytes, usize)>,
    pub(super) code_points: Vec<Box<[u32]>>,
    pub(super) bigs: Vec<Arc<BigInt>>,
    pub(super) names: Vec<Name>,
    pub(super) calls: Vec<CallParts>,
    pub(super) arrays: Vec<ArrayParts>,
    pub(super) dtypes: Vec<StoredDType>,
    pub(super) axis_lengths: Vec<usize>,
    pub(super) foreign: Vec<Object>,
    /// While a pickle is read: the calls in each of the pickles that `foreign` is from.
    pub(super) foreign_calls: Vec<Vec<Object>>,
}

/// Bytes that belong to the caller.
pub(super) type BackingBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

impl Graph {
    /// Makes room for the indexes of keys, if a dict or set is large enough for one.
    pub(super) fn add_indexes(&mut self) {
        let is_worth_it = |node: &Node| match node {
            Node::Dict(span) => span.len / 2 > MAX_WITHOUT_INDEX,
            Node::Set(span) | Node::FrozenSet(span) => span.len > MAX_WITHOUT_INDEX,
            _ => false,
        };
        self.indexes =
            self.nodes.iter().any(is_worth_it).then(|| Box::<Mutex<_>>::default() as Box<dyn KeyIndexes>);
    }

    /// Returns the rarely needed tables, which exist if there is an index into one of them.
    pub(super) fn rare_tables(&self) -> &RareTables {
        self.rare_tables.as_deref().expect("what refers to a table has made it")
    }

    pub(super) fn rare_tables_mut(&mut self) -> &mut RareTables {
        self.rare_tables.get_or_insert_default()
    }

    pub(super) fn slots(&self, span: Span) -> &[Slot] {
        &self.slots[span.range()]
    }

    pub(super) fn text(&self, span: Span) -> &str {
        &self.texts[span.range()]
    }

    pub(super) fn call(&self, number: u32) -> &CallParts {
        &self.rare_tables().calls[number as usize]
    }

    pub(super) fn array(&self, number: u32) -> &ArrayParts {
        &self.rare_tables().arrays[number as usize]
    }

    pub(super) fn name(&self, number: u32) -> &Name {
        &self.rare_tables().names[number as usize]
    }

    pub(super) fn dtype(&self, number: u32) -> &StoredDType {
        &self.rare_tables().dtypes[number as usize]
    }

    /// Returns bytes of a complete graph.
    pub(super) fn bytes(&self, span: Span) -> &[u8] {
        self.bytes_in(PickleSource::EMPTY, span)
    }

    /// Returns bytes in what a pickle is or was read from, or in the table of bytes, whose positions follow.
    pub(super) fn bytes_in<'a>(&'a self, source: &PickleSource<'a>, span: Span) -> &'a [u8] {
        if span.len == 0 {
            return &[];
        }
        let backing = self.rare_tables.as_ref().and_then(|rest| rest.backing.as_ref());
        match span.start.checked_sub(backing.map_or(source.len(), |(_, len)| *len)) {
            Some(start) => &self.rare_tables().bytes[start..][..span.len],
            None => match backing {
                Some((backing, _)) => &(**backing).as_ref()[span.range()],
                None => source.get(span.start, span.len),
            },
        }
    }

    /// Returns the items of a node, and the number of parts before them.
    ///
    /// Returns no items for a call, because other parts follow its items.
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

    /// Returns the number of parts of a node, including absent ones.
    pub(super) fn part_count(&self, node: u32) -> usize {
        match self.nodes[node as usize] {
            Node::List(span)
            | Node::Tuple(span)
            | Node::Dict(span)
            | Node::Set(span)
            | Node::FrozenSet(span) => span.len,
            Node::Call(call) => {
                let call = self.call(call);
                FIXED_CALL_PART_COUNT + call.items.len + call.pairs.len
            }
            Node::Array(array) => {
                1 + if self.array(array).has_objects { self.array(array).items.len } else { 0 }
            }
            Node::Scalar(..) | Node::Persistent(_) => 1,
            _ => 0,
        }
    }

    /// Returns a part of a node.
    ///
    /// The parts of a call are the callable, the arguments, the keyword arguments, the items, the pairs and,
    /// last, the state. Those of an array are its dtype and the items.
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

    /// Appends a node and returns the slot that refers to it.
    pub(super) fn add(&mut self, node: Node) -> Slot {
        // The nodes of a pickle are limited, and this many nodes built by a caller would need 100 GB.
        let number = u32::try_from(self.nodes.len()).expect("fewer than 2³² objects");
        self.nodes.push(node);
        Slot::of_node(number)
    }

    /// Appends a string that does not fit into a slot.
    pub(super) fn add_text(&mut self, text: &str) -> Span {
        let start = self.texts.len();
        self.texts.push_str(text);
        Span::new(start..self.texts.len())
    }
}

/// The number of parts of every call: the callable, two kinds of arguments, and the state.
pub(super) const FIXED_CALL_PART_COUNT: usize = 4;

/// A graph that others can refer to; dropping it does not recurse, however long the chain of references is.
pub(super) struct SharedGraph(Graph);

impl SharedGraph {
    pub(super) fn new(graph: Graph) -> Arc<Self> {
        Arc::new(Self(graph))
    }

    pub(super) fn graph_mut(&mut self) -> &mut Graph {
        &mut self.0
    }
}

impl Deref for SharedGraph {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        &self.0
    }
}

impl Drop for SharedGraph {
    fn drop(&mut self) {
        // The default drop would recurse once for each graph and could overflow the stack.
        let mut foreign =
            self.0.rare_tables.as_mut().map(|rest| std::mem::take(&mut rest.foreign)).unwrap_or_default();
        while let Some(object) = foreign.pop() {
            if let Some(mut graph) = object.into_graph().and_then(Arc::into_inner)
                && let Some(rest) = &mut graph.0.rare_tables
            {
                foreign.append(&mut rest.foreign);
            }
        }
    }
}

/// The identity of an object: see [`ObjectRef::id`].
///
/// ```
/// use ndarray_io::object::{Object, ObjectId};
///
/// let list = Object::from(vec![1]);
/// let id: Option<ObjectId> = list.as_ref().id();
/// assert_eq!(id, list.clone().as_ref().id());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    /// The address of its graph.
    pub(super) graph: usize,
    /// Its index in the graph.
    pub(super) number: u32,
}

pub(super) type Id = ObjectId;

impl<'a> ObjectRef<'a> {
    /// Creates a reference to an object, following a reference to another graph.
    pub(super) fn new(slot: &'a Slot, graph: Option<&'a Arc<SharedGraph>>) -> Self {
        if let (Some(number), Some(graph)) = (slot.node(), graph)
            && let Node::Foreign(foreign) = graph.nodes[number as usize]
        {
            return graph.rare_tables().foreign[foreign as usize].as_ref();
        }
        Self { slot, graph }
    }

    /// Returns the graph and the index of the node; `None` if the value is stored in the slot.
    pub(super) fn graph_and_index(self) -> Option<(&'a Arc<SharedGraph>, u32)> {
        self.graph.zip(self.slot.node())
    }

    pub(super) fn node(self) -> Option<(&'a Arc<SharedGraph>, &'a Node)> {
        self.graph_and_index().map(|(graph, number)| (graph, &graph.nodes[number as usize]))
    }

    /// Returns the identity of the object; a value that is stored in its slot is an object at each place.
    pub(super) fn id_or_slot_address(self) -> Id {
        /// No node has this index, so a place is not taken for a node.
        const NO_NODE: u32 = u32::MAX;
        self.id().unwrap_or_else(|| Id { graph: std::ptr::from_ref(self.slot).addr(), number: NO_NODE })
    }

    /// Returns a part of the object's node, unless it is absent.
    pub(super) fn part(self, index: usize) -> Option<Self> {
        let (graph, number) = self.graph_and_index()?;
        let slot = graph.part(number, index);
        (!slot.is_absent()).then(|| Self::new(slot, Some(graph)))
    }

    pub(super) fn part_count(self) -> usize {
        self.graph_and_index().map_or(0, |(graph, number)| graph.part_count(number))
    }
}

/// Mixes the bits of a word into its upper bits, which are the index in a hash table.
pub(super) fn mix_bits(word: u64) -> u64 {
    // 2⁶⁴ divided by the golden ratio: Fibonacci hashing.
    word.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
