//! An interpreter for opcodes: a stack machine with a memo, which builds objects without recursion.
//!
//! A call is also an object, which records the callable and the arguments. Nothing is ever called.

mod calls;
mod dtypes;
mod joblib;
mod known_calls;
mod parts;
mod reserve;

use std::collections::HashMap;
use std::sync::Arc;

use num_bigint::BigInt;

use super::budget::CopyBudget;
use super::global_kind::GlobalKind;
use super::graph::{Graph, Node, Slot, Span};
use super::graph_view::GraphView;
use super::source::PickleSource;
use super::text::decode_code_points;
use crate::error::{Error, Fault, FilePart, LimitKind, Result};
use crate::limits::{self, Limits};
use crate::options::OldText;
use crate::pickle::opcode::*;
use crate::pickle::{Atom, atom, line, text};

/// The state of the interpreter.
pub(super) struct Unpickler<'a> {
    pub(super) source: &'a PickleSource<'a>,
    pickle: &'a [u8],
    position: usize,
    protocol: u8,
    /// Where the frame ends in which the opcode is; the largest number outside of frames.
    frame_end: usize,
    /// Offset of the opcode that is being executed.
    opcode_offset: usize,
    stack: Vec<Slot>,
    /// Height of the stack at each mark.
    marks: Vec<usize>,
    memo: Vec<Slot>,
    /// Entries far beyond the end of `memo`, which cannot be that large. Only malicious pickles have them.
    sparse_memo: HashMap<u64, Slot>,
    /// Number of occupied memo entries, which is also the index that `MEMOIZE` uses next.
    memo_entry_count: u64,
    pub(super) graph: Graph,
    /// For items that were moved to grow: the index in `slots` where their reserved space ends.
    reserved_ends: HashMap<(u32, bool), usize>,
    /// The classes and functions by their names; each is one object.
    globals_by_key: HashMap<String, Slot>,
    /// The meaning of each class or function.
    global_kinds: Vec<GlobalKind>,
    pub(super) dtypes: dtypes::DTypeCache,
    pub(super) budget: CopyBudget,
    old_text: OldText,
    next_buffer: u32,
    /// Number of objects with parts.
    object_count: u64,
    limits: &'a Limits,
    max_nodes: u64,
    /// Position of the pickle at which the sizes of the tables are estimated next.
    next_estimate_position: usize,
    /// Whether the arrays of `joblib.dump` follow their descriptions.
    has_inline_arrays: bool,
}

/// The result of reading a pickle.
///
/// Some bytes of the graph may still be in the pickle. `top` is the object, and `pickle_len` the length of the
/// pickle in bytes.
pub(super) struct Unpickled {
    pub(super) graph: Graph,
    pub(super) top: Slot,
    pub(super) pickle_len: usize,
}

/// Maximum number of nodes: their indices have 32 bits, and an opcode adds at most three nodes.
const MAX_NODES: u64 = u32::MAX as u64 - 4;

/// Reads one pickle and ignores what follows it.
pub(super) fn read(source: &PickleSource<'_>, limits: &Limits, old_text: OldText) -> Result<Unpickled> {
    read_with_max_nodes(source, limits, old_text, MAX_NODES)
}

fn read_with_max_nodes(
    source: &PickleSource<'_>,
    limits: &Limits,
    old_text: OldText,
    max_nodes: u64,
) -> Result<Unpickled> {
    let machine = Unpickler { max_nodes, ..Unpickler::new(source, limits, old_text) };
    machine.read()
}

/// Reads a pickle of `joblib.dump`, in which the bytes of arrays follow the objects that describe them.
pub(super) fn read_joblib(
    source: &PickleSource<'_>,
    limits: &Limits,
    old_text: OldText,
) -> Result<Unpickled> {
    let machine = Unpickler { has_inline_arrays: true, ..Unpickler::new(source, limits, old_text) };
    machine.read()
}

