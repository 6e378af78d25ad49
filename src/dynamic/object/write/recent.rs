//! A cache of recently written strings.

use super::super::graph::mix_bits;
use super::NOT_WRITTEN;

/// Maximum length in bytes of strings that are found by their content; longer ones are found by identity.
pub(super) const MAX_CACHED_LEN: usize = 64;

/// Returns a hash of a string, for the cache.
pub(super) fn hash_of(text: &str) -> u64 {
    text.as_bytes().chunks(8).fold(text.len() as u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix_bits(hash ^ u64::from_le_bytes(word))
    })
}

/// A cache of 4,096 recently written strings, because many dicts have the same keys.
pub(super) struct RecentStrings<T> {
    entries: Vec<CacheEntry<T>>,
}

#[derive(Clone)]
struct CacheEntry<T> {
    text: T,
    memo_index: u32,
    /// The number of hits. Until it is 0, no other string replaces this one; each attempt reduces it by one.
    hits: u8,
}

/// The result of a lookup: the memo index, a place for it, or neither if the place is taken.
pub(super) enum Lookup<'a> {
    Hit(u32),
    Vacant(&'a mut u32),
    Occupied,
}

impl<T: Copy + PartialEq> RecentStrings<T> {
    const INDEX_BITS: u32 = 12;

    pub(super) fn new() -> Self {
        Self { entries: Vec::new() }
    }

    pub(super) fn find_or_reserve(&mut self, hash: u64, text: &T) -> Lookup<'_> {
        if self.entries.is_empty() {
            self.entries
                .resize(1 << Self::INDEX_BITS, CacheEntry { text: *text, memo_index: NOT_WRITTEN, hits: 0 });
        }
        // The index is the upper bits, into which `mix_bits` mixes all other bits.
        let place = &mut self.entries[(hash >> (64 - Self::INDEX_BITS)) as usize];
        if place.text == *text && place.memo_index != NOT_WRITTEN {
            place.hits = place.hits.saturating_add(1);
            return Lookup::Hit(place.memo_index);
        }
        if place.hits > 0 {
            place.hits -= 1;
            return Lookup::Occupied;
        }
        place.text = *text;
        Lookup::Vacant(&mut place.memo_index)
    }
}
