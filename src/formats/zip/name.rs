//! Decoding of member names: UTF-8 if the record says so, otherwise code page 437.

use super::UTF8_FLAG;

/// The upper half of code page 437, the character set of the original IBM PC.
const CP437_UPPER_HALF: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// Decodes a name.
///
/// Returns `None` for invalid UTF-8, and for a NUL, at which other programs would truncate the name.
pub(super) fn decode(raw: &[u8], flags: u16) -> Option<String> {
    if raw.contains(&0) {
        return None;
    }
    if raw.is_ascii() {
        return String::from_utf8(raw.to_vec()).ok(); // the common case: ASCII is the same in both encodings
    }
    if flags & UTF8_FLAG != 0 {
        return String::from_utf8(raw.to_vec()).ok();
    }
    let upper = |byte: u8| CP437_UPPER_HALF.chars().nth(usize::from(byte) - 128);
    raw.iter().map(|byte| if byte.is_ascii() { Some(char::from(*byte)) } else { upper(*byte) }).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn code_page_437_is_decoded_as_in_python() {
        // The first, some middle, and the last characters of Python's bytes(range(128, 256)).decode('cp437').
        assert_eq!(super::CP437_UPPER_HALF.chars().count(), 128);
        let decode = |raw: &[u8]| super::decode(raw, 0).unwrap();
        assert_eq!(decode(b"a\x80\x81\x9e\x9f\xe1\xfe\xff"), "aÇü₧ƒß■\u{a0}");
        assert_eq!(decode(b"\xb0\xc0\xd0\xe0\xf0"), "░└╨α≡");
    }
}
