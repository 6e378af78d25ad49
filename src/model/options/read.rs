//! Options for reading.

use std::borrow::Cow;
use std::num::NonZero;
use std::ops::ControlFlow;

use super::thread_count;
use crate::bytes::ReadBuf;
use crate::dtype::{ByteOrder, Casting, CastingRules, LongDoubleFormat, Narrow, Scalar};
use crate::error::{Fault, Result};
use crate::limits::Limits;
use crate::progress::ProgressCallback;

/// Options for reading.
///
/// Each option is set by the method of that name.
/// Options permit: an option that a file or a verb has no use for changes nothing. A view does not convert, so with `casting`, elements of
/// another dtype are the same error as without.
/// With the feature `serde-1`, options can be part of a configuration file, under the names of these methods; what is not
/// there has its default. The password and the callback of `progress` are left out.
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
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", default, deny_unknown_fields))]
pub struct ReadOptions {
    limits: Limits,
    casting: Option<ChosenCasting>,
    long_double: Option<LongDoubleFormat>,
    #[cfg_attr(feature = "serde-1", serde(rename = "raw_bytes_are"))]
    pub(crate) raw_bytes_type: Option<Narrow>,
    allow_trailing: Option<bool>,
    pub(crate) ignore_extra_fields: bool,
    pub(crate) ignore_ra_flags: bool,
    pub(crate) ra_bytes_are_bools: bool,
    pub(crate) allow_objects: bool,
    pub(crate) allow_invalid_elements: bool,
    pub(crate) old_text: OldText,
    /// If this is set, raw bytes may be read as records of equal size, in this byte order.
    #[cfg_attr(feature = "serde-1", serde(skip))]
    pub(crate) raw_record_byte_order: Option<ByteOrder>,
    #[cfg_attr(feature = "serde-1", serde(skip))]
    password: Option<Password>,
    threads: Option<NonZero<usize>>,
    #[cfg_attr(feature = "serde-1", serde(skip))]
    progress: Option<ProgressCallback>,
}

/// Converts bytes of one dtype (which it may modify) to bytes of another, all of which it writes: they may be old. An error names the
/// element.
pub(crate) type Recode = Box<dyn Fn(&mut [u8], &mut [u8]) -> Result<()> + Send + Sync>;

/// Appends native-endian numbers, converted.
pub(crate) type ConvertLoop = fn(&[u8], &mut ReadBuf<'_>);

/// The conversion from one dtype to another, and a loop that does the same without modifying what it converts, if that is possible.
pub(crate) struct Recoding {
    pub(crate) recode: Recode,
    pub(crate) shared_loop: Option<ConvertLoop>,
}

/// Finds the conversion from one dtype to another, or returns an error if there is none or the rules do not allow it.
pub(crate) type FindRecoding = fn(&Scalar, &Scalar, CastingRules) -> Result<Recoding>;

/// A casting, with what finds its conversions: so only a program that chooses a casting has their code.
#[derive(Clone, Copy)]
pub(crate) struct ChosenCasting {
    pub(crate) casting: Casting,
    pub(crate) find: FindRecoding,
}

impl From<ChosenCasting> for Casting {
    fn from(chosen: ChosenCasting) -> Self {
        chosen.casting
    }
}

impl std::fmt::Debug for ChosenCasting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.casting.fmt(f)
    }
}

/// A password, hidden in `Debug` output.
#[derive(Clone)]
struct Password(
    #[cfg_attr(
        not(any(feature = "zip-methods", feature = "zip-encryption")),
        expect(dead_code, reason = "no member can be decrypted")
    )]
    std::sync::Arc<[u8]>,
);

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// How a `str` in a Python 2 pickle is read: it may be text or bytes, and the pickle does not say which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum OldText {
    /// Text if it is ASCII, otherwise bytes. (NumPy has no equivalent.)
    #[default]
    AsciiOrBytes,
    /// Text; a string that is not ASCII is an error. This is NumPy's default.
    Ascii,
    /// Text in Latin-1: each byte is a character.
    Latin1,
    /// Bytes.
    Bytes,
}

