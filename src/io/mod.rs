//! Readers that are looked at before they are read, and what stands between a format's header and an array.

mod format;
mod order;
mod payload;
mod ra;
mod reader;
pub(crate) mod replace;
mod writer;
mod zeroed;

pub use format::{ArrayFormat, Npy};
pub(crate) use order::order_of;
pub use payload::FromPayload;
#[cfg(feature = "npz")]
pub(crate) use payload::read_whole;
pub(crate) use payload::{Payload, PayloadRef, check_end, read_header, read_header_of_file, read_last};
pub use ra::Ra;
pub use reader::{ArrayReader, NpyReader, RaReader};
pub use writer::{NpyWriter, Surplus, make_room};
pub(crate) use zeroed::write_zeroed;
