//! [`Upload`]: writes an object part by part.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};

use object_store::{
    Attribute, Attributes, Error as StoreError, MultipartUpload, PutMode, PutMultipartOptions, PutOptions,
    PutPayload, UpdateVersion,
};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::address::bad;
use crate::failure::{changed, failure};
use crate::place::ObjectLocation;
use crate::remote::Version;
use crate::runtime::{runtime, wait};
use crate::service::Condition;
use ndarray_io::error::{Error, ErrorKind, Result};

/// The default size of a part.
const PART: u64 = 16 << 20;
/// The maximum number of parts that stores accept.
const PARTS: u64 = 10_000;
/// The minimum size in bytes of every part except the last.
const LEAST: u64 = 5 << 20;
/// The limit for parts that are being sent concurrently.
const AT_ONCE: usize = 4;

/// Options for writing an object: its length, the size of parts, and a condition.
///
/// ```
/// use ndarray_io_store::UploadOptions;
/// let options = UploadOptions::new().create_new().len(3 << 30);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
pub struct UploadOptions {
    len: Option<u64>,
    part: Option<u64>,
    condition: Option<Condition>,
}

impl UploadOptions {
    /// Creates options that replace an existing object unconditionally, in parts of 16 MiB.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the approximate length of the object in bytes, from which the size of parts is derived.
    ///
    /// An object has at most 10,000 parts, all of the same size except the last. Without a length, parts are
    /// 16 MiB in size, which suffices for objects of up to 156 GiB. A web server accepts an object only as a
    /// single part, which is buffered in memory: an object larger than the part size needs a length, which
    /// must not be too small.
    #[must_use]
    pub fn len(mut self, len: u64) -> Self {
        self.len = Some(len);
        self
    }

    /// Sets the size of a part in bytes; the default is 16 MiB and the minimum is 5 MiB.
    ///
    /// Parts are larger if [`len`](Self::len) requires it.
    ///
    /// Up to five parts are in memory: four that are being sent, and one that is being filled.
    #[must_use]
    pub fn part_size(mut self, bytes: u64) -> Self {
        self.part = Some(bytes);
        self
    }

    /// Writes the object only if it does not exist.
    ///
    /// Otherwise the upload fails with [`AlreadyExists`](ErrorKind::AlreadyExists).
    ///
    /// S3, GCS and Azure check this atomically when an object of one part becomes visible; S3 also does so
    /// for several parts. In other stores, an upload of several parts checks this just before its last
    /// request: another writer may create the object in between.
    #[must_use]
    pub fn create_new(mut self) -> Self {
        self.condition = Some(Condition::New);
        self
    }

    /// Replaces the object only if it still has this version.
    ///
    /// Otherwise the upload fails with [`ArrayChanged`](ErrorKind::ArrayChanged), and no concurrent change by
    /// another writer is lost. The condition is checked as for [`create_new`](Self::create_new).
    ///
    /// # Errors
    ///
    /// [`BadOption`](ErrorKind::BadOption) if the version has no strong entity tag.
    pub fn replacing(mut self, version: &Version) -> Result<Self> {
        let Some(tag) = version.tag().filter(|_| version.is_verified()) else {
            return Err(bad("the server sent no strong entity tag for the object"));
        };
        let number = version.number.clone();
        self.condition = Some(Condition::Unchanged { tag: tag.to_owned(), number });
        Ok(self)
    }

    pub(crate) fn get_len(&self) -> Option<u64> {
        self.len
    }

    pub(crate) fn condition(&self) -> Option<Condition> {
        self.condition.clone()
    }

    fn part_len(&self) -> Result<usize> {
        // Rounded up to a multiple of 1 MiB.
        let needed = self.len.unwrap_or(0).div_ceil(PARTS).div_ceil(1 << 20) << 20;
        let part = self.part.unwrap_or(PART).max(LEAST).max(needed);
        usize::try_from(part).map_err(|_| bad(format!("a part of {part} bytes does not fit into memory")))
    }
}

