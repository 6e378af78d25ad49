//! Integers of any size.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use num_bigint::BigInt;

use crate::error::{Error, ErrorKind};

/// A Python `int`, which may be of any size.
///
/// ```
/// use ndarray_io::PyInt;
///
/// let large: PyInt = "1180591620717411303424".parse()?;
/// assert_eq!(i128::try_from(&large)?, 1 << 70);
/// assert!(i64::try_from(&large).is_err());
/// assert_eq!(PyInt::from(-5).to_string(), "-5");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyInt(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Small(i64),
    /// One that does not fit the other.
    Large(Arc<BigInt>),
}

impl PyInt {
    /// The integer whose two's complement these bytes are, the least significant first.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        Self::of(BigInt::from_signed_bytes_le(bytes))
    }

    fn of(number: BigInt) -> Self {
        Self(match i64::try_from(&number) {
            Ok(number) => Repr::Small(number),
            Err(_) => Repr::Large(Arc::new(number)),
        })
    }

    /// The number for a message: of a long one, how long it is.
    fn brief(&self) -> String {
        match &self.0 {
            Repr::Large(number) if number.bits() > 256 => format!("of {} bits", number.bits()),
            _ => self.to_string(),
        }
    }

    /// The nearest float; `None` if the number is too large for one, as in Python.
    pub(super) fn to_f64(&self) -> Option<f64> {
        match &self.0 {
            Repr::Small(number) => Some(*number as f64),
            // Decimal digits are rounded once.
            Repr::Large(number) if number.bits() <= 1024 => {
                number.to_string().parse().ok().filter(|float: &f64| float.is_finite())
            }
            Repr::Large(_) => None,
        }
    }

    /// The number, or the bytes of its two's complement if it does not fit.
    pub(super) fn small_or_bytes(&self) -> Result<i64, Vec<u8>> {
        match &self.0 {
            Repr::Small(number) => Ok(*number),
            Repr::Large(number) => Err(number.to_signed_bytes_le()),
        }
    }
}

impl From<i64> for PyInt {
    fn from(number: i64) -> Self {
        Self(Repr::Small(number))
    }
}

impl From<u64> for PyInt {
    fn from(number: u64) -> Self {
        Self::of(number.into())
    }
}

impl From<i128> for PyInt {
    fn from(number: i128) -> Self {
        Self::of(number.into())
    }
}

impl From<i32> for PyInt {
    fn from(number: i32) -> Self {
        Self(Repr::Small(number.into()))
    }
}

macro_rules! try_from {
    ($($type:ty),*) => {$(
        impl TryFrom<&PyInt> for $type {
            type Error = Error;

            fn try_from(number: &PyInt) -> Result<Self, Error> {
                let fitted = match &number.0 {
                    Repr::Small(number) => <$type>::try_from(*number).ok(),
                    Repr::Large(number) => <$type>::try_from(&**number).ok(),
                };
                fitted.ok_or_else(|| {
                    let reason = format!("the integer {} does not fit {}", number.brief(), stringify!($type));
                    ErrorKind::BadOption { reason }.into()
                })
            }
        }
    )*};
}

try_from!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);

/// Decimal digits, at most 4,300 of them, as with Python.
impl FromStr for PyInt {
    type Err = Error;

    fn from_str(digits: &str) -> Result<Self, Error> {
        const MOST: usize = 4300;
        let parsed = if digits.len() > MOST { None } else { BigInt::from_str(digits).ok() };
        parsed.map(Self::of).ok_or_else(|| {
            let reason = "it is no decimal number of at most 4300 digits".into();
            ErrorKind::BadOption { reason }.into()
        })
    }
}

/// In decimal; beyond 100,000 bits, which would take long, in hexadecimal.
impl fmt::Display for PyInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: u64 = 100_000;
        match &self.0 {
            Repr::Small(number) => number.fmt(f),
            Repr::Large(number) if number.bits() > MOST => write!(f, "{:#x}", &**number),
            Repr::Large(number) => number.fmt(f),
        }
    }
}

impl fmt::Debug for PyInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
