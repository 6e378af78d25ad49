//! Converts times and durations to other units, and to and from numbers of ticks.

use super::{Recode, numbers, swap_units};
use crate::bytes::AsChunks;
use crate::dtype::{ByteOrder, Casting, Kind, Scalar, TimeStep, TimeUnit};
use crate::elements::time::{NAT, day_to_month, month_to_first_day, nanos_per_tick};
use crate::error::{Error, Fault, Result};

/// Returns the step of a datetime or timedelta, and whether it is a datetime.
pub(super) fn step_of(kind: Kind) -> Option<(TimeStep, bool)> {
    match kind {
        Kind::Datetime(step) => Some((step, true)),
        Kind::Timedelta(step) => Some((step, false)),
        _ => None,
    }
}

pub(super) fn recoder(from: &Scalar, to: &Scalar, casting: Casting) -> Option<Recode> {
    match (step_of(from.kind()), step_of(to.kind())) {
        (Some((one, is_date)), Some((other, to_date))) => {
            let scale = (is_date == to_date).then(|| Scale::between(one, other, is_date)).flatten()?;
            let (from, to) = (*from, *to);
            Some(Box::new(move |items, made| {
                if from.is_foreign() {
                    swap_units(items, 8);
                }
                let pairs = items.chunks_of().iter().zip(made.chunks_of_mut());
                for (index, (item, made)) in pairs.enumerate() {
                    let ticks = i64::from_ne_bytes(*item);
                    let scaled = match ticks {
                        NAT => NAT,
                        _ => scale.floor_ticks(ticks, one, other).map_err(|error| error.at_element(index))?,
                    };
                    *made = scaled.to_ne_bytes();
                }
                if to.is_foreign() {
                    swap_units(made, 8);
                }
                Ok(())
            }))
        }
        // The remaining conversions are from or to the number of ticks.
        (Some(_), None) => numbers::recoder(&ticks_scalar(from), to, casting),
        (None, Some(_)) if matches!(from.kind(), Kind::Float | Kind::Complex) => float_recoder(from, to),
        (None, Some(_)) => numbers::recoder_for(from, &ticks_scalar(to), to, casting),
        (None, None) => None,
    }
}

/// Converts floats to ticks: NaN and numbers out of range become NaT.
fn float_recoder(from: &Scalar, to: &Scalar) -> Option<Recode> {
    let double = Scalar::new(Kind::Float, 8, ByteOrder::NATIVE)?;
    let doubles = numbers::recoder(from, &double, Casting::Unsafe)?; // no integers
    let is_foreign = to.is_foreign();
    Some(Box::new(move |items, made| {
        doubles(items, made)?;
        for item in made.chunks_of_mut() {
            let number = f64::from_ne_bytes(*item);
            // The range excludes -2⁶³, which is NaT.
            let is_in_range = number.abs() < -(i64::MIN as f64);
            *item = if is_in_range { number as i64 } else { NAT }.to_ne_bytes();
        }
        if is_foreign {
            swap_units(made, 8);
        }
        Ok(())
    }))
}

/// Converts ticks of one step to ticks of another, rounded down.
pub(in crate::elements) fn ticks_in(
    ticks: i64,
    one: TimeStep,
    other: TimeStep,
    is_date: bool,
) -> Result<i64> {
    match Scale::between(one, other, is_date) {
        Some(scale) => scale.floor_ticks(ticks, one, other),
        None => {
            let reason = format!("a duration in [{one}] has no fixed length in [{other}]");
            Err(Fault::NotConvertible { reason }.into())
        }
    }
}

fn ticks_scalar(scalar: &Scalar) -> Scalar {
    let order = scalar.byte_order().unwrap_or(ByteOrder::NATIVE);
    Scalar::new(Kind::Int, 8, order).expect("there are integers of 8 bytes") // see Kind::allows
}

/// The conversion from ticks of one step to ticks of another. Times between two ticks are rounded down.
enum Scale {
    Same,
    /// `of` ticks of the source are `numerator` ticks of the result.
    Fixed {
        numerator: i128,
        of: i128,
    },
    /// To months: `days` converts ticks to days; a tick of the result has `months` months.
    MonthsOf {
        months: i128,
        days: Box<Scale>,
    },
    /// From months: a tick of the source has `months` months; `days` converts days to ticks of the result.
    DaysOf {
        months: i128,
        days: Box<Scale>,
    },
}

/// Returns whether times of one unit can be converted to another.
pub(super) fn has_scale(one: TimeStep, other: TimeStep, is_date: bool) -> bool {
    Scale::between(one, other, is_date).is_some()
}

