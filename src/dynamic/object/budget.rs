//! A limit on the data that reading a pickle may copy.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{LimitKind, Result};
use crate::limits;

/// The number of bytes that may be copied out of a pickle and its buffers, in proportion to their length.
///
/// The pickles that NumPy writes need only a small part of it. A malicious pickle that refers to one string a
/// million times, to have it copied each time, exhausts the budget.
pub(super) struct CopyBudget {
    spent: AtomicU64,
    limit: u64,
}

impl CopyBudget {
    pub(super) fn of(length: usize) -> Self {
        // The minimum is for short pickles, and for dtypes decoded without a pickle (`dtypes::decode_in_graph`).
        const BYTES_PER_INPUT_BYTE: u64 = 16;
        const MIN_LIMIT: u64 = 1 << 20;
        Self { spent: AtomicU64::new(0), limit: MIN_LIMIT + BYTES_PER_INPUT_BYTE * length as u64 }
    }

    /// Subtracts `bytes` from the budget, or returns an error if too few remain.
    pub(super) fn spend(&self, bytes: usize) -> Result<()> {
        let spent = self.spent.fetch_add(bytes as u64, Ordering::Relaxed).saturating_add(bytes as u64);
        limits::check(LimitKind::Copies, spent, self.limit)
    }
}
