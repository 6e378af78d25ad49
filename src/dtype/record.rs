//! Records and subarrays: dtypes made of dtypes.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

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
    /// use ndarray_io::dtype::{ByteOrder, Kind, Scalar, Subarray};
    /// use ndarray_io::header::Shape;
    ///
    /// let float = Scalar::new(Kind::Float, 4, ByteOrder::Little).unwrap();
    /// let matrix = Subarray::new(float.into(), Shape::from([2, 3])).unwrap();
    /// assert_eq!(matrix.size(), 24);
    /// ```
    pub fn new(base: DType, shape: Shape) -> Option<Self> {
        let size =
            usize::try_from(shape.byte_len(base.item_size())?).ok().filter(|&size| size <= MAX_ITEM_SIZE)?;
        Some(Self { base, shape, size })
    }

    /// The type of each of its elements.
    pub fn base(&self) -> &DType {
        &self.base
    }

    /// Its shape.
    pub fn shape(&self) -> &[usize] {
        self.shape.dims()
    }

    pub(crate) fn the_shape(&self) -> &Shape {
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
/// use ndarray_io::dtype::{ByteOrder, DType, Kind, Record, Scalar};
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
/// A copy shares the fields, so that a type of many fields costs nothing where many arrays have it.
#[derive(Clone, Debug, Default)]
pub struct Record {
    fields: Arc<Vec<Field>>,
    size: usize,
    within: Within,
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        let are_one = Arc::ptr_eq(&self.fields, &other.fields);
        self.size == other.size && self.within == other.within && (are_one || self.fields == other.fields)
    }
}

impl Eq for Record {}

impl Hash for Record {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.fields, self.size).hash(state);
    }
}

/// What is known of all that a type has in it, so that nobody has to look again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Within {
    /// How many fields, with those of fields.
    fields: u64,
    has_object: bool,
    is_foreign_to_numpy: bool,
    has_little: bool,
    has_big: bool,
}

impl Within {
    fn of(dtype: &DType) -> Self {
        match dtype {
            DType::Scalar(scalar) => Self {
                is_foreign_to_numpy: dtype.is_foreign_to_numpy(),
                has_little: scalar.byte_order() == Some(ByteOrder::Little),
                has_big: scalar.byte_order() == Some(ByteOrder::Big),
                ..Self::default()
            },
            DType::Subarray(subarray) => Self::of(subarray.base()),
            DType::Record(record) => record.within,
            DType::Object => Self { has_object: true, ..Self::default() },
        }
    }

    fn add(&mut self, other: Self) {
        self.fields = self.fields.saturating_add(1).saturating_add(other.fields);
        self.has_object |= other.has_object;
        self.is_foreign_to_numpy |= other.is_foreign_to_numpy;
        self.has_little |= other.has_little;
        self.has_big |= other.has_big;
    }
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
        self.within.add(Within::of(&dtype));
        Arc::make_mut(&mut self.fields).push(Field { name, title, offset, dtype });
        Some(())
    }

    /// Appends unused bytes. `None`, and nothing changed, if the record would pass NumPy's limit.
    pub fn pad(&mut self, bytes: usize) -> Option<()> {
        self.size = self.size.checked_add(bytes).filter(|&size| size <= MAX_ITEM_SIZE)?;
        Some(())
    }

    pub(super) fn with_byte_order(&self, order: ByteOrder) -> Self {
        let has_other = match order {
            ByteOrder::Little => self.within.has_big,
            ByteOrder::Big => self.within.has_little,
        };
        if !has_other {
            return self.clone();
        }
        let field = |field: &Field| Field { dtype: field.dtype.with_byte_order(order), ..field.clone() };
        let (has_little, has_big) = (order == ByteOrder::Little, order == ByteOrder::Big);
        Self {
            fields: Arc::new(self.fields.iter().map(field).collect()),
            size: self.size,
            within: Within { has_little, has_big, ..self.within },
        }
    }

    pub(super) fn has_object(&self) -> bool {
        self.within.has_object
    }

    pub(super) fn is_foreign_to_numpy(&self) -> bool {
        self.within.is_foreign_to_numpy
    }

    /// How many fields there are, with those of fields: as many as it takes to go through all of them.
    #[cfg_attr(not(feature = "object"), allow(dead_code))]
    pub(crate) fn fields_within(&self) -> u64 {
        self.within.fields
    }
}