/// A writer for an object, which becomes visible with [`finish`](Self::finish).
///
/// Dropping the writer earlier leaves an existing object unchanged and removes the parts that have been sent.
/// If the process is killed, these parts stay in the store, invisible but billed, until a lifecycle rule for
/// incomplete uploads removes them. All stores support such rules; Azure removes the parts after a week even
/// without one.
///
/// Full parts are sent in the background; [`write`](Write::write) blocks while four of them are in progress.
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
pub struct Upload {
    place: ObjectLocation,
    part: usize,
    condition: Option<Condition>,
    mark: Mark,
    buffer: Vec<u8>,
    parts: Option<Box<dyn MultipartUpload>>,
    sent: u64,
    total: u64,
    sending: Sending,
    is_broken: bool,
}

impl Upload {
    pub(crate) fn new(place: ObjectLocation, options: &UploadOptions) -> Result<Self> {
        let (mut part, condition) = (options.part_len()?, options.condition());
        if place.is_web {
            // Web servers have no multipart uploads.
            part = part.max(usize::try_from(options.len.unwrap_or(0)).unwrap_or(usize::MAX));
        }
        let mark = Mark::new(condition.as_ref());
        let (buffer, sending) = (Vec::new(), VecDeque::new());
        Ok(Self {
            place,
            part,
            condition,
            mark,
            buffer,
            parts: None,
            sent: 0,
            total: 0,
            sending,
            is_broken: false,
        })
    }

    /// Completes the upload, which makes the object visible to readers.
    ///
    /// # Errors
    ///
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists) or [`ArrayChanged`](ErrorKind::ArrayChanged) if the
    ///   condition of the options does not hold;
    /// - [`OutOfTurn`](ErrorKind::OutOfTurn) if an earlier part could not be written, [`BadOption`](ErrorKind::BadOption) if the object
    ///   has too many parts;
    /// - [`Io`](ErrorKind::Io) if the store does not respond or denies access.
    ///
    /// After an error the object is not visible, unless the upload has succeeded and only the store's last
    /// response was lost. With a condition, that case is detected, and is not an error.
    pub fn finish(mut self) -> Result<Version> {
        let done = self.end();
        if done.is_err() {
            self.abort();
        }
        done.map_err(|error| self.place.named(error.while_writing()))
    }

    fn end(&mut self) -> Result<Version> {
        if self.is_broken {
            return Err(broken());
        }
        let size = self.total;
        if self.parts.is_none() {
            // The object fits into one part: a single request suffices, and the store itself checks the
            // condition.
            let mode = match &self.condition {
                None => PutMode::Overwrite,
                Some(Condition::New) => PutMode::Create,
                Some(Condition::Unchanged { tag, number }) => {
                    PutMode::Update(UpdateVersion { e_tag: Some(tag.clone()), version: number.clone() })
                }
            };
            let payload = PutPayload::from(std::mem::take(&mut self.buffer));
            let (place, attributes) = (&self.place, self.mark.attributes());
            let put = wait(async {
                let options = PutOptions { mode, attributes, ..PutOptions::default() };
                place.store.put_opts(&place.path, payload, options).await.map_err(|error| failure(&error))
            });
            return match put {
                Ok(put) => Ok(Version { tag: put.e_tag, number: put.version, size }),
                Err(error) => self.version_of_ours(error),
            };
        }
        if !self.buffer.is_empty() {
            self.send()?;
        }
        while !self.sending.is_empty() {
            self.wait_for_one()?;
        }
        // Immediately before the last request, to keep the window for races short.
        self.check_condition()?;
        let Some(parts) = &mut self.parts else { unreachable!("it has been looked at above") };
        let put = wait(async { parts.complete().await.map_err(|error| failure(&error)) });
        match put {
            Ok(put) => {
                self.parts = None; // the object is complete: nothing to abort
                Ok(Version { tag: put.e_tag, number: put.version, size })
            }
            Err(error) => self.version_of_ours(error),
        }
    }

    /// Returns the version of the object if this upload created it; otherwise returns the error.
    ///
    /// If the first response is lost and the request is repeated, the store refuses to replace the object
    /// that this upload has just created. The mark in the object's metadata distinguishes that case from a
    /// real conflict. The kind of a conflict error depends on the condition, not on the store's response.
    fn version_of_ours(&self, error: Error) -> Result<Version> {
        if self.condition.is_none() {
            return Err(error);
        }
        let place = &self.place;
        let found = wait(async { place.head().await.map_err(|error| failure(&error)) });
        match (found, &self.condition, error.kind()) {
            (Ok(found), ..) if self.mark.is_in(&found.attributes) => Ok(Version::of(&found.meta)),
            (_, Some(Condition::New), ErrorKind::ArrayChanged { .. }) => Err(ErrorKind::AlreadyExists.into()),
            (_, Some(Condition::Unchanged { .. }), ErrorKind::AlreadyExists) => Err(changed()),
            _ => Err(error),
        }
    }

    /// Checks whether the condition holds.
    ///
    /// S3 is also asked to check the condition, but not all compatible stores do.
    fn check_condition(&self) -> Result<()> {
        let Some(condition) = &self.condition else { return Ok(()) };
        let place = &self.place;
        let found = wait(async { Ok(place.head().await) })?;
        match (condition, found) {
            (Condition::New, Err(StoreError::NotFound { .. })) => Ok(()),
            (Condition::New, Ok(_)) => Err(ErrorKind::AlreadyExists.into()),
            (Condition::Unchanged { tag, .. }, Ok(found)) if found.meta.e_tag.as_ref() == Some(tag) => Ok(()),
            (Condition::Unchanged { .. }, Ok(_) | Err(StoreError::NotFound { .. })) => Err(changed()),
            (_, Err(error)) => Err(failure(&error)),
        }
    }

    /// Sends the content of the buffer as a part.
    fn send(&mut self) -> Result<()> {
        if self.sent == PARTS {
            let reason = format!(
                "an object has at most {PARTS} parts, which suffice for {} bytes at this part size; the length has to be declared",
                PARTS * self.part as u64
            );
            return Err(bad(reason));
        }
        // Bounds the memory for parts in progress.
        while self.sending.len() >= AT_ONCE {
            self.wait_for_one()?;
        }
        if self.parts.is_none() {
            let attributes = self.mark.attributes();
            let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
            let place = &self.place;
            let begun = wait(async {
                let begun = place.store.put_multipart_opts(&place.path, options).await;
                begun.map_err(|error| failure(&error))
            })?;
            self.parts = Some(begun);
        }
        let Some(parts) = &mut self.parts else { unreachable!("it has just been made") };
        // After a full part, the next one is likely to be full too.
        let room = if self.buffer.len() == self.part { Vec::with_capacity(self.part) } else { Vec::new() };
        let part = parts.put_part(PutPayload::from(std::mem::replace(&mut self.buffer, room)));
        self.sending.push_back(runtime()?.spawn(part));
        self.sent += 1;
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<()> {
        let Some(part) = self.sending.pop_front() else { return Ok(()) };
        wait(async {
            match part.await {
                Ok(sent) => sent.map_err(|error| failure(&error)),
                Err(error) => Err(io::Error::other(error.to_string()).into()),
            }
        })
    }

    fn abort(&mut self) {
        if let Some(parts) = self.parts.take() {
            let sending = std::mem::take(&mut self.sending);
            let _ = wait(async {
                removed(parts, sending).await;
                Ok(())
            });
        }
    }
}

