//! [`RateGuard`]: gives up responses that come too slowly.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes as Chunk;
use futures_util::{Stream, StreamExt};
use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};
use tokio::time::{Instant, timeout_at};

/// How long a response may be slow.
const MEASURED_PERIOD: Duration = Duration::from_secs(30);

/// How fast responses come: a server that sends a byte now and then keeps within any limit for the next byte.
///
/// What counts is what all requests for an object bring together: they share a connection that may be slow.
pub(crate) struct RateGuard<C> {
    min_byte_rate: u64,
    period_start: Instant,
    arrived: C,
    arrived_before: u64,
}

/// The error of a stream, which also says that it was too slow.
pub(crate) trait TooSlow {
    fn too_slow(error: io::Error) -> Self;
}

impl TooSlow for StoreError {
    fn too_slow(error: io::Error) -> Self {
        Self::Generic { store: "HTTP", source: error.into() }
    }
}

impl TooSlow for HttpError {
    fn too_slow(error: io::Error) -> Self {
        Self::new(HttpErrorKind::Timeout, error)
    }
}

impl<C: Deref<Target = AtomicU64>> RateGuard<C> {
    pub(crate) fn new(min_byte_rate: u64, arrived: C) -> Self {
        let arrived_before = arrived.load(Ordering::Relaxed);
        Self { min_byte_rate, period_start: Instant::now(), arrived, arrived_before }
    }

    /// Returns the next chunk, or an error if the last 30 seconds have brought too little.
    pub(crate) async fn next<S, E>(&mut self, stream: &mut S) -> Option<Result<Chunk, E>>
    where
        S: Stream<Item = Result<Chunk, E>> + Unpin,
        E: TooSlow,
    {
        loop {
            let Ok(chunk) = timeout_at(self.period_start + MEASURED_PERIOD, stream.next()).await else {
                let now = self.arrived.load(Ordering::Relaxed);
                let got = now - self.arrived_before;
                if got < self.min_byte_rate.saturating_mul(MEASURED_PERIOD.as_secs()) {
                    let text = format!(
                        "the server has sent only {got} bytes in {} seconds",
                        MEASURED_PERIOD.as_secs()
                    );
                    return Some(Err(E::too_slow(io::Error::new(io::ErrorKind::TimedOut, text))));
                }
                (self.period_start, self.arrived_before) = (Instant::now(), now);
                continue;
            };
            if let Some(Ok(chunk)) = &chunk {
                self.arrived.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            }
            return chunk;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    /// In a time that passes only where all wait.
    #[tokio::test(start_paused = true)]
    async fn response_below_the_slowest_rate_is_given_up() {
        for (bytes, seconds, slowest, limit) in [(1, 10, 1024, 30), (40_000, 29, 1024, 290), (1, 10, 0, 100)]
        {
            let began = Instant::now();
            let chunks = stream::iter(0..10).then(async |_| {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                Ok::<_, StoreError>(vec![0; bytes].into())
            });
            let arrived = AtomicU64::new(0);
            let (mut chunks, mut rate_guard) = (Box::pin(chunks), RateGuard::new(slowest, &arrived));
            let mut last = None;
            while let Some(chunk) = rate_guard.next(&mut chunks).await {
                last = Some(chunk.is_ok());
                if chunk.is_err() {
                    break;
                }
            }
            assert_eq!(began.elapsed().as_secs(), limit);
            assert_eq!(last, Some(limit != 30));
        }
    }
}