impl Scale {
    fn between(one: TimeStep, other: TimeStep, is_date: bool) -> Option<Self> {
        const DAY: TimeStep = TimeStep::new(1, TimeUnit::Day);
        let months = |step: TimeStep| match step.unit {
            TimeUnit::Year => Some(12 * i128::from(step.count)),
            TimeUnit::Month => Some(i128::from(step.count)),
            _ => None,
        };
        if one.unit == TimeUnit::Generic || other.unit == TimeUnit::Generic || one == other {
            return Some(Self::Same);
        }
        match (months(one), months(other)) {
            (Some(one), Some(other)) => Some(Self::fixed(one, other)),
            (None, Some(months)) if is_date => {
                Some(Self::MonthsOf { months, days: Box::new(Self::between(one, DAY, true)?) })
            }
            (Some(months), None) if is_date => {
                Some(Self::DaysOf { months, days: Box::new(Self::between(DAY, other, true)?) })
            }
            (None, None) => {
                let ((one, one_parts), (other, other_parts)) = (nanos_per_tick(one)?, nanos_per_tick(other)?);
                Some(Self::fixed(one.checked_mul(other_parts)?, other.checked_mul(one_parts)?))
            }
            _ => None, // a month has no fixed length
        }
    }

    fn fixed(numerator: i128, of: i128) -> Self {
        // Divide by the greatest common divisor, so that `is_lossless` sees exact multiples and products stay
        // small.
        let (mut one, mut rest) = (numerator, of);
        while rest != 0 {
            (one, rest) = (rest, one % rest);
        }
        Self::Fixed { numerator: numerator / one, of: of / one }
    }

    fn floor_ticks(&self, ticks: i64, from: TimeStep, to: TimeStep) -> Result<i64> {
        self.apply(ticks).ok_or_else(|| {
            let reason = format!("{ticks}[{from}] is out of range for [{to}]");
            Error::from(Fault::NotConvertible { reason })
        })
    }

    fn apply(&self, ticks: i64) -> Option<i64> {
        // i64::MIN is NaT, so a time must not be converted to it.
        i64::try_from(self.scaled(ticks.into())?).ok().filter(|ticks| *ticks != NAT)
    }

    fn scaled(&self, ticks: i128) -> Option<i128> {
        Some(match self {
            Self::Same => ticks,
            Self::Fixed { numerator, of } => ticks.checked_mul(*numerator)?.div_euclid(*of),
            Self::MonthsOf { months, days } => day_to_month(days.scaled(ticks)?).div_euclid(*months),
            Self::DaysOf { months, days } => days.scaled(month_to_first_day(ticks.checked_mul(*months)?))?,
        })
    }
}

/// Returns whether every tick of one step is also a tick of the other.
pub(super) fn is_lossless(one: TimeStep, other: TimeStep, is_date: bool) -> bool {
    match Scale::between(one, other, is_date) {
        Some(Scale::Same) => one.unit == TimeUnit::Generic || one == other,
        Some(Scale::Fixed { of, .. }) => of == 1,
        Some(Scale::DaysOf { .. }) => true,
        Some(Scale::MonthsOf { .. }) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are the results of NumPy.
    #[test]
    fn ticks_are_scaled_as_numpy_does() {
        use TimeUnit::{Day, Hour, Millisecond, Month, Second, Week, Year};
        type Case = (TimeUnit, u32, TimeUnit, u32, &'static [(i64, i64)]);
        let cases: &[Case] = &[
            (Second, 1, Millisecond, 1, &[(-1, -1000), (1999, 1_999_000)]),
            (Millisecond, 1, Second, 1, &[(-1, -1), (1, 0), (1999, 1), (-1999, -2)]),
            (Day, 1, Month, 1, &[(-1, -1), (0, 0), (1, 0), (1999, 65), (-1999, -66)]),
            (Month, 1, Day, 1, &[(-1, -31), (1, 31), (1999, 60_843), (-1999, -60_845)]),
            (Day, 1, Hour, 1, &[(-1, -24), (1999, 47_976)]),
            (Second, 25, Second, 10, &[(1, 2), (-1, -3), (5, 12)]),
            (Month, 1, Year, 1, &[(1, 0), (-1, -1), (14, 1)]),
            (Month, 1, Week, 1, &[(1, 4), (-1, -5), (14, 60)]),
            (Day, 1, Month, 2, &[(3, 0), (-30, -1), (800, 13)]),
        ];
        for (one, count, other, to_count, ticks) in cases {
            let scale =
                Scale::between(TimeStep::new(*count, *one), TimeStep::new(*to_count, *other), true).unwrap();
            for (from, to) in *ticks {
                assert_eq!(scale.apply(*from), Some(*to), "{from} {count}{one:?} in {to_count}{other:?}");
            }
        }
        // Days that 64 bits cannot count are on the way only.
        let weeks = Scale::between(TimeStep::new(1, Week), TimeStep::new(1, Year), true).unwrap();
        assert_eq!(weeks.apply(2_000_000_000_000_000_000), Some(38_330_698_097_839_106));
        let years = Scale::between(TimeStep::new(1, Year), TimeStep::new(10, Week), true).unwrap();
        assert_eq!(years.apply(300_000_000_000_000_000), Some(1_565_325_000_000_000_000));
        let days = Scale::between(TimeStep::new(1, Day), TimeStep::new(1, Second), true).unwrap();
        assert_eq!(days.apply(i64::MAX), None);
        assert!(Scale::between(TimeStep::new(1, Day), TimeStep::new(1, Month), false).is_none());
    }
}
