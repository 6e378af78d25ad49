//! Errors in the text of a header, before their offset in the file is known.

use super::Version;
use crate::error::{Error, Fault, FilePart};

/// What is wrong, and at which offset in the text.
pub(super) struct HeaderFault {
    pub(super) kind: FaultKind,
    pub(super) at: Option<usize>,
}

pub(super) enum FaultKind {
    /// The header is malformed; the text says how.
    Malformed(String),
    /// Any other error, which needs no offset.
    Other(Error),
}

impl HeaderFault {
    pub(super) fn new(reason: impl Into<String>, at: impl Into<Option<usize>>) -> Self {
        Self { kind: FaultKind::Malformed(reason.into()), at: at.into() }
    }

    /// Adds `by` to the fault's offset, for a text that begins `by` bytes into a longer one.
    pub(super) fn offset_by(self, by: usize) -> Self {
        Self { at: self.at.map(|at| at + by), ..self }
    }
}

impl From<Error> for HeaderFault {
    fn from(error: Error) -> Self {
        Self { kind: FaultKind::Other(error), at: None }
    }
}

impl From<Fault> for HeaderFault {
    fn from(kind: Fault) -> Self {
        Error::from(kind).into()
    }
}

impl HeaderFault {
    /// Converts the fault to an error, for a text that begins `start` bytes after the beginning of the array.
    pub(super) fn into_error(self, text: &str, version: Version, start: usize) -> Error {
        let reason = match self.kind {
            FaultKind::Other(error) => return error,
            FaultKind::Malformed(reason) => reason,
        };
        // A Latin-1 character takes one byte in the file, even if its UTF-8 form takes two in memory.
        let offset = self.at.map(|at| match version {
            Version::V3 => start + at,
            _ => start + text.get(..at).map_or(at, |before| before.chars().count()),
        });
        Fault::Malformed { part: FilePart::Header, reason, offset: offset.map(|offset| offset as u64) }.into()
    }
}
