//! Reading and writing parts of arrays in files, which may be larger than memory.
//!
//! A slice becomes a selection ([`select`]), which determines the byte runs of the file that it needs. These
//! are read through a source of their own, so that threading, byte order, records and limits work as they do
//! for an entire array.

mod file;
mod read;
mod reader;
mod select;
mod slice_text;
mod write;

pub use file::NpyFile;
#[cfg(feature = "mmap")]
pub(crate) use read::arranged;
pub(crate) use select::{Axes, Selection};
pub use slice_text::parse_slice;
pub use write::NpyFileMut;
