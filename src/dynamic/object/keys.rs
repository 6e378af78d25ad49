//! Keys of dicts and sets, and which of them Python considers equal.

mod leaf;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;

pub(super) use leaf::is_decimal;
use leaf::{KeyKind, Leaf, kind};

use super::graph::{Id, Node, SlotContents};
use super::hash::{hash_shallow, is_large_leaf, visit_hashed_parts};
use super::key_index::{KeyIndex, MAX_WITHOUT_INDEX, PositionsByHash};
use super::union_find::UnionFind;
use super::{ObjectRef, View};
use crate::dtype::DType;

/// The hash of a key, and whether a different object can be equal to the key.
#[derive(Clone, Copy)]
struct KeyHash {
    hash: u64,
    can_equal_others: bool,
}

/// Which keys are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyEquality {
    /// Those that a dict of Python cannot have both. What is not equal to itself, as a NaN, is the same key only
    /// as the same object; a value that is stored in a slot is an object at each place.
    Python,
    /// Those that a lookup finds: NaNs are the same key if their bits are.
    Lookup,
    /// Those with the same content, to tell objects apart that are equal only to themselves.
    Content,
}

/// A hasher and comparer of keys; keys that are the same have equal hashes.
pub(super) struct KeyHasher {
    state: RandomState,
    /// The hashes of keys that are not [short](is_short), so that each is visited only once.
    cached: HashMap<Id, KeyHash>,
    /// The hashes of the dtypes of scalars by their addresses: many scalars share a dtype with many fields.
    dtype_hashes: HashMap<*const DType, u64>,
    /// The hashes of large texts and arrays, which many objects with content to be hashed may share.
    large_leaf_hashes: HashMap<Id, u64>,
    equal: UnionFind,
    equality: KeyEquality,
}

impl KeyHasher {
    /// Returns a hasher of keys that a dict of Python could have.
    pub(super) fn with_python_equality() -> Self {
        Self::new(RandomState::new(), KeyEquality::Python)
    }

    fn new(state: RandomState, equality: KeyEquality) -> Self {
        let (cached, dtype_hashes, large_leaf_hashes) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { state, cached, dtype_hashes, large_leaf_hashes, equal: UnionFind::default(), equality }
    }

