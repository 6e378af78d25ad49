//! Parts of one frame of Zstandard, each of which can be unpacked alone.

use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use super::blocks::STEP;
use super::pack::Turn;
use crate::error::Result;

/// What a frame begins with whose blocks refer at most 1 MiB back: the magic, no length, no checksum, the window.
pub(super) const HEAD: [u8; 6] = [0x28, 0xB5, 0x2F, 0xFD, 0, (STEP.ilog2() as u8 - 10) << 3];
/// An empty block, which ends a frame.
pub(super) const TAIL: [u8; 3] = [1, 0, 0];

/// Makes parts of one frame. Parts and not frames, because Python reads only the first frame of a member.
///
/// A block of Zstandard may refer to tables and offsets of those before it. What the library compresses on a thread of its own
/// refers to nothing, unless it is the first of a frame, since nothing else is known there: so each part is made as the second,
/// after a first of one byte that is thrown away. With one part alone, it is an ordinary frame.
pub(crate) struct ZstdPacker {
    level: i32,
    parts: Option<Encoder<'static>>,
    whole: Option<Encoder<'static>>,
}

impl ZstdPacker {
    pub(super) fn new(level: i32) -> Self {
        Self { level, parts: None, whole: None }
    }

    pub(super) fn block(&mut self, bytes: &[u8], turn: Turn, out: &mut Vec<u8>) -> Result<()> {
        if turn.is_first && turn.is_last {
            let encoder = match &mut self.whole {
                Some(encoder) => encoder,
                none => none.insert(Encoder::new(self.level)?),
            };
            encoder.reinit()?;
            run(encoder, bytes, out, |encoder, out| encoder.finish(out, true))?;
            return Ok(());
        }
        let encoder = match &mut self.parts {
            Some(encoder) => encoder,
            none => none.insert(parts(self.level)?),
        };
        encoder.reinit()?;
        run(encoder, &[0], &mut Vec::new(), |encoder, out| encoder.flush(out))?;
        if turn.is_first {
            out.extend_from_slice(&HEAD);
        }
        run(encoder, bytes, out, |encoder, out| encoder.flush(out))?;
        if turn.is_last {
            out.extend_from_slice(&TAIL);
        }
        Ok(())
    }
}

fn parts(level: i32) -> Result<Encoder<'static>> {
    /// The least that there is: no part refers to the one before it.
    const NOTHING: u32 = 1;
    let mut encoder = Encoder::new(level)?;
    encoder.set_parameter(CParameter::NbWorkers(1))?;
    encoder.set_parameter(CParameter::OverlapSizeLog(NOTHING))?;
    encoder.set_parameter(CParameter::WindowLog(STEP.ilog2()))?;
    encoder.set_parameter(CParameter::JobSize(2 * STEP as u32))?; // a part is not cut
    Ok(encoder)
}

fn run(
    encoder: &mut Encoder<'static>,
    bytes: &[u8],
    out: &mut Vec<u8>,
    end: impl Fn(&mut Encoder<'static>, &mut OutBuffer<'_, Vec<u8>>) -> std::io::Result<usize>,
) -> Result<()> {
    const ROOM: usize = 4 << 10;
    let mut input = InBuffer::around(bytes);
    loop {
        if out.capacity() - out.len() < ROOM {
            out.reserve((bytes.len() - input.pos()) / 2 + ROOM);
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
