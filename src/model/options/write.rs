//! Options for writing.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::time::Duration;

use super::formats::{Compression, Trailing, Uncommitted};
use super::thread_count;
use crate::dtype::ByteOrder;
use crate::npy_format::Version;
use crate::progress::ProgressCallback;
use crate::shape::Order;

/// Options for writing.
///
/// ```
/// use ndarray::arr2;
/// use ndarray_io::header::Order;
/// use ndarray_io::npy::Version;
/// use ndarray_io::{ByteOrder, WriteNpyExt, WriteOptions};
///
/// let options = WriteOptions::new().byte_order(ByteOrder::Big).order(Order::Fortran).version(Version::V2);
/// let mut file = Vec::new();
/// options.write_to(&mut file, &arr2(&[[1i16, 2], [3, 4]]))?;
/// assert!(file.ends_with(&[0, 1, 0, 3, 0, 2, 0, 4]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", default, deny_unknown_fields))]
pub struct WriteOptions {
    pub(crate) version: Option<Version>,
    pub(crate) order: Option<Order>,
    pub(crate) byte_order: Option<ByteOrder>,
    pub(crate) text_width: Option<usize>,
    pub(crate) sync: bool,
    pub(crate) wait_for_lock: Duration,
    pub(crate) in_place: bool,
    pub(crate) create_new: bool,
    pub(crate) preallocate: bool,
    /// Whether the options are for a dtype that is only shown.
    #[cfg_attr(feature = "serde-1", serde(skip))]
    is_for_dtype_display: bool,
    pub(super) pickle_protocol: Option<u8>,
    pub(crate) compression: Compression,
    pub(super) trailing: Trailing,
    pub(crate) ra_bools: bool,
    pub(crate) uncommitted: Uncommitted,
    threads: Option<NonZero<usize>>,
    #[cfg_attr(feature = "serde-1", serde(skip))]
    progress: Option<ProgressCallback>,
}

impl WriteOptions {
    /// Returns the default options, which match `numpy.save`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version of the NPY format.
    ///
    /// By default it is the lowest version that can represent the header, as in NumPy.
    #[must_use]
    pub fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// Sets the order of the elements.
    ///
    /// By default, as in NumPy, it is C order, or Fortran order for an array that is contiguous only in that
    /// order.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Sets the byte order of the elements.
    ///
    /// By default it is the native byte order, but a [`DynArray`](crate::DynArray) keeps its own.
    #[must_use]
    pub fn byte_order(mut self, order: ByteOrder) -> Self {
        self.byte_order = Some(order);
        self
    }

    /// Sets the width of text (`String`, in code points) and of byte strings (`Vec<u8>`, in bytes).
    ///
    /// By default, it is the length of the longest element, but at least 1, as in NumPy. An element that exceeds
    /// a width that was set is an error, [`NotConvertible`](crate::error::ErrorKind::NotConvertible); it is never
    /// truncated.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::{WriteNpyExt, WriteOptions};
    ///
    /// let names = arr1(&["Ada".to_string(), "Grace".to_string()]);
    /// let mut file = Vec::new();
    /// assert!(WriteOptions::new().text_width(4).write_to(&mut file, &names).unwrap_err().is_mismatch());
    /// ```
    #[must_use]
    pub fn text_width(mut self, width: usize) -> Self {
        self.text_width = Some(width);
        self
    }

    /// Ensures that a file written by path survives a loss of power.
    ///
    /// The new file is synced to disk before it replaces the old one. By default (`false`) a file survives a
    /// crash of the process, but not necessarily a loss of power. For a writer other than a `File` or
    /// `BufWriter<File>`, `true` is an error, [`BadOption`](crate::error::ErrorKind::BadOption).
    #[must_use]
    pub fn sync(mut self, sync: bool) -> Self {
        self.sync = sync;
        self
    }

