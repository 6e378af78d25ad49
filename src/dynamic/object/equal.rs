//! Equality of objects, in time bounded by the number of objects.

use super::graph::Node;
use super::hash::is_large_leaf;
use super::keys::KeyMatcher;
use super::union_find::UnionFind;
use super::{Object, ObjectRef, View};

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
