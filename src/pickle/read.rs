//! From opcodes to nodes: a machine with a stack and a memo, and without recursion.

use std::collections::HashMap;

use super::opcode::*;
use super::{Call, Graph, Item, Node, Span, item, text};
use crate::error::{Error, ErrorKind, Limited, Result};
use crate::limits::{self, Limits};

/// Reads one pickle. What follows it is left: [`Graph::used`] says where it ends.
pub(crate) fn parse(pickle: &[u8], limits: &Limits) -> Result<Graph> {
    let mut machine = Machine {
        pickle,
        at: 0,
        protocol: 0,
        opcode: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        far: HashMap::new(),
        memoized: 0,
        shared: HashMap::new(),
        nodes: Vec::new(),
        most: limits.the_objects(),
    };
    loop {
        machine.opcode = machine.at;
        match item::atom(&pickle[machine.at..]) {
            Ok(Some((_, used))) => {
                machine.stack.push(Item::at(machine.at));
                machine.at += used;
                continue;
            }
            Ok(None) => {}
            Err(fault) => return Err(machine.fault(fault.to_string())),
        }
        let [opcode] = machine.take()?;
        if opcode == STOP {
            let top = machine.pop()?;
            let Machine { nodes, protocol, at: used, .. } = machine;
            return Ok(Graph { nodes, top, protocol, used });
        }
        machine.step(opcode)?;
    }
}

struct Machine<'a> {
    pickle: &'a [u8],
    at: usize,
    protocol: u8,
    /// Where the opcode stands that is being done.
    opcode: usize,
    stack: Vec<Item>,
    /// How high the stack was at each mark.
    marks: Vec<usize>,
    memo: Vec<Option<Item>>,
    /// What has been put far behind the end of the memo, as only who means harm does.
    far: HashMap<u64, Item>,
    /// How many places of the memo are taken: where `MEMOIZE` puts the next.
    memoized: u64,
    /// The nodes of the atoms that several refer to, by where their opcodes stand.
    shared: HashMap<usize, Item>,
    nodes: Vec<Node>,
    most: u64,
}

