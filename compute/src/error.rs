//! What may go wrong.

use std::fmt;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of reading, or of a question that has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An array could not be read.
    Read(Box<ndarray_io::Error>),
    /// An expression is not one of the language; counted from 0, in characters.
    Syntax {
        /// What is wrong.
        message: String,
        /// Where it is in the text.
        at: usize,
    },
    /// An operation does not apply to these dtypes or shapes.
    Operands(String),
    /// More memory would be needed than a question may use.
    TooLarge(String),
}

impl Error {
    pub(crate) fn operands(message: impl Into<String>) -> Self {
        Self::Operands(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Syntax { message, at } => write!(f, "{message}, at character {}", at + 1),
            Self::Operands(message) | Self::TooLarge(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(&**error),
            Self::Syntax { .. } | Self::Operands(_) | Self::TooLarge(_) => None,
        }
    }
}

impl From<ndarray_io::Error> for Error {
    fn from(error: ndarray_io::Error) -> Self {
        Self::Read(Box::new(error))
    }
}
