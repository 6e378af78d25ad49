//! The units of [`Datetime64`](crate::elements::Datetime64) and [`Timedelta64`](crate::elements::Timedelta64), as types.

use std::marker::PhantomData;

use crate::dtype::{TimeStep, TimeUnit};

/// A unit of time, as a type.
///
/// This trait is sealed: it is implemented only for the types in this module.
pub trait Unit: Copy + Send + Sync + 'static + private::Sealed {
    /// The meaning of one tick.
    const STEP: TimeStep;
}

mod private {
    pub trait Sealed {}
}

macro_rules! units {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl private::Sealed for $name {}

        impl Unit for $name {
            const STEP: TimeStep = TimeStep::new(1, TimeUnit::$name);
        }
    )*};
}

units! {
    /// No unit: a bare count.
    Generic;
    /// Years (`Y`).
    Year;
    /// Months (`M`).
    Month;
    /// Weeks (`W`).
    Week;
    /// Days (`D`).
    Day;
    /// Hours (`h`).
    Hour;
    /// Minutes (`m`).
    Minute;
    /// Seconds (`s`).
    Second;
    /// Milliseconds (`ms`).
    Millisecond;
    /// Microseconds (`us`).
    Microsecond;
    /// Nanoseconds (`ns`).
    Nanosecond;
    /// Picoseconds (`ps`).
    Picosecond;
    /// Femtoseconds (`fs`).
    Femtosecond;
    /// Attoseconds (`as`).
    Attosecond;
}

/// A multiple of a unit: `Times<25, Second>` is `[25s]`.
///
/// The multiple, including that of `U`, must be from 1 to 2³¹ − 1, and the unit must not be [`Generic`];
/// anything else is a compile error.
#[derive(Clone, Copy, Debug)]
pub struct Times<const N: u32, U>(PhantomData<U>);

impl<const N: u32, U> private::Sealed for Times<N, U> {}

impl<const N: u32, U: Unit> Unit for Times<N, U> {
    const STEP: TimeStep = {
        // Checked at compile time: NumPy stores the multiple as a positive 32-bit signed integer.
        let Some(count) = U::STEP.count.checked_mul(N) else {
            panic!("the multiple is larger than NumPy allows")
        };
        assert!(count > 0 && count <= i32::MAX as u32, "a multiple is from 1 to 2147483647");
        assert!(!matches!(U::STEP.unit, TimeUnit::Generic), "a bare count has no multiples");
        TimeStep::new(count, U::STEP.unit)
    };
}

/// A point in time of another library: `SystemTime`; with the features `chrono-0_4` and `jiff-0_2`, `DateTime<Utc>`,
/// `NaiveDateTime` and `Timestamp`.
pub trait Moment: others::Sealed {
    /// Returns the nanoseconds since 1970.
    #[doc(hidden)]
    fn nanos(self) -> i128;
}

/// A duration of another library: `Duration`; with the features `chrono-0_4` and `jiff-0_2`, `TimeDelta` and
/// `SignedDuration`.
pub trait Span: others::Sealed {
    /// Returns the length in nanoseconds.
    #[doc(hidden)]
    fn nanos(self) -> i128;
}

mod others {
    /// Restricts the traits to these types.
    pub trait Sealed {}

    impl Sealed for std::time::SystemTime {}
    impl Sealed for std::time::Duration {}
    #[cfg(feature = "chrono-0_4")]
    impl Sealed for chrono_0_4::DateTime<chrono_0_4::Utc> {}
    #[cfg(feature = "chrono-0_4")]
    impl Sealed for chrono_0_4::NaiveDateTime {}
    #[cfg(feature = "chrono-0_4")]
    impl Sealed for chrono_0_4::TimeDelta {}
    #[cfg(feature = "jiff-0_2")]
    impl Sealed for jiff_0_2::Timestamp {}
    #[cfg(feature = "jiff-0_2")]
    impl Sealed for jiff_0_2::SignedDuration {}
}
