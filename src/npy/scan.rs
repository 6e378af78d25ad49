//! The tokenizer of the general path: one linear pass over the text of a header, which brings it into a normal form.
//!
//! `py_literal`, to which the values are left, is exponential in the nesting of brackets without a comma behind the
//! last item, knows no comments, line ends, joined strings, raw strings or redundant parentheses, and calculates sums,
//! which Python refuses. So this pass refuses what Python refuses, bounds the depth, and writes the rest anew: no line
//! ends, comments, prefixes, suffixes or redundant parentheses, numbers in decimal, strings in one piece with few
//! escapes, and a comma after every last item. On the way it keeps where the values of the dict stand in the text.

use std::ops::Range;

use super::string;
use crate::error::{Error, ErrorKind, Limited};
use crate::limits::Limits;

/// What is wrong, and where in the text.
pub(super) struct Fault {
    pub(super) what: What,
    pub(super) at: Option<usize>,
}

pub(super) enum What {
    /// The header is malformed, in words.
    Malformed(String),
    /// Something else, which needs no place.
    Other(Error),
}

impl Fault {
    pub(super) fn new(reason: impl Into<String>, at: impl Into<Option<usize>>) -> Self {
        Self { what: What::Malformed(reason.into()), at: at.into() }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { what: What::Other(error), at: None }
    }
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Self {
        Error::from(kind).into()
    }
}

/// A literal in normal form.
pub(super) struct Normal {
    pub(super) text: String,
    /// Where the values of the dict stand in the original, in their order.
    pub(super) values: Vec<Range<usize>>,
}

/// Brings a literal into normal form. `python2` allows the `L` behind long integers.
pub(super) fn normalize(text: &str, python2: bool) -> Result<Normal, Fault> {
    if let Some(at) = text.find('\0') {
        return Err(Fault::new("there is a NUL", at));
    }
    let mut scanner = Scanner {
        text,
        at: 0,
        out: String::with_capacity(text.len() + 16),
        frames: Vec::new(),
        python2,
        values: Vec::new(),
        had_dict: false,
    };
    scanner.run()?;
    Ok(Normal { text: scanner.out, values: scanner.values })
}

/// An open bracket.
struct Frame {
    open: u8,
    /// Where in the output it stands.
    out_at: usize,
    /// Whether a comma has come.
    has_comma: bool,
    /// Whether an item stands behind the last comma (or the bracket).
    has_item: bool,
    /// In a dict: where the value behind the last colon begins.
    value_from: Option<usize>,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    out: String,
    frames: Vec<Frame>,
    python2: bool,
    values: Vec<Range<usize>>,
    had_dict: bool,
}

