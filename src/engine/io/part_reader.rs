//! [`PartReader`]: the elements of an array that comes from a reader, part by part.

use std::borrow::Cow;
use std::io::{self, Read};

use super::format::FormatHeader;
use super::payload::{Payload, ReadArray};
use super::reader_state::{State, lost_position_error};
use crate::bytes;
use crate::error::{Fault, Result};
use crate::header::Header;
use crate::options::ReadOptions;
use crate::transfer::{self, Source};

/// The elements of an array that comes from a reader. They are read part by part, in the order in which they come.
///
/// If it is dropped early, the reader knows how many bytes of the array it has yet to skip.
pub(crate) struct PartReader<'r, R> {
    buffer: PayloadBuffer<'r, R>,
    found: &'r FormatHeader,
    options: Cow<'r, ReadOptions>,
    state: &'r mut State,
    /// The options for parts whose progress is told here.
    options_without_progress: ReadOptions,
    payload_len: u64,
    /// How many bytes of the array have been read.
    position: u64,
    /// Up to where parts are read one by one, because an element there is at fault.
    read_singly_until: u64,
}

impl<'r, R: Read> PartReader<'r, R> {
    /// Fails if the array cannot be read in parts, or if the reader is known to be too short for it.
    pub(super) fn new(
        reader: &'r mut R,
        found: &'r FormatHeader,
        options: &'r ReadOptions,
        state: &'r mut State,
    ) -> Result<Self> {
        found.check_uncompressed(options)?;
        let header = found.header();
        let payload_len = header.declared_payload_len()?;
        if let Some(have) = Source::of(reader).remaining().filter(|have| *have < payload_len) {
            return Err(transfer::truncated(header, have));
        }
        let buffer = PayloadBuffer { reader, left: payload_len, bytes: Vec::new(), consumed: 0 };
        let options = found.dispatch_options(options);
        let options_without_progress = options.without_progress();
        Ok(Self {
            buffer,
            found,
            options,
            state,
            options_without_progress,
            payload_len,
            position: 0,
            read_singly_until: 0,
        })
    }

    pub(crate) fn header(&self) -> &'r Header {
        self.found.header()
    }

    pub(crate) fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// Returns how many bytes of the array have been read.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Returns how many bytes have come from the reader, and can be read together.
    pub(crate) fn buffered_len(&self) -> usize {
        if self.position < self.read_singly_until { 0 } else { self.buffer.buffered().len() }
    }

    /// Reads the next part, which has this header.
    pub(crate) fn read<T: ReadArray>(&mut self, part: &Header) -> Result<T> {
        self.check_state()?;
        if let Some(read) = self.buffer.take_buffered(part, &self.options_without_progress) {
            return self.complete_read(part, read);
        }
        // Lost until the part has been read: a panic leaves the reader within it.
        *self.state = State::Lost;
        let options = self.options.with_progress_of_part(self.position, self.payload_len);
        let read = {
            let source = &mut Source::of(&mut self.buffer);
            T::from_payload(Payload { source, header: part, options: &options })
        };
        match read {
            Ok(_) => self.advance(part),
            // The type and the limits are checked before elements are read, so another type can be tried.
            Err(ref error) if error.is_mismatch() || error.is_limit() => self.update_state(),
            Err(ref error) if matches!(error.fault(), Fault::Truncated { .. }) => {
                return Err(transfer::truncated(self.header(), self.payload_len - self.buffer.left));
            }
            Err(_) => {}
        }
        read
    }

    /// Reads the next part if all its bytes have come already; `None` if some have not, or an element is at fault.
    ///
    /// In the latter case, what has come is to be read in smaller parts, so that those before the fault are read.
    pub(crate) fn read_buffered<T: ReadArray>(&mut self, part: &Header) -> Option<Result<T>> {
        self.check_state().ok()?;
        match self.buffer.take_buffered(part, &self.options_without_progress)? {
            Ok(made) => Some(self.complete_read(part, Ok(made))),
            Err(_) => {
                self.read_singly_until = self.position + self.buffer.buffered().len() as u64;
                None
            }
        }
    }

    /// A part has been read from the buffer, or it has not because of an error.
    fn complete_read<T>(&mut self, part: &Header, read: Result<T>) -> Result<T> {
        match read {
            Ok(made) => {
                self.advance(part);
                let told = self
                    .options
                    .get_progress()
                    .map_or(Ok(()), |told| told.report(self.position, self.payload_len));
                told.map(|()| made)
            }
            Err(error) => {
                if !error.is_mismatch() && !error.is_limit() {
                    *self.state = State::Lost;
                }
                Err(error)
            }
        }
    }

    /// Fails if an error or a panic has left the reader within a part.
    fn check_state(&self) -> Result<()> {
        match self.state {
            State::Lost => Err(lost_position_error()),
            _ => Ok(()),
        }
    }

    /// All parts have been visited.
    pub(crate) fn finish(&mut self) {
        if self.position == self.payload_len && *self.state != State::Lost {
            *self.state = State::AtEnd;
        }
    }

    /// A part has been read.
    fn advance(&mut self, part: &Header) {
        self.position += part.payload_len().unwrap_or_default();
        self.update_state();
    }

    fn update_state(&mut self) {
        *self.state = match self.buffer.left {
            left if left == self.payload_len && self.position == 0 => State::AtPayload,
            // What is in the buffer has come from the reader.
            left => State::Within { left },
        };
    }
}

/// A reader's next bytes up to the end of an array. Small parts are taken from a buffer.
///
/// Each read asks the reader once: what has come can be used before more comes.
struct PayloadBuffer<'r, R> {
    reader: &'r mut R,
    /// How many bytes of the array have not come from the reader.
    left: u64,
    bytes: Vec<u8>,
    /// How many bytes of the buffer have been read.
    consumed: usize,
}

impl<R> PayloadBuffer<'_, R> {
    /// The size of the buffer: that of a pipe.
    const SIZE: usize = 64 << 10;

    fn buffered(&self) -> &[u8] {
        &self.bytes[self.consumed..]
    }

    /// Reads a part from the buffer; `None` unless all of it is there. After an error, it still is.
    fn take_buffered<T: ReadArray>(&mut self, part: &Header, options: &ReadOptions) -> Option<Result<T>> {
        let need = usize::try_from(part.payload_len()?).ok()?;
        let mut bytes = self.buffered().get(..need)?;
        let made = T::from_payload(Payload { source: &mut Source::of(&mut bytes), header: part, options });
        if made.is_ok() {
            self.consumed += need;
        }
        Some(made)
    }
}

impl<R: Read> Read for PayloadBuffer<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        if self.buffered().is_empty() {
            if into.len() >= Self::SIZE {
                let max_len = left.min(into.len());
                let count = bytes::read_once(self.reader, &mut into[..max_len])?;
                self.left -= count as u64;
                return Ok(count);
            }
            // Taken, so that nothing seems to have come if the reader panics.
            let mut bytes = std::mem::take(&mut self.bytes);
            self.consumed = 0;
            bytes.resize(left.min(Self::SIZE), 0);
            let count = bytes::read_once(self.reader, &mut bytes)?;
            bytes.truncate(count);
            self.bytes = bytes;
            self.left -= count as u64;
        }
        let count = self.buffered().len().min(into.len());
        into[..count].copy_from_slice(&self.bytes[self.consumed..self.consumed + count]);
        self.consumed += count;
        Ok(count)
    }
}
