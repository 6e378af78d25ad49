//! Compression in independent blocks, which form an ordinary stream when concatenated.
//!
//! The blocks can be compressed in parallel, and decompressed one at a time.

use flate2::{Compress, Compression, FlushCompress, Status};

use super::blocks::BlockPosition;
#[cfg(feature = "zstd")]
use super::zstd_blocks::ZstdPacker;
use crate::error::Result;

/// A compression method and its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackMethod {
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

/// A block compressor. Reuse it to save the setup time.
pub(crate) enum Packer {
    Deflate(Box<Compress>), // in a box for the reason that `Unpacker` gives
    #[cfg(feature = "zstd")]
    Zstd(Box<ZstdPacker>),
}

impl Packer {
    pub(crate) fn new(packing: PackMethod) -> Self {
        match packing {
            PackMethod::Deflate(level) => {
                Self::Deflate(Box::new(Compress::new(Compression::new(level.min(9)), false)))
            }
            #[cfg(feature = "zstd")]
            PackMethod::Zstd(level) => Self::Zstd(Box::new(ZstdPacker::new(level))),
        }
    }

    /// Appends a compressed block, which refers to no other block.
    pub(crate) fn pack_block(
        &mut self,
        bytes: &[u8],
        position: BlockPosition,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self {
            Self::Deflate(compress) => deflate(compress, bytes, position.is_last, out),
            #[cfg(feature = "zstd")]
            Self::Zstd(packer) => packer.pack_block(bytes, position, out),
        }
    }
}

/// Compresses a block with Deflate.
///
/// All blocks except the last end with a flush to a byte boundary, so that another block can follow.
fn deflate(compress: &mut Compress, bytes: &[u8], is_last: bool, out: &mut Vec<u8>) -> Result<()> {
    let broken = |what: &dyn std::fmt::Display| std::io::Error::other(format!("deflate failed: {what}"));
    compress.reset();
    // Reserve enough for the worst case, nine bits per byte, so that one call suffices. Another flush would
    // add an empty block, and the output would then depend on the capacity of the buffer.
    out.reserve(bytes.len() + bytes.len() / 8 + 1024);
    let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Sync };
    let status = compress.compress_vec(bytes, out, flush).map_err(|error| broken(&error))?;
    let is_done = match is_last {
        true => status == Status::StreamEnd,
        false => compress.total_in() as usize == bytes.len() && out.len() < out.capacity(),
    };
    if is_done { Ok(()) } else { Err(broken(&"the output exceeds its maximum size").into()) }
}
