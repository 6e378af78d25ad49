//! Parts of arrays out of files that may be larger than memory.
//!
//! A slice becomes a selection ([`select`]), which says what bytes of the file it needs; they come as a source of their own,
//! so that everything behind a source (threads, byte order, records, limits) is the same as for a whole array.

mod chunks;
mod file;
mod reader;
mod select;
mod write;

pub use chunks::Chunks;
#[cfg(any(feature = "npz", feature = "object"))]
pub(crate) use file::FileBytes;
pub use file::{ArrayFile, NpyFile, RaFile};
pub(crate) use select::Selection;
