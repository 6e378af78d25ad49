//! Conversions between NumPy's times and those of `chrono` 0.4.
//!
//! `try_from` does not round: a time that cannot be represented exactly is an error.

use chrono_0_4::{DateTime, NaiveDateTime, TimeDelta, Utc};

use super::convert::{not_convertible, split_nanos, to_exact_ticks, to_nanos};
use super::units::{Moment, Span, Unit};
use super::{Datetime64, Timedelta64};
use crate::error::{Error, Result};

/// Converts a time exactly.
///
/// # Errors
///
/// [`ErrorKind::NotConvertible`](crate::error::ErrorKind::NotConvertible) for NaT, for the unit `Generic`,
/// and for a time that is out of `chrono`'s range or not a multiple of a nanosecond.
impl<U: Unit> TryFrom<Datetime64<U>> for DateTime<Utc> {
    type Error = Error;

    fn try_from(time: Datetime64<U>) -> Result<Self> {
        let (seconds, nanos) = split_nanos(to_nanos(time.ticks(), U::STEP, true)?);
        let found = seconds.and_then(|seconds| Self::from_timestamp(seconds, nanos));
        found.ok_or_else(|| not_convertible(format!("{time:?} is out of range for chrono")))
    }
}

/// Converts a time exactly.
///
/// # Errors
///
/// [`ErrorKind::NotConvertible`](crate::error::ErrorKind::NotConvertible) for a time out of range or between
/// two ticks, and for the units `Year`, `Month` and `Generic`.
impl<U: Unit> TryFrom<DateTime<Utc>> for Datetime64<U> {
    type Error = Error;

    fn try_from(time: DateTime<Utc>) -> Result<Self> {
        to_exact_ticks(time.nanos(), U::STEP).map(Self::new)
    }
}

/// Converts a time exactly. Neither type has a time zone.
///
/// # Errors
///
/// Those of the conversion to `DateTime<Utc>`.
impl<U: Unit> TryFrom<Datetime64<U>> for NaiveDateTime {
    type Error = Error;

    fn try_from(time: Datetime64<U>) -> Result<Self> {
        DateTime::<Utc>::try_from(time).map(|time| time.naive_utc())
    }
}

/// Converts a time exactly.
///
/// # Errors
///
/// Those of the conversion from `DateTime<Utc>`.
impl<U: Unit> TryFrom<NaiveDateTime> for Datetime64<U> {
    type Error = Error;

    fn try_from(time: NaiveDateTime) -> Result<Self> {
        time.and_utc().try_into()
    }
}

/// Converts a duration exactly.
///
/// # Errors
///
/// [`ErrorKind::NotConvertible`](crate::error::ErrorKind::NotConvertible) for NaT, for the units `Year`,
/// `Month` and `Generic`, and for a duration that is out of `chrono`'s range or not a multiple of a
/// nanosecond.
impl<U: Unit> TryFrom<Timedelta64<U>> for TimeDelta {
    type Error = Error;

    fn try_from(length: Timedelta64<U>) -> Result<Self> {
        let (seconds, nanos) = split_nanos(to_nanos(length.ticks(), U::STEP, false)?);
        let found = seconds.and_then(|seconds| Self::new(seconds, nanos));
        found.ok_or_else(|| not_convertible(format!("{length:?} is too long for chrono")))
    }
}

/// Converts a duration exactly.
///
/// # Errors
///
/// [`ErrorKind::NotConvertible`](crate::error::ErrorKind::NotConvertible) for a duration out of range or
/// between two ticks, and for the units `Year`, `Month` and `Generic`.
impl<U: Unit> TryFrom<TimeDelta> for Timedelta64<U> {
    type Error = Error;

    fn try_from(length: TimeDelta) -> Result<Self> {
        to_exact_ticks(length.nanos(), U::STEP).map(Self::new)
    }
}

impl Moment for DateTime<Utc> {
    fn nanos(self) -> i128 {
        i128::from(self.timestamp()) * 1_000_000_000 + i128::from(self.timestamp_subsec_nanos())
    }
}

impl Moment for NaiveDateTime {
    fn nanos(self) -> i128 {
        self.and_utc().nanos()
    }
}

impl Span for TimeDelta {
    fn nanos(self) -> i128 {
        i128::from(self.num_seconds()) * 1_000_000_000 + i128::from(self.subsec_nanos())
    }
}
