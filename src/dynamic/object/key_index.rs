//! Indexes of the keys of dicts and sets, each built on first lookup.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of keys for which an index is not worth its cost.
pub(super) const MAX_WITHOUT_INDEX: usize = 8;

/// A map from hashes to positions; nearly every hash has only one.
#[derive(Default)]
pub(super) struct PositionsByHash {
    first: HashMap<u64, u32>,
    /// The positions of each hash after the first one.
    further: HashMap<u64, Vec<u32>>,
}

impl PositionsByHash {
    pub(super) fn insert(&mut self, hash: u64, place: u32) {
        match self.first.entry(hash) {
            std::collections::hash_map::Entry::Vacant(entry) => drop(entry.insert(place)),
            std::collections::hash_map::Entry::Occupied(_) => {
                self.further.entry(hash).or_default().push(place);
            }
        }
    }

    pub(super) fn all(&self, hash: u64) -> impl Iterator<Item = u32> + '_ {
        let further = self.further.get(&hash).into_iter().flatten().copied();
        self.first.get(&hash).copied().into_iter().chain(further)
    }
}

/// An index of the keys of a dict or set.
pub(super) struct KeyIndex {
    pub(super) state: RandomState,
    pub(super) places: PositionsByHash,
}

/// The indexes of a graph's dicts and sets, each built on first lookup.
///
/// The trait hides the mutex, so that lints do not report an object as a mutable key of a map. This is sound,
/// because lookups have no observable effect.
pub(super) trait KeyIndexes: Send + Sync {
    fn get_or_build(&self, number: u32, make: &dyn Fn() -> Option<KeyIndex>) -> Option<Arc<KeyIndex>>;
}

impl KeyIndexes for Mutex<HashMap<u32, Arc<KeyIndex>>> {
    fn get_or_build(&self, number: u32, make: &dyn Fn() -> Option<KeyIndex>) -> Option<Arc<KeyIndex>> {
        // The map is still valid after a panic: an index is inserted only when it is complete.
        let mut indexes = self.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indexes.get(&number) {
            return Some(Arc::clone(index));
        }
        let index = Arc::new(make()?);
        indexes.insert(number, Arc::clone(&index));
        Some(index)
    }
}
