//! File objects of Python as readers, writers and sources.

use std::io::{self, Read, Write};
use std::sync::Mutex;

use ndarray_io::Result;
use ndarray_io::bytes::ReadAt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The most bytes that one call of a method passes: they are copied.
const MOST: usize = 4 << 20;

/// A file object, from its current position on.
pub(crate) struct Stream(pub(crate) Py<PyAny>);

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let wanted = into.len().min(MOST);
        Python::attach(|py| {
            let read = self.0.call_method1(py, "read", (wanted,)).map_err(io::Error::other)?;
            let read = read.bind(py);
            let bytes = match read.cast::<PyBytes>() {
                Ok(bytes) => bytes.as_bytes(),
                Err(_) => {
                    let text = format!("expected bytes from read(), found {}", read.get_type());
                    return Err(io::Error::other(pyo3::exceptions::PyTypeError::new_err(text)));
                }
            };
            let Some(room) = into.get_mut(..bytes.len()) else {
                return Err(io::Error::other("read() returned more bytes than it was asked for"));
            };
            room.copy_from_slice(bytes);
            Ok(bytes.len())
        })
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(MOST)];
        Python::attach(|py| {
            let written = self.0.call_method1(py, "write", (PyBytes::new(py, bytes),));
            // Some file objects return nothing: they have written all of it.
            let count: Option<usize> =
                written.and_then(|count| count.extract(py)).map_err(io::Error::other)?;
            Ok(count.map_or(bytes.len(), |count| count.min(bytes.len())))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file object that can seek, as a source: its position is this library's as long as the source exists.
#[derive(Debug)]
pub(crate) struct Seekable(Mutex<Py<PyAny>>);

impl Seekable {
    pub(crate) fn new(file: Py<PyAny>) -> Self {
        Self(Mutex::new(file))
    }

    /// Calls a function with the file object; one thread at a time, as positions are shared.
    fn with<T>(&self, call: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<T> + Send) -> Result<T>
    where
        T: Send,
    {
        let locked = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let file = &*locked;
        Ok(Python::attach(|py| call(py, file)).map_err(io::Error::other)?)
    }
}

impl ReadAt for Seekable {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        self.with(|py, file| {
            file.call_method1(py, "seek", (offset,))?;
            let read = file.call_method1(py, "read", (into.len().min(MOST),))?;
            let bytes = read.bind(py).cast::<PyBytes>()?.as_bytes();
            let count = bytes.len().min(into.len());
            into[..count].copy_from_slice(&bytes[..count]);
            Ok(count)
        })
    }

    fn size(&self) -> Result<u64> {
        self.with(|py, file| file.call_method1(py, "seek", (0, 2))?.extract(py))
    }
}
