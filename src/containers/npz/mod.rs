//! NPZ archives: ZIP files whose members are NPY arrays.
//!
//! The archive itself only records where its members are and how they are compressed. Their contents go
//! through the same pipeline as all other NPY arrays.
//!
//! [`NpzReader`](crate::NpzReader) reads archives from any `Read + Seek`, [`NpzFile`](crate::NpzFile) reads a file from several threads, and
//! `NpzMmap` memory-maps a file. [`NpzWriter`] writes archives. [`NpzUpdate`](crate::NpzUpdate) replaces an archive with a
//! changed copy.
//!
//! # Errors of members
//!
//! What the functions have in common that read a member.
//!
//! - [`NoSuchName`](crate::error::ErrorKind::NoSuchName) or
//!   [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) unless exactly one member has the name;
//!   [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if there are fewer members than the index.
//! - [`Encrypted`](crate::error::ErrorKind::Encrypted) if the member is encrypted and the password is missing or wrong (with the
//!   feature `zip-encryption`).
//! - [`Malformed`](crate::error::ErrorKind::Malformed) or another [format error](crate::Error::is_format) if the member is damaged or
//!   cannot be decompressed.

mod archive;
mod content;
pub(crate) mod file;
#[cfg(feature = "mmap")]
pub(crate) mod map;
mod member;
mod pieces;
pub(crate) mod reader;
pub(crate) mod update;
pub(crate) mod writer;
#[cfg(any(feature = "zip-methods", feature = "zip-encryption"))]
mod zip_crate;

pub use archive::{IndexState, MemberKey, NpzMember};
#[cfg(feature = "mmap")]
pub use map::{NpzMmap, NpzMmapMut};
pub use member::Remark;
pub(crate) use writer::NpzWriter;

pub use crate::zip::Method;
