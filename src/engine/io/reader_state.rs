//! Where a reader of several arrays is in its stream.

use crate::error::{Error, Fault};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Directly after a header.
    AtPayload,
    /// Within a payload of which some parts have been read.
    Within {
        /// How many bytes follow before its end.
        left: u64,
    },
    /// Directly after a payload.
    AtEnd,
    /// Among bytes after the last array, which are none.
    AfterLast,
    /// At an unknown position, after an error.
    Lost,
}

/// Returns the error for a reader that is at an unknown position.
pub(super) fn lost_position_error() -> Error {
    let reason = "an earlier error has left the reader within an array".into();
    Fault::OutOfTurn { reason }.into()
}
