//! [`AsyncUpload`]: writes an object part by part.

use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::{Arc, PoisonError};

use bytes::BytesMut;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use ndarray_io::error::ErrorKind;
use ndarray_io::{Error, Result};
use object_store::{
    Attribute, Attributes, Error as StoreError, MultipartUpload, PutMode, PutMultipartOptions, PutOptions,
    PutPayload, UpdateVersion,
};
use tokio::sync::Mutex;
use tokio::task::{JoinError, JoinHandle};

use crate::address::bad_option;
use crate::failure::{changed, failure};
use crate::limits::{RequestPermit, RequestQueue};
use crate::location::ObjectLocation;
use crate::remote::Version;
use crate::runtime::{on_runtime, runtime};
use crate::service::Condition;
use crate::upload_options::{MAX_PARTS, UploadOptions};

/// A writer for an object in an asynchronous task. The object becomes visible with [`finish`](Self::finish).
///
/// Full parts are sent in the background; [`write`](Self::write) waits while there are too many of them ([`StoreOptions::in_flight`](crate::StoreOptions::in_flight)). An array or an archive is
/// written part by part through a [`Buffer`](crate::Buffer).
///
/// [`abort`](Self::abort) removes the parts that have been sent. If the upload is dropped instead, the library's own threads remove
/// them, unless the program ends before; then they stay in the store, invisible but billed, until a lifecycle rule for incomplete
/// uploads removes them. All stores support such rules; Azure removes the parts after a week even without one. An existing object stays as it is.
///
/// ```
/// use ndarray::Array1;
/// use ndarray_io::NpzWriter;
/// use ndarray_io_store::{Buffer, Remote, UploadOptions};
/// # use object_store::memory::InMemory;
/// # use std::sync::Arc;
///
/// # let store = Arc::new(InMemory::new());
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let remote = Remote::in_bucket(store, "arrays.npz")?;
/// let mut upload = remote.upload_async(&UploadOptions::new())?;
/// let buffer = Buffer::new();
/// let mut npz = NpzWriter::new(buffer.clone());
/// for number in 0..3 {
///     npz.add(&number.to_string(), &Array1::from_elem(1000, number))?;
///     upload.write(&buffer.take()).await?;
/// }
/// npz.finish()?;
/// upload.write(&buffer.take()).await?;
/// upload.finish().await?;
/// # let npz = remote.open_npz_async(&Default::default()).await?;
/// # assert_eq!(npz.read::<Array1<i32>>("2").await?[999], 2);
/// # Ok::<(), ndarray_io::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AsyncUpload {
    location: ObjectLocation,
    part_size: usize,
    condition: Option<Condition>,
    mark: UploadId,
    buffer: BytesMut,
    /// Memory of a part that has been sent.
    spare_buffer: Arc<std::sync::Mutex<Option<BytesMut>>>,
    queue: RequestQueue,
    /// Shared with the request that completes the upload.
    multipart: Option<Arc<Mutex<Box<dyn MultipartUpload>>>>,
    sent_part_count: u64,
    total_bytes: u64,
    send_tasks: SendTasks,
    is_broken: bool,
    /// The process that has begun the upload. One that was forked has neither its connections nor its threads.
    process: u32,
}

impl AsyncUpload {
    pub(crate) fn new(location: ObjectLocation, options: &UploadOptions) -> Result<Self> {
        let (mut part_size, condition) = (options.part_len()?, options.condition());
        if location.is_web {
            // Web servers have no multipart uploads.
            part_size = part_size.max(usize::try_from(options.get_len().unwrap_or(0)).unwrap_or(usize::MAX));
        }
        let mark = UploadId::new(condition.as_ref());
        let (buffer, send_tasks, queue) =
            (BytesMut::new(), SendTasks::new(), RequestQueue::new(&location.limits));
        Ok(Self {
            location,
            part_size,
            condition,
            mark,
            buffer,
            spare_buffer: Arc::default(),
            queue,
            multipart: None,
            sent_part_count: 0,
            total_bytes: 0,
            send_tasks,
            is_broken: false,
            process: std::process::id(),
        })
    }

