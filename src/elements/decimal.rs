//! The decimal digits of long doubles, which the standard library cannot format.

use std::sync::OnceLock;

use super::longdouble::WideFloat;
use crate::dtype::LongDoubleFormat;

/// Formats a `longdouble` as `f64` is formatted by `Debug`, with the fewest digits that identify it, or at most `most` of them
/// after the point.
///
/// With fewer digits, a number that would be shown as zero has an exponent.
pub(crate) fn format_long_double(bits: u128, format: LongDoubleFormat, most: Option<usize>) -> String {
    let wide = WideFloat::of(bits, format);
    let (precision, least) = match format {
        LongDoubleFormat::X87 => (64, -16445),
        LongDoubleFormat::Quad => (113, -16494),
        LongDoubleFormat::DoubleDouble => (106, -1074),
    };
    let Some((mantissa, exponent)) = wide.mantissa_and_exponent(precision, least) else {
        return format!("{:?}", wide.to_f64()); // NaN, infinite, or zero
    };
    let sign = if wide.is_negative() { "-" } else { "" };
    // Below a power of two, the numbers are closer to each other.
    let is_power = mantissa == 1 << (precision - 1) && exponent > least;
    let power = Power::of(exponent - 2);
    let exact = 4 * mantissa;
    let [low, exact, high] =
        [exact - if is_power { 1 } else { 2 }, exact, exact + 2].map(|number| power.product_digits(number));
    // The digits after the decimal point of `exact`.
    let scale = (2 - exponent).max(0);
    let point = |length: usize| length as i32 - scale - 1;
    let (shortest, length) = shortest_digits_between(&low, &exact, &high, mantissa % 2 == 0);
    let text = format_digits(&shortest, point(length));
    let mantissa = text.split('e').next().unwrap_or(&text);
    let fraction = mantissa.split_once('.').map_or(0, |(_, digits)| digits.len());
    let text = match most.filter(|most| fraction > *most) {
        None => text,
        Some(most) => {
            // The digits before the point, of which a number below 1 has none.
            let before = point(exact.len()) + 1;
            let kept = before + most as i32;
            let has_exponent = text.contains('e') || kept < 1;
            let count = if has_exponent { most + 1 } else { kept as usize };
            let rounded = if count < exact.len() { rounded(&exact, count, "5") } else { exact };
            let exponent = point(rounded.len());
            let digits = rounded.get(..count).unwrap_or(&rounded);
            match has_exponent {
                true => format_scientific(digits, exponent),
                false => format_fixed_point(&rounded, exponent, most),
            }
        }
    };
    sign.to_owned() + &text
}

/// Formats digits of which the first has the weight 10^`exponent`, with `most` of them after the point.
fn format_fixed_point(digits: &str, exponent: i32, most: usize) -> String {
    let zeros = "0".repeat((-exponent).max(0) as usize);
    let all = format!("{zeros}{digits}");
    let (whole, fraction) = all.split_at(exponent.max(0) as usize + 1);
    match most {
        0 => whole.to_owned(),
        _ => format!("{whole}.{:0<most$}", &fraction[..fraction.len().min(most)]),
    }
}

/// The number of values in a limb.
const LIMB_BASE: u64 = 1_000_000_000;

/// 2^`exponent`, or 5^−`exponent` if it is negative, as an integer with its lowest digits first.
struct Power(Vec<u32>);

impl Power {
    /// Returns the power that makes a number × 2^`exponent` an integer, or one × 10^`exponent` if that is negative.
    fn of(exponent: i32) -> Self {
        /// Powers of which the exponents are this far apart are kept.
        const TABLE_STEP: u32 = 256;
        /// Enough for every exponent of a long double.
        const TABLE_LEN: usize = 70;
        type PowerTable = OnceLock<Vec<Vec<u32>>>;
        static POWERS_OF_TWO: PowerTable = OnceLock::new();
        static POWERS_OF_FIVE: PowerTable = OnceLock::new();
        let (kept, base, at_once) =
            if exponent < 0 { (&POWERS_OF_FIVE, 5u64, 12) } else { (&POWERS_OF_TWO, 2, 29) };
        let raised = |mut limbs: Vec<u32>, mut left: u32| {
            while left > 0 {
                let step = left.min(at_once);
                multiply(&mut limbs, base.pow(step));
                left -= step;
            }
            limbs
        };
        let kept = kept.get_or_init(|| {
            let next = |limbs: &Vec<u32>| Some(raised(limbs.clone(), TABLE_STEP));
            std::iter::successors(Some(vec![1]), next).take(TABLE_LEN).collect()
        });
        let exponent = exponent.unsigned_abs();
        let below = kept[(exponent / TABLE_STEP) as usize].clone();
        Self(raised(below, exponent % TABLE_STEP))
    }

