//! The tokenizer of the general path: converts the text of a header to a normal form, in one linear pass.
//!
//! `py_literal` then parses the values. On its own, `py_literal` takes exponential time for nested brackets
//! without a trailing comma. It does not support comments, line ends, joined strings, raw strings or
//! redundant parentheses, and it evaluates sums, which Python refuses.
//!
//! So the tokenizer refuses what Python refuses, limits the nesting depth, and rewrites the rest. The result
//! has no line ends, comments, prefixes, suffixes or redundant parentheses. Numbers are in decimal, each
//! string is in one piece with few escapes, and every last item has a trailing comma. The tokenizer also
//! splits the dict and its lists into pieces.

use std::ops::Range;

use super::fault::HeaderFault;
use super::{number, string};
use crate::error::LimitKind;
use crate::limits::{self, Limits};

/// A dict in normal form, split into pieces.
///
/// Its values, and the items of each list within them, are separate pieces and can be parsed one at a time: a
/// parsed `py_literal` value takes hundreds of times the memory of its text.
#[derive(Default)]
pub(super) struct NormalizedDict {
    pub(super) items: Vec<Item>,
    /// The items of each list. In the surrounding piece, a list is written as `[number,]`.
    pub(super) lists: Vec<Vec<String>>,
}

/// A key and its value.
pub(super) struct Item {
    pub(super) key: String,
    pub(super) value: String,
    /// The offset of the key in the original text.
    pub(super) key_at: usize,
    /// The range of the value in the original text.
    pub(super) value_range: Range<usize>,
}

/// Converts a dict to normal form. `python2` allows the suffix `L` of long integers.
pub(super) fn normalize(text: &str, python2: bool) -> Result<NormalizedDict, HeaderFault> {
    // Python refuses source text with a NUL byte.
    if let Some(at) = text.find('\0') {
        return Err(HeaderFault::new("NUL byte in the header", at));
    }
    let pieces = vec![String::new()];
    let mut scanner = Scanner {
        text,
        at: 0,
        pieces,
        open_brackets: Vec::new(),
        python2,
        had_dict: false,
        normal: NormalizedDict::default(),
    };
    scanner.run()?;
    let is_dict = scanner.had_dict && scanner.pieces == [""];
    if is_dict { Ok(scanner.normal) } else { Err(HeaderFault::new("it is not a dict", 0)) }
}

/// An open bracket.
struct OpenBracket {
    open: u8,
    /// The offset of the bracket in the output.
    out_at: usize,
    /// The number of complete items.
    items: usize,
    /// Whether there has been a comma.
    has_comma: bool,
    /// The offset of the item after the last comma (or the bracket), if it has begun.
    item_at: Option<usize>,
    /// For a list, its index in `NormalizedDict::lists`.
    list_index: usize,
    /// In a dict: the key before the last colon, and the offset of the value after it.
    key: Option<(String, usize)>,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// A stack of pieces: the one being written, on top of those that contain it.
    pieces: Vec<String>,
    open_brackets: Vec<OpenBracket>,
    python2: bool,
    had_dict: bool,
    normal: NormalizedDict,
}