impl<'a> Unpickler<'a> {
    fn new(source: &'a PickleSource<'a>, limits: &'a Limits, old_text: OldText) -> Self {
        Self {
            source,
            pickle: source.pickle(),
            position: 0,
            protocol: 0,
            frame_end: usize::MAX,
            opcode_offset: 0,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Vec::new(),
            sparse_memo: HashMap::new(),
            memo_entry_count: 0,
            graph: Graph::default(),
            reserved_ends: HashMap::new(),
            globals_by_key: HashMap::new(),
            global_kinds: Vec::new(),
            dtypes: dtypes::DTypeCache::default(),
            budget: CopyBudget::of(source.len()),
            old_text,
            next_buffer: 0,
            object_count: 0,
            limits,
            max_nodes: MAX_NODES,
            next_estimate_position: reserve::FIRST_ESTIMATE_POSITION,
            has_inline_arrays: false,
        }
    }

    fn read(mut self) -> Result<Unpickled> {
        let top = self.run()?;
        self.shrink_tables();
        Ok(Unpickled { graph: self.graph, top, pickle_len: self.position })
    }

    fn check_node_count(&self) -> Result<()> {
        limits::check(LimitKind::Nodes, self.graph.nodes.len() as u64, self.max_nodes)
    }

    /// Executes the opcodes, and returns the object.
    fn run(&mut self) -> Result<Slot> {
        let pickle = self.pickle;
        loop {
            if self.position >= self.frame_end {
                self.end_frame()?;
            }
            self.opcode_offset = self.position;
            // One check for each opcode is enough: `MAX_NODES` leaves space for the nodes of one opcode.
            self.check_node_count()?;
            if self.position >= self.next_estimate_position {
                self.reserve_tables();
            }
            match atom(&pickle[self.position..]) {
                Ok(Some((atom, used))) => {
                    self.position += used;
                    let slot = self.add_atom(atom)?;
                    self.stack.push(slot);
                    continue;
                }
                Ok(None) => {}
                Err(fault) => return Err(self.fault(fault.to_string())),
            }
            let [opcode] = self.take()?;
            match opcode {
                MEMOIZE => self.memoize()?,
                STOP => {
                    self.end_frame()?;
                    return self.pop();
                }
                _ => self.execute_opcode(opcode)?,
            }
        }
    }

    /// Returns an error unless the current frame, if there is one, ends at the current position.
    ///
    /// Python's unpicklers disagree about arguments that go beyond the end of a frame (one refuses them, the other one drops the
    /// rest of its buffer), and about what follows a pickle that ends before its frame.
    pub(super) fn end_frame(&mut self) -> Result<()> {
        if self.frame_end != usize::MAX && self.frame_end != self.position {
            let side = if self.position > self.frame_end { "after" } else { "before" };
            return Err(self.fault(format!("it ends {side} the end of its frame")));
        }
        self.frame_end = usize::MAX;
        Ok(())
    }

    pub(super) fn fault(&self, reason: impl Into<String>) -> Error {
        Fault::Malformed {
            part: FilePart::Pickle,
            reason: reason.into(),
            offset: Some(self.opcode_offset as u64),
        }
        .into()
    }

