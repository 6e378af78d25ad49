//! Traversal of objects and their parts without recursion, which supports any depth.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::graph::{ArrayParts, CallParts, Graph, Id, Node, SharedGraph, Slot, Span, StoredDType};
use super::{Object, ObjectRef};

/// A depth-first traversal of objects.
///
/// The caller decides for each part whether to [`enter`](Self::enter) it.
pub(super) struct Walk<'a, T> {
    frames: Vec<Frame<'a, T>>,
    /// The objects that are being traversed, if they were entered by [`enter_unless_open`](Self::enter_unless_open).
    open: HashSet<Id>,
}

struct Frame<'a, T> {
    object: ObjectRef<'a>,
    next_part: usize,
    part_count: usize,
    note: T,
}

/// The next step of a walk, with the object whose parts are visited and the caller's note on it.
pub(super) enum Step<'a, 'b, T> {
    /// A part by its index; `None` if it is absent.
    Part(ObjectRef<'a>, usize, Option<ObjectRef<'a>>, &'b mut T),
    /// The object has no more parts.
    End(ObjectRef<'a>, T),
}

impl<'a, T> Walk<'a, T> {
    pub(super) fn new() -> Self {
        Self { frames: Vec::new(), open: HashSet::new() }
    }

    /// Enters an object: the next steps visit its parts.
    pub(super) fn enter(&mut self, object: ObjectRef<'a>, note: T) {
        self.frames.push(Frame { object, next_part: 0, part_count: object.part_count(), note });
    }

    /// Enters an object unless it is already being traversed; returns whether it was entered.
    pub(super) fn enter_unless_open(&mut self, object: ObjectRef<'a>, note: T) -> bool {
        let is_first = object.id().is_none_or(|id| self.open.insert(id));
        if is_first {
            self.enter(object, note);
        }
        is_first
    }

    pub(super) fn step(&mut self) -> Option<Step<'a, '_, T>> {
        let frame = self.frames.last()?;
        if frame.next_part == frame.part_count {
            let frame = self.frames.pop()?;
            if !self.open.is_empty() {
                frame.object.id().map(|id| self.open.remove(&id));
            }
            return Some(Step::End(frame.object, frame.note));
        }
        let frame = self.frames.last_mut()?;
        let number = frame.next_part;
        frame.next_part += 1;
        Some(Step::Part(frame.object, number, frame.object.part(number), &mut frame.note))
    }
}

/// Returns objects and everything they refer to, each once and after its parts, except values that are stored in their slots.
pub(super) fn in_post_order<'a>(objects: impl Iterator<Item = ObjectRef<'a>>) -> Vec<ObjectRef<'a>> {
    // Parts may be shared and may contain each other.
    let mut met = HashSet::new();
    let mut order = Vec::new();
    let mut walk = Walk::new();
    for object in objects {
        let mut next = Some(object);
        loop {
            if let Some(object) = next.filter(|object| object.id().is_some_and(|id| met.insert(id))) {
                walk.enter(object, ());
            }
            next = match walk.step() {
                Some(Step::Part(_, _, part, ())) => part,
                Some(Step::End(object, ())) => {
                    order.push(object);
                    None
                }
                None => break,
            };
        }
    }
    order
}

/// Copies an object, and everything it refers to, into a new graph.
pub(super) fn detached(object: ObjectRef<'_>) -> Object {
    if object.id().is_none() {
        return object.to_object();
    }
    // All objects are numbered before any is copied, because they may refer to one another in cycles.
    let order = in_post_order(std::iter::once(object));
    let new_node_numbers =
        order.iter().zip(0..).filter_map(|(object, number)| Some((object.id()?, number))).collect();
    let mut copy = Copier { graph: Graph::default(), new_node_numbers, dtypes: HashMap::new() };
    for object in &order {
        copy.add(*object);
    }
    copy.graph.add_indexes();
    let last = copy.graph.nodes.len() as u32 - 1; // not more nodes than in the graphs that were copied
    Object { slot: Slot::of_node(last), graph: Some(SharedGraph::new(copy.graph)) }
}

struct Copier {
    graph: Graph,
    new_node_numbers: HashMap<Id, u32>,
    dtypes: HashMap<Id, u32>,
}

impl Copier {
    fn new_slot(&self, part: Option<ObjectRef<'_>>) -> Slot {
        match part {
            None => Slot::ABSENT,
            Some(part) => part.id().map_or(*part.slot, |id| Slot::of_node(self.new_node_numbers[&id])),
        }
    }

    /// Copies `count` parts of an object, starting at index `from`, into the new graph.
    fn copy_parts(&mut self, object: ObjectRef<'_>, from: usize, count: usize) -> Span {
        let start = self.graph.slots.len();
        for index in from..from + count {
            let slot = self.new_slot(object.part(index));
            self.graph.slots.push(slot);
        }
        Span::new(start..self.graph.slots.len())
    }

