//! Text from files in messages: what would move the cursor, change colors, reorder text or hide in it is escaped.

use std::borrow::Cow;

/// The characters of the Unicode categories Cf, Zl and Zp; those of Cc are known to the standard library. From version 16 of Unicode.
const FORMAT_CHARACTERS: [(char, char); 21] = [
    ('\u{AD}', '\u{AD}'),
    ('\u{600}', '\u{605}'),
    ('\u{61C}', '\u{61C}'),
    ('\u{6DD}', '\u{6DD}'),
    ('\u{70F}', '\u{70F}'),
    ('\u{890}', '\u{891}'),
    ('\u{8E2}', '\u{8E2}'),
    ('\u{180E}', '\u{180E}'),
    ('\u{200B}', '\u{200F}'),
    ('\u{2028}', '\u{202E}'),
    ('\u{2060}', '\u{2064}'),
    ('\u{2066}', '\u{206F}'),
    ('\u{FEFF}', '\u{FEFF}'),
    ('\u{FFF9}', '\u{FFFB}'),
    ('\u{110BD}', '\u{110BD}'),
    ('\u{110CD}', '\u{110CD}'),
    ('\u{13430}', '\u{1343F}'),
    ('\u{1BCA0}', '\u{1BCA3}'),
    ('\u{1D173}', '\u{1D17A}'),
    ('\u{E0001}', '\u{E0001}'),
    ('\u{E0020}', '\u{E007F}'),
];

/// Returns whether a character cannot be seen, or changes how the text around it is shown: a control character, a character for
/// formatting, or a separator of lines.
///
/// ```
/// use ndarray_io::error::is_invisible;
///
/// assert!(is_invisible('\u{1b}') && is_invisible('\u{202e}') && !is_invisible('é'));
/// ```
pub fn is_invisible(char: char) -> bool {
    char.is_control()
        || !char.is_ascii() && FORMAT_CHARACTERS.iter().any(|(first, last)| (*first..=*last).contains(&char))
}

/// Escapes the [invisible](is_invisible) characters of a text that comes from a file, as `\n` or `\u{202e}`, so that it can be shown on
/// a terminal. Joiners between characters that are not ASCII stay: Persian, Indic scripts and emoji need them.
///
/// ```
/// use ndarray_io::error::escape_invisible;
///
/// assert_eq!(escape_invisible("a\u{1b}[31m\n"), r"a\u{1b}[31m\n");
/// assert_eq!(escape_invisible("می\u{200c}خواهم"), "می\u{200c}خواهم");
/// ```
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    let is_joined = |char: Option<char>| char.is_some_and(|char| !char.is_ascii() && !is_invisible(char));
    let (mut before, mut chars) = (None, text.chars().peekable());
    while let Some(char) = chars.next() {
        let is_joiner = matches!(char, '\u{200C}' | '\u{200D}');
        match is_invisible(char) && !(is_joiner && is_joined(before) && is_joined(chars.peek().copied())) {
            true => shown.extend(char.escape_default()),
            false => shown.push(char),
        }
        before = Some(char);
    }
    Cow::Owned(shown)
}
