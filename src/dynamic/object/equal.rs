//! Equality of objects, in time bounded by the number of objects.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use super::graph::{Id, Node};
use super::keys::KeyMatcher;
use super::{Object, ObjectRef, View};
use crate::dtype::DType;

/// Compares strictly: see [the module](super).
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Object {}

impl PartialEq for ObjectRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        are_equal([(*self, *other)])
    }
}

impl Eq for ObjectRef<'_> {}

impl PartialEq<Object> for ObjectRef<'_> {
    fn eq(&self, other: &Object) -> bool {
        *self == other.as_ref()
    }
}

/// Returns whether the objects of two arrays are equal.
pub(in super::super) fn items_equal(one: &[Object], two: &[Object]) -> bool {
    one.len() == two.len() && are_equal(one.iter().zip(two).map(|(one, two)| (one.as_ref(), two.as_ref())))
}

/// A union-find structure of objects that are equal as far as they have been compared.
///
/// Comparing two objects joins their sets. So there are no more comparisons than objects, even if objects
/// share parts, and comparing objects that contain themselves terminates. Joining the sets before the parts
/// are compared is sound, because the first difference ends the entire comparison.
#[derive(Default)]
pub(super) struct UnionFind {
    parents: HashMap<Id, Id>,
}

impl UnionFind {
    /// Joins the sets of two objects; returns whether they had not been compared before.
    pub(super) fn join(&mut self, one: Option<Id>, two: Option<Id>) -> bool {
        let Some((one, two)) = one.zip(two) else { return true };
        let (one, two) = (self.representative(one), self.representative(two));
        one != two && {
            self.parents.insert(one, two);
            true
        }
    }

    /// Returns whether two objects have been joined.
    fn are_joined(&mut self, one: Option<Id>, two: Option<Id>) -> bool {
        one.zip(two).is_some_and(|(one, two)| self.representative(one) == self.representative(two))
    }

    /// Returns whether two dtypes are equal; they are compared once, however many scalars and arrays share them.
    pub(super) fn are_equal_dtypes(&mut self, one: &DType, two: &DType) -> bool {
        let id = |dtype: &DType| Some(Id { graph: std::ptr::from_ref(dtype).addr(), number: 0 });
        !self.join(id(one), id(two)) || one == two
    }

    /// Returns the representative of an object's set, and shortens the path to it for later calls.
    fn representative(&mut self, object: Id) -> Id {
        let mut representative = object;
        while let Some(next) = self.parents.get(&representative) {
            representative = *next;
        }
        let mut at = object;
        while at != representative {
            at = self.parents.insert(at, representative).unwrap_or(representative);
        }
        representative
    }
}

fn are_equal<'a>(pairs: impl IntoIterator<Item = (ObjectRef<'a>, ObjectRef<'a>)>) -> bool {
    let (mut sets, mut keys) = (UnionFind::default(), KeyMatcher::default());
    let mut open = Vec::new();
    pairs.into_iter().all(|(one, two)| {
        open.push((one, two));
        while let Some((one, two)) = open.pop() {
            if !compare_shallowly(one, two, &mut sets, &mut keys, &mut open) {
                return false;
            }
        }
        true
    })
}