    /// Returns the kind of a key; a leaf that is not equal to itself becomes an [object](Leaf::Identity).
    fn kind<'a>(&self, key: ObjectRef<'a>) -> KeyKind<'a> {
        match kind(key) {
            KeyKind::Leaf(leaf) if self.equality == KeyEquality::Python && leaf.is_nan() => {
                KeyKind::Leaf(Leaf::Identity(key.id_or_slot_address()))
            }
            kind => kind,
        }
    }

    /// Hashes a key without parts.
    fn hash_leaf(&mut self, key: ObjectRef<'_>, leaf: &Leaf<'_>) -> KeyHash {
        let hash = match (self.equality, leaf) {
            (KeyEquality::Content, _) => self.hash_content(key),
            (_, Leaf::Scalar(dtype, bytes)) => {
                let of_dtype = self.hash_dtype(dtype);
                self.state.hash_one((of_dtype, bytes))
            }
            _ => self.state.hash_one(leaf),
        };
        KeyHash { hash, can_equal_others: !matches!(leaf, Leaf::Identity(_)) }
    }

    fn hash_dtype(&mut self, dtype: &DType) -> u64 {
        *self.dtype_hashes.entry(dtype).or_insert_with(|| self.state.hash_one(dtype))
    }

    /// Hashes what an object has in it, as its `Hash` does.
    fn hash_content(&mut self, object: ObjectRef<'_>) -> u64 {
        let mut hasher = self.state.build_hasher();
        visit_hashed_parts(object, |part| match (part.id(), part.view()) {
            (_, View::Scalar(scalar)) => (self.hash_dtype(scalar.dtype()), scalar.bytes()).hash(&mut hasher),
            (Some(id), _) if is_large_leaf(part) => {
                let large = self.large_leaf_hashes.entry(id).or_insert_with(|| {
                    let mut hasher = self.state.build_hasher();
                    hash_shallow(part, &mut hasher);
                    hasher.finish()
                });
                large.hash(&mut hasher);
            }
            _ => hash_shallow(part, &mut hasher),
        });
        hasher.finish()
    }

    /// Hashes a key; `None` if it is not hashable.
    fn hash(&mut self, key: ObjectRef<'_>) -> Option<u64> {
        self.key_hash(key).map(|hashed| hashed.hash)
    }

    fn key_hash(&mut self, key: ObjectRef<'_>) -> Option<KeyHash> {
        if is_short(key) {
            return self.hash_short(key);
        }
        let mut open = vec![(key, 0)];
        while let Some((object, next)) = open.pop() {
            if is_short(object) || object.id().is_some_and(|id| self.cached.contains_key(&id)) {
                continue;
            }
            match self.kind(object) {
                KeyKind::None => return None,
                KeyKind::Leaf(leaf) => {
                    let hashed = self.hash_leaf(object, &leaf);
                    match object.id() {
                        Some(id) => drop(self.cached.insert(id, hashed)),
                        None if open.is_empty() => return Some(hashed),
                        None => {}
                    }
                }
                KeyKind::Tuple | KeyKind::FrozenSet => match object.items().and_then(|items| items.get(next))
                {
                    Some(part) => {
                        open.push((object, next + 1));
                        open.push((part, 0));
                    }
                    None => {
                        let hash = self.hash_parts(object);
                        // Every object with parts has a node.
                        object.id().map(|id| self.cached.insert(id, hash));
                    }
                },
            }
        }
        key.id().map(|id| self.cached[&id])
    }

    /// Hashes a key that is [short](is_short), for which that costs less than looking up what it was before.
    fn hash_short(&mut self, key: ObjectRef<'_>) -> Option<KeyHash> {
        match self.kind(key) {
            KeyKind::Leaf(leaf) => Some(self.hash_leaf(key, &leaf)),
            _ => None,
        }
    }

    fn hash_parts(&mut self, object: ObjectRef<'_>) -> KeyHash {
        let parts = (0..object.part_count()).filter_map(|index| object.part(index)).map(|part| {
            let cached = part.id().and_then(|id| self.cached.get(&id).copied());
            cached.or_else(|| self.hash_short(part)).expect("the parts have been hashed")
        });
        let is_set = matches!(object.view(), View::FrozenSet(_));
        let mut parts: Vec<KeyHash> = parts.collect();
        if is_set {
            // The order does not matter, and a set that was just read may contain an item twice. Items with the
            // same content may be two all the same.
            parts.sort_unstable_by_key(|part| part.hash);
            if self.equality != KeyEquality::Content {
                parts.dedup_by_key(|part| part.hash);
            }
        }
        let mut hasher = self.state.build_hasher();
        (is_set, parts.len()).hash(&mut hasher);
        parts.iter().for_each(|part| part.hash.hash(&mut hasher));
        KeyHash { hash: hasher.finish(), can_equal_others: parts.iter().all(|part| part.can_equal_others) }
    }

    /// Returns whether two keys are the same.
    fn are_same_key(&mut self, one: ObjectRef<'_>, two: ObjectRef<'_>) -> bool {
        let mut open = vec![(one, two)];
        while let Some((one, two)) = open.pop() {
            // What is large and shared is normalized and compared once.
            if one.is_same(two) || is_large_leaf(one) && !self.equal.join(one.id(), two.id()) {
                continue;
            }
            match (self.kind(one), self.kind(two)) {
                (KeyKind::Leaf(Leaf::Scalar(one, first)), KeyKind::Leaf(Leaf::Scalar(two, second)))
                    if first == second && self.equal.are_equal_dtypes(one, two) => {}
                (KeyKind::Leaf(one), KeyKind::Leaf(two)) if one == two => {}
                (KeyKind::Tuple, KeyKind::Tuple) | (KeyKind::FrozenSet, KeyKind::FrozenSet)
                    if one.part_count() == two.part_count() || matches!(one.view(), View::FrozenSet(_)) =>
                {
                    if !self.equal.join(one.id(), two.id()) {
                        continue; // already compared
                    }
                    if matches!(one.view(), View::FrozenSet(_)) {
                        let Some(of_one) = self.parts_sorted_by_hash(one) else { return false };
                        let Some(of_two) = self.parts_sorted_by_hash(two) else { return false };
                        if of_one.len() != of_two.len() {
                            self.equal = UnionFind::default();
                            return false;
                        }
                        open.extend(of_one.into_iter().zip(of_two));
                        continue;
                    }
                    open.extend(
                        (0..one.part_count()).filter_map(|index| one.part(index).zip(two.part(index))),
                    );
                }
                _ => {
                    // The keys that were joined during this comparison may differ after all.
                    self.equal = UnionFind::default();
                    return false;
                }
            }
        }
        true
    }

    fn parts_sorted_by_hash<'a>(&mut self, set: ObjectRef<'a>) -> Option<Vec<ObjectRef<'a>>> {
        let parts = (0..set.part_count()).filter_map(|index| set.part(index));
        let mut parts = parts.map(|part| Some((self.hash(part)?, part))).collect::<Option<Vec<_>>>()?;
        parts.sort_by_key(|(hash, _)| *hash);
        parts.dedup_by_key(|(hash, _)| *hash); // a set that was just read may contain an item twice
        Some(parts.into_iter().map(|(_, part)| part).collect())
    }

    /// Finds the keys that remain when the duplicates of a dict (`step` 2) or set (`step` 1) are removed.
    ///
    /// If keys are equal, the value of the last one is kept, at the position of the first one. So each entry
    /// has the index of a key and the index of its value. The inner `None` means that all keys remain, and
    /// the outer one that a key is not hashable.
    pub(super) fn deduplicated_entries(
        &mut self,
        owner: ObjectRef<'_>,
        step: usize,
    ) -> Option<Option<Vec<[usize; 2]>>> {
        let count = owner.part_count() / step;
        let Some((graph, number)) = owner.graph_and_index() else { return Some(None) };
        let (_, items) = graph.items(number);
        let key = |index: usize| items[index * step];
        // Comparing a few simple keys with each other is cheaper than hashing them.
        let is_canonical_key =
            count <= MAX_WITHOUT_INDEX && (0..count).all(|index| key(index).is_canonical_key());
        if is_canonical_key && (1..count).all(|index| (0..index).all(|before| key(index) != key(before))) {
            return Some(None);
        }
        let mut hash = |index: usize| self.hash(owner.part(index * step)?);
        let hashes = (0..count).map(&mut hash).collect::<Option<Vec<u64>>>()?;
        // Equal keys have equal hashes. Neighbors in memory are found faster than entries of a map.
        let mut sorted = hashes.clone();
        sorted.sort_unstable();
        if sorted.windows(2).all(|two| two[0] != two[1]) {
            return Some(None);
        }
        let mut places = PositionsByHash::default();
        let mut kept: Vec<[usize; 2]> = Vec::with_capacity(count);
        for (index, hash) in hashes.into_iter().enumerate() {
            let part = owner.part(index * step)?;
            let known = places.all(hash).find(|known| {
                owner
                    .part(kept[*known as usize][0] * step)
                    .is_some_and(|other| self.are_same_key(part, other))
            });
            match known {
                Some(known) => kept[known as usize][1] = index,
                None => {
                    places.insert(hash, kept.len() as u32);
                    kept.push([index, index]);
                }
            }
        }
        Some((kept.len() < count).then_some(kept))
    }
}

