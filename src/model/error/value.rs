//! [`Error`], and [`Result`].

use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::fault::{self, LimitKind};
use super::{ErrorKind, Fault, Help, Remedy};
use crate::shape::{Order, Shape};

/// A `Result` whose error is [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error together with the value that could not be converted.
///
/// [`into_inner`](Self::into_inner) returns the value. The `?` operator keeps the error and drops the value.
///
/// ```
/// use ndarray::{Array1, Ix1, arr1};
/// use ndarray_io::DynArray;
///
/// let array = DynArray::new(&arr1(&[1.5, 2.5]))?;
/// let failed = array.into_array::<i32, Ix1>().unwrap_err();
/// assert!(failed.error().is_mismatch());
/// let floats: Array1<f64> = failed.into_inner().into_array()?;
/// assert_eq!(floats[1], 2.5);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub struct Returned<T>(Box<(T, Error)>);

impl<T> Returned<T> {
    pub(crate) fn new(inner: T, error: Error) -> Self {
        Self(Box::new((inner, error)))
    }

    /// Returns the error.
    pub fn error(&self) -> &Error {
        &self.0.1
    }

    /// Returns the value, unchanged.
    pub fn into_inner(self) -> T {
        self.0.0
    }
}

impl<T> From<Returned<T>> for Error {
    fn from(returned: Returned<T>) -> Self {
        returned.0.1
    }
}

impl<T> fmt::Debug for Returned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.error(), f)
    }
}

impl<T> fmt::Display for Returned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.error(), f)
    }
}

impl<T> std::error::Error for Returned<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error().source()
    }
}

/// An error of this crate: what went wrong, and where.
///
/// Match on [`kind`](Error::kind), or ask for the category: [`is_io`](Error::is_io),
/// [`is_format`](Error::is_format), [`is_mismatch`](Error::is_mismatch), [`is_limit`](Error::is_limit),
/// [`is_not_found`](Error::is_not_found), [`is_conflict`](Error::is_conflict),
/// [`is_cancelled`](Error::is_cancelled), [`is_usage`](Error::is_usage).
///
/// `Display` describes what was found, what was expected, and where, in one line. [`help`](Error::help)
/// says what to do, if something can be done. It follows the line in `{:#}` and in `Debug`, which is what `unwrap` and `main` print. The
/// [`source`](std::error::Error::source) is the cause of an I/O error alone.
///
/// ```
/// use ndarray::Array1;
/// use ndarray_io::error::ErrorKind;
/// use ndarray_io::ReadNpyExt;
///
/// let error = Array1::<f64>::read_npy(&b"not an array"[..]).unwrap_err();
/// assert!(error.is_format());
/// assert_eq!(error.kind(), ErrorKind::BadMagic);
///
/// let error = Array1::<i8>::read_npy(&b"\x93NUMPY\x01\0\x37\0{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}"[..]).unwrap_err();
/// assert_eq!(format!("{error:?}"), "expected elements of '|i1', found '<f4'\n  help: read it as f32, or convert it with ReadOptions::casting");
/// ```
// Boxed, so that a `Result` with this error stays small.
pub struct Error(Box<ErrorData>);

struct ErrorData {
    fault: Fault,
    path: Option<PathBuf>,
    member: Option<String>,
    element: Option<usize>,
    index: Vec<usize>,
    field: Option<String>,
    help: Option<Remedy>,
    /// Whether an I/O error is one of writing.
    is_write_error: bool,
}

