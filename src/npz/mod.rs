//! NPZ archives: ZIP files whose members are NPY arrays.
//!
//! The archive itself only records where its members are and how they are compressed. Their contents go
//! through the same pipeline as all other NPY arrays.
//!
//! [`NpzReader`] reads archives from any `Read + Seek`, [`NpzFile`] reads a file from several threads, and
//! `NpzMmap` memory-maps a file. [`NpzWriter`] writes archives. [`NpzUpdate`] replaces an archive with a
//! changed copy.
//!
//! # Errors of members
//!
//! What the functions have in common that read a member.
//!
//! - [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or
//!   [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) unless exactly one member has the name;
//!   [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if there are fewer members than the index.
//! - [`Encrypted`](crate::error::ErrorKind::Encrypted) if the member is encrypted and the password is missing or wrong (with the
//!   feature `zip-encryption`).
//! - [`Malformed`](crate::error::ErrorKind::Malformed) or another [format error](crate::Error::is_format) if the member is damaged or
//!   cannot be decompressed.

mod archive;
mod exact_size;
mod file;
#[cfg(feature = "mmap")]
mod map;
mod member;
mod options;
mod pieces;
mod reader;
mod update;
mod writer;
#[cfg(any(feature = "zip-methods", feature = "zip-encryption"))]
mod zip_crate;

pub use archive::{IndexState, MemberKey, NpzMember};
pub use file::{NpzFile, read_npz, read_npz_with};
#[cfg(feature = "mmap")]
pub use map::{NpzMmap, NpzMmapMut};
pub use member::Remark;
pub use options::{Compression, NpzOptions};
pub use reader::NpzReader;
pub use update::NpzUpdate;
pub use writer::{NpzWriter, write_npz, write_npz_from, write_npz_from_with, write_npz_with};

pub use crate::zip::Method;