    /// Writes bytes, and sends the parts that they complete.
    ///
    /// If the future is dropped before it is done, some of the bytes may have been written: nothing more can be written then.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if a part could not be sent, and [`OutOfTurn`](ErrorKind::OutOfTurn) afterwards;
    /// [`BadOption`](ErrorKind::BadOption) if the object has too many parts.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.is_full() {
                self.send_buffer().await.map_err(|error| self.location.name_error(error.while_writing()))?;
            }
            bytes = &bytes[self.fill(bytes)..];
        }
        Ok(())
    }

    /// Completes the upload, which makes the object visible to readers.
    ///
    /// # Errors
    ///
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists) or [`Changed`](ErrorKind::Changed) if the
    ///   condition of the options does not hold;
    /// - [`OutOfTurn`](ErrorKind::OutOfTurn) if an earlier part could not be written, [`BadOption`](ErrorKind::BadOption) if the object
    ///   has too many parts;
    /// - [`Io`](ErrorKind::Io) if the store does not respond or denies access.
    ///
    /// After an error the object is not visible, unless the upload has succeeded and only the store's last
    /// response was lost. With a condition, that case is detected, and is not an error, except on web servers.
    pub async fn finish(mut self) -> Result<Version> {
        let done = self.complete_upload().await;
        if done.is_err() {
            self.remove_parts().await;
        }
        done.map_err(|error| self.location.name_error(error.while_writing()))
    }

    /// Gives the upload up, and removes the parts that have been sent.
    pub async fn abort(mut self) {
        self.remove_parts().await;
    }

    /// Whether the buffer has all of a part. It is sent only when more data arrives: an object of one part needs no multipart upload.
    pub(crate) fn is_full(&self) -> bool {
        self.buffer.len() == self.part_size
    }

    /// Copies bytes into the buffer, and returns how many there was room for.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.part_size - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..count]);
        self.total_bytes += count as u64;
        count
    }

    /// Sends the content of the buffer. After an error nothing more can be written.
    pub(crate) async fn send_buffer(&mut self) -> Result<()> {
        if self.is_broken || !self.is_same_process() {
            return Err(broken_upload_error());
        }
        // Also if the future is dropped.
        self.is_broken = true;
        self.send_part().await?;
        self.is_broken = false;
        Ok(())
    }

    fn is_same_process(&self) -> bool {
        self.process == std::process::id()
    }

    async fn complete_upload(&mut self) -> Result<Version> {
        if self.is_broken || !self.is_same_process() {
            return Err(broken_upload_error());
        }
        let size = self.total_bytes;
        if self.multipart.is_none() {
            return self.put().await;
        }
        if !self.buffer.is_empty() {
            self.send_part().await?;
        }
        while let Some(sent) = self.send_tasks.next().await {
            check_part_sent(sent)?;
        }
        // Immediately before the last request, to keep the window for races short.
        self.check_condition().await?;
        let Some(parts) = self.multipart.clone() else { unreachable!("it has been looked at above") };
        let put =
            on_runtime(async move { parts.lock().await.complete().await.map_err(|error| failure(&error)) });
        match put.await {
            Ok(put) => {
                self.multipart = None; // the object is complete: nothing to abort
                Ok(Version { tag: put.e_tag, number: put.version, size })
            }
            Err(error) => self.version_if_ours(error).await,
        }
    }

    /// Writes an object that fits into one part: a single request suffices, and the store itself checks the condition.
    async fn put(&mut self) -> Result<Version> {
        let size = self.total_bytes;
        // The request says the condition as well, but not all servers look at it.
        self.check_condition().await?;
        let mode = match &self.condition {
            _ if self.location.is_web => PutMode::Overwrite,
            None => PutMode::Overwrite,
            Some(Condition::New) => PutMode::Create,
            Some(Condition::Unchanged { tag, number }) => {
                PutMode::Update(UpdateVersion { e_tag: Some(tag.clone()), version: number.clone() })
            }
        };
        let payload = PutPayload::from(std::mem::take(&mut self.buffer).freeze());
        let (location, attributes) = (self.location.clone(), self.mark.attributes());
        let attributes = if location.is_web { Attributes::new() } else { attributes };
        let put = on_runtime(async move {
            let options = PutOptions { mode, attributes, ..PutOptions::default() };
            location.store.put_opts(&location.path, payload, options).await.map_err(|error| failure(&error))
        });
        match put.await {
            Ok(put) => Ok(Version { tag: put.e_tag, number: put.version, size }),
            Err(error) => self.version_if_ours(error).await,
        }
    }

    /// Returns the version of the object if this upload created it; otherwise returns the error.
    ///
    /// If the first response is lost and the request is repeated, the store refuses to replace the object
    /// that this upload has just created. The mark in the object's metadata distinguishes that case from a
    /// real conflict. The kind of a conflict error depends on the condition, not on the store's response.
    async fn version_if_ours(&self, error: Error) -> Result<Version> {
        if self.condition.is_none() {
            return Err(error);
        }
        let location = self.location.clone();
        let found = on_runtime(async move { location.head().await.map_err(|error| failure(&error)) }).await;
        match (found, &self.condition, error.kind()) {
            (Ok(found), ..) if self.mark.is_in(&found.attributes) => Ok(Version::of(&found.meta)),
            (_, Some(Condition::New), ErrorKind::Changed) => Err(ErrorKind::AlreadyExists.into()),
            (_, Some(Condition::Unchanged { .. }), ErrorKind::AlreadyExists) => Err(changed()),
            _ => Err(error),
        }
    }

    /// Checks whether the condition holds.
    ///
    /// S3 is also asked to check the condition, but not all compatible stores do.
    async fn check_condition(&self) -> Result<()> {
        let Some(condition) = &self.condition else { return Ok(()) };
        let location = self.location.clone();
        let found = on_runtime(async move { Ok(location.head().await) }).await?;
        match (condition, found) {
            (Condition::New, Err(StoreError::NotFound { .. })) => Ok(()),
            (Condition::New, Ok(_)) => Err(ErrorKind::AlreadyExists.into()),
            (Condition::Unchanged { tag, .. }, Ok(found)) if found.meta.e_tag.as_ref() == Some(tag) => Ok(()),
            (Condition::Unchanged { .. }, Ok(_) | Err(StoreError::NotFound { .. })) => Err(changed()),
            (_, Err(error)) => Err(failure(&error)),
        }
    }

    /// Sends the content of the buffer as a part.
    async fn send_part(&mut self) -> Result<()> {
        if self.sent_part_count == MAX_PARTS {
            let bytes = MAX_PARTS * self.part_size as u64;
            return Err(bad_option(format!(
                "an object has at most {MAX_PARTS} parts, which suffice for {bytes} bytes at this part size; the length has to be declared"
            )));
        }
        let permit = self.permit().await?;
        let parts = match &self.multipart {
            Some(parts) => Arc::clone(parts),
            None => {
                let (location, attributes) = (self.location.clone(), self.mark.attributes());
                let begun = on_runtime(async move {
                    let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
                    let begun = location.store.put_multipart_opts(&location.path, options).await;
                    begun.map_err(|error| failure(&error))
                });
                let parts = Arc::new(Mutex::new(begun.await?));
                self.multipart = Some(Arc::clone(&parts));
                parts
            }
        };
        // Memory of a part that has been sent needs no new pages; after a full part, the next one is likely to be full, too.
        let spare_buffer = || Arc::clone(&self.spare_buffer);
        let next = match spare_buffer().lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(spare_buffer) => spare_buffer,
            None if self.is_full() => BytesMut::with_capacity(self.part_size),
            None => BytesMut::new(),
        };
        let (part, spare_buffer) = (std::mem::replace(&mut self.buffer, next).freeze(), spare_buffer());
        let sent = parts.lock().await.put_part(PutPayload::from(part.clone()));
        self.send_tasks.push(runtime()?.spawn(async move {
            let _permit = permit;
            sent.await?;
            if let Ok(mut memory) = part.try_into_mut() {
                memory.clear();
                spare_buffer.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(memory);
            }
            Ok(())
        }));
        self.sent_part_count += 1;
        Ok(())
    }

    /// Waits until another part may be sent, which bounds the memory for those in progress.
    async fn permit(&mut self) -> Result<RequestPermit> {
        let mut permit = pin!(self.queue.next(self.buffer.len() as u64));
        loop {
            if self.send_tasks.is_empty() {
                return Ok(permit.await);
            }
            match select(self.send_tasks.next(), permit).await {
                Either::Left((Some(sent), waiting)) => {
                    check_part_sent(sent)?;
                    permit = waiting;
                }
                Either::Left((None, waiting)) => permit = waiting,
                Either::Right((permit, _)) => return Ok(permit),
            }
        }
    }

    /// Removes the parts that have been sent.
    pub(crate) async fn remove_parts(&mut self) {
        if !self.is_same_process() {
            return self.forget();
        }
        let send_tasks = std::mem::take(&mut self.send_tasks);
        if let Some(parts) = self.multipart.take() {
            // Also if the caller no longer waits for it.
            if let Ok(runtime) = runtime() {
                let _ = runtime.spawn(abort_multipart(parts, send_tasks)).await; // as far as the store allows
            }
        }
    }
}

