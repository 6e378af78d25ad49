//! [`AsyncFile`]: files in stores, for async code.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use ndarray::{Array, IxDyn, SliceArg};

use ndarray_io::blocks::Block;
use ndarray_io::bytes::ReadAt;
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::{DType, Error, NpyFile, NpzFile, ReadArray, ReadOptions, ReadableElement, Result};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::bytes::ObjectBytes;
use crate::loaded::LoadedBytes;
use crate::remote::Remote;
use crate::runtime::{CancelSignal, blocking_runtime, decoding_runtime, on_runtime, task_result};

/// A file in a store for use in async tasks: its read methods return futures.
///
/// Dropping a future cancels its requests. No runtime is needed: requests run on the library's own threads. Reads of up to 16 MiB occupy
/// no thread while they wait for the store; larger ones, and [`run`](Self::run), have one of up to 512.
///
/// Use [`run`](Self::run) for methods that are not here.
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
/// let file = remote.open_array_async(&ReadOptions::new()).await?;
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
    bytes: ObjectBytes,
    options: ReadOptions,
    file: T,
    open: OpenFn<T>,
}

/// Opens a file whose bytes are those of a source.
type OpenFn<T> = fn(&Remote, Arc<dyn ReadAt>, &ReadOptions) -> Result<T>;

/// What a read is repeated with at most, each time with more of the object: three or four times if the file is what it says.
const MAX_ROUNDS: usize = 16;

impl<T: Send + 'static> AsyncFile<T> {
    pub(crate) async fn open(
        remote: &Remote,
        options: &ReadOptions,
        fetched: impl Future<Output = Result<ObjectBytes>> + Send + 'static,
        open: OpenFn<T>,
    ) -> Result<Self> {
        let (remote, options) = (remote.clone(), options.clone());
        let bytes = on_runtime(fetched).await.map_err(|error| remote.location.name_error(error))?;
        // What has been fetched is nearly always enough.
        let known = Arc::new(LoadedBytes::new(bytes.clone()));
        let (remote_clone, options_clone) = (remote.clone(), options.clone());
        let file = run_decoding(move || {
            open(&remote_clone, known, &options_clone)?;
            Ok(())
        });
        let is_enough = match file.await {
            Err(error) if error.kind() == ErrorKind::NotLoaded => false,
            opened => opened.map(|()| true)?,
        };
        let (remote_clone, options_clone, source) = (remote.clone(), options.clone(), bytes.clone());
        let file = match is_enough {
            true => run_decoding(move || open(&remote_clone, Arc::new(source), &options_clone)).await?,
            false => {
                run_blocking(move |stop| {
                    open(&remote_clone, Arc::new(source.with_stop(Some(stop))), &options_clone)
                })
                .await?
            }
        };
        Ok(Self { remote, bytes, options, file, open })
    }

    /// Calls a function with the file on a blocking thread.
    ///
    /// At most 512 calls run concurrently, across all files; further calls are queued. If the future is
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
        run_blocking(move |stop| work(&open(&remote, Arc::new(bytes.with_stop(Some(stop))), &options)?)).await
    }

    /// Calls a function with the file, which says what it lacks, until all of that has been fetched.
    async fn run_until_loaded<R: Send + 'static>(
        &self,
        work: impl Fn(&T) -> Result<R> + Send + Sync + 'static,
    ) -> Result<R> {
        let work = Arc::new(work);
        let known = Arc::new(LoadedBytes::new(self.bytes.clone()));
        for _ in 0..MAX_ROUNDS {
            if self.bytes.is_single_response() || known.read_exceeds_limit() {
                break;
            }
            let (remote, options, open) = (self.remote.clone(), self.options.clone(), self.open);
            let (work, source) = (Arc::clone(&work), Arc::clone(&known));
            match run_decoding(move || work(&open(&remote, source, &options)?)).await {
                Err(error) => match error.kind() {
                    ErrorKind::NotLoaded if error.missing_ranges().is_empty() => break,
                    ErrorKind::NotLoaded if !known.read_exceeds_limit() => {
                        let (bytes, missing) = (self.bytes.clone(), error.missing_ranges().to_vec());
                        let loaded = on_runtime(async move { bytes.load(missing).await }).await;
                        known.add(loaded.map_err(|error| self.remote.location.name_error(error))?);
                    }
                    ErrorKind::NotLoaded => {}
                    _ => return Err(error),
                },
                read => return read,
            }
        }
        self.run(move |file| work(file)).await
    }
}

/// Provides the methods that do not read.
impl AsyncFile<NpyFile> {
    /// Returns the type of the elements.
    pub fn dtype(&self) -> &DType {
        self.file.dtype()
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.file.shape()
    }

    /// Returns the order in which the elements are stored.
    pub fn order(&self) -> Order {
        self.file.order()
    }

