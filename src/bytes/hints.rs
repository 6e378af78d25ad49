//! [`ReadHints`]: how a source is best read.

/// How a [source](super::ReadAt) is best read: sizes, boundaries and concurrency.
///
/// The default is a source that is read like a local file, but by [batches](Self::batches). Numbers beyond the limits count as the limits.
///
/// # Examples
///
/// ```
/// use ndarray_io::bytes::ReadHints;
///
/// // A server: few large requests, eight at a time.
/// let hints = ReadHints { block: Some(8 << 20), concurrency: (8, 8), gap: 64 << 10, span: 8 << 20, ..ReadHints::default() };
/// assert!(hints.batches);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadHints {
    /// The best size of one call, where the library can choose it: from 4 KiB to 1 GiB; `None` if any size will do.
    ///
    /// Boundaries take precedence. Reading into an array with other strides asks a source with a smallest
    /// [concurrency](Self::concurrency) above 1 for that many blocks in one call.
    pub block: Option<usize>,
    /// The multiples at which reads should begin and end, such as the size of compressed blocks; at least 512 bytes.
    pub boundary: Option<u64>,
    /// The smallest and the largest number of concurrent calls for one read of an array or a part: from 1 to 256. Archives, conversions, and
    /// visits of blocks larger than [`block`](Self::block) may read from several threads in addition; smaller blocks are read by as many
    /// threads as this.
    ///
    /// Between them, [`ReadOptions::threads`](crate::ReadOptions::threads) decides. Where calls mostly wait,
    /// the smallest number should not depend on the number of processors.
    pub concurrency: (usize, usize),
    /// The largest gap between two parts that are best read by one call, including the gap.
    pub gap: u64,
    /// The largest extent of a call that reads several parts: up to 1 GiB.
    pub span: u64,
    /// Whether parts at regular distances are read by [`read_parts`](super::ReadAt::read_parts) rather than by one call of `read_at` for
    /// each part or for each [span](Self::span).
    pub batches: bool,
}

impl Default for ReadHints {
    fn default() -> Self {
        Self {
            block: None,
            boundary: None,
            concurrency: (1, Self::MAX_CONCURRENCY),
            gap: 4 << 10,
            span: 128 << 10,
            batches: true,
        }
    }
}

/// What a source says is not trusted, so the numbers are brought within their limits where they are used.
impl ReadHints {
    /// The largest number of concurrent reads.
    const MAX_CONCURRENCY: usize = 256;

    pub(crate) fn block_bytes(&self) -> Option<usize> {
        self.block.map(|bytes| bytes.clamp(4 << 10, 1 << 30))
    }

    pub(crate) fn boundary_bytes(&self) -> Option<u64> {
        self.boundary.map(|bytes| bytes.max(512))
    }

    pub(crate) fn thread_range(&self) -> (usize, usize) {
        let (min, max) = self.concurrency;
        let min = min.clamp(1, Self::MAX_CONCURRENCY);
        (min, max.clamp(min, Self::MAX_CONCURRENCY))
    }

    pub(crate) fn span_bytes(&self) -> u64 {
        self.span.min(1 << 30)
    }

    /// Returns the number of threads that read, where `wanted` threads were asked for.
    ///
    /// `wanted` is called only if its result matters: finding the number of processors, which is done once, takes as
    /// long as reading a small array.
    pub(crate) fn threads(&self, wanted: impl FnOnce() -> usize) -> usize {
        match self.thread_range() {
            (min, max) if min == max => max,
            (min, max) => wanted().clamp(min, max),
        }
    }

    /// Returns whether calls mostly wait, so that more of them than there are processors are best.
    pub(crate) fn is_remote(&self) -> bool {
        self.thread_range().0 > 1
    }
}

#[cfg(test)]
mod tests {
    use super::ReadHints;

    #[test]
    fn hints_are_clamped_to_their_limits() {
        let least = ReadHints {
            block: Some(0),
            boundary: Some(0),
            concurrency: (0, 0),
            span: u64::MAX,
            ..Default::default()
        };
        assert_eq!((least.block_bytes(), least.boundary_bytes()), (Some(4 << 10), Some(512)));
        assert_eq!((least.thread_range(), least.span_bytes()), ((1, 1), 1 << 30));
        let most = ReadHints { block: Some(usize::MAX), concurrency: (usize::MAX, 3), ..Default::default() };
        assert_eq!((most.block_bytes(), most.thread_range()), (Some(1 << 30), (256, 256)));
        assert_eq!(most.threads(|| unreachable!()), 256);
        assert_eq!(ReadHints { concurrency: (2, 5), ..Default::default() }.threads(|| 9), 5);
    }
}