    fn copy_bytes(&mut self, graph: &Graph, span: Span) -> Span {
        let table = &mut self.graph.rare_tables_mut().bytes;
        table.extend_from_slice(graph.bytes(span));
        Span::new(table.len() - span.len..table.len())
    }

    fn copy_dtype(&mut self, object: ObjectRef<'_>, graph: &Arc<SharedGraph>, number: u32) -> u32 {
        let key = Id { graph: Arc::as_ptr(graph).addr(), number };
        if let Some(number) = self.dtypes.get(&key) {
            return *number;
        }
        let origin = self.new_slot(object.part(0));
        let dtypes = &mut self.graph.rare_tables_mut().dtypes;
        dtypes.push(StoredDType { dtype: Arc::clone(&graph.dtype(number).dtype), origin });
        let made = dtypes.len() as u32 - 1;
        self.dtypes.insert(key, made);
        made
    }

    fn add(&mut self, object: ObjectRef<'_>) {
        let Some((graph, node)) = object.node() else { return };
        let count = object.part_count();
        let node = match *node {
            Node::Text(span) => Node::Text(self.graph.add_text(graph.text(span))),
            Node::Decimal(span) => Node::Decimal(self.graph.add_text(graph.text(span))),
            Node::Codes(number) => {
                let codes = graph.rare_tables().code_points[number as usize].clone();
                Node::Codes(push(&mut self.graph.rare_tables_mut().code_points, codes))
            }
            Node::Bytes(span) => Node::Bytes(self.copy_bytes(graph, span)),
            Node::ByteArray(span) => Node::ByteArray(self.copy_bytes(graph, span)),
            Node::List(_) => Node::List(self.copy_parts(object, 0, count)),
            Node::Tuple(_) => Node::Tuple(self.copy_parts(object, 0, count)),
            Node::Dict(_) => Node::Dict(self.copy_parts(object, 0, count)),
            Node::Set(_) => Node::Set(self.copy_parts(object, 0, count)),
            Node::FrozenSet(_) => Node::FrozenSet(self.copy_parts(object, 0, count)),
            Node::Big(number) => {
                let big = Arc::clone(&graph.rare_tables().bigs[number as usize]);
                Node::Big(push(&mut self.graph.rare_tables_mut().bigs, big))
            }
            Node::Scalar(dtype, span) => {
                let dtype = self.copy_dtype(object, graph, dtype);
                Node::Scalar(dtype, self.copy_bytes(graph, span))
            }
            Node::Array(number) => {
                let parts = graph.array(number).clone();
                let dtype = self.copy_dtype(object, graph, parts.dtype);
                let items = match parts.has_objects {
                    true => self.copy_parts(object, 1, count - 1),
                    false => self.copy_bytes(graph, parts.items),
                };
                let rest = self.graph.rare_tables_mut();
                let start = rest.axis_lengths.len();
                rest.axis_lengths.extend_from_slice(&graph.rare_tables().axis_lengths[parts.dims.range()]);
                let dims = Span::new(start..rest.axis_lengths.len());
                Node::Array(push(&mut rest.arrays, ArrayParts { dtype, dims, items, ..parts }))
            }
            Node::Global(number) => {
                let name = graph.name(number).clone();
                Node::Global(push(&mut self.graph.rare_tables_mut().names, name))
            }
            Node::Call(number) => {
                let CallParts { items, pairs, calls_new, .. } = *graph.call(number);
                let items_here = self.copy_parts(object, 3, items.len);
                let pairs_here = self.copy_parts(object, 3 + items.len, pairs.len);
                let [callable, args, kwargs, state] =
                    [0, 1, 2, count - 1].map(|index| self.new_slot(object.part(index)));
                let parts = CallParts {
                    callable,
                    args,
                    kwargs,
                    state,
                    items: items_here,
                    pairs: pairs_here,
                    calls_new,
                };
                Node::Call(push(&mut self.graph.rare_tables_mut().calls, parts))
            }
            Node::Persistent(_) => Node::Persistent(self.new_slot(object.part(0))),
            Node::Complex(_)
            | Node::Date(_)
            | Node::Time(_)
            | Node::Datetime(..)
            | Node::Timedelta(_)
            | Node::Extension(_)
            | Node::Buffer { .. } => *node,
            Node::Foreign(_) => unreachable!("a reference goes to where the object is"),
        };
        self.graph.add(node);
    }
}

/// Appends an entry to a table and returns its index; no table has more entries than there are nodes.
fn push<T>(table: &mut Vec<T>, entry: T) -> u32 {
    table.push(entry);
    table.len() as u32 - 1
}
