//! [`Bytes`]: an object whose bytes can be read at any offset, like those of a file.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes as Chunk;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use ndarray_io::bytes::{ReadAt, ReadHints, Runs, fill_at};
use ndarray_io::error::{ErrorKind, Result};
use object_store::{Error as StoreError, GetRange, GetResult, ObjectMeta};

use crate::ahead::{Ahead, Received};
use crate::failure::{changed, failure};
use crate::limits::Turns;
use crate::pace::Pace;
use crate::place::ObjectLocation;
use crate::plan;
use crate::response::{Cursor, collect, first_of, get, no_ranges, no_ranges_or, short, stopped, too_much};
use crate::runtime::{Stop, runtime, wait};
use crate::service::IsWhole;

/// The smallest amount that is fetched when headers and directories are read.
pub(crate) const WINDOW: u64 = 64 << 10;
/// The maximum size of one request that reads ahead, for callers that read sequentially in small pieces.
const AHEAD: u64 = 8 << 20;
/// The maximum amount of cached data, in addition to the window that was fetched on opening.
const KEPT: u64 = 32 << 20;

/// How many calls of this source there should be at a time.
const AT_ONCE: usize = 8;

/// A handle to an object; all of its requests fetch the same version.
#[derive(Clone, Debug)]
pub(crate) struct Bytes {
    shared: Arc<Shared>,
    /// What is fetched before it is asked for. It ends with the last handle, although its requests have the object as well.
    ahead: Arc<Ahead>,
    stop: Option<Arc<Stop>>,
}

struct Shared {
    place: ObjectLocation,
    meta: ObjectMeta,
    /// The offset and bytes of the window fetched on opening: the object's beginning or end.
    opened: (u64, Chunk),
    /// Cached windows with their offsets, the newest at the end.
    recent: Mutex<VecDeque<(u64, Chunk)>>,
    /// What remains of the single response of a server that ignores ranges.
    ///
    /// A thread takes the response out of the mutex while it reads.
    whole: Option<Mutex<Option<PartialResponse>>>,
    turns: Turns,
    /// How many bytes have come, of all requests.
    arrived: AtomicU64,
    /// The process that has opened the object. One that was forked has neither its threads nor its connections.
    process: u32,
}

/// Omits the fetched data.
impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of {} bytes", self.place, self.meta.size)
    }
}

/// A response that is being read, and the current offset in the object.
struct PartialResponse {
    at: u64,
    chunk: Chunk,
    stream: BoxStream<'static, Result<Chunk, StoreError>>,
}

impl Bytes {
    /// Opens an object that begins with a header.
    ///
    /// Sends one request for the first bytes, which may be the entire object.
    pub(crate) async fn open(place: &ObjectLocation) -> Result<Self> {
        let result = match get(place, GetRange::Bounded(0..WINDOW), None).await {
            Err(error) => return Self::empty_or(place, error).await,
            Ok(result) => result,
        };
        if result.extensions.get::<IsWhole>().is_none() {
            return Self::of_window(place, result).await;
        }
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let mut rest = PartialResponse { at: range.end, chunk: Chunk::new(), stream: result.into_stream() };
        let (window, chunk) = first_of(&mut rest.stream, range.end, place.limits.slowest).await?;
        rest.chunk = chunk;
        Ok(Self::new(place, meta, (range.start, window), Some(Mutex::new(Some(rest)))))
    }

    /// Opens an object that ends with a directory.
    ///
    /// Sends one request for the last bytes, or two if the store does not support suffix requests.
    pub(crate) async fn open_end(place: &ObjectLocation, len: u64) -> Result<Self> {
        let result = match get(place, GetRange::Suffix(len), None).await {
            Err(StoreError::NotSupported { .. }) => {
                let meta = place.head().await.map_err(|error| failure(&error))?.meta;
                if meta.size == 0 {
                    return Ok(Self::new(place, meta, (0, Chunk::new()), None));
                }
                let range = GetRange::Bounded(meta.size.saturating_sub(len)..meta.size);
                get(place, range, Some(&meta)).await.map_err(|error| no_ranges_or(&error))?
            }
            Err(error) => return Self::empty_or(place, error).await,
            Ok(result) => result,
        };
        Self::of_window(place, result).await
    }

