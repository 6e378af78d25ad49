//! Streaming decompression.

use std::sync::LazyLock;

use flate2::{Decompress, FlushDecompress, Status};

use super::blocks::BlockPosition;
#[cfg(feature = "zstd")]
use super::{zstd_blocks, zstd_proof};
use crate::error::{Fault, FilePart, Result};
#[cfg(feature = "libdeflate")]
use crate::limits;

/// The result of one decompression step.
pub(crate) struct UnpackStep {
    pub(crate) consumed: usize,
    pub(crate) produced: usize,
    pub(crate) end: ReachedEnd,
}

/// What ends at the last byte that was consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReachedEnd {
    Nothing,
    /// A frame, which another frame may follow.
    Frame,
    Stream,
}

/// A streaming decompressor.
pub(crate) enum Unpacker {
    Deflate(Box<Inflate>),
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::stream::raw::Decoder<'static>>),
}

impl Unpacker {
    pub(crate) fn deflate() -> Self {
        Self::Deflate(Box::new(Inflate {
            stream: Decompress::new(false),
            #[cfg(feature = "libdeflate")]
            room: Default::default(),
        }))
    }

    #[cfg(feature = "zstd")]
    pub(crate) fn zstd() -> Result<Self> {
        Ok(Self::Zstd(Box::new(zstd::stream::raw::Decoder::new()?)))
    }

    /// Decompresses as much of `packed` as fits into `into`.
    pub(crate) fn unpack(&mut self, packed: &[u8], into: &mut [u8]) -> Result<UnpackStep> {
        match self {
            Self::Deflate(inflate) => {
                let stream = &mut inflate.stream;
                let (consumed, produced) = (stream.total_in(), stream.total_out());
                let status = stream.decompress(packed, into, FlushDecompress::None);
                let status = status.map_err(|error| Fault::Malformed {
                    part: FilePart::Content,
                    reason: error.to_string(),
                    offset: None,
                })?;
                Ok(UnpackStep {
                    consumed: (stream.total_in() - consumed) as usize,
                    produced: (stream.total_out() - produced) as usize,
                    end: if status == Status::StreamEnd { ReachedEnd::Stream } else { ReachedEnd::Nothing },
                })
            }
            #[cfg(feature = "zstd")]
            Self::Zstd(stream) => {
                use zstd::stream::raw::Operation;
                let status = stream.run_on_buffers(packed, into).map_err(|error| Fault::Malformed {
                    part: FilePart::Archive,
                    reason: format!("its compressed content is malformed: {error}"),
                    offset: None,
                })?;
                let end = if status.remaining == 0 { ReachedEnd::Frame } else { ReachedEnd::Nothing };
                Ok(UnpackStep { consumed: status.bytes_read, produced: status.bytes_written, end })
            }
        }
    }

    /// Decompresses a block that refers to no other block of its stream.
    ///
    /// Returns whether the block decompresses to exactly the length of `into`, and ends where another block
    /// can follow. If this holds for all blocks, the stream decompresses to the same.
    pub(crate) fn unpack_block(&mut self, packed: &[u8], position: BlockPosition, into: &mut [u8]) -> bool {
        match self {
            #[cfg(feature = "libdeflate")]
            Self::Deflate(inflate) => match inflate.unpack_block_at_once(packed, position, into) {
                Some(is_right) => is_right,
                None => self.unpack_block_as_stream(packed, position, into),
            },
            #[cfg(feature = "zstd")]
            Self::Zstd(_) if !zstd_proof::is_independent(packed, into.len(), position) => false,
            _ => self.unpack_block_as_stream(packed, position, into),
        }
    }

    /// Like [`Unpacker::unpack_block`], but always uses the streaming decoder.
    fn unpack_block_as_stream(&mut self, packed: &[u8], position: BlockPosition, into: &mut [u8]) -> bool {
        // State left over from a failed block must not affect this one.
        if self.restart().is_err() {
            return false;
        }
        let framing = self.framing();
        let head = if position.is_first { &[] } else { framing.head };
        let Some(packed) = (if position.is_last { Some(packed) } else { packed.strip_suffix(framing.end) })
        else {
            return false;
        };
        match self.unpack_all(&[head, packed], into) {
            Some((produced, end))
                if produced == into.len() && (end != ReachedEnd::Nothing) == position.is_last => {}
            _ => return false,
        }
        let mut made = vec![0; framing.filler.len()];
        position.is_last
            || self.unpack_all(&[framing.replacement], &mut made).is_some_and(|(count, end)| {
                count == made.len() && made == framing.filler && end != ReachedEnd::Nothing
            })
    }

