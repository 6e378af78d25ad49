//! The last step of reading: checks the graph as a whole and makes it independent of the pickle.

use std::sync::Arc;

use super::graph::{BackingBytes, Graph, Node, SharedGraph, Slot, Span};
use super::graph_view::malformed;
use super::keys::{KeyHasher, UNHASHABLE_REASON};
use super::load_effects::LoadEffects;
use super::machine::Unpickled;
use super::source::PickleSource;
use super::{Object, ObjectRef};
use crate::error::{LimitKind, Result};
use crate::limits::{self, Limits};

/// Finishes the graph of a pickle and returns its object, and what Python would do to load it.
///
/// If what the pickle was read from is kept, bytes stay there.
pub(super) fn finish(
    read: Unpickled,
    source: &PickleSource<'_>,
    kept: Option<&BackingBytes>,
    limits: &Limits,
) -> Result<(Object, LoadEffects)> {
    let Unpickled { mut graph, top, .. } = read;
    if top.node().is_none() && graph.rare_tables.is_none() {
        return Ok((Object { slot: top, graph: None }, LoadEffects::default()));
    }
    let calls = calls(&graph);
    // The heights come first, because they also show which objects are reachable. Others are skipped, except the
    // calls that Python makes for objects that it then discards.
    let mut heights = vec![0; graph.nodes.len()];
    let max_height = top.node().map(|top| (top, limits.get_object_height()));
    // What is discarded is not limited: Python loads it, and nothing here recurses.
    for (first, max_height) in max_height.into_iter().chain(calls.iter().map(|call| (*call, u32::MAX - 1))) {
        find_heights(&graph, first, max_height, &mut heights)?;
    }
    match kept {
        None => copy_reachable_bytes(&mut graph, source, &heights),
        Some(kept) => graph.rare_tables_mut().backing = Some((Arc::clone(kept), source.len())),
    }
    graph.add_indexes();
    let mut foreign_calls =
        graph.rare_tables.as_mut().map_or_else(Vec::new, |rest| std::mem::take(&mut rest.foreign_calls));
    let mut shared = SharedGraph::new(graph);
    let entries_to_keep = entries_to_keep(&shared, &heights)?;
    if let Some(shared) = Arc::get_mut(&mut shared) {
        for (number, kept) in entries_to_keep {
            shared.retain_keys(number, &kept);
        }
    }
    let object = Object { slot: top, graph: top.node().map(|_| Arc::clone(&shared)) };
    let mut all = Vec::with_capacity(calls.len());
    for number in calls {
        match shared.nodes[number as usize] {
            Node::Foreign(foreign) => all.append(&mut foreign_calls[foreign as usize]),
            _ => all.push(Object { slot: Slot::of_node(number), graph: Some(Arc::clone(&shared)) }),
        }
    }
    Ok((object, LoadEffects { graph: Some(shared), calls: all }))
}

/// Returns the calls in the order in which Python makes them, and the objects of other pickles, which have calls of their own.
fn calls(graph: &Graph) -> Vec<u32> {
    let has_calls =
        graph.rare_tables.as_ref().is_some_and(|rest| !rest.calls.is_empty() || !rest.foreign.is_empty());
    let is_call = |node: &Node| matches!(node, Node::Call(_) | Node::Foreign(_));
    let numbered = || (0u32..).zip(&graph.nodes).filter(|(_, node)| is_call(node)).map(|(number, _)| number);
    if has_calls { numbered().collect() } else { Vec::new() }
}

/// Computes the height of each object that is reachable from `first`.
///
/// The height of an object is one more than that of its highest part, or 0 if the object is unreachable.
fn find_heights(graph: &Graph, first: u32, max_height: u32, heights: &mut [u32]) -> Result<()> {
    /// Marks an object whose parts are being visited; a part with this mark closes a cycle.
    const OPEN: u32 = u32::MAX;
    if heights[first as usize] != 0 {
        return Ok(());
    }
    let mut open = vec![(first, 0, 1)];
    heights[first as usize] = OPEN;
    while let Some((number, next, height)) = open.last_mut() {
        let count = graph.part_count(*number);
        let mut further = None;
        let (first, items) = graph.items(*number);
        while *next < count && further.is_none() {
            let part = match next.checked_sub(first) {
                Some(index) => items[index],
                None => *graph.part(*number, *next),
            };
            if let Some(part) = part.node() {
                match heights[part as usize] {
                    0 if graph.part_count(part) == 0 => {
                        heights[part as usize] = 1;
                        *height = 2.max(*height);
                    }
                    0 => further = Some(part),
                    OPEN => {}
                    known => *height = (known + 1).max(*height),
                }
            }
            *next += 1;
        }
        limits::check(LimitKind::ObjectNesting, (*height).into(), max_height.into())?;
        if let Some(part) = further {
            // A height is known only after the parts have been visited, so the depth is limited too.
            limits::check(LimitKind::ObjectNesting, open.len() as u64 + 1, max_height.into())?;
            heights[part as usize] = OPEN;
            open.push((part, 0, 1));
            continue;
        }
        let (number, height) = (*number, *height);
        heights[number as usize] = height;
        open.pop();
        if let Some((_, _, above)) = open.last_mut() {
            *above = (height + 1).max(*above);
        }
    }
    Ok(())
}

