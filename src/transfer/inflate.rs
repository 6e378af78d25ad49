//! A deflated part of a source, as a stream of what it inflates to.

use std::io::{self, Read};

use super::Source;
use crate::codec::Inflater;
use crate::error::ErrorKind;

/// How much is read at a time.
const PIECE: usize = 128 << 10;

/// Reads what a source inflates to. What is wrong with it comes as an error of this library within one of the system's.
pub(crate) struct Inflate<'a> {
    source: Source<'a>,
    inflater: Inflater,
    piece: Vec<u8>,
    /// How much of the piece is there, and how much has been inflated.
    filled: usize,
    done: usize,
    is_end: bool,
}

impl<'a> Inflate<'a> {
    pub(crate) fn new(source: Source<'a>) -> Self {
        Self { source, inflater: Inflater::new(), piece: Vec::new(), filled: 0, done: 0, is_end: false }
    }

    /// Whether the stream has ended, and with it the source.
    pub(crate) fn is_at_end(&self) -> bool {
        self.is_end && self.done == self.filled && self.source.remaining() == Some(0)
    }
}

impl Read for Inflate<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.is_end && !into.is_empty() {
            if self.done == self.filled {
                let left =
                    self.source.remaining().map_or(PIECE, |left| usize::try_from(left).unwrap_or(PIECE));
                self.piece.resize(left.min(PIECE), 0);
                self.filled = self.source.fill(&mut self.piece)?;
                self.done = 0;
            }
            let packed = &self.piece[self.done..self.filled];
            let inflated = self.inflater.inflate(packed, into)?;
            self.done += inflated.taken;
            self.is_end = inflated.is_end;
            if inflated.made > 0 {
                return Ok(inflated.made);
            }
            if packed.is_empty() && !self.is_end {
                let reason = "it ends in the middle".into();
                return Err(crate::error::Error::from(ErrorKind::BadDeflate { reason }).into());
            }
        }
        Ok(0)
    }
}
