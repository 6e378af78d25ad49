//! Readers and writers of arrays, and the code between a format's header and an array.

pub(crate) mod change;
mod format;
mod order;
mod part_reader;
mod payload;
mod ra;
mod read;
mod reader;
mod reader_state;
mod writer;
mod zeroed;

pub(crate) use format::{Expected, Format, FormatHeader, format_npy_header};
pub(crate) use order::order_of;
pub(crate) use part_reader::PartReader;
pub(crate) use payload::Payload;
pub use payload::ReadArray;
#[cfg(feature = "npz")]
pub(crate) use read::begin_whole_source;
pub(crate) use read::{check_end, read_file, read_header, read_header_of_file, read_npy_header};
pub use reader::NpyReader;
pub use writer::NpyWriter;
pub(crate) use writer::{RowWriter, WritableHeader, refuse_objects};
pub(crate) use writer::{group_inner_axes_for, options_for};
pub(crate) use zeroed::write_zeroed;
