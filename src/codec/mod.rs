//! Codecs, from slices to slices.

pub(crate) mod bits;
#[cfg(feature = "npz")]
mod crc;
#[cfg(feature = "npz")]
mod deflate;
pub(crate) mod leb128;
#[cfg(feature = "lz4")]
pub(crate) mod lz4;
#[cfg(feature = "npz")]
mod unpack;
#[cfg(feature = "zip-methods")]
pub(crate) mod xz;

#[cfg(feature = "npz")]
pub(crate) use crc::{Pieces, Sum};
#[cfg(feature = "npz")]
pub(crate) use deflate::{Deflater, WINDOW};
#[cfg(feature = "npz")]
pub(crate) use unpack::{End, Unpacker};
