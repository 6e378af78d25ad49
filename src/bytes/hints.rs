//! [`ReadHints`]: how a source is best read.

/// How a [source](super::ReadAt) is best read: sizes, boundaries and concurrency.
///
/// [`ReadHints::new`] describes a source that is read like a local file, but by [batches](Self::batches).
///
/// # Examples
///
/// ```
/// use ndarray_io::bytes::ReadHints;
///
/// // A server: few large requests, eight at a time.
/// let hints = ReadHints::new().block(8 << 20).concurrency(8, 8).gap(64 << 10).span(8 << 20);
/// assert_eq!(hints.get_block(), Some(8 << 20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadHints {
    block: Option<usize>,
    boundary: Option<u64>,
    min_concurrency: usize,
    max_concurrency: usize,
    gap: u64,
    span: u64,
    is_batched: bool,
}

impl Default for ReadHints {
    fn default() -> Self {
        Self::new()
    }
}

impl ReadHints {
    /// The largest number of concurrent reads.
    const MAX_CONCURRENCY: usize = 256;

    /// Returns hints for a source that is read like a local file, but by [batches](Self::batches).
    pub const fn new() -> Self {
        Self {
            block: None,
            boundary: None,
            min_concurrency: 1,
            max_concurrency: Self::MAX_CONCURRENCY,
            gap: 4 << 10,
            span: 128 << 10,
            is_batched: true,
        }
    }

    /// Sets the best size of one call, where the library can choose it: from 4 KiB to 1 GiB.
    ///
    /// Boundaries take precedence. Reading into an array with other strides asks a source with a smallest
    /// [concurrency](Self::concurrency) above 1 for that many blocks in one call.
    #[must_use]
    pub const fn block(mut self, bytes: usize) -> Self {
        self.block = Some(clamp(bytes, 4 << 10, 1 << 30));
        self
    }

    /// Sets the multiples at which reads should begin and end, such as the size of compressed blocks; at
    /// least 512 bytes.
    #[must_use]
    pub const fn boundary(mut self, bytes: u64) -> Self {
        self.boundary = Some(if bytes < 512 { 512 } else { bytes });
        self
    }

    /// Sets the smallest and the largest number of concurrent calls for one read of an array or a part: from 1
    /// to 256. Archives, conversions, and visits of blocks larger than [`block`](Self::block) may read from several
    /// threads in addition; smaller blocks are read by as many threads as this.
    ///
    /// Between them, [`ReadOptions::threads`](crate::ReadOptions::threads) decides. Where calls mostly wait,
    /// the smallest number should not depend on the number of processors.
    #[must_use]
    pub const fn concurrency(mut self, min: usize, max: usize) -> Self {
        self.min_concurrency = clamp(min, 1, Self::MAX_CONCURRENCY);
        self.max_concurrency = clamp(max, self.min_concurrency, Self::MAX_CONCURRENCY);
        self
    }

    /// Sets the largest gap between two parts that are best read by one call, including the gap.
    #[must_use]
    pub const fn gap(mut self, bytes: u64) -> Self {
        self.gap = bytes;
        self
    }

    /// Sets the largest extent of a call that reads several parts: up to 1 GiB.
    #[must_use]
    pub const fn span(mut self, bytes: u64) -> Self {
        self.span = if bytes > 1 << 30 { 1 << 30 } else { bytes };
        self
    }

    /// Sets whether parts at regular distances are read by [`read_parts`](super::ReadAt::read_parts) rather
    /// than by one call of `read_at` for each part or for each [span](Self::span). This is the default.
    #[must_use]
    pub const fn batches(mut self, are_better: bool) -> Self {
        self.is_batched = are_better;
        self
    }

    /// Returns the best size of one call; `None` if any size will do.
    pub const fn get_block(&self) -> Option<usize> {
        self.block
    }

    /// Returns the multiples at which reads should begin and end, if any.
    pub const fn get_boundary(&self) -> Option<u64> {
        self.boundary
    }

    /// Returns the smallest and the largest number of concurrent calls.
    pub const fn get_concurrency(&self) -> (usize, usize) {
        (self.min_concurrency, self.max_concurrency)
    }

    /// Returns the largest gap that is best read through.
    pub const fn get_gap(&self) -> u64 {
        self.gap
    }

    /// Returns the largest extent of a call that reads several parts.
    pub const fn get_span(&self) -> u64 {
        self.span
    }

    /// Returns whether parts at regular distances are best read together.
    pub const fn get_batches(&self) -> bool {
        self.is_batched
    }

    /// Returns the number of threads that read, where `wanted` threads were asked for.
    ///
    /// `wanted` is called only if its result matters: finding the number of processors, which is done once, takes as
    /// long as reading a small array.
    pub(crate) fn threads(&self, wanted: impl FnOnce() -> usize) -> usize {
        if self.min_concurrency == self.max_concurrency {
            self.max_concurrency
        } else {
            wanted().clamp(self.min_concurrency, self.max_concurrency)
        }
    }

    /// Returns whether calls mostly wait, so that more of them than there are processors are best.
    pub(crate) fn is_remote(&self) -> bool {
        self.min_concurrency > 1
    }
}

const fn clamp(number: usize, min: usize, max: usize) -> usize {
    if number < min {
        min
    } else if number > max {
        max
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::ReadHints;

    #[test]
    fn hints_are_clamped_to_their_limits() {
        let hints = ReadHints::new().block(0).boundary(0).concurrency(0, 0).span(u64::MAX);
        assert_eq!((hints.get_block(), hints.get_boundary()), (Some(4 << 10), Some(512)));
        assert_eq!((hints.get_concurrency(), hints.get_span()), ((1, 1), 1 << 30));
        let hints = ReadHints::new().block(usize::MAX).concurrency(usize::MAX, 3);
        assert_eq!((hints.get_block(), hints.get_concurrency()), (Some(1 << 30), (256, 256)));
        assert_eq!(hints.threads(|| unreachable!()), 256);
        assert_eq!(ReadHints::new().concurrency(2, 5).threads(|| 9), 5);
    }
}
