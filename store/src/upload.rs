//! [`Upload`]: a blocking writer for an object; [`Buffer`]: what a writer has written until now.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use ndarray_io::Result;
use tokio::runtime::Handle;

use crate::async_upload::{AsyncUpload, broken_upload_error};
use crate::remote::Version;
use crate::runtime::wait;

/// A writer for an object, which becomes visible with [`finish`](Self::finish).
///
/// Dropping the writer earlier leaves an existing object unchanged and removes the parts that have been sent; within a task of Tokio,
/// the library's own threads do so, unless the program ends before.
/// If the process is killed, these parts stay in the store, invisible but billed, until a lifecycle rule for
/// incomplete uploads removes them. All stores support such rules; Azure removes the parts after a week even
/// without one.
///
/// Full parts are sent in the background; [`write`](Write::write) blocks while there are too many of them ([`StoreOptions::in_flight`](crate::StoreOptions::in_flight)).
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::NpzWriter;
/// use ndarray_io_store::{Remote, UploadOptions};
/// # use object_store::memory::InMemory;
/// # use std::sync::Arc;
///
/// # let store = Arc::new(InMemory::new());
/// let remote = Remote::in_bucket(store, "arrays.npz")?;
/// let mut npz = NpzWriter::new(remote.upload(&UploadOptions::new())?);
/// npz.add("a", &arr1(&[1, 2]))?;
/// npz.finish()?.finish()?;
/// assert_eq!(remote.open_npz()?.names()?, ["a"]);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Debug)]
pub struct Upload(Option<AsyncUpload>);

impl Upload {
    pub(crate) fn new(upload: AsyncUpload) -> Self {
        Self(Some(upload))
    }

    /// Completes the upload, which makes the object visible to readers.
    ///
    /// # Errors
    ///
    /// As for [`AsyncUpload::finish`].
    pub fn finish(mut self) -> Result<Version> {
        match self.0.take() {
            Some(upload) => wait(upload.finish()),
            None => Err(broken_upload_error()),
        }
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(upload) = &mut self.0 else { return Err(broken_upload_error().into()) };
        if upload.is_full() && !bytes.is_empty() {
            wait(upload.send_buffer())?;
        }
        Ok(upload.fill(bytes))
    }

    /// Does nothing: a part is sent when it is full and more data follows.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // Within a task, blocking would stall the task: dropping the inner upload has the parts removed.
        if let Some(upload) = self.0.take()
            && Handle::try_current().is_err()
        {
            let _ = wait(async {
                upload.abort().await;
                Ok(())
            });
        }
    }
}

/// A writer into memory that others take the bytes out of, for writers that do not know of tasks: see [`AsyncUpload`].
///
/// Clones share the bytes.
///
/// ```
/// use ndarray_io_store::Buffer;
/// use std::io::Write;
///
/// let buffer = Buffer::new();
/// buffer.clone().write_all(b"abc")?;
/// assert_eq!(buffer.take(), b"abc");
/// assert!(buffer.take().is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    /// Creates an empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes out what has been written since the last call.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
