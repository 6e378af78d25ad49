//! How many threads some work is worth: the one place that decides it for local work.

use crate::bytes::ReadHints;

/// An estimate of how long some work takes one thread, in nanoseconds.
///
/// It need not be exact: starting a thread, and waiting for it, takes about 30 µs, so work of a few hundred
/// microseconds is where it begins to pay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effort(u64);

impl Effort {
    /// Work that is worth a thread.
    const MIN_NANOS_PER_THREAD: u64 = if cfg!(miri) { 1_000 } else { 120_000 }; // Miri's threads should have something to do

    /// Moving bytes within memory, or from the page cache.
    pub(crate) fn moving(bytes: u64) -> Self {
        Self(bytes / 20)
    }

    /// Calling the system for small parts.
    pub(crate) fn system_calls(calls: u64) -> Self {
        Self(calls.saturating_mul(300))
    }

    /// Doing something with each of many items that takes this many nanoseconds.
    pub(crate) fn each(count: u64, nanoseconds: u64) -> Self {
        Self(count.saturating_mul(nanoseconds))
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns how many threads the work is worth: at most the number that `wanted` returns, and at least one.
    pub(crate) fn threads(self, wanted: impl FnOnce() -> usize) -> usize {
        match usize::try_from(self.0 / Self::MIN_NANOS_PER_THREAD).unwrap_or(usize::MAX) {
            0 | 1 => 1,
            most => wanted().clamp(1, most),
        }
    }

    /// Like [`threads`](Self::threads), for work on a source; one whose calls mostly wait says itself how many it wants.
    pub(super) fn threads_on(self, hints: &ReadHints, wanted: impl FnOnce() -> usize) -> usize {
        let wanted = || hints.threads(wanted);
        if hints.is_remote() { wanted() } else { self.threads(wanted) }
    }
}

#[cfg(test)]
mod tests {
    use super::Effort;

    #[test]
    fn thread_count_follows_the_estimated_work() {
        assert_eq!(Effort::moving(1 << 20).threads(|| unreachable!()), 1);
        assert_eq!(Effort::moving(1 << 30).threads(|| 3), 3);
        assert_eq!(Effort::moving(128 << 10).and(Effort::system_calls(16_384)).threads(|| 2), 2);
        assert_eq!(Effort::each(1_000, 1).threads(|| unreachable!()), 1);
        assert_eq!(Effort::each(u64::MAX, 10).threads(|| 0), 1);
    }
}