    pub(super) fn view(&self) -> GraphView<'_> {
        GraphView::new(&self.graph, self.source)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.pickle.get(self.position..).and_then(|rest| rest.first_chunk::<N>());
        let bytes = *bytes.ok_or_else(|| self.fault("the pickle is truncated"))?;
        self.position += N;
        Ok(bytes)
    }

    fn take_span(&mut self, len: u64) -> Result<Span> {
        let left = self.pickle.len() - self.position;
        match usize::try_from(len) {
            Ok(len) if len <= left => {
                self.position += len;
                Ok(Span::new(self.position - len..self.position))
            }
            _ => Err(self.fault(format!("its argument declares {len} bytes, {left} remain"))),
        }
    }

    /// Returns the rest of the line without its end.
    fn take_line(&mut self) -> Result<&'a [u8]> {
        let line =
            line(&self.pickle[self.position..]).ok_or_else(|| self.fault("the pickle is truncated"))?;
        self.position += line.len() + 1;
        Ok(line)
    }

    fn take_line_text(&mut self) -> Result<&'a str> {
        let line = self.take_line()?;
        std::str::from_utf8(line).map_err(|_| self.fault("its argument is not UTF-8"))
    }

    /// Returns the number of an entry of the memo.
    fn take_memo_number(&mut self) -> Result<u64> {
        let digits = text::digits(GET, self.take_line()?);
        let number = digits.and_then(|(digits, _)| digits.parse().ok());
        number.ok_or_else(|| self.fault("its argument is not a number"))
    }

    fn stack_floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<Slot> {
        match self.stack.len() > self.stack_floor() {
            true => Ok(self.stack.pop().expect("it is higher than its floor")),
            false => Err(self.fault("the stack is empty")),
        }
    }

    fn last(&self) -> Result<Slot> {
        match self.stack.last() {
            Some(last) if self.stack.len() > self.stack_floor() => Ok(*last),
            _ => Err(self.fault("the stack is empty")),
        }
    }

    /// Removes the last mark, and returns where the items above it start.
    fn pop_mark(&mut self) -> Result<usize> {
        self.marks.pop().ok_or_else(|| self.fault("there is no mark on the stack"))
    }

    fn push(&mut self, node: Node) {
        let slot = self.graph.add(node);
        self.stack.push(slot);
    }

    /// Pushes an object that counts toward the limit on objects with parts.
    fn push_counted(&mut self, node: Node) -> Result<()> {
        self.object_count += 1;
        limits::check(LimitKind::Objects, self.object_count, self.limits.get_objects())?;
        self.push(node);
        Ok(())
    }

    #[inline]
    fn memoize(&mut self) -> Result<()> {
        // The common case: the next index is also the next entry of `memo`.
        if self.memo_entry_count == self.memo.len() as u64 && self.sparse_memo.is_empty() {
            let last = self.last()?;
            self.memo.push(last);
            self.memo_entry_count += 1;
            return Ok(());
        }
        self.memoize_at(self.memo_entry_count)
    }

    fn memoize_at(&mut self, index: u64) -> Result<()> {
        let slot = self.last()?;
        let len = self.memo.len() as u64;
        let is_new = match usize::try_from(index) {
            Ok(index) if (index as u64) < len => std::mem::replace(&mut self.memo[index], slot).is_absent(),
            // An index that was far beyond the end may now be the next one.
            Ok(_) if index == len => {
                self.memo.push(slot);
                self.sparse_memo.is_empty() || self.sparse_memo.remove(&index).is_none()
            }
            // Python 2 numbers the entries from 1.
            Ok(1) => {
                self.memo.extend([Slot::ABSENT, slot]);
                self.sparse_memo.remove(&1).is_none()
            }
            _ => self.sparse_memo.insert(index, slot).is_none(),
        };
        self.memo_entry_count += u64::from(is_new);
        Ok(())
    }

    fn push_memo_entry(&mut self, index: u64) -> Result<()> {
        let near = usize::try_from(index).ok().and_then(|index| self.memo.get(index).copied());
        let slot = near.filter(|slot| !slot.is_absent()).or_else(|| self.sparse_memo.get(&index).copied());
        let slot =
            slot.ok_or_else(|| self.fault(format!("nothing was put at number {index} of the memo")))?;
        self.stack.push(slot);
        Ok(())
    }

    /// Stores the atom that ends at the current position.
    #[inline]
    fn add_atom(&mut self, atom: Atom<'_>) -> Result<Slot> {
        Ok(match atom {
            Atom::Str(utf8) => {
                let start = self.position - utf8.len();
                // Sixteen bytes are loaded together; near the end of the pickle, fewer may remain.
                let short = self.pickle.get(start..).and_then(|rest| rest.first_chunk::<16>());
                match short.and_then(|bytes| Slot::short_from_buffer(utf8.len(), bytes)) {
                    Some(short) => short,
                    None => self.add_text(utf8)?,
                }
            }
            Atom::Int(number) => Slot::int(number),
            Atom::Float(number) => Slot::float(number),
            Atom::None => Slot::NONE,
            Atom::Bool(value) => Slot::bool(value),
            Atom::Bytes(bytes) => {
                self.graph.add(Node::Bytes(Span::new(self.position - bytes.len()..self.position)))
            }
            Atom::OldStr(bytes) => self.add_old_text(bytes)?,
            Atom::Long(bytes) => self.add_int(BigInt::from_signed_bytes_le(bytes)),
        })
    }

    /// Stores a UTF-8 string, which may contain surrogates.
    fn add_text(&mut self, utf8: &[u8]) -> Result<Slot> {
        if let Some(short) = Slot::short(utf8) {
            return Ok(short);
        }
        if let Ok(text) = std::str::from_utf8(utf8) {
            let span = self.graph.add_text(text);
            return Ok(self.graph.add(Node::Text(span)));
        }
        let codes = decode_code_points(utf8).ok_or_else(|| self.fault("a string is not UTF-8"))?;
        let table = &mut self.graph.rare_tables_mut().code_points;
        table.push(codes.into());
        let number = table.len() as u32 - 1;
        Ok(self.graph.add(Node::Codes(number)))
    }

    fn add_int(&mut self, number: BigInt) -> Slot {
        if let Ok(number) = i64::try_from(&number) {
            return Slot::int(number);
        }
        let table = &mut self.graph.rare_tables_mut().bigs;
        table.push(Arc::new(number));
        let number = table.len() as u32 - 1;
        self.graph.add(Node::Big(number))
    }

    /// Stores bytes that are not in the pickle, and returns their span.
    ///
    /// Positions of these bytes follow those of the source: see [`Graph::bytes_in`].
    pub(super) fn add_bytes(&mut self, bytes: &[u8]) -> Span {
        let table = &mut self.graph.rare_tables_mut().bytes;
        let start = self.source.len() + table.len();
        table.extend_from_slice(bytes);
        Span { start, len: bytes.len() }
    }

    /// Stores a `str` of Python 2.
    fn add_old_text(&mut self, bytes: &[u8]) -> Result<Slot> {
        match self.old_text {
            OldText::AsciiOrBytes if bytes.is_ascii() => self.add_text(bytes),
            OldText::Ascii => match bytes.is_ascii() {
                true => self.add_text(bytes),
                false => Err(self.fault("a text of Python 2 is not ASCII")),
            },
            OldText::Latin1 => {
                let text: String = bytes.iter().copied().map(char::from).collect();
                self.add_text(text.as_bytes())
            }
            OldText::AsciiOrBytes | OldText::Bytes => {
                let span = self.add_bytes(bytes);
                Ok(self.graph.add(Node::Bytes(span)))
            }
        }
    }

    fn execute_opcode(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            DUP => {
                let last = self.last()?;
                self.stack.push(last);
            }
            PROTO => {
                let [protocol] = self.take()?;
                if protocol > 5 {
                    return Err(self.fault(format!("protocol {protocol} is unknown; Python has 0 to 5")));
                }
                self.protocol = protocol;
            }
            FRAME => {
                let (len, left) = (u64::from_le_bytes(self.take()?), self.pickle.len() - self.position);
                if len > left as u64 {
                    return Err(self.fault(format!("the frame declares {len} bytes, {left} remain")));
                }
                // The current frame, if there is one, is larger than the opcode.
                if self.frame_end != usize::MAX {
                    return Err(self.fault("a frame begins within another one"));
                }
                self.frame_end = self.position + len as usize; // it is within the pickle
            }
            MARK => self.marks.push(self.stack.len()),
            POP => {
                // A mark is popped like an item.
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                } else {
                    self.pop()?;
                }
            }
            POP_MARK => {
                let mark = self.pop_mark()?;
                self.stack.truncate(mark);
            }
            PUT => {
                let index = self.take_memo_number()?;
                self.memoize_at(index)?;
            }
            BINPUT => {
                let [index] = self.take()?;
                self.memoize_at(index.into())?;
            }
            LONG_BINPUT => {
                let index = u32::from_le_bytes(self.take()?);
                self.memoize_at(index.into())?;
            }
            GET => {
                let index = self.take_memo_number()?;
                self.push_memo_entry(index)?;
            }
            BINGET => {
                let [index] = self.take()?;
                self.push_memo_entry(index.into())?;
            }
            LONG_BINGET => {
                let index = u32::from_le_bytes(self.take()?);
                self.push_memo_entry(index.into())?;
            }
            INT | LONG | STRING | UNICODE => self.execute_text_opcode(opcode)?,
            BYTEARRAY8 => {
                let len = u64::from_le_bytes(self.take()?);
                let span = self.take_span(len)?;
                self.push(Node::ByteArray(span));
            }
            _ => self.execute_container_opcode(opcode)?,
        }
        Ok(())
    }

    /// Moves the items above the last mark into the table of slots, for a new object.
    fn pop_items_above_mark(&mut self) -> Result<Span> {
        let mark = self.pop_mark()?;
        Ok(self.pop_items(mark))
    }

    /// Moves the items of the stack, starting at index `from`, into the table of slots.
    fn pop_items(&mut self, from: usize) -> Span {
        let start = self.graph.slots.len();
        self.graph.slots.extend_from_slice(&self.stack[from..]);
        self.stack.truncate(from);
        Span::new(start..self.graph.slots.len())
    }

    /// Executes the opcodes for strings with escapes, and for decimal integers that do not fit into an `i64`.
    fn execute_text_opcode(&mut self, opcode: u8) -> Result<()> {
        let line = self.take_line()?;
        let fault = |machine: &Self| machine.fault("its argument is malformed");
        let slot = match opcode {
            STRING => {
                let bytes = text::decode_string_literal(line).ok_or_else(|| fault(self))?;
                self.add_old_text(&bytes)?
            }
            UNICODE => {
                let utf8 = text::decode_raw_unicode(line).ok_or_else(|| fault(self))?;
                self.add_text(&utf8)?
            }
            _ => {
                /// Python has the same limit, because converting decimal digits is slow.
                const MAX_DIGITS: u64 = 4300;
                let (digits, radix) = text::digits(opcode, line).ok_or_else(|| fault(self))?;
                limits::check(LimitKind::Digits, digits.len() as u64, MAX_DIGITS)?;
                let number = BigInt::parse_bytes(digits.as_bytes(), radix).ok_or_else(|| fault(self))?;
                self.add_int(number)
            }
        };
        self.stack.push(slot);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overestimated_capacity_is_released() {
        const TUPLE_COUNT: usize = 70_000;
        let long = 3u32 << 20;
        let tuples = b")".repeat(TUPLE_COUNT);
        let text = [&b"X"[..], &long.to_le_bytes(), &b"a".repeat(long as usize)].concat();
        let pickle = [&b"("[..], &tuples, &text, b"l."].concat();
        let read = read(&PickleSource::new(&pickle), &Limits::default(), OldText::default()).unwrap();
        let Graph { nodes, slots, texts, .. } = read.graph;
        assert_eq!(
            (nodes.len(), slots.len(), texts.len()),
            (TUPLE_COUNT + 2, TUPLE_COUNT + 1, long as usize)
        );
        for (len, capacity) in [(nodes.len(), nodes.capacity()), (slots.len(), slots.capacity())] {
            assert!(capacity <= 2 * len, "{capacity} for {len}");
        }
    }

    /// The limit of 2³² nodes is not the limit of `Limits::objects`, so raising that does not help.
    #[test]
    fn node_limit_error_suggests_no_option() {
        let many = [&b"("[..], &b"B\0\0\0\0".repeat(10), b"l."].concat();
        let source = PickleSource::new(&many);
        let read = |most| read_with_max_nodes(&source, &Limits::default(), OldText::default(), most);
        assert!(read(11).is_ok());
        let error = read(9).err().unwrap();
        assert!(matches!(error.fault(), Fault::Limit { limit_kind: LimitKind::Nodes, .. }), "{error}");
        assert_eq!(error.help(), None, "{error}");
    }
}
