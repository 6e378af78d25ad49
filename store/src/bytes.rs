//! [`ObjectBytes`]: an object whose bytes can be read at any offset, like those of a file.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes as Chunk;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use ndarray_io::bytes::{ReadAt, ReadHints, Runs, fill_at};
use ndarray_io::error::ErrorKind;
use ndarray_io::{Error, Result};
use object_store::{Error as StoreError, GetRange, GetResult, ObjectMeta};

use crate::failure::{changed, failure};
use crate::limits::RequestQueue;
use crate::location::ObjectLocation;
use crate::plan;
use crate::rate_guard::RateGuard;
use crate::read_ahead::{ReadAhead, ReceivedPart};
use crate::response::{
    Destination, collect_until_error, get, oversized_response_error, ranges_ignored_error,
    ranges_ignored_or_other_error, read_prefix, run_until_stopped, truncated_response_error,
};
use crate::runtime::{CancelSignal, runtime, wait};
use crate::service::EntireObject;

/// The smallest amount that is fetched when headers and directories are read.
pub(crate) const MIN_WINDOW: u64 = 64 << 10;
/// The maximum size of one request that reads ahead, for callers that read sequentially in small pieces.
const MAX_WINDOW: u64 = 8 << 20;
/// The maximum amount of cached data, in addition to the window that was fetched on opening.
const MAX_CACHED_BYTES: u64 = 32 << 20;

/// How many calls of this source there should be at a time.
const CONCURRENCY: usize = 8;

/// A handle to an object; all of its requests fetch the same version.
#[derive(Clone, Debug)]
pub(crate) struct ObjectBytes {
    shared: Arc<Shared>,
    /// What is fetched before it is asked for. It ends with the last handle, although its requests have the object as well.
    read_ahead: Arc<ReadAhead>,
    stop: Option<Arc<CancelSignal>>,
}

struct Shared {
    location: ObjectLocation,
    meta: ObjectMeta,
    /// The offset and bytes of the window fetched on opening: the object's beginning or end.
    opened: (u64, Chunk),
    /// Cached windows with their offsets, the newest at the end.
    cached_windows: Mutex<VecDeque<(u64, Chunk)>>,
    /// What remains of the single response of a server that ignores ranges.
    ///
    /// A thread takes the response out of the mutex while it reads.
    single_response: Option<Mutex<Option<PartialResponse>>>,
    queue: RequestQueue,
    /// How many bytes have come, of all requests.
    arrived: AtomicU64,
    /// The process that has opened the object. One that was forked has neither its threads nor its connections.
    process: u32,
}

/// Omits the fetched data.
impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of {} bytes", self.location, self.meta.size)
    }
}

/// A response that is being read, and the current offset in the object.
struct PartialResponse {
    at: u64,
    chunk: Chunk,
    stream: BoxStream<'static, Result<Chunk, StoreError>>,
}

impl ObjectBytes {
    /// Opens an object that begins with a header.
    ///
    /// Sends one request for the first bytes, which may be the entire object.
    pub(crate) async fn open(location: &ObjectLocation) -> Result<Self> {
        let result = match get(location, GetRange::Bounded(0..MIN_WINDOW), None).await {
            Err(error) => return Self::open_empty_or_error(location, error).await,
            Ok(result) => result,
        };
        if result.extensions.get::<EntireObject>().is_none() {
            return Self::from_response(location, result).await;
        }
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let mut rest = PartialResponse { at: range.end, chunk: Chunk::new(), stream: result.into_stream() };
        let (window, chunk) = read_prefix(&mut rest.stream, range.end, location.limits.min_byte_rate).await?;
        rest.chunk = chunk;
        Ok(Self::new(location, meta, (range.start, window), Some(Mutex::new(Some(rest)))))
    }

    /// Opens an object that ends with a directory.
    ///
    /// Sends one request for the last bytes, or two if the store does not support suffix requests.
    pub(crate) async fn open_at_end(location: &ObjectLocation, len: u64) -> Result<Self> {
        let result = match get(location, GetRange::Suffix(len), None).await {
            Err(StoreError::NotSupported { .. }) => {
                let meta = location.head().await.map_err(|error| failure(&error))?.meta;
                if meta.size == 0 {
                    return Ok(Self::new(location, meta, (0, Chunk::new()), None));
                }
                let range = GetRange::Bounded(meta.size.saturating_sub(len)..meta.size);
                get(location, range, Some(&meta))
                    .await
                    .map_err(|error| ranges_ignored_or_other_error(&error))?
            }
            Err(error) => return Self::open_empty_or_error(location, error).await,
            Ok(result) => result,
        };
        Self::from_response(location, result).await
    }

