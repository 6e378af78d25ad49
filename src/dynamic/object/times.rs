//! Dates, times and time spans, limited to values that Python allows.

use std::fmt;

/// A date in the years 1 to 9999.
///
/// ```
/// use ndarray_io::object::Date;
///
/// let day = Date::new(2024, 2, 29).unwrap();
/// assert_eq!((day.year(), day.month(), day.day()), (2024, 2, 29));
/// assert!(Date::new(2023, 2, 29).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Creates a date; `None` if there is no such date.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let is_leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
        let days = match month {
            4 | 6 | 9 | 11 => 30,
            2 if is_leap => 29,
            2 => 28,
            1..=12 => 31,
            _ => 0,
        };
        let is_valid = (1..=9999).contains(&year) && (1..=days).contains(&day);
        is_valid.then_some(Self { year, month, day })
    }

    /// Returns the year, from 1 to 9999.
    pub fn year(self) -> u16 {
        self.year
    }

    /// Returns the month, from 1 to 12.
    pub fn month(self) -> u8 {
        self.month
    }

    /// Returns the day of the month, from 1 to 31.
    pub fn day(self) -> u8 {
        self.day
    }
}

/// Formats as in ISO 8601: `2024-02-29`.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// A time of day, to the microsecond.
///
/// ```
/// use ndarray_io::object::Time;
///
/// let time = Time::new(23, 59, 59, 999_999).unwrap();
/// assert_eq!(time.microsecond(), 999_999);
/// assert!(!time.is_fold());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time {
    hour: u8,
    minute: u8,
    second: u8,
    is_fold: bool,
    microsecond: u32,
}

impl Time {
    /// Creates a time; `None` if a number is out of range.
    pub fn new(hour: u8, minute: u8, second: u8, microsecond: u32) -> Option<Self> {
        let is_valid = hour < 24 && minute < 60 && second < 60 && microsecond < 1_000_000;
        is_valid.then_some(Self { hour, minute, second, is_fold: false, microsecond })
    }

    /// Sets whether this is the second occurrence of a time that repeats when clocks are set back.
    #[must_use]
    pub fn fold(self, is_second: bool) -> Self {
        Self { is_fold: is_second, ..self }
    }

    /// Returns the hour, from 0 to 23.
    pub fn hour(self) -> u8 {
        self.hour
    }

    /// Returns the minute, from 0 to 59.
    pub fn minute(self) -> u8 {
        self.minute
    }

    /// Returns the second, from 0 to 59.
    pub fn second(self) -> u8 {
        self.second
    }

    /// Returns the microsecond, from 0 to 999,999.
    pub fn microsecond(self) -> u32 {
        self.microsecond
    }

    /// Returns whether this is the second occurrence of a time that repeats when clocks are set back.
    pub fn is_fold(self) -> bool {
        self.is_fold
    }
}

/// Formats as in ISO 8601, with six decimal places if there are microseconds.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}:{:02}", self.hour, self.minute, self.second)?;
        match self.microsecond {
            0 => Ok(()),
            microsecond => write!(f, ".{microsecond:06}"),
        }
    }
}

/// A time span, which may be negative.
///
/// ```
/// use ndarray_io::object::Timedelta;
///
/// let length = Timedelta::new(-1, 86_399, 0).unwrap(); // minus one second
/// assert_eq!(length.total_microseconds(), -1_000_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timedelta {
    days: i32,
    seconds: u32,
    microseconds: u32,
}

impl Timedelta {
    /// Creates a time span from days, seconds within a day, and microseconds within a second.
    ///
    /// Only the days have a sign. Returns `None` if a number is out of range; the days must be between
    /// -999,999,999 and 999,999,999, as in Python.
    pub fn new(days: i32, seconds: u32, microseconds: u32) -> Option<Self> {
        let is_valid = days.unsigned_abs() < 1_000_000_000 && seconds < 86_400 && microseconds < 1_000_000;
        is_valid.then_some(Self { days, seconds, microseconds })
    }

    /// Returns the days, which carry the sign.
    pub fn days(self) -> i32 {
        self.days
    }

    /// Returns the seconds within the day, from 0 to 86,399.
    pub fn seconds(self) -> u32 {
        self.seconds
    }

    /// Returns the microseconds within the second, from 0 to 999,999.
    pub fn microseconds(self) -> u32 {
        self.microseconds
    }

    /// Returns the entire time span in microseconds.
    pub fn total_microseconds(self) -> i128 {
        (i128::from(self.days) * 86_400 + i128::from(self.seconds)) * 1_000_000
            + i128::from(self.microseconds)
    }
}

/// Formats as an ISO 8601 duration in seconds: `PT90S`.
impl fmt::Display for Timedelta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total_microseconds();
        let sign = if total < 0 { "-" } else { "" };
        let (seconds, micro) = (total.unsigned_abs() / 1_000_000, total.unsigned_abs() % 1_000_000);
        match micro {
            0 => write!(f, "{sign}PT{seconds}S"),
            micro => write!(f, "{sign}PT{seconds}.{micro:06}S"),
        }
    }
}

/// The highest bit of the month (in a `datetime`) or of the hour (in a `time`), which stores the fold.
const FOLD_BIT: u8 = 0x80;

impl Date {
    pub(super) fn packed(self, is_fold: bool) -> [u8; 4] {
        let [high, low] = self.year.to_be_bytes();
        [high, low, self.month | if is_fold { FOLD_BIT } else { 0 }, self.day]
    }

    pub(super) fn unpack(packed: &[u8]) -> Option<Self> {
        match *packed {
            [high, low, month, day] => Self::new(u16::from_be_bytes([high, low]), month, day),
            _ => None,
        }
    }
}

impl Time {
    pub(super) fn packed(self) -> [u8; 6] {
        let [_, a, b, c] = self.microsecond.to_be_bytes();
        [self.hour, self.minute, self.second, a, b, c]
    }

    /// Packs a `datetime.time`, including its fold.
    pub(super) fn packed_with_fold(self) -> [u8; 6] {
        let mut packed = self.packed();
        packed[0] |= if self.is_fold { FOLD_BIT } else { 0 };
        packed
    }

    pub(super) fn unpack_with_fold(packed: &[u8]) -> Option<Self> {
        let (first, rest) = packed.split_first()?;
        match *rest {
            [minute, second, a, b, c] => {
                let time = Self::new(first & !FOLD_BIT, minute, second, u32::from_be_bytes([0, a, b, c]))?;
                Some(time.fold(first & FOLD_BIT != 0))
            }
            _ => None,
        }
    }
}

/// Packs a `datetime.datetime`, including its fold.
pub(super) fn packed(date: Date, time: Time) -> [u8; 10] {
    let mut packed = [0; 10];
    packed[..4].copy_from_slice(&date.packed(time.is_fold));
    packed[4..].copy_from_slice(&time.packed());
    packed
}

/// Maximum length of a packed date, time or both, in bytes.
pub(super) const MAX_PACKED_LEN: usize = 10;

pub(super) fn unpack(packed: &[u8]) -> Option<(Date, Time)> {
    let (&[high, low, month, day], time) = packed.split_first_chunk::<4>()?;
    let date = Date::unpack(&[high, low, month & !FOLD_BIT, day])?;
    let [hour, ..] = *time else { return None };
    // In a `datetime` the fold is stored in the month, so the bit in the hour must be clear.
    let time = Time::unpack_with_fold(time).filter(|_| hour & FOLD_BIT == 0)?;
    Some((date, time.fold(month & FOLD_BIT != 0)))
}