impl Scanner<'_> {
    fn run(&mut self) -> Result<(), HeaderFault> {
        let mut wants_value = true;
        loop {
            let end_of_token = self.at;
            self.skip_blanks()?;
            let Some(byte) = self.peek() else { break };
            match byte {
                b')' | b']' | b'}' => {
                    let Some(bracket) = self.open_brackets.pop() else { return Err(self.unexpected()) };
                    if wants_value && bracket.key.is_some() {
                        return Err(self.fault("expected a value"));
                    }
                    self.close(bracket, byte, end_of_token)?;
                    wants_value = false;
                }
                _ if wants_value => wants_value = self.value(byte)?,
                b',' => {
                    let Some(bracket) = self.open_brackets.pop() else { return Err(self.unexpected()) };
                    self.comma(bracket, end_of_token)?;
                    wants_value = true;
                }
                b':' if !self.open_brackets.is_empty() => {
                    self.colon()?;
                    wants_value = true;
                }
                _ => return Err(self.unexpected()),
            }
        }
        match self.open_brackets.last() {
            Some(bracket) => Err(self.fault(format!("unclosed '{}'", char::from(bracket.open)))),
            None if wants_value => Err(self.fault("expected a value")),
            None => Ok(()),
        }
    }

    /// Returns the piece that is being written.
    fn out(&mut self) -> &mut String {
        // The first piece is never popped: a closing bracket pops only what its opening bracket has pushed.
        self.pieces.last_mut().expect("there is always a piece")
    }

    /// Scans a value or an opening bracket; returns whether a value must still follow.
    fn value(&mut self, byte: u8) -> Result<bool, HeaderFault> {
        if let Some(bracket) = self.open_brackets.last_mut() {
            bracket.item_at.get_or_insert(self.at);
        }
        match byte {
            b'(' | b'[' | b'{' => {
                self.open(byte)?;
                return Ok(true);
            }
            b'0'..=b'9' => self.number()?,
            b'+' | b'-' => self.signed_number()?,
            _ if string::starts_with_string_literal(&self.text[self.at..]) => self.strings()?,
            _ => self.keyword()?,
        }
        Ok(false)
    }

    /// Scans a string and the strings that directly follow it, and joins them.
    fn strings(&mut self) -> Result<(), HeaderFault> {
        let mut joined = String::new();
        loop {
            let from = self.at;
            let mut next = String::new();
            self.at += string::normalize(&self.text[from..], &mut next)
                .map_err(|(reason, offset)| HeaderFault::new(reason, from + offset))?;
            if joined.is_empty() {
                joined = next;
            } else if joined.starts_with('b') || next.starts_with('b') {
                return Err(HeaderFault::new("bytes and strings cannot be joined", from));
            } else {
                joined.pop(); // the closing quote, which is the same for every string in normal form
                joined.push_str(&next[1..]);
            }
            let end = self.at;
            self.skip_blanks()?;
            if !string::starts_with_string_literal(&self.text[self.at..]) {
                self.at = end;
                self.out().push_str(&joined);
                return Ok(());
            }
        }
    }

    fn open(&mut self, open: u8) -> Result<(), HeaderFault> {
        // `py_literal` recurses into brackets, so their depth is limited before it sees them.
        let (found, limit) = (self.open_brackets.len() as u64 + 1, Limits::NESTING as u64);
        limits::check(LimitKind::Nesting, found, limit)?;
        if open == b'{' && std::mem::replace(&mut self.had_dict, true) {
            return Err(self.fault("nested dict"));
        }
        let list_index = self.normal.lists.len();
        let out_at = self.out().len();
        match open {
            b'(' => self.out().push('('),
            b'[' => {
                self.out().push_str(&format!("[{list_index},]"));
                self.normal.lists.push(Vec::new());
                self.pieces.push(String::new());
            }
            _ => self.pieces.push(String::new()),
        }
        self.open_brackets.push(OpenBracket {
            open,
            out_at,
            items: 0,
            has_comma: false,
            item_at: None,
            list_index,
            key: None,
        });
        self.at += 1;
        Ok(())
    }

    fn close(&mut self, mut bracket: OpenBracket, close: u8, end_of_token: usize) -> Result<(), HeaderFault> {
        let wanted = match bracket.open {
            b'(' => b')',
            b'[' => b']',
            _ => b'}',
        };
        if close != wanted {
            return Err(self.fault(format!(
                "'{}' is closed by '{}'",
                char::from(bracket.open),
                char::from(close)
            )));
        }
        let has_last = bracket.item_at.is_some();
        self.end_item(&mut bracket, end_of_token)?;
        self.at += 1;
        if bracket.open != b'(' {
            self.pieces.pop();
        } else if has_last && !bracket.has_comma {
            // Shifts only the text within these parentheses. The nesting is limited, so the pass stays
            // linear.
            self.out().remove(bracket.out_at); // redundant parentheses around one value
        } else {
            self.out().push_str(if has_last { ",)" } else { ")" });
        }
        Ok(())
    }

    fn comma(&mut self, mut bracket: OpenBracket, end_of_token: usize) -> Result<(), HeaderFault> {
        self.end_item(&mut bracket, end_of_token)?;
        if bracket.open == b'(' {
            self.out().push(',');
        }
        bracket.has_comma = true;
        self.open_brackets.push(bracket);
        self.at += 1;
        Ok(())
    }

    /// Completes the item that ends here, if there is one.
    fn end_item(&mut self, bracket: &mut OpenBracket, end_of_token: usize) -> Result<(), HeaderFault> {
        /// The maximum number of keys that are kept. A header has three; `dict` checks which ones are valid.
        const MAX_KEYS: usize = 16;
        let Some(key_at) = bracket.item_at.take() else { return Ok(()) };
        bracket.items += 1;
        match (bracket.open, bracket.key.take()) {
            // Every tuple is limited to the maximum number of axes, because shapes are the longest tuples.
            (b'(', _) => {
                limits::check(LimitKind::Dimensions, bracket.items as u64, Limits::DIMENSIONS as u64)?
            }
            (b'[', _) => {
                let piece = std::mem::take(self.out());
                self.normal.lists[bracket.list_index].push(piece);
            }
            (_, None) => return Err(self.fault("a key has no value")),
            (_, Some(_)) if bracket.items > MAX_KEYS => {
                return Err(HeaderFault::new("there are too many keys", key_at));
            }
            (_, Some((key, value_at))) => {
                let value = std::mem::take(self.out());
                self.normal.items.push(Item { key, value, key_at, value_range: value_at..end_of_token });
            }
        }
        Ok(())
    }

    fn colon(&mut self) -> Result<(), HeaderFault> {
        let at = self.at;
        self.at += 1;
        self.skip_blanks()?;
        let value_at = self.at;
        let key = std::mem::take(self.out());
        match self.open_brackets.last_mut() {
            Some(bracket) if bracket.open == b'{' && bracket.key.is_none() => {
                bracket.key = Some((key, value_at));
                Ok(())
            }
            _ => Err(HeaderFault::new("unexpected colon", at)),
        }
    }

    fn signed_number(&mut self) -> Result<(), HeaderFault> {
        if self.peek() == Some(b'-') {
            self.out().push('-');
        }
        self.at += 1;
        self.skip_blanks()?;
        match self.peek() {
            Some(b'0'..=b'9') => self.number(),
            _ => Err(self.fault("expected a number after the sign")),
        }
    }

    fn number(&mut self) -> Result<(), HeaderFault> {
        let (number, length) = number::parse_integer(&self.text[self.at..], self.python2)
            .map_err(|fault| fault.offset_by(self.at))?;
        self.out().push_str(&number.to_string());
        self.at += length;
        Ok(())
    }

    fn keyword(&mut self) -> Result<(), HeaderFault> {
        for word in ["True", "False", "None"] {
            let Some(rest) = self.text[self.at..].strip_prefix(word) else { continue };
            if !rest.starts_with(|char: char| char.is_alphanumeric() || char == '_') {
                self.out().push_str(word);
                self.at += word.len();
                return Ok(());
            }
        }
        Err(self.unexpected())
    }

    /// Skips spaces, line ends, line continuations and comments.
    fn skip_blanks(&mut self) -> Result<(), HeaderFault> {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\x0c' | b'\n' | b'\r' => self.at += 1,
                b'#' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
                }
                b'\\' => match &self.text.as_bytes()[self.at + 1..] {
                    [b'\r', b'\n', ..] => self.at += 3,
                    [b'\n' | b'\r', ..] => self.at += 2,
                    _ => return Err(self.unexpected()),
                },
                _ => break,
            }
        }
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault(&self, reason: impl Into<String>) -> HeaderFault {
        HeaderFault::new(reason, self.at)
    }

    fn unexpected(&self) -> HeaderFault {
        let rest = &self.text[self.at..];
        if ["np.", "numpy."].iter().any(|prefix| rest.starts_with(prefix)) {
            return self.fault(
                "a call of NumPy, put there by a faulty writer (numpy issue 28334: NumPy refuses the file too); \
                 the shape has to hold plain numbers",
            );
        }
        let shown: String = rest.chars().take_while(|char| char.is_alphanumeric()).take(20).collect();
        let shown = if shown.is_empty() { rest.chars().take(1).collect() } else { shown };
        self.fault(format!("\"{}\" is unexpected here", shown.escape_debug()))
    }
}