/// Returns whether a key has no parts, and so few bytes that it is hashed at once.
fn is_short(key: ObjectRef<'_>) -> bool {
    const MAX_SHORT_BYTES: usize = 64;
    match key.view() {
        View::None | View::Bool(_) | View::Float(_) | View::Complex(_) => true,
        View::Int(_) => matches!(key.slot.contents(), SlotContents::Int(_)),
        View::Str(text) => text.as_str().is_some_and(|text| text.len() <= MAX_SHORT_BYTES),
        View::Bytes(bytes) => bytes.len() <= MAX_SHORT_BYTES,
        _ => false,
    }
}

/// The message for a key that is not hashable in Python.
pub(super) const UNHASHABLE_REASON: &str =
    "a list, dict, set, bytearray or array cannot be a key of a dict or an item of a set";

/// Returns the position of a key in a dict or set.
pub(super) fn find(owner: ObjectRef<'_>, key: ObjectRef<'_>) -> Option<usize> {
    let (graph, number) = owner.graph_and_index()?;
    let step = if matches!(graph.nodes[number as usize], Node::Dict(_)) { 2 } else { 1 };
    let count = owner.part_count() / step;
    if count <= MAX_WITHOUT_INDEX {
        return (0..count)
            .find(|place| owner.part(place * step).is_some_and(|other| are_same_key(other, key)));
    }
    let index = match &graph.indexes {
        Some(indexes) => indexes.get_or_build(number, &|| build_index(owner, step)),
        None => build_index(owner, step).map(Arc::new),
    }?;
    // The key must be hashed with the same random state as the keys in the index.
    let mut keys = KeyHasher::new(index.state.clone(), KeyEquality::Lookup);
    let hash = keys.hash(key)?;
    let is_same_key =
        |place: &u32| owner.part(*place as usize * step).is_some_and(|other| keys.are_same_key(key, other));
    index.places.all(hash).find(is_same_key).map(|place| place as usize)
}

