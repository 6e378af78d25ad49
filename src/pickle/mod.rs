//! Pickles, in which NumPy stores Python objects: as data, and nothing but data.
//!
//! [`parse`] turns the opcodes into a [`Graph`] of nodes that refer to one another by number. A call is a node as well: it says
//! what Python would call with what, and nobody calls anything. So a pickle can do no harm, share nodes and refer to itself
//! without costing more than its length. A value
//! that is none is not even looked at, but for its length, until [`Graph::atom`] is asked for it. [`Writer`] writes opcodes. What the nodes mean is no matter here.

mod item;
mod opcode;
mod read;
mod text;
mod write;

pub(crate) use item::{Atom, Item};
pub(crate) use read::parse;
pub(crate) use write::Writer;

/// What a pickle says.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) top: Item,
    /// The protocol that it says it is of; the oldest if it says none.
    pub(crate) protocol: u8,
    /// How many bytes the pickle takes.
    pub(crate) used: usize,
}

impl Graph {
    /// The atom whose opcode stands at this place.
    pub(crate) fn atom(pickle: &[u8], place: usize) -> Atom<'_> {
        match item::atom(&pickle[place..]) {
            Ok(Some((atom, _))) => atom,
            _ => unreachable!("an item is where an atom was found"),
        }
    }
}

/// A part of the pickle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    at: usize,
    len: usize,
}

impl Span {
    pub(crate) fn of(self, pickle: &[u8]) -> &[u8] {
        &pickle[self.at..][..self.len]
    }
}

/// What is not in the pickle as it is, or refers to others.
#[derive(Debug)]
pub(crate) enum Node {
    List(Vec<Item>),
    Tuple(Vec<Item>),
    /// Keys and values in turn.
    Dict(Vec<Item>),
    Set(Vec<Item>),
    FrozenSet(Vec<Item>),
    ByteArray(Span),
    /// In UTF-8, in which surrogates may stand.
    Text(Vec<u8>),
    OldText(Vec<u8>),
    /// The digits of a number.
    Digits(String),
    /// A text, bytes or number that several refer to.
    Shared(Item),
    Global {
        module: Item,
        name: Item,
    },
    /// The same by lines of the pickle.
    GlobalLines {
        module: Span,
        name: Span,
    },
    Call(Box<Call>),
}

/// What Python would call to make an object, and what it would do with it then.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) callable: Item,
    pub(crate) args: Item,
    pub(crate) kwargs: Option<Item>,
    /// Whether the class's `__new__` is called and not the class.
    pub(crate) is_new: bool,
    pub(crate) state: Option<Item>,
    /// What is appended, and what is set by keys, which stand before their values.
    pub(crate) items: Vec<Item>,
    pub(crate) pairs: Vec<Item>,
}
