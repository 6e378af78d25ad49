//! Keys of dicts and sets: which of them are one, as Python has it.

mod leaf;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

pub(super) use leaf::is_decimal;
use leaf::{KeyKind, Leaf, kind};

use super::equal::Sets;
use super::graph::{Graph, Id, Node};
use super::{ObjectRef, View};

/// The number of a key, and whether somebody else can have an equal one.
#[derive(Clone, Copy)]
struct Hashed {
    hash: u64,
    is_known: bool,
}

/// Numbers for keys, of which equal ones have the same, whoever they are compared with.
#[derive(Default)]
pub(super) struct Keys {
    state: RandomState,
    /// Of those with nodes, each is gone through once.
    made: HashMap<Id, Hashed>,
    equal: Sets,
    /// Whether no NaN is equal to another, as among the keys of one dict; to look one up, its bits count.
    nans_differ: bool,
}

impl Keys {
    /// The number of a key; `None` if it cannot be one.
    fn hash(&mut self, key: ObjectRef<'_>) -> Option<u64> {
        self.hashed(key).map(|hashed| hashed.hash)
    }

    fn hashed(&mut self, key: ObjectRef<'_>) -> Option<Hashed> {
        let mut open = vec![(key, 0)];
        while let Some((object, next)) = open.pop() {
            if object.id().is_some_and(|id| self.made.contains_key(&id)) {
                continue;
            }
            match kind(object) {
                KeyKind::None => return None,
                KeyKind::Leaf(leaf) => {
                    let hash = self.state.hash_one(&leaf);
                    let hashed = Hashed { hash, is_known: !matches!(leaf, Leaf::Itself(_)) };
                    match object.id() {
                        Some(id) => drop(self.made.insert(id, hashed)),
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
                        let hash = self.of_parts(object);
                        // What has parts has a node.
                        object.id().map(|id| self.made.insert(id, hash));
                    }
                },
            }
        }
        key.id().map(|id| self.made[&id])
    }

    fn of_parts(&self, object: ObjectRef<'_>) -> Hashed {
        let parts =
            (0..object.part_count()).filter_map(|index| object.part(index)).map(|part| match part.id() {
                Some(id) => self.made[&id],
                None => match kind(part) {
                    KeyKind::Leaf(leaf) => Hashed { hash: self.state.hash_one(&leaf), is_known: true },
                    _ => unreachable!("what has parts has a node"),
                },
            });
        let is_set = matches!(object.view(), View::FrozenSet(_));
        let mut parts: Vec<Hashed> = parts.collect();
        if is_set {
            // Whatever their order; and one that was just read may have an item twice.
            parts.sort_unstable_by_key(|part| part.hash);
            parts.dedup_by_key(|part| part.hash);
        }
        let mut hasher = self.state.build_hasher();
        (is_set, parts.len()).hash(&mut hasher);
        parts.iter().for_each(|part| part.hash.hash(&mut hasher));
        Hashed { hash: hasher.finish(), is_known: parts.iter().all(|part| part.is_known) }
    }

    /// Whether Python takes two keys for one.
    pub(super) fn same(&mut self, one: ObjectRef<'_>, two: ObjectRef<'_>) -> bool {
        let mut open = vec![(one, two)];
        while let Some((one, two)) = open.pop() {
            if one.is_same(two) {
                continue;
            }
            match (kind(one), kind(two)) {
                (KeyKind::Leaf(one), KeyKind::Leaf(two))
                    if one == two && !(self.nans_differ && one.is_nan()) => {}
                (KeyKind::Tuple, KeyKind::Tuple) | (KeyKind::FrozenSet, KeyKind::FrozenSet)
                    if one.part_count() == two.part_count() || matches!(one.view(), View::FrozenSet(_)) =>
                {
                    if !self.equal.join(one.id(), two.id()) {
                        continue; // they have been compared
                    }
                    if matches!(one.view(), View::FrozenSet(_)) {
                        let Some(of_one) = self.sorted(one) else { return false };
                        let Some(of_two) = self.sorted(two) else { return false };
                        if of_one.len() != of_two.len() {
                            self.equal = Sets::default();
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
                    // What was taken for equal on the way here may be not.
                    self.equal = Sets::default();
                    return false;
                }
            }
        }
        true
    }

    fn sorted<'a>(&mut self, set: ObjectRef<'a>) -> Option<Vec<ObjectRef<'a>>> {
        let parts = (0..set.part_count()).filter_map(|index| set.part(index));
        let mut parts = parts.map(|part| Some((self.hash(part)?, part))).collect::<Option<Vec<_>>>()?;
        parts.sort_by_key(|(hash, _)| *hash);
        parts.dedup_by_key(|(hash, _)| *hash); // a set that was just read may have an item twice
        Some(parts.into_iter().map(|(_, part)| part).collect())
    }