    /// Sets how long to wait for a lock on the file.
    ///
    /// Another process, or another part of this one, may be appending to the file, may be updating it, or may
    /// have mapped it for writing. By default, the call then fails immediately with
    /// [`Locked`](crate::error::ErrorKind::Locked).
    ///
    /// ```
    /// use ndarray_io::WriteOptions;
    /// use std::time::Duration;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npy");
    /// let options = WriteOptions::new().wait_for_lock(Duration::from_secs(10));
    /// options.write_npy(&path, &ndarray::arr1(&[1.0]))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn wait_for_lock(mut self, longest: Duration) -> Self {
        self.wait_for_lock = longest;
        self
    }

    /// Overwrites a file in place instead of replacing it atomically.
    ///
    /// This keeps hard links and another user's ownership, but a crash or a full disk leaves the file
    /// partially written. Do not write an array that is a view of the same file in this way.
    #[must_use]
    pub fn in_place(mut self, in_place: bool) -> Self {
        self.in_place = in_place;
        self
    }

    /// Writes a file only if nothing has its name yet; otherwise the call fails with
    /// [`AlreadyExists`](crate::error::ErrorKind::AlreadyExists).
    ///
    /// Of several processes that create the same file, one succeeds. A complete file does not appear under its name until
    /// it is complete; one that grows ([`NpyWriter`](crate::NpyWriter)) appears with its header, and locked. What changes an
    /// existing file or stack by definition, such as an append, refuses this option.
    ///
    /// ```
    /// use ndarray_io::WriteOptions;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npy");
    /// let options = WriteOptions::new().create_new(true);
    /// options.write_npy(&path, &ndarray::arr1(&[1.0]))?;
    /// assert!(options.write_npy(&path, &ndarray::arr1(&[2.0])).unwrap_err().is_conflict());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn create_new(mut self, create_new: bool) -> Self {
        self.create_new = create_new;
        self
    }

    /// Sets the protocol for pickles of Python objects: 2, 3 or 4.
    ///
    /// By default it is 4, as in NumPy 2. Protocols 2 and 3 are for older versions of Python. Writing objects
    /// with any other protocol is an error, [`BadOption`](crate::error::ErrorKind::BadOption).
    #[must_use]
    pub fn pickle_protocol(mut self, protocol: u8) -> Self {
        self.pickle_protocol = Some(protocol);
        self
    }

    /// Allocates the disk space of a file of zeros when the file is created.
    ///
    /// This applies to `write_zeroed_npy` and `NpyMmapMut::create`. A full disk is then an error of that
    /// call. By default, such a file is sparse and occupies space as it is filled; if the disk becomes
    /// full, a process that fills the file through a map is killed. Where the system cannot reserve space,
    /// zeros are written, which takes time proportional to the size.
    #[must_use]
    pub fn preallocate(mut self, preallocate: bool) -> Self {
        self.preallocate = preallocate;
        self
    }

    /// Sets how the members of an archive, or the elements of an RA file, are compressed. By default they are not.
    ///
    /// ```
    /// use ndarray::Array1;
    /// use ndarray_io::{Compression, WriteOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npz");
    /// let deflated = WriteOptions::new().compression(Compression::DEFLATE);
    /// deflated.write_npz(&path, &[("zeros", &Array1::<u8>::zeros(10_000))])?;
    /// assert!(std::fs::metadata(&path)?.len() < 500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets what happens to bytes that follow the array when an RA file is replaced. By default, such a file is not replaced.
    #[must_use]
    pub fn trailing(mut self, trailing: Trailing) -> Self {
        self.trailing = trailing;
        self
    }

    /// Writes `bool`, `bf16` and all other raw elements of 2 bytes as element type 5 of RA.
    ///
    /// Some programs interpret this type by its size, some always as `bool` or always as `bf16`, and some
    /// cannot read it. By default, `bool` is an error,
    /// [`NotConvertible`](crate::error::ErrorKind::NotConvertible), and `bf16` is written as raw bytes.
    #[must_use]
    pub fn ra_bools(mut self, ra_bools: bool) -> Self {
        self.ra_bools = ra_bools;
        self
    }

    /// Sets what happens to rows, or parts of a stack, that an interrupted append has left. By default, appending is refused.
    #[must_use]
    pub fn uncommitted(mut self, uncommitted: Uncommitted) -> Self {
        self.uncommitted = uncommitted;
        self
    }

    /// Sets the maximum number of threads that write one array; fewer are used if the work is short.
    ///
    /// By default it is the available parallelism when it is first asked for, at most 4. With 1, no thread is
    /// started; 0 means 1.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(NonZero::new(threads).unwrap_or(NonZero::<usize>::MIN));
        self
    }

    /// Sets a callback that receives the number of bytes written so far and the total number of bytes.
    ///
    /// It is invoked by one thread at a time. If it returns [`ControlFlow::Break`], the write fails with
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled), and an existing file that was to be replaced is
    /// left unchanged; a file that is overwritten in place is not. A [`NpyWriter`] does not invoke the callback, because each `push` is a separate write.
    ///
    /// [`NpyWriter`]: crate::NpyWriter
    ///
    /// ```
    /// use ndarray::Array1;
    /// use ndarray_io::WriteOptions;
    /// use std::ops::ControlFlow;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// let options = WriteOptions::new().progress(|_, _| ControlFlow::Break(()));
    /// assert!(options.write_npy(&path, &Array1::<f64>::zeros(1000)).unwrap_err().is_cancelled());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn progress(mut self, call: impl Fn(u64, u64) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.progress = Some(ProgressCallback::new(call));
        self
    }

    /// Returns the byte order set with [`byte_order`](Self::byte_order), or this machine's.
    pub(crate) fn get_byte_order(&self) -> ByteOrder {
        self.byte_order.unwrap_or(ByteOrder::NATIVE)
    }

    /// Returns the protocol set with [`pickle_protocol`](Self::pickle_protocol), or 4.
    #[cfg(feature = "object")]
    pub(crate) fn get_pickle_protocol(&self) -> u8 {
        self.pickle_protocol.unwrap_or(4)
    }

    /// Returns the number of threads set with [`threads`](Self::threads), or the default.
    pub fn get_threads(&self) -> usize {
        thread_count(self.threads)
    }

    pub(crate) fn get_trailing(&self) -> &Trailing {
        &self.trailing
    }

    /// Returns the options for RA files, in which the first axis varies fastest: in C order, the axes are reversed.
    pub(crate) fn for_ra(&self) -> Self {
        self.clone().order(self.order.unwrap_or(Order::Fortran))
    }

    pub(crate) fn get_progress(&self) -> Option<&ProgressCallback> {
        self.progress.as_ref()
    }

    /// Returns the options without the callback, for one of several steps.
    pub(crate) fn without_progress(&self) -> Self {
        Self { progress: None, ..self.clone() }
    }

    /// Returns options for a dtype that is only shown: a text in a record has a width of 1, if it has no other.
    pub(crate) fn for_dtype_display() -> Self {
        Self { is_for_dtype_display: true, ..Self::new() }
    }

    /// Returns the width of a text in a record that has no other.
    pub(crate) fn default_text_width(&self) -> Option<usize> {
        self.is_for_dtype_display.then_some(1)
    }

    /// Returns the options for a field of a record, which has its own width.
    pub(crate) fn for_field(&self, len: Option<usize>) -> Self {
        Self { text_width: len, ..self.clone() }
    }
}
