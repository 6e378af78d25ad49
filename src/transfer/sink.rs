//! Where bytes go: a file, or anything that writes.

use std::fs::File;
use std::io::{self, Seek, Write};

use super::os;
use crate::error::Result;

/// Something that bytes are written to, one after another.
pub(crate) enum Sink<'a> {
    File(&'a File),
    Stream(&'a mut dyn Write),
}

impl<'a> Sink<'a> {
    /// A file is recognised, so that room can be reserved for it.
    pub(crate) fn of<W: Write>(writer: &'a mut W) -> Self {
        if os::as_file(writer).is_none() {
            return Self::Stream(writer);
        }
        match os::as_file(writer) {
            Some(file) => Self::File(file),
            None => unreachable!("it was recognised above"),
        }
    }

    /// Tells that so many bytes are going to come.
    pub(super) fn expect(&self, bytes: usize) -> Result<()> {
        /// Below this the call costs more than it saves.
        const WORTHWHILE: usize = 1 << 20;
        if let Self::File(mut file) = *self
            && bytes >= WORTHWHILE
            && let Ok(at) = file.stream_position()
        {
            os::preallocate(file, at, bytes as u64)?;
        }
        Ok(())
    }

    /// The one loop that writes: again after an interruption and a short write, and distrustful of what a writer
    /// claims.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let written = match self {
                Self::File(file) => file.write(bytes),
                Self::Stream(stream) => stream.write(bytes),
            };
            match written {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) if count > bytes.len() => {
                    let text = format!("the writer claims to have taken {count} bytes of {}", bytes.len());
                    return Err(io::Error::other(text).into());
                }
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        loop {
            let flushed = match self {
                Self::File(file) => file.flush(),
                Self::Stream(stream) => stream.flush(),
            };
            match flushed {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                flushed => return Ok(flushed?),
            }
        }
    }
}
