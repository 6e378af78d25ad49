//! Conversions between NumPy's times and those of the standard library.
//!
//! `try_from` does not round: a time that is out of range or between two ticks of a coarser unit is an error.

use std::time::{Duration, SystemTime};

use super::units::{Moment, Span, Unit};
use super::{Datetime64, Timedelta64};
use crate::dtype::{TimeStep, TimeUnit};
use crate::error::{Error, Fault, Result};

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Returns the length of a tick in nanoseconds, as a numerator and a denominator.
///
/// Returns `None` for units without a fixed length: years, months and bare counts.
pub(in crate::elements) fn nanos_per_tick(step: TimeStep) -> Option<(i128, i128)> {
    let (many, parts) = match step.unit {
        TimeUnit::Week => (7 * 86_400 * NANOS_PER_SECOND, 1),
        TimeUnit::Day => (86_400 * NANOS_PER_SECOND, 1),
        TimeUnit::Hour => (3600 * NANOS_PER_SECOND, 1),
        TimeUnit::Minute => (60 * NANOS_PER_SECOND, 1),
        TimeUnit::Second => (NANOS_PER_SECOND, 1),
        TimeUnit::Millisecond => (1_000_000, 1),
        TimeUnit::Microsecond => (1000, 1),
        TimeUnit::Nanosecond => (1, 1),
        TimeUnit::Picosecond => (1, 1000),
        TimeUnit::Femtosecond => (1, 1_000_000),
        TimeUnit::Attosecond => (1, NANOS_PER_SECOND),
        _ => return None,
    };
    Some((many * i128::from(step.count), parts))
}

pub(super) fn not_convertible(reason: impl Into<String>) -> Error {
    Fault::NotConvertible { reason: reason.into() }.into()
}

/// Converts a number of ticks to nanoseconds.
pub(super) fn to_nanos(ticks: Option<i64>, step: TimeStep, is_date: bool) -> Result<i128> {
    let ticks = ticks.ok_or_else(|| not_convertible("NaT is not a time"))?;
    if let Some((many, parts)) = nanos_per_tick(step) {
        let too_far = || not_convertible(format!("{ticks}[{step}] is out of range"));
        let nanos = i128::from(ticks).checked_mul(many).ok_or_else(too_far)?;
        return match nanos % parts {
            0 => Ok(nanos / parts),
            _ => Err(not_convertible(format!("{ticks}[{step}] falls between two nanoseconds"))),
        };
    }
    let months = match step.unit {
        TimeUnit::Year if is_date => Some(12),
        TimeUnit::Month if is_date => Some(1),
        _ => None,
    };
    let Some(months) = months else {
        return Err(not_convertible(format!("a tick of [{step}] has no fixed length")));
    };
    let days = month_to_first_day(i128::from(ticks) * i128::from(step.count) * months);
    days.checked_mul(86_400 * NANOS_PER_SECOND)
        .ok_or_else(|| not_convertible(format!("{ticks}[{step}] is out of range")))
}

/// Converts a day to the month that contains it, both counted from January 1970.
pub(in crate::elements) fn day_to_month(days: i128) -> i128 {
    // 400 years have 146,097 days and 4800 months, so the guess is off by a few months at most; the loops
    // correct it.
    let mut months = days * 4800 / 146_097 - 1;
    while month_to_first_day(months + 1) <= days {
        months += 1;
    }
    while month_to_first_day(months) > days {
        months -= 1;
    }
    months
}

/// Returns the first day of a month, both counted from January 1970.
///
/// As in NumPy, the calendar is the proleptic Gregorian one.
pub(in crate::elements) fn month_to_first_day(months: i128) -> i128 {
    // Here, years start in March, so that the leap day is the last day of a year.
    let months = months + 10;
    let (year, month) = (1969 + months.div_euclid(12), months.rem_euclid(12));
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // From March, the lengths of the months repeat after 31, 30, 31, 30, 31 days: 153 days in five months.
    let days_before_month = (153 * month + 2) / 5;
    // There are 719,468 days from March 1 of year 0 to January 1, 1970.
    365 * year + leap_days + days_before_month - 719_468
}

/// Converts nanoseconds to ticks.
pub(super) fn to_exact_ticks(nanos: i128, step: TimeStep) -> Result<i64> {
    let (many, parts) = nanos_per_tick(step)
        .ok_or_else(|| not_convertible(format!("a tick of [{step}] has no fixed length")))?;
    let scaled = nanos
        .checked_mul(parts)
        .ok_or_else(|| not_convertible(format!("the time is out of range for [{step}]")))?;
    if scaled % many != 0 {
        return Err(not_convertible(format!("the time falls between two ticks of [{step}]")));
    }
    match i64::try_from(scaled / many) {
        Ok(ticks) if ticks != super::NAT => Ok(ticks),
        _ => Err(not_convertible(format!("the time is out of range for [{step}]"))),
    }
}