impl ReadOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limits on what an untrusted file may request.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Converts elements of another dtype if the casting rule allows it.
    ///
    /// Numbers, bools, times and text can be converted to one another, nearly as in NumPy ([`Casting`] has the rules, `docs/numpy-differences.md` the
    /// differences). By default the file's dtype must be that of
    /// the Rust type, in either byte order. A conversion that the rule does not allow is a
    /// [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch).
    #[must_use]
    pub fn casting(mut self, casting: Casting) -> Self {
        self.casting = Some(casting.into());
        self
    }

    /// Sets the format of the file's `longdouble`s (`f16`, `c32`), which the file does not say, so that they can be
    /// converted to other numbers and bools, and these to them. (Those of 12 bytes are of 32-bit x86, and need no format.)
    ///
    /// By default such elements are read as [`LongDouble`](crate::elements::LongDouble) only.
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_io::dtype::LongDoubleFormat;
    /// use ndarray_io::element::LongDouble;
    /// use ndarray_io::{Casting, ReadNpyExt, ReadOptions, WriteNpyExt};
    ///
    /// let half = LongDouble::from_le_bytes([0, 0, 0, 0, 0, 0, 0, 0x80, 0xFE, 0x3F, 0, 0, 0, 0, 0, 0]);
    /// let mut file = Vec::new();
    /// arr1(&[half]).write_npy(&mut file)?;
    /// let options = ReadOptions::new().casting(Casting::SameKind).long_double(LongDoubleFormat::X87);
    /// assert_eq!(options.read_from::<Array1<f64>>(&file[..])?, arr1(&[0.5]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[must_use]
    pub fn long_double(mut self, format: LongDoubleFormat) -> Self {
        self.long_double = Some(format);
        self
    }

    /// Reads raw bytes (`V1`, for `bfloat16` `V2`) as numbers of the Python package `ml_dtypes`, which files do not tell from
    /// other raw bytes.
    ///
    /// The dtype of what is read is then this type, also in the fields of records: it is shown and converted as numbers. A file
    /// that is written says that they are raw bytes.
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_io::dtype::Narrow;
    /// use ndarray_io::element::Void;
    /// use ndarray_io::{Casting, DynArray, ReadNpyExt, ReadOptions, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// arr1(&[Void([0x38]), Void([0xC4])]).write_npy(&mut file)?;
    /// let options = ReadOptions::new().raw_bytes_are(Narrow::Float8E4M3Fn);
    /// assert_eq!(options.read_from::<DynArray>(&file[..])?.to_string(), "[ 1.0, -3.0]");
    /// let floats = options.casting(Casting::Safe).read_from::<Array1<f32>>(&file[..])?;
    /// assert_eq!(floats, arr1(&[1.0, -3.0]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[must_use]
    pub fn raw_bytes_are(mut self, narrow: Narrow) -> Self {
        self.raw_bytes_type = Some(narrow);
        self
    }

    /// Ignores bytes after the array when an entire file or slice is read.
    ///
    /// By default they are an error, [`Trailing`](crate::error::ErrorKind::Trailing). A reader is always left after its array,
    /// and an open or mapped file, as well as an RA file, may have other bytes there: asking for that error, with `false`, is
    /// refused where there would be none, with the error [`BadOption`](crate::error::ErrorKind::BadOption).
    #[must_use]
    pub fn allow_trailing(mut self, allow: bool) -> Self {
        self.allow_trailing = Some(allow);
        self
    }

    /// Ignores fields of the file's records that the struct does not have.
    ///
    /// By default they are an error, [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch).
    #[must_use]
    pub fn ignore_extra_fields(mut self, ignore: bool) -> Self {
        self.ignore_extra_fields = ignore;
        self
    }

    /// Allows a [`DynArray`](crate::DynArray) to contain Python objects, as data; see `object::Object`.
    ///
    /// By default they are an error, [`Objects`](crate::error::ErrorKind::Objects), because a file of objects
    /// is rarely expected. Arrays whose element type is `Object` do not need this option.
    #[must_use]
    pub fn allow_objects(mut self, allow: bool) -> Self {
        self.allow_objects = allow;
        self
    }

    /// Takes elements as they are when they are read into [memory of the caller](crate::NpyReader::read_into_bytes): bools other
    /// than 0 and 1, and text with invalid code points, as NumPy does.
    ///
    /// By default they are an error, [`Malformed`](crate::error::ErrorKind::Malformed). Elements of Rust types are
    /// always checked, those of a [`DynArray`](crate::DynArray) when they are viewed; so are checksums.
    ///
    /// ```
    /// use ndarray_io::header::Order;
    /// use ndarray_io::{DynArray, NpyReader, ReadOptions, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// DynArray::from_bytes("|b1".parse()?, [2], Order::C, &[0, 2])?.write_npy(&mut file)?;
    /// let mut memory = [0; 2];
    /// assert!(NpyReader::new(&file[..])?.read_into_bytes(&mut memory, None).is_err());
    /// let options = ReadOptions::new().allow_invalid_elements(true);
    /// options.reader(&file[..])?.read_into_bytes(&mut memory, None)?;
    /// assert_eq!(memory, [0, 2]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[must_use]
    pub fn allow_invalid_elements(mut self, allow: bool) -> Self {
        self.allow_invalid_elements = allow;
        self
    }

    /// Sets how a `str` in a Python 2 pickle is read, like NumPy's `encoding` parameter.
    ///
    /// By default it is text if it is ASCII, otherwise bytes.
    #[must_use]
    pub fn old_text(mut self, old_text: OldText) -> Self {
        self.old_text = old_text;
        self
    }

    /// Ignores unknown flags of an RA file.
    ///
    /// Data that is marked as compressed, but is neither an LZ4 block nor numbers of variable length, is then read
    /// unchanged. By default, both are errors:
    /// [`Unsupported`](crate::error::ErrorKind::Unsupported) and
    /// [`Malformed`](crate::error::ErrorKind::Malformed).
    #[must_use]
    pub fn ignore_ra_flags(mut self, ignore: bool) -> Self {
        self.ignore_ra_flags = ignore;
        self
    }

    /// Reads composites of one byte in an RA file as `bool`.
    ///
    /// The format's Python program writes bools as such composites (element type 0). By default, they are raw bytes,
    /// `Void<1>`.
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_io::ReadOptions;
    /// use ndarray_io::ra::ReadRaExt;
    ///
    /// let mut file = b"rawarray".to_vec();
    /// for number in [0u64, 0, 1, 2, 1, 2] { // flags, composite, its size, data size, axes, their lengths
    ///     file.extend(number.to_le_bytes());
    /// }
    /// file.extend([1, 0]);
    /// let options = ReadOptions::new().ra_bytes_are_bools(true);
    /// assert_eq!(options.read_ra_from::<Array1<bool>>(&file[..])?, arr1(&[true, false]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[must_use]
    pub fn ra_bytes_are_bools(mut self, are_bools: bool) -> Self {
        self.ra_bytes_are_bools = are_bools;
        self
    }

    /// Sets the maximum number of threads that read one array; fewer are used if the work is short.
    ///
    /// By default it is the available parallelism when it is first asked for, at most 4. With 1, no thread is
    /// started, unless the source asks for [concurrency](crate::bytes::ReadHints::concurrency); 0 means 1.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(NonZero::new(threads).unwrap_or(NonZero::<usize>::MIN));
        self
    }

    /// Sets a callback that receives the number of bytes read so far and the total number of bytes.
    ///
    /// For each array, it is invoked by one thread at a time; never for an array of zero bytes. If it returns
    /// [`ControlFlow::Break`], the read fails with [`Cancelled`](crate::error::ErrorKind::Cancelled).
    ///
    /// ```
    /// use ndarray::Array1;
    /// use ndarray_io::ReadOptions;
    /// use std::ops::ControlFlow;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// # ndarray_io::write_npy(&path, &Array1::<f64>::zeros(1000))?;
    /// let options = ReadOptions::new().progress(|done, all| {
    ///     eprint!("\r{} %", 100 * done / all);
    ///     ControlFlow::Continue(())
    /// });
    /// let array: Array1<f64> = options.read_npy(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn progress(mut self, call: impl Fn(u64, u64) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.progress = Some(ProgressCallback::new(call));
        self
    }

    /// Sets the password for encrypted archive members, as bytes; most programs encode it as UTF-8.
    ///
    /// The password is used for all members that are read with these options, and hidden in `Debug` output.
    ///
    /// Traditional ZIP encryption is not secure; prefer AES. Without the feature `zip-encryption`, encrypted members are an error.
    #[must_use]
    pub fn password(mut self, password: impl AsRef<[u8]>) -> Self {
        self.password = Some(Password(password.as_ref().into()));
        self
    }

    #[cfg(any(feature = "zip-methods", feature = "zip-encryption"))]
    pub(crate) fn get_password(&self) -> Option<&[u8]> {
        self.password.as_ref().map(|Password(bytes)| &bytes[..])
    }

    /// Returns the limits set with [`limits`](Self::limits).
    pub fn get_limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the casting rule set with [`casting`](Self::casting), if any.
    pub(crate) fn get_casting(&self) -> Option<Casting> {
        self.casting.map(Casting::from)
    }

    /// Returns the options without that of [`raw_bytes_are`](Self::raw_bytes_are).
    #[cfg(feature = "dask")]
    pub(crate) fn without_raw_bytes_type(mut self) -> Self {
        self.raw_bytes_type = None;
        self
    }

    /// Returns how elements are converted, if that is allowed.
    pub(crate) fn rules(&self) -> Option<(FindRecoding, CastingRules)> {
        let ChosenCasting { casting, find } = self.casting?;
        Some((find, self.rules_with_casting(casting)))
    }

    /// Returns how elements are converted with another casting.
    pub(crate) fn rules_with_casting(&self, casting: Casting) -> CastingRules {
        CastingRules { casting, long_double: self.long_double }
    }

    /// Returns the options for a call that looks at what follows the array by itself.
    pub(crate) fn with_default_trailing(&self) -> Self {
        Self { allow_trailing: None, ..self.clone() }
    }

    /// Returns whether bytes after an array are ignored.
    pub(crate) fn allows_trailing(&self) -> bool {
        self.allow_trailing == Some(true)
    }

    /// Returns an error if bytes after an array are to be an error, for a call in which they are never one.
    pub(crate) fn refuse_trailing_check(&self) -> Result<()> {
        if self.allow_trailing == Some(false) {
            let reason =
                "allow_trailing(false) would have no effect: this does not look at what follows the array"
                    .into();
            return Err(Fault::BadOption { reason }.into());
        }
        Ok(())
    }

    /// Returns the number of threads set with [`threads`](Self::threads), or the default.
    pub fn get_threads(&self) -> usize {
        thread_count(self.threads)
    }

    pub(crate) fn get_progress(&self) -> Option<&ProgressCallback> {
        self.progress.as_ref()
    }

    /// Returns the options with a callback whose numbers never fall, even if the bytes are read again.
    #[cfg(feature = "npz")]
    pub(crate) fn with_monotonic_progress(&self) -> Self {
        Self { progress: self.progress.as_ref().map(ProgressCallback::monotonic), ..self.clone() }
    }

    /// Returns the options for a file whose records are identified only by their size.
    pub(crate) fn with_raw_records(self, order: ByteOrder) -> Self {
        Self { raw_record_byte_order: Some(order), ..self }
    }

    /// Returns the options for a part of what the callback is told of, of which this many bytes precede the part.
    pub(crate) fn with_progress_of_part(&self, before: u64, all: u64) -> Cow<'_, Self> {
        match &self.progress {
            None => Cow::Borrowed(self),
            Some(progress) => {
                Cow::Owned(Self { progress: Some(progress.of_part(before, all)), ..self.clone() })
            }
        }
    }

    /// Returns the options without the callback, for a step whose progress the caller reports itself.
    pub(crate) fn without_progress(&self) -> Self {
        Self { progress: None, ..self.clone() }
    }
}

impl From<Casting> for ReadOptions {
    fn from(casting: Casting) -> Self {
        Self::new().casting(casting)
    }
}

impl From<&ReadOptions> for ReadOptions {
    fn from(options: &ReadOptions) -> Self {
        options.clone()
    }
}
