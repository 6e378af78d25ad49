//! Records and subarrays: dtypes that are composed of other dtypes.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::names::NameIndex;
use super::{ByteOrder, DType, MAX_ITEM_SIZE, MAX_NESTING, RecordError};
use crate::shape::Shape;

/// An array of fixed shape as a single element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subarray {
    base: DType,
    shape: Shape,
    size: usize,
    /// The depth of records and subarrays: see [`DType::nesting`].
    nesting: usize,
}

impl Subarray {
    /// Creates a subarray with this shape, whose elements have the dtype `base`.
    ///
    /// Returns `None` if it would exceed NumPy's limit of 2³¹ − 1 bytes for the size of an element, or if subarrays
    /// and records would be nested more than 32 deep. A field that is a subarray is not a level of its own.
    ///
    /// ```
    /// use ndarray_io::dtype::{Kind, Scalar, Subarray};
    /// use ndarray_io::header::Shape;
    /// use ndarray_io::ByteOrder;
    ///
    /// let float = Scalar::new(Kind::Float, 4, ByteOrder::Little).unwrap();
    /// let matrix = Subarray::new(float.into(), Shape::from([2, 3])).unwrap();
    /// assert_eq!(matrix.size(), 24);
    /// ```
    pub fn new(base: DType, shape: Shape) -> Option<Self> {
        let size =
            usize::try_from(shape.byte_len(base.item_size())?).ok().filter(|&size| size <= MAX_ITEM_SIZE)?;
        let nesting = base.nesting() + usize::from(matches!(base, DType::Subarray(_)));
        (nesting <= MAX_NESTING).then_some(Self { base, shape, size, nesting })
    }

    /// Creates the subarray of an array of this shape: if `base` is a subarray, its axes are the innermost ones.
    ///
    /// That is what NumPy does with the axes of an array; subarrays in a dtype stay as they are.
    pub(crate) fn with_merged_axes(base: DType, shape: Shape) -> Option<Self> {
        match base {
            DType::Subarray(inner) => {
                Self::new(inner.base, [shape.dims(), inner.shape.dims()].concat().into())
            }
            base => Self::new(base, shape),
        }
    }

    /// Returns the dtype of the subarray's elements.
    pub fn base(&self) -> &DType {
        &self.base
    }

    /// Returns the shape.
    pub fn shape(&self) -> &[usize] {
        self.shape.dims()
    }

    pub(crate) fn shape_ref(&self) -> &Shape {
        &self.shape
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    pub(super) fn nesting(&self) -> usize {
        self.nesting
    }

    /// Returns the subarray with another base of the same size.
    pub(super) fn with_base(&self, base: DType) -> Self {
        Self { base, ..self.clone() }
    }
}

/// The title of a field: NumPy's optional second name, which is nearly always text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Title {
    /// Text.
    Text(String),
    /// An integer.
    Int(i64),
}

/// A named field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    name: String,
    title: Option<Title>,
    offset: usize,
    dtype: DType,
}

impl Field {
    /// Returns the field's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the field's title, if it has one.
    pub fn title(&self) -> Option<&Title> {
        self.title.as_ref()
    }

    /// Returns the offset of the field in the record, in bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the dtype of the field.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }
}

/// The dtype of a record: consecutive fields, possibly with padding between and after them.
///
/// ```
/// use ndarray_io::dtype::{Kind, Record, Scalar};
/// use ndarray_io::{ByteOrder, DType};
///
/// let byte = Scalar::new(Kind::Uint, 1, ByteOrder::Little).unwrap();
/// let float = Scalar::new(Kind::Float, 4, ByteOrder::Little).unwrap();
/// let mut record = Record::default();
/// record.push("flag".into(), None, byte.into()).unwrap();
/// record.pad(3).unwrap();
/// record.push("value".into(), None, float.into()).unwrap();
///
/// assert_eq!(record.size(), 8);
/// assert_eq!(DType::from(record).to_string(), "[('flag', '|u1'), ('', '|V3'), ('value', '<f4')]");
/// ```
///
/// A clone shares the fields, so cloning is cheap for any number of fields.
#[derive(Clone, Debug, Default)]
pub struct Record {
    fields: Arc<Vec<Field>>,
    names: NameIndex,
    size: usize,
    summary: FieldSummary,
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        // Clones share their fields, so most comparisons need not visit them.
        let are_one = Arc::ptr_eq(&self.fields, &other.fields);
        self.size == other.size && self.summary == other.summary && (are_one || self.fields == other.fields)
    }
}

impl Eq for Record {}

impl Hash for Record {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // `summary` is determined by the fields.
        (&self.fields, self.size).hash(state);
    }
}

/// Properties of all dtypes within a record, updated as fields are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct FieldSummary {
    /// The number of fields, including nested ones.
    field_count: u64,
    /// The greatest depth of a field: see [`DType::nesting`].
    nesting: usize,
    has_object: bool,
    is_foreign_to_numpy: bool,
    has_little: bool,
    has_big: bool,
}

impl FieldSummary {
    fn of(dtype: &DType) -> Self {
        match dtype {
            DType::Scalar(scalar) => Self {
                is_foreign_to_numpy: dtype.is_foreign_to_numpy(),
                has_little: scalar.byte_order() == Some(ByteOrder::Little),
                has_big: scalar.byte_order() == Some(ByteOrder::Big),
                ..Self::default()
            },
            DType::Subarray(subarray) => Self::of(subarray.base()),
            DType::Record(record) => record.summary,
            DType::Object => Self { has_object: true, ..Self::default() },
        }
    }

