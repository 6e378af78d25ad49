//! The opcodes that build objects from other objects.

use super::super::graph::{Node, Slot, Span};
use super::Unpickler;
use crate::error::Result;
use crate::pickle::opcode::*;

/// How the items on the stack extend the object below them.
#[derive(Clone, Copy)]
enum ExtendKind {
    Append,
    Set,
    Add,
}

impl Unpickler<'_> {
    /// Executes the opcodes that build objects from other objects, or that extend objects.
    pub(super) fn execute_container_opcode(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            EMPTY_LIST => self.push_counted(Node::List(Span::default())),
            EMPTY_TUPLE => self.push_counted(Node::Tuple(Span::default())),
            EMPTY_DICT => self.push_counted(Node::Dict(Span::default())),
            EMPTY_SET => self.push_counted(Node::Set(Span::default())),
            LIST => {
                let items = self.pop_items_above_mark()?;
                self.push_counted(Node::List(items))
            }
            TUPLE => {
                let items = self.pop_items_above_mark()?;
                self.push_counted(Node::Tuple(items))
            }
            TUPLE1 | TUPLE2 | TUPLE3 => {
                let from = self.start_of_last(usize::from(opcode - TUPLE1) + 1)?;
                let items = self.pop_items(from);
                self.push_counted(Node::Tuple(items))
            }
            DICT => {
                let mark = self.pop_mark()?;
                self.check_pairs(mark)?;
                let pairs = self.pop_items(mark);
                self.push_counted(Node::Dict(pairs))
            }
            FROZENSET => {
                let items = self.pop_items_above_mark()?;
                self.push_counted(Node::FrozenSet(items))
            }
            APPEND => {
                let from = self.start_of_last(1)?;
                self.extend(from, ExtendKind::Append)
            }
            APPENDS => {
                let mark = self.pop_mark()?;
                self.extend(mark, ExtendKind::Append)
            }
            SETITEM => {
                let from = self.start_of_last(2)?;
                self.extend(from, ExtendKind::Set)
            }
            SETITEMS => {
                let mark = self.pop_mark()?;
                self.check_pairs(mark)?;
                self.extend(mark, ExtendKind::Set)
            }
            ADDITEMS => {
                let mark = self.pop_mark()?;
                self.extend(mark, ExtendKind::Add)
            }
            _ => self.execute_call_opcode(opcode),
        }
    }

    /// Returns where the last `count` items of the stack start.
    fn start_of_last(&self, count: usize) -> Result<usize> {
        let from = self.stack.len().checked_sub(count).filter(|from| *from >= self.stack_floor());
        from.ok_or_else(|| self.fault("the stack is empty"))
    }

    fn check_pairs(&self, mark: usize) -> Result<()> {
        match (self.stack.len() - mark) % 2 == 0 {
            true => Ok(()),
            false => Err(self.fault("a key of a dict has no value")),
        }
    }

    /// Adds the items of the stack, starting at index `from`, to the object below them.
    fn extend(&mut self, from: usize, how: ExtendKind) -> Result<()> {
        let below = from.checked_sub(1).filter(|below| *below >= self.stack_floor());
        let target = below.and_then(|below| self.stack[below].node());
        if below.is_some() && from == self.stack.len() {
            return Ok(()); // nothing to add
        }
        let Some(target) = target else {
            return Err(self.fault("it needs an object on the stack"));
        };
        match (self.graph.nodes[target as usize], how) {
            (Node::List(span), ExtendKind::Append) => {
                let span = self.append_items((target, false), span, from);
                self.graph.nodes[target as usize] = Node::List(span);
            }
            (Node::Dict(span), ExtendKind::Set) => {
                let span = self.append_items((target, false), span, from);
                self.graph.nodes[target as usize] = Node::Dict(span);
            }
            (Node::Set(span), ExtendKind::Add) => {
                let span = self.append_items((target, false), span, from);
                self.graph.nodes[target as usize] = Node::Set(span);
            }
            (Node::Call(call), ExtendKind::Append) => {
                let span = self.graph.call(call).items;
                self.graph.rare_tables_mut().calls[call as usize].items =
                    self.append_items((target, false), span, from);
            }
            (Node::Call(call), ExtendKind::Set) => {
                let span = self.graph.call(call).pairs;
                self.graph.rare_tables_mut().calls[call as usize].pairs =
                    self.append_items((target, true), span, from);
            }
            (_, ExtendKind::Append) => {
                return Err(self.fault("it needs a list on the stack"));
            }
            (_, ExtendKind::Set) => {
                return Err(self.fault("it needs a dict on the stack"));
            }
            (_, ExtendKind::Add) => return Err(self.fault("it needs a set on the stack")),
        }
        self.stack.truncate(from);
        Ok(())
    }

    /// Appends the items of the stack, starting at index `from`, to the items of an object.
    ///
    /// If other slots follow the object's items, and no space is reserved for more, the items move to the end
    /// of the table, where space for twice as many is reserved. Hence, many small appends take linear time.
    fn append_items(&mut self, owner: (u32, bool), span: Span, from: usize) -> Span {
        let more = &self.stack[from..];
        let slots = &mut self.graph.slots;
        let start = if span.len == 0 { slots.len() } else { span.start };
        let (end, len) = (start + span.len, span.len + more.len());
        if end == slots.len() {
            slots.extend_from_slice(more);
        } else if self.reserved_ends.get(&owner).is_some_and(|room| *room >= start + len) {
            slots[end..end + more.len()].copy_from_slice(more);
        } else {
            let start = slots.len();
            slots.extend_from_within(span.range());
            slots.extend_from_slice(more);
            slots.resize(start + 2 * len, Slot::ABSENT);
            self.reserved_ends.insert(owner, slots.len());
            return Span { start, len };
        }
        Span { start, len }
    }
}
