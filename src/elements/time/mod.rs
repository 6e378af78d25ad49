//! Points in time and durations: 64-bit counts of a unit, which is part of the type and so cannot be lost.

#[cfg(feature = "chrono-0_4")]
mod chrono;
mod convert;
pub(super) mod dates;
#[cfg(feature = "jiff-0_2")]
mod jiff;
pub mod units;
mod values;

pub(super) use convert::{day_to_month, month_to_first_day, nanos_per_tick};
pub(crate) use dates::iso_datetime;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use super::fixed::{ScalarElement, elements};
use crate::dtype::{ByteOrder, Kind, Scalar};
use units::Unit;

/// The value that means "not a time" in both types.
pub(super) const NAT: i64 = i64::MIN;

/// Defines one of the two types, which differ in meaning but not in representation.
macro_rules! time_type {
    ($(#[$doc:meta])* $name:ident, $kind:ident) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name<U>(pub(super) i64, pub(super) PhantomData<U>);

        impl<U: Unit> $name<U> {
            /// "Not a time": a missing or unknown value.
            pub const NAT: Self = Self(NAT, PhantomData);

            /// Creates a value from a number of ticks of the unit. `i64::MIN` is "not a time".
            pub const fn new(ticks: i64) -> Self {
                Self(ticks, PhantomData)
            }

            /// Returns the number of ticks of the unit; `None` for "not a time".
            pub fn ticks(self) -> Option<i64> {
                (self.0 != NAT).then_some(self.0)
            }

            /// Returns whether this is "not a time".
            pub fn is_nat(self) -> bool {
                self.0 == NAT
            }
        }

        impl<U> Clone for $name<U> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<U> Copy for $name<U> {}

        impl<U> Default for $name<U> {
            fn default() -> Self {
                Self(0, PhantomData)
            }
        }

        /// "Not a time" equals itself, unlike in NumPy, so that arrays can be compared.
        impl<U> PartialEq for $name<U> {
            fn eq(&self, other: &Self) -> bool {
                self.0 == other.0
            }
        }

        impl<U> Eq for $name<U> {}

        impl<U> Hash for $name<U> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }

        /// "Not a time" sorts first.
        impl<U> Ord for $name<U> {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.0.cmp(&other.0)
            }
        }

        impl<U> PartialOrd for $name<U> {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        /// Formats the ticks and the unit: `-5[25s]`, or `NaT`.
        impl<U: Unit> fmt::Debug for $name<U> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.ticks() {
                    None => f.write_str("NaT"),
                    Some(ticks) => write!(f, "{ticks}[{}]", U::STEP),
                }
            }
        }

        impl<U: Unit> ScalarElement for $name<U> {
            const SWAP_UNIT: usize = 8;

            fn scalar(order: ByteOrder) -> Scalar {
                // A unit checks its multiple at compile time, so `Scalar::new` accepts it.
                Scalar::new(Kind::$kind(U::STEP), 8, order).expect("a time has 8 bytes")
            }
        }

        elements! {
            [U: Unit] $name<U>;
        }
    };
}

time_type! {
    /// A point in time, counted in units since the start of 1970.
    ///
    /// `Datetime64<units::Nanosecond>` is NumPy's `<M8[ns]`.
    ///
    /// It converts to and from `SystemTime`. With the feature `chrono-0_4`, it also converts to and from
    /// `chrono`'s `DateTime<Utc>` and `NaiveDateTime`, and with the feature `jiff-0_2`, to and from `jiff`'s
    /// `Timestamp`. Conversions are exact or fail; [`in_unit`](Self::in_unit) rounds. `Display` and `FromStr` have the text that NumPy
    /// prints, in ISO 8601.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use ndarray_io::element::{Datetime64, units};
    ///
    /// let now = Datetime64::<units::Nanosecond>::try_from(SystemTime::now())?.in_unit::<units::Second>()?;
    /// assert!(now > "2024-01-01T00:00:00".parse()?);
    /// let time = Datetime64::<units::Millisecond>::new(1_500);
    /// assert_eq!(SystemTime::try_from(time)?, SystemTime::UNIX_EPOCH + Duration::from_millis(1_500));
    /// assert_eq!(Datetime64::<units::Day>::NAT.ticks(), None);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    Datetime64, Datetime
}

time_type! {
    /// A duration, counted in units.
    ///
    /// `Timedelta64<units::Times<25, units::Second>>` is NumPy's `<m8[25s]`.
    ///
    /// It converts to and from `Duration`. With the feature `chrono-0_4`, it also converts to and from
    /// `chrono`'s `TimeDelta`, and with the feature `jiff-0_2`, to and from `jiff`'s `SignedDuration`.
    /// Conversions are exact or fail; [`in_unit`](Self::in_unit) rounds. `Display` is what NumPy prints (`5 days`), and `FromStr` takes the
    /// number of ticks.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ndarray_io::element::{Timedelta64, units};
    ///
    /// let length = Timedelta64::<units::Times<25, units::Second>>::new(4);
    /// assert_eq!(Duration::try_from(length)?, Duration::from_secs(100));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    Timedelta64, Timedelta
}
