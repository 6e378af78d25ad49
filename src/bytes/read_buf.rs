//! [`ReadBuf`]: memory for bytes that is not cleared before it is filled.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::Read;
use std::mem::MaybeUninit;
use std::slice;

use bytemuck::Pod;

use super::chunks::AsChunks;
use super::kernels::{Direction, StridedLayout};
use super::runs::ListedRuns;
use super::{LocalFile, fill, fill_at};
use crate::error::{Fault, Result};

/// Memory that is filled from its beginning.
///
/// Memory and, on Unix, files are copied into it as it is. Any other reader gets initialized bytes, as [`Read`](std::io::Read)
/// requires, which are cleared only then.
pub(crate) struct ReadBuf<'a> {
    bytes: &'a mut [MaybeUninit<u8>],
    /// How many bytes at the beginning have been filled; they are initialized.
    filled: usize,
    /// How many bytes at the beginning are initialized; at least those that have been filled.
    initialized: usize,
}

/// Calls the loop for runs of this length, if there is one: with a constant length, a run is moved by an instruction
/// instead of a call.
macro_rules! with_const_run_len {
    ($run:expr, $copy:ident $(.$method:ident)? ($($argument:expr),*), $otherwise:expr) => {
        match $run {
            1 => $copy$(.$method)?::<1>($($argument),*),
            2 => $copy$(.$method)?::<2>($($argument),*),
            4 => $copy$(.$method)?::<4>($($argument),*),
            8 => $copy$(.$method)?::<8>($($argument),*),
            16 => $copy$(.$method)?::<16>($($argument),*),
            _ => $otherwise,
        }
    };
}
pub(super) use with_const_run_len;

impl<'a> ReadBuf<'a> {
    /// Returns memory that may not be initialized.
    pub(crate) fn new(bytes: &'a mut [MaybeUninit<u8>]) -> Self {
        Self { bytes, filled: 0, initialized: 0 }
    }

    /// Returns memory that is initialized, and stays so.
    pub(crate) fn of(bytes: &'a mut [u8]) -> Self {
        let (memory, length) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: initialized bytes are also valid as bytes that may not be. Nothing here makes them uninitialized:
        // only initialized bytes are ever written.
        let bytes = unsafe { slice::from_raw_parts_mut(memory, length) };
        Self { bytes, filled: 0, initialized: length }
    }

    /// Returns memory of which the caller knows whether it is initialized.
    ///
    /// # Safety
    ///
    /// If `is_initialized`, all bytes are.
    pub(crate) unsafe fn maybe_init(bytes: &'a mut [MaybeUninit<u8>], is_initialized: bool) -> Self {
        let initialized = if is_initialized { bytes.len() } else { 0 };
        Self { bytes, filled: 0, initialized }
    }