/// Cancels an upload: removes the parts that have been sent, as far as the store allows.
async fn removed(mut parts: Box<dyn MultipartUpload>, sending: Sending) {
    sending.iter().for_each(JoinHandle::abort);
    // Waits for these tasks: a part that arrived after the others were removed would stay in the store.
    for part in sending {
        let _ = part.await;
    }
    let _ = parts.abort().await;
}

/// A random identifier of a conditional upload, stored in the object's metadata; `None` without a condition.
#[derive(Debug)]
struct Mark(Option<String>);

impl Mark {
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
type Sending = VecDeque<JoinHandle<Result<(), StoreError>>>;

fn broken() -> Error {
    ErrorKind::out_of_turn("an earlier part could not be written").into()
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_broken {
            return Err(broken().into());
        }
        // A full part is sent only when more data arrives: an object of one part needs no multipart upload.
        if self.buffer.len() == self.part && !bytes.is_empty() {
            self.send().inspect_err(|_| self.is_broken = true)?;
        }
        let count = bytes.len().min(self.part - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..count]);
        self.total += count as u64;
        Ok(count)
    }

    /// Does nothing: a part is sent when it is full and more data follows.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.parts.is_none() {
            self.sending.drain(..).for_each(|part| part.abort());
        } else if Handle::try_current().is_err() {
            self.abort();
        } else if let (Ok(runtime), Some(parts)) = (runtime(), self.parts.take()) {
            // Blocking here would stall the task.
            runtime.spawn(removed(parts, std::mem::take(&mut self.sending)));
        }
    }
}
