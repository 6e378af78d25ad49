//! Decompresses a source as a stream.

use std::io::{self, Read};

use super::Source;
use crate::bytes::ReadBuf;
use crate::codec::{ReachedEnd, Unpacker};
use crate::error::{Fault, FilePart};

/// How many compressed bytes are read at a time.
const PIECE_LEN: usize = 128 << 10;

/// Reads the decompressed content of a source.
///
/// Malformed data is reported as an [`io::Error`] that wraps an error of this library.
pub(crate) struct UnpackReader<'a> {
    source: Source<'a>,
    unpacker: Unpacker,
    piece: Vec<u8>,
    /// How many bytes of the piece are filled.
    filled: usize,
    /// How many of the filled bytes have been decompressed.
    done: usize,
    is_end: bool,
    /// Whether a frame has ended: the stream ends here, or another frame follows.
    is_between_frames: bool,
    /// Whether a frame has ended before.
    has_ended_frame: bool,
    /// Whether there was content after the first frame.
    has_more_frames: bool,
}

impl<'a> UnpackReader<'a> {
    pub(crate) fn new(source: Source<'a>, unpacker: Unpacker) -> Self {
        Self {
            source,
            unpacker,
            piece: Vec::new(),
            filled: 0,
            done: 0,
            is_end: false,
            is_between_frames: false,
            has_ended_frame: false,
            has_more_frames: false,
        }
    }

    /// Returns whether there was content after the first frame, which some programs do not read.
    pub(crate) fn has_more_frames(&self) -> bool {
        self.has_more_frames
    }

    /// Returns whether the stream and the source have both ended.
    pub(crate) fn is_at_end(&self) -> bool {
        (self.is_end || self.is_between_frames)
            && self.done == self.filled
            && self.source.remaining() == Some(0)
    }
}

impl Read for UnpackReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.is_end && !into.is_empty() {
            if self.done == self.filled {
                let left = self
                    .source
                    .remaining()
                    .map_or(PIECE_LEN, |left| usize::try_from(left).unwrap_or(PIECE_LEN));
                self.piece.resize(left.min(PIECE_LEN), 0);
                self.filled = self.source.fill_read_buf(&mut ReadBuf::of(&mut self.piece), usize::MAX)?;
                self.done = 0;
            }
            let packed = &self.piece[self.done..self.filled];
            if packed.is_empty() && self.is_between_frames {
                self.is_end = true;
                break;
            }
            let unpacked = self.unpacker.unpack(packed, into)?;
            self.done += unpacked.consumed;
            self.is_end = unpacked.end == ReachedEnd::Stream;
            self.has_more_frames |= self.has_ended_frame && unpacked.produced > 0;
            self.is_between_frames = unpacked.end == ReachedEnd::Frame;
            self.has_ended_frame |= self.is_between_frames;
            if unpacked.produced > 0 {
                return Ok(unpacked.produced);
            }
            // Without further input, a decoder that has made no progress never makes any.
            if packed.is_empty() && !self.is_end {
                let reason = "the stream is truncated".into();
                return Err(crate::error::Error::from(Fault::Malformed {
                    part: FilePart::Content,
                    reason,
                    offset: None,
                })
                .into());
            }
        }
        Ok(0)
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use std::io::Read;

    use super::{PIECE_LEN, UnpackReader};
    use crate::codec::Unpacker;
    use crate::transfer::Source;

    /// A stream may have several frames, including frames without content.
    #[test]
    fn frame_after_a_piece_boundary_is_read() {
        let frame = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
        let mut packed = frame("one, ");
        let filling = PIECE_LEN - packed.len() - 8;
        packed.extend_from_slice(&0x184D_2A50u32.to_le_bytes());
        packed.extend_from_slice(&(filling as u32).to_le_bytes());
        packed.resize(PIECE_LEN, 0);
        packed.extend(frame("two"));
        let mut packed = &packed[..];
        let mut unpack = UnpackReader::new(Source::of(&mut packed), Unpacker::zstd().unwrap());
        let mut text = String::new();
        unpack.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one, two");
        assert!(unpack.has_more_frames());
    }

    #[test]
    fn skippable_frame_does_not_count_as_another() {
        let mut packed = zstd::encode_all(&b"all"[..], 3).unwrap();
        packed.extend([0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]);
        let mut packed = &packed[..];
        let mut unpack = UnpackReader::new(Source::of(&mut packed), Unpacker::zstd().unwrap());
        let mut text = String::new();
        unpack.read_to_string(&mut text).unwrap();
        assert_eq!((&text[..], unpack.has_more_frames(), unpack.is_at_end()), ("all", false, true));
    }
}