    /// Decompresses all of these bytes, and returns how many bytes they make, and what ends with them.
    ///
    /// Returns `None` if they make more than fits, or if something ends before them.
    fn unpack_all(&mut self, packed: &[&[u8]], into: &mut [u8]) -> Option<(usize, ReachedEnd)> {
        let (mut produced, mut end) = (0, ReachedEnd::Nothing);
        for mut packed in packed.iter().copied() {
            while !packed.is_empty() {
                // A spare byte detects content that is longer than `into`.
                let mut more = [0];
                let room = if produced < into.len() { &mut into[produced..] } else { &mut more[..] };
                let step = self.unpack(packed, room).ok()?;
                if end != ReachedEnd::Nothing
                    || step.consumed + step.produced == 0
                    || produced + step.produced > into.len()
                {
                    return None;
                }
                packed = &packed[step.consumed..];
                (produced, end) = (produced + step.produced, step.end);
            }
        }
        Some((produced, end))
    }

    /// Resets the decoder for a new stream.
    fn restart(&mut self) -> Result<()> {
        match self {
            Self::Deflate(inflate) => inflate.stream.reset(false),
            #[cfg(feature = "zstd")]
            Self::Zstd(stream) => zstd::stream::raw::Operation::reinit(&mut **stream)?,
        }
        Ok(())
    }

    /// Returns what turns a block into a complete stream.
    fn framing(&self) -> Framing {
        match self {
            Self::Deflate(_) => PROBE.framing(),
            #[cfg(feature = "zstd")]
            Self::Zstd(_) => Framing {
                head: &zstd_blocks::FRAME_HEADER,
                end: &[],
                replacement: &zstd_blocks::EMPTY_LAST_BLOCK,
                filler: &[],
            },
        }
    }
}

/// What turns a block into a complete stream.
struct Framing {
    /// What comes before a block that is not the first.
    head: &'static [u8],
    /// With what a block ends that is not the last one.
    end: &'static [u8],
    /// What comes instead of that.
    replacement: &'static [u8],
    /// The content of that.
    filler: &'static [u8],
}

/// Proves that a block of Deflate ends where it says.
///
/// A block ends with the length of an empty stored block. Whether these four bytes are really that, and not a part of
/// something else that ends in what follows, a decoder does not tell. So they are replaced by the length of a stored block
/// that is not empty, whose content cannot be foreseen. It comes out only if a length was expected at this place.
struct Probe {
    filler: Vec<u8>,
    replacement: Vec<u8>,
}

static PROBE: LazyLock<Probe> = LazyLock::new(|| {
    let random = std::hash::RandomState::new();
    let hash = |number: usize| std::hash::BuildHasher::hash_one(&random, number);
    // The length, too, cannot be foreseen.
    let len = 256 + (hash(0) % 8192) as u16;
    let filler: Vec<u8> = (0..usize::from(len)).map(|index| hash(index + 1) as u8).collect();
    // The last block is an empty one.
    let replacement =
        [&len.to_le_bytes()[..], &(!len).to_le_bytes(), &filler, &[1, 0, 0, 0xFF, 0xFF]].concat();
    Probe { filler, replacement }
});

impl Probe {
    fn framing(&'static self) -> Framing {
        Framing { head: &[], end: &[0, 0, 0xFF, 0xFF], replacement: &self.replacement, filler: &self.filler }
    }
}

/// The state of a decoder for Deflate.
///
/// It is in a box: `zlib-rs` holds a reference to memory that it releases when it is dropped, which is
/// undefined behavior in a function that was given the state by value (zlib-rs issue 491).
pub(crate) struct Inflate {
    stream: Decompress,
    /// A block with its tail, and its content.
    #[cfg(feature = "libdeflate")]
    room: (Vec<u8>, Vec<u8>),
}

