//! Formats dates as NumPy does.

use std::fmt::Write;

use crate::dtype::{TimeStep, TimeUnit};

/// Formats a date, given as a number of steps since 1970, down to its unit: `2020-02-29T12:30`.
///
/// The arithmetic is in `i128`, since `i64` ticks times the count of a step can overflow 64 bits.
pub(super) fn date(ticks: i128, step: TimeStep) -> String {
    let ticks = ticks * i128::from(step.count);
    let months = match step.unit {
        TimeUnit::Year => Some(ticks * 12),
        TimeUnit::Month => Some(ticks),
        _ => None,
    };
    // Years and months differ in length, so dates in these units are computed in months, never in days.
    if let Some(months) = months {
        let year = 1970 + months.div_euclid(12);
        return match step.unit {
            TimeUnit::Year => format!("{year:04}"),
            _ => format!("{:04}-{:02}", year, months.rem_euclid(12) + 1),
        };
    }
    // The number of units in a day, and the number of digits in the fraction of a second.
    let (per_day, digits) = match step.unit {
        TimeUnit::Week | TimeUnit::Day => (1, 0),
        TimeUnit::Hour => (24, 0),
        TimeUnit::Minute => (24 * 60, 0),
        unit => {
            let digits = match unit {
                TimeUnit::Millisecond => 3,
                TimeUnit::Microsecond => 6,
                TimeUnit::Nanosecond => 9,
                TimeUnit::Picosecond => 12,
                TimeUnit::Femtosecond => 15,
                TimeUnit::Attosecond => 18,
                _ => 0,
            };
            (86_400 * 10i128.pow(digits), digits as usize)
        }
    };
    // A week is shown as the date of its first day.
    let ticks = if step.unit == TimeUnit::Week { ticks * 7 } else { ticks };
    let (day, within) = (ticks.div_euclid(per_day), ticks.rem_euclid(per_day));
    let (year, month, day) = civil(day);
    let mut shown = format!("{year:04}-{month:02}-{day:02}");
    // Writing to a String does not fail.
    let mut push =
        |text: std::fmt::Arguments<'_>| shown.write_fmt(text).expect("writing to a String does not fail");
    match step.unit {
        TimeUnit::Week | TimeUnit::Day => {}
        TimeUnit::Hour => push(format_args!("T{within:02}")),
        TimeUnit::Minute => push(format_args!("T{:02}:{:02}", within / 60, within % 60)),
        _ => {
            let scale = 10i128.pow(digits as u32);
            let seconds = within / scale;
            push(format_args!("T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60));
            if digits > 0 {
                push(format_args!(".{:0digits$}", within % scale));
            }
        }
    }
    shown
}

/// Converts days since 1970-01-01 to year, month and day of the proleptic Gregorian calendar.
///
/// The algorithm is Howard Hinnant's.
fn civil(days: i128) -> (i128, i128, i128) {
    // Years start in March here, so the leap day is the last day of a year.
    let days = days + 719_468; // days since 0000-03-01
    let era = days.div_euclid(146_097); // 400 years have 146,097 days
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153; // 0 is March
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i128::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::date;
    use crate::dtype::{TimeStep, TimeUnit};

    /// The expected texts are those of `str(np.datetime64(ticks, unit))` in NumPy 2.4.
    #[test]
    fn as_numpy_shows_them() {
        for (ticks, count, unit, shown) in [
            (50, 1, TimeUnit::Year, "2020"),
            (-2000, 1, TimeUnit::Year, "-030"),
            (-1, 1, TimeUnit::Month, "1969-12"),
            (18_321, 1, TimeUnit::Day, "2020-02-29"),
            (-719_529, 1, TimeUnit::Day, "-001-12-31"),
            (-1, 1, TimeUnit::Week, "1969-12-25"),
            (-1, 1, TimeUnit::Hour, "1969-12-31T23"),
            (5, 7, TimeUnit::Minute, "1970-01-01T00:35"),
            (1_582_979_400, 1, TimeUnit::Second, "2020-02-29T12:30:00"),
            (1_577_836_800_123, 1, TimeUnit::Millisecond, "2020-01-01T00:00:00.123"),
            (-1, 1, TimeUnit::Nanosecond, "1969-12-31T23:59:59.999999999"),
            (i128::from(i64::MAX), 1, TimeUnit::Attosecond, "1970-01-01T00:00:09.223372036854775807"),
        ] {
            assert_eq!(date(ticks, TimeStep::new(count, unit)), shown);
        }
    }
}