    /// Where the keys of a dict (at every second place) or set stand that remain if of equal ones the last counts, at the place of the
    /// first; `None` within if all do, and outside if one can be no key.
    pub(super) fn distinct(&mut self, owner: ObjectRef<'_>, step: usize) -> Option<Option<Vec<[usize; 2]>>> {
        let count = owner.part_count() / step;
        let Some((graph, number)) = owner.place() else { return Some(None) };
        let key = |index: usize| *graph.part(number, index * step);
        let is_simple = count <= FEW && (0..count).all(|index| key(index).is_simple());
        if is_simple && (1..count).all(|index| (0..index).all(|before| key(index) != key(before))) {
            return Some(None);
        }
        self.nans_differ = true;
        let mut places = Places::default();
        let mut kept: Vec<[usize; 2]> = Vec::with_capacity(count);
        for index in 0..count {
            let part = owner.part(index * step)?;
            let hash = self.hash(part)?;
            let known = places.all(hash).find(|known| {
                owner.part(kept[*known as usize][0] * step).is_some_and(|other| self.same(part, other))
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

/// Numbers by hashes, each of which has one, nearly always.
#[derive(Default)]
struct Places {
    first: HashMap<u64, u32>,
    further: Vec<(u64, u32)>,
}

impl Places {
    fn insert(&mut self, hash: u64, place: u32) {
        match self.first.entry(hash) {
            std::collections::hash_map::Entry::Vacant(entry) => drop(entry.insert(place)),
            std::collections::hash_map::Entry::Occupied(_) => self.further.push((hash, place)),
        }
    }

    fn all(&self, hash: u64) -> impl Iterator<Item = u32> + '_ {
        let further = self.further.iter().filter(move |(other, _)| *other == hash).map(|(_, place)| *place);
        self.first.get(&hash).copied().into_iter().chain(further)
    }
}

/// Which key of a dict or set stands where.
pub(super) struct Index {
    state: RandomState,
    places: Places,
}

/// The indexes of a graph's dicts and sets, each made when somebody looks into it for the first time. (Behind this trait, an object is
/// the key of a map without its being said to be mutable: what is looked up changes nothing of it.)
pub(super) trait Indexes: Send + Sync {
    fn once(&self, number: u32, make: &dyn Fn() -> Option<Index>) -> Option<Arc<Index>>;
}

impl Indexes for Mutex<HashMap<u32, Arc<Index>>> {
    fn once(&self, number: u32, make: &dyn Fn() -> Option<Index>) -> Option<Arc<Index>> {
        let mut indexes = self.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indexes.get(&number) {
            return Some(Arc::clone(index));
        }
        let index = Arc::new(make()?);
        indexes.insert(number, Arc::clone(&index));
        Some(index)
    }
}

/// Room for the indexes of a graph, if it has a dict or set that is worth one.
pub(super) fn room_for_indexes(graph: &Graph) -> Option<Box<dyn Indexes>> {
    let is_worth_it = |node: &Node| match node {
        Node::Dict(span) => span.len / 2 > FEW,
        Node::Set(span) | Node::FrozenSet(span) => span.len > FEW,
        _ => false,
    };
    graph.nodes.iter().any(is_worth_it).then(|| Box::<Mutex<_>>::default() as Box<dyn Indexes>)
}

/// What Python calls unhashable.
pub(super) const UNHASHABLE: &str =
    "a list, dict, set, bytearray or array is a key of a dict or in a set, and cannot be";

/// Of so few keys, each is looked at.
pub(super) const FEW: usize = 8;

/// The number of a key in a dict or set.
pub(super) fn find(owner: ObjectRef<'_>, key: ObjectRef<'_>) -> Option<usize> {
    let (graph, number) = owner.place()?;
    let step = if matches!(graph.nodes[number as usize], Node::Dict(_)) { 2 } else { 1 };
    let index = match &graph.indexes {
        Some(indexes) => indexes.once(number, &|| index(owner, step)),
        None => index(owner, step).map(Arc::new),
    }?;
    let mut keys = Keys { state: index.state.clone(), ..Keys::default() };
    let hash = keys.hash(key)?;
    let is_it = |place: &u32| owner.part(*place as usize * step).is_some_and(|other| keys.same(key, other));
    index.places.all(hash).find(is_it).map(|place| place as usize)
}

fn index(owner: ObjectRef<'_>, step: usize) -> Option<Index> {
    let mut keys = Keys::default();
    let mut places = Places::default();
    for number in 0..owner.part_count() / step {
        places.insert(keys.hash(owner.part(number * step)?)?, number as u32);
    }
    Some(Index { state: keys.state, places })
}

/// Whether Python takes two keys for one.
pub(super) fn same(one: ObjectRef<'_>, two: ObjectRef<'_>) -> bool {
    Keys::default().same(one, two)
}

impl Keys {
    /// Which part of `two` is the key that each part of `one` is, if each has one. What is equal to itself alone is matched
    /// with what looks the same.
    pub(super) fn pairs(
        &mut self,
        one: ObjectRef<'_>,
        two: ObjectRef<'_>,
        step: usize,
    ) -> Option<Vec<usize>> {
        let count = one.part_count() / step;
        let mut places = Places::default();
        // What is equal to itself alone is matched with what looks the same.
        let mut unknown: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for number in 0..count {
            let part = two.part(number * step)?;
            let hashed = self.hashed(part)?;
            match hashed.is_known {
                true => places.insert(hashed.hash, number as u32),
                false => unknown.entry(looks(part)).or_default().push_back(number),
            }
        }
        let mut is_taken = vec![false; count];
        let mut matched = Vec::with_capacity(count);
        for number in 0..count {
            let part = one.part(number * step)?;
            let hashed = self.hashed(part)?;
            let mut is_it = |place: &u32| {
                let place = *place as usize;
                !is_taken[place] && two.part(place * step).is_some_and(|other| self.same(part, other))
            };
            let place = match hashed.is_known {
                true => places.all(hashed.hash).find(&mut is_it)? as usize,
                false => unknown.get_mut(&looks(part))?.pop_front()?,
            };
            is_taken[place] = true;
            matched.push(place);
        }
        Some(matched)
    }
}

/// A number that objects have in common which are equal.
fn looks(object: ObjectRef<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.hash(&mut hasher);
    hasher.finish()
}
