//! Scalars: a kind, a size and, where they apply, a byte order or a unit of time.

use super::{MAX_ITEM_SIZE, Narrow};

/// The order of the bytes of a number in a file.
///
/// ```
/// use ndarray_io::ByteOrder;
/// assert_eq!(ByteOrder::NATIVE == ByteOrder::Little, cfg!(target_endian = "little"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", rename_all = "snake_case"))]
pub enum ByteOrder {
    /// Least significant byte first (`<`).
    Little,
    /// Most significant byte first (`>`).
    Big,
}

impl ByteOrder {
    /// The byte order of the machine that this program runs on.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

/// The kind of a scalar, without its size and byte order.
///
/// ```
/// use ndarray_io::dtype::Kind;
/// assert_eq!(Kind::Complex.letter(), 'c');
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `b`: one byte, 0 or 1.
    Bool,
    /// `i`: a signed integer.
    Int,
    /// `u`: an unsigned integer.
    Uint,
    /// `f`: a floating-point number of 2, 4, 8 or 16 bytes, or of 12 (a `longdouble` of 32-bit x86).
    Float,
    /// `c`: two floating-point numbers, the real part first.
    ///
    /// Complex numbers of 2 × 16 bits occur in RA files, but not in NPY files.
    Complex,
    /// `S`: a byte string of fixed length, padded with NULs.
    Bytes,
    /// `U`: text of fixed length in four-byte code points, padded with NULs.
    Text,
    /// `V`: raw bytes without a meaning.
    Void,
    /// `M`: a point in time, counted in steps since the start of 1970.
    Datetime(TimeStep),
    /// `m`: a duration, counted in steps.
    Timedelta(TimeStep),
    /// A number of the package `ml_dtypes`, which files store as raw bytes.
    Narrow(Narrow),
}

impl Kind {
    /// Returns NumPy's letter for the kind.
    ///
    /// ```
    /// assert_eq!(ndarray_io::dtype::Kind::Uint.letter(), 'u');
    /// ```
    pub fn letter(self) -> char {
        match self {
            Self::Bool => 'b',
            Self::Int => 'i',
            Self::Uint => 'u',
            Self::Float => 'f',
            Self::Complex => 'c',
            Self::Bytes => 'S',
            Self::Text => 'U',
            Self::Void | Self::Narrow(_) => 'V',
            Self::Datetime(_) => 'M',
            Self::Timedelta(_) => 'm',
        }
    }

    /// Returns whether scalars of this kind may have this size in bytes.
    fn allows_size(self, size: usize) -> bool {
        match self {
            Self::Bool => size == 1,
            Self::Int | Self::Uint => matches!(size, 1 | 2 | 4 | 8),
            Self::Float => matches!(size, 2 | 4 | 8 | 12 | 16),
            Self::Complex => matches!(size, 4 | 8 | 16 | 24 | 32),
            Self::Bytes | Self::Void => size <= MAX_ITEM_SIZE,
            Self::Text => size <= MAX_ITEM_SIZE && size % 4 == 0,
            Self::Narrow(narrow) => size == narrow.size(),
            Self::Datetime(step) | Self::Timedelta(step) => {
                size == 8 && (1..=i32::MAX as u32).contains(&step.count)
            }
        }
    }
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TimeUnit {
    /// No unit: a bare count.
    Generic,
    /// Years (`Y`).
    Year,
    /// Months (`M`).
    Month,
    /// Weeks (`W`).
    Week,
    /// Days (`D`).
    Day,
    /// Hours (`h`).
    Hour,
    /// Minutes (`m`).
    Minute,
    /// Seconds (`s`).
    Second,
    /// Milliseconds (`ms`).
    Millisecond,
    /// Microseconds (`us`).
    Microsecond,
    /// Nanoseconds (`ns`).
    Nanosecond,
    /// Picoseconds (`ps`).
    Picosecond,
    /// Femtoseconds (`fs`).
    Femtosecond,
    /// Attoseconds (`as`).
    Attosecond,
}

impl TimeUnit {
    /// All units: `Generic` first, then from the longest to the shortest.
    pub const ALL: [Self; 14] = [
        Self::Generic,
        Self::Year,
        Self::Month,
        Self::Week,
        Self::Day,
        Self::Hour,
        Self::Minute,
        Self::Second,
        Self::Millisecond,
        Self::Microsecond,
        Self::Nanosecond,
        Self::Picosecond,
        Self::Femtosecond,
        Self::Attosecond,
    ];

    /// Returns NumPy's symbol for the unit (`"generic"` for none).
    ///
    /// ```
    /// assert_eq!(ndarray_io::dtype::TimeUnit::Microsecond.symbol(), "us");
    /// ```
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Year => "Y",
            Self::Month => "M",
            Self::Week => "W",
            Self::Day => "D",
            Self::Hour => "h",
            Self::Minute => "m",
            Self::Second => "s",
            Self::Millisecond => "ms",
            Self::Microsecond => "us",
            Self::Nanosecond => "ns",
            Self::Picosecond => "ps",
            Self::Femtosecond => "fs",
            Self::Attosecond => "as",
        }
    }

    /// Returns the units in words, as NumPy prints durations.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Generic => "generic time units",
            Self::Year => "years",
            Self::Month => "months",
            Self::Week => "weeks",
            Self::Day => "days",
            Self::Hour => "hours",
            Self::Minute => "minutes",
            Self::Second => "seconds",
            Self::Millisecond => "milliseconds",
            Self::Microsecond => "microseconds",
            Self::Nanosecond => "nanoseconds",
            Self::Picosecond => "picoseconds",
            Self::Femtosecond => "femtoseconds",
            Self::Attosecond => "attoseconds",
        }
    }
}

