//! The numbers of the Python package `ml_dtypes`, which files store as raw bytes.

/// A number of fewer bits than NumPy's own types have, as the Python package `ml_dtypes` adds them to NumPy.
///
/// NumPy writes their arrays as raw bytes: `|V1`, or `|V2` for `bfloat16`. Which numbers they are is for the reader to say:
/// by the element type (with the feature `narrow`, in the module of this name), or with [`ReadOptions::raw_bytes_are`](crate::ReadOptions::raw_bytes_are).
/// (`<f1`, which NumPy writes for `float8_e5m2` and cannot read, is read as that.)
///
/// A number of fewer than 8 bits has a byte of its own, whose higher bits are ignored.
///
/// ```
/// use ndarray_io::DType;
/// use ndarray_io::dtype::{Kind, Narrow};
///
/// let dtype: DType = "float8_e4m3fn".parse()?;
/// assert_eq!(dtype.as_scalar().unwrap().kind(), Kind::Narrow(Narrow::Float8E4M3Fn));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Narrow {
    /// `float8_e3m4`: 3 bits of exponent, 4 of mantissa.
    Float8E3M4,
    /// `float8_e4m3`: as IEEE 754 would have it, with infinities.
    Float8E4M3,
    /// `float8_e4m3b11fnuz`: without infinities and negative zero, with an exponent bias of 11.
    Float8E4M3B11Fnuz,
    /// `float8_e4m3fn`: without infinities.
    Float8E4M3Fn,
    /// `float8_e4m3fnuz`: without infinities and negative zero.
    Float8E4M3Fnuz,
    /// `float8_e5m2`: as IEEE 754 would have it, with infinities.
    Float8E5M2,
    /// `float8_e5m2fnuz`: without infinities and negative zero.
    Float8E5M2Fnuz,
    /// `float8_e8m0fnu`: powers of two.
    Float8E8M0Fnu,
    /// `float6_e2m3fn`: 6 bits, without infinities and NaN.
    Float6E2M3Fn,
    /// `float6_e3m2fn`: 6 bits, without infinities and NaN.
    Float6E3M2Fn,
    /// `float4_e2m1fn`: 4 bits, without infinities and NaN.
    Float4E2M1Fn,
    /// `bfloat16`: the upper half of an `f32`.
    BFloat16,
    /// `int1`: −1 and 0.
    Int1,
    /// `int2`: from −2 to 1.
    Int2,
    /// `int4`: from −8 to 7.
    Int4,
    /// `uint1`: 0 and 1.
    Uint1,
    /// `uint2`: from 0 to 3.
    Uint2,
    /// `uint4`: from 0 to 15.
    Uint4,
}

impl Narrow {
    /// All of them, in the order of their names.
    pub const ALL: [Self; 18] = [
        Self::BFloat16,
        Self::Float4E2M1Fn,
        Self::Float6E2M3Fn,
        Self::Float6E3M2Fn,
        Self::Float8E3M4,
        Self::Float8E4M3,
        Self::Float8E4M3B11Fnuz,
        Self::Float8E4M3Fn,
        Self::Float8E4M3Fnuz,
        Self::Float8E5M2,
        Self::Float8E5M2Fnuz,
        Self::Float8E8M0Fnu,
        Self::Int1,
        Self::Int2,
        Self::Int4,
        Self::Uint1,
        Self::Uint2,
        Self::Uint4,
    ];

    /// Returns the name that `ml_dtypes` gives the type.
    ///
    /// ```
    /// assert_eq!(ndarray_io::dtype::Narrow::Int4.name(), "int4");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Float8E3M4 => "float8_e3m4",
            Self::Float8E4M3 => "float8_e4m3",
            Self::Float8E4M3B11Fnuz => "float8_e4m3b11fnuz",
            Self::Float8E4M3Fn => "float8_e4m3fn",
            Self::Float8E4M3Fnuz => "float8_e4m3fnuz",
            Self::Float8E5M2 => "float8_e5m2",
            Self::Float8E5M2Fnuz => "float8_e5m2fnuz",
            Self::Float8E8M0Fnu => "float8_e8m0fnu",
            Self::Float6E2M3Fn => "float6_e2m3fn",
            Self::Float6E3M2Fn => "float6_e3m2fn",
            Self::Float4E2M1Fn => "float4_e2m1fn",
            Self::BFloat16 => "bfloat16",
            Self::Int1 => "int1",
            Self::Int2 => "int2",
            Self::Int4 => "int4",
            Self::Uint1 => "uint1",
            Self::Uint2 => "uint2",
            Self::Uint4 => "uint4",
        }
    }

    /// Returns the type with this name, if there is one.
    ///
    /// ```
    /// use ndarray_io::dtype::Narrow;
    /// assert_eq!(Narrow::from_name("bfloat16"), Some(Narrow::BFloat16));
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|narrow| narrow.name() == name)
    }

    /// Returns the size in bytes: 2 for `bfloat16`, whose bytes are little-endian, otherwise 1.
    ///
    /// ```
    /// assert_eq!(ndarray_io::dtype::Narrow::Float4E2M1Fn.size(), 1);
    /// ```
    pub fn size(self) -> usize {
        if self == Self::BFloat16 { 2 } else { 1 }
    }

    /// Returns the smallest and the largest integer; `None` if the type is a float.
    ///
    /// ```
    /// assert_eq!(ndarray_io::dtype::Narrow::Int4.limits(), Some((-8, 7)));
    /// ```
    pub fn limits(self) -> Option<(i8, i8)> {
        match self {
            Self::Int1 => Some((-1, 0)),
            Self::Int2 => Some((-2, 1)),
            Self::Int4 => Some((-8, 7)),
            Self::Uint1 => Some((0, 1)),
            Self::Uint2 => Some((0, 3)),
            Self::Uint4 => Some((0, 15)),
            _ => None,
        }
    }
}
