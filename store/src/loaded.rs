//! [`LoadedBytes`]: the bytes of an object that are in memory, for reads that name what they lack in place of waiting for it.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes as Chunk;
use ndarray_io::bytes::{ReadAt, ReadHints, Runs};
use ndarray_io::{Error, Result};

use crate::bytes::{MIN_WINDOW, ObjectBytes};

/// How much is loaded before a read: larger ones are fetched directly into their memory, while a thread waits.
const MAX_LOADED_LEN: u64 = 16 << 20;
/// The limit for the number of ranges that a read may lack.
const MAX_RANGES: usize = 1 << 16;

/// A source that does no I/O.
#[derive(Debug)]
pub(crate) struct LoadedBytes {
    object: ObjectBytes,
    parts: Mutex<Vec<(u64, Chunk)>>,
    /// Whether a read has asked for more than is loaded.
    read_exceeds_limit: AtomicBool,
}

impl LoadedBytes {
    pub(crate) fn new(object: ObjectBytes) -> Self {
        Self { object, parts: Mutex::default(), read_exceeds_limit: AtomicBool::new(false) }
    }

    pub(crate) fn read_exceeds_limit(&self) -> bool {
        self.read_exceeds_limit.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, mut more: Vec<(u64, Chunk)>) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.append(&mut more);
        parts.sort_by_key(|(start, _)| *start);
    }

    /// Copies bytes from an offset as far as they are known without a gap, and returns their number.
    fn copy(&self, into: &mut [u8], offset: u64) -> usize {
        let known = self.object.copy_cached(offset, into);
        if known > 0 {
            return known;
        }
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let before = parts.partition_point(|(start, _)| *start <= offset);
        // Parts do not overlap, except where a read has asked for some bytes twice.
        let found = parts[..before].iter().rev().take(2).find_map(|(start, part)| {
            part.get(usize::try_from(offset - start).ok()?..).filter(|rest| !rest.is_empty())
        });
        let Some(rest) = found else { return 0 };
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        count
    }

    /// Returns whether all bytes of a range are known.
    fn contains(&self, range: &Range<u64>) -> bool {
        let in_part =
            |start: u64, part: &Chunk| start <= range.start && range.end <= start + part.len() as u64;
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let before = parts.partition_point(|(start, _)| *start <= range.start);
        self.object.opened_contains(range)
            || parts[..before].iter().rev().take(2).any(|(start, part)| in_part(*start, part))
    }
}

fn not_loaded(missing: Vec<Range<u64>>) -> Error {
    Error::not_loaded(missing)
}

impl ReadAt for LoadedBytes {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        let size = self.object.len();
        if offset >= size || into.is_empty() {
            return Ok(0);
        }
        match self.copy(into, offset) {
            0 => {
                let missing = offset..size.min(offset + (into.len() as u64).max(MIN_WINDOW));
                Err(not_loaded(std::iter::once(missing).collect()))
            }
            count => Ok(count),
        }
    }

    fn size(&self) -> Result<u64> {
        Ok(self.object.len())
    }

    fn check(&self, runs: &Runs) -> Result<()> {
        let (mut missing, mut len) = (Vec::new(), 0);
        for range in runs.iter() {
            let range = range.start..range.end.min(self.object.len());
            if range.is_empty() || self.contains(&range) {
                continue;
            }
            len += range.end - range.start;
            missing.push(range);
            if len > MAX_LOADED_LEN || missing.len() > MAX_RANGES {
                self.read_exceeds_limit.store(true, Ordering::Relaxed);
                break;
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(not_loaded(missing)) }
    }

    fn hints(&self) -> ReadHints {
        ReadHints { gap: 0, ..ReadHints::default() }
    }
}