impl Error {
    /// Creates an error, for what is built on this library: sources of bytes, stores, and formats of others.
    ///
    /// The text says what was found and what was expected, without the place, which [`at_path`](Self::at_path) and its siblings add. Errors of
    /// the system are those of [`std::io`], which `?` converts; bytes that have to be loaded are [`not_loaded`](Self::not_loaded).
    ///
    /// ```
    /// use ndarray_io::Error;
    /// use ndarray_io::error::ErrorKind;
    ///
    /// let error = Error::new(ErrorKind::BadSource, "the server ignores ranges").at_path("s3://bucket/a.npy");
    /// assert!(error.is_io());
    /// assert_eq!(error.to_string(), "s3://bucket/a.npy: the server ignores ranges");
    /// ```
    pub fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Fault::Other { kind, text: text.into() }.into()
    }

    /// Returns what a program can act upon.
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    ///
    /// let error = ndarray_io::read_npy::<_, ndarray::Array1<f64>>("/no/such/file").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Io);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.fault().kind()
    }

    /// Returns the text without the place and without the remedy: for readers who need not know the path.
    ///
    /// ```
    /// let error = ndarray_io::Error::from(ndarray_io::error::ErrorKind::Locked).at_path("/home/me/a.npy");
    /// assert_eq!(error.message(), "locked by another writer");
    /// ```
    pub fn message(&self) -> String {
        self.fault().to_string()
    }

    pub(crate) fn fault(&self) -> &Fault {
        &self.0.fault
    }

    /// Returns the error of the system, if this is one.
    ///
    /// ```
    /// let error = ndarray_io::read_npy::<_, ndarray::Array1<f64>>("/no/such/file").unwrap_err();
    /// assert_eq!(error.as_io().unwrap().kind(), std::io::ErrorKind::NotFound);
    /// ```
    pub fn as_io(&self) -> Option<&io::Error> {
        match self.fault() {
            Fault::Io(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the ranges of the source that have to be loaded, if this is [`NotLoaded`](ErrorKind::NotLoaded). Without ranges, to repeat the
    /// read leads nowhere.
    ///
    /// Sources return this error where someone else does the I/O: the read fails, the caller fetches the bytes, and repeats it. Iterators
    /// are begun again.
    ///
    /// ```
    /// let error = ndarray_io::Error::not_loaded(vec![0..128]);
    /// assert_eq!(error.missing_ranges(), [0..128]);
    /// ```
    pub fn missing_ranges(&self) -> &[std::ops::Range<u64>] {
        match self.fault() {
            Fault::NotLoaded { missing } => missing,
            _ => &[],
        }
    }

    /// Returns the path of the file that caused the error, if it was opened by path.
    ///
    /// ```
    /// # use ndarray::Array1;
    /// let error = ndarray_io::read_npy::<_, Array1<f64>>("no/such/file.npy").unwrap_err();
    /// assert_eq!(error.path().unwrap().to_str(), Some("no/such/file.npy"));
    /// ```
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the name of the archive member that caused the error, if any.
    ///
    /// ```
    /// # #[cfg(feature = "npz")] {
    /// # use ndarray::{arr1, Array1};
    /// # use ndarray_io::{NpzReader, NpzWriter};
    /// let mut npz = NpzWriter::new(Vec::new());
    /// npz.add("x", &arr1(&[1.0]))?;
    /// let mut npz = NpzReader::new(std::io::Cursor::new(npz.finish()?))?;
    /// assert_eq!(npz.read::<Array1<u8>>("x").unwrap_err().member(), Some("x.npy"));
    /// # }
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn member(&self) -> Option<&str> {
        self.0.member.as_deref()
    }

    /// Returns the index of the element that caused the error, counted from 0 in the order of the file.
    ///
    /// ```
    /// # use ndarray::Array1;
    /// # use ndarray_io::{ReadNpyExt, WriteNpyExt};
    /// let mut file = Vec::new();
    /// Array1::from(vec![0u8, 1, 2]).write_npy(&mut file)?;
    /// let file = String::from_utf8_lossy(&file[6..]).replace("|u1", "|b1");
    /// let error = Array1::<bool>::read_npy(&[b"\x93NUMPY", file.as_bytes()].concat()[..]).unwrap_err();
    /// assert_eq!(error.element(), Some(2)); // it is neither 0 nor 1
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn element(&self) -> Option<usize> {
        self.0.element
    }

    /// Returns the index of the element along each axis, if the array has several axes.
    ///
    /// ```
    /// # use ndarray::Array2;
    /// # use ndarray_io::{ReadNpyExt, WriteNpyExt};
    /// let mut file = Vec::new();
    /// Array2::from_shape_fn((2, 3), |(i, j)| (i * j) as u8).write_npy(&mut file)?;
    /// let file = String::from_utf8_lossy(&file[6..]).replace("|u1", "|b1");
    /// let error = Array2::<bool>::read_npy(&[b"\x93NUMPY", file.as_bytes()].concat()[..]).unwrap_err();
    /// assert_eq!((error.element(), error.index()), (Some(5), Some(&[1, 2][..])));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn index(&self) -> Option<&[usize]> {
        if self.0.index.is_empty() { None } else { Some(&self.0.index) }
    }

    /// Returns the name of the record field that caused the error.
    ///
    /// For nested records, the names are joined by dots, from the outermost to the innermost.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use ndarray::Array1;
    /// use ndarray_io::{ReadNpyExt, Record, WriteNpyExt};
    ///
    /// #[derive(Record)]
    /// struct Written { mass: f32 }
    ///
    /// #[derive(Record)]
    /// struct Wanted { mass: f64 }
    ///
    /// let mut file = Vec::new();
    /// Array1::from(vec![Written { mass: 1.0 }]).write_npy(&mut file)?;
    /// assert_eq!(Array1::<Wanted>::read_npy(&file[..]).err().unwrap().field(), Some("mass"));
    /// # }
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// Returns whether the system failed: a missing file, a full disk, a lost connection, out of memory; or
    /// whether a source has not loaded the bytes yet, or did not do what it is for.
    ///
    /// ```
    /// # use ndarray::Array1;
    /// assert!(ndarray_io::read_npy::<_, Array1<f64>>("no/such/file.npy").unwrap_err().is_io());
    /// ```
    pub fn is_io(&self) -> bool {
        self.kind().class() == fault::Class::Io
    }

    /// Returns whether the file is malformed, truncated, or uses a feature that is not supported.
    ///
    /// ```
    /// # use ndarray::Array1;
    /// # use ndarray_io::ReadNpyExt;
    /// assert!(Array1::<f64>::read_npy(&b""[..]).unwrap_err().is_format());
    /// ```
    pub fn is_format(&self) -> bool {
        self.kind().class() == fault::Class::Format
    }

    /// Returns whether valid data does not match the Rust type, the target, or the format to be written.
    ///
    /// Examples are an unexpected dtype or shape, a value that cannot be converted, text that is too long,
    /// and bytes that cannot be viewed in place.
    ///
    /// ```
    /// # use ndarray::{Array1, Array2, arr1};
    /// # use ndarray_io::{ReadNpyExt, WriteNpyExt};
    /// let mut file = Vec::new();
    /// arr1(&[1.0, 2.0]).write_npy(&mut file)?;
    /// assert!(Array1::<i32>::read_npy(&file[..]).unwrap_err().is_mismatch());
    /// assert!(Array2::<f64>::read_npy(&file[..]).unwrap_err().is_mismatch());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn is_mismatch(&self) -> bool {
        self.kind().class() == fault::Class::Mismatch
    }

    /// Returns whether the elements or fields of the file have another type than the caller wants: another type can be tried.
    ///
    /// ```
    /// # use ndarray::{Array2, ArrayD, arr1};
    /// # use ndarray_io::{ReadNpyExt, WriteNpyExt};
    /// let mut file = Vec::new();
    /// arr1(&[1.0, 2.0]).write_npy(&mut file)?;
    /// assert!(Array2::<i32>::read_npy(&file[..]).unwrap_err().is_dtype_mismatch()); // the type is looked at first
    /// let error = Array2::<f64>::read_npy(&file[..]).unwrap_err();
    /// assert!(error.is_shape_mismatch() && !error.is_dtype_mismatch());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn is_dtype_mismatch(&self) -> bool {
        matches!(self.kind(), ErrorKind::DTypeMismatch | ErrorKind::Objects)
    }

    /// Returns whether the array has another shape, or another number of axes, than the caller wants.
    pub fn is_shape_mismatch(&self) -> bool {
        self.kind() == ErrorKind::ShapeMismatch
    }

    /// Returns whether a request asks for what there is not: a part, an axis, a field or a member. A server answers it with an error of the
    /// client, and other [faults of the call](Self::is_usage) with one of its own.
    ///
    /// ```
    /// # use ndarray::{arr1, s};
    /// # use ndarray_io::{NpyFile, write_npy};
    /// # let file = tempfile::NamedTempFile::new().unwrap();
    /// write_npy(file.path(), &arr1(&[1.0]))?;
    /// let array = NpyFile::open(file.path())?;
    /// assert!(array.slice::<f64, _>(s![5]).unwrap_err().is_client_fault());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn is_client_fault(&self) -> bool {
        use ErrorKind::{AmbiguousName, Encrypted, NoSuchName, OutOfBounds};
        // A name that is taken already is the fault of who writes the archive.
        matches!(self.kind(), OutOfBounds | NoSuchName | AmbiguousName | Encrypted)
            && !matches!(self.fault(), Fault::NameTaken { .. })
    }

    /// Returns whether a limit was exceeded. [`help`](Error::help) names the limit if it can be raised.
    ///
    /// ```
    /// # use ndarray::{Array1, arr1};
    /// # use ndarray_io::{Limits, ReadNpyExt, ReadOptions, WriteNpyExt};
    /// let mut file = Vec::new();
    /// arr1(&[1.0, 2.0]).write_npy(&mut file)?;
    /// let options = ReadOptions::new().limits(Limits::default().payload(8));
    /// let error = options.read_from::<Array1<f64>>(&file[..]).unwrap_err();
    /// assert!(error.is_limit());
    /// assert_eq!(error.help().unwrap().id(), "raise-payload-limit");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn is_limit(&self) -> bool {
        self.kind().class() == fault::Class::Limit
    }

    /// Returns whether the call is at fault, not the file.
    ///
    /// Examples are options that contradict each other, an index that is out of range, an ambiguous or
    /// duplicate member name, a missing password, and the wrong number of elements.
    ///
    /// ```
    /// # use ndarray_io::{NpyFile, write_npy};
    /// # let file = tempfile::NamedTempFile::new().unwrap();
    /// write_npy(file.path(), &ndarray::arr1(&[1.0]))?;
    /// let array = NpyFile::open(file.path())?;
    /// assert!(array.take::<ndarray::Array1<f64>>(0, &[5]).unwrap_err().is_usage());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn is_usage(&self) -> bool {
        self.kind().class() == fault::Class::Usage
    }

    /// Returns whether the file, the archive member or the field does not exist.
    ///
    /// ```
    /// # use ndarray::Array1;
    /// assert!(ndarray_io::read_npy::<_, Array1<f64>>("no/such/file.npy").unwrap_err().is_not_found());
    /// ```
    pub fn is_not_found(&self) -> bool {
        match self.as_io() {
            Some(error) => error.kind() == io::ErrorKind::NotFound,
            None => self.kind().class() == fault::Class::NotFound,
        }
    }

    /// Returns whether the state of the file prevents the operation.
    ///
    /// For example, the file already exists, another writer has locked or changed it, replacing it would lose
    /// something, it contains rows of an interrupted append, or its header is too small for a larger array.
    ///
    /// ```
    /// # let file = tempfile::NamedTempFile::new().unwrap();
    /// assert!(ndarray_io::WriteOptions::new().create_new(true).write_npy(file.path(), &ndarray::arr0(1u8)).unwrap_err().is_conflict());
    /// ```
    pub fn is_conflict(&self) -> bool {
        self.kind().class() == fault::Class::Conflict
    }

    /// Returns whether the progress callback cancelled the operation.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use ndarray_io::convert::{Conversion, convert_npy};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (from, to) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
    /// # ndarray_io::write_npy(&from, &ndarray::arr1(&[1.0]))?;
    /// let cancelled = Conversion::new().progress(|_, _| ControlFlow::Break(()));
    /// assert!(convert_npy(&from, &to, cancelled).unwrap_err().is_cancelled());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.kind().class() == fault::Class::Cancelled
    }

    /// Returns what to do about the error, as a text in terms of this library, if there is something. A front end recognizes it by its
    /// [id](Help::id) and says it in its own terms.
    ///
    /// ```
    /// # use ndarray::{Array2, arr1};
    /// # use ndarray_io::{ReadNpyExt, WriteNpyExt};
    /// let mut file = Vec::new();
    /// arr1(&[1.0, 2.0]).write_npy(&mut file)?;
    /// let error = Array2::<f64>::read_npy(&file[..]).unwrap_err();
    /// assert_eq!(error.to_string(), "expected an array of 2 axes, found shape (2,)");
    /// assert_eq!(error.help().unwrap().to_string(), "read it as an ArrayD");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn help(&self) -> Option<Help> {
        self.remedy().map(Help)
    }

    pub(super) fn remedy(&self) -> Option<Remedy> {
        // The type of a struct's field determines its width: `WriteOptions::text_width` has no effect on it.
        if matches!(self.fault(), Fault::TextTooLong { .. }) && self.field().is_some() {
            return Some(Remedy::WidenField);
        }
        /// Windows has no such names.
        const ERROR_INVALID_NAME: i32 = 123;
        let is_missing = matches!(self.fault(), Fault::Io(error) if error.kind() == io::ErrorKind::NotFound
            || cfg!(windows) && error.raw_os_error() == Some(ERROR_INVALID_NAME));
        if is_missing && self.path().is_some_and(|path| path.to_string_lossy().contains("://")) {
            return Some(Remedy::OpenUrl);
        }
        self.0.help.clone().or_else(|| self.fault().help())
    }

    pub(crate) fn with_help(mut self, help: Remedy) -> Self {
        // The first remedy is the most specific one: it was added closest to the fault.
        self.0.help.get_or_insert(help);
        self
    }

    /// Says that elements cannot be converted: they are viewed.
    pub(crate) fn without_conversion_help(mut self) -> Self {
        if let Some(Remedy::ReadAs { can_convert, .. }) = &mut self.0.help {
            *can_convert = false;
        }
        self
    }

    /// Says what can be done with an array that has been read as a `DynArray`, instead of reading it in another way.
    pub(crate) fn with_help_of_read_array(mut self) -> Self {
        match self.remedy() {
            Some(Remedy::ReadAs { rust_type, can_convert: true }) => {
                self.0.help = Some(Remedy::CastArray { rust_type });
            }
            Some(Remedy::ReadDynamic) => self.0.help = Some(Remedy::TakeBytes),
            Some(Remedy::Read) => self.0.help = Some(Remedy::TakeCopy),
            _ => {}
        }
        self
    }

    /// Adds the path of the file that caused the error, unless it has one.
    ///
    /// ```
    /// # use std::path::Path;
    /// use ndarray_io::Error;
    ///
    /// let error = Error::from(std::io::Error::from(std::io::ErrorKind::NotFound)).at_path("cache:scan");
    /// assert_eq!(error.path(), Some(Path::new("cache:scan")));
    /// ```
    #[must_use]
    pub fn at_path<P: AsRef<Path> + ?Sized>(mut self, path: &P) -> Self {
        // Keep the path that was set first, closest to the fault. `at_member` does the same with names.
        self.0.path.get_or_insert_with(|| path.as_ref().to_owned());
        self
    }

    /// Says that the operation that failed was one of writing, unless the error is of another file, such as an input.
    ///
    /// ```
    /// use ndarray_io::Error;
    /// let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
    /// assert!(Error::from(full).while_writing().to_string().contains("writing"));
    /// ```
    #[must_use]
    pub fn while_writing(mut self) -> Self {
        let ErrorData { fault, path, .. } = &*self.0;
        self.0.is_write_error |= matches!(fault, Fault::Io(_)) && path.is_none();
        self
    }

    /// Adds the name of the member of an archive that caused the error, unless it has one.
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    ///
    /// let error = Error::from(ErrorKind::Cancelled).at_member("weights");
    /// assert_eq!(error.to_string(), "member 'weights': cancelled");
    /// ```
    #[must_use]
    pub fn at_member(mut self, name: &str) -> Self {
        self.0.member.get_or_insert_with(|| name.to_owned());
        self
    }

    pub(crate) fn at_element(mut self, index: usize) -> Self {
        // Keep the outermost index: callers count elements of the array, not of one field or tile.
        self.0.element = Some(index);
        self.0.index.clear();
        self
    }

    /// Replaces the index of the element, which was that in a part of the array.
    pub(crate) fn map_element(self, whole: impl FnOnce(usize) -> usize) -> Self {
        match self.0.element {
            Some(element) => self.at_element(whole(element)),
            None => self,
        }
    }

    /// Adds the index of the element along each axis of an array.
    pub(crate) fn with_axis_indices(mut self, shape: &Shape, order: Order) -> Self {
        if let Some(element) = self.0.element.filter(|_| shape.ndim() > 1) {
            self.0.index = shape.index_of(element as u64, order);
        }
        self
    }

    /// Adds `first` to the element's index, which is relative to a block.
    pub(crate) fn offset_element(self, first: usize) -> Self {
        self.map_element(|index| first.saturating_add(index))
    }

    /// Converts the index of a part to the index of its element, if each element has `parts` parts.
    pub(crate) fn divide_element_index(self, parts: usize) -> Self {
        self.map_element(|index| index / parts.max(1))
    }

    /// Prepends a field's name to the path of fields that the error reports. An empty name, which denotes an array's element, is ignored.
    ///
    /// ```
    /// use ndarray_io::error::ErrorKind;
    /// use ndarray_io::Error;
    ///
    /// let error = Error::from(ErrorKind::Cancelled).at_field("x").at_field("position");
    /// assert_eq!(error.to_string(), "field 'position.x': cancelled");
    /// ```
    #[must_use]
    pub fn at_field(mut self, name: &str) -> Self {
        if name.is_empty() {
            return self;
        }
        self.0.field = Some(match self.0.field.take() {
            Some(inner) => format!("{name}.{inner}"),
            None => name.to_owned(),
        });
        self
    }
}

