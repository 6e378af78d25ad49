//! Conversions between NumPy's times and those of `jiff` 0.2. Nothing is rounded: what does not fit is an error.

use jiff_0_2::{SignedDuration, Timestamp};

use super::convert::{cannot, split_nanos, to_nanos, to_ticks};
use super::units::Unit;
use super::{Datetime64, Timedelta64};
use crate::error::{Error, Result};

impl<U: Unit> TryFrom<Datetime64<U>> for Timestamp {
    type Error = Error;

    fn try_from(time: Datetime64<U>) -> Result<Self> {
        let nanos = to_nanos(time.ticks(), U::STEP, true)?;
        Self::from_nanosecond(nanos).map_err(|_| cannot(format!("{time:?} is too far away for jiff")))
    }
}

impl<U: Unit> TryFrom<Timestamp> for Datetime64<U> {
    type Error = Error;

    fn try_from(time: Timestamp) -> Result<Self> {
        to_ticks(time.as_nanosecond(), U::STEP).map(Self::new)
    }
}

impl<U: Unit> TryFrom<Timedelta64<U>> for SignedDuration {
    type Error = Error;

    fn try_from(length: Timedelta64<U>) -> Result<Self> {
        let (seconds, nanos) = split_nanos(to_nanos(length.ticks(), U::STEP, false)?);
        let seconds = seconds.ok_or_else(|| cannot(format!("{length:?} is too long for jiff")))?;
        Ok(Self::new(seconds, nanos as i32)) // less than 10⁹
    }
}

impl<U: Unit> TryFrom<SignedDuration> for Timedelta64<U> {
    type Error = Error;

    fn try_from(length: SignedDuration) -> Result<Self> {
        to_ticks(length.as_nanos(), U::STEP).map(Self::new)
    }
}
