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
    pub(crate) fn new(packing: Packing) -> Self {
        match packing {
            Packing::Deflate(level) => Self::Deflate(Compress::new(Compression::new(level.min(9)), false)),
            #[cfg(feature = "zstd")]
            Packing::Zstd(level) => Self::Zstd(Box::new(ZstdPacker::new(level))),
        }
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
    // Room for the longest that it can become, nine bits for each byte: a flush that is called again adds an empty block, so that the
    // bytes would depend on how much room there was.
    out.reserve(bytes.len() + bytes.len() / 8 + 1024);
    let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Sync };
    let status = compress.compress_vec(bytes, out, flush).map_err(|error| broken(&error))?;
    let is_done = match is_last {
        true => status == Status::StreamEnd,
        false => compress.total_in() as usize == bytes.len() && out.len() < out.capacity(),
    };
    if is_done { Ok(()) } else { Err(broken(&"it needs more room than there can be").into()) }
}
