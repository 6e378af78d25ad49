//! Repeats reads until a buffer is full.

use std::io::{self, Read};

use super::ReadAt;
use crate::error::{Error, Fault, Result};

/// Calls a reader until the buffer is full or the reader ends, and returns how many bytes were read.
///
/// Retries after interruptions and short reads, and rejects a count that exceeds the buffer.
pub(crate) fn fill(into: &mut [u8], reader: &mut dyn Read) -> Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        let rest = &mut into[filled..];
        match reader.read(rest) {
            Ok(0) => break,
            Ok(count) if count > rest.len() => return Err(overlong_read(count, rest.len()).into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

/// Reads a source from an offset on.
struct ReaderAt<'a, T: ?Sized> {
    source: &'a T,
    /// `None` beyond all offsets.
    at: Option<u64>,
}

impl<T: ReadAt + ?Sized> Read for ReaderAt<'_, T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(at) = self.at else { return Ok(0) };
        let count = self.source.read_at(into, at)?;
        self.at = at.checked_add(count as u64);
        Ok(count)
    }
}

/// Fills a buffer from an offset of a source, and returns how many bytes were read.
///
/// There are fewer than requested only at the end of the source. Interrupted calls are repeated.
///
/// # Errors
///
/// Those of the source, and [`BadSource`](crate::error::ErrorKind::BadSource) if it reports more bytes than it was asked for.
///
/// ```
/// use ndarray_io::bytes::{InMemory, fill_at};
///
/// let mut bytes = [0; 4];
/// assert_eq!(fill_at(&InMemory(b"abcdef"), &mut bytes, 3)?, 3);
/// assert_eq!(&bytes, b"def\0");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn fill_at<T: ReadAt + ?Sized>(source: &T, into: &mut [u8], offset: u64) -> Result<usize> {
    fill(into, &mut ReaderAt { source, at: Some(offset) })
}

/// Repeats a call of the system as long as it is interrupted.
pub(crate) fn retry_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Calls a reader once, and rejects a count that exceeds the buffer.
pub(crate) fn read_once(reader: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let count = reader.read(into)?;
    if count > into.len() { Err(overlong_read(count, into.len())) } else { Ok(count) }
}

/// Returns the error for a reader that reports more bytes than it was asked for.
fn overlong_read(count: usize, room: usize) -> io::Error {
    let reason = format!("the reader reported {count} bytes read into a buffer of {room}");
    Error::from(Fault::BadSource { reason }).into()
}

/// Returns whether a call failed only because it was interrupted, and should be repeated.
pub(super) fn is_interrupted(error: &Error) -> bool {
    matches!(error.fault(), Fault::Io(error) if error.kind() == io::ErrorKind::Interrupted)
}