    /// Keeps what a response has, and fetches the rest of it if it has broken off.
    async fn from_response(location: &ObjectLocation, result: GetResult) -> Result<Self> {
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let len = range.end - range.start;
        let have = collect_until_error(&mut result.into_stream(), len, location.limits.min_byte_rate).await?;
        let (count, part) = (have.len(), range.start + have.len() as u64..range.end);
        let opened = Self::new(location, meta.clone(), (range.start, have.clone()), None);
        if part.is_empty() {
            return Ok(opened);
        }
        let mut window = have.to_vec();
        window.resize(count + (part.end - part.start) as usize, 0); // at most what was asked for
        opened.shared.fetch(part, Destination::Plain(&mut window[count..])).await?;
        Ok(Self::new(location, meta, (range.start, window.into()), None))
    }

    /// Opens an empty object, of which no range can be requested, or returns the error of the first request.
    async fn open_empty_or_error(location: &ObjectLocation, error: StoreError) -> Result<Self> {
        if matches!(error, StoreError::Generic { .. } | StoreError::NotSupported { .. })
            && let Ok(head) = location.head().await
            && head.meta.size == 0
        {
            return Ok(Self::new(location, head.meta, (0, Chunk::new()), None));
        }
        Err(ranges_ignored_or_other_error(&error))
    }

    fn new(
        location: &ObjectLocation,
        meta: ObjectMeta,
        opened: (u64, Chunk),
        single_response: Option<Mutex<Option<PartialResponse>>>,
    ) -> Self {
        let (cached_windows, queue) = (Mutex::default(), RequestQueue::new(&location.limits));
        let location = location.clone();
        let (arrived, process) = (AtomicU64::new(0), std::process::id());
        let shared = Arc::new(Shared {
            location,
            meta,
            opened,
            cached_windows,
            single_response,
            queue,
            arrived,
            process,
        });
        Self { shared, read_ahead: Arc::default(), stop: None }
    }

    /// Returns a handle to the same object whose requests are cancelled when `stop` is set.
    pub(crate) fn with_stop(&self, stop: Option<Arc<CancelSignal>>) -> Self {
        // What a cancelled reader has fetched ahead ends with it.
        let read_ahead = if stop.is_some() { Arc::default() } else { Arc::clone(&self.read_ahead) };
        Self { shared: Arc::clone(&self.shared), read_ahead, stop }
    }

    /// Returns the length of the object.
    pub(crate) fn len(&self) -> u64 {
        self.shared.meta.size
    }

    pub(crate) fn meta(&self) -> &ObjectMeta {
        &self.shared.meta
    }

    /// Returns the first bytes of the object, if they were fetched on opening.
    pub(crate) fn first_bytes(&self) -> &[u8] {
        match &self.shared.opened {
            (0, window) => window,
            _ => &[],
        }
    }

    fn wait<T: Send>(&self, future: impl Future<Output = Result<T>> + Send) -> Result<T> {
        self.check_process()?;
        wait(run_until_stopped(self.stop.as_deref(), future))
    }

    fn check_process(&self) -> Result<()> {
        if self.shared.process == std::process::id() {
            return Ok(());
        }
        let reason = "the object was opened before the process was forked: open it again";
        Err(Error::new(ErrorKind::OutOfTurn, reason))
    }

    /// Copies cached bytes that begin at an offset, and returns their number.
    pub(crate) fn copy_cached(&self, at: u64, into: &mut [u8]) -> usize {
        let copy = |(start, window): &(u64, Chunk), into: &mut [u8]| {
            let part = at.checked_sub(*start).and_then(|from| window.get(usize::try_from(from).ok()?..))?;
            let len = part.len().min(into.len());
            into[..len].copy_from_slice(&part[..len]);
            Some(len).filter(|len| *len > 0)
        };
        copy(&self.shared.opened, into)
            .or_else(|| {
                let cached_windows =
                    self.shared.cached_windows.lock().unwrap_or_else(PoisonError::into_inner);
                cached_windows.iter().find_map(|window| copy(window, into))
            })
            .unwrap_or(0)
    }

    /// Returns whether a range was fetched on opening.
    pub(crate) fn opened_contains(&self, range: &Range<u64>) -> bool {
        let (start, window) = &self.shared.opened;
        *start <= range.start && range.end <= start + window.len() as u64
    }

