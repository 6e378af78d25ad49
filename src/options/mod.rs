//! What a caller may ask for beyond the defaults, for every format and every way in and out.

mod look;
pub(crate) mod ra;

pub use look::Look;
pub(crate) use ra::RaOptions;
pub use ra::Trailing;

use std::num::NonZero;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use crate::dtype::{ByteOrder, Casting};
use crate::limits::Limits;
use crate::npy_format::Version;
use crate::progress::Progress;
use crate::shape::Order;

/// Options for reading.
///
/// Every option has a method that sets it, and one that begins with `get_` and says what is set. What takes options ends with `_with`
/// and takes them by reference.
///
/// ```
/// use ndarray_io::{Casting, Limits, ReadOptions};
///
/// let options = ReadOptions::new()
///     .limits(Limits::default().payload(1 << 30))
///     .casting(Casting::SameKind)
///     .threads(1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    limits: Limits,
    casting: Option<Casting>,
    allow_trailing: bool,
    ignore_extra_fields: bool,
    ignore_ra_flags: bool,
    allow_objects: bool,
    old_text: OldText,
    /// Raw bytes are taken for records of their size, in this byte order.
    composites: Option<ByteOrder>,
    innermost_first: bool,
    #[cfg(feature = "zip-methods")]
    password: Option<Password>,
    threads: Option<NonZero<usize>>,
    progress: Option<Progress>,
}

/// A password, which is not shown.
#[cfg(feature = "zip-methods")]
#[derive(Clone)]
struct Password(std::sync::Arc<[u8]>);

#[cfg(feature = "zip-methods")]
impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// What a `str` in a pickle of Python 2 is: it may be text or bytes, and nothing says which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OldText {
    /// Text if it is ASCII, else bytes. (NumPy has no such way.)
    #[default]
    AsciiOrBytes,
    /// Text, and an error if it is not ASCII: NumPy's default.
    Ascii,
    /// Text, each byte of which is a character.
    Latin1,
    /// Bytes.
    Bytes,
}

impl ReadOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the file may ask for.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Converts elements of another type: numbers, bools and times to one another. By default the file's dtype has to be the Rust type's own, in either byte
    /// order.
    #[must_use]
    pub fn casting(mut self, casting: Casting) -> Self {
        self.casting = Some(casting);
        self
    }

    /// Passes over bytes behind the array where a whole file or slice is read. By default they are an error. From a
    /// reader exactly one array is taken anyway, and what follows it is left.
    #[must_use]
    pub fn allow_trailing(mut self, allow: bool) -> Self {
        self.allow_trailing = allow;
        self
    }

    /// Passes over fields of the file's records that the struct to read does not have. By default they are an error.
    #[must_use]
    pub fn ignore_extra_fields(mut self, ignore: bool) -> Self {
        self.ignore_extra_fields = ignore;
        self
    }

    /// Lets a [`DynArray`](crate::DynArray) hold Python objects, as data: see `object::Object`. By default it is an error, since a file of
    /// objects is nearly always a surprise. (Who asks for `Object` by name needs no option.)
    #[must_use]
    pub fn allow_objects(mut self, allow: bool) -> Self {
        self.allow_objects = allow;
        self
    }

    /// What a `str` in a pickle of Python 2 is, as NumPy's `encoding` says it. By default text if it is ASCII, else bytes.
    #[must_use]
    pub fn old_text(mut self, old_text: OldText) -> Self {
        self.old_text = old_text;
        self
    }

    /// Passes over flags of an RA file that are not known, and takes data as they are that are marked as packed and are not.
    /// By default both are an error.
    #[must_use]
    pub fn ignore_ra_flags(mut self, ignore: bool) -> Self {
        self.ignore_ra_flags = ignore;
        self
    }

    /// How many threads may work on one large array. By default as many as the machine has, up to 4; 1 never starts
    /// one. (0 is taken for 1.)
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(NonZero::new(threads).unwrap_or(NonZero::<usize>::MIN));
        self
    }

    /// Calls with the bytes done and those in all, again and again while the elements of an array are read. If the call
    /// breaks off, the read is cancelled, which is an error.
    ///
    /// ```
    /// use ndarray::Array1;
    /// use ndarray_io::{ReadOptions, read_npy_with};
    /// use std::ops::ControlFlow;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// # ndarray_io::write_npy(&path, &Array1::<f64>::zeros(1000))?;
    /// let options = ReadOptions::new().progress(|done, all| {
    ///     eprint!("\r{} %", 100 * done / all);
    ///     ControlFlow::Continue(())
    /// });
    /// let array: Array1<f64> = read_npy_with(&path, &options)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn progress(mut self, call: impl Fn(u64, u64) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.progress = Some(Progress::new(call));
        self
    }

    /// The password of encrypted members of an archive, as bytes: most programs take it as UTF-8. It is the same for all members
    /// that are read with these options, and does not show in `Debug`.
    ///
    /// The old encryption of ZIP is no protection; that by AES is one.
    #[cfg(feature = "zip-methods")]
    #[must_use]
    pub fn password(mut self, password: impl AsRef<[u8]>) -> Self {
        self.password = Some(Password(password.as_ref().into()));
        self
    }

    /// Whether [`password`](Self::password) has set one.
    #[cfg(feature = "zip-methods")]
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }

    #[cfg(feature = "zip-methods")]
    pub(crate) fn the_password(&self) -> Option<&[u8]> {
        self.password.as_ref().map(|Password(bytes)| &bytes[..])
    }

    /// What [`limits`](Self::limits) has set.
    pub fn get_limits(&self) -> &Limits {
        &self.limits
    }

    /// What [`casting`](Self::casting) has set.
    pub fn get_casting(&self) -> Option<Casting> {
        self.casting
    }

    /// What [`allow_trailing`](Self::allow_trailing) has set.
    pub fn get_allow_trailing(&self) -> bool {
        self.allow_trailing
    }

    /// What [`ignore_extra_fields`](Self::ignore_extra_fields) has set.
    pub fn get_ignore_extra_fields(&self) -> bool {
        self.ignore_extra_fields
    }

    /// What [`allow_objects`](Self::allow_objects) has set.
    pub fn get_allow_objects(&self) -> bool {
        self.allow_objects
    }

    /// What [`old_text`](Self::old_text) has set.
    pub fn get_old_text(&self) -> OldText {
        self.old_text
    }

    /// What [`ignore_ra_flags`](Self::ignore_ra_flags) has set.
    pub fn get_ignore_ra_flags(&self) -> bool {
        self.ignore_ra_flags
    }

    /// The number of threads that [`threads`](Self::threads) has set, or that the machine has.
    pub fn get_threads(&self) -> usize {
        thread_count(self.threads)
    }

    pub(crate) fn the_progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    /// The same for a file whose composite elements are known by their size alone.
    pub(crate) fn with_composites(self, order: ByteOrder) -> Self {
        Self { composites: Some(order), ..self }
    }

    /// The same without the callback, for a part of what it is told about.
    pub(crate) fn without_progress(&self) -> Self {
        Self { progress: None, ..self.clone() }
    }

    /// The same for a file whose axes are listed from the fastest to the slowest.
    pub(crate) fn with_innermost_first(self) -> Self {
        Self { innermost_first: true, ..self }
    }

    pub(crate) fn is_innermost_first(&self) -> bool {
        self.innermost_first
    }

    pub(crate) fn the_composites(&self) -> Option<ByteOrder> {
        self.composites
    }
}

