//! The tokenizer of the general path: one linear pass over the text of a header, which brings it into a normal form.
//!
//! `py_literal`, to which the values are left, is exponential in the nesting of brackets without a comma behind the
//! last item, knows no comments, line ends, joined strings, raw strings or redundant parentheses, and calculates sums,
//! which Python refuses. So this pass refuses what Python refuses, bounds the depth, and writes the rest anew: no line
//! ends, comments, prefixes, suffixes or redundant parentheses, numbers in decimal, strings in one piece with few
//! escapes, and a comma after every last item. On the way it takes the dict and its lists to pieces.

use std::ops::Range;

use super::fault::Fault;
use super::{number, string};
use crate::error::LimitKind;
use crate::limits::{self, Limits};

/// A dict in normal form. Its values, and the items of each list within them, are pieces of their own, so that one after
/// another can be read: a value of `py_literal` takes hundreds of times the memory of its text.
#[derive(Default)]
pub(super) struct Normal {
    pub(super) items: Vec<Item>,
    /// The items of each list. In the piece that it is a part of, a list stands as `[number,]`.
    pub(super) lists: Vec<Vec<String>>,
}

/// A key and its value.
pub(super) struct Item {
    pub(super) key: String,
    pub(super) value: String,
    /// Where the key begins in the original.
    pub(super) key_at: usize,
    /// Where the value stands in the original.
    pub(super) source: Range<usize>,
}

/// Brings a dict into normal form. `python2` allows the `L` behind long integers.
pub(super) fn normalize(text: &str, python2: bool) -> Result<Normal, Fault> {
    if let Some(at) = text.find('\0') {
        return Err(Fault::new("there is a NUL", at));
    }
    let outs = vec![String::new()];
    let mut scanner = Scanner {
        text,
        at: 0,
        outs,
        frames: Vec::new(),
        python2,
        had_dict: false,
        normal: Normal::default(),
    };
    scanner.run()?;
    let is_dict = scanner.had_dict && scanner.outs == [""];
    if is_dict { Ok(scanner.normal) } else { Err(Fault::new("it is no dict", 0)) }
}

/// An open bracket.
struct Frame {
    open: u8,
    /// Where in the output it stands.
    out_at: usize,
    /// How many items are complete.
    items: usize,
    /// Whether a comma has come.
    has_comma: bool,
    /// Where the item behind the last comma (or the bracket) begins, if there is one.
    item_at: Option<usize>,
    /// The number of a list.
    list: usize,
    /// In a dict: the key before the last colon, and where the value behind it begins.
    key: Option<(String, usize)>,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// The piece that is being written, behind those that it is a part of.
    outs: Vec<String>,
    frames: Vec<Frame>,
    python2: bool,
    had_dict: bool,
    normal: Normal,
}

