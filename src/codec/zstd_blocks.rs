//! Independently decompressible parts of one Zstandard frame.

use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use super::blocks::BLOCK_SIZE;
use super::blocks::BlockPosition;
use crate::error::Result;

/// The header of a frame with a window of 1 MiB, and without content size or checksum.
pub(super) const FRAME_HEADER: [u8; 6] = [0x28, 0xB5, 0x2F, 0xFD, 0, (BLOCK_SIZE.ilog2() as u8 - 10) << 3];
/// An empty last block, which ends a frame.
pub(super) const EMPTY_LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// Compresses the parts of one frame.
///
/// The parts are not separate frames, because Python reads only the first frame of a member.
///
/// A Zstandard block may refer to tables and offsets of earlier blocks. A job that the library compresses on
/// a worker thread does not know the earlier blocks, so jobs other than the first contain no such
/// references. Each part is therefore compressed as the second job of a frame. The first job is a single
/// byte, whose output is discarded. If there is only one part, it is compressed as an ordinary frame.
pub(crate) struct ZstdPacker {
    level: i32,
    part_encoder: Option<Encoder<'static>>,
    whole_encoder: Option<Encoder<'static>>,
}

impl ZstdPacker {
    pub(super) fn new(level: i32) -> Self {
        Self { level, part_encoder: None, whole_encoder: None }
    }

    pub(super) fn pack_block(
        &mut self,
        bytes: &[u8],
        position: BlockPosition,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if position.is_first && position.is_last {
            let encoder = match &mut self.whole_encoder {
                Some(encoder) => encoder,
                none => none.insert(Encoder::new(self.level)?),
            };
            encoder.reinit()?;
            run(encoder, bytes, out, |encoder, out| encoder.finish(out, true))?;
            return Ok(());
        }
        let encoder = match &mut self.part_encoder {
            Some(encoder) => encoder,
            none => none.insert(new_part_encoder(self.level)?),
        };
        encoder.reinit()?;
        // The first job, whose output is discarded.
        run(encoder, &[0], &mut Vec::new(), |encoder, out| encoder.flush(out))?;
        if position.is_first {
            // The encoder's own frame header was discarded with the output of the first job.
            out.extend_from_slice(&FRAME_HEADER);
        }
        run(encoder, bytes, out, |encoder, out| encoder.flush(out))?;
        if position.is_last {
            out.extend_from_slice(&EMPTY_LAST_BLOCK);
        }
        Ok(())
    }
}

fn new_part_encoder(level: i32) -> Result<Encoder<'static>> {
    /// The smallest overlap, with which no job refers to the previous one.
    const NO_OVERLAP: u32 = 1;
    let mut encoder = Encoder::new(level)?;
    encoder.set_parameter(CParameter::NbWorkers(1))?;
    encoder.set_parameter(CParameter::OverlapSizeLog(NO_OVERLAP))?;
    encoder.set_parameter(CParameter::WindowLog(BLOCK_SIZE.ilog2()))?;
    encoder.set_parameter(CParameter::JobSize(2 * BLOCK_SIZE as u32))?; // larger than a part, so no part is split
    Ok(encoder)
}

fn run(
    encoder: &mut Encoder<'static>,
    bytes: &[u8],
    out: &mut Vec<u8>,
    end: impl Fn(&mut Encoder<'static>, &mut OutBuffer<'_, Vec<u8>>) -> std::io::Result<usize>,
) -> Result<()> {
    const MIN_FREE: usize = 4 << 10;
    let mut input = InBuffer::around(bytes);
    loop {
        if out.capacity() - out.len() < MIN_FREE {
            out.reserve((bytes.len() - input.pos()) / 2 + MIN_FREE);
        }
        let begun = out.len();
        let mut out = OutBuffer::around_pos(out, begun);
        if input.pos() < bytes.len() {
            encoder.run(&mut input, &mut out)?;
        } else if end(encoder, &mut out)? == 0 {
            return Ok(());
        }
    }
}