/// Options for writing.
///
/// ```
/// use ndarray::arr2;
/// use ndarray_io::dtype::ByteOrder;
/// use ndarray_io::header::Order;
/// use ndarray_io::npy::Version;
/// use ndarray_io::{WriteNpyExt, WriteOptions};
///
/// let options = WriteOptions::new().byte_order(ByteOrder::Big).order(Order::Fortran).version(Version::V2);
/// let mut file = Vec::new();
/// arr2(&[[1i16, 2], [3, 4]]).write_npy_with(&mut file, &options)?;
/// assert!(file.ends_with(&[0, 1, 0, 3, 0, 2, 0, 4]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    version: Option<Version>,
    order: Option<Order>,
    byte_order: Option<ByteOrder>,
    text_width: Option<usize>,
    sync: bool,
    wait_for_lock: Duration,
    in_place: bool,
    preallocate: bool,
    pickle_protocol: Option<u8>,
    threads: Option<NonZero<usize>>,
    progress: Option<Progress>,
}

impl WriteOptions {
    /// The defaults: what `numpy.save` does.
    pub fn new() -> Self {
        Self::default()
    }

    /// The version of the NPY format. By default the lowest that can hold the header, as NumPy chooses it.
    #[must_use]
    pub fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// The order of the elements. By default C order, but Fortran order for an array that is contiguous in that order
    /// only, as NumPy chooses it.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// The byte order of the elements. By default this machine's; a [`DynArray`](crate::DynArray) keeps its own.
    #[must_use]
    pub fn byte_order(mut self, order: ByteOrder) -> Self {
        self.byte_order = Some(order);
        self
    }

    /// The width of text (`String`, in code points) and of strings of bytes (`Vec<u8>`). By default that of the longest
    /// element, at least 1, as NumPy chooses it. An element that is longer is an error, never cut.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::{WriteNpyExt, WriteOptions};
    ///
    /// let names = arr1(&["Ada".to_string(), "Grace".to_string()]);
    /// let mut file = Vec::new();
    /// assert!(names.write_npy_with(&mut file, &WriteOptions::new().text_width(4)).unwrap_err().is_mismatch());
    /// ```
    #[must_use]
    pub fn text_width(mut self, width: usize) -> Self {
        self.text_width = Some(width);
        self
    }

    /// Makes a file that is written by its path survive a loss of power: it is forced to the disk before it takes the
    /// place of the old one. Without it the file survives the death of the process, which costs nothing.
    #[must_use]
    pub fn sync(mut self, sync: bool) -> Self {
        self.sync = sync;
        self
    }

