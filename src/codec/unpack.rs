//! Streaming decompression.

use flate2::{Decompress, FlushDecompress, Status};

use super::pack::Turn;
#[cfg(feature = "zstd")]
use super::{zstd_blocks, zstd_proof};
use crate::error::{ErrorKind, Result};

/// The result of one decompression step.
pub(crate) struct Unpacked {
    pub(crate) taken: usize,
    pub(crate) made: usize,
    pub(crate) end: End,
}

/// What ends at the last byte that was consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Nothing,
    /// A frame, which another frame may follow.
    Frame,
    Stream,
}

/// A streaming decompressor.
///
/// The state is in a box: `zlib-rs` holds a reference to memory that it releases when it is dropped, which is
/// undefined behavior in a function that was given the state by value (zlib-rs issue 491).
pub(crate) enum Unpacker {
    Deflate(Box<Decompress>),
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::stream::raw::Decoder<'static>>),
}

impl Unpacker {
    pub(crate) fn deflate() -> Self {
        Self::Deflate(Box::new(Decompress::new(false)))
    }

    #[cfg(feature = "zstd")]
    pub(crate) fn zstd() -> Result<Self> {
        Ok(Self::Zstd(Box::new(zstd::stream::raw::Decoder::new()?)))
    }

    /// Decompresses as much of `packed` as fits into `into`.
    pub(crate) fn unpack(&mut self, packed: &[u8], into: &mut [u8]) -> Result<Unpacked> {
        match self {
            Self::Deflate(stream) => {
                let (taken, made) = (stream.total_in(), stream.total_out());
                let status = stream.decompress(packed, into, FlushDecompress::None);
                let status = status.map_err(|error| ErrorKind::BadDeflate { reason: error.to_string() })?;
                Ok(Unpacked {
                    taken: (stream.total_in() - taken) as usize,
                    made: (stream.total_out() - made) as usize,
                    end: if status == Status::StreamEnd { End::Stream } else { End::Nothing },
                })
            }
            #[cfg(feature = "zstd")]
            Self::Zstd(stream) => {
                use zstd::stream::raw::Operation;
                let status = stream.run_on_buffers(packed, into).map_err(|error| ErrorKind::BadZip {
                    reason: format!("its compressed content is malformed: {error}"),
                })?;
                let end = if status.remaining == 0 { End::Frame } else { End::Nothing };
                Ok(Unpacked { taken: status.bytes_read, made: status.bytes_written, end })
            }
        }
    }

    /// Decompresses a block that refers to no other block of its stream.
    ///
    /// Returns whether the block decompresses to exactly the length of `into`, and ends where another block
    /// can follow. If this holds for all blocks, the stream decompresses to the same (except as `docs/block-index.md`
    /// says).
    pub(crate) fn block(&mut self, packed: &[u8], turn: Turn, into: &mut [u8]) -> bool {
        const FLUSH: [u8; 4] = [0, 0, 0xFF, 0xFF]; // ends every block except the last
        match self {
            Self::Deflate(_) if !turn.is_last && !packed.ends_with(&FLUSH) => false,
            // `libdeflate` decodes only complete streams, so an end is appended to each block except the last.
            #[cfg(feature = "libdeflate")]
            Self::Deflate(_) => match turn.is_last {
                true => super::libdeflate::unpack(packed, into),
                false => super::libdeflate::unpack(&[packed, self.frame().1].concat(), into),
            },
            #[cfg(feature = "zstd")]
            Self::Zstd(_) if !zstd_proof::is_independent(packed, turn) => false,
            _ => self.block_as_stream(packed, turn, into),
        }
    }

    /// Like [`Unpacker::block`], but always uses the streaming decoder.
    fn block_as_stream(&mut self, packed: &[u8], turn: Turn, into: &mut [u8]) -> bool {
        let (head, tail) = self.frame();
        let head = if turn.is_first { &[] } else { head };
        // State left over from a failed block must not affect this one.
        if self.restart().is_err() {
            return false;
        }
        let Some((_, end)) = self.all_of(&[head, packed], into).filter(|(made, _)| *made == into.len())
        else {
            return false;
        };
        // The end of a stream that is not the block's own must not be needed for its content: that
        // would be another content if other bytes followed, as they do in the stream.
        match turn.is_last {
            true => end != End::Nothing,
            false => {
                end == End::Nothing
                    && self.all_of(&[tail], &mut []).is_some_and(|(_, end)| end != End::Nothing)
            }
        }
    }