fn build_index(owner: ObjectRef<'_>, step: usize) -> Option<KeyIndex> {
    let mut keys = KeyHasher::new(RandomState::new(), KeyEquality::Lookup);
    let mut places = PositionsByHash::default();
    for number in 0..owner.part_count() / step {
        places.insert(keys.hash(owner.part(number * step)?)?, number as u32);
    }
    Some(KeyIndex { state: keys.state, places })
}

/// Returns whether two keys are the same for a lookup.
pub(super) fn are_same_key(one: ObjectRef<'_>, two: ObjectRef<'_>) -> bool {
    match (is_short(one), is_short(two)) {
        // Neither has parts, so nothing needs to be remembered.
        (true, true) => {
            matches!((kind(one), kind(two)), (KeyKind::Leaf(one), KeyKind::Leaf(two)) if one == two)
        }
        _ => KeyHasher::new(RandomState::new(), KeyEquality::Lookup).are_same_key(one, two),
    }
}

/// A matcher of the keys of two dicts or sets.
pub(super) struct KeyMatcher {
    keys: KeyHasher,
    content: KeyHasher,
}

impl Default for KeyMatcher {
    fn default() -> Self {
        let content = KeyHasher::new(RandomState::new(), KeyEquality::Content);
        Self { keys: KeyHasher::with_python_equality(), content }
    }
}

impl KeyMatcher {
    /// Finds the key of `two` that matches each key of `one`; `None` if one of them has no match.
    ///
    /// Keys that are equal only to themselves are matched with keys of equal content, in their order.
    pub(super) fn match_keys(
        &mut self,
        one: ObjectRef<'_>,
        two: ObjectRef<'_>,
        step: usize,
    ) -> Option<Vec<usize>> {
        let count = one.part_count() / step;
        let mut places = PositionsByHash::default();
        // Positions by a hash of the content; the caller compares the matched keys.
        let mut by_content: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for number in 0..count {
            let part = two.part(number * step)?;
            let hashed = self.keys.key_hash(part)?;
            match hashed.can_equal_others {
                true => places.insert(hashed.hash, number as u32),
                false => by_content.entry(self.content.hash(part)?).or_default().push_back(number),
            }
        }
        let mut matched = Vec::with_capacity(count);
        for number in 0..count {
            let part = one.part(number * step)?;
            let hashed = self.keys.key_hash(part)?;
            let mut is_same_key = |place: &u32| {
                two.part(*place as usize * step).is_some_and(|other| self.keys.are_same_key(part, other))
            };
            matched.push(match hashed.can_equal_others {
                true => places.all(hashed.hash).find(&mut is_same_key)? as usize,
                false => by_content.get_mut(&self.content.hash(part)?)?.pop_front()?,
            });
        }
        Some(matched)
    }
}