    /// Keeps what a response has, and fetches the rest of it if it has broken off.
    async fn of_window(place: &ObjectLocation, result: GetResult) -> Result<Self> {
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let len = range.end - range.start;
        let have = collect(&mut result.into_stream(), len, place.limits.slowest).await?;
        let (count, part) = (have.len(), range.start + have.len() as u64..range.end);
        let opened = Self::new(place, meta.clone(), (range.start, have.clone()), None);
        if part.is_empty() {
            return Ok(opened);
        }
        let mut window = have.to_vec();
        window.resize(count + (part.end - part.start) as usize, 0); // at most what was asked for
        opened.shared.fetch(part, Cursor::Plain(&mut window[count..])).await?;
        Ok(Self::new(place, meta, (range.start, window.into()), None))
    }

    /// Opens an empty object, of which no range can be requested, or returns the error of the first request.
    async fn empty_or(place: &ObjectLocation, error: StoreError) -> Result<Self> {
        if matches!(error, StoreError::Generic { .. } | StoreError::NotSupported { .. })
            && let Ok(head) = place.head().await
            && head.meta.size == 0
        {
            return Ok(Self::new(place, head.meta, (0, Chunk::new()), None));
        }
        Err(no_ranges_or(&error))
    }

    fn new(
        place: &ObjectLocation,
        meta: ObjectMeta,
        opened: (u64, Chunk),
        whole: Option<Mutex<Option<PartialResponse>>>,
    ) -> Self {
        let (recent, turns) = (Mutex::default(), Turns::new(&place.limits));
        let place = place.clone();
        let (arrived, process) = (AtomicU64::new(0), std::process::id());
        let shared = Arc::new(Shared { place, meta, opened, recent, whole, turns, arrived, process });
        Self { shared, ahead: Arc::default(), stop: None }
    }

    /// Returns a handle to the same object whose requests are cancelled when `stop` is set.
    pub(crate) fn stopped_by(&self, stop: Option<Arc<Stop>>) -> Self {
        // What a cancelled reader has fetched ahead ends with it.
        let ahead = if stop.is_some() { Arc::default() } else { Arc::clone(&self.ahead) };
        Self { shared: Arc::clone(&self.shared), ahead, stop }
    }

    /// Returns the length of the object.
    pub(crate) fn len(&self) -> u64 {
        self.shared.meta.size
    }

    pub(crate) fn meta(&self) -> &ObjectMeta {
        &self.shared.meta
    }

    /// Returns the first bytes of the object, if they were fetched on opening.
    pub(crate) fn beginning(&self) -> &[u8] {
        match &self.shared.opened {
            (0, window) => window,
            _ => &[],
        }
    }

    fn wait<T: Send>(&self, future: impl Future<Output = Result<T>> + Send) -> Result<T> {
        self.check_process()?;
        wait(stopped(self.stop.as_deref(), future))
    }

    fn check_process(&self) -> Result<()> {
        if self.shared.process == std::process::id() {
            return Ok(());
        }
        let reason = "the object was opened before the process was forked: open it again";
        Err(ErrorKind::out_of_turn(reason).into())
    }

    /// Copies cached bytes that begin at an offset, and returns their number.
    pub(crate) fn copy_known(&self, at: u64, into: &mut [u8]) -> usize {
        let copy = |(start, window): &(u64, Chunk), into: &mut [u8]| {
            let part = at.checked_sub(*start).and_then(|from| window.get(usize::try_from(from).ok()?..))?;
            let len = part.len().min(into.len());
            into[..len].copy_from_slice(&part[..len]);
            Some(len).filter(|len| *len > 0)
        };
        copy(&self.shared.opened, into)
            .or_else(|| {
                let recent = self.shared.recent.lock().unwrap_or_else(PoisonError::into_inner);
                recent.iter().find_map(|window| copy(window, into))
            })
            .unwrap_or(0)
    }