    /// Reads the entire array. See [`NpyFile::read`].
    ///
    /// # Errors
    ///
    /// As for [`NpyFile::read`].
    pub async fn read<T: ReadArray + Send + 'static>(&self) -> Result<T> {
        self.run_until_loaded(NpyFile::read).await
    }

    /// Reads a slice of the array, selected as with ndarray's `slice`. See [`NpyFile::slice`].
    ///
    /// # Errors
    ///
    /// As for [`NpyFile::slice`].
    pub async fn slice<A, I>(&self, slice: I) -> Result<Array<A, I::OutDim>>
    where
        A: ReadableElement + Send + 'static,
        I: SliceArg<IxDyn> + Send + Sync + 'static,
        I::OutDim: Send + 'static,
    {
        self.run_until_loaded(move |file| file.slice(&slice)).await
    }

    /// Reads the given indices along an axis. See [`NpyFile::take`].
    ///
    /// # Errors
    ///
    /// As for [`NpyFile::take`].
    pub async fn take<T: ReadArray + Send + 'static>(&self, axis: usize, indices: &[usize]) -> Result<T> {
        let indices = indices.to_vec();
        self.run_until_loaded(move |file| file.take(axis, &indices)).await
    }

    /// Reads the array block by block, each of at most this many bytes, as a stream. See [`NpyFile::blocks`].
    ///
    /// What follows is fetched while a block is worked on. A thread is occupied until the stream ends or is dropped.
    ///
    /// ```
    /// use futures_util::TryStreamExt;
    /// use ndarray::{Array1, arr1};
    /// use ndarray_io::ReadOptions;
    /// use ndarray_io_store::Remote;
    /// # use object_store::memory::InMemory;
    /// # use std::sync::Arc;
    ///
    /// # let store = Arc::new(InMemory::new());
    /// # let remote = Remote::in_bucket(store, "a.npy")?;
    /// # remote.write_npy(&arr1(&[1, 2, 3, 4]))?;
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let file = remote.open_array_async(&ReadOptions::new()).await?;
    /// let mut blocks = file.blocks::<Array1<i32>>(8);
    /// let mut sums = Vec::new();
    /// while let Some(block) = blocks.try_next().await? {
    ///     sums.push(block.array().sum());
    /// }
    /// assert_eq!(sums, [3, 7]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocks<T: ReadArray + Send + 'static>(&self, bytes: usize) -> BlockStream<T> {
        let (remote, source, options, open) =
            (self.remote.clone(), self.bytes.clone(), self.options.clone(), self.open);
        let stop = Arc::<CancelSignal>::default();
        let (sender, receiver) = mpsc::channel(2);
        let source = source.with_stop(Some(Arc::clone(&stop)));
        let work = move || {
            let file = match open(&remote, Arc::new(source), &options) {
                Ok(file) => file,
                Err(error) => return drop(sender.blocking_send(Err(error))),
            };
            for block in file.blocks().bytes(bytes) {
                if sender.blocking_send(block).is_err() {
                    break; // nothing receives it any more
                }
            }
        };
        let (worker, failed) = match blocking_runtime() {
            Ok(runtime) => (Some(runtime.spawn_blocking(work)), None),
            Err(error) => (None, Some(error)),
        };
        BlockStream { receiver, stop, worker, failed }
    }
}

/// The blocks of an array, which arrive one after another: see [`AsyncFile::blocks`].
#[derive(Debug)]
pub struct BlockStream<T> {
    receiver: mpsc::Receiver<Result<Block<T>>>,
    stop: Arc<CancelSignal>,
    worker: Option<JoinHandle<()>>,
    failed: Option<Error>,
}

impl<T> Stream for BlockStream<T> {
    type Item = Result<Block<T>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        if let Some(block) = ready!(self.receiver.poll_recv(context)) {
            return Poll::Ready(Some(block));
        }
        // A panic is not the end of the array.
        let Some(worker) = &mut self.worker else { return Poll::Ready(None) };
        let done = ready!(Pin::new(worker).poll(context));
        self.worker = None;
        Poll::Ready(task_result(done.map(Ok)).err().map(Err))
    }
}

impl<T> Unpin for BlockStream<T> {}

impl<T> Drop for BlockStream<T> {
    fn drop(&mut self) {
        self.stop.set();
    }
}

impl AsyncFile<NpzFile> {
    /// Returns the names of all members.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.file.members().iter().map(ndarray_io::npz::NpzMember::name)
    }

    /// Reads an array by its name. See [`NpzFile::read`].
    ///
    /// # Errors
    ///
    /// As for [`NpzFile::read`].
    pub async fn read<T: ReadArray + Send + 'static>(&self, name: &str) -> Result<T> {
        let name = name.to_owned();
        self.run_until_loaded(move |archive| archive.read(&name)).await
    }
}

/// Runs a function that waits for nothing, on one of as many threads as there are processors.
async fn run_decoding<R: Send + 'static>(work: impl FnOnce() -> Result<R> + Send + 'static) -> Result<R> {
    task_result(decoding_runtime()?.spawn_blocking(work).await)
}

/// Runs a function on a blocking thread, and cancels its requests if the future is dropped.
async fn run_blocking<R: Send + 'static>(
    work: impl FnOnce(Arc<CancelSignal>) -> Result<R> + Send + 'static,
) -> Result<R> {
    struct StopOnDrop(Option<Arc<CancelSignal>>);
    impl Drop for StopOnDrop {
        fn drop(&mut self) {
            if let Some(stop) = &self.0 {
                stop.set();
            }
        }
    }
    let stop = Arc::<CancelSignal>::default();
    let mut stop_on_drop = StopOnDrop(Some(Arc::clone(&stop)));
    let result = blocking_runtime()?.spawn_blocking(move || work(stop)).await;
    // A file that `work` has opened may continue to use this signal.
    stop_on_drop.0 = None;
    task_result(result)
}
