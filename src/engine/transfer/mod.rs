//! Bulk transfer of elements between bytes and memory: the performance-critical layer.
//!
//! Reading and writing depend on a header and one of the four plans (bitwise, converted, per item, opaque), but not on
//! the format: the same loops serve all formats. [`Source`] and [`Sink`] are the two ends of a transfer.

mod append;
mod buffered_extent;
mod convert_items;
mod each;
mod effort;
mod item_blocks;
mod items;
mod lengths;
mod opaque;
pub(crate) mod os;
#[cfg(feature = "npz")]
mod pack;
#[cfg(feature = "npz")]
mod packed_blocks;
mod parallel;
mod pipeline;
mod read;
mod read_strided;
mod sink;
mod source;
pub(crate) mod streams;
pub(crate) mod tiles;
#[cfg(feature = "npz")]
mod unpack;
mod whole_block;
mod write;

#[cfg(feature = "npz")]
pub(crate) use append::append;
pub(crate) use append::read_rest;
pub(crate) use buffered_extent::BufferedExtent;
#[cfg(feature = "object")]
pub(crate) use each::make_each;
pub(crate) use effort::Effort;
pub(crate) use lengths::check_length;
#[cfg(feature = "npz")]
pub(crate) use pack::{PackWriter, PackerPool};
#[cfg(feature = "npz")]
pub(crate) use packed_blocks::{PackedBlocks, truncated_archive};
pub use pipeline::map_in_order;
pub(crate) use pipeline::map_in_slots;
pub(crate) use read::{Target, read, read_bytes, read_into, read_words};
pub(crate) use sink::Sink;
pub(crate) use source::Source;
#[cfg(feature = "npz")]
pub(crate) use unpack::UnpackReader;
pub(crate) use whole_block::WholeBlockReader;
pub(crate) use write::{Items, write, write_bytes, write_strided, write_unflushed};

use crate::error::{Error, Fault, FileSection, Result};
use crate::header::Header;
use crate::limits;

/// Returns the error for a payload that ends after `have` bytes.
pub(crate) fn truncated(header: &Header, have: u64) -> Error {
    let part = FileSection::Payload { shape: header.shape_ref().clone(), dtype: header.dtype().clone() };
    Fault::Truncated { part, need: header.payload_len().unwrap_or_default(), have }.into()
}

/// The size of blocks that are processed after loading or before writing; a block fits into the cache.
pub(crate) const BLOCK_LEN: usize = 256 << 10;

/// Returns memory for `len` bytes, aligned for every element type.
///
/// Its content is unspecified.
fn aligned_bytes(words: &mut Vec<u128>, len: usize) -> Result<&mut [u8]> {
    let count = len.div_ceil(size_of::<u128>());
    if words.len() < count {
        // Cleared first, so that reallocation does not copy the old content.
        words.clear();
        limits::reserve(words, count)?;
        os::advise_huge_pages((words.as_ptr().cast(), len));
        words.resize(count, 0);
    }
    Ok(&mut bytemuck::cast_slice_mut(words)[..len])
}
