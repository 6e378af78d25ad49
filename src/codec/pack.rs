//! Compressing in blocks that are made at the same time and unpacked alone. One after another they are an ordinary stream.

use flate2::{Compress, Compression, FlushCompress, Status};

#[cfg(feature = "zstd")]
use super::zstd_blocks::ZstdPacker;
use crate::error::Result;

/// How a stream is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Deflate, with a level from 0 to 9.
    Deflate(u32),
    #[cfg(feature = "zstd")]
    Zstd(i32),
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Packer")
    }
}

/// Which of a stream's blocks it is.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
}

/// Makes blocks. It can be used again, which saves setting it up.
pub(crate) enum Packer {
    Deflate(Compress),
    #[cfg(feature = "zstd")]
    Zstd(Box<ZstdPacker>),
}

impl Packer {
    pub(crate) fn new(packing: Packing) -> Result<Self> {
        Ok(match packing {
            Packing::Deflate(level) => Self::Deflate(Compress::new(Compression::new(level.min(9)), false)),
            #[cfg(feature = "zstd")]
            Packing::Zstd(level) => Self::Zstd(Box::new(ZstdPacker::new(level)?)),
        })
    }

    /// Appends a block, which refers to no other.
    pub(crate) fn block(&mut self, bytes: &[u8], turn: Turn, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Deflate(compress) => deflate(compress, bytes, turn.is_last, out),
            #[cfg(feature = "zstd")]
            Self::Zstd(packer) => packer.block(bytes, turn, out),
        }
    }
}

/// A block that is not the last ends with an empty one at a whole byte, so that another block can follow.
fn deflate(compress: &mut Compress, bytes: &[u8], is_last: bool, out: &mut Vec<u8>) -> Result<()> {
    let broken = |what: &dyn std::fmt::Display| std::io::Error::other(format!("deflate failed: {what}"));
    compress.reset();
    // Room for the longest that it can become: a flush that is called again adds an empty block, so that the bytes would depend on
    // how much room there was.
    out.reserve(bytes.len() + bytes.len() / 1000 + 1024);
    let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Sync };
    loop {
        let taken = compress.total_in() as usize;
        if out.capacity() - out.len() < 64 {
            out.reserve((bytes.len() - taken) / 2 + 1024);
        }
        let room = out.capacity() - out.len();
        let status = compress.compress_vec(&bytes[taken..], out, flush).map_err(|error| broken(&error))?;
        // Room that is left over means that all has been flushed.
        let is_flushed = compress.total_in() as usize == bytes.len() && out.capacity() - out.len() > 0;
        match status {
            Status::StreamEnd => return Ok(()),
            _ if !is_last && is_flushed => return Ok(()),
            Status::BufError if room >= 64 => return Err(broken(&"it makes no progress").into()),
            _ => {}
        }
    }
}
