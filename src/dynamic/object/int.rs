//! Integers of any size.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use num_bigint::BigInt;

use crate::error::{Error, Fault};

/// A Python `int` of any size.
///
/// ```
/// use ndarray_io::object::Int;
///
/// let large: Int = "1180591620717411303424".parse()?;
/// assert_eq!(i128::try_from(&large)?, 1 << 70);
/// assert!(i64::try_from(&large).is_err());
/// assert_eq!(Int::from(-5).to_string(), "-5");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Int(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Small(i64),
    /// A number that does not fit into an `i64`.
    Large(Arc<BigInt>),
}

impl Int {
    fn of(number: BigInt) -> Self {
        Self(match i64::try_from(&number) {
            Ok(number) => Repr::Small(number),
            Err(_) => Repr::Large(Arc::new(number)),
        })
    }

    /// Formats the number for a message, or only its number of bits if the number is long.
    fn brief(&self) -> String {
        match &self.0 {
            Repr::Large(number) if number.bits() > 256 => format!("of {} bits", number.bits()),
            _ => self.to_string(),
        }
    }

    /// Returns the nearest float; `None` if the number is too large, which is an error in Python.
    pub(super) fn to_f64(&self) -> Option<f64> {
        match &self.0 {
            Repr::Small(number) => Some(*number as f64),
            // The conversion through decimal digits rounds only once. Beyond 1024 bits, no float is large
            // enough.
            Repr::Large(number) if number.bits() <= 1024 => {
                number.to_string().parse().ok().filter(|float: &f64| float.is_finite())
            }
            Repr::Large(_) => None,
        }
    }

    /// Creates an integer from a shared number that does not fit into an `i64`.
    pub(super) fn of_shared(number: &Arc<BigInt>) -> Self {
        Self(Repr::Large(Arc::clone(number)))
    }

    pub(super) fn small_or_large(&self) -> Result<i64, &Arc<BigInt>> {
        match &self.0 {
            Repr::Small(number) => Ok(*number),
            Repr::Large(number) => Err(number),
        }
    }
}

impl From<i64> for Int {
    fn from(number: i64) -> Self {
        Self(Repr::Small(number))
    }
}

macro_rules! from {
    ($($type:ty),*) => {$(
        impl From<$type> for Int {
            fn from(number: $type) -> Self {
                Self::of(number.into())
            }
        }
    )*};
}

from!(i8, i16, i32, i128, isize, u8, u16, u32, u64, u128, usize);

/// Conversions to and from the integers of `num-bigint` 0.4.
#[cfg(feature = "num-bigint-0_4")]
mod bigint {
    use super::{BigInt, Int, Repr};

    impl From<BigInt> for Int {
        fn from(number: BigInt) -> Self {
            Self::of(number)
        }
    }

    impl From<&Int> for BigInt {
        fn from(number: &Int) -> Self {
            match &number.0 {
                Repr::Small(number) => (*number).into(),
                Repr::Large(number) => (**number).clone(),
            }
        }
    }

    impl From<Int> for BigInt {
        fn from(number: Int) -> Self {
            (&number).into()
        }
    }
}

macro_rules! try_from {
    ($($type:ty),*) => {$(
        impl TryFrom<&Int> for $type {
            type Error = Error;

            fn try_from(number: &Int) -> Result<Self, Error> {
                let fitted = match &number.0 {
                    Repr::Small(number) => <$type>::try_from(*number).ok(),
                    Repr::Large(number) => <$type>::try_from(&**number).ok(),
                };
                fitted.ok_or_else(|| {
                    let reason = format!("the integer {} does not fit {}", number.brief(), stringify!($type));
                    Fault::NotConvertible { reason }.into()
                })
            }
        }
    )*};
}

try_from!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

/// Parses decimal digits with an optional sign.
///
/// # Errors
///
/// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the text is not a decimal number, or is longer than 4,300 bytes. Python
/// has the same limit by default.
impl FromStr for Int {
    type Err = Error;

    fn from_str(digits: &str) -> Result<Self, Error> {
        const MAX_DIGITS: usize = 4300;
        let parsed = if digits.len() > MAX_DIGITS { None } else { BigInt::from_str(digits).ok() };
        parsed.map(Self::of).ok_or_else(|| {
            let reason = "expected a decimal number of at most 4300 digits".into();
            Fault::NotConvertible { reason }.into()
        })
    }
}

/// Formats the number in decimal, or beyond 100,000 bits in hexadecimal, because decimal would take too long.
impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_DECIMAL_BITS: u64 = 100_000;
        match &self.0 {
            Repr::Small(number) => number.fmt(f),
            Repr::Large(number) if number.bits() > MAX_DECIMAL_BITS => write!(f, "{:#x}", &**number),
            Repr::Large(number) => number.fmt(f),
        }
    }
}

impl fmt::Debug for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