/// Converts nanoseconds to ticks; between two ticks, to the earlier one.
pub(super) fn to_ticks_down(nanos: i128, step: TimeStep, is_date: bool) -> Result<i64> {
    let out_of_range = || not_convertible(format!("the time is out of range for [{step}]"));
    let ticks = match (nanos_per_tick(step), step.unit) {
        (Some((many, parts)), _) => nanos.checked_mul(parts).ok_or_else(out_of_range)?.div_euclid(many),
        (None, unit @ (TimeUnit::Year | TimeUnit::Month)) if is_date => {
            let months = day_to_month(nanos.div_euclid(86_400 * NANOS_PER_SECOND));
            let each = if unit == TimeUnit::Year { 12 } else { 1 };
            months.div_euclid(each * i128::from(step.count))
        }
        _ => return Err(not_convertible(format!("a tick of [{step}] has no fixed length"))),
    };
    i64::try_from(ticks).ok().filter(|ticks| *ticks != super::NAT).ok_or_else(out_of_range)
}

/// Splits nanoseconds into seconds (`None` if they exceed 64 bits) and nanoseconds (never negative).
#[cfg(any(feature = "chrono-0_4", feature = "jiff-0_2"))]
pub(super) fn split_nanos(nanos: i128) -> (Option<i64>, u32) {
    (i64::try_from(nanos.div_euclid(NANOS_PER_SECOND)).ok(), nanos.rem_euclid(NANOS_PER_SECOND) as u32)
}

/// Returns a duration of this length, or `None` if it is too long for the standard library.
fn duration(nanos: u128) -> Option<Duration> {
    let seconds = u64::try_from(nanos / NANOS_PER_SECOND as u128).ok()?;
    Some(Duration::new(seconds, (nanos % NANOS_PER_SECOND as u128) as u32))
}

/// Converts a time exactly.
///
/// # Errors
///
/// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) for NaT, for the unit `Generic`, and for a time that the system's clock
/// cannot represent.
impl<U: Unit> TryFrom<Datetime64<U>> for SystemTime {
    type Error = Error;

    fn try_from(time: Datetime64<U>) -> Result<Self> {
        let nanos = to_nanos(time.ticks(), U::STEP, true)?;
        let distance = duration(nanos.unsigned_abs());
        let found = distance.and_then(|distance| match nanos < 0 {
            true => Self::UNIX_EPOCH.checked_sub(distance),
            false => Self::UNIX_EPOCH.checked_add(distance),
        });
        let found = found
            .ok_or_else(|| not_convertible(format!("{time:?} is out of range for this system's clock")))?;
        // The standard library rounds to the resolution of the system's clock (100 nanoseconds on Windows),
        // so compare.
        match nanos_since_1970(found) == nanos {
            true => Ok(found),
            false => Err(not_convertible(format!("{time:?} is finer than this system's clock"))),
        }
    }
}

/// Converts a time exactly.
///
/// # Errors
///
/// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) for a time out of range or between two ticks, and for the units `Year`,
/// `Month` and `Generic`.
impl<U: Unit> TryFrom<SystemTime> for Datetime64<U> {
    type Error = Error;

    fn try_from(time: SystemTime) -> Result<Self> {
        to_exact_ticks(nanos_since_1970(time), U::STEP).map(Self::new)
    }
}

impl Moment for SystemTime {
    fn nanos(self) -> i128 {
        nanos_since_1970(self)
    }
}

impl Span for Duration {
    fn nanos(self) -> i128 {
        self.as_nanos() as i128 // a duration has less than 2⁹⁴ nanoseconds
    }
}

fn nanos_since_1970(time: SystemTime) -> i128 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => after.as_nanos() as i128, // a duration has less than 2⁹⁴ nanoseconds
        Err(before) => -(before.duration().as_nanos() as i128),
    }
}

/// Converts a duration exactly.
///
/// # Errors
///
/// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) for NaT, for the units `Year`, `Month` and `Generic`, for a negative
/// duration, and for a duration that is too long or not a multiple of a nanosecond.
impl<U: Unit> TryFrom<Timedelta64<U>> for Duration {
    type Error = Error;

    fn try_from(length: Timedelta64<U>) -> Result<Self> {
        let nanos = to_nanos(length.ticks(), U::STEP, false)?;
        let found = u128::try_from(nanos).ok().and_then(duration);
        found.ok_or_else(|| not_convertible(format!("{length:?} is negative or too long for a Duration")))
    }
}

/// Converts a duration exactly.
///
/// # Errors
///
/// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) for a duration out of range or between two ticks, and for the units `Year`,
/// `Month` and `Generic`.
impl<U: Unit> TryFrom<Duration> for Timedelta64<U> {
    type Error = Error;

    fn try_from(length: Duration) -> Result<Self> {
        to_exact_ticks(length.nanos(), U::STEP).map(Self::new)
    }
}
