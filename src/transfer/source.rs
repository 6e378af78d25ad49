//! Where bytes come from: a slice, a regular file, or anything that reads.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ByteRuns;
#[cfg(feature = "npz")]
use super::blocks::PackedBlocks;
use super::os::{self, SliceReader};
use crate::error::{Error, Result};
use crate::progress::{Progress, ProgressCounter};

/// A source of bytes, standing at some place. Of a slice and a file the length is known, and they can be read anywhere.
pub(crate) struct Source<'a> {
    origin: Origin<'a>,
    /// How many bytes have been passed.
    passed: u64,
    witness: Option<&'a dyn Observer>,
    tally: Option<Arc<ProgressCounter>>,
    /// Of a file that is read from its own position on.
    own: Option<OwnPosition<'a>>,
}

enum Origin<'a> {
    Bytes(SliceReader<'a>),
    File(FileSource<'a>),
    /// Something that is read at places, from a position on and up to an end.
    #[cfg(feature = "object")]
    Other(&'a dyn ReadAt, Range<u64>),
    /// A compressed member, from a position on.
    #[cfg(feature = "npz")]
    Blocks(&'a PackedBlocks<'a>, u64),
    /// Runs of bytes of an array.
    ByteRuns {
        array: Anywhere<'a>,
        runs: &'a ByteRuns,
    },
    /// A stream, of which some bytes may be known to be left.
    Stream(&'a mut dyn Read, Option<u64>),
}

/// The bytes of an array that can be read anywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anywhere<'a> {
    Bytes(&'a [u8]),
    /// In a file, at this place.
    File(&'a File, u64),
    /// In a compressed member, at this place.
    #[cfg(feature = "npz")]
    Blocks(&'a PackedBlocks<'a>, u64),
    /// In something else, at this place.
    #[cfg(feature = "object")]
    Other(&'a dyn ReadAt, u64),
}

/// Bytes that are neither in memory nor in one file, such as those of a stack of files or of an object in a store.
#[cfg(feature = "object")]
pub(crate) trait ReadAt: Send + Sync + std::fmt::Debug {
    /// Reads bytes from a place on until `into` is full or they end; says how many came.
    fn fill_at(&self, into: &mut [u8], from: u64) -> Result<usize>;

    /// How many bytes there are, if all that should exist do.
    fn len(&self) -> u64;

    /// Whether bytes that are close together are best read by one call, with those between them.
    fn reads_gaps(&self) -> bool;

    /// An error if some of these bytes do not exist, before memory is allocated for them.
    fn check(&self, runs: &ByteRuns) -> Result<()>;

    /// How it is best read: in pieces of this many bytes, by this many threads, whatever the number of processors.
    fn pieces(&self) -> Option<Pieces> {
        None
    }

    /// Reads picked bytes, which count from `place`, in a way of its own; `None` if it has none.
    fn fill_picked(&self, place: u64, runs: &ByteRuns, into: &mut [u8], from: u64) -> Option<Result<usize>> {
        let _ = (place, runs, into, from);
        None
    }
}

/// How [bytes that are far away](ReadAt) are best read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    pub(crate) bytes: usize,
    pub(crate) threads: usize,
}

impl Anywhere<'_> {
    pub(crate) fn fill_at(self, into: &mut [u8], from: u64) -> Result<usize> {
        match self {
            Self::Bytes(bytes) => {
                let bytes = usize::try_from(from).ok().and_then(|from| bytes.get(from..)).unwrap_or_default();
                let length = bytes.len().min(into.len());
                into[..length].copy_from_slice(&bytes[..length]);
                Ok(length)
            }
            Self::File(file, place) => {
                fill(into, |rest, at| os::read_at(file, rest, place + from + at as u64))
            }
            #[cfg(feature = "npz")]
            Self::Blocks(blocks, place) => blocks.fill_at(into, place + from),
            #[cfg(feature = "object")]
            Self::Other(bytes, place) => bytes.fill_at(into, place + from),
        }
    }

    /// How these bytes are best read, if that is not how files are.
    fn pieces(self) -> Option<Pieces> {
        match self {
            #[cfg(feature = "object")]
            Self::Other(bytes, _) => bytes.pieces(),
            #[cfg(feature = "npz")]
            Self::Blocks(blocks, _) => blocks.pieces(),
            _ => None,
        }
    }

    /// How many bytes there are.
    pub(super) fn len(self) -> Result<u64> {
        Ok(match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(file, place) => file.metadata()?.len().saturating_sub(place),
            #[cfg(feature = "npz")]
            Self::Blocks(blocks, place) => blocks.len().saturating_sub(place),
            #[cfg(feature = "object")]
            Self::Other(bytes, place) => bytes.len().saturating_sub(place),
        })
    }

    /// Fills `into` with picked bytes from one of them on; says how many came.
    pub(crate) fn fill_picked(self, runs: &ByteRuns, into: &mut [u8], from: u64) -> Result<usize> {
        fill_picked(self, runs, into, from)
    }
}

/// A regular file, from a position on.
#[derive(Clone, Copy)]
struct FileSource<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

/// Sees all bytes that are read, on whatever thread and in whatever order, while they are in the cache.
pub(crate) trait Observer: Sync {
    /// These bytes stand so far behind where the source began.
    fn saw(&self, at: u64, bytes: &[u8]);
}

impl<'a> Source<'a> {
    /// A slice and a file are recognised, so that their length is known; anything else is a stream.
    pub(crate) fn of<R: Read>(reader: &'a mut R) -> Self {
        if os::is_slice::<R>() {
            let bytes = os::as_slice(reader).map(Origin::Bytes);
            return Self::from(bytes.unwrap_or_else(|| unreachable!("it was recognised above")));
        }
        let Some((at, end)) = os::as_file(reader).and_then(regular_file) else {
            return Self::from(Origin::Stream(reader, None));
        };
        match os::as_file(reader) {
            Some(file) => Self::of_position(FileSource { file, at, end }),
            None => unreachable!("it was recognised above"),
        }
    }

    /// All of a file that has just been opened, whose position is its beginning.
    pub(crate) fn of_opened(file: &'a mut File) -> Self {
        match os::len_of_regular(file) {
            Some(end) => Self::of_position(FileSource { file, at: 0, end }),
            None => Self::of(file),
        }
    }

    /// A file from its own position on, which reading leaves where it is until the source is [settled](Self::settle).
    fn of_position(file: FileSource<'a>) -> Self {
        let own = OwnPosition { file: file.file, at: AtomicU64::new(file.at) };
        Self { own: Some(own), ..Self::from(Origin::File(file)) }
    }

    /// A part of a file.
    pub(crate) fn part_of_file(file: &'a File, part: Range<u64>) -> Self {
        Self::from(Origin::File(FileSource { file, at: part.start, end: part.end }))
    }

    /// A part of something that is read at places.
    #[cfg(feature = "object")]
    pub(crate) fn part_of(bytes: &'a dyn ReadAt, part: Range<u64>) -> Self {
        Self::from(Origin::Other(bytes, part))
    }

    /// All of a compressed member.
    #[cfg(feature = "npz")]
    pub(crate) fn of_blocks(blocks: &'a PackedBlocks<'a>) -> Self {
        Self::from(Origin::Blocks(blocks, 0))
    }

    /// A stream of which so many bytes are there to be read.
    pub(crate) fn part_of_stream(stream: &'a mut dyn Read, len: u64) -> Self {
        Self::from(Origin::Stream(stream, Some(len)))
    }

    /// Those bytes that are picked of an array.
    pub(crate) fn picked(array: Anywhere<'a>, runs: &'a ByteRuns) -> Self {
        Self::from(Origin::ByteRuns { array, runs })
    }

    /// Whether the bytes lie apart, so that it takes long to read few of them.
    pub(super) fn is_scattered(&self) -> bool {
        /// From this on, it is the bytes that take the time, and not the calls.
        const LONG: usize = 64 << 10;
        matches!(self.origin, Origin::ByteRuns { runs, .. } if runs.run() < LONG)
    }

    /// Where it is best cut for several threads: the distance of the first cut from the place of the source, and from each cut to
    /// the next. `None` where it does not matter.
    pub(super) fn seams(&self) -> Option<(usize, usize)> {
        #[cfg(feature = "npz")]
        {
            let blocks = match self.origin {
                Origin::Blocks(blocks, at) => Some((blocks, at)),
                Origin::ByteRuns { array: Anywhere::Blocks(blocks, place), runs } => {
                    Some((blocks, place + runs.find(self.passed).0))
                }
                _ => None,
            };
            if let Some((blocks, at)) = blocks {
                let step = blocks.step();
                return Some((usize::try_from(step - at % step).ok()?, usize::try_from(step).ok()?));
            }
        }
        self.pieces().map(|pieces| (pieces.bytes, pieces.bytes))
    }

    /// How it is best read, if that is not how files are.
    pub(super) fn pieces(&self) -> Option<Pieces> {
        match &self.origin {
            #[cfg(feature = "object")]
            Origin::Other(bytes, _) => bytes.pieces(),
            #[cfg(feature = "npz")]
            Origin::Blocks(blocks, _) => blocks.pieces(),
            Origin::ByteRuns { array, .. } => array.pieces(),
            _ => None,
        }
    }

    /// How many bytes are best read at a time by one thread that goes through all of it.
    pub(super) fn block(&self) -> usize {
        self.pieces()
            .map_or(super::BLOCK, |pieces| pieces.bytes.saturating_mul(pieces.threads).max(super::BLOCK))
    }

    fn from(origin: Origin<'a>) -> Self {
        Self { origin, passed: 0, witness: None, tally: None, own: None }
    }

    /// The same source with somebody who sees the bytes.
    #[cfg(feature = "npz")]
    pub(crate) fn seen_by(self, witness: Option<&'a dyn Observer>) -> Self {
        Self { witness, ..self }
    }

    /// Whether somebody sees the bytes.
    pub(crate) fn has_witness(&self) -> bool {
        self.witness.is_some()
    }

    /// Whether the bytes are looked at or counted, so that they should come in blocks.
    pub(super) fn is_seen(&self) -> bool {
        self.witness.is_some() || self.tally.is_some()
    }

    /// From here on, tells somebody how many bytes have come of so many.
    pub(super) fn tell(&mut self, progress: Option<&Progress>, all: u64) {
        self.tally = progress.map(|progress| Arc::new(ProgressCounter::new(progress.clone(), all)));
    }

    /// How many bytes there are to the end, if that is known.
    pub(crate) fn remaining(&self) -> Option<u64> {
        match &self.origin {
            Origin::Bytes(slice) => Some(slice.get().len() as u64),
            Origin::File(file) => Some(file.end.saturating_sub(file.at)),
            #[cfg(feature = "object")]
            Origin::Other(_, rest) => Some(rest.end.saturating_sub(rest.start)),
            #[cfg(feature = "npz")]
            Origin::Blocks(blocks, at) => Some(blocks.len().saturating_sub(*at)),
            Origin::ByteRuns { runs, .. } => Some(runs.len().saturating_sub(self.passed)),
            Origin::Stream(_, left) => *left,
        }
    }

    /// How many bytes have been passed.
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// Reads until `into` is full or the source ends; says how many bytes came.
    pub(crate) fn fill(&mut self, into: &mut [u8]) -> Result<usize> {
        let filled = match (self.positioned(), &mut self.origin) {
            (Some(positioned), _) => positioned.fill_at(into, 0)?,
            (None, Origin::Stream(stream, left)) => {
                let most = left
                    .map_or(into.len(), |left| into.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
                let into = &mut into[..most];
                let filled = fill(into, |rest, _| stream.read(rest))?;
                if let Some(witness) = self.witness {
                    witness.saw(self.passed, &into[..filled]);
                }
                if let Some(tally) = &self.tally {
                    tally.add(filled)?;
                }
                filled
            }
            (None, _) => unreachable!("only a stream has no positions"),
        };
        self.advance(filled as u64);
        Ok(filled)
    }

    /// A source that can be read at many places at once.
    pub(crate) fn positioned(&self) -> Option<Positioned<'a>> {
        let origin = match &self.origin {
            Origin::Bytes(slice) => Fixed::Bytes(slice.get()),
            Origin::File(file) => Fixed::File(*file),
            #[cfg(feature = "object")]
            Origin::Other(bytes, rest) => Fixed::Other(*bytes, rest.start, rest.end),
            #[cfg(feature = "npz")]
            Origin::Blocks(blocks, at) => Fixed::Blocks(blocks, *at),
            Origin::ByteRuns { array, runs } => Fixed::ByteRuns { array: *array, runs },
            Origin::Stream(..) => return None,
        };
        Some(Positioned { origin, passed: self.passed, witness: self.witness, tally: self.tally.clone() })
    }

    /// Passes over bytes; says how many there were.
    pub(crate) fn skip(&mut self, bytes: u64) -> Result<u64> {
        if let (Some(remaining), false) = (self.remaining(), matches!(self.origin, Origin::Stream(..))) {
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
        self.passed += bytes;
        match &mut self.origin {
            Origin::Bytes(slice) => slice.advance(usize::try_from(bytes).unwrap_or(usize::MAX)),
            Origin::File(file) => file.at += bytes,
            #[cfg(feature = "object")]
            Origin::Other(_, rest) => rest.start += bytes,
            #[cfg(feature = "npz")]
            Origin::Blocks(_, at) => *at += bytes,
            Origin::ByteRuns { .. } => {}
            Origin::Stream(_, left) => *left = left.map(|left| left.saturating_sub(bytes)),
        }
    }

    /// Goes back to where it began in a file, which may have grown since; `false` if it is no file.
    pub(crate) fn restart(&mut self) -> bool {
        let Origin::File(file) = &mut self.origin else { return false };
        file.at -= self.passed;
        self.passed = 0;
        self.update_length();
        true
    }

    /// The file that the source is, if it is one.
    pub(crate) fn file(&self) -> Option<&'a File> {
        match self.origin {
            Origin::File(FileSource { file, .. }) => Some(file),
            _ => None,
        }
    }

    /// Asks anew how long a file is.
    pub(crate) fn update_length(&mut self) {
        if let Origin::File(file) = &mut self.origin {
            file.end = file.file.metadata().map_or(file.end, |metadata| metadata.len());
        }
    }

    /// Puts a file's own position where this source stands.
    pub(crate) fn settle(&self) -> Result<()> {
        if let Origin::File(FileSource { mut file, at, .. }) = self.origin {
            file.seek(SeekFrom::Start(at))?;
            if let Some(own) = &self.own {
                own.at.store(at, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// The position that a file has for whoever reads it next. Where reading at a place moves it, as on Windows, it is put back at the end.
struct OwnPosition<'a> {
    file: &'a File,
    at: AtomicU64,
}

impl Drop for OwnPosition<'_> {
    fn drop(&mut self) {
        if os::READING_MOVES {
            let mut file = self.file;
            let _ = file.seek(SeekFrom::Start(*self.at.get_mut())); // what is read next fails if this does
        }
    }
}

/// The position and length, if the file is a regular one. (The length of others says nothing.)
fn regular_file(mut file: &File) -> Option<(u64, u64)> {
    let length = os::len_of_regular(file)?;
    Some((file.stream_position().ok()?, length))
}

/// A source that can be read anywhere, by many threads at once. Positions count from where the source stands.
pub(crate) struct Positioned<'a> {
    origin: Fixed<'a>,
    passed: u64,
    witness: Option<&'a dyn Observer>,
    tally: Option<Arc<ProgressCounter>>,
}

#[derive(Clone, Copy)]
enum Fixed<'a> {
    Bytes(&'a [u8]),
    File(FileSource<'a>),
    /// From here, and to here.
    #[cfg(feature = "object")]
    Other(&'a dyn ReadAt, u64, u64),
    #[cfg(feature = "npz")]
    Blocks(&'a PackedBlocks<'a>, u64),
    ByteRuns {
        array: Anywhere<'a>,
        runs: &'a ByteRuns,
    },
}

impl<'a> Positioned<'a> {
    /// All of the source, if it is a slice.
    pub(crate) fn bytes(&self) -> Option<&'a [u8]> {
        match self.origin {
            Fixed::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Reads until `into` is full or the source ends; says how many bytes came.
    pub(crate) fn fill_at(&self, into: &mut [u8], from: usize) -> Result<usize> {
        let filled = match self.origin {
            Fixed::Bytes(bytes) => Anywhere::Bytes(bytes).fill_at(into, from as u64)?,
            Fixed::File(file) => {
                let left = file.end.saturating_sub(file.at + from as u64);
                let most = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                Anywhere::File(file.file, file.at).fill_at(&mut into[..most], from as u64)?
            }
            #[cfg(feature = "object")]
            Fixed::Other(bytes, at, end) => {
                let left = end.saturating_sub(at + from as u64);
                let most = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                bytes.fill_at(&mut into[..most], at + from as u64)?
            }
            #[cfg(feature = "npz")]
            Fixed::Blocks(blocks, at) => Anywhere::Blocks(blocks, at).fill_at(into, from as u64)?,
            Fixed::ByteRuns { array, runs } => {
                let at = self.passed + from as u64;
                let left = runs.len().saturating_sub(at);
                let most = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                array.fill_picked(runs, &mut into[..most], at)?
            }
        };
        if let Some(witness) = self.witness {
            witness.saw(self.passed + from as u64, &into[..filled]);
        }
        if let Some(tally) = &self.tally {
            tally.add(filled)?;
        }
        Ok(filled)
    }
}

/// What may lie between two runs that are read at once,
const GAP: u64 = 4 << 10;
/// and how much is read at once then.
const SPAN: u64 = 128 << 10;

/// Reads picked bytes until `into` is full or the file ends; says how many came. Runs that are close together are read
/// with what lies between them, because a call costs as much as a few pages.
fn fill_picked(array: Anywhere<'_>, runs: &ByteRuns, into: &mut [u8], from: u64) -> Result<usize> {
    let is_memory = match array {
        Anywhere::Bytes(..) => true, // where each run costs no more than itself
        #[cfg(feature = "object")]
        Anywhere::Other(bytes, place) => {
            if let Some(filled) = bytes.fill_picked(place, runs, into, from) {
                return filled;
            }
            !bytes.reads_gaps()
        }
        _ => false,
    };
    if !is_memory && runs.is_listed() {
        return fill_listed(array, runs, into, from);
    }
    let mut scratch = Vec::new();
    let mut filled = 0;
    while filled < into.len() {
        let at = from + filled as u64;
        let (place, left) = runs.find(at);
        let (stride, neighbours) = runs.neighbours(at);
        let rest = &mut into[filled..];
        let is_whole = neighbours > 1 && left == runs.run() && left < rest.len();
        let together = match !is_memory && is_whole && stride.saturating_sub(left as u64) <= GAP {
            true => neighbours.min(rest.len() / left).min((SPAN / stride) as usize),
            false => 1,
        };
        if together > 1 {
            let stride = stride as usize;
            let span = (together - 1) * stride + left;
            scratch.resize(span, 0);
            let came = array.fill_at(&mut scratch, place)?;
            for (run, into) in scratch[..came].chunks(stride).zip(rest.chunks_exact_mut(left)) {
                let length = left.min(run.len());
                into[..length].copy_from_slice(&run[..length]);
                filled += length;
            }
            if came < span {
                return Ok(filled);
            }
        } else {
            let wanted = left.min(rest.len());
            let came = array.fill_at(&mut rest[..wanted], place)?;
            filled += came;
            if came < wanted {
                return Ok(filled);
            }
        }
    }
    Ok(filled)
}

/// The same of runs that are anywhere. They are read in the order of the file, and what the system does not have in memory is asked
/// for all at once, so that a disk has many requests to choose from.
fn fill_listed(array: Anywhere<'_>, runs: &ByteRuns, into: &mut [u8], from: u64) -> Result<usize> {
    let wanted = into.len();
    let mut parts: Vec<(u64, &mut [u8])> = Vec::new();
    let (mut rest, mut at) = (into, from);
    while !rest.is_empty() {
        let (place, left) = runs.find(at);
        let (part, behind) = rest.split_at_mut(left.min(rest.len()));
        at += part.len() as u64;
        parts.push((place, part));
        rest = behind;
    }
    parts.sort_unstable_by_key(|(place, _)| *place);
    let Anywhere::File(file, start) = array else {
        for (place, part) in parts {
            if array.fill_at(part, place)? < part.len() {
                return Ok(0);
            }
        }
        return Ok(wanted);
    };
    parts.iter_mut().for_each(|(place, _)| *place += start);
    let mut scratch = Vec::new();
    let mut missing: Vec<&mut [(u64, &mut [u8])]> = Vec::new();
    let mut rest = &mut parts[..];
    while let Some((first, _)) = rest.first() {
        let (first, mut end, mut count) = (*first, *first, 0);
        for (place, part) in rest.iter() {
            let next = place + part.len() as u64;
            if count > 0 && (*place > end + GAP || next - first > SPAN) {
                break;
            }
            (end, count) = (next.max(end), count + 1);
        }
        let (group, behind) = rest.split_at_mut(count);
        rest = behind;
        match read_group(group, end, &mut scratch, |into, at| os::read_at_once(file, into, at))? {
            true => {}
            false => {
                os::will_need(file, first, end - first);
                missing.push(group);
            }
        }
    }
    for group in missing {
        let end = group.iter().map(|(place, part)| place + part.len() as u64).max().unwrap_or(0);
        let whole = |into: &mut [u8], at: u64| {
            fill(into, |rest, done| os::read_at(file, rest, at + done as u64)).map(Some)
        };
        if !read_group(group, end, &mut scratch, |into, at| whole(into, at).map_err(Into::into))? {
            return Ok(0); // the file has become shorter
        }
    }
    Ok(wanted)
}

/// Reads parts that are close together, up to this place, by one call; `false` if it gave less.
fn read_group(
    group: &mut [(u64, &mut [u8])],
    end: u64,
    scratch: &mut Vec<u8>,
    read: impl Fn(&mut [u8], u64) -> io::Result<Option<usize>>,
) -> Result<bool> {
    if let [(place, part)] = group {
        return Ok(read(part, *place)? == Some(part.len()));
    }
    let first = group[0].0;
    let span = (end - first) as usize;
    if scratch.len() < span {
        scratch.resize(span, 0);
    }
    if read(&mut scratch[..span], first)? != Some(span) {
        return Ok(false);
    }
    for (place, part) in group {
        let at = (*place - first) as usize;
        part.copy_from_slice(&scratch[at..at + part.len()]);
    }
    Ok(true)
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
