//! [`Upload`]: an object that is written part by part.

use std::collections::VecDeque;
use std::io::{self, Write};

use object_store_0_14::{
    Error as StoreError, GetOptions, MultipartUpload, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    UpdateVersion,
};
use tokio::task::JoinHandle;

use super::Version;
use super::failure::{changed, failure};
use super::place::Place;
use super::runtime::{runtime, wait};
use super::service::Condition;
use crate::error::{Error, ErrorKind, Result};

/// The size of a part, unless the object is too large for it.
const PART: u64 = 16 << 20;
/// Stores take no more parts than this,
const PARTS: u64 = 10_000;
/// and no smaller ones, but for the last.
const LEAST: u64 = 5 << 20;
/// How many parts are sent at a time.
const AT_ONCE: usize = 4;

/// How an object is written.
///
/// ```
/// use ndarray_io::store::UploadOptions;
/// let options = UploadOptions::new().new_only().len(3 << 30);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
pub struct UploadOptions {
    len: Option<u64>,
    part: Option<u64>,
    condition: Option<Condition>,
}

impl UploadOptions {
    /// Replaces what there is.
    pub fn new() -> Self {
        Self::default()
    }

    /// About how many bytes there will be. An object has 10,000 parts at most, all of the same size: unless the length is known, they have
    /// 16 MiB, which is enough for 156 GiB.
    #[must_use]
    pub fn len(mut self, len: u64) -> Self {
        self.len = Some(len);
        self
    }

    /// How many bytes a part has, 5 MiB at least. Four parts are in memory at a time, and a fifth that is being filled.
    #[must_use]
    pub fn part_size(mut self, bytes: u64) -> Self {
        self.part = Some(bytes);
        self
    }

    /// Writes a new object: if there is one already, it is [`AlreadyExists`](ErrorKind::AlreadyExists).
    ///
    /// S3, GCS and Azure check this in the moment in which the object becomes visible, if it has one part; S3 also if it has several. In the
    /// other stores, objects of several parts are looked at right before that: another writer could be faster in between.
    #[must_use]
    pub fn new_only(mut self) -> Self {
        self.condition = Some(Condition::New);
        self
    }

    /// Replaces the object only if it still is of this version, otherwise it is [`ArrayChanged`](ErrorKind::ArrayChanged): nothing
    /// that another writer has put there meanwhile is lost. It is checked as for [`new_only`](Self::new_only).
    ///
    /// # Errors
    ///
    /// [`BadOption`](ErrorKind::BadOption) if the version has no tag.
    pub fn replacing(mut self, version: &Version) -> Result<Self> {
        let Some(tag) = version.tag() else {
            let reason =
                "the server has no entity tag for the object, so that nobody can tell its versions apart";
            return Err(ErrorKind::BadOption { reason: reason.into() }.into());
        };
        self.condition = Some(Condition::Unchanged(tag.to_owned()));
        Ok(self)
    }

    pub(super) fn get_len(&self) -> Option<u64> {
        self.len
    }

    pub(super) fn condition(&self) -> Option<Condition> {
        self.condition.clone()
    }

    fn part_len(&self) -> Result<usize> {
        let part = match (self.part, self.len) {
            (Some(part), _) => part.max(LEAST),
            // Rounded up to whole MiB.
            (None, Some(len)) => PART.max(len.div_ceil(PARTS).div_ceil(1 << 20) << 20),
            (None, None) => PART,
        };
        usize::try_from(part).map_err(|_| ErrorKind::OutOfMemory { bytes: part }.into())
    }
}

/// An object that is being written. It becomes visible with [`finish`](Self::finish); if it is dropped before, nothing has happened to what
/// was there, and the parts that have been sent are removed.
///
/// (If the program is killed, they stay in the store and cost money there, invisibly: a rule for incomplete uploads removes them after
/// some days. All stores have such rules.)
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::NpzWriter;
/// use ndarray_io::store::{Remote, UploadOptions};
/// # use object_store_0_14::memory::InMemory;
/// # use std::sync::Arc;
///
/// # let store = Arc::new(InMemory::new());
/// let remote = Remote::new(store, "arrays.npz")?;
/// let mut npz = NpzWriter::new(remote.upload(&UploadOptions::new())?);
/// npz.add_array("a", &arr1(&[1, 2]))?;
/// npz.finish()?.finish()?;
/// assert_eq!(remote.open_npz()?.names(), ["a"]);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Debug)]
pub struct Upload {
    place: Place,
    part: usize,
    condition: Option<Condition>,
    buffer: Vec<u8>,
    parts: Option<Box<dyn MultipartUpload>>,
    sent: u64,
    total: u64,
    sending: VecDeque<JoinHandle<Result<(), StoreError>>>,
    is_broken: bool,
}

impl Upload {
    pub(super) fn new(place: Place, options: &UploadOptions) -> Result<Self> {
        let (part, condition) = (options.part_len()?, options.condition());
        let (buffer, sending) = (Vec::new(), VecDeque::new());
        Ok(Self { place, part, condition, buffer, parts: None, sent: 0, total: 0, sending, is_broken: false })
    }

