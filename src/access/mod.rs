//! Arrays of files by path, in parts, in blocks and mapped.

pub mod blocks;
#[cfg(feature = "mmap")]
pub(crate) mod mmap;
pub(crate) mod parts;
pub(crate) mod path;
