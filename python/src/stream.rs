//! File objects of Python as readers, writers and sources.

use std::io::{self, Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use ndarray_io::Result;
use ndarray_io::bytes::ReadAt;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// The most bytes that one call of a method passes: they are copied.
const MAX_CALL_BYTES: usize = 4 << 20;

/// A file object, from its current position on.
pub(crate) struct FileObject(pub(crate) Py<PyAny>);

impl Read for FileObject {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let wanted = into.len().min(MAX_CALL_BYTES);
        Python::attach(|py| {
            let read = self.0.call_method1(py, "read", (wanted,)).map_err(io::Error::other)?;
            let read = read.bind(py);
            let bytes: PyBackedBytes = read.extract().map_err(|_| {
                let text = format!("expected bytes from read(), found {}", read.get_type());
                io::Error::other(PyTypeError::new_err(text))
            })?;
            let Some(room) = into.get_mut(..bytes.len()) else {
                return Err(io::Error::other("read() returned more bytes than it was asked for"));
            };
            room.copy_from_slice(&bytes);
            py.check_signals().map_err(io::Error::other)?;
            Ok(bytes.len())
        })
    }
}

impl Write for FileObject {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(MAX_CALL_BYTES)];
        Python::attach(|py| {
            let written = self.0.call_method1(py, "write", (PyBytes::new(py, bytes),));
            let count: Option<usize> =
                written.and_then(|count| count.extract(py)).map_err(io::Error::other)?;
            py.check_signals().map_err(io::Error::other)?;
            // Some file objects return nothing and have written all of it, but not those without buffers: they could write nothing now.
            match count {
                None if is_unbuffered(py, &self.0).map_err(io::Error::other)? => {
                    let text = "the file object does not block, and cannot take more now";
                    Err(io::Error::other(pyo3::exceptions::PyBlockingIOError::new_err(text)))
                }
                count => Ok(count.map_or(bytes.len(), |count| count.min(bytes.len()))),
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Collects what is written to a stream. What has been collected is dropped with it: after an error, nothing more is written.
pub(crate) struct BufferedStream {
    stream: FileObject,
    bytes: Vec<u8>,
}

impl BufferedStream {
    pub(crate) fn new(stream: FileObject) -> Self {
        Self { stream, bytes: Vec::new() }
    }
}

impl Write for BufferedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > MAX_CALL_BYTES {
            self.flush()?;
        }
        if bytes.len() >= MAX_CALL_BYTES {
            return self.stream.write(bytes);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

/// Whether a file object is one without buffers.
fn is_unbuffered(py: Python<'_>, file: &Py<PyAny>) -> PyResult<bool> {
    file.bind(py).is_instance(&py.import("io")?.getattr("RawIOBase")?)
}

/// A file object that can seek, as a source: its position is this library's as long as the source exists.
#[derive(Debug)]
pub(crate) struct SeekableFileObject {
    file: Mutex<Py<PyAny>>,
    /// The position of the first byte.
    start: u64,
    /// The thread that uses the file object.
    user_thread: Mutex<Option<ThreadId>>,
}

impl SeekableFileObject {
    pub(crate) fn new(file: Py<PyAny>, start: u64) -> Self {
        Self { file: Mutex::new(file), start, user_thread: Mutex::new(None) }
    }

    fn user_thread(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.user_thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function with the file object; one thread at a time, as positions are shared.
    fn with_file_object<T>(
        &self,
        call: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<T> + Send,
    ) -> Result<T>
    where
        T: Send,
    {
        let this = std::thread::current().id();
        if *self.user_thread() == Some(this) {
            let text = "a method of the file object reads the archive or array that is read from it";
            return Err(io::Error::other(PyRuntimeError::new_err(text)).into());
        }
        let locked = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        *self.user_thread() = Some(this);
        let done = Python::attach(|py| {
            let done = call(py, &locked);
            done.and_then(|done| py.check_signals().map(|()| done))
        });
        *self.user_thread() = None;
        Ok(done.map_err(io::Error::other)?)
    }
}

impl ReadAt for SeekableFileObject {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        self.with_file_object(|py, file| {
            file.call_method1(py, "seek", (self.start.saturating_add(offset),))?;
            let read = file.call_method1(py, "read", (into.len().min(MAX_CALL_BYTES),))?;
            let bytes: PyBackedBytes = read.extract(py)?;
            let count = bytes.len().min(into.len());
            into[..count].copy_from_slice(&bytes[..count]);
            Ok(count)
        })
    }

    fn size(&self) -> Result<u64> {
        self.with_file_object(|py, file| {
            file.call_method1(py, "seek", (0, 2))?;
            let end: u64 = file.call_method0(py, "tell")?.extract(py)?;
            Ok(end.saturating_sub(self.start))
        })
    }
}
