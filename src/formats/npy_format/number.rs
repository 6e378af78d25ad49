//! Python's integer literals, the only numbers in a header.

use super::fault::HeaderFault;
use crate::error::Fault;

/// Parses the number that a text begins with; returns it and its length in bytes.
///
/// `python2` allows the suffix `L` of long integers.
pub(super) fn parse_integer(text: &str, python2: bool) -> Result<(u64, usize), HeaderFault> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'.';
    let length = text.bytes().take_while(is_word).count();
    let literal = &text[..length];
    let digits = if python2 { literal.strip_suffix('L').unwrap_or(literal) } else { literal };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        _ => (10, digits),
    };
    // Python allows an underscore after the radix prefix, but not at the beginning of a decimal number.
    let digits = if radix == 10 { digits } else { digits.strip_prefix('_').unwrap_or(digits) };
    let is_group = |group: &str| !group.is_empty() && group.chars().all(|char| char.is_digit(radix));
    let significant = digits.trim_start_matches(['0', '_']);
    let has_leading_zero = radix == 10 && significant.len() < digits.len() && !significant.is_empty();
    if !digits.split('_').all(is_group) || has_leading_zero {
        // A malformed number can be as long as the header; the message shows its beginning.
        let shown: String = literal.chars().take(40).collect();
        return Err(HeaderFault::new(format!("'{shown}' is not an integer"), 0));
    }
    // NumPy removes an `L` that follows a number, also after blanks.
    let rest = text[length..].trim_start_matches([' ', '\t', '\x0c']);
    let is_suffix = python2 && rest.starts_with('L') && !rest.as_bytes().get(1).is_some_and(is_word);
    let length = if is_suffix { text.len() - rest.len() + 1 } else { length };
    if significant.is_empty() {
        return Ok((0, length));
    }
    match u64::from_str_radix(&significant.replace('_', ""), radix) {
        Ok(number) => Ok((number, length)),
        Err(_) => Err(Fault::Overflow { what: format!("a number of {} digits", significant.len()) }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fault::FaultKind;
    use super::parse_integer;
    use crate::error::Fault;

    #[test]
    fn integer_literals_parse_as_in_python() {
        // The values in Python 3.11; with the suffix L, in Python 2.7.
        let sound = [
            ("0", 0),
            ("00", 0),
            ("0_0", 0),
            ("12", 12),
            ("1_2", 12),
            ("0x1F", 31),
            ("0X_f", 15),
            ("0o17", 15),
        ];
        for (text, number) in sound.into_iter().chain([("0b101", 5), ("18446744073709551615", u64::MAX)]) {
            assert_eq!(
                parse_integer(&format!("{text}, 3"), false).ok(),
                Some((number, text.len())),
                "{text}"
            );
            assert_eq!(
                parse_integer(&format!("{text}L)"), true).ok(),
                Some((number, text.len() + 1)),
                "{text}L"
            );
            assert_eq!(
                parse_integer(&format!("{text}\t L,"), true).ok(),
                Some((number, text.len() + 3)),
                "{text} L"
            );
            assert!(parse_integer(&format!("{text}L)"), false).is_err());
        }
        for text in ["02", "0_2", "1__2", "1_", "0x", "0xg", "0b2", "2.0", "2e3", "2j", "2x"] {
            assert!(parse_integer(text, false).is_err(), "{text}");
            assert!(parse_integer(text, true).is_err(), "{text}");
        }
    }

    /// Python's integers have no limit, but no array has that number of elements.
    #[test]
    fn integers_over_64_bits_overflow() {
        for text in ["18446744073709551616", "0x1_0000_0000_0000_0000"] {
            let fault = parse_integer(text, false).err().unwrap();
            let FaultKind::Other(error) = fault.kind else { panic!("{text}") };
            assert!(matches!(error.fault(), Fault::Overflow { .. }), "{text}: {error}");
        }
    }
}
