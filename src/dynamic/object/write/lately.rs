//! A cache of recently written strings.

use super::super::graph::mixed;
use super::NOT_WRITTEN;

/// Maximum length in bytes of a string that is found by its content; a longer one is found by its identity.
pub(super) const LONGEST: usize = 64;

/// Returns a hash of a string, for the cache.
pub(super) fn hash_of(text: &str) -> u64 {
    text.as_bytes().chunks(8).fold(text.len() as u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mixed(hash ^ u64::from_le_bytes(word))
    })
}

/// A cache of 4,096 recently written strings: dicts often have the same keys.
pub(super) struct Lately<T> {
    places: Vec<Place<T>>,
}

#[derive(Clone)]
struct Place<T> {
    text: T,
    number: u32,
    /// The number of hits; while there are some, a different string with the same place does not replace it.
    hits: u8,
}

/// The place of a string in the cache, or none if a string that was found more often has it.
pub(super) enum Found<'a> {
    At(u32),
    Place(&'a mut u32),
    Nowhere,
}

impl<T: Copy + PartialEq> Lately<T> {
    const BITS: u32 = 12;

    pub(super) fn new() -> Self {
        Self { places: Vec::new() }
    }

    pub(super) fn find(&mut self, hash: u64, text: &T) -> Found<'_> {
        if self.places.is_empty() {
            self.places.resize(1 << Self::BITS, Place { text: *text, number: NOT_WRITTEN, hits: 0 });
        }
        // The upper bits, which are those that `mixed` spreads a text over.
        let place = &mut self.places[(hash >> (64 - Self::BITS)) as usize];
        if place.text == *text && place.number != NOT_WRITTEN {
            place.hits = place.hits.saturating_add(1);
            return Found::At(place.number);
        }
        if place.hits > 0 {
            place.hits -= 1;
            return Found::Nowhere;
        }
        place.text = *text;
        Found::Place(&mut place.number)
    }
}
