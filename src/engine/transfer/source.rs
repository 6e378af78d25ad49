//! Sources of bytes with a current position: slices, ranges of a source with positions, and streams.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Effort;
use super::streams::{self, SliceReader};
use crate::bytes::{self, ReadBuf, ReadHints, Region, Runs};
use crate::error::Result;

/// A source of bytes with a current position.
///
/// All sources except streams have a known length and can be read at any offset.
pub(crate) struct Source<'a> {
    origin: Origin<'a>,
    /// How many bytes have been consumed.
    position: u64,
    reader: Reader<'a>,
}

enum Origin<'a> {
    /// What remains of bytes that can be read at any offset.
    Random(Positioned<'a>),
    /// A stream, and how many bytes remain, if known.
    Stream(Stream<'a>, Option<u64>),
}

enum Stream<'a> {
    Borrowed(&'a mut dyn Read),
    Owned(Box<dyn Read>),
}

/// The caller's reader of which the bytes are: it shows what has been consumed.
enum Reader<'a> {
    None,
    Slice(SliceReader<'a>),
    File(FilePositionGuard<'a>),
}

impl<'a> Source<'a> {
    /// Creates a source from a reader.
    ///
    /// Slices and regular files are detected, and have a known length; anything else is a stream.
    pub(crate) fn of<R: Read>(reader: &'a mut R) -> Self {
        if streams::is_slice::<R>() {
            let Some(slice) = streams::as_slice(reader) else { unreachable!("it was recognised above") };
            let region = Region::of_memory(slice.get());
            return Self { reader: Reader::Slice(slice), ..Self::region(region) };
        }
        let Some(part) = streams::as_file(reader).and_then(rest_of_regular_file) else {
            return Self::from(Origin::Stream(Stream::Borrowed(reader), None));
        };
        match streams::as_file(reader) {
            Some(file) => Self::of_file_range(file, part),
            None => unreachable!("it was recognised above"),
        }
    }

    /// Creates a source for an entire file that has just been opened and is at position 0.
    pub(crate) fn of_opened(file: &'a mut File) -> Self {
        match bytes::len_of_regular(file) {
            Some(end) => Self::of_file_range(file, 0..end),
            None => Self::of(file),
        }
    }

    /// Creates a source for a file from its current position on.
    ///
    /// Reading does not move that position until the source is [settled](Self::sync_file_position).
    fn of_file_range(file: &'a File, part: Range<u64>) -> Self {
        let guard = FilePositionGuard { file, at: AtomicU64::new(part.start) };
        Self { reader: Reader::File(guard), ..Self::region(Region::of_file(file).part(part)) }
    }

    /// Creates a source for a range of bytes, whose end must be fixed.
    pub(crate) fn region(region: Region<'a>) -> Self {
        Self::from(Origin::Random(Positioned { region, runs: None }))
    }

    /// Creates a source for the next `len` bytes of a stream.
    #[cfg(feature = "npz")]
    pub(crate) fn part_of_stream(stream: &'a mut dyn Read, len: u64) -> Self {
        Self::from(Origin::Stream(Stream::Borrowed(stream), Some(len)))
    }

    /// Creates a source for the next `len` bytes of a stream, which it owns.
    pub(crate) fn of_owned(stream: Box<dyn Read>, len: u64) -> Self {
        Self::from(Origin::Stream(Stream::Owned(stream), Some(len)))
    }

    /// Creates a source for selected bytes of an array.
    pub(crate) fn runs(array: Region<'a>, runs: &'a Runs) -> Self {
        Self::from(Origin::Random(Positioned { region: array, runs: Some((runs, 0)) }))
    }

    fn from(origin: Origin<'a>) -> Self {
        Self { origin, position: 0, reader: Reader::None }
    }

    /// Returns how many bytes remain, if known.
    pub(crate) fn remaining(&self) -> Option<u64> {
        match &self.origin {
            Origin::Random(rest) => Some(rest.len()),
            Origin::Stream(_, left) => *left,
        }
    }

    /// Returns how many bytes have been consumed.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Reads until `into` is full or the source ends, and returns how many bytes were read.
    pub(crate) fn fill(&mut self, into: &mut [u8]) -> Result<usize> {
        self.fill_read_buf(&mut ReadBuf::of(into), usize::MAX)
    }

    /// Reads up to `max_len` bytes, fewer only at the end, and returns how many were read.
    pub(crate) fn fill_read_buf(&mut self, buf: &mut ReadBuf<'_>, max_len: usize) -> Result<usize> {
        let filled = match &mut self.origin {
            Origin::Random(Positioned { region, runs: None }) => region.fill_read_buf(buf, max_len, 0)?,
            Origin::Random(rest) => rest.fill_read_buf(buf, max_len, 0)?,
            Origin::Stream(stream, left) => {
                let max_len = left.map_or(max_len, |left| max_len.min(saturated(left)));
                match stream {
                    Stream::Borrowed(stream) => buf.fill_from_reader(*stream, max_len)?,
                    Stream::Owned(stream) => buf.fill_from_reader(stream, max_len)?,
                }
            }
        };
        self.advance(filled as u64);
        Ok(filled)
    }

    /// Returns concurrent random access to the rest of the source; `None` for a stream.
    pub(crate) fn positioned(&self) -> Option<Positioned<'a>> {
        match self.origin {
            Origin::Random(rest) => Some(rest),
            Origin::Stream(..) => None,
        }
    }

    /// Returns a source of the same bytes that does not advance this one; `None` for a stream.
    pub(crate) fn lookahead(&self) -> Option<Self> {
        let rest = self.positioned()?;
        Some(Self { position: self.position, ..Self::from(Origin::Random(rest)) })
    }

    /// Skips up to `bytes` bytes, and returns how many were skipped.
    pub(crate) fn skip(&mut self, bytes: u64) -> Result<u64> {
        if let Origin::Random(rest) = &self.origin {
            let skipped = bytes.min(rest.len());
            self.advance(skipped);
            return Ok(skipped);
        }
        let max_len = |left: u64| usize::try_from(left).unwrap_or(usize::MAX).min(super::BLOCK_LEN);
        let mut scratch = vec![0; max_len(bytes)];
        let mut skipped = 0;
        while skipped < bytes {
            let wanted = max_len(bytes - skipped);
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
        self.position += bytes;
        match &mut self.origin {
            Origin::Random(rest) => rest.advance(bytes),
            Origin::Stream(_, left) => *left = left.map(|left| left.saturating_sub(bytes)),
        }
        if let Reader::Slice(slice) = &mut self.reader {
            slice.advance(saturated(bytes));
        }
    }

    /// Returns what remains of a range of bytes; `None` for a slice, a selection or a stream.
    fn range(&mut self) -> Option<&mut Region<'a>> {
        match (&mut self.origin, &self.reader) {
            (_, Reader::Slice(_)) => None,
            (Origin::Random(Positioned { region, runs: None }), _) => Some(region),
            _ => None,
        }
    }

    /// Returns to the start of the source in a file, which may have grown since.
    ///
    /// Returns `false` if the source is a slice, a selection or a stream.
    pub(crate) fn restart(&mut self) -> bool {
        let position = self.position;
        let Some(rest) = self.range() else { return false };
        *rest = rest.with_preceding(position).up_to_source_end();
        self.position = 0;
        true
    }

    /// Returns the file whose locks coordinate access to the source, if any.
    pub(crate) fn lock_file(&self) -> Option<&'a File> {
        self.positioned().filter(Positioned::is_contiguous)?.region.lock_file()
    }

    /// Updates the end of the source, if it is a file, to the current end of the file.
    pub(crate) fn update_length(&mut self) {
        if let Some(rest) = self.range() {
            *rest = rest.up_to_source_end();
        }
    }

    /// Moves the file's own position to the current position of the source, if the source began there.
    pub(crate) fn sync_file_position(&self) -> Result<()> {
        if let (Some(rest), Reader::File(guard)) = (self.positioned(), &self.reader) {
            let (mut file, at) = (guard.file, rest.region.start());
            file.seek(SeekFrom::Start(at))?;
            guard.at.store(at, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn saturated(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}

/// Restores the position of a file on platforms where positioned reads move it, such as Windows.
///
/// The position is restored to where the source was last settled, or to where it began.
struct FilePositionGuard<'a> {
    file: &'a File,
    at: AtomicU64,
}

impl Drop for FilePositionGuard<'_> {
    fn drop(&mut self) {
        if bytes::READS_MOVE_POSITION {
            let mut file = self.file;
            let _ = file.seek(SeekFrom::Start(*self.at.get_mut())); // if this fails, so does the next read
        }
    }
}

/// Returns the range of a regular file from its position on; `None` for others, whose length has no meaning.
fn rest_of_regular_file(mut file: &File) -> Option<Range<u64>> {
    let length = bytes::len_of_regular(file)?;
    Some(file.stream_position().ok()?..length)
}

/// Concurrent random access to a source.
///
/// Offsets are relative to the position that the source had when this was created.
#[derive(Clone, Copy)]
pub(crate) struct Positioned<'a> {
    region: Region<'a>,
    /// The selected bytes of the region, and how many of them were consumed.
    runs: Option<(&'a Runs, u64)>,
}

impl<'a> Positioned<'a> {
    fn len(&self) -> u64 {
        match self.runs {
            Some((runs, position)) => runs.byte_len().saturating_sub(position),
            None => self.region.given_len(),
        }
    }

    fn advance(&mut self, bytes: u64) {
        match &mut self.runs {
            Some((_, position)) => *position += bytes,
            None => self.region = self.region.after(bytes),
        }
    }

    /// Returns the rest of the source, if it is contiguous and in memory.
    pub(crate) fn bytes(&self) -> Option<&'a [u8]> {
        if self.runs.is_some() { None } else { self.region.bytes() }
    }

    /// Reads at an offset until `into` is full or the source ends, and returns how many bytes were read.
    pub(crate) fn fill_at(&self, into: &mut [u8], from: usize) -> Result<usize> {
        self.fill_read_buf(&mut ReadBuf::of(into), usize::MAX, from)
    }

    /// Reads up to `max_len` bytes at an offset, fewer only at the end, and returns how many were read.
    pub(crate) fn fill_read_buf(&self, buf: &mut ReadBuf<'_>, max_len: usize, from: usize) -> Result<usize> {
        let Some((runs, position)) = self.runs else {
            return self.region.fill_read_buf(buf, max_len, from as u64);
        };
        let at = position + from as u64;
        let left = usize::try_from(runs.byte_len().saturating_sub(at)).unwrap_or(usize::MAX);
        self.region.fill_runs(runs, buf, max_len.min(left), at)
    }

    /// Returns whether memory that is read into has to be cleared first.
    pub(super) fn needs_cleared_memory(&self) -> bool {
        let is_listed = self.runs.is_some_and(|(runs, _)| runs.is_listed());
        self.region.needs_cleared_memory() || is_listed && self.region.bytes().is_none()
    }

    pub(crate) fn hints(&self) -> ReadHints {
        self.region.hints()
    }

    /// Returns whether the number of bytes is certain, rather than what a server or another source says.
    pub(super) fn has_trusted_len(&self) -> bool {
        self.region.has_trusted_len()
    }

    /// Returns about this many bytes, as a number of whole runs; fewer if there would be too many runs to list.
    pub(super) fn round_to_runs(&self, bytes: usize) -> usize {
        /// Listing takes eight bytes for each run.
        const MAX_RUNS: usize = 16 << 20;
        let run = self.runs.map_or(1, |(runs, _)| runs.run_len().max(1));
        (bytes / run).clamp(1, MAX_RUNS).saturating_mul(run)
    }

    /// Returns whether the bytes are scattered in any order.
    pub(super) fn is_listed_and_local(&self) -> bool {
        self.runs.is_some_and(|(runs, _)| runs.is_listed()) && !self.hints().is_remote()
    }

    /// Returns whether the bytes are not scattered.
    pub(super) fn is_contiguous(&self) -> bool {
        self.runs.is_none()
    }

    /// Returns the effort of finding scattered bytes, in addition to moving them.
    pub(super) fn run_lookup_effort(&self) -> Effort {
        let runs = self.runs.map_or(0, |(runs, _)| runs.byte_len() / runs.run_len().max(1) as u64);
        match self.region.bytes() {
            Some(_) => Effort::each(runs, 2),
            None => Effort::system_calls(runs),
        }
    }

    /// Returns the distance to the first boundary at which reads should end, and that between boundaries.
    pub(super) fn boundaries(&self) -> Option<(usize, usize)> {
        let step = self.hints().boundary_bytes()?;
        let first = match self.runs {
            Some((runs, position)) if position >= runs.byte_len() => return None,
            Some((runs, position)) => runs.offset_at(position).0,
            None => 0,
        };
        let at = self.region.start().saturating_add(first);
        Some((usize::try_from(step - at % step).ok()?, usize::try_from(step).ok()?))
    }
}
