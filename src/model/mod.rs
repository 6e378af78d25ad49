//! What an array in a file is, and what may be asked and said about it: no files, no elements.

pub mod dtype;
pub mod error;
pub mod header;
pub(crate) mod limits;
pub mod options;
pub(crate) mod progress;
#[cfg(feature = "serde-1")]
mod serde;
pub(crate) mod shape;