/// An error of which nothing more is to say than its kind, as with [`std::io::ErrorKind`].
impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::AlreadyExists => Fault::AlreadyExists.into(),
            ErrorKind::Locked => Fault::Locked.into(),
            ErrorKind::Cancelled => Fault::Cancelled.into(),
            kind => Self::new(kind, kind.to_string()),
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self(Box::new(ErrorData {
            fault,
            path: None,
            member: None,
            element: None,
            index: Vec::new(),
            field: None,
            help: None,
            is_write_error: false,
        }))
    }
}

impl From<crate::dtype::RecordError> for Error {
    fn from(error: crate::dtype::RecordError) -> Self {
        use crate::dtype::{MAX_NESTING, RecordError};
        let limit = MAX_NESTING as u64;
        let fault = match &error {
            RecordError::TooLarge => Fault::Overflow { what: "a record of 2³¹ bytes or more".into() },
            RecordError::TooDeep => {
                Fault::Limit { limit_kind: LimitKind::RecordNesting, found: limit + 1, limit }
            }
            _ => Fault::BadOption { reason: error.to_string() },
        };
        fault.into()
    }
}

/// Allows generic code to use `?` on conversions that cannot fail.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// Unwraps an error of this crate that was passed through a reader or writer as an I/O error.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.downcast() {
            Ok(own) => own,
            Err(error) => Fault::Io(error).into(),
        }
    }
}