    /// Returns how many bytes are left to fill.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.filled
    }

    /// Copies bytes, as many as there is memory for, and returns how many these are.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.left());
        let target = self.bytes[self.filled..].as_mut_ptr().cast::<u8>();
        // SAFETY: both have at least `count` bytes, and the target is borrowed mutably, so they do not overlap.
        unsafe { target.copy_from_nonoverlapping(bytes.as_ptr(), count) };
        self.advance(count);
        count
    }

    /// Appends items, as many as there is memory for.
    pub(crate) fn extend<T: Pod>(&mut self, items: impl Iterator<Item = T>) {
        let places = self.bytes[self.filled..].chunks_exact_mut(size_of::<T>());
        let mut count = 0;
        // One loop for memory of any alignment: there is one for each pair of numbers, and on x86-64 it is as fast.
        for (place, item) in places.zip(items) {
            // SAFETY: the place has the size of an item, which has no padding, so each of its bytes is initialized.
            unsafe { place.as_mut_ptr().cast::<T>().write_unaligned(item) };
            count += 1;
        }
        self.advance(count * size_of::<T>());
    }

    /// Copies runs of `run` bytes, each `stride` after the one before, and returns how many bytes these are.
    ///
    /// The last run may be incomplete.
    pub(crate) fn copy_runs(&mut self, bytes: &[u8], run: usize, stride: usize) -> usize {
        let whole = bytes.len().checked_sub(run).map_or(0, |last| last / stride + 1);
        let copied = self.copy_rows(bytes, run, (1, 0), (whole.min(self.left() / run), stride));
        // What is left is shorter than a run.
        let rest = bytes.get(copied / run * stride..).unwrap_or_default();
        copied + self.copy(&rest[..rest.len().min(run)])
    }

    /// Copies rows of `count` runs of `run` bytes, and returns how many bytes these are: 0 if they are not all there.
    pub(crate) fn copy_rows(
        &mut self,
        bytes: &[u8],
        run: usize,
        (rows, row_stride): (usize, usize),
        (count, stride): (usize, usize),
    ) -> usize {
        let layout = StridedLayout::ascending([(rows, row_stride), (count, stride)], run);
        let copied = layout.byte_len();
        if copied > self.left() || !layout.is_within(0, bytes.len()) {
            return 0;
        }
        let packed = self.bytes[self.filled..].as_mut_ptr().cast();
        // SAFETY: all runs are within the bytes; there is room for all of them in this memory, which is another
        // borrow. Gathering does not write to the strided side.
        unsafe { layout.copy(Direction::Gather, bytes.as_ptr().cast_mut(), packed) };
        self.advance(copied);
        copied
    }

    /// Copies listed runs of `run` bytes, and returns how many bytes these are.
    ///
    /// The last run may be incomplete.
    pub(crate) fn copy_listed(&mut self, bytes: &[u8], run: usize, listed: &ListedRuns<'_>) -> usize {
        with_const_run_len!(run, self.copy_listed_sized(bytes, listed), {
            let mut copied = 0;
            for from in listed_run_tails(bytes, listed) {
                copied += self.copy(&from[..run.min(from.len())]);
                if from.len() < run {
                    break;
                }
            }
            copied
        })
    }

    fn copy_listed_sized<const SIZE: usize>(&mut self, bytes: &[u8], listed: &ListedRuns<'_>) -> usize {
        let units = self.bytes[self.filled..].chunks_of_mut::<SIZE>();
        let mut units = units.iter_mut();
        let mut count = 0;
        'all: for row in 0..listed.rows as u64 {
            let base = listed.base.wrapping_add(row * listed.stride);
            for place in listed.offsets {
                let from = bytes_from(bytes, base.wrapping_add(*place)).first_chunk::<SIZE>();
                let (Some(from), Some(into)) = (from, units.next()) else { break 'all };
                *into = from.map(MaybeUninit::new);
                count += 1;
            }
        }
        self.advance(count * SIZE);
        count * SIZE
    }

    /// Reads up to `max_len` bytes of a file from an offset, and returns how many were read: fewer only at the end.
    pub(super) fn fill_from_file(&mut self, file: &File, max_len: usize, at: u64) -> Result<usize> {
        let max_len = max_len.min(self.left());
        #[cfg(unix)]
        if i64::try_from(at.saturating_add(max_len as u64)).is_ok() {
            let mut filled = 0;
            while filled < max_len {
                let rest = &mut self.bytes[self.filled..][..max_len - filled];
                match rustix::io::pread(file, rest, at + filled as u64) {
                    Ok(([], _)) => break,
                    Ok((read, _)) => {
                        let count = read.len();
                        self.advance(count);
                        filled += count;
                    }
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(std::io::Error::from(error).into()),
                }
            }
            return Ok(filled);
        }
        self.read_with(max_len, |into| fill_at(&LocalFile(file), into, at))
    }

    /// Calls `read` with up to `max_len` initialized bytes; it returns how many at their beginning it has filled.
    ///
    /// # Panics
    ///
    /// If `read` returns more than it was given.
    pub(crate) fn read_with(
        &mut self,
        max_len: usize,
        read: impl FnOnce(&mut [u8]) -> Result<usize>,
    ) -> Result<usize> {
        let max_len = max_len.min(self.left());
        let count = read(self.initialize(max_len))?;
        assert!(count <= max_len, "more bytes were read than requested");
        self.advance(count);
        Ok(count)
    }

    /// Reads up to `max_len` bytes from a reader, and returns how many were read: fewer only at the end.
    pub(crate) fn fill_from_reader(&mut self, reader: &mut dyn Read, max_len: usize) -> Result<usize> {
        let max_len = max_len.min(self.left());
        let count = fill(self.initialize(max_len), reader)?;
        self.advance(count);
        Ok(count)
    }

    /// Returns the next bytes, which are cleared if they were not initialized.
    fn initialize(&mut self, len: usize) -> &mut [u8] {
        let end = self.filled + len;
        if end > self.initialized {
            self.bytes[self.initialized..end].fill(MaybeUninit::new(0));
            self.initialized = end;
        }
        let memory = self.bytes[self.filled..end].as_mut_ptr().cast();
        // SAFETY: these bytes are initialized, and borrowed from `self`.
        unsafe { slice::from_raw_parts_mut(memory, len) }
    }

    /// `count` more bytes have been filled.
    fn advance(&mut self, count: usize) {
        self.filled += count;
        self.initialized = self.initialized.max(self.filled);
    }

    /// Returns the bytes that have been filled.
    pub(crate) fn into_filled(self) -> &'a mut [u8] {
        let (memory, length) = (self.bytes.as_mut_ptr().cast(), self.filled);
        // SAFETY: the first `filled` bytes are initialized: each was copied, read by the system, or given out as
        // initialized. They are borrowed for as long as the memory was.
        unsafe { slice::from_raw_parts_mut(memory, length) }
    }
}

/// Returns memory for `len` bytes, aligned like `u128`, which may not be initialized.
///
/// It is that of the vector, whose elements are removed.
pub(crate) fn scratch(words: &mut Vec<u128>, len: usize) -> Result<ReadBuf<'_>> {
    words.clear();
    let reserved = words.try_reserve_exact(len.div_ceil(size_of::<u128>()));
    reserved.map_err(|_| Fault::OutOfMemory { bytes: len as u64 })?;
    let memory = words.spare_capacity_mut().as_mut_ptr().cast();
    // SAFETY: the memory of the vector has this length, and is borrowed for as long as the buffer. Bytes that may not be
    // initialized are valid with any content.
    Ok(ReadBuf::new(unsafe { slice::from_raw_parts_mut(memory, len) }))
}

