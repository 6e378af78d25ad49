//! A reader of a source, with a position and a buffer.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use crate::bytes::{ReadAt, fill_at};
use crate::error::Result;

const BUFFER_LEN: usize = 64 << 10;

/// Reads a source from a position on.
pub(super) struct Cursor<'a> {
    source: &'a dyn ReadAt,
    position: u64,
    /// Bytes of the source, from the offset `start` on.
    buffer: Vec<u8>,
    start: u64,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(source: &'a dyn ReadAt) -> Self {
        Self { source, position: 0, buffer: Vec::new(), start: 0 }
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn set_position(&mut self, position: u64) {
        self.position = position;
    }

    /// Returns at most `count` of the next bytes; the position stays.
    pub(super) fn peek(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let start = self.position;
        let mut bytes = Vec::new();
        self.by_ref().take(count as u64).read_to_end(&mut bytes)?;
        self.position = start;
        Ok(bytes)
    }
}

impl Read for Cursor<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let buffered = |cursor: &Self| {
            let from = usize::try_from(cursor.position.checked_sub(cursor.start)?).ok()?;
            cursor.buffer.len().checked_sub(from).filter(|left| *left > 0).map(|_| from)
        };
        if buffered(self).is_none() && into.len() < BUFFER_LEN {
            self.buffer.resize(BUFFER_LEN, 0);
            let came = fill_at(self.source, &mut self.buffer, self.position)?;
            self.buffer.truncate(came);
            self.start = self.position;
        }
        let count = match buffered(self) {
            Some(from) => {
                let rest = &self.buffer[from..];
                let count = rest.len().min(into.len());
                into[..count].copy_from_slice(&rest[..count]);
                count
            }
            None if into.len() < BUFFER_LEN => 0,
            None => fill_at(self.source, into, self.position)?,
        };
        self.position += count as u64;
        Ok(count)
    }
}

/// A part of a source.
#[derive(Debug)]
pub(super) struct PartOfFile {
    pub(super) source: Arc<dyn ReadAt>,
    pub(super) range: Range<u64>,
}

impl ReadAt for PartOfFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        let (start, left) = (self.range.start.saturating_add(offset), self.size()?.saturating_sub(offset));
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        if most == 0 { Ok(0) } else { self.source.read_at(&mut into[..most], start) }
    }

    fn size(&self) -> Result<u64> {
        Ok(self.range.end - self.range.start)
    }
}
