//! Sources of bytes: slices, regular files, and any other readers.

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

/// A source of bytes with a current position.
///
/// All sources except streams have a known length and can be read at any offset.
pub(crate) struct Source<'a> {
    origin: Origin<'a>,
    /// How many bytes have been consumed.
    passed: u64,
    witness: Option<&'a dyn Observer>,
    tally: Option<Arc<ProgressCounter>>,
    /// The file's own position, if the source began there.
    own: Option<OwnPosition<'a>>,
}

enum Origin<'a> {
    Bytes(SliceReader<'a>),
    File(FileSource<'a>),
    /// Any other bytes with random access, and the range of them that remains.
    #[cfg(feature = "object")]
    Other(&'a dyn ReadAt, Range<u64>),
    /// A compressed member, and the current offset in its content.
    #[cfg(feature = "npz")]
    Blocks(&'a PackedBlocks<'a>, u64),
    /// A selection of an array's bytes.
    ByteRuns {
        array: RandomAccess<'a>,
        runs: &'a ByteRuns,
    },
    /// A stream, and how many bytes remain, if known.
    Stream(&'a mut dyn Read, Option<u64>),
}

/// The bytes of an array with random access.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RandomAccess<'a> {
    Bytes(&'a [u8]),
    /// In a file, from this offset on.
    File(&'a File, u64),
    /// In a compressed member, from this offset on.
    #[cfg(feature = "npz")]
    Blocks(&'a PackedBlocks<'a>, u64),
    /// In any other bytes, from this offset on.
    #[cfg(feature = "object")]
    Other(&'a dyn ReadAt, u64),
}

/// Random access to bytes that are neither in memory nor in one file.
///
/// Examples are the parts of a stack and an object in a store.
#[cfg(feature = "object")]
pub(crate) trait ReadAt: Send + Sync + std::fmt::Debug {
    /// Reads from an offset until `into` is full or the bytes end, and returns how many were read.
    fn fill_at(&self, into: &mut [u8], from: u64) -> Result<usize>;

    /// Returns the total length in bytes, assuming that nothing is missing.
    fn len(&self) -> u64;

    /// Returns whether nearby runs are best read by one call, including the gaps between them.
    fn reads_gaps(&self) -> bool;

    /// Returns an error if some of these bytes do not exist.
    ///
    /// This is called before memory is allocated for them.
    fn check(&self, runs: &ByteRuns) -> Result<()>;

    /// Returns the preferred size and concurrency of reads; `None` means those of files.
    fn read_hint(&self) -> Option<ReadHint> {
        None
    }

    /// Reads selected bytes with a strategy of the implementation; `None` if it has none.
    ///
    /// The offsets of the runs are relative to `place`.
    fn fill_picked(&self, place: u64, runs: &ByteRuns, into: &mut [u8], from: u64) -> Option<Result<usize>> {
        let _ = (place, runs, into, from);
        None
    }
}

/// The preferred size and concurrency of reads from [remote bytes](ReadAt).
///
/// The number of threads does not depend on the number of processors, since the threads mostly wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadHint {
    pub(crate) bytes: usize,
    pub(crate) threads: usize,
}

impl RandomAccess<'_> {
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

    /// Returns the preferred size and concurrency of reads; `None` means those of files.
    fn read_hint(self) -> Option<ReadHint> {
        match self {
            #[cfg(feature = "object")]
            Self::Other(bytes, _) => bytes.read_hint(),
            #[cfg(feature = "npz")]
            Self::Blocks(blocks, _) => blocks.read_hint(),
            _ => None,
        }
    }

    /// Returns the number of bytes.
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

    /// Fills `into` with selected bytes, beginning with selected byte `from`, and returns how many were read.
    pub(crate) fn fill_picked(self, runs: &ByteRuns, into: &mut [u8], from: u64) -> Result<usize> {
        fill_picked(self, runs, into, from)
    }
}

/// A regular file, with the current and the end offset.
#[derive(Clone, Copy)]
struct FileSource<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

/// Observes all bytes that are read, while they are in the cache.
///
/// This may happen on any thread and in any order.
pub(crate) trait Observer: Sync {
    /// Observes bytes at an offset from the start of the source.
    fn saw(&self, at: u64, bytes: &[u8]);
}

impl<'a> Source<'a> {
    /// Creates a source from a reader.
    ///
    /// Slices and regular files are detected, and have a known length; anything else is a stream.
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

    /// Creates a source for an entire file that has just been opened and is at position 0.
    pub(crate) fn of_opened(file: &'a mut File) -> Self {
        match os::len_of_regular(file) {
            Some(end) => Self::of_position(FileSource { file, at: 0, end }),
            None => Self::of(file),
        }
    }

    /// Creates a source for a file from its current position on.
    ///
    /// Reading does not move that position until the source is [settled](Self::settle).
    fn of_position(file: FileSource<'a>) -> Self {
        let own = OwnPosition { file: file.file, at: AtomicU64::new(file.at) };
        Self { own: Some(own), ..Self::from(Origin::File(file)) }
    }

    /// Creates a source for a range of a file.
    pub(crate) fn part_of_file(file: &'a File, part: Range<u64>) -> Self {
        Self::from(Origin::File(FileSource { file, at: part.start, end: part.end }))
    }

    /// Creates a source for a range of bytes with random access.
    #[cfg(feature = "object")]
    pub(crate) fn part_of(bytes: &'a dyn ReadAt, part: Range<u64>) -> Self {
        Self::from(Origin::Other(bytes, part))
    }

    /// Creates a source for an entire compressed member.
    #[cfg(feature = "npz")]
    pub(crate) fn of_blocks(blocks: &'a PackedBlocks<'a>) -> Self {
        Self::from(Origin::Blocks(blocks, 0))
    }

    /// Creates a source for the next `len` bytes of a stream.
    pub(crate) fn part_of_stream(stream: &'a mut dyn Read, len: u64) -> Self {
        Self::from(Origin::Stream(stream, Some(len)))
    }

    /// Creates a source for selected bytes of an array.
    pub(crate) fn picked(array: RandomAccess<'a>, runs: &'a ByteRuns) -> Self {
        Self::from(Origin::ByteRuns { array, runs })
    }

    /// Returns whether the bytes are scattered over short runs, which take longer to read per byte.
    pub(super) fn is_scattered(&self) -> bool {
        /// From this length on, transferring the bytes takes longer than the calls.
        const LONG: usize = 64 << 10;
        matches!(self.origin, Origin::ByteRuns { runs, .. } if runs.run() < LONG)
    }

    /// Returns the preferred boundaries for dividing the source among threads; `None` if any will do.
    ///
    /// These are the distance from the current position to the first boundary, and that between boundaries.
    pub(super) fn seams(&self) -> Option<(usize, usize)> {
        #[cfg(feature = "npz")]
        {
            let blocks = match self.origin {
                Origin::Blocks(blocks, at) => Some((blocks, at)),
                Origin::ByteRuns { array: RandomAccess::Blocks(blocks, place), runs } => {
                    Some((blocks, place + runs.find(self.passed).0))
                }
                _ => None,
            };
            if let Some((blocks, at)) = blocks {
                let step = blocks.step();
                return Some((usize::try_from(step - at % step).ok()?, usize::try_from(step).ok()?));
            }
        }
        self.read_hint().map(|hint| (hint.bytes, hint.bytes))
    }

    /// Returns the preferred size and concurrency of reads; `None` means those of files.
    pub(super) fn read_hint(&self) -> Option<ReadHint> {
        match &self.origin {
            #[cfg(feature = "object")]
            Origin::Other(bytes, _) => bytes.read_hint(),
            #[cfg(feature = "npz")]
            Origin::Blocks(blocks, _) => blocks.read_hint(),
            Origin::ByteRuns { array, .. } => array.read_hint(),
            _ => None,
        }
    }

    /// Returns how many bytes to read at a time on a single thread.
    ///
    /// A remote source divides such a read into concurrent requests.
    pub(super) fn block(&self) -> usize {
        self.read_hint()
            .map_or(super::BLOCK, |hint| hint.bytes.saturating_mul(hint.threads).max(super::BLOCK))
    }

    fn from(origin: Origin<'a>) -> Self {
        Self { origin, passed: 0, witness: None, tally: None, own: None }
    }

    /// Returns the same source with an observer of its bytes.
    #[cfg(feature = "npz")]
    pub(crate) fn seen_by(self, witness: Option<&'a dyn Observer>) -> Self {
        Self { witness, ..self }
    }

    /// Returns whether the source has an observer.
    pub(crate) fn has_witness(&self) -> bool {
        self.witness.is_some()
    }

    /// Returns whether the bytes are observed or counted, and should therefore be read in blocks.
    pub(super) fn is_seen(&self) -> bool {
        self.witness.is_some() || self.tally.is_some()
    }

    /// Reports progress of all further reads, towards a total of `all` bytes.
    pub(super) fn tell(&mut self, progress: Option<&Progress>, all: u64) {
        self.tally = progress.map(|progress| Arc::new(ProgressCounter::new(progress.clone(), all)));
    }

    /// Returns how many bytes remain, if known.
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

    /// Returns how many bytes have been consumed.
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// Reads until `into` is full or the source ends, and returns how many bytes were read.
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

    /// Returns concurrent random access to the rest of the source; `None` for a stream.
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

    /// Skips up to `bytes` bytes, and returns how many were skipped.
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

    /// Advances past bytes that were read by offset.
    ///
    /// A stream has already advanced by being read: only the counters are updated.
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

    /// Returns to the start of the source in a file, which may have grown since.
    ///
    /// Returns `false` if the source is not a file.
    pub(crate) fn restart(&mut self) -> bool {
        let Origin::File(file) = &mut self.origin else { return false };
        file.at -= self.passed;
        self.passed = 0;
        self.update_length();
        true
    }

    /// Returns the file that the source reads from, if any.
    pub(crate) fn file(&self) -> Option<&'a File> {
        match self.origin {
            Origin::File(FileSource { file, .. }) => Some(file),
            _ => None,
        }
    }

    /// Updates the end of the source, if it is a file, to the file's current length.
    pub(crate) fn update_length(&mut self) {
        if let Origin::File(file) = &mut self.origin {
            file.end = file.file.metadata().map_or(file.end, |metadata| metadata.len());
        }
    }

    /// Moves the file's own position to the current position of the source.
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

/// Restores the position of a file on platforms where positioned reads move it, such as Windows.
///
/// The position is restored to where the source was last settled, or to where it began.
struct OwnPosition<'a> {
    file: &'a File,
    at: AtomicU64,
}

impl Drop for OwnPosition<'_> {
    fn drop(&mut self) {
        if os::READING_MOVES {
            let mut file = self.file;
            let _ = file.seek(SeekFrom::Start(*self.at.get_mut())); // if this fails, so does the next read
        }
    }
}

/// Returns the position and the length of a regular file; `None` for others, whose length has no meaning.
fn regular_file(mut file: &File) -> Option<(u64, u64)> {
    let length = os::len_of_regular(file)?;
    Some((file.stream_position().ok()?, length))
}

/// Concurrent random access to a source.
///
/// Offsets are relative to the position that the source had when this was created.
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
    /// The current and the end offset.
    #[cfg(feature = "object")]
    Other(&'a dyn ReadAt, u64, u64),
    #[cfg(feature = "npz")]
    Blocks(&'a PackedBlocks<'a>, u64),
    ByteRuns {
        array: RandomAccess<'a>,
        runs: &'a ByteRuns,
    },
}

impl<'a> Positioned<'a> {
    /// Returns the rest of the source, if the source is a slice.
    pub(crate) fn bytes(&self) -> Option<&'a [u8]> {
        match self.origin {
            Fixed::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Reads at an offset until `into` is full or the source ends, and returns how many bytes were read.
    pub(crate) fn fill_at(&self, into: &mut [u8], from: usize) -> Result<usize> {
        let filled = match self.origin {
            Fixed::Bytes(bytes) => RandomAccess::Bytes(bytes).fill_at(into, from as u64)?,
            Fixed::File(file) => {
                let left = file.end.saturating_sub(file.at + from as u64);
                let most = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                RandomAccess::File(file.file, file.at).fill_at(&mut into[..most], from as u64)?
            }
            #[cfg(feature = "object")]
            Fixed::Other(bytes, at, end) => {
                let left = end.saturating_sub(at + from as u64);
                let most = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                bytes.fill_at(&mut into[..most], at + from as u64)?
            }
            #[cfg(feature = "npz")]
            Fixed::Blocks(blocks, at) => RandomAccess::Blocks(blocks, at).fill_at(into, from as u64)?,
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

/// The largest gap between two runs that are read by one call.
const GAP: u64 = 4 << 10;
/// The largest extent of a call that reads several runs.
const SPAN: u64 = 128 << 10;

/// Reads selected bytes until `into` is full or the file ends, and returns how many were read.
///
/// Runs that are close together are read including their gaps, because a call costs as much as reading a few
/// pages. Outside memory, 0 is returned if the runs are listed and any of them is truncated.
fn fill_picked(array: RandomAccess<'_>, runs: &ByteRuns, into: &mut [u8], from: u64) -> Result<usize> {
    let is_memory = match array {
        RandomAccess::Bytes(..) => true, // in memory, single runs cost no extra calls
        #[cfg(feature = "object")]
        RandomAccess::Other(bytes, place) => {
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
        // A run is read by itself if the read begins within the run, or the run does not fit completely.
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

/// Reads runs that are in any order; returns 0 if any is truncated.
///
/// They are read in the order of the file. All data that is not in the page cache is requested in advance, so
/// that the disk can schedule many requests.
fn fill_listed(array: RandomAccess<'_>, runs: &ByteRuns, into: &mut [u8], from: u64) -> Result<usize> {
    let wanted = into.len();
    let mut parts: Vec<(u64, &mut [u8])> = Vec::new();
    let (mut rest, mut at) = (into, from);
    while !rest.is_empty() {
        let (place, left) = runs.find(at);
        let (part, after) = rest.split_at_mut(left.min(rest.len()));
        at += part.len() as u64;
        parts.push((place, part));
        rest = after;
    }
    // Sorted by offset, so that neighbors can be read by one call.
    parts.sort_unstable_by_key(|(place, _)| *place);
    let RandomAccess::File(file, start) = array else {
        for (place, part) in parts {
            if array.fill_at(part, place)? < part.len() {
                return Ok(0);
            }
        }
        return Ok(wanted);
    };
    parts.iter_mut().for_each(|(place, _)| *place += start);
    // First pass: read what is cached, and request the rest.
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
        let (group, after) = rest.split_at_mut(count);
        rest = after;
        match read_group(group, end, &mut scratch, |into, at| os::read_at_once(file, into, at))? {
            true => {}
            false => {
                os::will_need(file, first, end - first);
                missing.push(group);
            }
        }
    }
    // Second pass: read the rest, which the system is already loading.
    for group in missing {
        let end = group.iter().map(|(place, part)| place + part.len() as u64).max().unwrap_or(0);
        let whole = |into: &mut [u8], at: u64| {
            fill(into, |rest, done| os::read_at(file, rest, at + done as u64)).map(Some)
        };
        if !read_group(group, end, &mut scratch, |into, at| whole(into, at).map_err(Into::into))? {
            return Ok(0); // the file has been truncated
        }
    }
    Ok(wanted)
}

/// Reads nearby parts, which end at `end`, by one call; `false` if the call returned fewer bytes.
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

/// Calls a reader until the buffer is full or the reader ends.
///
/// Retries after interruptions and short reads, and rejects a count that exceeds the buffer.
fn fill(into: &mut [u8], mut read: impl FnMut(&mut [u8], usize) -> io::Result<usize>) -> Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        let rest = &mut into[filled..];
        match read(rest, filled) {
            Ok(0) => break,
            Ok(count) if count > rest.len() => {
                let text = format!("the reader reported {count} bytes read into a buffer of {}", rest.len());
                return Err(io::Error::other(text).into());
            }
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::from(error)),
        }
    }
    Ok(filled)
}