/// Appends up to `max_len` bytes, and returns how many were appended. The vector must have the capacity.
pub(crate) fn append(
    items: &mut Vec<u8>,
    max_len: usize,
    read: impl FnOnce(&mut ReadBuf<'_>) -> Result<()>,
) -> Result<usize> {
    let start = items.len();
    let mut buf = ReadBuf::new(&mut items.spare_capacity_mut()[..max_len]);
    let memory = buf.bytes.as_ptr();
    read(&mut buf)?;
    assert!(buf.bytes.as_ptr() == memory, "it is the memory of the vector");
    let count = buf.filled;
    // SAFETY: the bytes after `start` are those of the buffer, of which `count` are initialized.
    unsafe { items.set_len(start + count) };
    Ok(count)
}

/// Returns the bytes from an offset on: none if it is after their end.
fn bytes_from(bytes: &[u8], at: u64) -> &[u8] {
    usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default()
}

/// Returns the bytes from the beginning of each listed run on.
fn listed_run_tails<'a>(bytes: &'a [u8], listed: &'a ListedRuns<'_>) -> impl Iterator<Item = &'a [u8]> {
    (0..listed.rows as u64).flat_map(move |row| {
        let base = listed.base.wrapping_add(row * listed.stride);
        listed.offsets.iter().map(move |place| bytes_from(bytes, base.wrapping_add(*place)))
    })
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::{ReadBuf, append};
    use crate::error::{Error, Fault};

    #[test]
    fn unfilled_bytes_are_not_returned() {
        let mut memory = [MaybeUninit::uninit(); 10];
        let mut buf = ReadBuf::new(&mut memory);
        assert_eq!((buf.copy(b"abc"), buf.left()), (3, 7));
        let read = |bytes: &mut [u8]| {
            assert_eq!(bytes, [0; 4]); // cleared
            bytes.copy_from_slice(b"defg");
            Ok(2)
        };
        assert_eq!(buf.read_with(4, read).unwrap(), 2);
        // What was given out before is not cleared again.
        let again = |bytes: &mut [u8]| {
            assert_eq!(bytes, b"fg\0");
            Ok(0)
        };
        assert_eq!(buf.read_with(3, again).unwrap(), 0);
        assert_eq!(buf.copy(b"12345678"), 5);
        assert_eq!(buf.into_filled(), b"abcde12345");
    }

    #[test]
    fn items_are_appended_at_any_alignment() {
        let mut memory = vec![MaybeUninit::uninit(); 23];
        for before in 0..8 {
            let mut buf = ReadBuf::new(&mut memory);
            buf.copy(&[7; 8][..before]);
            buf.extend([0x0102_0304u32.to_be(), u32::MAX, 0, 1, 2, 3].into_iter());
            let filled = buf.into_filled();
            assert_eq!(filled.len(), before + (23 - before) / 4 * 4);
            assert_eq!(filled[before..][..12], [1, 2, 3, 4, 255, 255, 255, 255, 0, 0, 0, 0]);
        }
    }

    fn copy_into(buf: &mut ReadBuf<'_>, bytes: &[u8]) -> crate::error::Result<()> {
        buf.copy(bytes);
        Ok(())
    }

    #[test]
    fn strided_runs_are_copied_contiguously() {
        let bytes: Vec<u8> = (0..50).collect();
        for run in [1, 2, 3, 4, 5, 8, 16] {
            for (stride, room) in [(run, 50), (run + 3, 50), (20, 50), (run + 3, 2 * run)] {
                let wanted: Vec<u8> = bytes
                    .chunks(stride)
                    .flat_map(|bytes| bytes.iter().take(run))
                    .take(room)
                    .copied()
                    .collect();
                let mut memory = vec![MaybeUninit::uninit(); room];
                let mut into = ReadBuf::new(&mut memory);
                assert_eq!(into.copy_runs(&bytes, run, stride), wanted.len(), "{run} of {stride}");
                assert_eq!(into.into_filled(), wanted);
            }
        }
    }

    #[test]
    fn failed_append_keeps_earlier_bytes() {
        let mut bytes = Vec::with_capacity(8);
        assert_eq!(append(&mut bytes, 5, |buf| copy_into(buf, b"abc")).unwrap(), 3);
        let failed = append(&mut bytes, 5, |buf| {
            buf.copy(b"de");
            Err(Error::from(Fault::Cancelled))
        });
        assert!(failed.is_err() && bytes == b"abc");
    }

    #[test]
    #[should_panic(expected = "more bytes were read than requested")]
    #[cfg_attr(panic = "abort", ignore = "needs panics that unwind")]
    fn read_of_more_than_requested_panics() {
        let _ = ReadBuf::new(&mut [MaybeUninit::uninit(); 4]).read_with(3, |_| Ok(4));
    }
}