    /// Puts the parts together: readers see the object from now on.
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](ErrorKind::AlreadyExists) and [`ArrayChanged`](ErrorKind::ArrayChanged) as the options ask for;
    /// [`Io`](ErrorKind::Io) if the store does not answer or refuses access. Nothing is visible then.
    pub fn finish(mut self) -> Result<Version> {
        let done = self.end();
        if done.is_err() {
            self.abort();
        }
        done.map_err(|error| self.place.named(error))
    }

    fn end(&mut self) -> Result<Version> {
        if self.is_broken {
            return Err(broken());
        }
        let size = self.total;
        if self.parts.is_none() {
            let mode = match &self.condition {
                None => PutMode::Overwrite,
                Some(Condition::New) => PutMode::Create,
                Some(Condition::Unchanged(tag)) => {
                    PutMode::Update(UpdateVersion { e_tag: Some(tag.clone()), version: None })
                }
            };
            let payload = PutPayload::from(std::mem::take(&mut self.buffer));
            let place = &self.place;
            let put = wait(async {
                let options = PutOptions { mode, ..PutOptions::default() };
                place.store.put_opts(&place.path, payload, options).await.map_err(|error| failure(&error))
            })?;
            return Ok(Version { tag: put.e_tag, size });
        }
        if !self.buffer.is_empty() {
            self.send()?;
        }
        while !self.sending.is_empty() {
            self.wait_for_one()?;
        }
        self.check_condition()?;
        let Some(parts) = &mut self.parts else { unreachable!("it has been looked at above") };
        let put = wait(async { parts.complete().await.map_err(|error| failure(&error)) });
        self.parts = None; // the store has them, or has refused them
        let put = put.map_err(|error| match (&self.condition, is_refused(&error)) {
            (Some(Condition::New), true) => ErrorKind::AlreadyExists.into(),
            (Some(Condition::Unchanged(_)), true) => changed(),
            _ => error,
        })?;
        Ok(Version { tag: put.e_tag, size })
    }

    /// Looks whether the condition holds. S3 is asked to look itself as well; not all that speak its language do.
    fn check_condition(&self) -> Result<()> {
        let Some(condition) = &self.condition else { return Ok(()) };
        let head = GetOptions { head: true, ..GetOptions::default() };
        let place = &self.place;
        let found = wait(async { Ok(place.store.get_opts(&place.path, head).await) })?;
        match (condition, found) {
            (Condition::New, Err(StoreError::NotFound { .. })) => Ok(()),
            (Condition::New, Ok(_)) => Err(ErrorKind::AlreadyExists.into()),
            (Condition::Unchanged(tag), Ok(found)) if found.meta.e_tag.as_ref() == Some(tag) => Ok(()),
            (Condition::Unchanged(_), Ok(_) | Err(StoreError::NotFound { .. })) => Err(changed()),
            (_, Err(error)) => Err(failure(&error)),
        }
    }

    /// Sends what is in the buffer as a part.
    fn send(&mut self) -> Result<()> {
        if self.sent == PARTS {
            let reason = format!(
                "an object has {PARTS} parts at most: for more than {} bytes, UploadOptions::len has to be told how many",
                PARTS * self.part as u64
            );
            return Err(ErrorKind::BadOption { reason }.into());
        }
        while self.sending.len() >= AT_ONCE {
            self.wait_for_one()?;
        }
        if self.parts.is_none() {
            let options = PutMultipartOptions::default();
            let place = &self.place;
            let begun = wait(async {
                let begun = place.store.put_multipart_opts(&place.path, options).await;
                begun.map_err(|error| failure(&error))
            })?;
            self.parts = Some(begun);
        }
        let Some(parts) = &mut self.parts else { unreachable!("it has just been made") };
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
        let sending = std::mem::take(&mut self.sending);
        sending.iter().for_each(JoinHandle::abort);
        if let Some(mut parts) = self.parts.take() {
            // What cannot be removed stays, as after a kill.
            let _ = wait(async {
                // A part that arrives after the others have been removed would stay.
                for part in sending {
                    let _ = part.await;
                }
                parts.abort().await.map_err(|error| failure(&error))
            });
        }
    }
}

/// Whether a store has refused to put parts together because of a condition.
fn is_refused(error: &Error) -> bool {
    let text = error.to_string();
    matches!(error.kind(), ErrorKind::ArrayChanged { .. } | ErrorKind::AlreadyExists)
        || text.contains("PreconditionFailed")
        || text.contains("412")
}

fn broken() -> Error {
    ErrorKind::BadOption { reason: "an earlier part could not be written".into() }.into()
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_broken {
            return Err(broken().into());
        }
        // Only when more comes is it known that a full part is not the last: an object of one part is put at once.
        if self.buffer.len() == self.part && !bytes.is_empty() {
            self.send().inspect_err(|_| self.is_broken = true)?;
        }
        let count = bytes.len().min(self.part - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..count]);
        self.total += count as u64;
        Ok(count)
    }

    /// Parts are sent when they are full.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.abort();
    }
}