impl AsyncUpload {
    /// Leaves the upload to the process that has begun it.
    fn forget(&mut self) {
        std::mem::forget((std::mem::take(&mut self.send_tasks), self.multipart.take()));
    }
}

impl Drop for AsyncUpload {
    fn drop(&mut self) {
        if !self.is_same_process() {
            return self.forget();
        }
        let send_tasks = std::mem::take(&mut self.send_tasks);
        match (runtime(), self.multipart.take()) {
            // Blocking here would stall the task.
            (Ok(runtime), Some(parts)) => drop(runtime.spawn(abort_multipart(parts, send_tasks))),
            _ => send_tasks.iter().for_each(JoinHandle::abort),
        }
    }
}

/// Cancels an upload: removes the parts that have been sent, as far as the store allows.
async fn abort_multipart(parts: Arc<Mutex<Box<dyn MultipartUpload>>>, mut send_tasks: SendTasks) {
    send_tasks.iter().for_each(JoinHandle::abort);
    // Waits for these tasks: a part that arrived after the others were removed would stay in the store.
    while send_tasks.next().await.is_some() {}
    let _ = parts.lock().await.abort().await;
}

/// A random identifier of a conditional upload, stored in the object's metadata; `None` without a condition.
#[derive(Debug)]
struct UploadId(Option<String>);

