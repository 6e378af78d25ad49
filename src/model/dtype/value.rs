//! [`DType`].

use super::*;

/// NumPy's limit for the size of one element, in bytes.
pub(crate) const MAX_ITEM_SIZE: usize = i32::MAX as usize;

/// The maximum [nesting](DType::nesting) of a dtype. It bounds the recursion of all code that visits dtypes.
pub(crate) const MAX_NESTING: usize = 32;

/// The type of an array's elements in a file.
///
/// `Display` and `FromStr` use NumPy's spelling in a header:
///
/// ```
/// use ndarray_io::dtype::{Kind, Scalar};
/// use ndarray_io::{ByteOrder, DType};
///
/// let dtype = DType::from(Scalar::new(Kind::Float, 8, ByteOrder::Little).unwrap());
/// assert_eq!(dtype.to_string(), "'<f8'");
/// assert_eq!(dtype.item_size(), 8);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// A number, a bool, text, a time or raw bytes.
    Scalar(Scalar),
    /// An array of fixed shape as one element, in a record or on its own.
    Subarray(Box<Subarray>),
    /// Named fields at fixed offsets.
    Record(Record),
    /// Python objects, stored as one pickle after the header.
    Object,
}

impl DType {
    /// Returns the size of one element in bytes.
    ///
    /// For objects, this is 8, the size of a pointer on 64-bit machines. It is unrelated to their size in the
    /// file, where the payload is one unit
    /// ([`Header::payload_len`](crate::header::Header::payload_len) is `None`).
    ///
    /// ```
    /// # use ndarray_io::dtype::{Kind, Scalar};
    /// # use ndarray_io::{ByteOrder, DType};
    /// let text = Scalar::new(Kind::Text, 12, ByteOrder::Big).unwrap();
    /// assert_eq!(DType::from(text).item_size(), 12); // three code points of four bytes
    /// ```
    pub fn item_size(&self) -> usize {
        match self {
            Self::Scalar(scalar) => scalar.size(),
            Self::Subarray(subarray) => subarray.size(),
            Self::Record(record) => record.size(),
            Self::Object => 8,
        }
    }

    /// Returns the depth of nested records, and of subarrays whose base is a subarray.
    ///
    /// A subarray of another dtype is not a level of its own, so that each of 32 nested records may be repeated.
    pub(crate) fn nesting(&self) -> usize {
        match self {
            Self::Scalar(_) | Self::Object => 0,
            Self::Subarray(subarray) => subarray.nesting(),
            Self::Record(record) => record.nesting(),
        }
    }

    /// Returns whether the element is a Python object or contains one.
    ///
    /// ```
    /// # use ndarray_io::DType;
    /// assert!(DType::Object.has_object());
    /// ```
    pub fn has_object(&self) -> bool {
        match self {
            Self::Scalar(_) => false,
            Self::Subarray(subarray) => subarray.base().has_object(),
            Self::Record(record) => record.has_object(),
            Self::Object => true,
        }
    }

    /// Returns whether some bytes are invalid for the dtype, as for bools and text.
    ///
    /// `DynArray::check` reports such bytes.
    ///
    /// ```
    /// # use ndarray_io::DType;
    /// assert!("|b1".parse::<DType>()?.has_invalid_bytes());
    /// assert!(!"<f8".parse::<DType>()?.has_invalid_bytes());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[deny(clippy::wildcard_enum_match_arm)] // elements of such a kind would not be checked
    pub fn has_invalid_bytes(&self) -> bool {
        match self {
            Self::Scalar(scalar) => match scalar.kind() {
                Kind::Bool | Kind::Text => true,
                Kind::Int | Kind::Uint | Kind::Float | Kind::Complex | Kind::Narrow(_) => false,
                Kind::Bytes | Kind::Void | Kind::Datetime(_) | Kind::Timedelta(_) => false,
            },
            Self::Subarray(subarray) => subarray.base().has_invalid_bytes(),
            Self::Record(record) => record.fields().iter().any(|field| field.dtype().has_invalid_bytes()),
            Self::Object => false,
        }
    }

    /// Why NumPy cannot have the dtypes of which [`is_foreign_to_numpy`](Self::is_foreign_to_numpy) is true.
    pub(crate) const FOREIGN_REASON: &str = "NumPy has no complex numbers of 2 × 16 bits";

