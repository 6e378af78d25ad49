//! Moving elements between bytes and memory, in bulk. All speed lives here.
//!
//! Reading and writing know a header and one of the three ways to move, and nothing of formats: the same loops serve
//! all of them. [`Source`] and [`Sink`] are what bytes come from and go to; `os` is the one place that talks to the
//! operating system in its own words.

mod block;
#[cfg(feature = "npz")]
mod blocks;
mod each;
mod gather;
pub(crate) mod os;
#[cfg(feature = "npz")]
mod pack;
mod pick;
mod pipeline;
mod read;
mod share;
mod sink;
mod source;
pub(crate) mod tiles;
#[cfg(feature = "npz")]
mod unpack;
mod write;

pub(crate) use block::Block;
#[cfg(feature = "npz")]
pub(crate) use blocks::{Home, PackedBlocks, cut};
#[cfg(feature = "object")]
pub(crate) use each::make_each;
pub(crate) use gather::turn;
#[cfg(feature = "npz")]
pub(crate) use pack::{Pack, Packers};
pub(crate) use pick::ByteRuns;
pub(crate) use read::{
    Target, check_length, read, read_aligned, read_bytes, read_into, read_rest, truncated,
};
pub(crate) use sink::Sink;
#[cfg(feature = "npz")]
pub(crate) use source::Observer;
pub(crate) use source::{Anywhere, Source};
#[cfg(feature = "object")]
pub(crate) use source::{Pieces, ReadAt};
#[cfg(feature = "npz")]
pub(crate) use unpack::Unpack;
pub(crate) use write::{Items, write, write_bytes, write_more};

use crate::error::{ErrorKind, Result};

/// Bytes that are touched again after loading, or made before writing, go in blocks that stay in the cache.
pub(crate) const BLOCK: usize = 256 << 10;

/// Zeros for so many bytes.
pub(crate) fn zeroed_words(len: usize) -> Result<Vec<u128>> {
    let mut words = Vec::new();
    aligned(&mut words, len)?;
    Ok(words)
}

/// Memory for so many bytes, at an address that suits every element. What was in it before is of no interest.
fn aligned(words: &mut Vec<u128>, len: usize) -> Result<&mut [u8]> {
    let count = len.div_ceil(size_of::<u128>());
    if words.len() < count {
        words.clear();
        words.try_reserve_exact(count).map_err(|_| ErrorKind::OutOfMemory { bytes: len as u64 })?;
        os::advise_huge_pages((words.as_ptr().cast(), len));
        words.resize(count, 0);
    }
    Ok(&mut bytemuck::cast_slice_mut(words)[..len])
}
