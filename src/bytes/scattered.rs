//! Reads scattered bytes of a [`Region`]: the runs of a selection.

use std::ops::Range;

use super::chunks::AsChunks;
use super::fill::is_interrupted;
use super::read_buf::with_const_run_len;
use super::runs::RunRows;
use super::{ReadAt, ReadBuf, ReadHints, Region, Runs, append, fill_at, kernels};
use crate::error::{Fault, Result};
use crate::limits;

/// The largest number of parts in a batch, which bounds the memory for them.
const MAX_PARTS: usize = 1 << 16;

impl Region<'_> {
    /// Fills up to `max_len` bytes with selected ones, beginning with selected byte `from`, and returns how many were
    /// read.
    ///
    /// Outside memory, the result is 0 if the runs are listed and any of them is truncated.
    pub(crate) fn fill_runs(
        self,
        runs: &Runs,
        buf: &mut ReadBuf<'_>,
        max_len: usize,
        from: u64,
    ) -> Result<usize> {
        let max_len = max_len.min(buf.left());
        let is_memory = self.bytes().is_some(); // runs cost no calls there
        let fits = runs.end() <= self.given_len();
        if !is_memory && fits {
            let hints = self.hints();
            if runs.is_listed() || hints.batches && !runs.is_single_run() {
                return buf.read_with(max_len, |into| self.fill_batches(runs, hints, into, from));
            }
            return self.fill_spans(runs, hints, (buf, max_len), from);
        }
        match self.bytes() {
            Some(bytes) => Ok(copy_runs(bytes, 0, runs, (buf, max_len), from)),
            None => {
                self.fill_spans(runs, ReadHints { span: 0, ..ReadHints::default() }, (buf, max_len), from)
            }
        }
    }

    /// Reads runs at regular distances, those that are close together by one call.
    ///
    /// They are read including their gaps, because a call costs as much as reading a few pages.
    fn fill_spans(
        self,
        runs: &Runs,
        hints: ReadHints,
        (buf, max_len): (&mut ReadBuf<'_>, usize),
        from: u64,
    ) -> Result<usize> {
        let mut scratch = Vec::new();
        let (mut filled, run) = (0, runs.run_len() as u64);
        let coalescible_count = runs.coalescible_count(hints.gap);
        while filled < max_len {
            let at = from + filled as u64;
            let rest = max_len - filled;
            let (range, coalesced) = runs.coalesced(at, rest as u64, coalescible_count, hints.span_bytes());
            if coalesced > 1 {
                let wanted = (coalesced * run) as usize;
                scratch.resize((range.end - range.start) as usize, 0);
                let came = self.fill_at(&mut scratch, range.start)?;
                let copied = copy_runs(&scratch[..came], range.start, runs, (buf, wanted), at);
                filled += copied;
                if copied < wanted {
                    return Ok(filled);
                }
            } else {
                let wanted = rest.min((range.end - range.start) as usize);
                let came = self.fill_read_buf(buf, wanted, range.start)?;
                filled += came;
                if came < wanted {
                    return Ok(filled);
                }
            }
        }
        Ok(filled)
    }

    /// Reads runs in batches, each in the order of the source.
    fn fill_batches(self, runs: &Runs, hints: ReadHints, into: &mut [u8], from: u64) -> Result<usize> {
        let extent = runs.dense_extent(from, into.len() as u64, hints.gap);
        if let Some(extent) = extent.filter(|_| !hints.is_remote()) {
            return self.fill_from_extent(runs, extent, into, from);
        }
        let max_batch_bytes = hints.block_bytes().unwrap_or(16 << 20);
        let mut parts: Vec<(u64, &mut [u8])> = Vec::new();
        let (mut rest, mut at, mut filled) = (into, from, 0);
        while !rest.is_empty() {
            parts.clear();
            let mut bytes = 0;
            while !rest.is_empty() && bytes < max_batch_bytes && parts.len() < MAX_PARTS {
                let (place, left) = runs.offset_at(at);
                let len = left.min(max_batch_bytes - bytes).min(rest.len());
                let (part, after) = rest.split_at_mut(len);
                (rest, bytes) = (after, bytes + part.len());
                at += part.len() as u64;
                parts.push((self.start().saturating_add(place), part));
            }
            if runs.is_listed() {
                // Sorted by offset, so that neighbors can be read by one call.
                parts.sort_unstable_by_key(|(place, _)| *place);
            }
            let complete = self.with_source(|source| read_all_parts(source, &mut parts))?;
            match complete {
                None => filled += bytes,
                Some(_) if runs.is_listed() => return Ok(0),
                Some(before) => return Ok(filled + before),
            }
        }
        Ok(filled)
    }

    /// Reads listed runs that are nearly everywhere within an extent, by reading all of it in order.
    ///
    /// Returns 0 if some of it is missing.
    fn fill_from_extent(self, runs: &Runs, extent: Range<u64>, into: &mut [u8], from: u64) -> Result<usize> {
        /// How much is read at a time: what fits the cache, in which the runs are looked up.
        const WINDOW: u64 = 256 << 10;
        let (len, run) = (extent.end - extent.start, runs.run_len());
        let mut scratch = Vec::new();
        let read = |scratch: &mut Vec<u8>, range: Range<u64>| -> Result<bool> {
            scratch.clear();
            let wanted = (range.end - range.start) as usize;
            limits::reserve(scratch, wanted)?;
            let fill = |buf: &mut ReadBuf<'_>| self.fill_read_buf(buf, usize::MAX, range.start).map(drop);
            Ok(append(scratch, wanted, fill)? == wanted)
        };
        // The runs are sorted by the window in which they begin: counted, then listed by number and offset in the window.
        let mut ends: Vec<usize> = zeros((len / WINDOW) as usize + 2)?;
        runs.for_each_listed(from, into.len() as u64, |_, place| {
            ends[((place - extent.start) / WINDOW) as usize + 1] += 1;
        });
        let mut total = 0;
        ends.iter_mut().for_each(|end| {
            total += *end;
            *end = total;
        });
        let mut sorted: Vec<(u32, u32)> = zeros(into.len() / run)?;
        runs.for_each_listed(from, into.len() as u64, |number, place| {
            let next = &mut ends[((place - extent.start) / WINDOW) as usize];
            sorted[*next] = (number as u32, ((place - extent.start) % WINDOW) as u32);
            *next += 1;
        });
        let mut first = 0;
        for (window, end) in ends.iter().enumerate() {
            let here = &sorted[first..*end];
            first = *end;
            if here.is_empty() {
                continue;
            }
            let start = extent.start + window as u64 * WINDOW;
            if !read(&mut scratch, start..(start + WINDOW + run as u64).min(extent.end))? {
                return Ok(0);
            }
            with_const_run_len!(run, copy_numbered_runs(&scratch, here, into), {
                for &(number, at) in here {
                    into[number as usize * run..][..run].copy_from_slice(&scratch[at as usize..][..run]);
                }
            });
        }
        Ok(into.len())
    }

    /// Fills parts in ascending order, and returns whether all of them were there.
    ///
    /// The offsets are changed to those in the source.
    pub(crate) fn fill_parts(self, parts: &mut [(u64, &mut [u8])]) -> Result<bool> {
        for (place, part) in &mut *parts {
            if place.saturating_add(part.len() as u64) > self.given_len() {
                return Ok(false);
            }
            *place = self.start().saturating_add(*place);
        }
        Ok(self.with_source(|source| read_all_parts(source, parts))?.is_none())
    }
}