    /// Returns whether a range was fetched on opening.
    pub(crate) fn knows(&self, range: &Range<u64>) -> bool {
        let (start, window) = &self.shared.opened;
        *start <= range.start && range.end <= start + window.len() as u64
    }

    /// Returns whether the server ignores ranges, so that there is only its one response.
    pub(crate) fn is_single_response(&self) -> bool {
        self.shared.whole.is_some()
    }

    /// Fetches ranges that ascend, those that are close together by one request.
    pub(crate) async fn load(&self, ranges: Vec<Range<u64>>) -> Result<Vec<(u64, Chunk)>> {
        self.check_process()?;
        let requests = plan::joined(ranges, self.shared.place.limits.part()).map(|range| async move {
            let mut part = vec![0; (range.end - range.start) as usize];
            self.shared.fetch(range.clone(), Cursor::Plain(&mut part)).await?;
            Ok((range.start, part.into()))
        });
        stream::iter(requests).buffer_unordered(self.shared.place.limits.requests()).try_collect().await
    }

    /// Copies a range to its destination if the range is cached, and returns whether it was.
    fn is_known(&self, range: &Range<u64>, into: &mut Cursor<'_, '_>) -> bool {
        let mut put = |(start, window): &(u64, Chunk)| {
            let place = |at: u64| usize::try_from(at.checked_sub(*start)?).ok();
            let part = place(range.start).zip(place(range.end)).and_then(|(from, to)| window.get(from..to));
            part.map(|part| into.copy(range.start, part)).is_some()
        };
        if put(&self.shared.opened) {
            return true;
        }
        self.shared.recent.lock().unwrap_or_else(PoisonError::into_inner).iter().any(put)
    }

    /// Fetches and caches a window, and returns how many bytes were copied to `into`.
    ///
    /// Reads ahead if the read is sequential, that is, if a cached window ends at this offset.
    fn fetch_window(&self, at: u64, into: &mut [u8]) -> Result<usize> {
        let wanted = into.len() as u64;
        let before = {
            let recent = self.shared.recent.lock().unwrap_or_else(PoisonError::into_inner);
            let ends_here = |(start, window): &&(u64, Chunk)| start + window.len() as u64 == at;
            recent.iter().find(ends_here).map(|(_, window)| window.len() as u64)
        };
        // Four times the previous window, so that long sequential reads need few requests.
        let len = match before {
            Some(len) => (4 * len).min(AHEAD),
            None => WINDOW,
        };
        let end = at.saturating_add(len.max(wanted)).min(self.shared.meta.size);
        let mut window = vec![0; (end - at) as usize];
        self.wait(self.shared.fetch(at..end, Cursor::Plain(&mut window)))?;
        let count = into.len().min(window.len());
        into[..count].copy_from_slice(&window[..count]);
        let mut recent = self.shared.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_back((at, window.into()));
        while recent.iter().map(|(_, window)| window.len() as u64).sum::<u64>() > KEPT {
            recent.pop_front();
        }
        Ok(count)
    }

    /// Fetches several ranges concurrently, each to its destination.
    fn fetch_all(&self, work: Vec<(Range<u64>, Cursor<'_, '_>)>) -> Result<()> {
        self.wait(async {
            stream::iter(work.into_iter().map(|(range, into)| Ok(self.shared.fetch(range, into))))
                .try_for_each_concurrent(self.shared.place.limits.requests(), |fetch| fetch)
                .await
        })
    }

