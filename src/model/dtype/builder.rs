//! Builds records field by field.

use std::fmt;

use super::{DType, Field, Kind, MAX_NESTING, Record, Title};

/// A builder for the dtype of a record.
///
/// ```
/// use ndarray_io::DType;
/// use ndarray_io::dtype::RecordBuilder;
///
/// let star = RecordBuilder::new().field("name", "<U16".parse()?).field("mass", "<f8".parse()?).build()?;
/// assert_eq!(star.to_string(), "[('name', '<U16'), ('mass', '<f8')]");
///
/// // As with NumPy's `align=True`.
/// let aligned = RecordBuilder::new().aligned().field("flag", DType::of::<u8>()?).field("x", DType::of::<f32>()?).build()?;
/// assert_eq!((aligned.item_size(), aligned.as_record().unwrap().fields()[1].offset()), (8, 4));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RecordBuilder {
    record: Record,
    /// The largest alignment of a field so far, if fields are aligned.
    max_align: Option<usize>,
    is_sized: bool,
    fault: Option<RecordError>,
}

/// The reason why fields do not form a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RecordError {
    /// A field has the same name or title as another.
    NameTwice(String),
    /// A field has an empty name, which NumPy treats as padding.
    NoName,
    /// An offset or size is less than the end of the preceding fields.
    Overlap {
        /// The offset or size.
        at: usize,
        /// The end of the preceding fields.
        end: usize,
    },
    /// The record would have 2³¹ bytes or more.
    TooLarge,
    /// The records and subarrays of a field are nested 32 deep, which is the limit.
    TooDeep,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTwice(name) => write!(f, "two fields have the name or title '{}'", name.escape_debug()),
            Self::NoName => f.write_str("a field has no name"),
            Self::Overlap { at, end } => {
                write!(f, "expected an offset or size of at least {end}, where the fields end, found {at}")
            }
            Self::TooLarge => f.write_str("the record is larger than NumPy allows"),
            Self::TooDeep => write!(f, "the dtype nests records deeper than the limit of {MAX_NESTING}"),
        }
    }
}

impl RecordBuilder {
    /// Creates a builder for a record without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Aligns the fields that are added after this call, as a C compiler does.
    ///
    /// The record is padded to the largest alignment of its fields, unless [`size`](Self::size) sets its
    /// size.
    #[must_use]
    pub fn aligned(mut self) -> Self {
        self.max_align.get_or_insert(1);
        self
    }

    /// Appends a field.
    #[must_use]
    pub fn field(self, name: impl Into<String>, dtype: DType) -> Self {
        self.push(name.into(), None, dtype)
    }

    /// Appends a field with a title, NumPy's second name.
    #[must_use]
    pub fn titled(self, name: impl Into<String>, title: impl Into<String>, dtype: DType) -> Self {
        self.push(name.into(), Some(title.into()), dtype)
    }

    /// Appends a field at an offset in bytes. The bytes between the preceding field and this one are padding.
    #[must_use]
    pub fn field_at(self, offset: usize, name: impl Into<String>, dtype: DType) -> Self {
        let mut padded = self.pad_to(offset);
        // The caller chose the offset, so this field is not aligned. Its alignment still contributes to that
        // of the record.
        let align = padded.max_align.take().map(|max_align| max_align.max(alignment(&dtype)));
        let mut padded = padded.push(name.into(), None, dtype);
        padded.max_align = align;
        padded
    }

    /// Sets the size of the record in bytes. The bytes after the last field are padding.
    #[must_use]
    pub fn size(self, size: usize) -> Self {
        Self { is_sized: true, ..self.pad_to(size) }
    }

    /// Returns the dtype of the record.
    ///
    /// # Errors
    ///
    /// Those of the first call on the builder that failed:
    ///
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if a field has no name, two have the same name or title, or an offset or a size
    ///   is less than the end of the preceding fields.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if the record would have 2³¹ bytes or more.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the records and subarrays of a field are nested 32 deep.
    pub fn build(mut self) -> crate::Result<DType> {
        // A size set by the caller takes precedence over alignment.
        if let Some(align) = self.max_align.filter(|_| !self.is_sized) {
            let padding = self.record.size().next_multiple_of(align) - self.record.size();
            self = self.pad(padding);
        }
        match self.fault {
            Some(fault) => Err(fault.into()),
            None => Ok(self.record.into()),
        }
    }

    fn push(mut self, name: String, title: Option<String>, dtype: DType) -> Self {
        if let Some(max_align) = self.max_align {
            let align = alignment(&dtype);
            let padding = self.record.size().next_multiple_of(align) - self.record.size();
            self = self.pad(padding);
            self.max_align = Some(max_align.max(align));
        }
        if name.is_empty() {
            self.keep_first_fault(RecordError::NoName);
        }
        if let Err(fault) = self.record.try_push(name, title.map(Title::Text), dtype) {
            self.keep_first_fault(fault);
        }
        self
    }

    fn pad_to(mut self, at: usize) -> Self {
        if let Err(fault) = self.record.pad_to(at) {
            self.keep_first_fault(fault);
        }
        self
    }

    fn pad(mut self, bytes: usize) -> Self {
        if let Err(fault) = self.record.try_pad(bytes) {
            self.keep_first_fault(fault);
        }
        self
    }

    fn keep_first_fault(&mut self, fault: RecordError) {
        self.fault.get_or_insert(fault);
    }
}

/// Returns the alignment of elements in C, as `numpy.dtype.alignment` does.
///
/// NumPy remembers whether a record was created with `align=True`. Here, a record is considered aligned if
/// its fields are.
#[deny(clippy::wildcard_enum_match_arm)] // a new kind has to be considered
fn alignment(dtype: &DType) -> usize {
    match dtype {
        DType::Scalar(scalar) => match scalar.kind() {
            Kind::Bytes | Kind::Void | Kind::Bool => 1,
            Kind::Text => 4,
            Kind::Complex => scalar.size() / 2,
            Kind::Int
            | Kind::Uint
            | Kind::Float
            | Kind::Datetime(_)
            | Kind::Timedelta(_)
            | Kind::Narrow(_) => scalar.size().max(1),
        },
        DType::Subarray(subarray) => alignment(subarray.base()),
        DType::Record(record) => {
            let aligns = |field: &Field| field.offset() % alignment(field.dtype()) == 0;
            let max_align = record.fields().iter().map(|field| alignment(field.dtype())).max().unwrap_or(1);
            let is_aligned = record.fields().iter().all(aligns) && record.size() % max_align == 0;
            if is_aligned { max_align } else { 1 }
        }
        DType::Object => size_of::<usize>(),
    }
}
