//! Tables of text, a row a line.

mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;

/// What a table looks like.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) has_header: bool,
    pub(crate) delimiter: u8,
}
