//! Formats next to NumPy's, read and written as the arrays of [`ndarray_io`].
//!
//! Each format is a feature; `sparse` and `safetensors` are enabled by default.
//!
//! | feature | module | read | written |
//! |---|---|---|---|
//! | `sparse` | [`sparse`] | SciPy's sparse matrices and arrays, in NPZ archives | yes |
//! | `safetensors` | [`safetensors`] | tensors, of one file or of several with an index | yes |
//! | `torch` | [`torch`] | tensors in archives of `torch.save`; nothing is executed | |
//! | `gguf` | [`gguf`] | tensors that are not quantized | |
//!
//! Tensors are opened as [`NpyFile`](ndarray_io::NpyFile)s: parts, blocks and memory of the caller work as for files of NumPy, from
//! files, memory and any other [source](ndarray_io::bytes::ReadAt) of bytes. Files are not trusted: what contradicts itself is
//! an error, and time and memory are proportional to what is there.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "gguf")]
pub mod gguf;
#[cfg(feature = "safetensors")]
pub mod safetensors;
#[cfg(feature = "torch")]
pub mod scan;
#[cfg(feature = "sparse")]
pub mod sparse;
#[cfg(any(feature = "safetensors", feature = "gguf"))]
mod tensors;
#[cfg(feature = "torch")]
pub mod torch;

#[cfg(any(feature = "safetensors", feature = "gguf"))]
pub use tensors::{Tensor, Tensors};

#[cfg(any(feature = "sparse", feature = "safetensors", feature = "torch", feature = "gguf"))]
/// Returns the error for what a file declares and this machine, or the format, cannot have.
fn too_large(what: &str) -> ndarray_io::Error {
    ndarray_io::Error::new(ndarray_io::error::ErrorKind::Malformed, format!("{what} is too large"))
}

/// Returns the error for a malformed header, with the position in the file if there is one.
#[cfg(any(feature = "safetensors", feature = "gguf"))]
fn malformed_header(reason: impl std::fmt::Display, position: Option<u64>) -> ndarray_io::Error {
    let place = position.map_or_else(String::new, |position| format!(" at byte {position}"));
    let text = format!("malformed header{place}: {reason}");
    ndarray_io::Error::new(ndarray_io::error::ErrorKind::Malformed, text)
}
