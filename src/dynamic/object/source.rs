//! The bytes that are read as one pickle.

use crate::error::{Fault, Result};

/// A pickle, and the buffers of protocol 5 that were stored outside of it.
///
/// Positions count through the pickle, and then through the buffers.
pub(super) struct PickleSource<'a> {
    pickle: &'a [u8],
    /// `None` if the caller has not passed any: the buffers then stay numbers.
    buffers: Option<&'a [&'a [u8]]>,
    /// The positions where the buffers start, and where the last one ends.
    buffer_starts: Vec<usize>,
}

impl<'a> PickleSource<'a> {
    /// Of a complete graph, which refers to no bytes but its own.
    pub(super) const EMPTY: &'static PickleSource<'static> =
        &PickleSource { pickle: &[], buffers: None, buffer_starts: Vec::new() };

    pub(super) fn new(pickle: &'a [u8]) -> Self {
        Self { pickle, buffers: None, buffer_starts: Vec::new() }
    }

    pub(super) fn with_buffers(pickle: &'a [u8], buffers: &'a [&'a [u8]]) -> Result<Self> {
        let mut buffer_starts = Vec::with_capacity(buffers.len() + 1);
        let mut end = pickle.len();
        buffer_starts.push(end);
        for buffer in buffers {
            end = end.checked_add(buffer.len()).ok_or(Fault::OutOfMemory { bytes: u64::MAX })?;
            buffer_starts.push(end);
        }
        Ok(Self { pickle, buffers: Some(buffers), buffer_starts })
    }

    pub(super) fn pickle(&self) -> &'a [u8] {
        self.pickle
    }

    /// Returns the length of the pickle and the buffers.
    pub(super) fn len(&self) -> usize {
        self.buffer_starts.last().copied().unwrap_or(self.pickle.len())
    }

    /// Returns the number of buffers, if the caller has passed some.
    pub(super) fn buffer_count(&self) -> Option<usize> {
        self.buffers.map(<[_]>::len)
    }

    /// Returns the position and the length of a buffer.
    pub(super) fn buffer_position_and_len(&self, number: usize) -> Option<(usize, usize)> {
        let buffer = self.buffers?.get(number)?;
        Some((self.buffer_starts[number], buffer.len()))
    }

    /// Returns bytes that are within the pickle or within one buffer.
    pub(super) fn get(&self, start: usize, len: usize) -> &'a [u8] {
        match self.buffers.filter(|_| start >= self.pickle.len()) {
            None => &self.pickle[start..start + len],
            Some(buffers) => {
                let number = self.buffer_starts.partition_point(|first| *first <= start) - 1;
                &buffers[number][start - self.buffer_starts[number]..][..len]
            }
        }
    }
}
