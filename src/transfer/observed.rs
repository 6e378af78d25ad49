//! [`ObservedReader`]: shows an observer what is read from a source or a stream.

use std::io::{self, Read};

use crate::bytes::{ReadAt, ReadHints, Region};
use crate::error::Result;

/// Observes all bytes that are read, while they are in the cache.
///
/// This may happen on any thread and in any order.
pub(crate) trait Observer: Sync {
    /// Observes bytes at an offset from the start of what is observed.
    fn observe(&self, at: u64, bytes: &[u8]);
}

/// Passes on reads, and shows an observer what was read.
///
/// It is a source or a stream, as what it wraps.
pub(crate) struct ObservedReader<'a, R, O> {
    inner: R,
    observer: &'a O,
    position: u64,
}

impl<'a, R, O> ObservedReader<'a, R, O> {
    pub(crate) fn new(inner: R, observer: &'a O) -> Self {
        Self { inner, observer, position: 0 }
    }
}

impl<R: std::fmt::Debug, O> std::fmt::Debug for ObservedReader<'_, R, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl<R: Read, O: Observer> Read for ObservedReader<'_, R, O> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        if let Some(bytes) = into.get(..count) {
            self.observer.observe(self.position, bytes);
            self.position += count as u64;
        }
        Ok(count)
    }
}

impl<O: Observer> ReadAt for ObservedReader<'_, Region<'_>, O> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        let count = self.inner.fill_at(into, offset)?;
        self.observer.observe(offset, &into[..count]);
        Ok(count)
    }

    fn size(&self) -> Result<u64> {
        self.inner.len()
    }

    /// Reads in blocks that are still in the cache when they are observed, unless the source has another size.
    fn hints(&self) -> ReadHints {
        let hints = self.inner.hints();
        ReadHints { block: hints.block.or(Some(super::BLOCK_LEN)), ..hints }
    }
}
