//! Requests, and what their responses are written to.

use std::sync::atomic::AtomicU64;

use bytes::{Bytes as Chunk, BytesMut};
use futures_util::stream::BoxStream;
use ndarray_io::error::ErrorKind;
use ndarray_io::{Error, Result};
use object_store::{Error as StoreError, GetOptions, GetRange, GetResult, ObjectMeta};

use crate::bytes::MIN_WINDOW;
use crate::failure::{failure, io};
use crate::location::ObjectLocation;
use crate::rate_guard::RateGuard;
use crate::runtime::CancelSignal;

/// The destination of fetched bytes.
pub(crate) enum Destination<'a, 'p> {
    /// One buffer, filled contiguously.
    Plain(&'a mut [u8]),
    /// A slice for each offset. The offsets ascend and may repeat; the first `done` slices are complete.
    Parts { parts: &'a mut [(u64, &'p mut [u8])], done: usize },
    /// Nowhere yet: the bytes stay where they were received.
    Chunks(&'a mut Vec<Chunk>),
}

impl Destination<'_, '_> {
    /// Takes received bytes, which begin at an offset of the object. They arrive in order.
    pub(crate) fn put(&mut self, start: u64, chunk: Chunk) {
        /// The length from which a chunk is not copied: of a server that sends single bytes, the handles would take more memory than these.
        const MIN_KEPT_CHUNK_LEN: usize = 4 << 10;
        match self {
            Self::Chunks(chunks) if chunk.len() >= MIN_KEPT_CHUNK_LEN => chunks.push(chunk),
            _ => self.copy(start, &chunk),
        }
    }

    /// Copies received bytes, as [`put`](Self::put) does.
    pub(crate) fn copy(&mut self, start: u64, bytes: &[u8]) {
        let end = start + bytes.len() as u64;
        match self {
            Self::Plain(into) => {
                let (own, rest) = std::mem::take(into).split_at_mut(bytes.len());
                own.copy_from_slice(bytes);
                *into = rest;
            }
            Self::Chunks(chunks) => {
                let last = chunks.pop().unwrap_or_default();
                // The last one has room if it was made here.
                let mut joined = match last.try_into_mut() {
                    Ok(last) if last.len() < MIN_WINDOW as usize => last,
                    Ok(last) => {
                        chunks.push(last.freeze());
                        BytesMut::new()
                    }
                    Err(last) => {
                        chunks.push(last);
                        BytesMut::new()
                    }
                };
                joined.extend_from_slice(bytes);
                chunks.push(joined.freeze());
            }
            Self::Parts { parts, done } => {
                // Parts that end before this chunk are complete.
                while parts.get(*done).is_some_and(|(offset, part)| offset + part.len() as u64 <= start) {
                    *done += 1;
                }
                for (offset, part) in &mut parts[*done..] {
                    let own = *offset..*offset + part.len() as u64;
                    if own.start >= end {
                        break;
                    }
                    let (first, last) = (own.start.max(start), own.end.min(end));
                    if first < last {
                        let to = (first - own.start) as usize..(last - own.start) as usize;
                        part[to].copy_from_slice(&bytes[(first - start) as usize..(last - start) as usize]);
                    }
                }
            }
        }
    }
}

/// Requests a range of an object, on the condition that its version is that of `meta`, if given.
pub(crate) async fn get(
    location: &ObjectLocation,
    range: GetRange,
    meta: Option<&ObjectMeta>,
) -> Result<GetResult, StoreError> {
    let mut options = GetOptions { range: Some(range), ..GetOptions::default() };
    if let Some(meta) = meta {
        match &meta.e_tag {
            // HTTP compares If-Match strongly: a weak tag never matches.
            Some(tag) if !tag.starts_with("W/") => options.if_match = Some(tag.clone()),
            // Without the header `Last-Modified`, the time is 0.
            _ if meta.last_modified.timestamp() > 0 => options.if_unmodified_since = Some(meta.last_modified),
            _ => {}
        }
    }
    location.store.get_opts(&location.path, options).await
}

/// Reads a response of at most this length, as far as it goes.
pub(crate) async fn collect_until_error(
    stream: &mut BoxStream<'static, Result<Chunk, StoreError>>,
    len: u64,
    slowest: u64,
) -> Result<Chunk> {
    let arrived = AtomicU64::new(0);
    let mut rate_guard = RateGuard::new(slowest, &arrived);
    // Allocates little in advance: `len` is only what the server claims.
    let mut bytes = Vec::with_capacity(len.min(MIN_WINDOW * 2) as usize);
    // What follows an error is asked for again.
    while let Some(Ok(chunk)) = rate_guard.next(stream).await {
        if (bytes.len() + chunk.len()) as u64 > len {
            return Err(oversized_response_error());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.into())
}

/// Reads the first `len` bytes of a longer response, and returns them with the rest of the last chunk.
pub(crate) async fn read_prefix(
    stream: &mut BoxStream<'static, Result<Chunk, StoreError>>,
    len: u64,
    slowest: u64,
) -> Result<(Chunk, Chunk)> {
    let arrived = AtomicU64::new(0);
    let mut rate_guard = RateGuard::new(slowest, &arrived);
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < len {
        let Some(mut chunk) = rate_guard.next(stream).await.transpose().map_err(|error| failure(&error))?
        else {
            return Err(truncated_response_error(bytes.len() as u64, len));
        };
        let part = chunk.split_to(chunk.len().min((len - bytes.len() as u64) as usize));
        bytes.extend_from_slice(&part);
        if !chunk.is_empty() {
            return Ok((bytes.into(), chunk));
        }
    }
    Ok((bytes.into(), Chunk::new()))
}

pub(crate) async fn run_until_stopped<T>(
    stop: Option<&CancelSignal>,
    future: impl Future<Output = Result<T>>,
) -> Result<T> {
    match stop {
        Some(stop) => stop.run_until_set(future).await,
        None => future.await,
    }
}

pub(crate) fn truncated_response_error(have: u64, need: u64) -> Error {
    let text = format!("the response ended after {have} of {need} bytes");
    io(std::io::ErrorKind::UnexpectedEof, &text)
}

pub(crate) fn ranges_ignored_or_other_error(error: &StoreError) -> Error {
    match error {
        StoreError::NotSupported { .. } => ranges_ignored_error(),
        error => failure(error),
    }
}

pub(crate) fn ranges_ignored_error() -> Error {
    Error::new(ErrorKind::BadSource, "the server ignores requests for ranges")
}

/// Returns the error for a server that sends more bytes than were requested.
pub(crate) fn oversized_response_error() -> Error {
    Error::new(ErrorKind::BadSource, "the server sent more than was requested")
}
