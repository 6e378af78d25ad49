//! Records and subarrays: dtypes made of dtypes.

use super::{ByteOrder, DType, MAX_ITEM_SIZE};
use crate::shape::Shape;

/// An array of fixed shape that is one element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subarray {
    base: DType,
    shape: Shape,
    size: usize,
}

impl Subarray {
    /// `shape` elements of `base`; `None` if that passes NumPy's limit for the size of an element.
    ///
    /// ```
    /// use ndarray_io::{ByteOrder, Kind, Scalar, Shape, Subarray};
    ///
    /// let float = Scalar::new(Kind::Float, 4, ByteOrder::Little).unwrap();
    /// let matrix = Subarray::new(float.into(), Shape::from([2, 3])).unwrap();
    /// assert_eq!(matrix.size(), 24);
    /// ```
    pub fn new(base: DType, shape: Shape) -> Option<Self> {
        let size = shape.byte_len(base.item_size()).filter(|&size| size <= MAX_ITEM_SIZE)?;
        Some(Self { base, shape, size })
    }

    /// The type of each of its elements.
    pub fn base(&self) -> &DType {
        &self.base
    }

    /// Its shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    pub(super) fn with_byte_order(&self, order: ByteOrder) -> Self {
        Self { base: self.base.with_byte_order(order), ..self.clone() }
    }
}

/// A second name that NumPy lets a field have. It is nearly always text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Title {
    /// A text.
    Text(String),
    /// A whole number.
    Int(i64),
}

/// One named field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    name: String,
    title: Option<Title>,
    offset: usize,
    dtype: DType,
}

impl Field {
    /// The field's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its title, if it has one.
    pub fn title(&self) -> Option<&Title> {
        self.title.as_ref()
    }

    /// Where in the record it begins, in bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Its type.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }
}

/// Fields one after another, possibly with unused bytes between and behind them.
///
/// ```
/// use ndarray_io::{ByteOrder, DType, Kind, Record, Scalar};
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Record {
    fields: Vec<Field>,
    size: usize,
}

impl Record {
    /// The fields in the order of the header. Padding is no field.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The size in bytes, padding included.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Appends a field. `None`, and nothing changed, if the record would pass NumPy's limit of 2³¹ − 1 bytes.
    ///
    /// That names are unique is for the caller to see to: a format knows where the repeated name stands.
    pub fn push(&mut self, name: String, title: Option<Title>, dtype: DType) -> Option<()> {
        let offset = self.size;
        self.pad(dtype.item_size())?;
        self.fields.push(Field { name, title, offset, dtype });
        Some(())
    }

    /// Appends unused bytes. `None`, and nothing changed, if the record would pass NumPy's limit.
    pub fn pad(&mut self, bytes: usize) -> Option<()> {
        self.size = self.size.checked_add(bytes).filter(|&size| size <= MAX_ITEM_SIZE)?;
        Some(())
    }

    pub(super) fn with_byte_order(&self, order: ByteOrder) -> Self {
        let field = |field: &Field| Field { dtype: field.dtype.with_byte_order(order), ..field.clone() };
        Self { fields: self.fields.iter().map(field).collect(), size: self.size }
    }
}