    /// Returns whether the element is or contains a type that NumPy lacks: a complex number of 2 × 16 bits.
    #[deny(clippy::wildcard_enum_match_arm)] // a kind that NumPy lacks would be written
    pub(crate) fn is_foreign_to_numpy(&self) -> bool {
        match self {
            Self::Scalar(scalar) => match scalar.kind() {
                Kind::Complex => scalar.size() == 4,
                Kind::Bool
                | Kind::Int
                | Kind::Uint
                | Kind::Float
                | Kind::Bytes
                | Kind::Text
                | Kind::Void
                | Kind::Datetime(_)
                | Kind::Timedelta(_)
                | Kind::Narrow(_) => false,
            },
            Self::Subarray(subarray) => subarray.base().is_foreign_to_numpy(),
            Self::Record(record) => record.is_foreign_to_numpy(),
            Self::Object => false,
        }
    }

    /// Returns the same dtype with this byte order for all of its scalars.
    ///
    /// ```
    /// # use ndarray_io::dtype::{Kind, Scalar};
    /// # use ndarray_io::{ByteOrder, DType};
    /// let little = DType::from(Scalar::new(Kind::Float, 8, ByteOrder::Little).unwrap());
    /// assert_eq!(little.with_byte_order(ByteOrder::Big).to_string(), "'>f8'");
    /// ```
    pub fn with_byte_order(&self, order: ByteOrder) -> Self {
        match self {
            Self::Scalar(scalar) => scalar.with_order(order).into(),
            Self::Subarray(subarray) => subarray.with_base(subarray.base().with_byte_order(order)).into(),
            Self::Record(record) => record.with_byte_order(order).into(),
            Self::Object => Self::Object,
        }
    }

    /// Returns the same dtype with numbers of this type for all of its raw bytes of that size.
    pub(crate) fn with_raw_bytes_as(&self, narrow: Narrow) -> Self {
        self.map_scalars(&|scalar| match (scalar.kind(), scalar.size()) {
            (Kind::Void, size) if size == narrow.size() => narrow.into(),
            _ => *scalar,
        })
    }

    /// Returns the dtype that files say: [`Narrow`] numbers are raw bytes.
    ///
    /// ```
    /// use ndarray_io::DType;
    /// use ndarray_io::dtype::Narrow;
    /// assert_eq!(DType::from(Narrow::BFloat16).stored().to_string(), "'|V2'");
    /// ```
    #[deny(clippy::wildcard_enum_match_arm)] // a kind that NumPy lacks would be written as it is
    pub fn stored(&self) -> Self {
        self.map_scalars(&|scalar| match scalar.kind() {
            Kind::Narrow(narrow) => Scalar::raw(narrow.size()),
            Kind::Bool
            | Kind::Int
            | Kind::Uint
            | Kind::Float
            | Kind::Complex
            | Kind::Bytes
            | Kind::Text
            | Kind::Void
            | Kind::Datetime(_)
            | Kind::Timedelta(_) => *scalar,
        })
    }

    /// Returns the dtype with another scalar of the same size for each.
    fn map_scalars(&self, replace: &dyn Fn(&Scalar) -> Scalar) -> Self {
        match self {
            Self::Scalar(scalar) => replace(scalar).into(),
            Self::Subarray(subarray) => subarray.with_base(subarray.base().map_scalars(replace)).into(),
            Self::Record(record) => record.map_field_dtypes(&|dtype| dtype.map_scalars(replace)).into(),
            Self::Object => Self::Object,
        }
    }

    /// Returns the scalar, or `None` for any other dtype.
    ///
    /// ```
    /// # use ndarray_io::dtype::{Kind, Scalar};
    /// # use ndarray_io::{ByteOrder, DType};
    /// let dtype = DType::from(Scalar::new(Kind::Int, 2, ByteOrder::Big).unwrap());
    /// assert_eq!(dtype.as_scalar().unwrap().byte_order(), Some(ByteOrder::Big));
    /// ```
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match self {
            Self::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Returns the record, or `None` for any other dtype.
    ///
    /// ```
    /// # use ndarray_io::DType;
    /// let dtype: DType = "[('x', '<f4')]".parse()?;
    /// assert_eq!(dtype.as_record().unwrap().fields()[0].name(), "x");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn as_record(&self) -> Option<&Record> {
        match self {
            Self::Record(record) => Some(record),
            _ => None,
        }
    }
}

impl From<Scalar> for DType {
    fn from(scalar: Scalar) -> Self {
        Self::Scalar(scalar)
    }
}

impl From<Narrow> for DType {
    fn from(narrow: Narrow) -> Self {
        Self::Scalar(narrow.into())
    }
}

impl From<Record> for DType {
    fn from(record: Record) -> Self {
        Self::Record(record)
    }
}

impl From<Subarray> for DType {
    fn from(subarray: Subarray) -> Self {
        Self::Subarray(Box::new(subarray))
    }
}
