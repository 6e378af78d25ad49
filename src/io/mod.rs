//! Readers that are looked at before they are read, and what stands between a format's header and an array.

mod order;
mod payload;
mod reader;
pub(crate) mod replace;
mod zeroed;

pub(crate) use order::order_of;
pub(crate) use payload::{Payload, check_end, read_header, read_whole};
#[doc(hidden)]
pub use payload::{FromPayload, PayloadRef};
pub use reader::NpyReader;
pub(crate) use zeroed::write_zeroed;
