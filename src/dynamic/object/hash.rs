//! Hashes of objects, in time bounded by a constant.

use std::hash::{Hash, Hasher};

use super::graph::Node;
use super::{Object, ObjectRef, View};

/// Hashes consistently with `==`.
///
/// Hashes at most 64 objects, and at most 64 parts of each. Of dicts and sets, only the length is hashed.
impl Hash for ObjectRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        visit_hashed_parts(*self, |part| hash_shallow(part, state));
    }
}

/// Visits an object and the parts within it that are hashed.
pub(super) fn visit_hashed_parts<'a>(object: ObjectRef<'a>, mut visit: impl FnMut(ObjectRef<'a>)) {
    const MAX_PARTS: usize = 64;
    let mut open = vec![object];
    for _ in 0..MAX_PARTS {
        let Some(object) = open.pop() else { break };
        visit(object);
        let from = match object.view() {
            View::Dict(_) | View::Set(_) | View::FrozenSet(_) | View::Scalar(_) => continue,
            View::Array(_) => 1,
            _ => 0,
        };
        let last = object.part_count().min(from + MAX_PARTS);
        open.extend((from..last).rev().filter_map(|index| object.part(index)));
    }
}

/// Hashes an object without its parts.
pub(super) fn hash_shallow<H: Hasher>(object: ObjectRef<'_>, state: &mut H) {
    let view = object.view();
    std::mem::discriminant(&view).hash(state);
    match view {
        View::Bool(value) => value.hash(state),
        View::Int(number) => number.hash(state),
        View::Float(number) => number.to_bits().hash(state),
        View::Complex(number) => (number.re.to_bits(), number.im.to_bits()).hash(state),
        View::Str(text) => text.hash(state),
        View::Bytes(bytes) | View::ByteArray(bytes) => bytes.hash(state),
        View::Decimal(digits) => digits.hash(state),
        View::Date(date) => date.hash(state),
        View::Time(time) => time.hash(state),
        View::Datetime(date, time) => (date, time).hash(state),
        View::Timedelta(length) => length.hash(state),
        View::Global(global) => global.hash(state),
        View::Scalar(scalar) => scalar.hash(state),
        View::Array(array) => (array.shape(), array.bytes()).hash(state),
        _ => object.part_count().hash(state),
    }
}

impl Hash for Object {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

/// Returns whether comparing or hashing an object without parts, a scalar or an array of numbers takes longer than
/// looking up whether that was done.
pub(super) fn is_large_leaf(object: ObjectRef<'_>) -> bool {
    const MAX_SMALL_BYTES: usize = 64;
    let Some((graph, node)) = object.node() else { return false };
    match node {
        Node::Text(span)
        | Node::Bytes(span)
        | Node::ByteArray(span)
        | Node::Decimal(span)
        | Node::Scalar(_, span) => span.len > MAX_SMALL_BYTES,
        Node::Codes(_) | Node::Big(_) => true,
        Node::Array(number) => !graph.array(*number).has_objects,
        Node::Global(number) => {
            let name = graph.name(*number);
            name.module.len() + name.name.len() > MAX_SMALL_BYTES
        }
        _ => false,
    }
}
