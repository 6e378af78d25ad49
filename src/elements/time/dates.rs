//! Formats and parses dates as NumPy does.

use std::fmt::Write;

use super::convert::{day_to_month, month_to_first_day};
use super::nanos_per_tick;
use crate::dtype::{TimeStep, TimeUnit};

/// Formats a date, given as a number of steps since 1970, down to its unit: `2020-02-29T12:30`.
///
/// The arithmetic is in `i128`, since `i64` ticks times the count of a step can overflow 64 bits.
pub(crate) fn iso_datetime(ticks: i128, step: TimeStep) -> String {
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
    let (year, month, day) = civil_from_days(day);
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

/// Returns the ticks of a date in ISO 8601, as [`iso_datetime`] formats it, rounded down; also with `Z` or the difference to UTC.
///
/// Returns `None` for anything else, and for a date that is out of range. The caller knows NaT.
pub(in crate::elements) fn parse(text: &str, step: TimeStep) -> Option<i64> {
    let (text, east) = split_zone(text)?;
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (day, clock) = match digits.find(['T', ' ']) {
        Some(at) => (&digits[..at], Some(&digits[at + 1..])),
        None => (digits, None),
    };
    let mut parts = day.split('-');
    let year = sign * parse_digits(parts.next()?)?;
    let mut part = || parts.next().map_or(Some(None), |part| parse_two_digits(part).map(Some));
    let (month, day_of_month) = (part()?, part()?);
    if parts.next().is_some() || clock.is_some() && day_of_month.is_none() {
        return None;
    }
    let months = year.checked_sub(1970)?.checked_mul(12)?.checked_add(month.unwrap_or(1).checked_sub(1)?)?;
    if !(1..=12).contains(&month.unwrap_or(1)) {
        return None;
    }
    let first = month_to_first_day(months);
    let day_of_month = day_of_month.unwrap_or(1);
    if !(1..=month_to_first_day(months + 1) - first).contains(&day_of_month) {
        return None;
    }
    let (seconds, attoseconds) = clock.map_or(Some((0, 0)), parse_clock_time)?;
    let seconds =
        (first + day_of_month - 1).checked_mul(86_400)?.checked_add(seconds)?.checked_sub(east * 60)?;
    let count = i128::from(step.count);
    let ticks = match step.unit {
        TimeUnit::Year => day_to_month(seconds.div_euclid(86_400)).div_euclid(12 * count),
        TimeUnit::Month => day_to_month(seconds.div_euclid(86_400)).div_euclid(count),
        _ => {
            let (many, parts) = nanos_per_tick(step)?;
            match many.checked_rem(1_000_000_000)? == 0 && parts == 1 {
                true => seconds.div_euclid(many / 1_000_000_000),
                false => {
                    let all = seconds.checked_mul(1_000_000_000_000_000_000)?.checked_add(attoseconds)?;
                    all.div_euclid(many.checked_mul(1_000_000_000 / parts)?)
                }
            }
        }
    };
    i64::try_from(ticks).ok().filter(|ticks| *ticks != super::NAT)
}

/// Returns the seconds and attoseconds of `12`, `12:30`, `12:30:15` or `12:30:15.5`.
fn parse_clock_time(text: &str) -> Option<(i128, i128)> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let mut parts = whole.split(':');
    let hour = parse_two_digits(parts.next()?)?;
    let (minute, second) = (parts.next().map(parse_two_digits), parts.next().map(parse_two_digits));
    let is_whole = second.is_some() || fraction.is_none();
    let (minute, second) = (minute.unwrap_or(Some(0))?, second.unwrap_or(Some(0))?);
    if parts.next().is_some() || !is_whole || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let attoseconds = match fraction {
        Some(digits) if digits.len() <= 18 => parse_digits(digits)? * 10i128.pow(18 - digits.len() as u32),
        Some(_) => return None,
        None => 0,
    };
    Some((hour * 3600 + minute * 60 + second, attoseconds))
}

/// Returns what precedes the zone, and the minutes by which its clocks are ahead.
fn split_zone(text: &str) -> Option<(&str, i128)> {
    if let Some(text) = text.strip_suffix('Z') {
        return text.contains(['T', ' ']).then_some((text, 0));
    }
    // A zone follows a time of day.
    let Some(at) = text.find(['T', ' ']).and_then(|clock| Some(clock + text[clock..].find(['+', '-'])?))
    else {
        return Some((text, 0));
    };
    let digits = &text[at + 1..];
    let (hours, minutes) = match digits.len() {
        2 => (parse_two_digits(digits)?, 0),
        4 => (parse_two_digits(digits.get(..2)?)?, parse_two_digits(digits.get(2..)?)?),
        5 if digits.as_bytes()[2] == b':' => {
            (parse_two_digits(digits.get(..2)?)?, parse_two_digits(digits.get(3..)?)?)
        }
        _ => return None,
    };
    let sign = if text.as_bytes()[at] == b'-' { -1 } else { 1 };
    (hours < 24 && minutes < 60).then_some((&text[..at], sign * (60 * hours + minutes)))
}

fn parse_two_digits(text: &str) -> Option<i128> {
    Some(text).filter(|text| text.len() == 2).and_then(parse_digits)
}

fn parse_digits(text: &str) -> Option<i128> {
    let is_number = !text.is_empty() && text.len() <= 30 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Converts days since 1970-01-01 to year, month and day of the proleptic Gregorian calendar.
///
/// The algorithm is Howard Hinnant's.
fn civil_from_days(days: i128) -> (i128, i128, i128) {
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
    use super::iso_datetime;
    use crate::dtype::{TimeStep, TimeUnit};

    /// The expected texts are those of `str(np.datetime64(ticks, unit))` in NumPy 2.4.
    #[test]
    fn dates_are_formatted_as_in_numpy() {
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
            assert_eq!(iso_datetime(ticks, TimeStep::new(count, unit)), shown);
        }
    }
}