impl Scanner<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        let mut wants_value = true;
        loop {
            let end_of_token = self.at;
            self.skip_blanks()?;
            let Some(byte) = self.peek() else { break };
            match byte {
                b')' | b']' | b'}' => {
                    let Some(frame) = self.frames.pop() else { return Err(self.unexpected()) };
                    if wants_value && frame.key.is_some() {
                        return Err(self.fault("a value is missing"));
                    }
                    self.close(frame, byte, end_of_token)?;
                    wants_value = false;
                }
                _ if wants_value => wants_value = self.value(byte)?,
                b',' => {
                    let Some(frame) = self.frames.pop() else { return Err(self.unexpected()) };
                    self.comma(frame, end_of_token)?;
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

    /// The piece that is being written.
    fn out(&mut self) -> &mut String {
        // The first is never taken away: each that is pushed by a bracket is popped by its end.
        self.outs.last_mut().expect("there is always a piece")
    }

    /// Takes a value, or the bracket that begins one; says whether a value is still wanted.
    fn value(&mut self, byte: u8) -> Result<bool, Fault> {
        if let Some(frame) = self.frames.last_mut() {
            frame.item_at.get_or_insert(self.at);
        }
        match byte {
            b'(' | b'[' | b'{' => {
                self.open(byte)?;
                return Ok(true);
            }
            b'0'..=b'9' => self.number()?,
            b'+' | b'-' => self.signed_number()?,
            _ if string::starts_string(&self.text[self.at..]) => self.strings()?,
            _ => self.word()?,
        }
        Ok(false)
    }

    /// Takes a string and those that follow it, as one.
    fn strings(&mut self) -> Result<(), Fault> {
        let mut joined = String::new();
        loop {
            let from = self.at;
            let mut next = String::new();
            self.at += string::normalize(&self.text[from..], &mut next)
                .map_err(|(reason, offset)| Fault::new(reason, from + offset))?;
            if joined.is_empty() {
                joined = next;
            } else if joined.starts_with('b') || next.starts_with('b') {
                return Err(Fault::new("bytes and strings are not joined in a header", from));
            } else {
                joined.pop(); // the closing quote: every string in normal form has the same
                joined.push_str(&next[1..]);
            }
            let end = self.at;
            self.skip_blanks()?;
            if !string::starts_string(&self.text[self.at..]) {
                self.at = end;
                self.out().push_str(&joined);
                return Ok(());
            }
        }
    }

    fn open(&mut self, open: u8) -> Result<(), Fault> {
        let (found, limit) = (self.frames.len() as u64 + 1, Limits::NESTING as u64);
        limits::check(LimitKind::Nesting, found, limit)?;
        if open == b'{' && std::mem::replace(&mut self.had_dict, true) {
            return Err(self.fault("only the header itself is a dict"));
        }
        let list = self.normal.lists.len();
        let out_at = self.out().len();
        match open {
            b'(' => self.out().push('('),
            b'[' => {
                self.out().push_str(&format!("[{list},]"));
                self.normal.lists.push(Vec::new());
                self.outs.push(String::new());
            }
            _ => self.outs.push(String::new()),
        }
        self.frames.push(Frame { open, out_at, items: 0, has_comma: false, item_at: None, list, key: None });
        self.at += 1;
        Ok(())
    }

    fn close(&mut self, mut frame: Frame, close: u8, end_of_token: usize) -> Result<(), Fault> {
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
        let has_last = frame.item_at.is_some();
        self.end_item(&mut frame, end_of_token)?;
        self.at += 1;
        if frame.open != b'(' {
            self.outs.pop();
        } else if has_last && !frame.has_comma {
            self.out().remove(frame.out_at); // parentheses around one value mean nothing
        } else {
            self.out().push_str(if has_last { ",)" } else { ")" });
        }
        Ok(())
    }

    fn comma(&mut self, mut frame: Frame, end_of_token: usize) -> Result<(), Fault> {
        self.end_item(&mut frame, end_of_token)?;
        if frame.open == b'(' {
            self.out().push(',');
        }
        frame.has_comma = true;
        self.frames.push(frame);
        self.at += 1;
        Ok(())
    }

    /// Takes note of the item that ends here, if there is one.
    fn end_item(&mut self, frame: &mut Frame, end_of_token: usize) -> Result<(), Fault> {
        /// Far more keys than a header has; which of them are wrong is for others to say.
        const MOST_KEYS: usize = 16;
        let Some(key_at) = frame.item_at.take() else { return Ok(()) };
        frame.items += 1;
        match (frame.open, frame.key.take()) {
            // Shapes are the longest tuples.
            (b'(', _) => limits::check(LimitKind::Dimensions, frame.items as u64, Limits::DIMENSIONS as u64)?,
            (b'[', _) => {
                let piece = std::mem::take(self.out());
                self.normal.lists[frame.list].push(piece);
            }
            (_, None) => return Err(self.fault("a key has no value")),
            (_, Some(_)) if frame.items > MOST_KEYS => {
                return Err(Fault::new("there are too many keys", key_at));
            }
            (_, Some((key, value_at))) => {
                let value = std::mem::take(self.out());
                self.normal.items.push(Item { key, value, key_at, source: value_at..end_of_token });
            }
        }
        Ok(())
    }

    fn colon(&mut self) -> Result<(), Fault> {
        let at = self.at;
        self.at += 1;
        self.skip_blanks()?;
        let value_at = self.at;
        let key = std::mem::take(self.out());
        match self.frames.last_mut() {
            Some(frame) if frame.open == b'{' && frame.key.is_none() => {
                frame.key = Some((key, value_at));
                Ok(())
            }
            _ => Err(Fault::new("a colon stands where none belongs", at)),
        }
    }

    fn signed_number(&mut self) -> Result<(), Fault> {
        if self.peek() == Some(b'-') {
            self.out().push('-');
        }
        self.at += 1;
        self.skip_blanks()?;
        match self.peek() {
            Some(b'0'..=b'9') => self.number(),
            _ => Err(self.fault("a sign stands before something that is no number")),
        }
    }

    fn number(&mut self) -> Result<(), Fault> {
        let (number, length) =
            number::whole(&self.text[self.at..], self.python2).map_err(|fault| fault.moved(self.at))?;
        self.out().push_str(&number.to_string());
        self.at += length;
        Ok(())
    }

    fn word(&mut self) -> Result<(), Fault> {
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