    /// Fetches parts that ascend; those that are close together are fetched by one request.
    fn fetch_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<()> {
        let mut work = Vec::new();
        for (range, parts) in plan::groups(parts, self.shared.place.limits.part()) {
            let mut cursor = Cursor::Parts { parts, done: 0 };
            if !self.is_known(&range, &mut cursor) {
                work.push((range, cursor));
            }
        }
        self.fetch_all(work)
    }

    /// Fetches a long range in several requests.
    fn fetch_range(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let len = plan::even_part(into.len(), self.shared.place.limits.part());
        let starts = (0..).map(|number| at + number * len as u64);
        let mut parts: Vec<(u64, &mut [u8])> = starts.zip(into.chunks_mut(len)).collect();
        self.fetch_parts(&mut parts)
    }

    /// Reads a long range, and fetches what follows if it is one in a sequence of such reads: then the parts of the object are
    /// in progress while the caller works on those before.
    fn read_long(&self, at: u64, into: &mut [u8]) -> Result<usize> {
        self.check_process()?;
        let count = match self.ahead.take(at) {
            None => {
                self.fetch_range(at, into)?;
                into.len()
            }
            Some(part) => {
                let part = self.wait(part.content())?;
                let count = part.copy(at, into);
                self.ahead.put_back(part, at + count as u64);
                count
            }
        };
        let shared = &self.shared;
        let most = shared.place.limits.in_flight();
        self.ahead.read(at..at + count as u64, shared.meta.size, most, |range| {
            // What is fetched ahead counts until it has been read.
            let Some(turn) = shared.turns.if_free(range.end - range.start) else { return Ok(None) };
            let (shared, range) = (Arc::clone(shared), range.clone());
            Ok(Some(runtime()?.spawn(async move {
                let mut chunks = Vec::new();
                shared.fetch_now(range.clone(), &mut Cursor::Chunks(&mut chunks)).await?;
                Ok(Received::new(range, chunks, turn.kept()))
            })))
        })?;
        Ok(count)
    }

    /// Continues reading the single response of a server that ignores ranges.
    ///
    /// The object is requested again if the response is past the offset or has been lost.
    fn read_on(&self, whole: &Mutex<Option<PartialResponse>>, at: u64, into: &mut [u8]) -> Result<()> {
        // Taken out of the mutex: a concurrent reader finds it empty, and sends its own request.
        let rest = whole.lock().unwrap_or_else(PoisonError::into_inner).take();
        let end = at + into.len() as u64;
        let rest = self.wait(async {
            let (mut rest, mut done, mut tries) = (rest.filter(|rest| rest.at <= at), 0, 0);
            loop {
                let mut response = match rest.take() {
                    Some(response) => response,
                    None => self.shared.begin_again().await?,
                };
                let slowest = self.shared.place.limits.slowest;
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
                    Err(_) if tries < self.shared.place.limits.retries => tries += 1,
                    Err(error) => return Err(error),
                }
            }
        })?;
        if end < self.shared.meta.size {
            *whole.lock().unwrap_or_else(PoisonError::into_inner) = Some(rest);
        }
        Ok(())
    }
}

impl Shared {
    /// Fetches a range of the object into memory.
    ///
    /// If the connection is lost, the remaining bytes are requested again.
    async fn fetch(&self, range: Range<u64>, mut into: Cursor<'_, '_>) -> Result<()> {
        let _turn = self.turns.next(range.end - range.start).await;
        self.fetch_now(range, &mut into).await
    }