    fn add(&mut self, other: Self) {
        self.field_count = self.field_count.saturating_add(1).saturating_add(other.field_count);
        self.has_object |= other.has_object;
        self.is_foreign_to_numpy |= other.is_foreign_to_numpy;
        self.has_little |= other.has_little;
        self.has_big |= other.has_big;
    }
}

impl Record {
    /// Returns the fields in the order of the header. Padding is not a field.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the field with a name or, if there is none, with a title, as NumPy does.
    ///
    /// This takes the same time for any number of fields.
    ///
    /// ```
    /// let dtype: ndarray_io::DType = "[('x', '<f4'), ('n', '|u1')]".parse()?;
    /// let record = dtype.as_record().unwrap();
    /// assert_eq!(record.field("n").unwrap().offset(), 4);
    /// assert!(record.field("y").is_none());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn field(&self, name: &str) -> Option<&Field> {
        let number = self.index_of_name(name).or_else(|| self.names.index_of_title(name, &self.fields));
        number.map(|number| &self.fields[number])
    }

    /// Returns the number of the field with a name.
    pub(crate) fn index_of_name(&self, name: &str) -> Option<usize> {
        self.names.index_of_name(name, &self.fields)
    }

    /// Returns the size in bytes, including padding.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Appends a field.
    ///
    /// NumPy keeps names and titles in one dictionary, so neither may be repeated. A title must also differ from the name of its own field.
    ///
    /// # Errors
    ///
    /// These leave the record unchanged:
    ///
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the name or the title is that of a field of the record, or the title is the name.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if the record would exceed NumPy's limit of 2³¹ − 1 bytes.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the records and subarrays of the field are nested 32 deep.
    pub fn push(&mut self, name: String, title: Option<Title>, dtype: DType) -> crate::Result<()> {
        Ok(self.try_push(name, title, dtype)?)
    }

    pub(crate) fn try_push(
        &mut self,
        name: String,
        title: Option<Title>,
        dtype: DType,
    ) -> Result<(), RecordError> {
        let text = match &title {
            Some(Title::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let taken = [Some(name.as_str()), text].into_iter().flatten().find(|name| self.field(name).is_some());
        if let Some(twice) = taken.or(text.filter(|text| *text == name)) {
            return Err(RecordError::NameTwice(twice.to_owned()));
        }
        let (offset, nesting) = (self.size, dtype.nesting());
        if nesting >= MAX_NESTING {
            return Err(RecordError::TooDeep);
        }
        // This fails before anything is changed.
        self.try_pad(dtype.item_size())?;
        self.summary.add(FieldSummary::of(&dtype));
        self.summary.nesting = self.summary.nesting.max(nesting);
        Arc::make_mut(&mut self.fields).push(Field { name, title, offset, dtype });
        self.names.add_last(&self.fields);
        Ok(())
    }

    /// Appends padding bytes up to this size.
    pub(crate) fn pad_to(&mut self, size: usize) -> Result<(), RecordError> {
        let end = self.size;
        self.try_pad(size.checked_sub(end).ok_or(RecordError::Overlap { at: size, end })?)
    }

    /// Appends padding bytes.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::error::ErrorKind::Malformed) if the record would exceed NumPy's limit of 2³¹ − 1 bytes. It is unchanged.
    pub fn pad(&mut self, bytes: usize) -> crate::Result<()> {
        Ok(self.try_pad(bytes)?)
    }

    pub(crate) fn try_pad(&mut self, bytes: usize) -> Result<(), RecordError> {
        let size = self.size.checked_add(bytes).filter(|&size| size <= MAX_ITEM_SIZE);
        self.size = size.ok_or(RecordError::TooLarge)?;
        Ok(())
    }

    pub(super) fn with_byte_order(&self, order: ByteOrder) -> Self {
        let has_other = match order {
            ByteOrder::Little => self.summary.has_big,
            ByteOrder::Big => self.summary.has_little,
        };
        // If there is nothing to change, the fields stay shared instead of being cloned.
        if !has_other {
            return self.clone();
        }
        let field = |field: &Field| Field { dtype: field.dtype.with_byte_order(order), ..field.clone() };
        let (has_little, has_big) = (order == ByteOrder::Little, order == ByteOrder::Big);
        Self {
            fields: Arc::new(self.fields.iter().map(field).collect()),
            names: self.names.clone(),
            size: self.size,
            summary: FieldSummary { has_little, has_big, ..self.summary },
        }
    }

    /// Returns the record with other dtypes of the same size and byte order for its fields.
    pub(super) fn map_field_dtypes(&self, dtype_of: &dyn Fn(&DType) -> DType) -> Self {
        let field = |field: &Field| Field { dtype: dtype_of(&field.dtype), ..field.clone() };
        Self { fields: Arc::new(self.fields.iter().map(field).collect()), ..self.clone() }
    }

    pub(super) fn nesting(&self) -> usize {
        self.summary.nesting + 1
    }

    pub(super) fn has_object(&self) -> bool {
        self.summary.has_object
    }

    pub(super) fn is_foreign_to_numpy(&self) -> bool {
        self.summary.is_foreign_to_numpy
    }

    /// Returns the number of fields, including nested ones: the number of steps to visit all of them.
    #[cfg_attr(not(feature = "object"), allow(dead_code))]
    pub(crate) fn nested_field_count(&self) -> u64 {
        self.summary.field_count
    }
}