impl UploadId {
    fn new(condition: Option<&Condition>) -> Self {
        // Each `RandomState` has its own random keys.
        let random = || RandomState::new().hash_one(std::time::Instant::now());
        Self(condition.map(|_| format!("{:016x}{:016x}", random(), random())))
    }

    /// The name of the metadata entry. Azure accepts only valid identifiers.
    fn name() -> Attribute {
        Attribute::Metadata("ndarrayioupload".into())
    }

    fn attributes(&self) -> Attributes {
        self.0.iter().map(|mark| (Self::name(), mark.clone())).collect()
    }

    fn is_in(&self, found: &Attributes) -> bool {
        self.0.is_some() && found.get(&Self::name()).map(|found| found.as_ref()) == self.0.as_deref()
    }
}

/// Parts that are being sent.
type SendTasks = FuturesUnordered<JoinHandle<Result<(), StoreError>>>;

fn check_part_sent(sent: Result<Result<(), StoreError>, JoinError>) -> Result<()> {
    let sent = sent.map_err(|error| std::io::Error::other(error.to_string()))?;
    sent.map_err(|error| failure(&error))
}

pub(crate) fn broken_upload_error() -> Error {
    Error::new(
        ErrorKind::OutOfTurn,
        "an earlier part was not written, or another process has begun the upload",
    )
}
