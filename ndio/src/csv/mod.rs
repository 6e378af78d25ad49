//! Reading and writing CSV.

mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;

/// A CSV dialect.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) has_header: bool,
    pub(crate) delimiter: u8,
}
