//! The error type of the crate: what went wrong, and where.
//!
//! [`Error`] is one pointer in size. Its [`kind`](Error::kind) is the stable interface; its text says what was
//! found and what was expected. The location (file, member, element, field) is added as the error propagates.
//!
//! # Errors of reading
//!
//! What all functions have in common that read files. Their own documentation lists what is particular to them.
//!
//! - [`Io`](ErrorKind::Io) if an I/O operation fails.
//! - A [format error](Error::is_format) if the file is malformed or truncated.
//! - [`Limit`](ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
//! - [`OutOfMemory`](ErrorKind::OutOfMemory) if an array cannot be allocated.
//! - [`Cancelled`](ErrorKind::Cancelled) if the progress callback of [`ReadOptions`](crate::ReadOptions::progress) cancels the operation.

mod constructors;
mod escape;
mod fault;
mod file_kind;
mod help;
mod kind;
mod message;
#[cfg(test)]
mod samples;
pub(crate) mod value;

pub use escape::{escape_invisible, is_invisible};
pub(crate) use fault::{CopyReason, ElementFault, Fault, FilePart, FileSection, LimitKind, WantedShape};
pub(crate) use file_kind::FileKind;
pub use help::Help;
pub(crate) use help::Remedy;
pub use kind::ErrorKind;
pub use value::Returned;
pub(crate) use value::{Error, Result};