    /// How long to wait for another process (or another part of this one) that is appending to the file, updating it or has
    /// mapped it for writing. By default the call fails at once, with [`ErrorKind::Locked`](crate::error::ErrorKind::Locked).
    ///
    /// ```
    /// use ndarray_io::{WriteOptions, write_npy_with};
    /// use std::time::Duration;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npy");
    /// let options = WriteOptions::new().wait_for_lock(Duration::from_secs(10));
    /// write_npy_with(&path, &ndarray::arr1(&[1.0]), &options)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn wait_for_lock(mut self, longest: Duration) -> Self {
        self.wait_for_lock = longest;
        self
    }

    /// Overwrites a file where it is, instead of replacing it as a whole. This keeps hard links and a foreign owner,
    /// but a crash or a full disk leaves a torn file, and an array that views the same file must not be written so.
    #[must_use]
    pub fn in_place(mut self, in_place: bool) -> Self {
        self.in_place = in_place;
        self
    }

    /// The protocol of a pickle of Python objects: 4, as NumPy 2 writes it, or 2 or 3, which older versions read as well.
    #[must_use]
    pub fn pickle_protocol(mut self, protocol: u8) -> Self {
        self.pickle_protocol = Some(protocol);
        self
    }

    /// Gives a file that is made full of zeros (`write_zeroed_npy`, `NpyMmapMut::create`) its room on the disk at once, so
    /// that a full disk is an error then. Without it such a file takes room only where it is filled, and a disk that is
    /// full by then kills a process that fills it through a map.
    #[must_use]
    pub fn preallocate(mut self, preallocate: bool) -> Self {
        self.preallocate = preallocate;
        self
    }

    /// How many threads may work on one large array. By default as many as the machine has, up to 4; 1 never starts
    /// one. (0 is taken for 1.)
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(NonZero::new(threads).unwrap_or(NonZero::<usize>::MIN));
        self
    }

    /// Calls with the bytes done and those in all, again and again while an array is written. If the call breaks off, the
    /// write is cancelled, which is an error: a file that is written by its path stays as it was. (Of a [`NpyWriter`] each
    /// `push` is a step already; it does not call.)
    ///
    /// [`NpyWriter`]: crate::NpyWriter
    ///
    /// ```
    /// use ndarray::Array1;
    /// use ndarray_io::{WriteOptions, write_npy_with};
    /// use std::ops::ControlFlow;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// let options = WriteOptions::new().progress(|_, _| ControlFlow::Break(()));
    /// assert!(write_npy_with(&path, &Array1::<f64>::zeros(1000), &options).unwrap_err().is_cancelled());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn progress(mut self, call: impl Fn(u64, u64) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.progress = Some(Progress::new(call));
        self
    }

    /// What [`version`](Self::version) has set.
    pub fn get_version(&self) -> Option<Version> {
        self.version
    }

    /// What [`order`](Self::order) has set.
    pub fn get_order(&self) -> Option<Order> {
        self.order
    }

    /// The byte order that [`byte_order`](Self::byte_order) has set, if any.
    pub(crate) fn chosen_byte_order(&self) -> Option<ByteOrder> {
        self.byte_order
    }

    /// The byte order that [`byte_order`](Self::byte_order) has set, or this machine's.
    pub fn get_byte_order(&self) -> ByteOrder {
        self.byte_order.unwrap_or(ByteOrder::NATIVE)
    }

    /// What [`text_width`](Self::text_width) has set.
    pub fn get_text_width(&self) -> Option<usize> {
        self.text_width
    }

    /// What [`sync`](Self::sync) has set.
    pub fn get_sync(&self) -> bool {
        self.sync
    }

    /// What [`wait_for_lock`](Self::wait_for_lock) has set.
    pub fn get_wait_for_lock(&self) -> Duration {
        self.wait_for_lock
    }

    /// What [`in_place`](Self::in_place) has set.
    pub fn get_in_place(&self) -> bool {
        self.in_place
    }

    /// The protocol that [`pickle_protocol`](Self::pickle_protocol) has set, or 4.
    pub fn get_pickle_protocol(&self) -> u8 {
        self.pickle_protocol.unwrap_or(4)
    }

    /// What [`preallocate`](Self::preallocate) has set.
    pub fn get_preallocate(&self) -> bool {
        self.preallocate
    }

    /// The number of threads that [`threads`](Self::threads) has set, or that the machine has.
    pub fn get_threads(&self) -> usize {
        thread_count(self.threads)
    }

    pub(crate) fn the_progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    /// The same for one step of many.
    pub(crate) fn without_progress(&self) -> Self {
        Self { progress: None, ..self.clone() }
    }

    /// The same for a field of a record, which has a width of its own.
    pub(crate) fn for_field(&self, len: Option<usize>) -> Self {
        Self { text_width: len, ..self.clone() }
    }
}

fn thread_count(asked: Option<NonZero<usize>>) -> usize {
    const MOST: usize = 4;
    let available = || thread::available_parallelism().map_or(1, NonZero::get).min(MOST);
    asked.map_or_else(available, NonZero::get)
}
