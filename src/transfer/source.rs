//! Where bytes come from: a slice, a regular file, or anything that reads.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::os;
use crate::error::{Error, Result};

/// A source of bytes, standing at some place. Of the first two the length is known, and they can be read anywhere.
pub(crate) enum Source<'a> {
    Bytes(&'a [u8]),
    File(FileSource<'a>),
    Stream(&'a mut dyn Read),
}

/// A regular file, from a position on.
#[derive(Clone, Copy)]
pub(crate) struct FileSource<'a> {
    file: &'a File,
    at: u64,
    len: u64,
}

impl<'a> Source<'a> {
    /// A file is recognised and read by position; anything else is a stream.
    pub(crate) fn of<R: Read>(reader: &'a mut R) -> Self {
        let Some((at, len)) = os::as_file(reader).and_then(regular_file) else {
            return Self::Stream(reader);
        };
        match os::as_file(reader) {
            Some(file) => Self::File(FileSource { file, at, len }),
            None => unreachable!("it was recognised above"),
        }
    }

    /// How many bytes there are to the end, if that is known.
    pub(crate) fn remaining(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::File(file) => Some(file.len.saturating_sub(file.at)),
            Self::Stream(_) => None,
        }
    }

    /// Reads until `into` is full or the source ends; says how many bytes came.
    pub(crate) fn fill(&mut self, into: &mut [u8]) -> Result<usize> {
        let filled = match self {
            Self::Bytes(bytes) => fill(into, |rest, at| Ok(read_slice(rest, bytes, at)))?,
            Self::File(file) => fill(into, |rest, at| os::read_at(file.file, rest, file.at + at as u64))?,
            Self::Stream(stream) => fill(into, |rest, _| stream.read(rest))?,
        };
        self.advance(filled);
        Ok(filled)
    }

    /// A source of known length, for reading at many places at once.
    pub(crate) fn positioned(&self) -> Option<Positioned<'a>> {
        match self {
            Self::Bytes(bytes) => Some(Positioned::Bytes(bytes)),
            Self::File(file) => Some(Positioned::File(*file)),
            Self::Stream(_) => None,
        }
    }

    /// Passes over bytes; says how many there were.
    pub(crate) fn skip(&mut self, bytes: u64) -> Result<u64> {
        if let Some(remaining) = self.remaining() {
            let skipped = bytes.min(remaining);
            self.advance(usize::try_from(skipped).unwrap_or(usize::MAX));
            return Ok(skipped);
        }
        let mut scratch = vec![0; super::BLOCK.min(usize::try_from(bytes).unwrap_or(usize::MAX))];
        let mut skipped = 0;
        while skipped < bytes {
            let most = scratch.len().min(usize::try_from(bytes - skipped).unwrap_or(usize::MAX));
            let filled = self.fill(&mut scratch[..most])?;
            skipped += filled as u64;
            if filled < most {
                break;
            }
        }
        Ok(skipped)
    }

    /// Moves on by bytes that were read by position (or that `fill` has just taken).
    pub(crate) fn advance(&mut self, bytes: usize) {
        match self {
            Self::Bytes(slice) => *slice = &slice[bytes.min(slice.len())..],
            Self::File(file) => file.at += bytes as u64,
            Self::Stream(_) => {}
        }
    }

    /// Puts a file's own position where this source stands.
    pub(crate) fn settle(&self) -> Result<()> {
        if let Self::File(FileSource { mut file, at, .. }) = *self {
            file.seek(SeekFrom::Start(at))?;
        }
        Ok(())
    }
}

/// The position and length, if the file is a regular one. (The length of others says nothing.)
fn regular_file(mut file: &File) -> Option<(u64, u64)> {
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some((file.stream_position().ok()?, metadata.len()))
}

/// A source that can be read anywhere, by many threads at once. Positions count from where the source stands.
#[derive(Clone, Copy)]
pub(crate) enum Positioned<'a> {
    Bytes(&'a [u8]),
    File(FileSource<'a>),
}

impl Positioned<'_> {
    /// Reads until `into` is full or the source ends; says how many bytes came.
    pub(crate) fn fill_at(&self, into: &mut [u8], from: usize) -> Result<usize> {
        match self {
            Self::Bytes(bytes) => fill(into, |rest, at| Ok(read_slice(rest, bytes, from + at))),
            Self::File(file) => {
                fill(into, |rest, at| os::read_at(file.file, rest, file.at + (from + at) as u64))
            }
        }
    }
}

fn read_slice(into: &mut [u8], bytes: &[u8], at: usize) -> usize {
    let from = bytes.get(at..).unwrap_or_default();
    let length = from.len().min(into.len());
    into[..length].copy_from_slice(&from[..length]);
    length
}

/// The one loop that reads: again after an interruption and a short read, and distrustful of what a reader claims.
fn fill(into: &mut [u8], mut read: impl FnMut(&mut [u8], usize) -> io::Result<usize>) -> Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        let rest = &mut into[filled..];
        match read(rest, filled) {
            Ok(0) => break,
            Ok(count) if count > rest.len() => {
                let text =
                    format!("the reader claims to have put {count} bytes into a buffer of {}", rest.len());
                return Err(io::Error::other(text).into());
            }
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::from(error)),
        }
    }
    Ok(filled)
}
