//! Whether Python could hold a value: one that it cannot would make the whole file unreadable.

use std::collections::HashSet;
use std::sync::Arc;

use super::{PyDate, PyTime, PyTimedelta, PyValue};
use crate::error::{ErrorKind, Result};

fn cannot(reason: impl Into<String>) -> Result<()> {
    Err(ErrorKind::BadOption { reason: reason.into() }.into())
}

/// The tuples that have been found to be keys that a dict can have: each is looked at once.
pub(super) type Hashable = HashSet<*const Vec<PyValue>>;

/// An error if a value is none of Python's. Its parts are looked at by themselves.
pub(super) fn check(value: &PyValue, seen: &mut Hashable) -> Result<()> {
    match value {
        PyValue::Date(day) => date(day),
        PyValue::Time(at) => time(at),
        PyValue::Datetime(day, at) => date(day).and_then(|()| time(at)),
        PyValue::Timedelta(PyTimedelta { days, seconds, microseconds }) => {
            let fits = days.unsigned_abs() < 1_000_000_000
                && (0..86_400).contains(seconds)
                && (0..1_000_000).contains(microseconds);
            match fits {
                true => Ok(()),
                false => cannot(format!("{value} is no length of time of Python's")),
            }
        }
        PyValue::Scalar(array) if array.len() != 1 => {
            cannot(format!("a scalar is one element, and this one is of the shape {:?}", array.shape()))
        }
        PyValue::Dict(pairs) => pairs.iter().try_for_each(|(key, _)| hashable(key, seen)),
        PyValue::Set(items) | PyValue::FrozenSet(items) => {
            items.iter().try_for_each(|item| hashable(item, seen))
        }
        _ => Ok(()),
    }
}

fn date(date: &PyDate) -> Result<()> {
    let is_leap =
        date.year.is_multiple_of(4) && !date.year.is_multiple_of(100) || date.year.is_multiple_of(400);
    let days = match date.month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    match (1..=9999).contains(&date.year) && (1..=days).contains(&date.day) {
        true => Ok(()),
        false => cannot(format!("there is no day {}-{}-{}", date.year, date.month, date.day)),
    }
}

fn time(time: &PyTime) -> Result<()> {
    match time.hour < 24 && time.minute < 60 && time.second < 60 && time.microsecond < 1_000_000 {
        true => Ok(()),
        false => cannot(format!(
            "{}:{}:{} and {} µs is no time of day",
            time.hour, time.minute, time.second, time.microsecond
        )),
    }
}

/// An error if a value cannot be a key of a dict. Of tuples, all items have to be such; of objects nobody knows.
fn hashable(key: &PyValue, seen: &mut Hashable) -> Result<()> {
    match key {
        PyValue::List(_) | PyValue::Dict(_) | PyValue::Set(_) | PyValue::ByteArray(_) | PyValue::Array(_) => {
            cannot("a list, dict, set, bytearray or array cannot be a key of a dict or in a set")
        }
        PyValue::Tuple(items) if seen.insert(Arc::as_ptr(items)) => {
            items.iter().try_for_each(|item| hashable(item, seen))
        }
        _ => Ok(()),
    }
}
