//! Data that can be decompressed only as a whole.

use std::io::{self, Read};

use crate::error::Result;
use crate::limits;

/// Reads `len` bytes that can be decompressed only as a whole.
///
/// They are decompressed directly into the caller's buffer if it is large enough, else into an internal
/// buffer.
pub(crate) struct WholeBlockReader<F> {
    unpack: F,
    len: usize,
    unpacked: Vec<u8>,
    done: usize,
}

impl<F: FnMut(&mut [u8]) -> Result<()>> WholeBlockReader<F> {
    /// Creates a reader; `unpack` fills a buffer of exactly `len` bytes.
    pub(crate) fn new(len: usize, unpack: F) -> Self {
        Self { unpack, len, unpacked: Vec::new(), done: 0 }
    }
}

impl<F: FnMut(&mut [u8]) -> Result<()>> Read for WholeBlockReader<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.done == 0 && into.len() >= self.len {
            (self.unpack)(&mut into[..self.len])?;
            self.done = self.len;
            return Ok(self.len);
        }
        if self.unpacked.is_empty() {
            limits::resize(&mut self.unpacked, self.len)?;
            (self.unpack)(&mut self.unpacked)?;
        }
        let rest = &self.unpacked[self.done..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.done += count;
        Ok(count)
    }
}