    /// Fetches a range of the object without waiting for a turn.
    async fn fetch_now(&self, range: Range<u64>, into: &mut Cursor<'_, '_>) -> Result<()> {
        let mut at = range.start;
        let mut tries = 0;
        loop {
            let before = at;
            let error = match get(&self.place, GetRange::Bounded(at..range.end), Some(&self.meta)).await {
                Err(error @ StoreError::NotSupported { .. }) => return Err(no_ranges_or(&error)),
                Err(error) => return Err(failure(&error)),
                Ok(result) => {
                    self.check_same(&result.meta)?;
                    let mut stream = result.into_stream();
                    let mut pace = Pace::new(self.place.limits.slowest, &self.arrived);
                    loop {
                        match pace.next(&mut stream).await {
                            Some(Ok(chunk)) => {
                                let left = range.end - at;
                                if chunk.len() as u64 > left {
                                    return Err(too_much());
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
            tries = if at - before > WINDOW { 0 } else { tries + 1 };
            if tries > self.place.limits.retries {
                return Err(match error {
                    Some(error) => failure(&error),
                    None => short(at - range.start, range.end - range.start),
                });
            }
        }
    }

    /// Returns an error if a response is for another version than the one that was opened.
    ///
    /// Not all servers honor the conditions of requests.
    fn check_same(&self, now: &ObjectMeta) -> Result<()> {
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

    async fn begin_again(&self) -> Result<PartialResponse> {
        let again = get(&self.place, GetRange::Bounded(0..WINDOW), Some(&self.meta)).await;
        let again = again.map_err(|error| failure(&error))?;
        self.check_same(&again.meta)?;
        if again.extensions.get::<IsWhole>().is_none() {
            return Err(changed()); // it now honors ranges: another server responds
        }
        Ok(PartialResponse { at: 0, chunk: Chunk::new(), stream: again.into_stream() })
    }
}

impl PartialResponse {
    /// Discards bytes up to an offset.
    async fn skip_to(&mut self, at: u64, slowest: u64) -> Result<()> {
        while self.at < at {
            let mut scratch = vec![0; (at - self.at).min(WINDOW) as usize];
            self.fill(&mut scratch, slowest).await?;
        }
        Ok(())
    }

    async fn fill(&mut self, into: &mut [u8], slowest: u64) -> Result<()> {
        let arrived = AtomicU64::new(0);
        let mut pace = Pace::new(slowest, &arrived);
        let wanted = into.len();
        let mut filled = 0;
        while filled < wanted {
            if self.chunk.is_empty() {
                match pace.next(&mut self.stream).await {
                    Some(chunk) => self.chunk = chunk.map_err(|error| failure(&error))?,
                    None => return Err(short(self.at, self.at + (wanted - filled) as u64)),
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

impl ReadAt for Bytes {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        /// Larger reads are of blocks or array parts, whose bounds are known: they need no read-ahead.
        const LARGE: u64 = 128 << 10;
        let have = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let most = into.len().min(have);
        let into = &mut into[..most];
        if into.is_empty() {
            return Ok(0);
        }
        match self.copy_known(offset, into) {
            0 => {}
            known => return Ok(known),
        }
        if let Some(whole) = &self.shared.whole {
            self.read_on(whole, offset, into)?;
        } else if most as u64 <= LARGE {
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
        let complete = parts.partition_point(|(place, part)| place + part.len() as u64 <= self.len());
        if self.shared.whole.is_none() {
            self.fetch_parts(&mut parts[..complete])?;
            return Ok(complete);
        }
        // A single response is read sequentially.
        for (place, part) in &mut parts[..complete] {
            fill_at(self, part, *place)?;
        }
        Ok(complete)
    }

    fn check(&self, runs: &Runs) -> Result<()> {
        let all = self.len();
        let is_known = self.shared.opened.1.len() as u64 == all;
        // The runs are the entire array; only the header, whose length is not known here, precedes it.
        let len = runs.byte_len();
        let is_nearly_all = len >= all.saturating_sub(WINDOW) && runs.iter().nth(1).is_none();
        match self.shared.whole.is_none() || is_known || is_nearly_all || len == 0 {
            true => Ok(()),
            false => Err(no_ranges()),
        }
    }

    fn hints(&self) -> ReadHints {
        // Only one thread can read a single response.
        let threads = if self.shared.whole.is_some() { 1 } else { AT_ONCE };
        ReadHints::new().block(self.shared.place.limits.part()).concurrency(threads, threads)
    }
}
