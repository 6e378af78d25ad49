//! Sinks of bytes: files, and any other writers.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::{os, streams};
use crate::bytes::retry_interrupted;
use crate::error::{Error, Result};
use crate::options::WriteOptions;
use crate::progress::ProgressReporter;

/// A destination to which bytes are written sequentially.
pub(crate) struct Sink<'a> {
    target: Target<'a>,
    observer: Option<Observer<'a>>,
    reporter: ProgressReporter,
}

/// Observes all bytes that are written.
type Observer<'a> = &'a mut (dyn FnMut(&[u8]) + Send);

enum Target<'a> {
    File(&'a File),
    Stream(&'a mut dyn Write),
}

impl<'a> Sink<'a> {
    /// Creates a sink from a writer.
    ///
    /// A file is detected, so that disk space can be reserved.
    pub(crate) fn of<W: Write>(writer: &'a mut W) -> Self {
        let to = |target| Self { target, observer: None, reporter: ProgressReporter::default() };
        if streams::as_file(writer).is_none() {
            return to(Target::Stream(writer));
        }
        match streams::as_file(writer) {
            Some(file) => to(Target::File(file)),
            None => unreachable!("it was recognised above"),
        }
    }

    /// Returns the same sink with an observer of the bytes.
    #[cfg(feature = "npz")]
    pub(crate) fn with_observer(mut self, observer: Observer<'a>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Announces how many bytes follow, reserves disk space for them, and starts to report progress.
    pub(crate) fn announce_len(&mut self, bytes: u64, options: &WriteOptions) -> Result<()> {
        /// Below this size, reserving space costs more than it saves.
        const MIN_PREALLOCATED_LEN: u64 = 1 << 20;
        self.reporter = ProgressReporter::new(options.get_progress(), bytes);
        match self.target {
            Target::File(mut file) if bytes >= MIN_PREALLOCATED_LEN => match file.stream_position() {
                Ok(at) => Ok(os::preallocate(file, at, bytes)?),
                Err(_) => Ok(()), // it is a pipe
            },
            _ => Ok(()),
        }
    }

    /// Writes all of the bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        /// How many bytes are written between reports of progress.
        const PROGRESS_STEP: usize = 1 << 20;
        let step = if self.reporter.is_enabled() { PROGRESS_STEP } else { bytes.len().max(1) };
        for bytes in bytes.chunks(step) {
            match &mut self.observer {
                None => self.target.write(bytes)?,
                Some(observer) => write_observed(&mut self.target, observer, bytes)?,
            }
            self.reporter.add(bytes.len())?;
        }
        Ok(())
    }

    /// Writes the end of the file, and flushes.
    pub(crate) fn write_and_flush(&mut self, bytes: &[u8]) -> Result<()> {
        self.write(bytes)?;
        self.flush()
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.target.flush()
    }
}

/// Writes bytes and shows them to an observer, while they are in the cache or on another thread.
fn write_observed(target: &mut Target<'_>, observer: &mut Observer<'_>, bytes: &[u8]) -> Result<()> {
    /// From this length on, another thread observes the bytes while they are written.
    const MIN_PARALLEL_LEN: usize = 4 << 20;
    if bytes.len() < MIN_PARALLEL_LEN {
        observer(bytes);
        return target.write(bytes);
    }
    // Shared with the new thread, and used by this one if the thread cannot be started.
    let observer = Mutex::new(observer);
    let observe = || (observer.lock().unwrap_or_else(PoisonError::into_inner))(bytes);
    thread::scope(|scope| {
        let observing = thread::Builder::new().spawn_scoped(scope, observe);
        let written = target.write(bytes);
        match observing {
            Ok(observing) => observing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => observe(), // the thread could not be started
        }
        written
    })
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Sink::write(self, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(Sink::flush(self)?)
    }
}

impl Target<'_> {
    /// Writes all bytes.
    ///
    /// Retries after interruptions and short writes, and rejects a count that exceeds the bytes.
    fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let written = match self {
                Self::File(file) => file.write(bytes),
                Self::Stream(stream) => stream.write(bytes),
            };
            let error = match written {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(count) if count > bytes.len() => {
                    io::Error::other(format!("the writer reported {count} bytes written of {}", bytes.len()))
                }
                Ok(count) => {
                    bytes = &bytes[count..];
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            return Err(Error::from(error).while_writing());
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let flushed = retry_interrupted(|| match self {
            Self::File(file) => file.flush(),
            Self::Stream(stream) => stream.flush(),
        });
        flushed.map_err(|error| Error::from(error).while_writing())
    }
}