/// Compares two objects without their parts, which are appended to `open`.
fn compare_shallowly<'a>(
    one: ObjectRef<'a>,
    two: ObjectRef<'a>,
    sets: &mut UnionFind,
    keys: &mut KeyMatcher,
    open: &mut Vec<(ObjectRef<'a>, ObjectRef<'a>)>,
) -> bool {
    if one.is_same(two) {
        return true;
    }
    if one.part_count() != two.part_count() {
        return false;
    }
    // The sets are joined before anything is compared, so the comparison of cycles terminates, and a large text that
    // is shared many times is compared once.
    if !is_cheap_to_compare(one) && !sets.join(one.id(), two.id()) {
        return true;
    }
    let are_equal_shallowly = match (one.view(), two.view()) {
        (View::None, View::None)
        | (View::List(_), View::List(_))
        | (View::Tuple(_), View::Tuple(_))
        | (View::Dict(_), View::Dict(_))
        | (View::Set(_), View::Set(_))
        | (View::FrozenSet(_), View::FrozenSet(_))
        | (View::Persistent(_), View::Persistent(_)) => true,
        (View::Bool(one), View::Bool(two)) => one == two,
        (View::Int(one), View::Int(two)) => one == two,
        (View::Float(one), View::Float(two)) => one.to_bits() == two.to_bits(),
        (View::Complex(one), View::Complex(two)) => {
            (one.re.to_bits(), one.im.to_bits()) == (two.re.to_bits(), two.im.to_bits())
        }
        (View::Str(one), View::Str(two)) => one == two,
        (View::Decimal(one), View::Decimal(two)) => one == two,
        (View::Bytes(one), View::Bytes(two)) | (View::ByteArray(one), View::ByteArray(two)) => one == two,
        (View::Scalar(one), View::Scalar(two)) => {
            return one.bytes() == two.bytes() && sets.are_equal_dtypes(one.dtype(), two.dtype());
        }
        (View::Array(one), View::Array(two)) => {
            (one.shape(), one.order(), one.bytes()) == (two.shape(), two.order(), two.bytes())
                && sets.are_equal_dtypes(one.dtype(), two.dtype())
        }
        (View::Date(one), View::Date(two)) => one == two,
        (View::Time(one), View::Time(two)) => one == two,
        (View::Datetime(one, at), View::Datetime(two, other)) => (one, at) == (two, other),
        (View::Timedelta(one), View::Timedelta(two)) => one == two,
        (View::Global(one), View::Global(two)) => one == two,
        (View::Call(one), View::Call(two)) => {
            one.is_new() == two.is_new() && one.items().len() == two.items().len()
        }
        (View::Extension(one), View::Extension(two)) => one == two,
        (View::Buffer(one), View::Buffer(two)) => one == two,
        _ => false,
    };
    if !are_equal_shallowly || one.part_count() == 0 {
        return are_equal_shallowly;
    }
    let step = match one.node() {
        Some((_, Node::Dict(_))) => 2,
        Some((_, Node::Set(_) | Node::FrozenSet(_))) => 1,
        // The first part of an array is the object that its dtype was decoded from. The dtypes have been
        // compared above, so only the classes of these objects remain to be compared.
        Some((_, Node::Array(_))) => {
            let class = |array: ObjectRef<'a>| array.part(0).and_then(|dtype| dtype.part(0));
            open.extend(class(one).zip(class(two)));
            return push_parts(one, two, 1, open);
        }
        _ => return push_parts(one, two, 0, open),
    };
    if is_key_order_obviously_same(one, two, step, sets) {
        return push_parts(one, two, 0, open);
    }
    let Some(places) = keys.match_keys(one, two, step) else { return false };
    for (number, place) in places.into_iter().enumerate() {
        let parts = (0..step).map(|part| one.part(number * step + part).zip(two.part(place * step + part)));
        open.extend(parts.flatten());
    }
    true
}

/// Returns whether comparing an object again takes no longer than looking up whether it has been compared.
fn is_cheap_to_compare(object: ObjectRef<'_>) -> bool {
    const MAX_CHEAP_PARTS: usize = 4;
    let count = object.part_count();
    match count {
        0 => !is_large_leaf(object),
        _ if count > MAX_CHEAP_PARTS
            || !matches!(object.node(), Some((_, Node::List(_) | Node::Tuple(_) | Node::Dict(_)))) =>
        {
            false
        }
        _ => (0..count)
            .filter_map(|index| object.part(index))
            .all(|part| part.part_count() == 0 && !is_large_leaf(part)),
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

fn push_parts<'a>(
    one: ObjectRef<'a>,
    two: ObjectRef<'a>,
    from: usize,
    open: &mut Vec<(ObjectRef<'a>, ObjectRef<'a>)>,
) -> bool {
    (from..one.part_count()).rev().all(|index| match (one.part(index), two.part(index)) {
        (Some(one), Some(two)) => {
            open.push((one, two));
            true
        }
        (one, two) => one.is_none() && two.is_none(),
    })
}

/// Returns whether a cheap test shows that two dicts or sets have their keys in the same order.
fn is_key_order_obviously_same(
    one: ObjectRef<'_>,
    two: ObjectRef<'_>,
    step: usize,
    sets: &mut UnionFind,
) -> bool {
    (0..one.part_count()).step_by(step).all(|index| match (one.part(index), two.part(index)) {
        (Some(one), Some(two)) if one.slot.is_canonical_key() => one.slot == two.slot,
        // A large text that is shared is compared once: here it is enough that it was.
        (Some(one), Some(two)) if is_large_leaf(one) => sets.are_joined(one.id(), two.id()),
        (Some(one), Some(two)) => one.as_str().zip(two.as_str()).is_some_and(|(one, two)| one == two),
        _ => false,
    })
}

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
