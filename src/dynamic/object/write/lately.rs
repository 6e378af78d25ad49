//! Texts that have been written lately.

use super::super::graph::mixed;
use super::NOT_WRITTEN;

/// Texts that are longer are known by who they are, and not by what they say.
pub(super) const LONGEST: usize = 64;

/// A number for finding a text among others.
pub(super) fn hash_of(text: &str) -> u64 {
    text.as_bytes().chunks(8).fold(text.len() as u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mixed(hash ^ u64::from_le_bytes(word))
    })
}

/// Texts that have been written lately, of a few thousand kinds: as dicts have the same keys again and again.
pub(super) struct Lately<T> {
    places: Vec<Place<T>>,
}

#[derive(Clone)]
struct Place<T> {
    text: T,
    number: u32,
    /// How often it has been found; then it stays, when others come that would have its place.
    hits: u8,
}

/// Where a text is, or would be; those that are found more often may have its place.
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
