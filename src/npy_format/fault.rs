//! What is wrong with a header's text, on its way to becoming an error.

use super::Version;
use crate::error::{Error, ErrorKind};

/// What is wrong, and where in the text.
pub(super) struct Fault {
    pub(super) what: What,
    pub(super) at: Option<usize>,
}

pub(super) enum What {
    /// The header is malformed, in words.
    Malformed(String),
    /// Something else, which needs no place.
    Other(Error),
}

impl Fault {
    pub(super) fn new(reason: impl Into<String>, at: impl Into<Option<usize>>) -> Self {
        Self { what: What::Malformed(reason.into()), at: at.into() }
    }

    /// The same fault in a text that begins so far further on.
    pub(super) fn moved(self, by: usize) -> Self {
        Self { at: self.at.map(|at| at + by), ..self }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { what: What::Other(error), at: None }
    }
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Self {
        Error::from(kind).into()
    }
}

impl Fault {
    /// With its place in the file, for a text that begins `start` bytes behind the beginning of the array.
    pub(super) fn into_error(self, text: &str, version: Version, start: usize) -> Error {
        let reason = match self.what {
            What::Other(error) => return error,
            What::Malformed(reason) => reason,
        };
        // In Latin-1 a character is one byte in the file, whatever it takes in memory.
        let offset = self.at.map(|at| match version {
            Version::V3 => start + at,
            _ => start + text.get(..at).map_or(at, |before| before.chars().count()),
        });
        ErrorKind::BadHeader { reason, offset: offset.map(|offset| offset as u64) }.into()
    }
}
