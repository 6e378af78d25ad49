//! What times and durations can do as values: text, arithmetic and other units.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use super::convert::to_ticks_down;
use super::units::{Moment, Span, Unit};
use super::{Datetime64, NAT, Timedelta64};
use crate::dtype::ByteOrder;
use crate::elements::convert::{format_number, parse_item, ticks_in};
use crate::elements::fixed::ScalarElement;
use crate::error::{Error, Result};

/// Implements what both types have in common.
macro_rules! values {
    ($name:ident, $is_date:literal) => {
        impl<U: Unit> fmt::Display for $name<U> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match format_number(&Self::scalar(ByteOrder::NATIVE), &self.0.to_ne_bytes()) {
                    Ok(text) => f.pad(&text),
                    Err(_) => fmt::Debug::fmt(self, f), // a point in time without a unit
                }
            }
        }

        impl<U: Unit> FromStr for $name<U> {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                let ticks = parse_item(text, &Self::scalar(ByteOrder::NATIVE))?;
                Ok(Self(i64::from_ne_bytes(ticks), PhantomData))
            }
        }

        impl<U: Unit> TryFrom<&str> for $name<U> {
            type Error = Error;

            fn try_from(text: &str) -> Result<Self> {
                text.parse()
            }
        }

        impl<U: Unit> $name<U> {
            /// Converts to another unit; between two ticks of it, rounds down, as NumPy does. "Not a time" stays so.
            ///
            /// # Errors
            ///
            /// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the value is out of range for the unit, or if there is no
            /// conversion, as between durations in months and in days.
            pub fn in_unit<V: Unit>(self) -> Result<$name<V>> {
                match self.ticks() {
                    None => Ok($name::NAT),
                    Some(ticks) => ticks_in(ticks, U::STEP, V::STEP, $is_date).map($name::new),
                }
            }
        }
    };
}

impl<U: Unit> Datetime64<U> {
    /// Converts a point in time; between two ticks of the unit, rounds down.
    ///
    /// (`try_from` refuses a time that is between two ticks.)
    ///
    /// # Errors
    ///
    /// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the time is out of range for the unit, or the unit is `Generic`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// use ndarray_io::element::Datetime64;
    /// use ndarray_io::element::units::{Second, Year};
    ///
    /// let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500_000_000_700);
    /// assert_eq!(Datetime64::<Second>::rounded_down(time)?.to_string(), "2017-07-14T02:40:00");
    /// assert_eq!(Datetime64::<Year>::rounded_down(time)?.to_string(), "2017");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn rounded_down(time: impl Moment) -> Result<Self> {
        to_ticks_down(time.nanos(), U::STEP, true).map(Self::new)
    }
}

impl<U: Unit> Timedelta64<U> {
    /// Converts a duration; between two ticks of the unit, rounds down (also below zero).
    ///
    /// # Errors
    ///
    /// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the duration is out of range for the unit, or the unit has no
    /// fixed length (`Year`, `Month`, `Generic`).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use ndarray_io::element::Timedelta64;
    /// use ndarray_io::element::units::Second;
    ///
    /// assert_eq!(Timedelta64::<Second>::rounded_down(Duration::from_millis(1700))?.ticks(), Some(1));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn rounded_down(length: impl Span) -> Result<Self> {
        to_ticks_down(length.nanos(), U::STEP, false).map(Self::new)
    }
}

values!(Datetime64, true);
values!(Timedelta64, false);

/// Returns the result of an operation on ticks; "not a time" if either operand is, and `None` if the result is out of range.
fn combine_ticks(one: i64, two: i64, operation: impl FnOnce(i64, i64) -> Option<i64>) -> Option<i64> {
    match one == NAT || two == NAT {
        true => Some(NAT),
        false => operation(one, two).filter(|ticks| *ticks != NAT),
    }
}

impl<U: Unit> Datetime64<U> {
    /// Adds a duration; `None` if the result is out of range. "Not a time" and anything is "not a time".
    ///
    /// ```
    /// use ndarray_io::element::{Datetime64, Timedelta64, units};
    ///
    /// let day: Datetime64<units::Day> = "2024-02-28".parse()?;
    /// assert_eq!(day.checked_add(Timedelta64::new(2)).unwrap().to_string(), "2024-03-01");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn checked_add(self, duration: Timedelta64<U>) -> Option<Self> {
        combine_ticks(self.0, duration.0, i64::checked_add).map(Self::new)
    }

    /// Subtracts a duration; `None` if the result is out of range. "Not a time" and anything is "not a time".
    pub fn checked_sub(self, duration: Timedelta64<U>) -> Option<Self> {
        combine_ticks(self.0, duration.0, i64::checked_sub).map(Self::new)
    }

    /// Returns the duration since another point in time; `None` if it is out of range. It is "not a time" if either is.
    ///
    /// ```
    /// use ndarray_io::element::{Datetime64, units};
    ///
    /// let [one, two]: [Datetime64<units::Day>; 2] = ["2024-01-01".parse()?, "2025-01-01".parse()?];
    /// assert_eq!(two.checked_since(one).unwrap().to_string(), "366 days");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn checked_since(self, earlier: Self) -> Option<Timedelta64<U>> {
        combine_ticks(self.0, earlier.0, i64::checked_sub).map(Timedelta64::new)
    }
}

impl<U: Unit> Timedelta64<U> {
    /// Adds another duration; `None` if the result is out of range. "Not a time" and anything is "not a time".
    pub fn checked_add(self, other: Self) -> Option<Self> {
        combine_ticks(self.0, other.0, i64::checked_add).map(Self::new)
    }

    /// Subtracts another duration; `None` if the result is out of range. "Not a time" and anything is "not a time".
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        combine_ticks(self.0, other.0, i64::checked_sub).map(Self::new)
    }

    /// Multiplies by an integer; `None` if the result is out of range. "Not a time" stays so.
    ///
    /// ```
    /// use ndarray_io::element::{Timedelta64, units};
    ///
    /// let hour = Timedelta64::<units::Minute>::new(60);
    /// assert_eq!(hour.checked_mul(24).unwrap().in_unit::<units::Day>()?.ticks(), Some(1));
    /// assert_eq!(hour.checked_mul(i64::MAX), None);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn checked_mul(self, factor: i64) -> Option<Self> {
        combine_ticks(self.0, 0, |ticks, _| ticks.checked_mul(factor)).map(Self::new)
    }
}