/// Converts the error to an I/O error of the closest kind.
///
/// An I/O error keeps its kind. Other errors become:
///
/// - `UnexpectedEof`: a truncated file
/// - `OutOfMemory`: a failed allocation
/// - `NotFound`: a missing archive member or field
/// - `AlreadyExists`: an existing file
/// - `WouldBlock`: a locked file, or bytes that have not been loaded
/// - `InvalidInput`: an [invalid call](Error::is_usage)
/// - `Other`: a cancelled operation, or another [conflict](Error::is_conflict)
/// - `InvalidData`: everything else
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let error = match *error.0 {
            // An error of the system alone is returned as it was, with its `raw_os_error`.
            ErrorData {
                fault: Fault::Io(inner),
                path: None,
                member: None,
                element: None,
                field: None,
                help: None,
                is_write_error: false,
                index: _,
            } => return inner,
            inner => Error(Box::new(inner)),
        };
        let kind = match (error.kind(), error.as_io()) {
            (_, Some(inner)) => inner.kind(),
            (ErrorKind::Io, _) => io::ErrorKind::Other,
            (ErrorKind::Truncated, _) => io::ErrorKind::UnexpectedEof,
            (ErrorKind::OutOfMemory, _) => io::ErrorKind::OutOfMemory,
            (ErrorKind::AlreadyExists, _) => io::ErrorKind::AlreadyExists,
            (ErrorKind::Locked | ErrorKind::NotLoaded, _) => io::ErrorKind::WouldBlock,
            (kind, _) => match kind.class() {
                fault::Class::NotFound => io::ErrorKind::NotFound,
                fault::Class::Usage => io::ErrorKind::InvalidInput,
                // Not `Interrupted`: `Read` and `Write` loops would retry.
                fault::Class::Cancelled | fault::Class::Conflict => io::ErrorKind::Other,
                _ => io::ErrorKind::InvalidData,
            },
        };
        Self::new(kind, error)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // `Display` shows the I/O error itself, so the chain continues with that error's source.
        self.as_io()?.source()
    }
}