    /// Decompresses all of these bytes, and returns how many bytes they make, and what ends with them.
    ///
    /// Returns `None` if they make more than fits, or if something ends before them.
    fn all_of(&mut self, packed: &[&[u8]], into: &mut [u8]) -> Option<(usize, End)> {
        let (mut made, mut end) = (0, End::Nothing);
        for mut packed in packed.iter().copied() {
            while !packed.is_empty() {
                // A spare byte detects content that is longer than `into`.
                let mut more = [0];
                let room = if made < into.len() { &mut into[made..] } else { &mut more[..] };
                let step = self.unpack(packed, room).ok()?;
                if end != End::Nothing || step.taken + step.made == 0 || made + step.made > into.len() {
                    return None;
                }
                packed = &packed[step.taken..];
                (made, end) = (made + step.made, step.end);
            }
        }
        Some((made, end))
    }

    /// Resets the decoder for a new stream.
    fn restart(&mut self) -> Result<()> {
        match self {
            Self::Deflate(stream) => stream.reset(false),
            #[cfg(feature = "zstd")]
            Self::Zstd(stream) => zstd::stream::raw::Operation::reinit(&mut **stream)?,
        }
        Ok(())
    }

    /// Returns the prefix and the suffix that turn a block into a complete stream.
    fn frame(&self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Deflate(_) => (&[], &[1, 0, 0, 0xFF, 0xFF]), // an empty stored block, marked as the last one
            #[cfg(feature = "zstd")]
            Self::Zstd(_) => (&zstd_blocks::HEAD, &zstd_blocks::TAIL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Packer, Packing, STEP};

    fn packings() -> Vec<Packing> {
        #[cfg(feature = "zstd")]
        return vec![
            Packing::Deflate(0),
            Packing::Deflate(1),
            Packing::Deflate(6),
            Packing::Zstd(1),
            Packing::Zstd(3),
        ];
        #[cfg(not(feature = "zstd"))]
        vec![Packing::Deflate(0), Packing::Deflate(1), Packing::Deflate(6)]
    }

    fn unpacker(packing: Packing) -> Unpacker {
        match packing {
            Packing::Deflate(_) => Unpacker::deflate(),
            #[cfg(feature = "zstd")]
            Packing::Zstd(_) => Unpacker::zstd().unwrap(),
        }
    }

    /// Returns several kinds of content: noise, repeating numbers with gaps, few values, zeros, text.
    fn contents(len: usize) -> Vec<Vec<u8>> {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        let noise = (0..len).map(|_| random() as u8).collect();
        let steps = (0..len).map(|index| if index % 4 == 0 { (index / 40) as u8 } else { 0 }).collect();
        let few = (0..len).map(|_| (random() % 5) as u8).collect();
        let text = (0..len).map(|index| b"a name and a number, "[(index + index / 1000) % 21]).collect();
        vec![noise, steps, few, vec![0; len], text]
    }

    #[test]
    fn each_block_is_unpacked_alone_and_all_are_one_stream() {
        for packing in packings() {
            let (mut packer, mut unpacker) = (Packer::new(packing), unpacker(packing));
            for content in contents(2 * STEP + 777) {
                let mut blocks = Vec::new();
                for (index, block) in content.chunks(STEP).enumerate() {
                    let turn = Turn { is_first: index == 0, is_last: index == 2 };
                    let mut packed = Vec::new();
                    packer.block(block, turn, &mut packed).unwrap();
                    blocks.push((turn, block, packed));
                }
                for way in [Unpacker::block, Unpacker::block_as_stream] {
                    let mut is_right =
                        |packed: &[u8], turn: Turn, into: &mut [u8]| way(&mut unpacker, packed, turn, into);
                    for (turn, block, packed) in blocks.iter().rev() {
                        let mut into = vec![0; block.len()];
                        assert!(is_right(packed, *turn, &mut into) && into == *block, "{packing:?}");
                        // The length must match exactly: a shorter or longer buffer, a truncated block and
                        // trailing bytes all fail.
                        assert!(!is_right(packed, *turn, &mut into[1..]), "{packing:?}");
                        assert!(!is_right(packed, *turn, &mut vec![0; block.len() + 1]), "{packing:?}");
                        for cut in [1, 2, 3, 4, packed.len() / 2] {
                            let cut = &packed[..packed.len() - cut];
                            assert!(!is_right(cut, *turn, &mut into), "{packing:?}: {} bytes", cut.len());
                        }
                        let longer = [&packed[..], &[0; 5]].concat();
                        assert!(!is_right(&longer, *turn, &mut into), "{packing:?}");
                    }
                }
                let stream: Vec<u8> = blocks.iter().flat_map(|(.., packed)| packed.clone()).collect();
                let mut into = vec![0; content.len()];
                let only = Turn { is_first: true, is_last: true };
                assert!(unpacker.block(&stream, only, &mut into) && into == content, "{packing:?}");
            }
        }
    }
}