impl Scanner<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        let mut wants_value = true;
        loop {
            let end_of_token = self.at;
            self.skip_blanks()?;
            let Some(byte) = self.peek() else { break };
            match byte {
                b')' | b']' | b'}' if !self.frames.is_empty() => {
                    if wants_value && self.frames.last().is_some_and(|frame| frame.value_from.is_some()) {
                        return Err(self.fault("a value is missing"));
                    }
                    self.close(byte, end_of_token)?;
                    wants_value = false;
                }
                _ if wants_value => wants_value = self.value(byte)?,
                b',' if !self.frames.is_empty() => {
                    self.comma(end_of_token)?;
                    wants_value = true;
                }
                b':' if !self.frames.is_empty() => {
                    self.colon()?;
                    wants_value = true;
                }
                _ => return Err(self.unexpected()),
            }
        }
        match self.frames.last() {
            Some(frame) => Err(self.fault(format!("'{}' is never closed", char::from(frame.open)))),
            None if wants_value => Err(self.fault("there is no value")),
            None => Ok(()),
        }
    }

    /// Takes a value, or the bracket that begins one; says whether a value is still wanted.
    fn value(&mut self, byte: u8) -> Result<bool, Fault> {
        if let Some(frame) = self.frames.last_mut() {
            frame.has_item = true;
        }
        match byte {
            b'(' | b'[' | b'{' => {
                self.open(byte)?;
                return Ok(true);
            }
            b'0'..=b'9' => self.number()?,
            b'+' | b'-' => self.signed_number()?,
            _ if string::begins(&self.text[self.at..]) => {
                self.at += string::normalize(&self.text[self.at..], &mut self.out)
                    .map_err(|(reason, offset)| Fault::new(reason, self.at + offset))?;
                self.joined_strings()?;
            }
            _ => self.word()?,
        }
        Ok(false)
    }

    /// Appends the strings that follow a string to it.
    fn joined_strings(&mut self) -> Result<(), Fault> {
        loop {
            let before = self.at;
            self.skip_blanks()?;
            if !string::begins(&self.text[self.at..]) {
                self.at = before;
                return Ok(());
            }
            let mut next = String::new();
            self.at += string::normalize(&self.text[self.at..], &mut next)
                .map_err(|(reason, offset)| Fault::new(reason, self.at + offset))?;
            if next.starts_with('b') {
                return Err(self.fault("bytes and strings are not joined in a header"));
            }
            self.out.pop(); // the closing quote: every string in normal form has the same
            self.out.push_str(&next[1..]);
        }
    }

    fn open(&mut self, open: u8) -> Result<(), Fault> {
        if self.frames.len() >= Limits::NESTING {
            let (found, limit) = (Limits::NESTING as u64 + 1, Limits::NESTING as u64);
            return Err(ErrorKind::Limit { limited: Limited::Nesting, found, limit }.into());
        }
        if open == b'{' && std::mem::replace(&mut self.had_dict, true) {
            return Err(self.fault("only the header itself is a dict"));
        }
        self.frames.push(Frame {
            open,
            out_at: self.out.len(),
            has_comma: false,
            has_item: false,
            value_from: None,
        });
        self.out.push(char::from(open));
        self.at += 1;
        Ok(())
    }

    fn close(&mut self, close: u8, end_of_token: usize) -> Result<(), Fault> {
        let frame = self.frames.pop().expect("the caller has seen that a bracket is open");
        let wanted = match frame.open {
            b'(' => b')',
            b'[' => b']',
            _ => b'}',
        };
        if close != wanted {
            return Err(self.fault(format!(
                "'{}' is closed by '{}'",
                char::from(frame.open),
                char::from(close)
            )));
        }
        self.end_item(&frame, end_of_token)?;
        self.at += 1;
        let is_group = frame.open == b'(' && frame.has_item && !frame.has_comma;
        if is_group {
            self.out.remove(frame.out_at);
            return Ok(());
        }
        if frame.has_item {
            self.out.push(',');
        }
        self.out.push(char::from(close));
        Ok(())
    }

    fn comma(&mut self, end_of_token: usize) -> Result<(), Fault> {
        let mut frame = self.frames.pop().expect("the caller has seen that a bracket is open");
        self.end_item(&frame, end_of_token)?;
        frame.has_comma = true;
        frame.has_item = false;
        frame.value_from = None;
        self.frames.push(frame);
        self.out.push(',');
        self.at += 1;
        Ok(())
    }

    /// In a dict, an item ends behind its value.
    fn end_item(&mut self, frame: &Frame, end_of_token: usize) -> Result<(), Fault> {
        match frame.value_from {
            Some(from) => self.values.push(from..end_of_token),
            None if frame.open == b'{' && frame.has_item => return Err(self.fault("a key has no value")),
            None => {}
        }
        Ok(())
    }

    fn colon(&mut self) -> Result<(), Fault> {
        self.at += 1;
        let before = self.at;
        self.skip_blanks()?;
        let value_from = self.at;
        self.at = before;
        match self.frames.last_mut() {
            Some(frame) if frame.open == b'{' && frame.value_from.is_none() => {
                frame.value_from = Some(value_from);
                self.out.push(':');
                Ok(())
            }
            _ => Err(Fault::new("a colon stands where none belongs", before - 1)),
        }
    }

    fn signed_number(&mut self) -> Result<(), Fault> {
        if self.peek() == Some(b'-') {
            self.out.push('-');
        }
        self.at += 1;
        self.skip_blanks()?;
        match self.peek() {
            Some(b'0'..=b'9') => self.number(),
            _ => Err(self.fault("a sign stands before something that is no number")),
        }
    }

    /// A whole number: in a header there are no others.
    fn number(&mut self) -> Result<(), Fault> {
        let from = self.at;
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'.';
        let length = self.text.as_bytes()[from..].iter().take_while(|byte| is_word(byte)).count();
        let mut digits = &self.text[from..from + length];
        self.at += length;
        if self.python2 {
            digits = digits.strip_suffix('L').unwrap_or(digits);
        }
        let (radix, digits) = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
            [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
            [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
            _ => (10, digits),
        };
        // Python lets a radix be followed by an underscore, and no number begin with one.
        let digits = if radix == 10 { digits } else { digits.strip_prefix('_').unwrap_or(digits) };
        let is_sound = digits
            .split('_')
            .all(|group| !group.is_empty() && group.chars().all(|char| char.is_digit(radix)));
        let significant = digits.trim_start_matches(['0', '_']);
        let has_leading_zero = radix == 10 && significant.len() < digits.len() && !significant.is_empty();
        if !is_sound || has_leading_zero {
            let shown = self.text[from..self.at].chars().take(40).collect::<String>();
            return Err(Fault::new(format!("'{shown}' is no whole number"), from));
        }
        match u64::from_str_radix(&significant.replace('_', ""), radix) {
            Ok(number) => self.out.push_str(&number.to_string()),
            Err(_) if significant.is_empty() => self.out.push('0'),
            Err(_) => {
                let what = format!("a number of {} digits", significant.len());
                return Err(ErrorKind::Overflow { what }.into());
            }
        }
        Ok(())
    }

    fn word(&mut self) -> Result<(), Fault> {
        for word in ["True", "False", "None"] {
            let Some(rest) = self.text[self.at..].strip_prefix(word) else { continue };
            if !rest.starts_with(|char: char| char.is_alphanumeric() || char == '_') {
                self.out.push_str(word);
                self.at += word.len();
                return Ok(());
            }
        }
        Err(self.unexpected())
    }

    /// Passes over spaces and comments, within brackets and around the whole also over line ends.
    fn skip_blanks(&mut self) -> Result<(), Fault> {
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

    fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::new(reason, self.at)
    }

    fn unexpected(&self) -> Fault {
        let rest = &self.text[self.at..];
        if ["np.", "numpy."].iter().any(|prefix| rest.starts_with(prefix)) {
            return self.fault(
                "a call of NumPy's, which a faulty writer put there (numpy issue 28334: NumPy refuses the file too); \
                 the shape has to hold plain numbers",
            );
        }
        let shown: String = rest.chars().take_while(|char| char.is_alphanumeric()).take(20).collect();
        let shown = if shown.is_empty() { rest.chars().take(1).collect() } else { shown };
        self.fault(format!("\"{}\" is unexpected here", shown.escape_debug()))
    }
}
