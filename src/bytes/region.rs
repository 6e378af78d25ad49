//! [`Region`]: a range of a source, and [`SharedRegion`], which owns it.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use super::{LocalFile, ReadAt, ReadBuf, ReadHints, Runs, fill_at};
use crate::error::Result;

/// A range of a source, whose offsets are relative to its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region<'a> {
    source: Origin<'a>,
    start: u64,
    end: u64,
}

/// Memory and files can be used without a `ReadAt` that has to live somewhere.
#[derive(Clone, Copy, Debug)]
enum Origin<'a> {
    Memory(&'a [u8]),
    File(&'a File),
    Other(&'a dyn ReadAt),
}

impl<'a> Region<'a> {
    /// Returns a region of an entire source, which may still grow.
    pub(crate) fn of(source: &'a dyn ReadAt) -> Self {
        let source = source.bytes().map_or(Origin::Other(source), Origin::Memory);
        Self { source, start: 0, end: u64::MAX }
    }

    pub(crate) fn of_memory(bytes: &'a [u8]) -> Self {
        Self { source: Origin::Memory(bytes), start: 0, end: bytes.len() as u64 }
    }

    /// Returns a region of an entire file, which may still grow.
    pub(crate) fn of_file(file: &'a File) -> Self {
        Self { source: Origin::File(file), start: 0, end: u64::MAX }
    }

    /// Returns a part of the region.
    pub(crate) fn part(self, part: Range<u64>) -> Self {
        let place = |at: u64| self.start.saturating_add(at).min(self.end);
        Self { start: place(part.start), end: place(part.end), ..self }
    }

    /// Returns the region without its first bytes.
    pub(crate) fn after(self, bytes: u64) -> Self {
        Self { start: self.start.saturating_add(bytes), ..self }
    }

    /// Returns the region with bytes before it that belonged to it.
    pub(crate) fn with_preceding(self, bytes: u64) -> Self {
        Self { start: self.start.saturating_sub(bytes), ..self }
    }

    /// Returns the region up to the current end of its source.
    pub(crate) fn up_to_source_end(self) -> Self {
        Self { end: self.source_len().unwrap_or(self.end), ..self }
    }

    /// Returns the region with its actual end, rather than one that can still change.
    pub(crate) fn with_known_end(self) -> Result<Self> {
        Ok(Self { end: self.start.saturating_add(self.len()?), ..self })
    }

    /// Returns the offset of the region in its source.
    pub(crate) fn start(self) -> u64 {
        self.start
    }

    /// Returns the end that was given for the region, relative to its start.
    pub(crate) fn given_len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns the number of bytes that the region has now.
    pub(crate) fn len(self) -> Result<u64> {
        Ok(self.source_len()?.min(self.end).saturating_sub(self.start))
    }

    fn source_len(self) -> Result<u64> {
        match self.source {
            Origin::Memory(bytes) => bytes.size(),
            Origin::File(file) => LocalFile(file).size(),
            Origin::Other(source) => source.size(),
        }
    }

    /// Calls `call` with the source, in which this region begins at `start`.
    pub(super) fn with_source<T>(self, call: impl FnOnce(&dyn ReadAt) -> T) -> T {
        match self.source {
            Origin::Memory(bytes) => call(&bytes),
            Origin::File(file) => call(&LocalFile(file)),
            Origin::Other(source) => call(source),
        }
    }

    /// Returns the bytes, if they are in memory.
    pub(crate) fn bytes(self) -> Option<&'a [u8]> {
        let Origin::Memory(bytes) = self.source else { return None };
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let end = place(self.end);
        Some(&bytes[place(self.start).min(end)..end])
    }

    /// Returns the file and the offset of these bytes in it, if they are those of a file.
    pub(crate) fn file(self) -> Option<(&'a File, u64)> {
        let (file, offset) = match self.source {
            Origin::Memory(_) => None,
            Origin::File(file) => Some((file, 0)),
            Origin::Other(source) => source.file(),
        }?;
        Some((file, self.start.saturating_add(offset)))
    }

    /// Returns the file whose locks coordinate access to these bytes.
    pub(crate) fn lock_file(self) -> Option<&'a File> {
        match self.source {
            Origin::Memory(_) => None,
            Origin::File(file) => Some(file),
            Origin::Other(source) => source.lock_file(),
        }
    }

    /// Returns whether the number of bytes is certain, rather than what a server or another source says.
    pub(crate) fn has_trusted_len(self) -> bool {
        !matches!(self.source, Origin::Other(_)) || self.file().is_some()
    }

    pub(crate) fn hints(self) -> ReadHints {
        self.with_source(|source| source.hints())
    }

    /// Returns an error if some of these bytes are known to be missing.
    pub(crate) fn check(self, runs: &Runs) -> Result<()> {
        match self.source {
            Origin::Other(source) => source.check(&runs.offset_by(self.start)),
            Origin::Memory(_) | Origin::File(_) => Ok(()),
        }
    }

    /// Fills a buffer from an offset, and returns how many bytes were read: fewer only at the end.
    pub(crate) fn fill_at(self, into: &mut [u8], offset: u64) -> Result<usize> {
        self.fill_read_buf(&mut ReadBuf::of(into), usize::MAX, offset)
    }

    /// Fills up to `max_len` bytes from an offset, and returns how many were read: fewer only at the end.
    pub(crate) fn fill_read_buf(self, buf: &mut ReadBuf<'_>, max_len: usize, offset: u64) -> Result<usize> {
        let at = self.start.saturating_add(offset);
        let left = usize::try_from(self.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let max_len = max_len.min(buf.left()).min(left);
        match self.source {
            Origin::Memory(bytes) => {
                let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                Ok(buf.copy(&rest[..max_len.min(rest.len())]))
            }
            Origin::File(file) => buf.fill_from_file(file, max_len, at),
            Origin::Other(source) => match source.file() {
                Some((file, start)) => buf.fill_from_file(file, max_len, start.saturating_add(at)),
                None => buf.read_with(max_len, |into| fill_at(source, into, at)),
            },
        }
    }

    /// Returns whether memory that these bytes are read into has to be cleared first.
    pub(crate) fn needs_cleared_memory(self) -> bool {
        match self.source {
            Origin::Memory(_) => false,
            _ => cfg!(not(unix)) || self.file().is_none(),
        }
    }
}

impl ReadAt for Region<'_> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        self.fill_at(into, offset)
    }

    fn size(&self) -> Result<u64> {
        self.len()
    }

    fn check(&self, runs: &Runs) -> Result<()> {
        Region::check(*self, runs)
    }

    fn bytes(&self) -> Option<&[u8]> {
        Region::bytes(*self)
    }

    fn file(&self) -> Option<(&File, u64)> {
        Region::file(*self)
    }

    fn hints(&self) -> ReadHints {
        Region::hints(*self)
    }
}

/// A range of a shared source.
#[derive(Clone, Debug)]
pub(crate) struct SharedRegion {
    source: Arc<dyn ReadAt>,
    range: Range<u64>,
}

impl SharedRegion {
    /// Returns an entire source, which may still grow.
    pub(crate) fn of(source: Arc<dyn ReadAt>) -> Self {
        Self { source, range: 0..u64::MAX }
    }

    pub(crate) fn part(source: &Arc<dyn ReadAt>, range: Range<u64>) -> Self {
        Self { source: Arc::clone(source), range }
    }

    pub(crate) fn get(&self) -> Region<'_> {
        Region::of(&*self.source).part(self.range.clone())
    }

    /// Returns the file for locks, if these bytes are derived from all of it.
    pub(crate) fn lock_file(&self) -> Option<&File> {
        if self.range.start == 0 && self.range.end == u64::MAX { self.source.lock_file() } else { None }
    }
}
