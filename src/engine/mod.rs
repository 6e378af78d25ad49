//! What reads and writes whole arrays: elements in bulk, and the files around them.

pub(crate) mod io;
pub(crate) mod transfer;