/// Copies the bytes of reachable objects out of what the pickle was read from.
fn copy_reachable_bytes(graph: &mut Graph, source: &PickleSource<'_>, heights: &[u32]) {
    let mut spans = Vec::new();
    for (number, node) in graph.nodes.iter().enumerate().filter(|(number, _)| heights[*number] > 0) {
        match node {
            Node::Bytes(span) | Node::ByteArray(span) | Node::Scalar(_, span) => spans.push((number, *span)),
            Node::Array(array) if !graph.array(*array).has_objects => {
                spans.push((number, graph.array(*array).items))
            }
            _ => {}
        }
    }
    if spans.is_empty() {
        return;
    }
    let mut bytes = Vec::with_capacity(spans.iter().map(|(_, span)| span.len).sum());
    for (_, span) in &mut spans {
        let start = bytes.len();
        bytes.extend_from_slice(graph.bytes_in(source, *span));
        span.start = start;
    }
    graph.rare_tables_mut().bytes = bytes;
    for (number, span) in spans {
        match &mut graph.nodes[number] {
            Node::Bytes(place) | Node::ByteArray(place) | Node::Scalar(_, place) => *place = span,
            Node::Array(array) => {
                let array = *array as usize;
                graph.rare_tables_mut().arrays[array].items = span;
            }
            _ => {}
        }
    }
}

/// Finds the dicts and sets with duplicate keys, and returns which of their items to keep.
fn entries_to_keep(graph: &Arc<SharedGraph>, heights: &[u32]) -> Result<Vec<(u32, Vec<[usize; 2]>)>> {
    let mut keys = KeyHasher::with_python_equality();
    let mut entries_to_keep = Vec::new();
    for (number, node) in (0u32..).zip(&graph.nodes) {
        let step = match node {
            _ if heights[number as usize] == 0 => continue,
            Node::Dict(span) if span.len > 0 => 2,
            Node::Set(span) | Node::FrozenSet(span) if span.len > 0 => 1,
            _ => continue,
        };
        let slot = Slot::of_node(number);
        let kept = keys.deduplicated_entries(ObjectRef::new(&slot, Some(graph)), step);
        let kept = kept.ok_or_else(|| malformed(UNHASHABLE_REASON))?;
        entries_to_keep.extend(kept.map(|kept| (number, kept)));
    }
    Ok(entries_to_keep)
}

impl SharedGraph {
    /// Keeps only the given keys of a dict or set, each with the index of its final value.
    pub(super) fn retain_keys(&mut self, number: u32, kept: &[[usize; 2]]) {
        let graph = self.graph_mut();
        // The items get new slots, because a set may share its old ones with the list it was created from.
        let start = graph.slots.len();
        let (span, is_dict) = match graph.nodes[number as usize] {
            Node::Dict(span) => (span, true),
            Node::Set(span) | Node::FrozenSet(span) => (span, false),
            _ => return,
        };
        for [key, value] in kept {
            match is_dict {
                true => graph
                    .slots
                    .extend([graph.slots[span.start + 2 * key], graph.slots[span.start + 2 * value + 1]]),
                false => graph.slots.push(graph.slots[span.start + key]),
            }
        }
        let span = Span::new(start..graph.slots.len());
        match &mut graph.nodes[number as usize] {
            Node::Dict(place) | Node::Set(place) | Node::FrozenSet(place) => *place = span,
            _ => {}
        }
    }
}

/// Reads one pickle, and returns its object, what loading does, and its length in bytes.
pub(super) fn read(
    pickle: &[u8],
    limits: &Limits,
    old_text: crate::options::OldText,
) -> Result<(Object, LoadEffects, usize)> {
    let source = PickleSource::new(pickle);
    let read = super::machine::read(&source, limits, old_text)?;
    let used = read.pickle_len;
    let (object, load_effects) = finish(read, &source, None, limits)?;
    Ok((object, load_effects, used))
}