    /// Returns whether the server ignores ranges, so that there is only its one response.
    pub(crate) fn is_single_response(&self) -> bool {
        self.shared.single_response.is_some()
    }

    /// Fetches ranges that ascend, those that are close together by one request.
    pub(crate) async fn load(&self, ranges: Vec<Range<u64>>) -> Result<Vec<(u64, Chunk)>> {
        self.check_process()?;
        let requests =
            plan::join_ranges(ranges, self.shared.location.limits.part_size()).map(|range| async move {
                let mut part = vec![0; (range.end - range.start) as usize];
                self.shared.fetch(range.clone(), Destination::Plain(&mut part)).await?;
                Ok((range.start, part.into()))
            });
        stream::iter(requests).buffer_unordered(self.shared.location.limits.requests()).try_collect().await
    }

    /// Copies a range to its destination if the range is cached, and returns whether it was.
    fn copy_cached_range(&self, range: &Range<u64>, into: &mut Destination<'_, '_>) -> bool {
        let mut put = |(start, window): &(u64, Chunk)| {
            let index_in_window = |at: u64| usize::try_from(at.checked_sub(*start)?).ok();
            let part = index_in_window(range.start)
                .zip(index_in_window(range.end))
                .and_then(|(from, to)| window.get(from..to));
            part.map(|part| into.copy(range.start, part)).is_some()
        };
        if put(&self.shared.opened) {
            return true;
        }
        self.shared.cached_windows.lock().unwrap_or_else(PoisonError::into_inner).iter().any(put)
    }

    /// Fetches and caches a window, and returns how many bytes were copied to `into`.
    ///
    /// Reads ahead if the read is sequential, that is, if a cached window ends at this offset.
    fn fetch_window(&self, at: u64, into: &mut [u8]) -> Result<usize> {
        let wanted = into.len() as u64;
        let before = {
            let cached_windows = self.shared.cached_windows.lock().unwrap_or_else(PoisonError::into_inner);
            let ends_here = |(start, window): &&(u64, Chunk)| start + window.len() as u64 == at;
            cached_windows.iter().find(ends_here).map(|(_, window)| window.len() as u64)
        };
        // Four times the previous window, so that long sequential reads need few requests.
        let len = match before {
            Some(len) => (4 * len).min(MAX_WINDOW),
            None => MIN_WINDOW,
        };
        let end = at.saturating_add(len.max(wanted)).min(self.shared.meta.size);
        let mut window = vec![0; (end - at) as usize];
        self.wait(self.shared.fetch(at..end, Destination::Plain(&mut window)))?;
        let count = into.len().min(window.len());
        into[..count].copy_from_slice(&window[..count]);
        let mut cached_windows = self.shared.cached_windows.lock().unwrap_or_else(PoisonError::into_inner);
        cached_windows.push_back((at, window.into()));
        while cached_windows.iter().map(|(_, window)| window.len() as u64).sum::<u64>() > MAX_CACHED_BYTES {
            cached_windows.pop_front();
        }
        Ok(count)
    }

    /// Fetches several ranges concurrently, each to its destination.
    fn fetch_all(&self, work: Vec<(Range<u64>, Destination<'_, '_>)>) -> Result<()> {
        self.wait(async {
            stream::iter(work.into_iter().map(|(range, into)| Ok(self.shared.fetch(range, into))))
                .try_for_each_concurrent(self.shared.location.limits.requests(), |fetch| fetch)
                .await
        })
    }

    /// Fetches parts that ascend; those that are close together are fetched by one request.
    fn fetch_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<()> {
        let mut work = Vec::new();
        for (range, parts) in plan::group_parts(parts, self.shared.location.limits.part_size()) {
            let mut cursor = Destination::Parts { parts, done: 0 };
            if !self.copy_cached_range(&range, &mut cursor) {
                work.push((range, cursor));
            }
        }
        self.fetch_all(work)
    }

    /// Fetches a long range in several requests.
    fn fetch_range(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let len = plan::even_part_len(into.len(), self.shared.location.limits.part_size());
        let starts = (0..).map(|number| at + number * len as u64);
        let mut parts: Vec<(u64, &mut [u8])> = starts.zip(into.chunks_mut(len)).collect();
        self.fetch_parts(&mut parts)
    }

