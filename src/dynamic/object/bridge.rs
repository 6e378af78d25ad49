//! Conversions between Python's dates and times and those of `chrono` 0.4 and `jiff` 0.2.
//!
//! Nothing is rounded: a value that does not fit is an error. The fold of a time is dropped.
#![allow(clippy::incompatible_msrv, reason = "the features that it belongs to need a newer compiler")]

use super::{Date, Time, Timedelta};
use crate::error::{Error, Fault, Result};

fn ok_or_out_of_range<T>(made: Option<T>, what: impl std::fmt::Debug) -> Result<T> {
    made.ok_or_else(|| {
        let reason = format!("{what:?} is out of range, or not a multiple of a microsecond");
        Fault::NotConvertible { reason }.into()
    })
}

/// Builds a time of day; `None` if it is out of range, or `nanosecond` is not a multiple of 1000.
fn time(hour: u32, minute: u32, second: u32, nanosecond: u32) -> Option<Time> {
    let small = |number: u32| u8::try_from(number).ok();
    let microsecond = (nanosecond % 1000 == 0).then_some(nanosecond / 1000)?;
    Time::new(small(hour)?, small(minute)?, small(second)?, microsecond)
}

/// Builds a time span; `None` if it is out of range, or `nanoseconds` is not a multiple of 1000.
fn timedelta(nanoseconds: i128) -> Option<Timedelta> {
    // Both constants are in microseconds.
    const SECOND_US: i128 = 1_000_000;
    const DAY_US: i128 = 86_400 * SECOND_US;
    let total = (nanoseconds % 1000 == 0).then_some(nanoseconds / 1000)?;
    let (days, within) = (total.div_euclid(DAY_US), total.rem_euclid(DAY_US));
    // Seconds and microseconds are less than a day, so neither cast truncates.
    Timedelta::new(i32::try_from(days).ok()?, (within / SECOND_US) as u32, (within % SECOND_US) as u32)
}

macro_rules! try_from {
    ($($from:ty => $to:ty: |$value:ident| $made:expr;)*) => {$(
        impl TryFrom<$from> for $to {
            type Error = Error;

            fn try_from($value: $from) -> Result<Self> {
                ok_or_out_of_range($made, $value)
            }
        }
    )*};
}

#[cfg(feature = "chrono-0_4")]
mod chrono {
    use chrono_0_4::{Datelike, NaiveDate, NaiveTime, TimeDelta, Timelike};

    use super::{Date, Error, Result, Time, Timedelta, ok_or_out_of_range, time, timedelta};

    try_from! {
        NaiveDate => Date: |date| u16::try_from(date.year()).ok().and_then(|year| Date::new(year, date.month() as u8, date.day() as u8));
        Date => NaiveDate: |date| NaiveDate::from_ymd_opt(date.year().into(), date.month().into(), date.day().into());
        NaiveTime => Time: |at| time(at.hour(), at.minute(), at.second(), at.nanosecond());
        Time => NaiveTime: |at| NaiveTime::from_hms_micro_opt(at.hour().into(), at.minute().into(), at.second().into(), at.microsecond());
        TimeDelta => Timedelta: |delta| timedelta(i128::from(delta.num_seconds()) * 1_000_000_000 + i128::from(delta.subsec_nanos()));
        Timedelta => TimeDelta: |delta| i64::try_from(delta.total_microseconds()).ok().map(TimeDelta::microseconds);
    }
}

#[cfg(feature = "jiff-0_2")]
mod jiff {
    use jiff_0_2::SignedDuration;
    use jiff_0_2::civil;

    use super::{Date, Error, Result, Time, Timedelta, ok_or_out_of_range, time, timedelta};

    try_from! {
        civil::Date => Date: |date| {
            let year = u16::try_from(date.year()).ok();
            year.and_then(|year| Date::new(year, date.month().cast_unsigned(), date.day().cast_unsigned()))
        };
        Date => civil::Date: |date| {
            let [month, day] = [date.month(), date.day()].map(u8::cast_signed);
            civil::Date::new(date.year().cast_signed(), month, day).ok()
        };
        civil::Time => Time: |at| {
            let part = |number: i8| u32::from(number.cast_unsigned());
            time(part(at.hour()), part(at.minute()), part(at.second()), at.subsec_nanosecond().cast_unsigned())
        };
        Time => civil::Time: |at| {
            let [hour, minute, second] = [at.hour(), at.minute(), at.second()].map(u8::cast_signed);
            civil::Time::new(hour, minute, second, (at.microsecond() * 1000).cast_signed()).ok()
        };
        SignedDuration => Timedelta: |duration| timedelta(duration.as_nanos());
        Timedelta => SignedDuration: |delta| i64::try_from(delta.total_microseconds()).ok().map(SignedDuration::from_micros);
    }
}
