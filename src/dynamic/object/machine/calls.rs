//! The opcodes for names, calls, persistent ids, extensions and buffers.

use std::borrow::Cow;

use super::super::compat::python_3_name;
use super::super::global_kind::{GlobalKind, is_joblib_array_inline};
use super::super::graph::{CallParts, Name, Node, Slot, Span};
use super::Unpickler;
use crate::error::{Fault, FilePart, Result};
use crate::pickle::opcode::*;

impl Unpickler<'_> {
    /// Executes the opcodes for names and calls, and those of
    /// [`execute_reference_opcode`](Self::execute_reference_opcode).
    pub(super) fn execute_call_opcode(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            GLOBAL => {
                let (module, name) = (self.take_line_text()?, self.take_line_text()?);
                let slot = self.global(module, name)?;
                self.stack.push(slot);
                Ok(())
            }
            STACK_GLOBAL => {
                let (name, module) = (self.pop()?, self.pop()?);
                let text = |slot: Slot| self.view().text_or_old_name(slot).map(Cow::into_owned);
                let names = text(module).zip(text(name));
                let (module, name) =
                    names.ok_or_else(|| self.fault("the name of a class or function is not a string"))?;
                let slot = self.global(&module, &name)?;
                self.stack.push(slot);
                Ok(())
            }
            // Python 2 created instances from a class and the arguments above the mark.
            INST => {
                let (module, name) = (self.take_line_text()?, self.take_line_text()?);
                let class = self.global(module, name)?;
                let mark = self.pop_mark()?;
                self.push_instance(class, mark, mark)
            }
            OBJ => {
                let mark = self.pop_mark()?;
                match self.stack.get(mark) {
                    Some(class) => self.push_instance(*class, mark, mark + 1),
                    None => Err(self.fault("an instance has no class")),
                }
            }
            REDUCE | NEWOBJ => {
                let (args, callable) = (self.pop()?, self.pop()?);
                self.push_call(callable, args, Slot::ABSENT, opcode == NEWOBJ)
            }
            NEWOBJ_EX => {
                let (kwargs, args, callable) = (self.pop()?, self.pop()?, self.pop()?);
                self.push_call(callable, args, kwargs, true)
            }
            BUILD => {
                let state = self.pop()?;
                let target = self.last()?.node().map(|number| (number, self.graph.nodes[number as usize]));
                match target {
                    Some((number, Node::Call(call))) if self.graph.call(call).state.is_absent() => {
                        self.graph.rare_tables_mut().calls[call as usize].state = state;
                        self.dtypes.forget(number);
                        self.convert_call_to_array(number)
                    }
                    _ => Err(self.fault("the object does not accept a state")),
                }
            }
            other => self.execute_reference_opcode(other),
        }
    }

    /// Executes the opcodes for what is not in the pickle: persistent ids, extensions and buffers.
    ///
    /// Any other opcode is an error.
    fn execute_reference_opcode(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            PERSID => {
                let name = self.take_line_text()?;
                let name = self.add_text(name.as_bytes())?;
                self.push_counted(Node::Persistent(name))
            }
            BINPERSID => {
                let name = self.pop()?;
                self.push_counted(Node::Persistent(name))
            }
            EXT1 => {
                let [code] = self.take()?;
                self.push_counted(Node::Extension(code.into()))
            }
            EXT2 => {
                let code = u16::from_le_bytes(self.take()?);
                self.push_counted(Node::Extension(code.into()))
            }
            EXT4 => {
                let code = u32::from_le_bytes(self.take()?);
                self.push_counted(Node::Extension(code))
            }
            NEXT_BUFFER => {
                let number = self.next_buffer;
                self.next_buffer += 1; // cannot overflow: each buffer adds a node, and nodes are limited
                let Some(count) = self.source.buffer_count() else {
                    return self.push_counted(Node::Buffer { number, is_read_only: false });
                };
                match self.source.buffer_position_and_len(number as usize) {
                    Some((start, len)) => self.push_counted(Node::ByteArray(Span { start, len })),
                    None => Err(self.fault(format!("the pickle needs more than the {count} buffers given"))),
                }
            }
            READONLY_BUFFER => self.make_buffer_read_only(),
            other => Err(self.fault(format!("unknown opcode {other:#04x}"))),
        }
    }

    /// Replaces the buffer at the top of the stack by a read-only one.
    fn make_buffer_read_only(&mut self) -> Result<()> {
        let Some(last) = self.last()?.node() else { return Ok(()) };
        match &mut self.graph.nodes[last as usize] {
            Node::Buffer { is_read_only, .. } => *is_read_only = true,
            // The bytes are the same, but Python makes another object.
            Node::ByteArray(span) => {
                let span = *span;
                // `finish` copies the bytes once for each object.
                self.budget.spend(span.len)?;
                self.pop()?;
                self.push_counted(Node::Bytes(span))?;
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn push_instance(&mut self, class: Slot, mark: usize, from: usize) -> Result<()> {
        let args = self.pop_items(from);
        self.stack.truncate(mark);
        // If there are no arguments, Python does not call `__init__`.
        let is_new = args.len == 0;
        let args = self.graph.add(Node::Tuple(args));
        self.push_call(class, args, Slot::ABSENT, is_new)
    }

    /// Returns the object for a class or function, always the same one for the same name.
    pub(super) fn global(&mut self, module: &str, name: &str) -> Result<Slot> {
        // Each call copies the names into `key`.
        self.budget.spend(module.len() + name.len())?;
        let is_old = self.protocol < 3;
        // Both names may contain spaces, so the length of the module's name is part of the key.
        let key = format!("{is_old} {} {module} {name}", module.len());
        if let Some(slot) = self.globals_by_key.get(&key) {
            return Ok(*slot);
        }
        let stored = (module, name);
        let (module, name) = if is_old { python_3_name(module, name) } else { stored };
        let reason = match is_joblib_array_inline(module, name) {
            Some(true) if !self.has_inline_arrays => {
                Some("a file of joblib.dump, which mixes the bytes of arrays into the pickle")
            }
            Some(false) => {
                Some("a file of an early version of joblib, whose arrays are in files of their own")
            }
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(Fault::Unsupported { part: FilePart::Pickle, reason: reason.into() }.into());
        }
        // `global_kinds` and the graph's table of names have the same indices.
        self.global_kinds.push(GlobalKind::of(module, name));
        let stored = ((module, name) != stored).then(|| Box::new((stored.0.to_owned(), stored.1.to_owned())));
        let names = &mut self.graph.rare_tables_mut().names;
        names.push(Name { module: module.into(), name: name.into(), stored });
        let number = names.len() as u32 - 1;
        let slot = self.graph.add(Node::Global(number));
        self.globals_by_key.insert(key, slot);
        Ok(slot)
    }

    /// Returns the meaning of the class or function that would be called.
    pub(in super::super) fn global_kind(&self, callable: Slot) -> GlobalKind {
        match callable.node().map(|number| self.graph.nodes[number as usize]) {
            Some(Node::Global(number)) => self.global_kinds[number as usize],
            _ => GlobalKind::Unknown,
        }
    }

    pub(super) fn push_call(&mut self, callable: Slot, args: Slot, kwargs: Slot, is_new: bool) -> Result<()> {
        if kwargs.is_absent()
            && !is_new
            && let Some(node) = self.evaluate_known_call(callable, args)?
        {
            return self.push_counted(node);
        }
        let (items, pairs, state) = (Span::default(), Span::default(), Slot::ABSENT);
        let calls = &mut self.graph.rare_tables_mut().calls;
        calls.push(CallParts { callable, args, kwargs, state, items, pairs, calls_new: is_new });
        let number = calls.len() as u32 - 1;
        self.push_counted(Node::Call(number))
    }
}