    /// Reads a long range, and fetches what follows if it is one in a sequence of such reads: then the parts of the object are
    /// in progress while the caller works on those before.
    fn read_long(&self, at: u64, into: &mut [u8]) -> Result<usize> {
        self.check_process()?;
        let count = match self.read_ahead.take(at) {
            None => {
                self.fetch_range(at, into)?;
                into.len()
            }
            Some(part) => {
                let part = self.wait(part.content())?;
                let count = part.copy(at, into);
                self.read_ahead.put_back(part, at + count as u64);
                count
            }
        };
        let shared = &self.shared;
        let most = shared.location.limits.bytes_in_flight();
        self.read_ahead.record_read_and_prefetch(at..at + count as u64, shared.meta.size, most, |range| {
            // What is fetched ahead counts until it has been read.
            let Some(permit) = shared.queue.permit_prefetch(range.end - range.start) else { return Ok(None) };
            let (shared, range) = (Arc::clone(shared), range.clone());
            Ok(Some(runtime()?.spawn(async move {
                let mut chunks = Vec::new();
                shared.fetch_without_permit(range.clone(), &mut Destination::Chunks(&mut chunks)).await?;
                Ok(ReceivedPart::new(range, chunks, permit.into_memory_permit()))
            })))
        })?;
        Ok(count)
    }

    /// Continues reading the single response of a server that ignores ranges.
    ///
    /// The object is requested again if the response is past the offset or has been lost.
    fn read_single_response(
        &self,
        single_response: &Mutex<Option<PartialResponse>>,
        at: u64,
        into: &mut [u8],
    ) -> Result<()> {
        // Taken out of the mutex: a concurrent reader finds it empty, and sends its own request.
        let rest = single_response.lock().unwrap_or_else(PoisonError::into_inner).take();
        let end = at + into.len() as u64;
        let rest = self.wait(async {
            let (mut rest, mut done, mut tries) = (rest.filter(|rest| rest.at <= at), 0, 0);
            loop {
                let mut response = match rest.take() {
                    Some(response) => response,
                    None => self.shared.request_from_start().await?,
                };
                let slowest = self.shared.location.limits.min_byte_rate;
                let read = match response.skip_to(at + done as u64, slowest).await {
                    Ok(()) => response.fill(&mut into[done..], slowest).await,
                    Err(error) => Err(error),
                };
                done = usize::try_from(response.at.saturating_sub(at))
                    .unwrap_or(usize::MAX)
                    .clamp(done, into.len());
                match read {
                    Ok(()) => return Ok(response),
                    // Each time, all that is before is sent again.
                    Err(_) if tries < self.shared.location.limits.retries => tries += 1,
                    Err(error) => return Err(error),
                }
            }
        })?;
        if end < self.shared.meta.size {
            *single_response.lock().unwrap_or_else(PoisonError::into_inner) = Some(rest);
        }
        Ok(())
    }
}

impl Shared {
    /// Fetches a range of the object into memory.
    ///
    /// If the connection is lost, the remaining bytes are requested again.
    async fn fetch(&self, range: Range<u64>, mut into: Destination<'_, '_>) -> Result<()> {
        let _permit = self.queue.next(range.end - range.start).await;
        self.fetch_without_permit(range, &mut into).await
    }

    /// Fetches a range of the object without waiting for a turn.
    async fn fetch_without_permit(&self, range: Range<u64>, into: &mut Destination<'_, '_>) -> Result<()> {
        let mut at = range.start;
        let mut tries = 0;
        loop {
            let before = at;
            let error = match get(&self.location, GetRange::Bounded(at..range.end), Some(&self.meta)).await {
                Err(error @ StoreError::NotSupported { .. }) => {
                    return Err(ranges_ignored_or_other_error(&error));
                }
                Err(error) => return Err(failure(&error)),
                Ok(result) => {
                    self.check_same_version(&result.meta)?;
                    let mut stream = result.into_stream();
                    let mut rate_guard = RateGuard::new(self.location.limits.min_byte_rate, &self.arrived);
                    loop {
                        match rate_guard.next(&mut stream).await {
                            Some(Ok(chunk)) => {
                                let left = range.end - at;
                                if chunk.len() as u64 > left {
                                    return Err(oversized_response_error());
                                }
                                let len = chunk.len() as u64;
                                into.put(at, chunk);
                                at += len;
                            }
                            Some(Err(error)) => break Some(error),
                            None => break None,
                        }
                    }
                }
            };
            if at == range.end {
                return Ok(());
            }
            // A connection that always ends early must not be retried forever. Progress resets the count.
            tries = if at - before > MIN_WINDOW { 0 } else { tries + 1 };
            if tries > self.location.limits.retries {
                return Err(match error {
                    Some(error) => failure(&error),
                    None => truncated_response_error(at - range.start, range.end - range.start),
                });
            }
        }
    }