impl Machine<'_> {
    fn fault(&self, reason: impl Into<String>) -> Error {
        ErrorKind::BadPickle { reason: reason.into(), offset: Some(self.opcode) }.into()
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.pickle.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let bytes = *bytes.ok_or_else(|| self.fault("the pickle is cut"))?;
        self.at += N;
        Ok(bytes)
    }

    fn span(&mut self, len: u64) -> Result<Span> {
        let left = self.pickle.len() - self.at;
        match usize::try_from(len) {
            Ok(len) if len <= left => {
                let span = Span { at: self.at, len };
                self.at += len;
                Ok(span)
            }
            _ => Err(self.fault(format!("it promises {len} bytes, and {left} follow"))),
        }
    }

    /// The rest of the line, without its end.
    fn line(&mut self) -> Result<Span> {
        let line = item::line(&self.pickle[self.at..]).ok_or_else(|| self.fault("the pickle is cut"))?;
        let span = Span { at: self.at, len: line.len() };
        self.at += line.len() + 1;
        Ok(span)
    }

    fn line_text(&mut self) -> Result<&str> {
        let line = self.line()?.of(self.pickle);
        std::str::from_utf8(line).map_err(|_| self.fault("its argument is no text"))
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let parsed = self.line_text()?.trim().parse();
        parsed.map_err(|_| self.fault("its argument is no number"))
    }

    fn pop(&mut self) -> Result<Item> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.len() > floor {
            true => Ok(self.stack.pop().expect("it is higher than its floor")),
            false => Err(self.fault("nothing is left on the stack")),
        }
    }

    fn last(&self) -> Result<Item> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.last() {
            Some(last) if self.stack.len() > floor => Ok(*last),
            _ => Err(self.fault("nothing is left on the stack")),
        }
    }

    /// Where the items begin that stand above the last mark, which goes.
    fn mark(&mut self) -> Result<usize> {
        self.marks.pop().ok_or_else(|| self.fault("there is no mark on the stack"))
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Item>> {
        let mark = self.mark()?;
        Ok(self.stack.split_off(mark))
    }

    fn push_node(&mut self, node: Node) -> Result<()> {
        limits::check(Limited::Objects, self.nodes.len() as u64 + 1, self.most)?;
        let number = u32::try_from(self.nodes.len()).map_err(|_| self.fault("there are too many objects"))?;
        self.nodes.push(node);
        self.stack.push(Item::of_node(number));
        Ok(())
    }

    /// The node that is last on the stack.
    fn last_node(&mut self) -> Result<&mut Node> {
        match self.last()?.place() {
            Ok(number) => Ok(&mut self.nodes[number]),
            Err(_) => Err(self.fault("it works on an object, and there is none on the stack")),
        }
    }

    fn put(&mut self, index: u64) -> Result<()> {
        let item = self.last()?;
        let len = self.memo.len() as u64;
        let old = match usize::try_from(index) {
            Ok(index) if (index as u64) < len => self.memo[index].replace(item),
            // What was far away once may be next by now.
            Ok(_) if index == len => {
                self.memo.push(Some(item));
                self.far.remove(&index)
            }
            // Python 2 begins with 1.
            Ok(1) => {
                self.memo.extend([None, Some(item)]);
                self.far.remove(&1)
            }
            _ => self.far.insert(index, item),
        };
        self.memoized += u64::from(old.is_none());
        Ok(())
    }

    fn get(&mut self, index: u64) -> Result<()> {
        let near = usize::try_from(index).ok().and_then(|index| *self.memo.get(index)?);
        let item = near.or_else(|| self.far.get(&index).copied());
        let item =
            item.ok_or_else(|| self.fault(format!("nothing was put at number {index} of the memo")))?;
        self.stack.push(item);
        if item.place().is_err() {
            self.share()?;
            self.put(index)?;
        }
        Ok(())
    }

    /// Makes a node of the atom that is last on the stack, so that it is made once for all who refer to it, by however many
    /// numbers of the memo.
    fn share(&mut self) -> Result<()> {
        let item = self.pop()?;
        let Err(place) = item.place() else {
            self.stack.push(item);
            return Ok(());
        };
        if let Some(node) = self.shared.get(&place) {
            self.stack.push(*node);
            return Ok(());
        }
        self.push_node(Node::Shared(item))?;
        self.shared.insert(place, self.last()?);
        Ok(())
    }

    fn step(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            MEMOIZE => self.put(self.memoized)?,
            DUP => {
                if self.last()?.place().is_err() {
                    self.share()?;
                }
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
                let (len, left) = (u64::from_le_bytes(self.take()?), self.pickle.len() - self.at);
                if len > left as u64 {
                    return Err(self.fault(format!("it promises a frame of {len} bytes, and {left} follow")));
                }
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
                let mark = self.mark()?;
                self.stack.truncate(mark);
            }
            PUT => {
                let index = self.number()?;
                self.put(index)?;
            }
            BINPUT => {
                let [index] = self.take()?;
                self.put(index.into())?;
            }
            LONG_BINPUT => {
                let index = u32::from_le_bytes(self.take()?);
                self.put(index.into())?;
            }
            GET => {
                let index = self.number()?;
                self.get(index)?;
            }
            BINGET => {
                let [index] = self.take()?;
                self.get(index.into())?;
            }
            LONG_BINGET => {
                let index = u32::from_le_bytes(self.take()?);
                self.get(index.into())?;
            }
            INT | LONG | STRING | UNICODE => self.step_text(opcode)?,
            BYTEARRAY8 => {
                let len = u64::from_le_bytes(self.take()?);
                let span = self.span(len)?;
                self.push_node(Node::ByteArray(span))?;
            }
            _ => self.step_nodes(opcode)?,
        }
        Ok(())
    }

    /// The opcodes that make nodes out of others, or change them.
    fn step_nodes(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            EMPTY_LIST => self.push_node(Node::List(Vec::new())),
            EMPTY_TUPLE => self.push_node(Node::Tuple(Vec::new())),
            EMPTY_DICT => self.push_node(Node::Dict(Vec::new())),
            EMPTY_SET => self.push_node(Node::Set(Vec::new())),
            LIST => {
                let items = self.pop_to_mark()?;
                self.push_node(Node::List(items))
            }
            TUPLE => {
                let items = self.pop_to_mark()?;
                self.push_node(Node::Tuple(items))
            }
            TUPLE1 | TUPLE2 | TUPLE3 => {
                let mut items = Vec::with_capacity(3);
                for _ in 0..=opcode - TUPLE1 {
                    items.push(self.pop()?);
                }
                items.reverse();
                self.push_node(Node::Tuple(items))
            }
            DICT => {
                let pairs = self.pop_to_mark()?;
                self.check_pairs(&pairs)?;
                self.push_node(Node::Dict(pairs))
            }
            FROZENSET => {
                let items = self.pop_to_mark()?;
                self.push_node(Node::FrozenSet(items))
            }
            APPEND => {
                let item = self.pop()?;
                self.append(&[item])
            }
            APPENDS => {
                let items = self.pop_to_mark()?;
                self.append(&items)
            }
            SETITEM => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.set(&[key, value])
            }
            SETITEMS => {
                let pairs = self.pop_to_mark()?;
                self.check_pairs(&pairs)?;
                self.set(&pairs)
            }
            ADDITEMS => {
                let items = self.pop_to_mark()?;
                match self.last_node()? {
                    Node::Set(set) => set.extend(items),
                    _ => return Err(self.fault("it adds to a set, and there is none on the stack")),
                }
                Ok(())
            }
            GLOBAL => {
                let (module, name) = (self.line()?, self.line()?);
                self.push_node(Node::GlobalLines { module, name })
            }
            STACK_GLOBAL => {
                let name = self.pop()?;
                let module = self.pop()?;
                self.push_node(Node::Global { module, name })
            }
            // What Python 2 made instances by: a class, and what it is called with above the mark.
            INST => {
                let (module, name) = (self.line()?, self.line()?);
                let args = self.pop_to_mark()?;
                self.push_node(Node::GlobalLines { module, name })?;
                let class = self.pop()?;
                self.push_node(Node::Tuple(args))?;
                let args = self.pop()?;
                self.call(class, args, None, false)
            }
            OBJ => {
                let mut args = self.pop_to_mark()?;
                if args.is_empty() {
                    return Err(self.fault("an instance has no class"));
                }
                let class = args.remove(0);
                self.push_node(Node::Tuple(args))?;
                let args = self.pop()?;
                self.call(class, args, None, false)
            }
            REDUCE | NEWOBJ => {
                let args = self.pop()?;
                let callable = self.pop()?;
                self.call(callable, args, None, opcode == NEWOBJ)
            }
            NEWOBJ_EX => {
                let kwargs = self.pop()?;
                let args = self.pop()?;
                let callable = self.pop()?;
                self.call(callable, args, Some(kwargs), true)
            }
            BUILD => {
                let state = self.pop()?;
                match self.last_node()? {
                    Node::Call(call) if call.state.is_none() => call.state = Some(state),
                    _ => return Err(self.fault("it gives a state to what takes none")),
                }
                Ok(())
            }
            other => Err(self.fault(format!("the opcode {other:#04x} is not known here"))),
        }
    }

    fn call(&mut self, callable: Item, args: Item, kwargs: Option<Item>, is_new: bool) -> Result<()> {
        let (state, items, pairs) = (None, Vec::new(), Vec::new());
        self.push_node(Node::Call(Box::new(Call { callable, args, kwargs, is_new, state, items, pairs })))
    }

    fn append(&mut self, more: &[Item]) -> Result<()> {
        match self.last_node()? {
            Node::List(items) => items.extend_from_slice(more),
            Node::Call(call) => call.items.extend_from_slice(more),
            _ => return Err(self.fault("it appends to a list, and there is none on the stack")),
        }
        Ok(())
    }

    fn set(&mut self, more: &[Item]) -> Result<()> {
        match self.last_node()? {
            Node::Dict(pairs) => pairs.extend_from_slice(more),
            Node::Call(call) => call.pairs.extend_from_slice(more),
            _ => return Err(self.fault("it sets items of a dict, and there is none on the stack")),
        }
        Ok(())
    }

    fn check_pairs(&self, pairs: &[Item]) -> Result<()> {
        match pairs.len().is_multiple_of(2) {
            true => Ok(()),
            false => Err(self.fault("a key of a dict has no value")),
        }
    }

    /// The texts that are no part of the pickle as they are, and the numbers of more digits than an `i64` has.
    fn step_text(&mut self, opcode: u8) -> Result<()> {
        let line = self.line()?.of(self.pickle);
        let fault = |machine: &Self| machine.fault(item::Fault::NoNumber.to_string());
        let node = match opcode {
            STRING => Node::OldText(text::string(line).ok_or_else(|| fault(self))?),
            UNICODE => Node::Text(text::raw_unicode(line).ok_or_else(|| fault(self))?),
            _ => {
                /// Python itself takes no more, since decimal numbers take long.
                const MOST: u64 = 4300;
                let digits = text::digits(line).ok_or_else(|| fault(self))?;
                limits::check(Limited::Digits, digits.len() as u64, MOST)?;
                Node::Digits(digits.to_owned())
            }
        };
        self.push_node(node)
    }
}
