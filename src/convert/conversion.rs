//! Options for converting and joining files.

use std::ops::ControlFlow;

use crate::dtype::{ByteOrder, Casting, CastingRules, DType};
use crate::elements::resolve_target_dtype;
use crate::error::Result;
use crate::options::{ReadOptions, WriteOptions};
use crate::progress::check_cancelled;
use crate::shape::Order;

/// Options for converting and joining files.
///
/// Unlike other options, a `Conversion` is passed by value, because its progress callback may borrow from the
/// caller.
///
/// ```
/// use ndarray_io::convert::Conversion;
/// use ndarray_io::header::Order;
/// use ndarray_io::ByteOrder;
/// use std::ops::ControlFlow;
///
/// let conversion = Conversion::new()
///     .order(Order::Fortran)
///     .byte_order(ByteOrder::Little)
///     .progress(|done, all| {
///         eprintln!("{done} of {all} bytes");
///         ControlFlow::Continue(()) // or Break, which cancels
///     });
/// ```
#[derive(Default)]
pub struct Conversion<'a> {
    pub(super) order: Option<Order>,
    pub(super) byte_order: Option<ByteOrder>,
    pub(super) dtype: Option<(DType, Casting)>,
    pub(super) memory: Option<usize>,
    pub(super) drop_trailing: bool,
    pub(super) progress: Option<Box<ProgressFn<'a>>>,
    /// If the file is one of several: the number of bytes written to the files before it, and the total.
    pub(super) series_progress: Option<(u64, u64)>,
    pub(super) read: ReadOptions,
    pub(super) write: WriteOptions,
}

/// A callback that receives the number of bytes done and the total.
type ProgressFn<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + Send + 'a;

impl<'a> Conversion<'a> {
    /// Creates options that change nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the order of the new file.
    ///
    /// The default is the order of the first input, or Fortran order for an RA file.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Sets the byte order of all elements of the new file.
    ///
    /// The default is that of the dtype set with [`dtype`](Self::dtype), or else that of the input.
    #[must_use]
    pub fn byte_order(mut self, order: ByteOrder) -> Self {
        self.byte_order = Some(order);
        self
    }

    /// Sets the dtype of the new file, converted as by [`DynArray::cast_to`](crate::DynArray::cast_to) (default: that of the input).
    #[must_use]
    pub fn dtype(mut self, dtype: DType, casting: Casting) -> Self {
        self.dtype = Some((dtype, casting));
        self
    }

    /// Sets the approximate memory budget for data in bytes, shared by all threads (default: 64 MiB).
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Sets a callback that receives the number of bytes done and the total.
    ///
    /// If it returns [`ControlFlow::Break`], the conversion is cancelled, and the output is neither created
    /// nor replaced, unless it is overwritten in place or is not a regular file.
    #[must_use]
    pub fn progress(mut self, call: impl FnMut(u64, u64) -> ControlFlow<()> + Send + 'a) -> Self {
        self.progress = Some(Box::new(call));
        self
    }

    /// Drops bytes that follow the array of an RA file, which NPY cannot represent (default: an error).
    #[must_use]
    pub fn drop_trailing(mut self, drop: bool) -> Self {
        self.drop_trailing = drop;
        self
    }

    /// Sets the options for reading the inputs, such as limits. Arrays that are open keep their own.
    ///
    /// The number of threads is that of the options set with [`write_options`](Self::write_options).
    #[must_use]
    pub fn read_options(mut self, options: ReadOptions) -> Self {
        self.read = options;
        self
    }

    /// Sets the options for the new file: version, `sync`, `in_place`, `create_new`, threads; of an RA file, `trailing` and `ra_bools` in place of the
    /// version. Others are [`BadOption`](crate::error::ErrorKind::BadOption).
    #[must_use]
    pub fn write_options(mut self, options: WriteOptions) -> Self {
        self.write = options.without_progress(); // `Conversion` has its own callback
        self
    }

    /// Returns the options set by [`read_options`](Self::read_options).
    #[cfg(feature = "dask")]
    pub(crate) fn get_read_options(&self) -> &ReadOptions {
        &self.read
    }

    /// Returns the options set by [`write_options`](Self::write_options).
    #[cfg(feature = "dask")]
    pub(crate) fn get_write_options(&self) -> &WriteOptions {
        &self.write
    }

    /// Returns the memory budget in bytes.
    pub(super) fn memory_budget(&self) -> usize {
        self.memory.unwrap_or(64 << 20)
    }

    pub(super) fn report(&mut self, done: u64, all: u64) -> Result<()> {
        let (done, all) = self.series_progress.map_or((done, all), |(before, all)| (before + done, all));
        match self.progress.as_mut().map(|call| call(done, all)) {
            Some(answer) => check_cancelled(answer),
            None => Ok(()),
        }
    }

    pub(super) fn rules(&self) -> CastingRules {
        let casting = self.dtype.as_ref().map_or(Casting::Safe, |(_, casting)| *casting);
        self.read.rules_with_casting(casting)
    }

    pub(super) fn target(&self, dtype: &DType) -> DType {
        let target = self
            .dtype
            .as_ref()
            .map_or_else(|| dtype.clone(), |(target, _)| resolve_target_dtype(dtype, target));
        self.byte_order.map_or_else(|| target.clone(), |order| target.with_byte_order(order))
    }
}

impl std::fmt::Debug for Conversion<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { order, byte_order, dtype, memory, .. } = self;
        f.debug_struct("Conversion")
            .field("order", order)
            .field("byte_order", byte_order)
            .field("dtype", dtype)
            .field("memory", memory)
            .finish_non_exhaustive()
    }
}
