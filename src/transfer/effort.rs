//! How many threads some work is worth: the one place that decides it for local work.

/// An estimate of how long some work takes one thread, in nanoseconds.
///
/// It need not be exact: starting a thread, and waiting for it, takes about 30 µs, so work of a few hundred
/// microseconds is where it begins to pay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effort(u64);

impl Effort {
    /// Work that is worth a thread.
    const LEAST: u64 = if cfg!(miri) { 1_000 } else { 120_000 }; // Miri's threads should have something to do

    /// Moving bytes within memory, or from the page cache.
    pub(crate) fn moving(bytes: usize) -> Self {
        Self((bytes / 20) as u64)
    }

    /// Calling the system for small parts.
    pub(crate) fn calling(calls: u64) -> Self {
        Self(calls.saturating_mul(300))
    }

    /// Doing something with each of many items that takes this many nanoseconds.
    pub(crate) fn each(count: usize, nanoseconds: u64) -> Self {
        Self((count as u64).saturating_mul(nanoseconds))
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns how many threads the work is worth: at most the number that `wanted` returns, and at least one.
    pub(crate) fn threads(self, wanted: impl FnOnce() -> usize) -> usize {
        match usize::try_from(self.0 / Self::LEAST).unwrap_or(usize::MAX) {
            0 | 1 => 1,
            most => wanted().clamp(1, most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Effort;

    #[test]
    fn threads_follow_the_work() {
        assert_eq!(Effort::moving(1 << 20).threads(|| unreachable!()), 1);
        assert_eq!(Effort::moving(1 << 30).threads(|| 3), 3);
        assert_eq!(Effort::moving(128 << 10).and(Effort::calling(16_384)).threads(|| 2), 2);
        assert_eq!(Effort::each(1_000, 1).threads(|| unreachable!()), 1);
        assert_eq!(Effort::each(usize::MAX, 10).threads(|| 0), 1);
    }
}