    /// Returns the digits of the product with a number.
    fn product_digits(&self, number: u128) -> String {
        let factors: [u64; 5] = std::array::from_fn(|place| {
            let limb = number / u128::from(LIMB_BASE).pow(place as u32) % u128::from(LIMB_BASE);
            limb as u64
        });
        let mut carry = 0;
        let limb = |index: usize| {
            let parts = factors.iter().enumerate().filter_map(|(place, factor)| {
                Some(factor * u64::from(*self.0.get(index.checked_sub(place)?)?))
            });
            let sum = carry + parts.sum::<u64>(); // five products of less than 10^18
            carry = sum / LIMB_BASE;
            sum % LIMB_BASE
        };
        let product: Vec<u64> = (0..self.0.len() + factors.len()).map(limb).collect();
        let all: String = product.iter().rev().map(|limb| format!("{limb:09}")).collect();
        all.trim_start_matches('0').to_owned()
    }
}

/// Multiplies an integer by a number of one limb.
fn multiply(limbs: &mut Vec<u32>, factor: u64) {
    let mut carry = 0;
    for limb in &mut *limbs {
        let product = u64::from(*limb) * factor + carry;
        *limb = (product % LIMB_BASE) as u32;
        carry = product / LIMB_BASE;
    }
    if carry > 0 {
        limbs.push(carry as u32); // less than the factor
    }
}

/// Returns the fewest digits of a number between two others, or at them if `at_ends`, without trailing zeros, and how many digits
/// the number has before the decimal point of `exact`.
fn shortest_digits_between(low: &str, exact: &str, high: &str, at_ends: bool) -> (String, usize) {
    let length = high.len();
    let low = format!("{low:0>length$}");
    let is_between = |text: &str| {
        let text = format!("{text:0>length$}");
        low.as_str() < text.as_str() && text.as_str() < high || at_ends && (text == low || text == high)
    };
    // Below a power of two, the nearest number with these digits may be too low, and the next one do.
    let rounded = (1..exact.len())
        .flat_map(|count| ["5", "0"].map(|least| rounded(exact, count, least)))
        .find(|text| is_between(text));
    let found = rounded.unwrap_or_else(|| exact.to_owned());
    (found.trim_end_matches('0').to_owned(), found.len())
}

/// Rounds an integer to a number of digits; the others become zeros. It is rounded up if they are at least `least`.
fn rounded(exact: &str, count: usize, least: &str) -> String {
    let (kept, dropped) = exact.split_at(count);
    let mut kept = kept.as_bytes().to_vec();
    if dropped >= least {
        match kept.iter().rposition(|digit| *digit != b'9') {
            Some(last) => {
                kept[last] += 1;
                kept[last + 1..].fill(b'0');
            }
            None => {
                kept.fill(b'0');
                kept.insert(0, b'1');
            }
        }
    }
    let kept: String = kept.into_iter().map(char::from).collect();
    kept + &"0".repeat(dropped.len())
}

/// Formats digits of which the first has the weight 10^`exponent`.
fn format_digits(digits: &str, exponent: i32) -> String {
    match exponent {
        0..16 => {
            let whole = exponent as usize + 1;
            let padded = format!("{digits:0<whole$}");
            let (whole, fraction) = padded.split_at(whole);
            format!("{whole}.{}", if fraction.is_empty() { "0" } else { fraction })
        }
        -5..0 => format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
        _ => format_scientific(digits, exponent),
    }
}

fn format_scientific(digits: &str, exponent: i32) -> String {
    match digits.split_at(1) {
        (first, "") => format!("{first}e{exponent}"),
        (first, rest) => format!("{first}.{rest}e{exponent}"),
    }
}
