//! The decimal digits of long doubles, which the standard library cannot format.

use super::longdouble::Wide;
use crate::dtype::LongDoubleFormat;

/// Formats a `longdouble` with the fewest digits that identify it, as `f64` is formatted by `Debug`.
pub(crate) fn long_double(bits: u128, format: LongDoubleFormat) -> String {
    let wide = Wide::of(bits, format);
    let (precision, least) = match format {
        LongDoubleFormat::X87 => (64, -16445),
        LongDoubleFormat::Quad => (113, -16494),
    };
    let Some((mantissa, exponent)) = wide.scaled(precision, least) else {
        return format!("{:?}", wide.to_f64()); // NaN, infinite, or zero
    };
    let sign = if wide.is_negative() { "-" } else { "" };
    // Below a power of two, the numbers are closer to each other.
    let is_power = mantissa == 1 << (precision - 1) && exponent > least;
    let exact = 4 * mantissa;
    let [low, exact, high] =
        [exact - if is_power { 1 } else { 2 }, exact, exact + 2].map(|number| digits(number, exponent - 2));
    // The digits after the decimal point.
    let scale = (2 - exponent).max(0) as usize;
    let (shortest, length) = shortest(&low, &exact, &high, mantissa.is_multiple_of(2));
    sign.to_owned() + &spelled(&shortest, length as i32 - scale as i32 - 1)
}

/// Returns the digits of `number` × 2^`exponent`, as an integer: with a negative exponent, × 10^−`exponent`.
fn digits(number: u128, exponent: i32) -> String {
    const LIMB: u64 = 1_000_000_000;
    let mut limbs = Vec::new();
    let mut rest = number;
    while rest > 0 {
        limbs.push((rest % u128::from(LIMB)) as u32);
        rest /= u128::from(LIMB);
    }
    // 2^29 and 5^12 are the largest powers that one limb has room for.
    let (base, at_once) = if exponent < 0 { (5u64, 12) } else { (2, 29) };
    let mut left = exponent.unsigned_abs();
    while left > 0 {
        let step = left.min(at_once);
        let factor = base.pow(step);
        let mut carry = 0;
        for limb in &mut limbs {
            let product = u64::from(*limb) * factor + carry;
            *limb = (product % LIMB) as u32;
            carry = product / LIMB;
        }
        if carry > 0 {
            limbs.push(carry as u32); // at most the factor
        }
        left -= step;
    }
    let all: String = limbs.iter().rev().map(|limb| format!("{limb:09}")).collect();
    all.trim_start_matches('0').to_owned()
}

/// Returns the fewest digits of a number between two others, or at them if `at_ends`, without trailing zeros, and how many digits
/// the number has before the decimal point of `exact`.
fn shortest(low: &str, exact: &str, high: &str, at_ends: bool) -> (String, usize) {
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
fn spelled(digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at(1);
    match exponent {
        0..16 => {
            let whole = exponent as usize + 1;
            let padded = format!("{digits:0<whole$}");
            let (whole, fraction) = padded.split_at(whole);
            format!("{whole}.{}", if fraction.is_empty() { "0" } else { fraction })
        }
        -5..0 => format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
        _ if rest.is_empty() => format!("{first}e{exponent}"),
        _ => format!("{first}.{rest}e{exponent}"),
    }
}
