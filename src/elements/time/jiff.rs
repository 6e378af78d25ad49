//! Conversions between NumPy's times and those of `jiff` 0.2.
//!
//! `try_from` does not round: a time that cannot be represented exactly is an error.

use jiff_0_2::{SignedDuration, Timestamp};

use super::convert::{not_convertible, split_nanos, to_exact_ticks, to_nanos};
use super::units::{Moment, Span, Unit};
use super::{Datetime64, Timedelta64};
use crate::error::{Error, Result};

/// Converts a time exactly.
///
/// # Errors
///
/// [`ErrorKind::NotConvertible`](crate::error::ErrorKind::NotConvertible) for NaT, for the unit `Generic`,
/// and for a time that is out of `jiff`'s range or not a multiple of a nanosecond.
impl<U: Unit> TryFrom<Datetime64<U>> for Timestamp {
    type Error = Error;

    fn try_from(time: Datetime64<U>) -> Result<Self> {
        let nanos = to_nanos(time.ticks(), U::STEP, true)?;
        Self::from_nanosecond(nanos)
            .map_err(|_| not_convertible(format!("{time:?} is out of range for jiff")))
    }
}

/// Converts a time exactly.
///
/// # Errors
///
/// [`ErrorKind::NotConvertible`](crate::error::ErrorKind::NotConvertible) for a time out of range or between
/// two ticks, and for the units `Year`, `Month` and `Generic`.
impl<U: Unit> TryFrom<Timestamp> for Datetime64<U> {
    type Error = Error;

    fn try_from(time: Timestamp) -> Result<Self> {
        to_exact_ticks(time.nanos(), U::STEP).map(Self::new)
    }
}

/// Converts a duration exactly.
///
/// # Errors
///
/// [`ErrorKind::NotConvertible`](crate::error::ErrorKind::NotConvertible) for NaT, for the units `Year`,
/// `Month` and `Generic`, and for a duration that is out of `jiff`'s range or not a multiple of a nanosecond.
impl<U: Unit> TryFrom<Timedelta64<U>> for SignedDuration {
    type Error = Error;

    fn try_from(length: Timedelta64<U>) -> Result<Self> {
        let (seconds, nanos) = split_nanos(to_nanos(length.ticks(), U::STEP, false)?);
        let seconds = seconds.ok_or_else(|| not_convertible(format!("{length:?} is too long for jiff")))?;
        Ok(Self::new(seconds, nanos as i32)) // the nanoseconds are less than 10⁹
    }
}

/// Converts a duration exactly.
///
/// # Errors
///
/// [`ErrorKind::NotConvertible`](crate::error::ErrorKind::NotConvertible) for a duration out of range or
/// between two ticks, and for the units `Year`, `Month` and `Generic`.
impl<U: Unit> TryFrom<SignedDuration> for Timedelta64<U> {
    type Error = Error;

    fn try_from(length: SignedDuration) -> Result<Self> {
        to_exact_ticks(length.nanos(), U::STEP).map(Self::new)
    }
}

impl Moment for Timestamp {
    fn nanos(self) -> i128 {
        self.as_nanosecond()
    }
}

impl Span for SignedDuration {
    fn nanos(self) -> i128 {
        self.as_nanos()
    }
}