fn zeros<T: Clone + Default>(len: usize) -> Result<Vec<T>> {
    let mut zeros = Vec::new();
    limits::resize(&mut zeros, len)?;
    Ok(zeros)
}

/// Copies runs of `SIZE` bytes, given by their numbers in `into` and their offsets in `bytes`.
fn copy_numbered_runs<const SIZE: usize>(bytes: &[u8], sorted: &[(u32, u32)], into: &mut [u8]) {
    let into = into.chunks_of_mut::<SIZE>();
    for &(number, at) in sorted {
        into[number as usize].copy_from_slice(&bytes[at as usize..][..SIZE]);
    }
}

/// Copies up to `max_len` bytes of runs, from selected byte `from` on, out of the bytes that begin at offset `start`.
///
/// Returns how many were copied: fewer only where the bytes end.
fn copy_runs(
    bytes: &[u8],
    start: u64,
    runs: &Runs,
    (buf, max_len): (&mut ReadBuf<'_>, usize),
    from: u64,
) -> usize {
    let (mut filled, run) = (0, runs.run_len());
    while filled < max_len {
        let at = from + filled as u64;
        let (place, left) = runs.offset_at(at);
        let rest = max_len - filled;
        if let Some(mut listed) = runs.listed_from(at, rest as u64) {
            // The base may be smaller than `start`, if all offsets are larger.
            listed.base = listed.base.wrapping_sub(start);
            let copied = buf.copy_listed(bytes, run, &listed);
            filled += copied;
            if copied < listed.count() * run {
                break;
            }
            continue;
        }
        let place = usize::try_from(place - start).ok();
        let bytes = place.and_then(|place| bytes.get(place..)).unwrap_or_default();
        if let Some(rows) = runs.rows(at) {
            let count = rows.rows_left.min(rest / (rows.runs_per_row * run).max(1));
            let strides = ((count, rows.row_stride), (rows.runs_per_row, rows.stride));
            let copied = if count > 1 { buf.copy_rows(bytes, run, strides.0, strides.1) } else { 0 };
            if copied > 0 {
                filled += copied;
                continue;
            }
        }
        let (stride, adjacent_runs) = runs.stride_and_runs_left(at);
        let stride = usize::try_from(stride).unwrap_or(usize::MAX);
        let coalesced = if left == run && stride >= left { adjacent_runs.min(rest / left.max(1)) } else { 1 };
        let (wanted, came) = match coalesced {
            0 | 1 => (left.min(rest), buf.copy(&bytes[..left.min(rest).min(bytes.len())])),
            _ => {
                let span = (coalesced - 1).saturating_mul(stride).saturating_add(left);
                (coalesced * left, buf.copy_runs(&bytes[..span.min(bytes.len())], left, stride))
            }
        };
        filled += came;
        if came < wanted {
            break;
        }
    }
    filled
}

/// Copies the bytes of runs, from selected byte `from` on, to their places in the bytes that begin at offset `start`.
///
/// These are complete runs, in the order of their offsets.
pub(crate) fn scatter_runs(into: &mut [u8], start: u64, runs: &Runs, from: u64, bytes: &[u8]) {
    let (mut done, run) = (0, runs.run_len());
    while done < bytes.len() {
        let (at, rest) = (from + done as u64, &bytes[done..]);
        let into = &mut into[(runs.offset_at(at).0 - start) as usize..];
        let rows = runs.rows(at).filter(|rows| rows.runs_per_row * run <= rest.len());
        let rows = rows.unwrap_or_else(|| {
            let (stride, adjacent_runs) = runs.stride_and_runs_left(at);
            let runs_per_row = adjacent_runs.min(rest.len() / run);
            RunRows {
                rows_left: 1,
                row_stride: 0,
                runs_per_row,
                stride: usize::try_from(stride).unwrap_or(usize::MAX),
            }
        });
        let count = rows.rows_left.min(rest.len() / (rows.runs_per_row * run));
        let axes = [(count, rows.row_stride), (rows.runs_per_row, rows.stride)];
        kernels::scatter(&rest[..count * rows.runs_per_row * run], into, &axes, run);
        done += count * rows.runs_per_row * run;
    }
}

/// Reads parts in ascending order; if the source ends before, returns how many bytes of them were read.
fn read_all_parts(source: &dyn ReadAt, parts: &mut [(u64, &mut [u8])]) -> Result<Option<usize>> {
    let mut done = 0;
    while done < parts.len() {
        let end = parts.len().min(done + MAX_PARTS);
        let count = match source.read_parts(&mut parts[done..end]) {
            Err(error) if is_interrupted(&error) => continue,
            read => read?,
        };
        if count > end - done {
            let reason = format!("the source reported {count} parts read of {}", end - done);
            return Err(Fault::BadSource { reason }.into());
        }
        done += count;
        if done == end {
            continue;
        }
        let (place, part) = &mut parts[done];
        let (came, wanted) = (fill_at(source, part, *place)?, part.len());
        if came < wanted {
            let before = parts[..done].iter().map(|(_, part)| part.len()).sum::<usize>();
            return Ok(Some(before + came));
        }
        done += 1;
    }
    Ok(None)
}