    /// Returns an error if a response is for another version than the one that was opened.
    ///
    /// Not all servers honor the conditions of requests.
    fn check_same_version(&self, now: &ObjectMeta) -> Result<()> {
        let opened = &self.meta;
        let is_same = match (&opened.e_tag, &now.e_tag) {
            (None, None) => opened.last_modified == now.last_modified,
            (opened, now) => opened == now,
        };
        match is_same && opened.size == now.size {
            true => Ok(()),
            false => Err(changed()),
        }
    }

    async fn request_from_start(&self) -> Result<PartialResponse> {
        let restarted = get(&self.location, GetRange::Bounded(0..MIN_WINDOW), Some(&self.meta)).await;
        let restarted = restarted.map_err(|error| failure(&error))?;
        self.check_same_version(&restarted.meta)?;
        if restarted.extensions.get::<EntireObject>().is_none() {
            return Err(changed()); // it now honors ranges: another server responds
        }
        Ok(PartialResponse { at: 0, chunk: Chunk::new(), stream: restarted.into_stream() })
    }
}

impl PartialResponse {
    /// Discards bytes up to an offset.
    async fn skip_to(&mut self, at: u64, slowest: u64) -> Result<()> {
        while self.at < at {
            let mut scratch = vec![0; (at - self.at).min(MIN_WINDOW) as usize];
            self.fill(&mut scratch, slowest).await?;
        }
        Ok(())
    }

    async fn fill(&mut self, into: &mut [u8], slowest: u64) -> Result<()> {
        let arrived = AtomicU64::new(0);
        let mut rate_guard = RateGuard::new(slowest, &arrived);
        let wanted = into.len();
        let mut filled = 0;
        while filled < wanted {
            if self.chunk.is_empty() {
                match rate_guard.next(&mut self.stream).await {
                    Some(chunk) => self.chunk = chunk.map_err(|error| failure(&error))?,
                    None => {
                        return Err(truncated_response_error(self.at, self.at + (wanted - filled) as u64));
                    }
                }
                continue;
            }
            let part = self.chunk.split_to(self.chunk.len().min(wanted - filled));
            into[filled..filled + part.len()].copy_from_slice(&part);
            filled += part.len();
            self.at += part.len() as u64;
        }
        Ok(())
    }
}

impl ReadAt for ObjectBytes {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        /// Larger reads are of blocks or array parts, whose bounds are known: they need no read-ahead.
        const MAX_WINDOWED_READ: u64 = 128 << 10;
        let have = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let most = into.len().min(have);
        let into = &mut into[..most];
        if into.is_empty() {
            return Ok(0);
        }
        match self.copy_cached(offset, into) {
            0 => {}
            known => return Ok(known),
        }
        if let Some(single_response) = &self.shared.single_response {
            self.read_single_response(single_response, offset, into)?;
        } else if most as u64 <= MAX_WINDOWED_READ {
            return self.fetch_window(offset, into);
        } else {
            return self.read_long(offset, into);
        }
        Ok(most)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.len())
    }

    fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<usize> {
        let complete = parts.partition_point(|(offset, part)| offset + part.len() as u64 <= self.len());
        if self.shared.single_response.is_none() {
            self.fetch_parts(&mut parts[..complete])?;
            return Ok(complete);
        }
        // A single response is read sequentially.
        for (offset, part) in &mut parts[..complete] {
            fill_at(self, part, *offset)?;
        }
        Ok(complete)
    }

    fn check(&self, runs: &Runs) -> Result<()> {
        let all = self.len();
        let is_known = self.shared.opened.1.len() as u64 == all;
        // The runs are the entire array; only the header, whose length is not known here, precedes it.
        let len = runs.byte_len();
        let is_nearly_all = len >= all.saturating_sub(MIN_WINDOW) && runs.iter().nth(1).is_none();
        match self.shared.single_response.is_none() || is_known || is_nearly_all || len == 0 {
            true => Ok(()),
            false => Err(ranges_ignored_error()),
        }
    }

    fn hints(&self) -> ReadHints {
        // Only one thread can read a single response.
        let threads = if self.shared.single_response.is_some() { 1 } else { CONCURRENCY };
        ReadHints {
            block: Some(self.shared.location.limits.part_size()),
            concurrency: (threads, threads),
            ..ReadHints::default()
        }
    }
}
