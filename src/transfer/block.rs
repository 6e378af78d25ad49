//! Data that can be decompressed only as a whole.

use std::io::{self, Read};

use crate::error::Result;
use crate::limits;

/// Reads `len` bytes that can be decompressed only as a whole.
///
/// They are decompressed directly into the caller's buffer if it is large enough, else into an internal
/// buffer.
pub(crate) struct Block<F> {
    unpack: F,
    len: usize,
    ready: Vec<u8>,
    done: usize,
}

impl<F: FnMut(&mut [u8]) -> Result<()>> Block<F> {
    /// Creates a reader; `unpack` fills a buffer of exactly `len` bytes.
    pub(crate) fn new(len: usize, unpack: F) -> Self {
        Self { unpack, len, ready: Vec::new(), done: 0 }
    }
}

impl<F: FnMut(&mut [u8]) -> Result<()>> Read for Block<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.done == 0 && into.len() >= self.len {
            (self.unpack)(&mut into[..self.len])?;
            self.done = self.len;
            return Ok(self.len);
        }
        if self.ready.is_empty() {
            limits::resize(&mut self.ready, self.len)?;
            (self.unpack)(&mut self.ready)?;
        }
        let rest = &self.ready[self.done..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.done += count;
        Ok(count)
    }
}
