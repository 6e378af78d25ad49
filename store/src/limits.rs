//! [`Limits`]: what the requests of all objects may take together, and [`RequestQueue`], in which those of one object wait for their share.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::{Either, select};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How many of the bytes that are requested at a time a permit is for.
const BYTES_PER_PERMIT: u64 = 64 << 10;
/// The default for [`Limits::requests`] and the most that can be set.
const DEFAULT_AND_MAX_REQUESTS: (usize, usize) = (128, 256);
/// The default for [`Limits::bytes_in_flight`] and the least and most that can be set.
const DEFAULT_MIN_AND_MAX_IN_FLIGHT: (u64, u64, u64) = (128 << 20, 1 << 20, 1 << 40);

/// The limits of a [`StoreOptions`](crate::StoreOptions), and what of them is taken, which clones share.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) retries: usize,
    /// How much a server has to send, in bytes a second.
    pub(crate) min_byte_rate: u64,
    part_size: usize,
    requests: usize,
    bytes_in_flight: u64,
    shared: Arc<Mutex<Permits>>,
}

/// The permits, and the process that they are for: in a forked one, those of its parent are never given back.
type Permits = (u32, Arc<Semaphore>);

fn permits(in_flight: u64) -> Permits {
    (std::process::id(), Arc::new(Semaphore::new((in_flight / BYTES_PER_PERMIT) as usize)))
}

impl Default for Limits {
    /// The limits that everything shares for which no others are set.
    fn default() -> Self {
        static DEFAULT: OnceLock<Limits> = OnceLock::new();
        let (requests, bytes_in_flight) = (DEFAULT_AND_MAX_REQUESTS.0, DEFAULT_MIN_AND_MAX_IN_FLIGHT.0);
        let shared = || Arc::new(Mutex::new(permits(bytes_in_flight)));
        let make = || Self {
            retries: 5,
            min_byte_rate: 1 << 10,
            part_size: 16 << 20,
            requests,
            bytes_in_flight,
            shared: shared(),
        };
        DEFAULT.get_or_init(make).clone()
    }
}

impl Limits {
    /// Sets how many requests are sent at a time. Clones of this value share the new limit.
    pub(crate) fn set_requests(&mut self, requests: usize) {
        self.requests = requests.clamp(1, DEFAULT_AND_MAX_REQUESTS.1);
        self.shared = Arc::new(Mutex::new(permits(self.bytes_in_flight)));
    }

    /// Sets how many bytes are requested at a time, as [`set_requests`](Self::set_requests) does.
    pub(crate) fn set_bytes_in_flight(&mut self, bytes: u64) {
        self.bytes_in_flight = bytes.clamp(DEFAULT_MIN_AND_MAX_IN_FLIGHT.1, DEFAULT_MIN_AND_MAX_IN_FLIGHT.2);
        self.shared = Arc::new(Mutex::new(permits(self.bytes_in_flight)));
    }

    pub(crate) fn set_part_size(&mut self, bytes: usize) {
        self.part_size = bytes.clamp(64 << 10, 1 << 30);
    }

    /// Returns the length of the largest request.
    pub(crate) fn part_size(&self) -> usize {
        self.part_size.min(usize::try_from(self.bytes_in_flight).unwrap_or(usize::MAX))
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests
    }

    pub(crate) fn bytes_in_flight(&self) -> u64 {
        self.bytes_in_flight
    }

    fn permits(&self) -> Arc<Semaphore> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.0 != std::process::id() {
            *shared = permits(self.bytes_in_flight);
        }
        Arc::clone(&shared.1)
    }

    /// Returns the number of permits for a request of this length, at least as many as bound the number of requests.
    fn permits_for(&self, bytes: u64) -> u32 {
        let all = self.bytes_in_flight / BYTES_PER_PERMIT;
        let least = all.div_ceil(self.requests as u64);
        u32::try_from(bytes.div_ceil(BYTES_PER_PERMIT).clamp(least, all)).unwrap_or(u32::MAX)
    }
}

/// The requests of one object, which share the limits with those of others.
///
/// An object without a request in progress may always send one, so that objects on a server that does not respond do not stop all
/// others. Beyond that, one of each object waits at a time: so an object with many requests takes turns with those that have few.
#[derive(Debug)]
pub(crate) struct RequestQueue {
    limits: Limits,
    queue: tokio::sync::Mutex<()>,
    in_progress: Arc<InProgress>,
}

/// How many requests of an object are in progress, and who waits until there are none.
#[derive(Debug, Default)]
struct InProgress {
    count: AtomicUsize,
    none: Notify,
}

/// The right to send a request, until it is dropped.
#[derive(Debug)]
pub(crate) struct RequestPermit {
    permit: Option<OwnedSemaphorePermit>,
    in_progress: Arc<InProgress>,
}

/// What is left of a permit when the bytes have come: they count as long as they are kept, but are no longer in progress.
pub(crate) type MemoryPermit = Option<OwnedSemaphorePermit>;

impl RequestPermit {
    pub(crate) fn into_memory_permit(mut self) -> MemoryPermit {
        self.permit.take()
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        // First: who finds that there are no requests has then seen what they gave back.
        self.permit = None;
        if self.in_progress.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.in_progress.none.notify_one();
        }
    }
}

