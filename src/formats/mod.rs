//! The formats, from slices to slices.

pub(crate) mod npy_format;
#[cfg(feature = "object")]
pub(crate) mod pickle;
pub(crate) mod ra_format;
#[cfg(feature = "npz")]
pub(crate) mod zip;
