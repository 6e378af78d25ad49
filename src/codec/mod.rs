//! Codecs, from slices to slices.

#[cfg(feature = "npz")]
mod crc;
#[cfg(feature = "npz")]
mod deflate;
#[cfg(feature = "npz")]
mod unpack;

#[cfg(feature = "npz")]
pub(crate) use crc::{Pieces, Sum};
#[cfg(feature = "npz")]
pub(crate) use deflate::{Deflater, WINDOW};
#[cfg(feature = "npz")]
pub(crate) use unpack::Unpacker;