#[cfg(feature = "libdeflate")]
impl Inflate {
    /// Decompresses a block with `libdeflate`, which decodes only complete streams, and all at once.
    ///
    /// Returns whether the block is right, or `None` if only a streaming decoder can tell.
    fn unpack_block_at_once(
        &mut self,
        packed: &[u8],
        position: BlockPosition,
        into: &mut [u8],
    ) -> Option<bool> {
        if position.is_last {
            return Some(super::libdeflate::unpack(packed, into));
        }
        let framing = PROBE.framing();
        let Some(packed) = packed.strip_suffix(framing.end) else { return Some(false) };
        let (stream, made) = &mut self.room;
        let len = into.len() + framing.filler.len();
        stream.clear();
        if limits::reserve(stream, packed.len() + framing.replacement.len()).is_err()
            || limits::resize(made, len).is_err()
        {
            return Some(false);
        }
        stream.extend_from_slice(packed);
        stream.extend_from_slice(framing.replacement);
        let is_made = super::libdeflate::unpack(stream, made) && made.ends_with(framing.filler);
        into.copy_from_slice(&made[..into.len()]);
        // A stored block that is longer than it seems has the length as content, which a block could have guessed.
        let may_be_guessed = is_made && into.ends_with(&framing.replacement[1..4]);
        Some(is_made).filter(|_| !may_be_guessed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{BLOCK_SIZE, PackMethod, Packer};

    fn packings() -> Vec<PackMethod> {
        #[cfg(feature = "zstd")]
        return vec![
            PackMethod::Deflate(0),
            PackMethod::Deflate(1),
            PackMethod::Deflate(6),
            PackMethod::Zstd(1),
            PackMethod::Zstd(3),
        ];
        #[cfg(not(feature = "zstd"))]
        vec![PackMethod::Deflate(0), PackMethod::Deflate(1), PackMethod::Deflate(6)]
    }

    fn unpacker(packing: PackMethod) -> Unpacker {
        match packing {
            PackMethod::Deflate(_) => Unpacker::deflate(),
            #[cfg(feature = "zstd")]
            PackMethod::Zstd(_) => Unpacker::zstd().unwrap(),
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

    /// A block that ends within a stored block of exactly the length that the proof has in this process.
    #[test]
    fn block_ending_within_a_stored_block_is_refused() {
        let probe = PROBE.framing();
        let position = BlockPosition { is_first: true, is_last: false };
        let text = b"some content, ".repeat(100);
        let mut packed = Vec::new();
        Packer::new(PackMethod::Deflate(6)).pack_block(&text, position, &mut packed).unwrap();
        let mut into = vec![0; text.len()];
        assert!(Unpacker::deflate().unpack_block(&packed, position, &mut into) && into == text);
        let len = 4 + probe.filler.len() as u16;
        packed.push(0);
        packed.extend(len.to_le_bytes());
        packed.extend((!len).to_le_bytes());
        packed.extend([0, 0, 0xFF, 0xFF]);
        let mut into = vec![0; text.len() + 4];
        assert!(!Unpacker::deflate().unpack_block(&packed, position, &mut into));
    }

    #[test]
    fn blocks_unpack_independently_and_as_one_stream() {
        for packing in packings() {
            let (mut packer, mut unpacker) = (Packer::new(packing), unpacker(packing));
            for content in contents(2 * BLOCK_SIZE + 777) {
                let mut blocks = Vec::new();
                for (index, block) in content.chunks(BLOCK_SIZE).enumerate() {
                    let position = BlockPosition { is_first: index == 0, is_last: index == 2 };
                    let mut packed = Vec::new();
                    packer.pack_block(block, position, &mut packed).unwrap();
                    blocks.push((position, block, packed));
                }
                for way in [Unpacker::unpack_block, Unpacker::unpack_block_as_stream] {
                    let mut is_right = |packed: &[u8], position: BlockPosition, into: &mut [u8]| {
                        way(&mut unpacker, packed, position, into)
                    };
                    for (position, block, packed) in blocks.iter().rev() {
                        let mut into = vec![0; block.len()];
                        assert!(is_right(packed, *position, &mut into) && into == *block, "{packing:?}");
                        // The length must match exactly: a shorter or longer buffer, a truncated block and
                        // trailing bytes all fail.
                        assert!(!is_right(packed, *position, &mut into[1..]), "{packing:?}");
                        assert!(!is_right(packed, *position, &mut vec![0; block.len() + 1]), "{packing:?}");
                        for cut in [1, 2, 3, 4, packed.len() / 2] {
                            let cut = &packed[..packed.len() - cut];
                            assert!(!is_right(cut, *position, &mut into), "{packing:?}: {} bytes", cut.len());
                        }
                        let longer = [&packed[..], &[0; 5]].concat();
                        assert!(!is_right(&longer, *position, &mut into), "{packing:?}");
                    }
                }
                let stream: Vec<u8> = blocks.iter().flat_map(|(.., packed)| packed.clone()).collect();
                let mut into = vec![0; content.len()];
                let only = BlockPosition { is_first: true, is_last: true };
                assert!(unpacker.unpack_block(&stream, only, &mut into) && into == content, "{packing:?}");
            }
        }
    }
}
