//! Compression, checksums and bit-level codecs, which work on slices and do no I/O.

pub(crate) mod bits;
#[cfg(feature = "npz")]
mod blocks;
#[cfg(feature = "npz")]
mod crc;
pub(crate) mod leb128;
#[cfg(feature = "libdeflate")]
mod libdeflate;
#[cfg(feature = "lz4")]
pub(crate) mod lz4;
#[cfg(feature = "npz")]
mod pack;
#[cfg(feature = "npz")]
mod unpack;
#[cfg(any(feature = "zip-methods", feature = "zip-encryption"))]
pub(crate) mod xz;
#[cfg(feature = "zstd")]
mod zstd_blocks;
#[cfg(feature = "zstd")]
mod zstd_proof;

#[cfg(feature = "npz")]
pub(crate) use blocks::{BLOCK_SIZE, BlockIndex, BlockPosition, ContentInfo, NoIndex};
#[cfg(feature = "npz")]
pub(crate) use crc::{Crc, UnorderedCrc};
#[cfg(feature = "npz")]
pub(crate) use pack::{PackMethod, Packer};
#[cfg(feature = "npz")]
pub(crate) use unpack::{ReachedEnd, Unpacker};