impl RequestQueue {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { limits: limits.clone(), queue: tokio::sync::Mutex::default(), in_progress: Arc::default() }
    }

    /// Waits until a request of this length may be sent.
    pub(crate) async fn next(&self, bytes: u64) -> RequestPermit {
        let _first = self.queue.lock().await;
        let shared = pin!(self.limits.permits().acquire_many_owned(self.limits.permits_for(bytes)));
        let none = pin!(async {
            while self.in_progress.count.load(Ordering::Acquire) > 0 {
                self.in_progress.none.notified().await; // also if that was told before
            }
        });
        match select(shared, none).await {
            Either::Left((permit, _)) => self.begin(permit.ok()), // the semaphore is never closed
            Either::Right(_) => self.begin(None),
        }
    }

    fn begin(&self, permit: Option<OwnedSemaphorePermit>) -> RequestPermit {
        self.in_progress.count.fetch_add(1, Ordering::AcqRel);
        RequestPermit { permit, in_progress: Arc::clone(&self.in_progress) }
    }

    /// Allows a request that is not necessary, if an eighth of all remains for those that are: a reader that has stopped keeps what came.
    pub(crate) fn permit_prefetch(&self, bytes: u64) -> Option<RequestPermit> {
        let (permits, wanted) = (self.limits.permits(), self.limits.permits_for(bytes));
        if permits.available_permits()
            < wanted as usize + (self.limits.bytes_in_flight / BYTES_PER_PERMIT / 8) as usize
        {
            return None;
        }
        let permit = permits.try_acquire_many_owned(wanted).ok()?;
        Some(self.begin(Some(permit)))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures_util::poll;

    use super::*;

    fn limits(requests: usize, mib: u64) -> Limits {
        let mut limits = Limits::default();
        limits.set_requests(requests);
        limits.set_bytes_in_flight(mib << 20);
        limits
    }

    #[tokio::test]
    async fn shared_limits_leave_each_object_one_request() {
        let limits = limits(4, 4);
        let (large, small) = (RequestQueue::new(&limits), RequestQueue::new(&limits.clone()));
        let permits = [large.next(1 << 20).await, large.next(1 << 20).await];
        let ahead = large.permit_prefetch(1).unwrap();
        // An eighth is not for what no caller has asked for.
        assert!(large.permit_prefetch(1).is_none() && small.permit_prefetch(1).is_none());
        let last = large.next(1).await;
        // An object without a request in progress may send one.
        let first = small.next(100 << 20).await;
        let (mut large_waits, mut small_waits) = (Box::pin(large.next(1)), Box::pin(small.next(1)));
        assert!(poll!(&mut large_waits).is_pending() && poll!(&mut small_waits).is_pending());
        drop(last);
        let next = poll_now(&mut large_waits);
        assert!(next.is_some());
        assert!(poll!(&mut small_waits).is_pending());
        drop(first);
        assert!(poll!(&mut small_waits).is_ready());
        drop((permits, ahead));
    }

    #[tokio::test]
    async fn limit_of_one_request_admits_only_one() {
        let queue = RequestQueue::new(&limits(1, 1));
        let first = queue.next(1).await;
        let mut waiting = [Box::pin(queue.next(1)), Box::pin(queue.next(1))];
        assert!(waiting.iter_mut().all(|request| poll_now(request).is_none()));
        drop(first);
        let ready: Vec<_> = waiting.iter_mut().filter_map(poll_now).collect();
        assert_eq!(ready.len(), 1);
    }

    /// A reader that has stopped reading keeps what was fetched ahead; its next request must not wait for that.
    #[tokio::test]
    async fn prefetched_bytes_do_not_block_requests() {
        let queue = RequestQueue::new(&limits(4, 4));
        let kept = queue.next(4 << 20).await.into_memory_permit();
        assert!(queue.permit_prefetch(1).is_none());
        let mut next = Box::pin(queue.next(1));
        assert!(poll_now(&mut next).is_some());
        drop(kept);
        assert!(queue.permit_prefetch(3 << 20).is_some());
    }

    fn poll_now<T>(future: &mut Pin<Box<impl Future<Output = T>>>) -> Option<T> {
        futures_util::FutureExt::now_or_never(future.as_mut())
    }

    /// An object with a thousand requests is asked after its first for one of another.
    #[tokio::test]
    async fn waiting_requests_alternate_between_objects() {
        let limits = limits(1, 1);
        let (many, few) = (RequestQueue::new(&limits), RequestQueue::new(&limits));
        let held = (many.next(1).await, few.next(1).await);
        let mut waiting: Vec<_> = (0..1000).map(|_| Box::pin(many.next(1))).collect();
        assert!(waiting.iter_mut().all(|request| poll_now(request).is_none()));
        let mut other = Box::pin(few.next(1));
        assert!(poll!(&mut other).is_pending());
        drop(held.0);
        let next = poll_now(&mut waiting[0]);
        assert!(next.is_some() && poll!(&mut other).is_pending() && poll_now(&mut waiting[1]).is_none());
        drop(next);
        assert!(poll!(&mut other).is_ready(), "the next is that of the other object");
    }

    #[test]
    fn permits_of_a_request_enforce_both_limits() {
        for (requests, mib, bytes, permits) in [
            (128, 128, 1, 16),
            (128, 128, 16 << 20, 256),
            (4, 1, 1, 4),
            (256, 1, 1, 1),
            (8, 1, 1 << 40, 16),
            (9, 1, 1, 2),
            (100, 128, 1, 21),
        ] {
            assert_eq!(limits(requests, mib).permits_for(bytes), permits);
        }
    }
}
