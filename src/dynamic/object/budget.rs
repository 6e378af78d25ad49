//! What reading a pickle may cost beyond its own length.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{LimitKind, Result};
use crate::limits;

/// Bytes that may be copied out of a pickle: so many times its length. What NumPy writes needs a few of them; who refers to one
/// text a million times, to have it copied as often, has none left.
pub(super) struct Budget {
    spent: AtomicU64,
    most: u64,
}

impl Budget {
    pub(super) fn of(pickle: &[u8]) -> Self {
        const TIMES: u64 = 16;
        const LEAST: u64 = 1 << 20;
        Self { spent: AtomicU64::new(0), most: LEAST + TIMES * pickle.len() as u64 }
    }

    /// An error if these bytes are too many.
    pub(super) fn spend(&self, bytes: usize) -> Result<()> {
        let spent = self.spent.fetch_add(bytes as u64, Ordering::Relaxed).saturating_add(bytes as u64);
        limits::check(LimitKind::Copies, spent, self.most)
    }
}
