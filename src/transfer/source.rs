//! Where bytes come from: a slice, a regular file, or anything that reads.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::os::{self, SliceReader};
use crate::error::{Error, Result};

/// A source of bytes, standing at some place. Of the first two the length is known, and they can be read anywhere.
pub(crate) enum Source<'a> {
    Bytes(SliceReader<'a>),
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
    /// A slice and a file are recognised, so that their length is known; anything else is a stream.
    pub(crate) fn of<R: Read>(reader: &'a mut R) -> Self {
        if os::is_slice::<R>() {
            return os::as_slice(reader).map_or_else(|| unreachable!("it was recognised above"), Self::Bytes);
        }
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
            Self::Bytes(slice) => Some(slice.get().len() as u64),
            Self::File(file) => Some(file.len.saturating_sub(file.at)),
            Self::Stream(_) => None,
        }
    }

    /// Reads until `into` is full or the source ends; says how many bytes came.
    pub(crate) fn fill(&mut self, into: &mut [u8]) -> Result<usize> {
        let filled = match (self.positioned(), &mut *self) {
            (None, Self::Stream(stream)) => return fill(into, |rest, _| stream.read(rest)),
            (Some(positioned), _) => positioned.fill_at(into, 0)?,
            (None, _) => unreachable!("only a stream has no positions"),
        };
        self.advance(filled as u64);
        Ok(filled)
    }

    /// A source of known length, for reading at many places at once.
    pub(crate) fn positioned(&self) -> Option<Positioned<'a>> {
        match self {
            Self::Bytes(slice) => Some(Positioned::Bytes(slice.get())),
            Self::File(file) => Some(Positioned::File(*file)),
            Self::Stream(_) => None,
        }
    }

    /// Passes over bytes; says how many there were.
    pub(crate) fn skip(&mut self, bytes: u64) -> Result<u64> {
        if let Some(remaining) = self.remaining() {
            let skipped = bytes.min(remaining);
            self.advance(skipped);
            return Ok(skipped);
        }
        let most = |left: u64| usize::try_from(left).unwrap_or(usize::MAX).min(super::BLOCK);
        let mut scratch = vec![0; most(bytes)];
        let mut skipped = 0;
        while skipped < bytes {
            let wanted = most(bytes - skipped);
            let filled = self.fill(&mut scratch[..wanted])?;
            skipped += filled as u64;
            if filled < wanted {
                break;
            }
        }
        Ok(skipped)
    }

    /// Moves on by bytes that were read by position. A stream has moved by being read.
    pub(crate) fn advance(&mut self, bytes: u64) {
        match self {
            Self::Bytes(slice) => slice.advance(usize::try_from(bytes).unwrap_or(usize::MAX)),
            Self::File(file) => file.at += bytes,
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
            Self::Bytes(bytes) => {
                let bytes = bytes.get(from..).unwrap_or_default();
                let length = bytes.len().min(into.len());
                into[..length].copy_from_slice(&bytes[..length]);
                Ok(length)
            }
            Self::File(file) => {
                fill(into, |rest, at| os::read_at(file.file, rest, file.at + (from + at) as u64))
            }
        }
    }
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