/// The meaning of one tick of a time: a multiple of a unit, such as `[25s]`.
///
/// ```
/// use ndarray_io::dtype::{TimeStep, TimeUnit};
/// assert_eq!(TimeStep::new(25, TimeUnit::Second).count, 25);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TimeStep {
    /// The number of units in one tick, from 1 to 2³¹ − 1.
    pub count: u32,
    /// The unit.
    pub unit: TimeUnit,
}

impl TimeStep {
    /// A bare count without a unit.
    pub const GENERIC: Self = Self::new(1, TimeUnit::Generic);

    /// Creates a step of `count` units.
    ///
    /// The count is not checked here; [`Scalar::new`] rejects a count that is out of range.
    pub const fn new(count: u32, unit: TimeUnit) -> Self {
        Self { count, unit }
    }
}

/// A scalar dtype: its kind, its size in bytes, and its byte order, if it has one.
///
/// ```
/// use ndarray_io::dtype::{Kind, Scalar};
/// use ndarray_io::ByteOrder;
///
/// let scalar = Scalar::new(Kind::Uint, 1, ByteOrder::Big).unwrap();
/// assert_eq!(scalar.byte_order(), None); // one byte has no order
/// assert!(Scalar::new(Kind::Int, 3, ByteOrder::Little).is_none()); // there is no such integer
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    kind: Kind,
    size: u32,
    order: Option<ByteOrder>,
}

impl Scalar {
    /// Creates a scalar of this kind, size in bytes and byte order.
    ///
    /// Returns `None` if the kind does not have this size. The byte order is dropped where it has no meaning.
    /// Complex numbers of 4 bytes are accepted because RA files may contain them, although NumPy has none.
    ///
    /// ```
    /// # use ndarray_io::dtype::{Kind, Scalar};
    /// # use ndarray_io::ByteOrder;
    /// assert_eq!(Scalar::new(Kind::Float, 4, ByteOrder::Big).unwrap().size(), 4);
    /// ```
    pub fn new(kind: Kind, size: usize, order: ByteOrder) -> Option<Self> {
        if !kind.allows_size(size) {
            return None;
        }
        #[deny(clippy::wildcard_enum_match_arm)] // a new kind has to be considered
        let has_order = match kind {
            Kind::Bool | Kind::Bytes | Kind::Void | Kind::Narrow(_) => false,
            Kind::Text => true, // NumPy writes a byte order even for text without characters
            Kind::Int | Kind::Uint | Kind::Float | Kind::Complex | Kind::Datetime(_) | Kind::Timedelta(_) => {
                size > 1
            }
        };
        Some(Self { kind, size: u32::try_from(size).ok()?, order: has_order.then_some(order) })
    }

    /// Returns raw bytes of a small size.
    pub(crate) fn raw(size: usize) -> Self {
        Self { kind: Kind::Void, size: size as u32, order: None }
    }

    /// Returns the kind of the scalar.
    ///
    /// ```
    /// # use ndarray_io::dtype::{Kind, Scalar};
    /// # use ndarray_io::ByteOrder;
    /// assert_eq!(Scalar::new(Kind::Bool, 1, ByteOrder::Big).unwrap().kind(), Kind::Bool);
    /// ```
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the size in bytes.
    ///
    /// ```
    /// # use ndarray_io::dtype::{Kind, Scalar};
    /// # use ndarray_io::ByteOrder;
    /// assert_eq!(Scalar::new(Kind::Complex, 16, ByteOrder::Big).unwrap().size(), 16);
    /// ```
    pub fn size(&self) -> usize {
        self.size as usize
    }

    /// Returns the byte order; `None` if it has no meaning (single bytes, `S`, `V`).
    ///
    /// ```
    /// # use ndarray_io::dtype::{Kind, Scalar};
    /// # use ndarray_io::ByteOrder;
    /// let scalar = Scalar::new(Kind::Float, 8, ByteOrder::Big).unwrap();
    /// assert_eq!(scalar.byte_order(), Some(ByteOrder::Big));
    /// ```
    pub fn byte_order(&self) -> Option<ByteOrder> {
        self.order
    }

    /// Returns the same scalar in the given byte order, if it has one.
    pub(crate) fn with_order(self, order: ByteOrder) -> Self {
        Self { order: self.order.map(|_| order), ..self }
    }

    /// Returns whether the byte order differs from this machine's.
    pub(crate) fn is_foreign(&self) -> bool {
        self.order.is_some_and(|order| order != ByteOrder::NATIVE)
    }
}

impl From<Narrow> for Scalar {
    fn from(narrow: Narrow) -> Self {
        Self { kind: Kind::Narrow(narrow), ..Self::raw(narrow.size()) }
    }
}
