//! NPZ: archives of NPY members. An archive only says where its members are and how they are packed; what is in them goes
//! the same road as every other array.
//!
//! Read by [`NpzReader`] from anything that reads and seeks, by [`NpzFile`] from a file and from several threads, by `NpzMmap` from a
//! map; written by [`NpzWriter`]; changed by [`NpzUpdate`], which makes a new archive out of an old one.

mod archive;
mod file;
#[cfg(feature = "zip-methods")]
mod foreign;
#[cfg(feature = "mmap")]
mod map;
mod member;
mod options;
mod pieces;
mod reader;
mod update;
mod writer;

#[cfg(feature = "object-store-0_14")]
pub(crate) use archive::Holder;
pub use archive::NpzMember;
pub use file::{NpzFile, read_npz, read_npz_with};
#[cfg(feature = "mmap")]
pub use map::{NpzMmap, NpzMmapMut};
pub use options::{Compression, NpzOptions};
pub use reader::NpzReader;
pub use update::NpzUpdate;
pub use writer::{NpzWriter, write_npz, write_npz_with};

pub use crate::zip::Method;