/// What `unwrap` and `main` print: the text of `Display`, and the remedy below it. `{:#?}` is the structure.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            write!(f, "{self}")?;
            return self.help().map_or(Ok(()), |help| write!(f, "\n  help: {help}"));
        }
        let ErrorData { fault, path, member, element, index: _, field, help: _, is_write_error: _ } =
            &*self.0;
        let mut debug = f.debug_struct("Error");
        debug.field("fault", fault);
        if let Some(path) = path {
            debug.field("path", path);
        }
        if let Some(member) = member {
            debug.field("member", member);
        }
        if let Some(element) = element {
            debug.field("element", element);
        }
        if let Some(field) = field {
            debug.field("field", field);
        }
        debug.finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = self.path() {
            write!(f, "{}: ", path.display())?;
        }
        if let Some(member) = self.member() {
            write!(f, "member '{}': ", member.escape_debug())?;
        }
        if let Some(element) = self.element() {
            write!(f, "element {element}")?;
            match self.index() {
                Some(index) => write!(f, " ({index:?}): ")?,
                None => f.write_str(": ")?,
            }
        }
        if let Some(field) = self.field() {
            write!(f, "field '{}': ", field.escape_debug())?;
        }
        if self.0.is_write_error {
            f.write_str("writing failed: ")?;
        }
        write!(f, "{}", self.fault())?;
        match self.help() {
            Some(help) if f.alternate() => write!(f, "; {help}"),
            _ => Ok(()),
        }
    }
}
