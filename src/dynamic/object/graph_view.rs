//! What is read of a graph while it grows: plain values, and the parts of known calls.

use std::borrow::Cow;

use super::Text;
use super::graph::{CallParts, Graph, Node, Slot, SlotContents};
use super::source::PickleSource;
use super::times;
use crate::bytes::AsChunks;
use crate::error::{Error, Fault, FilePart, Result};
use crate::header::Header;
use crate::limits::Limits;
use crate::shape::Order;

pub(super) fn malformed(reason: impl Into<String>) -> Error {
    Fault::Malformed { part: FilePart::Pickle, reason: reason.into(), offset: None }.into()
}

/// A read-only view of a graph, some of whose bytes may still be in the pickle.
///
/// The view does not follow references to other graphs.
#[derive(Clone, Copy)]
pub(super) struct GraphView<'a> {
    pub(super) graph: &'a Graph,
    source: &'a PickleSource<'a>,
}

impl<'a> GraphView<'a> {
    pub(super) fn new(graph: &'a Graph, source: &'a PickleSource<'a>) -> Self {
        Self { graph, source }
    }

    pub(super) fn node(self, slot: Slot) -> Option<&'a Node> {
        slot.node().map(|number| &self.graph.nodes[number as usize])
    }

    /// Returns a string, or bytes of Python 2 that are a name.
    ///
    /// Bytes are validated each time. Many calls may share them, hence the limit.
    pub(super) fn text_or_old_name(self, slot: Slot) -> Option<Cow<'a, str>> {
        /// Maximum length of bytes in a pickle of Python 2 that are taken for a name.
        const MAX_NAME_BYTES: usize = 4096;
        match (slot.contents(), self.node(slot)) {
            (SlotContents::Short(text), _) => Some(Cow::Owned(text.to_owned())),
            (_, Some(Node::Text(span))) => Some(Cow::Borrowed(self.graph.text(*span))),
            (_, Some(Node::Bytes(span))) if span.len <= MAX_NAME_BYTES => {
                std::str::from_utf8(self.graph.bytes_in(self.source, *span)).ok().map(Cow::Borrowed)
            }
            _ => None,
        }
    }

    /// Returns the bytes of a `bytes` or `bytearray`, or a string encoded as Latin-1.
    pub(super) fn latin1(self, slot: Slot) -> Option<Cow<'a, [u8]>> {
        match self.node(slot) {
            Some(Node::Bytes(span) | Node::ByteArray(span)) => {
                Some(Cow::Borrowed(self.graph.bytes_in(self.source, *span)))
            }
            Some(Node::Text(span)) => Text::new(self.graph.text(*span)).to_latin1().map(Cow::Owned),
            Some(_) => None,
            None => match slot.contents() {
                SlotContents::Short(text) => Text::new(text).to_latin1().map(Cow::Owned),
                _ => None,
            },
        }
    }

    /// Returns the bytes of a packed date or time; what is longer is not looked at, because calls may share it.
    pub(super) fn packed_date_or_time(self, slot: Slot) -> Option<Cow<'a, [u8]>> {
        // A character of Latin-1 has at most two bytes in UTF-8.
        (self.byte_len(slot) <= 2 * times::MAX_PACKED_LEN).then(|| self.latin1(slot)).flatten()
    }

    /// Returns the length in bytes of a string, `bytes` or `bytearray`; 0 for all others.
    pub(super) fn byte_len(self, slot: Slot) -> usize {
        match (slot.contents(), self.node(slot)) {
            (SlotContents::Short(text), _) => text.len(),
            (_, Some(Node::Text(span) | Node::Bytes(span) | Node::ByteArray(span))) => span.len,
            _ => 0,
        }
    }

    pub(super) fn int(self, slot: Slot) -> Option<i64> {
        match slot.contents() {
            SlotContents::Int(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn float_or_int(self, slot: Slot) -> Option<f64> {
        match slot.contents() {
            SlotContents::Float(number) => Some(number),
            SlotContents::Int(number) => Some(number as f64),
            _ => None,
        }
    }

    pub(super) fn tuple(self, slot: Slot) -> Option<&'a [Slot]> {
        match self.node(slot) {
            Some(Node::Tuple(span)) => Some(self.graph.slots(*span)),
            _ => None,
        }
    }

    pub(super) fn list_or_tuple(self, slot: Slot) -> Option<&'a [Slot]> {
        match self.node(slot) {
            Some(Node::List(span) | Node::Tuple(span)) => Some(self.graph.slots(*span)),
            _ => None,
        }
    }

    pub(super) fn dict(self, slot: Slot) -> Option<&'a [[Slot; 2]]> {
        match self.node(slot) {
            Some(Node::Dict(span)) => Some(self.graph.slots(*span).chunks_of::<2>()),
            _ => None,
        }
    }

    pub(super) fn call(self, slot: Slot) -> Option<&'a CallParts> {
        match self.node(slot) {
            Some(Node::Call(number)) => Some(self.graph.call(*number)),
            _ => None,
        }
    }

    pub(super) fn global_name(self, slot: Slot) -> Option<(&'a str, &'a str)> {
        match self.node(slot) {
            Some(Node::Global(number)) => {
                let name = self.graph.name(*number);
                Some((&name.module, &name.name))
            }
            _ => None,
        }
    }

    /// Returns the lengths of axes.
    pub(super) fn dims(self, slot: Slot) -> Option<Vec<usize>> {
        // A long tuple that arrays share would be copied for each of them.
        let dims = self.tuple(slot).filter(|dims| dims.len() <= Limits::DIMENSIONS)?;
        dims.iter().map(|dim| usize::try_from(self.int(*dim)?).ok()).collect()
    }
}

/// Decodes the shape and order from the state of an array.
pub(super) fn shape_and_order(
    view: GraphView<'_>,
    dims: Slot,
    is_fortran: Slot,
) -> Result<(Vec<usize>, Order)> {
    if view.tuple(dims).is_none() {
        return Err(malformed("the shape of an array is not a tuple"));
    }
    let dims = view.dims(dims).ok_or_else(|| malformed("the shape of an array has an invalid length"))?;
    let order = match is_fortran.contents() {
        SlotContents::Bool(true) => Order::Fortran,
        SlotContents::Int(number) if number != 0 => Order::Fortran,
        SlotContents::Bool(false) | SlotContents::Int(_) => Order::C,
        _ => return Err(malformed("the flag for Fortran order of an array is not a bool")),
    };
    Ok((dims, order))
}

pub(super) fn check_byte_len(len: usize, header: &Header) -> Result<()> {
    match header.payload_len() == Some(len as u64) {
        true => Ok(()),
        false => {
            let (shape, dtype) = (header.shape_ref(), header.dtype());
            Err(malformed(format!("{len} bytes do not fit an array of {dtype} of shape {shape}")))
        }
    }
}
