//! Formats floats as NumPy's `FloatingFormat` does: aligned, with at most 8 decimal places.

use crate::dynamic::show::unsigned;
use crate::elements::{half_as_printed, half_to_single, shortest_half};

/// The most decimal places.
const PRECISION: usize = 8;

/// Whether positive numbers have a sign.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SignStyle {
    Minus,
    Always,
}

/// A float of 2, 4 or 8 bytes.
#[derive(Clone, Copy)]
pub(super) enum SizedFloat {
    Half(f32),
    Single(f32),
    Double(f64),
}

impl SizedFloat {
    pub(super) fn of(bytes: &[u8], is_big: bool) -> Self {
        let bits = unsigned(bytes, is_big);
        match bytes.len() {
            2 => Self::Half(half_to_single(bits as u16)),
            4 => Self::Single(f32::from_bits(bits as u32)),
            _ => Self::Double(f64::from_bits(bits as u64)),
        }
    }

    /// Returns the exact value.
    fn value(self) -> f64 {
        match self {
            Self::Half(number) | Self::Single(number) => number.into(),
            Self::Double(number) => number,
        }
    }

    /// Returns the shortest digits that tell the number from others of its type, in Rust's scientific notation.
    fn shortest_scientific(self) -> String {
        match self {
            Self::Half(number) => shortest_half(number),
            Self::Single(number) => format!("{number:e}"),
            Self::Double(number) => format!("{number:e}"),
        }
    }

    /// Returns the number of digits after the first one, and the exponent, of the shortest digits.
    fn further_digit_count_and_exponent(self) -> (usize, i32) {
        let shown = self.shortest_scientific();
        let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
        let digits = digits.bytes().filter(u8::is_ascii_digit).count();
        (digits.saturating_sub(1), exponent.parse().unwrap_or(0))
    }

    /// Returns the value whose digits are shown: that of the shortest digits if none of them is left out or added.
    ///
    /// It differs from the exact value only below a power of two that is half way between two numbers with as many
    /// digits, as the 16-bit 0.015625: the shortest digits are 0.01563.
    fn shown_value(self, is_whole: bool) -> f64 {
        match self {
            Self::Half(number) if is_whole => half_as_printed(number),
            _ => self.value(),
        }
    }

    /// Returns the number of decimal places, as [`PRECISION`] allows.
    fn decimal_places(self) -> usize {
        let (further, exponent) = self.further_digit_count_and_exponent();
        let places = (further as i32 - exponent).max(0) as usize;
        match places > PRECISION {
            // Fewer if what remains ends in zeros.
            true => count_decimal_places(&format!("{:.PRECISION$}", self.value())),
            false => places,
        }
    }

    /// Returns the number of decimal places of the number with an exponent.
    fn mantissa_decimal_places(self) -> usize {
        let (further, _) = self.further_digit_count_and_exponent();
        match further > PRECISION {
            true => {
                let shown = format!("{:.PRECISION$e}", self.value());
                count_decimal_places(shown.split('e').next().unwrap_or(""))
            }
            false => further,
        }
    }
}

/// Counts the decimal places of a text without trailing zeros.
fn count_decimal_places(shown: &str) -> usize {
    shown.split_once('.').map_or(0, |(_, places)| places.trim_end_matches('0').len())
}

/// Formats numbers so that their decimal points are aligned.
pub(super) fn aligned(numbers: Vec<SizedFloat>, sign: SignStyle) -> Vec<String> {
    let finite: Vec<SizedFloat> =
        numbers.iter().copied().filter(|number| number.value().is_finite()).collect();
    let needs_exponent = needs_exponent(&finite);
    let places = match needs_exponent {
        true => finite.iter().map(|number| number.mantissa_decimal_places()).max().unwrap_or(0),
        false => finite.iter().map(|number| number.decimal_places()).max().unwrap_or(0),
    };
    let signed = |text: String, is_negative: bool| {
        if sign == SignStyle::Always && !is_negative { format!("+{text}") } else { text }
    };
    // The part before the decimal point, and the rest.
    let split = |number: &SizedFloat| {
        let value = number.value();
        let text = match needs_exponent {
            true => format!(
                "{:.places$e}",
                number.shown_value(places == number.further_digit_count_and_exponent().0)
            ),
            false => format!("{:.*}", number.decimal_places(), number.shown_value(true)),
        };
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, ""));
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let exponent = exponent.parse::<i32>().unwrap_or(0);
        (signed(whole.to_owned(), value.is_sign_negative()), part.to_owned(), exponent)
    };
    let parts: Vec<_> = finite.iter().map(split).collect();
    let exponent_digits = parts
        .iter()
        .map(|(.., exponent)| exponent.unsigned_abs().to_string().len().max(2))
        .max()
        .unwrap_or(2);
    let mut left = parts.iter().map(|(whole, ..)| whole.len()).max().unwrap_or(0) as isize;
    let right = match needs_exponent {
        true => exponent_digits + 2 + places,
        false => places,
    };
    if finite.len() < numbers.len() {
        let has_sign =
            sign == SignStyle::Always || numbers.iter().any(|number| number.value() == f64::NEG_INFINITY);
        left = left.max(3 + isize::from(has_sign) - right as isize - 1);
    }
    let width = (left + right as isize + 1).max(0) as usize;
    let mut parts = parts.into_iter();
    let show = |number: &SizedFloat| {
        let value = number.value();
        let text = match value.is_finite() {
            false if value.is_nan() => signed("nan".to_owned(), false),
            false if value < 0.0 => "-inf".to_owned(),
            false => signed("inf".to_owned(), false),
            true => {
                let (whole, part, exponent) = parts.next().unwrap_or_default();
                let end = match needs_exponent {
                    true => {
                        let sign = if exponent < 0 { '-' } else { '+' };
                        format!("e{sign}{:0exponent_digits$}", exponent.unsigned_abs())
                    }
                    false => " ".repeat(places - part.len()),
                };
                format!("{whole}.{part}{end}")
            }
        };
        format!("{}{text}", " ".repeat(width.saturating_sub(text.len())))
    };
    numbers.iter().map(show).collect()
}

/// Returns whether numbers so large, so small or so far apart are shown with exponents.
fn needs_exponent(finite: &[SizedFloat]) -> bool {
    let sizes = || finite.iter().map(|number| number.value().abs()).filter(|size| *size != 0.0);
    let (Some(most), Some(least)) = (sizes().reduce(f64::max), sizes().reduce(f64::min)) else {
        return false;
    };
    // NumPy computes in the type of the numbers.
    let (large, small, ratio) = match finite[0] {
        SizedFloat::Half(_) => (1e3, f64::from(half_to_single(0x068E)), round_ratio_to_half(most / least)),
        SizedFloat::Single(_) => (1e6, f64::from(0.0001f32), f64::from(most as f32 / least as f32)),
        SizedFloat::Double(_) => (1e8, 0.0001, most / least),
    };
    most >= large || least < small || ratio > 1000.0
}

/// Rounds a ratio that is close to 1000 to a float of 16 bits.
fn round_ratio_to_half(ratio: f64) -> f64 {
    if ratio <= 1000.25 { ratio.min(1000.0) } else { ratio }
}
