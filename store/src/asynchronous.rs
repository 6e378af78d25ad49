//! [`AsyncFile`]: files in stores, for async code.

use std::ops::Deref;
use std::sync::Arc;

use ndarray::{Array, IxDyn, SliceArg};

use ndarray_io::error::{Error, Result};
use ndarray_io::file::{ArrayFile, ArrayFormat, FromPayload};
use ndarray_io::npz::NpzFile;
use ndarray_io::{ReadOptions, ReadableElement};

use crate::bytes::Bytes;
use crate::remote::Remote;
use crate::runtime::{Stop, waiting};

/// A file in a store for use in async tasks: its read methods return futures.
///
/// Dropping a future cancels its requests. No runtime is needed: requests run on the library's own threads.
///
/// Methods of the file that do not read (`shape`, `dtype`, `names`) are available through [`Deref`]; use
/// [`run`](Self::run) for all other methods. Calling a method that reads through `Deref` blocks the task.
///
/// ```
/// use ndarray::{Array1, arr1, s};
/// use ndarray_io::ReadOptions;
/// use ndarray_io_store::Remote;
/// # use object_store::memory::InMemory;
/// # use std::sync::Arc;
///
/// # let store = Arc::new(InMemory::new());
/// # let remote = Remote::in_bucket(store, "a.npy")?;
/// # remote.write_npy(&arr1(&[1, 2, 3, 4]))?;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let file = remote.open_npy_async(&ReadOptions::new()).await?;
/// assert_eq!(file.shape(), [4]);
/// let part: Array1<i32> = file.slice(s![..2]).await?;
/// assert_eq!(part, arr1(&[1, 2]));
/// let sum = file.run(|file| {
///     let mut sum = 0;
///     for chunk in file.chunks::<i32, ndarray::Ix1>(0, 3)? {
///         sum += chunk?.sum();
///     }
///     Ok(sum)
/// });
/// assert_eq!(sum.await?, 10);
/// # Ok::<(), ndarray_io::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AsyncFile<T> {
    remote: Remote,
    bytes: Bytes,
    options: ReadOptions,
    file: T,
    open: fn(&Remote, &Bytes, &ReadOptions) -> Result<T>,
}

impl<T: 'static> AsyncFile<T> {
    pub(crate) async fn open(
        remote: &Remote,
        options: &ReadOptions,
        fetch: fn(&Remote, Option<Arc<Stop>>) -> Result<Bytes>,
        open: fn(&Remote, &Bytes, &ReadOptions) -> Result<T>,
    ) -> Result<Self>
    where
        T: Send,
    {
        let (remote, options) = (remote.clone(), options.clone());
        run_blocking(move |stop| {
            let bytes = fetch(&remote, Some(Arc::clone(&stop)))?;
            let file = open(&remote, &bytes.stopped_by(Some(stop)), &options)?;
            let bytes = bytes.stopped_by(None);
            Ok(Self { remote, bytes, options, file, open })
        })
        .await
    }

    /// Calls a function with the file on a blocking thread.
    ///
    /// At most 64 calls run concurrently, across all files; further calls are queued. If the future is
    /// dropped, the function's next read fails with [`Cancelled`](ndarray_io::error::ErrorKind::Cancelled).
    ///
    /// # Errors
    ///
    /// As for opening the file, and any error that the function returns.
    ///
    /// # Panics
    ///
    /// If the function panics.
    pub async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&T) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let (remote, bytes, options, open) =
            (self.remote.clone(), self.bytes.clone(), self.options.clone(), self.open);
        run_blocking(move |stop| work(&open(&remote, &bytes.stopped_by(Some(stop)), &options)?)).await
    }
}

/// Provides the methods that do not read.
impl<T> Deref for AsyncFile<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.file
    }
}

impl<F: ArrayFormat> AsyncFile<ArrayFile<F>> {
    /// Reads the entire array. See [`ArrayFile::read`].
    ///
    /// # Errors
    ///
    /// As for [`ArrayFile::read`].
    pub async fn read<T: FromPayload + Send + 'static>(&self) -> Result<T> {
        self.run(ArrayFile::read).await
    }

    /// Reads a slice of the array, selected as with ndarray's `slice`. See [`ArrayFile::slice`].
    ///
    /// # Errors
    ///
    /// As for [`ArrayFile::slice`].
    pub async fn slice<A, I>(&self, slice: I) -> Result<Array<A, I::OutDim>>
    where
        A: ReadableElement + Send + 'static,
        I: SliceArg<IxDyn> + Send + 'static,
        I::OutDim: Send + 'static,
    {
        self.run(move |file| file.slice(slice)).await
    }

    /// Reads the given indices along an axis. See [`ArrayFile::take`].
    ///
    /// # Errors
    ///
    /// As for [`ArrayFile::take`].
    pub async fn take<T: FromPayload + Send + 'static>(&self, axis: usize, indices: &[usize]) -> Result<T> {
        let indices = indices.to_vec();
        self.run(move |file| file.take(axis, &indices)).await
    }
}

impl AsyncFile<NpzFile> {
    /// Reads an array by its name. See [`NpzFile::read`].
    ///
    /// # Errors
    ///
    /// As for [`NpzFile::read`].
    pub async fn read<T: FromPayload + Send + 'static>(&self, name: &str) -> Result<T> {
        let name = name.to_owned();
        self.run(move |archive| archive.read(&name)).await
    }
}

/// Runs a function on a blocking thread, and cancels its requests if the future is dropped.
async fn run_blocking<R: Send + 'static>(
    work: impl FnOnce(Arc<Stop>) -> Result<R> + Send + 'static,
) -> Result<R> {
    struct StopOnDrop(Option<Arc<Stop>>);
    impl Drop for StopOnDrop {
        fn drop(&mut self) {
            if let Some(stop) = &self.0 {
                stop.set();
            }
        }
    }
    let stop = Arc::<Stop>::default();
    let mut stop_on_drop = StopOnDrop(Some(Arc::clone(&stop)));
    let result = waiting()?.spawn_blocking(move || work(stop)).await;
    // A file that `work` has opened may continue to use this signal.
    stop_on_drop.0 = None;
    match result {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(Error::from(std::io::Error::other(error.to_string()))),
        },
    }
}
